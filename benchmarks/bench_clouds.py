"""KDTree.query of clouds that are not uniform, against one that is.

    python benchmarks/bench_clouds.py [--points 1000000] [--json FILE]

Each figure is the time in ms of one of eight calls that are waited for together, for as many queries as
points, 3-D, float32, the data on the device; in brackets how many times that of uniform points and queries it
is. Without a GPU the size shrinks a thousandfold.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from timing import keep, median_us

from jaxapi.spatial import KDTree

KS = 1, 8, 32


def uniform(rng, n):
    return rng.random((n, 3))


def terrain(rng, n):
    x, y = rng.random((2, n))
    height = 0.05 * np.sin(9 * x) * np.cos(7 * y) + 0.02 * np.sin(40 * x + 30 * y)
    return np.stack([x, y, height], axis=1)


def sphere(rng, n):
    x = rng.standard_normal((n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def line(rng, n):
    return rng.random((n, 1)) * [[1, 2, 3]]


def lattice(rng, n):
    """Return the integer points of a cube, in any order; what is over of `n` again."""
    side = round(n ** (1 / 3))
    axes = np.meshgrid(*[np.arange(side)] * 3, indexing="ij")
    return np.resize(rng.permutation(np.stack(axes, axis=-1).reshape(-1, 3)), (n, 3))


def fractal(rng, n):
    """Return points near a Sierpinski tetrahedron."""
    corners = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]])
    places = sum(2.0**-i * corners[rng.integers(0, 4, n)] for i in range(1, 16))
    return places + 1e-5 * rng.random((n, 3))


def clusters(seed):
    """Return what draws from 64 clusters, those of a seed."""
    centres = np.random.default_rng(seed).random((64, 3))
    return lambda rng, n: centres[rng.integers(0, 64, n)] + 0.005 * rng.standard_normal((n, 3))


def copies(times):
    """Return what draws from so few places that each has as many points on average."""

    def cloud(rng, n):
        places = np.random.default_rng(7).random((max(n // times, 1), 3))
        return places[rng.integers(0, len(places), n)]

    return cloud


CLOUDS = {  # points, queries
    "uniform": (uniform, uniform),
    "64 clusters, queries of the same": (clusters(3), clusters(3)),
    "64 clusters, queries of 64 others": (clusters(3), clusters(6)),
    "terrain": (terrain, terrain),
    "sphere": (sphere, sphere),
    "lattice": (lattice, lattice),
    "line": (line, line),
    "fractal": (fractal, fractal),
    "1,000 copies a place, queries there": (copies(1000), copies(1000)),
    "1,000 copies a place, uniform queries": (copies(1000), uniform),
    "100 copies a place, queries there": (copies(100), copies(100)),
    "100 copies a place, uniform queries": (copies(100), uniform),
}


def times_of(points, queries):
    """Return the time of a call in ms for each k."""
    tree = KDTree(points)
    for _ in range(5):
        jax.block_until_ready([tree.query(queries, k=k) for k in KS])
    return [median_us(lambda k=k: tree.query(queries, k=k), rounds=5, calls=8) / 1e3 for k in KS]


def main():
    """Run it."""
    gpu = jax.default_backend() == "gpu"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000 if gpu else 1_000)
    parser.add_argument("--json", help="write the figures to this file, too")
    options = parser.parse_args()
    device = jax.devices()[0].device_kind
    print(f"{device}, jax {jax.__version__}, {options.points} points and queries")
    print(f"{'ms':40}", *(f"{f'k={k}':>15}" for k in KS))
    kept = {}
    for name, clouds in CLOUDS.items():
        points, queries = (
            jnp.asarray(cloud(np.random.default_rng(seed), options.points).astype(np.float32))
            for seed, cloud in enumerate(clouds, start=1)
        )
        times = times_of(points, queries)
        kept[name] = times
        cells = (f"{time:.2f} ({time / one:.2f})" for time, one in zip(times, kept["uniform"], strict=True))
        print(f"{name:40}", *(f"{cell:>15}" for cell in cells), flush=True)
    columns = [f"k={k}" for k in KS]
    rows = [{"clouds": name} | dict(zip(columns, times, strict=True)) for name, times in kept.items()]
    keep(options.json, rows)


if __name__ == "__main__":
    main()
