"""Functions of the table, run on the buffer of an array."""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxapi

from ..._core._dtypes import resolve_dtype, x64_for
from ..._core._exact import exact
from ..._core._programs import compiled
from .._array import NUMPY, Array, may_have_room, rows_of, rows_or_value, wrap, wrap_rows
from ._elementwise import aligned, computed
from ._fillers import filled
from ._matrices import MATRICES
from ._products import PRODUCTS, computed_of_transposes, rows_of_transpose
from ._rows import Rows, as_default_integers, is_exact, is_possible, number_of
from ._selecting import MAKING_ROOM, TAKES
from ._shapes import SHAPES
from ._stacks import OF_VECTORS, of_stacks
from ._table import EACH_ROW, TABLE, Rule

__all__ = ["of_elements", "way_by_implementation", "way_on_rows"]

_SHAPING = frozenset(["axis", "correction", "ddof", "decimals", "dtype", "keepdims", "ord"])
_CHOOSING = ("where", "initial")
# Arguments that may be given as their defaults, at which there is nothing to do.
_OTHER = frozenset(
    ["descending", "include_initial", "initial", "mean", "ord", "order", "out", "stable", "where"]
)
_IMPLEMENTATIONS = PRODUCTS | SHAPES | TAKES | MATRICES | OF_VECTORS
_ALSO_BY_KEYWORD = frozenset(
    ["axes", "axis", "bins", "destination", "q", "shape", "source"]
)  # none has a default
_RETURN_INTEGERS = frozenset(["argmax", "argmin", "argsort", "count_nonzero"])
_KINDS = (None, "quicksort", "heapsort", "mergesort", "stable")  # sorting is stable, whatever is asked for


