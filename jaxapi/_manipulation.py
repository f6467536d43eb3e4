"""Manipulation functions (chapter "Manipulation functions" of the standard)."""

import functools
import math
import operator
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.numpy import broadcast_shapes
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ._core._devices import computed_in_host_memory
from ._core._docs import of_standard
from ._core._dtypes import WIDE, as_indices, x64_for
from ._core._errors import NEEDS_A_VALUE, raises_as_numpy, whole_number, with_remedy
from ._core._lengths import capacity, cut, has_own_length
from ._core._masks import index_dtype_for, put_at
from ._core._programs import compiled, eagerly_unless_traced, is_traced
from ._core._typing import Array, ArrayLike
from ._interop import as_array, as_operand, with_numpy
from ._interop._array_arguments import takes_array, takes_sequence

__all__ = ["broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip"]
__all__ += ["moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack"]

broadcast_to = takes_array(jnp.broadcast_to)
concat = takes_sequence(jnp.concat)
flip = takes_array(jnp.flip)
moveaxis = takes_array(jnp.moveaxis)


@functools.wraps(jnp.roll)
def _roll(a, shift, axis=None):
    """Take shifts that int32 does not hold modulo the lengths, which JAX counts in 32 bits."""
    dtype = getattr(shift, "dtype", None)
    if dtype not in WIDE and dtype != np.uint32:
        return jnp.roll(a, shift, axis)
    if axis is None:
        lengths = [a.size]
    else:
        axes = (axis,) if isinstance(axis, int) else axis
        lengths = [a.shape[normalize_axis_index(each, a.ndim)] for each in axes]
    with x64_for(dtype):
        if all(type(n) is int for n in lengths):
            divisors = np.maximum(lengths, 1).astype(dtype)
        else:  # some are known to a later program alone
            divisors = jnp.stack([jnp.asarray(n).astype(dtype) for n in lengths])
        shift = shift % (divisors[0] if axis is None or isinstance(axis, int) else divisors)
    return jnp.roll(a, shift.astype(np.int32), axis)


roll = takes_array(_roll, "shift")
squeeze = takes_array(jnp.squeeze)
stack = takes_sequence(jnp.stack)
unstack = takes_array(jnp.unstack)


@takes_array
@functools.wraps(jnp.reshape)
def reshape(x, shape, *options, **named_options):
    lengths = shape if isinstance(shape, tuple) else (shape,)
    if all(isinstance(n, int | np.integer) for n in lengths):
        _check_reshape(jnp.size(x), [int(n) for n in lengths])
    return jnp.reshape(x, shape, *options, **named_options)


def _check_reshape(size: int, lengths: list[int]) -> None:
    """Raise NumPy's ValueError, where JAX raises TypeError."""
    known = math.prod(n for n in lengths if n != -1)
    unknown_count = lengths.count(-1)
    if unknown_count == 0:
        fits = size == known
    elif unknown_count == 1 and known:
        fits = size % known == 0
    else:
        fits = False
    if not fits or min(lengths, default=0) < -1:
        raise ValueError(f"cannot reshape array of size {size} into shape {tuple(lengths)}")


@takes_array
@functools.wraps(jnp.tile)
def tile(x, repetitions):
    counts = repetitions if isinstance(repetitions, tuple) else (repetitions,)
    if not all(hasattr(n, "__index__") for n in counts):
        raise TypeError(f"repetitions must be integers, got {repetitions!r}")
    if any(isinstance(n, int | np.integer) and n < 0 for n in counts):  # with which JAX fails to compile
        raise ValueError(f"repetitions must not be negative, got {repetitions}")
    return jnp.tile(x, repetitions)


@of_standard("manipulation functions")
def broadcast_arrays(*arrays: ArrayLike) -> tuple[Array, ...]:
    """Broadcast the arrays against one another.

    Unlike `jax.numpy.broadcast_arrays` of JAX 0.10, the result is a tuple, not a list ([1]_).

    Parameters
    ----------
    *arrays : array_like, shapes that broadcast

    Returns
    -------
    tuple of Array
        All of one shape, each of its own dtype and values.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> [x.shape for x in broadcast_arrays(jnp.ones(3), jnp.ones((2, 1)))]
    [(2, 3), (2, 3)]
    """
    return _broadcast_arrays(tuple(map(as_operand, arrays)))


