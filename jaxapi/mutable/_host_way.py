"""Whether arrays are NumPy's: on the CPU, outside of JAX's transformations.

``JAXAPI_NUMPY_ON_HOST=0`` in the environment sends them JAX's way, as on a GPU.
"""

import functools
import os

import jax
from jax.sharding import get_abstract_mesh

from .._core._programs import traces

__all__ = ["checks_programs", "cpu", "is_by_jax", "is_default", "is_eager", "is_on", "set_on"]

_config = jax.config
_is_on: bool | None = None  # not known before JAX has devices
_trace_now = _no_trace = None


def is_on() -> bool:
    """Whether arrays in the host's memory are NumPy's."""
    if _is_on is None:
        set_on(os.environ.get("JAXAPI_NUMPY_ON_HOST", "1") != "0" and cpu() is not None)
    return bool(_is_on)


def set_on(on: bool) -> None:
    """Turn this way on or off, for tests of both."""
    global _is_on, _trace_now, _no_trace
    _trace_now, _no_trace = traces()
    _is_on = on


def is_eager() -> bool:
    """Whether NumPy computes now: this way is on, and no transformation of JAX runs the calling code."""
    if _is_on is None:
        is_on()
    return _is_on and _trace_now(()) is _no_trace  # type: ignore[return-value, misc]


def is_default() -> bool:
    """Whether new arrays are NumPy's: it computes now, and no other device was chosen for them."""
    return is_eager() and _config.jax_default_device is None


def checks_programs() -> bool:
    """Whether JAX looks for NaN in what programs return, or compiles none."""
    return _config.jax_debug_nans or _config.jax_debug_infs or _config.jax_disable_jit


def is_by_jax() -> bool:
    """Whether JAX computes eagerly: in no transformation and no mesh, and checks nothing."""
    if _is_on is None:
        is_on()
    if _is_on or _trace_now(()) is not _no_trace:  # type: ignore[misc]
        return False
    if _config.jax_debug_nans or _config.jax_debug_infs or _config.jax_disable_jit:  # `checks_programs`
        return False
    return get_abstract_mesh().empty


@functools.cache
def cpu() -> jax.Device | None:
    """Return JAX's first device if it is a CPU."""
    first = jax.local_devices()[0]
    return first if first.platform == "cpu" else None
