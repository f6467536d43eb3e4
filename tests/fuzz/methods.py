"""What each KDTree method should return, compared with what it returns."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from jaxapi.spatial import KDTree, chord_length, great_circle_distance, unit_vectors

from .clouds import clear_radius
from .report import NoOracle, differs

__all__ = ["METHODS"]

EAGER = ("natural", "lax", "cuda")
WHOLE = (*EAGER, "jit")


class Method(NamedTuple):
    """How one method is compared; static arguments come from strategies."""

    compare: Callable  # (case, **options) -> None or (kind, text)
    modes: tuple
    options: dict


def radius(case, apart):
    """Return a radius that rounding cannot confuse."""
    found = clear_radius(case.rng, apart, case.exact and case.p in (1, 2, np.inf))
    if found is None:
        raise NoOracle
    return found


def nearest(case, k, bounded):
    """The nearest of each query."""
    bound = radius(case, case.apart) if bounded else np.inf
    given = {"distance_upper_bound": bound} if bounded else {}
    found, rows = case.search("query", case.queries, traced=given, k=k, p=case.p)
    return neighbours(case, found, rows, np.where(case.apart < bound, case.apart, np.inf), k)


def neighbours(case, found, rows, apart, k):
    """Compare with the order of (distance, row); where distances round, any order within rounding."""
    n = len(case.points)
    order = np.argsort(apart, axis=-1, kind="stable")[:, :k]
    expected = np.full((len(apart), k), np.inf)
    expected[:, : min(k, n)] = np.take_along_axis(apart, order, -1)
    wanted = np.full((len(apart), k), n)
    wanted[:, : min(k, n)] = np.where(np.isfinite(expected[:, : min(k, n)]), order, n)
    found, rows = found.reshape(expected.shape), rows.reshape(expected.shape)
    if case.exact and case.p in (1, 2, np.inf):
        return same(rows, wanted) or near(found, expected, 1e-6)
    return (
        near(found, expected, case.eps)
        or same(rows == n, wanted == n)
        or near(at(apart, rows), expected, case.eps)
        or unique(rows, n)
    )


def same(found, expected):
    """Compare whole numbers."""
    return differs(np.asarray(found, int), np.asarray(expected, int))


def near(found, expected, eps):
    """Compare distances, whose dtype is the data's."""
    return differs(np.asarray(found, float), np.asarray(expected, float), rtol=eps, atol=eps)


def others(case):
    """Return the distances within the points, inf to themselves."""
    return np.where(np.eye(len(case.points), dtype=bool), np.inf, case.within)


def nearest_others(case, k, bounded):
    """The nearest other points of each point."""
    bound = radius(case, case.within) if bounded else np.inf
    given = {"distance_upper_bound": bound} if bounded else {}
    found, rows = case.search("kneighbors", traced=given, k=k, p=case.p)
    return neighbours(case, found, rows, np.where(others(case) < bound, others(case), np.inf), k)


def nearest_graph(case, k, loop):
    """The edges to the nearest, one line of them for each receiver."""
    n = len(case.points)
    found = case.search("knn_graph", k=k, p=case.p, loop=loop)
    rows = found.senders.reshape(n, k)
    receivers = np.where(rows < n, np.arange(n)[:, None], n)
    return (
        same(found.receivers.reshape(n, k), receivers)
        or same(found.count, (rows < n).sum())
        or neighbours(case, found.distances, rows, case.within if loop else others(case), k)
    )


def vectors(case, several):
    """Vectors to any rows, by the nearest image, 0 where there is no row."""
    q, n = len(case.queries), len(case.points)
    rows = case.rng.integers(0, n + 1, (q, 5) if several else q)
    found = case.search("displacements", case.queries, rows)
    at_rows = np.pad(case.points, ((0, 1), (0, 0)))[rows]
    apart = at_rows - (case.queries[:, None] if rows.ndim == 2 else case.queries)
    if case.box is not None:
        apart = apart - case.box * np.round(apart / case.box)
    half = np.abs(np.abs(apart) - (case.box or np.inf) / 2) < 1e-3  # either image is the nearest
    hidden = half | (rows == n)[..., None]
    return near(np.where(half, 0, found), np.where(hidden, 0, apart), case.eps)


def sphere(case):
    """Great-circle distances to the nearest others, by the haversine formula."""
    latlon = np.stack([case.rng.uniform(-np.pi / 2, np.pi / 2, 40), case.rng.uniform(-4, 4, 40)], axis=-1)
    latlon = latlon.astype(case.dtype)
    tree = KDTree(unit_vectors(latlon))
    found, rows = map(np.asarray, tree.kneighbors(3))
    angles = great_circle_distance(found)
    a, b = latlon.astype(float)[:, None], latlon.astype(float)[None]
    squares = np.sin((a - b)[..., 0] / 2) ** 2
    squares += np.cos(a[..., 0]) * np.cos(b[..., 0]) * np.sin((a - b)[..., 1] / 2) ** 2
    every = 2 * np.arcsin(np.sqrt(np.minimum(squares, 1)))
    eps = 1e-5 if case.dtype == "float32" else 1e-11
    expected = np.sort(every + np.diag(np.full(40, np.inf)), axis=-1)[:, :3]
    chords = chord_length(np.asarray(angles))
    return (
        near(angles, expected, eps)
        or near(np.take_along_axis(every, rows, -1), expected, eps)
        or near(chords, found, eps)
    )


