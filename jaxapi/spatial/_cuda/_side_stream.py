"""Whether the numbers of an array on a GPU are finite, answered at the side of the searches.

XLA runs one program after another: an answer from it comes after all searches before, and its way to the host
takes longer than a small search. This kernel has a stream of its own and writes into the host's memory.
"""

import ctypes
import functools
import threading

import jax
import numpy as np

from . import _compile
from ._driver import Context
from ._launch import Kernel, architecture

__all__ = ["all_finite"]

THREADS, EACH = 256, 16  # numbers of a thread, as the kernel has it
FLOATS = np.dtype(np.float32), np.dtype(np.float64)


def all_finite(x: jax.Array) -> "Answer | None":
    """Return what tells whether all of an array are finite; None where that cannot be had so."""
    (device,) = x.devices()
    in_its_memory = device.platform == "gpu" and x.sharding.memory_kind in ("device", None)
    if not in_its_memory or x.dtype not in FLOATS:
        return None
    stream = _side_stream(device)
    return None if stream is None else Answer(x, stream)


class Answer:
    """The answer for one array, found when `bool` asks: best once a search has begun."""

    def __init__(self, x: jax.Array, stream: "SideStream"):
        self._x, self._stream = x, stream

    def __bool__(self) -> bool:
        return self._stream.all_finite(self._x.block_until_ready())


class SideStream(Context):
    """A stream other than XLA's on one GPU, its kernel, and the word of the host's memory that it writes."""

    def __init__(self, driver, ordinal: int):
        super().__init__(driver, ordinal)
        checked, self._one_at_a_time = self._checked, threading.Lock()
        with self._in_context():
            _, greatest = checked(driver.cuCtxGetStreamPriorityRange())
            non_blocking = int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
            # Of the highest priority: its few blocks run before those of a search that wait
            self._stream = checked(driver.cuStreamCreateWithPriority(non_blocking, greatest))
            room = int(checked(driver.cuMemHostAlloc(4, driver.CU_MEMHOSTALLOC_DEVICEMAP)))
            self._kernels = {dtype: self._kernel(dtype) for dtype in FLOATS}
        self._found = ctypes.c_int.from_address(room)
        self._numbers, self._count = ctypes.c_void_p(), ctypes.c_longlong()
        self._arguments = self._numbers, self._count, ctypes.c_void_p(room)
        self._pointers = (ctypes.c_void_p * 3)(*map(ctypes.addressof, self._arguments))

    def all_finite(self, x: jax.Array) -> bool:
        """Tell whether all numbers of an array are finite that is computed already."""
        blocks = -(-x.size // (THREADS * EACH))
        if not blocks:
            return True
        driver, kernel, pointers = self._driver, self._kernels[x.dtype], ctypes.addressof(self._pointers)
        with self._one_at_a_time, self._in_context():
            self._numbers.value, self._count.value, self._found.value = x.unsafe_buffer_pointer(), x.size, 0
            grid = blocks, 1, 1, THREADS, 1, 1
            self._checked(driver.cuLaunchKernel(kernel, *grid, 0, self._stream, pointers, 0))
            self._checked(driver.cuStreamSynchronize(self._stream))
            return not self._found.value

    def _kernel(self, dtype):
        kernel = Kernel.of("not_finite", m=1, dtype=dtype)
        ptx = _compile.compiled(kernel.name, architecture(), kernel.macros)
        module = self._checked(self._driver.cuModuleLoadData(ptx.encode() + b"\0"))
        return self._checked(self._driver.cuModuleGetFunction(module, kernel.name.encode()))


@functools.cache
def _side_stream(device: jax.Device) -> SideStream | None:
    """Return the stream at the side of a GPU; None where the binding of the driver does not serve."""
    try:
        from cuda.bindings import driver

        return SideStream(driver, device.local_hardware_id)
    except (ImportError, AttributeError, RuntimeError):  # the compiled question serves instead
        return None
