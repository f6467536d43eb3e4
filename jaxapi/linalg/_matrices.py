"""What functions of matrices share: precision, shapes, scaling, and sections of docstrings."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core import _parts
from .._core._docs import Completion, F, after_summary, of_standard
from .._core._programs import compiled
from .._core._typing import Array
from .._interop import as_operand

__all__ = ["check_system", "documented", "full_precision", "largest_power", "matrices", "nan_unless_finite"]
__all__ += ["of_matrices", "of_squares", "square", "times"]

_PRECISION = """Unlike `jax.numpy.linalg.{}`, float32 is computed in full precision on every device unless
``jax_default_matmul_precision`` is set; JAX multiplies in TF32 on NVIDIA GPUs [1]_."""


def documented(check: Callable | None = None, derivatives: str = "; differentiable") -> Completion:
    """Complete a docstring as `of_standard`, by its precision, and by what a check of shapes raises."""
    reason = (
        "the last two axes are not of one size" if check is square else "``x`` has fewer than two dimensions"
    )
    raises = f"numpy.linalg.LinAlgError\n    If {reason} (a ``ValueError``)." if check else ""
    of_chapter = of_standard("linear algebra extension", derivatives, raises=raises)

    def decorate(function: F, /) -> F:
        return of_chapter(after_summary(_PRECISION.format(function.__name__))(function))

    return decorate


def full_precision(function):
    """Trace ``function`` with full float32 products, unless the user set a precision.

    JAX's default on NVIDIA GPUs is TF32, which rounds factors to 11 bits.
    """

    @functools.wraps(function)
    def traced(*args, **kwargs):
        if jax.config.jax_default_matmul_precision is not None:
            return function(*args, **kwargs)
        with jax.default_matmul_precision("highest"):
            return function(*args, **kwargs)

    return traced


def nan_unless_finite(function: Callable, reads: Callable[[Array], Array] | None = None) -> Callable:
    """Return a function whose results, and their derivatives, are NaN of matrices that hold NaN or infinity.

    cuSOLVER has numbers for some of them, and fails at others. So it is given the identity in their place.
    ``reads`` returns what the function reads of matrices, if that is not all.
    """

    @functools.wraps(function)
    def of_all(x, *args, **options):
        is_finite = jnp.isfinite(x if reads is None else reads(x)).all(axis=(-2, -1))
        rows, columns = x.shape[-2:]
        identity = jnp.eye(rows, columns, dtype=x.dtype)
        results = function(jnp.where(is_finite[..., None, None], x, identity), *args, **options)
        # NaN that depends on the matrix: of a constant the derivative would be 0.
        missing = x.sum(axis=(-2, -1)) * jnp.where(is_finite, 0, jnp.nan)

        def checked(result):
            axes_behind = tuple(range(is_finite.ndim, result.ndim))
            is_known = jnp.expand_dims(is_finite, axes_behind)
            of_missing = jnp.expand_dims(missing, axes_behind)
            if not jnp.iscomplexobj(result):
                of_missing = _parts.real(of_missing)
            return jnp.where(is_known, result, of_missing.astype(result.dtype))

        return jax.tree.map(checked, results)

    return of_all


def of_matrices(function, x, **options):
    """Return a function of `jax.numpy` of matrices, in full precision; ``options`` shape the program."""
    return _computed(function, matrices, tuple(options.items()), as_operand(x))


def of_squares(function, x, **options):
    """Return the same of square matrices."""
    return _computed(function, square, tuple(options.items()), as_operand(x))


@functools.partial(compiled, static_argnums=(0, 1, 2))
@full_precision
def _computed(function, checked, options, x):
    return function(checked(x), **dict(options))


def matrices(x: Array) -> Array:
    """Return ``x``, which must have two dimensions or more."""
    shape = jnp.shape(x)
    if len(shape) < 2:
        raise np.linalg.LinAlgError(f"x must be matrices, of shape (..., m, n), got shape {shape}")
    return x


def square(x: Array) -> Array:
    """Return ``x``, whose last two axes must be of one size."""
    shape = jnp.shape(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise np.linalg.LinAlgError(f"x must be square matrices, of shape (..., n, n), got shape {shape}")
    return x


def check_system(x1: Array, x2: Array) -> None:
    """Raise ValueError unless ``x2`` is a vector, or matrices, of as many rows as ``x1``."""
    n = jnp.shape(square(x1))[-1]
    shape = jnp.shape(x2)
    if not shape or shape[-2:][0] != n:
        raise ValueError(f"x2 must have shape ({n},) or (..., {n}, k) for x1 of {x1.shape}, got {shape}")


# Scaling by powers of two is exact, so that squares neither overflow nor vanish.


def largest_power(x: Array, axis: int) -> Array:
    """Return the power of two next to the largest element along an axis; 1 where that is 0, NaN or inf."""
    x = lax.stop_gradient(x)
    sizes = jnp.abs(x.real)
    if jnp.iscomplexobj(x):
        sizes = jnp.maximum(sizes, jnp.abs(x.imag))
    largest = sizes.max(axis=axis, keepdims=True)
    power = lax.reduce_precision(largest / 2, jnp.finfo(largest.dtype).nexp, 0)
    return jnp.where((power > 0) & (power < jnp.inf), power, 1)


def times(x: Array, factor: Array) -> Array:
    """Multiply by a real factor, part by part: an infinite real part leaves the imaginary one alone."""
    if not jnp.iscomplexobj(x):
        return x * factor
    return lax.complex(_parts.real(x) * factor, _parts.imag(x) * factor)
