"""NumPy's ufuncs: objects that are called, and have `reduce`, `accumulate`, `at`, `outer` and `reduceat`."""

import functools
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._dtypes import NARROWED, WIDE, promoted_dtype, refuse_complex, resolve_dtype, x64_for, x64_mode
from .._core._errors import numpy_error
from .._interop._convert import ARRAY_TYPES
from .._missing import _RENAMED
from ..mutable._array import Array, unwrap
from ..mutable._indexing import accumulate as write_each
from ..mutable._operators import add_operators, number_like
from ._array import ndarray
from ._wrap import as_ours, as_type, cast, into, ours, together, value_of

__all__ = ["UFUNCS", "ufunc"]

_REDUCE = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
_REDUCE |= {"logical_and": "all", "logical_or": "any"}
_AT = {"add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max", "minimum": "min"}
_GENERALIZED = ("matmul", "matvec", "vecdot", "vecmat")
_MIXED = ("ldexp",)  # whose operands have dtypes of their own
# XLA's lose bits of float16, and NumPy's compute in float32.
_COARSE = ("exp2", "log2", "log10", "logaddexp2")


class ufunc:
    """A function of each element, as `numpy.ufunc`: ``out=``, ``where=``, ``dtype=``, and its methods.

    Called with arrays, it computes in the dtype that NumPy has for theirs. With x64 off integers and floats
    promote as JAX's: int32 with float32 is float32. Elements where ``where=`` is False are those of
    ``out``, or 0.

    Parameters of a call
    --------------------
    *args : array_like
        ``nin`` operands, and perhaps ``out``.
    out : Array, optional
        Where to write the result.
    where : array_like, optional
        Which elements to compute.
    dtype : dtype, optional
        What to compute in.
    casting, order, subok : optional
        NumPy's; the order in memory and the class are always the same.

    Raises
    ------
    TypeError
        If NumPy has no such function for the dtypes, or ``out`` cannot hold the result.
    ValueError
        If shapes do not broadcast.

    Examples
    --------
    >>> import jaxapi.numpy as np
    >>> print(np.add.reduce(np.asarray([1, 2, 3])))
    6
    """

    nin: int
    nout: int
    identity: Any

    def __init__(self, name: str, function, numpys: np.ufunc):
        """Make the ufunc of a function of jaxapi's or jax.numpy's."""
        self._function, self._numpys = function, numpys
        self.__name__ = self.__qualname__ = name
        self.__module__ = "jaxapi.numpy"
        self.__signature__ = inspect.signature(ufunc.__call__)
        self.__doc__ = f"As `numpy.{name}`, of `jaxapi.mutable.Array`."
        for attribute in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature"):
            setattr(self, attribute, getattr(numpys, attribute))

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    def __reduce__(self) -> str:
        return self.__name__

    def __call__(
        self, *args, out=None, where=True, casting="same_kind", order="K", dtype=None, subok=True, **other
    ):
        if len(args) > self.nin and out is None:
            args, out = args[: self.nin], args[self.nin :]
            out += (None,) * (self.nout - len(out))
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__}() takes {self.nin} arrays and out, got {len(args)} arguments")
        operands = [value_of(x) for x in args]
        signature = other.pop("signature", other.pop("sig", None))
        if other:
            raise TypeError(f"{self.__name__}() got an unexpected keyword argument {min(other)!r}")
        if dtype is None and signature is not None:
            dtype = signature[-1] if isinstance(signature, (tuple, str)) else signature
        result = self._apply(operands, resolve_dtype(dtype), casting)
        outs = out if isinstance(out, tuple) else (out,) * (out is not None) or (None,) * self.nout
        if len(outs) != self.nout:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        parts = result if self.nout > 1 else (result,)
        made = [_placed(part, to, where, casting, args) for part, to in zip(parts, outs, strict=True)]
        return tuple(made) if self.nout > 1 else made[0]

    def of_values(self, *operands):
        """Compute of values of JAX and numbers, in NumPy's dtypes."""
        return self._apply(operands)

    def _apply(self, operands, dtype=None, casting="same_kind"):
        if _NUMBERS.issuperset(map(type, operands)):
            operands = [jaxapi.asarray(x) for x in operands]
        kinds = tuple([_kind_of(x) for x in operands])
        loop, is_direct = _plan(self.__name__, kinds, dtype, casting, x64_mode())
        try:
            if is_direct:
                result = self._function(*operands)
            else:
                with x64_for(*loop):
                    result = self._function(*self._cast(operands, loop))
        except (TypeError, ValueError) as error:
            raise numpy_error(error) or error from None
        if loop is None or (self.nout == 1 and result.dtype == loop[-1]):
            return result
        with x64_for(*loop):
            if self.nout == 1:
                return result.astype(loop[-1])
            return tuple(r.astype(d) for r, d in zip(result, loop[self.nin :], strict=True))

    def _cast(self, operands, loop):
        array = next(x for x in operands if hasattr(x, "dtype"))
        if self.__name__ in _COARSE and loop[0] == np.float16:
            loop = (np.dtype(np.float32),) * len(loop)
        for x, dtype in zip(operands, loop, strict=False):
            if hasattr(x, "dtype"):
                yield cast(x, dtype)
            elif array.dtype == dtype:
                yield number_like(x, array, self._function)
            else:
                yield jnp.asarray(np.asarray(x, dtype))

    def _check_binary(self, method: str):
        if self.nin != 2 or self.nout != 1:
            raise ValueError(f"{method} only supported for binary functions: {self.__name__} is none")

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False, initial=np._NoValue, where=True):
        """Return ``f(f(x[0], x[1]), x[2])`` and so on along an axis, or several."""
        self._check_binary("reduce")
        x, dtype = as_ours(array)._value, resolve_dtype(dtype)
        initial = None if initial is np._NoValue else value_of(initial)
        where = None if where is True else value_of(where)
        axes = np.lib.array_utils.normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
        name, x = self.__name__, x if dtype is None else as_type(x, dtype)._value
        if len(axes) > 1 and self.identity is None and name not in ("maximum", "minimum"):
            raise ValueError(f"reduction operation {name!r} is not reorderable: give one axis")
        with x64_for(x.dtype):
            if name in _REDUCE:
                options = {} if name.startswith("logical") else {"initial": initial}
                options |= {"dtype": dtype} if name in ("add", "multiply") else {}
                result = getattr(jnp, _REDUCE[name])(x, axis=axes, keepdims=keepdims, where=where, **options)
                return into(out, ours(result, array))
            if initial is None and (where is not None or not x.size):
                if self.identity is None:
                    lacks = "to use a where mask" if x.size else "of an array of no elements"
                    raise ValueError(f"reduction operation {name!r} has no identity: give initial {lacks}")
                initial = self.identity
            there = jnp.ones(x.shape, bool) if where is None else jnp.broadcast_to(where, x.shape)
            x, there = (
                jnp.moveaxis(a, axes, range(len(axes))).reshape(-1, *np.delete(a.shape, axes).astype(int))
                for a in (x, there)
            )
            if initial is not None:
                first = jnp.full_like(x[:1], initial, shape=(1, *x.shape[1:]))
                x, there = (
                    jnp.concatenate(each) for each in ([first, x], [jnp.ones_like(first, bool), there])
                )
            result = self._scanned(x, there, keeps=False)
            return into(out, ours(jnp.expand_dims(result, axes) if keepdims else result, array))

    def _scanned(self, x, there, keeps):
        """Fold those of the first axis that are there; keep what each step leaves, or the last alone."""
        dtype = jax.eval_shape(lambda a: self._apply([a, a]), x[:1]).dtype

        def step(a, line):
            b, chosen = line
            a = jnp.where(chosen, self._apply([a, b.astype(dtype)]), a)
            return a, a if keeps else None

        first = x[0].astype(dtype)
        last, each = jax.lax.scan(step, first, (x[1:], there[1:]))
        return jnp.concatenate([first[None], each]) if keeps else last

    def accumulate(self, array, axis=0, dtype=None, out=None):
        """Return the results of `reduce` up to each element."""
        self._check_binary("accumulate")
        x, dtype = as_ours(array)._value, resolve_dtype(dtype)
        axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
        sums = {"add": jnp.cumsum, "multiply": jnp.cumprod}.get(self.__name__)
        x = x if dtype is None else as_type(x, dtype)._value
        with x64_for(x.dtype):
            if sums is not None:
                x = sums(x, axis, dtype=dtype)
            elif x.shape[axis]:
                lines = jnp.moveaxis(x, axis, 0)
                x = jnp.moveaxis(self._scanned(lines, jnp.ones(lines.shape[0], bool), keeps=True), 0, axis)
        return into(out, ours(x, array))

    def reduceat(self, array, indices, axis=0, dtype=None, out=None):
        """Return `reduce` of the slices from each index to the next; of one element where that is lower."""
        self._check_binary("reduceat")
        x = as_ours(array)
        axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
        starts, size = np.asarray(indices), x.shape[axis]
        if starts.size and not (starts.min() >= 0 and starts.max() < size):
            raise IndexError(f"index {starts.max()} out-of-bounds in {self.__name__}.reduceat [0, {size})")
        ends = [*starts[1:], size]
        head = (slice(None),) * axis
        parts = [
            self.reduce(x[(*head, slice(i, max(i + 1, end if end > i else 0)))], axis, dtype, keepdims=True)
            for i, end in zip(starts.tolist(), ends, strict=True)
        ]
        return into(out, ours(jnp.concatenate([part._value for part in parts], axis)))

    def outer(self, A, B, /, **options):
        """Return the function of each element of one array with each of the other."""
        self._check_binary("outer")
        A, B = as_ours(A), as_ours(B)
        return self(A[(..., *(None,) * B.ndim)] if B.ndim else A, B, **options)

    def at(self, a, indices, b=None, /):
        """Write ``f(a[indices], b)`` to ``a[indices]``, once for each index that comes again."""
        if not isinstance(a, Array):
            raise TypeError(f"{self.__name__}.at writes to an array of jaxapi.numpy, got {type(a).__name__}")
        if (b is None) != (self.nin == 1):
            raise ValueError(f"{self.__name__}.at takes {self.nin - 1} operands beside the array")
        how = _AT.get(self.__name__)
        if how and a.dtype != np.bool:
            new = as_ours(b)._value
            refuse_complex(new.dtype, a.dtype)
            new = cast(new, a.dtype)  # as NumPy, floats among integers, too

            def write(value, key, new, made):
                return write_each(value, key, new, made, how)

            a._rewrite(write, unwrap(indices), new)
            return
        places = ours(jnp.arange(a.size).reshape(a.shape))[indices]._value
        given = () if b is None else (jnp.broadcast_to(jnp.asarray(value_of(b)), places.shape).ravel(),)

        def step(x, each):
            i, *operands = each
            return x.at[i].set(self._apply([x[i], *operands]).astype(x.dtype)), None

        flat, _ = jax.lax.scan(step, a._value.ravel(), (places.ravel(), *given))
        a[...] = flat.reshape(a.shape)

    def resolve_dtypes(self, dtypes, **options):
        """Return NumPy's dtypes of the operands and the result."""
        return self._numpys.resolve_dtypes(dtypes, **options)


