"""The searches that SciPy and our own structure have in common: what is asked of them, and derivatives."""

from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import x64_for
from .._core._programs import any_traced, eagerly_unless_traced, is_traced
from ._device._arrays import as_dtype
from ._device._slopes import displacements_to, with_slopes
from ._results import FixedNeighbors
from ._settings import Columns, SearchSettings, sums_dtype

__all__ = ["Searcher", "box_of", "displaced", "without_slopes"]


class Searcher(Protocol):
    """The searches of one tree, over points `data` of which the first `n` count; `n` may be traced.

    Queries (q, m) go in, results in the shape of their batch come out. `relation` tells which neighbours
    count, as in `_structure._queries`. Concrete queries that are not finite raise ValueError, traced ones
    have no neighbours. A search itself has no derivative; the distances that it finds get theirs from
    `with_slopes`. Of concrete arrays there are also `csr`, `lists`, `edges`, `pairs`, `ball_tree` and
    `distance_records`, whose sizes depend on values. A `_mesh` has all of these methods, too.
    """

    data: Any
    n: Any

    def _find(self, name: str, x, numbers, settings: SearchSettings, results, **static):
        """Return arrays of the shapes and dtypes of `results`.

        `name` is that of a function of `_device._searches` and of `_host._searches`, of queries `x` (q, m)
        and `numbers`, or where `x` is None of the tree's own points.
        """
        raise NotImplementedError

    def nearest(self, x, batch, columns: Columns, bound, settings: SearchSettings):
        """Return distances and rows, both of shape batch + columns.shape."""
        own = columns.shape
        shape, wanted = batch + own, "columns" if own else "one"
        results = (shape, settings.dtype), (shape, settings.index_dtype)
        distances, rows = self._find_nearest(x, columns, bound, settings, results, wanted)
        return self._sloped(distances, x, rows, settings), rows

    def others(self, columns: Columns, bound, settings: SearchSettings):
        """Return distances and rows of every point's neighbours, without itself and one column less."""
        shape = len(self.data), columns.k - 1
        results = (shape, settings.dtype), (shape, settings.index_dtype)
        distances, rows = self._find_nearest(self.data, columns, bound, settings, results, "others")
        return self._sloped(distances, self.data, rows, settings), rows

    def edges_of_nearest(self, columns: Columns, settings: SearchSettings, loop: bool):
        """Return senders, receivers and distances of every point's neighbours, and how many there are."""
        size = (len(self.data) * (columns.shape[0] if loop else columns.k - 1),)
        rows = size, settings.index_dtype
        results = rows, rows, (size, settings.dtype), ((), settings.index_dtype)
        wanted = "edges_loop" if loop else "edges"
        found = self._find_nearest(self.data, columns, np.inf, settings, results, wanted)
        senders, receivers, distances, count = found
        return senders, receivers, self._sloped(distances, self.data, senders, settings), count

    def _find_nearest(self, x, columns, bound, settings, results, wanted):
        n = len(self.data)
        static = {"k": max(min(columns.k, n), 1), "columns": columns.among(n), "wanted": wanted}
        return self._find("nearest_columns", x, (bound, settings.eps), settings, results, **static)

    def fixed(self, x, r, batch, settings: SearchSettings, limit: int) -> FixedNeighbors:
        """Return the nearest neighbours within the radii, and how many there are."""
        shape = (*batch, limit)
        results = (shape, settings.index_dtype), (shape, settings.dtype), (batch, settings.index_dtype)
        rows, distances, counts = self._find("nearest_within", x, (r,), settings, results, limit=limit)
        return FixedNeighbors(rows, self._sloped(distances, x, rows, settings), counts)

    def counts(self, x, r, batch, settings: SearchSettings):
        """Return how many neighbours each query has."""
        return self._find("counts_within", x, (r,), settings, ((batch, settings.index_dtype),))[0]

    def fixed_edges(self, r, settings: SearchSettings, relation: str, size: int):
        """Return receivers, senders, distances (size,) and the true number of edges."""
        rows = (size,), settings.index_dtype
        results = rows, rows, ((size,), settings.dtype), ((), settings.index_dtype)
        static = {"relation": relation, "size": size}
        receivers, senders, found, count = self._find("fixed_edges", None, (r,), settings, results, **static)
        if any_traced(self.data, settings.lengths) and len(self.data):
            ends = self.data[jnp.where(receivers < as_dtype(self.n, receivers.dtype), receivers, 0)]
            found = self._sloped(found, ends, senders, settings)
        return receivers, senders, found, count

    def fixed_pairs(self, r, settings: SearchSettings, size: int):
        """Return pairs (size, 2), the lower row first, their distances and the true number of pairs."""
        receivers, senders, *others = self.fixed_edges(r, settings, "later", size)
        with eagerly_unless_traced(receivers):
            return _low_row_first(receivers, senders), *others

    def two_point(self, other: "Searcher", radii, settings: SearchSettings, own, others, cumulative: bool):
        """Return the pairs within each radius (R,), counted or by their weights; concrete ones as NumPy's."""
        values = self.data, self.n, other.data, other.n, radii, settings.lengths, own, others
        traced = any_traced(*values)
        sums = sums_dtype(own, others, traced)
        pairs = len(self.data) * len(other.data)
        if own is None and pairs > np.iinfo(sums).max:
            raise OverflowError(
                f"{len(self.data)} times {len(other.data)} pairs may not fit int32: turn x64 mode on to "
                "count them under jit"
            )
        xp = jnp if traced else np
        if not (radii.size and pairs):
            return xp.zeros(radii.shape, sums)
        counts = self._pair_sums(other, radii, settings, own, others, sums)
        with x64_for(sums):
            return counts if cumulative else xp.diff(counts, prepend=counts[:1] * 0)

    def _pair_sums(self, other, radii, settings: SearchSettings, own, others, sums):
        """Return the sums of the products of weights of pairs within each radius; of 1 without weights."""
        raise NotImplementedError

    def _sloped(self, distances, x, rows, settings: SearchSettings):
        """Return the distances from x (q, m) to rows (q, ...) with their derivatives, 0 to no point."""
        if not any_traced(self.data, settings.lengths, x) or not len(self.data):
            return distances
        q, lines = len(x), rows.reshape(len(x), -1)
        if not (type(self.n) is int and self.n == len(self.data)):  # from n on there are no points
            lines = jnp.where(lines < as_dtype(self.n, rows.dtype), lines, len(self.data))
        x, box = as_dtype(x, settings.dtype), box_of(settings)
        sloped = with_slopes(distances.reshape(q, -1), self.data, x, lines, box, settings.p)
        return sloped.reshape(distances.shape)


@jax.jit
def _low_row_first(receivers, senders):
    return jnp.stack([jnp.minimum(receivers, senders), jnp.maximum(receivers, senders)], axis=1)


_displaced = jax.jit(displacements_to, static_argnames=("dtype",))


def displaced(data, x, rows, n, settings: SearchSettings):
    """Return the vectors from traced `x` (..., m) to the points of the rows (...) or (..., k)."""
    return _displaced(data, x, rows, box_of(settings), n, dtype=settings.dtype)


def box_of(settings: SearchSettings):
    """Return the lengths of the periodic box, None without one."""
    return None if settings.lengths is None else as_dtype(settings.lengths, settings.dtype)


def without_slopes(values):
    """Return values that no derivative flows through: integers, too, which `allow_int` has traced."""
    return jax.tree.map(_without_slopes, values)


def _without_slopes(x):
    if not is_traced(x):
        return x
    if jnp.issubdtype(x.dtype, jnp.floating):
        return lax.stop_gradient(x)
    bits = jnp.dtype(f"uint{8 * x.dtype.itemsize}")
    return lax.bitcast_convert_type(lax.bitcast_convert_type(x, bits), x.dtype)
