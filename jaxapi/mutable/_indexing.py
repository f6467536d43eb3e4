"""Reading and writing by index, as functions of `jax.Array` values."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from .._core._devices import all_in_host_memory, computed_in_host_memory
from .._core._dtypes import as_indices, x64_for
from .._core._programs import compiled, is_traced
from ._keys import FULL, check_int, expand, indices_along, is_array, is_mask, length_of, parts_of
from ._selection import Selection, broadcast, compiled_pair, on_any_mesh, put, read_before, values_for

__all__ = ["accumulate", "element_of", "is_symbolic", "read", "selection_of", "write"]

_INTS = frozenset([int])
_SMALL = 2**16  # bytes that are faster read on the host than selected on the device


def element_of(shape: tuple, keys: tuple) -> list[int] | None:
    """Return the position that Python's ints alone select; None for another key."""
    place: list[int] = []
    if len(keys) == len(shape):
        for k, size in zip(keys, shape, strict=True):
            if type(k) is not int or type(size) is not int:
                return None
            place.append(k if 0 <= k < size else check_int(k, len(place), size))
        return place
    return None


def selection_of(shape: tuple, keys: tuple) -> Selection | None:
    """Return what ints, slices, None and Ellipsis select; None for another key."""
    if any(map(is_array, keys)) or is_symbolic(shape):
        return None
    return Selection.of(keys, shape)


def read(value: jax.Array, keys: tuple) -> jax.Array:
    """Return ``value[keys]`` for a key with arrays."""
    if is_symbolic(value.shape):
        return value[keys]
    value, keys = _with_axes_of_bools(value, keys)
    arrays = [k for k in keys if is_array(k)]
    axis = _only_mask(keys, arrays)
    if axis is not None:
        return _read_mask(value, arrays[0], axis)
    indices, layout = _split(_without_masks(keys, value.shape), value)
    return _gather(value, indices, layout)


def write(value: jax.Array, keys: tuple, new, made: list | None) -> jax.Array:
    """Return ``value`` after ``value[keys] = new``, in its memory if ``made`` is a list."""
    selection = selection_of(value.shape, keys)
    if selection is not None:
        return put(value, selection, new, made)
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
        each = _one_value_each(mask, new, value.ndim - axis - mask.ndim)
        return _write_mask(made, value, mask, new, axis, each)
    if is_symbolic(value.shape):
        return value.at[keys].set(new)
    indices, layout = _split(_without_masks(keys, value.shape), value)
    return _scatter(made, value, indices, new, layout, "set")


def accumulate(value: jax.Array, key, new, made: list | None, how: str) -> jax.Array:
    """Return ``value`` after a number was added at each position, say, once for each time that it comes."""
    with x64_for(value.dtype):
        new = values_for(new, value)
        keys = parts_of(key)
        indices, layout = _split(_without_masks(keys, value.shape), value)
        return _scatter(made, value, indices, new, layout, how)


def is_symbolic(shape: tuple) -> bool:
    """Whether a length is not known: JAX itself indexes the arrays of programs exported for all lengths."""
    return not _INTS.issuperset(map(type, shape))


# Integer arrays


def _split(keys, value) -> tuple[list, tuple]:
    """Part a key into its arrays, which are inputs of the program, and the layout around them."""
    indices: list = []
    layout: list = []
    shape = value.shape
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), 0)
    of_no_axis = at and sum(map(length_of, keys)) == len(shape)
    if of_no_axis and any(map(is_array, keys[:at])) and any(map(is_array, keys[at:])):
        # by which NumPy moves the arrays' axes to the front
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
                _check_indices(k, axis, shape[axis])
            indices.append(as_indices(k) if isinstance(k, jax.Array) else indices_along(k, shape[axis]))
            layout.append("array")
    _check_together([np.shape(k) for k in indices])
    return indices, tuple(layout)


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


def _check_indices(k, axis, size) -> None:
    """Refuse what is out of bounds where that can be seen without waiting for a device."""
    if not k.size or is_traced(k) or not _is_on_host(k):
        return
    host = np.asarray(k)
    for extreme in (int(host.min()), int(host.max())):
        check_int(extreme, axis, size)


def _is_on_host(x) -> bool:
    """Whether reading ``x`` on the host costs nothing."""
    return isinstance(x, (np.ndarray, np.generic)) or (
        x.is_fully_addressable and all(d.platform == "cpu" for d in x.devices())
    )


def _assembled(indices, layout):
    rest = iter(indices)
    return tuple(
        part if part is None else next(rest) if part == "array" else _slice(*part) for part in layout
    )


def _slice(start=None, stop=None, step=None):
    # slice.indices gives -1 for "before the first element", which a slice reads as "the last one"
    return slice(start, None if stop is not None and stop < 0 else stop, step)


@functools.partial(compiled, static_argnums=2)
@on_any_mesh(2, keeps_sharding=False)
def _gather(value, indices, layout):
    return value[_assembled(indices, layout)]


@on_any_mesh(3)
def _scattered(value, indices, new, layout, how):
    key = _assembled(indices, layout)
    shape = jax.eval_shape(lambda x: x[key], value).shape
    return getattr(value.at[key], how)(broadcast(new.astype(value.dtype), shape))


