"""The compiled handler (launcher.cpp) by which XLA starts kernels, where it was built.

Release wheels bring it; in a clone ``nox -s launcher`` builds it.
"""

import ctypes
import functools
from pathlib import Path

import jax

__all__ = ["LIBRARY", "TARGET", "registered"]

LIBRARY = Path(__file__).with_name("launcher.so")
TARGET = "jaxapi_launch"


@functools.cache
def registered() -> bool:
    """Register the handler; tell whether it is here, and loads."""
    if not LIBRARY.exists():
        return False
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError:  # built for another processor or C library
        return False
    stages = {"initialize": library.JaxapiInitialize, "execute": library.JaxapiLaunch}
    capsules = {stage: jax.ffi.pycapsule(handler) for stage, handler in stages.items()}
    jax.ffi.register_ffi_target(TARGET, capsules, platform="CUDA")
    return True
