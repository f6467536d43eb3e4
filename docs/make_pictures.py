"""Draw the guides' pictures."""

import pathlib
import sys

import jax
import matplotlib
import numpy as np

import jaxapi as xp
from jaxapi.interpolate import NearestNDInterpolator, RBFInterpolator
from jaxapi.spatial import KDTree

matplotlib.use("agg")
from matplotlib import pyplot
from matplotlib.collections import LineCollection

GREY, BLUE, ORANGE = "#9aa0a6", "#1f6fb4", "#e07b00"
POINTS = np.random.default_rng(1).random((60, 2))
QUERIES = np.array([[0.2, 0.3], [0.7, 0.8]])


def main(folder):
    """Draw each picture into `folder`, unless it is there and newer than this file."""
    folder.mkdir(exist_ok=True)
    newest = pathlib.Path(__file__).stat().st_mtime
    for draw in (nearest, radius, periodic, cell, gradient, logspace, interpolate):
        path = folder / f"{draw.__name__}.png"
        if path.exists() and path.stat().st_mtime > newest:
            continue
        figure = draw()
        figure.savefig(path, dpi=150 if len(figure.axes) > 1 else 95)  # one panel is 430 pixels wide
        pyplot.close(figure)


def square(panels=1):
    """Return a figure with square panels from 0 to 1, without ticks."""
    figure, axes = pyplot.subplots(
        1, panels, figsize=(4.5 * panels, 4.5), layout="constrained", squeeze=False
    )
    for axis in axes.flat:
        axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal", xticks=[], yticks=[])
    return figure, axes[0]


def nearest():
    """Five nearest neighbours of two queries, in two norms."""
    figure, axes = square(2)
    for axis, p in zip(axes, (2, 1), strict=True):
        _, rows = KDTree(POINTS).query(QUERIES, k=5, p=p)
        ends = POINTS[np.asarray(rows)]  # (2, 5, 2)
        starts = np.broadcast_to(QUERIES[:, None], ends.shape)
        lines = np.stack([starts, ends], axis=2).reshape(-1, 2, 2)
        axis.add_collection(LineCollection(lines, colors=BLUE, linewidths=1.2))
        axis.plot(*POINTS.T, "o", color=GREY, markersize=5)
        axis.plot(*ends.reshape(-1, 2).T, "o", color=BLUE, markersize=5)
        axis.plot(*QUERIES.T, "*", color=ORANGE, markersize=13)
        axis.set_title(f"query(x, k=5, p={p})", family="monospace", fontsize=11)
    return figure


def radius():
    """All points in two circles."""
    figure, (axis,) = square()
    near = KDTree(POINTS).query_radius(QUERIES, 0.18)
    axis.plot(*POINTS.T, "o", color=GREY, markersize=5)
    axis.plot(*POINTS[np.asarray(near.indices)].T, "o", color=BLUE, markersize=5)
    axis.plot(*QUERIES.T, "*", color=ORANGE, markersize=13)
    for query, count in zip(QUERIES, np.diff(near.indptr), strict=True):
        axis.add_patch(pyplot.Circle(query, 0.18, fill=False, color=ORANGE))
        label = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axis.annotate(f"{count} points", np.subtract(query, (0, 0.24)), ha="center", color=ORANGE, bbox=label)
    axis.set_title("query_radius(x, 0.18)", family="monospace", fontsize=11)
    return figure


def periodic():
    """Five nearest neighbours across the edge of a box."""
    figure, (axis,) = square()
    query = np.array([0.02, 0.5])
    _, rows = KDTree(POINTS, boxsize=1.0).query(query, k=5)
    ends = POINTS[np.asarray(rows)]
    ends = ends - np.round(ends - query)  # the nearest images
    axis.add_patch(pyplot.Rectangle((0, 0), 1, 1, fill=False, color="black"))
    for shift in (-1, 0, 1):
        axis.plot(
            *np.add(POINTS, (shift, 0)).T, "o", color=GREY, markersize=5, alpha=1 if shift == 0 else 0.35
        )
    axis.add_collection(LineCollection([[query, end] for end in ends], colors=BLUE, linewidths=1.2))
    axis.plot(*ends.T, "o", color=BLUE, markersize=5)
    axis.plot(*query, "*", color=ORANGE, markersize=13)
    axis.set(xlim=(-0.3, 1.3), ylim=(-0.1, 1.1))
    axis.set_title("KDTree(points, boxsize=1.0)", family="monospace", fontsize=11)
    return figure


