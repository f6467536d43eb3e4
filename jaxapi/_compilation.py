"""The compilation of programs on a GPU, for functions called on their own.

XLA's defaults are for programs that run for hours. On an H200 they take 45 ms for an elementwise function,
190 for a sum, a mean or a maximum and 1,250 for a product; with the options here it is 35, 75 and 220.
"""

import functools

import jax

from ._tracing import in_a_trace

__all__ = ["compiled"]

_FASTER = {
    # Some dozens of kernels compiled and timed for each product. In full precision they gain little over
    # cuBLAS's, and a bad choice costs more: a float32 matrix of (1000000, 32), transposed, by another took
    # 789 us by XLA's choice among all, and 272 without Triton's.
    "xla_gpu_enable_triton_gemm": False,
    # The same for reductions. Of 60 sums, maxima and variances measured, of 200 to 100 million elements, two
    # were slower without: 12.5 million rows of 8, each summed, 160 us instead of 120.
    "xla_gpu_experimental_enable_fusion_autotuner": False,
    # Tables of how long messages between GPUs take, read anew for each program.
    "xla_gpu_enable_analytical_sol_latency_estimator": False,
}


def compiled(function, **options):
    """Return what `jax.jit` does, compiled faster where it is called on its own on a GPU.

    Inside of another program it is compiled as that is. A function that JAX has compiled stays JAX's there.
    """
    inside = function if hasattr(function, "lower") else jax.jit(function, **options)
    alone = None

    def jitted():
        """Return the program of JAX that runs on its own."""
        nonlocal alone
        if alone is None:
            on_gpu = jax.default_backend() == "gpu"
            alone = jax.jit(function, compiler_options=_FASTER, **options) if on_gpu else inside
        return alone

    @functools.wraps(function, updated=())
    def run(*args, **kwargs):
        nonlocal alone
        if jitted() is inside or in_a_trace():
            return inside(*args, **kwargs)
        try:
            return alone(*args, **kwargs)  # type: ignore[misc]
        except jax.errors.JaxRuntimeError as error:
            if "compile option" not in str(error):
                raise
            alone = inside  # by an XLA that has another set of options
            return inside(*args, **kwargs)

    run.jitted = jitted  # type: ignore[attr-defined]
    return run
