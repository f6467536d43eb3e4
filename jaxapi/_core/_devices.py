"""Devices: the ``device=`` argument, a `jax.Device` or a sharding, and numbers of a GPU read in Python.

JAX copies numbers when Python wants them. A program that leaves them in memory of the host is
done sooner than that copy.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax

from ._programs import compiled, in_a_trace, is_traced
from ._typing import Array, Device

__all__ = ["all_in_host_memory", "as_sharding", "check_device", "computed_in_host_memory", "cpu_device"]
__all__ += ["gpu_of", "in_host_memory", "is_cpu", "is_on", "last_in_host_memory", "put"]


def check_device(device: Any) -> None:
    """Raise TypeError unless ``device`` is None, a device or a sharding."""
    if device is not None and not isinstance(device, (jax.Device, jax.sharding.Sharding)):
        raise TypeError(
            "device must be a jax.Device or a jax.sharding.Sharding, such as one of "
            f"__array_namespace_info__().devices() or jax.devices('cpu')[0], got {device!r}"
        )


def as_sharding(device: Device) -> jax.sharding.Sharding:
    """Return ``device`` as a sharding."""
    if isinstance(device, jax.sharding.Sharding):
        return device
    return jax.sharding.SingleDeviceSharding(device)


def put(array: Array, device: Device | None) -> Array:
    """Return a new array on ``device``, inside of `jax.jit` too, where `jax.device_put` does nothing."""
    if device is None:
        return array
    if is_traced(array):
        return jax.jit(lambda x: x, out_shardings=as_sharding(device))(array)
    return jax.device_put(array, device)


def cpu_device() -> jax.Device:
    """Return the device of host memory."""
    return jax.local_devices(backend="cpu")[0]


def is_on(array: Array, device: Device) -> bool:
    """Whether a concrete array lies on ``device``, shards and all."""
    if isinstance(device, jax.sharding.Sharding):
        return array.sharding.is_equivalent_to(device, array.ndim)
    return array.sharding.device_set == {device}


def is_cpu(device: Any) -> bool:
    """Whether ``device``, or JAX's default device for None, is one CPU."""
    if device is None:
        device = jax.config.jax_default_device or jax.devices()[0]
    if isinstance(device, str):  # jax_default_device may be a platform's name
        return device == "cpu"
    if isinstance(device, jax.sharding.Sharding):
        devices: Any = device.device_set
        platforms = [member.platform for member in devices]
        return platforms == ["cpu"]
    return bool(device.platform == "cpu")


def default_device() -> jax.Device:
    """Return the device on which JAX puts new arrays."""
    device: Any = jax.config.jax_default_device
    if isinstance(device, str):  # a platform's name
        return jax.local_devices(backend=device)[0]
    return device or jax.local_devices()[0]


def gpu_of(array: Any) -> jax.Device | None:
    """Return the GPU that holds an array; None if it is traced, elsewhere or on several."""
    if is_traced(array) or not _on_gpu() or len(array.sharding.device_set) > 1:
        return None
    (device,) = array.sharding.device_set
    return device if device.platform == "gpu" else None


@functools.cache
def _on_gpu() -> bool:
    return jax.default_backend() == "gpu"


_HOST = "pinned_host"
_FEW = 8  # numbers


def in_host_memory(value: jax.Array) -> jax.Array:
    """Return few numbers where the host reads them fast: the array itself, or a copy in its memory."""
    device = _gpu(value) if value.size <= _FEW else None
    return value if device is None else _compiled(_same, device)(value)


def all_in_host_memory(*arrays: jax.Array) -> tuple[jax.Array, ...]:
    """Return arrays where the host reads them fast, to be waited for once."""
    devices = {_gpu(x) for x in arrays}
    if len(devices) > 1 or None in devices:
        return arrays
    (device,) = devices
    return _compiled(_same, device)(arrays)


def computed_in_host_memory(program: Callable[..., Any], *arrays: jax.Array, **static: Any) -> Any:
    """Run a program on arrays of one device, and leave its results where the host reads them fast.

    Its keyword arguments are static.
    """
    return _compiled(program, _gpu(arrays[0]), tuple(static))(*arrays, **static)


def last_in_host_memory(program: Callable[..., Any], array: jax.Array, *static: str) -> Any:
    """Return a program of two results, compiled, the last of which is left where the host reads it fast.

    `array` is one of its inputs, which all lie on one device, and `static` are the names of static arguments.
    """
    return _compiled(program, _gpu(array), static, is_last_alone=True)


def _gpu(value: jax.Array) -> jax.Device | None:
    """Return the GPU that holds an array, if its programs can leave results in memory of the host."""
    device = gpu_of(value)
    return None if device is None or in_a_trace() or not _has_host_memory(device) else device


@functools.cache
def _has_host_memory(device: jax.Device) -> bool:
    return _HOST in {memory.kind for memory in device.addressable_memories()}


@functools.cache
def _compiled(
    program: Callable[..., Any],
    device: jax.Device | None,
    static: tuple[str, ...] = (),
    is_last_alone: bool = False,
) -> Any:
    """Return a program that leaves all of its results, or the last of two, in memory of the host."""
    if device is None:
        return compiled(program, static_argnames=static)
    in_its_memory = jax.sharding.SingleDeviceSharding(device, memory_kind=_HOST)
    places = (None, in_its_memory) if is_last_alone else in_its_memory
    return compiled(program, static_argnames=static, out_shardings=places)


def _same(x: Any) -> Any:
    return x