def at(apart, rows):
    """Return the distances of rows, inf where there is none."""
    return np.take_along_axis(np.pad(apart, ((0, 0), (0, 1)), constant_values=np.inf), rows, -1)


def unique(rows, n):
    """Return a difference if a query has a neighbour twice."""
    twice = [row for row in rows if len(set(row[row < n])) < (row < n).sum()]
    return ("a row twice", str(twice[0])) if twice else None


def within_csr(case, sort):
    """All neighbours within a radius, in CSR form."""
    r = radius(case, case.apart)
    radii = np.full(len(case.queries), r)
    found = case.tree().query_radius(case.queries.astype(case.dtype), radii, p=case.p, sort=sort)
    close = case.apart <= r
    receivers = np.repeat(np.arange(len(close)), np.diff(found.indptr))
    times = np.zeros(close.shape, int)
    np.add.at(times, (receivers, found.indices), 1)
    return (
        same(times, close)
        or near(found.distances, case.apart[receivers, np.asarray(found.indices)], case.eps)
        or same(found.receivers, receivers)
    )


def within_fixed(case, limit):
    """So many nearest neighbours within a radius, and how many there are."""
    r = radius(case, case.apart)
    radii = r if case.mode == "vmap" else np.full(len(case.queries), r)
    found = case.search("query_radius", case.queries, radii, p=case.p, max_neighbors=limit)
    close = np.where(case.apart <= r, case.apart, np.inf)
    expected = np.full((len(close), limit), np.inf)
    expected[:, : close.shape[1]] = np.sort(close, axis=-1)[:, :limit]
    return (
        same(found.counts, np.isfinite(close).sum(-1))
        or near(found.distances, expected, case.eps)
        or near(at(close, found.indices), expected, case.eps)
        or unique(found.indices, close.shape[1])
    )


def ball_point(case, length):
    """SciPy's lists, or their lengths."""
    r = radius(case, case.apart)
    options = {"p": case.p, "return_length": length, "return_sorted": True}
    found = case.tree().query_ball_point(case.queries.astype(case.dtype), r, **options)
    expected = case.scipy().query_ball_point(case.queries, r, **options)
    return equal(np.asarray(found).tolist(), np.asarray(expected).tolist())


def equal(found, expected):
    """Compare nested lists or sets."""
    return None if found == expected else ("values", f"{str(found)[:150]} for {str(expected)[:150]}")


def ball_tree(case):
    """SciPy's lists of another tree's rows."""
    r = radius(case, case.apart)
    found = case.tree(case.queries).query_ball_tree(case.tree(), r, p=case.p)
    expected = case.scipy(case.queries).query_ball_tree(case.scipy(), r, p=case.p)
    return equal([sorted(rows) for rows in found], [sorted(rows) for rows in expected])


def pairs(case, output_type):
    """SciPy's pairs."""
    r = radius(case, case.within)
    found = case.tree().query_pairs(r, p=case.p, output_type=output_type)
    expected = case.scipy().query_pairs(r, p=case.p)
    found = np.asarray(sorted(found) if output_type == "set" else found).reshape(-1, 2).tolist()
    return equal(sorted(map(tuple, found)), sorted(expected))


def pairs_fixed(case):
    """The number of pairs, and as many pairs as have room, each once."""
    r, room, n = radius(case, case.within), 48, len(case.points)
    found = case.search("query_pairs", traced={"r": r}, p=case.p, max_pairs=room)
    close = np.triu(case.within <= r, 1)
    kept = found.pairs[found.pairs[:, 0] < n]
    return (
        same(found.count, close.sum())
        or same(len(set(map(tuple, kept.tolist()))), min(close.sum(), room))
        or same(close[tuple(kept.T)].all(), True)
        or near(found.distances[: len(kept)], case.within[tuple(kept.T)], case.eps)
    )


def graph(case, loop):
    """Every edge once, in both directions."""
    r = radius(case, case.within)
    found = case.tree().radius_graph(r, p=case.p, loop=loop)
    close = case.within <= r
    if not loop:
        np.fill_diagonal(close, False)
    edges = np.zeros(close.shape, int)
    np.add.at(edges, (np.asarray(found.senders), np.asarray(found.receivers)), 1)
    return same(edges, close)


def graph_fixed(case, loop):
    """The edges that have room: those of the first receivers, whole but for the last of these."""
    r, room, n = radius(case, case.within), 60, len(case.points)
    found = case.search("radius_graph", traced={"r": r}, p=case.p, loop=loop, max_edges=room)
    close = case.within <= r
    if not loop:
        np.fill_diagonal(close, False)
    kept = found.senders < n
    wanted = np.nonzero(close)[0][:room]  # the receivers
    senders, receivers = found.senders[kept], found.receivers[kept]
    edges = np.zeros(close.shape, int)
    np.add.at(edges, (senders, receivers), 1)
    return (
        same(found.count, close.sum())
        or same(receivers, wanted)
        or same(edges > close, np.zeros(close.shape))
        or near(found.distances[kept], case.within[senders, receivers], case.eps)
    )