class Entry:
    """A function of the table, and its arguments behind the array."""

    def __init__(self, function: Callable[..., Any], name: str, rule: Rule):
        """Read the function's signature."""
        self.function = function
        self.name = name
        self.rule = rule
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.defaults = {p.name: p.default for p in parameters}

    def options(self, module: str, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """Return the arguments that shape the program; None if others are given."""
        if len(args) > len(self.defaults):
            return None
        options = {}
        for name, value in [*zip(self.defaults, args, strict=False), *kwargs.items()]:
            is_a_kind = module == NUMPY and name == "kind" and value in _KINDS
            if value is np._NoValue or is_a_kind:
                continue
            is_choosing = name in _CHOOSING and name in self.defaults and value is not None
            is_shaping = name in _SHAPING and _is_plain(name, value)
            if is_shaping or (is_choosing and self.rule.folds):
                options[name] = value
            elif name not in _OTHER or value is not self.defaults.get(name):
                return None
        return options

    def axes(self, options: dict[str, Any], ndim: int) -> list[int] | None:
        """Return the axes along which elements are mixed; None where axes are wrong, or rows are lost."""
        if "axis" not in self.defaults:
            return []
        axis = options.get("axis", self.defaults["axis"])
        if axis is None:
            is_flattened = ndim > 1 and not self.rule.folds
            return None if is_flattened else list(range(ndim))
        axes = axis if type(axis) is tuple else (axis,)
        return [i % ndim for i in axes] if all(-ndim <= i < ndim for i in axes) else None


def _is_plain(name: str, value: Any) -> bool:
    """Whether an argument has the form that programs are kept by; another one the exact array may take."""
    if name == "axis":
        are_plain = type(value) is tuple and all(type(i) is int for i in value)
        return value is None or type(value) is int or are_plain
    if name == "dtype":
        return value is None or isinstance(value, (type, np.dtype))
    if name == "ord":
        return value in ("fro", "nuc") if type(value) is str else type(value) in (int, float) and value > 0
    return type(value) in (bool, int, float)


def of_elements(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    """Return what a function of each element makes of arrays with room; None where it needs exact ones."""
    if kwargs or not is_possible():
        return None
    rows_of_args = [rows_of(x) for x in args]
    has_rows = False
    has_transpose = False
    for x, rows in zip(args, rows_of_args, strict=True):
        has_rows = has_rows or rows is not None
        is_view = rows is None and may_have_room(x)
        has_transpose = has_transpose or (is_view and rows_of_transpose(x) is not None)
    made = computed_of_transposes(function, args, module) if has_transpose else None
    if made is not None or not has_rows:
        return made
    operands = []
    for x, rows in zip(args, rows_of_args, strict=True):
        exact_operand = x._value if isinstance(x, Array) and rows is None else x
        operands.append(exact_operand if rows is None else rows)
    made = computed(function, operands)
    if isinstance(made, tuple):
        return tuple([wrap_rows(rows, module) for rows in made])
    return None if made is None else wrap_rows(made, module)


def way_on_rows(
    function: Callable[..., Any], name: str, module: str
) -> Callable[[tuple, dict[str, Any]], Any] | None:
    """Return what tries a function of arrays on their buffers first, and returns None for exact ones.

    It is asked where one of the arguments `may_have_room`; for those of `MAKING_ROOM` for every array.
    """
    if name in MAKING_ROOM:
        return _selecting_way(MAKING_ROOM[name], module)
    attempts = [of_stacks(function, name, module)]
    if name in _IMPLEMENTATIONS:
        attempts.append(way_by_implementation(_IMPLEMENTATIONS[name], function, module))
    found = [attempt for attempt in attempts if attempt is not None]
    if found:
        return found[0] if len(found) == 1 else functools.partial(_first_result, found)
    entry = entry_of(function, name)
    if entry is None:
        return None

    def way(args, kwargs):
        return on_rows(entry, args[0], args[1:], kwargs) if may_have_room(args[0]) else None

    return way


def _first_result(attempts: list[Callable[..., Any]], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return the first result of several attempts that is not None."""
    for attempt in attempts:
        result = attempt(args, kwargs)
        if result is not None:
            return result
    return None


def _selecting_way(function: Callable[..., Any], module: str) -> Callable[[tuple, dict[str, Any]], Any]:
    names = frozenset(inspect.signature(function).parameters) - {"module"}

    def way(args, kwargs):
        if not isinstance(args[0], Array) or not names.issuperset(kwargs) or len(args) > len(names):
            return None
        return function(*args, module=module, **kwargs) if is_possible() else None

    return way


def way_by_implementation(
    implementation: Callable[..., Any], function: Callable[..., Any], module: str
) -> Callable[[tuple, dict[str, Any]], Any]:
    """Return what tries a product, a decomposition or the like: no buffer is made of exact arrays alone.

    ``implementation`` does so, of the arguments of ``function``, whose order is both's. It may ask for
    ``function`` itself, too.
    """
    parameters = inspect.signature(implementation).parameters
    if "function" in parameters:
        implementation = functools.partial(implementation, function=function)
    names = frozenset([name for name, p in parameters.items() if p.default is not p.empty])
    names |= _ALSO_BY_KEYWORD.intersection(parameters)
    most = min(_most_positional(implementation), _most_positional(function))

    def way(args, kwargs):
        if not names.issuperset(kwargs) or len(args) > most or not is_possible():
            return None
        return implementation(*args, module=module, **kwargs)

    return way


def _most_positional(function: Callable[..., Any]) -> float:
    """Return how many arguments a function takes by their place."""
    kinds = [p.kind for p in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return math.inf
    return len([kind for kind in kinds if kind is not inspect.Parameter.KEYWORD_ONLY])


def entry_of(function: Callable[..., Any], name: str) -> Entry | None:
    """Return what runs a function on buffers; None if the table has no rule for it."""
    rule = TABLE.get(name)
    return None if rule is None else Entry(function, name, rule)


def on_rows(entry: Entry, x: Array, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return what a function of the table makes of an array with room; None where it needs the exact one."""
    rows = x._rows()
    options = None if rows is None else entry.options(x._module, args, kwargs)
    if rows is None or options is None:
        return None
    axes = entry.axes(options, rows.value.ndim)
    correction = options.get("correction", 0)
    if axes is None or (correction and "ddof" in options):
        return None
    if not is_exact(correction + options.get("ddof", 0)):
        return None  # no degree of freedom may be left
    rule = entry.rule
    if 0 not in axes:
        rule = EACH_ROW
    if rule.filler == "missing" and rows.value.dtype.kind not in "fc":
        return None
    operands: tuple = (rows.value, number_of(rows.count))
    if "where" in options or "initial" in options:
        mask = options.pop("where", True)
        initial = options.pop("initial", None)
        values = aligned([rows, rows_or_value(mask)])
        if values is None or not _is_choice(*values) or not _is_start(initial):
            return None
        operands = (*values, operands[1])
        key = (type(initial), repr(initial))  # which tells -0.0 from 0.0
        program = _program_of_chosen(entry.function, x._module, key, tuple(options.items()))
    else:
        program = _program(entry.function, entry.name, rule, x._module, tuple(options.items()))
    given_dtype = resolve_dtype(options.get("dtype"))
    dtypes = (rows.value.dtype,) if given_dtype is None else (rows.value.dtype, given_dtype)
    try:
        with x64_for(*dtypes):
            made = program(*operands)
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        return None  # as the exact array raises, too
    if entry.name in _RETURN_INTEGERS:
        made = as_default_integers(made)
    if rule.folds:
        return wrap(made, x._module, is_scalar=not made.ndim)
    return wrap_rows(Rows(made, rows.count), x._module)


@functools.cache
def _program(function, name: str, rule: Rule, module: str, options: tuple) -> Any:
    """Return the program of a function of the table, of a buffer and the number of rows that count."""
    given = dict(options)

    def of_values(value):
        return function(wrap(value, module), **given)._value

    def run(value, count):
        if rule.takes_count:
            return _AVERAGES[name](of_values, value, count, **given)
        return of_values(filled(value, count, rule.filler))

    return compiled(run)


def _is_choice(value: jax.Array, mask: Any) -> bool:
    """Whether a mask is True, or an array that chooses elements of a buffer."""
    if mask is True or getattr(mask, "dtype", None) != np.bool or not mask.ndim:
        return mask is True
    lengths = zip(reversed(mask.shape), reversed(value.shape), strict=False)
    return mask.ndim <= value.ndim and all(n in (1, m) for n, m in lengths)


def _is_start(initial: Any) -> bool:
    """Whether a fold starts at nothing, or at a number of Python's, which a program may be kept by."""
    return initial is None or type(initial) in (bool, int, float)


@functools.lru_cache(maxsize=256)  # as many as the numbers that folds start at
def _program_of_chosen(function, module: str, start: tuple, options: tuple) -> Any:
    """Return the program that folds the elements of a buffer that a mask chooses, of the rows that count."""
    given = dict(options)
    type_of_initial, written = start
    if type_of_initial is not type(None):
        given["initial"] = written == "True" if type_of_initial is bool else type_of_initial(written)

    def run(value, mask, count):
        counts = lax.broadcasted_iota(np.int32, value.shape, 0) < count
        return function(wrap(value, module), where=wrap(counts & mask, module), **given)._value

    return compiled(run)


# Averages, which divide by the number of rows that count


def _number(value: jax.Array, count: jax.Array, axis: Any, dtype: np.dtype) -> jax.Array:
    """Return how many elements are averaged, rounded once to a dtype."""
    axes = np.lib.array_utils.normalize_axis_tuple(range(value.ndim) if axis is None else axis, value.ndim)
    others = math.prod([value.shape[i] for i in axes if i])
    return (count * np.int32(others)).astype(dtype)


@exact
def _quotient(x: jax.Array, y: jax.Array) -> jax.Array:
    """Divide by real numbers; complex infinities as NumPy does, which multiplies by the imaginary part 0."""
    if x.dtype.kind != "c":
        return lax.div(x, y.astype(x.dtype))
    real = lax.real(x)
    imag = lax.imag(x)
    divisor = y.astype(real.dtype)
    return lax.complex(lax.div(real + imag * 0, divisor), lax.div(imag - real * 0, divisor))


def _mean_in(value, count, axis, dtype, keepdims):
    total = jnp.sum(filled(value, count, "zero"), axis=axis, dtype=dtype, keepdims=keepdims)
    real_dtype = lax.real(total).dtype if total.dtype.kind == "c" else total.dtype
    number = _number(value, count, axis, real_dtype)
    return _quotient(total, jnp.broadcast_to(number, total.shape))


def _computed_in(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which averages of a dtype are computed."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _mean(of_values, value, count, axis=None, keepdims=False, **options):
    dtype = jax.eval_shape(of_values, value).dtype
    return _mean_in(value, count, axis, _computed_in(dtype), keepdims).astype(dtype)


def _variance(of_values, value, count, axis, keepdims, correction, ddof):
    """Return the variance in the dtype that it is computed in, and the dtype of the result."""
    dtype = jax.eval_shape(of_values, value).dtype
    computed_in = _computed_in(dtype)
    dtype_of_value = np.result_type(computed_in, np.complex64) if value.dtype.kind == "c" else computed_in
    value = value.astype(dtype_of_value)
    away = value - _mean_in(value, count, axis, dtype_of_value, True)
    squares = lax.real(away * lax.conj(away)) if away.dtype.kind == "c" else away * away
    total = jnp.sum(filled(squares, count, "zero"), axis=axis, keepdims=keepdims)
    freedom = _number(value, count, axis, total.dtype) - jnp.asarray(correction + ddof, total.dtype)
    return _quotient(total, jnp.broadcast_to(freedom, total.shape)), dtype


def _var(of_values, value, count, axis=None, keepdims=False, correction=0, ddof=0, **options):
    variance, dtype = _variance(of_values, value, count, axis, keepdims, correction, ddof)
    return variance.astype(dtype)


def _std(of_values, value, count, axis=None, keepdims=False, correction=0, ddof=0, **options):
    variance, dtype = _variance(of_values, value, count, axis, keepdims, correction, ddof)
    return jaxapi.sqrt(variance).astype(dtype)


_AVERAGES: dict[str, Callable[..., jax.Array]] = {"mean": _mean, "std": _std, "var": _var}
