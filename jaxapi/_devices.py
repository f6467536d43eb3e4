"""The ``device=`` argument: a `jax.Device` or a `jax.sharding.Sharding`."""

import functools

import jax

from ._tracing import is_traced
from ._typing import Array

__all__ = ["as_sharding", "check_device", "cpu_device", "gpu_of", "is_cpu", "is_on", "put"]


def check_device(device) -> None:
    """Raise TypeError unless ``device`` is None, a device or a sharding."""
    if device is not None and not isinstance(device, (jax.Device, jax.sharding.Sharding)):
        raise TypeError(
            "device must be a jax.Device or a jax.sharding.Sharding, such as one of "
            f"__array_namespace_info__().devices() or jax.devices('cpu')[0], got {device!r}"
        )


def as_sharding(device) -> jax.sharding.Sharding:
    """Return ``device`` as a sharding."""
    if isinstance(device, jax.sharding.Sharding):
        return device
    return jax.sharding.SingleDeviceSharding(device)


def put(array: Array, device) -> Array:
    """Return a new array on ``device``, inside of `jax.jit` too, where `jax.device_put` does nothing."""
    if device is None:
        return array
    if isinstance(array, jax.core.Tracer):
        return jax.jit(lambda x: x, out_shardings=as_sharding(device))(array)
    return jax.device_put(array, device)


def cpu_device() -> jax.Device:
    """Return the device of host memory."""
    return jax.local_devices(backend="cpu")[0]


def is_on(array: Array, device) -> bool:
    """Whether a concrete array lies on ``device``, shards and all."""
    if isinstance(device, jax.sharding.Sharding):
        return array.sharding.is_equivalent_to(device, array.ndim)
    return array.sharding.device_set == {device}


def is_cpu(device) -> bool:
    """Whether ``device``, or JAX's default device for None, is one CPU."""
    if device is None:
        device = jax.config.jax_default_device or jax.devices()[0]
    if isinstance(device, str):  # jax_default_device may be a platform's name
        return device == "cpu"
    if isinstance(device, jax.sharding.Sharding):
        if len(device.device_set) != 1:
            return False
        (device,) = device.device_set
    return device.platform == "cpu"


def gpu_of(array) -> jax.Device | None:
    """Return the GPU that holds an array; None if it is traced, elsewhere or on several."""
    if is_traced(array) or not _on_gpu() or len(array.sharding.device_set) > 1:
        return None
    (device,) = array.sharding.device_set
    return device if device.platform == "gpu" else None


@functools.cache
def _on_gpu() -> bool:
    return jax.default_backend() == "gpu"
