"""Inspection (chapter "Inspection" of the standard)."""

import jax.numpy as jnp

from ._core._dtypes import WIDE, explicit_64_bits

__all__ = [
    "__array_namespace_info__",
]

_NAMES = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


def __array_namespace_info__() -> "Info":
    """Say what the namespace has: devices, dtypes and capabilities.

    Unlike `jax.numpy.__array_namespace_info__`, ``dtypes`` lists the 64-bit dtypes also with x64 off where
    arrays of them can be made (jaxapi's import lets explicit requests through), and ``devices`` is a tuple
    on every supported JAX ([1]_).

    Returns
    -------
    Info
        With the standard's methods.

    Notes
    -----
    The default device is None: JAX places arrays as it sees fit, and moves such an array to another's
    device where both are operands. Boolean indexing and data-dependent shapes are listed as missing
    because they are inside `jax.jit`; outside they work.

    References
    ----------
    .. [1] Array API standard 2025.12, "Inspection".

    Examples
    --------
    >>> sorted(__array_namespace_info__().dtypes(kind="real floating"))
    ['float32', 'float64']
    """
    return Info()


class Info:
    """The standard's inspection methods."""

    def __init__(self):
        self._jax = jnp.__array_namespace_info__()

    def capabilities(self) -> dict:
        """Return what holds everywhere, inside `jax.jit` too."""
        return dict(self._jax.capabilities())

    def default_device(self):
        """Return None: JAX chooses."""
        return self._jax.default_device()

    def devices(self) -> tuple:
        """Return every device of every backend, and None for JAX's choice."""
        return tuple(self._jax.devices())

    def default_dtypes(self, *, device=None) -> dict:
        """Return the dtypes of results whose dtype is not said."""
        return self._jax.default_dtypes(device=device)

    def dtypes(self, *, device=None, kind=None) -> dict:
        """Return the dtypes of one kind, several kinds, or all; every device has them all."""
        basic_kinds = [basic for name in _listed(kind) for basic in _KINDS.get(name, (name,))]
        dtypes = {name: jnp.dtype(name) for basic in basic_kinds for name in _NAMES[basic]}
        return {name: dtype for name, dtype in dtypes.items() if dtype not in WIDE or explicit_64_bits()}


def _listed(kind) -> tuple[str, ...]:
    if kind is None:
        return ("bool", "numeric")
    names = kind if isinstance(kind, tuple) else (kind,)
    for name in names:
        if name not in _NAMES and name not in _KINDS:
            raise ValueError(f"kind must be one of {[*_NAMES, *_KINDS]} or a tuple of them, got {name!r}")
    return names
