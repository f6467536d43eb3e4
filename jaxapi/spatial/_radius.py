"""The radius searches of KDTree: all points within a distance, as SciPy's lists or as arrays."""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._typing import Array, ArrayLike
from . import _arguments
from ._device import _engines, _neighbours
from ._device._queries import as_dtype, beside, distances_to, index_dtype, one_beside, result_dtype, width
from ._host import _radius as _host_radius
from ._radius_arguments import any_traced, capacity, radii_of, reject_traced

__all__ = ["Asked", "FixedNeighbors", "Neighbors", "RadiusSearch", "compressed"]


class Neighbors(NamedTuple):
    """Neighbours of q queries in compressed sparse row (CSR) form.

    Those of query ``i`` are ``indices[indptr[i]:indptr[i + 1]]``.
    """

    indptr: Array  # (q + 1,)
    indices: Array  # (number of neighbours in all,) rows of the data
    distances: Array | None  # of the same shape


class FixedNeighbors(NamedTuple):
    """At most c neighbours of each query, nearest first, in arrays of fixed shape."""

    indices: Array  # (..., c) rows of the data, n where there is no neighbour
    distances: Array | None  # (..., c), inf where there is no neighbour
    counts: Array  # (...) the true numbers: above c, some were left out


class RadiusSearch:
    """`KDTree.query_radius` and `KDTree.query_ball_point`."""

    def query_radius(
        self,
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: bool = True,
        max_neighbors: int | None = None,
    ) -> Neighbors | FixedNeighbors:
        """Find all points within a distance of each query, as arrays.

        The name is scikit-learn's, the result a sparse graph in CSR form: two passes, memory in proportion
        to the result, no Python lists. With `max_neighbors` the shapes are fixed, which jit, vmap and grad
        need.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Query points, in the units of the data.
        r : float or array_like, broadcast to x.shape[:-1]
            Radius of each query, inclusive, rounded to the dtype of the distances; negative or nan: no
            neighbours.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        sort : bool, default False
            Bring the neighbours of each query into order by distance, then row. With `max_neighbors` they
            always are.
        return_distance : bool, default True
            If False, `distances` is None.
        max_neighbors : int, optional
            The most neighbours to return of each query. Static under jit.

        Returns
        -------
        Neighbors
            ``indptr`` (q + 1,), ``indices`` and ``distances``, for the q queries of `x` in C order.
        FixedNeighbors
            With `max_neighbors`: ``indices`` and ``distances`` of shape (..., max_neighbors), filled up with
            n and inf, and ``counts`` (...), the true numbers. Where a count is above `max_neighbors`, the
            nearest are kept.

        Raises
        ------
        TypeError
            If `x` is complex, or if arrays are traced and `max_neighbors` is not given.
        ValueError
            If the last axis of `x` is not m, `x` is not finite, `r` does not broadcast, p < 1, or
            `max_neighbors` < 1.

        Notes
        -----
        Which neighbours there are has no derivative; the distances have, in `x` and in the data, 0 at
        distance 0. Under a transformation a query that is not finite has no neighbours.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0], [3.0]])
        >>> found = tree.query_radius([[0.0], [2.0]], 1.0, sort=True)
        >>> found.indptr.tolist(), found.indices.tolist(), found.distances.tolist()
        ([0, 2, 4], [0, 1, 1, 2], [0.0, 1.0, 1.0, 1.0])
        >>> fixed = tree.query_radius([[0.0], [2.0]], 1.0, max_neighbors=1)
        >>> fixed.indices.tolist(), fixed.counts.tolist()
        ([[0], [1]], [2, 2])
        """
        x, r, asked = _asked(self, x, r, p)
        traced = any_traced(self._data, x, r)
        if max_neighbors is not None:
            found = _fixed(self, x, r, asked, capacity(max_neighbors, "max_neighbors"), traced)
        else:
            reject_traced(traced, "query_radius", "pass max_neighbors for arrays of fixed shape")
            with jax.core.eval_context():
                found = compressed(self, x, r, asked, sort)
        return found if return_distance else found._replace(distances=None)

    def query_ball_point(
        self,
        x: ArrayLike,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        workers: int = 1,
        return_sorted: bool | None = None,
        return_length: bool = False,
    ) -> list[int] | np.ndarray | Array:
        """Find all points within a distance of each query, as Python lists.

        As `scipy.spatial.KDTree.query_ball_point`, but a negative radius has no neighbours. `query_radius`
        returns arrays, which takes less time and memory and works under jit.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Query points, in the units of the data.
        r : float or array_like, broadcast to x.shape[:-1]
            Radius of each query, inclusive, rounded to the dtype of the distances.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        eps : float, default 0
            SciPy's engine may leave out points farther than ``r / (1 + eps)`` and add points nearer than
            ``r * (1 + eps)``; the other engines are exact.
        workers : int, default 1
            Threads for SciPy's engine, -1 for all cores; the other engines ignore it.
        return_sorted : bool, optional
            Sort the rows of each list. By default lists are sorted where `x` has several points.
        return_length : bool, default False
            Return the numbers of neighbours instead; works under jit and vmap.

        Returns
        -------
        list of int, or object ndarray of lists of shape x.shape[:-1]
            Rows of the data.
        Array, shape x.shape[:-1], integer
            With `return_length`, their number.

        Raises
        ------
        TypeError
            If `x` is complex, or if arrays are traced and `return_length` is not set.
        ValueError
            If the last axis of `x` is not m, `x` is not finite, `r` does not broadcast, or p < 1.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0], [3.0]])
        >>> tree.query_ball_point([2.0], 1.0, return_sorted=True)
        [1, 2]
        >>> tree.query_ball_point([[0.0], [2.0]], [0.5, 1.0], return_length=True).tolist()
        [1, 2]
        """
        workers = _arguments.worker_count(workers)
        x, r, asked = _asked(self, x, r, p)
        traced = any_traced(self._data, x, r)
        if return_length:
            return _lengths(self, x, r, asked, eps, workers, traced)
        reject_traced(traced, "query_ball_point", "use query_radius(x, r, max_neighbors=...)")
        return _lists(self, x, r, asked, eps, workers, return_sorted)


