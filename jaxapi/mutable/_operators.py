"""What the operators of arrays do: NumPy's on the host, and the same for values of JAX."""

import math
import operator
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import jaxapi

from .._core._dtypes import has_64_bits, native_dtype, x64_mode
from .._interop import as_array, as_numpys_array
from ._batches import concrete, lend, takes_pending
from ._elementwise import ELEMENTWISE, STANDARDS_FLOOR_DIVIDE, Elementwise, OfBase, may_raise, statement
from ._promotion import together
from ._selection import Selection, change, compiled_pair, put, take

__all__ = [
    "ADD",
    "AND",
    "EQ",
    "FLOORDIV",
    "GE",
    "GT",
    "LE",
    "LSHIFT",
    "LT",
    "MATMUL",
    "MOD",
    "MUL",
    "NE",
    "OR",
]
__all__ += ["POW", "RSHIFT", "SUB", "TRUEDIV", "XOR", "Operator"]

_NUMBERS = frozenset([int, float, complex])
_OPERANDS = (int, float, complex, list, tuple, range, np.ndarray, np.generic, jax.Array)


class Operator:
    """An operator of two operands, and of one that is written to."""

    def __init__(self, of_numpy: Callable, in_place_of_numpy: Any, name: str, of_values: Any = None):
        """Take Python's two functions, which are NumPy's for its arrays, and the name of NumPy's ufunc."""
        self.of_numpy = of_numpy
        self.in_place_of_numpy = in_place_of_numpy
        self.name = name
        # For these `jaxapi.mutable` follows the standard, whose results for infinities are not NumPy's.
        self.is_the_standards = name in ("floor_divide", "remainder")
        # Of a quotient or a power by 0 NumPy warns, and JAX does not; nor does `jaxapi.mutable`.
        self.may_warn = name in ("divide", "power")
        self.of_values = of_values or ELEMENTWISE.get(name, _matmul)
        self.of_standard = self  # that of arrays of `jaxapi.mutable`
        self._reusing = compiled_pair(self._changed)

    def operand(self, x: Any) -> Any:
        """Return the other operand as a value of JAX or a number, or NotImplemented."""
        if isinstance(x, (str, bytes, type(None))) and self.name in ("equal", "not_equal"):
            return math.nan  # which equals nothing, either
        if not isinstance(x, _OPERANDS):
            if hasattr(x, "dimension_as_value"):
                return x.dimension_as_value()  # a length that is not known, as in jax.export
            is_array_like = hasattr(x, "__array__") and not hasattr(x, "__array_ufunc__")
            return as_array(np.asarray(x)) if is_array_like else NotImplemented
        if isinstance(x, (list, tuple, range)):
            return as_numpys_array(list(x) if isinstance(x, range) else x)
        if type(x) is np.ulonglong or type(x) is np.longlong:  # JAX knows the other 64-bit type alone
            return x.astype(x.dtype.str)
        if isinstance(x, np.ndarray) and not x.dtype.isnative:
            return x.astype(native_dtype(x.dtype))
        return lend(x)

    def for_operand(self, other: Any, array: Any) -> "Operator":
        """Return the operator that NumPy has for an array and this: itself, or a square or a root."""
        return self

    @takes_pending
    def write(self, value: jax.Array, other: Any, made: list | None) -> jax.Array:
        """Return what replaces a value that the operator changes, in its memory if ``made`` is a list."""
        other = self._like(value, other)
        if may_raise(self.name, value, other) or _is_narrowed(other) or made is None:
            return self._changed(value, other)  # by the program that x + y has, too
        return self._reusing(made, value, other)

    @takes_pending
    def write_part(self, value: jax.Array, part: Selection, other: Any, made: list | None) -> jax.Array:
        """Return what replaces a value of which the operator changes a part, as `write` for all of it."""
        other = self._like(value, other)
        if may_raise(self.name, value, other) or _is_narrowed(other):
            return put(value, part, self._changed(take(value, part), other), made)
        return change(value, part, self._changed, other, made)

    def _like(self, value: jax.Array, other: Any) -> Any:
        """Return the other operand; a number in the dtype of the value that is changed."""
        if type(other) in _NUMBERS and isinstance(self.of_values, Elementwise):
            return self.of_values.number_like(other, value)
        return other

    def _changed(self, value, other):
        result = statement(self.of_values, (value, other))
        if result.shape != value.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {value.shape} doesn't match the broadcast "
                f"shape {result.shape}"
            )
        if result.dtype == value.dtype:
            return result
        result = concrete(result)
        if not np.can_cast(result.dtype, value.dtype, "same_kind"):
            raise TypeError(
                f"cannot cast the result from {result.dtype} to {value.dtype} in place: write x = x + y, or "
                "use astype() first"
            )
        return result.astype(value.dtype)


class Power(Operator):
    """``x ** y``, which is another function for some numbers as exponents, with results of its own.

    -inf ** 0.5 is NaN as its root is, the square of bools is int8, and a square of a complex number has no
    error of a power's.
    """

    def for_operand(self, other: Any, array: Any) -> Operator:
        exponent = other
        if type(exponent) not in (int, float):
            return self
        dtype = array.dtype
        is_inexact = dtype.kind in "fc"
        is_square_of_integers = type(exponent) is int and exponent == 2 and dtype.kind in "biu"
        return _POWERS.get(exponent, self) if is_inexact or is_square_of_integers else self


def _power(name: str) -> Operator:
    return Operator(operator.pow, operator.ipow, name, OfBase(name))


_POWERS = {-1: _power("reciprocal"), 0.5: _power("sqrt"), 1: _power("positive"), 2: _power("square")}


def _is_narrowed(x: Any) -> bool:
    """Whether a program would make 32 bits of an operand's 64."""
    return has_64_bits(x) and not x64_mode()


def _matmul(a, b):
    return jaxapi.matmul(*together((a, b)))


ADD = Operator(operator.add, operator.iadd, "add")
AND = Operator(operator.and_, operator.iand, "bitwise_and")
FLOORDIV = Operator(operator.floordiv, operator.ifloordiv, "floor_divide")
FLOORDIV.of_standard = Operator(operator.floordiv, operator.ifloordiv, "floor_divide", STANDARDS_FLOOR_DIVIDE)
LSHIFT = Operator(operator.lshift, operator.ilshift, "left_shift")
MATMUL = Operator(operator.matmul, operator.imatmul, "matmul")
MOD = Operator(operator.mod, operator.imod, "remainder")
MUL = Operator(operator.mul, operator.imul, "multiply")
OR = Operator(operator.or_, operator.ior, "bitwise_or")
POW = Power(operator.pow, operator.ipow, "power")
RSHIFT = Operator(operator.rshift, operator.irshift, "right_shift")
SUB = Operator(operator.sub, operator.isub, "subtract")
TRUEDIV = Operator(operator.truediv, operator.itruediv, "divide")
XOR = Operator(operator.xor, operator.ixor, "bitwise_xor")
EQ = Operator(operator.eq, None, "equal")
GE = Operator(operator.ge, None, "greater_equal")
GT = Operator(operator.gt, None, "greater")
LE = Operator(operator.le, None, "less_equal")
LT = Operator(operator.lt, None, "less")
NE = Operator(operator.ne, None, "not_equal")
