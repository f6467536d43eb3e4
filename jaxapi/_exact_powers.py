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
from fractions import Fraction

__all__ = ["truncated_power"]

# exp(45) > 2**64: no integer dtype holds more.
_LN_LIMIT = 45


def truncated_power(base: int | float, exponent: Fraction) -> int:
    """Truncate the exact ``base ** exponent`` toward zero.

    Raises ``OverflowError`` above ``exp(45)`` and ``ValueError`` where the power is not a finite real number.
    """
    if exponent == 0:
        return 1
    if base == 0:
        if exponent < 0:
            raise ValueError(f"0 to the {exponent} is infinite, which no integer dtype holds")
        return 0
    if base < 0:
        if exponent.denominator != 1:
            raise ValueError(
                f"{base} to the {float(exponent)} is not a real number, which no integer dtype holds; "
                "take a complex base"
            )
        sign = -1 if exponent.numerator % 2 else 1
        return sign * truncated_power(-base, exponent)
    if base == 1:
        return 1
    p, q = Fraction(base).as_integer_ratio()
    n, d = exponent.as_integer_ratio()
    if n < 0:
        p, q, n = q, p, -n
    if p < q:  # a power of a number below 1
        return 0
    if q == 1:
        c = _integer_root(p, d)
        if c**d == p:
            if (c.bit_length() - 1) * n > 64:
                raise OverflowError(f"{base} to the {exponent} is beyond every integer dtype")
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
            raise OverflowError(f"{base} to the {float(exponent)} is beyond every integer dtype")
        power = context.exp(ln_power)
        margin = context.scaleb(power, 4 - digits)
        low, high = int(context.subtract(power, margin)), int(context.add(power, margin))
        if low == high:
            return low
        digits *= 2
