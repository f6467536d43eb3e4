"""Decompositions by a fast algorithm where it is right, which what it finds tells, else by a safe one."""

from collections.abc import Callable
from typing import Any

import jax
from jax import lax

from .._core._typing import Array

__all__ = ["certified"]


def certified(fast: Callable[[Array], Any], safe: Callable[[Array], Any]) -> Callable[[Array], Any]:
    """Return a decomposition by ``fast`` where all of a batch are right, else by ``safe``.

    ``fast`` returns the parts of matrices, and whether those of all matrices are right. Under `jax.vmap` the
    batch is decomposed as one, since of a choice for each item both sides would be computed.
    """

    @jax.custom_batching.custom_vmap
    def decompose(x: Array) -> Any:
        fast_parts, is_right = fast(x)

        def keep(x: Array, fast_parts: Any) -> Any:
            return fast_parts

        def decompose_safely(x: Array, fast_parts: Any) -> Any:
            return tuple(safe(x))

        return lax.cond(is_right, keep, decompose_safely, x, tuple(fast_parts))

    @decompose.def_vmap
    def decompose_batch(size: int, is_batched: Any, x: Array) -> Any:
        parts = decompose(x)
        return parts, (True,) * len(parts)

    return decompose
