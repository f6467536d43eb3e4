"""Checks of values that lie in arrays: made at once, or, of traced values, by who traces.

A program of arrays with room is traced from a function that raises for some values. What it checks is a
result of the program then, and where a check fails, the function runs again, at once, and raises.
"""

import contextlib
import threading
from collections.abc import Iterator

import jax

from ._traces import is_traced

__all__ = ["are_collected", "collected_checks", "refuse_values"]


class _Checks(threading.local):
    collected: list[jax.Array] | None = None


_checks = _Checks()


@contextlib.contextmanager
def collected_checks() -> Iterator[list[jax.Array]]:
    """Collect what is checked of traced values, each time whether it is bad."""
    before = _checks.collected
    collected: list[jax.Array] = []
    _checks.collected = collected
    try:
        yield collected
    finally:
        _checks.collected = before


def are_collected() -> bool:
    """Whether somebody collects what is checked of traced values."""
    return _checks.collected is not None


def refuse_values(is_bad: jax.Array, error: type[Exception], text: str) -> None:
    """Raise an error if something holds of values; of traced ones, leave that to who collects checks."""
    if not is_traced(is_bad):
        if is_bad:
            raise error(text)
    elif _checks.collected is not None:
        _checks.collected.append(is_bad)
