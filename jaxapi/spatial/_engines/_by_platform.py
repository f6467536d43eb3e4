"""The engine of programs whose platform is not known: the compiler chooses, by what it compiles for."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from .._tree._tree import Tree
from .._tree._varying import varying_alike, varying_like
from . import _choice, _lax
from ._protocol import Engine

__all__ = ["BY_PLATFORM", "PORTABLE"]

Result = TypeVar("Result")


class ByPlatform:
    """The kernels of NVIDIA GPUs there, the portable engine elsewhere, or, if `portable`, everywhere.

    Inside of `jax.shard_map`, too, where a function's inputs must vary over the same axes of the mesh. Its
    methods are those of `Engine`; what is not written here, the loop below adds.
    """

    NAME = "by platform"

    def __init__(self, *, portable: bool):
        self._portable = portable

    def _chosen(self, function: Callable[..., Result], *arrays) -> Result:
        """Return ``function(engine, *arrays)`` of the engine for the platform."""
        arrays = varying_alike(*arrays)
        kernels = None if self._portable else _choice.gpu_engine()
        if kernels is None:
            return function(_lax, *arrays)

        def by(engine: Engine):  # the branches for all platforms must have results of one type
            return lambda *arrays: varying_like(function(engine, *arrays), arrays)

        return lax.platform_dependent(*arrays, cuda=by(kernels), default=by(_lax))

    def as_input(self, x, row_count: int, sharding) -> Any:
        return _lax.as_input(x, row_count, sharding)

    def prepare(self, tree: Tree, boxsize: Array | None) -> Any:
        kernels = None if self._portable else _choice.gpu_engine()
        if kernels is None:
            return _lax.prepare(tree, boxsize)
        shapes = jax.eval_shape(kernels.prepare, tree, boxsize)
        if not jax.tree.leaves(shapes):
            return shapes

        def by_kernels(*arrays):
            return varying_like(kernels.prepare(*arrays), arrays)

        def nothing(*arrays):  # in the shapes of what the kernels make, which are not read
            return varying_like(jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes), arrays)

        return lax.platform_dependent(*varying_alike(tree, boxsize), cuda=by_kernels, default=nothing)


def _of_chosen_engine(name: str, declared: Callable) -> Callable:
    """Return the method that calls the one of this name of the engine for the platform.

    Arrays are handed over by position, and what is static by name, as `Engine` declares.
    """

    @functools.wraps(declared)
    def method(self: ByPlatform, *arrays, **static):
        return self._chosen(lambda engine, *arrays: getattr(engine, name)(*arrays, **static), *arrays)

    return method


for _name, _declared in inspect.getmembers(Engine, inspect.isfunction):
    if not _name.startswith("_") and not hasattr(ByPlatform, _name):
        setattr(ByPlatform, _name, _of_chosen_engine(_name, _declared))

BY_PLATFORM = cast(Engine, ByPlatform(portable=False))
PORTABLE = cast(Engine, ByPlatform(portable=True))
