"""The one wrapper: a function of jax.numpy or jaxapi becomes one with NumPy's signature, of our arrays."""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np

from .._core._dtypes import default_dtype, resolve_dtype, x64_for
from .._core._errors import NEEDS_A_VALUE, numpy_error, with_remedy
from .._core._programs import is_traced
from .._interop import as_array, as_numpys_array
from ..mutable import _promotion
from ..mutable._array import (
    NUMPY,
    Array,
    any_may_have_room,
    copied,
    may_have_room,
    shared,
    unwrap,
    wrap,
    wrap_rows,
)
from ..mutable._batches import Pending, is_recording, lend
from ..mutable._capacity._functions import may_wait, way_on_rows
from ..mutable._capacity._rows import Rows
from ..mutable._capacity._selecting import MAKING_ROOM
from ..mutable._promotion import together
from ..mutable._storage import duplicate_line
from ..mutable._wrap import option, wrap_result
from ._table import (
    ADDS,
    BROADCASTS_TO_OUT,
    CAST_TO_OUT,
    COMPUTES_WITH_OUT,
    FOLDS,
    JOINS_INTO_OUT,
    PROMOTES_TOGETHER,
    RETURNS_ARRAYS,
    RETURNS_POSITIONS,
)

__all__ = ["as_option", "as_ours", "cast", "check_holder_of_positions", "check_initial", "check_out"]
__all__ += ["current_of"]
__all__ += ["first_line", "host_function", "into", "made", "on_host", "on_rows_first"]
__all__ += ["initial_number"]
__all__ += ["operand_of", "ours", "positions_in_list", "signed_as", "value_of", "with_numpys_signature"]

# NumPy's arguments that change no value here: arrays are in C order, of one class, and sort is stable.
IGNORED = frozenset({"casting", "copy", "kind", "like", "order", "overwrite_input", "stable", "subok"})
# The signatures of functions written in C, which NumPy before 2.4 does not tell.
_SIGNATURES = {
    "arange": "start, stop=None, step=1, dtype=None, *, device=None, like=None",
    "asanyarray": "a, dtype=None, order=None, *, device=None, copy=None, like=None",
    "ascontiguousarray": "a, dtype=None, *, like=None",
    "bincount": "x, /, weights=None, minlength=0",
    "concatenate": "arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'",
    "dot": "a, b, out=None",
    "empty": "shape, dtype=None, order='C', *, device=None, like=None",
    "empty_like": "prototype, /, dtype=None, order='K', subok=True, shape=None, *, device=None",
    "inner": "a, b, /",
    "lexsort": "keys, axis=-1",
    "packbits": "a, /, axis=None, bitorder='big'",
    "unpackbits": "a, /, axis=None, count=None, bitorder='big'",
    "unravel_index": "indices, shape, order='C'",
    "ravel_multi_index": "multi_index, dims, mode='raise', order='C'",
    "vdot": "a, b, /",
    "where": "condition, x=None, y=None, /",
    "zeros": "shape, dtype=None, order='C', *, device=None, like=None",
}
_SIGNATURES["concat"] = _SIGNATURES["concatenate"]


_RETURNS_BOOL = ("allclose", "array_equal", "array_equiv")
# Of arrays of integers results are cast to any dtype of ``out=``.
_CAST_INTEGERS_TO_OUT = ("nanmean", "nanvar")
# Arguments that are not promoted together with the others.
_NOT_PROMOTED = {"choose": ["a"], "searchsorted": ["sorter"], "select": ["condlist", "choicelist", "default"]}


def signature_of(name: str, numpys) -> inspect.Signature:
    """Return NumPy's signature."""
    text = _SIGNATURES.get(name)
    if text is None:
        return inspect.signature(numpys)
    return inspect.signature(eval(f"lambda {text}: 0"))


_REPAIRS = f"{__package__}._repairs"


def value_of(x):
    """Return what a function of JAX takes for an array: a `jax.Array`, or what is none as it is."""
    if isinstance(x, Array):
        return x._value
    if isinstance(x, (list, tuple)):
        return as_numpys_array(unwrap(x))
    if isinstance(x, (np.ndarray, np.generic)):
        return as_array(x)
    if isinstance(x, _NOT_CONVERTED) or x is None:
        return x
    if isinstance(x, range):
        return as_array(np.asarray(x, default_dtype(int)))
    if hasattr(x, "__dlpack__"):
        return as_array(x)
    if hasattr(x, "__array__"):
        return as_array(np.asarray(x))
    return x


def operand_of(x):
    """Return the same for a function of each element, which reads a view itself; it may be pending."""
    return x._operand() if type(x) is Array else lend(value_of(x))


