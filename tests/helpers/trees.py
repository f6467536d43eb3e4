"""Clouds of points to build trees of, and what every search relies on in a tree."""

import numpy as np

from jaxapi.spatial import KDTree

__all__ = ["check", "check_nodes", "cloud"]


def cloud(kind, n, m, dtype):
    rng = np.random.default_rng(n + m)
    points = rng.random((n, m))
    if kind == "duplicates":
        points = np.round(points * 3)
    elif kind == "line":
        points = points[:, :1] * np.arange(1, m + 1)
    elif kind == "outlier" and n:
        points[0] = 1e9
    elif kind == "wide":
        points = (points - 0.5) * 1e30
    elif kind == "narrow":
        points = points * 1e-30
    elif kind == "far" and m > 1:
        points = points * 1e-30
        points[:, 0] = 1e20
    return points.astype(dtype)


def check(tree, points):
    """Assert what every search relies on."""
    n, m = points.shape
    columns, rows = np.asarray(tree.points), np.asarray(tree.rows)
    leaf, leaves = tree.leaf_size, tree.leaves
    assert columns.shape == (m, leaf * leaves)
    assert leaves == 1 << tree.levels
    assert sorted(rows[rows < n]) == list(range(n))
    assert (rows[n:] == n).all(), "slots without a point come last"
    assert np.isinf(columns[:, n:]).all()
    scale = float(tree.scale)
    assert np.log2(scale) == round(np.log2(scale))
    np.testing.assert_array_equal(columns[:, :n].T, points[rows[:n]] * points.dtype.type(scale))
    nodes = columns.reshape(m, leaves, leaf)
    for node in range(2 * leaves - 1, 0, -1):
        if node >= leaves:
            inside = nodes[:, node - leaves]
            low = inside.min(1)
            high = np.where(np.isinf(inside), -np.inf, inside).max(1)
        else:
            low = np.minimum(tree.lower[:, 2 * node], tree.lower[:, 2 * node + 1])
            high = np.maximum(tree.upper[:, 2 * node], tree.upper[:, 2 * node + 1])
        np.testing.assert_array_equal(tree.lower[:, node], low)
        np.testing.assert_array_equal(tree.upper[:, node], high)
    _, places = np.unique(columns[:, :n], axis=1, return_inverse=True)
    for place in np.flatnonzero(np.bincount(places.ravel()) > 1):
        assert (np.diff(rows[:n][places.ravel() == place]) > 0).all(), (
            "equal points in the order of their rows"
        )


def check_nodes(tree, points):
    """Assert what the nodes of a KDTree's `tree` tell: which points they have, and where these are parted."""
    nodes, n = [tree.tree], len(points)
    assert sorted(tree.tree.idx.tolist()) == list(range(n))
    assert tree.tree.children == n
    while nodes:
        node = nodes.pop()
        np.testing.assert_array_equal(points[node.idx], node.data_points)
        if isinstance(node, KDTree.leafnode):
            assert node.split_dim == -1
            continue
        assert isinstance(node, KDTree.innernode)
        assert node.children == node.less.children + node.greater.children
        assert node.less.level == node.level + 1
        if node.less.children and node.greater.children:
            assert node.less.data_points[:, node.split_dim].max() <= node.split
            assert node.greater.data_points[:, node.split_dim].min() == node.split
        nodes += [node.less, node.greater]
