"""Arrays of any length on a GPU as inputs of programs that serve many lengths.

Such a program is told where the array lies, and `lines` reads as many lines from there as count: it takes no
copy and no program for each length. What comes when:

- The program waits for an array that is not computed yet, or on its way from the host: among its inputs is a
  number that is there, by DLPack, once the array is.
- The memory of an array that is let go, or donated, XLA gives to what is started later, which comes after.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._devices import gpu_of
from ..._core._dtypes import x64_for
from ..._core._typing import Array
from .. import _lax
from .._structure._lengths import tensor_of
from ._launch import Kernel, launch

__all__ = ["lines", "with_room"]

THREADS, EACH = 256, 8  # as the kernel has them
TYPES = {
    jnp.dtype(name): c_type
    for name, c_type in {
        "bool": "unsigned char",
        "int8": "signed char",
        "uint8": "unsigned char",
        "int16": "short",
        "uint16": "unsigned short",
        "int32": "int",
        "uint32": "unsigned int",
        "int64": "long long",
        "uint64": "unsigned long long",
        "float16": "unsigned short",
        "bfloat16": "unsigned short",
        "float32": "float",
        "float64": "double",
    }.items()
}
HALF = {"float16": 11, "bfloat16": 8}


@jax.tree_util.register_pytree_node_class
class Lines:
    """An array that has `shape` once `lines` has read it from its address, two words of 32 bits."""

    def __init__(self, address: Array, after: Array, shape: tuple[int, ...], source=None):
        self.address, self.after, self.shape = address, after, shape
        self._source = source  # stays until the program has been started

    def tree_flatten(self):
        return (self.address, self.after), self.shape

    @classmethod
    def tree_unflatten(cls, shape, children):
        return cls(*children, shape)

    @property
    def dtype(self):
        return self.after.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]


def with_room(x, rows: int, place):
    """Return `x` (count, ...) with so many `rows` as an input on a `place`, for `lines` alone to read."""
    if x.dtype not in TYPES:
        return _lax.with_room(x, rows, place)
    with x64_for(x.dtype):
        ours = not isinstance(x, jax.Array) or gpu_of(x) is None or not _in_c_order(x)
        if ours:
            x = jax.device_put(np.asarray(x), place)
        address = x.unsafe_buffer_pointer() if x.size else 0  # type: ignore[attr-defined]
        words = _words_on((address & 0xFFFFFFFF, address >> 32), x.sharding)
        return Lines(words, _after(x, ours), (rows, *x.shape[1:]), x)


def _in_c_order(x: jax.Array) -> bool:
    """Whether the last axis is the one whose numbers lie together, as for all that is not told otherwise."""
    return x.format.layout.major_to_minor == tuple(range(x.ndim))  # type: ignore[attr-defined]


def _after(x: jax.Array, ours: bool) -> jax.Array:
    """Return a number of the dtype of an array that is there once the array is."""
    if x.is_ready():  # type: ignore[attr-defined]
        return _number_on(x.dtype, x.sharding)
    # A user's array is not held: it is the user's to donate.
    number = x if ours else jax.device_put(np.zeros(1, x.dtype), x.sharding)
    return jax.dlpack.from_dlpack(_After(x, number))


class _After:
    """The first number of an array, that by DLPack is there once another array is."""

    def __init__(self, x: jax.Array, number: jax.Array):
        self._x, self._number = x, number
        self.__dlpack_device__ = number.__dlpack_device__  # type: ignore[attr-defined]

    def __dlpack__(self, *, stream=None, **_):
        self._x.__dlpack__(stream=stream)  # type: ignore[call-arg]  # XLA's stream waits for it
        capsule = self._number.__dlpack__(stream=stream)  # type: ignore[call-arg]
        tensor = tensor_of(capsule)
        tensor.ndim = tensor.shape[0] = 1
        return capsule


@functools.lru_cache(maxsize=1024)  # a loop's arrays lie in the same few places
def _words_on(words: tuple[int, int], sharding) -> Array:
    return jax.device_put(np.array(words, np.uint32), sharding)


@functools.cache
def _number_on(dtype, sharding) -> Array:
    return jax.device_put(np.zeros(1, dtype), sharding)


def lines(x: Array | Lines, count: Array, *, dtype, fill: int | None = None) -> Array:
    """Return the first `count` lines of `x` in a dtype, and as many others as it has room for, of `fill`.

    Without it those are nan, or the largest integer.
    """
    if not isinstance(x, Lines):
        return _lax.lines(x, count, dtype=dtype, fill=fill)
    dtype = np.dtype(dtype)
    as_it_is = dtype == x.dtype
    constants: dict[str, Any] = {
        "from": TYPES[x.dtype],
        "to": TYPES[dtype],
        "from_half": 0 if as_it_is else HALF.get(x.dtype.name, 0),
        "missing": _missing(dtype) if fill is None else fill,
    }
    kernel = Kernel.of("lines", m=1, dtype=dtype, **constants)
    blocks = -(-math.prod(x.shape) // (THREADS * EACH))
    sizes = np.array([x.shape[0], math.prod(x.shape[1:])], np.int32)
    inputs = x.address, x.after, jnp.asarray(count, jnp.int32), sizes
    return launch(kernel, blocks, THREADS, inputs, [jax.ShapeDtypeStruct(x.shape, dtype)])[0]


def _missing(dtype) -> str:
    return "__int_as_float(0x7fc00000)" if dtype.kind == "f" else str(np.iinfo(dtype).max)