def current_of(x):
    """Return the same, of a view what it selects; it may be pending."""
    return x._current if type(x) is Array else lend(value_of(x))


_NOT_CONVERTED = (int, float, complex, str, slice, jax.Array)


def as_ours(x) -> Array:
    """Return anything array-like as an array of ours; one of ours as it is."""
    if isinstance(x, Array):
        return x
    if isinstance(x, jax.Array):
        return shared(x, NUMPY)
    return wrap(as_array(_value_of_operand(x)), NUMPY)


def ours(result, *given):
    """Return results as our arrays, as scalars without axes; one that is an argument as a copy of it."""
    return made(result, *given, is_scalar=True)


def made(result, *given, is_scalar=False):
    """Return results as our arrays, without axes, too; one that is an argument as a copy of it."""
    for x in given:
        if isinstance(x, Array) and x._host is None and x._owner._holds(result):
            return wrap(result, NUMPY, is_scalar=True) if is_scalar and not x.shape else copied(x)
        if x is result and isinstance(x, jax.Array):
            return shared(x, NUMPY, is_scalar and not x.ndim)
    return wrap_result(result, NUMPY, is_scalar)


def into(out, result, casting="same_kind", broadcasts=False):
    """Write a result to ``out=``, and return that; to None the result as it is.

    That of a ufunc is broadcast to ``out``, any other has its shape.
    """
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if out is None:
        return result
    check_out(out, result.shape, result.dtype, casting, broadcasts)
    out[...] = result if result.dtype == out.dtype else as_type(result, out.dtype)
    return out


def check_out(out, shape, dtype, casting="same_kind", broadcasts=False):
    """Refuse an ``out=`` that cannot hold a result of a shape and a dtype."""
    if not isinstance(out, Array):
        raise TypeError(f"out must be an array of jaxapi.numpy, got {type(out).__name__}")
    if not broadcasts and shape != out.shape:
        raise ValueError(f"out has shape {out.shape}, the result {shape}: they must be the same")
    if np.broadcast_shapes(shape, out.shape) != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape "
            f"{shape}"
        )
    if not np.can_cast(dtype, out.dtype, casting):
        raise TypeError(f"cannot cast the result from {dtype} to out's {out.dtype}: rule {casting!r}")


def as_type(x, dtype):
    """Return an array in a dtype, as `cast`; a new one, and of a scalar a scalar."""
    rows = x._rows() if may_have_room(x) else None
    if rows is not None:
        memory = rows.memory
        new = _promotion.cast(memory, np.dtype(dtype))
        return wrap_rows(Rows(duplicate_line(new) if new is memory else new, rows.count), NUMPY)
    is_scalar = isinstance(x, Array) and x._is_scalar
    if type(x) is Array and is_recording():
        return made(_promotion.cast_line(x._operand(), np.dtype(dtype)), x, is_scalar=is_scalar)
    return made(cast(unwrap(x), np.dtype(dtype)), x, is_scalar=is_scalar)


def cast(value, dtype):
    """Cast anything array-like as NumPy does, of complex numbers the real part."""
    return _promotion.cast(value if type(value) is Pending else value_of(value), dtype)


