"""KDTree past 2**31 numbers, checked against every distance and against smaller calls, with times.

    python benchmarks/check_large.py [--part 1.0]

For a GPU with 100 GB of memory or more; `--part 0.001` tries the script itself. Prints a line for each
subject, and fails where an answer is wrong.
"""

import argparse
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

from jaxapi.spatial import KDTree


def cloud(n, m, seed):
    """Return n uniform points, made on the device."""
    return jax.random.uniform(jax.random.key(seed), (int(n), m), jnp.float32)


@jax.jit
def nearest_distance(points, x):
    """Return the distance of x to the nearest point, by every distance."""
    return jnp.sqrt(jnp.square(points - x).sum(axis=1).min())


def some_of(q):
    """Return numbers of queries: the first, the last, and others between."""
    return np.unique(np.concatenate([[0, 1, q - 2, q - 1], np.arange(0, q, max(1, q // 40))]))


def coordinates(n, m):
    """Check a tree of n * m numbers."""
    points = cloud(n, m, 1)
    tree = KDTree(points)
    queries = jnp.concatenate([cloud(100, m, 2), points[-1:], points[len(points) // 2 :][:1]])
    distances, rows = tree.query(queries)
    for i in (0, 1, 50, 99, 100, 101):
        np.testing.assert_allclose(distances[i], nearest_distance(points, queries[i]), atol=1e-6)
        np.testing.assert_allclose(
            jnp.linalg.norm(points[int(rows[i])] - queries[i]), distances[i], atol=1e-6
        )
    return f"{points.size:,} coordinates, m={m}"


def results(n, q, k):
    """Check q * k neighbours against those of some queries."""
    tree, queries = KDTree(cloud(n, 3, 1)), cloud(q, 3, 2)
    found = tree.query(queries, k)
    some = some_of(int(q))
    for one, other in zip(found, tree.query(queries[some], k), strict=True):
        np.testing.assert_array_equal(one[some], other)
    return f"{found[0].size:,} neighbours, k={k}"


def lines(n, q, most):
    """Check q * most places for neighbours within a radius."""
    tree, queries = KDTree(cloud(n, 3, 1)), cloud(q, 3, 2)
    found = tree.query_radius(queries, 0.02, max_neighbors=most)
    some = some_of(int(q))
    for one, other in zip(found, tree.query_radius(queries[some], 0.02, max_neighbors=most), strict=True):
        np.testing.assert_array_equal(one[some], other)
    return f"{found.indices.size:,} places, max_neighbors={most}"


def csr(n, each):
    """Check about n * each neighbours in CSR form."""
    tree, queries = KDTree(cloud(n, 3, 1)), cloud(n, 3, 2)
    radius = float((3 * each / (4 * np.pi * n)) ** (1 / 3))
    found = tree.query_radius(queries, radius)
    total = int(np.asarray(tree.query_ball_point(queries, radius, return_length=True), np.int64).sum())
    offsets = np.asarray(found.indptr)
    assert total == offsets[-1] == len(found.indices), (total, offsets[-1], len(found.indices))
    for i in some_of(int(n))[::4]:
        rows = np.asarray(found.indices[int(offsets[i]) : int(offsets[i + 1])])
        distances = np.asarray(jnp.linalg.norm(tree.data - queries[i], axis=1))
        assert np.isin(np.flatnonzero(distances < radius * (1 - 1e-5)), rows).all(), i
        assert (distances[rows] < radius * (1 + 1e-5)).all(), i
    return f"{total:,} neighbours in CSR form"


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="of the sizes")
    part = parser.parse_args().part
    subjects = (
        (coordinates, 730e6 * part, 3),
        (coordinates, 275e6 * part, 8),
        (coordinates, 130e6 * part, 17),
        (results, 1e6 * part, 70e6 * part, 32),
        (lines, 1e6 * part, 17e6 * part, 128),
        (csr, 1e6 * part, 2400),
    )
    for check, *sizes in subjects:
        start = time.perf_counter()
        print(check(*sizes), f"right, {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
