"""Traces: whether JAX's transformations run the calling code, and what runs at once in spite of them."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np

from ._internals import Tracer, eval_context, find_top_trace

__all__ = ["ARRAY_TYPES", "any_traced", "eagerly", "eagerly_unless_traced", "in_a_trace", "is_jax_array"]
__all__ += ["is_traced", "is_tracer_class", "traces"]

# The classes of `jax.Array` that came by (they have no public names): asking a set is faster than isinstance.
ARRAY_TYPES: set[type] = set()


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
    return isinstance(x, Tracer)


def is_tracer_class(cls: type) -> bool:
    """Whether objects of this class are abstract values."""
    return issubclass(cls, Tracer)


def any_traced(*values: Any) -> bool:
    """Whether one of ``values`` is an abstract value of a JAX transformation."""
    for value in values:  # noqa: SIM110 (a generator takes longer, and every search asks)
        if isinstance(value, Tracer):
            return True
    return False


def eagerly() -> AbstractContextManager[Any]:
    """Return a context in which operations on concrete arrays run at once, inside of a `jax.jit` too.

    They run on the devices that hold the arrays: the mesh of `jax.set_mesh`, under which JAX refuses arrays
    on other devices, does not count.
    """
    return eval_context() if jax.sharding.get_abstract_mesh().empty else _without_mesh()


def eagerly_unless_traced(*values: Any) -> AbstractContextManager[Any]:
    """Return `eagerly()`, or a context that changes nothing where one of ``values`` is traced."""
    return contextlib.nullcontext() if any_traced(*values) else eagerly()


@contextlib.contextmanager
def _without_mesh() -> Iterator[None]:
    with eval_context(), contextlib.ExitStack() as stack:
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
    with eval_context():
        return find_top_trace, find_top_trace(())
