"""Terrain from lidar points: heights everywhere, and slopes by `jax.grad`.

A laser scanner returns heights at scattered places. Here they are drawn from the elevation model of the
Jacksboro fault that ships with matplotlib, with a noise of 0.3 metres. `RBFInterpolator` fits a thin plate to
the 32 nearest returns of each place, smoothed a little; the gradient of that surface is its slope. Run

    python examples/terrain.py [picture.png]
"""

import sys
import time

import jax
import numpy as np

import jaxapi as xp
from jaxapi.interpolate import RBFInterpolator

try:
    import matplotlib.cbook
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error


def load_heights():
    """Return heights in metres, and the distances between columns and rows in metres."""
    with matplotlib.cbook.get_sample_data("jacksboro_fault_dem.npz") as data:
        middle = np.radians((data["ymin"] + data["ymax"]) / 2)
        dx, dy = 111_200 * data["dx"] * np.cos(middle), 111_200 * data["dy"]
        return data["elevation"].astype(float), float(dx), float(dy)


def scan(heights, spacing, returns, noise, rng):
    """Return scattered places (returns, 2), in metres east and south, and the heights measured there."""
    cells = rng.permutation(heights.size)[:returns]
    rows, columns = np.unravel_index(cells, heights.shape)
    places = np.stack([columns, rows], axis=1) * spacing
    return places, heights[rows, columns] + rng.normal(0, noise, returns)


def main(picture=None, returns=25_000, step=2, noise=0.3):
    heights, dx, dy = load_heights()
    rng = np.random.default_rng(0)
    places, measured = scan(heights, (dx, dy), returns, noise, rng)
    terrain = RBFInterpolator(xp.asarray(places), measured, neighbors=32, smoothing=10.0)

    rows, columns = np.mgrid[: heights.shape[0] : step, : heights.shape[1] : step]
    grid = xp.asarray(np.stack([columns.ravel() * dx, rows.ravel() * dy], axis=1))
    start = time.perf_counter()
    surface, slopes = terrain(grid), jax.grad(lambda x: xp.sum(terrain(x)))(grid)
    jax.block_until_ready((surface, slopes))
    seconds = time.perf_counter() - start

    surface = np.asarray(surface).reshape(rows.shape)
    steepness = np.degrees(np.arctan(np.linalg.norm(slopes, axis=1))).reshape(rows.shape)
    errors = surface - heights[::step, ::step]
    south, east = np.gradient(heights, dy, dx)
    expected = np.degrees(np.arctan(np.hypot(south, east)))[::step, ::step]
    print(f"{returns} returns, {surface.size} heights and slopes on {grid.device} in {seconds:.1f} s")
    print(f"heights: median error {np.median(abs(errors)):.1f} m, of {np.ptp(heights):.0f} m of relief")
    middle, models = np.median(steepness), np.median(expected)
    print(f"steepness: median {middle:.1f} degrees, the elevation model's {models:.1f}")
    if picture:
        draw(places, surface, steepness, (heights.shape[1] * dx, heights.shape[0] * dy), picture)
        print(f"wrote {picture}")
    return errors, steepness, expected


def draw(places, surface, steepness, size, picture):
    figure = Figure(figsize=(12, 3.8), layout="constrained")
    extent = (0, size[0] / 1000, size[1] / 1000, 0)
    left, middle, right = figure.subplots(1, 3, sharex=True, sharey=True)
    left.plot(*places.T / 1000, ",", color="#1f6fb4")
    left.set(title="returns", ylabel="km", aspect="equal")
    shown = middle.imshow(surface, cmap="gist_earth", extent=extent)
    figure.colorbar(shown, ax=middle, label="height, m")
    shown = right.imshow(steepness, cmap="magma", extent=extent)
    figure.colorbar(shown, ax=right, label="slope, degrees")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
