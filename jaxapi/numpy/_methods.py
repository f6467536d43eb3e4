"""NumPy's methods and attributes of the array, for `jaxapi.mutable.Array`, which finds them here by name."""

import pickle

import jax
import numpy as np

from .._core._dtypes import resolve_dtype
from ..mutable._array import Array, _layout, copied, unwrap
from . import _creation, _inplace, _views
from ._creation import check_order
from ._functions import FUNCTIONS
from ._ufuncs import UFUNCS
from ._wrap import as_ours, as_type, into, ours

# Functions whose first argument is the array.
_SAME = """
all any argmax argmin argpartition argsort choose clip cumprod cumsum diagonal dot max mean min
nonzero prod ptp put ravel repeat round searchsorted std squeeze sum swapaxes take trace var
"""


def __getattr__(name):
    if name in _SAME.split():
        for place in (FUNCTIONS, UFUNCS, vars(_views), vars(_inplace)):
            if name in place:
                return place[name]
    raise AttributeError(name)


def astype(a, dtype, order="K", casting="unsafe", subok=True, copy=True):
    check_order(order)
    dtype = resolve_dtype(float if dtype is None else dtype)
    if not np.can_cast(a.dtype, dtype, casting):
        raise TypeError(f"Cannot cast array data from {a.dtype} to {dtype} according to the rule {casting!r}")
    if a.dtype == dtype:
        return copied(a) if copy else a
    return as_type(a, dtype)


def byteswap(a, inplace=False):
    swapped = _creation.asarray(np.asarray(a).byteswap())
    return into(a, swapped) if inplace else swapped


def compress(a, condition, axis=None, out=None):
    return FUNCTIONS["compress"](condition, a, axis, out)


def conj(a):
    return UFUNCS["conjugate"](a) if a.dtype.kind == "c" else a


conjugate = conj


def copy(a, order="C"):
    check_order(order)
    return copied(a)


def dump(a, file):
    with open(file, "wb") as opened:
        opened.write(dumps(a))


def dumps(a):
    return pickle.dumps(a)


def fill(a, value):
    a[...] = value


def flatten(a, order="C"):
    return copied(_views.ravel(a, order))


def get(a, stream=None, order="C", out=None, blocking=True):
    return _creation.asnumpy(a, order=order, out=out)


def item(a, *index):
    return np.asarray(a._value).item(*index) if index else a._value.item()


def partition(a, kth, axis=-1, kind="introselect", order=None):
    a[...] = FUNCTIONS["partition"](a, kth, axis)


def reshape(a, *shape, order="C", copy=None):
    return _views.reshape(a, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def resize(a, *new_shape, refcheck=True):
    raise ValueError("an array cannot be resized in place: write x = numpy.resize(x, shape)")


def scatter_add(a, slices, value):
    UFUNCS["add"].at(a, slices, as_type(as_ours(value), a.dtype))


def scatter_max(a, slices, value):
    UFUNCS["maximum"].at(a, slices, as_type(as_ours(value), a.dtype))


def scatter_min(a, slices, value):
    UFUNCS["minimum"].at(a, slices, as_type(as_ours(value), a.dtype))


def set(a, arr, stream=None):
    if a.shape != np.shape(arr) or a.dtype != np.asarray(arr).dtype:
        raise ValueError(f"set takes an array of shape {a.shape} and dtype {a.dtype}")
    a[...] = arr


def setflags(a, write=None, align=None, uic=None):
    if write is False:
        raise ValueError("arrays are always writeable: pass a copy to whom must not write")


def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        raise TypeError("sort in place takes one axis")
    a[...] = FUNCTIONS["sort"](a, axis)


def tobytes(a, order="C"):
    return np.asarray(a).tobytes(order)


def tofile(a, file, sep="", format="%s"):
    np.asarray(a).tofile(file, sep, format)


def tolist(a):
    return np.asarray(a._value).tolist()


def transpose(a, *axes):
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    return _views.transpose(a, given)


def view(a, dtype=None, type=None):
    if dtype is None or dtype is Array:
        return _views.whole(a)
    return ours(a._value.view(resolve_dtype(dtype)), a)


# Attributes


def base(a):
    return a._view.owner if a._view else None


def data(a):
    return np.asarray(a).data


def flags(a):
    return Flags(_layout(a).flags, a._view is None)


def flat(a):
    return FlatIterator(a)


def set_flat(a, value):
    FlatIterator(a)[:] = value


def imag(a):
    return _views.imag(a)


def set_imag(a, value):
    if a.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    a[...] = UFUNCS["add"](real(a), UFUNCS["multiply"](value, 1j))


def real(a):
    return _views.real(a)


def set_real(a, value):
    a[...] = value if a.dtype.kind != "c" else UFUNCS["add"](value, UFUNCS["multiply"](imag(a), 1j))


def strides(a):
    return _views.strides_of(a)


class Flags:
    """What NumPy's flags would be, as memory is in C order."""

    def __init__(self, layout, owns):
        self.c_contiguous = self.contiguous = layout.c_contiguous
        self.f_contiguous = layout.f_contiguous
        self.fnc, self.forc = self.f_contiguous and not self.c_contiguous, layout.forc
        self.farray, self.carray = self.fnc, self.c_contiguous
        self.owndata, self.writeable, self.aligned, self.writebackifcopy = owns, True, True, False

    def __getitem__(self, name):
        return getattr(self, {"C": "c_contiguous", "F": "f_contiguous"}.get(name, name.lower()))

    def __repr__(self):
        return "\n".join(f"  {name.upper()} : {value}" for name, value in vars(self).items())


class FlatIterator:
    """The elements one after another, to read and to write: ``x.flat``."""

    def __init__(self, array):
        self.base, self._next = array, 0

    def _place(self, key):
        """Return the position of one element, or the positions of several."""
        key = unwrap(key)
        if (isinstance(key, (list, tuple)) and key and isinstance(key, tuple)) or key is None:
            raise IndexError("unsupported iterator index")
        return np.arange(self.base.size)[np.asarray(key) if isinstance(key, jax.Array) else key]

    def __getitem__(self, key):
        return copied(_views.ravel(self.base)[self._place(key)])

    def __setitem__(self, key, value):
        places = self._place(key)
        if np.size(unwrap(value)) and places.size:
            _inplace.put(self.base, places, value)

    def __len__(self):
        return self.base.size

    def __iter__(self):
        return self

    def __next__(self):
        if self._next == len(self):
            self._next = 0
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.base, dtype).ravel()

    def copy(self):
        return flatten(self.base)
