"""JAX's programs: whether a value is traced by one, and how one that is called on its own is compiled.

XLA's defaults on a GPU are for programs that run for hours. With the options here a reduction compiles in
half the time and a product in a fifth.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np

# Loading this module loads Pallas, which adds settings to JAX, and with other settings JAX compiles every
# program again. So it is loaded by `import jaxapi`, before there are programs.
from jax.extend.core import find_top_trace

__all__ = ["ARRAY_TYPES", "any_traced", "compiled", "eagerly", "eagerly_unless_traced", "in_a_trace"]
__all__ += ["is_jax_array", "is_traced", "is_tracer_class", "traces"]

# The classes of `jax.Array` that came by (they have no public names): asking a set is faster than isinstance.
ARRAY_TYPES: set[type] = set()

# The first is undocumented: it also stops `jax.vmap` and `jax.grad` from seeing the operations.
_eval_context = getattr(jax.core, "eval_context", jax.ensure_compile_time_eval)


def is_jax_array(x: Any) -> bool:
    """Whether ``x`` is a `jax.Array`, traced or not."""
    if type(x) in ARRAY_TYPES:
        return True
    if isinstance(x, jax.Array):
        ARRAY_TYPES.add(type(x))
        return True
    return False


def is_traced(x: Any) -> bool:
    """Whether ``x`` is an abstract value of a JAX transformation."""
    return isinstance(x, jax.core.Tracer)


def is_tracer_class(cls: type) -> bool:
    """Whether objects of this class are abstract values."""
    return issubclass(cls, jax.core.Tracer)


def any_traced(*values: Any) -> bool:
    """Whether one of ``values`` is an abstract value of a JAX transformation."""
    for value in values:  # noqa: SIM110 (a generator takes longer, and every search asks)
        if isinstance(value, jax.core.Tracer):
            return True
    return False


def eagerly() -> AbstractContextManager[Any]:
    """Return a context in which operations on concrete arrays run at once, inside of a `jax.jit` too.

    They run on the devices that hold the arrays: the mesh of `jax.set_mesh`, under which JAX refuses arrays
    on other devices, does not count.
    """
    return _eval_context() if jax.sharding.get_abstract_mesh().empty else _without_mesh()


def eagerly_unless_traced(*values: Any) -> AbstractContextManager[Any]:
    """Return `eagerly()`, or a context that changes nothing where one of ``values`` is traced."""
    return contextlib.nullcontext() if any_traced(*values) else eagerly()


@contextlib.contextmanager
def _without_mesh() -> Iterator[None]:
    with _eval_context(), contextlib.ExitStack() as stack:
        with contextlib.suppress(ValueError):  # JAX refuses it inside of jax.shard_map
            stack.enter_context(jax.set_mesh(jax.sharding.Mesh(np.empty((), object), ())))
        yield


def in_a_trace() -> bool:
    """Whether a JAX transformation is running the calling code."""
    trace_now, outside = traces()
    return trace_now(()) is not outside


@functools.cache
def traces() -> tuple[Callable[[tuple[()]], Any], Any]:
    """Return what tells the trace that runs now, and its answer outside of every transformation."""
    with _eval_context():
        return find_top_trace, find_top_trace(())


_FASTER = {
    # Some dozens of kernels compiled and timed for each product. In full precision they gain little over
    # cuBLAS's, and a bad choice costs more, as for a tall matrix, transposed, by another.
    "xla_gpu_enable_triton_gemm": False,
    # The same for reductions, of which few are slower without, such as sums of short rows.
    "xla_gpu_experimental_enable_fusion_autotuner": False,
    # Tables of how long messages between GPUs take, read anew for each program.
    "xla_gpu_enable_analytical_sol_latency_estimator": False,
}


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Return what `jax.jit` does, compiled faster where it is called on its own on a GPU.

    Inside of another program it is compiled as that is. A function that JAX has compiled stays JAX's there.
    """
    inside = function if hasattr(function, "lower") else jax.jit(function, **options)
    alone: Any = None

    def jitted() -> Any:
        """Return the program of JAX that runs on its own."""
        nonlocal alone
        if alone is None:
            on_gpu = jax.default_backend() == "gpu"
            alone = jax.jit(function, compiler_options=_FASTER, **options) if on_gpu else inside
        return alone

    @functools.wraps(function, updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal alone
        program = alone or jitted()
        if program is inside or in_a_trace():
            return inside(*args, **kwargs)
        try:
            return program(*args, **kwargs)
        except jax.errors.JaxRuntimeError as error:
            if "compile option" not in str(error):
                raise
            alone = inside  # by an XLA that has another set of options
            return inside(*args, **kwargs)

    run.jitted = jitted  # type: ignore[attr-defined]
    return run
