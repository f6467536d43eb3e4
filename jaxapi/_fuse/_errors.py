"""JAX's tracing errors in the words and exception types of NumPy's users.

Each answer names the line of the user's code and the remedy. Only what a library raises is answered, by JAX's
exception classes; where JAX has none for a mistake in shapes or axes, `numpy_error` tells which it is. Any
other error of JAX passes with a note that names the line.
"""

import re
import traceback

import jax
import jax.numpy as jnp
import numpy as np

from .._core._errors import SHAPED_BY_VALUES, numpy_error
from .._core._programs import is_traced

__all__ = ["translate"]

_LIBRARIES = ("jax", "jaxlib", "jaxapi", "numpy", "functools", "contextlib")
_NEEDS_A_VALUE = (jax.errors.ConcretizationTypeError, jax.errors.TracerIntegerConversionError)
_NO_SUCH_OUT = re.compile(
    r"(\w+)\(\) got an unexpected keyword argument 'out'|The 'out' argument to jnp.(\w+)"
)


def translate(error: Exception, name: str) -> Exception | None:
    """Return what to raise instead of ``error`` from the fused function ``name``, or None to let it pass."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    packages = [frame.f_globals.get("__name__", "").partition(".")[0] for frame in frames]
    positions = [i for i, package in enumerate(packages) if package not in _LIBRARIES]
    where = f"in fused function {name!r}"
    called_frames = frames  # of the libraries that the user's line called
    if positions:
        last = positions[-1]
        where += _line_of_user(error, last)
        called_frames = frames[last + 1 :]
    functions = [frame.f_code.co_name for frame in called_frames]
    asks_for_truth = functions[:1] == ["__bool__"] and is_traced(called_frames[0].f_locals.get("self"))
    answer = _answer_by_class(error, functions, asks_for_truth, where)
    is_of_library = packages[-1] in ("jax", "jaxapi") and (functions or not positions)
    if answer is None and is_of_library:
        answer = _mistake(error, functions, where)
        notes = getattr(error, "__notes__", ())
        if answer is None and not any(note.startswith("in fused") for note in notes):
            error.add_note(where)
    return answer


def _line_of_user(error: Exception, position: int) -> str:
    """Say which line of the user's stands at a position in the traceback."""
    summary = traceback.extract_tb(error.__traceback__)[position]
    source = f": `{summary.line}`" if summary.line else ""
    return f", line {summary.lineno} of {summary.filename}{source}"


def _answer_by_class(
    error: Exception, functions: list[str], asks_for_truth: bool, where: str
) -> Exception | None:
    refused = _NO_SUCH_OUT.search(str(error))
    if refused and hasattr(jnp, refused[1] or refused[2]):
        return TypeError(f"jax arrays are immutable, so out= does not work {where}: return the result")
    if isinstance(error, jax.errors.TracerArrayConversionError):
        return TypeError(
            f"a NumPy function was called with a traced array {where}. NumPy cannot work on values that are "
            "not computed yet: call jaxapi's function of the same name (jaxapi.sqrt for numpy.sqrt)"
        )
    if isinstance(error, jax.errors.NonConcreteBooleanIndexError):
        return IndexError(
            f"a boolean mask cannot index an array {where}: the shape of the result would depend on values. "
            "Use jaxapi.where(mask, x, value), or index outside the fused function"
        )
    if isinstance(error, IndexError) and "static start/stop/step" in str(error):
        return IndexError(
            f"the bounds of a slice are traced {where}, and a compiled function needs to know all shapes. "
            "Make them static arguments: name them in fuse(static_argnames=...)"
        )
    if not (asks_for_truth or isinstance(error, _NEEDS_A_VALUE)):
        return None
    for function in functions:
        if function in SHAPED_BY_VALUES:
            return TypeError(
                f"the shape of {function}'s result depends on values {where}, and a compiled function "
                "needs to know all shapes. Call it outside the fused function, use jaxapi.where(mask, x, "
                f"value), or jax.numpy.{function} with its length given (size= or total_repeat_length=)"
            )
    return TypeError(
        f"a traced array cannot become a Python scalar {where}: its value is not known while the "
        "function is compiled. To choose by value use jaxapi.where(condition, a, b) instead of if, and, "
        "or, not; a number that shapes the program (an axis, a length, a loop count) is a static "
        "argument: name it in fuse(static_argnames=...), or bind it with functools.partial"
    )


def _mistake(error: Exception, functions: list[str], where: str) -> Exception | None:
    """Answer a mistake in shapes, axes or assignment that a library found."""
    numpys = error if isinstance(error, np.exceptions.AxisError) else numpy_error(error)
    if numpys is not None:
        return type(numpys)(f"{numpys} {where}")
    if isinstance(error, TypeError) and any("setitem" in function for function in functions):
        return TypeError(
            f"jax arrays are immutable, so subscripts cannot be assigned {where}. Instead of x[i] = y "
            "write x = x.at[i].set(y), or x = jaxapi.where(mask, y, x), and return x"
        )
    return None
