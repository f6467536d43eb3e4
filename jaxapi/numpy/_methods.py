"""NumPy's methods and attributes of the array, for `jaxapi.mutable.Array`, which finds them here by name."""

import builtins
import pickle

import jax
import numpy as np

from .._core._dtypes import resolve_dtype
from ..mutable._array import Array, copied, from_numpy, layout_of, unwrap
from ..mutable._numpy_arguments import key_to_numpy, to_numpy
from . import _creation, _inplace, _views
from ._creation import check_order, made_of_shape
from ._functions import FUNCTIONS
from ._protocols import array_function, array_ufunc
from ._ufuncs import UFUNCS
from ._wrap import as_type, into, made

__all__ = ["WAITING", "array_function", "array_ufunc", "made_of_shape"]  # beside the methods by their names

# Functions whose first argument is the array.
_NAMES_OF_SAME = """
all any argmax argmin argpartition argsort choose cumprod cumsum diagonal dot max mean min
nonzero prod ptp put ravel repeat round searchsorted std squeeze sum swapaxes take trace var
"""
_SAME = frozenset(_NAMES_OF_SAME.split())


def __getattr__(name):
    if name in _METHODS:
        return _METHODS[name]
    if name in _SAME:
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


def clip(a, min=None, max=None, out=None, **options):
    return FUNCTIONS["clip"](a, min, max, out, **options)


def copy(a, order="C"):
    check_order(order)
    return copied(a)


def dump(a, file):
    with open(file, "wb") as opened:
        opened.write(pickle.dumps(a))


def fill(a, value):
    a[...] = value


def partition(a, kth, axis=-1, kind="introselect", order=None):
    a[...] = FUNCTIONS["partition"](a, kth, axis)


def resize(a, *new_shape, refcheck=True):
    raise ValueError("an array cannot be resized in place: write x = numpy.resize(x, shape)")


def set(a, arr, stream=None):
    if a.shape != np.shape(arr) or a.dtype != np.asarray(arr).dtype:
        raise ValueError(f"set takes an array of shape {a.shape} and dtype {a.dtype}")
    a[...] = arr


def setflags(a, write=None, align=None, uic=None):
    if write is not None:
        Flags(a).writeable = write


def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        raise TypeError("sort in place takes one axis")
    a[...] = FUNCTIONS["sort"](a, axis, kind)


def transpose(a, *axes):
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    return _views.transpose(a, given)


def view(a, dtype=None, type=None):
    given = type if type is not None else dtype
    if isinstance(given, builtins.type) and issubclass(given, Array):
        return _views.whole(a)
    if isinstance(given, builtins.type) and issubclass(given, np.ndarray):
        raise TypeError(f"an array is of one class here, not of {given.__name__}: use numpy.asarray(x).view")
    if dtype is None or resolve_dtype(dtype) == a.dtype:
        return _views.whole(a)
    return made(a._value.view(resolve_dtype(dtype)), a)


def set_flat(a, value):
    FlatIterator(a)[:] = value


def set_imag(a, value):
    if a.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    _views.imag(a)[...] = value


def set_real(a, value):
    _views.real(a)[...] = value


