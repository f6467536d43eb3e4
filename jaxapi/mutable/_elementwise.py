"""NumPy's functions of each element, of values of JAX, in the dtypes that NumPy has for theirs."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._constants import constant
from .._core._dtypes import (
    NARROWED,
    WIDE,
    default_dtype,
    is_lowered_narrow,
    is_numpys,
    lacks_64_bits,
    promoted_dtype,
    x64_as,
    x64_for,
    x64_inside,
    x64_mode,
)
from .._core._errors import numpy_error
from .._core._programs import compiled, in_a_trace
from .._elementwise._arithmetic import has_few_factors, multiplied, raised
from .._elementwise._division import float_floor_divide
from .._hints import RENAMED
from .._interop import scalar_like
from .._interop._convert import ARRAY_TYPES
from .._interop._numbers import KINDS
from .._searching import choose
from ._batches import (
    LineProgram,
    Pending,
    attempt_by_kinds,
    concrete,
    is_recording,
    kind_of,
    recorded,
    warn_of_overflow,
)
from ._promotion import cast
from ._selection import (
    Part,
    Selected,
    Source,
    computed_of_parts,
    operand_kinds,
    program_of_change,
    program_of_parts,
    with_first_operand,
    without_first_operand,
    without_parts,
)

__all__ = ["CHOICE", "CLIP", "COPY", "ELEMENTWISE", "STANDARDS_FLOOR_DIVIDE", "Elementwise", "OfBase"]
__all__ += ["OfOneDtype", "chosen", "may_raise", "statement"]

_GENERALIZED = ("matmul", "matvec", "vecdot", "vecmat")
_MIXED = ("ldexp",)  # whose operands have dtypes of their own
# XLA's lose bits of float16, and NumPy's compute in float32.
_COARSE = ("exp2", "log2", "log10", "logaddexp2")
_LINES_KEPT = 1024  # of each function
_COMPARISONS = frozenset(["equal", "greater", "greater_equal", "less", "less_equal", "not_equal"])


class Elementwise:
    """A function of each element: called with values of JAX and Python's numbers, which are weak."""

    def __init__(self, name: str, function: Any, numpys: np.ufunc):
        """Stand for NumPy's ufunc, computed by a function of jaxapi's or jax.numpy's."""
        self.name = name
        self._function = function
        self.numpys = numpys
        self._line_programs: dict[Any, LineProgram] = {}  # of lines, by what they are compiled for

    def __call__(
        self,
        *operands: Any,
        dtype: np.dtype | None = None,
        casting: Any = "same_kind",
        may_wait: bool = False,
    ) -> Any:
        """Compute in NumPy's dtypes, or as if the result was of ``dtype``; where it may, as a line."""
        waits = may_wait and self.numpys.nout == 1 and is_recording()
        if waits and self.name != "power":
            made = self.line(operands, dtype, casting)
            if made is not None:
                return made
            waits = False
        if self.name == "power" and hasattr(operands[0], "dtype"):
            warn_of_overflow(operands[0].dtype, operands[1])
        if not waits and Pending in map(type, operands):
            operands = tuple([concrete(x) for x in operands])
        if _NUMBERS.issuperset(map(type, operands)):
            operands = tuple(jaxapi.asarray(x) for x in operands)
        elif self.name in _COMPARISONS and int in map(type, operands):
            x, y = operands
            operands = _within_limits(x, y), _within_limits(y, x)
        if bool in map(type, operands):
            operands = tuple(jnp.asarray(x) if type(x) is bool else x for x in operands)
        kinds = tuple([_kind_of(x) for x in operands])
        if _PYTHON.issuperset(kinds):  # arrays of JAX that are as weak as numbers
            kinds = tuple([getattr(x, "dtype", kind) for x, kind in zip(operands, kinds, strict=True)])
        if self.name in _COMPARISONS and _are_unlike_integers(kinds):  # which have no dtype in common
            return self._function(*_read(operands))
        loop, is_direct = _plan(self.name, kinds, dtype, casting, x64_mode())
        try:
            if is_direct:
                result = self._computed(self._with_constants(operands, loop), waits)
            else:
                with x64_for(*loop):
                    result = self._computed_in(operands, loop, waits)
        except (TypeError, ValueError) as error:
            raise numpy_error(error) or error from None
        if loop is None or (self.numpys.nout == 1 and result.dtype == loop[-1]):
            return result
        with x64_for(*loop):
            if self.numpys.nout == 1:
                return cast(result, loop[-1]) if type(result) is Pending else result.astype(loop[-1])
            made = zip(result, loop[self.numpys.nin :], strict=True)
            return tuple(part.astype(dtype) for part, dtype in made)

    def known_line(self, operands: list[Any], layouts: tuple[Any, ...], wide: bool) -> Any:
        """Return the result as a line of a batch, whatever x64 mode is on now; None of what was no line yet.

        Operands are what the line reads: in front of a value of which it reads a part, the starts of that.
        ``layouts`` has the part's layout for each operand that is one, and ``wide`` says whether the
        namespace computes in 64 bits.
        """
        if self.name == "power" or self.numpys.nout != 1:
            return None
        is_x64 = wide or not WIDE.isdisjoint([getattr(x, "dtype", None) for x in operands])
        options = (wide, None, "same_kind")
        try:
            return attempt_by_kinds(self._line_programs.get, (options, layouts), operands, is_x64)
        except (OverflowError, TypeError, ValueError):
            return None

    def line(self, operands: Any, dtype: np.dtype | None = None, casting: Any = "same_kind") -> Any:
        """Return the result as a line of a batch, or None where a call is needed, which may raise."""
        if _NUMBERS.issuperset(map(type, operands)):
            operands = tuple([constant(x, default_dtype(type(x))) for x in operands])
        inputs, layouts = without_parts(operands, waits=True)
        return self.line_of_inputs(inputs, layouts, dtype, casting)

    def line_of_inputs(
        self,
        operands: list[Any],
        layouts: tuple[Any, ...],
        dtype: np.dtype | None = None,
        casting: Any = "same_kind",
    ) -> Any:
        """Return the same of what `known_line` takes, in the x64 mode that is on.

        It is not for powers: their numbers are parts of their programs.
        """
        if self.name == "power" or self.numpys.nout != 1:
            return None
        wide = x64_mode()
        options = (wide, dtype, casting)
        try:
            with x64_for(*[x.dtype for x in operands if hasattr(x, "dtype")]):
                return attempt_by_kinds(self._line_program, (options, layouts), operands)
        except (OverflowError, TypeError, ValueError):
            return None

    def _line_program(self, key):
        """Return the program of a line, which is kept; None where the values of its operands count."""
        known = self._line_programs.get(key)
        if known is None:
            known = self._make_line_program(*key)
            if known is not None:
                if len(self._line_programs) == _LINES_KEPT:
                    self._line_programs.clear()
                self._line_programs[key] = known
        return known

    def _make_line_program(self, options, layouts, kinds, is_x64):
        """Return the program of a line for operands of these kinds; None where their values count."""
        known = self._function_of_line(options, layouts, kinds, is_x64)
        if known is None:
            return None
        function, kinds_of_line, dtype = known
        program = program_of_parts(function, layouts, kinds_of_line)
        return program if program.kinds[0].dtype == dtype else None

    def _function_of_line(self, options, layouts, kinds, is_x64):
        """Return the function of a line, the kinds that it takes, and the dtype of its result, or None."""
        wide, dtype, casting = options
        of_operands = operand_kinds(layouts, kinds)
        given = tuple([_kind_of_operand(kind) for kind in of_operands])
        if _PYTHON.issuperset(given) or (self.name in _COMPARISONS and _are_unlike_integers(given)):
            return None
        loop, is_direct = _plan(self.name, given, dtype, casting, wide)
        if loop is None or not (is_x64 or WIDE.isdisjoint(loop)):
            return None
        dtypes = iter([dtype for dtype, kind in zip(loop, of_operands, strict=False) if type(kind) is type])
        kinds_of_line = [kind_of((), next(dtypes)) if type(kind) is type else kind for kind in kinds]
        function = self._function if is_direct else _in_dtypes(self, loop)
        return function, tuple(kinds_of_line), loop[-1]

    def line_of_change(self, read: Source, written: Selected, other: Source, wide: bool) -> Any:
        """Return an array after this was computed of a part of it and another operand, and written there.

        It is a line of a batch; None is returned where it cannot be one. The part is read, and written, as
        these say; ``wide`` says whether the array's namespace computes in 64 bits.
        """
        operands = [read.value, written.starts]
        layouts: list[Any] = []
        for source in (read, other):
            if source.selected is None:
                layouts.append(None)
            else:
                layouts.append(source.selected.layout)
                operands.append(source.selected.starts)
        operands.append(other.value)
        is_x64 = wide or read.value.dtype in WIDE or getattr(other.value, "dtype", None) in WIDE
        key = (self, wide, tuple(layouts), written.layout, read.memory_shape)
        try:
            return attempt_by_kinds(_line_program_of_change, key, operands, is_x64)
        except (OverflowError, TypeError, ValueError):
            return None

    def _computed(self, operands, waits):
        """Compute with operands of their dtypes; parts of arrays are read by the program that does."""
        if waits:
            return _power_line(*_taken(operands))
        types_of_operands = {*map(type, operands)}
        if Part not in types_of_operands:
            return self._function(*operands)
        depends_on_numbers = self.name == "power" or not _PYTHON.isdisjoint(types_of_operands)
        if depends_on_numbers:  # which a program would not know
            return self._function(*_read(operands))
        return computed_of_parts(self._function, operands)

    def _computed_in(self, operands, loop, waits):
        """Compute with operands that are cast first."""
        if waits:
            return _power_line(*self._cast(_taken(operands), loop))
        return self._function(*self._cast(_read(operands), loop))

    def of_arrays(self, operands, loop):
        """Compute in the dtypes of a loop, in a program of its own."""
        made = self._function(*self._cast(operands, loop))
        return made.astype(loop[-1])

    def _with_constants(self, operands, loop):
        """Return operands with numbers as arrays on the device, where statements run one by one."""
        if loop is None or self.name == "power" or _PYTHON.isdisjoint(map(type, operands)) or in_a_trace():
            return operands
        return [
            _number_on_device(x, dtype) if type(x) in _PYTHON else x
            for x, dtype in zip(operands, loop, strict=False)
        ]

    def _cast(self, operands, loop):
        array = next(x for x in operands if hasattr(x, "dtype"))
        if self.name in _COARSE and loop[0] == np.float16:
            loop = (np.dtype(np.float32),) * len(loop)
        for x, dtype in zip(operands, loop, strict=False):
            if hasattr(x, "dtype"):
                yield cast(x, dtype)
            elif may_raise(self.name, array, x):
                yield x
            elif array.dtype == dtype:
                x = self.number_like(x, array)
                yield _number_on_device(x, dtype) if self._is_constant(x, dtype) else x
            else:
                yield jnp.asarray(np.asarray(x, dtype))

    def _is_constant(self, x, dtype) -> bool:
        return (
            type(x) in _PYTHON and self.name != "power" and dtype.kind in KINDS[type(x)] and not in_a_trace()
        )

    def number_like(self, x, array):
        """Return a Python number as the other operand: an int that does not fit raises, precision is kept."""
        if may_raise(self.name, array, x):
            return x
        if lacks_64_bits(array):
            fits = array.dtype.kind in KINDS.get(type(x), "")
            return jaxapi.asarray(x, dtype=array.dtype) if fits else x
        if type(x) is int and array.dtype.kind in "iu":
            number = np.asarray(x, array.dtype)  # which raises
            if x >= 2**63:  # which no argument of a program is
                return number
        if type(x) is int and array.dtype.kind in "fc" and not -(2**63) <= x < 2**63:
            return float(x)
        # JAX raises to an int by other means than to a float
        return scalar_like(x, array) if self.name == "power" else x


