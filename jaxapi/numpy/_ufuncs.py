"""NumPy's ufuncs: objects that are called, and have `reduce`, `accumulate`, `at`, `outer` and `reduceat`."""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._dtypes import is_numpys, is_registered, refuse_complex, resolve_dtype, x64_for
from .._core._typing import ArrayLike, DTypeLike
from ..mutable import _host_way as host_way
from ..mutable._array import NUMPY, Array, from_numpy, line_of_elements, may_have_room, written
from ..mutable._at import AT
from ..mutable._batches import concrete, is_recording, number_as_cast, takes_pending
from ..mutable._by_numpy import computed_by_numpy
from ..mutable._capacity._calls import call_on_rows
from ..mutable._capacity._functions import of_elements
from ..mutable._capacity._writing import accumulate_rows
from ..mutable._elementwise import ELEMENTWISE, chosen
from ..mutable._faces import mode_of
from ..mutable._indexing import accumulate as write_each
from ..mutable._numpy_arguments import NotOnHost, to_numpy
from ._repairs import REPAIRS
from ._wrap import (
    as_ours,
    as_type,
    cast,
    check_initial,
    check_out,
    current_of,
    first_line,
    initial_number,
    into,
    operand_of,
    ours,
    value_of,
)

__all__ = ["UFUNCS", "ufunc"]

_REDUCE = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
_REDUCE |= {"logical_and": "all", "logical_or": "any"}
# What folds sorted segments of the first axis.
_SEGMENTS = {
    "add": jax.ops.segment_sum,
    "maximum": jax.ops.segment_max,
    "minimum": jax.ops.segment_min,
    "multiply": jax.ops.segment_prod,
}
# Those without an identity that may go over several axes all the same.
_REORDERABLE = frozenset(["fmax", "fmin", "maximum", "minimum"])


# Methods whose programs depend on shapes and options alone, also of arrays with room.
_OF_SHAPES = frozenset([np.ufunc.accumulate, np.ufunc.reduce])

# Python's numbers, which take the dtype of the array that they meet.
_WEAK_TYPES = frozenset([int, float, complex])


_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Axes = int | tuple[int, ...] | None


def _with_numbers_as_cast(operands: list) -> list:
    """Return operands with Python's floats as NumPy casts them beside the arrays."""
    dtypes = [x.dtype for x in operands if isinstance(x, (np.ndarray, np.generic))]
    if not dtypes:
        return operands
    dtype = np.result_type(*dtypes)
    return [number_as_cast(dtype, x) for x in operands]


