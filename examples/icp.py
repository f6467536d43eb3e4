"""Register scans of a terrain, each of another length: iterative closest points (ICP), point to plane.

Two overlapping pieces of the Jacksboro fault (matplotlib's elevation model, metres), each of points of
its own, and one of them turned by 8 degrees and moved by 500 metres. Each round finds the nearest point
of the fixed scan for each point of the other, and solves for the small motion that brings the points onto
the planes there (Y. Chen and G. Medioni, Object modelling by registration of multiple range images,
1992). Run

    python examples/icp.py [picture.png]

All rounds are one program, and scans of all lengths run it: `pad_rows` fills them up to a length that they
share, and how many points count is data. Points without a partner within the bound get the row n: they are
masked, not looked up, as are the rows that only fill up.
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


def load_scans(fixed_points, moving_points):
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
        part[rng.choice(len(part), points)] + rng.normal(0, 2, (points, 3))
        for part, points in ((west, fixed_points), (east, moving_points))
    )
    angle, shift = np.radians(8), np.array([300.0, -400.0, 60.0])
    return fixed, moving @ turn(angle).T + shift, angle, shift


def turn(angle):
    """Return a rotation about the vertical."""
    return np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])


def normals_of(points, rows):
    """Return unit normals from the rows of neighbours (n, k)."""
    near = points[rows] - xp.mean(points[rows], axis=1, keepdims=True)
    return xp.linalg.svd(xp.matmul(xp.matrix_transpose(near), near)).Vh[:, 2, :]


def update(moving, fixed, normals, rows, found):
    """Return the points after the motion that brings those found to the planes, and how far they were."""
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


@jax.jit
def register(moving, m, fixed, n, bounds):
    """Move the first `m` points onto the first `n` fixed ones; return them and the distances to the planes.

    A round for each of the bounds on how far partners are.
    """
    tree = xp.spatial.KDTree(fixed, n=n)
    normals = normals_of(fixed, tree.query(fixed, k=12)[1])
    there = xp.arange(len(moving)) < m

    def step(moving, bound):
        distances, rows = tree.query(moving, distance_upper_bound=bound)
        return update(moving, fixed, normals, rows, there & (distances < bound))

    return jax.lax.scan(step, moving, bounds)


def main(picture=None, lengths=(8000, 7000, 6000), rounds=40):
    bounds = xp.asarray(np.geomspace(1500, 150, rounds), dtype="float32")
    results = []
    for points in lengths:
        fixed, moved, angle, shift = load_scans(max(lengths), points)
        scans = [xp.spatial.pad_rows(scan.astype("float32")) for scan in (moved, fixed)]
        registered, errors = register(*scans[0], *scans[1], bounds)
        registered = np.asarray(registered)[:points]
        truth = (moved - shift) @ turn(angle)
        before, after = (np.linalg.norm(p - truth, axis=1) for p in (moved, registered))
        print(f"{points} points onto {len(fixed)}, to the planes {errors[0]:.1f} -> {errors[-1]:.1f} m")
        print(f"from the true place: {np.median(before):.0f} m before, {np.median(after):.1f} m after")
        results.append((before, after))
        if picture and points == lengths[0]:
            draw(fixed, moved, registered, errors, picture)
    return results


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
