"""Searches inside of a transformation: abstract arrays, fixed shapes, derivatives."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._typing import Array
from ..._x64 import x64_for
from .._results import FixedNeighbors
from .._settings import Columns, SearchSettings, sums_dtype
from .._structure._tree import Tree
from . import _radius
from ._arrays import as_dtype
from ._few import nearest_of_traced
from ._searcher import picked
from ._slopes import with_slopes
from ._structure import structure

__all__ = ["Traced"]


class Traced:
    """The searches of a tree with traced points, queries or numbers.

    A query that is not finite has no neighbours. A search itself has no derivative; the distances that it
    finds get theirs from `with_slopes`.
    """

    def __init__(self, data, structure: Callable[[], Tree]):
        self.data, self._structure = data, structure

    @property
    def tree(self) -> Tree:
        """The structure over the points; over concrete ones it is built at first use."""
        return lax.stop_gradient(self._structure())

    @staticmethod
    def prepare(data) -> tuple[Tree, Array | bool]:
        """Build the structure; traced values are not looked at."""
        return structure(data)

    def nearest(self, x, batch, columns: Columns, bound, eps, settings: SearchSettings, workers):
        """Return distances and rows, both of shape batch + columns.shape."""
        n, dtype = self.data.shape[0], settings.dtype
        x, bound, eps = (as_dtype(each, dtype) for each in (x, bound, eps))
        box = _box(settings)
        found, rows = nearest_of_traced(
            lax.stop_gradient(self.data),
            lambda: self.tree,
            *lax.stop_gradient((x, bound, eps, box)),
            k=min(columns.k, n),
            p=settings.p,
            dtype=dtype,
            index_dtype=settings.index_dtype,
        )
        distances = with_slopes(found, self.data, x, rows, box, settings.p)
        distances, rows = picked(distances, rows, n, columns.among(n))
        shape = batch + columns.shape
        return distances.reshape(shape), rows.reshape(shape)

    def fixed(self, x, r, batch, settings: SearchSettings, limit: int) -> FixedNeighbors:
        """Return the nearest neighbours within the radii, and how many there are."""
        x, r, box = as_dtype(x, settings.dtype), as_dtype(r, settings.dtype), _box(settings)
        rows, found, counts = _radius.nearest_within(
            self.tree, *lax.stop_gradient((x, r, box)), search=_search(settings), limit=limit
        )
        distances = with_slopes(found, self.data, x, rows, box, settings.p)
        shape = (*batch, limit)
        return FixedNeighbors(rows.reshape(shape), distances.reshape(shape), counts.reshape(batch))

    def counts(self, x, r, batch, settings: SearchSettings, eps, workers):
        """Return how many neighbours each query has."""
        x, r, box = as_dtype(x, settings.dtype), as_dtype(r, settings.dtype), _box(settings)
        inputs = lax.stop_gradient((x, r, box))
        return _radius.counts_within(self.tree, *inputs, search=_search(settings)).reshape(batch)

    def fixed_edges(self, r, settings: SearchSettings, relation: str, size: int):
        """Return receivers, senders, distances (size,) and the true number of edges."""
        r, box = as_dtype(r, settings.dtype), _box(settings)
        receivers, senders, found, count = _radius.fixed_edges(
            self.tree, *lax.stop_gradient((r, box)), search=_search(settings), relation=relation, size=size
        )
        ends = self.data.astype(settings.dtype)[jnp.where(receivers < len(self.data), receivers, 0)]
        distances = with_slopes(found[:, None], self.data, ends, senders[:, None], box, settings.p)[:, 0]
        return receivers, senders, distances, count

    def two_point(self, other: "Traced", radii, settings: SearchSettings, own, others, cumulative: bool):
        """Return the pairs within each radius (R,), counted or by their weights."""
        sums = sums_dtype(own, others, traced=True)
        if own is None:
            pairs = self.data.shape[0] * other.data.shape[0]
            if pairs > np.iinfo(sums).max:
                raise OverflowError(
                    f"{self.data.shape[0]} times {other.data.shape[0]} pairs may not fit int32: "
                    "turn x64 mode on to count them under jit"
                )
            own, others = (np.ones(each.data.shape[0], sums) for each in (self, other))
        radii = as_dtype(radii, settings.dtype)
        if not radii.size:
            return jnp.zeros(radii.shape, sums)
        with x64_for(sums):
            own, others = as_dtype(own, sums), as_dtype(others, sums)
            data, radii, box = lax.stop_gradient((self.data, radii, _box(settings)))
            counts = _radius.two_point(other.tree, data, own, others, radii, box, search=_search(settings))
        return counts if cumulative else counts - jnp.concatenate([counts[:1] * 0, counts[:-1]])


def _search(settings: SearchSettings) -> _radius.Search:
    return _radius.Search(settings.p, None, settings.dtype, settings.index_dtype)


def _box(settings: SearchSettings):
    """Return the lengths of the periodic box, None without one."""
    return None if settings.lengths is None else as_dtype(settings.lengths, settings.dtype)
