"""Searches on the CPU, by SciPy: of concrete arrays at once, inside of a transformation by a callback."""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._programs import any_traced, is_traced
from .._device._arrays import NOT_FINITE, as_dtype, placed_like, placed_like_one
from .._device._slopes import displacements_to
from .._results import Neighbors
from .._searcher import Searcher, displaced
from .._settings import SearchSettings
from . import _searches
from ._callbacks import called_back, in_turn
from ._clouds import Cloud, Options, cloud_of

__all__ = ["Host"]


class Host(Searcher):
    """The searches of SciPy's tree, which ``cloud()`` returns where the points are concrete."""

    def __init__(self, data, n, cloud: Callable[[], Cloud] | None, options: Options):
        self.data, self.n, self._cloud, self.options = data, n, cloud, options

    @property
    def cloud(self) -> Any:
        """SciPy's tree over concrete points, built at first use; None for others."""
        return self._cloud and self._cloud()

    def _find(self, name: str, x, numbers, settings: SearchSettings, results, **static):
        """Return what a search finds, in the shapes of the results."""
        own = x is self.data
        if self._cloud is None or any_traced(x, *numbers):
            numbers = [_given(each, settings.dtype) for each in numbers]
            x = None if x is None or own else _given(x, settings.dtype)
            call = self._call(name, settings, results, static, own)
            return call.traced(self._points(settings), x, *numbers)
        cloud = self._cloud()
        if own:
            x, *numbers = _finding_nothing(cloud.own_queries(), *numbers)
        queries = () if x is None else (x if own else _finite(x),)
        found = getattr(_searches, name)(cloud, *queries, *numbers, settings=settings, **static)
        found = [each.reshape(shape) for each, (shape, _) in zip(found, results, strict=True)]
        return (placed_like if x is None or len(x) > 1 else placed_like_one)(self.data, *found)

    def _call(self, name, settings: SearchSettings, results, static, own=False) -> "_Call":
        settings = settings._replace(lengths=None, eps=0.0 if is_traced(settings.eps) else settings.eps)
        return _Call(name, self.cloud, self.options, settings, tuple(static.items()), results, own)

    def _points(self, settings: SearchSettings):
        """Return what a cloud is made of inside of a transformation."""
        box = settings.lengths
        return self.data, _given(self.n, np.int32), np.asarray(box) if isinstance(box, tuple) else box

    def displacements(self, x, rows, settings: SearchSettings):
        """Return the vectors from `x` (..., m) to the points of the rows (...) or (..., k)."""
        if self._cloud is None or any_traced(x, rows):
            return displaced(self.data, x, rows, self.n, settings)
        data, x, rows = map(np.asarray, (self.data, x, rows))
        found = displacements_to(data, x, rows, settings.box(), self.n, dtype=settings.dtype, xp=np)
        return placed_like(self.data, found)[0]

    def csr(self, x, r, settings: SearchSettings, sort: bool) -> Neighbors:
        """Return all neighbours in CSR form."""
        found = _searches.csr(self.cloud, _finite(x), r, settings=settings, sort=sort)
        return Neighbors(*placed_like(self.data, *found))

    def lists(self, x, r, settings: SearchSettings, in_order: bool):
        """Return the rows of each query's neighbours: an object array of lists."""
        return _searches.ball(self.cloud, _finite(x), r, settings=settings, return_sorted=in_order)

    def ball_tree(self, other: "Host", r, settings: SearchSettings) -> list[list[int]]:
        """Return for each point of this tree the rows of its neighbours in the other."""
        return _searches.ball_tree(self.cloud, other.cloud, r, settings)

    def distance_records(self, other: "Host", r, settings: SearchSettings) -> np.ndarray:
        """Return the distances to the other tree's points as SciPy's record array with fields i, j, v."""
        return _searches.distance_entries(self.cloud, other.cloud, r, settings)

    def edges(self, r, settings: SearchSettings, relation: str):
        """Return receivers, senders and distances of all edges."""
        return placed_like(self.data, *_searches.edges(self.cloud, r, settings, relation))

    def fixed_pairs(self, r, settings: SearchSettings, size: int):
        """Return pairs (size, 2), the lower row first, their distances and the true number of pairs."""
        if self._cloud is None or is_traced(r):
            return super().fixed_pairs(r, settings, size)
        *ends, distances, count = _searches.fixed_edges(
            self._cloud(), r, relation="later", size=size, settings=settings
        )
        return placed_like(self.data, np.stack(ends, axis=1), distances, np.asarray(count))

    def pairs(self, r, settings: SearchSettings, output_type: str):
        """Return SciPy's set of pairs, or an array of them."""
        pairs = _searches.pairs(self.cloud, r, settings, output_type)
        if output_type == "set":
            return pairs
        return placed_like(self.data, pairs.astype(settings.index_dtype))[0]

    def _pair_sums(self, other: "Host", radii, settings: SearchSettings, own, others, sums):
        weights = [] if own is None else [own, others]
        call = self._call("two_point", settings, ((radii.shape, sums),), {"sums": sums})
        if call.cloud is None or any_traced(other.data, other.n, radii, *weights):
            radii = _given(radii, settings.dtype)
            with x64_for(sums):
                weights = [_given(each, sums) for each in weights]
            return call.traced(self._points(settings), other._points(settings), radii, *weights)[0]
        return call.now(None, other.cloud, radii, *weights)[0]


