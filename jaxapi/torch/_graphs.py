"""Graphs of near points, with the names, arguments and orders of torch_cluster and PyTorch Geometric."""

from typing import Any, Literal

import numpy as np
import torch

from .. import spatial
from ..spatial._farthest import sample_of_clouds
from ..spatial._results import NeighborGraph
from ..spatial._scipy._farthest import sample_farthest
from ..spatial._tree._build import padded_size
from ._kdtree import receivers_of
from ._tensors import as_indices, as_shared_array, check_tensor, stacked_indices

__all__ = ["fps", "knn", "knn_graph", "nearest", "radius", "radius_graph"]

Flow = Literal["source_to_target", "target_to_source"]


def knn(
    x: torch.Tensor,
    y: torch.Tensor,
    k: int,
    batch_x: torch.Tensor | None = None,
    batch_y: torch.Tensor | None = None,
    cosine: bool = False,
    num_workers: int = 1,
    batch_size: int | None = None,
) -> torch.Tensor:
    """Find for each element of `y` the `k` nearest points of `x`.

    Parameters
    ----------
    x : Tensor, shape (n, m) or (n,)
        Points to be found.
    y : Tensor, shape (q, m) or (q,)
        Queries.
    k : int
        How many neighbors; where a cloud has fewer, all of it.
    batch_x, batch_y : Tensor of int, shape (n,) and (q,), optional
        The cloud that each point and each query belongs to, in any order. Without one of them all are of
        cloud 0.
    cosine : bool, default False
        Compare angles in the place of distances, on every device.
    num_workers, batch_size : int, optional
        Not used: as many threads search as pay, and clouds are not counted.

    Returns
    -------
    Tensor, shape (2, number of neighbors in all), int64
        Rows of `y`, ascending, and rows of `x`, nearest first; of equally near ones the lowest row first.

    Notes
    -----
    Differs from torch_cluster: k is not limited to 100, and ids need not be sorted.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> x = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    >>> jaxapi.torch.knn(x, torch.tensor([[-1.0, 0.0], [1.0, 0.0]]), 2)
    tensor([[0, 0, 1, 1],
            [0, 1, 2, 3]])
    """
    points = _points(x, "x")
    queries = _points(y, "y")
    if cosine:
        points = _directions(points)
        queries = _directions(queries)
    rows = _nearest_rows(points, queries, k, batch_x, batch_y)
    receivers = torch.arange(len(rows), device=rows.device)[:, None].expand_as(rows)
    if batch_x is None and batch_y is None and k <= len(points):
        return torch.stack([receivers.reshape(-1), rows.reshape(-1)])
    is_neighbor = rows < len(points)
    return torch.stack([receivers[is_neighbor], rows[is_neighbor]])


def knn_graph(
    x: torch.Tensor,
    k: int,
    batch: torch.Tensor | None = None,
    loop: bool = False,
    flow: Flow = "source_to_target",
    cosine: bool = False,
    num_workers: int = 1,
    batch_size: int | None = None,
) -> torch.Tensor:
    """Connect each point with the `k` nearest.

    Parameters
    ----------
    x : Tensor, shape (n, m) or (n,)
        The points.
    k : int
        How many, where its cloud has so many; with `loop` a point is one of its own.
    batch : Tensor of int, shape (n,), optional
        The cloud that each point belongs to, in any order.
    loop : bool, default False
        Whether points are connected with themselves.
    flow : {"source_to_target", "target_to_source"}
        Which row of the result has the neighbors: the first, or the second.
    cosine, num_workers, batch_size
        As in `knn`.

    Returns
    -------
    Tensor, shape (2, number of edges), int64
        The edges.

    Notes
    -----
    Differs from torch_cluster: each point has k others also where some are equal to it. There the point
    itself may be missing from its k + 1 nearest, and one edge too many remains.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> jaxapi.torch.knn_graph(torch.tensor([0.0, 1.0, 3.0]), 1)
    tensor([[1, 0, 1],
            [0, 1, 2]])
    """
    points = _points(x, "x")
    if cosine:
        points = _directions(points)
    tree = spatial.KDTree(as_shared_array(points), batch=_ids(batch))
    graph = tree.knn_graph(k, loop=loop)
    edges = _edges_of(graph, flow)
    return edges if batch is None and k < len(points) else edges[:, edges[0] < len(points)]