def with_numpys_signature(name: str, numpys, function, module: str):
    """Return ``function`` as NumPy's function: its arguments by place or name, and ``out=``."""
    signature = signature_of(name, numpys)
    parameters = inspect.signature(function).parameters
    is_variadic = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    names = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    returns_positions = name in RETURNS_POSITIONS
    makes_scalars = name not in RETURNS_ARRAYS
    promotes = name in PROMOTES_TOGETHER
    folds = name in FOLDS
    positional_only = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_ONLY]
    takes_any_name = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    form_of_others = unwrap if takes_any_name else None
    numpys_takes_any_name = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    allowed = None if numpys_takes_any_name else set(names)
    is_repair = function.__module__.startswith(_REPAIRS)
    ignored = IGNORED - set(parameters) if is_repair else IGNORED
    forms = {n: _form_of(name, n) for n in parameters if n not in ignored}
    not_promoted = [n for n, form in forms.items() if form is as_option]
    not_promoted += _NOT_PROMOTED.get(name, [])
    if is_repair:
        forms = {n: _array_or_none if form is _value_of_operand else form for n, form in forms.items()}
    if "arrays" in forms:
        forms["tup"] = forms["arrays"]

    @signed_as(name, signature, numpys, module)
    def wrapped(*args, **kwargs):
        if is_variadic:
            given = kwargs
            operands = [_value_of_operand(x) for x in args]
        else:
            given = dict(zip(names, args, strict=False)) | kwargs
            operands = []
            is_unknown = allowed and not given.keys() <= allowed
            if is_unknown or len(given) < len(args) + len(kwargs) or len(args) > len(names):
                signature.bind(*args, **kwargs)  # which raises
        out = given.get("out")
        values = {}
        for n, x in given.items():
            if x is np._NoValue or n == "out" or n in ignored:
                continue
            form = forms.get(n, form_of_others)
            if form:
                values["arrays" if n == "tup" else n] = form(x)
            elif allowed is not None and n not in allowed:
                raise TypeError(f"{name}() got an unexpected keyword argument {n!r}")
            elif x is not None:
                raise NotImplementedError(f"jaxapi.numpy.{name} does not take {n}=")
        if folds:
            _leave_out_axis_of_number(name, values)
            _check_mask(values)
        dtype = values.get("dtype")
        if dtype is None and out is not None:
            dtype = _dtype_with_out(name, values, out)
        if dtype is not None:
            dtype = resolve_dtype(dtype)
            values["dtype"] = dtype
        if folds and "initial" in given:
            array = values.get("a", values.get("x"))
            given_dtype = getattr(array, "dtype", None)
            check_initial(given["initial"], given_dtype, dtype, adds=name in ADDS)
            if "initial" in values:
                values["initial"] = initial_number(values["initial"], given_dtype)
        operands = [values.pop(n) for n in positional_only if n in values] + operands
        if promotes:
            kept = {n: values[n] for n in not_promoted if n in values}
            operands, values = together((operands, values | dict.fromkeys(kept)))
            values |= kept
        typed = [x for x in (*operands, *values.values(), dtype) if _has_dtype(x)]
        try:
            with x64_for(*[getattr(x, "dtype", x) for x in typed]):
                result = function(*operands, **values)
        except NEEDS_A_VALUE as error:
            raise with_remedy(error, name) from None
        except (TypeError, ValueError) as error:
            raise numpy_error(error) or error from None
        result = made(result, *args, *kwargs.values(), is_scalar=makes_scalars)
        if returns_positions and dtype is None and name != "ravel_multi_index":
            result = jax.tree.map(_as_int, result, is_leaf=lambda x: isinstance(x, Array))
        if name in _RETURNS_BOOL and not is_traced(result._value):
            return bool(result)
        if name == "dot" and out is not None and out.dtype != result.dtype:
            raise ValueError(f"out of dot must have the dtype {result.dtype}, got {out.dtype}")
        if out is None:
            return result
        if returns_positions:
            check_holder_of_positions(out)
            return into(out, result, "unsafe")
        is_cast = name in CAST_TO_OUT or (name in _CAST_INTEGERS_TO_OUT and not _is_inexact(values["a"]))
        casting = "unsafe" if is_cast and result.dtype.kind != "c" else "same_kind"
        casting = values.get("casting", casting)
        return into(out, result, casting, broadcasts=name in BROADCASTS_TO_OUT)

    return wrapped


def _dtype_with_out(name, values, out):
    """Return the dtype that a function computes in because of its ``out=``, None if that plays no part."""
    (out,) = out if isinstance(out, tuple) and len(out) == 1 else (out,)
    out_dtype = getattr(out, "dtype", None)
    if out_dtype is None:  # no array, which is refused later
        return None
    if name in JOINS_INTO_OUT:
        return out_dtype
    if name not in COMPUTES_WITH_OUT:
        return None
    array = _array_or_none(values["x" if "x" in values else "a"])
    return np.result_type(array.dtype, out_dtype)


def _is_inexact(x) -> bool:
    return np.dtype(getattr(x, "dtype", type(x))).kind in "fc"


def check_holder_of_positions(out):
    """Refuse an ``out=`` whose dtype is none of integers that positions are."""
    dtype = getattr(out, "dtype", np.dtype(int))
    if not np.can_cast(dtype, np.int64):
        raise TypeError(f"Cannot cast array data from {dtype} to int64 according to the rule 'safe'")


def _leave_out_axis_of_number(name: str, values):
    """Fold an array without axes over all of it, as NumPy does, for an axis that a vector has.

    A mean of integers is one that counts elements first, which an array without axes has along none.
    """
    x = values.get("a", values.get("x"))
    if name in ("nanmean", "nanstd", "nanvar") and not _is_inexact(x):
        return
    is_number = isinstance(x, (int, float, complex)) or getattr(x, "ndim", None) == 0
    if is_number and type(values.get("axis")) is int and values["axis"] in (0, -1):
        values["axis"] = None


