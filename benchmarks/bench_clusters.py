"""Clusterings against jztree, scikit-learn and by hand: components, DBSCAN, spanning trees, HDBSCAN.

    python benchmarks/bench_clusters.py [--points 100000] [--hdbscan 20000] [--link 0.2] [--calls 5]
                                        [--json FILE]

Times are milliseconds of whole public calls on float32 in three dimensions, the build included, new data each
call, results waited for: the median of some calls. ``link`` is the radius in mean separations. ``halos`` are
2,000 of these with half of the points, and points between; ``fractal`` is a Levy flight. A peer that is not
installed is left out; one that fails shows why.
"""

import argparse
import functools
import os
import statistics
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
from timing import keep

from jaxapi.spatial import KDTree

try:
    import jztree
except ImportError:
    jztree = None
try:
    from sklearn.cluster import DBSCAN, HDBSCAN
except ImportError:
    DBSCAN = None

ON_GPU = jax.devices()[0].platform == "gpu"


def uniform(rng, n):
    return rng.random((n, 3))


def halos(rng, n):
    centres = rng.random((2000, 3))[rng.integers(0, 2000, n // 2)]
    return np.concatenate([centres + rng.normal(0, 1e-3, centres.shape), rng.random((n - n // 2, 3))]) % 1


def fractal(rng, n):
    steps = rng.normal(size=(n, 3))
    steps *= (rng.random((n, 1)) ** (-1 / 1.5) * 1e-4) / np.linalg.norm(steps, axis=1)[:, None]
    return np.cumsum(steps, axis=0) % 1


@functools.partial(jax.jit, static_argnames="n")
def spread(senders, receivers, n):
    """Let the lowest row spread along edges, with a shortcut each round."""

    def step(state):
        labels, _ = state
        least = labels.at[receivers].min(labels[senders], mode="drop")
        least = jnp.minimum(least, least[least])
        return least, (least != labels).any()

    return jax.lax.while_loop(lambda state: state[1], step, (jnp.arange(n), True))[0]


def by_hand(x, r):
    graph = KDTree(x).radius_graph(r)
    return spread(graph.senders, graph.receivers, len(x))


def friends(x, r):
    """Return jztree's labels; its names have changed from version to version."""
    return jztree.fof.fof_labels(jztree.data.Pos(pos=x), rlink=r)


def median_ms(call, clouds):
    """Return the median of calls on new data, the first left out; or what fails."""
    times = []
    try:
        for x in clouds:
            start = time.perf_counter()
            jax.block_until_ready(call(x))
            times.append(1e3 * (time.perf_counter() - start))
    except Exception as error:
        return f"{type(error).__name__}"
    return round(statistics.median(times[1:]), 2)


def rows(n, link, calls, only_hdbscan):
    """Give the lines of the table of n points."""
    r = link / n ** (1 / 3)
    for make in (uniform, halos, fractal):
        clouds = [make(np.random.default_rng(i), n).astype(np.float32) for i in range(calls + 1)]
        clouds = [jax.device_put(x) for x in clouds]
        hosts = [np.asarray(x) for x in clouds]
        if not only_hdbscan:
            yield (
                make,
                "build and counts",
                median_ms(lambda x: KDTree(x).query_ball_point(x, r, return_length=True), clouds),
            )
            yield make, "components", median_ms(lambda x: KDTree(x).connected_components(r), clouds)
            yield make, "components by hand", median_ms(lambda x: by_hand(x, r), clouds)
            if jztree is not None:
                # compiled as a whole: alone it is traced anew at each call
                yield make, "components, jztree", median_ms(jax.jit(lambda x: friends(x, r)), clouds)
            yield make, "dbscan", median_ms(lambda x: KDTree(x).dbscan(r, 5), clouds)
            if DBSCAN is not None and not ON_GPU:
                peer = DBSCAN(eps=r, min_samples=5, n_jobs=-1)
                yield make, "dbscan, scikit-learn", median_ms(peer.fit_predict, hosts)
            yield make, "spanning tree", median_ms(lambda x: KDTree(x).minimum_spanning_tree(), clouds)
            yield (
                make,
                "spanning tree, 5",
                median_ms(lambda x: KDTree(x).minimum_spanning_tree(min_samples=5), clouds),
            )
        else:
            yield make, "hdbscan", median_ms(lambda x: KDTree(x).hdbscan(), clouds)
            if DBSCAN is not None and n <= 100_000:  # a million points take it minutes
                peer = HDBSCAN(n_jobs=-1, copy=True)
                yield make, "hdbscan, scikit-learn", median_ms(peer.fit_predict, hosts[:3])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, nargs="*", default=[100_000])
    parser.add_argument("--hdbscan", type=int, nargs="*", default=[20_000])
    parser.add_argument("--link", type=float, nargs="*", default=[0.2, 1.0])
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    print(f"{jax.devices()[0].device_kind}, {os.cpu_count()} cores\n\n| points | link | cloud | what | ms |")
    print("| --- | --- | --- | --- | --- |")
    kept = []
    tables = [(n, link, False) for n in arguments.points for link in arguments.link]
    tables += [(n, arguments.link[0], True) for n in arguments.hdbscan]
    try:
        for n, link, only_hdbscan in tables:
            for make, what, ms in rows(n, link, arguments.calls, only_hdbscan):
                print(f"| {n:,} | {link} | {make.__name__} | {what} | {ms} |", flush=True)
                kept.append({"points": n, "link": link, "cloud": make.__name__, "work": what, "ms": ms})
    finally:  # what was measured until Ctrl-C, too
        keep(arguments.json, kept)


if __name__ == "__main__":
    main()