def _number_on_device(x, dtype):
    warn_of_overflow(dtype, x)
    return constant(x, dtype)


def _read(operands):
    """Return operands as arrays of their own."""
    return [concrete(x) for x in _taken(operands)]


def _taken(operands):
    """Return the same, which may be pending."""
    return [x.taken() if type(x) is Part else x for x in operands]


def statement(function: Any, operands: Any) -> Any:
    """Return what a function of each element makes, which may be pending."""
    if isinstance(function, Elementwise):
        return function(*operands, may_wait=True)
    if isinstance(function, OfBase):
        base, exponent = operands
        return function(base, exponent, may_wait=True)
    if getattr(function, "takes_pending", False):
        return function(*operands)
    return function(*_read(operands))


class OfBase:
    """A function of two operands that is one of the first: what a power is by a number of NumPy's."""

    def __init__(self, name: str):
        """Take the name of NumPy's ufunc."""
        self.of_base = ELEMENTWISE[name]

    def __call__(self, base: Any, exponent: Any, may_wait: bool = False) -> Any:
        """Compute, where it may as a line of a batch."""
        return self.of_base(base, may_wait=may_wait)


@functools.lru_cache
def _in_dtypes(elementwise: "Elementwise", loop: tuple[np.dtype, ...]):
    """Return the function of arrays that are cast to the dtypes of a loop first."""

    def of_arrays(*operands):
        return elementwise.of_arrays(operands, loop)

    return of_arrays


