"""Reading and writing by index, as functions of `jax.Array` values.

Positions are inputs of the compiled programs, not part of them: ``x[3]`` and ``x[4]`` share one program, as
do all slices of one length. JAX's own indexing compiles for each.
"""

import functools
import math
import operator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._dtype_rules import refuse_complex
from .._interop import as_array
from .._tracing import any_traced, is_traced
from .._x64 import x64_for

__all__ = ["compiled_pair", "read", "write"]

_FULL = slice(None)
_SMALL = 2**16  # bytes that are faster read on the host than selected on the device


def read(value: jax.Array, key) -> jax.Array:
    """Return ``value[key]``, with NumPy's rules and errors."""
    keys = _keys(key)
    if _is_symbolic(value):
        return value[keys]
    arrays = [k for k in keys if _is_array(k)]
    if not arrays:
        block = _block(keys, value.shape)
        if block.is_whole(value.shape):
            return value if block.shape == value.shape else jnp.reshape(value, block.shape)
        return _read_block(value, block.starts, block.spans, block.steps, block.shape)
    axis = _only_mask(keys, arrays)
    if axis is not None:
        return _read_mask(value, arrays[0], axis)
    keys = _without_masks(keys, value.shape)
    indices, layout = _split(keys, value.shape)
    return _gather(value, indices, layout)


def write(value: jax.Array, key, new, donate: bool) -> jax.Array:
    """Return ``value`` after ``value[key] = new``; ``donate`` says that its memory may be used for that."""
    with x64_for(value.dtype):
        return _write(value, _keys(key), new, donate)


def _write(value, keys, new, donate):
    new = _values(new, value.dtype)
    if _is_symbolic(value):
        return value.at[keys].set(new)
    arrays = [k for k in keys if _is_array(k)]
    donate = donate and not any_traced(new, *arrays)
    if not arrays:
        block = _block(keys, value.shape)
        return _write_block[donate](value, block.starts, new, block.spans, block.steps, block.shape)
    axis = _only_mask(keys, arrays)
    if axis is not None:
        mask = arrays[0]
        _check_mask(mask, value.shape, axis)
        each = _one_value_each(mask, new, value.ndim - axis - mask.ndim)
        return _write_mask[donate](value, mask, new, axis, each)
    keys = _without_masks(keys, value.shape)
    indices, layout = _split(keys, value.shape)
    return _scatter[donate](value, indices, new, layout)


def compiled_pair(program, **options) -> tuple:
    """Compile a program twice: as it is, and reusing the memory of its first argument; index by a bool."""
    return jax.jit(program, **options), jax.jit(program, donate_argnums=0, **options)


def _is_symbolic(value) -> bool:
    """Whether a length is not known: JAX itself indexes the arrays of programs exported for all lengths."""
    return is_traced(value) and not all(isinstance(n, int) for n in value.shape)


# Keys


def _keys(key) -> tuple:
    """Return the parts of a key: ints, slices, None, Ellipsis and arrays."""
    return tuple(map(_part, key)) if type(key) is tuple else (_part(key),)


def _part(k):
    if k is None or k is Ellipsis or type(k) is int or type(k) is slice:
        return k
    if isinstance(k, (bool, np.bool)):
        return np.asarray(k)
    if isinstance(k, (list, tuple)):
        k = as_array(k) if k else np.zeros(0, np.int32)
    if not hasattr(k, "dtype"):
        try:
            return operator.index(k)
        except TypeError:
            raise _no_index(type(k).__name__) from None
    if k.dtype == bool:
        return k
    if not jnp.issubdtype(k.dtype, jnp.integer):
        raise _no_index(f"an array of {k.dtype}")
    return int(k) if isinstance(k, np.integer) else k


def _no_index(what: str) -> IndexError:
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None (newaxis) and integer or boolean arrays are "
        f"valid indices, got {what}"
    )


def _is_array(k) -> bool:
    return hasattr(k, "dtype")


def _is_mask(k) -> bool:
    return _is_array(k) and k.dtype == bool


def _axes_of(k) -> int:
    """How many axes of the array a part of a key stands for."""
    if k is None or k is Ellipsis:
        return 0
    return k.ndim if _is_mask(k) else 1


def _expand(keys, shape):
    """Yield each part with its axis, ``...`` and what is missing at the end as full slices."""
    taken = sum(map(_axes_of, keys))
    if taken > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {taken} were indexed"
        )
    dots = sum(k is Ellipsis for k in keys)
    if dots > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    axis = 0
    for k in keys if dots else (*keys, ...):
        if k is Ellipsis:
            stop = axis + len(shape) - taken
            for every in range(axis, stop):
                yield _FULL, every
            axis = stop
        else:
            yield k, axis
            axis += _axes_of(k)


def _check_int(k: int, axis: int, size: int) -> int:
    if not -size <= k < size:
        raise IndexError(f"index {k} is out of bounds for axis {axis} with size {size}")
    return k + size if k < 0 else k


# Ints and slices


