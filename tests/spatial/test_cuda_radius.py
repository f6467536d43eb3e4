"""The CUDA engine's radius searches: the numbers of NumPy and of `_lax`.

Its kernels are compiled for the host, or run on a GPU where there is one.

Points have integer coordinates, so that no rounding differs, and radii reach some of them exactly.
"""

import functools
from functools import partial

import cuda_host
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxapi.spatial import KDTree
from jaxapi.spatial._cells._points import ImagePoints
from jaxapi.spatial._cells._program_searcher import ProgramImageSearcher
from jaxapi.spatial._engines import _cuda, _lax
from jaxapi.spatial._tree._build import build
from jaxapi.spatial._tree._metric import TreeMetric
from jaxapi.spatial._tree._queries import Relation, Written, own_queries, radius_bound

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("kernels_on_host")]

EUCLIDEAN = TreeMetric(2.0)
BOX = np.array([20.0, 0.0, 16.0], np.float32)

jitted_build = jax.jit(build, static_argnames="leaf_size")


@functools.cache
def jitted(function, **options):
    """Return a function of either engine, traced once for all tests."""
    return jax.jit(partial(function, **options))


def cloud(n, seed=3, side=12):
    """Return points of which some are not finite, and some fall together."""
    points = np.random.default_rng(seed).integers(0, side, (n, 3)).astype(np.float32)
    points[::50] = np.nan
    return points