def _are_unlike_integers(kinds) -> bool:
    """Whether operands are arrays of integers of several dtypes."""
    return len({*kinds}) > 1 and all(isinstance(kind, np.dtype) and kind.kind in "iu" for kind in kinds)


def _within_limits(x, array):
    """Return an operand of a comparison: an int that no element can be is an infinity, as NumPy has it."""
    if type(x) is not int or getattr(array, "dtype", np.dtype(float)).kind not in "iub":
        return x
    limits = np.iinfo(array.dtype if array.dtype.kind in "iu" else np.int8)
    return x if limits.min <= x <= limits.max else math.copysign(math.inf, x)


def may_raise(name: str, array: Any, x: Any) -> bool:
    """Whether ``x`` raises as a power of ``array``, for what a program would not know: being a Python int."""
    return name == "power" and type(x) is int and x < 0 and array.dtype.kind in "iub"


_PYTHON = frozenset([int, float, complex])
_NUMBERS = _PYTHON | {bool}
_WEAK = {"i": int, "u": int, "f": float, "c": complex}


def _kind_of_operand(kind):
    """Return the same of what a line is compiled for."""
    if type(kind) is type:
        return np.dtype(bool) if kind is bool else kind
    return _WEAK.get(kind.dtype.kind, kind.dtype) if kind.weak_type else kind.dtype


