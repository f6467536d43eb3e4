"""The standard's functions by NumPy, of arrays in the host's memory, with the dtypes of `jaxapi`'s.

Arrays come in the dtype that JAX promotes them to, which is NumPy's where they are of one kind. Whatever else
`jaxapi` takes, lists and numbers alone above all, and whatever NumPy refuses, is left to JAX, which computes
it or raises its own errors: these functions raise `NotOnHost`.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from .. import linalg as _linalg
from .._core._dtypes import (
    default_dtype,
    is_numpys,
    promoted_dtype,
    refuse_complex,
    resolve_dtype,
    x64_for,
    x64_mode,
)
from .._interop._by_numpy import sort_floats, sort_positions
from .._unique import RESULTS
from . import _host_way as host_way
from ._array import MUTABLE, from_host
from ._numpy_arguments import NotOnHost

__all__ = ["FUNCTIONS", "MAKES_ARRAYS", "by_standard", "cast_by_numpy"]

_NUMBERS = frozenset([int, float, complex])
_FLOAT16 = np.dtype(np.float16)


def by_standard(name: str, makes_scalars: bool) -> Callable[..., Any]:
    """Return what NumPy computes of the arguments of a function, as arrays of `jaxapi.mutable`.

    A result without axes is marked as a scalar where NumPy would return one.
    """
    compute = FUNCTIONS[name]

    def call(*args, **kwargs):
        if host_way.checks_programs():
            raise NotOnHost
        try:
            with np.errstate(all="ignore"):
                result = compute(*args, **kwargs)
        except Exception:  # whatever it is, JAX raises its own
            raise NotOnHost from None
        return _finished(result, args, makes_scalars)

    return call


def _finished(result, args, makes_scalars):
    """Return arrays of memory that nobody else has."""
    if isinstance(result, tuple):
        parts = [_finished(part, args, makes_scalars) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if type(result) is not np.ndarray:
        return from_host(np.asarray(result), MUTABLE, makes_scalars)
    may_be_shared = result.base is not None or any(x is result for x in args)
    return from_host(result.copy() if may_be_shared else result, MUTABLE, makes_scalars and not result.ndim)


# Operands


def _array(x: Any) -> Any:
    """Return an array; what is none, or of a dtype that NumPy lacks, is left to JAX."""
    if not isinstance(x, (np.ndarray, np.generic)) or not is_numpys(x.dtype):
        raise NotOnHost
    return x


def _real(x: Any) -> Any:
    """Return an array that has an order."""
    if _array(x).dtype.kind == "c":
        raise NotOnHost
    return x


def _number(x: Any) -> Any:
    """Return an array of numbers: JAX has other dtypes for what it computes of truth values."""
    if _array(x).dtype.kind == "b":
        raise NotOnHost
    return x


def _inexact(x: Any) -> Any:
    """Return an array, integers as the floats that JAX makes of them."""
    dtype = _array(x).dtype
    return x if dtype.kind in "fc" else x.astype(_promoted((dtype,), True, x64_mode()))


def _of_lapack(x: Any) -> Any:
    """Return finite numbers in a dtype that LAPACK computes in."""
    x = _inexact(x)
    if x.dtype == _FLOAT16 or not np.isfinite(x).all():
        raise NotOnHost
    return x


def _of_default_float(x: Any) -> Any:
    """Return an array, integers as the default float or a wider one."""
    return _operands(x, 0.0)[0] if _array(x).dtype.kind in "biu" else x


def _operands(*operands: Any, are_inexact: bool = False) -> list[Any]:
    """Return arrays and numbers as arrays of the dtype that they promote to."""
    kinds = tuple([_kind(x) for x in operands])
    first = kinds[0]
    are_of_one_dtype = isinstance(first, np.dtype) and kinds.count(first) == len(kinds)
    if are_of_one_dtype and (not are_inexact or first.kind in "fc"):
        return list(operands)
    dtype = _promoted(kinds, False, x64_mode())
    operands = tuple([_in_dtype(x, dtype) for x in operands])  # which raises for an integer that does not fit
    return [_inexact(x) for x in operands] if are_inexact else list(operands)


def _kind(x: Any) -> Any:
    """Return the dtype of an operand; of a number, which is weak, its class."""
    kind = type(x)
    if kind in _NUMBERS:
        return kind
    return np.dtype(bool) if kind is bool else _array(x).dtype


@functools.lru_cache
def _promoted(kinds: tuple, are_inexact: bool, wide: bool) -> np.dtype:
    """Return what operands promote to; ``wide`` is the x64 mode, which is asked."""
    if _NUMBERS.issuperset(kinds):  # whose results are weak, too
        raise NotOnHost
    dtype = promoted_dtype(*[kind if isinstance(kind, np.dtype) else kind(0) for kind in kinds])
    if not are_inexact or dtype.kind in "fc":
        return dtype
    with x64_for(dtype):
        return jax.eval_shape(jnp.sin, jax.ShapeDtypeStruct((), dtype)).dtype


def _in_dtype(x: Any, dtype: np.dtype) -> Any:
    if not isinstance(x, (np.ndarray, np.generic)):
        return _number_in_dtype(x, dtype)
    return x if x.dtype == dtype else x.astype(dtype)


def _number_in_dtype(x: Any, dtype: np.dtype) -> np.ndarray:
    """Return a Python number as an array; JAX's way warns of one that becomes an infinity."""
    made = np.asarray(x, dtype)
    if type(x) is float and math.isfinite(x) and not np.isfinite(made):
        raise NotOnHost
    return made