_PYTHON = frozenset([int, float, complex])
_NUMBERS = _PYTHON | {bool}
_WEAK = {"i": int, "u": int, "f": float, "c": complex}


def _kind_of(x):
    """Return the dtype of an operand; of a number, which is weak, its Python class."""
    kind = type(x)
    if kind in _PYTHON:
        return kind
    if kind in ARRAY_TYPES and not x.weak_type:
        return x.dtype
    if kind is bool or not hasattr(x, "dtype"):
        return np.dtype(bool) if kind is bool else next(c for c in (int, float, complex) if isinstance(x, c))
    return _WEAK.get(x.dtype.kind, x.dtype) if getattr(x, "weak_type", False) else x.dtype


def _plan(name: str, kinds: tuple, dtype, casting, wide: bool):
    """Return the dtypes that NumPy computes in, and whether operands have them.

    None stands for dtypes that NumPy does not have.
    """
    numpys, given = getattr(np, name), [kind for kind in kinds if isinstance(kind, np.dtype)]
    if any(d.isbuiltin != 1 for d in given):
        return None, True
    options: dict[str, Any] = {}
    if dtype is not None:
        options["signature"] = (None,) * numpys.nin + (dtype,) * numpys.nout
    elif not wide and name not in _MIXED and len({d.kind in "iub" for d in given}) > 1:
        numbers = [kind() for kind in kinds if not isinstance(kind, np.dtype)]
        kinds = (promoted_dtype(*given, *numbers),) * len(kinds)  # as JAX's, of 32 bits
    loop = numpys.resolve_dtypes(kinds + (None,) * numpys.nout, casting=casting, **options)
    if dtype is None and not wide and WIDE.isdisjoint(given):
        loop = tuple(NARROWED.get(d, d) for d in loop)
    same = all(d == kind if isinstance(kind, np.dtype) else d in given for kind, d in zip(kinds, loop))  # noqa: B905
    special = name in ("pow", "power") or given[0].kind in "iub"  # where `number_like` checks a number
    has_own_way = (name in _COARSE and loop[0] == np.float16) or (special and len(given) < len(kinds))
    return loop, same and not has_own_way and (wide or WIDE.isdisjoint(loop))


