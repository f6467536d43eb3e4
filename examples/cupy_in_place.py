"""Two CuPy programs that update their arrays in place, ported by their import line only.

A membrane's wave equation, with a hole cut out by a mask, and k-means with masks: as they were written for
CuPy, where the import read `import cupy as cp`. Run

    python examples/cupy_in_place.py [picture.png]

`main` runs both with NumPy, too (`cp` is any such namespace), and compares.
"""

import sys

import numpy as np

import jaxapi.mutable as cp

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error


def wave(cp, size=64, steps=100):
    """Leapfrog steps of a membrane that is held at its rim and around a hole."""
    y, x = cp.meshgrid(cp.linspace(-1, 1, size), cp.linspace(-1, 1, size), indexing="ij")
    hole = (x - 0.3) ** 2 + y**2 < 0.04
    now = cp.exp(-40 * ((x + 0.4) ** 2 + y**2))
    now[hole] = 0
    before = now.copy()
    for _ in range(steps):
        after = 2 * now - before
        after[1:-1, 1:-1] += 0.25 * (
            now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        )
        after[0] = after[-1] = 0
        after[:, 0] = after[:, -1] = 0
        after[hole] = 0
        before, now = now, after
    return now


def kmeans(cp, points, k, rounds=10):
    """Lloyd's algorithm; a cluster that loses all its points keeps its place."""
    centres = points[:k].copy()
    for _ in range(rounds):
        distances = cp.sum((points[:, None] - centres[None]) ** 2, axis=-1)
        nearest = cp.argmin(distances, axis=1)
        for i in range(k):
            mine = nearest == i
            count = cp.sum(mine)
            if count > 0:
                centres[i] = cp.sum(cp.where(mine[:, None], points, 0.0), axis=0) / count
    return centres, nearest


def main(picture=None):
    """Run both with jaxapi.mutable and with NumPy; return the largest differences."""
    random = np.random.default_rng(0)
    places = random.standard_normal((3, 2)) * 10
    points = (places[random.integers(0, 3, 600)] + random.standard_normal((600, 2))).astype(np.float32)

    drum, expected_drum = wave(cp), wave(np)
    wave_difference = float(np.abs(np.asarray(drum) - expected_drum).max())
    print(f"wave: largest difference from NumPy {wave_difference:.1e}")

    centres, nearest = kmeans(cp, cp.asarray(points), 3)
    expected, expected_nearest = kmeans(np, points, 3)
    centre_difference = float(np.abs(np.asarray(centres) - expected).max())
    print(f"k-means: centres differ by {centre_difference:.1e}")
    if picture:
        draw(np.asarray(drum), points, np.asarray(nearest), np.asarray(centres), picture)
    return wave_difference, centre_difference, int((np.asarray(nearest) != expected_nearest).sum())


def draw(drum, points, nearest, centres, picture):
    """Draw the membrane, and the clusters with their centres."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.imshow(drum, cmap="RdBu", vmin=-abs(drum).max(), vmax=abs(drum).max())
    left.set_axis_off()
    right.scatter(*points.T, c=nearest, s=8, cmap="viridis")
    right.plot(*centres.T, "k+", markersize=14)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
