"""Distances by every metric against its formula in long doubles, of any size, with far rows and weights."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

import jaxapi as xp
from jaxapi.spatial import distance

from .report import differing

__all__ = ["check"]

SETS = 60  # of rows of a configuration, which is compiled once
METRICS = [
    *("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice", "euclidean"),
    *("hamming", "hellinger", "inner_product", "jaccard", "jensenshannon", "kl_divergence", "mahalanobis"),
    *("minkowski", "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean", "yule"),
]
BOOLEAN = ["dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]
UNWEIGHTED = ["hellinger", "inner_product", "jensenshannon", "kl_divergence", "mahalanobis", "seuclidean"]
POSITIVE = ["hellinger", "jensenshannon", "kl_divergence"]
SMALL = {"sqeuclidean": 2, "inner_product": 2}  # whose distances leave the range of numbers first
CALLS = ["cdist", "cdist", "vectors", "pdist", "nearest", "kernel_sum"]


def check(report, draw):
    """Compare one call by one metric, for many sets of rows of one shape and size."""
    name, call = draw(st.sampled_from(METRICS)), draw(st.sampled_from(CALLS))
    dtype = np.dtype(draw(st.sampled_from(["float32", "float64"])))
    m = draw(st.sampled_from([1, 2, 3, 9, 20]))
    mode, x64 = draw(st.sampled_from(["eager", "jit", "vmap"])), draw(st.booleans())
    weighted = name not in UNWEIGHTED and draw(st.booleans())
    p = draw(st.sampled_from([0.5, 1.5, 3.0, 7.0, 30.0])) if name == "minkowski" else 2.0
    limit = np.finfo(dtype).maxexp // SMALL.get(name, 1) - 16
    unit = draw(st.sampled_from([0, 0, limit, -limit, limit // 2, -limit // 2]))
    far = draw(st.sampled_from([0, 0, np.finfo(dtype).maxexp * 3 // 4]))
    if far and (unit > 0 or name in SMALL):
        far = 0
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    function = partial(CALL[call], name, p)
    inputs, expected = [], []
    for _ in range(SETS):
        a, b, options = rows(rng, name, dtype, m, unit, far, weighted)
        full = matrix(name, p, a, b, options)
        inputs.append((a, b, options))
        expected.append(EXPECTED[call](name, p, a, b, options, full))
    kept = "weights" if weighted else "plain"
    configuration = f"{name} {call} {dtype} m={m} {mode} p={p} 2**{unit} far={far} {kept} x64={x64}"
    with jax.enable_x64(x64):
        found = results(function, inputs, mode)
    differences = []
    for ours, theirs in zip(found, expected, strict=True):
        differences += [difference for _, difference in differing([ours], [theirs[0]], **theirs[1])]
    count = sum(np.size(each[0]) for each in expected)
    report.add(f"distance.{name}", configuration, count, differences)


def rows(rng, name, dtype, m, unit, far, weighted):
    """Return rows of both sides and the metric's options; a weight may be 0, its coordinate anything."""
    if name in BOOLEAN:
        a, b = (rng.random((n, m)) < 0.5 for n in (4, 6))
    else:
        low = 0.0 if name in POSITIVE else -1.0
        a, b = (rng.uniform(low, 1.0, (n, m)) for n in (4, 6))
        if rng.random() < 0.5:  # equal rows and coordinates
            b[0] = a[0]
            b[1, 0] = a[1, 0]
        if name not in POSITIVE and rng.random() < 0.3:
            a, b = np.round(2 * a), np.round(2 * b)
        a, b = (np.ldexp(x, unit) for x in (a, b))
        if far:
            b[5] = np.ldexp(b[5], far)
    options = {}
    if weighted:
        w = rng.uniform(0.5, 2.0, m)
        if m > 1 and rng.random() < 0.5:
            w[0] = 0
            if name not in BOOLEAN:
                a[0, 0], b[2, 0] = rng.choice([np.inf, np.nan, np.finfo(dtype).max / 4, 0.0], 2)
        options["w"] = w.astype(dtype)
    if name == "seuclidean":
        options["V"] = rng.uniform(0.5, 2.0, m).astype(dtype)
    if name == "mahalanobis":
        root = rng.normal(size=(m, m))
        options["VI"] = (root @ root.T + np.eye(m)).astype(dtype)
    return a.astype(dtype), b.astype(dtype), options


