"""Reading and writing by index, as functions of `jax.Array` values."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._devices import all_in_host_memory, computed_in_host_memory
from .._core._dtypes import WIDE, as_indices, x64_as, x64_for, x64_inside
from .._core._lengths import KEPT, capacity, cut, has_own_length
from .._core._masks import count_true, index_dtype_for, put_at, running_counts, targets, true_positions
from .._core._programs import compiled, is_traced
from ._batches import (
    LineProgram,
    Pending,
    attempt_by_kinds,
    concrete,
    kind_of,
    line_program_of,
    recorded,
    takes_pending,
)
from ._keys import FULL, LONG, check_int, expand, indices_along, is_array, is_mask, length_of, parts_of
from ._promotion import cast_line
from ._selection import Selection, broadcast, compiled_pair, on_any_mesh, put, read_before, values_for

__all__ = ["accumulate", "check_indices", "count_of_mask", "index_along", "is_symbolic"]
__all__ += ["are_on_device", "line_of_scatter"]
__all__ += ["on_host", "plain_selection", "read", "read_unless_on_device", "reads_on_host"]
__all__ += ["scatter_in_rows", "selected_in_buffer", "selection_of", "write", "write_mask"]

_INTS = frozenset([int])
_INT32_BYTES = 4
_BOUNDS = frozenset([int, type(None)])
_SELECTIONS_KEPT = 4096
_LINES_KEPT = 1024
_SMALL = 2**16  # bytes that are faster read on the host than selected on the device
_SMALL_GRID = 2**20  # positions of which each can have a number in little memory


def selection_of(shape: tuple, keys: tuple) -> Selection | None:
    """Return what ints, slices, None and Ellipsis select; None for another key."""
    if any(map(is_array, keys)) or is_symbolic(shape):
        return None
    return Selection.of(keys, shape)


def plain_selection(shape: tuple, keys: tuple) -> Selection | None:
    """Return what ints, slices, None and Ellipsis select; None where a part, or a slice's bound, is another.

    A key that comes again has the same selection, of which programs were chosen before.
    """
    plain_keys: list[Any] = []
    for k in keys:
        kind = type(k)
        if kind is slice:
            k = (k.start, k.stop, k.step)
            if not _BOUNDS.issuperset(map(type, k)):
                return None
        elif kind is not int and k is not None and k is not Ellipsis:
            return None
        plain_keys.append(k)
    return _selection_of_plain(shape, tuple(plain_keys)) if _INTS.issuperset(map(type, shape)) else None


@functools.lru_cache(_SELECTIONS_KEPT)
def _selection_of_plain(shape: tuple[int, ...], plain_keys: tuple) -> Selection:
    return Selection.of(tuple([slice(*k) if type(k) is tuple else k for k in plain_keys]), shape)


def read(value: jax.Array, keys: tuple) -> jax.Array:
    """Return ``value[keys]`` for a key with arrays."""
    if is_symbolic(value.shape):
        return value[keys]
    keys = tuple(map(read_unless_on_device, keys))
    if type(value) is Pending and any(map(is_mask, keys)):
        value = value.value()
    value, keys = _with_axes_of_bools(value, keys)
    arrays = [k for k in keys if is_array(k)]
    axis = _only_mask(keys, arrays)
    if axis is not None:
        return _read_mask(value, arrays[0], axis)
    indices, layout = _split(_without_masks(keys, value.shape), value)
    if Pending in map(type, (value, *indices)):
        return _gather_line(value, layout, *indices)
    return _gather(value, indices, layout)


def read_unless_on_device(k: Any) -> Any:
    """Return a part of a key; a pending one is read if its value is needed, or costs nothing."""
    return k.value() if type(k) is Pending and (is_mask(k) or _is_on_host(k)) else k


@takes_pending
def write(value: jax.Array, keys: tuple, new, made: list | None) -> jax.Array:
    """Return ``value`` after ``value[keys] = new``, in its memory if ``made`` is a list."""
    selection = selection_of(value.shape, keys)
    if selection is not None:
        return put(value, selection, new, made)
    keys = tuple(map(read_unless_on_device, keys))
    if any(map(is_mask, keys)):
        value = concrete(value)
        new = concrete(new)
    with x64_for(value.dtype):
        return _write(value, keys, values_for(new, value), made)


def _write(value, keys, new, made):
    expanded, keys_of_axes = _with_axes_of_bools(value, keys)
    if expanded is not value:
        return _write(expanded, keys_of_axes, new, None).reshape(value.shape)
    arrays = [k for k in keys if is_array(k)]
    value, new = read_before(value, new)
    axis = _only_mask(keys, arrays)
    if axis is not None:
        mask = _checked(arrays[0], value.shape, axis)
        varies = _varies_along(mask, new, value.ndim - axis - mask.ndim)
        return write_mask(made, value, mask, new, axis, varies)
    if is_symbolic(value.shape):
        return value.at[keys].set(new)
    indices, layout = _split(_without_masks(keys, value.shape), value)
    return _scatter(made, value, new, layout, "set", *indices)


@takes_pending
def accumulate(value: jax.Array, key, new, made: list | None, how: str) -> jax.Array:
    """Return ``value`` after a number was added at each position, say, once for each time that it comes."""
    with x64_for(value.dtype):
        new = values_for(new, value)
        keys = tuple(map(read_unless_on_device, parts_of(key)))
        indices, layout = _split(_without_masks(keys, value.shape), value)
        return _scatter(made, value, new, layout, how, *indices)


def is_symbolic(shape: tuple) -> bool:
    """Whether a length is not known: JAX itself indexes the arrays of programs exported for all lengths."""
    return not _INTS.issuperset(map(type, shape))


# Integer arrays


def _split(keys, value) -> tuple[list, tuple]:
    """Part a key into its arrays, which are inputs of the program, and the layout around them."""
    indices: list = []
    layout: list = []
    shape = value.shape
    ellipsis = next((i for i, k in enumerate(keys) if k is Ellipsis), 0)
    stands_for_no_axis = ellipsis and sum(map(length_of, keys)) == len(shape)
    is_between_arrays = any(map(is_array, keys[:ellipsis])) and any(map(is_array, keys[ellipsis:]))
    if stands_for_no_axis and is_between_arrays:  # then NumPy moves the arrays' axes to the front
        raise IndexError("`...` between arrays stands for no axis: leave it out, and move axes afterwards")
    for k, axis in expand(keys, shape):
        if k is None:
            layout.append(None)
        elif type(k) is slice:
            layout.append(_bounds(k, shape[axis]) if k != FULL else ())
        else:
            if type(k) is int:
                k = np.asarray(check_int(k, axis, shape[axis]))
            else:
                check_indices(k, axis, shape[axis])
            indices.append(index_along(k, shape[axis]))
            layout.append("array")
    _check_together([np.shape(k) for k in indices])
    return indices, tuple(layout)


def index_along(k: Any, size: int) -> Any:
    """Return an index array as programs take it along an axis of a size."""
    if type(k) is Pending:
        return cast_line(k, np.dtype(np.int32)) if k.dtype.itemsize < _INT32_BYTES else k
    return as_indices(k) if isinstance(k, jax.Array) else indices_along(k, size)


def _bounds(k: slice, size: int) -> tuple[int, int, int]:
    """Return start, stop and step; of an empty slice not -1, which means the last element."""
    bounds = k.indices(size)
    return bounds if range(*bounds) else (0, 0, 1)


def _check_together(shapes: list[tuple[int, ...]]) -> None:
    """Raise NumPy's IndexError for index arrays that do not broadcast."""
    if len(shapes) < 2:
        return
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(map(str, shapes))
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {listed}"
        ) from None


