"""The structure over a device's points: of one size, wherever it is built, in programs that serve many."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._programs import any_traced, compiled, eagerly
from ..._core._typing import Array
from .._searcher import without_slopes
from .._structure._build import tree_size
from .._structure._lengths import first_lines
from .._structure._tree import Tree
from . import _engines
from ._arrays import as_dtype, constant_on
from ._finite import all_finite, on_its_way

__all__ = ["structure"]

INT32 = np.dtype(np.int32)


def structure(data, n, engine) -> tuple[Tree, Array | bool]:
    """Build the structure over the first n of points (rows, m), and tell whether all of them are finite."""
    if any_traced(data, n):
        inputs = without_slopes((data, as_dtype(n, INT32)))  # a kernel's call cannot be differentiated
        return built(*inputs, engine=engine), True
    with eagerly(), x64_for(data.dtype):
        engine = engine or _engines.engine_of(data)
        points = engine.with_room(data, tree_size(*data.shape), data.sharding)
        tree = _built_of_lines(points, constant_on(n, INT32, data.sharding), engine=engine)
        return tree, on_its_way(all_finite(first_lines(n, data)[0], engine))


# Compiled as one piece also where a transformation alone would run it step by step.
@partial(compiled, static_argnames="engine")
def built(points, n, *, engine) -> Tree:
    room = tree_size(*points.shape) - len(points)
    return _engines.run(engine, "build", jnp.pad(points, ((0, room), (0, 0))), n)


@partial(compiled, static_argnames="engine")
def _built_of_lines(points, n, *, engine) -> Tree:
    return engine.build(engine.lines(points, n, dtype=points.dtype), n)
