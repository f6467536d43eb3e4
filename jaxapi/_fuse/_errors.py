"""JAX's tracing errors in the words and exception types of NumPy's users.

Each answer names the line of the user's code and the remedy. Only what JAX raises about a traced array is
answered: by JAX's exception classes, and elsewhere by the frames of the traceback. Where JAX has no class
of its own for a mistake in shapes or axes, `numpy_error` tells which it is; what is not recognised passes
unchanged but for a note that names the line.
"""

import re
import traceback
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core._errors import numpy_error
from .._core._programs import any_traced

__all__ = ["translate"]

_LIBRARIES = ("jax", "jaxlib", "jaxapi", "numpy", "functools", "contextlib")
_UNIQUE = ("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values")
_SHAPED_BY_VALUES = frozenset(
    {"argwhere", "compress", "extract", "flatnonzero", "nonzero", "repeat", *_UNIQUE}
)
_NO_SUCH_OUT = re.compile(r"(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument 'out'")  # Python's text
_NOT_AN_OUT = "return arrays must be of ArrayType"  # NumPy's


def translate(error: Exception, name: str) -> Exception | None:
    """Return what to raise instead of ``error`` from the fused function ``name``, or None to let it pass."""
    failure = _Failure(error)
    where = f"in fused function {name!r}{failure.line}"
    answer = _answer(error, failure, where)
    if answer is None and failure.of_a_tracer and not _is_noted(error):
        error.add_note(where)
    return answer


def _is_noted(error) -> bool:
    return any(note.startswith("in fused function ") for note in getattr(error, "__notes__", ()))


class _Failure:
    """Where an exception came from: the user's line, and the libraries' frames that it called."""

    def __init__(self, error: Exception):
        frames = list(traceback.walk_tb(error.__traceback__))
        users = [i for i, (frame, _) in enumerate(frames) if not _is_library(frame)]
        self.line = ""
        self.user_locals: dict = {}
        if users:
            summary = traceback.extract_tb(error.__traceback__)[users[-1]]
            source = f": `{summary.line}`" if summary.line else ""
            self.line = f", line {summary.lineno} of {summary.filename}{source}"
            self.user_locals = dict(frames[users[-1]][0].f_locals)
        below = [frame for frame, _ in frames[users[-1] + 1 if users else 0 :]]
        self.functions = [frame.f_code.co_name for frame in below]
        self.locals = [dict(frame.f_locals) for frame in below]

    @property
    def of_a_tracer(self) -> bool:
        """Whether a library was called with a traced array, and raised."""
        return any(_holds_tracer(value) for names in self.locals for value in names.values())

    def passes_tracer(self, argument: str) -> bool:
        """Whether a library's function took a traced array as an argument of such a name."""
        return any(
            argument in name and _holds_tracer(value)
            for names in self.locals
            for name, value in names.items()
        )


def _is_library(frame) -> bool:
    return frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES


def _holds_tracer(value: Any) -> bool:
    if isinstance(value, dict):
        value = tuple(value.values())
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return any_traced(*parts)


def _answer(error, failure, where) -> Exception | None:
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
    if isinstance(error, jax.errors.ConcretizationTypeError):
        for function in failure.functions:
            if function in _SHAPED_BY_VALUES:
                return TypeError(
                    f"the shape of {function}'s result depends on values {where}, and a compiled function "
                    "needs to know all shapes. Call it outside the fused function, use jaxapi.where(mask, x, "
                    f"value), or jax.numpy.{function} with its length given (size= or total_repeat_length=)"
                )
    if _needs_a_value(error, failure):
        return TypeError(
            f"a traced array cannot become a Python scalar {where}: its value is not known while the "
            "function is compiled. To choose by value use jaxapi.where(condition, a, b) instead of if, and, "
            "or, not; a number that shapes the program (an axis, a length, a loop count) is a static "
            "argument: name it in fuse(static_argnames=...), or bind it with functools.partial"
        )
    if _passes_out(error, failure):
        return TypeError(
            f"jax arrays are immutable, so out= does not work {where}: use the result of the "
            "function and return it"
        )
    return _mistake_with_a_tracer(error, failure, where) if failure.of_a_tracer else None


def _needs_a_value(error, failure) -> bool:
    if isinstance(error, (jax.errors.ConcretizationTypeError, jax.errors.TracerIntegerConversionError)):
        return True
    if isinstance(error, ValueError):
        return failure.functions[:1] == ["__bool__"] and failure.of_a_tracer
    return isinstance(error, TypeError) and failure.passes_tracer("shape")


def _passes_out(error, failure) -> bool:
    if isinstance(error, NotImplementedError):
        return failure.passes_tracer("out")
    if not isinstance(error, TypeError) or not any(map(_holds_tracer, failure.user_locals.values())):
        return False
    refused = _NO_SUCH_OUT.search(str(error))
    return hasattr(jnp, refused[1]) if refused else _NOT_AN_OUT in str(error)


def _mistake_with_a_tracer(error, failure, where) -> Exception | None:
    """Answer a mistake in shapes, axes or assignment."""
    numpys = error if isinstance(error, np.exceptions.AxisError) else numpy_error(error)
    if numpys is not None:
        return type(numpys)(f"{numpys} {where}")
    if isinstance(error, TypeError) and any("setitem" in function for function in failure.functions):
        return TypeError(
            f"jax arrays are immutable, so subscripts cannot be assigned {where}. Instead of x[i] = y "
            "write x = x.at[i].set(y), or x = jaxapi.where(mask, y, x), and return x"
        )
    return None
