"""The one wrapper: a function of jax.numpy or jaxapi becomes one with NumPy's signature, of our arrays."""

import functools
import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np

from .._core._dtypes import NARROWED, WIDE, default_dtype, promoted_dtype, resolve_dtype, x64_for, x64_mode
from .._core._errors import numpy_error
from .._core._programs import compiled
from .._interop import as_array
from ..mutable._array import Array, copied, shared, unwrap
from ..mutable._wrap import wrap_result
from ._array import ndarray

__all__ = ["as_ours", "cast", "into", "ours", "result_dtype", "signed_as", "together", "value_of"]
__all__ += ["with_numpys_signature"]

# NumPy's arguments that change no value here: arrays are in C order, of one class, and sort is stable.
IGNORED = frozenset({"casting", "copy", "kind", "like", "order", "overwrite_input", "stable", "subok"})
# Those of C, which NumPy before 2.4 does not tell.
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


_POSITIONS = """
argmax argmin argpartition argsort argwhere count_nonzero diag_indices digitize flatnonzero lexsort nanargmax
nanargmin nonzero ravel_multi_index searchsorted tril_indices tril_indices_from triu_indices
triu_indices_from unravel_index
"""


# Functions of several arrays that have one dtype, if there are integers and others among them.
_TOGETHER = """
allclose append array_equal array_equiv choose convolve correlate cross dot inner intersect1d isclose
isin kron matmul multi_dot outer polyadd polydiv polymul polysub polyval searchsorted select setxor1d
tensordot trapezoid union1d vdot vecdot
"""
_APART = {"choose": ["a"], "searchsorted": ["sorter"], "select": ["condlist"]}


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
    if isinstance(x, (list, tuple, np.ndarray, np.generic)):
        return as_array(unwrap(x))
    return x if isinstance(x, _PLAIN) or not hasattr(x, "__dlpack__") else as_array(x)


_PLAIN = (int, float, complex, str, slice, jax.Array)


def as_ours(x) -> Array:
    """Return anything array-like as an array of ours; one of ours as it is."""
    return x if isinstance(x, Array) else ours(x if isinstance(x, jax.Array) else as_array(unwrap(x)), x)


def ours(result, *given):
    """Return results as our arrays; one that is an argument as a copy of it."""
    for x in given:
        if isinstance(x, Array) and x._owner._value is result:
            return copied(x)
        if x is result and isinstance(x, jax.Array):
            return shared(x, ndarray)
    return wrap_result(result, ndarray)