def check_indices(k, axis, size, count=None) -> None:
    """Refuse what is out of bounds where that can be seen without waiting for a device, of so many rows."""
    if not k.size or is_traced(k) or type(k) is Pending or not _is_on_host(k):
        return
    host = np.asarray(k)[:count] if k.ndim else np.asarray(k)
    for extreme in (int(host.min()), int(host.max())):
        check_int(extreme, axis, size)


def are_on_device(positions: Any) -> bool:
    """Whether an array is one of positions that are not looked at, as they are on a device."""
    return positions.dtype.kind in "iu" and not _is_on_host(positions)


def _is_on_host(x) -> bool:
    """Whether reading ``x`` on the host costs nothing."""
    if isinstance(x, (np.ndarray, np.generic)):
        return True
    if type(x) is Pending:
        return x.device.platform == "cpu"
    return x.is_fully_addressable and {device.platform for device in x.devices()} == {"cpu"}


def _assembled(indices, layout):
    """Put index arrays and the layout around them together to a key again, as `_split` found it."""
    remaining_indices = iter(indices)
    key = []
    for part in layout:
        if part is None:
            key.append(None)
        elif part == "array":
            key.append(next(remaining_indices))
        else:
            key.append(_slice(*part))
    return tuple(key)


def _slice(start=None, stop=None, step=None):
    # slice.indices gives -1 for "before the first element", which a slice reads as "the last one"
    return slice(start, None if stop is not None and stop < 0 else stop, step)


