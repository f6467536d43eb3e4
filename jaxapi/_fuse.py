"""`fuse`: cupy.fuse's forms on `jax.jit`."""

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

import jax

from ._fuse_arguments import WIDE_DTYPES, convert_argument, convert_leaf, has_wide_dtype, is_static

__all__ = ["Fusion", "fuse"]

P = ParamSpec("P")
R = TypeVar("R")

_ATOMS = frozenset([bool, float, complex, type(None)])


class Fusion(Generic[P, R]):
    """A function compiled by `fuse`.

    Attributes
    ----------
    func : callable
        The function as it was written.
    name : str
        The name of the compiled module, ``jit_<name>`` in a profile.
    """

    def __init__(self, func: Callable[P, R], name: str | None = None):
        functools.update_wrapper(self, func)
        self.func = func
        self.name = name or getattr(func, "__name__", type(func).__name__)
        self._jit = jax.jit(self._named(self._run))
        self._static_jit = jax.jit(self._named(self._run_with_static), static_argnums=(0, 1))

    def _named(self, body):
        @functools.wraps(body)
        def named(*args, **kwargs):
            return body(*args, **kwargs)

        named.__name__ = named.__qualname__ = self.name
        return named

    def _run(self, *args, **kwargs):
        result = self.func(*args, **kwargs)
        if result is None:
            raise TypeError(
                f"{self.name} returned no array: jax arrays are immutable, so a fused function cannot "
                "change its arguments; return the new value"
            )
        return result

    def _run_with_static(self, treedef, static, leaves):
        merged = list(leaves)
        for position, value in static:
            merged.insert(position, value)
        args, kwargs = jax.tree.unflatten(treedef, merged)
        return self._run(*args, **kwargs)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function, compiling it first for new shapes, dtypes or static arguments."""
        if kwargs:
            return self._call_general(args, kwargs)
        for value in args:
            kind = type(value)
            if kind in _ATOMS:
                continue
            if kind is int or not isinstance(value, jax.Array) or value.dtype in WIDE_DTYPES:
                return self._call_general(args, kwargs)
        return self._jit(*args)

    def _call_general(self, args, kwargs):
        args = tuple(convert_argument(value) for value in args)
        kwargs = {name: convert_argument(value) for name, value in kwargs.items()}
        leaves, treedef = jax.tree.flatten((args, kwargs))
        leaves = [convert_leaf(leaf) for leaf in leaves]
        static = tuple((i, leaf) for i, leaf in enumerate(leaves) if is_static(leaf))
        wide = any(map(has_wide_dtype, leaves))
        with jax.enable_x64(wide or jax.config.jax_enable_x64):
            if static:
                dynamic = [leaf for leaf in leaves if not is_static(leaf)]
                return self._static_jit(treedef, static, dynamic)
            args, kwargs = jax.tree.unflatten(treedef, leaves)
            return self._jit(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forget every compiled version."""
        self._jit.clear_cache()
        self._static_jit.clear_cache()

    def __repr__(self) -> str:
        return f"<Fusion {self.name!r}>"


@overload
def fuse(func: Callable[P, R], /) -> Fusion[P, R]: ...
@overload
def fuse(kernel_name: str | None = None) -> Callable[[Callable[P, R]], Fusion[P, R]]: ...


def fuse(func: Any = None, /, kernel_name: str | None = None):
    """Compile ``func`` into few kernels with `jax.jit`.

    Examples
    --------
    >>> import jaxapi as xp
    >>> @xp.fuse
    ... def scaled_sum(x, y, a):
    ...     return a * x + y
    >>> scaled_sum(xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0]), 2.0)
    Array([5., 8.], dtype=float32)
    """
    if isinstance(func, str):
        func, kernel_name = None, func
    if func is None:
        return lambda f: Fusion(f, kernel_name)
    if not callable(func):
        raise TypeError(f"fuse takes a function, got {type(func).__name__}")
    return Fusion(func, kernel_name)
