"""Normals of a point cloud: the k nearest neighbours of each point, then an SVD of their spread.

The cloud is the terrain of the Jacksboro fault, 138,632 points in metres, that ships with matplotlib. Run

    python examples/point_normals.py [picture.png]

On the CPU SciPy's tree is searched, on a GPU jaxapi's; the points never leave the device.
"""

import sys
import time

import jax
import numpy as np

import jaxapi as xp

try:
    import matplotlib.cbook
    import matplotlib.image
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error


def load_cloud():
    """Return the heights (rows, columns) and points (rows * columns, 3), in metres."""
    with matplotlib.cbook.get_sample_data("jacksboro_fault_dem.npz") as data:
        heights = data["elevation"].astype("float64")
        middle = np.radians((data["ymin"] + data["ymax"]) / 2)
        dx, dy = 111_200 * data["dx"] * np.cos(middle), 111_200 * data["dy"]
    rows, columns = heights.shape
    x, y = np.meshgrid(np.arange(columns) * dx, np.arange(rows) * dy)
    return heights, np.stack([x, y, heights], axis=-1).reshape(-1, 3), dx, dy


@jax.jit
def normals_of(points, rows):
    """Return unit normals, turned upwards, from the neighbours' rows (n, k)."""
    neighbours = xp.take(points, rows, axis=0)  # (n, k, 3)
    spread = neighbours - xp.mean(neighbours, axis=1, keepdims=True)
    covariance = xp.matmul(xp.matrix_transpose(spread), spread)  # (n, 3, 3)
    normals = xp.linalg.svd(covariance).Vh[:, 2, :]  # the direction that varies least
    return normals * xp.where(normals[:, 2:] < 0, -1, 1)


def normals(points, k):
    _, rows = xp.spatial.KDTree(points).query(points, k=k)
    return normals_of(points, rows)


def grid_normals(heights, dx, dy):
    """What the grid says, which the cloud does not know: the oracle."""
    north, east = np.gradient(heights, dy, dx)
    up = np.stack([-east, -north, np.ones_like(heights)], axis=-1)
    return up / np.linalg.norm(up, axis=-1, keepdims=True)


def main(picture=None, k=12):
    heights, host, dx, dy = load_cloud()
    points = xp.asarray(host, dtype="float32")
    found = normals(points, k).block_until_ready()
    start = time.perf_counter()
    found = normals(points, k).block_until_ready()
    seconds = time.perf_counter() - start
    expected = grid_normals(heights, dx, dy).reshape(-1, 3)
    angles = np.degrees(np.arccos(np.clip((np.asarray(found) * expected).sum(-1), -1, 1)))
    print(f"{len(host)} points on {points.device}, {k} neighbours: {seconds * 1e3:.0f} ms")
    print(f"angle to the normals of the grid: median {np.median(angles):.2f} degrees")
    if picture:
        draw(np.asarray(found).reshape(*heights.shape, 3), picture)
    return np.asarray(found), angles


def draw(normals, picture):
    """Colour by the direction of the normal, brighter where it faces a light in the north-west."""
    light = np.array([-0.5, 0.5, 0.7])
    shade = np.clip(normals @ light / np.linalg.norm(light), 0, 1)[..., None]
    colour = 0.5 + 0.5 * normals * (1.6, 1.6, 0.6)
    matplotlib.image.imsave(picture, np.clip(1.25 * colour * shade, 0, 1))


if __name__ == "__main__":
    main(*sys.argv[1:2])
