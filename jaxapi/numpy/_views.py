"""Functions that give views where NumPy's do: what is written to them is written to the array."""

import functools
import math

import numpy as np

from .. import mutable
from .._core import _parts
from .._core._errors import NEEDS_A_VALUE, whole_number, with_remedy
from ..mutable import _host_way as host_way
from ..mutable._array import NUMPY, Array, from_host, layout_of, view_of
from ._creation import check_order
from ._wrap import as_ours, made, ours

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "expand_dims", "fliplr", "flipud", "imag"]
__all__ += ["matrix_transpose", "permute_dims", "ravel", "real", "reshape", "rot90", "squeeze", "swapaxes"]
__all__ += ["transpose", "unstack"]


def _of_numpys(name):
    """Return NumPy's function, which is written in Python of methods and indexing, of our arrays."""
    function = getattr(np, name).__wrapped__

    @functools.wraps(function)
    def call(a, *args, **kwargs):
        try:
            return function(as_ours(a), *args, **kwargs)
        except NEEDS_A_VALUE as error:
            raise with_remedy(error, name) from None

    call.__module__ = "jaxapi.numpy"
    call.__doc__ = f"As `numpy.{name}`, of our arrays: views where those are."
    return call


_NUMPYS = """
array_split dsplit flip hsplit iscomplexobj isrealobj moveaxis ndim rollaxis shape size split vsplit
"""
__all__ += _NUMPYS.split()
globals().update({name: _of_numpys(name) for name in _NUMPYS.split()})
_flip = _of_numpys("flip")
_moveaxis = _of_numpys("moveaxis")
_axes = np.lib.array_utils.normalize_axis_tuple
_axis = np.lib.array_utils.normalize_axis_index


def strides_of(a: Array) -> tuple[int, ...]:
    """Return the bytes between neighbors along each axis, as NumPy's array would have them."""
    return tuple(n * a.itemsize for n in layout_of(a).strides)


def _order_of(a: Array, order) -> str:
    """Return C or F for an order of reading."""
    check_order(order)
    order = (order or "C").upper()
    if order != "A":
        return order
    flags = layout_of(a).flags
    return "F" if flags.f_contiguous and not flags.c_contiguous else "C"


def reshape(a, /, shape, order="C", *, copy=None):
    """Return an array in another shape: a view where it can be one; ``order='F'`` gives a copy."""
    a = as_ours(a)
    order = _order_of(a, order)
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    if isinstance(shape, Array):
        shape = tuple(shape.tolist()) if shape.ndim else int(shape)
    shape = (shape,) if not isinstance(shape, (tuple, list)) else tuple(shape)
    shape = tuple(whole_number(n, "a shape") for n in shape)
    if sum(n < 0 for n in shape) > 1 or min(shape, default=0) < -1:
        raise ValueError("can only specify one unknown dimension")
    known = math.prod(n for n in shape if n != -1)
    if (known != a.size) if -1 not in shape else (known == 0 or a.size % known):
        raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
    if order == "F":
        return reshape(a.T, shape[::-1]).T
    return mutable.reshape(a, shape, copy=copy)


def ravel(a, order="C"):
    """Return the elements in one axis: a view where NumPy's is one."""
    a = as_ours(a)
    order = _order_of(a, order)
    if order == "K":
        a = a._transposed(tuple(sorted(range(a.ndim), key=lambda i: -abs(layout_of(a).strides[i]))))
    elif order == "F":
        a = a.T
    flat = mutable.reshape(a, (-1,))
    return flat if a._is_contiguous() else flat.copy()


