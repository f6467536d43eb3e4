"""`grad` and `value_and_grad` for functions that return an `Array`."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import jax

from ._array import MUTABLE, Array, unwrap
from ._wrap import wrap_result

__all__ = ["grad", "inside", "outside", "value_and_grad"]

P = ParamSpec("P")
R = TypeVar("R")


def grad(
    fun: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **options: Any
) -> Callable[P, Any]:
    """Differentiate a function that returns a scalar: `jax.grad` for one that returns an `Array`.

    `jax.grad` itself takes the arrays as arguments, but wants a `jax.Array` for the loss.

    Parameters
    ----------
    fun : callable
        Returns an `Array` of shape () or, with ``has_aux``, that and something else.
    argnums : int or sequence of int
        By which arguments to differentiate: arrays, or pytrees of arrays.
    has_aux : bool
    **options
        As for `jax.grad`.

    Returns
    -------
    callable
        Takes what ``fun`` takes and returns the derivatives, in containers like the arguments'.

    Raises
    ------
    TypeError
        If the loss is not a real scalar.

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> def loss(x):
    ...     x[0] = 0
    ...     return xp.sum(x**2)
    >>> print(xp.grad(loss)(xp.asarray([1.0, 2.0, 3.0])))
    [0. 4. 6.]
    """
    return outside(jax.grad(inside(fun, has_aux), argnums, has_aux, **options))


def value_and_grad(
    fun: Callable[P, R], argnums: int | Sequence[int] = 0, has_aux: bool = False, **options: Any
) -> Callable[P, tuple[R, Any]]:
    """Return the loss with its derivatives: `jax.value_and_grad` for a function that returns an `Array`.

    Parameters are those of `grad`; the function made returns the pair of loss and derivatives.

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> value, gradient = xp.value_and_grad(lambda x: xp.sum(x**2))(xp.asarray([1.0, 2.0]))
    >>> print(value, gradient)
    5.0 [2. 4.]
    """
    return outside(jax.value_and_grad(inside(fun, has_aux), argnums, has_aux, **options))


def inside(fun, has_aux):
    """Return a loss as JAX differentiates it, which returns a `jax.Array`."""

    @functools.wraps(fun)
    def loss(*args, **kwargs):
        result = fun(*args, **kwargs)
        return (unwrap(result[0]), *result[1:]) if has_aux else unwrap(result)

    return loss


def _module_of(args, default: str) -> str:
    """Return the namespace of the first array among the arguments."""
    is_array = lambda x: isinstance(x, Array)  # noqa: E731
    return next((x._module for x in jax.tree.leaves(args, is_leaf=is_array) if is_array(x)), default)


def outside(function, module=MUTABLE):
    """Return a differentiated function that returns arrays; of numbers alone those of a namespace."""

    @functools.wraps(function)
    def differentiated(*args, **kwargs):
        return wrap_result(function(*args, **kwargs), _module_of(args, module))

    return differentiated
