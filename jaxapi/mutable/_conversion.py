"""The conversions of the class: to NumPy, DLPack, Python's numbers and text."""

from typing import Any

import jax
import numpy as np

from .._tracing import is_traced

__all__ = ["Conversion"]


class Conversion:
    """What an array can be turned into."""

    __slots__ = ()

    _value: jax.Array
    _shared: bool

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Copy to a NumPy array; ``copy=False`` gives a read-only view of the value as it is now."""
        if copy is False:
            self._shared = True
            return np.asarray(self._value, dtype=dtype, copy=False)
        return np.array(self._value, dtype=dtype)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the value as it is now; without a copy its memory is shared until the next write."""
        if max_version is None or max_version < (1, 0):
            # Such a consumer cannot be told that it must not write to memory that others read.
            on_host = self.__dlpack_device__()[0] == 1
            if on_host and copy is not False and self._value.dtype.kind in "biufc":
                return np.array(self._value).__dlpack__()
            max_version = None
        self._shared = True
        value: Any = self._value  # whose declared types lack the standard's arguments
        return value.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[Any, int]:
        """Return DLPack's type and number of the device."""
        value: Any = self._value
        return value.__dlpack_device__()

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __float__(self) -> float:
        return float(self._value)

    def __complex__(self) -> complex:
        return complex(self._value)

    def __index__(self) -> int:
        return self._value.__index__()

    def __repr__(self) -> str:
        text = repr(self._value)
        if is_traced(self._value):
            return f"jaxapi.mutable.Array({text})"
        return "jaxapi.mutable." + text.replace("\n", "\n" + " " * len("jaxapi.mutable."))

    def __str__(self) -> str:
        return str(self._value)

    def __format__(self, spec: str) -> str:
        return format(self._value, spec)
