"""Functions of JAX with operations of ours in them: an interpreter of their programs.

Quotients and roots are rounded as IEEE 754 says, and parts of complex numbers keep their bits where they are
differentiated (see `_parts.py`). It goes into what JAX compiles by itself (`jnp.mean`, say). What lies in
loops and conditions, and functions with a derivative rule of their own, stay as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import _parts
from ._dtypes import converted, x64_for
from ._internals import as_weak
from ._jaxprs import evaluated
from ._quotients import quotient, root, root_of_norm
from ._typing import Array

__all__ = ["exact", "exact_norm", "exact_statements", "transposable"]

P = ParamSpec("P")
R = TypeVar("R")
Rules = dict[str, Callable[..., Array]]  # by primitive: what computes it in its place

_CALLS = frozenset(["jit", "pjit"])  # of compiled functions: its name since JAX 0.7, and before


def exact(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with `/`, `sqrt`, `rsqrt` and negative integer powers rounded as NumPy has them.

    Arrays of JAX among the arguments, and in their pytrees, are traced; everything else is as it is.
    """
    return _with_rules(function, _EXACT)


def exact_statements(function: Callable[P, R]) -> Callable[P, R]:
    """Return the same of a user's function, in which integers divided by zero are 0, as NumPy has them.

    Without, ``x // 0`` and ``x % 0`` of JAX's integers are what the device makes of it. Numbers times
    False are NumPy's, too: XLA has 0 for all.
    """
    return _with_rules(function, _EXACT_STATEMENTS)


def exact_norm(function: Callable[P, R]) -> Callable[P, R]:
    """Return the same of a norm, or a deviation: where it is 0, so are its slopes, of every order.

    By JAX they are NaN: the slope of a root at 0 is infinite. A power of 0 has no slope here, either.
    """
    return _with_rules(function, _EXACT_NORM)


