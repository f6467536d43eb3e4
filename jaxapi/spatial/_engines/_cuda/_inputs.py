"""Arrays of any length on a GPU as inputs of programs that serve many lengths.

Such a program is told where the array lies, and `read_input` reads as many rows from there as count: it takes
no copy and no program for each length. What comes when:

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

from ...._core._devices import gpu_of
from ...._core._dtypes import x64_for
from ...._core._lengths import tensor_of
from ...._core._typing import Array
from .. import _lax
from ._launch import Kernel, launch

__all__ = ["as_input", "read_input"]

THREADS = 256  # a block; as the kernel has it
NUMBERS_A_THREAD = 8  # as the kernel has it
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
class ArrayAt:
    """An array that has `shape` once `read_input` has read it from its address, two words of 32 bits."""

    def __init__(self, address: Array, after: Array, shape: tuple[int, ...], source=None):
        self.address = address
        self.after = after  # a number that is there once the array is
        self.shape = shape
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


def as_input(x, row_count: int, sharding):
    """Return `x` (count, ...) as an input with so many rows, which a program reads by `read_input`."""
    if x.dtype not in TYPES:
        return _lax.as_input(x, row_count, sharding)
    with x64_for(x.dtype):
        is_copied = not isinstance(x, jax.Array) or gpu_of(x) is None or not _in_c_order(x)
        if is_copied:
            x = jax.device_put(np.asarray(x), sharding)
        address = x.unsafe_buffer_pointer() if x.size else 0  # type: ignore[attr-defined]
        words = _words_on((address & 0xFFFFFFFF, address >> 32), x.sharding)
        shape = row_count, *x.shape[1:]
        return ArrayAt(words, _after(x, is_copied), shape, x)


def _in_c_order(x: jax.Array) -> bool:
    """Whether the last axis is the one whose numbers lie together, as for all that is not told otherwise."""
    return x.format.layout.major_to_minor == tuple(range(x.ndim))  # type: ignore[attr-defined]


def _after(x: jax.Array, is_copied: bool) -> jax.Array:
    """Return a number of the dtype of an array that is there once the array is."""
    if not x.size or x.is_ready():  # type: ignore[attr-defined]  # an empty one has no number, nor memory
        return _number_on(x.dtype, x.sharding)
    # A user's array, which is not copied, is not held: it is the user's to donate.
    number = x if is_copied else jax.device_put(np.zeros(1, x.dtype), x.sharding)
    return jax.dlpack.from_dlpack(_After(x, number))


class _After:
    """The first number of an array, that by DLPack is there once another array is."""

    def __init__(self, x: jax.Array, number: jax.Array):
        self._x = x
        self._number = number
        self.__dlpack_device__ = number.__dlpack_device__  # type: ignore[attr-defined]

    def __dlpack__(self, *, stream=None, **_):
        self._x.__dlpack__(stream=stream)  # type: ignore[call-arg]  # XLA's stream waits for it
        capsule = self._number.__dlpack__(stream=stream)  # type: ignore[call-arg]
        tensor = tensor_of(capsule)
        tensor.ndim = 1
        tensor.shape[0] = 1
        return capsule


@functools.lru_cache(maxsize=1024)  # a loop's arrays lie in the same few places
def _words_on(words: tuple[int, int], sharding) -> Array:
    return jax.device_put(np.array(words, np.uint32), sharding)


@functools.cache
def _number_on(dtype, sharding) -> Array:
    return jax.device_put(np.zeros(1, dtype), sharding)


def read_input(x: Array | ArrayAt, count: Array, *, dtype, fill: int | None = None) -> Array:
    """Return an input in a dtype: its first `count` rows, and `fill` in those behind them.

    Without a `fill` that is nan, or the largest integer.
    """
    if not isinstance(x, ArrayAt):
        return _lax.read_input(x, count, dtype=dtype, fill=fill)
    dtype = np.dtype(dtype)
    is_converted = dtype != x.dtype
    constants: dict[str, Any] = {
        "from": TYPES[x.dtype],
        "to": TYPES[dtype],
        "from_half": HALF.get(x.dtype.name, 0) if is_converted else 0,
        "missing": _missing(dtype) if fill is None else fill,
    }
    kernel = Kernel.of("lines", m=1, dtype=dtype, **constants)
    blocks = -(-math.prod(x.shape) // (THREADS * NUMBERS_A_THREAD))
    sizes = np.array([x.shape[0], math.prod(x.shape[1:])], np.int32)
    inputs = {
        "address": x.address,
        "after": x.after,
        "count": jnp.asarray(count, jnp.int32),
        "sizes": sizes,
    }
    (rows,) = launch(kernel, blocks, THREADS, inputs, {"out": jax.ShapeDtypeStruct(x.shape, dtype)})
    return rows


def _missing(dtype) -> str:
    return "__int_as_float(0x7fc00000)" if dtype.kind == "f" else str(np.iinfo(dtype).max)
