"""Sections of docstrings that several functions share, written once."""

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["of_standard", "sharing"]

F = TypeVar("F", bound=Callable)


def sharing(sections: str, **words: Any) -> Callable[[F], F]:
    """Return what puts ``sections`` into a function's docstring, before its examples.

    ``{name}`` in them is the function's name, and ``words`` stand for what is in other braces.
    """

    def decorate(function: F) -> F:
        own, heading, examples = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples\n")
        shared = inspect.cleandoc(sections).format(name=function.__name__, **words)
        function.__doc__ = f"{own}\n\n{shared}{heading}{examples}"
        return function

    return decorate


def of_standard(chapter: str, derivatives: str = "; differentiable", *, raises: str = "") -> Callable[[F], F]:
    """Complete the docstring of a function of the Array API standard, perhaps by what it raises."""
    notes = textwrap.fill(f"The same under `jax.jit` and `jax.vmap`{derivatives}.", 105)
    sections = [("Raises", raises)] if raises else []
    sections += [
        ("Notes", notes),
        ("References", f".. [1] Array API standard 2025.12, {chapter}, ``{{name}}``."),
    ]
    return sharing("\n\n".join(f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections))