class _Block(NamedTuple):
    """What ints and slices select: along each axis, every so many elements of a span."""

    starts: np.ndarray  # where each span begins; an input of the program
    spans: tuple[int, ...]
    steps: tuple[int, ...]
    shape: tuple[int, ...]  # of the selection: without the axes of ints, with the new ones

    def is_whole(self, shape) -> bool:
        return self.spans == shape and all(step == 1 for step in self.steps)


def _block(keys, shape) -> _Block:
    starts, spans, steps, selected = [], [], [], []
    for k, axis in _expand(keys, shape):
        if k is None:
            selected.append(1)
            continue
        size = shape[axis]
        if type(k) is slice:
            places = range(*k.indices(size))
            length, step = len(places), places.step
            first, last = (places[0], places[-1]) if length else (0, -1)
            starts.append(min(first, last) if length else 0)
            spans.append(abs(last - first) + 1 if length else 0)
            steps.append(step if length > 1 else 1)
            selected.append(length)
        else:
            starts.append(_check_int(k, axis, size))
            spans.append(1)
            steps.append(1)
    dtype = np.int32 if all(n < 2**31 for n in shape) else np.int64
    return _Block(np.asarray(starts, dtype), tuple(spans), tuple(steps), tuple(selected))


def _lengths(spans, steps):
    return [-(-span // abs(step)) for span, step in zip(spans, steps, strict=True)]


def _backward(steps):
    return [axis for axis, step in enumerate(steps) if step < 0]


@functools.partial(jax.jit, static_argnums=(2, 3, 4))
def _read_block(value, starts, spans, steps, shape):
    block = lax.dynamic_slice(value, list(starts), spans)
    block = lax.slice(block, [0] * len(spans), spans, [abs(step) for step in steps])
    return lax.rev(block, _backward(steps)).reshape(shape)


def _written_block(value, starts, new, spans, steps, shape):
    new = _broadcast(new.astype(value.dtype), shape).reshape(_lengths(spans, steps))
    new = lax.rev(new, _backward(steps))
    if any(abs(step) > 1 for step in steps):
        old = lax.dynamic_slice(value, list(starts), spans)
        gaps = [
            (0, span - (n - 1) * abs(step) - 1, abs(step) - 1) for span, n, step in _each(spans, new, steps)
        ]
        here = lax.pad(jnp.ones(new.shape, bool), False, gaps)
        new = jnp.where(here, lax.pad(new, jnp.zeros((), new.dtype), gaps), old)
    return lax.dynamic_update_slice(value, new, list(starts))


def _each(spans, new, steps):
    return zip(spans, new.shape, steps, strict=True)


_write_block = compiled_pair(_written_block, static_argnums=(3, 4, 5))


# Integer arrays


def _split(keys, shape) -> tuple[list, tuple]:
    """Part a key into its arrays, which are inputs of the program, and the layout around them."""
    indices, layout = [], []
    for k, axis in _expand(keys, shape):
        if k is None:
            layout.append(None)
        elif type(k) is slice:
            layout.append(k.indices(shape[axis]) if k != _FULL else ())
        else:
            if type(k) is int:
                k = np.asarray(
                    _check_int(k, axis, shape[axis]), np.int32 if shape[axis] < 2**31 else np.int64
                )
            else:
                _check_indices(k, axis, shape[axis])
            indices.append(k)
            layout.append("array")
    return indices, tuple(layout)


def _check_indices(k, axis, size) -> None:
    """Refuse what is out of bounds where that can be seen without waiting for a device."""
    if not k.size or is_traced(k) or not _is_at_hand(k):
        return
    host = np.asarray(k)
    for extreme in (int(host.min()), int(host.max())):
        _check_int(extreme, axis, size)


def _is_at_hand(x) -> bool:
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


@functools.partial(jax.jit, static_argnums=2)
def _gather(value, indices, layout):
    return value[_assembled(indices, layout)]


def _scattered(value, indices, new, layout):
    key = _assembled(indices, layout)
    shape = jax.eval_shape(lambda x: x[key], value).shape
    return value.at[key].set(_broadcast(new.astype(value.dtype), shape))


_scatter = compiled_pair(_scattered, static_argnums=3)


# Masks


def _only_mask(keys, arrays) -> int | None:
    """Return the axis at which a mask selects if there is one mask and full slices at most beside it."""
    if len(arrays) != 1 or not _is_mask(arrays[0]):
        return None
    mask = arrays[0]
    at = next(i for i, k in enumerate(keys) if k is mask)
    before, after = keys[:at], keys[at + 1 :]
    if any(type(k) is not slice or k != _FULL for k in before):
        return None
    return len(before) if all(k is Ellipsis or (type(k) is slice and k == _FULL) for k in after) else None


def _check_mask(mask, shape, axis) -> None:
    if mask.ndim > len(shape) - axis:
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {axis + mask.ndim} were "
            "indexed"
        )
    for i, (n, size) in enumerate(zip(mask.shape, shape[axis:], strict=False)):
        if n != size:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + i}; size of axis is {size} "
                f"but size of corresponding boolean axis is {n}"
            )


