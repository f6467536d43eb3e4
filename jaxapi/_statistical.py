"""Statistical functions (chapter "Statistical functions" of the standard)."""

import functools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ._core._docs import Completion, of_standard, sharing
from ._core._dtypes import (
    as_factors,
    converted,
    has_64_bits,
    is_lowered_narrow,
    lacks_64_bits,
    refuse_complex,
    x64_for,
)
from ._core._errors import raises_as_numpy
from ._core._exact import exact, exact_norm
from ._core._programs import compiled
from ._core._typing import Array, ArrayLike, DTypeLike
from ._core._zeros import with_positive_zeros, with_sign_of_zero
from ._interop import ARRAY_TYPES, as_argument, as_array, as_operand, scalar_like, with_numpy
from ._interop._array_arguments import static_axis, takes_array

__all__ = ["cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]


def _with_axis_checked(function):
    """Return a function that raises AxisError for an axis out of range: JAX counts the elements first."""

    @functools.wraps(function)
    def checked(x, axis=None, *options, **named_options):
        if axis is not None:
            axis = normalize_axis_tuple(axis, jnp.ndim(x), "axis")
        return function(x, axis, *options, **named_options)

    return checked


@functools.wraps(jnp.prod)
def _prod(
    a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None, promote_integers=True
):
    x = jnp.asarray(a)
    if dtype is not None and out is None:
        x = converted(x, dtype)
    if initial is not None:
        _, initial = as_factors(x, initial)
    if not _has_own_derivative(x, is_lowered_narrow()):
        return jnp.prod(a, axis, dtype, out, keepdims, initial, where, promote_integers)
    axes = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim, "axis")
    if where is not None:
        x = jnp.where(where, x, 1)
    kept_shape = [n for i, n in enumerate(x.shape) if i not in axes]
    factors = jnp.moveaxis(x, axes, range(len(axes))).reshape(-1, *kept_shape)
    product = _product(factors)
    if initial is not None:
        product = product * jnp.asarray(initial, x.dtype)
    return lax.expand_dims(product, axes) if keepdims else product


@functools.wraps(jnp.sum)
def _sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None, promote_integers=True):
    total = jnp.sum(a, axis, dtype, out, keepdims, initial, where, promote_integers)
    if not jnp.issubdtype(total.dtype, jnp.inexact):
        return total
    x = jnp.asarray(a)
    if initial is None:  # of one element XLA makes that element
        axes = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
        has_one_element = math.prod(x.shape[i] for i in axes) == 1
        return with_positive_zeros(total) if has_one_element else total
    if jnp.iscomplexobj(total):
        return total
    is_negative_zero = (x == 0) & jnp.signbit(x) if jnp.issubdtype(x.dtype, jnp.floating) else x != x
    are_negative_zeros = jnp.all(is_negative_zero, axis, keepdims=keepdims, where=where)
    return with_sign_of_zero(total, are_negative_zeros & jnp.signbit(initial))


def _has_own_derivative(x, is_narrow: bool) -> bool:
    """Say whether JAX cannot differentiate products of it: 64 bits with x64 mode off are cut on the way."""
    are_cut = lacks_64_bits(x) or (has_64_bits(x) and is_narrow)
    return x.size > 0 and are_cut and jnp.issubdtype(x.dtype, jnp.inexact)


@jax.custom_jvp
def _product(x):
    return jnp.prod(x, axis=0)


@jax.custom_jvp
def _running_products(x):
    return jnp.cumulative_prod(x, axis=0)


@_product.defjvp
def _product_jvp(primals, tangents):
    last = np.int32(primals[0].shape[0] - 1)

    def product(x):
        return jnp.take(_doubled(x), last, axis=0, mode="clip")

    _, tangent = jax.jvp(product, primals, tangents)
    return _product(*primals), tangent


@_running_products.defjvp
def _running_products_jvp(primals, tangents):
    _, tangent = jax.jvp(_doubled, primals, tangents)
    return _running_products(*primals), tangent


def _doubled(x):
    """Return the running products by doubling how many are multiplied, in steps that JAX differentiates."""
    indices = jnp.arange(x.shape[0], dtype=np.int32)
    step = 1
    while step < x.shape[0]:
        earlier = jnp.take(x, jnp.maximum(indices - step, 0), axis=0, mode="clip")
        has_earlier = lax.expand_dims(indices >= step, range(1, x.ndim))
        x = x * jnp.where(has_earlier, earlier, 1)
        step *= 2
    return x


def _rounded_once(function, of_equal_numbers: str, elements: tuple[str, ...] = ()):
    """Return a function with exact quotients and roots, whose docstring says what equal numbers give."""
    return takes_array(
        _with_axis_checked(function),
        "where",
        elements=elements,
        difference="quotients and roots of real numbers are rounded as IEEE 754 says: where\n"
        f"their sum is exact, {of_equal_numbers}",
    )


cumulative_sum = takes_array(jnp.cumulative_sum)
mean = _rounded_once(exact(jnp.mean), "the mean of equal numbers is that number")
prod = takes_array(_prod, "where", elements=("initial",))
std = _rounded_once(
    exact_norm(jnp.std), "equal numbers have the deviation 0, and no slopes", elements=("mean",)
)
sum = takes_array(
    _sum,
    "where",
    elements=("initial",),
    difference="the sign of a sum of zeros is NumPy's: -0 of negative ones that are added to -0, else 0",
)
var = _rounded_once(exact(jnp.var), "equal numbers have the variance 0", elements=("mean",))


