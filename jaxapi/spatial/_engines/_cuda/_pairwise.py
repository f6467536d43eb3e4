"""The sums of the terms of all pairs of rows on an NVIDIA GPU, by tiles in shared memory."""

import jax
import jax.numpy as jnp
import numpy as np

from ...._core._typing import Array
from ._launch import Kernel, launch

__all__ = ["TERMS", "pairwise"]

TERMS = {"square": 0, "size": 1, "greatest": 2, "unequal": 3}  # as the kernel has them
TILE_ROWS = 128  # of a block; as the kernel has it
TILE_COLUMNS = 64  # of a block; as the kernel has it
THREADS = 256  # a block; as the kernel has it


def pairwise(a: Array, b: Array, weights: Array | None, *, term: str) -> Array:
    """Return the sums (nA, nB) of the squares, sizes or inequality of differences, or the greatest size.

    Of the rows of `a` (nA, m) and `b` (nB, m), each times its weight (m,); those of weight 0 are not looked
    at for the greatest.
    """
    row_count, m = a.shape
    column_count = len(b)
    blocks = -(-row_count // TILE_ROWS) * -(-column_count // TILE_COLUMNS)
    if not blocks:
        return jnp.zeros((row_count, column_count), a.dtype)
    is_weighted = weights is not None
    kernel = Kernel.of("pairwise", m=1, dtype=a.dtype, term=TERMS[term], weighted=int(is_weighted))
    sizes = np.array([row_count, column_count, m], np.int32)
    inputs = {"a": a, "b": b, "weights": weights if is_weighted else a, "sizes": sizes}
    outputs = {"totals": jax.ShapeDtypeStruct((row_count, column_count), a.dtype)}
    (sums,) = launch(kernel, blocks, THREADS, inputs, outputs)
    return sums
