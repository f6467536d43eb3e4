"""The neighbour graphs of KDTree: every point's neighbours among the others, as arrays for graph networks."""

import math

from .._core._typing import Array, ArrayLike
from . import _arguments
from ._arguments import reject_traced
from ._device._arrays import placed_like
from ._device._device import Device
from ._mesh._mesh import Mesh
from ._results import NeighborGraph, filled
from ._settings import result_dtype
from ._state import TreeState

__all__ = ["GraphSearches"]


class GraphSearches(TreeState):
    """`KDTree.kneighbors`, `knn_graph`, `radius_graph` and `displacements`."""

    def kneighbors(
        self,
        k: int,
        p: float = 2.0,
        *,
        distance_upper_bound: ArrayLike = math.inf,
        workers: int | None = None,
    ) -> tuple[Array, Array]:
        """Find the `k` nearest other points of each point.

        The name and the rule are scikit-learn's: a point is not its own neighbour, a duplicate of it is. (Of
        ``tree.query(tree.data, k + 1)`` the first column is another point where there are duplicates.)

        Parameters
        ----------
        k : int
            How many neighbours. Static under jit.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        distance_upper_bound : float, default inf
            Only points nearer than this.
        workers : int, optional
            Threads for SciPy's engine, -1 for all cores; by default as many as pay. No effect elsewhere.

        Returns
        -------
        d : Array, shape (n, k), floating
            Distances, nearest first, of equal ones the lowest row first; inf where there is no neighbour.
        i : Array, shape (n, k), integer
            Rows of the data; n where there is no neighbour.

        Raises
        ------
        TypeError
            If `k` is no integer or traced.
        ValueError
            If k < 1 or p < 1.

        Notes
        -----
        Works under jit and vmap; derivatives as those of `query`.

        Examples
        --------
        >>> import jaxapi as xp
        >>> d, i = xp.spatial.KDTree([[0.0], [0.0], [3.0]]).kneighbors(1)
        >>> d[:, 0].tolist(), i[:, 0].tolist()
        ([0.0, 0.0, 3.0], [1, 0, 0])
        """
        k = _arguments.capacity(k, "k")
        columns = _arguments.neighbour_columns(k + 1)
        workers = _arguments.worker_count(workers)
        settings = self._settings(_arguments.norm_order(p), self._data.dtype, workers=workers)
        bound = _arguments.limit(distance_upper_bound, "distance_upper_bound")
        return self._searcher(bound, distances=self._rows**2).others(columns, bound, settings)

    def knn_graph(
        self, k: int, *, p: float = 2.0, loop: bool = False, fill_value: ArrayLike = math.inf
    ) -> NeighborGraph:
        """Connect each point with its `k` nearest others: the edge list of a graph network.

        The name and `loop` are PyTorch Geometric's, the fields jraph's: ``senders[e]`` is one of the `k`
        nearest of ``receivers[e]``. The shape is fixed, so that it works under jit as it is.

        Parameters
        ----------
        k : int
            How many edges each point receives. Static under jit.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        loop : bool, default False
            Count a point among its own neighbours.
        fill_value : float, default inf
            The distance where there is no edge.

        Returns
        -------
        NeighborGraph
            ``senders``, ``receivers`` (ascending) and ``distances``, all (n * k,), and ``count``. Where there
            are less than `k` others, rows are n and distances `fill_value`; ``mask`` tells.

        Raises
        ------
        TypeError
            If `k` is no integer or traced.
        ValueError
            If k < 1 or p < 1.

        Notes
        -----
        The distances have derivatives in the data, 0 at distance 0.

        Examples
        --------
        >>> import jaxapi as xp
        >>> graph = xp.spatial.KDTree([[0.0], [1.0], [3.0]]).knn_graph(1)
        >>> graph.senders.tolist(), graph.receivers.tolist(), graph.distances.tolist()
        ([1, 0, 1], [0, 1, 2], [1.0, 1.0, 2.0])
        """
        k = _arguments.capacity(k, "k")
        settings = self._settings(_arguments.norm_order(p), self._data.dtype)
        columns = _arguments.neighbour_columns(range(1, k + 1) if loop else k + 1)
        searcher = self._searcher(distances=self._rows**2)
        return filled(NeighborGraph(*searcher.edges_of_nearest(columns, settings, loop)), fill_value)

    def radius_graph(
        self,
        r: ArrayLike,
        *,
        p: float = 2.0,
        loop: bool = False,
        max_edges: int | None = None,
        fill_value: ArrayLike = math.inf,
    ) -> NeighborGraph:
        """Connect all points within a distance of each other: the edge list of a graph network.

        The name and `loop` are PyTorch Geometric's, the fields jraph's. Each near pair gives two edges.
        ``jax.ops.segment_sum(values, graph.receivers, n)`` sums over the neighbours of each point.

        Parameters
        ----------
        r : float
            Largest distance, inclusive, rounded to the dtype of the data; negative or nan: no edges.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        loop : bool, default False
            Connect each point with itself, too.
        max_edges : int, optional
            The most edges to return, which jit, vmap and grad need. Static under jit.
        fill_value : float, default inf
            With `max_edges`: the distance where there is no edge. With 0, functions of it and their
            derivatives stay finite there: sum them by ``where(graph.mask, f(graph.distances), 0)``.

        Returns
        -------
        NeighborGraph
            ``senders``, ``receivers`` (ascending), ``distances`` and ``count``. With `max_edges` they are
            filled up with n and `fill_value`, which ``mask`` tells, and where ``count`` is above `max_edges`,
            the last receivers' edges are left out (2**31 - 1 stands for more, too). On several devices they
            may be a few lines longer, as all have equal parts.

        Raises
        ------
        TypeError
            If arrays are traced and `max_edges` is not given.
        ValueError
            If p < 1, `r` is no single number, or `max_edges` < 1.

        Notes
        -----
        The distances have derivatives in the data, 0 at distance 0.

        Examples
        --------
        >>> import jaxapi as xp
        >>> graph = xp.spatial.KDTree([[0.0], [1.0], [3.0]]).radius_graph(1.0)
        >>> graph.senders.tolist(), graph.receivers.tolist(), graph.distances.tolist()
        ([1, 0], [0, 1], [1.0, 1.0])
        """
        settings = self._settings(_arguments.norm_order(p), self._data.dtype)
        r = _arguments.one_radius(r, settings.dtype)
        relation = "any" if loop else "other"
        if max_edges is not None:
            size = _arguments.capacity(max_edges, "max_edges")
            receivers, senders, distances, count = self._searcher(r).fixed_edges(r, settings, relation, size)
            return filled(NeighborGraph(senders, receivers, distances, count), fill_value)
        remedy = "pass max_edges for arrays of fixed shape"
        reject_traced(self._traced(r), "radius_graph", remedy)
        searcher = self._searcher()
        if isinstance(searcher, Mesh):
            receivers, senders, distances, count = searcher.counted_edges(r, settings, relation)
        else:
            receivers, senders, distances = searcher.edges(r, settings, relation)
            (count,) = placed_like(self._data, settings.index_dtype.type(receivers.shape[0]))
        return NeighborGraph(senders, receivers, distances, count)

    def displacements(self, x: ArrayLike, indices: ArrayLike) -> Array:
        """Return the vectors from query points to points of the tree, in a periodic box the shortest.

        What forces and equivariant networks need besides the distances of `query`, `query_radius` and the
        graphs; jax-md's displacement functions follow the same rule, the nearest image along each axis.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Where the vectors start.
        indices : array_like of int, shape (...) or (..., k)
            Rows of the data, n for none, as searches return: one for each point of `x`, or several.

        Returns
        -------
        Array, shape indices.shape + (m,)
            ``data[indices] - x``, along periodic axes within half a period; 0 where the row is n, and under
            jit for any other that is no row.

        Raises
        ------
        TypeError
            If `x` is complex or not numbers, or `indices` are no integers.
        IndexError
            If one of the `indices` is below 0 or above n.
        ValueError
            If the last axis of `x` is not m, or the other axes are not the first of `indices`.

        Notes
        -----
        Derivatives flow to `x`, to the data and to a traced `boxsize`. Sums of their squares are smooth also
        where two points coincide; a distance has a kink there.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.5], [9.5]], boxsize=10.0)
        >>> graph = tree.radius_graph(2.0)
        >>> tree.displacements(tree.data[graph.receivers], graph.senders).tolist()
        [[-1.0], [1.0]]
        """
        x = _arguments.query_array(x, self._data)
        _arguments.check_vectors(x, self._m)
        rows = _arguments.row_numbers(indices, x.shape[:-1])
        settings, searcher = self._settings(2.0, result_dtype(self._data, x)), self._searcher(x, rows)
        if not (isinstance(searcher, Device) and searcher.has(rows)):  # which looks at them itself
            _arguments.check_rows(rows, self._n if type(self._n) is int else self._rows)
        return searcher.displacements(x, rows, settings)
