"""What the searches of KDTree return, other than plain arrays."""

import math
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import jax.numpy as jnp
from jax import export, lax

from .._core._dtypes import x64_for
from .._core._programs import compiled, eagerly_unless_traced
from .._core._typing import Array
from ._csr import query_numbers
from ._tree._slopes import without_slopes

__all__ = ["FixedNeighbors", "FixedPairs", "NeighborGraph", "Neighbors", "PeriodicFixedNeighbors"]
__all__ += ["NearestNeighbors", "PeriodicNeighborGraph", "PeriodicNeighbors", "PeriodicPairs", "filled"]


Distances = TypeVar("Distances", Array, None)


class NearestNeighbors(NamedTuple):
    """The nearest of each query, nearest first, as searchers tell `KDTree`."""

    distances: Array  # (...)
    rows: Array  # (...)
    shifts: Any = None  # (..., m) of images in a cell


class Neighbors(NamedTuple, Generic[Distances]):
    """Neighbors of q queries in compressed sparse row (CSR) form.

    Those of query ``i`` are ``indices[indptr[i]:indptr[i + 1]]``.

    Attributes
    ----------
    indptr : Array, shape (q + 1,)
        Where each query's neighbors begin and end.
    indices : Array, shape (number of neighbors in all,)
        Rows of the data.
    distances : Array of the same shape, or None
        Their distances.
    """

    indptr: Array  # (q + 1,)
    indices: Array  # (number of neighbors in all,) rows of the data
    distances: Distances  # of the same shape

    @property
    def receivers(self) -> Array:
        """The number of the query that each neighbor belongs to, ascending, of the shape of `indices`.

        >>> import jaxapi as xp
        >>> xp.spatial.KDTree([[0.0], [1.0]]).query_radius([[0.5], [5.0], [1.5]], 1.0).receivers.tolist()
        [0, 0, 2]
        """
        return query_numbers(self.indptr, self.indices)


class FixedNeighbors(NamedTuple, Generic[Distances]):
    """At most c neighbors of each query, nearest first, in arrays of fixed shape.

    Mask before you look up rows, by `mask`. Where there is no neighbor ``points[near.indices]`` is the last
    point, since JAX clamps an index out of range.

    Attributes
    ----------
    indices : Array, shape (..., c)
        Rows of the data; n where there is no neighbor.
    distances : Array, shape (..., c), or None
        Their distances; inf where there is no neighbor, or the `fill_value` of the search.
    counts : Array, shape (...)
        The true numbers of neighbors: above c, some were left out.
    """

    indices: Array  # (..., c)
    distances: Distances  # (..., c)
    counts: Array  # (...)

    @property
    def mask(self) -> Array:
        """Where there is a neighbor, of the shape of `indices`."""
        return _first(self.indices.shape[-1], self.counts)

    @property
    def did_buffer_overflow(self) -> Array:
        """Whether some query has more neighbors than there was room for; the name is jax-md's."""
        return (self.counts > self.indices.shape[-1]).any()


class FixedPairs(NamedTuple):
    """At most c pairs of near points, in arrays of fixed shape.

    Mask before you look up rows, by `mask`: JAX clamps an index out of range to the last point.

    Attributes
    ----------
    pairs : Array, shape (c, 2)
        Rows i < j of the data; n where there is no pair.
    distances : Array, shape (c,)
        Their distances; inf where there is no pair, or the `fill_value` of the search.
    count : Array, shape ()
        The true number of pairs: above c, some were left out.
    """

    pairs: Array  # (c, 2)
    distances: Array  # (c,)
    count: Array  # type: ignore[assignment]  # ()

    @property
    def mask(self) -> Array:
        """Where there is a pair, (c,)."""
        return _first(self.pairs.shape[-2], self.count)

    @property
    def did_buffer_overflow(self) -> Array:
        """Whether there are more pairs than there was room for; the name is jax-md's."""
        return self.count > self.pairs.shape[-2]


@partial(export.register_namedtuple_serialization, serialized_name="jaxapi.spatial.NeighborGraph")
class NeighborGraph(NamedTuple):
    """The edges between near points as a coordinate list (COO), grouped by receiver.

    The names are those of jraph's GraphsTuple; PyTorch Geometric's ``edge_index`` is
    ``stack([senders, receivers])``. Mask a graph of fixed size before you look up rows, by `mask`: JAX clamps
    an index out of range to the last point. (`jax.ops.segment_sum` leaves such receivers out.)

    Attributes
    ----------
    senders, receivers : Array, shape (e,)
        Rows of the data, the receivers ascending; n where there is no edge.
    distances : Array, shape (e,)
        Their lengths; inf where there is no edge, or the `fill_value` of the search.
    count : Array, shape ()
        The true number of edges: above e, some were left out.
    """

    senders: Array  # (e,)
    receivers: Array  # (e,)
    distances: Array  # (e,)
    count: Array  # type: ignore[assignment]  # ()

    @property
    def mask(self) -> Array:
        """Where there is an edge, (e,)."""
        return _mask_of_edges(self, None)

    @property
    def did_buffer_overflow(self) -> Array:
        """Whether there are more edges than there was room for; the name is jax-md's."""
        return self.count > self.senders.shape[-1]


