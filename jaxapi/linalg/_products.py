"""Products of arrays, shared by the main namespace and `linalg`.

`jax.numpy`'s products run float32 in TF32 on NVIDIA GPUs (factors of 11 bits) and raise JAX's own exception
types; `jnp.vecdot` also runs as several dispatches. Each function here checks its arguments, then makes one
call of one compiled contraction in the full precision of the dtype.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .._core._docs import of_standard
from .._core._dtypes import with_operands_promoted
from .._core._errors import check_broadcast, whole_number
from .._core._programs import compiled
from .._core._typing import Array, ArrayLike
from .._interop import as_argument

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


@of_standard("linear algebra functions")
def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Matrix product in full precision.

    Unlike `jax.numpy.matmul`, float32 does not run in TF32 on a GPU (unless ``jax_default_matmul_precision``
    is set), lists are taken, and a mismatch is NumPy's ``ValueError`` ([1]_, section "matmul").

    Parameters
    ----------
    x1 : array_like, shape (..., n, k) or (k,)
    x2 : array_like, shape (..., k, m) or (k,)
        The leading axes broadcast; a 1-D operand is a row (``x1``) or a column (``x2``) whose axis the
        result lacks. NaN and infinity follow IEEE arithmetic.

    Returns
    -------
    Array, shape (..., n, m)
        Of the operands' promoted dtype. float16 and bfloat16 are summed in float32, integers wrap, bool is
        the OR of ANDs.

    Raises
    ------
    ValueError
        If an operand is 0-d, the contracted sizes differ, or the leading axes do not broadcast.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.matmul([[1, 2], [3, 4]], [10, 1]).tolist()
    [12, 34]
    """
    if type(x1) is not type(x2) or not isinstance(x1, Array):
        x1 = as_argument(x1)
        x2 = as_argument(x2)
    return _matmul(x1, x2)


