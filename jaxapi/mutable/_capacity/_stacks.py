"""Functions of stacks of matrices, each of which is a row: they run on the buffer, and keep rows apart.

Where functions decompose matrices, or iterate, those that do not count are the identity. What is returned,
and raised, is the function's own.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._array import rows_of, rows_or_value, wrap, wrap_rows
from ._elementwise import computed
from ._rows import OF_ARGUMENTS, Rows, compiled_in_width, is_possible, number_of

__all__ = ["OF_VECTORS", "apart", "called", "of_stacks"]

_OPTIONS = (bool, float, int, str, type, np.dtype, type(None))  # what programs are kept by
# Functions of `linalg`, and how many of their arguments are stacks.
_NUMBER_OF_STACKS = {
    "cholesky": 1,
    "cond": 1,
    "det": 1,
    "diagonal": 1,
    "eig": 1,
    "eigh": 1,
    "eigvals": 1,
    "eigvalsh": 1,
    "inv": 1,
    "matrix_norm": 1,
    "matrix_power": 1,
    "matrix_rank": 1,
    "pinv": 1,
    "qr": 1,
    "slogdet": 1,
    "solve": 2,
    "svd": 1,
    "svdvals": 1,
    "trace": 1,
}


def of_stacks(
    function: Callable[..., Any], name: str, module: str
) -> Callable[[tuple, dict[str, Any]], Any] | None:
    """Return what tries a function of `linalg` on the buffers of stacks; None if it is none of these.

    What is returned takes the arguments of a call, and returns None where exact arrays are needed.
    """
    number = _NUMBER_OF_STACKS.get(name)
    # jaxapi.numpy has functions of other axes by the names of some of these.
    if number is None or not function.__module__.endswith("linalg"):
        return None

    def attempt(args, kwargs):
        stacks = args[:number]
        options = args[number:]
        ndim = max([getattr(x, "ndim", 0) for x in stacks])
        are_plain = all(isinstance(x, _OPTIONS) for x in (*options, *kwargs.values()))
        if ndim < 3 or not are_plain or not is_possible():
            return None
        contents = [rows_or_value(x, ndim) for x in stacks]
        if not any(isinstance(x, Rows) for x in contents):
            return None
        return apart(function, contents, options, kwargs, module, _with_identities)

    return attempt


@compiled_in_width
def _with_identities(value, count):
    """Put the identity where matrices do not count: none is singular then, and iterations end at once."""
    counts = lax.broadcasted_iota(np.int32, value.shape, 0) < count
    return jnp.where(counts, value, jnp.eye(*value.shape[-2:], dtype=value.dtype))


def _as_argument(value: Any, module: str) -> Any:
    return wrap(value, module) if isinstance(value, jax.Array) else value


def called(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], module: str) -> Any:
    """Return what a function makes of values; None where it raises, as it does of the exact arrays."""
    try:
        return function(*[_as_argument(x, module) for x in args], **kwargs)
    except OF_ARGUMENTS:
        return None


def apart(
    function: Callable[..., Any],
    contents: list[Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    module: str,
    prepared: Callable[..., Any] | None = None,
) -> Any:
    """Return the rows that a function makes of rows, or several of them, in a named tuple.

    ``prepared`` puts into the first operand what functions may do with what does not count.
    """
    results: list[Any] = []

    def run(*values):
        count = next(x.count for x in contents if isinstance(x, Rows))
        if prepared is not None and isinstance(contents[0], Rows):
            values = (prepared(values[0], number_of(count)), *values[1:])
        made = function(*[_as_argument(x, module) for x in values], *args, **kwargs)
        results.append(made)
        return tuple([part._value for part in made]) if isinstance(made, tuple) else made._value

    try:
        made = computed(run, contents)
    except OF_ARGUMENTS:
        return None
    if made is None:
        return None
    if not isinstance(made, tuple):
        return wrap_rows(made, module)
    return type(results[0])(*[wrap_rows(part, module) for part in made])


# Products of vectors, which are rows


def _cross(x1: Any, x2: Any, *, axis: Any = -1, function: Callable[..., Any], module: str) -> Any:
    ndim = max([getattr(x, "ndim", 0) for x in (x1, x2)])
    if ndim < 2 or type(axis) is not int or axis in (0, -ndim):
        return None
    contents = [rows_or_value(x1, ndim), rows_or_value(x2, ndim)]
    if not any(isinstance(x, Rows) for x in contents):
        return None
    return apart(function, contents, (), {"axis": axis}, module)


def _outer(x1: Any, x2: Any, *, function: Callable[..., Any], module: str) -> Any:
    """Multiply the elements of a vector with room by a short one: as many columns as that has."""
    rows = rows_of(x1)
    if rows is None or rows.value.ndim != 1 or rows_of(x2) is not None:
        return None
    return apart(function, [rows], (x2,), {}, module)


OF_VECTORS: dict[str, Callable[..., Any]] = {"cross": _cross, "outer": _outer}
