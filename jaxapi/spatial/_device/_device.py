"""The searches of our own structure: concrete arrays are padded and cut, traced ones taken as they are."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._devices import in_host_memory
from ..._core._dtypes import x64_for
from ..._core._programs import compiled, eagerly
from .._arguments import check_rows
from .._results import Neighbors
from .._searcher import Searcher, box_of, displaced, without_slopes
from .._settings import SearchSettings
from .._structure._build import padded_size
from .._structure._lengths import first_lines, in_shape
from . import _searches
from ._arrays import RECORD, as_dtype, constant_on
from ._finite import all_finite, check_finite
from ._slopes import displacements_to

__all__ = ["Device"]

INT32 = np.dtype(np.int32)


class Device(Searcher):
    """The searches by an engine of `_engines`, None for that of the platform that a program is compiled for.

    Programs of concrete arrays are compiled for queries of a few numbers, `padded_size`, and know how many
    count; `in_place` they run inside of a transformation, as parts of its program. Lines that fill an array
    up are nan: no results, which `jax.debug_nans` is for.
    """

    def __init__(self, data, n, tree, engine, in_place: bool):
        self.data, self.n, self.engine, self.in_place = data, n, engine, in_place
        self.tree = without_slopes(tree) if in_place else tree

    def _find(self, name: str, x, numbers, settings: SearchSettings, results, **static):
        """Return what a search finds, in the shapes of the results."""
        function, static["search"] = getattr(_searches, name), self._search(settings)
        if self.in_place:
            numbers = *(as_dtype(each, settings.dtype) for each in numbers), box_of(settings)
            lines = () if x is None else (as_dtype(x, settings.dtype), self._count(x))
            found = function(self.tree, *without_slopes((*lines, *numbers)), **static)
            return [each.reshape(shape) for each, (shape, _) in zip(found, results, strict=True)]
        with eagerly(), x64_for(settings.dtype, settings.index_dtype), jax.debug_nans(False):
            lines, finite = ((), True) if x is None else self._lines(x, settings, static.get("k"))
            inputs = [self._number(each, settings, lines) for each in numbers]
            found = function(self.tree, *lines, *inputs, self._box(settings), **static)
            check_finite(finite)
            return _cut(found, results)

    def displacements(self, x, rows, settings: SearchSettings):
        """Return the vectors from `x` (..., m) to the points of the rows (...) or (..., k)."""
        if self.in_place:
            return displaced(self.data, x, rows, self.n, settings)
        shape, q = (*rows.shape, x.shape[-1]), math.prod(x.shape[:-1])
        with eagerly(), x64_for(settings.dtype, rows.dtype):
            x, rows = (in_shape(each, (q, -(-each.size // max(q, 1)))) for each in (x, rows))
            (x, count), _ = self._lines(x, settings)
            inputs = self._with_room(rows, len(x)), count, self._box(settings)
            data = self._with_room(self.data, padded_size(len(self.data)))
            n, search = self._constant(INT32.type(self.n)), self._search(settings)
            found, wrong = _displacements_of_lines(data, n, x, *inputs, search=search)
            if self.has(rows) and np.asarray(in_host_memory(wrong)):
                check_rows(rows, self.n)
            return _cut((found,), ((shape, settings.dtype),))[0]

    def has(self, x) -> bool:
        """Whether a concrete array lies where the points do."""
        return not self.in_place and isinstance(x, jax.Array) and x.sharding == self.data.sharding

    def csr(self, x, r, settings: SearchSettings, sort: bool) -> Neighbors:
        """Return all neighbours in CSR form."""
        with eagerly(), x64_for(settings.dtype, settings.index_dtype), jax.debug_nans(False):
            q, (lines, finite) = len(x), self._lines(x, settings)
            radii, search = self._number(r, settings, lines), self._search(settings)
            x, count = lines
            inputs = self.tree, x, count, radii, self._box(settings)
            indptr, *found = _searches.csr(*inputs, search=search, sort=sort, finite=finite)
            return Neighbors(*first_lines(q + 1, indptr), *found)

    def lists(self, x, r, settings: SearchSettings, in_order: bool) -> list[list[int]]:
        """Return the rows of each query's neighbours."""
        return _to_lists(self.csr(x, r, settings, False), in_order)

    def ball_tree(self, other: "Device", r, settings: SearchSettings) -> list[list[int]]:
        """Return for each point of this tree the rows of its neighbours in the other."""
        return _to_lists(self._between(other, r, settings), True)

    def distance_records(self, other: "Device", r, settings: SearchSettings) -> np.ndarray:
        """Return the distances to the other tree's points as SciPy's record array with fields i, j, v."""
        indptr, rows, distances = map(np.asarray, self._between(other, r, settings))
        found = np.empty(len(rows), RECORD)
        found["i"] = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        found["j"], found["v"] = rows, distances
        return found

    def _between(self, other: "Device", r, settings: SearchSettings) -> Neighbors:
        (data,) = first_lines(self.n, self.data)
        return other.csr(data, np.broadcast_to(r, self.n), settings, False)

    def edges(self, r, settings: SearchSettings, relation: str):
        """Return receivers, senders and distances of all edges."""
        with eagerly(), x64_for(settings.dtype, settings.index_dtype), jax.debug_nans(False):
            inputs = self.tree, self._number(r, settings), self._box(settings)
            *found, total = _searches.edges(*inputs, search=self._search(settings), relation=relation)
            return first_lines(total, *found)

    def pairs(self, r, settings: SearchSettings, output_type: str):
        """Return SciPy's set of pairs, or an array of them."""
        with eagerly(), x64_for(settings.dtype, settings.index_dtype), jax.debug_nans(False):
            inputs = self.tree, self._number(r, settings), self._box(settings)
            pairs, total = _searches.pairs(*inputs, search=self._search(settings))
            (pairs,) = first_lines(total, pairs)
            return pairs if output_type == "ndarray" else set(map(tuple, np.asarray(pairs).tolist()))

    def _pair_sums(self, other, radii, settings: SearchSettings, own, others, sums):
        static = {"search": self._search(settings), "sums": sums}
        if self.in_place:
            x, radii = (as_dtype(each, settings.dtype) for each in (self.data, radii))
            with x64_for(sums):
                own, others = (None if own is None else as_dtype(each, sums) for each in (own, others))
            x, radii, box = without_slopes((x, radii, box_of(settings)))
            inputs = x, self._count(self.data), own, others, radii, box
            return _searches.two_point(other.tree, *inputs, **static)
        with eagerly(), x64_for(sums):
            lines, _ = self._lines(self.data, settings)
            own, others = (
                None if weights is None else np.pad(weights, (0, padded_size(len(weights)) - len(weights)))
                for weights in (own, others)
            )
            inputs = *lines, own, others, radii, self._box(settings)
            return np.asarray(_searches.two_point(other.tree, *inputs, **static))

    def _count(self, x):
        """Return how many lines of queries count inside of a transformation, None for all."""
        return (
            None
            if x is not self.data or (type(self.n) is int and self.n == len(x))
            else as_dtype(self.n, INT32)
        )

    def _lines(self, x, settings: SearchSettings, k: int | None = None):
        """Return queries with room for more and how many count, and whether those of others are finite.

        For the `k` nearest None stands for the tree's own points where the engine searches them as they lie.
        """
        own = x is self.data
        count = constant_on(self.n if own else len(x), INT32, self.data.sharding)
        if own and k and hasattr(self.engine, "nearest_of_all") and not self.tree.is_flat:  # noqa: SIM102
            if self.tree.points.shape[1] * k <= _searches.LARGEST_PIECE:
                return (None, count), True
        if not self.has(x):
            x = np.asarray(x, settings.dtype)
        lines = self.engine.with_room(x, padded_size(len(x)), self.data.sharding)
        return (lines, count), own or all_finite(x, self.engine)

    def _with_room(self, x, rows: int):
        """Return an array that is filled up to so many rows, where the points are."""
        return self.engine.with_room(x if self.has(x) else np.asarray(x), rows, self.data.sharding)

    def _number(self, number, settings: SearchSettings, lines=()):
        """Return a number, or the radii of lines of queries, on the device."""
        if not getattr(number, "ndim", 0):
            return constant_on(float(number), settings.dtype, self.data.sharding)
        if len(number) and number.strides == (0,):
            return self._constant(number[0])
        return jax.device_put(np.pad(number, (0, padded_size(len(number)) - len(number))), self.data.sharding)

    def _constant(self, number: np.generic):
        """Return a number on the device."""
        return constant_on(number.item(), number.dtype, self.data.sharding)

    def _box(self, settings: SearchSettings):
        """Return the lengths of the periodic box on the device, None without one."""
        lengths = settings.lengths
        return None if lengths is None else constant_on(lengths, settings.dtype, self.data.sharding)

    def _search(self, settings: SearchSettings) -> _searches.Search:
        return _searches.Search(settings.p, self.engine, settings.dtype, settings.index_dtype)


