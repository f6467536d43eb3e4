"""Sections of docstrings that several functions share, written once."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["sharing"]

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