def _kind_of(x):
    """Return the dtype of an operand; of a number, which is weak, its Python class."""
    kind = type(x)
    if kind in _PYTHON:
        return kind
    if kind in ARRAY_TYPES and not x.weak_type:
        return x.dtype
    if kind is bool:
        return np.dtype(bool)
    if not hasattr(x, "dtype"):
        for number in (int, float, complex):
            if isinstance(x, number):
                return number
        raise TypeError(f"an operand is an array or a number, got {x!r} of {kind.__name__}")
    return _WEAK.get(x.dtype.kind, x.dtype) if getattr(x, "weak_type", False) else x.dtype


@functools.lru_cache(_LINES_KEPT)
def _plan(name: str, kinds: tuple, dtype, casting, wide: bool):
    """Return the dtypes that NumPy computes in, and whether operands have them.

    None stands for dtypes that NumPy does not have.
    """
    numpys = getattr(np, name)
    given = [kind for kind in kinds if isinstance(kind, np.dtype)]
    if not all(map(is_numpys, given)):
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
    special = name == "power" or given[0].kind in "iub"  # where `number_like` checks a number
    has_own_way = (name in _COARSE and loop[0] == np.float16) or (special and len(given) < len(kinds))
    return loop, same and not has_own_way and (wide or WIDE.isdisjoint(loop))