def _check_mask(values):
    """Refuse a mask of more axes than the array has."""
    ndim = np.ndim(values.get("a", values.get("x")))
    mask = values.get("where")
    if getattr(mask, "ndim", 0) > ndim:
        raise ValueError(f"where has {mask.ndim} axes, the array {ndim}: it must not have more")


def check_initial(initial, given_dtype, dtype=None, *, adds=False):
    """Refuse a Python number to start with that the numbers of a fold do not hold, with NumPy's error."""
    folded_dtype = given_dtype if dtype is None else dtype
    if isinstance(initial, complex) and folded_dtype is not None:
        is_truth = folded_dtype == np.bool and not adds
        if folded_dtype.kind != "c" and not is_truth:
            raise TypeError(f"initial={initial!r} is complex, and the numbers of the fold are {folded_dtype}")
    if type(initial) not in (int, float) or given_dtype is None:
        return
    if dtype is None:
        if given_dtype.kind not in "biu":
            return
        dtype = np.sum(np.empty(0, given_dtype)).dtype if adds else given_dtype
    if dtype.kind in "iu":
        np.asarray(initial, dtype)


def initial_number(initial, given_dtype):
    """Return a truth value to start with as a number: XLA selects by a truth value, where NaN is lost."""
    is_truth = type(initial) is bool or (getattr(initial, "dtype", None) == np.bool and not np.ndim(initial))
    if not is_truth or given_dtype is None or given_dtype == np.bool:
        return initial
    return jnp.asarray(initial, np.int8) if is_traced(initial) else int(initial)


def _array_or_none(x):
    x = _value_of_operand(x)
    if type(x) is int and not -(2**63) <= x < 2**63:
        raise TypeError("integers beyond 64 bits are Python objects to NumPy: pass a float, as float(x)")
    return jnp.asarray(x) if isinstance(x, (int, float, complex)) else x


def _has_dtype(x) -> bool:
    return isinstance(x, np.dtype) or type(getattr(x, "dtype", None)) is not type(None)


def _as_int(x):
    """Return positions in the default dtype: JAX's have 32 bits where that is enough."""
    dtype = default_dtype(int)
    is_other = isinstance(x, Array) and x.dtype.kind in "iu" and x.dtype != dtype
    return ours(cast(x, dtype)) if is_other else x


# Arguments that are no arrays: numbers, texts, shapes and positions, perhaps in tuples or lists.
_PLAIN = """
assume_unique axes axis axis1 axis2 axisa axisb axisc beta bias bitorder compute_uv correction count ddof
decimals deg density descending device dimensions dims dtype edge_order endpoint equal_nan full
full_matrices hermitian include_initial increasing indexing invert k keepdims kth kwargs left M method
minlength mode multi_index N n ndim new_shape norm num offset options ord out pad_width q range
rcond repeats reps retstep return_counts return_index return_indices return_inverse returned right rowvar
s sample shape shapes side size sorted sparse trim UPLO upper wrap
"""
_PLAIN_ARGUMENTS = frozenset(_PLAIN.split())
# The same in these functions.
_PLAIN_OF = {
    "arr": ["append"],
    "default": ["select"],
    "dx": ["trapezoid"],
    "k": ["polyint"],
    "obj": ["delete", "insert"],
    "shift": ["roll"],
    "v": ["searchsorted"],
    "values": ["append", "insert"],
}
# Arguments that are options in these functions, and arrays in others.
_OPTIONS_OF = {"ind": ["tensorinv"], "m": ["polyder", "polyint"], "p": ["cond"]}
# Arguments that are a number, which is an option, or an array.
_NUMBERS_OR_ARRAYS = {"bins": ["histogram", "histogram_bin_edges"]}
# Of these an array's dtype counts, also that of an element.
_NUMBERS_WITH_DTYPE = frozenset(["period", "q", "sample"])
# Arguments that are lists of arrays.
_LISTS = frozenset(["arrays", "choicelist", "choices", "condlist", "keys", "tup"])
# The same, of which each may be a number, and one number in the place of the list.
_LISTS_OF_NUMBERS_OR_ARRAYS = {"bins": ["histogram2d", "histogramdd"]}


def _form_of(name: str, parameter: str):
    """Return what makes a value of JAX of one of NumPy's arguments, which may be anything array-like."""
    if parameter == "repeats":
        return _counts
    if name in _PLAIN_OF.get(parameter, ()) or parameter in _NUMBERS_WITH_DTYPE:
        return _plain
    if parameter in _PLAIN_ARGUMENTS or name in _OPTIONS_OF.get(parameter, ()):
        return as_option
    if name in _NUMBERS_OR_ARRAYS.get(parameter, ()):
        return _number_or_value
    if name in _LISTS_OF_NUMBERS_OR_ARRAYS.get(parameter, ()):
        return _each_number_or_value
    if parameter in ("choicelist", "choices"):
        return _each_number
    if parameter in _LISTS:
        return _each_value
    if name == "bincount" and parameter == "x":
        return _positions_counted
    if name == "take" and parameter == "indices":
        return _positions
    return _value_of_operand


