"""Tensors of PyTorch as arrays of JAX and back; each library waits for the other."""

from typing import Any

import jax
import torch

from .._creation import from_dlpack

__all__ = ["as_array_or_number", "as_indices", "as_shared_array", "as_tensor", "check_tensor"]
__all__ += ["stacked_indices"]


def check_tensor(x: Any, name: str) -> torch.Tensor:
    """Return a tensor as it is, and refuse everything else, which has no device to answer on."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(x).__name__}: use torch.as_tensor")
    return x


def as_shared_array(tensor: torch.Tensor) -> jax.Array:
    """Return a tensor's memory as an array, or a copy on its device where JAX cannot use it.

    JAX waits for what PyTorch's stream has yet to do. The array is for programs whose results are waited for,
    as `as_tensor` does: afterwards the tensor may be written to.
    """
    return from_dlpack(tensor.detach())


def as_array_or_number(x: Any) -> Any:
    """Return a tensor as an array with memory of its own, anything else as it is: for what is kept.

    It stays on the CPU, too, where JAX's arrays would go to its default device.
    """
    return from_dlpack(x.detach(), copy=True) if isinstance(x, torch.Tensor) else x


def as_tensor(array: jax.Array, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Return an array as a tensor on the same device, on a GPU a copy of it, in a dtype if one is given.

    JAX uses a GPU's memory again as soon as no one holds it, also where PyTorch's stream has yet to read it.
    So the copy is waited for, and lies in memory that PyTorch uses again in the order of its stream.
    """
    shared = torch.from_dlpack(array)
    return _waited_for(shared.to(dtype, copy=shared.is_cuda))


def as_indices(array: jax.Array) -> torch.Tensor:
    """Return an array of rows as a tensor of int64, by which tensors are indexed."""
    return as_tensor(array, torch.int64)


def stacked_indices(*arrays: jax.Array) -> torch.Tensor:
    """Return arrays of rows of one length as a tensor of int64, one below the other; waited for once."""
    return _waited_for(torch.stack([torch.from_dlpack(array) for array in arrays]).to(torch.int64))


def _waited_for(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor when it is there: on the CPU it is, on a GPU when PyTorch's stream has made it."""
    if tensor.is_cuda:
        torch.cuda.current_stream(tensor.device).synchronize()
    return tensor
