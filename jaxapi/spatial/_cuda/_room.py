"""Arrays on a GPU filled up to few lengths, without a program for each length, the host or a wait.

`jax.dlpack.from_dlpack` hands an exporter a stream of XLA's. `_Copy` puts a copy on it, into zeros of the
length wanted, and exports these. What comes when:

- The copy comes after what computes the source and the zeros: their own exports let the stream wait for them.
- Whatever uses the result comes after the copy: XLA lets it wait for the stream.
- XLA gives the memory of an array that is let go, or donated, to what it starts later. That comes after the
  copy, too, where a program of the result has been started, as long as which is there the source cannot be
  donated. A result may go unused: source and zeros stay until the copy is done.
"""

import collections
import functools
import weakref

import jax
import jax.numpy as jnp

from ..._core._devices import gpu_of
from ..._core._dtypes import x64_for
from ..._core._programs import compiled
from .. import _lax
from .._structure._lengths import tensor_of
from ._driver import Context

__all__ = ["with_room"]

_REFUSALS = AttributeError, BufferError, ImportError, RuntimeError, ValueError  # of JAX and the driver
NO_STREAMS = 0, 1, 2  # DLPack's: none, and CUDA's defaults, which XLA does not wait for


def with_room(x, rows: int, place):
    """Return `x` (count, ...) with so many `rows` as an input on a `place`, for `lines` alone to read."""
    if isinstance(x, jax.Array) and x.size and len(x) != rows and (gpu := gpu_of(x)):
        try:
            return _padded(x, rows, _stream_copies(gpu))
        except _REFUSALS:
            pass
    return _lax.with_room(x, rows, place)


def _padded(x: jax.Array, rows: int, copies: "StreamCopies") -> jax.Array:
    with x64_for(x.dtype):
        copy = _Copy(x, _zeros((rows, *x.shape[1:]), x.dtype, x.sharding)(), copies)
        try:
            result = jax.dlpack.from_dlpack(copy)
        except BaseException:
            copy.let_go()
            raise
    weakref.finalize(result, copy.let_go).atexit = False
    return result


@functools.cache  # programs, one for each padded shape: JAX keeps those of a function that is kept
def _zeros(shape: tuple[int, ...], dtype, sharding):
    return compiled(lambda: jnp.zeros(shape, dtype), out_shardings=sharding)


class _Copy:
    """An array that by DLPack is `target` after `source` has been copied to its begin."""

    def __init__(self, source: jax.Array, target: jax.Array, copies: "StreamCopies"):
        self.source, self.target, self.copies = source, target, copies
        self.event = self.exported = None
        self.__dlpack_device__ = target.__dlpack_device__  # type: ignore[attr-defined]

    def __dlpack__(self, *, stream=None, **_):
        if stream is None or stream in NO_STREAMS:
            raise BufferError("XLA has no stream for what other libraries compute")
        self.exported, capsule = _exported(self.source, stream), _exported(self.target, stream)
        source, target = tensor_of(self.exported), tensor_of(capsule)
        if source.strides[: source.ndim] != target.strides[: target.ndim]:
            raise BufferError("the array does not lie in C order")
        self.event = self.copies.start(target.data, source.data, self.source.nbytes, stream)
        return capsule

    def let_go(self) -> None:
        """Let what is copied be donated again; hold it, and what is written, until that is done."""
        self.exported = None
        if self.event is not None:
            self.copies.pending.append(self)
        self.copies.sweep()


def _exported(array: jax.Array, stream):
    """Return DLPack's capsule of an array, which `stream` is made to wait for."""
    return array.__dlpack__(stream=stream)  # type: ignore[call-arg]


class StreamCopies(Context):
    """The copies on one GPU that are on their way."""

    def __init__(self, driver, ordinal: int):
        super().__init__(driver, ordinal)
        self._flag = int(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
        self._not_ready = int(driver.CUresult.CUDA_ERROR_NOT_READY)
        self.pending: collections.deque[_Copy] = collections.deque()  # whose results are gone

    def start(self, target: int, source: int, size: int, stream: int):
        """Put a copy on a stream, and return the event after it."""
        driver, checked = self._driver, self._checked
        with self._in_context():
            event = checked(driver.cuEventCreate(self._flag))
            checked(driver.cuMemcpyDtoDAsync(target, source, size, stream))
            checked(driver.cuEventRecord(event, stream))
        return event

    def sweep(self) -> None:
        """Forget the copies that are done; of any thread, at any time."""
        for _ in range(len(self.pending)):
            try:
                copy = self.pending.popleft()
            except IndexError:  # another thread sweeps
                return
            (error,) = self._driver.cuEventQuery(copy.event)
            if int(error) == self._not_ready:
                self.pending.append(copy)
            else:
                self._driver.cuEventDestroy(copy.event)


@functools.cache
def _stream_copies(device: jax.Device) -> StreamCopies:
    from cuda.bindings import driver

    return StreamCopies(driver, device.local_hardware_id)
