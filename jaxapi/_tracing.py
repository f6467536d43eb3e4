"""Concrete or traced: what JAX's transformations put in place of arrays."""

import contextlib
import functools

import jax
import numpy as np

__all__ = ["any_traced", "eagerly", "eagerly_unless_traced", "in_a_trace", "is_traced", "is_tracer_class"]

# The first is undocumented: it also stops `jax.vmap` and `jax.grad` from seeing the operations.
_eval_context = getattr(jax.core, "eval_context", jax.ensure_compile_time_eval)


def is_traced(x) -> bool:
    """Whether ``x`` is an abstract value of a JAX transformation."""
    return isinstance(x, jax.core.Tracer)


def is_tracer_class(kind: type) -> bool:
    """Whether objects of this class are abstract values."""
    return issubclass(kind, jax.core.Tracer)


def any_traced(*values) -> bool:
    """Whether one of ``values`` is an abstract value of a JAX transformation."""
    for value in values:  # noqa: SIM110 (a generator takes longer, and every search asks)
        if isinstance(value, jax.core.Tracer):
            return True
    return False


def eagerly():
    """Return a context in which operations on concrete arrays run at once, inside of a `jax.jit` too.

    They run on the devices that hold the arrays: the mesh of `jax.set_mesh`, under which JAX refuses arrays
    on other devices, does not count.
    """
    return _eval_context() if jax.sharding.get_abstract_mesh().empty else _without_mesh()


def eagerly_unless_traced(*values):
    """Return `eagerly()`, or a context that changes nothing where one of ``values`` is traced."""
    return contextlib.nullcontext() if any_traced(*values) else eagerly()


@contextlib.contextmanager
def _without_mesh():
    with _eval_context(), contextlib.ExitStack() as stack:
        with contextlib.suppress(ValueError):  # JAX refuses it inside of jax.shard_map
            stack.enter_context(jax.set_mesh(jax.sharding.Mesh(np.empty((), object), ())))
        yield


def in_a_trace() -> bool:
    """Whether a JAX transformation is running the calling code."""
    state_now, outside = _trace_states()
    return state_now() != outside


@functools.cache
def _trace_states():
    from jax.extend.core import get_opaque_trace_state  # which loads Pallas

    with _eval_context():
        return get_opaque_trace_state, get_opaque_trace_state()
