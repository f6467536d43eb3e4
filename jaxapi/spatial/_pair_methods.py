"""The pair searches of KDTree: near pairs of points, as SciPy's objects or as arrays, and their numbers."""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias, overload

import jax.numpy as jnp
import numpy as np
from scipy import sparse

from .._core._dtypes import x64_for
from .._core._programs import eagerly
from .._core._typing import Array, ArrayLike
from . import _arguments
from ._arguments import reject_traced
from ._device._arrays import placed_like
from ._mesh._mesh import Mesh
from ._results import FixedPairs, filled
from ._state import TreeState

__all__ = ["PairSearches"]

SPARSE = {
    "coo_array": sparse.coo_array,
    "coo_matrix": sparse.coo_matrix,
    "csr_array": sparse.coo_array,
    "csr_matrix": sparse.coo_matrix,
    "dok_array": sparse.coo_array,
    "dok_matrix": sparse.coo_matrix,
}


Weights: TypeAlias = ArrayLike | tuple[ArrayLike | None, ArrayLike | None]


class PairSearches(TreeState):
    """The methods of KDTree that search for pairs of points, of one tree or of two."""

    @overload
    def query_pairs(
        self,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        output_type: Literal["set"] = "set",
        *,
        max_pairs: None = None,
    ) -> set[tuple[int, int]]: ...
    @overload
    def query_pairs(
        self,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        *,
        output_type: Literal["ndarray"],
        max_pairs: None = None,
    ) -> Array: ...
    @overload
    def query_pairs(
        self,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        output_type: str = "set",
        *,
        max_pairs: int,
        fill_value: ArrayLike = math.inf,
    ) -> FixedPairs: ...

    def query_pairs(
        self,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        output_type: str = "set",
        *,
        max_pairs: int | None = None,
        fill_value: ArrayLike = math.inf,
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
        fill_value : float, default inf
            With `max_pairs`: the distance where there is no pair.

        Returns
        -------
        set of (int, int)
            Rows ``i < j`` of the data.
        Array, shape (number of pairs, 2), integer
            With ``output_type='ndarray'``; the order of the pairs is left open.
        FixedPairs
            With `max_pairs`: ``pairs`` (max_pairs, 2) filled up with n, ``distances`` filled up with
            `fill_value`, ``mask``, which are none of these, and ``count``, the true number (2**31 - 1 stands
            for more, too). Where it is above `max_pairs`, which pairs are left out is left open. On several
            devices a few lines longer, as all have equal parts.

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
        eps = _arguments.limit(eps, "eps")
        settings = self._settings(_arguments.norm_order(p), self._data.dtype, eps=eps)
        r = _arguments.one_radius(r, settings.dtype)
        output_type = _arguments.one_of(output_type, ("set", "ndarray"))
        if max_pairs is not None:
            size = _arguments.capacity(max_pairs, "max_pairs")
            found = FixedPairs(*self._searcher(r).fixed_pairs(r, settings, size))
            return filled(found, fill_value)
        remedy = "pass max_pairs for arrays of fixed shape"
        reject_traced(self._traced(r, eps), "query_pairs", remedy)
        return self._searcher().pairs(r, settings, output_type)

    def query_ball_tree(self, other, r: ArrayLike, p: float = 2.0, eps: float = 0.0) -> list[list[int]]:
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
        _arguments.same_dimensions(self, other, "query_ball_tree")
        settings, r = self._between(other, r, p, eps=_arguments.limit(eps, "eps"))
        traced = self._traced(r, settings.eps) or other._traced()
        reject_traced(traced, "query_ball_tree", "use other.query_radius(tree.data, r, max_neighbors=...)")
        mine, theirs = self._searchers(other)
        return mine.ball_tree(theirs, r, settings)

    def sparse_distance_matrix(
        self, other, max_distance: ArrayLike, p: float = 2.0, output_type: str = "dok_matrix"
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
            Or 'csr_matrix' or 'csr_array', which SciPy's method does not know. 'ndarray' is a record array
            with fields i, j and v; the order of its entries is left open.

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
        _arguments.same_dimensions(self, other, "sparse_distance_matrix")
        output_type = _arguments.one_of(output_type, (*SPARSE, "dict", "ndarray"))
        settings, r = self._between(other, max_distance, p, "max_distance")
        reject_traced(
            self._traced(r) or other._traced(),
            "sparse_distance_matrix",
            "use other.query_radius(tree.data, r, max_neighbors=...)",
        )
        mine, theirs = self._searchers(other)
        entries = mine.distance_records(theirs, r, settings)
        if output_type == "ndarray":
            return entries
        if output_type == "dict":
            places = zip(entries["i"].tolist(), entries["j"].tolist(), strict=True)
            return dict(zip(places, entries["v"].tolist(), strict=True))
        shape = (self._n, other._n)
        matrix = SPARSE[output_type]((entries["v"], (entries["i"], entries["j"])), shape=shape)
        return matrix.asformat(output_type[:3])

    @overload
    def count_neighbors(
        self, other, r: float, p: float = 2.0, weights: None = None, cumulative: bool = True
    ) -> int: ...
    @overload
    def count_neighbors(
        self, other, r: float, p: float = 2.0, *, weights: Weights, cumulative: bool = True
    ) -> float: ...
    @overload
    def count_neighbors(
        self,
        other,
        r: Sequence[float] | np.ndarray | Array,
        p: float = 2.0,
        weights: Weights | None = None,
        cumulative: bool = True,
    ) -> Array: ...

    def count_neighbors(
        self,
        other,
        r: ArrayLike,
        p: float = 2.0,
        weights: Weights | None = None,
        cumulative: bool = True,
    ) -> int | float | Array:
        """Count the pairs of points of two trees within each of several distances.

        As `scipy.spatial.KDTree.count_neighbors`, but negative and nan radii count nothing. The two-point
        correlation of a catalogue with itself or a random one is made of such counts.

        Parameters
        ----------
        other : KDTree
            The other tree; the same one counts each pair twice and each point with itself. Distances are
            periodic in the box of this tree, not of `other`.
        r : float or array_like of shape (R,)
            Largest distances, inclusive, rounded to the dtype of the data.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        weights : array_like (n,) or tuple of two, optional
            A weight for each point of this tree and of `other`, each pair counting as the product; None for
            1. A single array stands for both where `other` is this tree.
        cumulative : bool, default True
            If False, entry i counts ``r[i-1] < d <= r[i]``; `r` must then not decrease.

        Returns
        -------
        int or float
            For a single concrete `r`: int without, float with weights.
        Array, shape (R,), int64 or float64
            For several radii, exact to 2**63 without weights. Under jit with x64 off int32, and with weights
            in their dtype, float32 or float64.

        Raises
        ------
        TypeError
            If `other` is no KDTree.
        ValueError
            If the trees have different m, `r` has more than one axis or decreases with ``cumulative=False``,
            the number of weights is not that of the points, or a single array of weights comes with two
            trees.
        OverflowError
            If arrays are traced with x64 off and the number of pairs may pass 2**31.

        Notes
        -----
        The kernel sums in float64 where the weights are concrete. Counts have no derivatives; those in
        the weights are not implemented.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0], [3.0]])
        >>> tree.count_neighbors(tree, 1.0)
        5
        >>> tree.count_neighbors(tree, [0.0, 1.0, 3.0]).tolist()
        [3, 5, 9]
        >>> tree.count_neighbors(tree, [0.0, 1.0, 3.0], cumulative=False).tolist()
        [3, 2, 4]
        """
        _arguments.same_dimensions(self, other, "count_neighbors")
        dtype = np.promote_types(self._data.dtype, other._data.dtype)
        settings = self._settings(_arguments.norm_order(p), dtype)
        radii = _arguments.counted_radii(r, dtype, cumulative)
        own, others = _arguments.pair_weights(self, other, weights)
        traced = self._traced(radii, own, others) or other._traced()
        if not traced:
            # Copies, as SciPy takes no arrays that cannot be written to.
            own, others = (None if each is None else np.array(each, np.float64) for each in (own, others))
        mine, theirs = self._searchers(other, radii, own, others)
        if isinstance(theirs, Mesh) and not isinstance(mine, Mesh):
            mine, theirs, own, others = theirs, mine, others, own
        counts = mine.two_point(theirs, radii.reshape(-1), settings, own, others, cumulative)
        if traced:
            return counts.reshape(radii.shape)
        if not radii.ndim:
            return counts[0].item()
        if self._layout is None:
            return placed_like(self._data, counts)[0]
        with eagerly(), x64_for(counts.dtype):
            return jnp.asarray(counts)

    def _between(self, other, r, p, name: str = "r", eps=0.0):
        """Check p and the one radius of a search between two trees; return the settings and the radius."""
        dtype = np.promote_types(self._data.dtype, other._data.dtype)
        settings = self._settings(_arguments.norm_order(p), dtype, max(self._rows, other._rows), eps)
        return settings, _arguments.one_radius(r, settings.dtype, name)