def matrix(name, p, a, b, options):
    """Return the distances of all pairs and by how much they may differ, in long doubles."""
    wide = np.longdouble
    w = np.ones(a.shape[1], wide) if "w" not in options else options["w"].astype(wide)
    seen = w > 0
    u, v, w = a[:, None, seen].astype(wide), b[None, :, seen].astype(wide), w[seen]
    with np.errstate(all="ignore"):
        return FORMULAS[name](u, v, w, p, options)


def cosine(u, v, w, p, options):
    u, v = (x / np.abs(x).max(-1, keepdims=True) for x in (u, v))
    lengths = (np.sqrt((w * x * x).sum(-1, keepdims=True)) for x in (u, v))
    u, v = (x / length for x, length in zip((u, v), lengths, strict=True))
    return (w * (u - v) ** 2).sum(-1) / 2


def correlation(u, v, w, p, options):
    u, v = (x / np.abs(x).max(-1, keepdims=True) for x in (u, v))
    u, v = (x - (w * x).sum(-1, keepdims=True) / w.sum() for x in (u, v))
    return cosine(u, v, w, p, options)


def jensenshannon(u, v, w, p, options):
    u, v = (x / x.sum(-1, keepdims=True) for x in (u, v))
    mean = (u + v) / 2
    return np.sqrt(np.maximum((xlogy(u, u / mean) + xlogy(v, v / mean)).sum(-1) / 2, 0))


def xlogy(x, y):
    return np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y)))


def canberra(u, v, w, p, options):
    sums = np.abs(u) + np.abs(v)
    return (w * np.where(sums == 0, 0, np.abs(u - v) / np.where(sums == 0, 1, sums))).sum(-1)


def minkowski(u, v, w, p, options):
    differences = np.abs(u - v)
    largest = differences.max(-1, initial=0, keepdims=True)
    shares = differences / np.where(
        largest > 0, largest, 1
    )  # powers of small numbers are 0, in long doubles, too
    return largest[..., 0] * (w * shares**p).sum(-1) ** (1 / np.longdouble(p))


def mahalanobis(u, v, w, p, options):
    difference = u - v
    product = (difference[..., :, None] * options["VI"].astype(u.dtype)).sum(-2)
    return np.sqrt((product * difference).sum(-1))


def boolean(function):
    def distances(u, v, w, p, options):
        u, v = (u != 0), (v != 0)
        return function(*((w * x).sum(-1) for x in (u & v, u & ~v, ~u & v, ~u & ~v)))

    return distances


def over(x, y):
    return np.where((x == 0) & (y == 0), 0, x / y)


FORMULAS = {
    "braycurtis": lambda u, v, w, p, o: (w * np.abs(u - v)).sum(-1) / (w * np.abs(u + v)).sum(-1),
    "canberra": canberra,
    "chebyshev": lambda u, v, w, p, o: np.abs(u - v).max(-1),
    "cityblock": lambda u, v, w, p, o: (w * np.abs(u - v)).sum(-1),
    "correlation": correlation,
    "cosine": cosine,
    "dice": boolean(lambda tt, tf, ft, ff: (tf + ft) / (2 * tt + tf + ft)),
    "euclidean": lambda u, v, w, p, o: np.sqrt((w * (u - v) ** 2).sum(-1)),
    "hamming": lambda u, v, w, p, o: (w * (u != v)).sum(-1) / w.sum(),
    "hellinger": lambda u, v, w, p, o: np.sqrt(((np.sqrt(u) - np.sqrt(v)) ** 2).sum(-1) / 2),
    "inner_product": lambda u, v, w, p, o: (u * v).sum(-1),
    "jaccard": boolean(lambda tt, tf, ft, ff: over(tf + ft, tt + tf + ft)),
    "jensenshannon": jensenshannon,
    "kl_divergence": lambda u, v, w, p, o: xlogy(u, u / v).sum(-1),
    "mahalanobis": mahalanobis,
    "minkowski": minkowski,
    "rogerstanimoto": boolean(lambda tt, tf, ft, ff: 2 * (tf + ft) / (tt + ff + 2 * (tf + ft))),
    "russellrao": boolean(lambda tt, tf, ft, ff: (tf + ft + ff) / (tt + tf + ft + ff)),
    "seuclidean": lambda u, v, w, p, o: np.sqrt(((u - v) ** 2 / o["V"].astype(u.dtype)).sum(-1)),
    "sokalsneath": boolean(lambda tt, tf, ft, ff: 2 * (tf + ft) / (tt + 2 * (tf + ft))),
    "sqeuclidean": lambda u, v, w, p, o: (w * (u - v) ** 2).sum(-1),
    "yule": boolean(lambda tt, tf, ft, ff: over(2 * tf * ft, tt * ff + tf * ft)),
}


