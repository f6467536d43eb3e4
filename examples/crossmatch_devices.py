"""Match two catalogues on the sky over all devices: for each star of one, the nearest of the other within 1".

The stars of the second catalogue are those of the first, moved by 0.1", with a tenth of them missing and
as many others added. Each device makes and matches its part of both, and holds the part of the sky that
the picture shows. Run

    python examples/crossmatch_devices.py [picture.png] [--stars STARS]

With GPUs it takes all of them, else eight simulated CPU devices. On several hosts, start it under Slurm,
once on each (docs/distributed.md), without a picture.
"""

import argparse
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from jaxapi.spatial import KDTree

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error

if int(os.environ.get("SLURM_NTASKS", 1)) > 1:
    jax.distributed.initialize()
jax.config.update("jax_num_cpu_devices", 8)

ARCSECOND = np.pi / 180 / 3600
NOISE, RADIUS = 0.1 * ARCSECOND, 1 * ARCSECOND


def on_the_sky(key, shape):
    """Return unit vectors, evenly over the sphere."""
    x = jax.random.normal(key, (*shape, 3), jnp.float64)
    return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def catalogues(stars, sharding):
    """Return both catalogues (stars, 3), and where the second's stars are not those of the first."""

    def make(key):
        first, noise, gone, strangers = jax.random.split(key, 4)
        first = on_the_sky(first, (stars,))
        moved = first + NOISE * jax.random.normal(noise, first.shape, jnp.float64)
        moved /= jnp.linalg.norm(moved, axis=-1, keepdims=True)
        gone = jax.random.bernoulli(gone, 0.1, (stars,))
        second = jnp.where(gone[:, None], on_the_sky(strangers, (stars,)), moved)
        return first, second, gone

    return jax.jit(make, out_shardings=sharding)(jax.random.key(2))


@jax.jit
def score(distances, rows, gone):
    """Count the stars matched with themselves, with another one and with none, and those that are gone."""
    matched = rows < rows.shape[0]
    right = matched & (rows == jnp.arange(rows.shape[0]))
    return jnp.stack([right.sum(), (matched & ~right).sum(), (~matched).sum(), gone.sum()])


def main(picture=None, stars=2000):
    """Match catalogues of so many stars on a device, and print what was found."""
    mesh = jax.make_mesh((jax.device_count(),), ("stars",), axis_types=(AxisType.Auto,))
    sharding = NamedSharding(mesh, PartitionSpec("stars"))
    with jax.enable_x64(True):  # an arcsecond is 5e-6: float32 would see it in steps of 1/80
        first, second, gone = catalogues(stars * mesh.size, sharding)
        start = time.perf_counter()
        tree = KDTree(second)
        # A chord of the unit sphere, nearly the angle.
        distances, rows = tree.query(first, distance_upper_bound=2 * np.sin(RADIUS / 2))
        right, wrong, none, missing = (int(count) for count in score(distances, rows, gone))
    seconds = time.perf_counter() - start
    if jax.process_index() == 0:
        print(f"{tree.n} stars on {mesh.size} devices: {seconds:.1f} s, compilation included")
        print(f"matched with themselves {right}, with others {wrong}, with none {none}; {missing} are gone")
    if picture:
        draw(tree, picture)
    return right, wrong, none, missing


def draw(tree, picture):
    """Show which device holds which stars."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axis = figure.subplots()
    for shard in tree.data[tree.indices].addressable_shards:
        x, y, z = np.asarray(shard.data).T
        axis.plot(np.degrees(np.arctan2(y, x)), np.degrees(np.arcsin(z)), ".", markersize=1.5)
    axis.set(title="the devices' parts of the sky", xlabel="longitude (degrees)", ylabel="latitude (degrees)")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", nargs="?")
    parser.add_argument("--stars", type=int, default=2000)
    main(**vars(parser.parse_args()))