def transposable(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with parts of complex numbers and padding that JAX transposes in their own dtype.

    By JAX they raise TypeError of 64 bits in `jax.grad` and `jax.vjp` with x64 mode off: the transposes of
    these operations have zeros of 32 bits.
    """
    return _with_rules(function, _TRANSPOSABLE)


def _with_rules(function: Callable[P, R], rules: Rules) -> Callable[P, R]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, structure = jax.tree.flatten((args, kwargs))
        positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)]

        def of_arrays(*arrays: Any) -> R:
            given = list(leaves)
            for i, array in zip(positions, arrays, strict=True):
                given[i] = array
            args, kwargs = jax.tree.unflatten(structure, given)
            return function(*args, **kwargs)

        arrays = [leaves[i] for i in positions]
        program, result = jax.make_jaxpr(of_arrays, return_shape=True)(*arrays)
        outputs = _evaluate(program, arrays, rules)
        return jax.tree.unflatten(jax.tree.structure(result), outputs)

    return call


def _evaluate(program: Any, arguments: Sequence[Any], rules: Rules) -> list[Any]:
    """Compute what a program does, with exact quotients and roots."""
    return evaluated(
        program, arguments, functools.partial(_is_changed, rules), functools.partial(_changed, rules)
    )


def _is_changed(rules: Rules, equation: Any) -> bool:
    """Whether rules are for an equation of real numbers, or for one of a function that it calls."""
    if equation.primitive.name in _CALLS:
        return any(_is_changed(rules, inner) for inner in equation.params["jaxpr"].eqns)
    name = equation.primitive.name
    if name not in rules:
        return False
    if name == "integer_pow" and equation.params["y"] >= 0:
        return False
    if name == "convert_element_type":
        is_of_truths = equation.invars[0].aval.dtype == np.bool
        return is_of_truths and jnp.issubdtype(equation.outvars[0].aval.dtype, jnp.inexact)
    if name == "abs":
        return jnp.issubdtype(equation.invars[0].aval.dtype, jnp.complexfloating)
    dtype = equation.outvars[0].aval.dtype
    if rules is _EXACT_STATEMENTS and jnp.issubdtype(dtype, jnp.integer):
        return name in ("div", "rem")
    return name != "rem" and jnp.issubdtype(dtype, jnp.inexact if name == "pad" else jnp.floating)


def _changed(rules: Rules, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Return what an equation computes, rounded."""
    if equation.primitive.name in _CALLS:
        return _called(equation, operands, rules)
    aval = equation.outvars[0].aval
    with x64_for(aval.dtype):
        arrays = [
            _as_array(x, variable.aval.dtype) for x, variable in zip(operands, equation.invars, strict=True)
        ]
        result = rules[equation.primitive.name](equation, *arrays)
        if aval.weak_type:
            result = as_weak(result)
    return [result]


def _called(equation: Any, operands: list[Any], rules: Rules) -> Sequence[Any]:
    """Return what a compiled function computes, as part of this program if it asks for no sharding."""
    inner = equation.params["jaxpr"]
    in_shardings = equation.params["in_shardings"]
    out_shardings = equation.params["out_shardings"]
    if not any(isinstance(x, jax.sharding.Sharding) for x in (*in_shardings, *out_shardings)):
        return _evaluate(inner, operands, rules)

    def call(*arrays: Any) -> Any:
        return tuple(_evaluate(inner, arrays, rules))

    return jax.jit(call, in_shardings=in_shardings, out_shardings=out_shardings)(*operands)


def _divided(equation: Any, x: Array, y: Array) -> Array:
    x, y = jnp.broadcast_arrays(x, y)
    return _unless_zero(lax.div, x, y) if jnp.issubdtype(x.dtype, jnp.integer) else _quotient(x, y)


def _remainder(equation: Any, x: Array, y: Array) -> Array:
    return _unless_zero(lax.rem, *jnp.broadcast_arrays(x, y))


def _unless_zero(divide: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    """Divide integers; by zero they are 0."""
    is_zero = y == 0
    divided = divide(x, jnp.where(is_zero, jnp.ones_like(y), y))
    return jnp.where(is_zero, jnp.zeros_like(x), divided)


def _rooted(equation: Any, x: Array) -> Array:
    return _root(x)


def _reciprocal_root(equation: Any, x: Array) -> Array:
    return _quotient(jnp.ones_like(x), _root(x))


def _negative_power(equation: Any, x: Array) -> Array:
    return _quotient(jnp.ones_like(x), lax.integer_pow(x, -equation.params["y"]))


def _root_of_norm(equation: Any, x: Array) -> Array:
    return _norms_root(x)


def _real(equation: Any, x: Array) -> Array:
    return _parts.real(x)


def _imag(equation: Any, x: Array) -> Array:
    return _parts.imag(x)


def _magnitude(equation: Any, x: Array) -> Array:
    return _parts.magnitude(x)


def _padded(equation: Any, x: Array, value: Array) -> Array:
    return _parts.padded(x, value, equation.params["padding_config"])


def _converted(equation: Any, x: Array) -> Array:
    return converted(x, equation.params["new_dtype"])


def _power_of_size(equation: Any, x: Array, exponent: Array) -> Array:
    is_zero = x == 0
    without_slope = lax.stop_gradient(lax.pow(x, exponent))
    return jnp.where(is_zero, without_slope, lax.pow(jnp.where(is_zero, 1, x), exponent))


_OF_PARTS: Rules = {"abs": _magnitude, "imag": _imag, "real": _real}

_TRANSPOSABLE: Rules = {**_OF_PARTS, "pad": _padded}

_EXACT: Rules = {
    **_OF_PARTS,
    "div": _divided,
    "sqrt": _rooted,
    "rsqrt": _reciprocal_root,
    "integer_pow": _negative_power,
}

_EXACT_STATEMENTS: Rules = {**_EXACT, "convert_element_type": _converted, "rem": _remainder}

_EXACT_NORM: Rules = {**_EXACT, "sqrt": _root_of_norm, "pow": _power_of_size}

# Traced and lowered once for each shape and dtype, however often they are called.
_quotient = jax.jit(quotient)
_root = jax.jit(root)
_norms_root = jax.jit(root_of_norm)


def _as_array(x: Any, dtype: np.dtype) -> Array:
    """Return an operand as an array; a literal is none."""
    return x if isinstance(x, jax.Array) else jnp.asarray(x, dtype)
