"""Lengths that are not known while a function is traced: dimensions that refuse what depends on them.

A function that is traced with a `Length` makes one program for all numbers of rows. What would decide by the
number (``n == 48``, ``n % 2``, a dict's key) is refused, as another number might decide otherwise.
JAX asks dimensions for what is defined here, and for no class: its own `jax.export` has another one, in which
such comparisons are False.
"""

from __future__ import annotations

import dis
import numbers
import sys
import types
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive

from ..._core._dtypes import default_dtype

__all__ = ["Length", "Refused", "Unknown", "at"]


class Refused(Exception):
    """Raised where a program would depend on a length, or do with rows what is not known."""


class Unknown:
    """A number of rows between two bounds."""

    def __init__(self, least: int, most: int):
        """Say what is known of the number."""
        self.least = least
        self.most = most
        self.was_asked = False  # for what depends on it, whoever caught the exception

    def refuse(self, question: str) -> Any:
        """Raise that something depends on the number."""
        self.was_asked = True
        raise Refused(f"{question} depends on a number of rows that is not known")


class Length:
    """A dimension of ``times * n + plus``, where n is an unknown number of rows."""

    __slots__ = ("plus", "times", "unknown")
    __array_ufunc__ = None  # NumPy's numbers leave operators to this class

    def __init__(self, unknown: Unknown, times: int = 1, plus: int = 0):
        """Say what the length is; ``times`` is not 0."""
        self.unknown = unknown
        self.times = times
        self.plus = plus

    @property
    def least(self) -> int:
        """The least number that it may be."""
        return min(self.of(self.unknown.least), self.of(self.unknown.most))

    @property
    def most(self) -> int:
        """The greatest number that it may be."""
        return max(self.of(self.unknown.least), self.of(self.unknown.most))

    def of(self, count: Any) -> Any:
        """Return the length for a number of rows."""
        return self.times * count + self.plus

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # what `isinstance` asks for last
        """The class, for JAX and here; who else asks whether it is an int has another program for ints."""
        if not _asked_by(_KNOWS_CLASSES):
            self.unknown.refuse("a class")
        return Length

    # Arithmetic: what is no such length is refused

    def _parts(self, other: Any) -> tuple[int, int] | None:
        """Return ``times`` and ``plus`` of another length or an integer; None for what is neither."""
        if isinstance(other, Length):
            return (other.times, other.plus) if other.unknown is self.unknown else None
        return (0, int(other)) if isinstance(other, numbers.Integral) else None

    def _made(self, times: int, plus: int) -> Any:
        return Length(self.unknown, times, plus) if times else plus

    def _is_left_to(self, other: Any) -> bool:
        """Whether an operator is another operand's, as that of an array is."""
        return hasattr(other, "dtype") and not isinstance(other, np.generic)

    def _linear(self, other: Any, of_self: int, of_other: int) -> Any:
        parts = self._parts(other)
        if parts is None:
            return NotImplemented if self._is_left_to(other) else self.unknown.refuse("arithmetic")
        times, plus = parts
        return self._made(
            of_self * self.times + of_other * times,
            of_self * self.plus + of_other * plus,
        )

    def __add__(self, other: Any) -> Any:
        """Add a length or an integer."""
        return self._linear(other, 1, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Subtract a length or an integer."""
        return self._linear(other, 1, -1)

    def __rsub__(self, other: Any) -> Any:
        """Subtract from a length or an integer."""
        return self._linear(other, -1, 1)

    def __neg__(self) -> Any:
        """Return the negative."""
        return self._made(-self.times, -self.plus)

    def __mul__(self, other: Any) -> Any:
        """Multiply by an integer."""
        if self._is_left_to(other):
            return NotImplemented
        if not isinstance(other, numbers.Integral):
            return self.unknown.refuse("a product")
        return self._made(self.times * int(other), self.plus * int(other))

    __rmul__ = __mul__

    def __divmod__(self, other: Any) -> Any:
        """Divide by an integer, or a length, if the remainder is the same for all numbers of rows."""
        parts = self._parts(other)
        if parts is None:
            return NotImplemented if self._is_left_to(other) else self.unknown.refuse("a quotient")
        times, plus = parts
        if not times and plus and self.times % plus == 0:
            quotient, remainder = divmod(self.plus, plus)
            return self._made(self.times // plus, quotient), remainder
        is_multiple = times and self.times % times == 0 and self.times // times * plus == self.plus
        return (self.times // times, 0) if is_multiple else self.unknown.refuse("a quotient")

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
        return NotImplemented if self._is_left_to(other) else self.unknown.refuse("arithmetic")

    __truediv__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = _refused_operator
    __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refused_operator
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refused_operator

    # JAX asks for these

    def max(self, other: Any) -> Any:
        """Return the greater one of two lengths."""
        return self if self >= other else other

    def min(self, other: Any) -> Any:
        """Return the lesser one of two lengths."""
        return self if self <= other else other

    rmax = max
    rmin = min

    def dimension_as_value(self) -> Any:
        """Return the length as a number in the program."""
        limits = np.iinfo(default_dtype(int))
        if self.least < limits.min or self.most > limits.max:
            return self.unknown.refuse("a number")
        return length_p.bind(length=self)

    __jax_array__ = dimension_as_value

    # Decisions: what is the same for all numbers of rows, and no other

    def _bounds_beside(self, other: Any) -> tuple[Any, Any] | None:
        """Return the bounds of the difference to a length or a number; None for what is neither."""
        if isinstance(other, Length):
            if other.unknown is not self.unknown:
                return None
            other = self - other
            return (other.least, other.most) if isinstance(other, Length) else (other, other)
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
        return self.unknown.refuse(question)

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
        return self.unknown.refuse("==")

    def __bool__(self) -> bool:
        """Whether it is not 0, for every number of rows."""
        return self.least > 0 or self.most < 0 or self.unknown.refuse("a truth")

    def __hash__(self) -> int:
        """Return a hash for JAX, which keeps programs by shapes; who else asks looks the number up."""
        if not _asked_by(_JAX):
            self.unknown.refuse("a hash")
        return hash((id(self.unknown), self.times, self.plus))

    def __repr__(self) -> str:
        """Return the length as JAX says it in messages; a program of other words depends on it."""
        if not _asked_by(_JAX):
            self.unknown.refuse("a string")
        return f"{self.times}*n{self.plus:+}"

    def _refused_number(self) -> Any:
        return self.unknown.refuse("a number")

    __int__ = __float__ = __complex__ = __trunc__ = __floor__ = __ceil__ = _refused_number

    def __index__(self) -> int:
        """Refuse an integer to everybody; JAX asks whether there is one, and knows this error."""
        if _asked_by(_JAX):
            raise TypeError("a length that is not known is no integer")
        return self.unknown.refuse("an integer")

    def __round__(self, ndigits: Any = None) -> Any:
        """Refuse: integers are rounded to what they are, or to tens."""
        return self.unknown.refuse("a number")


_JAX = ("jax.", "jaxlib.")
_KNOWS_CLASSES = (*_JAX, "jaxapi.")  # what else lengths may be than ints


def _asking() -> types.FrameType:
    """Return the frame that calls a method of a length, also by way of an abstract class."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in ("abc", __name__):
        frame = frame.f_back
    return frame


def _asked_by(packages: tuple[str, ...]) -> bool:
    """Whether a method of a length is called by code of packages."""
    return str(_asking().f_globals.get("__name__")).startswith(packages)


_COMPARING = frozenset([dis.opmap["COMPARE_OP"], dis.opmap["CONTAINS_OP"]])


def _is_looked_up_by_jax() -> bool:
    """Whether JAX looks a shape up among its keys: no decision, and which keys are compared is accidental.

    Its tables are no Python: the code that asks calls them, and compares nothing itself.
    """
    code = _asking().f_code
    instruction = code.co_code[_asking().f_lasti]
    return _asked_by(_JAX) and (code.co_name == "__eq__" or instruction not in _COMPARING)


def at(dimension: Any, count: Any) -> Any:
    """Return a dimension for a number of rows."""
    return dimension.of(count) if isinstance(dimension, Length) else dimension


length_p = Primitive("length_of_rows")


@length_p.def_abstract_eval
def _abstract_length(*, length: Length) -> Any:
    return jax.typeof(0)  # as a number of Python's
