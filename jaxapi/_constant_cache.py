"""Numbers on a GPU, kept for the next call.

An operation takes an H200's host 50 us, and a number that is sent with it 100 more. Indices, numbers that are
written to an array and numbers in operators come again; kept there, they cost nothing. A new one is put
together there of bytes that the GPU has: 70 us until it is ready, where sending it takes 190. The program for
that takes 50 ms to compile, so the first ones are sent.
"""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from ._compilation import compiled
from ._tracing import eagerly, in_a_trace, is_traced
from ._x64 import x64_for, x64_mode, x64_on

__all__ = [
    "constant",
    "constant_anywhere",
    "gpu_in",
    "gpu_of",
    "indices_along",
    "number",
    "on_gpu",
    "position",
    "put_together",
]

_GPU = "gpu"
_LONG = 2**31  # from here on the length of an axis is no int32
_cache: dict = {}
_MOST = 2**15  # numbers kept; then all are forgotten
_FEW = 256  # bytes of an array that is kept
_BLOCK = 128  # indices sent at once when they come one after the other
_ALONE = 16  # that come one after the other before a block is sent
_latest = [-_BLOCK, 0]  # the last index that was new, and how many came before it one after the other
_SENT = 64  # numbers that are sent before a program for them pays
_count = itertools.count()


def position(i: int, size: int, device: jax.Device | None):
    """Return an index along an axis of `size` as an input of a program with an array on ``device``.

    `gpu_of` tells the device.
    """
    if size >= _LONG:
        return indices_along(i, size)
    if device is None:
        return np.int32(i)
    kept = _cache.get((i, device))
    if kept is not None:
        return kept
    host = np.int32(i)
    _latest[1] = _latest[1] + 1 if 0 < i - _latest[0] <= _BLOCK < 2**31 - i else 0
    if _latest[1] > _ALONE:
        _latest[0] = i + _BLOCK - 1
        block = np.arange(i, i + _BLOCK, dtype=np.int32)
        for n, made in zip(block.tolist(), _apart(block), strict=True):
            _keep((n, device), made, device)
        kept = _cache.get((i, device))
    else:
        _latest[0] = i
        kept = _keep((i, device), _new(host, device), device)
    return host if kept is None else kept


def indices_along(given, size: int):
    """Return indices along an axis of `size`, or one, with 64 bits if it takes them."""
    if size < _LONG:
        return given
    with x64_on():  # NumPy's int64 is cut to 32 bits where x64 is off
        return jnp.asarray(given, np.int64)


def constant(host: np.ndarray, array: jax.Array):
    """Return a NumPy array of few numbers as an input of a program with ``array``."""
    return _constant(host, gpu_of(array))


def constant_anywhere(host: np.ndarray):
    """Return a NumPy array of few numbers as an input of a program that makes an array of it alone."""
    if not on_gpu() or jax.config.jax_default_device is not None or in_a_trace():
        return host
    return _constant(host, _first_device())


def _constant(host: np.ndarray, device: jax.Device | None):
    if device is None or host.nbytes > _FEW:
        return host
    key = (host.tobytes(), host.shape, host.dtype, device)
    kept = _cache.get(key)
    if kept is None:
        made = _new(host, device) if _is_number(host) else jnp.asarray(host)
        kept = _keep(key, made, device)
    return host if kept is None or kept.dtype != host.dtype else kept


def number(x, array: jax.Array):
    """Return a Python number, weakly typed as it is, as an operand together with ``array``."""
    device = gpu_of(array)
    if device is None:
        return x
    key = (type(x), repr(x), x64_mode(), device)
    kept = _cache.get(key)
    if kept is None:
        kept = _keep(key, jax.device_put(x), device)
    return x if kept is None else kept


def put_together(host: np.ndarray | np.generic, device: jax.Device) -> jax.Array:
    """Return one real number of several bytes on ``device``."""
    with eagerly(), x64_for(host.dtype):
        there = _bytes_on(device)
        return _of_bytes(*[there[each] for each in host.tobytes()], dtype=host.dtype)


def _new(host: np.ndarray | np.generic, device: jax.Device) -> jax.Array:
    """Return a number on a device: the first ones are sent, which compiles nothing."""
    if next(_count) >= _SENT:
        return put_together(host, device)
    with eagerly(), x64_for(host.dtype):
        return _uncommitted(host, device)


def _uncommitted(numbers, device: jax.Device):
    """Send numbers to a device, committed to it only if it is not the default one.

    What is combined with committed arrays becomes committed, and programs are compiled once more for that.
    """
    there = jax.device_put(numbers)
    return there if jax.tree.leaves(there)[0].device == device else jax.device_put(there, device)


def _is_number(host: np.ndarray) -> bool:
    """Tell whether it can be put together."""
    return not host.ndim and host.dtype.kind in "iuf" and host.itemsize > 1


@functools.cache
def _bytes_on(device: jax.Device) -> list[jax.Array]:
    """Return every byte on a device."""
    return _uncommitted(list(np.arange(256, dtype=np.uint8)), device)


@functools.partial(compiled, static_argnames="dtype")
def _of_bytes(*least_first, dtype):
    return jax.lax.bitcast_convert_type(jnp.stack(least_first), dtype)


def _keep(key, made: jax.Array, device):
    """Keep a number if it is one, not a trace's, and where it should be."""
    if is_traced(made) or made.device != device:
        return None
    if len(_cache) >= _MOST:
        _cache.clear()
    _cache[key] = made
    return made


def gpu_of(array):
    """Return the GPU that holds an array; None if it is traced, elsewhere or on several."""
    return None if is_traced(array) else gpu_in(array.sharding)


def gpu_in(sharding) -> jax.Device | None:
    """Return the GPU that a sharding names; None if that is another device, or if there are several."""
    if not on_gpu():
        return None
    devices = sharding.device_set
    if len(devices) > 1:
        return None
    (device,) = devices
    return device if device.platform == _GPU else None


@functools.cache
def on_gpu() -> bool:
    return jax.default_backend() == _GPU


@functools.cache
def _first_device() -> jax.Device:
    return jax.local_devices()[0]


@compiled
def _apart(block):
    return tuple(block)