def tolerance(name, dtype, values, a, b):
    """Allow roundings of terms; sums of terms of either sign have those of the largest."""
    eps = np.finfo(dtype).eps
    close = {"rtol": 40 * eps, "atol": 4 * float(np.finfo(dtype).tiny)}
    if name in ("cosine", "correlation"):
        close["atol"] = 200 * eps if name == "cosine" else 1e-3 if dtype == np.float32 else 1e-12
    if name == "jensenshannon":
        close["atol"] = 40 * eps
    if name in ("inner_product", "kl_divergence"):
        finite = np.abs(values[np.isfinite(values)])
        close["atol"] += float(400 * eps * max(finite.max(initial=0), 0))
    if name == "hellinger":  # a difference of roots, each of which is off by up to a unit in its last place
        close["atol"] += 2 * float(eps * np.sqrt(a.shape[1] / 2 * max(a.max(), b[:5].max())))
    if name == "minkowski":
        close["rtol"] = 400 * eps
    return close


def of_pairs(select):
    def expected(name, p, a, b, options, full):
        with np.errstate(all="ignore"):
            values = select(np.asarray(full)).astype(a.dtype if a.dtype != bool else np.float64)
        return values, tolerance(name, values.dtype, values, a, b)

    return expected


def expected_of_pdist(name, p, a, b, options, full):
    together = np.concatenate([a, b])
    square = matrix(name, p, together, together, options)
    return of_pairs(lambda x: x[np.triu_indices(len(together), 1)])(name, p, a, b, options, square)


def expected_of_nearest(name, p, a, b, options, full):
    values = np.sort(np.where(np.isnan(full), np.inf, full), axis=1)[:, :3]
    return of_pairs(lambda x: values)(name, p, a, b, options, full)


def expected_of_sum(name, p, a, b, options, full):
    with np.errstate(all="ignore"):
        values = np.where(full < np.inf, 1 / (1 + np.abs(full)), 0).sum(1)
    values, close = of_pairs(lambda x: values)(name, p, a, b, options, full)
    return values, close | {"rtol": max(close["rtol"], 1e-3 if values.dtype == np.float32 else 1e-9)}


EXPECTED = {
    "cdist": of_pairs(lambda x: x),
    "vectors": of_pairs(lambda x: x[:, :4].diagonal()),
    "pdist": expected_of_pdist,
    "nearest": expected_of_nearest,
    "kernel_sum": expected_of_sum,
}


def given(name, p):
    return {"p": p} if name == "minkowski" else {}


def of_vectors(name, p, a, b, options):
    last = {"axis": 1} if name == "jensenshannon" else {}
    return getattr(distance, name)(a, b[:4], **options, **given(name, p), **last)


def of_sum(name, p, a, b, options):
    def kernel(d):
        return jnp.where(d < jnp.inf, 1 / (1 + jnp.abs(d)), 0)

    return distance.kernel_sum(kernel, a, b, None, name, **options, **given(name, p))


CALL = {
    "cdist": lambda name, p, a, b, o: distance.cdist(a, b, name, **o, **given(name, p)),
    "vectors": of_vectors,
    "pdist": lambda name, p, a, b, o: distance.pdist(xp.concat([a, b]), name, **o, **given(name, p)),
    "nearest": lambda name, p, a, b, o: distance.nearest(a, b, 3, name, **o, **given(name, p)).distances,
    "kernel_sum": of_sum,
}


def results(function, inputs, mode):
    """Return the results of each set of rows, by one call for each, or one for all of them."""
    if mode == "vmap":
        stacked = jax.tree.map(lambda *x: xp.asarray(np.stack(x)), *inputs)
        return list(np.asarray(jax.jit(jax.vmap(function))(*stacked)))
    call = jax.jit(function) if mode == "jit" else function
    return [np.asarray(call(*jax.tree.map(xp.asarray, each))) for each in inputs]
