"""Full precision for the matrix products inside a compiled function."""

import functools

import jax

__all__ = ["full_precision"]


def full_precision(function):
    """Trace ``function`` with full float32 products, unless the user set a precision.

    JAX's default on NVIDIA GPUs is TF32, which rounds factors to 11 bits.
    """

    @functools.wraps(function)
    def traced(*args):
        if jax.config.jax_default_matmul_precision is not None:
            return function(*args)
        with jax.default_matmul_precision("highest"):
            return function(*args)

    return traced