def _in_numpys_way(
    numpys_method: Any,
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Have a method of `numpy.ufunc` compute where all arrays are in the host's memory."""

    def decorate(method: Any) -> Any:
        @functools.wraps(method)
        def call(self, *args, **kwargs):
            if host_way.is_eager():
                try:
                    return computed_by_numpy(numpys_method.__get__(self._numpys), args, kwargs)
                except NotOnHost:
                    pass
            with mode_of(NUMPY):
                made = None
                if numpys_method in _OF_SHAPES and any(map(may_have_room, args)):
                    made = call_on_rows(method.__get__(self), NUMPY, args, kwargs)
                return method(self, *args, **kwargs) if made is None else made

        return call

    return decorate


def _signature(operand_count: int) -> inspect.Signature:
    """Return the signature of a ufunc, as NumPy's documentation has it."""
    operands = "x" if operand_count == 1 else ", ".join(f"x{i + 1}" for i in range(operand_count))
    options = "where=True, casting='same_kind', order='K', dtype=None, subok=True, signature=None"
    return inspect.signature(eval(f"lambda {operands}, /, out=None, *, {options}: 0"))


class _Slices(NamedTuple):
    """The elements of slices, one slice behind the other."""

    positions: np.ndarray  # of each element
    numbers: np.ndarray  # of the slice that it is in, ascending
    lasts: np.ndarray  # where each slice's last element is

    @classmethod
    def between(cls, starts: np.ndarray, size: int) -> "_Slices":
        """Return the slices from each index to the next; of one element where that is lower."""
        ends = np.append(starts[1:], size)
        lengths = np.where(ends > starts, ends - starts, 1)
        behind = np.cumsum(lengths)
        shifts = np.repeat(starts - (behind - lengths), lengths)
        return cls(np.arange(len(shifts)) + shifts, np.repeat(np.arange(len(starts)), lengths), behind - 1)


class ufunc:
    """A function of each element, as `numpy.ufunc`: ``out=``, ``where=``, ``dtype=``, and its methods.

    Called with arrays, it computes in the dtype that NumPy has for theirs. Elements where ``where=`` is False
    are those of ``out``, or 0.

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

    def __init__(self, name: str, numpys: np.ufunc):
        """Make the ufunc of NumPy's."""
        self._of_values = ELEMENTWISE[name]
        self._how_at = AT.get(numpys.__name__)  # as JAX calls a write
        self._numpys = numpys
        self.__name__ = self.__qualname__ = numpys.__name__
        self.__module__ = "jaxapi.numpy"
        self.__signature__ = _signature(numpys.nin)
        self.__doc__ = f"As `numpy.{name}`, of `jaxapi.mutable.Array`.{first_line(numpys)}"
        for attribute in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature"):
            setattr(self, attribute, getattr(numpys, attribute))

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    def __reduce__(self) -> str:
        return self.__name__

    def __call__(self, *args: ArrayLike | None, **kwargs: Any) -> Any:
        if host_way.is_eager():
            try:
                if kwargs or len(args) > self.nin:
                    return computed_by_numpy(self._numpys, args, kwargs)
                operands = [to_numpy(x) for x in args]
                if float in map(type, operands):
                    operands = _with_numbers_as_cast(operands)
                return from_numpy(self._numpys(*operands), NUMPY, operands)
            except NotOnHost:
                pass
        if is_recording() and not kwargs and len(args) == self.nin:
            made = line_of_elements(self._of_values, args, NUMPY)
            if made is not None:
                return made
        with mode_of(NUMPY):
            return self.by_jax(*args, **kwargs)

    def by_jax(self, *args, **kwargs):
        """Return what a call does where JAX computes, in the dtypes of its x64 mode."""
        writes_alone = self.nout == 1 and kwargs.keys() == {"out"}
        if len(args) == self.nin and (writes_alone or not kwargs) and any(map(may_have_room, args)):
            made = of_elements(self._of_values, args, {}, NUMPY)
            if made is not None:
                return into(kwargs["out"], made, broadcasts=True) if kwargs else made
        return self._of_exact(*args, **kwargs)

    def _of_exact(
        self, *args, out=None, where=True, casting="same_kind", order="K", dtype=None, subok=True, **other
    ):
        if len(args) > self.nargs:
            raise TypeError(f"{self.__name__}() takes {self.nin} arrays and out, got {len(args)} arguments")
        if len(args) > self.nin and out is None:
            args, out = args[: self.nin], args[self.nin :]
            out += (None,) * (self.nout - len(out))
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__}() takes {self.nin} arrays and out, got {len(args)} arguments")
        operands = [operand_of(x) for x in args]
        signature = other.pop("signature", other.pop("sig", None))
        if other:
            raise TypeError(f"{self.__name__}() got an unexpected keyword argument {min(other)!r}")
        if dtype is None and signature is not None:
            dtype = signature[-1] if isinstance(signature, (tuple, str)) else signature
        result = self._of_values(*operands, dtype=resolve_dtype(dtype), casting=casting, may_wait=True)
        outs = out if isinstance(out, tuple) else (out,) * (out is not None) or (None,) * self.nout
        if len(outs) != self.nout:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        parts = result if self.nout > 1 else (result,)
        made = [_placed(part, to, where, casting, args) for part, to in zip(parts, outs, strict=True)]
        return tuple(made) if self.nout > 1 else made[0]

    def takes_weak_number(self, *operands) -> bool:
        """Whether one of two operands is a Python number, which takes the dtype of the other."""
        return self.nin == 2 and not _WEAK_TYPES.isdisjoint(map(type, operands))

    def method_by_jax(self, method: str) -> Callable[..., Any]:
        """Return what a method does where JAX computes, in the dtypes of its x64 mode."""
        if method == "__call__":
            return self.by_jax
        decorated = getattr(ufunc, "_outer_of_arrays" if method == "outer" else method)
        return functools.partial(getattr(decorated, "__wrapped__", decorated), self)

    def _check_binary(self, method: str):
        if self.nin != 2 or self.nout != 1:
            raise ValueError(f"{method} only supported for binary functions: {self.__name__} is none")

    def _check_loop(self, given_dtype, dtype):
        """Raise NumPy's TypeError where its function has no loop for a fold of such elements."""
        if is_numpys(given_dtype):
            computed = given_dtype if dtype is None else dtype  # which elements are cast to
            self._numpys.resolve_dtypes((dtype, computed, None), reduction=True)

    def _casting_of_fold(self, result):
        """Return how a result is cast to ``out=``: to any dtype, but complex ones."""
        return "same_kind" if result.dtype.kind == "c" else "unsafe"

    @_in_numpys_way(np.ufunc.reduce)
    def reduce(
        self,
        array: ArrayLike,
        axis: _Axes = 0,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: Any = np._NoValue,
        where: ArrayLike = True,
    ) -> Array:
        """Return ``f(f(x[0], x[1]), x[2])`` and so on along an axis, or several."""
        self._check_binary("reduce")
        x = as_ours(array)._value
        dtype = resolve_dtype(dtype)
        adds = self.__name__ in ("add", "multiply")
        if not self.__name__.startswith("logical"):
            check_initial(initial, x.dtype, dtype, adds=adds)
        initial = None if initial is np._NoValue else initial_number(value_of(initial), x.dtype)
        mask = None if where is True else value_of(where)
        is_of_number = not x.ndim and type(axis) is int and axis in (0, -1)  # which NumPy takes
        if axis is None or is_of_number:
            axis = tuple(range(x.ndim))
        axes = np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
        self._check_loop(x.dtype, dtype)
        mask_ndim = 0 if mask is None else np.ndim(mask)
        if mask_ndim > x.ndim:
            raise ValueError(f"where has {mask_ndim} axes, the array {x.ndim}: it must not have more")
        name = self.__name__
        if len(axes) > 1 and self.identity is None and name not in _REORDERABLE:
            raise ValueError(f"reduction operation {name!r} is not reorderable: give one axis")
        x = x if dtype is None else as_type(x, dtype)._value
        with x64_for(x.dtype):
            if name in _REDUCE:
                options = {} if name.startswith("logical") else {"initial": initial}
                options |= {"dtype": dtype} if adds else {}
                is_repaired = jnp.iscomplexobj(x) and not adds
                fold = REPAIRS[_REDUCE[name]] if is_repaired else getattr(jnp, _REDUCE[name])
                fold = jaxapi.sum if name == "add" else fold
                options |= {"axis": axes, "keepdims": keepdims}
                given = {key: value for key, value in options.items() if value is not None}
                result = fold(x, where=mask, **given)
                if initial is not None and name.startswith("logical"):
                    result = self._of_values(result, jnp.asarray(initial))
                return into(out, ours(result, array), self._casting_of_fold(result))
            length = math.prod(x.shape[i] for i in axes)
            if initial is None and (mask is not None or not length):
                if self.identity is None:
                    lacks = "to use a where mask" if length else "of an array of no elements"
                    raise ValueError(f"reduction operation {name!r} has no identity: give initial {lacks}")
                initial = self.identity
            computed = jax.eval_shape(lambda a: self._of_values(a, a), x).dtype
            if computed.kind == "f":  # which an identity such as -inf is
                x = x.astype(computed)
            counted = jnp.ones(x.shape, bool) if mask is None else jnp.broadcast_to(mask, x.shape)
            other_lengths = [n for i, n in enumerate(x.shape) if i not in axes]
            x = jnp.moveaxis(x, axes, range(len(axes))).reshape(length, *other_lengths)
            counted = jnp.moveaxis(counted, axes, range(len(axes))).reshape(length, *other_lengths)
            if initial is not None:
                first = jnp.full_like(x[:1], initial, shape=(1, *x.shape[1:]))
                x = jnp.concatenate([first, x])
                counted = jnp.concatenate([jnp.ones_like(first, bool), counted])
            result = self._scanned(x, counted, keeps=False)
            casting = self._casting_of_fold(result)
            return into(out, ours(jnp.expand_dims(result, axes) if keepdims else result, array), casting)

    def _scanned(self, x, counted, keeps, starts=None):
        """Fold the elements of the first axis that count; keep what each step leaves, or the last alone.

        Where a fold `starts`, an element that does not count is what it starts with.
        """
        starts = jnp.zeros(x.shape[0], bool) if starts is None else starts
        dtype = jax.eval_shape(lambda a: self._of_values(a, a), x[:1]).dtype

        def step(a, line):
            b, chosen, is_first = line
            b = b.astype(dtype)
            a = jnp.where(chosen, self._of_values(a, b), jnp.where(is_first, b, a))
            return a, a if keeps else None

        first = x[0].astype(dtype)
        last, each = jax.lax.scan(step, first, (x[1:], counted[1:], starts[1:]))
        return jnp.concatenate([first[None], each]) if keeps else last

    @_in_numpys_way(np.ufunc.accumulate)
    def accumulate(
        self, array: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: Array | None = None
    ) -> Array:
        """Return the results of `reduce` up to each element."""
        self._check_binary("accumulate")
        x = as_ours(array)._value
        dtype = resolve_dtype(dtype)
        if not x.ndim and axis in (0, -1):
            raise TypeError("cannot accumulate on a scalar")
        axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
        self._check_loop(x.dtype, dtype)
        sums = {"add": jnp.cumsum, "multiply": jnp.cumprod}.get(self.__name__)
        x = x if dtype is None else as_type(x, dtype)._value
        with x64_for(x.dtype):
            if sums is not None:
                dtype = (
                    jax.eval_shape(jnp.sum, x).dtype if dtype is None else dtype
                )  # of small integers a wide one
                x = sums(x, axis, dtype=dtype)
            elif x.shape[axis]:
                lines = jnp.moveaxis(x, axis, 0)
                x = jnp.moveaxis(self._scanned(lines, jnp.ones(lines.shape[0], bool), keeps=True), 0, axis)
            else:
                x = self._of_values(x, x)  # which is of its dtype, too
        return into(out, ours(x, array), self._casting_of_fold(x))

    @_in_numpys_way(np.ufunc.reduceat)
    def reduceat(
        self,
        array: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Return `reduce` of the slices from each index to the next; of one element where that is lower."""
        self._check_binary("reduceat")
        x = as_ours(array)
        if not x.ndim and axis in (0, -1):
            raise TypeError("cannot reduceat on a scalar")
        axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
        starts = np.asarray(indices)
        size = x.shape[axis]
        if starts.size and not (starts.min() >= 0 and starts.max() < size):
            raise IndexError(f"index {starts.max()} out-of-bounds in {self.__name__}.reduceat [0, {size})")
        head = (slice(None),) * axis
        if not starts.size:
            return into(out, self.reduce(x, axis, dtype, keepdims=True)[(*head, slice(0))])
        of_one = self.reduce(x[(*head, slice(0, 1))], axis, dtype, keepdims=True)  # for its checks, and dtype
        if dtype is not None:
            x = as_type(x, resolve_dtype(dtype))
        with x64_for(x.dtype, of_one.dtype):
            lines = jnp.moveaxis(x._value, axis, 0)
            folded = self._fold_slices(lines, _Slices.between(starts, size), of_one.dtype)
            return into(out, ours(jnp.moveaxis(folded, 0, axis)))

    def _fold_slices(self, lines, slices: "_Slices", dtype: np.dtype):
        """Fold slices of the first axis, in one program however many there are."""
        elements = jnp.take(lines, slices.positions, axis=0)
        fold = _SEGMENTS.get(self.__name__)
        if fold is None or dtype.kind not in "iuf":
            is_first = np.zeros(len(slices.numbers), bool)
            is_first[slices.lasts[:-1] + 1] = True
            return self._scanned(elements, ~is_first, keeps=True, starts=is_first)[slices.lasts]
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype
        folded = fold(elements.astype(wide), slices.numbers, len(slices.lasts), indices_are_sorted=True)
        return folded.astype(dtype)

    def outer(self, A: ArrayLike, B: ArrayLike, /, **options: Any) -> Array:
        """Return the function of each element of one array with each of the other.

        A Python number takes the dtype of the array, as in a call, and as in NumPy from 2.6 on.
        """
        if self.nin != 2:
            raise ValueError(f"outer only supported for binary functions: {self.__name__} is none")
        return (self if self.takes_weak_number(A, B) else self._outer_of_arrays)(A, B, **options)

    @_in_numpys_way(np.ufunc.outer)
    def _outer_of_arrays(self, A: ArrayLike, B: ArrayLike, /, **options: Any) -> Array:
        A = as_ours(A)
        B = as_ours(B)
        return self.by_jax(A[(..., *(None,) * B.ndim)] if B.ndim else A, B, **options)

    def at(self, a: Array, indices: Any, b: ArrayLike | None = None, /) -> None:
        """Write ``f(a[indices], b)`` to ``a[indices]``, once for each index that comes again.

        A Python number takes the dtype of the array, as in a call, and as in NumPy from 2.6 on: one that this
        dtype does not hold raises OverflowError.
        """
        how = self._how_at
        are_arrays = type(a) is type(indices) is type(b) is Array
        may_wait = are_arrays and is_recording() and a.dtype.kind in "iuf"
        if may_wait and how is not None and a._writes_at(indices, b, how):
            return
        if type(b) in _WEAK_TYPES and isinstance(a, Array) and is_registered(a.dtype):
            dtypes = self._numpys.resolve_dtypes((a.dtype, type(b), None))
            b = np.asarray(b, dtypes[1])
        if b is None:
            self._write_at(a, indices)
        else:
            self._write_at(a, indices, b)

    @_in_numpys_way(np.ufunc.at)
    def _write_at(self, a: Array, indices: Any, b: ArrayLike | None = None) -> None:
        if not isinstance(a, Array):
            raise TypeError(f"{self.__name__}.at writes to an array of jaxapi.numpy, got {type(a).__name__}")
        if (b is None) != (self.nin == 1):
            raise ValueError(f"{self.__name__}.at takes {self.nin - 1} operands beside the array")
        how = self._how_at
        if how in ("max", "min") and a.dtype.kind == "c":  # of which JAX's writes lose NaN
            how = None
        has_room = may_have_room(indices) and _is_written_by_rows(a, b)
        if how and has_room and accumulate_rows(a, indices, b, how):
            return
        new: Any = None if b is None else as_ours(b)._current
        if new is not None:
            refuse_complex(new.dtype, a.dtype)
        if how and a.dtype != np.bool and _computes_in_its_own_numbers(a.dtype, new.dtype):
            new = cast(new, a.dtype)

            @takes_pending
            def write(value, key, new, made):
                return write_each(value, key, new, made, how)

            a._rewrite(write, written(indices), new)
            return
        new = concrete(new)
        places = ours(jnp.arange(a.size).reshape(a.shape))[indices]._value
        if not places.size:
            return
        given = () if new is None else (jnp.broadcast_to(new, places.shape).ravel(),)

        def step(x, each):
            i, *operands = each
            return x.at[i].set(self._of_values(x[i], *operands).astype(x.dtype)), None

        flat, _ = jax.lax.scan(step, a._value.ravel(), (places.ravel(), *given))
        a[...] = flat.reshape(a.shape)

    def resolve_dtypes(self, dtypes, **options):
        """Return NumPy's dtypes of the operands and the result."""
        return self._numpys.resolve_dtypes(dtypes, **options)


def _is_written_by_rows(a, b) -> bool:
    """Whether an operand has a dtype that an array is written to with as it is."""
    return isinstance(b, (Array, np.ndarray, np.generic)) and a.dtype == b.dtype != np.bool


def _computes_in_its_own_numbers(dtype, other) -> bool:
    """Whether an operand may be cast first: not floats among integers, whose sum loses its fraction."""
    is_inexact = jnp.issubdtype(dtype, np.inexact)
    return bool(is_inexact or jnp.issubdtype(jnp.promote_types(dtype, other), np.integer))


def _placed(result, out, where, casting, args):
    """Return a result, written to ``out`` and only ``where``."""
    if where is not True:
        mask = current_of(where)
        if getattr(mask, "dtype", np.dtype(bool)) != np.bool:
            raise TypeError(f"where must be an array of bool, got {mask.dtype}")
        if out is None:
            before = jnp.zeros((), result.dtype)
        else:
            shape = np.broadcast_shapes(result.shape, np.shape(mask))
            check_out(out, shape, result.dtype, casting, broadcasts=True)
            result = cast(result, out.dtype)
            before = out._current
        with x64_for(result.dtype):
            result = chosen(mask, result, before)
    return into(out, ours(result, *args), casting, broadcasts=True)


UFUNCS = {
    name: ufunc(name, value)
    for name, value in vars(np).items()
    if isinstance(value, np.ufunc) and name in ELEMENTWISE
}
