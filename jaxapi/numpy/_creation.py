"""Functions that make arrays.

``order=`` counts on the host alone; ``subok=`` and ``like=`` change nothing.
"""

import functools
import operator

import jax
import numpy as np

import jaxapi

from .. import mutable
from .._core._dtypes import is_registered, refuse_complex, resolve_dtype
from .._core._errors import refuse_traced
from .._interop._numbers import PYTHON_NUMBERS, leaf_types
from ..mutable import _host_way as host_way
from ..mutable._array import NUMPY, Array, copied, from_host, from_numpy, unwrap, wrap_rows
from ..mutable._batches import is_recording, number_as_cast, number_in
from ..mutable._capacity._rows import Rows, counted_rows, filled_memory, filled_rows
from ..mutable._faces import mode_of
from ..mutable._numpy_arguments import NotOnHost, narrow, refuse_overflow, to_numpy
from ..mutable._promotion import narrowed
from ..mutable._sharing import as_array_of
from ._wrap import as_ours, as_type, made

__all__ = ["arange", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray"]
__all__ += ["asfortranarray", "asnumpy", "copy", "empty", "empty_like", "frombuffer", "fromfile", "fromiter"]
__all__ += ["fromstring", "full", "full_like", "genfromtxt", "get_array_module", "load", "loadtxt", "ones"]
__all__ += ["ones_like", "require", "zeros", "zeros_like"]

asarray_of_any = functools.partial(as_array_of, NUMPY)
_ORDERS = ("C", "F", "A", "K", None)


def made_of_shape(shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
    """Return what `numpy.ndarray` does, called with a shape."""
    check_order(order)
    if buffer is None:
        if strides is not None:
            raise ValueError("strides= takes buffer=, too: memory has one order here")
        return zeros(shape, dtype, order or "C")
    if not isinstance(buffer, (bytes, bytearray, memoryview, np.ndarray)):
        raise TypeError(f"buffer= takes bytes of host memory, got {type(buffer).__name__}: use asarray(x)")
    return asarray_of_any(np.ndarray(shape, resolve_dtype(dtype), buffer, offset, strides, order), copy=True)


def device_of(device):
    """Return a device of JAX's, or None for its default; NumPy's name for the host's is ``"cpu"``."""
    if not isinstance(device, str):
        return device
    if device != "cpu":
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
    return None if host_way.cpu() is not None else jax.devices("cpu")[0]


def check_order(order) -> None:
    """Refuse what is no order in memory."""
    if order not in _ORDERS and not (isinstance(order, str) and order.upper() in _ORDERS):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")


def array(
    object, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, ndmax=0, like=None, blocking=False
):
    """Return a new array of numbers, lists or arrays, of at least ``ndmin`` axes; ``copy=None`` if needed."""
    check_order(order)
    if host_way.is_default():
        try:
            return _made_by_numpy(object, dtype, order, True if copy else copy, ndmin)
        except NotOnHost:
            pass
    with mode_of(NUMPY):
        new = _made_by_jax(object, dtype, None, copy or (None if copy is None else False))
    added = operator.index(ndmin) - new.ndim
    return new[(None,) * added] if added > 0 else new


def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None, blocking=False):
    """Return an array; one that is given with the right dtype as it is."""
    check_order(order)
    device = device_of(device)
    if device is None and host_way.is_default():
        if isinstance(a, Array) and not copy and _is_already(a, dtype, order):
            return asarray_of_any(a)
        try:
            # what is NumPy's own, or of JAX, stays as it is
            is_apart = copy is not False and isinstance(a, (np.ndarray, jax.Array))
            return _made_by_numpy(a, dtype, order, True if is_apart else copy, 0)
        except NotOnHost:
            pass
    with mode_of(NUMPY):
        return _made_by_jax(a, dtype, device, copy)


def _made_by_jax(a, dtype, device, copy):
    """Return an array of anything, as `asarray`, where NumPy does not make it."""
    if copy is False and (isinstance(a, (list, tuple, range)) or type(a) in PYTHON_NUMBERS):
        raise ValueError("Unable to avoid copy while creating an array as requested: leave out copy=False")
    a = _ranges_and_array_likes_by_numpy(a)
    if type(a) is int and dtype is None:
        a = _of_numbers(a, None)  # which is uint64 from 2**63 on
    if isinstance(a, (list, tuple)):
        leaves = jax.tree.leaves(unwrap(a))
        arrays = [x for x in leaves if isinstance(x, jax.Array)]
        if not arrays:
            return _made_by_jax(_of_numbers(a, dtype), dtype, device, None)
        if dtype is None and (len({x.dtype for x in arrays}) > 1 or len(arrays) < len(leaves)):
            numbers = [np.asarray(x).dtype for x in leaves if not isinstance(x, jax.Array)]
            dtype = narrowed(np.result_type(*numbers, *(x.dtype for x in arrays)), *arrays)
    if dtype is None or (hasattr(a, "dtype") and a.dtype == resolve_dtype(dtype)):  # None is NumPy's float64
        return asarray_of_any(a, device=device, copy=copy)
    dtype = resolve_dtype(dtype)
    if copy is False:
        raise ValueError(f"a cast to {dtype} needs a copy: leave out copy=False")
    if isinstance(a, (np.ndarray, np.generic)) and is_registered(a.dtype) and is_registered(dtype):
        return asarray_of_any(a.astype(dtype), device=device)  # by NumPy, whose casts wrap
    if isinstance(a, (Array, jax.Array, np.ndarray, np.generic)):
        return as_type(asarray_of_any(a, device=device), dtype)
    if not isinstance(a, (list, tuple)) or leaf_types(a) <= PYTHON_NUMBERS:
        return asarray_of_any(np.asarray(a, dtype) if is_registered(dtype) else a, dtype=dtype, device=device)
    return as_type(asarray_of_any(a, device=device), dtype)


def _is_already(a: Array, dtype, order) -> bool:
    """Whether an array has the dtype and the order in memory that are asked for."""
    if dtype is not None and a.dtype != np.dtype(dtype):
        return False
    return order in ("K", "A", None) or a.flags["C" if order == "C" else "F"]


def _made_by_numpy(a, dtype, order, copy, ndmin):
    """Return a new array of the host's memory."""
    given = to_numpy(a)
    dtype = dtype if dtype is None else np.dtype(dtype)
    new = np.array(given, dtype, copy=copy, order=order or "K", ndmin=ndmin)
    return from_numpy(new, NUMPY, (given, dtype))


def _of_numbers(a, dtype) -> np.ndarray:
    """Return lists of Python's and NumPy's numbers as NumPy's array, of JAX's default dtypes."""
    host = np.asarray(a) if dtype is None else np.asarray(a, resolve_dtype(dtype))
    refuse_overflow(host, (a, dtype))
    return narrow(host, (a, dtype))


def _ranges_and_array_likes_by_numpy(a):
    """Return NumPy's array of a range and of what has ``__array__`` alone, anything else as it is."""
    if isinstance(a, range):
        return np.asarray(a)
    is_ready = isinstance(a, (Array, jax.Array)) or hasattr(a, "__dlpack__") or hasattr(a, "__jax_array__")
    return a if is_ready or not hasattr(a, "__array__") else np.asarray(a)


def asanyarray(a, dtype=None, order=None, *, device=None, copy=None, like=None, blocking=False):
    """Return an array: `asarray`."""
    return asarray(a, dtype, order, device=device, copy=copy)


def ascontiguousarray(a, dtype=None, *, like=None):
    """Return an array of at least one axis, in C's order."""
    a = asarray(a, dtype, "C")
    a = a if a._is_contiguous() else copied(a)
    return a if a.ndim else a.reshape(1)


def asfortranarray(a, dtype=None, *, like=None):
    """Return an array of at least one axis, on the host in Fortran's order; JAX's way there is C's alone."""
    a = asarray(a, dtype, "F")
    return a if a.ndim else a.reshape(1)


def asarray_chkfinite(a, dtype=None, order=None):
    """Return an array; ValueError where something is infinite or NaN."""
    a = asarray(a, dtype, order)
    if a.dtype.kind in "fc" and not bool(mutable.all(mutable.isfinite(a))):
        raise ValueError("array must not contain infs or NaNs")
    return a


def require(a, dtype=None, requirements=None, *, like=None):
    """Return an array with what is required of its memory; JAX's way there is one kind of memory."""
    a = asarray(a, dtype)
    try:
        required = np.require(to_numpy(a), None, requirements) if host_way.is_eager() else None
    except NotOnHost:
        required = None
    if required is None:
        np.require(np.empty(0), None, requirements)  # which raises for requirements that are none
        return a
    return a if required is a._host else from_host(required, NUMPY)


def copy(a, order="K", subok=False):
    """Return a copy."""
    return asarray(a).copy(order)


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
    numpys = getattr(np, name)

    def make(shape, dtype=None, order="C", *, device=None, like=None):
        check_order(order)
        device = device_of(device)
        if host_way.is_default() and device is None:
            dtype = np.dtype(float) if dtype is None else np.dtype(dtype)
            return from_host(numpys(to_numpy(shape), dtype, order), NUMPY)
        lengths = _shape(shape)
        with mode_of(NUMPY):
            dtype = resolve_dtype(dtype or float)
            rows = filled_rows(lengths, dtype) if name == "empty" and device is None else None
            if rows is not None:
                return wrap_rows(rows, NUMPY)
            if device is None and is_recording() and _are_lengths(lengths):
                shape = (lengths,) if type(lengths) is int else lengths
                return made(filled_memory(int(name == "ones"), shape, dtype))
            return made(function(lengths, dtype=dtype, device=device))

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"Return a new array: `jaxapi.{name}`, with dtype by place. ``order=`` counts on the host alone."
    )
    return make


