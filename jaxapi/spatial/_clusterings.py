"""The clusterings of a KDTree: each is written for SciPy and for an engine's searches, and one of them runs.

SciPy clusters on the CPU, where it also searches, and points of so many dimensions that the boxes of nodes
say nothing. Inside of a transformation the compiler chooses by the platform that it compiles for.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import x64_for
from .._core._lengths import first_rows
from .._core._programs import any_traced, eagerly, is_traced
from ._arrays import as_dtype, placed_like
from ._cloud import Cloud
from ._clusters import _device
from ._clusters._selection import Selection
from ._engines import _choice, _lax
from ._engines._protocol import Engine, has_kernels
from ._scipy import _cluster
from ._scipy._callback import Result, computed
from ._scipy._trees import HIGHEST_POWER, has_powers
from ._search import Search
from ._searcher import boxsize_of
from ._tree._build import tree_size
from ._tree._metric import TreeMetric
from ._tree._slopes import with_slopes, without_slopes
from ._tree._tree import FLAT_FROM

__all__ = ["Clusterer", "RadiusClusterer", "with_slopes_of_edges"]


class RadiusClusterer(Protocol):
    """What finds clusters of points that are near to each other."""

    def components(self, radius, search: Search) -> tuple:
        """Return how many components there are, and labels (rows,)."""

    def dbscan(self, radius, weights, search: Search, min_samples: int) -> tuple:
        """Return which points are cores (rows,), and labels (rows,); without weights each point counts 1."""


class Clustering(NamedTuple):
    """What is to be computed, written twice. Neither has derivatives."""

    by_scipy: Callable  # of SciPy's tree, and values
    by_engine: Callable  # of points in our own tree, and values; with `search`
    results: list[Result]
    is_portable: bool  # whether every engine can do it, or those alone that have kernels of their own


class Clusterer(NamedTuple):
    """Points on one device, without images, and who clusters them."""

    cloud: Cloud
    engine: Engine  # that searches our own tree where it is concrete
    by_scipy: bool  # whether SciPy searches these points

    def components(self, radius, search: Search) -> tuple:
        """Return how many components there are, and labels (rows,)."""
        clustering = Clustering(
            _cluster.components,
            _device.components,
            [Result((), search.index_dtype), Result((len(self.cloud.points),), search.index_dtype)],
            is_portable=True,
        )
        return self._run(clustering, search, radius)

    def dbscan(self, radius, weights, search: Search, min_samples: int) -> tuple:
        """Return which points are cores (rows,), and labels (rows,); without weights each point counts 1."""
        shape = (len(self.cloud.points),)
        clustering = Clustering(
            partial(_cluster.dbscan, min_samples=min_samples),
            partial(_device.dbscan, min_samples=min_samples),
            [Result(shape, np.dtype(bool)), Result(shape, search.index_dtype)],
            is_portable=True,
        )
        return self._run(clustering, search, radius, weights)

    def spanning_tree(self, search: Search, min_samples: int) -> tuple:
        """Return edges (e, 2), their distances (e,), and the rows that these are measured between (e, 2)."""
        edge_count = max(len(self.cloud.points) - 1, 0)
        rows = Result((edge_count, 2), search.index_dtype)
        clustering = Clustering(
            partial(_cluster.tree_edges, min_samples=min_samples, dtype=search.dtype),
            partial(_device.spanning_tree, min_samples=min_samples),
            [rows, Result((edge_count,), search.dtype), rows],
            is_portable=False,
        )
        return self._run(clustering, search)

    def hdbscan(self, search: Search, min_samples: int, alpha: float, selection: Selection) -> tuple:
        """Return labels (rows,) and probabilities (rows,)."""
        options: dict[str, Any] = {"min_samples": min_samples, "alpha": alpha, "selection": selection}
        shape = (len(self.cloud.points),)
        clustering = Clustering(
            partial(_cluster.hdbscan, **options),
            partial(_device.hdbscan, **options),
            [Result(shape, search.index_dtype), Result(shape, search.dtype)],
            is_portable=False,
        )
        return self._run(clustering, search)

    def _run(self, clustering: Clustering, search: Search, *values) -> tuple:
        """Return the results of a clustering; jax arrays."""
        boxsize: Any = search.boxsize
        if boxsize is not None and not is_traced(boxsize):
            boxsize = np.asarray(boxsize, np.float64)
        count: Any = self.cloud.n
        if not is_traced(count):
            count = np.int32(count)
        inputs = count, boxsize, *values
        traced = any_traced(self.cloud.points, *inputs)
        is_asked_for = self.cloud.engine_asked is not None
        gpu = _choice.gpu_engine() if traced and not is_asked_for else None
        engine = (gpu or _lax) if traced else self.engine

        def by_scipy(data, count, boxsize, *values):
            return clustering.by_scipy(_cluster.tree_of(data, count, boxsize, search.p), *values)

        def on_host(data, _, *inputs):
            return tuple(computed(by_scipy, clustering.results, data, *inputs))

        def on_device(data, tree, _, boxsize, *values):
            boxsize = None if boxsize is None else as_dtype(boxsize, search.dtype)
            points = _device.ClusteredPoints(data, tree, TreeMetric(search.p, boxsize))
            return tuple(clustering.by_engine(points, *values, search=search.static_part(engine)))

        if self.by_scipy or not self._can(clustering, engine):
            if len(self.cloud.points) and not has_powers(search.p):
                raise ValueError(
                    f"on a CPU this takes p up to {HIGHEST_POWER}, got p={search.p}, of which powers are no "
                    "numbers: pass p=math.inf, whose distances are nearly the same"
                )
            found = on_host(self.cloud.points, None, *inputs)
            return found if traced else placed_like(self.cloud.points, *found)
        if not traced:
            return self._eagerly(on_device, engine, search, inputs)
        arrays = without_slopes((self.cloud.points, self.cloud.built_tree(), *inputs))
        if is_asked_for or not has_powers(search.p):
            return on_device(*arrays)
        if gpu is not None:
            return lax.platform_dependent(*arrays, cuda=on_device, default=on_host)
        return lax.platform_dependent(*arrays, cpu=on_host, default=on_device)

    def _can(self, clustering: Clustering, engine: Engine) -> bool:
        """Tell whether an engine can do a clustering of these points."""
        if not len(self.cloud.points):
            return False
        if has_kernels(engine):
            return self.cloud.points.shape[1] < FLAT_FROM
        return clustering.is_portable

    def _eagerly(self, on_device, engine: Engine, search: Search, inputs) -> tuple:
        """Run a clustering of concrete arrays, which are padded so that most lengths share a program."""
        row_count, m = self.cloud.points.shape
        with eagerly(), x64_for(search.dtype, search.index_dtype):
            padded_count = tree_size(row_count, m)
            count, boxsize, *values = inputs
            missing = padded_count - row_count
            padded = [value if np.ndim(value) == 0 else np.pad(value, (0, missing)) for value in values]
            data = engine.as_input(self.cloud.points, padded_count, self.cloud.points.sharding)
            found = on_device(data, self.cloud.built_tree(), count, boxsize, *padded)
            return tuple(first_rows(len(x) - missing, x)[0] if x.ndim else x for x in found)


def with_slopes_of_edges(data, distances, measured, search: Search):
    """Return the distances (e,) of edges as a function of the points; `measured` are the rows (e, 2)."""
    n = len(data)
    with x64_for(data.dtype):
        sources, targets = jnp.where(measured < 0, n, measured).T  # -1 where there is no edge
        x = data[jnp.minimum(sources, n - 1)]
        columns = with_slopes(distances[:, None], data, x, targets[:, None], boxsize_of(search), search.p)
        return columns[:, 0]
