"""Functions of arrays as functions of tensors, with the derivatives that JAX has."""

from collections.abc import Callable
from typing import Any

import jax
import torch

from ._tensors import as_shared_array, as_tensor

__all__ = ["differentiable"]

ArraysFunction = Callable[..., tuple[jax.Array, ...]]


def differentiable(function: ArraysFunction, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return what a function of arrays makes of tensors, with derivatives of any order.

    The function takes as many floating arrays and returns a tuple of them.
    """
    return _FunctionOfArrays.apply(function, *tensors)


class _FunctionOfArrays(torch.autograd.Function):
    """A function of arrays, whose derivatives are such a function, too."""

    @staticmethod
    def forward(ctx: Any, function: ArraysFunction, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.function = function
        ctx.save_for_backward(*tensors)
        arrays = [as_shared_array(tensor) for tensor in tensors]
        with jax.default_device(arrays[0].device):  # of what JAX makes of nothing, such as slopes that are 0
            results = function(*arrays)
        return tuple(map(as_tensor, results))

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        tensors = ctx.saved_tensors
        is_wanted = ctx.needs_input_grad[1:]
        slopes = iter(differentiable(_pullback(ctx.function, is_wanted), *tensors, *cotangents))
        slopes_of_all = [next(slopes) if wanted else None for wanted in is_wanted]
        return None, *slopes_of_all  # the function itself has none


def _pullback(function: ArraysFunction, is_wanted: tuple[bool, ...]) -> ArraysFunction:
    """Return the function of arguments and cotangents that gives the slopes along the arguments wanted."""
    argument_count = len(is_wanted)

    def slopes(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        arguments = arrays[:argument_count]
        cotangents = arrays[argument_count:]

        def of_wanted(*wanted_arguments: jax.Array) -> tuple[jax.Array, ...]:
            given = iter(wanted_arguments)
            all_arguments = [
                next(given) if wanted else x for wanted, x in zip(is_wanted, arguments, strict=True)
            ]
            return function(*all_arguments)

        varied = [x for wanted, x in zip(is_wanted, arguments, strict=True) if wanted]
        _, pull_back = jax.vjp(of_wanted, *varied)
        return pull_back(cotangents)

    return slopes
