"""The KD-tree of tensors."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from .. import spatial
from ._clusters import DensityClusters, StableClusters
from ._slopes import nearest_image, with_slopes
from ._tensors import as_array_or_number, as_indices, as_shared_array, as_tensor, check_tensor

__all__ = ["KDTree", "NeighborGraph", "Neighbors"]


class Neighbors(NamedTuple):
    """Neighbors of q queries in compressed sparse row (CSR) form.

    Those of query ``i`` are ``indices[indptr[i]:indptr[i + 1]]``.

    Attributes
    ----------
    indptr : Tensor, shape (q + 1,), int64
        Where each query's neighbors begin and end.
    indices : Tensor, shape (number of neighbors in all,), int64
        Rows of the data.
    distances : Tensor of the same shape
        Their distances.
    shifts : Tensor, shape (number of neighbors in all, m), int32, or None
        The images of the neighbors in a cell.
    """

    indptr: torch.Tensor
    indices: torch.Tensor
    distances: torch.Tensor
    shifts: torch.Tensor | None = None

    @property
    def receivers(self) -> torch.Tensor:
        """The number of the query that each neighbor belongs to, ascending, of the shape of `indices`."""
        return receivers_of(self.indptr, len(self.indices))


class NeighborGraph(NamedTuple):
    """The edges between near points, grouped by receiver.

    Attributes
    ----------
    senders, receivers : Tensor, shape (e,), int64
        Rows of the data, the receivers ascending.
    distances : Tensor, shape (e,)
        Their lengths.
    shifts : Tensor, shape (e, m), int32, or None
        The images of the senders in a cell.
    """

    senders: torch.Tensor
    receivers: torch.Tensor
    distances: torch.Tensor
    shifts: torch.Tensor | None = None

    @property
    def edge_index(self) -> torch.Tensor:
        """PyTorch Geometric's tensor of edges, (2, e): senders and receivers."""
        return torch.stack([self.senders, self.receivers])


def receivers_of(indptr: torch.Tensor, neighbor_count: int) -> torch.Tensor:
    """Return the number of the query that each of all neighbors belongs to."""
    queries = torch.arange(len(indptr) - 1, device=indptr.device)
    return torch.repeat_interleave(queries, indptr.diff(), output_size=neighbor_count)


