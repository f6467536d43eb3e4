"""Decompositions of batches on a CPU, before JAX 0.11.

There LAPACK of a batch waits, on a thread of XLA's pool, for tasks in the same pool. Those that run side by
side, in one program or in several threads of a user's, take all of its threads and wait for ever.
"""

import os

import jax
import jax.numpy as jnp

from ._typing import Array

__all__ = ["BATCHES_WAIT_FOR_EACH_OTHER", "available_after", "keep_threads_for_batches"]

BATCHES_WAIT_FOR_EACH_OTHER = jax.__version_info__ < (0, 11)

_THREADS = 32  # more than decompositions that run side by side


def keep_threads_for_batches() -> None:
    """Give XLA's pool threads for all of them, unless the user said how many it has.

    JAX reads the variable when it first asks for a device. Threads without work take no time.
    """
    if BATCHES_WAIT_FOR_EACH_OTHER and "NPROC" not in os.environ:
        count = max(_THREADS, os.cpu_count() or 1)
        os.environ.setdefault("PJRT_NPROC", str(count))


def available_after(results: Array, matrices: Array) -> Array:
    """Return matrices (..., n, n), tied to floats (...) so that XLA begins with them after those.

    No number is below minus infinity, which these compilers do not see; they drop barriers.
    """
    if not BATCHES_WAIT_FOR_EACH_OTHER:
        return matrices
    never = jax.lax.stop_gradient(results).real < -jnp.inf
    return jnp.where(never[..., None, None], 0, matrices)
