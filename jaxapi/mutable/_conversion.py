"""The conversions of the class: to NumPy, DLPack, Python's numbers and text."""

import operator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .._core._devices import in_host_memory
from .._core._programs import is_traced

__all__ = ["Conversion"]


class Conversion:
    """What an array can be turned into."""

    __slots__ = ()

    _value: jax.Array
    _name = "jaxapi.mutable.Array"
    if TYPE_CHECKING:

        def _handed_out(self) -> jax.Array: ...

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Copy to a NumPy array; ``copy=False`` gives a read-only view of the value as it is now."""
        if copy is False:
            return np.asarray(self._handed_out(), dtype=dtype, copy=False)
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
        value: Any = self._handed_out()  # whose declared types lack the standard's arguments
        try:
            return value.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        except ValueError as error:  # the standard's exception for what cannot be exported so
            raise BufferError(str(error)) from None

    def __dlpack_device__(self) -> tuple[Any, int]:
        """Return DLPack's type and number of the device."""
        value: Any = self._value
        return value.__dlpack_device__()

    def _number(self) -> Any:
        """Return what Python's numbers are made of."""
        return in_host_memory(self._value)

    def __bool__(self) -> bool:
        return bool(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        number = self._number()
        return operator.index(self._value if type(number) is bool else number)

    def __repr__(self) -> str:
        text = repr(self._value)
        if is_traced(self._value):
            return f"{self._name}({text})"
        start = self._name.removesuffix("Array")
        return start + text.replace("\n", "\n" + " " * len(start))

    def __str__(self) -> str:
        return str(self._value)

    def __format__(self, spec: str) -> str:
        return format(self._value, spec)
