"""JAX's tracing errors in the words and exception types of NumPy's users.

Each answer names the line of the user's code and the remedy. Exceptions that are not about tracing
pass unchanged.
"""

import re
import traceback
from typing import NoReturn

import jax
import numpy as np

__all__ = ["raise_translated"]

_OURS = ("jax", "jaxlib", "jaxapi", "numpy", "functools", "contextlib")
_SHAPE = re.compile(r"\((?:\d+,?(?: \d+,?)*)?\)")
_AXIS = re.compile(r"axis (-?\d+) is out of bounds for array of dimension (\d+)")
_SHAPE_MISTAKES = (
    "requires contracting dimensions to have the same shape",
    "cannot reshape array",
    "Cannot concatenate arrays",
)


def raise_translated(error: Exception, name: str) -> NoReturn:
    """Raise what answers ``error`` from the fused function ``name``, or ``error`` itself."""
    answer = _translate(error, name)
    if answer is None:
        raise error
    raise answer from error


def _translate(error, name) -> Exception | None:
    """Return the exception to raise instead of ``error`` from the fused function ``name``, or None."""
    text = str(error)
    where = _user_line(error)
    if isinstance(error, jax.errors.TracerArrayConversionError):
        return TypeError(
            f"a NumPy function met a traced array in fused function {name!r}{where}. NumPy cannot "
            "work on values that are not computed yet: call jaxapi's function of the same name "
            "(jaxapi.sqrt for numpy.sqrt)"
        )
    if isinstance(error, jax.errors.NonConcreteBooleanIndexError):
        return IndexError(
            f"a boolean mask cannot index an array in fused function {name!r}{where}: the shape of the "
            "result would depend on values. Use jaxapi.where(mask, x, value), or index outside the fused "
            "function"
        )
    if _asks_for_a_value(error, text):
        return TypeError(
            f"a traced array cannot become a Python scalar in fused function {name!r}{where}: its value is "
            "not known while the function is compiled. To choose by value use jaxapi.where(condition, a, b) "
            "instead of if, and, or, not; a number that steers the program (an axis, a length, a loop count) "
            "must not be an argument: close over it or bind it with functools.partial"
        )
    if "ncompatible shapes for broadcasting" in text and isinstance(error, (TypeError, ValueError)):
        shapes = " ".join(match.replace(" ", "") for match in _SHAPE.findall(text))
        return ValueError(
            f"operands could not be broadcast together with shapes {shapes} in fused function {name!r}{where}"
        )
    if isinstance(error, TypeError) and any(mistake in text for mistake in _SHAPE_MISTAKES):
        return ValueError(f"{text} (in fused function {name!r}{where})")
    if isinstance(error, (ValueError, IndexError)) and not isinstance(error, np.exceptions.AxisError):
        axis = _AXIS.search(text)
        if axis:
            return np.exceptions.AxisError(f"{axis.group()} in fused function {name!r}{where}")
    if isinstance(error, TypeError) and "item assignment" in text:
        return TypeError(
            f"jax arrays are immutable, so subscripts cannot be assigned in fused function {name!r}{where}. "
            "Instead of x[i] = y write x = x.at[i].set(y), or x = jaxapi.where(mask, y, x), and return x"
        )
    if _passes_out(error, text):
        return TypeError(
            f"jax arrays are immutable, so out= does not work in fused function {name!r}{where}: use the "
            "function's result and return it"
        )
    return None


def _asks_for_a_value(error, text) -> bool:
    if isinstance(error, (jax.errors.ConcretizationTypeError, jax.errors.TracerIntegerConversionError)):
        return True
    if isinstance(error, TypeError):
        return "hape" in text and "Tracer(" in text  # a shape with a traced length
    return isinstance(error, ValueError) and text.startswith("The truth value of an array with")


def _passes_out(error, text) -> bool:
    if isinstance(error, NotImplementedError):
        return text.startswith(("out argument of", "The 'out' argument"))
    return isinstance(error, TypeError) and (
        "unexpected keyword argument 'out'" in text or "return arrays must be of ArrayType" in text
    )


def _user_line(error) -> str:
    """Name the line of the innermost frame that belongs to none of the libraries, as the message goes on."""
    frames = zip(
        traceback.walk_tb(error.__traceback__), traceback.extract_tb(error.__traceback__), strict=True
    )
    for (frame, line), summary in reversed(list(frames)):
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _OURS:
            source = f": `{summary.line}`" if summary.line else ""
            return f", line {line} of {summary.filename}{source}"
    return ""