def into(out, result, casting="same_kind"):
    """Write a result to ``out=``, and return that; to None the result as it is."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if out is None:
        return result
    if not isinstance(out, Array):
        raise TypeError(f"out must be an array of jaxapi.numpy, got {type(out).__name__}")
    if np.broadcast_shapes(result.shape, out.shape) != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape "
            f"{result.shape}"
        )
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(f"cannot cast the result from {result.dtype} to out's {out.dtype}: rule {casting!r}")
    out[...] = as_type(result, out.dtype)
    return out


def as_type(x, dtype):
    """Return an array in a dtype, as `cast`; a new one."""
    return ours(cast(unwrap(x), np.dtype(dtype)), x)


def cast(value, dtype):
    """Cast as NumPy does, of complex numbers the real part."""
    value = value_of(value)
    if value.dtype == dtype and not value.weak_type:
        return value
    with x64_for(value.dtype, dtype):
        if value.dtype.kind == "c" and dtype.kind not in "cb":
            value = value.real
        return _astype(value, dtype)


_astype = compiled(lambda value, dtype: value.astype(dtype), static_argnums=1)


def result_dtype(*values) -> np.dtype:
    """Return what arrays, dtypes and Python numbers promote to: NumPy's dtype with x64 on, else JAX's."""
    dtypes = [getattr(x, "dtype", x) for x in values]
    if isinstance(dtypes[0], np.dtype) and all(d == dtypes[0] for d in dtypes):
        return dtypes[0]
    if not x64_mode() or any(getattr(d, "isbuiltin", 1) != 1 for d in dtypes):
        return promoted_dtype(*values)
    return np.result_type(*dtypes)


def together(tree):
    """Return arrays in one dtype, that of `result_dtype`, if there are integers and others among them."""
    arrays = [x for x in jax.tree.leaves(tree) if hasattr(x, "weak_type") or type(x) is np.ndarray]
    if len(arrays) < 2 or len({x.dtype.kind in "iub" for x in arrays}) < 2:
        return tree
    dtype = result_dtype(*arrays)
    return jax.tree.map(lambda x: cast(x, dtype) if hasattr(x, "dtype") else x, tree)


def with_numpys_signature(name: str, numpys, function, module: str):
    """Return ``function`` as NumPy's function: its arguments by place or name, and ``out=``."""
    signature = signature_of(name, numpys)
    own = inspect.signature(function).parameters
    kinds = {p.kind for p in own.values()}
    variadic = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    names = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    counts, promotes = name in _POSITIONS.split(), name in _TOGETHER.split()
    only_by_place = [p.name for p in own.values() if p.kind is p.POSITIONAL_ONLY]
    other = unwrap if inspect.Parameter.VAR_KEYWORD in kinds else None
    allowed = None if other else set(names)
    is_repair = function.__module__.startswith(_REPAIRS)
    ignored = IGNORED - (set(own) if is_repair else set())
    forms = {n: _form_of(p) for n, p in own.items() if n not in ignored}
    if is_repair:
        forms = {n: _array_or_none if form is value_of else form for n, form in forms.items()}
    if "arrays" in forms:
        forms["tup"] = forms["arrays"]

    @signed_as(name, signature, numpys, module)
    def wrapped(*args, **kwargs):
        given, rest = (kwargs, [value_of(x) for x in args]) if variadic else (kwargs, [])
        if not variadic:
            given = dict(zip(names, args, strict=False)) | kwargs
            unknown = allowed and not given.keys() <= allowed
            if unknown or len(given) < len(args) + len(kwargs) or len(args) > len(names):
                signature.bind(*args, **kwargs)  # which raises
        values, out = {}, given.get("out")
        for n, x in given.items():
            if x is np._NoValue or n == "out" or n in ignored:
                continue
            form = forms.get(n, other)
            if form:
                values["arrays" if n == "tup" else n] = form(x)
            elif x is not None:
                raise NotImplementedError(f"jaxapi.numpy.{name} does not take {n}=")
        dtype = values.get("dtype")
        if dtype is not None:
            dtype = values["dtype"] = resolve_dtype(dtype)
        rest = [values.pop(n) for n in only_by_place if n in values] + rest
        if promotes:
            apart = {n: values[n] for n in _APART.get(name, ()) if n in values}
            rest, values = together((rest, values | dict.fromkeys(apart)))
            values |= apart
        try:
            with x64_for(
                *[getattr(x, "dtype", x) for x in (*rest, *values.values(), dtype) if _has_dtype(x)]
            ):
                result = function(*rest, **values)
        except (TypeError, ValueError) as error:
            raise numpy_error(error) or error from None
        result = ours(result, *args, *kwargs.values())
        if counts and dtype is None:
            result = jax.tree.map(_as_int, result, is_leaf=lambda x: isinstance(x, Array))
        if name == "dot" and out is not None and out.dtype != result.dtype:
            raise ValueError(f"out of dot must have the dtype {result.dtype}, got {out.dtype}")
        return result if out is None else into(out, result)

    return wrapped


def _array_or_none(x):
    x = value_of(x)
    return jnp.asarray(x) if isinstance(x, (int, float, complex)) else x


def _has_dtype(x) -> bool:
    return isinstance(x, np.dtype) or type(getattr(x, "dtype", None)) is not type(None)


def _as_int(x):
    """Return positions in the default dtype: JAX's have 32 bits where that is enough."""
    is_other = isinstance(x, Array) and x.dtype.kind in "iu" and x.dtype != default_dtype(int)
    return as_type(x, default_dtype(int)) if is_other else x


def _form_of(parameter):
    """Return what makes an argument of jax.numpy's of one of NumPy's."""
    text = inspect.formatannotation(parameter.annotation).strip("'")
    several = bool(re.search(r"(Sequence|list)\[", text))
    one = value_of if "Array" in text and (not several or text.startswith("ArrayLike")) else unwrap
    if not re.search(r"(Sequence|list)\[ArrayLike\]", text):
        return one
    return lambda x: [value_of(each) for each in x] if isinstance(x, (list, tuple)) else one(x)


def signed_as(name, signature, numpys, module):
    """Give a function NumPy's name and signature."""

    def decorate(function):
        function.__name__ = function.__qualname__ = name
        function.__module__, function.__signature__ = module, signature
        function.__doc__ = f"As `numpy.{name}`, of `jaxapi.mutable.Array`.{_first_line(numpys)}"
        return function

    return decorate


@functools.cache
def _first_line(numpys) -> str:
    text = (inspect.getdoc(numpys) or "").split("\n\n")
    line = next((part for part in text if part and "(" not in part.split()[0]), "")
    return f"\n\n{line}" if line else ""


def narrowed(dtype: np.dtype, *operands) -> np.dtype:
    """Return the dtype of a result by JAX's mode: 64 bits with x64 off only of what has 64 bits."""
    if x64_mode() or any(getattr(x, "dtype", None) in WIDE for x in operands):
        return dtype
    return NARROWED.get(dtype, dtype)
