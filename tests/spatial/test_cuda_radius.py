"""The CUDA engine's radius searches: the numbers of NumPy and of `_lax`.

Its kernels are compiled for the host, or run on a GPU where there is one.

Points have integer coordinates, so that no rounding differs, and radii reach some of them exactly.
"""

import functools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxapi.spatial import _cuda, _lax
from jaxapi.spatial._structure._build import build
from jaxapi.spatial._structure._queries import own_queries, radius_bound

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("kernels_on_host")]

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


def queries_of(tree, count, radius, box=None):
    """Return queries, one of them not finite, in and around the cloud, on which both engines agree."""
    rng = np.random.default_rng(count)
    x = rng.integers(-3, 15, (count, 3)).astype(np.float32)
    x[count // 3] = np.inf
    radii = np.full(count, radius, np.float32)
    queries, order = jitted(_cuda.ordered_queries, p=2.0)(tree, x, radii, box)
    theirs, _ = jitted(_lax.ordered_queries, p=2.0)(tree, x, radii, box)
    np.testing.assert_array_equal(np.sort(order), np.arange(count))
    for a, b in zip((queries.points.T, queries.bound), (theirs.points.T, theirs.bound), strict=True):
        np.testing.assert_array_equal(np.sort(a, axis=0), np.sort(b, axis=0))
    return queries, order


def both(name, *arrays, **options):
    """Return the result of the kernel of that name, and that of `_lax`."""
    return tuple(jitted(getattr(engine, name), **options)(*arrays) for engine in (_cuda, _lax))


def by_numpy(tree, queries, order, box, relation, p):
    """Return the place of each query, and its neighbours' rows and distances in the order of slots."""
    points, x = np.asarray(tree.points).T.astype(float), np.asarray(queries.points).T.astype(float)
    with np.errstate(invalid="ignore"):
        apart = np.abs(x[:, None] - points)
        length = np.inf if box is None else np.where(box > 0, box * np.asarray(tree.scale), np.inf)
        apart = np.where(apart > length / 2, length - apart, apart)
        powers = apart.max(axis=2) if p == np.inf else (apart**p).sum(axis=2)
    hits = (powers <= np.asarray(queries.bound)[:, None]) & np.isfinite(powers)
    slots, own = np.arange(len(points)), np.asarray(queries.own)[:, None]
    hits &= {"any": True, "other": slots != own, "later": slots > own}[relation]
    distances = (powers if p == np.inf else powers ** (1 / p)) / np.asarray(tree.scale)
    rows = np.asarray(tree.rows)
    return [
        (i, rows[hit], line[hit]) for i, hit, line in zip(np.asarray(order), hits, distances, strict=True)
    ]


def assert_same(tree, queries, order, box, *, relation, p):
    """Count and fill, whole, in halves of the places, and cut off."""
    lines, n = by_numpy(tree, queries, order, box, relation, p), int(tree.n)
    counts = np.zeros(len(queries.bound), np.int32)
    for place, rows, _ in lines:
        counts[place] += len(rows)
    found = jitted(_cuda.count, p=p, relation=relation)(tree, queries, order, box)
    np.testing.assert_array_equal(found, counts)
    offsets = np.append(0, np.cumsum(counts, dtype=np.int32)).astype(np.int32)
    total = int(offsets[-1])
    options = {"size": total + 3, "p": p}
    for places in (offsets, offsets // 2, np.minimum(offsets, total // 2)):
        ends, senders, lengths = (np.full(total + 3, each) for each in (n, n, np.inf))
        for place, rows, distances in lines:
            if len(rows):
                part = slice(places[place], min(places[place + 1], places[place] + len(rows)))
                ends[part] = place
                senders[part], lengths[part] = (each[: part.stop - part.start] for each in (rows, distances))
        filled = jitted(_cuda.fill, relation=relation, **options)(tree, queries, order, places, box)
        np.testing.assert_array_equal(filled[0], senders)
        np.testing.assert_allclose(filled[1], lengths, rtol=1e-6)
        if relation == "any":
            continue
        filled = jitted(_cuda.fill_edges, relation=relation, **options)(tree, queries, places, box)
        np.testing.assert_array_equal(filled[0], ends)
        np.testing.assert_array_equal(filled[1], senders)
        if relation == "later":
            found = jitted(_cuda.fill_pairs, **options)(tree, queries, places, box)
            right = np.stack([np.minimum(ends, senders), np.maximum(ends, senders)], axis=1)
            np.testing.assert_array_equal(found, right)
            assert (right[: int(places[-1]) // 2] < n).any()
    return counts


@pytest.mark.parametrize(
    ("relation", "p", "box", "leaf_size"),
    [("any", 2.0, None, 4), ("any", 1.0, BOX, 12), ("other", np.inf, BOX, 4), ("later", 2.0, None, 16)],
)
def test_same_as_numpy(relation, p, box, leaf_size):
    tree = jitted_build(cloud(300), np.int32(290), leaf_size=leaf_size)
    if relation == "any":
        queries, order = queries_of(tree, 70, 4.0, box)
        queries = queries._replace(bound=queries.bound * (np.arange(70) % 3 / 2).astype(np.float32))
    else:
        queries, order = own_queries(tree, jnp.float32(3.0), p=p), tree.rows
    counts = assert_same(tree, queries, order, box, relation=relation, p=p)
    assert counts.max() > 1


@pytest.mark.parametrize(
    ("limit", "p", "box"), [(3, 2.0, None), (40, 2.0, BOX), (100, 1.0, BOX), (257, 2.0, None)]
)
def test_lines_are_those_of_lax(limit, p, box):
    """Sorted, filled up and counted; of more neighbours than there is room for any may be kept."""
    tree = jitted_build(cloud(300), np.int32(290), leaf_size=4)
    queries, _ = queries_of(tree, 70, 5.0, box)
    queries = queries._replace(bound=queries.bound * (np.arange(70) % 3 / 2).astype(np.float32))
    order = np.random.default_rng(0).permutation(70).astype(np.int32)
    found, expected = both("fill_lines", tree, queries, order, box, limit=limit, p=p)
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


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_bins_are_those_of_lax(dtype):
    """Sum weights within radii in any order, no two queries with equal sums in all."""
    with jax.enable_x64(dtype == np.float64):
        tree = jitted_build(cloud(300), np.int32(300), leaf_size=4)
        queries, _ = queries_of(tree, 70, -1.0)
        radii = radius_bound(tree, np.array([2.0, -1.0, 0.0, 30.0, 8.0, 5.0], np.float32), 2.0)
        weights = np.where(np.asarray(tree.rows) < tree.n, np.arange(len(tree.rows)), 0).astype(dtype)
        found, expected = both("bin_counts", tree, queries, radii, weights, None, p=2.0)
        np.testing.assert_array_equal(found, expected)  # sums of small integers, exact in every dtype
        assert (np.asarray(found)[[0, 2, 3, 4, 5]] > 0).any(axis=1).all()


def test_counts_nodes_inside_of_the_radius_without_a_visit():
    """Slots that a node has lost are counted where the node is counted as a whole."""
    tree = jitted_build(cloud(300), np.int32(300), leaf_size=4)
    for radius in (40.0, 14.0):  # all points; some nodes
        queries = own_queries(tree, jnp.float32(radius), p=2.0)
        found, expected = both("count", tree, queries, tree.rows, None, p=2.0, relation="any")
        np.testing.assert_array_equal(found, expected)
    emptied = tree._replace(points=tree.points.at[:, 32:].set(1e6))
    visited, _ = both("count", emptied, queries, tree.rows, None, p=2.0, relation="any")
    assert int(jnp.sum(visited)) > int(jnp.sum(expected)) // 2


def test_points_without_coordinates_come_last():
    """Counting by nodes rests on this."""
    tree = jitted_build(cloud(300), np.int32(290), leaf_size=4)
    there = np.isfinite(np.asarray(tree.points)).all(axis=0)
    assert there[: there.sum()].all()


def test_no_queries():
    tree = jitted_build(cloud(300), np.int32(300), leaf_size=4)
    none = np.zeros((0, 3), np.float32), np.zeros(0, np.float32)
    queries, order = _cuda.ordered_queries(tree, *none, None, p=2.0)
    assert order.shape == (0,)
    assert _cuda.count(tree, queries, order, None, p=2.0, relation="any").shape == (0,)
    offsets = np.zeros(1, np.int32)
    rows, distances = _cuda.fill(tree, queries, order, offsets, None, size=3, p=2.0, relation="any")
    assert (np.asarray(rows) == 300).all()
    assert np.isinf(distances).all()