def radius(
    x: torch.Tensor,
    y: torch.Tensor,
    r: float,
    batch_x: torch.Tensor | None = None,
    batch_y: torch.Tensor | None = None,
    max_num_neighbors: int | None = None,
    num_workers: int = 1,
    batch_size: int | None = None,
    ignore_same_index: bool = False,
) -> torch.Tensor:
    """Find for each element of `y` all points of `x` within a distance.

    Parameters
    ----------
    x : Tensor, shape (n, m) or (n,)
        Points to be found.
    y : Tensor, shape (q, m) or (q,)
        Queries.
    r : float
        The radius, inclusive.
    batch_x, batch_y : Tensor of int, optional
        As in `knn`.
    max_num_neighbors : int, optional
        Keep as many of each query's neighbors, the nearest; **all others are left out, and nothing says so**.
        By default none is left out.
    num_workers, batch_size : int, optional
        Not used.
    ignore_same_index : bool, default False
        Leave out neighbors with the row of the query.

    Returns
    -------
    Tensor, shape (2, number of neighbors in all), int64
        Rows of `y`, ascending, and rows of `x`: with `max_num_neighbors` nearest first, else in any order.

    Notes
    -----
    Differs from torch_cluster: there `max_num_neighbors` is 32 by default, in silence, and keeps any 32; and
    a point at the very distance `r` is left out.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> x = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    >>> jaxapi.torch.radius(x, torch.tensor([[-1.0, 0.0], [1.0, 0.0]]), 1.5)
    tensor([[0, 0, 1, 1],
            [0, 1, 2, 3]])
    """
    points = _points(x, "x")
    queries = _points(y, "y")
    tree, query_ids = _tree_and_query_ids(points, queries, batch_x, batch_y)
    if max_num_neighbors is None:
        near = tree.query_radius(as_shared_array(queries), r, return_distance=False, batch=query_ids)
        rows = as_indices(near.indices)
        receivers = receivers_of(as_indices(near.indptr), len(rows))
        if ignore_same_index:
            is_other = rows != receivers
            rows = rows[is_other]
            receivers = receivers[is_other]
        return torch.stack([receivers, rows])
    return _nearest_within(tree, queries, r, query_ids, max_num_neighbors, ignore_same_index)


def radius_graph(
    x: torch.Tensor,
    r: float,
    batch: torch.Tensor | None = None,
    loop: bool = False,
    max_num_neighbors: int | None = None,
    flow: Flow = "source_to_target",
    num_workers: int = 1,
    batch_size: int | None = None,
) -> torch.Tensor:
    """Connect all points within a distance of each other.

    Parameters
    ----------
    x : Tensor, shape (n, m) or (n,)
        The points.
    r : float
        The radius, inclusive.
    batch : Tensor of int, shape (n,), optional
        The cloud that each point belongs to, in any order.
    loop : bool, default False
        Whether points are connected with themselves.
    max_num_neighbors : int, optional
        Keep as many of each point's neighbors, the nearest; **all others are left out, and nothing says so**.
        By default none is left out: torch_cluster's default is 32.
    flow : {"source_to_target", "target_to_source"}
        Which row of the result has the neighbors: the first, or the second.
    num_workers, batch_size : int, optional
        Not used.

    Returns
    -------
    Tensor, shape (2, number of edges), int64
        The edges.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> jaxapi.torch.radius_graph(torch.tensor([0.0, 1.0, 3.0]), 1.5)
    tensor([[1, 0],
            [0, 1]])
    """
    points = _points(x, "x")
    tree = spatial.KDTree(as_shared_array(points), batch=_ids(batch))
    if max_num_neighbors is None:
        graph = tree.radius_graph(r, loop=loop)
        return _edges_of(graph, flow)
    edges = _nearest_within(tree, points, r, tree.batch, max_num_neighbors, not loop)
    return edges.flip(0) if _has_senders_first(flow) else edges


