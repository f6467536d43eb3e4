"""The structure over a device's points, in programs that serve many sizes."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._programs import any_traced, compiled, eagerly
from ..._core._typing import Array
from .._searcher import without_slopes
from .._structure._build import padded_size
from .._structure._lengths import first_lines
from .._structure._tree import FLAT_FROM, Tree
from . import _engines
from ._arrays import as_dtype, constant_on
from ._finite import all_finite, on_its_way

__all__ = ["structure"]

FEWEST_ON_GPU = 1 << 15
INT32 = np.dtype(np.int32)


def structure(data, n, engine) -> tuple[Tree, Array | bool]:
    """Build the structure over the first n of points (rows, m), and tell whether all of them are finite."""
    if any_traced(data, n):  # is compiled for its own size anyway
        points = data if len(data) else jnp.full((1, data.shape[1]), jnp.nan, data.dtype)
        inputs = without_slopes((points, as_dtype(n, INT32)))  # a kernel's call cannot be differentiated
        return built(*inputs, engine=engine), True
    with eagerly(), x64_for(data.dtype):
        engine = engine or _engines.engine_of(data)
        size = max(padded_size(len(data)), _fewest(data))
        points = engine.with_room(data, size, data.sharding)
        tree = _built_of_lines(points, constant_on(n, INT32, data.sharding), engine=engine)
        return tree, on_its_way(all_finite(first_lines(n, data)[0], engine))


def _fewest(data) -> int:
    """Return the least size that points are padded to.

    On a GPU one that XLA hands to a library's radix sort: fewer it sorts by kernels that it compiles anew for
    each size, several times as long as everything else in the build.
    """
    (device,) = data.devices()
    return FEWEST_ON_GPU if device.platform == "gpu" and data.shape[1] < FLAT_FROM else 0


# Compiled as one piece also where a transformation alone would run it step by step.
@partial(compiled, static_argnames="engine")
def built(points, n, *, engine) -> Tree:
    return _engines.run(engine, "build", points, n)


@partial(compiled, static_argnames="engine")
def _built_of_lines(points, n, *, engine) -> Tree:
    return engine.build(engine.lines(points, n, dtype=points.dtype), n)
