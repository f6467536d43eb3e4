"""What each KDTree method should return, compared with what it returns."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from .clouds import clear_radius
from .report import differs

__all__ = ["METHODS"]

EAGER = ("natural", "lax", "cuda")
ALL = (*EAGER, "jit", "vmap")


class Method(NamedTuple):
    """How one method is compared; static arguments come from strategies."""

    compare: Callable  # (case, **options) -> None or (kind, text)
    modes: tuple
    options: dict


def radius(case, apart):
    """Return a radius that rounding cannot confuse, or None."""
    return clear_radius(case.rng, apart, case.exact and case.p in (1, 2, np.inf))


def nearest(case, k, bounded):
    """Neighbours in the order of (distance, row); where distances round, any order within rounding."""
    bound = radius(case, case.apart) if bounded else np.inf
    if bound is None:
        return None
    n = len(case.points)
    found, rows = case.search(
        "query", case.queries, k=k, p=case.p, **({"distance_upper_bound": bound} if bounded else {})
    )
    apart = np.where(case.apart < bound, case.apart, np.inf)
    order = np.argsort(apart, axis=-1, kind="stable")[:, :k]
    expected = np.full((len(apart), k), np.inf)
    expected[:, : min(k, n)] = np.take_along_axis(apart, order, -1)
    wanted = np.full((len(apart), k), n)
    wanted[:, : min(k, n)] = np.where(np.isfinite(expected[:, : min(k, n)]), order, n)
    found, rows = found.reshape(expected.shape), rows.reshape(expected.shape)
    if case.exact and case.p in (1, 2, np.inf):
        return differs(rows, wanted) or differs(found, expected, rtol=1e-6)
    return (
        differs(found, expected, rtol=case.eps, atol=case.eps)
        or differs(rows == n, wanted == n)
        or differs(at(case.apart, rows), expected, rtol=case.eps, atol=case.eps)
        or unique(rows, n)
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
    if r is None:
        return None
    near = case.search("query_radius", case.queries, np.full(len(case.queries), r), p=case.p, sort=sort)
    close = case.apart <= r
    receivers = np.repeat(np.arange(len(close)), np.diff(near.indptr))
    found = np.zeros(close.shape, int)
    np.add.at(found, (receivers, near.indices), 1)
    return differs(found, close.astype(int)) or differs(
        near.distances, case.apart[receivers, near.indices], rtol=case.eps, atol=case.eps
    )


def within_fixed(case, limit):
    """So many nearest neighbours within a radius, and how many there are."""
    r = radius(case, case.apart)
    if r is None:
        return None
    radii = r if case.mode == "vmap" else np.full(len(case.queries), r)
    near = case.search("query_radius", case.queries, radii, p=case.p, max_neighbors=limit)
    close = np.where(case.apart <= r, case.apart, np.inf)
    expected = np.full((len(close), limit), np.inf)
    expected[:, : close.shape[1]] = np.sort(close, axis=-1)[:, :limit]
    return (
        differs(near.counts, np.isfinite(close).sum(-1))
        or differs(near.distances, expected, rtol=case.eps, atol=case.eps)
        or differs(at(close, near.indices), expected, rtol=case.eps, atol=case.eps)
        or unique(near.indices, close.shape[1])
    )


def ball_point(case, length):
    """SciPy's lists, or their lengths."""
    r = radius(case, case.apart)
    if r is None:
        return None
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
    if r is None:
        return None
    found = case.tree(case.queries).query_ball_tree(case.tree(), r, p=case.p)
    expected = case.scipy(case.queries).query_ball_tree(case.scipy(), r, p=case.p)
    return equal([sorted(rows) for rows in found], [sorted(rows) for rows in expected])


def pairs(case, output_type):
    """SciPy's pairs."""
    r = radius(case, case.within)
    if r is None:
        return None
    found = case.tree().query_pairs(r, p=case.p, output_type=output_type)
    expected = case.scipy().query_pairs(r, p=case.p)
    found = np.asarray(sorted(found) if output_type == "set" else found).reshape(-1, 2).tolist()
    return equal(sorted(map(tuple, found)), sorted(expected))


def pairs_fixed(case):
    """The number of pairs, and of those that have room."""
    r = radius(case, case.within)
    if r is None:
        return None
    found = case.search("query_pairs", r=r, p=case.p, max_pairs=50)
    count = np.triu(case.within <= r, 1).sum()
    return equal(
        (int(found.count), int((found.pairs[:, 0] < len(case.points)).sum())), (count, min(count, 50))
    )


def graph(case, loop):
    """Every edge once, in both directions."""
    r = radius(case, case.within)
    if r is None:
        return None
    found = case.tree().radius_graph(r, p=case.p, loop=loop)
    close = case.within <= r
    if not loop:
        np.fill_diagonal(close, False)
    edges = np.zeros(close.shape, int)
    np.add.at(edges, (np.asarray(found.senders), np.asarray(found.receivers)), 1)
    return differs(edges, close.astype(int))


def counts(case, weighted, cumulative):
    """Two-point counts, of weights too."""
    radii = np.unique([r for r in (radius(case, case.apart) for _ in range(3)) if r is not None])
    if not len(radii):
        return None
    weights = case.rng.integers(1, 9, len(case.queries)), case.rng.integers(1, 9, len(case.points))
    weights = tuple(w.astype(float) for w in weights) if weighted else None
    options = {"p": case.p, "weights": weights, "cumulative": cumulative}
    found = case.tree(case.queries).count_neighbors(case.tree(), radii, **options)
    expected = case.scipy(case.queries).count_neighbors(case.scipy(), radii, **options)
    return differs(np.asarray(found, float), np.asarray(expected, float), rtol=1e-5)


def sparse(case):
    """SciPy's sparse matrix of distances."""
    r = radius(case, case.apart)
    if r is None:
        return None
    options = {"p": case.p, "output_type": "coo_matrix"}
    found = case.tree(case.queries).sparse_distance_matrix(case.tree(), r, **options).toarray()
    expected = case.scipy(case.queries).sparse_distance_matrix(case.scipy(), r, **options).toarray()
    return differs(found.astype(float), expected, rtol=case.eps, atol=case.eps)


METHODS = {
    "query": Method(nearest, ALL, {"k": st.sampled_from([1, 2, 5, 20]), "bounded": st.booleans()}),
    "query_radius": Method(within_csr, EAGER, {"sort": st.booleans()}),
    "query_radius, max_neighbors": Method(within_fixed, ALL, {"limit": st.sampled_from([1, 4, 40])}),
    "query_ball_point": Method(ball_point, EAGER, {"length": st.booleans()}),
    "query_ball_tree": Method(ball_tree, EAGER, {}),
    "query_pairs": Method(pairs, EAGER, {"output_type": st.sampled_from(["set", "ndarray"])}),
    "query_pairs, max_pairs": Method(pairs_fixed, EAGER, {}),
    "radius_graph": Method(graph, EAGER, {"loop": st.booleans()}),
    "count_neighbors": Method(counts, EAGER, {"weighted": st.booleans(), "cumulative": st.booleans()}),
    "sparse_distance_matrix": Method(sparse, EAGER, {}),
}