class _Call(NamedTuple):
    """A search by a function of `_searches`, for arrays that are known now or when a program runs."""

    name: str
    cloud: Cloud | None  # None: of points that are traced
    options: Options
    settings: SearchSettings
    static: tuple[tuple[str, Any], ...]
    results: tuple[tuple[tuple[int, ...], np.dtype], ...]  # shapes and dtypes
    own: bool  # whether the queries are the cloud's own points

    def now(self, points, x, *numbers, batch=()):
        """Return what the search finds of NumPy arrays; queries that are not finite find nothing."""
        cloud = self.cloud or cloud_of(*points, self.options)
        if self.own:
            x = cloud.own_queries()
        if isinstance(x, tuple):
            x = cloud_of(*x, self.options)
        elif isinstance(x, np.ndarray):
            x, *numbers = _finding_nothing(x, *numbers)
        inputs = *(() if x is None else (x,)), *numbers
        found = getattr(_searches, self.name)(cloud, *inputs, settings=self.settings, **dict(self.static))
        return [np.asarray(a, d).reshape(batch + s) for a, (s, d) in zip(found, self.results, strict=True)]

    def in_batches(self, batch, batches, points, x, *numbers):
        """Do so for arrays that may have axes of a batch in front, each of the sizes in `batches` or 1."""
        if isinstance(x, np.ndarray) and {1}.issuperset(
            itertools.chain(*batches[: len(jax.tree.leaves(points))])
        ):
            # One search of all queries.
            points = jax.tree.map(lambda a: a[(0,) * len(batch)], points)
            q = x.shape[-2:]
            x = np.broadcast_to(x, batch + q).reshape(-1, q[-1])
            bound, *eps = numbers
            if bound.ndim == len(batch):
                bound = bound[..., None]
            bound = (
                bound.ravel()[0]
                if bound.size == 1 != q[0]
                else np.broadcast_to(bound, (*batch, q[0])).ravel()
            )
            return self.now(points, x, bound, *(each.min() for each in eps), batch=batch)
        leaves, kind = jax.tree.flatten((points, x, *numbers))
        ones = in_turn(batch, batches, leaves)
        found = [self.now(*jax.tree.unflatten(kind, one)) for one in ones]
        return [np.stack(each).reshape(batch + each[0].shape) for each in zip(*found, strict=True)]

    def traced(self, *inputs):
        """Return what the search finds when its values are known."""
        leaves, kind = jax.tree.flatten(inputs if self.cloud is None else (None, *inputs[1:]))
        return called_back(_OfLeaves(self, kind), self.results, leaves)


class _OfLeaves(NamedTuple):
    """A search of the leaves of its arguments, in batches."""

    call: _Call
    kind: Any

    def __call__(self, batch, batches, *leaves):
        return self.call.in_batches(batch, batches, *jax.tree.unflatten(self.kind, leaves))


def _given(x, dtype):
    """Return an array of a dtype; one that is known stays known inside of `jit`."""
    return as_dtype(x, dtype) if is_traced(x) else np.asarray(x, dtype)


def _finding_nothing(x, number, *others):
    """Return queries, and their bound or radii, with which those that are not finite find nothing."""
    finite = np.isfinite(x).all(axis=1)
    if finite.all():
        return x, number, *others
    return np.where(finite[:, None], x, 0), np.where(finite, number, np.nan), *others


def _finite(x) -> np.ndarray:
    """Return queries as a NumPy array, all of them finite."""
    x = np.asarray(x)
    if not np.isfinite(x).all():
        raise ValueError(NOT_FINITE)
    return x
