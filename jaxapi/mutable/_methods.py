"""NumPy's and CuPy's commonest methods, made of the namespace's functions, and ``add.at`` and its like."""

from typing import TYPE_CHECKING, Any

import numpy as np

__all__ = ["Methods", "add_methods"]

_REDUCTIONS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var")
_AT = {"add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max", "minimum": "min"}
if TYPE_CHECKING:
    from ._array import Array

    xp: Any
else:
    import jaxapi.mutable as xp  # whose names are there when the methods are called


class Methods:
    """NumPy's methods: views where NumPy's are, and ``axis=None`` stands for the flattened array."""

    __slots__ = ()

    if TYPE_CHECKING:
        _value: Any
        _transposed: Any
        _is_contiguous: Any
        __getitem__: Any
        __setitem__: Any

        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def ndim(self) -> int: ...

    def argsort(self, axis: int | None = -1, **options: Any) -> "Array":
        """Return the positions that sort along an axis."""
        flat = self.ravel() if axis is None else self
        return xp.argsort(flat, axis=-1 if axis is None else axis, **options)

    def astype(self, dtype: Any, *, copy: bool = True) -> "Array":
        """Return the array in another dtype: `astype`."""
        return xp.astype(self, dtype, copy=copy)

    def clip(self, min: Any = None, max: Any = None, **options: Any) -> "Array":
        """Return the elements between two bounds: `clip`."""
        return xp.clip(self, min, max, **options)

    def conj(self) -> "Array":
        """Return the complex conjugates."""
        return xp.conj(self)

    def copy(self) -> "Array":
        """Return a copy."""
        return xp.asarray(self, copy=True)

    def cumprod(self, axis: int | None = None, **options: Any) -> "Array":
        """Return the products up to each element."""
        flat = self.ravel() if axis is None else self
        return xp.cumulative_prod(flat, axis=axis or 0, **options)

    def cumsum(self, axis: int | None = None, **options: Any) -> "Array":
        """Return the sums up to each element."""
        flat = self.ravel() if axis is None else self
        return xp.cumulative_sum(flat, axis=axis or 0, **options)

    def dot(self, other: Any, out: Any = None) -> "Array":
        """Return the product over the last axis and the other's last but one."""
        other = xp.asarray(other)
        if not self.ndim or not other.ndim:
            return xp.multiply(self, other, out=out)
        return xp.tensordot(self, other, axes=((self.ndim - 1,), (max(other.ndim - 2, 0),)), out=out)

    def fill(self, value: Any) -> None:
        """Write one value everywhere."""
        self[...] = value

    def flatten(self) -> "Array":
        """Return a flat copy."""
        return self.ravel().copy()

    def get(self) -> np.ndarray:
        """Return a copy as a NumPy array, as CuPy does."""
        return np.array(self)

    def item(self, *index: int) -> Any:
        """Return one element as a Python number."""
        return self._value.item(*index)

    def nonzero(self) -> "tuple[Array, ...]":
        """Return the positions of what is not 0, one array for each axis."""
        return xp.nonzero(self)

    def ptp(self, axis: Any = None, **options: Any) -> "Array":
        """Return the maximum less the minimum."""
        return xp.max(self, axis=axis, **options) - xp.min(self, axis=axis, **options)

    def ravel(self) -> "Array":
        """Return a flat view, or a copy where NumPy makes one."""
        flat = xp.reshape(self, (-1,))
        return flat if self._is_contiguous() else flat.copy()

    def repeat(self, repeats: Any, axis: int | None = None) -> "Array":
        """Return each element several times: `repeat`."""
        return xp.repeat(self, repeats, axis=axis)

    def reshape(self, *shape: Any, **options: Any) -> "Array":
        """Return the array in another shape, a view where it can be one: `reshape`."""
        return xp.reshape(self, shape[0] if len(shape) == 1 else shape, **options)

    def round(self, decimals: int = 0, **options: Any) -> "Array":
        """Return the elements rounded: `round`."""
        return xp.round(self, decimals, **options)

    def sort(self, axis: int = -1, **options: Any) -> None:
        """Sort along an axis, in place."""
        self[...] = xp.sort(self, axis=axis, **options)

    def squeeze(self, axis: Any = None) -> "Array":
        """Return a view without axes of length 1."""
        axes = [i for i, n in enumerate(self.shape) if n == 1] if axis is None else axis
        axes = np.lib.array_utils.normalize_axis_tuple(axes, self.ndim)
        if any(self.shape[i] != 1 for i in axes):
            raise ValueError(f"squeeze takes axes of length 1, got {axis} of shape {self.shape}")
        return self[(*(0 if i in axes else slice(None) for i in range(self.ndim)), ...)]

    def swapaxes(self, axis1: int, axis2: int) -> "Array":
        """Return a view with two axes exchanged."""
        axes = list(range(self.ndim))
        first, second = (np.lib.array_utils.normalize_axis_index(axis, self.ndim) for axis in (axis1, axis2))
        axes[first], axes[second] = second, first
        return self._transposed(tuple(axes))

    def take(self, indices: Any, axis: int | None = None) -> "Array":
        """Return the elements at some positions."""
        if axis is None:
            return self.ravel()[indices].copy()
        axis = np.lib.array_utils.normalize_axis_index(axis, self.ndim)
        return self[(slice(None),) * axis + (indices,)].copy()

    def tolist(self) -> Any:
        """Return nested lists of Python numbers."""
        return self._value.tolist()

    def transpose(self, *axes: Any) -> "Array":
        """Return a view with the axes in another order, reversed by default."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = np.lib.array_utils.normalize_axis_tuple(given or range(self.ndim)[::-1], self.ndim)
        if len(order) != self.ndim:
            raise ValueError(f"transpose takes all {self.ndim} axes, got {given}")
        return self._transposed(order)


def add_methods(namespace: dict) -> None:
    """Give the class the reductions, and functions of two operands their ``at``."""
    from ._array import Array, unwrap
    from ._indexing import accumulate

    def reduction(function):
        def method(self, axis=None, *args, **kwargs):
            names = ("out",) if args and isinstance(args[0], Array) else ("dtype", "out")
            return function(self, axis=axis, **dict(zip(names, args, strict=False)), **kwargs)

        return method

    def at(name, how):
        def write(value, key, new, made):
            return accumulate(value, key, new, made, how)

        def method(a, indices, b):
            if not isinstance(a, Array):
                raise TypeError(f"{name}.at writes to a jaxapi.mutable.Array, got {type(a).__name__}")
            a._rewrite(write, unwrap(indices), unwrap(b))

        return method

    for name in _REDUCTIONS:
        method = reduction(namespace[name])
        method.__name__, method.__doc__ = name, f"Return `{name}` of the array."
        setattr(Array, name, method)
    for name, how in _AT.items():
        namespace[name].at = method = at(name, how)
        method.__name__ = "at"
        method.__doc__ = f"Do ``a[indices] = {name}(a[indices], b)``, once for each index that comes again."
