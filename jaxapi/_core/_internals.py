"""What jaxapi imports of JAX that JAX does not promise to keep, but for XLA's custom call for kernels.

tests/test_jax_internals.py tries each, and says what replaces it.
"""

from typing import Any

import jax
from jax import lax

# Loading `jax.extend` loads Pallas, which adds settings to JAX, and with other settings JAX compiles every
# program again. So it is loaded by `import jaxapi`, before there are programs.
from jax.core import Tracer
from jax.experimental.buffer_callback import buffer_callback
from jax.experimental.layout import Layout, with_layout_constraint
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Primitive, find_top_trace, jaxpr_as_fun

from ._typing import Array

__all__ = ["ClosedJaxpr", "Jaxpr", "Literal", "Primitive", "Tracer", "as_weak", "buffer_callback"]
__all__ += ["eval_context", "find_top_trace", "in_order_of_rows", "jaxpr_as_fun", "program_in"]

# It is undocumented: unlike the other it also stops `jax.vmap` and `jax.grad` from seeing the operations.
eval_context = getattr(jax.core, "eval_context", jax.ensure_compile_time_eval)


def as_weak(x: Array) -> Array:
    """Return an array whose dtype gives way to others', as that of a Python number."""
    return lax.convert_element_type_p.bind(x, new_dtype=x.dtype, weak_type=True, sharding=None)


def in_order_of_rows(x: Array) -> Array:
    """Return an array of a program that lies in memory row by row, whatever XLA would like there."""
    return with_layout_constraint(x, Layout(major_to_minor=tuple(range(x.ndim))))


def program_in(parameter: Any) -> Any:
    """Return the program that a parameter of an equation is, closed or not; None of another parameter.

    A function with a derivative rule of its own is a program, or, with JAX's `jax_custom_jvp3` and
    `jax_custom_vjp3`, an object that has traced one.
    """
    traced = getattr(parameter, "traced", None)
    program = parameter if traced is None else getattr(traced, "jaxpr", None)
    return program if hasattr(getattr(program, "jaxpr", program), "eqns") else None