@functools.partial(compiled, inline=True)
@raises_as_numpy
def _broadcast_arrays(arrays):
    return tuple(jnp.broadcast_arrays(*arrays))


@of_standard("manipulation functions")
def expand_dims(x: ArrayLike, /, axis: int | Sequence[int]) -> Array:
    """Insert axes of size 1.

    Unlike `jax.numpy.expand_dims`, an axis out of range raises an ``IndexError``, as the standard asks
    ([1]_), and the call is compiled.

    Parameters
    ----------
    x : array_like
    axis : int or sequence of int
        Where the new axes are in the result; negative ones count from its end.

    Returns
    -------
    Array
        Of the same dtype and values.

    Raises
    ------
    numpy.exceptions.AxisError
        If an axis is out of range; it is both an ``IndexError`` and a ``ValueError``, as in NumPy.
    ValueError
        If an axis is given twice.

    Examples
    --------
    >>> expand_dims(jnp.ones((2, 3)), axis=(0, -1)).shape
    (1, 2, 3, 1)
    """
    axes = axis if isinstance(axis, list | tuple) else (axis,)
    return _expand_dims(as_operand(x), tuple(whole_number(axis, "axis") for axis in axes))


@functools.partial(compiled, static_argnums=1, inline=True)
def _expand_dims(x, axes):
    return jnp.expand_dims(x, normalize_axis_tuple(axes, jnp.ndim(x) + len(axes), "axis"))


@of_standard("manipulation functions")
def permute_dims(x: ArrayLike, /, axes: Sequence[int]) -> Array:
    """Put the axes in another order.

    Unlike `jax.numpy.permute_dims` of JAX 0.10, negative axes count from the end ([1]_).

    Parameters
    ----------
    x : array_like
    axes : sequence of int
        A permutation of the axes of ``x``; axis i of the result is axis ``axes[i]`` of ``x``.

    Returns
    -------
    Array
        Of the same dtype and values.

    Raises
    ------
    ValueError
        If ``axes`` is no permutation of the axes.
    TypeError
        If ``axes`` is no sequence of int.

    Examples
    --------
    >>> permute_dims(jnp.ones((2, 3, 4)), (-1, 0, 1)).shape
    (4, 2, 3)
    """
    return _permute_dims(as_operand(x), tuple(whole_number(axis, "axes") for axis in axes))


@functools.partial(compiled, static_argnums=1, inline=True)
def _permute_dims(x, axes):
    ndim = jnp.ndim(x)
    if len(axes) != ndim:
        raise ValueError(f"axes must be a permutation of the {ndim} axes of x, got {axes}")
    return jnp.transpose(x, normalize_axis_tuple(axes, ndim, "axes"))


@of_standard("manipulation functions")
def repeat(
    x: ArrayLike,
    repeats: int | ArrayLike,
    /,
    *,
    axis: int | None = None,
    total_repeat_length: int | None = None,
) -> Array:
    """Repeat each element.

    Unlike `jax.numpy.repeat`, a number of repeats makes one compiled call, another length of the result
    seldom compiles where the first axis is repeated by an array (a program is compiled for two lengths for
    each doubling, and for eight from 4 MiB on), and anything array-like is taken and keeps its dtype
    ([1]_).

    Parameters
    ----------
    x : array_like
    repeats : int or array_like of int
        How often; for each element along the axis by itself, if it is an array. Negative numbers of a traced
        array, and with ``total_repeat_length`` those of any array, are not seen.
    axis : int, optional
        The axis along which elements repeat; ``x`` is flattened if it is omitted.
    total_repeat_length : int, optional
        The length of the result along the axis, as in JAX: cut, or filled with the last element. A traced
        array of ``repeats`` needs it.

    Returns
    -------
    Array
        Of the dtype of ``x``. Where an array of ``repeats`` repeats the first axis, outside of
        transformations, it holds memory for up to half as many more elements, or an eighth from 4 MiB on.

    Raises
    ------
    ValueError
        If ``repeats`` is negative or does not broadcast to the axis.
    numpy.exceptions.AxisError
        If ``axis`` is out of range (both a ``ValueError`` and an ``IndexError``).
    TypeError
        If ``repeats`` is not of integers.

    Examples
    --------
    >>> print(repeat([1, 2], 3), repeat([1, 2], [2, 1]))
    [1 1 1 2 2 2] [1 1 2]
    """
    x = as_operand(x)
    if axis is not None:
        axis = normalize_axis_index(whole_number(axis, "axis"), max(np.ndim(x), 1))
    if isinstance(repeats, int | np.integer):
        repeats = operator.index(repeats)
        _refuse_negative(repeats)
        return _repeat(x, repeats, axis, total_repeat_length)
    with eagerly_unless_traced(*jax.tree.leaves(repeats)):
        counts = as_indices(as_array(repeats))
    if not jnp.issubdtype(jnp.result_type(counts), jnp.integer):
        raise TypeError(f"repeats must be integers, got dtype {jnp.result_type(counts)}")
    if total_repeat_length is None and not is_traced(counts):  # their sum is the length of the result
        if has_own_length(x, counts) and _is_one_for_each(counts, x, axis):
            return _repeat_into_buffer(as_array(x), counts, axis)
        counts = np.asarray(counts)
        _refuse_negative(counts)
    try:
        return _repeat_each(x, counts, axis, total_repeat_length)
    except NEEDS_A_VALUE as error:
        raise with_remedy(error, "repeat") from None