def nearest(
    x: torch.Tensor,
    y: torch.Tensor,
    batch_x: torch.Tensor | None = None,
    batch_y: torch.Tensor | None = None,
) -> torch.Tensor:
    """Find for each element of `x` the nearest point of `y`.

    Parameters
    ----------
    x : Tensor, shape (q, m) or (q,)
        Queries.
    y : Tensor, shape (n, m) or (n,)
        Points to be found.
    batch_x, batch_y : Tensor of int, shape (q,) and (n,), optional
        The cloud that each query and each point belongs to, in any order.

    Returns
    -------
    Tensor, shape (q,), int64
        Rows of `y`; of equally near ones the lowest.

    Raises
    ------
    ValueError
        If a query's cloud has no points.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> jaxapi.torch.nearest(torch.tensor([0.0, 9.0]), torch.tensor([1.0, 8.0, 20.0]))
    tensor([0, 1])
    """
    points = _points(y, "y")
    rows = _nearest_rows(points, _points(x, "x"), 1, batch_y, batch_x)[:, 0]
    if bool((rows == len(points)).any()):
        raise ValueError("y must have a point in each cloud that x has: some queries have no neighbor")
    return rows


def fps(
    src: torch.Tensor,
    batch: torch.Tensor | None = None,
    ratio: float | torch.Tensor | None = 0.5,
    random_start: bool = True,
    batch_size: int | None = None,
    ptr: torch.Tensor | list[int] | None = None,
) -> torch.Tensor:
    """Sample points that lie far apart: each is the farthest of its cloud from those before it.

    Parameters
    ----------
    src : Tensor, shape (n, m) or (n,)
        The points.
    batch : Tensor of int, shape (n,), optional
        The cloud that each point belongs to, in any order.
    ratio : float or Tensor, shape (clouds,), default 0.5
        How large a part of each cloud is sampled, rounded up; None is a half, too.
    random_start : bool, default True
        Whether the first point of each cloud is any, drawn by `torch.rand`; else it is the lowest row.
    batch_size : int, optional
        Not used.
    ptr : Tensor or list of int, shape (clouds + 1,), optional
        Where the clouds begin and end, in the place of `batch`.

    Returns
    -------
    Tensor, shape (number of samples in all,), int64
        Rows of `src`, cloud by cloud.

    See Also
    --------
    jaxapi.spatial.sample_farthest_points : says how they are found.

    Notes
    -----
    Differs from torch_cluster: no row is sampled twice, also where points are equal, and of equally far
    points the lowest row comes first.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> jaxapi.torch.fps(torch.tensor([0.0, 1.0, 5.0, 2.0]), ratio=0.5, random_start=False)
    tensor([0, 2])
    """
    points = _points(src, "src")
    order, sizes = _clouds(points, batch, ptr)
    dtype = points.dtype if points.is_floating_point() else torch.float32
    parts = torch.as_tensor(0.5 if ratio is None else ratio, dtype=dtype, device=points.device)
    sample_sizes = torch.ceil(sizes.to(dtype) * parts).long().clamp(min=0)
    sample_sizes = torch.minimum(sample_sizes, sizes)
    starts = torch.zeros_like(sizes)
    if random_start:
        drawn = torch.rand(len(sizes), dtype=torch.float64, device=points.device)
        starts = torch.minimum((drawn * sizes).long(), (sizes - 1).clamp(min=0))
    points = points if order is None else points[order]
    sample = _sample_on_host if points.device.type == "cpu" else _sample_on_device
    rows = sample(points, sizes, sample_sizes, starts)
    return rows if order is None else order[rows]


def _clouds(points, batch, ptr) -> tuple[torch.Tensor | None, torch.Tensor]:
    """Return the order of rows in which clouds come one after another, None as they are; and their sizes."""
    if ptr is not None:
        return None, torch.as_tensor(ptr, device=points.device).long().diff()
    if batch is None:
        return None, torch.tensor([len(points)], device=points.device)
    if batch.shape != points.shape[:1]:
        raise ValueError(f"batch must have an id for each of {len(points)} points, got {tuple(batch.shape)}")
    order = torch.sort(batch, stable=True).indices
    return order, torch.bincount(batch)


def _sample_on_host(points, sizes, sample_sizes, starts) -> torch.Tensor:
    """Return the samples of clouds that come one after another, by NumPy."""
    host = points.detach().double().numpy()
    if not np.isfinite(host).all():
        raise ValueError("src must be finite, check for nan or inf values")
    samples = []
    first_row = 0
    for size, sample_size, start in zip(sizes.tolist(), sample_sizes.tolist(), starts.tolist(), strict=True):
        cloud = host[first_row : first_row + size]
        if sample_size:
            samples.append(first_row + sample_farthest(cloud, size, sample_size, start))
        first_row += size
    rows = np.concatenate(samples) if samples else np.empty(0, np.int64)
    return torch.from_numpy(rows.astype(np.int64, copy=False))


