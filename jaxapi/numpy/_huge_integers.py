"""Python's integers beyond 64 bits as arguments, which NumPy takes as floats beside floats."""

import functools
import math

import numpy as np

__all__ = ["with_huge_integers"]

# What a number becomes by which elements are looked for, ordered or compared.
_OF_COMPARISONS = dict.fromkeys(("array_equal", "array_equiv", "isin"), "equal")
_OF_COMPARISONS |= {"searchsorted": "ordered", "allclose": "near", "isclose": "near", "average": "near"}
# They compute by the number, where there are floats.
_OF_FLOATS = frozenset(["choose", "interp", "nan_to_num", "pad", "polyval", "unwrap"])


def with_huge_integers(name: str, function):
    """Return a function that takes such integers, if it is one of these; else the function as it is."""
    use = _OF_COMPARISONS.get(name)
    if use is None and name not in _OF_FLOATS:
        return function

    @functools.wraps(function)
    def call(*args, **kwargs):
        if not (any(map(_has_huge, args)) or any(map(_has_huge, kwargs.values()))):
            return function(*args, **kwargs)
        operands = [*args, *kwargs.values()]
        has_floats = any(map(_is_of_floats, operands))
        has_arrays = any(hasattr(x, "dtype") for x in operands)
        if (use is None and not has_floats) or (use == "equal" and not has_arrays):
            return function(*args, **kwargs)  # which raises
        as_float = float
        beside_huge = [x for x in operands if not _has_huge(x)]
        is_beside_floats = any(map(_is_of_floats, beside_huge))
        if use == "equal":
            as_float = _equal_float if is_beside_floats else _none_of_integers
        elif use == "ordered" and not is_beside_floats:
            as_float = _beyond_integers
        args = [_replaced(x, as_float) for x in args]
        return function(*args, **{name: _replaced(x, as_float) for name, x in kwargs.items()})

    return call


def _is_huge(x) -> bool:
    return type(x) is int and not -(2**63) <= x < 2**64


def _has_huge(x) -> bool:
    return any(map(_has_huge, x)) if type(x) in (list, tuple) else _is_huge(x)


def _is_of_floats(x) -> bool:
    if type(x) in (list, tuple):
        return any(map(_is_of_floats, x))
    dtype = getattr(x, "dtype", None)
    return isinstance(x, (float, complex)) or (dtype is not None and np.dtype(dtype).kind in "fcV")


def _replaced(x, as_float):
    """Return an argument with floats in the place of such integers."""
    if type(x) in (list, tuple):
        return type(x)([_replaced(part, as_float) for part in x])
    return as_float(x) if _is_huge(x) else x


def _equal_float(x: int) -> float:
    """Return the float that equals an integer; NaN where there is none."""
    try:
        number = float(x)
    except OverflowError:
        return np.nan
    return number if int(number) == x else np.nan


def _none_of_integers(x: int) -> float:
    return np.nan


def _beyond_integers(x: int) -> float:
    return math.copysign(np.inf, x)
