"""The engine for concrete points, by their device, and its name; inside of programs see `_by_platform`."""

import functools
import importlib
import warnings
from typing import TYPE_CHECKING, Any

import jax

from ..._core._programs import is_traced
from .._tree._tree import FLAT_FROM
from . import _lax
from ._protocol import Engine, KernelEngine

if TYPE_CHECKING:  # the kernels are imported where there is a GPU
    from . import _cuda

    _: KernelEngine = _cuda

__all__ = ["engine_name", "engine_of", "gpu_engine", "only_the_cpu"]


@functools.cache
def gpu_engine() -> KernelEngine | None:
    """Return the engine for NVIDIA GPUs, `None` without a GPU or where the engine cannot run.

    It rests on NVRTC and on a part of XLA that may go: whatever they raise is told by one warning, and the
    portable engine searches instead.
    """
    try:
        jax.devices("cuda")
    except RuntimeError:
        return None
    try:
        engine: Any = importlib.import_module("jaxapi.spatial._engines._cuda")
        engine.check()
    except Exception as error:
        warnings.warn(
            "KDTree searches the GPU slowly, without its CUDA kernels, which do not start here "
            f"({type(error).__name__}: {error}); pip install 'jaxapi[cuda13]' brings what they need",
            stacklevel=2,
        )
        return None
    return engine


def only_the_cpu() -> bool:
    """Whether programs can only run on the CPU, where they can call SciPy back."""
    return jax.default_backend() == "cpu" and gpu_engine() is None


def engine_of(data) -> Engine:
    """Return the engine that searches concrete points."""
    kernels = gpu_engine() if _platform(data) == "gpu" else None
    return _lax if kernels is None else kernels


def _platform(data) -> str:
    """Return the kind of the devices that hold concrete points."""
    return next(iter(data.sharding.device_set)).platform


def engine_name(data) -> str:
    """Return what searches `data` by default: 'scipy', an engine's name, 'brute', or 'traced' inside of jit.

    In many dimensions many queries at once may be searched by 'brute' where this says 'scipy'.
    """
    if is_traced(data):
        return "traced"
    if _platform(data) == "cpu" and len(data.sharding.device_set) == 1:
        return "scipy"
    return "brute" if data.shape[1] >= FLAT_FROM else engine_of(data).NAME
