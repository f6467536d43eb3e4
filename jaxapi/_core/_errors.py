"""NumPy's exceptions for the mistakes in shapes and axes that JAX reports by others.

JAX has no classes of its own for these mistakes, so its text tells which one it is. Text that is not
recognised changes nothing: JAX's exception passes.
"""

import functools
import operator
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._programs import any_traced, is_traced

__all__ = ["NEEDS_A_VALUE", "SHAPED_BY_VALUES", "check_broadcast", "error_of_several", "numpy_error"]
__all__ += ["raises_as_numpy", "refuse_traced", "whole_number", "with_remedy"]

# What JAX raises where a program needs a value that it does not know while it compiles.
NEEDS_A_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
_UNIQUE = ("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values")
_SETS = ("intersect1d", "setdiff1d", "setxor1d", "union1d")
SHAPED_BY_VALUES = {
    "argwhere", "bincount", "compress", "extract", "flatnonzero", "nonzero", "repeat", *_SETS, *_UNIQUE,
}  # fmt: skip

_REMEDIES = {
    "choose": "pass mode='clip' or mode='wrap'",
    "roots": "use jax.numpy.roots(p, strip_zeros=False), where the first and last coefficients are not 0",
    "trim_zeros": "call it outside of jax.jit, jax.vmap and jax.grad, or slice by known positions",
}

_SHAPE = re.compile(r"\((?:\d+,?(?: \d+,?)*)?\)")
_TRACED = ("Non-hashable static arguments", "Shapes must be 1D sequences of concrete values")
_SEVERAL_FOR_ONE = [f"'{kind}' object cannot be interpreted as an integer" for kind in ("tuple", "list")]
_AXIS = re.compile(r"axis -?\d+ is out of bounds for array of dimension \d+")
_TYPE_ERRORS_OF_SHAPES = (
    "Cannot concatenate arrays",
    "cannot reshape array",
    "dimensions must be unique",
    "permutation isn't a permutation",
    "requires contracting dimensions to have the same shape",
)


def numpy_error(error: Exception) -> Exception | None:
    """Return the exception that NumPy raises for the same mistake; None where JAX's is of that type."""
    text = str(error)
    if (of_several := error_of_several(error)) is not None:
        return of_several
    if "Tracer" in text and any(part in text for part in _TRACED):
        return TypeError(_shapes_the_program("an argument (an axis, a length, a shape)"))
    if "ncompatible shapes for broadcasting" in text:
        shapes = " ".join(shape.replace(" ", "") for shape in _SHAPE.findall(text))
        return ValueError(f"operands could not be broadcast together with shapes {shapes or text}")
    if "for cross product" in text:
        return ValueError("cross takes vectors of 3 elements: say axis= where it is not the last axis")
    if isinstance(error, TypeError):
        return ValueError(text) if any(part in text for part in _TYPE_ERRORS_OF_SHAPES) else None
    axis = None if isinstance(error, np.exceptions.AxisError) else _AXIS.search(text)
    return None if axis is None else np.exceptions.AxisError(axis.group())


def error_of_several(error: Exception) -> Exception | None:
    """Return what to say where several integers were given for one, as a tuple of axes; None elsewhere."""
    if str(error) not in _SEVERAL_FOR_ONE:
        return None
    return TypeError(
        "one integer is wanted, got several: the function works along one axis; reshape the array so that "
        "the axes are one, or call it for each"
    )


def raises_as_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that `jax.jit` traces raise NumPy's exceptions; it costs compiled calls nothing."""

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError) as error:
            if (numpys := numpy_error(error)) is not None:
                raise numpys from None
            raise

    return traced


def with_remedy(error: Exception, name: str) -> Exception:
    """Return one of `NEEDS_A_VALUE`, which says now what to do about a call of the function ``name``.

    JAX's sentence about the user's function and its argument stays.
    """
    if name in _REMEDIES:
        text = f"{name} looks at values, which a compiled program does not know: {_REMEDIES[name]}"
    elif name in SHAPED_BY_VALUES:
        text = (
            f"the shape of {name}'s result depends on values, which a compiled program does not know: call "
            "it outside of jax.jit, jax.vmap and jax.grad, use where(mask, x, value), or "
            f"jax.numpy.{name} with its length given (size=, length= or total_repeat_length=)"
        )
    else:
        text = _shapes_the_program(f"an argument of {name} (an axis, a length, a shape)")
    return _reworded(error, text)


def _reworded(error: Exception, text: str) -> Exception:
    wheres = [line for line in str(error).splitlines() if line.startswith("The error occurred while tracing")]
    error.args = (". ".join([text, *wheres]),)
    return error


def whole_number(number: Any, name: str) -> int:
    """Return the integer argument ``name``, which shapes a program, as a Python int.

    A dimension that is not known, by which JAX traces a program for several lengths, stays one.
    """
    if hasattr(number, "dimension_as_value") and not is_traced(number):
        return number
    try:
        return operator.index(number)
    except jax.errors.TracerIntegerConversionError as error:
        raise _reworded(error, _shapes_the_program(name)) from None


def _shapes_the_program(name: str) -> str:
    return (
        f"{name} shapes the program, so it must be a Python number, not traced: close over it or name it in "
        "static_argnames of jax.jit"
    )


def refuse_traced(name: str, *values: Any) -> None:
    """Refuse abstract values, also in lists, where the argument ``name`` shapes a program."""
    if any_traced(*values) or any(any_traced(*each) for each in values if isinstance(each, list | tuple)):
        raise TypeError(_shapes_the_program(name))


def check_broadcast(name: str, *shapes: tuple[int, ...]) -> None:
    """Raise NumPy's ValueError where shapes do not broadcast: most of JAX's functions raise TypeError."""
    try:
        jnp.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(map(str, shapes))
        raise ValueError(f"{name}: operands could not be broadcast together with shapes {listed}") from None