@of_standard("linear algebra functions")
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Swap the last two axes.

    Unlike `jax.numpy.matrix_transpose`, lists are taken ([1]_, section "matrix_transpose").

    Parameters
    ----------
    x : array_like, shape (..., n, m)
        Of any dtype; values, NaN included, are only moved.

    Returns
    -------
    Array, shape (..., m, n)
        Of the same dtype.

    Raises
    ------
    ValueError
        If ``x`` has fewer than two dimensions.

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.matrix_transpose([[1, 2, 3]]).shape
    (3, 1)
    """
    if not isinstance(x, jax.Array):
        x = as_argument(x)
    return _matrix_transpose(x)


def tensordot(
    x1: ArrayLike, x2: ArrayLike, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Contract several axes of two arrays in full precision.

    Unlike `jax.numpy.tensordot`, float32 does not run in TF32 on a GPU (unless
    ``jax_default_matmul_precision`` is set), lists are taken, and a mismatch is NumPy's ``ValueError`` ([1]_,
    section "tensordot").

    Parameters
    ----------
    x1, x2 : array_like
        The operands, of any shape. NaN and infinity follow IEEE arithmetic.
    axes : int or pair of sequences of int
        ``N``: the last ``N`` axes of ``x1`` with the first ``N`` of ``x2``, in order. A pair: the axes of
        ``x1`` and those of ``x2``, matched by position; an int in place of a sequence is one axis.

    Returns
    -------
    Array
        The axes of ``x1`` that stayed, then those of ``x2``; of the operands' promoted dtype. float16 and
        bfloat16 are summed in float32, integers wrap, bool is the OR of ANDs.

    Raises
    ------
    ValueError
        If matched sizes differ, the two sequences differ in length, an axis repeats, or ``N`` is negative.
    TypeError
        If ``axes`` is neither an int nor a pair of sequences of int.
    numpy.exceptions.AxisError
        If an axis does not exist (a ``ValueError`` and an ``IndexError``).

    Notes
    -----
    Under `jax.jit`, ``axes`` is static. Differentiable in both operands.

    References
    ----------
    .. [1] Array API standard 2025.12, "Linear algebra functions".

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]], axes=2).item()
    5
    """
    if type(x1) is not type(x2) or not isinstance(x1, Array):
        x1 = as_argument(x1)
        x2 = as_argument(x2)
    if type(axes) is not int:  # make it tuples, which can be hashed
        axes = _contracted_axes(axes, x1.ndim, x2.ndim)  # type: ignore[union-attr]  # arrays by now
    return _tensordot(x1, x2, axes)


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Dot products of vectors along an axis, ``sum(conj(x1) * x2)``, in full precision.

    Unlike `jax.numpy.vecdot`, float32 does not run in TF32 on a GPU (unless ``jax_default_matmul_precision``
    is set), it is one dispatch, lists are taken, and errors are of NumPy's types ([1]_, section "vecdot").

    Parameters
    ----------
    x1, x2 : array_like
        Their sizes along ``axis`` must be equal; the other axes broadcast, without the broadcast being
        stored. NaN and infinity follow IEEE arithmetic.
    axis : int
        Counted in each operand by itself, before broadcasting, as `numpy.vecdot` does: ``(100,)`` with
        ``(100, 20)`` on axis 0 gives ``(20,)``. (The standard only defines negative axes.)

    Returns
    -------
    Array
        The broadcast shape without ``axis``, of the operands' promoted dtype. float16 and bfloat16 are
        summed in float32, integers wrap, bool is the OR of ANDs; an empty axis gives 0.

    Raises
    ------
    ValueError
        If the sizes along ``axis`` differ (1 does not broadcast there), the other axes do not broadcast, or
        an operand is 0-d.
    numpy.exceptions.AxisError
        If an operand has no such axis (a ``ValueError`` and an ``IndexError``).
    TypeError
        If ``axis`` is not an integer.

    Notes
    -----
    Under `jax.jit`, ``axis`` is static. Differentiable in both operands.

    References
    ----------
    .. [1] Array API standard 2025.12, "Linear algebra functions".

    Examples
    --------
    >>> import jaxapi as xp
    >>> xp.vecdot([3.0, 4.0], [[1.0, 0.0], [0.0, 1.0]]).tolist()
    [3.0, 4.0]
    """
    if type(x1) is not type(x2) or not isinstance(x1, Array):
        x1 = as_argument(x1)
        x2 = as_argument(x2)
    if type(axis) is not int:
        axis = whole_number(axis, "axis")
    return _vecdot(x1, x2, axis)


@compiled
@with_operands_promoted
def _matmul(x1: Array, x2: Array) -> Array:
    _check_matmul(x1.shape, x2.shape)
    return jnp.matmul(x1, x2, **_precise(x1.dtype)).astype(x1.dtype)


@compiled
def _matrix_transpose(x: Array) -> Array:
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: x must be at least 2-dimensional, got shape {x.shape}")
    return jnp.swapaxes(x, -1, -2)


@partial(compiled, static_argnums=2)
@with_operands_promoted
def _tensordot(x1: Array, x2: Array, axes) -> Array:
    axes1, axes2 = _contracted_axes(axes, x1.ndim, x2.ndim) if type(axes) is int else axes
    sizes1 = [x1.shape[axis] for axis in axes1]
    sizes2 = [x2.shape[axis] for axis in axes2]
    if sizes1 != sizes2:
        raise ValueError(
            f"shape-mismatch for sum: axes {axes1} of x1 with shape {x1.shape} have sizes {sizes1}, "
            f"axes {axes2} of x2 with shape {x2.shape} have sizes {sizes2}; they must be equal"
        )
    dimension_numbers = (axes1, axes2), ((), ())
    product = lax.dot_general(x1, x2, dimension_numbers, **_precise(x1.dtype))
    return product.astype(x1.dtype)


@partial(compiled, static_argnums=2)
@with_operands_promoted
def _vecdot(x1: Array, x2: Array, axis: int) -> Array:
    axis1, axis2 = _check_vecdot(x1.shape, x2.shape, axis)
    x1 = jnp.moveaxis(jnp.conj(x1), axis1, -1)
    x2 = jnp.moveaxis(x2, axis2, -1)
    # Labels of einsum's for the broadcast axes, counted from the right; a size 1 that broadcasts is squeezed
    # away, so that the contraction reads the smaller operand as it is.
    rest = jnp.broadcast_shapes(x1.shape[:-1], x2.shape[:-1])
    contracted = len(rest)
    x1, labels1 = _squeeze_broadcast(x1, rest)
    x2, labels2 = _squeeze_broadcast(x2, rest)
    out = [label for label in range(contracted) if label in labels1 or label in labels2]
    dots = jnp.einsum(x1, [*labels1, contracted], x2, [*labels2, contracted], out, **_precise(x1.dtype))
    return dots.reshape(rest).astype(x1.dtype)


def _squeeze_broadcast(x: Array, rest: tuple[int, ...]) -> tuple[Array, list[int]]:
    """Drop the leading axes of size 1; the others' positions in ``rest``."""
    first = len(rest) - (x.ndim - 1)
    kept = [i for i in range(x.ndim - 1) if x.shape[i] != 1]
    shape = [x.shape[i] for i in kept] + [x.shape[-1]]
    return x.reshape(shape), [first + i for i in kept]