def cell():
    """Neighbours of a query in a sheared cell, with the shifts of their images."""
    figure, (axis,) = square()
    vectors = np.array([[1.0, 0.0], [0.35, 0.8]])
    points = np.array([[0.2, 0.15], [0.9, 0.3], [0.75, 0.65]])
    query = np.array([0.12, 0.4])
    found = KDTree(points, cell=vectors).query_radius(query, 0.5)
    for shift in np.ndindex(3, 3):
        corner = (np.array(shift) - 1) @ vectors
        outline = corner + np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) @ vectors
        is_home = shift == (1, 1)
        axis.plot(*outline.T, color="black" if is_home else GREY, linewidth=1.4 if is_home else 0.5)
        axis.plot(*(points + corner).T, "o", color=GREY, markersize=6, alpha=1 if is_home else 0.4)
    ends = points[np.asarray(found.indices)] + np.asarray(found.shifts) @ vectors
    axis.add_patch(pyplot.Circle(query, 0.5, fill=False, color=ORANGE, linestyle="--"))
    axis.add_collection(LineCollection([[query, end] for end in ends], colors=BLUE, linewidths=1.2))
    axis.plot(*ends.T, "o", color=BLUE, markersize=7)
    for row, shift, end in zip(found.indices.tolist(), found.shifts.tolist(), ends, strict=True):
        label = f"{row} {tuple(shift)}"
        axis.annotate(label, end, xytext=(5, 5), textcoords="offset points", fontsize=9)
    axis.plot(*query, "*", color=ORANGE, markersize=13)
    axis.set(xlim=(-0.7, 1.5), ylim=(-0.6, 1.3))
    axis.set_title("KDTree(points, cell=vectors)", family="monospace", fontsize=11)
    return figure


def gradient():
    """What pushes each point away from its neighbours."""
    figure, (axis,) = square()

    def repulsion(points):
        distances, _ = KDTree(points).query(points, k=2)
        return -xp.sum(xp.log(distances[:, 1]))

    force = -np.asarray(jax.grad(repulsion)(xp.asarray(POINTS, dtype="float32")))
    length = np.linalg.norm(force, axis=1, keepdims=True)
    arrows = 0.05 * force / np.maximum(length, 1e-9) * np.sqrt(length / length.max())
    axis.quiver(
        *POINTS.T, *arrows.T, color=BLUE, angles="xy", scale_units="xy", scale=0.6, width=0.006, zorder=2
    )
    axis.plot(*POINTS.T, "o", color=GREY, markersize=5)
    axis.set_title("-jax.grad(repulsion)(points)", family="monospace", fontsize=11)
    return figure


def logspace():
    """Which powers NumPy and jax.numpy get wrong with dtype=int64."""
    with jax.enable_x64(True):
        libraries = {"numpy": np.logspace, "jax.numpy": jax.numpy.logspace, "jaxapi": xp.logspace}
        wrong = {name: wrong_powers(function) for name, function in libraries.items()}
    figure, axes = pyplot.subplots(1, 3, figsize=(9.5, 3), layout="constrained", sharey=True)
    for axis, (name, powers) in zip(axes, wrong.items(), strict=True):
        bases, exponents = np.array([(b, e) for b in range(2, 17) for e in range(largest(b) + 1)]).T
        axis.plot(exponents, bases, "s", color="#e3e6e8", markersize=3)
        if powers:
            axis.plot(*np.array(sorted(powers))[:, ::-1].T, "s", color="#c62828", markersize=3)
        axis.set_title(f"{name}: {len(powers)} wrong", fontsize=11)
        axis.set_xlabel("exponent")
    axes[0].set_ylabel("base")
    return figure


def interpolate():
    """Maps of the temperatures of some stations."""
    measured = 15 - 8 * POINTS[:, 1] + 3 * np.sin(6 * POINTS[:, 0])
    north, east = np.mgrid[0:1:200j, 0:1:200j]
    places = np.stack([east.ravel(), north.ravel()], axis=1)
    maps = {
        "RBFInterpolator": RBFInterpolator(POINTS, measured),
        "neighbors=8": RBFInterpolator(POINTS, measured, neighbors=8),
        "NearestNDInterpolator": NearestNDInterpolator(POINTS, measured),
    }
    figure, axes = square(3)
    for axis, (name, function) in zip(axes, maps.items(), strict=True):
        heat = np.asarray(function(places)).reshape(north.shape)
        axis.imshow(heat, origin="lower", extent=(0, 1, 0, 1), cmap="RdYlBu_r", vmin=5, vmax=18)
        axis.scatter(*POINTS.T, c=measured, s=22, cmap="RdYlBu_r", vmin=5, vmax=18, edgecolors="black")
        axis.set_title(name, family="monospace", fontsize=11)
    return figure


def largest(base):
    """Return the largest exponent for which the power is at most 2**62."""
    exponent = 0
    while base ** (exponent + 1) <= 2**62:
        exponent += 1
    return exponent


def wrong_powers(function):
    """Return (base, exponent) of what is wrong in one call for all the exponents of a base."""
    found = set()
    for base in range(2, 17):
        top = largest(base)
        powers = np.asarray(function(0, top, top + 1, base=base, dtype=np.int64)).tolist()
        found |= {(base, e) for e, power in enumerate(powers) if power != base**e}
    return found


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
