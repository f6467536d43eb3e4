"""Dimensions that are not known while a function is traced, and refuse what depends on them.

A function that is traced with a `Dimension` makes one program for all numbers of rows. What would decide by
the number (``n == 48``, ``n % 2``, a dict's key) is refused, as another number might decide otherwise.
JAX asks dimensions for what is defined here, and for no class: its own `jax.export` has another one, in which
such comparisons are False.
"""

from __future__ import annotations

import dis
import numbers
import sys
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ..._core._dtypes import default_dtype
from ..._core._internals import Primitive

__all__ = ["Bounds", "Dimension", "Refused", "UnknownCounts", "at"]


class Refused(Exception):
    """Raised where a program would depend on a number of rows, or do with them what is not known."""


class Bounds(NamedTuple):
    """How many rows of a buffer may count."""

    least: int
    capacity: int  # the rows of the buffer


class UnknownCounts:
    """The numbers of rows that are not known while a function is traced, one for each length of arrays."""

    def __init__(self, bounds: Sequence[Bounds]):
        """Say what is known of each number."""
        self.bounds = tuple(bounds)
        self.was_asked = False  # for what depends on them, whoever caught the exception

    def dimensions(self) -> list[Dimension]:
        """Return each number as a dimension."""
        numbers = range(len(self.bounds))
        return [Dimension(self, tuple([int(i == number) for i in numbers]), 0) for number in numbers]

    def refuse(self, question: str) -> Any:
        """Raise that something depends on the numbers."""
        self.was_asked = True
        raise Refused(f"{question} depends on a number of rows that is not known")