_scatter = compiled_pair(_scattered, static_argnums=(3, 4))


# Masks


def _only_mask(keys, arrays) -> int | None:
    """Return the axis at which a mask selects if there is one mask and otherwise only full slices."""
    if len(arrays) != 1 or not is_mask(arrays[0]):
        return None
    mask = arrays[0]
    at = next(i for i, k in enumerate(keys) if k is mask)
    before, after = keys[:at], keys[at + 1 :]
    if any(type(k) is not slice or k != FULL for k in before):
        return None
    return len(before) if all(k is Ellipsis or (type(k) is slice and k == FULL) for k in after) else None


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
        places = np.asarray(mask).nonzero()
        return _gather(value, list(places), ((),) * axis + ("array",) * mask.ndim)
    if value.nbytes + mask.nbytes <= _SMALL or (_is_on_host(value) and _is_on_host(mask)):
        return _read_on_host(value, mask, axis)
    count = _counted(mask)
    order = _order(mask)  # computed while the host waits for the count
    with x64_for(value.dtype):
        return _take_true(value, mask, order, int(count), axis)


def _read_on_host(value, mask, axis):
    """Select in NumPy, for which no program is compiled for a number of elements."""
    there = value
    if not (_is_on_host(value) or _is_on_host(mask)):
        there, mask = all_in_host_memory(value, mask)
    selected = np.asarray(there)[(FULL,) * axis + (np.asarray(mask),)]
    with x64_for(selected.dtype):
        selected = jax.device_put(selected)  # jnp.asarray compiles for each shape
    if not value.committed:
        return selected
    there = value.sharding
    if isinstance(there, jax.sharding.NamedSharding):  # any number of elements: on every device
        there = jax.sharding.NamedSharding(there.mesh, jax.sharding.PartitionSpec())
    return jax.device_put(selected, there)


def _counted(mask):
    """Count what is True, without waiting for it."""
    return np.count_nonzero(mask) if _is_on_host(mask) else computed_in_host_memory(_count, mask)


def _count(mask):
    return jnp.sum(mask, dtype=np.int32)


@compiled
def _order(mask):
    """Return how many are True up to each element of a flattened mask."""
    return jnp.cumsum(mask.reshape(-1), dtype=np.int32)


@functools.partial(compiled, static_argnums=(3, 4))
@on_any_mesh(3, keeps_sharding=False)
def _take_true(value, mask, order, count, axis):
    every = jnp.arange(mask.size, dtype=np.int32)
    # what is False goes to places beyond the end, each to one of its own
    to = jnp.where(mask.reshape(-1), order - 1, count + every - order)
    if value.ndim == mask.ndim:
        found = jnp.zeros(count, value.dtype)
        return found.at[to].set(value.reshape(-1), mode="drop", unique_indices=True)
    places = jnp.zeros(count, np.int32).at[to].set(every, mode="drop", unique_indices=True)
    return jnp.take(_flattened(value, axis, mask.ndim), places, axis=axis, mode="clip")


def _flattened(value, axis, ndim):
    """Make one axis of the ``ndim`` axes from ``axis``."""
    return value.reshape((*value.shape[:axis], -1, *value.shape[axis + ndim :]))


def _one_value_each(mask, new, tail: int) -> bool:
    """Say whether the values vary along the mask; their number must be right then."""
    if new.ndim <= tail or new.shape[-tail - 1] == 1:
        return False
    given = new.shape[-tail - 1]
    if is_traced(mask):
        return True
    count = int(_counted(mask))
    if given != count:
        raise ValueError(
            f"cannot assign {given} input values to the {count} output values where the mask is true"
        )
    return True


@on_any_mesh(3)
def _written_mask(value, mask, new, axis, each):
    lead, tail = value.shape[:axis], value.shape[axis + mask.ndim :]
    new = new.astype(value.dtype)
    if each:
        order = jnp.cumsum(mask.reshape(-1), dtype=np.int32) - 1
        new = broadcast(new, (*lead, new.shape[-len(tail) - 1], *tail))
        if not new.size:  # the mask is False everywhere
            return value
        new = jnp.take(new, order, axis=axis, mode="clip").reshape(value.shape)
    else:
        new = broadcast(new, (*lead, 1, *tail)).reshape((*lead, *[1] * mask.ndim, *tail))
    return jnp.where(mask.reshape(mask.shape + (1,) * len(tail)), new, value)


_write_mask = compiled_pair(_written_mask, static_argnums=(3, 4))


def _with_axes_of_bools(value, keys):
    """Replace bools among other parts of a key by positions along new axes of length 1, as NumPy has it."""
    bools = [is_mask(k) and not k.ndim for k in keys]
    if len(keys) == 1 or not any(bools):
        return value, keys
    axes = [axis for axis, is_bool in zip(_axes(keys, value.shape), bools, strict=True) if is_bool]
    keys = tuple(np.zeros(int(k), np.int32) if is_bool else k for k, is_bool in zip(keys, bools, strict=True))
    return jnp.expand_dims(value, [axis + i for i, axis in enumerate(axes)]), keys


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
