"""What the searches of KDTree return, beside plain arrays."""

from typing import NamedTuple

from .._typing import Array
from ._device._csr import query_numbers

__all__ = ["FixedNeighbors", "FixedPairs", "NeighborGraph", "Neighbors"]


class Neighbors(NamedTuple):
    """Neighbours of q queries in compressed sparse row (CSR) form.

    Those of query ``i`` are ``indices[indptr[i]:indptr[i + 1]]``.
    """

    indptr: Array  # (q + 1,)
    indices: Array  # (number of neighbours in all,) rows of the data
    distances: Array | None  # of the same shape

    @property
    def receivers(self) -> Array:
        """The number of the query that each neighbour belongs to, ascending, of the shape of `indices`.

        >>> import jaxapi as xp
        >>> xp.spatial.KDTree([[0.0], [1.0]]).query_radius([[0.5], [5.0], [1.5]], 1.0).receivers.tolist()
        [0, 0, 2]
        """
        return query_numbers(self.indptr, self.indices)


class FixedNeighbors(NamedTuple):
    """At most c neighbours of each query, nearest first, in arrays of fixed shape."""

    indices: Array  # (..., c) rows of the data, n where there is no neighbour
    distances: Array | None  # (..., c), inf where there is no neighbour
    counts: Array  # (...) the true numbers: above c, some were left out

    @property
    def did_buffer_overflow(self) -> Array:
        """Whether some query has more neighbours than there was room for; the name is jax-md's."""
        return (self.counts > self.indices.shape[-1]).any()


class FixedPairs(NamedTuple):
    """At most c pairs of near points, in arrays of fixed shape."""

    pairs: Array  # (c, 2) rows i < j of the data, n where there is no pair
    distances: Array  # (c,), inf where there is no pair
    count: Array  # type: ignore[assignment]  # () the true number: above c, some were left out

    @property
    def did_buffer_overflow(self) -> Array:
        """Whether there are more pairs than there was room for; the name is jax-md's."""
        return self.count > self.pairs.shape[-2]


class NeighborGraph(NamedTuple):
    """The edges between near points as a coordinate list (COO), grouped by receiver.

    The names are those of jraph's GraphsTuple; PyTorch Geometric's ``edge_index`` is
    ``stack([senders, receivers])``.
    """

    senders: Array  # (e,) rows of the data, n where there is no edge
    receivers: Array  # (e,) rows of the data, ascending, n where there is no edge
    distances: Array  # (e,), inf where there is no edge
    count: Array  # type: ignore[assignment]  # () the true number: above e, some were left out

    @property
    def did_buffer_overflow(self) -> Array:
        """Whether there are more edges than there was room for; the name is jax-md's."""
        return self.count > self.senders.shape[-1]