def _extreme(name: str):
    """Return jaxapi's function, which of complex numbers gives those that are NaN, too."""
    function = getattr(jaxapi, name)

    def of_two(x, y):
        if not jnp.iscomplexobj(x):
            return function(x, y)
        return jnp.where(jnp.isnan(x), x, jnp.where(jnp.isnan(y), y, function(x, y)))

    return of_two


def _by_parts(compare, compare_or_equal):
    """Return a comparison of complex numbers, too: real parts decide, then imaginary ones.

    As NumPy has it, an imaginary part that is NaN makes it False, unless real parts are equal.
    """

    def of_two(x, y):
        if not jnp.iscomplexobj(x):
            return compare_or_equal(x, y)
        are_ordered = ~jnp.isnan(x.imag) & ~jnp.isnan(y.imag)
        is_decided = compare(x.real, y.real) & are_ordered
        return is_decided | ((x.real == y.real) & compare_or_equal(x.imag, y.imag))

    return of_two


_greater = _by_parts(jaxapi.greater, jaxapi.greater)
_greater_equal = _by_parts(jaxapi.greater, jaxapi.greater_equal)
_less = _by_parts(jaxapi.less, jaxapi.less)
_less_equal = _by_parts(jaxapi.less, jaxapi.less_equal)


def _number_of_two(name: str, is_better):
    """Return jax.numpy's function, which of complex numbers leaves out those that are NaN in a part."""
    function = getattr(jnp, name)

    def of_two(x, y):
        if not jnp.iscomplexobj(x):
            return function(x, y)
        return jnp.where(is_better(x, y) | jnp.isnan(y), x, y)

    return of_two


def _magnitudes(x, y):
    """Return absolute values as unsigned integers: that of the least integer is beyond its own dtype."""
    unsigned = np.dtype(x.dtype.str.replace("i", "u"))
    return jnp.broadcast_arrays(jnp.abs(x).astype(unsigned), jnp.abs(y).astype(unsigned))


def _common_divisor(x, y):
    """Return the greatest common divisor of unsigned integers, by Euclid's steps."""

    def any_is_left(state):
        return jnp.any(state[1] != 0)

    def step(state):
        large, small = state
        rest = large % jnp.where(small == 0, 1, small)
        return jnp.where(small == 0, large, small), jnp.where(small == 0, 0, rest)

    return jax.lax.while_loop(any_is_left, step, (x, y))[0]


def _gcd(x, y):
    """Return the greatest common divisor; JAX's steps do not end at the least integer."""
    return _common_divisor(*_magnitudes(x, y)).astype(x.dtype)