def _are_lengths(lengths) -> bool:
    """Whether a shape is one of an array."""
    return all(n >= 0 for n in (lengths if type(lengths) is tuple else (lengths,)))


def _shape(shape):
    value = unwrap(shape)
    refuse_traced("a shape", value)
    if value is None:
        raise TypeError("a shape is an int or a tuple of ints, got None: Use () for an array without axes")
    if np.size(value) and np.asarray(value).dtype == np.bool:
        raise TypeError(f"a shape is an int or a tuple of ints, got {value!r}")
    if isinstance(value, int) or not np.ndim(value):
        return operator.index(value)
    return tuple([operator.index(n) for n in np.asarray(value).tolist()])


empty, ones, zeros = map(_filled, ("empty", "ones", "zeros"))


def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    """Return an array of one value, or of values that are broadcast."""
    check_order(order)
    if device is None and type(fill_value) in _KINDS_OF_NUMBERS and is_recording():
        new = _full_of_number(_shape(shape), fill_value, dtype)
        if new is not None:
            return new
    if dtype is None and type(fill_value) is int and np.asarray(fill_value).dtype.kind == "u":
        dtype = np.uint64  # which holds more than int64
    if type(fill_value) is float and dtype is not None:
        fill_value = number_as_cast(resolve_dtype(dtype), fill_value)
    if not isinstance(fill_value, Array):
        fill_value = asarray(fill_value, dtype if type(fill_value) is int else None)
    new = empty(shape, fill_value.dtype if dtype is None else dtype, device=device)
    new[...] = as_type(fill_value, new.dtype)
    return new