def _sample_on_device(points, sizes, sample_sizes, starts) -> torch.Tensor:
    """Return the same by a program for all clouds, each in as many rows as the largest has, or a few more."""
    largest, most = torch.stack([sizes.max(), sample_sizes.max()]).tolist() if len(sizes) else (0, 0)
    if largest == 0:
        return sizes.new_empty(0)
    row_count = padded_size(largest)
    first_rows = sizes.cumsum(0) - sizes
    in_cloud = torch.arange(row_count, device=points.device) < sizes[:, None]  # (clouds, rows)
    padded = points.new_zeros(len(sizes), row_count, points.shape[1])
    padded[in_cloud] = points.detach()
    counts = as_shared_array(sizes.int())
    first = as_shared_array(starts.int())
    rows = sample_of_clouds(as_shared_array(padded), counts, first, np.int32(most), size=padded_size(most))
    rows = as_indices(rows) + first_rows[:, None]
    return rows[torch.arange(rows.shape[1], device=points.device) < sample_sizes[:, None]]


def _points(x: Any, name: str) -> torch.Tensor:
    """Return points (n, m); numbers (n,) are points on a line."""
    tensor = check_tensor(x, name)
    if tensor.is_complex():
        raise TypeError(f"{name} must be real numbers, got {tensor.dtype}: convert them first")
    tensor = tensor[:, None] if tensor.ndim == 1 else tensor
    if tensor.ndim != 2:
        raise ValueError(f"{name} must be of shape (n, m) or (n,), got {tuple(tensor.shape)}")
    return tensor


def _directions(points: torch.Tensor) -> torch.Tensor:
    """Return unit vectors, whose distances are in the order of angles; 0 is at right angles to all others."""
    lengths = torch.linalg.vector_norm(points.detach(), dim=1, keepdim=True)
    is_zero = lengths == 0
    return torch.cat([points.detach() / torch.where(is_zero, 1, lengths), is_zero.to(points.dtype)], dim=1)


def _ids(batch: torch.Tensor | None):
    return None if batch is None else as_shared_array(check_tensor(batch, "batch"))


def _tree_and_query_ids(points, queries, batch_points, batch_queries):
    """Return the tree of the points, and the ids of the queries' clouds if there are clouds."""
    if batch_points is None and batch_queries is None:
        return spatial.KDTree(as_shared_array(points)), None
    if batch_points is None:
        batch_points = torch.zeros(len(points), dtype=torch.int64, device=points.device)
    if batch_queries is None:
        batch_queries = torch.zeros(len(queries), dtype=torch.int64, device=queries.device)
    return spatial.KDTree(as_shared_array(points), batch=_ids(batch_points)), _ids(batch_queries)


def _nearest_rows(points, queries, k: int, batch_points, batch_queries) -> torch.Tensor:
    """Return the rows (q, k) of the nearest points, their number where there is none."""
    tree, query_ids = _tree_and_query_ids(points, queries, batch_points, batch_queries)
    rows = as_indices(tree.query(as_shared_array(queries), k, batch=query_ids)[1])
    return rows.reshape(len(queries), k)


def _nearest_within(tree, queries, r, query_ids, most: int, ignore_same_index: bool) -> torch.Tensor:
    """Return rows of queries and of at most so many of their nearest neighbors within the radius."""
    room = most + 1 if ignore_same_index else most
    near = tree.query_radius(
        as_shared_array(queries), r, return_distance=False, max_neighbors=room, batch=query_ids
    )
    rows = as_indices(near.indices)
    receivers = torch.arange(len(queries), device=rows.device)[:, None].expand_as(rows)
    is_kept = rows < tree.n
    if ignore_same_index:
        is_kept &= rows != receivers
        is_kept &= is_kept.cumsum(dim=1) <= most
    return torch.stack([receivers[is_kept], rows[is_kept]])


def _edges_of(graph: NeighborGraph, flow: Flow) -> torch.Tensor:
    if _has_senders_first(flow):
        return stacked_indices(graph.senders, graph.receivers)
    return stacked_indices(graph.receivers, graph.senders)


def _has_senders_first(flow: Flow) -> bool:
    """Tell whether the first row of edges has the senders."""
    if flow not in ("source_to_target", "target_to_source"):
        raise ValueError(f"flow must be 'source_to_target' or 'target_to_source', got {flow!r}")
    return flow == "source_to_target"