class Dimension:
    """A sum of unknown numbers of rows, each times a factor, and a known number."""

    __slots__ = ("counts", "factors", "plus")
    __array_ufunc__ = None  # NumPy's numbers leave operators to this class

    def __init__(self, counts: UnknownCounts, factors: tuple[int, ...], plus: int):
        """Say what the dimension is; one factor at least is not 0."""
        self.counts = counts
        self.factors = factors
        self.plus = plus

    @property
    def least(self) -> int:
        """The least number that it may be."""
        bounds = zip(self.factors, self.counts.bounds, strict=True)
        return self.plus + sum([min(factor * least, factor * most) for factor, (least, most) in bounds])

    @property
    def most(self) -> int:
        """The greatest number that it may be."""
        bounds = zip(self.factors, self.counts.bounds, strict=True)
        return self.plus + sum([max(factor * least, factor * most) for factor, (least, most) in bounds])

    @property
    def grows(self) -> bool:
        """Whether it is no less where more rows count."""
        return min(self.factors) >= 0

    def of(self, counts: Sequence[Any]) -> Any:
        """Return the dimension for numbers of rows."""
        terms = zip(self.factors, counts, strict=True)
        return sum([factor * count for factor, count in terms if factor], self.plus)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # what `isinstance` asks for last
        """The class, for JAX and here; who else asks whether it is an int has another program for ints."""
        if not _asked_by(_KNOWS_CLASSES):
            self.counts.refuse("a class")
        return Dimension

    # Arithmetic: what is no such dimension is refused

    def _terms_of(self, other: Any) -> tuple[tuple[int, ...], int] | None:
        """Return ``factors`` and ``plus`` of another dimension or an integer; None for what is neither."""
        if isinstance(other, Dimension):
            return (other.factors, other.plus) if other.counts is self.counts else None
        return ((0,) * len(self.factors), int(other)) if isinstance(other, numbers.Integral) else None

    def _made(self, factors: Sequence[int], plus: int) -> Any:
        return Dimension(self.counts, tuple(factors), plus) if any(factors) else plus

    def _is_left_to(self, other: Any) -> bool:
        """Whether an operator is another operand's, as that of an array is."""
        return hasattr(other, "dtype") and not isinstance(other, np.generic)

    def _linear(self, other: Any, of_self: int, of_other: int) -> Any:
        terms = self._terms_of(other)
        if terms is None:
            return NotImplemented if self._is_left_to(other) else self.counts.refuse("arithmetic")
        factors, plus = terms
        pairs = zip(self.factors, factors, strict=True)
        return self._made(
            [of_self * x + of_other * y for x, y in pairs], of_self * self.plus + of_other * plus
        )

    def __add__(self, other: Any) -> Any:
        """Add a dimension or an integer."""
        return self._linear(other, 1, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Subtract a dimension or an integer."""
        return self._linear(other, 1, -1)

    def __rsub__(self, other: Any) -> Any:
        """Subtract from a dimension or an integer."""
        return self._linear(other, -1, 1)

    def __neg__(self) -> Any:
        """Return the negative."""
        return self._linear(0, -1, 0)

    def __mul__(self, other: Any) -> Any:
        """Multiply by an integer."""
        if self._is_left_to(other):
            return NotImplemented
        if not isinstance(other, numbers.Integral):
            return self.counts.refuse("a product")
        return self._linear(0, int(other), 0)

    __rmul__ = __mul__

    def __divmod__(self, other: Any) -> Any:
        """Divide by an integer, or a dimension, if the remainder is the same for all numbers of rows."""
        terms = self._terms_of(other)
        if terms is None:
            return NotImplemented if self._is_left_to(other) else self.counts.refuse("a quotient")
        factors, plus = terms
        if not any(factors):
            if plus and all(factor % plus == 0 for factor in self.factors):
                quotient, remainder = divmod(self.plus, plus)
                return self._made([factor // plus for factor in self.factors], quotient), remainder
            return self.counts.refuse("a quotient")
        first = next(i for i, factor in enumerate(factors) if factor)
        quotient = self.factors[first] // factors[first]
        rest = self._linear(other, 1, -quotient)
        is_multiple = not isinstance(rest, Dimension) and rest == 0
        return (quotient, 0) if is_multiple else self.counts.refuse("a quotient")

    def __floordiv__(self, other: Any) -> Any:
        """Return the quotient."""
        made = self.__divmod__(other)
        return made if made is NotImplemented else made[0]

    def __mod__(self, other: Any) -> Any:
        """Return the remainder."""
        made = self.__divmod__(other)
        return made if made is NotImplemented else made[1]

    def _refused_operator(self, other: Any, modulo: Any = None) -> Any:
        """Leave it to an array; refuse it of a number."""
        return NotImplemented if self._is_left_to(other) else self.counts.refuse("arithmetic")

    __truediv__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = _refused_operator
    __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refused_operator
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refused_operator

    # JAX asks for these

    def max(self, other: Any) -> Any:
        """Return the greater one of two dimensions."""
        return self if self >= other else other

    def min(self, other: Any) -> Any:
        """Return the lesser one of two dimensions."""
        return self if self <= other else other

    rmax = max
    rmin = min

    def dimension_as_value(self) -> Any:
        """Return the dimension as a number in the program."""
        limits = np.iinfo(default_dtype(int))
        if self.least < limits.min or self.most > limits.max:
            return self.counts.refuse("a number")
        return dimension_p.bind(dimension=self)

    __jax_array__ = dimension_as_value

    # Decisions: what is the same for all numbers of rows, and no other

    def _bounds_beside(self, other: Any) -> tuple[Any, Any] | None:
        """Return the bounds of the difference to a dimension or a number; None for what is neither."""
        if isinstance(other, Dimension):
            if other.counts is not self.counts:
                return None
            other = self - other
            return (other.least, other.most) if isinstance(other, Dimension) else (other, other)
        if not isinstance(other, numbers.Real):
            return None
        return self.least - other, self.most - other

    def _is_below(self, other: Any, question: str, strictly: bool) -> Any:
        bounds = self._bounds_beside(other)
        if bounds is None:
            return NotImplemented
        low, high = bounds
        if high < 0 or (high == 0 and not strictly):
            return True
        if low > 0 or (low == 0 and strictly):
            return False
        return self.counts.refuse(question)

    def __lt__(self, other: Any) -> Any:
        """Whether it is less for every number of rows; refused where it is for some."""
        return self._is_below(other, "<", strictly=True)

    def __le__(self, other: Any) -> Any:
        """Whether it is less or equal for every number of rows."""
        return self._is_below(other, "<=", strictly=False)

    def __gt__(self, other: Any) -> Any:
        """Whether it is greater for every number of rows."""
        is_below = self._is_below(other, ">", strictly=False)
        return is_below if is_below is NotImplemented else not is_below

    def __ge__(self, other: Any) -> Any:
        """Whether it is greater or equal for every number of rows."""
        is_below = self._is_below(other, ">=", strictly=True)
        return is_below if is_below is NotImplemented else not is_below

    def __eq__(self, other: Any) -> Any:
        """Whether it is equal for every number of rows, or for none."""
        bounds = self._bounds_beside(other)
        if bounds is None:
            return NotImplemented
        low, high = bounds
        if low == high == 0:
            return True
        if low > 0 or high < 0 or _is_looked_up_by_jax():
            return False
        return self.counts.refuse("==")

    def __bool__(self) -> bool:
        """Whether it is not 0, for every number of rows."""
        return self.least > 0 or self.most < 0 or self.counts.refuse("a truth")

    def __hash__(self) -> int:
        """Return a hash for JAX, which keeps programs by shapes; who else asks looks the number up."""
        if not _asked_by(_JAX):
            self.counts.refuse("a hash")
        return hash((id(self.counts), self.factors, self.plus))

    def __repr__(self) -> str:
        """Return the dimension as JAX says it in messages; a program of other words depends on it."""
        if not _asked_by(_JAX):
            self.counts.refuse("a string")
        terms = [f"{factor:+}*n{number}" for number, factor in enumerate(self.factors) if factor]
        return "".join([*terms, f"{self.plus:+}"])

    def _refused_number(self) -> Any:
        return self.counts.refuse("a number")

    __int__ = __float__ = __complex__ = __trunc__ = __floor__ = __ceil__ = _refused_number

    def __index__(self) -> int:
        """Refuse an integer to everybody; JAX asks whether there is one, and knows this error."""
        if _asked_by(_JAX):
            raise TypeError("a dimension that is not known is no integer")
        return self.counts.refuse("an integer")

    def __round__(self, ndigits: Any = None) -> Any:
        """Refuse: integers are rounded to what they are, or to tens."""
        return self.counts.refuse("a number")


_JAX = ("jax.", "jaxlib.")
_KNOWS_CLASSES = (*_JAX, "jaxapi.")  # what else dimensions may be than ints


def _asking() -> types.FrameType:
    """Return the frame that calls a method of a dimension, also by way of an abstract class."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in ("abc", __name__):
        frame = frame.f_back
    return frame


def _asked_by(packages: tuple[str, ...]) -> bool:
    """Whether a method of a dimension is called by code of packages."""
    return str(_asking().f_globals.get("__name__")).startswith(packages)


_COMPARING = frozenset([dis.opmap["COMPARE_OP"], dis.opmap["CONTAINS_OP"]])


def _is_looked_up_by_jax() -> bool:
    """Whether JAX looks a shape up among its keys: no decision, and which keys are compared is accidental.

    Its tables are no Python: the code that asks calls them, and compares nothing itself.
    """
    code = _asking().f_code
    instruction = code.co_code[_asking().f_lasti]
    return _asked_by(_JAX) and (code.co_name == "__eq__" or instruction not in _COMPARING)


def at(dimension: Any, counts: Sequence[Any]) -> Any:
    """Return a dimension for numbers of rows."""
    return dimension.of(counts) if isinstance(dimension, Dimension) else dimension


dimension_p = Primitive("dimension")


@dimension_p.def_abstract_eval
def _abstract_dimension(*, dimension: Dimension) -> Any:
    return jax.typeof(0)  # as a number of Python's
