"""Decompositions of batches that follow one another on a CPU.

Before JAX 0.11 LAPACK of a batch waits, on a thread of XLA's pool, for tasks in the same pool: two of them
that run side by side, in one program or in two, take all of its threads and wait for ever.
"""

import jax
import jax.numpy as jnp

from ._typing import Array

__all__ = ["BATCHES_WAIT_FOR_EACH_OTHER", "available_after"]

BATCHES_WAIT_FOR_EACH_OTHER = jax.__version_info__ < (0, 11)


def available_after(results: Array, matrices: Array) -> Array:
    """Return matrices (..., n, n), tied to results (...) so that XLA begins with them after those.

    Zeros are added, as these compilers drop barriers.
    """
    if not BATCHES_WAIT_FOR_EACH_OTHER:
        return matrices
    results = jax.lax.stop_gradient(results).astype(matrices.dtype)
    zeros = 0 * jnp.where(jnp.isfinite(results), results, 0)
    return matrices + zeros[..., None, None]