def _is_one_for_each(counts, x, axis) -> bool:
    """Tell whether there are several numbers of repeats, one for each element along the axis."""
    shape = jnp.shape(x)
    length = math.prod(shape) if axis is None or not shape else shape[axis]
    return counts.size > 1 and counts.shape == (length,)


def _repeat_into_buffer(x, counts, axis):
    """Repeat elements in a program for many lengths if they are along the first axis, where it can be cut."""
    if axis is None:
        x = x.reshape(-1)
        axis = 0
    return _repeat_of_own_length(x, counts, axis)


@functools.partial(with_numpy, "repeat")
def _repeat_of_own_length(x, counts, axis):
    total, repeated = repeated_in_buffer(x, counts, axis)
    with x64_for(x.dtype):
        return cut(total, repeated)[0] if axis == 0 else repeated


def repeated_in_buffer(x, counts, axis, row_bytes=None):
    """Return how long an axis is whose elements are repeated, and the result; along axis 0 a buffer of it.

    ``row_bytes`` decides how long that is (see `capacity`), by default those of a row.
    """
    with x64_for(np.dtype(np.int64)):  # in which they do not overflow
        least, total = np.asarray(computed_in_host_memory(_least_and_sum, counts)).tolist()
    if least < 0:
        _refuse_negative(np.asarray(counts))
    row_bytes = row_bytes or x.dtype.itemsize * math.prod(x.shape[1:])
    length = capacity(total, row_bytes) if axis == 0 else total
    index_dtype = index_dtype_for(max(length, counts.size))
    with x64_for(x.dtype, counts.dtype, index_dtype):
        return total, _repeated(x, counts, length, axis, index_dtype)


def _least_and_sum(counts):
    return jnp.stack([jnp.min(counts).astype(np.int64), jnp.sum(counts, dtype=np.int64)])


@functools.partial(compiled, static_argnums=(2, 3, 4))
def _repeated(x, counts, length, axis, index_dtype):
    """Write each element's number where its copies begin: the last one so far says whose copy a place has."""
    counts = counts.astype(index_dtype)
    begins = jnp.cumsum(counts) - counts
    numbers = lax.iota(index_dtype, counts.size)
    where_to = jnp.where(counts > 0, begins, length + numbers)
    first_copies = jnp.zeros(length, index_dtype)
    first_copies = put_at(first_copies, where_to, numbers)
    return jnp.take(x, lax.cummax(first_copies), axis=axis, mode="clip")


def _refuse_negative(repeats: int | np.ndarray) -> None:
    if np.any(repeats < 0):
        raise ValueError(f"repeats must not be negative, got {repeats}")


@raises_as_numpy
def _repeat_each(x, counts, axis, total_repeat_length):
    return jnp.repeat(x, counts, axis, total_repeat_length=total_repeat_length)


_repeat = compiled(_repeat_each, static_argnums=(1, 2, 3), inline=True)
