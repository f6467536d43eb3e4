"""Functions whose quotients and roots are rounded as IEEE 754 says: an interpreter of their programs.

It goes into what JAX compiles by itself (`jnp.mean`, say). What lies in loops and conditions, and functions
with a derivative rule of their own, stay as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._quotients import quotient, root

if TYPE_CHECKING:
    from jax.extend.core import Jaxpr

__all__ = ["exact"]

P = ParamSpec("P")
R = TypeVar("R")

_CALLS = frozenset(["jit", "pjit"])  # of compiled functions: its name since JAX 0.7, and before


def exact(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with `/`, `sqrt`, `rsqrt` and negative integer powers rounded as NumPy has them.

    Arrays of JAX among the arguments, and in their pytrees, are traced; everything else is as it is.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        leaves, structure = jax.tree.flatten((args, kwargs))
        positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)]

        def of_arrays(*arrays):
            given = list(leaves)
            for i, array in zip(positions, arrays, strict=True):
                given[i] = array
            args, kwargs = jax.tree.unflatten(structure, given)
            return function(*args, **kwargs)

        arrays = [leaves[i] for i in positions]
        closed, result = jax.make_jaxpr(of_arrays, return_shape=True)(*arrays)
        outputs = _evaluate(closed.jaxpr, closed.consts, arrays)
        outputs = [
            _as_weak(x) if aval.weak_type else x for x, aval in zip(outputs, closed.out_avals, strict=True)
        ]
        return jax.tree.unflatten(jax.tree.structure(result), outputs)

    return call


def _evaluate(jaxpr: Jaxpr, constants: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """Compute what a program does, with exact quotients and roots."""
    from jax.extend.core import Literal  # which loads Pallas

    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *arguments), strict=True))

    def value_of(variable):
        return variable.val if isinstance(variable, Literal) else values[variable]

    for equation in jaxpr.eqns:
        operands = [value_of(variable) for variable in equation.invars]
        results = _replacement(equation, operands)
        if results is None:
            results = _as_it_is(jaxpr, equation, operands)
        values.update(zip(equation.outvars, results, strict=True))
    return [value_of(variable) for variable in jaxpr.outvars]


def _replacement(equation: Any, operands: list[Any]) -> list[Any] | None:
    """Return what an equation computes, rounded; None where it stays as it is."""
    primitive = equation.primitive
    if primitive.name in _CALLS:
        inner = equation.params["jaxpr"]
        return _evaluate(inner.jaxpr, inner.consts, operands)
    if primitive.name not in _REPLACED:
        return None
    dtype = equation.outvars[0].aval.dtype
    if not jnp.issubdtype(dtype, jnp.floating):
        return None
    return [_REPLACED[primitive.name](equation, *operands)]


def _divided(equation: Any, x: Any, y: Any) -> Any:
    shape = equation.outvars[0].aval.shape
    dtype = equation.outvars[0].aval.dtype
    return quotient(_in_shape(x, dtype, shape), _in_shape(y, dtype, shape))


def _rooted(equation: Any, x: Any) -> Any:
    return root(_in_shape(x, equation.outvars[0].aval.dtype, equation.outvars[0].aval.shape))


def _reciprocal_root(equation: Any, x: Any) -> Any:
    result = _rooted(equation, x)
    return quotient(jnp.ones_like(result), result)


def _integer_power(equation: Any, x: Any) -> Any:
    exponent = equation.params["y"]
    if exponent >= 0:
        return lax.integer_pow(x, exponent)
    power = lax.integer_pow(x, -exponent)
    return quotient(jnp.ones_like(power), power)


_REPLACED = {
    "div": _divided,
    "sqrt": _rooted,
    "rsqrt": _reciprocal_root,
    "integer_pow": _integer_power,
}


def _in_shape(x: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Any:
    """Return an operand as an array of the result's shape; a literal has none."""
    if not isinstance(x, jax.Array):
        x = jnp.asarray(x, dtype)
    return x if x.shape == shape else jnp.broadcast_to(x, shape)


def _as_weak(x: Any) -> Any:
    """Return numbers that take the dtype of what they meet, as those that a function got."""
    weak = jnp.broadcast_to(jnp.asarray(0.0), x.shape)
    return weak.at[...].set(x) if weak.dtype == x.dtype else x


def _as_it_is(jaxpr: Jaxpr, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Run one equation, as a program of its own."""
    from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

    inputs = {
        variable: operand
        for variable, operand in zip(equation.invars, operands, strict=True)
        if not isinstance(variable, Literal)
    }
    alone = jaxpr.replace(
        constvars=[],
        invars=list(inputs),
        outvars=equation.outvars,
        eqns=[equation],
        effects=equation.effects,
        debug_info=None,
    )
    return jaxpr_as_fun(ClosedJaxpr(alone, []))(*inputs.values())