@functools.wraps(np.full)
def full_by_numpy(shape, fill_value, dtype=None, *args, **kwargs):
    if dtype is not None:
        fill_value = number_as_cast(np.dtype(dtype), fill_value)
    return np.full(shape, fill_value, dtype, *args, **kwargs)


@functools.wraps(np.full_like)
def full_like_by_numpy(a, fill_value, dtype=None, *args, **kwargs):
    if dtype is not None or isinstance(a, np.ndarray):
        fill_value = number_as_cast(np.dtype(a.dtype if dtype is None else dtype), fill_value)
    return np.full_like(a, fill_value, dtype, *args, **kwargs)


# The kinds of dtypes that hold Python's numbers as they are, or as the nearest one.
_KINDS_OF_NUMBERS = {bool: "b", int: "iufc", float: "fc"}


def _full_of_number(lengths, number, dtype):
    """Return an array of a number, which may be pending; None where it is cast, or refused."""
    dtype = np.asarray(number).dtype if dtype is None else resolve_dtype(dtype)
    if dtype.kind not in _KINDS_OF_NUMBERS[type(number)] or not _are_lengths(lengths):
        return None
    value = number_in(dtype, number)
    rows = filled_rows(lengths, dtype, value)
    if rows is not None:
        return wrap_rows(rows, NUMPY)
    return made(filled_memory(value, (lengths,) if type(lengths) is int else lengths, dtype))


