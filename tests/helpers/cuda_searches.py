"""What tests of the CUDA engine share: a host without a GPU, nearest neighbours by it, and their oracles."""

import contextlib
import functools
from functools import partial

import cuda_host
import jax
import numpy as np
import pytest
from scipy.spatial import cKDTree

from jaxapi.spatial._engines import _cuda
from jaxapi.spatial._engines._cuda import _every, _launch, _nearest_by_cuda
from jaxapi.spatial._tree._build import build
from jaxapi.spatial._tree._metric import Measure, TreeMetric
from jaxapi.spatial._tree._queries import Limits
from jaxapi.spatial._tree._scaling import with_room_for_powers

POINTS, QUERIES = 300, 50  # few shapes: each is a compilation of XLA's

jitted_build = jax.jit(build, static_argnames="leaf_size")


@pytest.fixture
def kernels_on_host(monkeypatch):
    """Launch kernels on the host, where there is no GPU."""
    if jax.default_backend() == "gpu":
        return
    if cuda_host.compiler() is None:
        pytest.skip("no C++ compiler: neither g++ nor the wheel ziglang")
    monkeypatch.setattr(_launch, "custom_call", cuda_host.custom_call)


def search(tree, queries, limits, metric, *, k, measure):
    queries = metric.wrap(queries)
    tree = with_room_for_powers(tree, metric.p, queries)
    return _cuda.nearest(tree, queries, limits, metric, k=k, measure=measure)


def searches(**options):
    """Return a search with these options, traced once for all tests that change nothing of what it reads."""
    read = [_launch.custom_call, _nearest_by_cuda.share_walks, _nearest_by_cuda.AT_ONCE, _every.architecture]
    read += [_every.CANDIDATE_WARPS, _every.FIRST, _every.LARGEST, _every.BLOCKS, _every.ROOM, _every.MEMORY]
    return _jitted(tuple(read), **{"measure": Measure.DISTANCE, **options})


@functools.cache
def _jitted(read, **options):
    return jax.jit(partial(search, **options))


def query(
    points, queries, *, k=3, p=2.0, bound=np.inf, eps=0.0, box=None, leaf_size=4, measure=Measure.DISTANCE
):
    """Return NumPy distances and rows."""
    dtype = points.dtype.type
    with cuda_host.x64_in_all_threads() if dtype == np.float64 else contextlib.nullcontext():
        tree = jitted_build(points, np.int32(len(points)), leaf_size=leaf_size)
        box = None if box is None else np.broadcast_to(np.asarray(box, dtype), points.shape[1:])
        limits = Limits(np.asarray(bound, dtype), dtype(eps))
        found = searches(k=k, measure=measure)(tree, queries, limits, TreeMetric(p, box))
        return tuple(np.asarray(x) for x in found)


def uniform(n, m, seed, dtype=np.float32):
    return np.random.default_rng(seed).random((n, m)).astype(dtype)


def grid(n, m, seed):
    """Return points with integer coordinates, many of them equal, and equal distances in plenty."""
    return np.random.default_rng(seed).integers(0, 6, (n, m)).astype(np.float32)


def assert_as_scipy(points, queries, found, *, k, p=2.0, bound=np.inf, box=None):
    distances, rows = found
    tree = cKDTree(points.astype(float), boxsize=box)
    expected, _ = tree.query(queries.astype(float), k=[*range(1, k + 1)], p=p, distance_upper_bound=bound)
    rtol = 8 * np.finfo(points.dtype).eps
    np.testing.assert_allclose(distances, expected, rtol=rtol, atol=rtol)
    assert (rows[np.isinf(expected)] == len(points)).all()
    there = np.isfinite(distances)
    difference = np.abs(points[rows[there]].astype(float) - np.repeat(queries, there.sum(1), 0))
    if box is not None:
        length = np.where(np.asarray(box) > 0, box, np.inf)
        difference %= length
        difference = np.minimum(difference, length - difference)
    exact = difference.max(1) if p == np.inf else (difference**p).sum(1) ** (1 / p)
    np.testing.assert_allclose(distances[there], exact, rtol=2 * rtol, atol=rtol)


def assert_exact(points, queries, found, k):
    """Compare with every distance of integer points, ordered by (distance, row)."""
    squares = ((queries[:, None].astype(int) - points[None].astype(int)) ** 2).sum(-1)
    rows = np.argsort(squares, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found[1], rows)
    distances = np.sqrt(np.take_along_axis(squares, rows, 1).astype(np.float32))
    np.testing.assert_array_equal(found[0], distances)
