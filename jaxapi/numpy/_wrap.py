"""The one wrapper: a function of jax.numpy or jaxapi becomes one with NumPy's signature, of our arrays."""

import functools
import inspect
import re

import jax
import numpy as np

from .._core._dtypes import WIDE, default_dtype, promoted_dtype, resolve_dtype, x64_for, x64_mode
from .._core._errors import numpy_error
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
_APART = {"choose": ["a"], "select": ["condlist"]}


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
        if isinstance(x, Array) and x._value is result:
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
        return value.astype(dtype)


def result_dtype(*values) -> np.dtype:
    """Return what arrays, dtypes and Python numbers promote to: NumPy's dtype with x64 on, else JAX's."""
    if not x64_mode() or any(getattr(getattr(x, "dtype", x), "isbuiltin", 1) != 1 for x in values):
        return promoted_dtype(*values)
    return np.result_type(*[getattr(x, "dtype", x) for x in values])


def together(tree):
    """Return arrays in one dtype, that of `result_dtype`, if there are integers and others among them."""
    arrays = [x for x in jax.tree.leaves(tree) if isinstance(x, (jax.Array, np.ndarray))]
    if len({x.dtype.kind in "iub" for x in arrays}) < 2:
        return tree
    dtype = result_dtype(*arrays)
    return jax.tree.map(lambda x: cast(x, dtype) if hasattr(x, "dtype") else x, tree)


def with_numpys_signature(name: str, numpys, function, module: str):
    """Return ``function`` as NumPy's function: its arguments by place or name, and ``out=``."""
    signature = signature_of(name, numpys)
    own = inspect.signature(function).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in own.values())
    variadic = [p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL]
    names = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    arrays = {p.name for p in own.values() if _is_array(p.annotation)}
    sequences = {
        p.name for p in own.values() if re.search(r"(Sequence|list)\[ArrayLike\]", str(p.annotation))
    }
    counts, promotes = name in _POSITIONS.split(), name in _TOGETHER.split()
    only_by_place = [p.name for p in own.values() if p.kind is p.POSITIONAL_ONLY]

    @signed_as(name, signature, numpys, module)
    def wrapped(*args, **kwargs):
        if variadic:
            given, rest = kwargs, list(map(value_of, args))
        else:
            if len(args) > len(names):
                raise TypeError(f"{name}() takes {len(names)} arguments, got {len(args)}")
            given, rest = dict(zip(names, args, strict=False)) | kwargs, []
            if len(given) < len(args) + len(kwargs) or not (given.keys() <= allowed or takes_all):
                signature.bind(*args, **kwargs)  # which raises
        given = {"arrays" if n == "tup" else n: x for n, x in given.items() if x is not np._NoValue}
        out = given.pop("out", None)
        if given.get("dtype") is not None:
            given["dtype"] = resolve_dtype(given["dtype"])
        values = {}
        for n, x in given.items():
            if (n in own and (n not in IGNORED or function.__module__.startswith(_REPAIRS))) or takes_all:
                listed = n in sequences and isinstance(x, (list, tuple))
                x = list(map(value_of, x)) if listed else x
                values[n] = value_of(x) if n in arrays and not listed else unwrap(x)
            elif n not in IGNORED and x is not None:
                raise NotImplementedError(f"jaxapi.numpy.{name} does not take {n}=")
        rest = [values.pop(n) for n in only_by_place if n in values] + rest
        if promotes:
            apart = {n: values[n] for n in _APART.get(name, ()) if n in values}
            rest, values = together((rest, values | dict.fromkeys(apart)))
            values |= apart
        dtypes = [np.dtype(x.dtype) for x in (*rest, *values.values()) if isinstance(x, jax.Array)]
        try:
            with x64_for(*dtypes, *([values["dtype"]] if values.get("dtype") else [])):
                result = function(*rest, **values)
        except (TypeError, ValueError) as error:
            if (numpys_own := numpy_error(error)) is not None:
                raise numpys_own from None
            raise
        result = ours(result, *args, *kwargs.values())
        if counts and "dtype" not in values:
            result = jax.tree.map(_as_int, result, is_leaf=lambda x: isinstance(x, Array))
        if name == "dot" and out is not None and out.dtype != result.dtype:
            raise ValueError(f"out of dot must have the dtype {result.dtype}, got {out.dtype}")
        return result if out is None else into(out, result)

    allowed = set(names)
    return wrapped


def _as_int(x):
    """Return positions in the default dtype: JAX's have 32 bits where that is enough."""
    return as_type(x, default_dtype(int)) if isinstance(x, Array) and x.dtype.kind in "iu" else x


def _is_array(annotation) -> bool:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return "Array" in text and (
        ("Sequence[" not in text and "list[" not in text) or text.startswith("ArrayLike")
    )


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
    from .._core._dtypes import NARROWED

    if x64_mode() or any(getattr(x, "dtype", None) in WIDE for x in operands):
        return dtype
    return NARROWED.get(dtype, dtype)
