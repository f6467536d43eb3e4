"""Minkowski distance with periodic axes, of our own tree.

Everything works coordinate by coordinate on values of any shape. `_engines/_cuda/kernels/metric.cuh` says the
same for kernels. A distance is built up as a *power distance*, in which comparing is cheap::

    total = power_distance(lambda axis: axis_distance(x[axis], y[axis], length[axis]), m, p)
    distance = distance_of_power(total, p)

``p`` is a static Python float. Power distances are the sum of ``|d|**p`` for p = 1, 2, 3 and 4, exact for
whole numbers. For others the powers of small distances would vanish (0.005**20 is zero in float32) or
roots be inexact, so there the power distance is the distance itself, combined pairwise as
``a * (1 + (b/a)**p)**(1/p)`` with ``a >= b``.

A search skips a node whose box is farther than what it still wants. Both are rounded: to the box and to a
point in it the same differences are taken, which rounding keeps in order, but their powers and sums may be
contracted differently. So every test on a box leaves `box_slack`; what is found is decided by points alone.
"""

import enum
import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core import _quotients
from ..._core._typing import Array
from ._powers_of_two import exponent_of, is_small, scaled, times_power_of_two, unit_of_small, unscaled

__all__ = [
    "SUMMED",
    "Measure",
    "TreeMetric",
    "axis_difference",
    "axis_distance",
    "axis_gap",
    "axis_reach",
    "box_slack",
    "distance_in_units",
    "distance_of_power",
    "extent_exponent",
    "largest_exponent",
    "power",
    "power_distance",
    "scaled_power",
    "wrap",
]

SUMMED = (1, 2, 3, 4)  # orders p whose power distances are sums of powers


@functools.partial(jax.tree_util.register_dataclass, data_fields=("boxsize",), meta_fields=("p",))
@dataclass(frozen=True)
class TreeMetric:
    """The Minkowski metric of order `p`, in a periodic box if there is one.

    A pytree, in which `p` is static.
    """

    p: float
    boxsize: Array | None = None  # (m,) in the user's units, 0 along axes that are not periodic

    @property
    def is_periodic(self) -> bool:
        """Whether there is a box."""
        return self.boxsize is not None

    def scaled_boxsize(self, scale: Array) -> Array | None:
        """Return the lengths of the box in the coordinates of a tree with this scale, None without a box."""
        return None if self.boxsize is None else scaled(self.boxsize, scale)

    def wrap(self, x: Array) -> Array:
        """Return points (q, m), in the user's units, shifted into the box, if there is one."""
        return x if self.boxsize is None else wrap(x, self.boxsize)


class Measure(enum.Enum):
    """What a search returns to tell how far its neighbors are."""

    DISTANCE = "the distance, in the user's units"
    POWER = "the scaled power distance, by which answers of several trees are compared without rounding"

    def of(self, total: Array, scale: Array, p: float) -> Array:
        """Return scaled power distances in this measure."""
        return distance_in_units(total, scale, p) if self is Measure.DISTANCE else total


def extent_exponent(dtype) -> int:
    """Return the power of two that a tree's largest extent is brought to.

    It is near the limit, so that beside one far point squares of small differences do not vanish. The room
    above is for queries: squares do not overflow until a query is so far that all points are equally near to
    it, to the last digit.
    """
    info = jnp.finfo(dtype)
    return info.maxexp // 2 - info.nmant - 6


def largest_exponent(dtype, m: int, p: float) -> int:
    """Return the greatest ``e`` such that no power distance of differences below ``2**e`` overflows."""
    order = p if p in SUMMED else 1
    return int((jnp.finfo(dtype).maxexp - 1 - (m - 1).bit_length()) / order)


def power(difference, p: float):
    """Return the power distance along one axis; ``difference`` may have either sign."""
    if p == 2:
        return difference * difference
    if p == 4:
        return (difference * difference) * (difference * difference)
    size = jnp.abs(difference)
    return size * size * size if p == 3 else size


def scaled_power(distance, scale, p: float):
    """Return the power distance of ``distance * scale``, of 0 for a negative distance.

    XLA may rewrite ``(d * s) * (d * s)`` as ``(d * d) * (s * s)``, which overflows or vanishes where the
    scaled distance does not (inf becomes nan): the barrier keeps the product whole.
    """
    return power(lax.optimization_barrier(jnp.maximum(scaled(distance, scale), 0)), p)


def power_distance(difference, m: int, p: float, *, unrolled: bool = True):
    """Return the power distance of ``difference(axis)``, of either sign, over `m` axes.

    Without `unrolled` the axes are gone through in a loop, which compiles sooner where they are many.
    """
    first = power(difference(0), p)
    if not unrolled:
        return lax.fori_loop(1, m, lambda axis, total: _combine(total, power(difference(axis), p), p), first)
    return functools.reduce(
        lambda total, axis: _combine(total, power(difference(axis), p), p), range(1, m), first
    )


