"""Python int arguments: does the value fit the dtype to which it is promoted.

A Python int is weakly typed: it takes the integer dtype of the other operand. `jax.jit` traces it as
the default integer and converts it inside the program, where a value that does not fit wraps without
a word. The traced program shows each conversion, so the bounds are known once a signature is traced,
and a new value is checked against them without tracing or compiling again.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .._core._jaxprs import programs_in

__all__ = ["fit_integer", "fits_any_dtype", "integer_promotions"]


class Promotion(NamedTuple):
    """The dtypes to which one Python int argument is promoted in a program."""

    low: int  # a value from low to high
    high: int  # fits everywhere as the default integer
    dtypes: frozenset[np.dtype]  # the dtypes it is converted to, and the default where it is used as it is
    default: np.dtype


def fits_any_dtype(value: int) -> bool:
    """Whether a Python int fits every integer dtype, so that nothing has to be known about the program."""
    return 0 <= value <= 127


def _is_weak_integer(variable: Any) -> bool:
    """Whether an input of a jaxpr stands for a Python int."""
    aval = variable.aval
    return aval.weak_type and aval.shape == () and jnp.issubdtype(aval.dtype, np.integer)


def integer_promotions(traced: Any, count: int) -> list[Promotion | None]:
    """For each of the ``count`` inputs of a traced call, its promotion if it is a Python int, else None.

    A JAX that writes its programs in another form leaves None everywhere: then nothing is checked.
    """
    try:
        jaxpr = traced.jaxpr.jaxpr
        return [_promotion(jaxpr, v) if _is_weak_integer(v) else None for v in jaxpr.invars]
    except (AttributeError, IndexError, KeyError, TypeError):
        return [None] * count


def _promotion(jaxpr: Any, variable: Any) -> Promotion:
    default = np.dtype(variable.aval.dtype)
    dtypes: set[np.dtype] = set()
    _collect(jaxpr, variable, default, dtypes)
    bounds = [jnp.iinfo(dtype) for dtype in {default, *dtypes} if jnp.issubdtype(dtype, np.integer)]
    low = max(int(bound.min) for bound in bounds)
    high = min(int(bound.max) for bound in bounds)
    return Promotion(low, high, frozenset(dtypes), default)


def _collect(jaxpr: Any, variable: Any, default: np.dtype, dtypes: set[np.dtype]) -> None:
    """Add to ``dtypes`` what ``variable`` is converted to, here and in the jaxprs it is passed to."""
    if any(out is variable for out in jaxpr.outvars):
        dtypes.add(default)
    for equation in jaxpr.eqns:
        for position, operand in enumerate(equation.invars):
            if operand is not variable:
                continue
            if "new_dtype" in equation.params:  # a conversion
                dtypes.add(np.dtype(equation.params["new_dtype"]))
                continue
            inner = list(_inner_variables(equation, position))
            for inner_jaxpr, inner_variable in inner:
                _collect(inner_jaxpr, inner_variable, default, dtypes)
            if not inner:
                dtypes.add(default)


def _inner_variables(equation: Any, position: int) -> Iterator[tuple[Any, Any]]:
    """Where operand ``position`` enters the jaxprs of a call, a branch or a loop."""
    if "cond_nconsts" in equation.params:
        yield from _variables_in_while_loop(equation.params, position)
        return
    for inner in programs_in(equation):
        shift = len(equation.invars) - len(inner.invars)  # a branch of `cond` does not take the index
        if 0 <= shift <= position:
            yield inner, inner.invars[position - shift]


def _variables_in_while_loop(params: Any, position: int) -> Iterator[tuple[Any, Any]]:
    """Where an operand enters a loop, whose operands are the constants of the condition and the body."""
    cond = params["cond_jaxpr"].jaxpr
    body = params["body_jaxpr"].jaxpr
    cond_consts = params["cond_nconsts"]
    body_consts = params["body_nconsts"]
    if position < cond_consts:
        yield cond, cond.invars[position]
        return
    yield body, body.invars[position - cond_consts]
    if position >= cond_consts + body_consts:  # carried from step to step
        yield cond, cond.invars[position - body_consts]


def fit_integer(value: Any, promotion: Promotion | None) -> Any:
    """Return what to pass for an input, or raise OverflowError for a Python int that does not fit."""
    if type(value) is not int or promotion is None or promotion.low <= value <= promotion.high:
        return value
    dtypes = promotion.dtypes
    default = promotion.default
    for dtype in dtypes:
        if jnp.issubdtype(dtype, np.integer) and not _is_within(value, dtype):
            raise OverflowError(
                f"Python integer {value} out of bounds for {dtype}, to which the fused function "
                "promotes this argument: pass a NumPy scalar of a wider dtype, or convert the array first"
            )
    if not dtypes:  # unused
        return 0
    if _is_within(value, default):
        return value
    if all(jnp.issubdtype(d, np.unsignedinteger) and d.itemsize == default.itemsize for d in dtypes):
        return value - 2 ** (8 * default.itemsize)  # the same bits; the conversion brings them back
    if all(jnp.issubdtype(dtype, np.inexact) for dtype in dtypes):
        return float(value)
    raise OverflowError(
        f"Python integer {value} out of bounds for {default}, the default integer as which the "
        "fused function uses it: pass a NumPy scalar of a wider dtype, or enable jax_enable_x64"
    )


def _is_within(value: int, dtype: np.dtype) -> bool:
    return jnp.iinfo(dtype).min <= value <= jnp.iinfo(dtype).max