@functools.partial(compiled, static_argnums=2)
@on_any_mesh(2, keeps_sharding=False)
def _gather(value, indices, layout):
    return value[_assembled(indices, layout)]


def _gathered_at(value, layout, *indices):
    return _gather(value, list(indices), layout)


_gather_line = recorded(compiled(_gathered_at, static_argnums=1))


def _scattered(value, new, layout, how, *indices):
    return _scattered_at(value, list(indices), new, layout, how)


@on_any_mesh(3)
def _scattered_at(value, indices, new, layout, how):
    if how == "set" and new.size > 1:
        sizes = _sizes_along_arrays(value.shape, layout)
        indices = [_without_overwritten(indices, sizes), *indices[1:]]
    key = _assembled(indices, layout)
    shape = jax.eval_shape(lambda x: x[key], value).shape
    return getattr(value.at[key], how)(broadcast(new.astype(value.dtype), shape))


_scatter = compiled_pair(_scattered, static_argnums=(2, 3))


def _scattered_in_rows(buffer, indices, counts, new, layout):
    """Write at positions; along the first axis those that do not count, or are out of bounds, go beyond."""
    size, position_count = counts
    first, *others = indices
    if layout[0] == "array":
        size = size.astype(first.dtype)
        first = jnp.where(first < 0, first + size, first)
        is_written = (first >= 0) & (first < size)
        shape = jnp.broadcast_shapes(*[x.shape for x in indices])
        if shape:
            is_written = is_written & (lax.broadcasted_iota(np.int32, shape, 0) < position_count)
        first = jnp.where(is_written, first, jnp.asarray(len(buffer), first.dtype))
    return _scattered(buffer, new, layout, "set", first, *others)


def line_of_scatter(value: Any, rows: int | None, positions: Any, new: Any, how: str, is_wide: bool) -> Any:
    """Return ``value`` after ``new`` was written at positions along the first axis, as a line of a batch.

    ``new`` is an array or a Python number; ``how`` is as JAX calls it. None is returned for what is no line,
    as a buffer is none of which some rows count.
    """
    is_x64 = is_wide or value.dtype in WIDE
    if rows is not None or (positions.dtype in WIDE and not is_x64):
        return None
    return attempt_by_kinds(_line_program_of_scatter, (how,), (value, new, positions), is_x64)


@functools.lru_cache(_LINES_KEPT)
def _line_program_of_scatter(key: tuple[Any, ...]) -> LineProgram | None:
    """Return the program of such a line; None where a cast, or a check of values, comes first."""
    how, (of_value, of_new, of_positions), is_x64 = key
    if not of_value.shape or of_value.shape[0] >= LONG or of_positions.dtype.itemsize < _INT32_BYTES:
        return None
    if type(of_new) is type:
        if how != "set" or of_new is complex:
            return None
        of_new = kind_of((), of_value.dtype)
    elif of_new.dtype != of_value.dtype or of_new.weak_type:
        return None
    layout = ("array", *[()] * (len(of_value.shape) - 1))
    with x64_inside() if is_x64 else x64_as(False):
        return line_program_of(_scatter.in_new_memory, (layout, how), (of_value, of_new, of_positions))


scatter_in_rows = compiled_pair(_scattered_in_rows, static_argnums=4)


def _sizes_along_arrays(shape, layout) -> list[int]:
    """Return the lengths of the axes along which a key has arrays."""
    axes = [part for part in layout if part is not None]
    return [size for size, part in zip(shape, axes, strict=True) if part == "array"]


def _without_overwritten(indices, sizes):
    """Return the first index array with positions out of bounds where a later element is the same one.

    They are not written then. So what comes last remains, as in NumPy, though only the CPU writes one after
    another.
    """
    first = indices[0].dtype
    dtype = (
        first if sizes[0] <= np.iinfo(first).max else np.dtype(np.int64)
    )  # which has a number out of bounds

    def of_cpu(first, *others):
        return jnp.broadcast_arrays(first, *others)[0].astype(dtype)

    def of_others(*indices):
        indices = jnp.broadcast_arrays(*indices)
        last_of_equal = _last_in_grid if _has_small_grid(sizes, indices[0].size) else _last_when_sorted
        is_last = last_of_equal(indices, sizes)
        return jnp.where(is_last, indices[0].astype(dtype), np.asarray(sizes[0], dtype))

    with x64_for(dtype):
        return lax.platform_dependent(*indices, cpu=of_cpu, default=of_others)


def _has_small_grid(sizes, count) -> bool:
    """Whether a number for each position takes little memory, or not much more than the positions given."""
    return math.prod(sizes) <= max(_SMALL_GRID, 4 * count)