def _cut(found, results):
    """Return the first lines of every array, in the shapes of the results."""
    cut = []
    for each, (shape, _) in zip(found, results, strict=True):
        if each.ndim:
            lines = math.prod(shape) // max(math.prod(each.shape[1:]), 1)
            (each,) = first_lines(lines, each)
        cut.append(each if each.shape == shape else each.reshape(shape))
    return cut


def _to_lists(found: Neighbors, in_order: bool) -> list[list[int]]:
    """Return the rows of each query as a Python list."""
    rows, ends = np.asarray(found.indices).tolist(), np.asarray(found.indptr).tolist()
    lists = [rows[start:stop] for start, stop in itertools.pairwise(ends)]
    if in_order:
        for each in lists:
            each.sort()
    return lists


@partial(compiled, static_argnames="search")
def _displacements_of_lines(data, n, x, rows, count, box, *, search: _searches.Search):
    """Return the vectors from the first lines of `x` to rows of `data`, and whether one is no row nor n."""
    points, x = search.lines(data, n), search.lines(x, count)
    there, rows = lax.iota(jnp.int32, len(x)) < count, search.run("lines", rows, count, dtype=rows.dtype)
    wrong = (there[:, None] & ((rows < 0) | (rows > n.astype(rows.dtype)))).any()
    return displacements_to(points, x, rows, box, n, dtype=search.dtype), wrong
