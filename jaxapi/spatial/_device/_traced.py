"""Searches inside of a transformation: abstract arrays, fixed shapes, derivatives."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for
from ..._core._typing import Array
from .._results import FixedNeighbors
from .._settings import Columns, SearchSettings, sums_dtype
from .._structure._tree import Tree
from . import _radius
from ._arrays import as_dtype
from ._few import nearest_of_traced
from ._nearest import neighbour_edges, picked, without_own
from ._slopes import displacements_to, with_slopes
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
            k=max(min(columns.k, n), 1),
            p=settings.p,
            dtype=dtype,
            index_dtype=settings.index_dtype,
        )
        distances = self._with_slopes(found, x, rows, box, settings)
        distances, rows = picked(distances, rows, n, columns.among(n))
        shape = batch + columns.shape
        return distances.reshape(shape), rows.reshape(shape)

    def others(self, columns: Columns, bound, settings: SearchSettings, workers):
        """Return distances and rows of every point's neighbours, without itself and one column less."""
        n = self.data.shape[0]
        return _without_own(*self.nearest(self.data, (n,), columns, bound, 0.0, settings, workers))

    def edges_of_nearest(self, columns: Columns, settings: SearchSettings, loop: bool):
        """Return senders, receivers and distances of every point's neighbours, and how many there are."""
        n = self.data.shape[0]
        if loop:
            found = self.nearest(self.data, (n,), columns, jnp.inf, 0.0, settings, 1)
        else:
            found = self.others(columns, jnp.inf, settings, 1)
        return _neighbour_edges(*found, n)

    def displacements(self, x, rows, settings: SearchSettings):
        """Return the vectors from `x` (..., m) to the points of the rows (...) or (..., k)."""
        inputs = self.data, x, rows, _box(settings)
        return _displacements_to(*inputs, self.data.shape[0], dtype=settings.dtype)

    def fixed(self, x, r, batch, settings: SearchSettings, limit: int) -> FixedNeighbors:
        """Return the nearest neighbours within the radii, and how many there are."""
        x, r, box = as_dtype(x, settings.dtype), as_dtype(r, settings.dtype), _box(settings)
        rows, found, counts = _radius.nearest_within(
            self.tree, *lax.stop_gradient((x, r, box)), search=_search(settings), limit=limit
        )
        distances = self._with_slopes(found, x, rows, box, settings)
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
        if not len(self.data):
            return receivers, senders, found, count
        ends = self.data.astype(settings.dtype)[jnp.where(receivers < len(self.data), receivers, 0)]
        distances = self._with_slopes(found[:, None], ends, senders[:, None], box, settings)[:, 0]
        return receivers, senders, distances, count

    def _with_slopes(self, found, x, rows, box, settings: SearchSettings):
        """Return the distances with their derivatives, of which those to no point have none."""
        return with_slopes(found, self.data, x, rows, box, settings.p) if len(self.data) else found

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
        if not (radii.size and len(self.data) and len(other.data)):
            return jnp.zeros(radii.shape, sums)
        with x64_for(sums):
            own, others = as_dtype(own, sums), as_dtype(others, sums)
            data, radii, box = lax.stop_gradient((self.data, radii, _box(settings)))
            counts = _radius.two_point(other.tree, data, own, others, radii, box, search=_search(settings))
        return counts if cumulative else counts - jnp.concatenate([counts[:1] * 0, counts[:-1]])


_displacements_to = jax.jit(displacements_to, static_argnames=("dtype", "xp"))
_without_own, _neighbour_edges = jax.jit(without_own), jax.jit(neighbour_edges)


def _search(settings: SearchSettings) -> _radius.Search:
    return _radius.Search(settings.p, None, settings.dtype, settings.index_dtype)


def _box(settings: SearchSettings):
    """Return the lengths of the periodic box, None without one."""
    return None if settings.lengths is None else as_dtype(settings.lengths, settings.dtype)