def counts(case, weighted, cumulative):
    """Two-point counts, of weights too."""
    radii = np.unique([radius(case, case.apart) for _ in range(3)])
    weights = case.rng.integers(1, 9, len(case.queries)), case.rng.integers(1, 9, len(case.points))
    weights = tuple(w.astype(float) for w in weights) if weighted else None
    options = {"p": case.p, "weights": weights, "cumulative": cumulative}
    found = case.tree(case.queries).count_neighbors(case.tree(), radii, **options)
    expected = case.scipy(case.queries).count_neighbors(case.scipy(), radii, **options)
    return near(found, expected, 1e-5)


def sparse(case, output_type):
    """SciPy's sparse matrix of distances."""
    r = radius(case, case.apart)
    found = case.tree(case.queries).sparse_distance_matrix(case.tree(), r, p=case.p, output_type=output_type)
    expected = case.scipy(case.queries).sparse_distance_matrix(case.scipy(), r, p=case.p)
    return (found.format != output_type[:3] and ("format", found.format)) or near(
        found.toarray(), expected.toarray(), case.eps
    )


def components(case):
    """SciPy's components of the graph of all near pairs."""
    r = radius(case, case.within)
    found = case.search("connected_components", traced={"r": r}, p=case.p)
    count, labels = connected_components(case.within <= r, directed=False)
    return same(found.count, count) or same(found.labels, labels)


def density(case, least, weighted):
    """DBSCAN by all distances: the components of the cores, and what they reach first."""
    r, n = radius(case, case.within) or 1e-6, len(case.points)
    weights = case.rng.integers(0, 4, n) if weighted else np.ones(n)
    found = case.search("dbscan", traced={"eps": r, "sample_weight": weights}, p=case.p, min_samples=least)
    close = case.within <= r
    core = close @ weights >= least
    labels = np.full(n, n)
    labels[core] = connected_components(close[np.ix_(core, core)], directed=False)[1]
    labels = np.where(core, labels, np.where(close & core, labels, n).min(axis=1))
    return same(found.core, core) or same(found.labels, np.where(labels == n, -1, labels))


def spanning(case, least):
    """The lengths of Prim's tree of all distances."""
    n = len(case.points)
    least = min(least, n)
    found = case.search("minimum_spanning_tree", p=case.p, min_samples=least)
    core = np.sort(case.within, axis=1)[:, least - 1]
    apart = np.maximum(case.within, np.maximum(core, core[:, None]))
    reach, expected = apart[0].copy(), []
    inside = np.arange(n) == 0
    while not inside.all():
        first = np.where(inside, np.inf, reach).argmin()
        expected.append(reach[first])
        inside[first], reach = True, np.minimum(reach, apart[first])
    return near(found.distances, np.sort(expected), case.eps) or near(
        apart[tuple(found.rows.T)], found.distances, case.eps
    )


LOOP, COUNT = {"loop": st.booleans()}, st.sampled_from([1, 2, 5, 20])
METHODS = {
    "query": Method(nearest, (*WHOLE, "vmap", "mesh"), {"k": COUNT, "bounded": st.booleans()}),
    "kneighbors": Method(nearest_others, WHOLE, {"k": COUNT, "bounded": st.booleans()}),
    "knn_graph": Method(nearest_graph, WHOLE, {"k": COUNT, **LOOP}),
    "displacements": Method(vectors, WHOLE, {"several": st.booleans()}),
    "great_circle_distance": Method(sphere, EAGER, {}),
    "query_radius": Method(within_csr, EAGER, {"sort": st.booleans()}),
    "query_radius, max_neighbors": Method(
        within_fixed, (*WHOLE, "vmap", "mesh"), {"limit": st.sampled_from([1, 4, 40])}
    ),
    "query_ball_point": Method(ball_point, EAGER, {"length": st.booleans()}),
    "query_ball_tree": Method(ball_tree, EAGER, {}),
    "query_pairs": Method(pairs, EAGER, {"output_type": st.sampled_from(["set", "ndarray"])}),
    "query_pairs, max_pairs": Method(pairs_fixed, (*WHOLE, "mesh"), {}),
    "radius_graph": Method(graph, EAGER, LOOP),
    "radius_graph, max_edges": Method(graph_fixed, WHOLE, LOOP),
    "connected_components": Method(components, ("natural", "jit"), {}),
    "dbscan": Method(density, ("natural", "jit"), {"least": COUNT, "weighted": st.booleans()}),
    "minimum_spanning_tree": Method(spanning, ("natural", "jit"), {"least": st.sampled_from([1, 2, 5])}),
    "count_neighbors": Method(
        counts, (*EAGER, "mesh"), {"weighted": st.booleans(), "cumulative": st.booleans()}
    ),
    "sparse_distance_matrix": Method(
        sparse,
        EAGER,
        {"output_type": st.sampled_from(["coo_matrix", "csr_array", "csr_matrix", "dok_array"])},
    ),
}
