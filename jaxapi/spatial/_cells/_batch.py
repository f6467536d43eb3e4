"""The items of a batch, as `jax.vmap` has them, as queries of one tree, and as clouds of one.

So a search of all items is one search. A tree of each would take as long as hundreds of points more.
"""

import itertools

import numpy as np

from .._scipy._cloud import Options
from ._host import Found, ImageCloud
from ._points import ImagePoints, ImageQueries

__all__ = ["JoinedClouds", "SharedCloud", "numbers_of_queries"]


class SharedCloud:
    """The points that all items of a batch share. Arrays have an axis in front, as long as the batch or 1."""

    def __init__(self, cloud: ImageCloud, item_count: int):
        self.cloud = cloud
        self.item_count = item_count
        self.rows = cloud.rows

    def queries(self, queries: ImageQueries) -> ImageQueries:
        """Return the queries (items, q, m) of all items as queries of one tree."""
        x = _of_items(queries.x, self.item_count)
        ids = None if queries.ids is None else _of_items(queries.ids, self.item_count).reshape(-1)
        return ImageQueries(x.reshape(-1, x.shape[2]), ids)

    def rows_of_items(self, rows) -> np.ndarray:
        """Return rows (items, ...) of the tree as those within the items; n stands for none."""
        return rows


class JoinedClouds:
    """The points of each item of a batch. Arrays have an axis in front, as long as the batch or 1."""

    def __init__(self, points: ImagePoints, periodic: tuple[bool, ...], options: Options, item_count: int):
        self.item_count = item_count
        _, self.rows, m = points.data.shape
        self.n = _of_items(points.n, item_count)
        self._given_ids: np.ndarray | None = None  # of clouds within an item, ascending, that may be any
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
        self.cloud = ImageCloud(joined, periodic, options)

    def _cell(self, cell):
        """Return the cell of all clouds, or that of each, from those of the items."""
        if cell is None:
            return None
        if cell.ndim == 4:
            return _of_items(cell, self.item_count).reshape(-1, *cell.shape[2:])
        return cell[0] if len(cell) == 1 else np.repeat(cell, self._cloud_count, axis=0)

    def _ids(self, ids, count: int) -> np.ndarray:
        """Return the clouds of `count` points of each item, by their ids within it (items, count) or None.

        -1 stands for none.
        """
        items = np.arange(self.item_count)[:, None]
        if ids is None:
            return np.repeat(items, count)
        number = _of_items(ids, self.item_count).astype(np.int64)
        is_cloud = (number >= 0) & (number < self._cloud_count)
        if self._given_ids is not None:
            number = np.searchsorted(self._given_ids, ids)
            number = np.minimum(number, max(self._cloud_count - 1, 0))
            is_cloud = self._given_ids[number] == ids if self._cloud_count else np.zeros(ids.shape, bool)
        return np.where(is_cloud, items * self._cloud_count + number, -1).reshape(-1)

    def queries(self, queries: ImageQueries) -> ImageQueries:
        """Return the queries (items, q, m) of all items as queries of one tree."""
        x = _of_items(queries.x, self.item_count)
        return ImageQueries(x.reshape(-1, x.shape[2]), self._ids(queries.ids, x.shape[1]))

    def rows_of_items(self, rows) -> np.ndarray:
        """Return rows (items, ...) of the tree as those within the items; n stands for none."""
        items = np.arange(self.item_count).reshape(-1, *(1,) * (rows.ndim - 1))
        n = self.n.reshape(items.shape)
        return np.where(rows < self.cloud.n, rows - items * self.rows, n)

    def edges_of_items(self, found: Found, size: int) -> tuple:
        """Return receivers, senders, shifts, distances (items, size, ...) and the true numbers (items,)."""
        item = found.query // self.rows
        if (item[1:] < item[:-1]).any():  # pairs may come in any order
            order = np.argsort(item, kind="stable")
            item = item[order]
            found = found.kept(order)
        starts = np.searchsorted(item, np.arange(self.item_count + 1))
        shape = self.item_count, size
        receivers, senders = (np.empty(shape, rows.dtype) for rows in (found.query, found.row))
        shifts = np.empty((*shape, found.shift.shape[1]), found.shift.dtype)
        distances = np.empty(shape, found.distance.dtype)
        for number, (start, stop) in enumerate(itertools.pairwise(starts)):
            part = slice(start, min(stop, start + size))
            count = part.stop - part.start
            receivers[number, :count] = found.query[part] - number * self.rows
            senders[number, :count] = found.row[part] - number * self.rows
            shifts[number, :count] = found.shift[part]
            distances[number, :count] = found.distance[part]
            receivers[number, count:] = senders[number, count:] = self.n[number]
            shifts[number, count:] = 0
            distances[number, count:] = np.inf
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
