"""JAX's programs: how one that is called on its own is compiled, and what its numbers become.

XLA's defaults on a GPU are for programs that run for hours. With the options here a reduction compiles in
half the time and a product in a fifth.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any

import jax

from ._constants import Operands
from ._traces import (
    ARRAY_TYPES,
    any_traced,
    eagerly,
    eagerly_unless_traced,
    in_a_trace,
    is_jax_array,
    is_traced,
    is_tracer_class,
    traces,
)

__all__ = ["ARRAY_TYPES", "any_traced", "compiled", "eagerly", "eagerly_unless_traced", "in_a_trace"]
__all__ += ["is_jax_array", "is_traced", "is_tracer_class", "traces"]

_FASTER = {
    # Some dozens of kernels compiled and timed for each product. In full precision they gain little over
    # cuBLAS's, and a bad choice costs more, as for a tall matrix, transposed, by another.
    "xla_gpu_enable_triton_gemm": False,
    # The same for reductions, of which few are slower without, such as sums of short rows.
    "xla_gpu_experimental_enable_fusion_autotuner": False,
    # Tables of how long messages between GPUs take, read anew for each program.
    "xla_gpu_enable_analytical_sol_latency_estimator": False,
}
_FIRST_CALL = threading.Lock()  # of which two threads would make two programs each


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Return what `jax.jit` does, compiled faster where it is called on its own on a GPU.

    Inside of another program it is compiled as that is. A function that JAX has compiled stays JAX's there.
    On a GPU numbers that calls repeat are kept on the device.

    The first call makes JAX's objects: all of them would be an eighth of the time that an import takes.
    """
    inside: Any = None
    alone: Any = None
    operands: Any = None

    def jitted() -> Any:
        """Return the program of JAX that runs on its own."""
        nonlocal inside, alone, operands
        with _FIRST_CALL:
            if alone is None:
                inside = function if hasattr(function, "lower") else jax.jit(function, **options)
                on_gpu = jax.default_backend() == "gpu"
                operands = Operands(function, **options) if on_gpu else None
                alone = jax.jit(function, compiler_options=_FASTER, **options) if on_gpu else inside
        return alone

    @functools.wraps(function, updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal alone
        program = alone or jitted()
        if program is inside or in_a_trace():
            return inside(*args, **kwargs)
        args, kwargs = operands.on_device(args, kwargs)
        try:
            return program(*args, **kwargs)
        except jax.errors.JaxRuntimeError as error:
            if "compile option" not in str(error):
                raise
            alone = inside  # by an XLA that has another set of options
            return inside(*args, **kwargs)

    static = options.get("static_argnums", ())
    run.jitted = jitted  # type: ignore[attr-defined]
    run.static_argnums = frozenset([static] if isinstance(static, int) else static)  # type: ignore[attr-defined]
    return run
