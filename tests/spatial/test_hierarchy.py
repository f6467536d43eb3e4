"""The hierarchy by a program: NumPy's of the same spanning tree, SciPy's linkage, scikit-learn's labels."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist
from sklearn.cluster import HDBSCAN

from jaxapi.spatial import KDTree, _linkage, single_linkage
from jaxapi.spatial._clusters import _device, _hierarchy, _selection
from jaxapi.spatial._clusters._arrays import OnDevice, OnHost
from jaxapi.spatial._engines import _choice, _cuda, _lax
from jaxapi.spatial._tree._sorting import lexsorted

N = 60
SELECTIONS = {
    "eom": {"min_cluster_size": 5},
    "leaf": {"min_cluster_size": 3, "cluster_selection_method": "leaf", "cluster_selection_epsilon": 0.1},
    "single": {"min_cluster_size": 4, "cluster_selection_epsilon": 0.2, "allow_single_cluster": True},
    "large": {"min_cluster_size": N + 1, "allow_single_cluster": True},
}


def selection(options):
    options = {"cluster_selection_method": "eom", "cluster_selection_epsilon": None, **options}
    names = "min_cluster_size", "cluster_selection_method", "cluster_selection_epsilon"
    return _selection.Selection(*map(options.get, names), options.get("allow_single_cluster", False))


@partial(jax.jit, static_argnames="selection")
def cut(rows, distances, selection):
    """Return the walked tree, and what a program makes of it."""
    with jax.enable_x64(True):
        n = len(rows) + 1
        *ends, distances = _hierarchy.from_lowest(n, *rows.T, distances)
        merges = _hierarchy.dendrogram(OnDevice, n, *ends)
        return *ends, distances, *_selection.flat_clusters(OnDevice, selection, merges, distances)


def trees(rng):
    """Give spanning trees of N points by their kinds: (rows, distances)."""
    x = rng.random((N, 2))
    for least in (1, 4):
        yield tuple(KDTree(x).minimum_spanning_tree(min_samples=least))
        for points in (np.round(4 * x) / 8, np.repeat(x[: N // 5], 5, axis=0), np.ones((N, 2))):
            yield tuple(KDTree(points).minimum_spanning_tree(min_samples=least))
    centres = rng.random((5, 2)) * 3
    yield tuple(KDTree(rng.normal(centres[rng.integers(0, 5, N)], 0.1)).minimum_spanning_tree())
    joined = np.array([rng.integers(i) for i in range(1, N)])
    line = np.arange(N - 1)
    for one in (joined, line, line // 2, np.zeros(N - 1, int)):
        rows, lengths = np.stack([one, line + 1], axis=1), rng.integers(0, 30, N - 1) / 8
        order = np.argsort(lengths, kind="stable")
        yield rng.permutation(N)[rows[order]], lengths[order]
    low = line + 1 & -(line + 1)  # halves joined by ever longer edges
    yield np.stack([line, line + 1], axis=1)[np.argsort(low, kind="stable")], np.sort(low).astype(float)


@pytest.mark.parametrize("n", [2, 9, 40])
def test_each_round_halves_what_is_apart(n, monkeypatch):
    """Every component joins another one, until there is one; it comes first, as others would never end."""
    rounds = []
    join = _hierarchy._join

    def counted(*args):
        rounds.append(args)
        assert len(rounds) <= n.bit_length()
        return join(*args)

    monkeypatch.setattr(_hierarchy, "_join", counted)
    ends = np.random.default_rng(n).permutation(n)
    merges = _hierarchy.dendrogram(OnHost, n, ends[1:], ends[:-1])
    assert sorted(merges.size.tolist())[-1] == n
    assert rounds


@pytest.mark.thorough
@pytest.mark.daily("leaf")
@pytest.mark.parametrize("options", SELECTIONS.values(), ids=SELECTIONS)
def test_a_program_cuts_a_tree_as_numpy_does(options):
    for rows, distances in trees(np.random.default_rng(0)):
        chosen = selection(options)
        with jax.enable_x64(True):
            one, two, lengths, *found = map(np.asarray, cut(np.asarray(rows, np.int32), distances, chosen))
        np.testing.assert_array_equal(lengths, distances)
        merges = _hierarchy.dendrogram(OnHost, N, one, two)
        expected = _selection.flat_clusters(OnHost, chosen, merges, lengths)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)


@pytest.mark.daily
@pytest.mark.parametrize("options", [SELECTIONS["eom"], SELECTIONS["leaf"]], ids=["eom", "leaf"])
def test_labels_are_scikit_learns_where_no_distances_are_equal(options):
    rng, options = np.random.default_rng(1), {**options, "cluster_selection_epsilon": 0.0}
    chosen = selection({**options, "cluster_selection_epsilon": None})
    for i in range(8):
        x = rng.random((N, 2)) if i % 2 else rng.normal(rng.random((5, 2))[rng.integers(0, 5, N)], 0.05)
        expected = HDBSCAN(min_samples=1, copy=True, **options).fit(x)
        edges = KDTree(x).minimum_spanning_tree()
        with jax.enable_x64(True):
            *_, labels, shares = cut(edges.rows, edges.distances, chosen)
        np.testing.assert_array_equal(labels, expected.labels_)
        np.testing.assert_allclose(shares, expected.probabilities_, rtol=1e-12)


def test_ends_are_those_of_a_walk_from_the_lowest_row():
    rng = np.random.default_rng(2)
    for rows, distances in trees(rng):
        with jax.enable_x64(True):
            one, two, *_ = map(
                np.asarray, cut(np.asarray(rows, np.int32), distances, selection({"min_cluster_size": 5}))
            )
        depth = np.where(np.arange(N) == 0, 0, N)
        for _ in range(N):
            depth[two] = np.minimum(depth[two], depth[one] + 1)
        assert (depth[two] == depth[one] + 1).all()


@pytest.mark.thorough
def test_missing_edges_are_passed_by_in_batches_and_loops():
    rng, chosen = np.random.default_rng(3), selection({"min_cluster_size": 5})
    rows, lengths, expected = [], [], []
    for n in (0, 1, 2, 30, N):
        tree = KDTree(rng.random((n, 2))).minimum_spanning_tree()
        more = N - max(n, 1)
        rows.append(np.pad(np.asarray(tree.rows), ((0, more), (0, 0)), constant_values=-1))
        lengths.append(np.pad(np.asarray(tree.distances), (0, more), constant_values=np.inf))
        merges = _hierarchy.dendrogram(OnHost, N, *(np.asarray(each) for each in rows[-1].T))
        expected.append(_selection.flat_clusters(OnHost, chosen, merges, lengths[-1]))
        assert (expected[-1][0][n:] == -1).all()
    rows, lengths = np.stack(rows).astype(np.int32), np.stack(lengths).astype(np.float32)

    def found(x):
        return cut(*x, chosen)[-2:]

    batch = jax.vmap(found)((rows, lengths))
    loop = jax.lax.scan(lambda carry, x: (carry, found(x)), 0, (rows, lengths))[1]
    for a, b in zip(jax.tree.leaves(batch), jax.tree.leaves(loop), strict=True):
        np.testing.assert_array_equal(a, b)
    same = [(np.unique(a) == np.unique(b[0])).all() for a, b in zip(batch[0], expected, strict=True)]
    assert all(same)  # numbered from another end
    for a, b in zip(batch[1], expected, strict=True):
        np.testing.assert_allclose(a, b[1], rtol=1e-5)


@pytest.mark.daily
def test_a_program_makes_scipys_linkage_in_a_larger_room():
    rng = np.random.default_rng(4)
    for n in (2, 30, N):
        x = rng.random((n, 2))
        rows, lengths = map(np.asarray, KDTree(x).minimum_spanning_tree())
        mixed, more = rng.permutation(n - 1), N - n
        rows = np.pad(rows[mixed], ((0, more), (0, 0)), constant_values=7)
        with jax.enable_x64(True):
            lengths = np.pad(lengths[mixed], (0, more), constant_values=np.nan)
            found, tree = _device.linkage(rows, lengths, np.int32(n), engine=_lax)
            assert tree
            np.testing.assert_allclose(found[: n - 1], linkage(pdist(x), "single"), rtol=1e-12)
            for wrong in (rows[::-1] * 0, np.where(rows == rows[0, 0], n, rows)):
                assert n == 2 or not _device.linkage(wrong, lengths, np.int32(n), engine=_lax)[1]
            assert not _device.linkage(rows, np.full(N - 1, np.nan), np.int32(n), engine=_lax)[1]


def test_a_graph_of_a_cycle_and_another_tree_is_none():
    rows = np.array([[0, 1], [1, 2], [0, 2], [3, 4]])
    with jax.enable_x64(True):
        assert not _device.linkage(rows, np.arange(4.0), np.int32(5), engine=_lax)[1]


def test_negative_lengths_and_zeros_are_ordered():
    with jax.enable_x64(True):
        rows = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
        found, _ = _device.linkage(rows, np.array([0.0, -1.0, -0.0, -3.0]), np.int32(5), engine=_lax)
    np.testing.assert_array_equal(found[:, 2], [-3, -1, 0, 0])
    np.testing.assert_array_equal(found[2:, :2], [[0, 6], [5, 7]])


@pytest.mark.thorough
def test_programs_for_a_gpu_do_not_call_the_host(monkeypatch):
    """They are lowered here, without what the kernels do, and exported but for these."""

    def nothing(kernel, blocks, threads, inputs, outputs, items):
        return [jnp.zeros(each.shape, each.dtype) for each in outputs.values()]

    monkeypatch.setattr(_choice, "gpu_engine", lambda: _cuda)
    monkeypatch.setattr(_cuda._launch, "custom_call", nothing)
    x = np.zeros((50, 2), np.float32)

    def clusters(x, n):
        tree = KDTree(x, n=n)
        return tree.hdbscan(4), tree.minimum_spanning_tree(min_samples=3)

    for batched in (clusters, jax.vmap(clusters, in_axes=(0, None))):
        shape = x if batched is clusters else x[None]
        lowered = jax.jit(batched).trace(shape, 40).lower(lowering_platforms=("cuda",))
        assert "callback" not in lowered.as_text()
    jax.jit(lambda x: KDTree(x).hdbscan(4, min_samples=1)).trace(x[:1]).lower(lowering_platforms=("cuda",))
    exported = jax.export.export(jax.jit(lambda x: KDTree(x).hdbscan(4)), platforms=["cuda"])(x)
    assert exported.platforms == ("cuda",)


@pytest.mark.daily
def test_concrete_edges_on_a_device_are_merged_there(monkeypatch):
    rows, lengths = map(np.asarray, KDTree(np.random.default_rng(5).random((30, 2))).minimum_spanning_tree())
    expected = single_linkage(rows, lengths)
    monkeypatch.setattr(_linkage, "_on_a_device", lambda *arrays: jnp.zeros(1))
    monkeypatch.setattr(_linkage, "computed", None)
    found = single_linkage(rows, lengths)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="nan"):
        single_linkage(rows, lengths * np.nan)
    with pytest.raises(ValueError, match="the edges of a tree of 30 points"):
        single_linkage(rows * 0, lengths)


def test_keys_of_64_bits_are_sorted_without_x64():
    rng = np.random.default_rng(6)
    rows, lengths = rng.integers(0, 2**40, 50) % 7 * 2**33, rng.integers(0, 5, 50) / 3
    with jax.enable_x64(True):
        keys = jnp.asarray(rows), jnp.asarray(lengths)
    for each in (keys, keys[::-1], keys[:1]):
        np.testing.assert_array_equal(jax.jit(lexsorted)(*each), np.lexsort([np.asarray(k) for k in each]))