def _combine(total, term, p: float):
    """Add one axis to a power distance."""
    if p == math.inf:
        return jnp.maximum(total, term)
    if p not in SUMMED:
        large = jnp.maximum(total, term)
        small = jnp.minimum(total, term)
        ratio = small / jnp.where((large > 0) & (large < math.inf), large, 1)
        return large * (1 + ratio**p) ** (1 / p)
    return total + term


def box_slack(dtype, m: int) -> float:
    """Return the factor, a little above 1, that makes a test on a node's box safe against rounding.

    A term of the sum is off by a few roundings, the sum of m terms by m more, on either side of the test.
    """
    return 1 + 8 * (m + 1) * float(jnp.finfo(dtype).eps)


def distance_of_power(total, p: float):
    """Return the distance of a power distance."""
    if p == 2:
        return _quotients.root(total)
    if p == 3:
        # CUDA's own, by which kernels return distances
        return lax.platform_dependent(total, cuda=lax.cbrt, default=_cube_root)
    if p == 4:
        return _quotients.root(_quotients.root(total))
    return total


def _cube_root(x):
    """Return the cube root of x >= 0: of a number near 1, where XLA's power is exact to the last digits."""
    exponent = exponent_of(x) // 3
    finite = x < math.inf
    near = times_power_of_two(jnp.where(finite, x, 1), -3 * exponent)
    return jnp.where(finite, times_power_of_two(near ** (1 / 3), exponent), math.inf)


def distance_in_units(total, scale, p: float):
    """Return the distance in the user's units of a scaled power distance."""
    return unscaled(distance_of_power(total, p), scale)


def axis_distance(x, y, length=None):
    """Return the distance along one axis; periodic where ``length > 0`` (``None``: not periodic).

    ``x`` and ``y`` lie in ``[0, length)`` on a periodic axis.
    """
    return jnp.abs(axis_difference(x, y, length))


def axis_difference(x, y, length=None):
    """Return ``x - y`` along one axis, to the nearest image on a periodic one, as `axis_distance`."""
    difference = x - y
    if length is None:
        return difference
    half = length / 2
    shifted = jnp.where(difference < -half, difference + length, difference)
    shifted = jnp.where(difference > half, difference - length, shifted)
    return jnp.where(length > 0, shifted, difference)


def axis_gap(x, lower, upper, length=None):
    """Return the distance along one axis from ``x`` to the interval ``[lower, upper]``, 0 inside it.

    Of either sign, as `power` takes it. Never more than the computed `axis_distance` to a point of the
    interval: both round the same differences, and rounding is monotone.
    """
    if length is None:
        return x - jnp.minimum(jnp.maximum(x, lower), upper)
    below = lower - x
    above = x - upper
    gap = jnp.maximum(jnp.maximum(below, above), 0)
    around = jnp.minimum(length + below, length + above)
    return jnp.where(length > 0, jnp.minimum(gap, jnp.maximum(around, 0)), gap)


def axis_reach(x, lower, upper, length=None):
    """Return a distance along one axis that no point of the interval ``[lower, upper]`` exceeds."""
    reach = jnp.maximum(jnp.abs(x - lower), jnp.abs(x - upper))
    return reach if length is None else jnp.where(length > 0, jnp.minimum(reach, length / 2), reach)


def wrap(x, boxsize):
    """Shift every periodic coordinate (..., m) into ``[0, length)``; NumPy arrays stay NumPy's.

    An axis of length 0 or inf is not periodic: in a cloud's unit a box that is far larger than it is inf.
    """
    if isinstance(x, np.ndarray):
        return _wrapped(x, np.broadcast_to(boxsize, x.shape), np)
    boxsize = jnp.broadcast_to(boxsize, x.shape)
    # XLA takes subnormal numbers for 0 on CPUs: in a small box they are brought to another unit.
    is_periodic = (scaled(boxsize, unit_of_small(x.dtype)) > 0) & (boxsize < jnp.inf)
    unit = jnp.where(is_periodic & is_small(boxsize), unit_of_small(x.dtype), jnp.ones_like(x))
    inside = _wrapped(scaled(x, unit), scaled(boxsize, unit), jnp)
    stays = ~is_periodic | (~jnp.signbit(x) & (x < boxsize))
    return jnp.where(stays, x, unscaled(inside, unit))


def _wrapped(x, boxsize, xp):
    periodic = (boxsize > 0) & (boxsize < xp.inf)
    length = xp.where(periodic, boxsize, 1)
    inside = x - xp.floor(x / length) * length  # the quotient was rounded: up to a length too far off
    inside = xp.where(inside >= length, inside - length, inside)
    inside = xp.where(inside < 0, inside + length, inside)
    inside = xp.where(inside >= length, inside - length, inside)
    return xp.where(periodic, inside, x)
