"""The radius searches of KDTree: all points within a distance, as SciPy's lists or as arrays."""

import math
from functools import partial
from typing import Literal, overload

import jax.numpy as jnp
import numpy as np

from .._core._typing import Array, ArrayLike
from . import _arguments
from ._arguments import reject_traced
from ._device._arrays import as_dtype
from ._results import FixedNeighbors, Neighbors, filled
from ._settings import result_dtype
from ._state import TreeState
from ._structure._lengths import flat
from ._structure._open_shapes import has_open_shape, in_blocks

__all__ = ["RadiusSearches"]


class RadiusSearches(TreeState):
    """`KDTree.query_radius` and `KDTree.query_ball_point`."""

    @overload
    def query_radius(
        self,
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[True] = True,
        max_neighbors: None = None,
    ) -> Neighbors[Array]: ...
    @overload
    def query_radius(
        self,
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[False],
        max_neighbors: None = None,
    ) -> Neighbors[None]: ...
    @overload
    def query_radius(
        self,
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[True] = True,
        max_neighbors: int,
        fill_value: ArrayLike = math.inf,
    ) -> FixedNeighbors[Array]: ...
    @overload
    def query_radius(
        self,
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[False],
        max_neighbors: int,
        fill_value: ArrayLike = math.inf,
    ) -> FixedNeighbors[None]: ...

    def query_radius(
        self,
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: bool = True,
        max_neighbors: int | None = None,
        fill_value: ArrayLike = math.inf,
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
        fill_value : float, default inf
            With `max_neighbors`: the distance where there is no neighbour. With 0, functions of it and their
            derivatives stay finite there: sum them by ``where(near.mask, f(near.distances), 0)``.

        Returns
        -------
        Neighbors
            ``indptr`` (q + 1,), ``indices`` and ``distances``, for the q queries of `x` in C order.
        FixedNeighbors
            With `max_neighbors`: ``indices`` and ``distances`` of shape (..., max_neighbors), filled up with
            n and `fill_value`, ``mask`` of the same shape, which are none of these, and ``counts`` (...), the
            true numbers. Where a count is above `max_neighbors`, the nearest are kept.

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
        distance 0. Under a transformation a query that is not finite has no neighbours. For `jax.export` the
        number of queries may be a symbol.

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

        A sum over all near points, and its derivative in ``h``:

        >>> import jax
        >>> def kernel(h):
        ...     near = tree.query_radius([0.0], 1.0, max_neighbors=3, fill_value=0.0)
        ...     return xp.sum(xp.where(near.mask, xp.exp(-((near.distances / h) ** 2)), 0.0))
        >>> round(float(jax.grad(kernel)(1.0)), 4)
        0.7358
        """
        x = _arguments.query_array(x, self._data)
        if has_open_shape(x.shape) and max_neighbors is not None:
            static = {"p": p, "return_distance": return_distance, "max_neighbors": max_neighbors}
            search = partial(self._portable().query_radius, fill_value=fill_value, **static)
            return in_blocks(search, x, self._open_radii(r, x))
        x, r, batch, settings = self._around(x, r, p)
        if max_neighbors is not None:
            limit = _arguments.capacity(max_neighbors, "max_neighbors")
            found = filled(self._searcher(x, r).fixed(x, r, batch, settings, limit), fill_value)
        else:
            remedy = "pass max_neighbors for arrays of fixed shape"
            reject_traced(self._traced(x, r), "query_radius", remedy)
            found = self._searcher().csr(x, r, settings, sort)
        return found if return_distance else found._replace(distances=None)

    @overload
    def query_ball_point(
        self,
        x: ArrayLike,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        workers: int | None = None,
        return_sorted: bool | None = None,
        return_length: Literal[False] = False,
    ) -> list[int] | np.ndarray: ...
    @overload
    def query_ball_point(
        self,
        x: ArrayLike,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        workers: int | None = None,
        return_sorted: bool | None = None,
        *,
        return_length: Literal[True],
    ) -> Array: ...

    def query_ball_point(
        self,
        x: ArrayLike,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        workers: int | None = None,
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
        workers : int, optional
            Threads for SciPy's engine, -1 for all cores; by default as many as pay. No effect elsewhere.
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
        workers, eps = _arguments.worker_count(workers), _arguments.limit(eps, "eps")
        x = _arguments.query_array(x, self._data)
        if has_open_shape(x.shape) and return_length:
            search = partial(self._portable().query_ball_point, p=p, return_length=True)
            return in_blocks(search, x, self._open_radii(r, x))
        x, r, batch, settings = self._around(x, r, p, eps, workers)
        if return_length:
            return self._searcher(x, r, eps).counts(x, r, batch, settings)
        remedy = "use query_radius(x, r, max_neighbors=...)"
        reject_traced(self._traced(x, r, eps), "query_ball_point", remedy)
        in_order = bool(batch) if return_sorted is None else return_sorted
        lists = self._searcher().lists(x, r, settings, in_order)
        if not batch:
            return lists[0]
        found = np.empty(len(lists), object)
        found[:] = lists
        return found.reshape(batch)

    def _open_radii(self, r, x):
        """Return a radius for each of an open number of queries."""
        return jnp.broadcast_to(as_dtype(_arguments.numbers(r), result_dtype(self._data, x)), x.shape[:-1])

    def _around(self, x, r, p, eps=0.0, workers=None):
        """Check queries, radii and p; return x (q, m), r (q,), the batch shape and the settings."""
        _arguments.check_vectors(x, self._m)
        batch, dtype = x.shape[:-1], result_dtype(self._data, x)
        settings = self._settings(_arguments.norm_order(p), dtype, eps=eps, workers=workers)
        r = _arguments.radii_of(r, batch, dtype, on_mesh=self._layout is not None)
        q = math.prod(batch)
        return flat(x, (q, self._m)), flat(r, (q,)), batch, settings
