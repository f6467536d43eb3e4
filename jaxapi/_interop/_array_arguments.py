"""The namespace's rule for array arguments, around the functions of `jax.numpy` that need no other repair.

Every function takes what `asarray` takes (lists, NumPy, CuPy, PyTorch) and keeps its dtype, 64-bit included.
`jax.numpy` refuses lists and other libraries' arrays, and with x64 off it narrows NumPy's 64-bit arrays. Here
a `jax.Array` goes through untouched, a Python number stays weakly typed, and everything else becomes an
array first. Then comes one compiled call, where `jax.numpy` itself may make several.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from .._core._docs import with_paragraph
from .._core._dtypes import WIDE, as_factors, promoted, resolve_dtype
from .._core._errors import NEEDS_A_VALUE, check_broadcast, numpy_error, raises_as_numpy, with_remedy
from .._core._programs import compiled
from .._core._typing import Array, ArrayLike
from ._by_numpy import with_numpy
from ._convert import ARRAY_TYPES, as_array, as_operand, as_operands
from ._numbers import scalar_like

__all__ = ["static_argument", "static_axis", "takes_array", "takes_operands", "takes_sequence"]

P = ParamSpec("P")
R = TypeVar("R")

_NUMBERS = frozenset({bool, int, float, type(None)})
_PLAIN = _NUMBERS | {str}


def takes_array(
    function: Callable[Concatenate[Any, P], R],
    *others: str,
    elements: tuple[str, ...] = (),
    compiled: bool = True,
    difference: str = "",
) -> Callable[Concatenate[ArrayLike, P], R]:
    """Return ``function``, which then takes anything array-like for its first argument and ``others``.

    ``elements`` are arrays, too, computed with those of the first (as ``initial`` is): there a Python number
    keeps its precision where the dtype has 64 bits. All further arguments shape the program. Pass
    ``compiled=False`` where values shape the result. ``difference`` says how values differ from JAX's.
    """
    names = list(inspect.signature(function).parameters)
    arrays = frozenset(others + elements)
    call: Callable[..., R] = function
    if compiled:
        call = _compiled(function, [name for name in names[1:] if name not in arrays])
        call = with_numpy(function.__name__, call)
    forms = {name: _FORMS.get(name, _operand if name in arrays else static_argument) for name in names[1:]}
    convert = as_operand if compiled else as_array

    @_stands_for(function, difference)
    def converting(x, /, *args, **kwargs):
        if type(x) not in ARRAY_TYPES:
            x = convert(x)
        if elements and (len(args) > 1 or not kwargs.keys().isdisjoint(elements)):
            args, kwargs = _with_precision(x, names[1:], elements, args, kwargs)
        if not forms.keys() >= kwargs.keys():
            raise _unexpected(function, kwargs.keys() - forms.keys())
        try:
            if not args and not kwargs:
                return call(x)
            if len(args) > len(forms):
                return call(x, *args, **kwargs)  # which raises
            args = tuple([form(arg) for form, arg in zip(forms.values(), args, strict=False)])
            kwargs = {name: forms[name](arg) for name, arg in kwargs.items()}
            return call(x, *args, **kwargs)
        except NEEDS_A_VALUE as error:
            raise with_remedy(error, function.__name__) from None
        except (TypeError, ValueError) as error:
            if (numpys := numpy_error(error)) is not None:
                raise numpys from None
            raise

    return converting


def _in_promoted_dtype(function, x1, x2):
    return function(*promoted(x1, x2))


def takes_operands(
    function: Callable[..., R], apply: Callable[..., R] = _in_promoted_dtype, difference: str = ""
) -> Callable[[ArrayLike, ArrayLike], R]:
    """Return a function of two operands, which then takes anything array-like for both.

    A Python number keeps all its precision next to an array of a 64-bit dtype, and raises OverflowError where
    it does not fit an integer one. Shapes that do not broadcast raise ValueError, as in NumPy. ``difference``
    says how values differ from JAX's.
    """

    def checked(x1, x2):
        check_broadcast(function.__name__, jnp.shape(x1), jnp.shape(x2))
        return apply(function, x1, x2)

    call = _compiled(functools.wraps(function)(checked), [])

    @_stands_for(function, difference)
    def converting(x1: ArrayLike, x2: ArrayLike, /) -> Array:
        if type(x1) not in ARRAY_TYPES or type(x2) not in ARRAY_TYPES:
            x1, x2 = as_operands(x1, x2)
        return call(x1, x2)

    return converting


def takes_sequence(
    function: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Sequence[ArrayLike] | Array, P], R]:
    """Return a function of a sequence of arrays, which then takes anything array-like in it."""
    names = list(inspect.signature(function).parameters)

    def promoting(arrays, *args, **kwargs):
        if isinstance(arrays, tuple) and arrays:
            arrays = promoted(*as_factors(*arrays))
        return function(arrays, *args, **kwargs)

    call = _compiled(raises_as_numpy(functools.wraps(function)(promoting)), names[1:])
    known = frozenset(names[1:])

    @_stands_for(function)
    def converting(arrays, /, *args, **kwargs):
        if not known.issuperset(kwargs):
            raise _unexpected(function, kwargs.keys() - known)
        if isinstance(arrays, (list, tuple)):
            arrays = tuple([x if type(x) in ARRAY_TYPES else as_operand(x) for x in arrays])
        else:
            arrays = as_operand(arrays)
            if not jnp.ndim(arrays):
                raise TypeError(f"{function.__name__} takes a sequence of arrays, got one of shape ()")
        if not args and not kwargs:
            return call(arrays)
        try:
            args = tuple([static_argument(arg) for arg in args])
            kwargs = {name: _FORMS.get(name, static_argument)(arg) for name, arg in kwargs.items()}
        except NEEDS_A_VALUE as error:
            raise with_remedy(error, function.__name__) from None
        return call(arrays, *args, **kwargs)

    return converting


def _with_precision(x, names: list[str], elements: tuple[str, ...], args: tuple, kwargs: dict):
    """Return the arguments with Python numbers among ``elements`` in the 64-bit dtype of the computation."""
    given = dict(zip(names, args, strict=False)) | kwargs
    dtype = resolve_dtype(given.get("dtype"))
    if (getattr(x, "dtype", None) if dtype is None else dtype) not in WIDE:
        return args, kwargs
    computed = x if dtype is None else jax.ShapeDtypeStruct((), dtype)
    precise = {name: scalar_like(given[name], computed) for name in elements if name in given}
    known_args = [precise.get(name, arg) for name, arg in zip(names, args, strict=False)]
    args = (*known_args, *args[len(names) :])
    return args, {name: precise.get(name, arg) for name, arg in kwargs.items()}


def _unexpected(function, names) -> TypeError:
    return TypeError(f"{function.__name__}() got an unexpected keyword argument {min(names)!r}")


def _compiled(function, static: list[str]):
    return compiled(function, static_argnames=static, inline=True)


def _operand(value):
    return value if type(value) in _NUMBERS else as_operand(value)


def static_argument(value):
    """Put an axis, a shape or an option into a form that `jax.jit` can compare."""
    cls = type(value)
    if cls in _PLAIN:
        return value
    if cls is tuple or cls is list:
        return tuple([item if type(item) is int else static_argument(item) for item in value])
    if isinstance(value, np.ndarray | jax.Array):  # traced, it raises JAX's error
        return value.item() if value.ndim == 0 else tuple(value.tolist())
    return value


def static_axis(axis):
    """Put an axis, or several, into that form; JAX would take text for the name of an axis of a mesh."""
    if axis is None or type(axis) is int:
        return axis
    axis = static_argument(axis)
    for number in axis if isinstance(axis, tuple) else (axis,):
        if not hasattr(number, "__index__"):
            raise TypeError(f"axis must be an integer, or a tuple of integers to take several, got {axis!r}")
    return axis


def _shift(value):
    """Return shifts as an operand; ints of more than 32 bits as an array, as JAX would refuse them."""
    if type(value) in (int, list, tuple):
        shifts = np.asarray(value)
        if shifts.dtype == np.int64 and (shifts != shifts.astype(np.int32)).any():
            return as_array(shifts)
    return _operand(value)


def _correction(value):
    """Return the degrees of freedom that a variance loses."""
    if isinstance(value, str):
        raise TypeError(f"correction must be a number, got {value!r}")
    return static_argument(value)


_FORMS = {"axis": static_axis, "correction": _correction, "shift": _shift}  # of arguments by their names


def _stands_for(function, difference=""):
    """Name, document and sign the decorated function as ``function``, so that it pickles by its name here."""

    def decorate(converting):
        signature = inspect.signature(converting)
        if "args" in signature.parameters:
            first, *rest = inspect.signature(function).parameters.values()
            first = first.replace(kind=inspect.Parameter.POSITIONAL_ONLY)
            signature = inspect.signature(function).replace(parameters=[first, *rest])
        functools.update_wrapper(converting, function, updated=())
        converting.__signature__ = signature
        converting.__module__ = f"jaxapi{_chapter(function)}"
        converting.__qualname__ = function.__name__
        converting.__doc__ = _documented(function, difference)
        return converting

    return decorate


def _chapter(function) -> str:
    """Return ``.fft`` or ``.linalg`` for functions of these, nothing for others."""
    return function.__module__.rpartition("numpy")[2]


def _documented(function, difference: str) -> str:
    """Return JAX's docstring, with what is different after its first paragraph."""
    name = f"jax.numpy{_chapter(function)}.{function.__name__}"
    taken = "nything array-like is taken (lists, arrays of NumPy, CuPy and PyTorch) and\n"
    taken += "keeps its dtype, with x64 mode off too. The rest is JAX's own text."
    paragraph = f"Unlike `{name}`, {difference}.\n\nA{taken}" if difference else f"Unlike `{name}`, a{taken}"
    return with_paragraph(function, paragraph)
