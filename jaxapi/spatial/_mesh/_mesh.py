"""The searches of a tree over points on a mesh, concrete or traced."""

import contextlib
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._programs import any_traced, eagerly, is_traced
from .._arguments import reject_traced
from .._device._arrays import NOT_FINITE, as_dtype, constant_on
from .._results import FixedNeighbors, Neighbors
from .._searcher import Searcher, without_slopes
from .._settings import Columns, SearchSettings, index_dtype, sums_dtype
from .._structure._build import padded_size
from . import _edges, _programs
from ._checks import all_finite
from ._layout import Layout
from ._placement import placed, sent_home
from ._slopes import vectors_to, with_slopes

__all__ = ["Mesh"]

LARGEST = np.iinfo(np.int32).max


class Mesh:
    """The searches of a tree whose points lie on several devices.

    Results lie as the queries do: spread over the mesh, on every device of it, or on one device. A traced
    query that is not finite has no neighbours; concrete ones raise ValueError, in all processes alike.
    """

    def __init__(self, data, forest, layout: Layout, count=None):
        self.data, self.layout, self.count = data, layout, count  # None: as many as the layout says
        self.forest = without_slopes(forest)

    @staticmethod
    def prepare(data, layout: Layout, count=None):
        """Build the trees of all devices; also tell whether all points that count are finite."""
        rows_dtype = index_dtype(layout.n)
        with _context((data, count), data.dtype, rows_dtype):
            points = without_slopes(data)
            finite = count is not None or all_finite(points, layout, spread=True)
            return _programs.build_forest(points, count, layout=layout, rows_dtype=rows_dtype), finite

    def nearest(self, x, batch, columns: Columns, bound, settings: SearchSettings):
        """Return distances and rows, both of shape batch + columns.shape."""
        static = {"layout": self.layout, "columns": columns, "settings": _static(settings)}
        with self._context(settings, x, bound, settings.eps):
            x, spread, home = self._placed(settings, x)
            box = _box(settings)
            inputs = without_slopes((x, *self._numbers(settings, bound, settings.eps), box))
            finite = self._finite(x, spread)
            distances, rows = _programs.nearest_columns(self.forest, *inputs, spread=spread, **static)
            _check(finite)
            distances = self._with_slopes(distances, x, None, rows, box, settings, spread)
            return sent_home((distances, self._counted(rows)), home, batch + columns.shape)

    def _counted(self, rows):
        """Return rows with the number of those that count for none."""
        count = self.count
        return rows if count is None else jnp.where(rows < self.layout.n, rows, as_dtype(count, rows.dtype))

    def nearest_of_all(self, columns: Columns, bound, settings: SearchSettings, order: str):
        """Return distances and rows of every point's neighbours, in the order of the data or of the trees."""
        distances, rows = self._nearest_of_all(columns, bound, settings, order)
        return distances, self._counted(rows)

    def _nearest_of_all(self, columns: Columns, bound, settings: SearchSettings, order: str = "input"):
        static: dict[str, Any] = {"layout": self.layout, "columns": columns, "settings": _static(settings)}
        with self._context(settings, bound, settings.eps):
            box = _box(settings)
            numbers = without_slopes((*self._numbers(settings, bound, settings.eps), box))
            static["s"] = self._own_rows if order == "input" else None
            found = _programs.nearest_of_all(self.forest, *numbers, **static)
            own = self._indices() if order == "tree" and any_traced(self.data, box) else None
            return self._with_slopes(found[0], self.data, own, found[1], box, settings, True), found[1]

    @property
    def _own_rows(self) -> int:
        """How many rows of the data each device has."""
        return len(self.data) // (1 if self.layout.mesh is None else self.layout.axes.size)

    def others(self, columns: Columns, bound, settings: SearchSettings):
        """Return distances and rows of every point's neighbours, without itself and one column less."""
        distances, rows = self._others(columns, bound, settings)
        return distances, self._counted(rows)

    def _others(self, columns: Columns, bound, settings: SearchSettings):
        found = self._nearest_of_all(columns, bound, settings)
        with self._context(settings, *found):
            return _edges.without_own(*found, layout=self.layout)

    def edges_of_nearest(self, columns: Columns, settings: SearchSettings, loop: bool):
        """Return senders, receivers and distances of every point's neighbours, and how many there are."""
        found = (self._nearest_of_all if loop else self._others)(columns, math.inf, settings)
        with self._context(settings, *found):
            *ends, distances, count = _edges.edges(*found, layout=self.layout)
            return *map(self._counted, ends), distances, count

    def displacements(self, x, rows, settings: SearchSettings):
        """Return the vectors from `x` (..., m) to the points of the rows (...) or (..., k)."""
        q, shape = math.prod(x.shape[:-1]), (*rows.shape, x.shape[-1])
        with self._context(settings, x, rows):
            x, rows, spread, home = self._placed(settings, x.reshape(q, -1), rows.reshape(q, -1))
            x = as_dtype(x, settings.dtype)
            if self.count is not None:
                rows = jnp.where(rows < as_dtype(self.count, rows.dtype), rows, self.layout.n)
            static = {"layout": self.layout, "spread": spread}
            found = vectors_to(self.data, x, rows, _box(settings), **static)
            return sent_home((found,), home, shape)[0]

    def fixed(self, x, r, batch, settings: SearchSettings, limit: int) -> FixedNeighbors:
        """Return the nearest neighbours within the radii, and how many there are."""
        with self._context(settings, x, r):
            x, r, spread, home = self._placed(settings, x, r)
            box = _box(settings)
            inputs = without_slopes((x, as_dtype(r, settings.dtype), box))
            static = {"layout": self.layout, "settings": _static(settings), "limit": limit}
            finite = self._finite(x, spread)
            rows, distances, counts = _programs.nearest_within(self.forest, *inputs, spread=spread, **static)
            _check(finite)
            distances = self._with_slopes(distances, x, None, rows, box, settings, spread)
            rows, distances = sent_home((self._counted(rows), distances), home, (*batch, limit))
            return FixedNeighbors(rows, distances, *sent_home((counts,), home, batch))

    def counts(self, x, r, batch, settings: SearchSettings):
        """Return how many neighbours each query has."""
        with self._context(settings, x, r):
            x, r, spread, home = self._placed(settings, x, r)
            inputs = without_slopes((x, as_dtype(r, settings.dtype), _box(settings)))
            static = {"layout": self.layout, "settings": _static(settings)}
            finite = self._finite(x, spread)
            (counts,) = _programs.count(self.forest, *inputs, spread=spread, **static)
            _check(finite)
            return sent_home((counts,), home, batch)[0]

    def csr(self, x, r, settings: SearchSettings, sort: bool) -> Neighbors:
        """Return all neighbours in CSR form, of spread queries in equal parts, filled up with n and inf."""
        with self._context(settings):
            x, r, spread, home = self._placed(settings, x, r)
            _check(self._finite(x, spread))
            counts, rows, distances = self._all_within(x, r, settings, spread)
            if spread:
                keep, totals = _edges.related(rows, layout=self.layout, relation=None)
                totals = np.asarray(totals)
                total = int(totals.sum(dtype=np.int64))
                _, rows, distances = self._in_equal_parts(rows, distances, keep, totals, total)
                dtype = np.result_type(settings.index_dtype, index_dtype(total))
                with x64_for(dtype):
                    ends = _edges.offsets(counts, layout=self.layout, dtype=dtype)
                    return Neighbors(ends, self._counted(rows), distances)
            counts, rows, distances = map(np.asarray, (counts, rows, distances))
            keep = rows < self.layout.n
            ends = np.pad(np.cumsum(counts, dtype=np.int64), (1, 0))
            indptr = ends.astype(index_dtype(int(ends[-1])))
            home = home or self.layout.everywhere
            return Neighbors(*jax.device_put((indptr, rows[keep], distances[keep]), home))

    def fixed_edges(self, r, settings: SearchSettings, relation: str, size: int):
        """Return receivers, senders and distances of `size` edges, and how many there are.

        The arrays are longer, if need be, so that all devices have equal parts.
        """
        return self.counted_edges(r, settings, relation, size + -size % self.layout.axes.size)

    fixed_pairs = Searcher.fixed_pairs

    def counted_edges(self, r, settings: SearchSettings, relation: str, size: int | None = None):
        """Return receivers, senders and distances of all edges, or `size` of them, and how many there are."""
        reject_traced(
            self._traced(r, settings.lengths),
            "a search for pairs on a mesh",
            "use query_radius with max_neighbors",
        )
        with self._context(settings):
            radii = _edges.radii_of_points(as_dtype(r, settings.dtype), self.data, layout=self.layout)
            _, rows, distances = self._all_within(self.data, radii, settings, True)
            keep, totals = _edges.related(rows, layout=self.layout, relation=relation)
            totals = np.asarray(totals)
            total = int(totals.sum(dtype=np.int64))
            size = total if size is None else size
            *ends, distances = self._in_equal_parts(rows, distances, keep, totals, size)
            count = settings.index_dtype.type(min(total, np.iinfo(settings.index_dtype).max))
            count = jax.device_put(count, self.layout.everywhere)
            return *map(self._counted, ends), distances, count

    def _all_within(self, x, r, settings: SearchSettings, spread: bool):
        """Return counts, rows and distances of all neighbours by query."""
        static = {"layout": self.layout, "settings": _static(settings), "spread": spread}
        inputs = x, as_dtype(r, settings.dtype), _box(settings)
        (counts,) = _programs.count(self.forest, *inputs, **static)
        most = padded_size(int(_edges.largest(counts, layout=self.layout, spread=spread)))
        own = -(-len(x) // self.layout.axes.size)  # queries of a device
        if own * most > LARGEST:
            raise ValueError(
                f"{own} queries on a device, of which one has {most} neighbours or nearly so many, take more "
                "room than there is: search for fewer at once, or use query_radius with max_neighbors"
            )
        rows, distances = _programs.all_within(self.forest, *inputs, most=most, **static)
        return counts, rows, distances

    def _in_equal_parts(self, rows, distances, keep, totals, size: int):
        """Return receivers, senders and distances of `size` neighbours to keep."""
        room = padded_size(int(totals.max()))
        return _edges.in_equal_parts(rows, distances, keep, layout=self.layout, room=room, size=max(1, size))

    def two_point(self, other, radii, settings: SearchSettings, own, others, cumulative: bool):
        """Return the pairs within each radius (R,), counted or by their weights."""
        numbers = self.count, getattr(other, "count", None)
        values = self.data, *numbers, other.data, radii, own, others, settings.lengths
        traced = any_traced(*values)
        sums = sums_dtype(own, others, traced)
        if not radii.size:
            return np.zeros(0, sums)
        with _context(values, settings.dtype, sums):
            if isinstance(other, Mesh):
                x, x_weights, spread = other.data, other._weights(others, sums), True
            else:
                x, spread = other.data, False
                x_weights = _of_rows(others, len(x), len(x), sums)
            x, x_weights, spread, _ = self._placed(settings, x, x_weights)
            weights = self._weights(own, sums)
            static = {"layout": self.layout, "settings": _static(settings), "spread": spread}
            inputs = x, x_weights, weights, radii, _box(settings)
            counts = _programs.two_point(self.forest, *inputs, **static)
        if traced:
            return counts if cumulative else counts - jnp.concatenate([counts[:1] * 0, counts[:-1]])
        counts = np.asarray(counts)
        return counts if cumulative else np.diff(counts, prepend=counts[:1] * 0)

    def components(self, r, settings: SearchSettings):
        """Return how many components of points within `r` there are, and the labels."""
        return self._clusters(_programs.components, (), r, settings)

    def dbscan(self, eps, weights, settings: SearchSettings, min_samples: int):
        """Return which points are cores, and the labels; without `weights` each point counts 1."""
        if weights is not None and self.layout.mesh is not None:
            weights = self._weights(weights, weights.dtype)
        return self._clusters(_programs.dbscan, (weights,), eps, settings, min_samples=min_samples)

    def _clusters(self, program, values, r, settings: SearchSettings, **static):
        if self.layout.n >= LARGEST:
            raise ValueError(f"clusters are found among at most {LARGEST - 1} points, got {self.layout.n}")
        static |= {"layout": self.layout, "settings": _static(settings)}
        traced = self.data, self.count, settings.lengths, r, *values
        with _context(traced, settings.dtype, np.dtype(np.float64)):
            inputs = without_slopes((*values, as_dtype(r, settings.dtype), _box(settings)))
            return program(self.forest, *inputs, s=self._own_rows, **static)

    def lists(self, x, r, settings: SearchSettings, in_order: bool):
        """Refuse SciPy's lists."""
        raise _on_the_host("query_ball_point", "use query_radius")

    def pairs(self, r, settings: SearchSettings, output_type: str):
        """Refuse SciPy's set of pairs."""
        raise _on_the_host("query_pairs without max_pairs", "pass max_pairs, or use radius_graph")

    def ball_tree(self, other, r, settings: SearchSettings):
        """Refuse SciPy's lists."""
        raise _on_the_host("query_ball_tree", "use query_radius")

    def distance_records(self, other, r, settings: SearchSettings):
        """Refuse SciPy's matrices."""
        raise _on_the_host("sparse_distance_matrix", "use query_radius")

    @property
    def indices(self):
        """The rows of the data in the order of the trees; n where a tree has no point for a row."""
        return self._counted(self._indices())

    def _indices(self):
        return _programs.rows_of_trees(self.forest, layout=self.layout)

    def _weights(self, weights, dtype):
        """Return a weight for each row of the data, 0 for those that do not count."""
        weights = _of_rows(weights, len(self.data), self.layout.n, dtype)
        if self.count is None:
            return weights
        return jnp.where(jnp.arange(len(weights)) < self.count, weights, jnp.zeros((), dtype))

    def _traced(self, *values) -> bool:
        return any_traced(self.data, self.count, *values)

    def _finite(self, x, spread: bool):
        """Return what tells whether queries are finite; true where there is a transformation."""
        return self._traced(x) or all_finite(x, self.layout._replace(n=len(x)), spread)

    def _with_slopes(self, distances, x, own, rows, box, settings: SearchSettings, spread: bool):
        """Return the distances with their derivatives, where there may be a transformation."""
        if not any_traced(self.data, x, box):
            return distances
        x = as_dtype(x, settings.dtype)
        return with_slopes(distances, self.data, x, own, rows, box, settings.p, self.layout, spread)

    def _placed(self, settings: SearchSettings, x, other=None):
        """Return queries as the mesh takes them, whether they are spread, and where results go."""
        return placed(self.layout, self._traced(settings.lengths, x, other), x, other)

    def _context(self, settings: SearchSettings, *values):
        return _context(
            (self.data, self.count, settings.lengths, *values), settings.dtype, settings.index_dtype
        )

    def _numbers(self, settings: SearchSettings, *values):
        """Return numbers as programs take them, concrete ones kept on every device."""
        if self.layout.mesh is None or self._traced(*values):
            return tuple(as_dtype(each, settings.dtype) for each in values)
        return tuple(constant_on(each, settings.dtype, self.layout.everywhere) for each in values)


def _static(settings: SearchSettings) -> SearchSettings:
    """Return the settings that programs are compiled for: others are arguments."""
    return settings._replace(lengths=None, eps=0.0, workers=None)


def _box(settings: SearchSettings):
    """Return the lengths of the periodic box, None without one."""
    lengths = settings.lengths
    if lengths is None or is_traced(lengths):
        return lengths if lengths is None else as_dtype(lengths, settings.dtype)
    return np.asarray(lengths, settings.dtype)


def _check(finite):
    """Refuse queries that are not finite, in all processes alike."""
    if not finite:
        raise ValueError(NOT_FINITE)


def _of_rows(weights, rows: int, n: int, dtype):
    """Return a weight for each row of the data, 0 from `n` on; None for weights of 1."""
    weights = np.ones(n) if weights is None else weights
    if not is_traced(weights):
        return np.pad(np.asarray(weights).astype(dtype), (0, rows - n))
    return jnp.pad(weights.astype(dtype), (0, rows - n))


def _on_the_host(method: str, remedy: str) -> TypeError:
    return TypeError(f"{method} makes Python objects on the host, and this KDTree is on a mesh: {remedy}")


def _context(values, *dtypes):
    """Return the context for concrete values, inside of transformations too; none for traced ones."""
    stack = contextlib.ExitStack()
    if not any_traced(*values):
        stack.enter_context(eagerly())
        stack.enter_context(x64_for(*dtypes))
    return stack
