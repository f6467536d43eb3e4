"""Register two scans of a terrain: iterative closest points (ICP), point to plane.

Two overlapping pieces of the Jacksboro fault (matplotlib's elevation model, metres), each of points of
its own, and one of them turned by 8 degrees and moved by 500 metres. Each round finds the nearest point
of the fixed scan for each point of the other, and solves for the small motion that brings the points onto
the planes there (Y. Chen and G. Medioni, Object modelling by registration of multiple range images,
1992). Run

    python examples/icp.py [picture.png]

Points without a partner within the bound get the row n: they are masked, not looked up.
"""

import sys

import jax
import numpy as np

import jaxapi as xp

try:
    import matplotlib.cbook
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error


def load_scans(points):
    """Return two scans (points, 3) with noise, the second one moved, and its motion: angle and shift."""
    with matplotlib.cbook.get_sample_data("jacksboro_fault_dem.npz") as data:
        heights = data["elevation"].astype("float64")
        middle = np.radians((data["ymin"] + data["ymax"]) / 2)
        dx, dy = 111_200 * data["dx"] * np.cos(middle), 111_200 * data["dy"]
    x, y = np.meshgrid(np.arange(heights.shape[1]) * dx, np.arange(heights.shape[0]) * dy)
    cloud = np.stack([x, y, heights], axis=-1).reshape(-1, 3)
    cloud -= cloud.mean(axis=0)
    rng = np.random.default_rng(0)
    west, east = (cloud[side] for side in (cloud[:, 0] < 4000, cloud[:, 0] > -4000))
    fixed, moving = (
        part[rng.choice(len(part), points)] + rng.normal(0, 2, (points, 3)) for part in (west, east)
    )
    angle, shift = np.radians(8), np.array([300.0, -400.0, 60.0])
    return fixed, moving @ turn(angle).T + shift, angle, shift


def turn(angle):
    """Return a rotation about the vertical."""
    return np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])


@jax.jit
def normals_of(points, rows):
    """Return unit normals from the rows of neighbours (n, k)."""
    near = points[rows] - xp.mean(points[rows], axis=1, keepdims=True)
    return xp.linalg.svd(xp.matmul(xp.matrix_transpose(near), near)).Vh[:, 2, :]


@jax.jit
def update(moving, fixed, normals, distances, rows, bound):
    """Return the points after the motion that brings them nearest to the planes, and how far they were."""
    found = distances < bound  # the others have the row n
    target, normal = fixed[rows], normals[rows]
    apart = xp.sum((target - moving) * normal, axis=1)
    weight = xp.where(found, 1 / (1 + (apart / 20) ** 2), 0)  # partners far off the plane count little
    scale = 1000.0  # metres to a radian, so that the six unknowns are alike
    columns = xp.concat([xp.linalg.cross(moving, normal) / scale, normal], axis=1)
    weighted = columns * weight[:, None]
    motion = xp.linalg.solve(
        xp.matmul(weighted.T, columns) + 1e-3 * xp.eye(6), xp.vecdot(weighted, apart[:, None], axis=0)
    )
    axis = motion[:3] / scale
    angle = xp.linalg.vector_norm(axis) + 1e-12
    x, y, z = axis / angle
    cross = xp.stack([xp.asarray(row) for row in ([0 * z, -z, y], [z, 0 * z, -x], [-y, x, 0 * z])])
    rotation = xp.eye(3) + xp.sin(angle) * cross + (1 - xp.cos(angle)) * xp.matmul(cross, cross)
    error = xp.sqrt(xp.sum(weight * apart**2) / xp.sum(weight))
    return xp.matmul(moving, rotation.T) + motion[3:], error


def register(moving, fixed, rounds):
    """Move `moving` onto `fixed`; return it and the distance to the planes in each round."""
    tree = xp.spatial.KDTree(fixed)
    normals = normals_of(fixed, tree.query(fixed, k=12)[1])
    errors = []
    for bound in np.geomspace(1500, 150, rounds):
        distances, rows = tree.query(moving, distance_upper_bound=bound)
        moving, error = update(moving, fixed, normals, distances, rows, bound)
        errors.append(float(error))
    return moving, errors


def main(picture=None, points=8000, rounds=40):
    fixed, moved, angle, shift = load_scans(points)
    start = xp.asarray(moved, dtype="float32")
    registered, errors = register(start, xp.asarray(fixed, dtype="float32"), rounds)
    truth = (moved - shift) @ turn(angle)
    before, after = (np.linalg.norm(np.asarray(p) - truth, axis=1) for p in (start, registered))
    print(f"{points} points a scan, {rounds} rounds, to the planes {errors[0]:.1f} -> {errors[-1]:.1f} m")
    print(f"from the true place: {np.median(before):.0f} m before, {np.median(after):.1f} m after")
    if picture:
        draw(fixed, moved, np.asarray(registered), errors, picture)
    return before, after


def draw(fixed, moved, registered, errors, picture):
    figure = Figure(figsize=(12, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for axis, points, title in ((left, moved, "before"), (middle, registered, "after")):
        axis.plot(fixed[:, 0] / 1e3, fixed[:, 1] / 1e3, ".", markersize=1.5, color="#1f6fb4", label="fixed")
        axis.plot(
            points[:, 0] / 1e3, points[:, 1] / 1e3, ".", markersize=1.5, color="#e07b00", label="moving"
        )
        axis.set(title=title, aspect="equal", xlabel="km")
    left.legend(markerscale=6)
    right.semilogy(errors)
    right.set(title="distance to the planes", xlabel="round", ylabel="m")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
