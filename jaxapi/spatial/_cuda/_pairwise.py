"""The sums of the terms of all pairs of rows on an NVIDIA GPU, by tiles in shared memory."""

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._typing import Array
from ._launch import Kernel, launch

__all__ = ["TERMS", "pairwise"]

TERMS = {"square": 0, "size": 1, "greatest": 2, "unequal": 3}  # as the kernel has them
HEIGHT, WIDTH, THREADS = 128, 64, 256


def pairwise(a: Array, b: Array, weights: Array | None, *, term: str) -> Array:
    """Return the sums (nA, nB) of the squares, sizes or inequality of differences, or the greatest size.

    Of the rows of `a` (nA, m) and `b` (nB, m), each times its weight (m,); those of weight 0 are not looked
    at for the greatest.
    """
    (rows, m), columns = a.shape, len(b)
    blocks = -(-rows // HEIGHT) * -(-columns // WIDTH)
    if not blocks:
        return jnp.zeros((rows, columns), a.dtype)
    kernel = Kernel.of("pairwise", m=1, dtype=a.dtype, term=TERMS[term], weighted=int(weights is not None))
    inputs = a, b, a if weights is None else weights, np.array([rows, columns, m], np.int32)
    return launch(kernel, blocks, THREADS, inputs, [jax.ShapeDtypeStruct((rows, columns), a.dtype)])[0]
