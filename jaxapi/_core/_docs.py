"""Sections of docstrings that several functions share, written once."""

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

__all__ = ["ROOM", "Completion", "after_summary", "of_standard", "sharing", "with_paragraph"]

F = TypeVar("F", bound=Callable[..., Any])

# How a function differs from JAX's if values choose the length of its result.
ROOM = (
    "another number of elements in the result seldom compiles: outside of\ntransformations they are written "
    "into memory of one of few lengths, two for each doubling and eight from\n4 MiB on, and a program is "
    "compiled for each of these. The result holds that memory: room for up to\nhalf as many more, or an "
    "eighth from 4 MiB on"
)


class Completion(Protocol):
    """What returns a function with a longer docstring."""

    def __call__(self, function: F, /) -> F: ...


def after_summary(paragraph: str) -> Completion:
    """Return what puts a paragraph into a function's docstring, after its first one."""

    def decorate(function: F, /) -> F:
        function.__doc__ = with_paragraph(function, paragraph)
        return function

    return decorate


def with_paragraph(function: Callable[..., Any], paragraph: str) -> str:
    """Return the docstring of a function with a paragraph after its first one."""
    summary, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
    return "\n\n".join([summary, paragraph, rest])


def sharing(sections: str, **words: Any) -> Completion:
    """Return what puts ``sections`` into a function's docstring, before its examples.

    ``{name}`` in them is the function's name, and ``words`` stand for what is in other braces.
    """

    def decorate(function: F, /) -> F:
        text, heading, examples = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples\n")
        shared = inspect.cleandoc(sections).format(name=function.__name__, **words)
        function.__doc__ = f"{text}\n\n{shared}{heading}{examples}"
        return function

    return decorate


def of_standard(chapter: str, derivatives: str = "; differentiable", *, raises: str = "") -> Completion:
    """Complete the docstring of a function of a chapter of the Array API standard.

    ``chapter`` may go on with "``{name}``" and more; ``raises`` is the whole section.
    """
    notes = textwrap.fill(f"The same under `jax.jit` and `jax.vmap`{derivatives}.", 105)
    sections = [("Raises", raises)] if raises else []
    reference = chapter if "``" in chapter else f"{chapter}, ``{{name}}``"
    sections += [
        ("Notes", notes),
        ("References", f".. [1] Array API standard 2025.12, {reference}."),
    ]
    texts = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections]
    return sharing("\n\n".join(texts))