def _cast(x: Any, dtype: Any) -> Any:
    """Return an array in a dtype; what JAX casts by rules of its own is left to it."""
    dtype = resolve_dtype(dtype)
    refuse_complex(x.dtype, dtype)
    if x.dtype.kind == "f" and dtype.kind in "iu" and not _fits(x, dtype):
        raise NotOnHost
    return _in_dtype(x, dtype)


def _fits(x: Any, dtype: np.dtype) -> bool:
    """Whether an integer dtype holds floats; of others NumPy's casts depend on the machine."""
    limits = np.iinfo(dtype)
    return not x.size or bool(x.min() >= limits.min and x.max() < float(limits.max) + 1)


def cast_by_numpy(x: np.ndarray, dtype: Any) -> np.ndarray | None:
    """Return a copy of an array in a dtype, its own one if that is None; None where JAX is to cast."""
    try:
        with np.errstate(all="ignore"):
            cast = x if dtype is None else _cast(_array(x), dtype)
    except (NotOnHost, TypeError):
        return None
    return cast.copy() if cast is x else cast


def _positions(x: Any) -> Any:
    """Return positions or counts in the default dtype of integers."""
    return x.astype(default_dtype(int))


# Functions of each element


def _of_operands(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x1, x2, /):
        return numpys(*_operands(x1, x2))

    return function


def _of_numbers(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x1, x2, /):
        x1, x2 = _operands(x1, x2)
        return numpys(_number(x1), x2)

    return function


def _of_real_numbers(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x1, x2, /):
        x1, x2 = _operands(x1, x2)
        return numpys(_real(_number(x1)), x2)

    return function


def _of_real_operands(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x1, x2, /):
        x1, x2 = _operands(x1, x2, are_inexact=True)
        return numpys(_real(x1), x2)

    return function


def _of_array(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /):
        return numpys(_array(x))

    return function


def _of_number(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /):
        return numpys(_number(x))

    return function


