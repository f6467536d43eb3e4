"""The compilation of products on a GPU, without Triton's kernels.

XLA compiles and times some dozens of kernels for each product, most of them Triton's, which takes an H200 1.3
to 1.6 s. In full precision they gain little over cuBLAS's, and a bad choice costs more: a float32 matrix of
(1000000, 32), transposed, by another took 789 us by XLA's choice among all, and 272 without Triton's,
compiled in 0.2 s.
"""

import functools

import jax

from ._tracing import in_a_trace

__all__ = ["compiled_product"]

_WITHOUT_TRITON = {"xla_gpu_enable_triton_gemm": False}


def compiled_product(function, **options):
    """Compile a function with products in it; inside of another program it is compiled as that is."""
    inside = jax.jit(function, **options)

    @functools.cache
    def alone():
        if jax.default_backend() != "gpu":
            return inside
        return jax.jit(function, compiler_options=_WITHOUT_TRITON, **options)

    @functools.wraps(function)
    def run(*args):
        program = alone()
        return inside(*args) if program is not inside and in_a_trace() else program(*args)

    return run