def _lcm(x, y):
    """Return the least common multiple, which wraps."""
    dtype = x.dtype
    x, y = _magnitudes(x, y)
    divisor = _common_divisor(x, y)
    return (x // jnp.where(divisor == 0, 1, divisor) * y).astype(dtype)


def _modf(x):
    """Return fractions and whole parts, both with the sign of the number."""
    whole = jnp.trunc(x)
    fraction = jnp.where(jnp.isinf(x), 0, x - whole)
    return jnp.copysign(fraction, x), whole


def _exp2(x):
    if not jnp.iscomplexobj(x):
        return jnp.exp2(x)
    return jaxapi.exp(jax.lax.complex(x.real * math.log(2), x.imag * math.log(2)))


_MANTISSA_BITS = 52  # of float64
_EXPONENT_BITS = np.uint64(0x7FF << _MANTISSA_BITS)
_LARGEST_EXPONENT = 1023


def _frexp(x):
    """Return JAX's fractions and exponents; of float64 by its bits, where JAX's own are lowered narrow."""
    if x.dtype != np.float64 or not is_lowered_narrow():
        return jnp.frexp(x)
    bits = jax.lax.bitcast_convert_type(x, np.uint64)
    biased = ((bits & _EXPONENT_BITS) >> np.uint64(_MANTISSA_BITS)).astype(np.int32)
    is_normal = (biased > 0) & jnp.isfinite(x)
    exponent = jnp.where(is_normal, biased - (_LARGEST_EXPONENT - 1), 0)
    fraction = _times_power_of_two(x, -exponent)
    return jnp.where(is_normal | ~jnp.isfinite(x), fraction, jnp.copysign(0, x)), exponent


def _ldexp(x, exponent):
    """Return JAX's ``x * 2**exponent``; of float64 in steps, where JAX's own is lowered narrow."""
    if x.dtype != np.float64 or not is_lowered_narrow():
        return jnp.ldexp(x, exponent)
    return _times_power_of_two(x, jnp.clip(exponent, -2200, 2200))


def _times_power_of_two(x, exponent):
    """Multiply by powers that float64 holds, of which three are enough."""
    left = exponent.astype(np.int64)
    for _ in range(3):
        step = jnp.clip(left, -_LARGEST_EXPONENT + 1, _LARGEST_EXPONENT)
        x = x * jax.lax.bitcast_convert_type((step + _LARGEST_EXPONENT) << _MANTISSA_BITS, np.float64)
        left = left - step
    return x


def _heaviside(x, y):
    """Return NaN of NaN, of which JAX 0.10 makes the value at 0."""
    return jnp.where(jnp.isnan(x), x, jnp.heaviside(x, y))


def _power(x, y):
    """Return powers; with numbers as exponents NumPy's roots and squares, which are rounded once.

    The root of -inf is NaN, and of -0 it is -0.
    """
    is_number = not isinstance(y, jax.Array) and np.ndim(y) == 0
    kind = jnp.result_type(x).kind
    if is_number and kind == "f" and y == 0.5:
        return jaxapi.sqrt(x)
    if is_number and kind in "fc" and y == 2:
        return jaxapi.square(x)
    return jaxapi.pow(x, y)


def _power_line(x, y):
    """Return the same as a line of a batch."""
    is_number = not isinstance(y, (jax.Array, Pending)) and np.ndim(y) == 0
    if not is_number or not hasattr(x, "dtype"):
        return _raised(scalar_like(x, y), scalar_like(y, x))
    if x.dtype.kind == "f" and y == 0.5:
        return ELEMENTWISE["sqrt"](x, may_wait=True)
    if x.dtype.kind in "fc" and y == 2:
        return ELEMENTWISE["square"](x, may_wait=True)
    if may_raise("power", x, y):
        return jaxapi.pow(concrete(x), y)  # which raises
    return _multiplied(x, y) if has_few_factors(x.dtype, y) else _raised(x, scalar_like(y, x))


chosen = recorded(choose)  # the elements of one array or another


class OfOneDtype:
    """A function of each element of several operands of one dtype, as a line of a batch."""

    def __init__(self, function: Any, has_mask: bool = False):
        """Take a function, whose first operand is a mask or an array."""
        self.function = function
        self.has_mask = has_mask

    def known_line(self, operands: list[Any], layouts: tuple[Any, ...], wide: bool) -> Any:
        """Return the result, whatever x64 mode is on now; None where operands are of several dtypes.

        It takes what that of `Elementwise` takes.
        """
        is_x64 = wide or not WIDE.isdisjoint([getattr(x, "dtype", None) for x in operands])
        try:
            return attempt_by_kinds(_line_program_of_one_dtype, (self, layouts), operands, is_x64)
        except (OverflowError, TypeError, ValueError):
            return None


@functools.lru_cache(_LINES_KEPT)
def _line_program_of_one_dtype(key: tuple[Any, ...]) -> LineProgram | None:
    """Return the program of such a line; None where it would have to promote, or there is no mask."""
    of_elements, layouts, kinds, is_x64 = key
    given = operand_kinds(layouts, kinds)
    if type(given[0]) is type or (of_elements.has_mask and given[0].dtype != np.bool):
        return None
    promoted_kinds = given[1:] if of_elements.has_mask else given
    dtypes = {kind.dtype for kind in promoted_kinds if type(kind) is not type}
    if len(dtypes) != 1 or any(type(kind) is not type and kind.weak_type for kind in promoted_kinds):
        return None
    (dtype,) = dtypes
    if not all(_takes_dtype(kind, dtype) for kind in promoted_kinds if type(kind) is type):
        return None
    typed = tuple([kind_of((), dtype) if type(kind) is type else kind for kind in kinds])
    with x64_inside() if is_x64 else x64_as(False):
        return program_of_parts(of_elements.function, layouts, typed)


@functools.lru_cache(_LINES_KEPT)
def _line_program_of_change(key: tuple[Any, ...]) -> LineProgram | None:
    """Return the program of such a line; None where the result has another dtype or shape than the part."""
    elementwise, wide, layouts, layout, shape, (of_value, of_starts, *of_others), is_x64 = key
    of_read = tuple(with_first_operand(of_value, layouts, of_others))
    options = (wide, None, "same_kind")
    with x64_inside() if is_x64 else x64_as(False):
        known = elementwise._function_of_line(options, layouts, of_read, is_x64)
        if known is None:
            return None
        function, typed, dtype = known
        (made,) = program_of_parts(function, layouts, typed).kinds
        if not (made.dtype == dtype == of_value.dtype and made.shape == shape):
            return None
        of_inputs = without_first_operand(layouts, typed)
        return program_of_change(function, layouts, layout, (of_value, of_starts, *of_inputs))


def _takes_dtype(number: type, dtype: np.dtype) -> bool:
    """Whether a Python number next to an array becomes one of its dtype."""
    return dtype.kind == "b" if number is bool else dtype.kind in KINDS[number]


def _clipped(x, lower, upper):
    return _extreme("minimum")(_extreme("maximum")(x, lower), upper)


CHOICE = OfOneDtype(choose, has_mask=True)
CLIP = OfOneDtype(_clipped)
COPY = OfOneDtype(jnp.copy)
_multiplied = recorded(multiplied)
_raised = recorded(raised)


def _spacing(x):
    return jnp.where(jnp.isinf(x), jnp.nan, jnp.spacing(x))


def _floor_divide(x, y):
    """Return NumPy's quotients: -1 of numbers by infinities of the other sign, NaN of infinities."""
    dtype = jnp.result_type(x, y)
    if dtype.kind != "f":
        return jaxapi.floor_divide(x, y)
    return _floors(jnp.asarray(x, dtype), jnp.asarray(y, dtype))


@compiled
def _floors(x, y):
    return float_floor_divide(*jnp.broadcast_arrays(x, y))


def _function_of(name: str):
    found = getattr(jaxapi, RENAMED["jaxapi"].get(name, name), None)
    unlike = {
        "divmod": lambda x, y: (_floor_divide(x, y), jaxapi.remainder(x, y)),
        "exp2": _exp2,
        "fabs": jnp.abs,
        "float_power": jnp.float_power,
        "floor_divide": _floor_divide,
        "fmax": _number_of_two("fmax", _greater_equal),
        "fmin": _number_of_two("fmin", _less_equal),
        "frexp": _frexp,
        "gcd": _gcd,
        "greater": _greater,
        "greater_equal": _greater_equal,
        "lcm": _lcm,
        "ldexp": _ldexp,
        "heaviside": _heaviside,
        "less": _less,
        "less_equal": _less_equal,
        "maximum": _extreme("maximum"),
        "minimum": _extreme("minimum"),
        "modf": _modf,
        "power": _power,
        "rint": jnp.rint,
        "spacing": _spacing,
    }
    return unlike.get(name) or found or getattr(jnp, name)


# Of arrays of `jaxapi.mutable`, whose infinities are the standard's.
STANDARDS_FLOOR_DIVIDE = Elementwise("floor_divide", jaxapi.floor_divide, np.floor_divide)
ELEMENTWISE = {
    name: Elementwise(value.__name__, _function_of(value.__name__), value)
    for name, value in vars(np).items()
    if isinstance(value, np.ufunc) and name not in (*_GENERALIZED, "isnat")
}