class Asked(NamedTuple):
    """What a radius search asks for, beside its points and radii; equal ones share compiled code."""

    batch: tuple[int, ...]
    p: float
    lengths: tuple[float, ...] | None  # of the periodic box, 0 on axes that are not periodic
    dtype: np.dtype  # of the distances
    index_dtype: np.dtype

    def box(self):
        """Return the box as an array."""
        return None if self.lengths is None else np.asarray(self.lengths, self.dtype)

    def traced_box(self):
        """Return the box as an array inside of jit."""
        return None if self.lengths is None else as_dtype(self.lengths, self.dtype)

    def search(self, engine: str) -> _neighbours.Search:
        """Return the static part of the search."""
        return _neighbours.Search(self.p, engine, self.dtype, self.index_dtype)


def _asked(tree, x, r, p):
    """Check queries and radii; return x (q, m), r (q,) and what is asked for."""
    x = _arguments.query_array(x, tree.data.dtype)
    _arguments.check_vectors(x, tree.m)
    dtype = result_dtype(tree.data, x)
    batch = x.shape[:-1]
    asked = Asked(batch, _arguments.norm_order(p), tree._lengths, dtype, index_dtype(tree.n))
    r = radii_of(r, batch, dtype)
    queries = math.prod(batch)
    return x.reshape((queries, tree.m)), r.reshape(queries), asked


