"""The items of a batch, as `jax.vmap` has them, as queries of one tree, and as clouds of one.

So a search of all items is one search. A tree of each would take as long as hundreds of points more.
"""

import itertools

import numpy as np

from .._scipy._trees import Options
from ._host import HostImages
from ._host_neighbors import HostNeighbors
from ._points import ImagePoints, ImageQueries

__all__ = ["JoinedImages", "SharedImages", "numbers_of_queries"]


class SharedImages:
    """The points that all items of a batch share. Arrays have an axis in front, as long as the batch or 1."""

    def __init__(self, images: HostImages, item_count: int):
        self.images = images
        self.item_count = item_count
        self.rows = images.rows

    def queries(self, queries: ImageQueries) -> ImageQueries:
        """Return the queries (items, q, m) of all items as queries of one tree."""
        x = _of_items(queries.x, self.item_count)
        ids = None if queries.ids is None else _of_items(queries.ids, self.item_count).reshape(-1)
        return ImageQueries(x.reshape(-1, x.shape[2]), ids)

    def rows_of_items(self, rows) -> np.ndarray:
        """Return rows (items, ...) of the tree as those within the items; n stands for none."""
        return rows


class JoinedImages:
    """The points of each item of a batch. Arrays have an axis in front, as long as the batch or 1."""

    def __init__(self, points: ImagePoints, periodic: tuple[bool, ...], options: Options, item_count: int):
        self.item_count = item_count
        _, self.rows, m = points.data.shape
        self.n = _of_items(points.n, item_count)
        # Without a cell of each cloud ids may be any integers: these are those that there are, ascending.
        self._given_ids: np.ndarray | None = None
        self._cloud_count = 1  # of each item
        if points.cell is not None and points.cell.ndim == 4:
            self._cloud_count = points.cell.shape[1]
        elif points.ids is not None:
            self._given_ids = np.unique(points.ids)
            self._cloud_count = len(self._given_ids)
        is_counted = np.arange(self.rows) < self.n[:, None]
        data = np.where(is_counted[..., None], points.data, points.data.dtype.type(np.nan))
        ids = self._ids(points.ids, self.rows)
        row_count = item_count * self.rows
        joined = ImagePoints(data.reshape(row_count, m), row_count, self._cell(points.cell), ids)
        self.images = HostImages(joined, periodic, options)

    def _cell(self, cell):
        """Return the cell of all clouds, or that of each, from those of the items."""
        if cell is None:
            return None
        if cell.ndim == 4:
            return _of_items(cell, self.item_count).reshape(-1, *cell.shape[2:])
        return cell[0] if len(cell) == 1 else np.repeat(cell, self._cloud_count, axis=0)

    def _ids(self, ids, count: int) -> np.ndarray:
        """Return the clouds (items * count,) of `count` points of each item; -1 stands for none.

        `ids` (items, count) tell clouds within an item apart; None where an item is one cloud.
        """
        items = np.arange(self.item_count)[:, None]
        if ids is None:
            return np.repeat(items, count)
        if self._given_ids is None:
            number = _of_items(ids, self.item_count).astype(np.int64)
            is_cloud = (number >= 0) & (number < self._cloud_count)
        elif self._cloud_count:
            number = np.minimum(np.searchsorted(self._given_ids, ids), self._cloud_count - 1)
            is_cloud = self._given_ids[number] == ids
        else:
            number = np.zeros(ids.shape, np.int64)
            is_cloud = np.zeros(ids.shape, bool)
        return np.where(is_cloud, items * self._cloud_count + number, -1).reshape(-1)

    def queries(self, queries: ImageQueries) -> ImageQueries:
        """Return the queries (items, q, m) of all items as queries of one tree."""
        x = _of_items(queries.x, self.item_count)
        return ImageQueries(x.reshape(-1, x.shape[2]), self._ids(queries.ids, x.shape[1]))

    def rows_of_items(self, rows) -> np.ndarray:
        """Return rows (items, ...) of the tree as those within the items; n stands for none."""
        shape = self.item_count, *(1,) * (rows.ndim - 1)
        first_rows = np.arange(self.item_count).reshape(shape) * self.rows
        return np.where(rows < self.images.n, rows - first_rows, self.n.reshape(shape))

    def edges_of_items(self, edges: HostNeighbors, size: int) -> tuple:
        """Return receivers, senders, shifts, distances (items, size, ...) and the true numbers (items,)."""
        item_of_edge = edges.query // self.rows
        if (item_of_edge[1:] < item_of_edge[:-1]).any():  # pairs may come in any order
            order = np.argsort(item_of_edge, kind="stable")
            item_of_edge = item_of_edge[order]
            edges = edges.kept(order)
        starts = np.searchsorted(item_of_edge, np.arange(self.item_count + 1))
        shape = self.item_count, size
        receivers = np.empty(shape, edges.query.dtype)
        senders = np.empty(shape, edges.row.dtype)
        shifts = np.empty((*shape, edges.shift.shape[1]), edges.shift.dtype)
        distances = np.empty(shape, edges.distance.dtype)
        for item, (start, stop) in enumerate(itertools.pairwise(starts)):
            part = slice(start, min(stop, start + size))
            count = part.stop - part.start
            first_row = item * self.rows
            receivers[item, :count] = edges.query[part] - first_row
            senders[item, :count] = edges.row[part] - first_row
            shifts[item, :count] = edges.shift[part]
            distances[item, :count] = edges.distance[part]
            receivers[item, count:] = self.n[item]
            senders[item, count:] = self.n[item]
            shifts[item, count:] = 0
            distances[item, count:] = np.inf
        return receivers, senders, shifts, distances, np.diff(starts)

    def labels_of_items(self, labels) -> tuple[np.ndarray, np.ndarray]:
        """Return how many labels each item has, and labels (items, rows), -1 for none.

        Labels are numbered by their lowest rows: those of an item follow each other.
        """
        labels = labels.reshape(self.item_count, self.rows)
        is_labeled = labels >= 0
        lowest = np.min(labels, axis=1, where=is_labeled, initial=np.iinfo(labels.dtype).max)
        highest = np.max(labels, axis=1, initial=-1)
        counts = np.where(highest >= 0, highest - lowest + 1, 0)
        return counts, np.where(is_labeled, labels - lowest[:, None], -1)


def numbers_of_queries(values, item_count: int, count: int) -> np.ndarray:
    """Return values of each item, or of each of its `count` queries, for the queries of all items."""
    values = values.reshape(len(values), -1)
    return np.broadcast_to(values, (item_count, count)).reshape(-1)


def _of_items(array, item_count: int) -> np.ndarray:
    """Return values for each item, (items, ...)."""
    return np.broadcast_to(array, (item_count, *array.shape[1:]))