_METHODS = {
    "base": lambda a: a._view.owner if a._view else None,
    "compress": lambda a, condition, axis=None, out=None: FUNCTIONS["compress"](condition, a, axis, out),
    "conj": lambda a: UFUNCS["conjugate"](a) if a.dtype.kind == "c" else a,
    "conjugate": lambda a: UFUNCS["conjugate"](a) if a.dtype.kind == "c" else a,
    "data": lambda a: np.asarray(a).data,
    "dumps": pickle.dumps,
    "flags": lambda a: Flags(a),
    "flat": lambda a: FlatIterator(a),
    "flatten": lambda a, order="C": copied(_views.ravel(a, order)),
    "get": lambda a, stream=None, order="C", out=None, blocking=True: _creation.asnumpy(
        a, stream, order, out
    ),
    "imag": _views.imag,
    "item": lambda a, *index: np.asarray(a._value).item(*index),
    "real": _views.real,
    "reshape": lambda a, *shape, order="C", copy=None: _views.reshape(
        a, shape[0] if len(shape) == 1 else shape, order, copy=copy
    ),
    "scatter_add": UFUNCS["add"].at,
    "scatter_max": UFUNCS["maximum"].at,
    "scatter_min": UFUNCS["minimum"].at,
    "strides": _views.strides_of,
    "tobytes": lambda a, order="C": np.asarray(a).tobytes(order),
    "tofile": lambda a, file, sep="", format="%s": np.asarray(a).tofile(file, sep, format),
    "tolist": lambda a: np.asarray(a._value).tolist(),
}


# Those of which a call may be a line of a batch.
WAITING = {name: FUNCTIONS[name].waiting for name in _SAME if getattr(FUNCTIONS.get(name), "waiting", None)}


class Flags:
    """What NumPy's flags would be, as memory is in C order."""

    def __init__(self, array):
        layout = layout_of(array).flags
        self._array = array
        self.c_contiguous = self.contiguous = layout.c_contiguous
        self.f_contiguous = layout.f_contiguous
        self.fnc = self.f_contiguous and not self.c_contiguous
        self.forc = layout.forc
        self.farray = self.fnc
        self.carray = self.c_contiguous
        self.owndata = array._view is None
        self.aligned = True
        self.writebackifcopy = False

    @property
    def writeable(self):
        """Whether elements can be assigned to; views that are made later are as their array is."""
        return not (self._array._is_numpys_scalar or self._array._is_read_only)

    @writeable.setter
    def writeable(self, is_writeable):
        array = self._array
        is_of_read_only = array._view and array._owner._is_read_only
        if is_writeable and (array._is_numpys_scalar or is_of_read_only):
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        array._is_read_only = not is_writeable

    def __getitem__(self, name):
        return getattr(
            self, {"C": "c_contiguous", "F": "f_contiguous", "W": "writeable"}.get(name, name.lower())
        )

    def __setitem__(self, name, value):
        if name not in ("W", "WRITEABLE"):
            raise ValueError(f"of the flags WRITEABLE alone can be set, got {name!r}")
        self.writeable = value

    def __repr__(self):
        names = ["c_contiguous", "f_contiguous", "owndata", "writeable", "aligned", "writebackifcopy"]
        return "\n".join(f"  {name.upper()} : {getattr(self, name)}" for name in names)


class FlatOnHost:
    """The elements one after another, to read and to write, of an array in the host's memory: ``x.flat``."""

    def __init__(self, base, flat):
        """Stand for NumPy's iterator."""
        self.base = base
        self._flat = flat

    def __getattr__(self, name):
        return getattr(self._flat, name)

    def __getitem__(self, key):
        return from_numpy(self._flat[key_to_numpy(key)], self.base._module, (self._flat.base,))

    def __setitem__(self, key, value):
        self._flat[key_to_numpy(key)] = to_numpy(value)

    def __iter__(self):
        return self

    def __next__(self):
        return from_numpy(next(self._flat), self.base._module, (self._flat.base,))

    def __len__(self):
        return len(self._flat)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._flat, dtype)

    def __eq__(self, other):
        return from_numpy(np.asarray(self._flat) == to_numpy(other), self.base._module)

    __hash__ = None  # type: ignore[assignment]

    def copy(self):
        return self.base.flatten()


class FlatIterator:
    """The elements one after another, to read and to write: ``x.flat``."""

    def __init__(self, array):
        self.base = array
        self._next = 0

    def _place(self, key):
        """Return the position of one element, or the positions of several."""
        key = unwrap(key)
        if isinstance(key, tuple) and len(key) == 1:
            (key,) = key
        if key is None or (isinstance(key, tuple) and key):
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
        return self.base.flatten()