def _placed(result, out, where, casting, args):
    """Return a result, written to ``out`` and only ``where``."""
    if where is not True:
        mask = value_of(where)
        if getattr(mask, "dtype", np.dtype(bool)) != np.bool:
            raise TypeError(f"where must be an array of bool, got {mask.dtype}")
        before = jnp.zeros((), result.dtype) if out is None else out._value
        if out is None:
            result = jnp.where(mask, result, before)
        else:
            into(out, ours(result), casting)
            result = jnp.where(mask, out._value, before)
    return into(out, ours(result, *args), casting)


def _extreme(name: str):
    """Return jaxapi's function, which of complex numbers gives those that are NaN, too."""
    function = getattr(jaxapi, name)

    def of_two(x, y):
        if not jnp.iscomplexobj(x):
            return function(x, y)
        return jnp.where(jnp.isnan(x), x, jnp.where(jnp.isnan(y), y, function(x, y)))

    return of_two


def _floor_divide(x, y):
    made = jaxapi.floor_divide(x, y)
    return made if made.dtype.kind == "f" else jnp.where(jnp.asarray(y) == 0, 0, made)  # as NumPy's integers


def _function_of(name: str):
    found = getattr(jaxapi, _RENAMED["jaxapi"].get(name, name), None)
    unlike = {
        "divmod": lambda x, y: (_floor_divide(x, y), jaxapi.remainder(x, y)),
        "fabs": jnp.abs,
        "float_power": jnp.float_power,
        "floor_divide": _floor_divide,
        "maximum": _extreme("maximum"),
        "minimum": _extreme("minimum"),
        "rint": jnp.rint,
    }
    return unlike.get(name) or found or getattr(jnp, name)


UFUNCS = {
    name: ufunc(value.__name__, _function_of(value.__name__), value)
    for name, value in vars(np).items()
    if isinstance(value, np.ufunc) and name not in (*_GENERALIZED, "isnat")
}


def _operator_of(name: str):
    """Return what an operator does with values: matmul is no ufunc here."""
    return UFUNCS[name].of_values if name in UFUNCS else lambda a, b: jaxapi.matmul(*together((a, b)))


add_operators(ndarray, _operator_of, functools.partial(np.can_cast, casting="same_kind"))
