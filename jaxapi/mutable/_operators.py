"""The operators of the class, made of the namespace's own functions."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._dtypes import lacks_64_bits
from .._interop import as_array, scalar_like
from .._interop._numbers import KINDS
from ._array import Array, wrap
from ._selection import compiled_pair
from ._sharing import asarray

__all__ = ["OPERATORS", "add_operators", "number_like"]

_NUMBERS = (int, float, complex)
_LISTS = (list, tuple)
_COMPARISONS = {
    "eq": jaxapi.equal,
    "ge": jaxapi.greater_equal,
    "gt": jaxapi.greater,
    "le": jaxapi.less_equal,
    "lt": jaxapi.less,
    "ne": jaxapi.not_equal,
}
_OPERANDS = (*_NUMBERS, *_LISTS, np.ndarray, np.generic, jax.Array)


def _operand(x, array, function):
    """Return the other operand of ``array``, or NotImplemented; numbers as they are for no function."""
    if isinstance(x, Array):
        return x._value
    if not isinstance(x, _OPERANDS):
        return NotImplemented
    if isinstance(x, _LISTS):
        return as_array(x)
    if type(x) is np.ulonglong or type(x) is np.longlong:  # JAX knows the other 64-bit type alone
        return x.astype(x.dtype.str)
    if function and isinstance(x, _NUMBERS) and not isinstance(x, np.generic):
        return number_like(x, array, function)
    return x


def number_like(x, array, function):
    """Return a Python number as the other operand: an int that does not fit raises, precision is kept.

    Compared, such an int is more, or less, than every element, as in NumPy.
    """
    if function in _COMPARISONS.values() and type(x) is int and array.dtype.kind in "iub":
        limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.iinfo(np.int8)
        if not limits.min <= x <= limits.max:
            return math.copysign(math.inf, x)
    if _may_raise(function, array, x):
        return x
    if lacks_64_bits(array):
        fits = array.dtype.kind in KINDS.get(type(x), "")
        return asarray(x, dtype=array.dtype)._value if fits else x
    if type(x) is int and array.dtype.kind in "iu":
        np.asarray(x, array.dtype)
    # JAX raises to an int by other means than to a float
    return scalar_like(x, array) if function is jaxapi.pow else x


def _may_raise(function, array, x) -> bool:
    """Whether ``x`` raises as a power of ``array``, for what a program would not know: being a Python int."""
    return function is jaxapi.pow and type(x) is int and x < 0 and array.dtype.kind in "iu"


def _unary(function):
    return lambda self: wrap(function(self._value), type(self))


def _binary(function, numbers_of):
    def operator(self, other):
        value = self._value
        other = _operand(other, value, numbers_of)
        return NotImplemented if other is NotImplemented else wrap(function(value, other), type(self))

    return operator


def _in_place(function, numbers_of, can_cast):
    def changed(value, other):
        return _as_before(function(value, other), value, can_cast)

    reusing = compiled_pair(changed)

    def program(value, other, made):
        if made is None or _may_raise(numbers_of, value, other):
            return changed(value, other)  # by the program that x + y has, too
        return reusing(made, value, other)

    def operator(self, other):
        other = _operand(other, self, numbers_of)
        if other is NotImplemented:
            return NotImplemented
        self._rewrite(program, other)
        return self

    return operator


def _as_before(result, value, can_cast):
    """Return a result in the dtype of the array that it replaces; refuse another shape or kind."""
    if result.shape != value.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {value.shape} doesn't match the broadcast shape "
            f"{result.shape}"
        )
    if result.dtype == value.dtype:
        return result
    if not can_cast(result.dtype, value.dtype):
        raise TypeError(
            f"cannot cast the result from {result.dtype} to {value.dtype} in place: write x = x + y, or use "
            "astype() first"
        )
    return result.astype(value.dtype)


@functools.cache
def _kind(dtype) -> int:
    kinds = (np.bool, np.integer, np.floating, np.complexfloating)
    return next(i for i, kind in enumerate(kinds) if jnp.issubdtype(dtype, kind))


def _is_of_kind(source, target) -> bool:
    return _kind(source) <= _kind(target)


OPERATORS = {
    "add": "add",
    "and": "bitwise_and",
    "floordiv": "floor_divide",
    "lshift": "bitwise_left_shift",
    "matmul": "matmul",
    "mod": "remainder",
    "mul": "multiply",
    "or": "bitwise_or",
    "pow": "pow",
    "rshift": "bitwise_right_shift",
    "sub": "subtract",
    "truediv": "divide",
    "xor": "bitwise_xor",
}


def add_operators(kind, functions, can_cast) -> None:
    """Give a class its operators: of functions of values, by name, which may convert Python's numbers."""
    for operator, name in OPERATORS.items():
        numbers_of, function = getattr(jaxapi, name), functions(name)
        of_two = function, numbers_of if function is numbers_of else None
        setattr(kind, f"__{operator}__", _binary(*of_two))
        setattr(kind, f"__r{operator}__", _binary(lambda x, y, function=function: function(y, x), of_two[1]))
        setattr(kind, f"__i{operator}__", _in_place(function, numbers_of, can_cast))
    for operator, compared in _COMPARISONS.items():
        setattr(kind, f"__{operator}__", _binary(functions(compared.__name__), compared))
    kind.__hash__ = None


add_operators(Array, functools.partial(getattr, jaxapi), _is_of_kind)
for _name, _unary_function in {
    "abs": jaxapi.abs,
    "invert": jaxapi.bitwise_invert,
    "neg": jaxapi.negative,
    "pos": jaxapi.positive,
}.items():
    setattr(Array, f"__{_name}__", _unary(_unary_function))
for _name, _pair in {
    "divmod": lambda self, other: (self // other, self % other),
    "rdivmod": lambda self, other: (other // self, other % self),
}.items():
    setattr(Array, f"__{_name}__", _pair)
