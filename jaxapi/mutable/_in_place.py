"""Programs that use the memory of what they are given, which Ctrl-C must not lose."""

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core._dtypes import x64_mode
from .._core._programs import compiled

__all__ = ["InPlace", "compiled_in_place", "is_small"]

_SMALL = 2**16  # bytes

_copy = compiled(jnp.copy)  # which binds no array to its device, as jnp.copy does


def is_small(x: Any) -> bool:
    """Whether an array is copied as fast as it is written in place."""
    return x.nbytes <= _SMALL


class InPlace:
    """A program of JAX that uses the memory of its first argument, an array or a list of arrays.

    What it returns is appended to a list by the call of C that uses the memory, so that Ctrl-C finds either
    the argument or the result. JAX makes the first call of a kind in Python, where Ctrl-C could find neither:
    that call is given a copy.
    """

    __slots__ = ("_called", "_program")

    def __init__(self, program: Any):
        """Take what `jax.jit` returned with ``donate_argnums=0``."""
        self._program = program
        self._called: set[Hashable] = set()  # kinds of which a call ended

    def call(self, kind: Hashable, args: Sequence[Any], made: list[Any]) -> None:
        """Append what a call returns, whose kind says all that JAX compiles a call for."""
        if kind in self._called:
            made.extend(itertools.starmap(self._program, [args]))
            return
        spent, *others = args
        try:
            made.append(self._program(jax.tree.map(_copy, spent), *others))
            self._called.add(kind)
        finally:
            if kind not in self._called:  # else JAX would make each later call of this kind in Python
                self._called.clear()
                self._program.clear_cache()


def compiled_in_place(function: Callable[..., Any], **options: Any) -> Callable[[Sequence[Any], list], None]:
    """Return what calls a function that uses the memory of its first argument, as `InPlace` does.

    ``call(args, made)`` appends the result to the list ``made``.
    """
    program = compiled(function, donate_argnums=0, **options)
    calls: InPlace | None = None

    def call(args: Sequence[Any], made: list[Any]) -> None:
        nonlocal calls
        if calls is None:
            calls = InPlace(program.jitted())
        kinds = [
            (type(x), x) if i in program.static_argnums else _kind_of_argument(x) for i, x in enumerate(args)
        ]
        calls.call((x64_mode(), *kinds), args, made)

    return call


def _kind_of_argument(x: Any) -> Any:
    """Return what JAX compiles a call for, of an argument that is not static."""
    if isinstance(x, jax.Array):
        return x.shape, x.dtype, x.weak_type, x.sharding if x.committed else None
    if isinstance(x, (np.ndarray, np.generic)):
        return np.ndarray, x.shape, x.dtype
    if isinstance(x, (list, tuple)):
        return tuple(map(_kind_of_argument, x))
    return type(x)
