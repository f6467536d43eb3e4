"""NumPy's and CuPy's commonest methods: ``x.sum(0)`` is ``sum(x, axis=0)``."""

from ._array import Array, copied
from ._sharing import astype

__all__ = ["add_methods"]

_REDUCTIONS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var")


def add_methods(namespace: dict) -> None:
    """Give the class its methods, made of the namespace's functions."""
    for name in _REDUCTIONS:
        setattr(Array, name, _reduction(namespace[name], name))
    reshape = namespace["reshape"]

    def _reshape(self, *shape, **kwargs):
        """Return the array in another shape, a view where it can be one: `reshape`."""
        return reshape(self, shape[0] if len(shape) == 1 else shape, **kwargs)

    def _astype(self, dtype, *, copy=True):
        """Return the array in another dtype: `astype`."""
        return astype(self, dtype, copy=copy)

    for name, method in {
        "astype": _astype,
        "copy": _copy,
        "item": _item,
        "reshape": _reshape,
        "tolist": _tolist,
    }.items():
        method.__name__ = name
        setattr(Array, name, method)


def _reduction(function, name):
    def method(self, axis=None, *, out=None, **kwargs):
        return function(self, axis=axis, out=out, **kwargs)

    method.__name__, method.__doc__ = name, f"Return `{name}` of the array."
    return method


def _copy(self):
    """Return a copy."""
    return copied(self)


def _item(self, *index):
    """Return one element as a Python number."""
    return self._value.item(*index)


def _tolist(self):
    """Return nested lists of Python numbers."""
    return self._value.tolist()
