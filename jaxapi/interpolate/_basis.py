"""What an interpolant is a sum of: a radial kernel around each data point, and monomials.

Kernels are functions of the squared distance, whose derivatives have no kink. Where a kernel takes a root or
a logarithm of it, its derivatives at distance 0 are set to 0: for cubic and quintic they are 0, as is the
slope of the thin plate; the others do not exist.

What computes with `xp` takes numpy on the host, jax.numpy in programs.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import jax.numpy as jnp
import numpy as np

__all__ = ["KERNELS", "MIN_DEGREES", "SCALE_INVARIANT", "ZERO_AT_ZERO", "Basis", "KernelName"]
__all__ += ["squared_distance"]


KERNELS: dict[str, Callable] = {
    "linear": lambda xp, squared: -xp.sqrt(squared),
    "thin_plate_spline": lambda xp, squared: squared * xp.log(squared) / 2,
    "cubic": lambda xp, squared: squared * xp.sqrt(squared),
    "quintic": lambda xp, squared: -squared * squared * xp.sqrt(squared),
    "multiquadric": lambda xp, squared: -xp.sqrt(squared + 1),
    "inverse_multiquadric": lambda xp, squared: 1 / xp.sqrt(squared + 1),
    "inverse_quadratic": lambda xp, squared: 1 / (squared + 1),
    "gaussian": lambda xp, squared: xp.exp(-squared),
}

KernelName: TypeAlias = Literal[
    "linear",
    "thin_plate_spline",
    "cubic",
    "quintic",
    "multiquadric",
    "inverse_multiquadric",
    "inverse_quadratic",
    "gaussian",
]

# For these epsilon has the same effect as a factor of the smoothing.
SCALE_INVARIANT = {"linear", "thin_plate_spline", "cubic", "quintic"}

# They are 0 at distance 0, where their formulas or the derivatives of those are none.
ZERO_AT_ZERO = SCALE_INVARIANT

# A kernel that is conditionally positive definite of order d + 1 needs polynomials of degree d (G. Fasshauer,
# Meshfree Approximation Methods with MATLAB, 2007, chapter 8). The others are positive definite.
MIN_DEGREES = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}


@dataclasses.dataclass(frozen=True)
class Basis:
    """A kernel by its name, and the polynomials of a degree (-1 for none) in so many dimensions."""

    kernel: str
    degree: int
    dimensions: int

    @property
    def monomial_count(self) -> int:
        """Number of monomials."""
        return math.comb(self.degree + self.dimensions, self.dimensions)

    @property
    def powers(self) -> np.ndarray:
        """Exponents of the monomials, (monomial_count, dimensions)."""
        powers = np.zeros((self.monomial_count, self.dimensions), np.int64)
        monomials: list[tuple[int, ...]] = []  # the axes of the coordinates that are multiplied
        for degree in range(self.degree + 1):
            monomials += itertools.combinations_with_replacement(range(self.dimensions), degree)
        for row, axes in enumerate(monomials):
            for axis in axes:
                powers[row, axis] += 1
        return powers

    def kernel_values(self, x, y, epsilon):
        """Return the kernel between points that broadcast, (..., m) each."""
        return self.kernel_of(squared_distance(x, y, epsilon))

    def kernel_of(self, squared):
        """Return the kernel at squared distances."""
        kernel = KERNELS[self.kernel]
        if self.kernel not in ZERO_AT_ZERO:
            return kernel(jnp, squared)
        is_apart = squared > 0
        values = kernel(jnp, jnp.where(is_apart, squared, 1))
        return jnp.where(is_apart, values, 0)

    def monomials(self, xp, x):
        """Return the monomials (..., monomial_count) at points (..., m)."""
        columns = []
        coordinates = _coordinates(xp, x)
        for exponents in self.powers:
            column = xp.ones(x.shape[:-1], x.dtype)
            for axis, exponent in enumerate(exponents):
                for _ in range(exponent):
                    column = column * coordinates[axis]
            columns.append(column)
        if not columns:
            return xp.zeros((*x.shape[:-1], 0), x.dtype)
        return xp.stack(columns, axis=-1)


# Up to so many dimensions coordinates are added one by one: XLA then computes distances where they are used.
_UNROLLED = 8


def squared_distance(x, y, epsilon):
    """Return the squares of distances times epsilon of points that broadcast, (..., m) each."""
    dimensions = x.shape[-1]
    # Differences come first. Those of equal points are 0 then, where compilers fuse the multiplication, too.
    if dimensions > _UNROLLED:
        return jnp.sum(jnp.square((x - y) * epsilon), axis=-1)
    pairs = zip(_coordinates(jnp, x), _coordinates(jnp, y), strict=True)
    return sum(jnp.square((first - second) * epsilon) for first, second in pairs)


def _coordinates(xp, x):
    """Return the coordinates of points (..., m), one array each."""
    # Not by indexing, of which JAX has the second derivatives in reverse for 64 bits with x64 on alone.
    return [xp.squeeze(column, -1) for column in xp.split(x, x.shape[-1], axis=-1)]
