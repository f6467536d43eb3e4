"""Programs of JAX inside of others: what a parameter of an equation is."""

from typing import Any

__all__ = ["program_in"]


def program_in(parameter: Any) -> Any:
    """Return the program that a parameter of an equation is, closed or not; None of another parameter.

    A function with a derivative rule of its own is a program, or, with JAX's `jax_custom_jvp3` and
    `jax_custom_vjp3`, an object that has traced one.
    """
    traced = getattr(parameter, "traced", None)
    program = parameter if traced is None else getattr(traced, "jaxpr", None)
    return program if hasattr(getattr(program, "jaxpr", program), "eqns") else None
