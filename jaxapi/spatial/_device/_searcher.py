"""Searches of concrete arrays on a device: compiled calls that serve many sizes."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..._tracing import eagerly
from ..._x64 import x64_for
from .._results import FixedNeighbors, Neighbors
from .._settings import Columns, SearchSettings
from .._structure._build import padded_size
from .._structure._prefix import first_lines, lines_of_queries
from .._structure._shapes import calls_before, in_shape
from .._structure._tree import Tree
from . import _engines, _radius
from ._arrays import NOT_FINITE, RECORD, constant_on, inputs_for, padded, padded_with_radius
from ._finite import all_finite, on_its_way
from ._nearest import LARGEST_PIECE, nearest
from ._structure import structure

__all__ = ["Device"]

REPEATED = 4  # calls


class Device:
    """The searches of a tree over concrete points; queries (q, m) that are not finite raise ValueError."""

    def __init__(self, data, tree: Tree):
        self.data, self.tree = data, tree

    prepare = staticmethod(structure)  # a device builds while the answer about the values comes back

    def nearest(self, x, batch, columns: Columns, bound, eps, settings: SearchSettings, workers):
        """Return distances and rows, both of shape batch + columns.shape."""
        n, q = self.data.shape[0], x.shape[0]
        dtype, shape = settings.dtype, batch + columns.shape
        engine = _engines.engine_of(self.data)
        static = {
            "k": min(columns.k, n),
            "columns": columns.among(n),
            "p": settings.p,
            "dtype": dtype,
            "index_dtype": settings.index_dtype,
            "engine": engine,
        }
        with eagerly(), x64_for(dtype, settings.index_dtype):
            numbers = [constant_on(each, dtype, self.data.sharding) for each in (bound, eps)]
            arguments = *numbers, self._box(settings)
            again = partial(self._comes_again, engine, "nearest", x, *static.values())
            if x is self.data and self._lies_in_order(engine, static["k"]):
                lines = n if again() else self.tree.points.shape[1]
                found, finite = search_own_points(self.tree, *arguments, lines=lines, **static), True
            elif again():
                x = inputs_for(self.data, x, dtype)
                finite = all_finite(x)
                found = search_columns(self.tree, x, *arguments, **static)
            else:
                x, finite = padded(inputs_for(self.data, x, dtype), padded_size(q))
                found = search_columns(self.tree, x, *arguments, **static)
            finite = on_its_way(finite)
            found = lines_of_queries(q, *found)
            distances, rows = (in_shape(each, shape) for each in found)
        if not finite:
            raise ValueError(NOT_FINITE)
        return distances, rows

    def _lies_in_order(self, engine, k: int) -> bool:
        """Tell whether the engine searches the tree's own points as they lie, without ordering them."""
        slots = self.tree.points.shape[1]
        return hasattr(engine, "nearest_of_all") and not self.tree.is_flat and slots * k <= LARGEST_PIECE

    def _comes_again(self, engine, work: str, x, *static) -> bool:
        """Tell whether as many queries came several times, so that a program for their number alone pays.

        It saves a copy that is padded and results that are cut off, a large part of a short call.
        """
        compiles_soon = not self.tree.is_flat and hasattr(engine, "nearest_of_all")
        return compiles_soon and calls_before(work, x.shape, x.dtype, *static) >= REPEATED

    def csr(self, x, r, settings: SearchSettings, sort: bool) -> Neighbors:
        """Return all neighbours in CSR form."""
        with eagerly(), x64_for(settings.dtype, settings.index_dtype):
            q = x.shape[0]
            search = self._search(settings)
            x, r, _ = self._ready("csr", x, r, search)
            indptr, rows, distances = _radius.csr(
                self.tree, x, r, self._box(settings), search=search, sort=sort
            )
            (indptr,) = first_lines(q + 1, indptr)
            return Neighbors(indptr, rows, distances)

    def fixed(self, x, r, batch, settings: SearchSettings, limit: int) -> FixedNeighbors:
        """Return the nearest neighbours within the radii, and how many there are."""
        q = x.shape[0]
        with eagerly(), x64_for(settings.dtype, settings.index_dtype):
            search = self._search(settings)
            x, r, finite = self._ready("fixed", x, r, search, limit)
            found = _radius.nearest_within(self.tree, x, r, self._box(settings), search=search, limit=limit)
            finite = on_its_way(finite)
            rows, distances, counts = lines_of_queries(q, *found)
            if not finite:
                raise ValueError(NOT_FINITE)
            shape = (*batch, limit)
            return FixedNeighbors(in_shape(rows, shape), in_shape(distances, shape), in_shape(counts, batch))

    def counts(self, x, r, batch, settings: SearchSettings, eps, workers):
        """Return how many neighbours each query has."""
        q = x.shape[0]
        with eagerly(), x64_for(settings.dtype, settings.index_dtype):
            search = self._search(settings)
            x, r, finite = self._ready("counts", x, r, search)
            counts = _radius.counts_within(self.tree, x, r, self._box(settings), search=search)
            finite = on_its_way(finite)
            (counts,) = lines_of_queries(q, counts)
            if not finite:
                raise ValueError(NOT_FINITE)
            return in_shape(counts, batch)

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
        with eagerly(), x64_for(settings.dtype, settings.index_dtype):
            *found, total = self._edges(r, settings, relation)
            return first_lines(total, *found)

    def fixed_edges(self, r, settings: SearchSettings, relation: str, size: int):
        """Return receivers, senders, distances (size,) and the true number of edges."""
        with eagerly(), x64_for(settings.dtype, settings.index_dtype):
            r, box, search = self._constant(r), self._box(settings), self._search(settings)
            return _radius.fixed_edges(self.tree, r, box, search=search, relation=relation, size=size)

    def pairs(self, r, settings: SearchSettings, eps, output_type: str):
        """Return SciPy's set of pairs, or an array of them."""
        with eagerly(), x64_for(settings.dtype, settings.index_dtype):
            r, box, search = self._constant(r), self._box(settings), self._search(settings)
            pairs, total = _radius.pairs(self.tree, r, box, search=search)
            (pairs,) = first_lines(total, pairs)
            return pairs if output_type == "ndarray" else set(map(tuple, np.asarray(pairs).tolist()))

    def two_point(self, other: "Device", radii, settings: SearchSettings, own, others, cumulative: bool):
        """Return the pairs within each radius (R,), counted or by their weights; on the host."""
        sums = np.dtype(np.int64 if own is None else np.float64)
        if not len(radii):
            return np.zeros(0, sums)
        with eagerly(), x64_for(sums):
            x, _ = padded(self.data, padded_size(self.data.shape[0]))
            own, others = (_weights(of.data, weights, sums) for of, weights in ((self, own), (other, others)))
            counts = np.asarray(
                _radius.two_point(
                    other.tree, x, own, others, radii, self._box(settings), search=self._search(settings)
                )
            )
        return counts if cumulative else np.diff(counts, prepend=counts[:1] * 0)

    def _edges(self, r, settings: SearchSettings, relation: str):
        r, box, search = self._constant(r), self._box(settings), self._search(settings)
        return _radius.edges(self.tree, r, box, search=search, relation=relation)

    def _between(self, other: "Device", r, settings: SearchSettings) -> Neighbors:
        return other.csr(self.data, np.broadcast_to(r, len(self.data)), settings, False)

    def _constant(self, number: np.generic):
        """Return a number on the device."""
        return constant_on(number.item(), number.dtype, self.data.sharding)

    def _box(self, settings: SearchSettings):
        """Return the lengths of the periodic box on the device, None without one."""
        lengths = settings.lengths
        return None if lengths is None else constant_on(lengths, settings.dtype, self.data.sharding)

    def _search(self, settings: SearchSettings) -> _radius.Search:
        engine = _engines.engine_of(self.data)
        return _radius.Search(settings.p, engine, settings.dtype, settings.index_dtype)

    def _ready(self, work: str, x, r, search: _radius.Search, *static):
        """Return queries and radii, one for each query or one for all, and whether all queries are finite.

        Unless such queries come again, they are padded to one of a few sizes; pads have no neighbours.
        """
        q, rows, home = len(x), padded_size(len(x)), self.data.sharding
        x = inputs_for(self.data, x, search.dtype)
        if r.strides != (0,) or not q:
            x, finite = padded(x, rows)
            r = jax.device_put(np.pad(r, (0, rows - q), constant_values=-1), home)
        elif self._comes_again(search.engine, work, x, search, *static):
            r, finite = self._constant(r[0]), all_finite(x)
        else:
            x, finite, r = padded_with_radius(x, self._constant(r[0]), rows)
        return x if isinstance(x, jax.Array) else jax.device_put(x, home), r, finite


