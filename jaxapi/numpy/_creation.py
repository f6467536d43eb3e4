"""Functions that make arrays, whose ``order=``, ``subok=`` and ``like=`` change nothing."""

import functools

import jax
import numpy as np

import jaxapi

from .. import mutable
from .._core._dtypes import resolve_dtype
from .._interop._numbers import PYTHON_NUMBERS, leaf_types
from ..mutable._array import Array, unwrap
from ..mutable._sharing import as_kind
from ._array import ndarray
from ._wrap import as_ours, as_type, ours, result_dtype

__all__ = ["arange", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray"]
__all__ += ["asfortranarray", "asnumpy", "copy", "empty", "empty_like", "frombuffer", "fromfile", "fromiter"]
__all__ += ["fromstring", "full", "full_like", "genfromtxt", "get_array_module", "load", "loadtxt", "ones"]
__all__ += ["ones_like", "require", "zeros", "zeros_like"]

asarray_of_any = functools.partial(as_kind, ndarray)
_ORDERS = ("C", "F", "A", "K", None)


def of_shape(shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
    """Return what `numpy.ndarray` does, called with a shape."""
    check_order(order)
    if buffer is None:
        if strides is not None:
            raise ValueError("strides= takes buffer=, too: memory has one order here")
        return zeros(shape, dtype)
    if not isinstance(buffer, (bytes, bytearray, memoryview, np.ndarray)):
        raise TypeError(f"buffer= takes bytes of host memory, got {type(buffer).__name__}: use asarray(x)")
    return asarray_of_any(np.ndarray(shape, resolve_dtype(dtype), buffer, offset, strides, order), copy=True)


def check_order(order) -> None:
    """Refuse what is no order in memory."""
    if order not in _ORDERS and not (isinstance(order, str) and order.upper() in _ORDERS):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")


def array(
    object, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, ndmax=0, like=None, blocking=False
):
    """Return a new array of numbers, lists or arrays, of at least ``ndmin`` axes; ``copy=None`` if needed."""
    check_order(order)
    made = asarray(object, dtype, order, copy=copy or (None if copy is None else False))
    return made[(None,) * (ndmin - made.ndim)] if made.ndim < ndmin else made


def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None, blocking=False):
    """Return an array; one that is given with the right dtype as it is."""
    check_order(order)
    a = _looked_through(a)
    if dtype is None and isinstance(a, (list, tuple)):
        arrays = [x for x in jax.tree.leaves(unwrap(a)) if isinstance(x, jax.Array)]
        dtype = result_dtype(*arrays) if len({x.dtype for x in arrays}) > 1 else None
    if dtype is None or (hasattr(a, "dtype") and a.dtype == resolve_dtype(dtype)):  # None is NumPy's float64
        return asarray_of_any(a, device=device, copy=copy)
    dtype = resolve_dtype(dtype)
    if copy is False:
        raise ValueError(f"a cast to {dtype} needs a copy: leave out copy=False")
    if isinstance(a, (np.ndarray, np.generic)) and a.dtype.isbuiltin and dtype.isbuiltin:
        return asarray_of_any(a.astype(dtype), device=device)  # by NumPy, whose casts wrap
    if isinstance(a, (Array, jax.Array, np.ndarray, np.generic)):
        return as_type(asarray_of_any(a, device=device), dtype)
    if not isinstance(a, (list, tuple)) or leaf_types(a) <= PYTHON_NUMBERS:
        return asarray_of_any(np.asarray(a, dtype) if dtype.isbuiltin else a, dtype=dtype, device=device)
    return as_type(asarray_of_any(a, device=device), dtype)


def _looked_through(a):
    """Take lists of nothing but NumPy's numbers to NumPy, whose rules for their dtype are the right ones."""
    if isinstance(a, range):
        return np.asarray(a)
    is_ready = isinstance(a, (Array, jax.Array)) or hasattr(a, "__dlpack__") or hasattr(a, "__jax_array__")
    return a if is_ready or not hasattr(a, "__array__") else np.asarray(a)


def asanyarray(a, dtype=None, order=None, *, device=None, copy=None, like=None, blocking=False):
    """Return an array: `asarray`."""
    return asarray(a, dtype, order, device=device, copy=copy)


def ascontiguousarray(a, dtype=None, *, like=None):
    """Return an array of at least one axis: memory has one order here."""
    a = asarray(a, dtype)
    return a if a.ndim else a.reshape(1)


def asfortranarray(a, dtype=None, *, like=None):
    """Return an array: memory has one order here, which is C's."""
    return asarray(a, dtype)


def asarray_chkfinite(a, dtype=None, order=None):
    """Return an array; ValueError where something is infinite or NaN."""
    a = asarray(a, dtype, order)
    if a.dtype.kind in "fc" and not bool(mutable.all(mutable.isfinite(a))):
        raise ValueError("array must not contain infs or NaNs")
    return a


def require(a, dtype=None, requirements=None, *, like=None):
    """Return an array: what is required of memory is not known here."""
    return asarray(a, dtype)


def copy(a, order="K", subok=False):
    """Return a copy."""
    check_order(order)
    return as_ours(a).copy()


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True):
    """Return a NumPy array, as CuPy's `asnumpy`: a copy in host memory."""
    host = np.array(unwrap(a)) if isinstance(a, (Array, jax.Array)) else np.asarray(a)
    if out is None:
        return np.asarray(host, order=order)
    out[...] = host
    return out


