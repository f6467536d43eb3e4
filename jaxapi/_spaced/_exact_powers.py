"""Real powers truncated to integers, exactly: the host arithmetic of `logspace` with an integer dtype.

Why it is right
---------------
Let the base be ``b = p/q > 0``, ``b != 1``, and the exponent ``e = n/d > 0``, both in lowest terms (floats
are rational numbers, so both are known exactly; ``e < 0`` is ``1/b`` to the ``-e``). If ``b**e`` is an
integer ``m``, then ``p**n = m**d * q**n``. So ``q`` divides a power of ``p``, which leaves ``q = 1``; and
``b**n = m**d`` with ``n`` and ``d`` coprime makes ``b`` a perfect ``d``-th power. So:

* if ``b = c**d`` for an integer ``c``, then ``b**e`` is the integer ``c**n``;
* otherwise ``b**e`` is no integer, and enclosing it in ever narrower intervals must at some point leave no
  integer inside; both ends then truncate to the same number. `decimal`'s ``ln`` and ``exp`` are correctly
  rounded, which bounds the interval.

No tolerance decides anything.
"""

import decimal
import math
from fractions import Fraction

import numpy as np

from ._spacing import Grid, integer_limits

__all__ = ["truncated_powers"]

# exp(45) > 2**64: no integer dtype holds more.
_LN_LIMIT = 45


def truncated_powers(start: float, stop: float, base: float, grid: Grid) -> list[int]:
    """Raise ``base`` to evenly spaced exponents, exactly, and truncate.

    Raises ``OverflowError`` for a power outside the grid's dtype, ``ValueError`` for one that is not a finite
    real number.
    """
    # Exponent i is (first + i * step) / denominator, in integers.
    first_exponent = Fraction(start)
    last_exponent = Fraction(stop)
    intervals = max(grid.intervals, 1)
    scale = math.lcm(first_exponent.denominator, last_exponent.denominator)
    first = int(first_exponent * scale) * intervals
    step = int((last_exponent - first_exponent) * scale)
    denominator = scale * intervals

    low, high = integer_limits(grid.dtype)
    base_is_whole = base == int(base)
    floats, is_clear = _clear_powers(start, stop, base, grid)
    powers = []
    for i in range(grid.num):
        numerator = first + i * step
        if is_clear[i]:
            power = int(floats[i])
        elif base_is_whole and numerator % denominator == 0 and 0 <= numerator <= 64 * denominator:
            power = int(base) ** (numerator // denominator)
        else:
            power = _truncated_power(base, Fraction(numerator, denominator))
        if not low <= power <= high:
            raise OverflowError(
                f"logspace: {base} to the {numerator / denominator} is outside {grid.dtype}, {low} to "
                f"{high}; take a wider dtype"
            )
        powers.append(power)
    return powers


def _clear_powers(start, stop, base: float, grid: Grid) -> tuple[list[float], list[bool]]:
    """NumPy's powers, and which of them have the same whole part as the exact ones beyond doubt.

    Most powers lie far from an integer, and need no exact arithmetic. NumPy's exponents are within 4 ulp of
    the largest of them, which changes a power by that times ``log(base)``, relatively, and its powers are
    within 16 ulp of those of its exponents: 2**-48 in all, of which the margin is 16 times.
    """
    start = float(start)
    stop = float(stop)
    float_base = float(base)
    with np.errstate(all="ignore"):
        floats = np.logspace(start, stop, grid.num, grid.endpoint, float_base)
        if float_base <= 0 or float_base != base:
            return floats.tolist(), [False] * grid.num
        largest_exponent = max(abs(start), abs(stop))
        margin = 2.0**-44 * (1 + largest_exponent * abs(math.log(float_base)))
        is_clear = np.abs(floats - np.rint(floats)) > margin * floats
        return floats.tolist(), is_clear.tolist()


def _truncated_power(base: int | float, exponent: Fraction) -> int:
    """Truncate the exact ``base ** exponent`` toward zero; ``OverflowError`` above ``exp(45)``."""
    if exponent == 0:
        return 1
    if base == 0:
        if exponent < 0:
            raise ValueError(
                f"logspace: 0 to the {float(exponent)} is infinite, which no integer dtype holds"
            )
        return 0
    if base < 0:
        if exponent.denominator != 1:
            raise ValueError(
                f"logspace: {base} to the {float(exponent)} is not a real number, which no integer dtype "
                "holds; take a complex base and dtype"
            )
        sign = -1 if exponent.numerator % 2 else 1
        return sign * _truncated_power(-base, exponent)
    if base == 1:
        return 1
    p, q = Fraction(base).as_integer_ratio()
    n, d = exponent.as_integer_ratio()
    if n < 0:
        p, q = q, p
        n = -n
    if p < q:  # a power of a number below 1
        return 0
    if q == 1:
        c = _integer_root(p, d)
        if c**d == p:
            if (c.bit_length() - 1) * n > 64:
                raise OverflowError(
                    f"logspace: {base} to the {float(exponent)} is beyond every integer dtype"
                )
            return c**n
    return _enclosed(base, exponent)


def _integer_root(x: int, d: int) -> int:
    """Largest integer whose ``d``-th power is at most ``x >= 1``."""
    if d == 1:
        return x
    if d >= x.bit_length():  # x < 2**d
        return 1
    root = 1 << -(-x.bit_length() // d)  # at or above the root; Newton's method descends to it
    while True:
        lower = ((d - 1) * root + x // root ** (d - 1)) // d
        if lower >= root:
            return root
        root = lower


def _enclosed(base: int | float, exponent: Fraction) -> int:
    """Truncate a power above 1 that is known not to be an integer."""
    digits = 40
    while True:
        context = decimal.Context(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
        # Each operation is rounded to within 10**(1 - digits) / 2, relatively, so ln_power is within
        # 2 * 10**(1 - digits), and its exponential within 45 times that and its own rounding.
        ln_power = context.multiply(context.ln(decimal.Decimal(base)), decimal.Decimal(exponent.numerator))
        ln_power = context.divide(ln_power, decimal.Decimal(exponent.denominator))
        if ln_power > _LN_LIMIT:
            raise OverflowError(f"logspace: {base} to the {float(exponent)} is beyond any integer dtype")
        power = context.exp(ln_power)
        margin = context.scaleb(power, 4 - digits)
        low = int(context.subtract(power, margin))
        high = int(context.add(power, margin))
        if low == high:
            return low
        digits *= 2