def _of_real(numpys: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of real numbers: the standard's rules for complex ones are not NumPy's."""

    def function(x, /):
        return numpys(_real(_inexact(x)))

    return function


def _of_inexact(numpys: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of real and of finite complex numbers: the standard has other rules for the rest."""

    def function(x, /):
        return numpys(_finite_if_complex(_inexact(x)))

    return function


def _finite_if_complex(x: Any) -> Any:
    if x.dtype.kind == "c" and not np.isfinite(x).all():
        raise NotOnHost
    return x


def _sign(x, /):
    return np.sign(_finite_if_complex(_number(x)))


def _comparison(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x1, x2, /):
        are_arrays = isinstance(x1, np.ndarray) and isinstance(x2, np.ndarray)
        if are_arrays and x1.dtype.kind in "iu" and x2.dtype.kind in "iu":
            return numpys(x1, x2)  # by value
        return numpys(*_operands(x1, x2))

    return function


def _order(numpys: Callable[..., Any]) -> Callable[..., Any]:
    compare = _comparison(numpys)

    def function(x1, x2, /):
        for x in (x1, x2):
            if np.iscomplexobj(x):
                raise NotOnHost
        return compare(x1, x2)

    return function


def _logical(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x1, x2, /):
        return numpys(*_operands(x1, x2))

    return function


def _floor_divide(x1, x2, /):
    if np.dtype(bool) in (_kind(x1), _kind(x2)):
        raise NotOnHost
    x1, x2 = _operands(x1, x2)
    quotients = np.floor_divide(x1, x2)
    if quotients.dtype.kind != "f":
        return quotients
    are_special = np.isinf(x1) | np.isinf(x2) | (x1 == 0)
    return np.where(are_special, x1 / x2, quotients) if are_special.any() else quotients


def _hypot(x1, x2, /):
    x1, x2 = _operands(x1, x2)
    return np.hypot(*_operands(_real(_number(x1)), x2, are_inexact=True))


def _logaddexp(x1, x2, /):
    x1, x2 = _operands(x1, x2, are_inexact=True)
    return np.logaddexp(_real(x1), x2, dtype=np.float64).astype(x1.dtype, copy=False)


def _clip(x, /, min=None, max=None):
    limits = [limit for limit in (min, max) if limit is not None]
    operands = _operands(_real(x), *limits)
    x, *limits = operands
    upper = None if max is None else limits.pop()
    lower = None if min is None else limits.pop()
    clipped = np.clip(_real(x), lower, upper)
    has_zero_limit = not all(np.all(limit) for limit in operands[1:])
    if has_zero_limit and clipped.dtype.kind == "f" and not clipped.all():
        _refuse_negative_zeros(*operands)
    return clipped


def _round(x, /):
    return np.round(_number(x))


def _where(condition, x1, x2, /):
    return np.where(_array(condition), *_operands(x1, x2))


# Reductions


def _sum_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of sums and products."""
    default = default_dtype(int)
    if dtype.kind == "u":
        return np.promote_types(dtype, f"uint{8 * default.itemsize}")
    return np.promote_types(dtype, default) if dtype.kind in "bi" else dtype


def _fold(numpys: Callable[..., Any]) -> Callable[..., Any]:
    """Return a sum or a product, of float16 in float32."""

    def function(x, /, axis=None, dtype=None, *, keepdims=False):
        _check_axes(_array(x), axis)
        if x.dtype.kind == "c" and (numpys is np.prod or dtype is not None or _count(x, axis) == 1):
            raise NotOnHost
        x = x if dtype is None else _cast(x, dtype)
        dtype = _sum_dtype(x.dtype) if dtype is None else x.dtype
        working_dtype = np.dtype(np.float32) if dtype == _FLOAT16 else dtype
        fold = functools.partial(numpys, dtype=working_dtype)
        return _of_rows(fold, x, axis, keepdims).astype(dtype, copy=False)

    return function


def _cumulative(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /, *, axis=None, dtype=None, include_initial=False):
        if not _real(x).ndim:
            raise NotOnHost
        x = x if dtype is None else _cast(x, dtype)
        dtype = _sum_dtype(x.dtype) if dtype is None else x.dtype
        if dtype == _FLOAT16:
            raise NotOnHost
        # One by one, as NumPy adds, rounding errors grow with the number of elements.
        working_dtype = {"float32": np.float64, "float64": np.longdouble}.get(dtype.name, dtype)
        folded = numpys(x, axis=axis, dtype=working_dtype, include_initial=include_initial)
        if dtype.kind == "f" and not folded.all():
            _refuse_negative_zeros(x)
        folded = folded.astype(dtype, copy=False)
        if dtype.kind == "f" and not np.isfinite(folded).all():  # what comes behind an overflow is none, too
            raise NotOnHost
        return folded

    return function


def _check_axes(x, axis):
    """Leave it to JAX to refuse axes of an array without any, where NumPy takes 0 and -1."""
    if not x.ndim and axis not in (None, ()):
        raise NotOnHost


def _count(x, axis) -> int:
    """Return how many elements are reduced to one."""
    _check_axes(x, axis)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    return math.prod([x.shape[each] for each in axes])


_FEW = 32  # are added one by one, with little error


def _of_rows(fold: Callable[..., Any], x: Any, axis: Any, keepdims: bool) -> Any:
    """Return a sum, or what is made of one, along axes: of rows of memory, which NumPy adds in pairs.

    Along other axes it adds one by one, and rounding errors grow with the number of elements.
    """
    if x.dtype.kind not in "fc" or _count(x, axis) <= _FEW:
        return fold(x, axis=axis, keepdims=keepdims)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    kept_shape = [x.shape[i] for i in kept]
    rows = np.ascontiguousarray(np.transpose(x, (*kept, *axes)))
    folded = fold(rows.reshape(*kept_shape, _count(x, axis)), axis=-1)
    if not keepdims:
        return folded
    return np.reshape(folded, [1 if i in axes else n for i, n in enumerate(x.shape)])


def _mean(x, /, axis=None, *, keepdims=False):
    x = _finite_if_complex(_inexact(x))
    if _count(x, axis) < 2:  # NumPy warns of none, and has 0 for a single -0
        raise NotOnHost
    return _of_rows(np.mean, x, axis, keepdims)


def _deviation(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /, axis=None, *, correction=0, keepdims=False):
        x = _inexact(x)
        is_warned_of = not _count(x, axis) > correction
        if x.dtype == _FLOAT16 or is_warned_of:  # whose squares overflow
            raise NotOnHost
        return _of_rows(functools.partial(numpys, correction=correction), x, axis, keepdims)

    return function


def _extreme(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /, *, axis=None, keepdims=False):
        x = _real(x)
        _check_axes(x, axis)
        extreme = numpys(x, axis=axis, keepdims=keepdims)
        if x.dtype.kind == "f" and not extreme.all():
            _refuse_negative_zeros(x)
        return extreme

    return function


def _refuse_negative_zeros(*arrays):
    """Leave it to JAX which of 0.0 and -0.0 is the larger one."""
    for x in arrays:
        if ((x == 0) & np.signbit(x)).any():
            raise NotOnHost


def _of_larger(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x1, x2, /):
        x1, x2 = _operands(x1, x2)
        extreme = numpys(x1, x2)
        if extreme.dtype.kind == "c":
            raise NotOnHost
        if extreme.dtype.kind == "f" and not extreme.all():
            _refuse_negative_zeros(x1, x2)
        return extreme

    return function


def _truth(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /, *, axis=None, keepdims=False):
        _check_axes(_array(x), axis)
        return numpys(x, axis=axis, keepdims=keepdims)

    return function


def _arg_extreme(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /, *, axis=None, keepdims=False):
        _check_axes(_real(x), axis)
        return _positions(numpys(x, axis=axis, keepdims=keepdims))

    return function


def _count_nonzero(x, /, axis=None, keepdims=False):
    _check_axes(_array(x), axis)
    return _positions(np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims)))


# Sorting, searching and sets


_KEY_BYTES = 4  # of elements that are sorted together with their positions, as one integer


def _sort(x, /, axis=-1, *, stable=True, descending=False):
    _check_axes(_real(x), axis)
    if x.dtype.kind == "f":  # whose zeros keep their order
        return sort_floats(x, axis, descending=descending)
    in_order = np.sort(x, axis=axis)
    return np.flip(in_order, axis) if descending else in_order


def _argsort(x, /, axis=-1, *, stable=True, descending=False):
    _check_axes(_real(x), axis)
    if x.dtype.itemsize <= _KEY_BYTES and x.dtype != _FLOAT16 and axis is not None:
        return sort_positions(x, axis, descending=descending)
    if not descending:
        return _positions(np.argsort(_real(x), axis=axis, stable=True))
    # Seen from the end, the last of equal elements is the first.
    from_the_end = np.argsort(np.flip(_real(x), axis), axis=axis, stable=True)
    return _positions(x.shape[axis] - 1 - np.flip(from_the_end, axis))


def _searchsorted(x1, x2, /, *, side="left", sorter=None):
    x1, x2 = _operands(_real(x1), x2)
    return _positions(np.asarray(np.searchsorted(x1, _real(x2), side, sorter)))


def _nonzero(x, /):
    return tuple([_positions(along_axis) for along_axis in np.nonzero(_array(x))])


def _isin(x1, x2, /, *, invert=False):
    kinds = [_kind(x1), _kind(x2)]
    are_integers = all(isinstance(kind, np.dtype) and kind.kind in "iu" for kind in kinds)
    if are_integers and kinds[0] != kinds[1]:
        raise NotOnHost
    return np.isin(*_operands(x1, x2), invert=invert)


def _unique(name: str, *parts: str) -> Callable[..., Any]:
    result_type = RESULTS[name]

    def function(x, /):
        x = _real(x)
        values, *others = np.unique(x, equal_nan=False, **dict.fromkeys(parts, True))
        others = [_positions(part) for part in others]
        if "return_inverse" in parts:
            i = parts.index("return_inverse")
            others[i] = others[i].reshape(x.shape)
        return result_type(values, *others)

    return function


def _unique_values(x, /):
    return np.unique(_real(x), equal_nan=False)


# Manipulation and indexing


def _repeat(x, repeats, /, *, axis=None):
    are_integers = np.asarray(repeats).dtype.kind in "iu"
    if not are_integers or np.min(repeats, initial=0) < 0:  # which NumPy takes where there are no elements
        raise NotOnHost
    return np.repeat(_array(x), repeats, axis)


def _broadcast_arrays(*arrays):
    return np.broadcast_arrays(*map(_array, arrays))


def _broadcast_to(x, /, shape):
    return np.broadcast_to(_array(x), shape)


def _concat(arrays, /, axis=0):
    return np.concat(_operands(*_sequence(arrays)), axis=axis)


def _stack(arrays, /, *, axis=0):
    return np.stack(_operands(*_sequence(arrays)), axis=axis)


def _sequence(arrays):
    if type(arrays) not in (list, tuple):
        raise NotOnHost
    return arrays


def _expand_dims(x, /, axis):
    return np.expand_dims(_array(x), tuple(axis) if type(axis) is list else axis)


def _flip(x, /, axis=None):
    return np.flip(_array(x), axis)


def _moveaxis(x, source, destination, /):
    return np.moveaxis(_array(x), source, destination)


def _permute_dims(x, /, axes):
    if len(axes) != _array(x).ndim:
        raise NotOnHost
    return np.permute_dims(x, tuple(axes))


def _roll(x, /, shift, axis=None):
    return np.roll(_array(x), shift, axis)


def _squeeze(x, /, axis):
    return np.squeeze(_array(x), axis)


def _tile(x, repetitions, /):
    return np.tile(_array(x), repetitions)


def _unstack(x, /, *, axis=0):
    return np.unstack(_array(x), axis=axis)


def _take(x, indices, /, axis=None):
    return np.take(_array(x), indices, axis=axis)


def _take_along_axis(x, indices, /, axis=-1):
    return np.take_along_axis(_array(x), _array(indices), axis)


def _diff(x, /, *, axis=-1, n=1):
    return np.diff(_array(x), n=n, axis=axis)


# Creation


def _of_default(dtype):
    return default_dtype(float) if dtype is None else resolve_dtype(dtype)


def _filled(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(shape, *, dtype=None, device=None):
        _refuse_device(device)
        return numpys(shape, _of_default(dtype))

    return function


def _filled_like(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /, *, dtype=None, device=None):
        _refuse_device(device)
        return numpys(_array(x).shape, x.dtype if dtype is None else resolve_dtype(dtype))

    return function


def _refuse_device(device):
    if device is not None:
        raise NotOnHost


def _empty(shape, *, dtype=None, device=None):
    _refuse_device(device)
    return np.zeros(shape, _of_default(dtype))  # as of `jaxapi.empty`


def _arange(start, stop=None, step=None, dtype=None, *, device=None):
    _refuse_device(device)
    given = [x for x in (start, stop, step) if x is not None]
    types = {*map(type, given)}
    if not types <= {int, float}:
        raise NotOnHost
    dtype = default_dtype(float if float in types else int) if dtype is None else resolve_dtype(dtype)
    are_integers = types == {int} and dtype.kind in "iu"
    if not are_integers and dtype not in (np.float32, np.float64):
        raise NotOnHost
    values = np.arange(start, stop, 1 if step is None else step, np.int64 if are_integers else dtype)
    if are_integers:
        limits = np.iinfo(dtype)
        if values.size and not (limits.min <= values.min() and values.max() <= limits.max):
            raise NotOnHost
    return values.astype(dtype, copy=False)


def _value_to_fill_with(value, dtype):
    """Return a number or an array in a dtype, its own one if that is None."""
    if isinstance(value, (np.ndarray, np.generic)):
        return _array(value) if dtype is None else _cast(_array(value), dtype)
    dtype = default_dtype(type(value)) if dtype is None else resolve_dtype(dtype)
    refuse_complex(np.asarray(value).dtype, dtype)
    if type(value) is float and dtype.kind in "iu":
        raise NotOnHost
    return _number_in_dtype(value, dtype)


def _full(shape, fill_value, *, dtype=None, device=None):
    _refuse_device(device)
    value = _value_to_fill_with(fill_value, dtype)
    return np.full(shape, value, value.dtype)


def _full_like(x, /, fill_value, *, dtype=None, device=None):
    _refuse_device(device)
    value = _value_to_fill_with(fill_value, _array(x).dtype if dtype is None else dtype)
    return np.full(x.shape, value, value.dtype)


def _eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    _refuse_device(device)
    return np.eye(n_rows, n_cols, k, _of_default(dtype))


def _linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    _refuse_device(device)
    for x in (start, stop):
        is_negative_zero = x == 0 and math.copysign(1, x) < 0
        if type(x) not in (int, float) or not math.isfinite(x) or is_negative_zero:
            raise NotOnHost
    dtype = _of_default(dtype)
    if dtype.kind != "f":
        raise NotOnHost
    return np.linspace(start, stop, num, endpoint=endpoint).astype(dtype)


def _meshgrid(*arrays, indexing="xy"):
    if any(_array(x).ndim != 1 for x in arrays):
        raise NotOnHost
    return tuple(np.meshgrid(*arrays, indexing=indexing))


def _triangle(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /, *, k=0):
        if _array(x).ndim < 2:
            raise NotOnHost
        return numpys(x, k=k)

    return function


# Linear algebra


def _matmul(x1, x2, /):
    return _product(np.matmul, x1, x2)


def _product(numpys, x1, x2, **options):
    """Return a product of arrays of numbers."""
    x1, x2 = _operands(_array(x1), _array(x2))
    if x1.dtype.kind == "b":
        raise NotOnHost
    return numpys(x1, x2, **options)


def _tensordot(x1, x2, /, *, axes=2):
    return _product(np.tensordot, x1, x2, axes=axes)


def _vecdot(x1, x2, /, *, axis=-1):
    return _product(np.vecdot, x1, x2, axis=axis)


def _outer(x1, x2, /):
    return _product(np.linalg.outer, x1, x2)


def _cross(x1, x2, /, *, axis=-1):
    return _product(np.linalg.cross, x1, x2, axis=axis)


def _trace(x, /, *, offset=0, dtype=None):
    x = _array(x) if dtype is None else _cast(_array(x), dtype)
    return np.linalg.trace(x, offset=offset, dtype=_sum_dtype(x.dtype) if dtype is None else x.dtype)


def _diagonal(x, /, *, offset=0):
    return np.linalg.diagonal(_array(x), offset=offset)


def _of_matrices(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /):
        return numpys(_of_lapack(x))

    return function


def _cholesky(x, /, *, upper=False):
    lower = np.linalg.cholesky(_symmetric(x))
    return np.conj(np.matrix_transpose(lower)) if upper else lower


def _det(x, /):
    determinant = np.linalg.det(_of_lapack(_of_default_float(x)))
    if not determinant.all():  # whose sign NumPy takes from the factors
        raise NotOnHost
    return determinant


def _slogdet(x, /):
    sign, logarithm = np.linalg.slogdet(_of_lapack(x))
    if not sign.all():
        raise NotOnHost
    return _linalg._results.SlogdetResult(sign, logarithm)


def _symmetric(x: Any) -> Any:
    """Return the mean of matrices and their adjoints, as JAX does: NumPy reads a triangle."""
    x = _of_lapack(x)
    return (x + np.conj(np.matrix_transpose(x))) / 2


def _eigh(x, /):
    return _linalg._results.EighResult(*np.linalg.eigh(_symmetric(x)))


def _eigvalsh(x, /):
    return np.linalg.eigvalsh(_symmetric(x))


def _eig(x, /):
    values, vectors = np.linalg.eig(_of_lapack(x))
    return _linalg._results.EigResult(_as_complex(values), _as_complex(vectors))


def _eigvals(x, /):
    return _as_complex(np.linalg.eigvals(_of_lapack(x)))


def _as_complex(x):
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


def _qr(x, /, *, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise NotOnHost
    return _linalg._results.QRResult(*np.linalg.qr(_of_lapack(x), mode))


def _svd(x, /, *, full_matrices=True):
    return _linalg._results.SVDResult(*np.linalg.svd(_of_lapack(x), full_matrices=full_matrices))


def _solve(x1, x2, /):
    x1, x2 = _operands(x1, x2, are_inexact=True)
    return np.linalg.solve(_of_lapack(x1), x2)


def _matrix_power(x, n, /):
    return np.linalg.matrix_power(_of_lapack(x) if n < 0 else _array(x), n)


def _matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return np.linalg.matrix_norm(_of_lapack(x), keepdims=keepdims, ord=ord)


def _vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    return np.linalg.vector_norm(_of_lapack(_of_default_float(x)), axis=axis, keepdims=keepdims, ord=ord)


def _matrix_rank(x, /, *, rtol=None):
    if _array(x).ndim < 2:
        raise NotOnHost
    return _positions(np.asarray(np.linalg.matrix_rank(_of_lapack(x), rtol=rtol)))


def _pinv(x, /, *, rtol=None):
    x = _of_lapack(_of_default_float(x))
    if rtol is None:
        rtol = max(x.shape[-2:]) * np.finfo(x.dtype).eps
    inverse = np.linalg.pinv(x, rtol=rtol)
    if not inverse.all():  # which of these zeros are negative, JAX says
        raise NotOnHost
    return inverse


# Fourier transforms


def _to_transform(x: Any) -> Any:
    """Return an array that is not empty: of others NumPy returns what its memory held."""
    if not _array(x).size:
        raise NotOnHost
    return _of_lapack(x if x.dtype.kind in "fc" else x.astype(default_dtype(float)))


def _transform(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /, *, n=None, axis=-1, norm="backward"):
        return numpys(_to_transform(x), n=n, axis=axis, norm=norm)

    return function


def _transform_of_axes(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /, *, s=None, axes=None, norm="backward"):
        if axes is None and s is not None:  # of which NumPy warns
            raise NotOnHost
        if s is not None and min(s, default=1) < 1:  # -1 is the length of the axis to NumPy
            raise NotOnHost
        if axes is not None and len({*normalize_axis_tuple(axes, _array(x).ndim)}) < len(axes):
            raise NotOnHost
        return numpys(_to_transform(x), s=s, axes=axes, norm=norm)

    return function


def _frequencies(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(n, /, *, d=1.0, dtype=None, device=None):
        _refuse_device(device)
        dtype = _of_default(dtype)
        if dtype.kind != "f":
            raise NotOnHost
        return numpys(n, d=d).astype(dtype)

    return function


def _shifted(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def function(x, /, *, axes=None):
        return numpys(_array(x), axes=axes)

    return function


def _each(rule: Callable[..., Any], names: str, module: Any = np) -> dict[str, Callable[..., Any]]:
    return {name: rule(getattr(module, name)) for name in names.split()}


_OF_ARRAY = "abs bitwise_invert ceil floor imag isfinite isinf isnan logical_not real signbit trunc"
_OF_REAL = "acos acosh asin asinh atan atanh expm1 log1p reciprocal tan tanh"
_OF_INEXACT = "cos cosh exp log log2 log10 sin sinh sqrt"

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_each(_of_array, _OF_ARRAY),
    **_each(_of_number, "conj negative positive square"),
    **_each(_of_real, _OF_REAL),
    **_each(_of_inexact, _OF_INEXACT),
    **_each(_of_operands, "add bitwise_and bitwise_or bitwise_xor multiply subtract"),
    **_each(_of_numbers, "bitwise_left_shift bitwise_right_shift"),
    **_each(_of_real_numbers, "pow remainder"),
    **_each(_of_real_operands, "atan2 copysign divide nextafter"),
    **_each(_comparison, "equal not_equal"),
    **_each(_order, "greater greater_equal less less_equal"),
    **_each(_logical, "logical_and logical_or logical_xor"),
    **_each(_of_larger, "maximum minimum"),
    **_each(_fold, "prod sum"),
    **_each(_cumulative, "cumulative_prod cumulative_sum"),
    **_each(_deviation, "std var"),
    **_each(_extreme, "max min"),
    **_each(_truth, "all any"),
    **_each(_arg_extreme, "argmax argmin"),
    **_each(_filled, "ones zeros"),
    **_each(_triangle, "tril triu"),
    **_each(_of_matrices, "inv svdvals", np.linalg),
    **_each(_of_array, "matrix_transpose"),
    **_each(_transform, "fft hfft ifft ihfft irfft rfft", np.fft),
    **_each(_transform_of_axes, "fftn ifftn irfftn rfftn", np.fft),
    **_each(_frequencies, "fftfreq rfftfreq", np.fft),
    **_each(_shifted, "fftshift ifftshift", np.fft),
    "arange": _arange,
    "argsort": _argsort,
    "broadcast_arrays": _broadcast_arrays,
    "broadcast_to": _broadcast_to,
    "cholesky": _cholesky,
    "clip": _clip,
    "concat": _concat,
    "count_nonzero": _count_nonzero,
    "cross": _cross,
    "det": _det,
    "diagonal": _diagonal,
    "diff": _diff,
    "eig": _eig,
    "eigh": _eigh,
    "eigvals": _eigvals,
    "empty": _empty,
    "empty_like": _filled_like(np.zeros),
    "eigvalsh": _eigvalsh,
    "expand_dims": _expand_dims,
    "eye": _eye,
    "flip": _flip,
    "floor_divide": _floor_divide,
    "full": _full,
    "full_like": _full_like,
    "hypot": _hypot,
    "isin": _isin,
    "logaddexp": _logaddexp,
    "linspace": _linspace,
    "matmul": _matmul,
    "matrix_norm": _matrix_norm,
    "matrix_power": _matrix_power,
    "matrix_rank": _matrix_rank,
    "mean": _mean,
    "meshgrid": _meshgrid,
    "moveaxis": _moveaxis,
    "nonzero": _nonzero,
    "ones_like": _filled_like(np.ones),
    "outer": _outer,
    "permute_dims": _permute_dims,
    "pinv": _pinv,
    "qr": _qr,
    "repeat": _repeat,
    "roll": _roll,
    "round": _round,
    "searchsorted": _searchsorted,
    "sign": _sign,
    "slogdet": _slogdet,
    "solve": _solve,
    "sort": _sort,
    "squeeze": _squeeze,
    "stack": _stack,
    "svd": _svd,
    "take": _take,
    "take_along_axis": _take_along_axis,
    "tensordot": _tensordot,
    "tile": _tile,
    "trace": _trace,
    "unique_all": _unique("unique_all", "return_index", "return_inverse", "return_counts"),
    "unique_counts": _unique("unique_counts", "return_counts"),
    "unique_inverse": _unique("unique_inverse", "return_inverse"),
    "unique_values": _unique_values,
    "unstack": _unstack,
    "vecdot": _vecdot,
    "vector_norm": _vector_norm,
    "where": _where,
    "zeros_like": _filled_like(np.zeros),
}

# They make arrays of numbers alone, which lie where JAX puts new ones.
MAKES_ARRAYS = frozenset(["arange", "empty", "eye", "fftfreq", "full", "linspace", "ones", "rfftfreq"])
MAKES_ARRAYS |= {"zeros"}