def _filled_like(name):
    def make(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        check_order(order)
        a = as_ours(a)
        rows = a._rows() if shape is None and device is None else None
        if rows is not None:
            with mode_of(NUMPY):
                dtype = resolve_dtype(a.dtype if dtype is None else dtype)
                value = filled_memory(int(name == "ones"), rows.memory.shape, dtype)
            return wrap_rows(Rows(value, rows.count), NUMPY)
        return globals()[name](
            a.shape if shape is None else shape, a.dtype if dtype is None else dtype, device=device
        )

    make.__name__ = make.__qualname__ = f"{name}_like"
    make.__doc__ = f"Return what `{name}` does, of the shape and dtype of an array."
    return make


empty_like, ones_like, zeros_like = map(_filled_like, ("empty", "ones", "zeros"))


def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Return what `full` does, of the shape and dtype of an array."""
    check_order(order)
    a = as_ours(a)
    return full(
        a.shape if shape is None else shape, fill_value, a.dtype if dtype is None else dtype, device=device
    )


def arange(start, stop=None, step=1, dtype=None, *, device=None, like=None):
    """Return evenly spaced numbers up to ``stop``: `jaxapi.arange`, with dtype by place."""
    refuse_traced("a bound or step of arange", unwrap(start), unwrap(stop), unwrap(step))
    given = [x if x is None else np.asarray(unwrap(x)).item() for x in (start, stop, step)]
    strong = [x for x in (start, stop, step) if hasattr(x, "dtype")]
    if dtype is None and strong:
        of_numbers = [np.asarray(x).dtype for x in given if x is not None]
        dtype = narrowed(np.result_type(np.intp, *of_numbers, *(x.dtype for x in strong)), *strong)
    if dtype is not None and resolve_dtype(dtype) == np.bool:
        return asarray(np.arange(*given, dtype=bool))  # NumPy's, which takes no more than two
    if dtype is None and any(type(x) is int and x >= 2**63 for x in given):
        return asarray(np.arange(*given))  # whose dtype depends on all of them
    has_complex = any(isinstance(x, complex) for x in given)
    if has_complex and dtype is not None:
        refuse_complex(np.dtype(complex), resolve_dtype(dtype))
    if has_complex or (dtype is not None and resolve_dtype(dtype).kind == "c"):
        return asarray(np.arange(*given), dtype)
    rows = counted_rows(*given, resolve_dtype(dtype)) if device is None else None
    if rows is not None:
        return wrap_rows(rows, NUMPY)
    return made(jaxapi.arange(*given, dtype=dtype, device=device))


def _on_host(name):
    read = getattr(np, name)

    def make(*args, **kwargs):
        made = read(*args, **kwargs)
        is_of_objects = isinstance(made, np.ndarray) and made.dtype.kind == "O"  # which were asked for
        if is_of_objects and host_way.is_default():
            return from_numpy(made, NUMPY, [object])
        return asarray_of_any(made)

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
    return asarray_of_any(read) if isinstance(read, np.ndarray) else Archive(read)


class Archive(dict):
    """The arrays of an ``.npz`` file by name, as `numpy.lib.npyio.NpzFile`."""

    def __init__(self, read):
        """Read all of them."""
        with read:
            super().__init__({name: asarray(x) for name, x in read.items()})
        self.files = list(self)

    def __enter__(self):
        """Return the archive, which is read and closed."""
        return self

    def __exit__(self, *error):
        """Do nothing: the file is closed."""

    def close(self):
        """Do nothing: the file is closed."""