def _precise(dtype: np.dtype) -> dict:
    """Return the settings of a contraction in full precision."""
    settings: dict[str, object] = {}
    if dtype in (jnp.float16, jnp.bfloat16):
        settings["preferred_element_type"] = jnp.dtype(jnp.float32)
    if jax.config.jax_default_matmul_precision is None:
        settings["precision"] = lax.Precision.HIGHEST
    return settings


def _contracted_axes(axes, ndim1: int, ndim2: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Spell `tensordot`'s ``axes`` out as two tuples of non-negative axes."""
    if _is_int(axes):
        n = whole_number(axes, "axes")
        if n < 0:
            raise ValueError(f"tensordot: axes must be non-negative when it is an integer, got {n}")
        if n > min(ndim1, ndim2):
            raise np.exceptions.AxisError(f"tensordot: axes={n} needs {n} axes, got {ndim1} and {ndim2}")
        return tuple(range(ndim1 - n, ndim1)), tuple(range(n))
    rule = f"tensordot: axes must be an int or a pair of sequences of int, got {axes!r}"
    if hasattr(axes, "__len__") and len(axes) != 2:
        raise ValueError(rule)
    try:
        axes1, axes2 = axes
        axes1 = normalize_axis_tuple(axes1, ndim1, "axes")
        axes2 = normalize_axis_tuple(axes2, ndim2, "axes")
    except TypeError:
        raise TypeError(rule) from None
    if len(axes1) != len(axes2):
        raise ValueError(f"tensordot: axes must name as many axes of x1 as of x2, got {axes}")
    return axes1, axes2


def _is_int(axes) -> bool:
    return hasattr(axes, "__index__") and np.ndim(axes) == 0  # every array of NumPy has the method


def _check_matmul(shape1: tuple[int, ...], shape2: tuple[int, ...]) -> None:
    _refuse_scalars("matmul", shape1, shape2)
    k1 = shape1[-1]
    k2 = shape2[-2] if len(shape2) > 1 else shape2[0]
    if k1 != k2:
        axis2 = "last axis but one" if len(shape2) > 1 else "axis"
        raise ValueError(
            f"matmul: the last axis of x1 has size {k1} and the {axis2} of x2 has size {k2}, which must be "
            f"equal: got shapes {shape1} and {shape2}"
        )
    check_broadcast("matmul, all axes but the last two", shape1[:-2], shape2[:-2])


def _refuse_scalars(name: str, *shapes: tuple[int, ...]) -> None:
    for i, shape in enumerate(shapes, 1):
        if not shape:
            raise ValueError(f"{name}: x{i} has no axes, and at least one is wanted; use * for a scalar")


def _check_vecdot(shape1: tuple[int, ...], shape2: tuple[int, ...], axis: int) -> tuple[int, int]:
    """Check the shapes; ``axis`` in each operand."""
    _refuse_scalars("vecdot", shape1, shape2)
    axis1 = normalize_axis_index(axis, len(shape1))
    axis2 = normalize_axis_index(axis, len(shape2))
    if shape1[axis1] != shape2[axis2]:
        raise ValueError(
            f"vecdot: axis {axis} of x1 has size {shape1[axis1]} and that of x2 has size {shape2[axis2]}, "
            f"which must be equal: got shapes {shape1} and {shape2}"
        )
    rest1 = shape1[:axis1] + shape1[axis1 + 1 :]
    rest2 = shape2[:axis2] + shape2[axis2 + 1 :]
    check_broadcast("vecdot, all axes but the contracted one", rest1, rest2)
    return axis1, axis2
