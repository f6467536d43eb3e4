"""Manipulation functions (chapter "Manipulation functions" of the standard)."""

import functools
import math
import operator
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.numpy import broadcast_shapes
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ._core._docs import of_standard
from ._core._dtypes import WIDE, as_indices, x64_for
from ._core._errors import raises_as_numpy
from ._core._programs import compiled, eagerly_unless_traced, is_traced
from ._core._typing import Array, ArrayLike
from ._interop import as_array, as_operand
from ._interop._arguments import takes_array, takes_sequence

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
    is_beyond = dtype in WIDE or dtype == np.uint32
    if not is_beyond or not all(type(length) is int for length in a.shape):
        return jnp.roll(a, shift, axis)
    if axis is None:
        lengths = a.size
    elif isinstance(axis, int):
        lengths = a.shape[normalize_axis_index(axis, a.ndim)]
    else:
        lengths = [a.shape[normalize_axis_index(each, a.ndim)] for each in axis]
    with x64_for(shift.dtype):
        shift = shift % np.maximum(lengths, 1).astype(shift.dtype)
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
    return _expand_dims(as_operand(x), tuple(map(operator.index, axes)))  # type: ignore[arg-type]


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
    return _permute_dims(as_operand(x), tuple(map(operator.index, axes)))


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

    Unlike `jax.numpy.repeat`, a number of repeats makes one compiled call, and anything array-like is
    taken and keeps its dtype ([1]_).

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
        Of the dtype of ``x``.

    Raises
    ------
    ValueError
        If ``repeats`` is negative or does not broadcast to the axis.
    TypeError
        If ``repeats`` is not of integers.

    Examples
    --------
    >>> print(repeat([1, 2], 3), repeat([1, 2], [2, 1]))
    [1 1 1 2 2 2] [1 1 2]
    """
    x = as_operand(x)
    axis = None if axis is None else operator.index(axis)
    if isinstance(repeats, int | np.integer):
        repeats = operator.index(repeats)
        _refuse_negative(repeats)
        return _repeat(x, repeats, axis, total_repeat_length)
    with eagerly_unless_traced(*jax.tree.leaves(repeats)):
        counts = as_indices(as_array(repeats))
    if not jnp.issubdtype(jnp.result_type(counts), jnp.integer):
        raise TypeError(f"repeats must be integers, got dtype {jnp.result_type(counts)}")
    if total_repeat_length is None and not is_traced(counts):  # their sum is the length of the result
        counts = np.asarray(counts)
        _refuse_negative(counts)
    return _repeat_each(x, counts, axis, total_repeat_length)


def _refuse_negative(repeats: int | np.ndarray) -> None:
    if np.any(repeats < 0):
        raise ValueError(f"repeats must not be negative, got {repeats}")


@raises_as_numpy
def _repeat_each(x, counts, axis, total_repeat_length):
    return jnp.repeat(x, counts, axis, total_repeat_length=total_repeat_length)


_repeat = compiled(_repeat_each, static_argnums=(1, 2, 3), inline=True)
