"""The searches of a tree over points on a mesh, concrete or traced."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding

from ..._tracing import any_traced, eagerly, is_traced
from ..._x64 import x64_for, x64_mode
from .._arguments import reject_traced
from .._device._arrays import NOT_FINITE, as_dtype
from .._results import FixedNeighbors, Neighbors
from .._settings import Columns, SearchSettings, index_dtype
from .._structure._build import padded_size
from . import _programs
from ._layout import Layout
from ._slopes import with_slopes

__all__ = ["Mesh"]


class Mesh:
    """The searches of a tree whose points lie on several devices.

    Results lie as the queries do: spread over the mesh, on every device of it, or on one device. A traced
    query that is not finite has no neighbours; concrete ones raise ValueError, in all processes alike.
    """

    def __init__(self, data, forest, layout: Layout):
        self.data, self.layout = data, layout
        self.forest = jax.lax.stop_gradient(forest)

    @staticmethod
    def prepare(data, layout: Layout):
        """Build the trees of all devices; also tell whether all points that count are finite."""
        rows_dtype = index_dtype(layout.n)
        with _context((data,), data.dtype, rows_dtype):
            points = jax.lax.stop_gradient(data)
            forest, finite = _programs.build_forest(points, layout=layout, rows_dtype=rows_dtype)
            return forest, is_traced(data) or finite

    def nearest(self, x, batch, columns: Columns, bound, eps, settings: SearchSettings, workers):
        """Return distances and rows, both of shape batch + columns.shape."""
        static = {"layout": self.layout, "columns": columns, "settings": settings}
        with self._context(settings, x, bound, eps):
            x, spread, home = self._placed(x)
            numbers = tuple(as_dtype(each, settings.dtype) for each in (bound, eps))
            inputs = jax.lax.stop_gradient((x, *numbers))
            distances, rows, finite = _programs.nearest_columns(self.forest, *inputs, spread=spread, **static)
            self._check(finite, x)
            distances = self._with_slopes(distances, x, None, rows, settings, spread)
            return _home((distances, rows), home, batch + columns.shape)

    def nearest_of_all(self, columns: Columns, bound, eps, settings: SearchSettings, order: str):
        """Return distances and rows of every point's neighbours, in the order of the data or of the trees."""
        static = {"layout": self.layout, "columns": columns, "settings": settings}
        with self._context(settings, bound, eps):
            numbers = tuple(as_dtype(each, settings.dtype) for each in (bound, eps))
            found = _programs.nearest_of_all(self.forest, *jax.lax.stop_gradient(numbers), **static)
            if order == "input":
                found = _programs.in_input_order(self.forest, *found, layout=self.layout)
            own = None if order == "input" else self.indices
            return self._with_slopes(found[0], self.data, own, found[1], settings, True), found[1]

    def fixed(self, x, r, batch, settings: SearchSettings, limit: int) -> FixedNeighbors:
        """Return the nearest neighbours within the radii, and how many there are."""
        with self._context(settings, x, r):
            x, r, spread, home = self._placed(x, r)
            inputs = jax.lax.stop_gradient((x, as_dtype(r, settings.dtype)))
            rows, distances, counts, finite = _programs.nearest_within(
                self.forest, *inputs, layout=self.layout, settings=settings, limit=limit, spread=spread
            )
            self._check(finite, x)
            distances = self._with_slopes(distances, x, None, rows, settings, spread)
            rows, distances = _home((rows, distances), home, (*batch, limit))
            return FixedNeighbors(rows, distances, *_home((counts,), home, batch))

    def counts(self, x, r, batch, settings: SearchSettings, eps, workers):
        """Return how many neighbours each query has."""
        with self._context(settings, x, r):
            x, r, spread, home = self._placed(x, r)
            inputs = jax.lax.stop_gradient((x, as_dtype(r, settings.dtype)))
            counts, finite = _programs.count(
                self.forest, *inputs, layout=self.layout, settings=settings, spread=spread
            )
            self._check(finite, x)
            return _home((counts,), home, batch)[0]

    def csr(self, x, r, settings: SearchSettings, sort: bool) -> Neighbors:
        """Return all neighbours in CSR form, of spread queries in equal parts, filled up with n and inf."""
        with self._context(settings):
            x, r, spread, home = self._placed(x, r)
            counts, rows, distances, finite = self._all_within(x, r, settings, spread)
            self._check(finite, x)
            if spread:
                keep, totals = _programs.related(rows, layout=self.layout, relation=None)
                _, rows, distances = self._in_equal_parts(rows, distances, keep, np.asarray(totals))
                return Neighbors(_programs.offsets(counts, layout=self.layout), rows, distances)
            counts, rows, distances = map(np.asarray, (counts, rows, distances))
            keep = rows < self.layout.n
            ends = np.pad(np.cumsum(counts, dtype=np.int64), (1, 0))
            indptr = ends.astype(index_dtype(int(ends[-1])))
            home = home or self.layout.everywhere
            return Neighbors(*jax.device_put((indptr, rows[keep], distances[keep]), home))

    def fixed_edges(self, r, settings: SearchSettings, relation: str, size: int):
        """Return receivers, senders, distances (size,) and the true number of edges."""
        devices = self.layout.axes.size
        if size % devices:
            raise ValueError(f"the number of results must be a multiple of the {devices} devices, got {size}")
        return self.counted_edges(r, settings, relation, size // devices)

    def counted_edges(self, r, settings: SearchSettings, relation: str, part: int | None = None):
        """Return receivers, senders, distances, a `part` on each device, and how many there are."""
        reject_traced(
            any_traced(self.data, r), "a search for pairs on a mesh", "use query_radius with max_neighbors"
        )
        with self._context(settings):
            radii = _programs.radii_of_points(as_dtype(r, settings.dtype), self.data, layout=self.layout)
            _, rows, distances, _ = self._all_within(self.data, radii, settings, True)
            keep, totals = _programs.related(rows, layout=self.layout, relation=relation)
            totals = np.asarray(totals)
            found = self._in_equal_parts(rows, distances, keep, totals, part)
            count = settings.index_dtype.type(
                min(totals.sum(dtype=np.int64), np.iinfo(settings.index_dtype).max)
            )
            return *found, jax.device_put(count, self.layout.everywhere)

    def _all_within(self, x, r, settings: SearchSettings, spread: bool):
        """Return counts, rows and distances of all neighbours by query, and whether these are finite."""
        static = {"layout": self.layout, "settings": settings, "spread": spread}
        inputs = x, as_dtype(r, settings.dtype)
        counts, finite = _programs.count(self.forest, *inputs, **static)
        most = padded_size(int(_programs.largest(counts, layout=self.layout, spread=spread)))
        rows, distances, _ = _programs.all_within(self.forest, *inputs, most=most, **static)
        return counts, rows, distances, finite

    def _in_equal_parts(self, rows, distances, keep, totals, part: int | None = None):
        """Return receivers, senders and distances, as long as all devices' parts need, or `part`."""
        part = max(1, -(-int(totals.sum(dtype=np.int64)) // self.layout.axes.size)) if part is None else part
        room = padded_size(int(totals.max()))
        return _programs.in_equal_parts(rows, distances, keep, layout=self.layout, room=room, part=part)

    def two_point(self, other, radii, settings: SearchSettings, own, others, cumulative: bool):
        """Return the pairs within each radius (R,), counted or by their weights."""
        traced = any_traced(self.data, other.data, radii, own, others)
        sums = _sums_dtype(own, others, traced)
        if not radii.size:
            return np.zeros(0, sums)
        with _context((self.data, other.data, radii, own, others), settings.dtype, sums):
            if isinstance(other, Mesh):
                points = len(other.data)
                x, x_weights, spread = other.data, _of_rows(others, points, other.layout.n, sums), True
            else:
                x, spread = other.data, False
                x_weights = _of_rows(others, len(x), len(x), sums)
            x, x_weights, spread, _ = self._placed(x, x_weights)
            weights = _of_rows(own, len(self.data), self.layout.n, sums)
            counts = _programs.two_point(
                self.forest,
                x,
                x_weights,
                weights,
                radii,
                layout=self.layout,
                settings=settings,
                spread=spread,
            )
        if traced:
            return counts if cumulative else counts - jnp.concatenate([counts[:1] * 0, counts[:-1]])
        counts = np.asarray(counts)
        return counts if cumulative else np.diff(counts, prepend=counts[:1] * 0)

    def lists(self, x, r, settings: SearchSettings, eps, workers, in_order: bool):
        """Refuse SciPy's lists."""
        raise _on_the_host("query_ball_point", "use query_radius")

    def pairs(self, r, settings: SearchSettings, eps, output_type: str):
        """Refuse SciPy's set of pairs."""
        raise _on_the_host("query_pairs without max_pairs", "pass max_pairs, or use radius_graph")

    def ball_tree(self, other, r, settings: SearchSettings, eps):
        """Refuse SciPy's lists."""
        raise _on_the_host("query_ball_tree", "use query_radius")

    def distance_records(self, other, r, settings: SearchSettings):
        """Refuse SciPy's matrices."""
        raise _on_the_host("sparse_distance_matrix", "use query_radius")

    @property
    def indices(self):
        """The rows of the data in the order of the trees; n where a tree has no point for a row."""
        return _programs.rows_of_trees(self.forest.rows, layout=self.layout)

    def _with_slopes(self, distances, x, own, rows, settings: SearchSettings, spread: bool):
        """Return the distances with their derivatives, where there may be a transformation."""
        if not any_traced(self.data, x):
            return distances
        lengths = None if settings.lengths is None else as_dtype(settings.lengths, settings.dtype)
        x = as_dtype(x, settings.dtype)
        return with_slopes(distances, self.data, x, own, rows, lengths, settings.p, self.layout, spread)

    def _check(self, finite, x):
        if not any_traced(self.data, x, finite) and not finite:
            raise ValueError(NOT_FINITE)

    def _context(self, settings: SearchSettings, *values):
        if is_traced(settings.lengths):
            raise TypeError("boxsize must be concrete for a tree on a mesh, not traced: pass Python numbers")
        return _context((self.data, *values), settings.dtype, settings.index_dtype)

    def _placed(self, x, r=None):
        """Return queries and radii as the mesh takes them, whether they are spread, and where results go."""
        both = (x,) if r is None else (x, r)
        if self.layout.mesh is None:
            return *both, True, None
        if any_traced(self.data, x):
            spread = _spread_when_traced(x, self.layout)
            place = self.layout.sharding if spread else self.layout.everywhere
            return *(_resharded(each, place) for each in both), spread, None
        devices = x.sharding.device_set if isinstance(x, jax.Array) else ()
        spread = len(devices) > 1 and x.sharding.is_equivalent_to(self.layout.sharding, x.ndim)
        if len(devices) < 2:  # of the host, or one device: every process has it
            both = map(np.asarray, both)
        home = x.sharding if devices and not spread else None
        placed = jax.device_put(tuple(both), self.layout.sharding if spread else self.layout.everywhere)
        return *placed, spread, home


def _spread_when_traced(x, layout: Layout) -> bool:
    """Tell whether traced queries lie as the points do.

    Only a mesh with Explicit axes shows it. With Auto axes they are spread where they divide evenly.
    """
    if not is_traced(x):
        return False
    sharding = jax.typeof(x).sharding
    if AxisType.Explicit in sharding.mesh.axis_types:
        return tuple(sharding.spec)[:1] == tuple(layout.rows) or sharding.spec[0] == layout.axes.names[0:1]
    return x.shape[0] % layout.axes.size == 0


def _resharded(x, place: NamedSharding):
    """Return an array with Explicit axes as it is to lie; of others `shard_map` takes care."""
    if is_traced(x) and AxisType.Explicit in jax.typeof(x).sharding.mesh.axis_types:
        return jax.sharding.reshard(x, place)
    return x


def _sums_dtype(own, others, traced: bool):
    """Return the dtype of sums over pairs, as `_device._traced` has it inside of jit."""
    wide = not traced or x64_mode()
    if own is None:
        return np.dtype(np.int64 if wide else np.int32)
    return np.dtype(np.float64 if wide else np.float32)


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


def _home(arrays, home, shape):
    """Return results in the batch shape, where the queries came from."""
    arrays = tuple(a if a.shape == shape else a.reshape(shape) for a in arrays)
    return arrays if home is None else jax.device_put(arrays, home)
