"""Functions of NumPy arrays inside of transformations: XLA calls them back, once for a batch of vmap."""

import functools
import itertools
import math
import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import WIDE
from ..._core._programs import any_traced, is_traced
from .._searcher import without_slopes
from .._structure._varying import varying_like

__all__ = ["called_back", "in_turn"]

LARGEST = 90_000  # bytes that JAX before 0.12 hands to a callback at once


class _Callback(NamedTuple):
    """A function of arrays as JAX's callbacks keep them: 64 bits, which they narrow, as pairs of 32."""

    function: Callable
    results: tuple[tuple[tuple[int, ...], np.dtype], ...]  # shapes and dtypes
    arrays: tuple[Any, ...]  # their axes, but for those of batches, and dtypes; numbers as they are

    def __call__(self, *packed):
        kinds = [each for each in self.arrays if isinstance(each, tuple)]
        given = [_unpacked(np.asarray(a), dtype) for a, (_, dtype) in zip(packed, kinds, strict=True)]
        sizes = [a.shape[: a.ndim - axes] for a, (axes, _) in zip(given, kinds, strict=True)]
        batch = np.broadcast_shapes(*sizes)
        ones = (1,) * len(batch)
        pairs = iter(zip(given, sizes, strict=True))
        arrays, batches = zip(
            *(next(pairs) if isinstance(a, tuple) else (np.reshape(a, ones), ones) for a in self.arrays),
            strict=True,
        )
        found = _aside(self.function, batch, batches, *arrays)
        return [_packed(each) for each in found]


def called_back(function: Callable, results, arrays) -> list:
    """Return what ``function(batch, batches, *arrays)`` does when the values of the arrays are known.

    `results` are shapes and dtypes, to which the function adds `batch`: axes that arrays may have in front,
    each of the sizes in its item of `batches` or 1. Nothing has derivatives.
    """
    arrays = without_slopes([each if is_traced(each) else np.asarray(each) for each in arrays])
    _workers()
    # A number that is known stays here: to hand one over takes JAX a third of an empty callback's time.
    known = [not (is_traced(a) or a.ndim) for a in arrays]
    kinds = [a[()] if k else (a.ndim, np.dtype(a.dtype)) for a, k in zip(arrays, known, strict=True)]
    given = [_packed(a) for a, k in zip(arrays, known, strict=True) if not k]
    found = _later(_Callback(function, tuple(results), tuple(kinds)), (), given)
    return [_unpacked(a, dtype) for a, (_, dtype) in zip(found, results, strict=True)]


def in_turn(batch, batches, arrays) -> Iterator[list]:
    """Yield the arrays of each item of a batch."""
    for place in np.ndindex(*batch):
        yield [
            a[tuple(i if size > 1 else 0 for i, size in zip(place, sizes, strict=True))]
            for a, sizes in zip(arrays, batches, strict=True)
        ]


def _aside(function, *arguments):
    """Run a function in a thread that none of XLA's has started.

    In XLA's threads, and those they start, numbers below the least normal one are 0 to the processor: SciPy,
    which parts equal coordinates by the next number, would split points without end.
    """
    answer: Future = Future()

    def run():
        try:
            answer.set_result(function(*arguments))
        except BaseException as error:
            answer.set_exception(error)

    _workers().put(run)
    return answer.result()


@functools.cache
def _workers() -> queue.SimpleQueue:
    """Return where threads take functions from that they run; it is to be called outside of XLA first."""
    functions: queue.SimpleQueue = queue.SimpleQueue()

    def work():
        while True:
            functions.get()()

    for _ in range(min(os.cpu_count() or 1, 16)):  # others wait: a search uses all cores
        threading.Thread(target=work, daemon=True).start()
    return functions


def _later(callback: _Callback, batch, arrays):
    """Call back with arrays of a batch: under vmap once, with all of it; at once where nothing is traced."""
    if not any_traced(*arrays):
        return [jax.device_put(each) for each in callback(*arrays)]
    shapes = [
        jax.ShapeDtypeStruct((*batch, *shape, 2), np.uint32)
        if dtype in WIDE
        else jax.ShapeDtypeStruct((*batch, *shape), dtype)
        for shape, dtype in callback.results
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
            rest = [np.asarray(next(parts)) for _ in range(len(first), math.prod(shape), max(len(first), 1))]
            arrays.append((np.concatenate([first, *rest]) if rest else first).reshape(shape))
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
