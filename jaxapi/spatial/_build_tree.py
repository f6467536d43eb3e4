"""The tree over a device's points: of one size, wherever it is built, in programs that serve many."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from .._core._constants import constant_on
from .._core._devices import computed_in_host_memory
from .._core._dtypes import x64_for
from .._core._programs import any_traced, compiled, eagerly
from .._core._typing import Array
from ._arrays import as_dtype, points_dtype
from ._engines._protocol import Engine
from ._tree._build import tree_size
from ._tree._slopes import without_slopes
from ._tree._tree import Tree

__all__ = ["are_finite", "build_tree"]

INT32 = np.dtype(np.int32)


def build_tree(data, n, engine: Engine) -> tuple[Tree, Array | bool]:
    """Build the tree over the first n of points (rows, m), and tell whether all of them are finite."""
    if any_traced(data, n):
        inputs = without_slopes((data, as_dtype(n, INT32)))  # a kernel's call cannot be differentiated
        return built(*inputs, engine=engine), True
    with eagerly(), x64_for(data.dtype):
        points = engine.as_input(data, tree_size(*data.shape), data.sharding)
        count = constant_on(n, INT32, data.sharding)
        # Its own program, in front of the build: the answer is there while the tree is built.
        finite = computed_in_host_memory(_all_finite, count, points, engine=engine)
        return _built_of_lines(points, count, engine=engine), finite


def are_finite(data, n: int, engine: Engine) -> Array:
    """Tell whether the first n of concrete points (rows, m) are finite."""
    with eagerly(), x64_for(data.dtype, points_dtype(data.dtype)):
        points = engine.as_input(data, tree_size(*data.shape), data.sharding)
        count = constant_on(n, INT32, data.sharding)
        return computed_in_host_memory(_all_finite, count, points, engine=engine)


# Compiled as one piece also where a transformation alone would run it step by step.
@partial(compiled, static_argnames="engine")
def built(points, n, *, engine) -> Tree:
    extra_rows = tree_size(*points.shape) - len(points)
    return engine.build(jnp.pad(points, ((0, extra_rows), (0, 0))), n)


@partial(compiled, static_argnames="engine")
def _built_of_lines(points, n, *, engine) -> Tree:
    return engine.build(engine.read_input(points, n, dtype=points.dtype), n)


def _all_finite(n, points, *, engine) -> Array:
    """Tell whether the first `n` points are finite; those behind them are read as nan.

    They are read in the dtype of a tree's points: no integer is nan, and the kernel that reads has no nan of
    16 bits.
    """
    is_finite = jnp.isfinite(engine.read_input(points, n, dtype=points_dtype(points.dtype))).all(axis=1)
    return jnp.sum(is_finite, dtype=jnp.int32) == n