def _read_mask(value, mask, axis):
    _check_mask(mask, value.shape, axis)
    if is_traced(mask) or is_traced(value):
        if is_traced(mask):
            raise IndexError(
                "x[mask] has as many elements as the mask has True, which a transformation such as jax.jit "
                "cannot know: use where(mask, x, other), or assign x[mask] = values"
            )
        places = np.asarray(mask).nonzero()
        return _gather(value, list(places), ((),) * axis + ("array",) * mask.ndim)
    if value.nbytes + mask.nbytes <= _SMALL or (_is_at_hand(value) and _is_at_hand(mask)):
        host = np.asarray(value)[(_FULL,) * axis + (np.asarray(mask),)]
        with x64_for(host.dtype):
            selected = jnp.asarray(host)
        return jax.device_put(selected, value.sharding) if value.committed else selected
    places, count = _places(mask)
    return _take_places(value, places, int(count), axis, mask.ndim)


@jax.jit
def _places(mask):
    """Return where a flattened mask is True, in front, and how often it is."""
    mask = mask.reshape(-1)
    order = jnp.cumsum(mask, dtype=np.int32)
    every = jnp.arange(mask.size, dtype=np.int32)
    places = jnp.zeros(mask.size, np.int32).at[jnp.where(mask, order - 1, mask.size)].set(every, mode="drop")
    return places, order[-1]


@functools.partial(jax.jit, static_argnums=(2, 3, 4))
def _take_places(value, places, count, axis, ndim):
    flat = _flattened(value, axis, ndim)
    return jnp.take(flat, places[:count], axis=axis, mode="clip")


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
    count = np.count_nonzero(mask) if _is_at_hand(mask) else int(_count(mask))
    if given != count:
        raise ValueError(
            f"cannot assign {given} input values to the {count} output values where the mask is true"
        )
    return True


@jax.jit
def _count(mask):
    return jnp.sum(mask, dtype=np.int32)


def _written_mask(value, mask, new, axis, each):
    lead, tail = value.shape[:axis], value.shape[axis + mask.ndim :]
    new = new.astype(value.dtype)
    if each:
        order = jnp.cumsum(mask.reshape(-1), dtype=np.int32) - 1
        new = _broadcast(new, (*lead, new.shape[-len(tail) - 1], *tail))
        if not new.size:  # the mask is False everywhere
            return value
        new = jnp.take(new, order, axis=axis, mode="clip").reshape(value.shape)
    else:
        new = _broadcast(new, (*lead, 1, *tail)).reshape((*lead, *[1] * mask.ndim, *tail))
    return jnp.where(mask.reshape(mask.shape + (1,) * len(tail)), new, value)


_write_mask = compiled_pair(_written_mask, static_argnums=(3, 4))


def _without_masks(keys, shape):
    """Replace masks among other indices by the places where they are true, as NumPy has it."""
    parts = []
    for k, axis in zip(keys, _axes(keys, shape), strict=True):
        if not _is_mask(k):
            parts.append(k)
            continue
        _check_mask(k, shape, axis)
        if is_traced(k):
            raise IndexError(
                "a mask beside other indices selects as many elements as it has True, which a transformation "
                "such as jax.jit cannot know: use where(), or a mask of the whole array"
            )
        host = np.asarray(k)
        parts += host.nonzero() if host.ndim else (np.zeros(int(host), np.int32),)
    return tuple(parts)


def _axes(keys, shape):
    """Return the axis at which each part of a key stands."""
    missing = len(shape) - sum(map(_axes_of, keys))
    axis = 0
    for k in keys:
        yield axis
        axis += missing if k is Ellipsis else _axes_of(k)


# Values


def _values(new, dtype) -> Any:
    """Return what is to be written as an array; numbers and host arrays in ``dtype``, as NumPy casts them."""
    if isinstance(new, jax.Array):
        refuse_complex(new.dtype, dtype)
        return new
    if not isinstance(new, (np.ndarray, np.generic, int, float, complex)):
        return _values(as_array(new), dtype)
    if isinstance(new, complex) or getattr(new, "dtype", dtype).kind == "c":
        refuse_complex(np.dtype(complex), dtype)
    return np.asarray(new).astype(dtype) if hasattr(new, "dtype") else np.asarray(new, dtype)


def _broadcast(new, shape):
    """Broadcast to ``shape``; NumPy lets what is written have more axes in front, of length 1."""
    extra = max(new.ndim - len(shape), 0)
    if math.prod(new.shape[:extra]) == 1:
        trimmed = new.reshape(new.shape[extra:])
        if all(n in (1, size) for n, size in zip(trimmed.shape[::-1], shape[::-1], strict=False)):
            return jnp.broadcast_to(trimmed, shape)
    raise ValueError(f"could not broadcast input array from shape {new.shape} into shape {tuple(shape)}")