def queries_of(tree, count, radius, box=None, p=2.0):
    """Return queries, one of them not finite, in and around the cloud, on which both engines agree."""
    rng = np.random.default_rng(count)
    x = rng.integers(-3, 15, (count, 3)).astype(np.float32)
    x[count // 3] = np.inf
    radii = np.full(count, radius, np.float32)
    queries = jitted(_cuda.ordered_queries)(tree, x, radii, TreeMetric(p, box))
    theirs = jitted(_lax.ordered_queries)(tree, x, radii, TreeMetric(p, box))
    np.testing.assert_array_equal(np.sort(queries.order), np.arange(count))
    for a, b in zip((queries.points.T, queries.bound), (theirs.points.T, theirs.bound), strict=True):
        np.testing.assert_array_equal(np.sort(a, axis=0), np.sort(b, axis=0))
    return queries


def both(name, *arrays, **options):
    """Return the result of the kernel of that name, and that of `_lax`."""
    return tuple(jitted(getattr(engine, name), **options)(*arrays) for engine in (_cuda, _lax))


def by_numpy(tree, queries, metric, relation):
    """Return the place of each query, and its neighbours' rows and distances in the order of slots."""
    points, x = np.asarray(tree.points).T.astype(float), np.asarray(queries.points).T.astype(float)
    with np.errstate(invalid="ignore"):
        apart = np.abs(x[:, None] - points)
        box, p = metric.boxsize, metric.p
        length = np.inf if box is None else np.where(box > 0, box * np.asarray(tree.scale), np.inf)
        apart = np.where(apart > length / 2, length - apart, apart)
        powers = apart.max(axis=2) if p == np.inf else (apart**p).sum(axis=2)
    hits = (powers <= np.asarray(queries.bound)[:, None]) & np.isfinite(powers)
    slots, own = np.arange(len(points)), np.asarray(queries.slot)[:, None]
    hits &= {Relation.ANY: True, Relation.OTHER: slots != own, Relation.LATER: slots > own}[relation]
    distances = (powers if p == np.inf else powers ** (1 / p)) / np.asarray(tree.scale)
    rows = np.asarray(tree.rows)
    return [
        (i, rows[hit], line[hit])
        for i, hit, line in zip(np.asarray(queries.order), hits, distances, strict=True)
    ]


def assert_numpys(tree, queries, metric, relation):
    """Count and fill, whole, in halves of the places, and cut off."""
    lines, n = by_numpy(tree, queries, metric, relation), int(tree.n)
    counts = np.zeros(len(queries.bound), np.int32)
    for place, rows, _ in lines:
        counts[place] += len(rows)
    found = jitted(_cuda.count, relation=relation)(tree, queries, metric)
    np.testing.assert_array_equal(found, counts)
    offsets = np.append(0, np.cumsum(counts, dtype=np.int32)).astype(np.int32)
    total = int(offsets[-1])
    size = total + 3
    for places in (offsets, offsets // 2, np.minimum(offsets, total // 2)):
        ends, senders, lengths = (np.full(total + 3, each) for each in (n, n, np.inf))
        for place, rows, distances in lines:
            if len(rows):
                part = slice(places[place], min(places[place + 1], places[place] + len(rows)))
                ends[part] = place
                senders[part], lengths[part] = (each[: part.stop - part.start] for each in (rows, distances))
        filled = jitted(_cuda.fill, relation=relation, size=size)(tree, queries, places, metric)
        np.testing.assert_array_equal(filled[0], senders)
        np.testing.assert_allclose(filled[1], lengths, rtol=1e-6)
        if relation is Relation.ANY:
            continue
        edges = jitted(_cuda.fill, relation=relation, size=size, written=Written.EDGES)
        filled = edges(tree, queries, places, metric)
        np.testing.assert_array_equal(filled[2], ends)
        np.testing.assert_array_equal(filled[0], senders)
        if relation is Relation.LATER:
            pairs = jitted(_cuda.fill, relation=relation, size=size, written=Written.PAIRS)
            (found,) = pairs(tree, queries, places, metric)
            right = np.stack([np.minimum(ends, senders), np.maximum(ends, senders)], axis=1)
            np.testing.assert_array_equal(found, right)
            assert (right[: int(places[-1]) // 2] < n).any()
    return counts


@pytest.mark.thorough
@pytest.mark.daily("0-2.0-None-4")
@pytest.mark.parametrize(
    ("relation", "p", "box", "leaf_size"),
    [
        (Relation.ANY, 2.0, None, 4),
        (Relation.ANY, 1.0, BOX, 12),
        (Relation.OTHER, np.inf, BOX, 4),
        (Relation.LATER, 2.0, None, 16),
    ],
)
def test_same_as_numpy(relation, p, box, leaf_size):
    tree = jitted_build(cloud(300), np.int32(290), leaf_size=leaf_size)
    if relation is Relation.ANY:
        queries = queries_of(tree, 70, 4.0, box)
        queries = queries._replace(bound=queries.bound * (np.arange(70) % 3 / 2).astype(np.float32))
    else:
        queries = own_queries(tree, jnp.float32(3.0), p)
    counts = assert_numpys(tree, queries, TreeMetric(p, box), relation)
    assert counts.max() > 1


@pytest.mark.thorough
@pytest.mark.daily("3-2.0-None")
@pytest.mark.parametrize(
    ("limit", "p", "box"), [(3, 2.0, None), (40, 2.0, BOX), (100, 1.0, BOX), (257, 2.0, None)]
)
def test_rows_are_those_of_lax(limit, p, box):
    """Sorted, filled up and counted; of more neighbours than there is room for any may be kept."""
    tree = jitted_build(cloud(300), np.int32(290), leaf_size=4)
    queries = queries_of(tree, 70, 5.0, box, p)
    queries = queries._replace(bound=queries.bound * (np.arange(70) % 3 / 2).astype(np.float32))
    queries = queries._replace(order=np.random.default_rng(0).permutation(70).astype(np.int32))
    found, expected = both("fill_rows", tree, queries, TreeMetric(p, box), max_neighbors=limit)
    counts = np.asarray(found[2])
    np.testing.assert_array_equal(counts, expected[2])
    assert counts.max() > (limit if limit < 100 else 0)
    whole = counts <= limit
    np.testing.assert_array_equal(np.asarray(found[0])[whole], np.asarray(expected[0])[whole])
    np.testing.assert_allclose(np.asarray(found[1])[whole], np.asarray(expected[1])[whole], rtol=1e-6)
    pairs = np.stack([np.asarray(found[1]), np.asarray(found[0])], axis=2)
    assert (np.lexsort((pairs[:, :, 1], pairs[:, :, 0]), axis=1) == np.arange(limit)).all()
    assert (pairs[~whole, :, 1] < int(tree.n)).all()
    assert pairs[~whole, :, 0].max(initial=0) <= 5


@pytest.mark.thorough
@pytest.mark.daily("float32")
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_bins_are_those_of_lax(dtype):
    """Sum weights within radii in any order, no two queries with equal sums in all."""
    with jax.enable_x64(dtype == np.float64):
        tree = jitted_build(cloud(300), np.int32(300), leaf_size=4)
        queries = queries_of(tree, 70, -1.0)
        radii = radius_bound(tree, np.array([2.0, -1.0, 0.0, 30.0, 8.0, 5.0], np.float32), 2.0)
        weights = np.where(np.asarray(tree.rows) < tree.n, np.arange(len(tree.rows)), 0).astype(dtype)
        found, expected = both("bin_counts", tree, queries, radii, weights, EUCLIDEAN)
        np.testing.assert_array_equal(found, expected)  # sums of small integers, exact in every dtype
        assert (np.asarray(found)[[0, 2, 3, 4, 5]] > 0).any(axis=1).all()


@pytest.mark.daily
def test_lowest_numbers_are_numpys():
    """Of the slots within a radius, whose numbers are in no order."""
    tree = jitted_build(cloud(300), np.int32(290), leaf_size=4)
    queries = queries_of(tree, 70, 4.0)
    numbers = np.random.default_rng(2).permutation(len(tree.rows)).astype(np.int32)
    number_of_row = dict(zip(np.asarray(tree.rows).tolist(), numbers.tolist(), strict=True))
    expected = np.full(70, np.iinfo(np.int32).max)
    for place, rows, _ in by_numpy(tree, queries, EUCLIDEAN, Relation.ANY):
        for row in rows.tolist():
            expected[place] = min(expected[place], number_of_row[row])
    np.testing.assert_array_equal(jitted(_cuda.lowest)(tree, queries, numbers, EUCLIDEAN), expected)


def test_counts_nodes_inside_of_the_radius_without_a_visit():
    """Slots that a node has lost are counted where the node is counted as a whole."""
    tree = jitted_build(cloud(300), np.int32(300), leaf_size=4)
    for radius in (40.0, 14.0):  # all points; some nodes
        queries = own_queries(tree, jnp.float32(radius), 2.0)
        found, expected = both("count", tree, queries, EUCLIDEAN, relation=Relation.ANY)
        np.testing.assert_array_equal(found, expected)
    emptied = tree._replace(points=tree.points.at[:, 32:].set(1e6))
    visited, _ = both("count", emptied, queries, EUCLIDEAN, relation=Relation.ANY)
    assert int(jnp.sum(visited)) > int(jnp.sum(expected)) // 2


def test_points_without_coordinates_come_last():
    """Counting by nodes rests on this."""
    tree = jitted_build(cloud(300), np.int32(290), leaf_size=4)
    there = np.isfinite(np.asarray(tree.points)).all(axis=0)
    assert there[: there.sum()].all()


@pytest.mark.thorough
def test_pairs_across_the_border_of_a_cell():
    """Of many leaves, and at a radius that reaches points up to rounding."""
    rng = np.random.default_rng(4)
    points = np.stack(np.meshgrid(np.arange(12), np.arange(10)), axis=-1).reshape(-1, 2) * 0.1
    points = rng.permutation(points)
    cell = np.diag([1.2, 1.0])
    radius = 0.1 + 0.2
    with cuda_host.x64_in_all_threads():
        tree = KDTree(points, cell=cell)
        expected = tree.query_pairs(radius, output_type="ndarray")
        images = ProgramImageSearcher(
            ImagePoints(points, len(points), cell, None), (True, True), tree._cloud.options, _cuda
        )
        found = images.fixed_pairs(radius, tree._cloud.search(2.0, tree.data.dtype), 2048)
    count = len(expected.pairs)
    assert int(found.count) == count
    ends = [np.concatenate([each.pairs, each.shifts], axis=1)[:count].tolist() for each in (found, expected)]
    assert sorted(ends[0]) == sorted(ends[1])
    assert np.asarray(expected.shifts).any(axis=1).sum() > 100


def test_no_queries():
    tree = jitted_build(cloud(300), np.int32(300), leaf_size=4)
    none = np.zeros((0, 3), np.float32), np.zeros(0, np.float32)
    queries = _cuda.ordered_queries(tree, *none, EUCLIDEAN)
    assert queries.order.shape == (0,)
    assert _cuda.count(tree, queries, EUCLIDEAN, relation=Relation.ANY).shape == (0,)
    offsets = np.zeros(1, np.int32)
    rows, distances = _cuda.fill(tree, queries, offsets, EUCLIDEAN, size=3, relation=Relation.ANY)
    assert (np.asarray(rows) == 300).all()
    assert np.isinf(distances).all()