def compressed(tree, x, r, asked: Asked, sort: bool) -> Neighbors:
    """Search with concrete arrays for results of any size."""
    if tree.n == 0:
        nothing = np.zeros(0, asked.index_dtype), np.zeros(0, asked.dtype)
        return Neighbors(*beside(tree.data, np.zeros(len(x) + 1, asked.index_dtype), *nothing))
    if tree.engine == "scipy":
        return Neighbors(*beside(tree.data, *_host_csr(tree, x, r, asked, sort)))
    x, r, _, engine = _on_device(tree.data, x, r, asked)
    with width(asked.dtype, asked.index_dtype):
        indptr, rows, distances = _neighbours.csr(
            tree._structure(), x, r, asked.box(), search=asked.search(engine), sort=sort
        )
        (indptr,) = _leading(indptr, count=math.prod(asked.batch) + 1)
        return Neighbors(indptr, rows, distances)


def _fixed(tree, x, r, asked: Asked, limit: int, traced: bool) -> FixedNeighbors:
    """Search for results of a fixed shape."""
    if tree.n == 0:
        rows = jnp.zeros((math.prod(asked.batch), limit), asked.index_dtype)
        found = rows, jnp.full(rows.shape, jnp.inf, asked.dtype), rows[:, 0]
    elif traced:
        x = jnp.asarray(x).astype(asked.dtype)
        found = _differentiable(
            tree.data,
            x,
            tree._structure(),
            as_dtype(r, asked.dtype),
            asked.traced_box(),
            asked.search("traced"),
            limit,
        )
    elif tree.engine == "scipy":
        return FixedNeighbors(*_host_fixed(tree, x, r, asked, limit))
    else:
        with jax.core.eval_context():
            found = _device_fixed(tree, x, r, asked, limit)
    rows, distances, counts = found
    shape = (*asked.batch, limit)
    return FixedNeighbors(rows.reshape(shape), distances.reshape(shape), counts.reshape(asked.batch))


def _host_fixed(tree, x, r, asked: Asked, limit: int):
    """Return rows, distances (..., limit) and counts (...) by SciPy."""
    found = _host_csr(tree, x, r, asked, sort=True)
    found = _host_radius.first_of_each(*found, limit=limit, n=tree.n)
    shapes = (*asked.batch, limit), (*asked.batch, limit), asked.batch
    shaped = [each.reshape(shape) for each, shape in zip(found, shapes, strict=True)]
    return (beside if asked.batch else one_beside)(tree.data, *shaped)


def _device_fixed(tree, x, r, asked: Asked, limit: int):
    """Return rows, distances (q, limit) and counts (q,) for concrete arrays."""
    x, r, is_finite, engine = _on_device(tree.data, x, r, asked)
    with width(asked.dtype, asked.index_dtype):
        found = _within(tree._structure(), x, r, asked.box(), search=asked.search(engine), limit=limit)
        found = _leading(*found, count=math.prod(asked.batch))
    if not is_finite:
        raise ValueError(_neighbours.NOT_FINITE)
    return found


_within = jax.jit(_neighbours.within, static_argnames=("search", "limit"))


@partial(jax.custom_jvp, nondiff_argnums=(5, 6))
def _differentiable(points, x, tree, r, box, search, limit):
    """Search; derivatives flow to `points` (n, m), the tree's points by row, and to `x`."""
    return _neighbours.within(tree, x, r, box, search=search, limit=limit)


@_differentiable.defjvp
def _differentiable_jvp(search, limit, primals, tangents):
    points, x, _, _, box = primals
    rows, distances, counts = _differentiable(*primals, search, limit)

    def recompute(points, x):
        return distances_to(points.astype(x.dtype), x, rows, box, search.p)

    _, slopes = jax.jvp(recompute, (points, x), tangents[:2])
    whole = [np.zeros(each.shape, jax.dtypes.float0) for each in (rows, counts)]
    return (rows, distances, counts), (whole[0], slopes, whole[1])


