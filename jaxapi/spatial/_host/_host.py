"""Searches on the CPU, by SciPy: of concrete arrays at once, inside of a transformation by a callback."""

import functools
import itertools
import math
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import WIDE, x64_for
from ..._core._programs import any_traced, is_traced
from .._device._arrays import NOT_FINITE, as_dtype, placed_like, placed_like_one
from .._device._slopes import displacements_to
from .._results import Neighbors
from .._searcher import Searcher, displaced, without_slopes
from .._settings import SearchSettings
from .._structure._varying import varying_like
from . import _searches
from ._clouds import Cloud, Options, cloud_of

__all__ = ["Host"]

LARGEST = 90_000  # bytes that JAX before 0.12 hands to a callback at once


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
            numbers = [as_dtype(each, settings.dtype) for each in numbers]
            x = None if x is None or own else as_dtype(x, settings.dtype)
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
        return self.data, as_dtype(self.n, np.int32), np.asarray(box) if isinstance(box, tuple) else box

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
            radii = as_dtype(radii, settings.dtype)
            with x64_for(sums):
                weights = [as_dtype(each, sums) for each in weights]
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
            bound = bound if bound.ndim > len(batch) else bound[..., None]
            bound = np.broadcast_to(bound, (*batch, q[0])).ravel()
            return self.now(points, x, bound, *(each.min() for each in eps), batch=batch)
        leaves, kind = jax.tree.flatten((points, x, *numbers))
        found = []
        for place in np.ndindex(*batch):
            one = [
                a[tuple(i if size > 1 else 0 for i, size in zip(place, sizes, strict=True))]
                for a, sizes in zip(leaves, batches, strict=True)
            ]
            found.append(self.now(*jax.tree.unflatten(kind, one)))
        return [np.stack(each).reshape(batch + each[0].shape) for each in zip(*found, strict=True)]

    def traced(self, *inputs):
        """Return what the search finds when its values are known."""
        leaves, kind = jax.tree.flatten(inputs if self.cloud is None else (None, *inputs[1:]))
        leaves = without_slopes([each if is_traced(each) else np.asarray(each) for each in leaves])
        _starter()
        callback = _Callback(self, kind, tuple((each.ndim, np.dtype(each.dtype)) for each in leaves))
        found = _later(callback, (), [_packed(each) for each in leaves])
        return [_unpacked(a, d) for a, (_, d) in zip(found, self.results, strict=True)]


class _Callback(NamedTuple):
    """A search of arrays as JAX's callbacks keep them: 64 bits, which they narrow, as pairs of 32."""

    call: _Call
    kind: Any  # the structure of the arguments
    leaves: tuple[tuple[int, np.dtype], ...]  # their axes, but for those of batches, and dtypes

    def __call__(self, *packed):
        arrays = [_unpacked(np.asarray(a), dtype) for a, (_, dtype) in zip(packed, self.leaves, strict=True)]
        batches = [a.shape[: a.ndim - axes] for a, (axes, _) in zip(arrays, self.leaves, strict=True)]
        batch = np.broadcast_shapes(*batches)
        found = _aside(self.call.in_batches, batch, batches, *jax.tree.unflatten(self.kind, arrays))
        return [_packed(each) for each in found]


def _aside(function, *arguments):
    """Run a function in a thread of its own, started by one that is none of XLA's.

    In XLA's threads, and those they start, numbers below the least normal one are 0 to the processor: SciPy,
    which parts equal coordinates by the next number, would split points without end.
    """
    answer: Future = Future()

    def run():
        try:
            answer.set_result(function(*arguments))
        except BaseException as error:
            answer.set_exception(error)

    _starter().put(run)
    return answer.result()


@functools.cache
def _starter() -> queue.SimpleQueue:
    """Return where a thread takes functions from to start threads with; it is to be called outside of XLA."""
    functions: queue.SimpleQueue = queue.SimpleQueue()

    def start():
        while True:
            threading.Thread(target=functions.get(), daemon=True).start()

    threading.Thread(target=start, daemon=True).start()
    return functions


def _later(callback: _Callback, batch, arrays):
    """Call back with arrays of a batch: under vmap once, with all of it; at once where nothing is traced."""
    if not any_traced(*arrays):
        return [jax.device_put(each) for each in callback(*arrays)]
    shapes = [
        jax.ShapeDtypeStruct((*batch, *shape, 2), np.uint32)
        if dtype in WIDE
        else jax.ShapeDtypeStruct((*batch, *shape), dtype)
        for shape, dtype in callback.call.results
    ]

    @jax.custom_batching.custom_vmap
    def run(*arrays):
        pieces = list(itertools.chain(*map(_pieces, arrays)))
        call = _Joined(callback, tuple(each.shape for each in arrays))
        return varying_like(jax.pure_callback(call, shapes, *pieces, vmap_method="sequential"), arrays)

    @run.def_vmap
    def rule(size, batched, *arrays):
        arrays = [a if b else a[None] for a, b in zip(arrays, batched, strict=True)]
        return _later(callback, (size, *batch), arrays), [True] * len(shapes)

    return run(*arrays)


class _Joined(NamedTuple):
    """A callback that is given its arrays in pieces."""

    callback: _Callback
    shapes: tuple[tuple[int, ...], ...]

    def __call__(self, *pieces):
        parts, arrays = iter(pieces), []
        for shape in self.shapes:
            first = np.asarray(next(parts))
            rest = range(len(first), math.prod(shape), max(len(first), 1))
            arrays.append(np.concatenate([first, *(np.asarray(next(parts)) for _ in rest)]).reshape(shape))
        return self.callback(*arrays)


def _pieces(x) -> list:
    """Return an array as arrays (size,) that JAX hands to a callback at once.

    Larger ones JAX before 0.12 copies in XLA's threads, and waits: forever where each of these waits so.
    """
    size = math.prod(x.shape)
    step = max(size, 1) if jax.__version_info__ >= (0, 12) else LARGEST // x.dtype.itemsize
    x = x.reshape(-1)
    return [lax.slice_in_dim(x, i, min(i + step, size)) for i in range(0, max(size, 1), step)]


def _packed(x):
    """Return an array of 64 bits as pairs of 32, others as they are."""
    if x.dtype not in WIDE:
        return x
    if isinstance(x, np.ndarray):
        return np.ascontiguousarray(x).reshape(*x.shape, 1).view(np.uint32)
    return lax.bitcast_convert_type(x, jnp.uint32)


def _unpacked(x, dtype):
    """Return what was packed in its dtype."""
    if dtype not in WIDE:
        return x
    if isinstance(x, np.ndarray):
        return np.ascontiguousarray(x).view(dtype)[..., 0]
    return lax.bitcast_convert_type(x, dtype)


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
