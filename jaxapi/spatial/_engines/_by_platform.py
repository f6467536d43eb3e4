"""The engine of programs whose platform is not known: the compiler chooses, by what it compiles for."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from .._tree._metric import Measure, TreeMetric
from .._tree._queries import Limits, RadiusQueries, Relation, Slots
from .._tree._tree import Tree
from .._tree._varying import varying_alike, varying_like
from . import _choice, _lax
from ._protocol import Engine

__all__ = ["BY_PLATFORM", "PORTABLE"]

Result = TypeVar("Result")


class ByPlatform:
    """The kernels of NVIDIA GPUs there, the portable engine elsewhere, or, if `portable`, everywhere.

    Inside of `jax.shard_map`, too, where a function's inputs must vary over the same axes of the mesh.
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

    def read_input(self, x, count, *, dtype, fill: int | None = None) -> Array:
        options = {"dtype": dtype, "fill": fill}
        return self._chosen(lambda engine, *arrays: engine.read_input(*arrays, **options), x, count)

    def build(self, points: Array, n: Array, scale: Array | None = None) -> Tree:
        return self._chosen(lambda engine, *arrays: engine.build(*arrays), points, n, scale)

    def ordered_queries(self, tree: Tree, queries: Array, radius: Array, metric: TreeMetric) -> RadiusQueries:
        def function(engine: Engine, *arrays):
            return engine.ordered_queries(*arrays)

        return self._chosen(function, tree, queries, radius, metric)

    def nearest(
        self,
        tree: Tree,
        queries: Array,
        limits: Limits,
        metric: TreeMetric,
        *,
        k: int,
        measure: Measure = Measure.DISTANCE,
    ) -> tuple[Array, Array]:
        def function(engine: Engine, *arrays):
            return engine.nearest(*arrays, k=k, measure=measure)

        return self._chosen(function, tree, queries, limits, metric)

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

    def nearest_of_slots(
        self, tree: Tree, prepared, slots: Slots, limits: Limits, metric: TreeMetric, *, k: int
    ) -> tuple[Array, Array]:
        def function(engine: Engine, *arrays):
            return engine.nearest_of_slots(*arrays, k=k)

        return self._chosen(function, tree, prepared, slots, limits, metric)

    def distances_in_units(self, tree: Tree, powers: Array, metric: TreeMetric) -> Array:
        return self._chosen(lambda engine, *arrays: engine.distances_in_units(*arrays), tree, powers, metric)

    def count(
        self,
        tree: Tree,
        queries: RadiusQueries,
        metric: TreeMetric,
        *,
        relation: Relation,
        enough: int = _lax.MOST,
    ) -> Array:
        def function(engine: Engine, *arrays):
            return engine.count(*arrays, relation=relation, enough=enough)

        return self._chosen(function, tree, queries, metric)

    def running_sums(self, counts: Array) -> Array:
        return self._chosen(lambda engine, counts: engine.running_sums(counts), counts)

    def fill(
        self,
        tree: Tree,
        queries: RadiusQueries,
        offsets: Array,
        metric: TreeMetric,
        *,
        size: int,
        relation: Relation,
    ) -> tuple[Array, Array]:
        def function(engine: Engine, *arrays):
            return engine.fill(*arrays, size=size, relation=relation)

        return self._chosen(function, tree, queries, offsets, metric)

    def fill_edges(
        self,
        tree: Tree,
        queries: RadiusQueries,
        offsets: Array,
        metric: TreeMetric,
        *,
        size: int,
        relation: Relation,
    ) -> tuple[Array, Array, Array]:
        def function(engine: Engine, *arrays):
            return engine.fill_edges(*arrays, size=size, relation=relation)

        return self._chosen(function, tree, queries, offsets, metric)

    def fill_pairs(
        self, tree: Tree, queries: RadiusQueries, offsets: Array, metric: TreeMetric, *, size: int
    ) -> Array:
        def function(engine: Engine, *arrays):
            return engine.fill_pairs(*arrays, size=size)

        return self._chosen(function, tree, queries, offsets, metric)

    def fill_rows(
        self, tree: Tree, queries: RadiusQueries, metric: TreeMetric, *, max_neighbors: int
    ) -> tuple[Array, Array, Array]:
        def function(engine: Engine, *arrays):
            return engine.fill_rows(*arrays, max_neighbors=max_neighbors)

        return self._chosen(function, tree, queries, metric)

    def bin_counts(
        self, tree: Tree, queries: RadiusQueries, radii: Array, weights: Array, metric: TreeMetric
    ) -> Array:
        def function(engine: Engine, *arrays):
            return engine.bin_counts(*arrays)

        return self._chosen(function, tree, queries, radii, weights, metric)

    def component_rows(self, tree: Tree, radius: Array, metric: TreeMetric) -> Array:
        return self._chosen(lambda engine, *arrays: engine.component_rows(*arrays), tree, radius, metric)

    def lowest(self, tree: Tree, queries: RadiusQueries, numbers: Array, metric: TreeMetric) -> Array:
        def function(engine: Engine, *arrays):
            return engine.lowest(*arrays)

        return self._chosen(function, tree, queries, numbers, metric)


BY_PLATFORM = ByPlatform(portable=False)
PORTABLE = ByPlatform(portable=True)