@of_standard("statistical functions")
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Products of the elements up to each one along an axis.

    Unlike `jax.numpy.cumulative_prod`, integers narrower than the default integer are multiplied in the
    default integer dtype of their signedness, as `cumulative_sum` adds them ([1]_); JAX wraps.

    Parameters
    ----------
    x : array_like, numeric, at least 1-D
        NaN makes every later product NaN.
    axis : int, optional
        May be omitted for a 1-D array only.
    dtype : dtype, optional
        That of the products.
    include_initial : bool
        Begin with a 1, which makes the axis one longer.

    Returns
    -------
    Array
        In the shape of ``x``, but for the 1 in front.

    Raises
    ------
    ValueError
        If ``x`` is 0-d, ``axis`` is missing for more than one dimension, or out of range.

    Examples
    --------
    >>> print(cumulative_prod(jnp.asarray([100, 100, 100], dtype="int8"), include_initial=True))
    [      1     100   10000 1000000]
    """
    return _cumulative_prod(as_operand(x), static_axis(axis), dtype, include_initial, is_lowered_narrow())


@functools.partial(compiled, static_argnums=(1, 2, 3, 4), inline=True)
@raises_as_numpy
def _cumulative_prod(x, axis, dtype, include_initial, is_narrow):
    x = jnp.asarray(x)
    if dtype is None:
        dtype = _accumulator(x.dtype)
    if not _has_own_derivative(x.astype(dtype), is_narrow) or (axis is None and x.ndim != 1):
        return jnp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)
    axis = normalize_axis_index(0 if axis is None else axis, x.ndim)
    products = _running_products(jnp.moveaxis(x.astype(dtype), axis, 0))
    products = jnp.moveaxis(products, 0, axis)
    if not include_initial:
        return products
    shape = [1 if i == axis else n for i, n in enumerate(x.shape)]
    return jnp.concat([jnp.ones_like(products, shape=shape), products], axis=axis)


def _accumulator(dtype: np.dtype) -> np.dtype:
    """Return the standard's dtype for sums and products of ``dtype``."""
    default = jnp.zeros((), int).dtype
    if dtype.kind == "u":
        return np.promote_types(dtype, f"uint{8 * default.itemsize}")
    if dtype.kind in "bi":
        return np.promote_types(dtype, default)
    return dtype


def _of_extreme(extreme: str) -> Completion:
    """Complete a docstring by which extreme it is."""
    return sharing(
        """
        Unlike `jax.numpy.{name}`, arrays of 64-bit integers work with x64 mode off on every supported JAX
        ([1]_).

        Parameters
        ----------
        x : array_like, real
            NaN makes the {extreme} NaN.
        axis : int or tuple of int, optional
            The axes reduced, all of them if omitted.
        keepdims : bool
            Keep the reduced axes with size 1.
        initial : scalar, optional
            Counts as one more element (as in `numpy.{name}`). An array is cast to the dtype of ``x``,
            unchecked.
        where : array_like, bool, optional
            The elements that count, others are left out; needs ``initial`` (as in `numpy.{name}`).

        Returns
        -------
        Array
            Of the dtype of ``x``.

        Raises
        ------
        ValueError
            If there is no element and no ``initial``, or an axis is out of range.
        OverflowError
            If ``initial`` is an integer that the dtype of ``x`` cannot hold.
        TypeError
            If ``initial`` is complex.
        """,
        extreme=extreme,
    )


@of_standard("statistical functions", ". Differentiable (equal maxima share the derivative)")
@_of_extreme("maximum")
def max(
    x: ArrayLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Maximum along the axes.

    Examples
    --------
    >>> print(max(jnp.asarray([[1, 5], [7, 2]]), axis=1))
    [5 7]
    """
    return _extreme(jnp.max, x, axis, keepdims, initial, where)


@of_standard("statistical functions", ". Differentiable (equal minima share the derivative)")
@_of_extreme("minimum")
def min(
    x: ArrayLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Minimum along the axes.

    Examples
    --------
    >>> print(min(jnp.asarray([[1, 5], [7, 2]]), axis=1))
    [1 2]
    """
    return _extreme(jnp.min, x, axis, keepdims, initial, where)


def _extreme(function, x, axis, keepdims, initial, where):
    if type(x) not in ARRAY_TYPES:
        x = as_argument(x)
    axis = static_axis(axis)
    if initial is None and where is None:
        return _EXTREMES[function](x, axis, keepdims)
    return _reduced(function, x, axis, keepdims, *_initial_and_where(x, initial, where))


@functools.partial(compiled, static_argnums=(0, 2, 3), inline=True)
@raises_as_numpy
def _reduced(function, x, axis, keepdims, initial=None, where=None):
    with x64_for(x.dtype):
        extreme = function(x, axis=axis, keepdims=keepdims, initial=initial, where=where)
        return _with_nan(extreme, x, axis, keepdims, where)


_EXTREMES = {
    function: with_numpy(function.__name__, functools.partial(_reduced, function))
    for function in (jnp.max, jnp.min)
}


def _with_nan(extreme, x, axis, keepdims, where):
    """Put back the NaN that XLA on the CPU (of JAX 0.10 to 0.12) loses among some thousand floats."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return extreme

    def put_back(extreme, x):
        lost = jnp.any(jnp.isnan(x), axis=axis, keepdims=keepdims, where=where)
        return jnp.where(lost, jnp.array(jnp.nan, extreme.dtype), extreme)

    return lax.platform_dependent(extreme, x, cpu=put_back, default=lambda extreme, x: extreme)


def _initial_and_where(x, initial, where):
    """Convert both to arrays, ``initial`` with the precision of the dtype of ``x``."""
    if isinstance(initial, np.generic):
        initial = initial.item()
    if initial is not None:
        initial = as_array(scalar_like(initial, x))
        refuse_complex(initial.dtype, x.dtype)
    return initial, None if where is None else as_array(where)