class KDTree:
    """Find the nearest of n points in m dimensions: `jaxapi.spatial.KDTree` of tensors.

    Parameters
    ----------
    data : Tensor, shape (n, m)
        The points, real and finite. The tree is built of them as they are now; where they require grad,
        distances have derivatives with respect to them.
    boxsize : float or Tensor of m floats, optional
        Lengths of a periodic box, 0 for an axis that is not periodic.
    cell : Tensor, shape (m, m) or (clouds, m, m), optional
        The vectors of a periodic cell, in rows, of which every image counts.
    periodic : bool or sequence of m bools, default True
        Along which vectors of the cell the points are repeated.
    batch : Tensor of int, shape (n,), optional
        The cloud that each point belongs to, in any order: points of other clouds are nobody's neighbors.

    See Also
    --------
    jaxapi.spatial.KDTree : says the rest. ``tree.arrays`` is that tree, with all its methods.

    Notes
    -----
    Distances have the derivatives of their points, of the queries and of the cell, to any order; where they
    are 0 these are 0. Which points are neighbors has none. float16 and bfloat16 are searched in float32.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> points = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    >>> distances, indices = jaxapi.torch.KDTree(points).query(torch.tensor([[3.0, 5.0]]))
    >>> distances.sum().backward()
    >>> indices, points.grad
    (tensor([1]), tensor([[ 0.,  0.],
            [ 0., -1.]]))
    """

    def __init__(
        self,
        data: torch.Tensor,
        boxsize: Any = None,
        *,
        cell: torch.Tensor | None = None,
        periodic: Any = True,
        batch: torch.Tensor | None = None,
    ):
        self.data = check_tensor(data, "data")
        self.cell = cell
        self.batch = batch
        self.boxsize = None
        if boxsize is not None:
            sides = np.broadcast_to(np.asarray(torch.as_tensor(boxsize).detach().cpu()), data.shape[1:])
            self.boxsize = torch.tensor(sides, dtype=self._slopes_dtype, device=data.device)
        self.arrays = spatial.KDTree(
            as_array_or_number(data),
            boxsize=None if boxsize is None else sides,
            cell=as_array_or_number(cell),
            periodic=periodic,
            batch=as_array_or_number(batch),
        )

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{self.arrays!r}"

    @property
    def n(self) -> int:
        """Number of points."""
        return self.data.shape[0]

    @property
    def m(self) -> int:
        """Number of dimensions."""
        return self.data.shape[1]

    @property
    def _slopes_dtype(self) -> torch.dtype:
        """The dtype that derivatives of distances are computed in."""
        return torch.float64 if self.data.dtype == torch.float64 else torch.float32

    # --- the nearest --------------------------------------------------------------------------------------

    def query(
        self,
        x: torch.Tensor,
        k: int = 1,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: float = math.inf,
        *,
        batch: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Find the `k` nearest neighbors of each point of `x`.

        Parameters
        ----------
        x : Tensor, shape (..., m)
            Queries, on the device of the data.
        k : int or sequence of int, default 1
            How many neighbors, or which.
        eps : float, default 0
            Neighbors may be farther than the nearest by this factor.
        p : float, default 2
            Minkowski's p.
        distance_upper_bound : float, optional
            Only neighbors nearer than this.
        batch : Tensor of int, shape (...), optional
            The cloud that each query searches.

        Returns
        -------
        distances : Tensor, shape (..., k), or (...) for k = 1
            Nearest first, inf where there is no neighbor.
        indices : Tensor of the same shape, int64
            Rows of the data, n where there is no neighbor.
        """
        arguments = eps, p, distance_upper_bound
        batch_ids = None if batch is None else as_shared_array(batch)
        queries = as_shared_array(check_tensor(x, "x"))
        if self.cell is None:
            distances, rows = self.arrays.query(queries, k, *arguments, batch=batch_ids)
            return self._with_indices(distances, rows, x, p)
        found = self.arrays.query(queries, k, *arguments, batch=batch_ids, return_shifts=True)
        return self._with_indices(found[0], found[1], x, p, found[2], batch)

    def kneighbors(self, k: int, p: float = 2.0) -> tuple[torch.Tensor, torch.Tensor]:
        """Find the `k` nearest other points of each point.

        Parameters
        ----------
        k : int
            How many.
        p : float, default 2
            Minkowski's p.

        Returns
        -------
        distances : Tensor, shape (n, k)
            Nearest first, inf where there is no neighbor.
        indices : Tensor, shape (n, k), int64
            Rows of the data, n where there is no neighbor.
        """
        if self.cell is None:
            distances, rows = self.arrays.kneighbors(k, p)
            return self._with_indices(distances, rows, self.data, p)
        found = self.arrays.kneighbors(k, p, return_shifts=True)
        return self._with_indices(found[0], found[1], self.data, p, found[2], self.batch)

    def _with_indices(self, distances, rows, x, p, shifts=None, batch=None):
        """Return the distances with their derivatives, and the indices."""
        distances = as_tensor(distances)
        indices = as_indices(rows)
        if self._has_slopes(x):
            column_axes = indices.ndim - (x.ndim - 1)  # 0 for one neighbor of each query
            for _ in range(column_axes):
                x = x.unsqueeze(-2)
                batch = None if batch is None else batch.unsqueeze(-1)
            shift = None if shifts is None else self._shift(as_tensor(shifts), batch)
            is_neighbor = indices < self.n
            displacements = self._displacements(x, torch.where(is_neighbor, indices, 0), shift)
            distances = with_slopes(distances, displacements, p, is_neighbor)
        return distances, indices

    # --- all within a radius ------------------------------------------------------------------------------

    def query_radius(
        self,
        x: torch.Tensor,
        r: float | torch.Tensor,
        *,
        p: float = 2.0,
        sort: bool = False,
        batch: torch.Tensor | None = None,
    ) -> Neighbors:
        """Find all points within a distance of each query, without a limit to their number.

        Parameters
        ----------
        x : Tensor, shape (q, m)
            Queries, on the device of the data.
        r : float or Tensor, shape (q,)
            The radius, inclusive, or one for each query.
        p : float, default 2
            Minkowski's p.
        sort : bool, default False
            Whether the nearest come first.
        batch : Tensor of int, shape (q,), optional
            The cloud that each query searches.

        Returns
        -------
        Neighbors
            ``indptr``, ``indices`` and ``distances``, and in a cell ``shifts``.
        """
        found: Any = self.arrays.query_radius(
            as_shared_array(check_tensor(x, "x")),
            as_array_or_number(r),
            p=p,
            sort=sort,
            batch=None if batch is None else as_shared_array(batch),
        )
        shifts = None if self.cell is None else as_tensor(found.shifts)
        indptr = as_indices(found.indptr)
        neighbors = Neighbors(indptr, as_indices(found.indices), as_tensor(found.distances), shifts)
        if not self._has_slopes(x):
            return neighbors
        distances = self._edge_distances(neighbors, neighbors.receivers, x, p, batch)
        return neighbors._replace(distances=distances)

    def radius_graph(self, r: float, *, p: float = 2.0, loop: bool = False) -> NeighborGraph:
        """Connect all points within a distance of each other, without a limit to their number.

        Parameters
        ----------
        r : float
            The radius, inclusive.
        p : float, default 2
            Minkowski's p.
        loop : bool, default False
            Whether points are connected with themselves.

        Returns
        -------
        NeighborGraph
            ``senders``, ``receivers`` and ``distances``, and in a cell ``shifts``.
        """
        return self._graph(self.arrays.radius_graph(as_array_or_number(r), p=p, loop=loop), p)

    def knn_graph(self, k: int, *, p: float = 2.0, loop: bool = False) -> NeighborGraph:
        """Connect each point with the `k` nearest.

        Parameters
        ----------
        k : int
            How many, where there are so many.
        p : float, default 2
            Minkowski's p.
        loop : bool, default False
            Whether points are connected with themselves; they are one of the k then.

        Returns
        -------
        NeighborGraph
            ``senders``, ``receivers`` and ``distances``, and in a cell ``shifts``.
        """
        return self._graph(self.arrays.knn_graph(k, p=p, loop=loop), p)

    def _graph(self, graph, p: float) -> NeighborGraph:
        senders = as_indices(graph.senders)
        is_edge = senders < self.n  # some points may have fewer than k others
        senders = senders[is_edge]
        receivers = as_indices(graph.receivers)[is_edge]
        distances = as_tensor(graph.distances)[is_edge]
        shifts = None if self.cell is None else as_tensor(graph.shifts)[is_edge]
        if self._has_slopes(self.data):
            neighbors = Neighbors(receivers, senders, distances, shifts)
            distances = self._edge_distances(neighbors, receivers, self.data, p, self.batch)
        return NeighborGraph(senders, receivers, distances, shifts)

    # --- derivatives --------------------------------------------------------------------------------------

    def _has_slopes(self, x: torch.Tensor) -> bool:
        """Tell whether distances from queries have derivatives."""
        cell_has = self.cell is not None and self.cell.requires_grad
        return torch.is_grad_enabled() and (self.data.requires_grad or x.requires_grad or cell_has)

    def _edge_distances(self, neighbors: Neighbors, receivers, x, p: float, batch) -> torch.Tensor:
        """Return the distances of edges from queries, with their derivatives."""
        shift = None
        if neighbors.shifts is not None:
            shift = self._shift(neighbors.shifts, None if batch is None else batch[receivers])
        displacements = self._displacements(x[receivers], neighbors.indices, shift)
        return with_slopes(neighbors.distances, displacements, p)

    def _displacements(self, x, indices, shift) -> torch.Tensor:
        """Return the vectors from queries (..., m) to neighbors (...)."""
        displacements = (self.data[indices] - x).to(self._slopes_dtype)
        if self.boxsize is not None:
            return nearest_image(displacements, self.boxsize)
        return displacements if shift is None else displacements + shift

    def _shift(self, shifts: torch.Tensor, batch) -> torch.Tensor:
        """Return the vectors (..., m) of shifts in the cell, or in that of each cloud."""
        cell = torch.as_tensor(self.cell).to(self._slopes_dtype)
        shifts = shifts.to(cell.dtype)
        if cell.ndim == 3 and batch is not None:
            cell = cell[batch]
        elif cell.shape == (self.m,):
            cell = torch.diag(cell)
        return (shifts[..., None, :] @ cell)[..., 0, :]

    # --- clusters -----------------------------------------------------------------------------------------

    def dbscan(self, eps: float, min_samples: int = 5, *, p: float = 2.0) -> DensityClusters:
        """Find clusters of dense points and what borders on them, with scikit-learn's labels.

        Parameters
        ----------
        eps : float
            Largest distance of neighbors, inclusive.
        min_samples : int, default 5
            How many neighbors make a core, the point itself counted.
        p : float, default 2
            Minkowski's p.

        Returns
        -------
        DensityClusters
            ``core`` (n,), bool, and ``labels`` (n,), int64, -1 for noise.
        """
        found = self.arrays.dbscan(eps, min_samples, p=p)
        return DensityClusters(as_tensor(found.core), as_indices(found.labels))

    def hdbscan(self, min_cluster_size: int = 5, *, min_samples: int | None = None) -> StableClusters:
        """Find clusters of all densities, with scikit-learn's labels and probabilities.

        Parameters
        ----------
        min_cluster_size : int, default 5
            How many points make a cluster.
        min_samples : int, optional
            Of core distances; by default as many.

        Returns
        -------
        StableClusters
            ``labels`` (n,), int64, -1 for noise, and ``probabilities`` (n,).
        """
        found = self.arrays.hdbscan(min_cluster_size, min_samples=min_samples)
        return StableClusters(as_indices(found.labels), as_tensor(found.probabilities))