def _value_of_operand(x):
    """Return what `value_of` does, of an int that only uint64 holds NumPy's number of this dtype."""
    return value_of(np.uint64(x) if type(x) is int and 2**63 <= x < 2**64 else x)


def _positions(x):
    return _array_or_none(positions_in_list(x))


def _positions_counted(x):
    is_empty_list = type(x) in (list, tuple) and not x  # of no dtype, and not of floats
    return _array_or_none(np.zeros(0, np.int64) if is_empty_list else x)


def _counts(x):
    return as_option(positions_in_list(float(x) if isinstance(x, float) else x))


def positions_in_list(x):
    """Return floats, alone or in a list, as the integers that NumPy makes of them; anything else as it is."""
    is_sequence = type(x) in (list, tuple)
    if type(x) is float or (is_sequence and any(type(part) is float for part in x)):
        return np.asarray(x).astype(np.int64)
    return x


def _plain(x):
    """Return an argument without our arrays, and with NumPy's in the byte order that JAX reads."""
    if isinstance(x, np.ndarray):
        return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
    return type(x)(map(_plain, x)) if type(x) in (list, tuple) else unwrap(x)


def as_option(x):
    """Return an argument that is no array: what has values is Python's numbers, NumPy's array if several."""
    if type(x) in (list, tuple):
        return type(x)(map(as_option, x))
    x = option(_plain(x))
    return np.asarray(x) if isinstance(x, jax.Array) and not is_traced(x) else x


def _number_or_value(x):
    return value_of(x) if isinstance(x, (list, tuple)) else value_of(as_option(x))


def _each_number_or_value(x):
    return list(map(_number_or_value, x)) if isinstance(x, (list, tuple)) else _number_or_value(x)


def _each_value(x):
    is_list = isinstance(x, (list, tuple))
    return list(map(_value_of_operand, x)) if is_list else _value_of_operand(x)


def _each_number(x):
    """Return the same where Python's numbers give way to the dtypes of arrays."""
    return list(map(value_of, x)) if isinstance(x, (list, tuple)) else value_of(x)


def signed_as(name, signature, numpys, module):
    """Give a function NumPy's name and signature."""

    def decorate(function):
        function.__name__ = name
        function.__qualname__ = name
        function.__module__ = module
        function.__signature__ = signature
        function.__doc__ = f"As `numpy.{name}`, of `jaxapi.mutable.Array`.{first_line(numpys)}"
        return function

    return decorate


@functools.cache
def first_line(numpys) -> str:
    """Return the sentence that NumPy's docstring begins with, as a paragraph."""
    paragraphs = (inspect.getdoc(numpys) or "").split("\n\n")
    for paragraph in paragraphs:
        is_signature = paragraph and "(" in paragraph.split()[0]
        if paragraph and not is_signature:
            return f"\n\n{paragraph}"
    return ""


def on_host(x):
    """Return our arrays, also in containers, as copies in the host's memory."""
    if isinstance(x, Array):
        return np.asarray(x)
    if type(x) in (list, tuple):
        return type(x)(map(on_host, x))
    if type(x) is dict:
        return {key: on_host(part) for key, part in x.items()}
    return x


def host_function(name: str, module=np):
    """Return NumPy's function, which gets copies in host memory."""
    function = getattr(module, name)

    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*on_host(args), **on_host(kwargs))

    call.__module__ = "jaxapi.numpy"
    call.__doc__ = f"As `numpy.{name}`, of copies in host memory."
    return call


def on_rows_first(name, function, on_rows=None):
    """Return a function that takes the buffers of arrays with room, if there is a way for it.

    ``on_rows`` is what does so for a function that NumPy alone has.
    """
    way = way_on_rows(function, name, NUMPY, on_rows)
    if way is None:
        return function
    is_always_asked = name in MAKING_ROOM
    waits = may_wait(name)
    returns_bool = name in _RETURNS_BOOL

    @functools.wraps(function)
    def call(*args, **kwargs):
        is_asked = is_always_asked or any_may_have_room(args) or (waits and is_recording())
        made = way(args, kwargs) if args and is_asked else None
        if made is None:
            return function(*args, **kwargs)
        return bool(made) if returns_bool else made

    call.waiting = function if waits else None  # of which a call may be a line of a batch
    return call
