"""The clusterings of KDTree: components, DBSCAN, minimum spanning trees and HDBSCAN."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import x64_for
from .._core._programs import any_traced, eagerly, is_traced
from .._core._typing import ArrayLike
from . import _arguments, _lax
from ._clusters import _calls, _device
from ._clusters._hierarchy import Selection
from ._clusters._results import Components, DensityClusters, SpanningTree, StableClusters
from ._device import _engines
from ._device._arrays import as_dtype, placed_like
from ._device._device import Device
from ._device._slopes import with_slopes
from ._mesh._layout import layout_now
from ._searcher import without_slopes
from ._settings import SearchSettings
from ._state import TreeState
from ._structure._build import tree_size
from ._structure._lengths import first_lines
from ._structure._tree import FLAT_FROM

__all__ = ["Clustering"]


class Clustering(TreeState):
    """`KDTree.connected_components`, `dbscan`, `minimum_spanning_tree` and `hdbscan`."""

    def connected_components(self, r: ArrayLike, *, p: float = 2.0) -> Components:
        """Join all points within a distance of each other: friends of friends.

        As `scipy.sparse.csgraph.connected_components` of the pairs of `query_pairs`, which are not held in
        memory where they are many. In cosmology the groups are haloes, and `r` the linking length.

        Parameters
        ----------
        r : float
            Largest distance, inclusive, rounded to the dtype of the data. May be traced.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.

        Returns
        -------
        Components
            ``count`` and ``labels`` (n,), integers; components are numbered by their lowest row.

        Raises
        ------
        ValueError
            If `r` is negative, nan or no single number, p < 1, or more than 2**31 - 2 points lie on a mesh.

        Notes
        -----
        Works under jit, vmap and scan: on NVIDIA GPUs by kernels, elsewhere, and in 17 dimensions and more,
        by the host's SciPy; with ``engine="lax"`` exported, too. Of points on a mesh each device joins its
        own, and asks others for those near them; the labels lie as the points do, and each device needs room
        for a number for each point of all. The labels have no derivatives. Rows from the tree's `n` on have
        the label -1; traced, points that are not finite have it, too, and a negative or nan `r` joins none.

        Examples
        --------
        >>> import jaxapi as xp
        >>> found = xp.spatial.KDTree([[0.0], [9.0], [1.0]]).connected_components(1.0)
        >>> int(found.count), found.labels.tolist()
        (2, [0, 1, 0])
        """
        settings = self._settings(_arguments.norm_order(p), self._data.dtype)
        radius = _arguments.one_radius(r, settings.dtype)
        if not is_traced(radius) and not radius >= 0:
            raise ValueError(f"r must be at least 0, got {radius}")
        if self._layout is not None:
            return Components(*self._searcher().components(radius, settings))
        shapes = [self._shape(settings.index_dtype, shape) for shape in ((), None)]
        function = partial(_calls.components, p=settings.p)
        options = {"kernels": _device.components, "needs": "component_rows"}
        return Components(*self._computed(function, shapes, settings, radius, **options))

    def dbscan(
        self,
        eps: ArrayLike,
        min_samples: int = 5,
        *,
        p: float = 2.0,
        sample_weight: ArrayLike | None = None,
    ) -> DensityClusters:
        """Find clusters of dense points and what borders on them: DBSCAN.

        As `sklearn.cluster.DBSCAN`, with its labels; a border point belongs to the first cluster that
        reaches it.

        Parameters
        ----------
        eps : float
            Largest distance of neighbours, inclusive, rounded to the dtype of the data. May be traced.
        min_samples : int, default 5
            How many neighbours make a core, the point itself counted; with weights, their sum.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit, as is `min_samples`.
        sample_weight : array_like, shape (n,), optional
            What each point counts; negative weights keep others from being cores.

        Returns
        -------
        DensityClusters
            ``core`` (n,), bool, and ``labels`` (n,), integers, -1 for noise.

        Raises
        ------
        TypeError
            If `min_samples` is no integer.
        ValueError
            If `eps` is not above 0 or no single number, `min_samples` < 1, p < 1, `sample_weight` has
            another shape or is nan, or more than 2**31 - 2 points lie on a mesh.

        Notes
        -----
        Works under jit, vmap and scan, exported and on a mesh as `connected_components` does. There are no
        derivatives. Rows from the tree's `n` on are noise; traced, points that are not finite are, too, and
        an `eps` that is negative or nan reaches nothing.

        Examples
        --------
        >>> import jaxapi as xp
        >>> found = xp.spatial.KDTree([[0.0], [1.0], [2.0], [9.0]]).dbscan(1.0, min_samples=3)
        >>> found.core.tolist(), found.labels.tolist()
        ([False, True, False, False], [0, 0, 0, -1])
        """
        settings = self._settings(_arguments.norm_order(p), self._data.dtype)
        radius = _arguments.one_radius(eps, settings.dtype, "eps")
        if not is_traced(radius) and not radius > 0:
            raise ValueError(f"eps must be above 0, got {radius}")
        min_samples = _at_least(min_samples, 1, "min_samples")
        weights = sample_weight
        if weights is not None:
            weights = _arguments.real_array(weights)
            inside = self._layout is not None and layout_now(self._layout, self._data).mesh is None
            n = len(self._data) if inside else self._rows
            if weights.shape != (n,):
                raise ValueError(f"sample_weight must be of shape ({n},), got {weights.shape}")
            if not is_traced(weights) and np.isnan(np.asarray(weights)).any():
                raise ValueError("sample_weight must not be nan")
        if self._layout is not None:
            found = self._searcher().dbscan(radius, weights, settings, min_samples)
            return DensityClusters(*found)
        shapes = [self._shape(np.dtype(bool)), self._shape(settings.index_dtype)]
        function = partial(_calls.dbscan, min_samples=min_samples, p=settings.p)
        kernels = partial(_device.dbscan, min_samples=min_samples)
        options = {"kernels": kernels, "needs": "component_rows"}
        return DensityClusters(*self._computed(function, shapes, settings, radius, weights, **options))

    def minimum_spanning_tree(self, *, min_samples: int | None = None, p: float = 2.0) -> SpanningTree:
        """Connect all points by the n - 1 edges of least length in all.

        As `scipy.sparse.csgraph.minimum_spanning_tree` of all distances, which are not held in memory. Edges
        are ordered by (distance, lower row, higher row), so that there is one such tree.

        Parameters
        ----------
        min_samples : int, optional
            Take HDBSCAN's mutual reachability distances: those of two points are at least the distance of
            each to its neighbour number `min_samples`, the point itself counted, as scikit-learn does.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit, as is `min_samples`.

        Returns
        -------
        SpanningTree
            ``rows`` (n - 1, 2), the lower first, and ``distances`` (n - 1,), ascending. `single_linkage`
            makes a dendrogram of them.

        Raises
        ------
        TypeError
            If `min_samples` is no integer, or the points are sharded over devices.
        ValueError
            If `min_samples` is below 1 or above the number of points, or p < 1.

        Notes
        -----
        Works under jit, vmap and scan: on NVIDIA GPUs by kernels, elsewhere, and in 17 dimensions and more,
        by the host's SciPy. GPUs compare distances in the dtype of the data, SciPy in float64. The distances
        have derivatives in the data of any order, 0 at distance 0. Rows from the tree's `n` on have no edges,
        nor have traced points that are not finite: as many at the end have rows -1 and distance inf.

        Examples
        --------
        >>> import jaxapi as xp
        >>> found = xp.spatial.KDTree([[0.0], [3.0], [1.0]]).minimum_spanning_tree()
        >>> found.rows.tolist(), found.distances.tolist()
        ([[0, 2], [1, 2]], [1.0, 2.0])
        """
        settings = self._clustered("minimum_spanning_tree", p)
        least = 1 if min_samples is None else self._neighbours(min_samples, "min_samples")
        n, dtype = len(self._data), settings.index_dtype
        lines = max(n - 1, 0)
        shapes = [
            self._shape(dtype, (lines, 2)),
            self._shape(settings.dtype, (lines,)),
            self._shape(dtype, (lines, 2)),
        ]
        function = partial(_calls.tree_edges, min_samples=least, p=settings.p, dtype=settings.dtype)
        kernels = partial(_device.spanning_tree, min_samples=least)
        rows, distances, pairs = self._computed(function, shapes, settings, kernels=kernels)
        if lines and self._traced():
            with x64_for(self._data.dtype):
                one, two = jnp.where(pairs < 0, n, pairs).T
                x, box = self._data[jnp.minimum(one, n - 1)], settings.lengths
                box = None if box is None else as_dtype(box, settings.dtype)
                found = with_slopes(distances[:, None], self._data, x, two[:, None], box, settings.p)
                distances = found[:, 0]
        return SpanningTree(rows, distances)

    def hdbscan(
        self,
        min_cluster_size: int = 5,
        *,
        min_samples: int | None = None,
        cluster_selection_method: str = "eom",
        cluster_selection_epsilon: float = 0.0,
        allow_single_cluster: bool = False,
        alpha: float = 1.0,
        p: float = 2.0,
    ) -> StableClusters:
        """Find clusters of all densities: HDBSCAN.

        As `sklearn.cluster.HDBSCAN`, with its labels and probabilities; on GPUs, of edges that are equally
        long, as core distances are, another may come first, and then labels differ from scikit-learn's about
        as often as its own do when the rows are shuffled.

        Parameters
        ----------
        min_cluster_size : int, default 5
            Fewer points are no cluster.
        min_samples : int, optional
            Neighbours that make a point dense, itself counted; by default `min_cluster_size`.
        cluster_selection_method : {'eom', 'leaf'}
            Clusters that last longest ('excess of mass'), or the smallest ones.
        cluster_selection_epsilon : float, default 0
            Clusters that part at a smaller distance are one.
        allow_single_cluster : bool, default False
            Whether all points may be one cluster.
        alpha : float, default 1
            Divides the distances of points, but not those that make them dense.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. All arguments are static under jit.

        Returns
        -------
        StableClusters
            ``labels`` (n,), integers, -1 for noise, and ``probabilities`` (n,), in the dtype of the data.

        Raises
        ------
        TypeError
            If sizes are no integers, or the points are sharded over devices.
        ValueError
            If `min_cluster_size` < 2, `min_samples` is below 1 or above the number of points,
            `cluster_selection_epsilon` is negative, `alpha` is not above 0, or p < 1.

        Notes
        -----
        Works under jit, vmap and scan: on NVIDIA GPUs all of it, elsewhere, and in 17 dimensions and more, by
        the host's SciPy and NumPy. There are no derivatives. Rows from the tree's `n` on are noise, and
        traced points that are not finite.

        Examples
        --------
        >>> import jaxapi as xp
        >>> found = xp.spatial.KDTree([[0.0], [1.0], [2.0], [9.0], [9.5], [10.0]]).hdbscan(3)
        >>> found.labels.tolist(), found.probabilities.tolist()
        ([0, 0, 0, 1, 1, 1], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
        """
        settings = self._clustered("hdbscan", p)
        size = _at_least(min_cluster_size, 2, "min_cluster_size")
        neighbours = self._neighbours(size if min_samples is None else min_samples, "min_samples")
        methods = ("eom", "leaf")
        method = _arguments.one_of(cluster_selection_method, methods, "cluster_selection_method")
        epsilon = _fixed(cluster_selection_epsilon, "cluster_selection_epsilon")
        if epsilon < 0:
            raise ValueError(f"cluster_selection_epsilon must be at least 0, got {epsilon}")
        alpha = _fixed(alpha, "alpha")
        if not 0 < alpha < math.inf:
            raise ValueError(f"alpha must be above 0 and finite, got {alpha}")
        selection = Selection(size, method, epsilon or None, bool(allow_single_cluster))
        function = partial(
            _calls.hdbscan, min_samples=neighbours, alpha=alpha, p=settings.p, selection=selection
        )
        shapes = [self._shape(settings.index_dtype), self._shape(settings.dtype)]
        kernels = partial(_device.hdbscan, min_samples=neighbours, alpha=alpha, selection=selection)
        return StableClusters(*self._computed(function, shapes, settings, kernels=kernels))

    def _clustered(self, method: str, p) -> SearchSettings:
        """Check what all clusterings take, and return the settings."""
        self._refuse_on_mesh(method, "bring them to one device by jax.device_put(points, jax.devices()[0])")
        return self._settings(_arguments.norm_order(p), self._data.dtype)

    def _neighbours(self, number, name: str) -> int:
        number = _at_least(number, 1, name)
        if not is_traced(self._n) and number > self._n:
            raise ValueError(f"{name} ({number}) must be at most the number of points ({self._n})")
        return number

    def _shape(self, dtype, shape=None):
        with x64_for(dtype):
            return jax.ShapeDtypeStruct((len(self._data),) if shape is None else shape, dtype)

    def _computed(self, function, shapes, settings: SearchSettings, *values, kernels, needs="spanning_edges"):
        """Return what a function makes of the points, the box, and other arrays.

        What `kernels` make of them by an engine that has what is `needs`.
        """
        lengths = settings.lengths
        box = lengths if lengths is None or is_traced(lengths) else np.asarray(lengths, np.float64)
        count = self._n if is_traced(self._n) else np.int32(self._n)
        traced = any_traced(self._data, self._n, box, *values)
        gpu = _engines.gpu_engine() if traced and not self._asked else None
        engine: Any = gpu or self._engine(*values) or _lax
        few = not len(self._data) or (self._m >= FLAT_FROM and engine is not _lax)  # where nodes say nothing

        def on_host(data, _, *values):
            return _calls.computed(function, shapes, data, *values)

        if few or self._kind(*values) is not Device or not hasattr(engine, needs):
            found = on_host(self._data, None, count, box, *values)
            return found if traced else placed_like(self._data, *found)

        def by_kernels(data, tree, _, box, *values):
            box = None if box is None else as_dtype(box, settings.dtype)
            options = {"engine": engine, "p": settings.p, "dtype": settings.index_dtype}
            return tuple(kernels(data, tree, box, *values, **options))

        if traced:
            inputs = without_slopes((self._data, self._structure(), count, box, *values))
            if self._asked:
                return by_kernels(*inputs)
            platforms: dict[str, Any] = (
                {"cuda": by_kernels, "default": on_host} if gpu else {"cpu": on_host, "default": by_kernels}
            )
            return lax.platform_dependent(*inputs, **platforms)
        with eagerly(), x64_for(settings.dtype, settings.index_dtype):
            room = tree_size(*self._data.shape)
            padded = [x if np.ndim(x) == 0 else np.pad(x, (0, room - len(x))) for x in values]
            data = engine.with_room(self._data, room, self._data.sharding)
            found = by_kernels(data, self._structure(), count, box, *padded)
            more = room - len(self._data)
            return tuple(first_lines(len(x) - more, x)[0] if x.ndim else x for x in found)


def _at_least(number, least: int, name: str) -> int:
    number = _arguments.whole(number, name)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def _fixed(value, name: str) -> float:
    """Return a number that is not traced."""
    value = _arguments.limit(value, name)
    if is_traced(value):
        raise TypeError(f"{name} must be a Python number, not traced: mark it as static")
    return value