STATIC = "k", "columns", "p", "dtype", "index_dtype", "engine"


@partial(jax.jit, static_argnames=STATIC)
def search_columns(tree, x, bound, eps, box, *, k, columns, p, dtype, index_dtype, engine):
    """Return distances and rows of the columns asked for, (q, columns), or (q,) for the nearest alone."""
    settings = {"k": k, "p": p, "dtype": dtype, "index_dtype": index_dtype, "engine": engine}
    return _columns(*nearest(tree, x, bound, eps, box, **settings), tree.n, k, columns)


@partial(jax.jit, static_argnames=("lines", *STATIC))
def search_own_points(tree, bound, eps, box, *, lines, k, columns, p, dtype, index_dtype, engine):
    """Do the same for the tree's points, by an engine that has `nearest_of_all`, in n lines or more."""
    distances, rows = engine.nearest_of_all(tree, bound, eps, box, lines=lines, k=k, p=p)
    return _columns(distances, rows.astype(index_dtype), tree.n, k, columns)


def _columns(distances, rows, n, k, columns):
    distances, rows = picked(distances, rows, n, columns)
    if columns is None and k == 1:
        return distances[:, 0], rows[:, 0]
    return distances, rows


def picked(distances, rows, n, columns):
    """Return the columns asked for, of all that were found."""
    if columns is None:
        return distances, rows
    columns = np.asarray(columns)
    there = columns >= 0
    rows = jnp.where(there, rows[:, columns], jnp.asarray(n, rows.dtype))
    return jnp.where(there, distances[:, columns], jnp.inf), rows


@jax.jit
def low_row_first(receivers, senders):
    """Return the pairs (e, 2) with the lower row first."""
    return jnp.stack([jnp.minimum(receivers, senders), jnp.maximum(receivers, senders)], axis=1)


def _weights(data, weights, dtype):
    """Return the weights of points, which are 1 where none are given, and 0 of the pads."""
    count = len(data)
    if weights is None:
        return _ones(constant_on(count, np.int32, data.sharding), size=padded_size(count), dtype=dtype)
    return np.pad(weights, (0, padded_size(count) - count))


@partial(jax.jit, static_argnames=("size", "dtype"))
def _ones(count, *, size: int, dtype):
    return (jax.lax.iota(np.int32, size) < count).astype(dtype)


def _to_lists(found: Neighbors, in_order: bool) -> list[list[int]]:
    """Return the rows of each query as a Python list."""
    rows, ends = np.asarray(found.indices).tolist(), np.asarray(found.indptr).tolist()
    lists = [rows[start:stop] for start, stop in itertools.pairwise(ends)]
    if in_order:
        for each in lists:
            each.sort()
    return lists
