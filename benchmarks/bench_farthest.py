"""Farthest-point sampling, beside a plain loop over all points.

    python benchmarks/bench_farthest.py [--points 1000000] [--most-plain 10000] [--json FILE]

Times are of whole public calls, rows on the device. The plain loop is a `lax.fori_loop`, its first call left
out. PyTorch Geometric's `fps` is timed where torch_cluster is installed, on the same device.
"""

import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from timing import clock, keep

from jaxapi.spatial import sample_farthest_points

LINE = "{:>9} {:>3} {:>7} {:>10} {:>10} {:>14}"
FIELDS = "points", "m", "sampled", "jaxapi", "plain loop", "torch_cluster"


@partial(jax.jit, static_argnames="k")
def plain_loop(points, k):
    """Return the sample by a loop over all points, in float32."""

    def add_point(i, state):
        rows, distances, row = state
        from_new = jnp.square(points - points[row]).sum(axis=1)
        distances = jnp.minimum(distances, from_new)
        return rows.at[i].set(row), distances, jnp.argmax(distances).astype(jnp.int32)

    nothing = jnp.zeros(k, jnp.int32), jnp.full(len(points), jnp.inf, points.dtype), jnp.int32(0)
    return jax.lax.fori_loop(0, k, add_point, nothing)[0]


def torch_clusters_time(points, k):
    """Return the time of torch_cluster's `fps` in ms; None where there is none."""
    try:
        import torch
        from torch_cluster import fps
    except ImportError:
        return None
    on_gpu = jax.default_backend() == "gpu"
    tensor = torch.from_numpy(points).to("cuda" if on_gpu else "cpu")
    ratio = k / len(points)

    def wait(_):
        if on_gpu:
            torch.cuda.synchronize()

    return clock(lambda: fps(tensor, ratio=ratio, random_start=False), wait=wait)[1]


def shown(time):
    return "-" if time is None else f"{time:.4g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--most-plain", type=int, default=10_000, help="steps that the plain loop may take")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    most = arguments.points
    cases = [(n, m, n // 4) for n, m in ((1024, 3), (16_384, 3))]
    cases += [(100_000, 3, 10_000), (100_000, 8, 1000), (most, 3, most // 1000), (most, 3, most // 100)]
    print("times in ms\n" + LINE.format(*FIELDS))
    rows = []
    for n, m, k in cases:
        points = rng.random((n, m), dtype=np.float32)
        on_device = jnp.asarray(points)
        ours = clock(lambda x=on_device, k=k: sample_farthest_points(x, k))[1]
        plain = None if k > arguments.most_plain else clock(lambda x=on_device, k=k: plain_loop(x, k))[1]
        peer = torch_clusters_time(points, k)
        print(LINE.format(n, m, k, shown(ours), shown(plain), shown(peer)), flush=True)
        row = {"points": n, "m": m, "sampled": k, "jaxapi": ours, "plain": plain, "torch_cluster": peer}
        rows.append(row)
    keep(arguments.json, rows)


if __name__ == "__main__":
    main()
