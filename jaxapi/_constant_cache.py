"""Numbers put together on a GPU of bytes that it has, in a third of the time that sending them takes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ._compilation import compiled
from ._tracing import eagerly, is_traced
from ._x64 import x64_for

__all__ = ["gpu_in", "gpu_of", "on_gpu", "put_together"]

_GPU = "gpu"


def put_together(host: np.ndarray | np.generic, device: jax.Device) -> jax.Array:
    """Return one real number of several bytes on ``device``."""
    with eagerly(), x64_for(host.dtype):
        there = _bytes_on(device)
        return _of_bytes(*[there[each] for each in host.tobytes()], dtype=host.dtype)


@functools.cache
def _bytes_on(device: jax.Device) -> list[jax.Array]:
    """Return every byte on a device, committed to it only if it is not the default one.

    What is combined with committed arrays becomes committed, and programs are compiled once more for that.
    """
    there = jax.device_put(list(np.arange(256, dtype=np.uint8)))
    return there if there[0].device == device else jax.device_put(there, device)


@functools.partial(compiled, static_argnames="dtype")
def _of_bytes(*least_first, dtype):
    return jax.lax.bitcast_convert_type(jnp.stack(least_first), dtype)


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
    """Whether JAX's default devices are GPUs."""
    return jax.default_backend() == _GPU