def get_array_module(*args):
    """Return this module if an argument is an array of JAX's, else NumPy, as CuPy's `get_array_module`."""
    import jaxapi.numpy

    return jaxapi.numpy if any(isinstance(x, (Array, jax.Array)) for x in args) else np


def _filled(name):
    function = getattr(jaxapi, name)

    def make(shape, dtype=None, order="C", *, device=None, like=None):
        check_order(order)
        return ours(function(_shape(shape), dtype=resolve_dtype(dtype or float), device=device))

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"Return a new array: `jaxapi.{name}`, with dtype by place and ``order=`` ignored."
    return make


def _shape(shape):
    value = unwrap(shape)
    if value is None:
        raise TypeError("a shape is an int or a tuple of ints, got None: Use () for an array without axes")
    return tuple(np.asarray(value).tolist()) if not isinstance(value, int) and np.ndim(value) else int(value)


empty, ones, zeros = map(_filled, ("empty", "ones", "zeros"))


def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    """Return an array of one value, or of values that are broadcast."""
    check_order(order)
    fill_value = asarray(fill_value)
    made = empty(shape, fill_value.dtype if dtype is None else dtype, device=device)
    made[...] = as_type(fill_value, made.dtype)
    return made


def _filled_like(name):
    def make(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        check_order(order)
        a = as_ours(a)
        return globals()[name](a.shape if shape is None else shape, a.dtype if dtype is None else dtype)

    make.__name__ = make.__qualname__ = f"{name}_like"
    make.__doc__ = f"Return what `{name}` does, of the shape and dtype of an array."
    return make


empty_like, ones_like, zeros_like = map(_filled_like, ("empty", "ones", "zeros"))


def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Return what `full` does, of the shape and dtype of an array."""
    check_order(order)
    a = as_ours(a)
    return full(a.shape if shape is None else shape, fill_value, a.dtype if dtype is None else dtype)


def arange(start, stop=None, step=1, dtype=None, *, device=None, like=None):
    """Return evenly spaced numbers up to ``stop``: `jaxapi.arange`, with dtype by place."""
    given = [x if x is None else np.asarray(unwrap(x)).item() for x in (start, stop, step)]
    kinds = [x.dtype for x in (start, stop, step) if isinstance(x, np.generic)]
    if dtype is None and kinds:
        dtype = np.result_type(*kinds, *(x for x in given if x is not None and not kinds))
    if dtype is not None and resolve_dtype(dtype) == np.bool:
        return asarray(np.arange(*given, dtype=bool))  # NumPy's, which takes no more than two
    if (dtype is not None and resolve_dtype(dtype).kind == "c") or any(isinstance(x, complex) for x in given):
        return asarray(np.arange(*given), dtype)
    return ours(jaxapi.arange(*given, dtype=dtype, device=device))


def _on_host(name):
    read = getattr(np, name)

    def make(*args, **kwargs):
        return asarray_of_any(read(*args, **kwargs))

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"Return what `numpy.{name}` reads on the host, as an array."
    return make


frombuffer, fromfile, fromiter, fromstring = map(
    _on_host, ("frombuffer", "fromfile", "fromiter", "fromstring")
)
genfromtxt, loadtxt = map(_on_host, ("genfromtxt", "loadtxt"))


def load(file, *args, **kwargs):
    """Return what `numpy.load` reads: an array, or those of an ``.npz`` file in a dict."""
    read = np.load(file, *args, **kwargs)
    return asarray_of_any(read) if isinstance(read, np.ndarray) else {k: asarray(x) for k, x in read.items()}
