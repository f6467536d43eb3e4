"""NumPy's methods and attributes: those of `jaxapi.numpy`, which is loaded where the first is used."""

from typing import Any

__all__ = ["Methods", "add_methods"]

_METHODS = """
all any argmax argmin argpartition argsort astype byteswap choose clip compress conj conjugate copy cumprod
cumsum diagonal dot dump dumps fill flatten get item max mean min nonzero partition prod ptp put ravel
repeat reshape resize round scatter_add scatter_max scatter_min searchsorted set setflags sort squeeze std
sum swapaxes take tobytes tofile tolist trace transpose var view
"""
_ATTRIBUTES = "base data flags flat imag real strides"
_AT = {"add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max", "minimum": "min"}


class Methods:
    """NumPy's methods: views where NumPy's are, and ``axis=None`` stands for the flattened array."""

    __slots__ = ()
    _is_numpys = False

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Let NumPy's own functions be those of `jaxapi.numpy`."""
        from ..numpy._protocols import array_function

        return _as_kind_of(self, array_function(self, func, types, args, kwargs))

    def __bytes__(self) -> bytes:
        """Return the elements in memory, as NumPy's array does."""
        return self.tobytes()  # type: ignore[attr-defined]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Let NumPy's own ufuncs be those of `jaxapi.numpy`."""
        from ..numpy._protocols import array_ufunc

        return _as_kind_of(self, array_ufunc(self, ufunc, method, *inputs, **kwargs))


def _numpys():
    from ..numpy import _methods

    return _methods


def _as_kind_of(array, result):
    """Return results of `jaxapi.numpy` as arrays of the namespace that an array is of."""
    if array._is_numpys:
        return result
    if isinstance(result, Methods) and result._is_numpys:
        from ._array import wrap

        return wrap(result._value, type(array))  # type: ignore[attr-defined]
    return type(result)(_as_kind_of(array, x) for x in result) if type(result) in (tuple, list) else result


def _method(name: str):
    def method(self, *args, **kwargs):
        return _as_kind_of(self, getattr(_numpys(), name)(self, *args, **kwargs))

    method.__name__, method.__qualname__ = name, f"Array.{name}"
    method.__doc__ = f"As NumPy's method: `jaxapi.numpy.{name}` of the array."
    return method


def _attribute(name: str):
    def get(self):
        return _as_kind_of(self, getattr(_numpys(), name)(self))

    def set_(self, value):
        getattr(_numpys(), f"set_{name}")(self, value)

    get.__doc__ = f"As NumPy's attribute ``{name}``."
    return property(get, set_ if name in ("flat", "real", "imag") else None)


for _name in _METHODS.split():
    setattr(Methods, _name, _method(_name))
for _name in _ATTRIBUTES.split():
    setattr(Methods, _name, _attribute(_name))


def add_methods(namespace: dict) -> None:
    """Give functions of two operands their ``at``."""
    from ._array import Array, unwrap
    from ._indexing import accumulate

    def at(name, how):
        def write(value, key, new, made):
            return accumulate(value, key, new, made, how)

        def method(a, indices, b):
            if not isinstance(a, Array):
                raise TypeError(f"{name}.at writes to a jaxapi.mutable.Array, got {type(a).__name__}")
            a._rewrite(write, unwrap(indices), unwrap(b))

        return method

    for name, how in _AT.items():
        namespace[name].at = method = at(name, how)
        method.__name__ = "at"
        method.__doc__ = f"Do ``a[indices] = {name}(a[indices], b)``, once for each index that comes again."