def _lengths(tree, x, r, asked: Asked, eps, workers: int, traced: bool) -> Array:
    """Return how many neighbours each query has."""
    if tree.n == 0:
        return jnp.zeros(asked.batch, asked.index_dtype)
    if traced:
        x = jnp.asarray(x).astype(asked.dtype)
        search = asked.search("traced")
        arrays = tree._structure(), x, as_dtype(r, asked.dtype), asked.traced_box()
        counts = _neighbours.tallies(*arrays, search=search)
        return counts.reshape(asked.batch)
    if tree.engine == "scipy":
        counts = _host_radius.ball(
            tree._scipy(),
            finite(x),
            r,
            p=asked.p,
            eps=eps,
            workers=workers,
            return_sorted=None,
            return_length=True,
        )
        counts = counts.astype(asked.index_dtype).reshape(asked.batch)
        return (beside if asked.batch else one_beside)(tree.data, counts)[0]
    with jax.core.eval_context():
        x, r, is_finite, engine = _on_device(tree.data, x, r, asked)
        with width(asked.dtype, asked.index_dtype):
            counts = _neighbours.tallies(tree._structure(), x, r, asked.box(), search=asked.search(engine))
            (counts,) = _leading(counts, count=math.prod(asked.batch))
        if not is_finite:
            raise ValueError(_neighbours.NOT_FINITE)
        return counts.reshape(asked.batch)


def _lists(tree, x, r, asked: Asked, eps, workers: int, return_sorted: bool | None):
    """Return SciPy's lists of rows."""
    if tree.engine == "scipy":
        lists = _host_radius.ball(
            tree._scipy(),
            finite(x),
            r,
            p=asked.p,
            eps=eps,
            workers=workers,
            return_sorted=bool(asked.batch) if return_sorted is None else return_sorted,
            return_length=False,
        )
        return lists.reshape(asked.batch) if asked.batch else lists[0]
    with jax.core.eval_context():
        found = compressed(tree, x, r, asked, sort=False)
    lists = _host_radius.to_lists(np.asarray(found.indptr), np.asarray(found.indices))
    if return_sorted or (return_sorted is None and asked.batch):
        for each in lists:
            each.sort()
    if not asked.batch:
        return lists[0]
    result = np.empty(len(lists), object)
    result[:] = lists
    return result.reshape(asked.batch)


def finite(x) -> np.ndarray:
    """Return concrete queries as a NumPy array, all of them finite."""
    x = np.asarray(x)
    if not np.isfinite(x).all():
        raise ValueError(_neighbours.NOT_FINITE)
    return x


def _host_csr(tree, x, r, asked: Asked, sort: bool):
    """Return SciPy's neighbours as NumPy arrays in CSR form."""
    return _host_radius.csr(
        tree._scipy(),
        finite(x),
        r,
        p=asked.p,
        dtype=asked.dtype,
        index_dtype=asked.index_dtype,
        lengths=asked.lengths,
        sort=sort,
    )


def _on_device(data, x, r, asked: Asked):
    """Return queries and radii padded to one of a few sizes, whether all are finite, and the engine.

    Pads have no neighbours. Whether the queries are finite is known on the host before a search ends.
    """
    if not isinstance(x, jax.Array) or x.sharding != data.sharding:
        x = np.asarray(x, dtype=asked.dtype)
    if r.strides == (0,) and len(r):
        r = r[:1]  # one radius for all: no need to move more
    with width(asked.dtype, asked.index_dtype):
        x, r = jax.device_put((x, r), data.sharding)
        x, r, is_finite = _padded(x, r, rows=_engines.padded_size(len(x)))
        is_finite.copy_to_host_async()
        return x, r, is_finite, _neighbours.engine_of(data)


@partial(jax.jit, static_argnames="rows")
def _padded(x, r, *, rows):
    extra = (0, rows - x.shape[0])
    r = jnp.broadcast_to(r, x.shape[0])
    return jnp.pad(x, (extra, (0, 0))), jnp.pad(r, extra, constant_values=-1), jnp.isfinite(x).all()


@partial(jax.jit, static_argnames="count")
def _leading(*arrays, count):
    return tuple(each[:count] for each in arrays)