class PeriodicNeighbors(NamedTuple, Generic[Distances]):
    """As `Neighbors`, of a tree with a cell: images of points, each with its shift.

    The vector from query x to neighbor e is ``data[indices[e]] + shifts[e] @ cell - x``.

    Attributes
    ----------
    indptr, indices, distances : Array
        As those of `Neighbors`.
    shifts : Array, shape (number of neighbors in all, m), int32
        How many times each vector of the cell is added to the point.
    """

    indptr: Array  # (q + 1,)
    indices: Array  # (number of neighbors in all,) rows of the data
    distances: Distances  # of the same shape
    shifts: Array  # (number of neighbors in all, m)

    @property
    def receivers(self) -> Array:
        """The number of the query that each neighbor belongs to, ascending, of the shape of `indices`."""
        return query_numbers(self.indptr, self.indices)


class PeriodicFixedNeighbors(NamedTuple, Generic[Distances]):
    """As `FixedNeighbors`, of a tree with a cell: images of points, each with its shift.

    Attributes
    ----------
    indices, distances, counts : Array
        As those of `FixedNeighbors`.
    shifts : Array, shape (..., c, m), int32
        How many times each vector of the cell is added to the point; 0 where there is no neighbor.
    """

    indices: Array  # (..., c)
    distances: Distances  # (..., c)
    counts: Array  # (...)
    shifts: Array  # (..., c, m)

    @property
    def mask(self) -> Array:
        """Where there is a neighbor, of the shape of `indices`."""
        return _first(self.indices.shape[-1], self.counts)

    @property
    def did_buffer_overflow(self) -> Array:
        """Whether some query has more neighbors than there was room for; the name is jax-md's."""
        return (self.counts > self.indices.shape[-1]).any()


class PeriodicPairs(NamedTuple):
    """As `FixedPairs`, of a tree with a cell: pairs of points and images, each with its shift.

    The vector from ``pairs[e, 0]`` to ``pairs[e, 1]`` is
    ``data[pairs[e, 1]] + shifts[e] @ cell - data[pairs[e, 0]]``.

    Attributes
    ----------
    pairs, distances, count : Array
        As those of `FixedPairs`, but that both rows may be the same one.
    shifts : Array, shape (c, m), int32
        How many times each vector of the cell is added to the second point; 0 where there is no pair.
    """

    pairs: Array  # (c, 2)
    distances: Array  # (c,)
    count: Array  # type: ignore[assignment]  # ()
    shifts: Array  # (c, m)

    @property
    def mask(self) -> Array:
        """Where there is a pair, (c,)."""
        return _first(self.pairs.shape[-2], self.count)

    @property
    def did_buffer_overflow(self) -> Array:
        """Whether there are more pairs than there was room for; the name is jax-md's."""
        return self.count > self.pairs.shape[-2]


@partial(export.register_namedtuple_serialization, serialized_name="jaxapi.spatial.PeriodicNeighborGraph")
class PeriodicNeighborGraph(NamedTuple):
    """As `NeighborGraph`, of a tree with a cell: edges from images of points, each with its shift.

    The vector from receiver to sender is ``data[senders[e]] + shifts[e] @ cell - data[receivers[e]]``.

    Attributes
    ----------
    senders, receivers, distances, count : Array
        As those of `NeighborGraph`.
    shifts : Array, shape (e, m), int32
        How many times each vector of the cell is added to the sender; 0 where there is no edge.
    """

    senders: Array  # (e,)
    receivers: Array  # (e,)
    distances: Array  # (e,)
    count: Array  # type: ignore[assignment]  # ()
    shifts: Array  # (e, m)

    @property
    def mask(self) -> Array:
        """Where there is an edge, (e,)."""
        return _mask_of_edges(self, self.shifts)

    @property
    def did_buffer_overflow(self) -> Array:
        """Whether there are more edges than there was room for; the name is jax-md's."""
        return self.count > self.senders.shape[-1]


def _mask_of_edges(graph, shifts) -> Array:
    """Tell where there is an edge, (e,)."""
    senders, receivers, distances, count = graph[:4]
    distances = without_slopes(distances)
    with eagerly_unless_traced(receivers, distances), x64_for(receivers.dtype, distances.dtype):
        return _are_edges(senders, receivers, distances, shifts, count)


@compiled
def _are_edges(senders, receivers, distances, shifts, count) -> Array:
    """Tell where there is an edge, and not n in the place of its rows: the largest row where it is one.

    Where edges were left out there may be no n, and the largest row be a point's: an edge from it to itself
    then is 0 long.
    """
    size = receivers.shape[-1]
    largest = receivers.max(axis=-1, keepdims=True, initial=0)
    is_missing = (receivers == largest) & (senders == largest)
    if shifts is not None:
        is_missing = is_missing & (shifts == 0).all(axis=-1)
    is_full = count == size
    is_to_itself = (count > size)[..., None] & (distances == 0)
    return ~is_missing | is_full[..., None] | is_to_itself


def _first(size: int, counts) -> Array:
    """Tell which of `size` places are below the counts (...), (..., size)."""
    with eagerly_unless_traced(counts), x64_for(counts.dtype):
        return lax.broadcasted_iota(counts.dtype, (*counts.shape, size), counts.ndim) < counts[..., None]


def filled(found, fill_value):
    """Return a result with other distances than inf where there is none."""
    if isinstance(fill_value, float) and fill_value == math.inf:
        return found
    with eagerly_unless_traced(found.distances, fill_value), x64_for(found.distances.dtype):
        fill = jnp.asarray(fill_value, found.distances.dtype)
        return found._replace(distances=jnp.where(found.mask, found.distances, fill))
