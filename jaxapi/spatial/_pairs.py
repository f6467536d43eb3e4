"""The pair searches of KDTree: near pairs of points, as SciPy's objects or as arrays."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse

from .._typing import Array
from . import _arguments
from ._device import _neighbours
from ._device._queries import as_dtype, beside, distances_to, index_dtype, width
from ._host import _radius as _host_radius
from ._radius import Asked, compressed
from ._radius_arguments import any_traced, capacity, one_of, one_radius, reject_traced, same_dimensions

__all__ = ["FixedPairs", "PairSearch", "RadiusGraph", "in_box_of"]

SPARSE = {
    "coo_array": sparse.coo_array,
    "coo_matrix": sparse.coo_matrix,
    "dok_array": sparse.coo_array,
    "dok_matrix": sparse.coo_matrix,
}


class FixedPairs(NamedTuple):
    """At most c pairs of near points, in arrays of fixed shape."""

    pairs: Array  # (c, 2) rows i < j of the data, n where there is no pair
    distances: Array  # (c,), inf where there is no pair
    count: Array  # () the true number: above c, some were left out


class RadiusGraph(NamedTuple):
    """The edges between near points as a coordinate list (COO), both directions, grouped by receiver.

    The names are those of jraph's GraphsTuple; PyTorch Geometric's ``edge_index`` is
    ``stack([senders, receivers])``.
    """

    senders: Array  # (e,) rows of the data, n where there is no edge
    receivers: Array  # (e,) rows of the data, ascending, n where there is no edge
    distances: Array  # (e,), inf where there is no edge
    count: Array  # () the true number: above e, some were left out


class PairSearch:
    """`KDTree.query_pairs`, `query_ball_tree`, `sparse_distance_matrix` and `radius_graph`."""

    def query_pairs(
        self,
        r: float,
        p: float = 2.0,
        eps: float = 0.0,
        output_type: str = "set",
        *,
        max_pairs: int | None = None,
    ) -> set[tuple[int, int]] | Array | FixedPairs:
        """Find all pairs of points within a distance of each other.

        As `scipy.spatial.KDTree.query_pairs`, but a negative radius has no pairs. With `max_pairs` the
        result has a fixed shape, which jit, vmap and grad need.

        Parameters
        ----------
        r : float
            Largest distance, inclusive, rounded to the dtype of the data.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        eps : float, default 0
            SciPy's engine may leave out pairs farther than ``r / (1 + eps)`` and add pairs nearer than
            ``r * (1 + eps)``; the other engines are exact.
        output_type : {'set', 'ndarray'}
            'ndarray' stands for a jax array of rows.
        max_pairs : int, optional
            The most pairs to return; `output_type` and `eps` then have no effect. Static under jit.

        Returns
        -------
        set of (int, int)
            Rows ``i < j`` of the data.
        Array, shape (number of pairs, 2), integer
            With ``output_type='ndarray'``; the order of the pairs is left open.
        FixedPairs
            With `max_pairs`: ``pairs`` (max_pairs, 2) filled up with n, ``distances`` filled up with inf, and
            ``count``, the true number (2**31 - 1 stands for more, too). Where it is above `max_pairs`, which
            pairs are left out is left open.

        Raises
        ------
        TypeError
            If arrays are traced and `max_pairs` is not given.
        ValueError
            If `output_type` is unknown, p < 1, `r` is no single number, or `max_pairs` < 1.

        Notes
        -----
        The distances have derivatives in the data, 0 at distance 0.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0], [3.0]])
        >>> tree.query_pairs(1.0)
        {(0, 1)}
        >>> found = tree.query_pairs(1.0, max_pairs=2)
        >>> found.pairs.tolist(), found.distances.tolist(), int(found.count)
        ([[0, 1], [3, 3]], [1.0, inf], 1)
        """
        asked = _asked(self, p)
        r = one_radius(r, asked.dtype)
        output_type = one_of(output_type, ("set", "ndarray"))
        traced = any_traced(self._data, r)
        if max_pairs is not None:
            return _fixed_pairs(self, r, asked, capacity(max_pairs, "max_pairs"), traced)
        reject_traced(traced, "query_pairs", "pass max_pairs for arrays of fixed shape")
        with jax.core.eval_context():
            if self.engine == "scipy":
                pairs = _host_radius.pairs(self._scipy(), r, p=asked.p, eps=eps, output_type=output_type)
                if output_type == "set":
                    return pairs
                return beside(self._data, pairs.astype(asked.index_dtype))[0]
            receivers, senders, _ = _all_edges(self, r, asked, "later")
            pairs = _ordered(receivers, senders)
            return pairs if output_type == "ndarray" else set(map(tuple, np.asarray(pairs).tolist()))

    def query_ball_tree(self, other, r: float, p: float = 2.0, eps: float = 0.0) -> list[list[int]]:
        """Find all pairs of points of two trees within a distance of each other, as Python lists.

        As `scipy.spatial.KDTree.query_ball_tree`, but a negative radius has no pairs.
        ``other.query_radius(tree.data, r)`` returns arrays.

        Parameters
        ----------
        other : KDTree
            The tree that is searched. Distances are periodic in the box of this tree, not of `other`.
        r : float
            Largest distance, inclusive, rounded to the dtype of the data.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf.
        eps : float, default 0
            SciPy's engine may leave out pairs farther than ``r / (1 + eps)`` and add pairs nearer than
            ``r * (1 + eps)``; the other engines are exact.

        Returns
        -------
        list of lists of int
            For each point of this tree the rows of `other`, ascending.

        Raises
        ------
        TypeError
            If `other` is no KDTree, or if arrays are traced.
        ValueError
            If the trees have different m, p < 1, or `r` is no single number.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0]])
        >>> tree.query_ball_tree(xp.spatial.KDTree([[0.5], [1.5]]), 0.5)
        [[0], [0, 1]]
        """
        same_dimensions(self, other, "query_ball_tree")
        asked = _asked(self, p, other)
        r = one_radius(r, asked.dtype)
        traced = any_traced(self._data, other._data, r)
        reject_traced(traced, "query_ball_tree", "use other.query_radius(tree.data, r, max_neighbors=...)")
        with jax.core.eval_context():
            other = in_box_of(self, other)
            if self.engine == "scipy":
                return _host_radius.ball_tree(self._scipy(), other._scipy(), r, p=asked.p, eps=eps)
            indptr, rows, _ = map(np.asarray, _between(self, other, r, asked))
            lists = _host_radius.to_lists(indptr, rows)
            for each in lists:
                each.sort()
            return lists

    def sparse_distance_matrix(
        self, other, max_distance: float, p: float = 2.0, output_type: str = "dok_matrix"
    ):
        """Compute the distances between the points of two trees, as far as they are small.

        As `scipy.spatial.KDTree.sparse_distance_matrix`, but a negative distance has no entries. Distances of
        0 are stored. ``other.query_radius(tree.data, r)`` returns jax arrays.

        Parameters
        ----------
        other : KDTree
            The other tree. Distances are periodic in the box of this tree, not of `other`.
        max_distance : float
            Largest distance, inclusive, rounded to the dtype of the data.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf.
        output_type : {'dok_matrix', 'dok_array', 'coo_matrix', 'coo_array', 'dict', 'ndarray'}
            'ndarray' is a record array with fields i, j and v; the order of its entries is left open.

        Returns
        -------
        scipy.sparse array or matrix, dict or ndarray
            Of shape (n, other.n), float64, on the host.

        Raises
        ------
        TypeError
            If `other` is no KDTree, or if arrays are traced.
        ValueError
            If the trees have different m, `output_type` is unknown, p < 1, or `max_distance` is no single
            number.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0]])
        >>> tree.sparse_distance_matrix(xp.spatial.KDTree([[0.5], [3.0]]), 1.0, output_type="dict")
        {(0, 0): 0.5, (1, 0): 0.5}
        """
        same_dimensions(self, other, "sparse_distance_matrix")
        output_type = one_of(output_type, (*SPARSE, "dict", "ndarray"))
        asked = _asked(self, p, other)
        r = one_radius(max_distance, asked.dtype, "max_distance")
        traced = any_traced(self._data, other._data, r)
        reject_traced(
            traced, "sparse_distance_matrix", "use other.query_radius(tree.data, r, max_neighbors=...)"
        )
        with jax.core.eval_context():
            shape = (self._n, other._n)
            other = in_box_of(self, other)
            if self.engine == "scipy":
                entries = _host_radius.distance_entries(self._scipy(), other._scipy(), r, p=asked.p)
            else:
                entries = _host_radius.records(*map(np.asarray, _between(self, other, r, asked)))
        if output_type == "ndarray":
            return entries
        if output_type == "dict":
            places = zip(entries["i"].tolist(), entries["j"].tolist(), strict=True)
            return dict(zip(places, entries["v"].tolist(), strict=True))
        matrix = SPARSE[output_type]((entries["v"], (entries["i"], entries["j"])), shape=shape)
        return matrix.todok() if output_type.startswith("dok") else matrix

    def radius_graph(
        self, r: float, *, p: float = 2.0, loop: bool = False, max_edges: int | None = None
    ) -> RadiusGraph:
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

        Returns
        -------
        RadiusGraph
            ``senders``, ``receivers`` (ascending), ``distances`` and ``count``. With `max_edges` they are
            filled up with n and inf, and where ``count`` is above `max_edges`, the last receivers' edges are
            left out (2**31 - 1 stands for more, too).

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
        asked = _asked(self, p)
        r = one_radius(r, asked.dtype)
        relation = "any" if loop else "other"
        traced = any_traced(self._data, r)
        if max_edges is not None:
            size = capacity(max_edges, "max_edges")
            receivers, senders, distances, count = _fixed_edges(self, r, asked, relation, size, traced)
            return RadiusGraph(senders, receivers, distances, count)
        reject_traced(traced, "radius_graph", "pass max_edges for arrays of fixed shape")
        with jax.core.eval_context():
            receivers, senders, distances = _all_edges(self, r, asked, relation)
            (count,) = beside(self._data, asked.index_dtype.type(receivers.shape[0]))
            return RadiusGraph(senders, receivers, distances, count)


def _asked(tree, p, other=None) -> Asked:
    """Check p; return what is asked for."""
    dtype = tree.data.dtype if other is None else np.promote_types(tree.data.dtype, other.data.dtype)
    n = tree.n if other is None else max(tree.n, other.n)
    return Asked((tree.n,), _arguments.norm_order(p), tree._lengths, dtype, index_dtype(n))


def in_box_of(tree, other):
    """Return `other`, or where it is not in the periodic box of `tree` the tree of its images inside."""
    if tree._lengths is None or tree._lengths == other._lengths or other.n == 0:
        return other
    points, length = np.asarray(other.data), np.asarray(tree._lengths)
    if ((points >= 0) & (points < length))[:, length > 0].all():
        return other
    return type(tree)(_host_radius.into_box(points, tree._lengths).astype(points.dtype), other.leafsize)


def _between(tree, other, r, asked: Asked):
    """Return the neighbours in `other` of each point of `tree`, in CSR form."""
    return compressed(other, tree.data, np.broadcast_to(r, tree.n), asked, sort=False)


def _all_edges(tree, r, asked: Asked, relation: str):
    """Return receivers, senders and distances of all edges, for concrete arrays."""
    if tree.n == 0:
        nothing = np.zeros(0, asked.index_dtype)
        return beside(tree.data, nothing, nothing, np.zeros(0, asked.dtype))
    if tree.engine == "scipy":
        found = _host_radius.edges(tree._scipy(), r, p=asked.p, relation=relation, lengths=asked.lengths)
        dtypes = asked.index_dtype, asked.index_dtype, asked.dtype
        return beside(tree.data, *(each.astype(dtype) for each, dtype in zip(found, dtypes, strict=True)))
    search = asked.search(_neighbours.engine_of(tree.data))
    with width(asked.dtype, asked.index_dtype):
        return _neighbours.edges(tree._structure(), r, asked.box(), search=search, relation=relation)


def _fixed_pairs(tree, r, asked: Asked, size: int, traced: bool) -> FixedPairs:
    """Search for pairs in arrays of fixed shape."""
    receivers, senders, distances, count = _fixed_edges(tree, r, asked, "later", size, traced)
    return FixedPairs(_ordered(receivers, senders), distances, count)


@jax.jit
def _ordered(receivers, senders):
    """Return the pairs with the lower row first."""
    return jnp.stack([jnp.minimum(receivers, senders), jnp.maximum(receivers, senders)], axis=1)


def _fixed_edges(tree, r, asked: Asked, relation: str, size: int, traced: bool):
    """Return receivers, senders, distances (size,) and the true number of edges."""
    if tree.n == 0:
        nothing = jnp.zeros(size, asked.index_dtype)
        return nothing, nothing, jnp.full(size, jnp.inf, asked.dtype), jnp.zeros((), asked.index_dtype)
    if traced:
        arrays = tree.data, tree._structure(), as_dtype(r, asked.dtype), asked.traced_box()
        return _differentiable(*arrays, asked.search("traced"), relation, size)
    with jax.core.eval_context():
        if tree.engine == "scipy":
            found = _host_radius.edges(tree._scipy(), r, p=asked.p, relation=relation, lengths=asked.lengths)
            count = min(len(found[0]), np.iinfo(asked.index_dtype).max)
            missing = (asked.index_dtype.type(tree.n),) * 2 + (asked.dtype.type(np.inf),)
            kept = [
                np.pad(each[:size].astype(fill.dtype), (0, max(size - len(each), 0)), constant_values=fill)
                for each, fill in zip(found, missing, strict=True)
            ]
            return beside(tree.data, *kept, asked.index_dtype.type(count))
        search = asked.search(_neighbours.engine_of(tree.data))
        with width(asked.dtype, asked.index_dtype):
            return _compiled(tree._structure(), r, asked.box(), search=search, relation=relation, size=size)


_compiled = jax.jit(_neighbours.fixed_edges, static_argnames=("search", "relation", "size"))


@partial(jax.custom_jvp, nondiff_argnums=(4, 5, 6))
def _differentiable(points, tree, r, box, search, relation, size):
    """Search; derivatives flow to `points` (n, m), the tree's points by row."""
    return _neighbours.fixed_edges(tree, r, box, search=search, relation=relation, size=size)


@_differentiable.defjvp
def _differentiable_jvp(search, relation, size, primals, tangents):
    points, _, _, box = primals
    receivers, senders, distances, count = _differentiable(*primals, search, relation, size)

    def recompute(points):
        ends = points[jnp.where(receivers < points.shape[0], receivers, 0)]
        return distances_to(points, ends, senders[:, None], box, search.p)[:, 0]

    _, slopes = jax.jvp(recompute, (points,), tangents[:1])
    whole = [np.zeros(each.shape, jax.dtypes.float0) for each in (receivers, senders, count)]
    return (receivers, senders, distances, count), (whole[0], whole[1], slopes, whole[2])
