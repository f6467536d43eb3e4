"""Searches of concrete arrays on a device: each is checked, padded, run as one compiled program, and cut."""

import contextlib
import itertools
import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for
from ..._core._programs import compiled, eagerly
from .._results import FixedNeighbors, Neighbors
from .._settings import Columns, SearchSettings
from .._structure._build import padded_size
from .._structure._lengths import first_lines, in_shape
from .._structure._tree import Tree
from . import _engines, _radius
from ._arrays import NOT_FINITE, RECORD, constant_on
from ._finite import all_finite, on_its_way
from ._nearest import LARGEST_PIECE, nearest, neighbour_edges, picked, without_own
from ._slopes import displacements_to
from ._structure import structure

__all__ = ["Device"]

INT32 = np.dtype(np.int32)


class Device:
    """The searches of a tree over concrete points; queries (q, m) that are not finite raise ValueError.

    Programs are compiled for queries of a few numbers, `padded_size`, and know how many count.
    """

    def __init__(self, data, tree: Tree):
        self.data, self.tree = data, tree
        self.engine: Any = _engines.engine_of(data)

    prepare = staticmethod(structure)  # a device builds while the answer about the values comes back

    def nearest(self, x, batch, columns: Columns, bound, eps, settings: SearchSettings, workers):
        """Return distances and rows, both of shape batch + columns.shape."""
        with self._context(settings):
            found, finite = self._nearest(x, columns, bound, eps, settings, "columns")
            _check(on_its_way(finite))
            distances, rows = self._cut(found, x.shape[0], batch + columns.shape)
        return distances, rows

    def others(self, columns: Columns, bound, settings: SearchSettings, workers):
        """Return distances and rows of every point's neighbours, without itself and one column less."""
        with self._context(settings):
            found, _ = self._nearest(self.data, columns, bound, 0.0, settings, "others")
            distances, rows = first_lines(len(self.data), *found)
        return distances, rows

    def edges_of_nearest(self, columns: Columns, settings: SearchSettings, loop: bool):
        """Return senders, receivers and distances of every point's neighbours, and how many there are."""
        with self._context(settings):
            wanted = "edges_loop" if loop else "edges"
            (*found, count), _ = self._nearest(self.data, columns, np.inf, 0.0, settings, wanted)
            size = len(self.data) * (columns.shape[0] if loop else columns.k - 1)
            return *first_lines(size, *found), count

    def _nearest(self, x, columns: Columns, bound, eps, settings: SearchSettings, wanted: str):
        """Return the results of lines of queries, and whether the queries are finite."""
        n, dtype = self.data.shape[0], settings.dtype
        k = max(min(columns.k, n), 1)
        numbers = [constant_on(each, dtype, self.data.sharding) for each in (bound, eps)]
        static = {"k": k, "columns": columns.among(n), "search": self._search(settings), "wanted": wanted}
        own = x is self.data and self._lies_in_order(k)
        lines = (None, self._constant(INT32.type(n)), True) if own else self._lines(x, settings)
        queries, count, finite = lines
        return nearest_of_lines(self.tree, queries, count, *numbers, self._box(settings), **static), finite

    def _lies_in_order(self, k: int) -> bool:
        """Tell whether the engine searches the tree's own points as they lie, without ordering them."""
        slots = self.tree.points.shape[1]
        return hasattr(self.engine, "nearest_of_all") and not self.tree.is_flat and slots * k <= LARGEST_PIECE

    def displacements(self, x, rows, settings: SearchSettings):
        """Return the vectors from `x` (..., m) to the points of the rows (...) or (..., k)."""
        shape, q = (*rows.shape, x.shape[-1]), math.prod(x.shape[:-1])
        with eagerly(), x64_for(settings.dtype, rows.dtype):
            x, rows = (in_shape(each, (q, -(-each.size // max(q, 1)))) for each in (x, rows))
            x, count, _ = self._lines(x, settings, asks=False)
            if not isinstance(rows, jax.Array) or rows.sharding != self.data.sharding:
                rows = np.asarray(rows)
            inputs = self.engine.with_room(rows, len(x)), count, self._box(settings)
            data = self.engine.with_room(self.data, padded_size(len(self.data)))
            found = displacements_of_lines(
                data, self._constant(INT32.type(len(self.data))), x, *inputs, search=self._search(settings)
            )
            return self._cut((found,), q, shape)[0]

    def csr(self, x, r, settings: SearchSettings, sort: bool) -> Neighbors:
        """Return all neighbours in CSR form."""
        with self._context(settings):
            queries, count, _ = self._lines(x, settings, asks=False)
            search, radius = self._search(settings), self._radii(r, queries)
            indptr, rows, distances = _radius.csr(
                self.tree, queries, count, radius, self._box(settings), search=search, sort=sort
            )
            (indptr,) = first_lines(len(x) + 1, indptr)
            return Neighbors(indptr, rows, distances)

    def fixed(self, x, r, batch, settings: SearchSettings, limit: int) -> FixedNeighbors:
        """Return the nearest neighbours within the radii, and how many there are."""
        with self._context(settings):
            found = self._around(_radius.nearest_within, x, r, settings, limit=limit)
            rows, distances, counts = found
            shape = (*batch, limit)
            rows, distances = self._cut((rows, distances), x.shape[0], shape)
            return FixedNeighbors(rows, distances, *self._cut((counts,), x.shape[0], batch))

    def counts(self, x, r, batch, settings: SearchSettings, eps, workers):
        """Return how many neighbours each query has."""
        with self._context(settings):
            counts = self._around(_radius.counts_within, x, r, settings)
            return self._cut((counts,), x.shape[0], batch)[0]

    def lists(self, x, r, settings: SearchSettings, eps, workers, in_order: bool) -> list[list[int]]:
        """Return the rows of each query's neighbours."""
        found = self.csr(x, r, settings, False)
        return _to_lists(found, in_order)

    def ball_tree(self, other: "Device", r, settings: SearchSettings, eps) -> list[list[int]]:
        """Return for each point of this tree the rows of its neighbours in the other."""
        return _to_lists(self._between(other, r, settings), True)

    def distance_records(self, other: "Device", r, settings: SearchSettings) -> np.ndarray:
        """Return the distances to the other tree's points as SciPy's record array with fields i, j, v."""
        indptr, rows, distances = map(np.asarray, self._between(other, r, settings))
        found = np.empty(len(rows), RECORD)
        found["i"] = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        found["j"], found["v"] = rows, distances
        return found

    def edges(self, r, settings: SearchSettings, relation: str):
        """Return receivers, senders and distances of all edges."""
        with self._context(settings):
            inputs = self.tree, self._constant(r), self._box(settings)
            *found, total = _radius.edges(*inputs, search=self._search(settings), relation=relation)
            return first_lines(total, *found)

    def fixed_edges(self, r, settings: SearchSettings, relation: str, size: int):
        """Return receivers, senders, distances (size,) and the true number of edges."""
        with self._context(settings):
            inputs = self.tree, self._constant(r), self._box(settings)
            return _radius.fixed_edges(*inputs, search=self._search(settings), relation=relation, size=size)

    def pairs(self, r, settings: SearchSettings, eps, output_type: str):
        """Return SciPy's set of pairs, or an array of them."""
        with self._context(settings):
            inputs = self.tree, self._constant(r), self._box(settings)
            pairs, total = _radius.pairs(*inputs, search=self._search(settings))
            (pairs,) = first_lines(total, pairs)
            return pairs if output_type == "ndarray" else set(map(tuple, np.asarray(pairs).tolist()))

    def two_point(self, other: "Device", radii, settings: SearchSettings, own, others, cumulative: bool):
        """Return the pairs within each radius (R,), counted or by their weights; on the host."""
        sums = np.dtype(np.int64 if own is None else np.float64)
        if not len(radii):
            return np.zeros(0, sums)
        with eagerly(), x64_for(sums):
            x, count, _ = self._lines(self.data, settings, asks=False)
            own, others = (
                None if weights is None else np.pad(weights, (0, padded_size(len(weights)) - len(weights)))
                for weights in (own, others)
            )
            inputs = x, count, own, others, radii, self._box(settings)
            counts = np.asarray(pair_sums(other.tree, *inputs, search=self._search(settings), sums=sums))
        return counts if cumulative else np.diff(counts, prepend=counts[:1] * 0)

    def _around(self, function, x, r, settings: SearchSettings, **static):
        """Return what a function of queries and radii finds for lines of them."""
        queries, count, finite = self._lines(x, settings)
        radius, box, search = self._radii(r, queries), self._box(settings), self._search(settings)
        inputs = self.tree, queries, count, radius, box
        found = around_lines(*inputs, function=function, search=search, static=tuple(static.items()))
        _check(on_its_way(finite))
        return found

    @staticmethod
    def _cut(found, q: int, shape):
        """Return the results of the first q lines in the shape of their batch."""
        return tuple(in_shape(each, shape) for each in first_lines(q, *found))

    def _between(self, other: "Device", r, settings: SearchSettings) -> Neighbors:
        return other.csr(self.data, np.broadcast_to(r, len(self.data)), settings, False)

    def _lines(self, x, settings: SearchSettings, *, asks: bool = True):
        """Return queries with room for more, how many they are, and, if asked, whether all are finite."""
        if not isinstance(x, jax.Array) or x.sharding != self.data.sharding:
            x = np.asarray(x, settings.dtype)
        count = self._constant(INT32.type(len(x)))
        return self.engine.with_room(x, padded_size(len(x))), count, all_finite(x) if asks else None

    def _radii(self, r: np.ndarray, queries):
        """Return the radii of lines of queries, or the one for all."""
        if len(r) and r.strides == (0,):
            return self._constant(r[0])
        return jax.device_put(np.pad(r, (0, len(queries) - len(r))), self.data.sharding)

    def _constant(self, number: np.generic):
        """Return a number on the device."""
        return constant_on(number.item(), number.dtype, self.data.sharding)

    def _box(self, settings: SearchSettings):
        """Return the lengths of the periodic box on the device, None without one."""
        lengths = settings.lengths
        return None if lengths is None else constant_on(lengths, settings.dtype, self.data.sharding)

    def _search(self, settings: SearchSettings) -> _radius.Search:
        return _radius.Search(settings.p, self.engine, settings.dtype, settings.index_dtype)

    @contextlib.contextmanager
    def _context(self, settings: SearchSettings):
        # Rows that fill an array up are nan: no results, which jax_debug_nans is for.
        with eagerly(), x64_for(settings.dtype, settings.index_dtype), jax.debug_nans(False):
            yield


def _check(finite) -> None:
    if not finite:
        raise ValueError(NOT_FINITE)


def _to_lists(found: Neighbors, in_order: bool) -> list[list[int]]:
    """Return the rows of each query as a Python list."""
    rows, ends = np.asarray(found.indices).tolist(), np.asarray(found.indptr).tolist()
    lists = [rows[start:stop] for start, stop in itertools.pairwise(ends)]
    if in_order:
        for each in lists:
            each.sort()
    return lists


# --- programs ------------------------------------------------------------------------------------------


@partial(compiled, static_argnames=("k", "columns", "search", "wanted"))
def nearest_of_lines(tree, x, count, bound, eps, box, *, k, columns, search: _radius.Search, wanted: str):
    """Return what is wanted of the nearest of the first `count` queries of `x`; None: of the tree's points.

    'columns': distances and rows; 'others': without each point itself; 'edges', 'edges_loop': as a graph.
    """
    settings: dict[str, Any] = {"k": k, "p": search.p}
    if x is None:
        slots = tree.points.shape[1]
        distances, rows = search.engine.nearest_of_all(tree, bound, eps, box, lines=slots, **settings)
        rows = rows.astype(search.index_dtype)
    else:
        dtypes: dict[str, Any] = {"dtype": search.dtype, "index_dtype": search.index_dtype}
        x = search.lines(x, count)
        distances, rows = nearest(tree, x, bound, eps, box, engine=search.engine, **dtypes, **settings)
    distances, rows = picked(distances, rows, tree.n, columns)
    if wanted in ("others", "edges"):
        distances, rows = without_own(distances, rows)
    if wanted in ("edges", "edges_loop"):
        return neighbour_edges(distances, rows, count)
    return distances, rows


@partial(compiled, static_argnames=("function", "search", "static"))
def around_lines(tree, x, count, radius, box, *, function, search: _radius.Search, static):
    """Return what a function of queries and radii finds for the first `count` queries of `x`."""
    return function(tree, search.lines(x, count), radius, box, search=search, **dict(static))


@partial(compiled, static_argnames="search")
def displacements_of_lines(data, n, x, rows, count, box, *, search: _radius.Search):
    """Return the vectors from the first `count` lines of `x` to those of rows below n, which `data` has."""
    lines = partial(_engines.run, search.engine, "lines")
    points, x = lines(data, n, dtype=search.dtype), search.lines(x, count)
    return displacements_to(points, x, lines(rows, count, dtype=rows.dtype), box, n, dtype=search.dtype)


@partial(compiled, static_argnames=("search", "sums"))
def pair_sums(tree, x, count, own, others, radii, box, *, search: _radius.Search, sums):
    """Return the sums of the products of weights of pairs; without weights they are 1."""
    if own is None:
        own = (lax.iota(INT32, len(x)) < count).astype(sums)
        others = jnp.ones(tree.points.shape[1], sums)
    return _radius.two_point(tree, search.lines(x, count), own, others, radii, box, search=search)