def _last_in_grid(indices, sizes):
    """Say which elements are the last of equal positions, by the last one at each position that there is."""
    dtype = index_dtype_for(indices[0].size)
    with x64_for(dtype):
        order = lax.iota(dtype, indices[0].size).reshape(indices[0].shape)
        last = jnp.full(sizes, -1, dtype).at[tuple(indices)].max(order)
        return last[tuple(indices)] == order


def _last_when_sorted(indices, sizes):
    """Say the same by sorting positions, in memory for them alone."""
    dtype = index_dtype_for(math.prod(sizes))
    order_dtype = index_dtype_for(indices[0].size)
    with x64_for(dtype, order_dtype):
        numbers = jnp.zeros(indices[0].shape, dtype)
        is_within = jnp.ones(indices[0].shape, bool)
        for index, size in zip(indices, sizes, strict=True):
            index = index.astype(dtype)
            index = jnp.where(index < 0, index + size, index)
            is_within &= (index >= 0) & (index < size)
            numbers = numbers * size + index
        numbers = jnp.where(is_within, numbers, -1).reshape(-1)
        order = lax.iota(order_dtype, numbers.size)
        numbers, order = lax.sort((numbers, order), num_keys=1, is_stable=True)
        is_last = jnp.append(numbers[1:] != numbers[:-1], True)
        in_order = jnp.zeros(numbers.size, bool).at[order].set(is_last, unique_indices=True)
        return in_order.reshape(indices[0].shape)


# Masks


def _only_mask(keys, arrays) -> int | None:
    """Return the axis at which a mask selects if there is one mask and otherwise only full slices."""
    if len(arrays) != 1 or not is_mask(arrays[0]):
        return None
    mask = arrays[0]
    axis = next(i for i, k in enumerate(keys) if k is mask)
    if not all(map(_is_full_slice, keys[:axis])):
        return None
    if not all(k is Ellipsis or _is_full_slice(k) for k in keys[axis + 1 :]):
        return None
    return axis


def _is_full_slice(k) -> bool:
    return type(k) is slice and k == FULL


def _checked(mask, shape, axis):
    """Return a mask that fits; as in NumPy, one without elements fits everywhere and selects nothing."""
    if mask.ndim > len(shape) - axis:
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {axis + mask.ndim} were "
            "indexed"
        )
    for i, (n, size) in enumerate(zip(mask.shape, shape[axis:], strict=False)):
        if n not in (size, 0):
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + i}; size of axis is {size} "
                f"but size of corresponding boolean axis is {n}"
            )
    return np.zeros(shape[axis : axis + mask.ndim], bool) if 0 in mask.shape else mask


def _read_mask(value, mask, axis):
    mask = _checked(mask, value.shape, axis)
    if is_traced(mask) or is_traced(value):
        if is_traced(mask):
            raise IndexError(
                "x[mask] has as many elements as the mask has True, which a transformation such as jax.jit "
                "cannot know: use where(mask, x, other), or assign x[mask] = values"
            )
        positions = np.asarray(mask).nonzero()
        return _gather(value, list(positions), ((),) * axis + ("array",) * mask.ndim)
    if reads_on_host(value, mask):
        return _read_on_host(value, mask, axis)
    count, counts = _count_and_counts(mask)
    with x64_for(value.dtype, counts.dtype):
        if axis == 0 and has_own_length(value, mask):
            row_bytes = value.nbytes // max(mask.size, 1)
            selected = _take_true(value, mask, counts, capacity(count, row_bytes, most=mask.size), axis)
            return cut(count, selected)[0]
        return _take_true(value, mask, counts, count, axis)


def reads_on_host(value, mask) -> bool:
    """Whether what a mask selects is better read on the host than selected on the device."""
    return value.nbytes + mask.nbytes <= _SMALL or (_is_on_host(value) and _is_on_host(mask))


def selected_in_buffer(value, mask):
    """Return how many of the first axes' elements a mask selects, and a buffer that begins with them."""
    count, counts = _count_and_counts(mask)
    with x64_for(value.dtype, counts.dtype):
        return count, _take_true(value, mask, counts, capacity(count, KEPT, most=mask.size), 0)


def _count_and_counts(mask):
    """Return how many elements of a mask are True, and how many up to each."""
    count = count_of_mask(mask)
    counts = running_counts(mask)  # computed while the host waits for the number of all
    return int(count), counts