def squeeze(a, axis=None):
    """Return a view without axes of length 1."""
    a = as_ours(a)
    if not a.ndim and axis in (0, -1):
        return whole(a)
    axes = [i for i, n in enumerate(a.shape) if n == 1] if axis is None else _axes(axis, a.ndim)
    if any(a.shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return a[(*(0 if i in axes else slice(None) for i in range(a.ndim)), ...)]


def expand_dims(a, axis):
    """Return a view with new axes of length 1."""
    a = as_ours(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    new = _axes(axis, a.ndim + count)
    return a[(*(None if i in new else slice(None) for i in range(a.ndim + count)), ...)]


def transpose(a, axes=None):
    """Return a view with the axes in another order, reversed by default."""
    a = as_ours(a)
    order = range(a.ndim)[::-1] if axes is None else axes
    if len(order) != a.ndim:
        raise ValueError("axes don't match array")
    return a._transposed(_axes(tuple(whole_number(axis, "axes") for axis in order), a.ndim))


permute_dims = transpose


def matrix_transpose(x, /):
    """Return a view with the last two axes exchanged."""
    if np.ndim(x) < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    return as_ours(x).mT


def swapaxes(a, axis1, axis2):
    """Return a view with two axes exchanged."""
    a = as_ours(a)
    order = list(range(a.ndim))
    i = _axis(whole_number(axis1, "axis1"), a.ndim)
    j = _axis(whole_number(axis2, "axis2"), a.ndim)
    order[i] = j
    order[j] = i
    return a._transposed(tuple(order))


def _flipped(name, ndim):
    def function(m):
        if as_ours(m).ndim < ndim:
            raise ValueError(f"Input must be >= {ndim}-d.")
        return _flip(m, ndim - 1)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return a view in reverse order along axis {ndim - 1}."
    return function


flipud = _flipped("flipud", 1)
fliplr = _flipped("fliplr", 2)


def rot90(m, k=1, axes=(0, 1)):
    """Return a view that is turned by ``k`` right angles in the plane of two axes."""
    m = as_ours(m)
    if len(axes) != 2 or axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("len(axes) must be 2 and axes must be different.")
    first, second = (_in_range(i, m) for i in axes)
    quarter_turns = whole_number(k, "k") % 4
    if quarter_turns == 0:
        return m[...]
    if quarter_turns == 1:
        return swapaxes(_flip(m, second), first, second)
    if quarter_turns == 2:
        return _flip(m, (first, second))
    return _flip(swapaxes(m, first, second), second)


def _in_range(axis, m):
    if not -m.ndim <= axis < m.ndim:
        raise ValueError(f"Axes={axis} out of range for array of ndim={m.ndim}.")
    return axis % m.ndim


def _atleast(ndim, key):
    def function(*arys):
        made = tuple(a if (a := as_ours(x)).ndim >= ndim else key(a) for x in arys)
        return made[0] if len(made) == 1 else made

    function.__name__ = function.__qualname__ = f"atleast_{ndim}d"
    function.__doc__ = f"Return views of at least {ndim} axes; arrays that have as many as they are."
    return function


atleast_1d = _atleast(1, lambda a: a[None])
atleast_2d = _atleast(2, lambda a: a[(None,) * (2 - a.ndim)])
atleast_3d = _atleast(
    3, lambda a: a[:, :, None] if a.ndim == 2 else a[(None, slice(None) if a.ndim else None, None)]
)


def unstack(x, /, *, axis=0):
    """Return views of the parts along an axis."""
    return tuple(_moveaxis(x, axis, 0))


def real(val):
    """Return the real parts, a view."""
    val = as_ours(val)
    return val if val.dtype.kind != "c" else _component(val, "real")


def imag(val):
    """Return the imaginary parts: of complex numbers a view."""
    val = as_ours(val)
    return made(val._value.imag) if val.dtype.kind != "c" else _component(val, "imag")


def _component(val: Array, name: str) -> Array:
    if val._is_scalar or 0 in val.shape:
        return ours(getattr(_parts, name)(val._value))
    return view_of(val, None, component=name)


def whole(a: Array) -> Array:
    """Return a view of all of an array."""
    host = a._in_host_memory() if host_way.is_eager() else None
    return view_of(a, None) if host is None else from_host(host.view(), NUMPY)
