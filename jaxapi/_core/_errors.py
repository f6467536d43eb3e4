"""NumPy's exceptions for the mistakes in shapes and axes that JAX reports by others.

JAX has no classes of its own for these mistakes, so its text tells which one it is. Text that is not
recognised changes nothing: JAX's exception passes.
"""

import functools
import re
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

__all__ = ["check_broadcast", "numpy_error", "raises_as_numpy"]

_SHAPE = re.compile(r"\((?:\d+,?(?: \d+,?)*)?\)")
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
    if "ncompatible shapes for broadcasting" in text:
        shapes = " ".join(shape.replace(" ", "") for shape in _SHAPE.findall(text))
        return ValueError(f"operands could not be broadcast together with shapes {shapes or text}")
    if isinstance(error, TypeError):
        return ValueError(text) if any(part in text for part in _TYPE_ERRORS_OF_SHAPES) else None
    axis = None if isinstance(error, np.exceptions.AxisError) else _AXIS.search(text)
    return None if axis is None else np.exceptions.AxisError(axis.group())


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


def check_broadcast(name: str, *shapes: tuple[int, ...]) -> None:
    """Raise NumPy's ValueError where shapes do not broadcast: most of JAX's functions raise TypeError."""
    try:
        jnp.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(map(str, shapes))
        raise ValueError(f"{name}: operands could not be broadcast together with shapes {listed}") from None