def _read_on_host(value, mask, axis):
    """Select in NumPy, for which no program is compiled for a number of elements."""
    host_value, host_mask = on_host(value, mask)
    selected = host_value[(FULL,) * axis + (host_mask,)]
    with x64_for(selected.dtype):
        selected = jax.device_put(selected)  # jnp.asarray compiles for each shape
    if not value.committed:
        return selected
    sharding = value.sharding
    if isinstance(sharding, jax.sharding.NamedSharding):  # any number of elements: on every device
        sharding = jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())
    return jax.device_put(selected, sharding)


def on_host(value, mask) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays as NumPy's, which one program brings to the host."""
    if not (_is_on_host(value) or _is_on_host(mask)):
        value, mask = all_in_host_memory(value, mask)
    return np.asarray(value), np.asarray(mask)


def count_of_mask(mask):
    """Count what is True, without waiting for it."""
    return np.count_nonzero(mask) if _is_on_host(mask) else computed_in_host_memory(count_true, mask)


@functools.partial(compiled, static_argnums=(3, 4))
@on_any_mesh(3, keeps_sharding=False)
def _take_true(value, mask, counts, length, axis):
    """Return what is selected in a buffer of so many rows; behind it is 0 or the first row."""
    with x64_for(counts.dtype):
        is_true = mask.reshape(-1)
        if value.ndim > mask.ndim:
            positions = true_positions(is_true, counts, length)
            return jnp.take(_flattened(value, axis, mask.ndim), positions, axis=axis, mode="clip")
        where_to = targets(is_true, counts, length)
        buffer = jnp.zeros(length, value.dtype)
        return put_at(buffer, where_to, value.reshape(-1))


def _flattened(value, axis, ndim):
    """Make one axis of the ``ndim`` axes from ``axis``."""
    return value.reshape((*value.shape[:axis], -1, *value.shape[axis + ndim :]))


def _varies_along(mask, new, axes_behind: int) -> bool:
    """Say whether the values vary along the mask; their number must be right then."""
    if new.ndim <= axes_behind or new.shape[-axes_behind - 1] == 1:
        return False
    given_count = new.shape[-axes_behind - 1]
    if is_traced(mask):
        return True
    count = int(count_of_mask(mask))
    if given_count != count:
        raise ValueError(
            f"cannot assign {given_count} input values to the {count} output values where the mask is true"
        )
    return True


@on_any_mesh(3)
def _written_mask(value, mask, new, axis, varies):
    before = value.shape[:axis]
    behind = value.shape[axis + mask.ndim :]
    new = new.astype(value.dtype)
    if varies:
        new = broadcast(new, (*before, new.shape[-len(behind) - 1], *behind))
        if not new.size:  # the mask is False everywhere
            return value
        index_dtype = index_dtype_for(mask.size)
        with x64_for(value.dtype, index_dtype):
            order = jnp.cumsum(mask.reshape(-1), dtype=index_dtype) - 1
            new = jnp.take(new, order, axis=axis, mode="clip").reshape(value.shape)
    else:
        new = broadcast(new, (*before, 1, *behind))
        ones = (1,) * mask.ndim
        new = new.reshape((*before, *ones, *behind))
    mask = mask.reshape(mask.shape + (1,) * len(behind))
    return jnp.where(mask, new, value)


write_mask = compiled_pair(_written_mask, static_argnums=(3, 4))


def _with_axes_of_bools(value, keys):
    """Replace bools among other parts of a key by positions along new axes of length 1, as NumPy has it."""
    if len(keys) == 1 or not any(map(_is_bool, keys)):
        return value, keys
    new_axes: list[int] = []
    expanded_keys = []
    for k, axis in zip(keys, _axes(keys, value.shape), strict=True):
        if _is_bool(k):
            new_axes.append(axis + len(new_axes))
            k = np.zeros(int(k), np.int32)
        expanded_keys.append(k)
    return jnp.expand_dims(value, new_axes), tuple(expanded_keys)


def _is_bool(k) -> bool:
    return is_mask(k) and not k.ndim


def _without_masks(keys, shape):
    """Replace masks among other indices by the places where they are true, as NumPy has it."""
    parts = []
    for k, axis in zip(keys, _axes(keys, shape), strict=True):
        if not is_mask(k):
            parts.append(k)
            continue
        k = _checked(k, shape, axis)
        if is_traced(k):
            raise IndexError(
                "a mask together with other indices selects as many elements as it has True, which a "
                "transformation such as jax.jit cannot know: use where(), or a mask of the whole array"
            )
        host = np.asarray(k)
        parts += host.nonzero()
    return tuple(parts)


def _axes(keys, shape):
    """Return the axis at which each part of a key stands."""
    missing = len(shape) - sum(map(length_of, keys))
    axis = 0
    for k in keys:
        yield axis
        axis += missing if k is Ellipsis else length_of(k)
