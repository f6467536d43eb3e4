"""Edges of points in random cells against all images by hand: `radius_graph` in one program for many cells.

Cells are flat, long, short beside the radius, and of any orientation; points lie in them or far outside.
"""

import functools

import jax
import numpy as np
from hypothesis import strategies as st

from jaxapi.spatial import KDTree

from .report import NoOracle

__all__ = ["check"]

ROWS, MOST_EDGES = 200, 1 << 16
COUNTS = (1, 2, 5, 20, 60, ROWS)  # of points
VALUES = 12  # cells of a configuration
MOST_PAIRS = 4e6  # of a point and an image that are measured by hand
CLOSE = 1e-6  # how near to the radius, beside it, no one tells inside from outside


@functools.cache
def program(periodic):
    """Return the program for all cells with these periodic vectors."""

    def edges(points, n, cell, radius):
        tree = KDTree(points, n=n, cell=cell, periodic=periodic)
        return tree.radius_graph(radius, max_edges=MOST_EDGES)

    return jax.jit(edges)


def random_cell(rng, m, radius):
    """Return vectors of a tenth of the radius to ten times of it, at angles of 5 degrees and more."""
    lengths = radius * 10 ** rng.uniform(-1, 1, m)
    while True:
        directions = np.linalg.qr(rng.normal(size=(m, m)))[0]
        if m > 1:
            angle = np.deg2rad(rng.uniform(5, 90))
            directions[1] = np.cos(angle) * directions[0] + np.sin(angle) * directions[1]
        if abs(np.linalg.det(directions)) > 0.02:
            return lengths[:, None] * directions


def all_images(points, cell, periodic, radius):
    """Return edges (e, 2 + m) of receiver, sender and shift a little beyond the radius, and their lengths."""
    m = len(cell)
    axes = np.flatnonzero(periodic)
    vectors = cell[axes]
    inverse = vectors.T @ np.linalg.inv(vectors @ vectors.T)
    turns = np.floor(points @ inverse)
    inside = points - turns @ vectors
    fractions = inside @ inverse
    heights = 1 / np.linalg.norm(inverse, axis=0)
    extent = np.ceil(radius / heights + 1e-9 + np.ptp(fractions, axis=0)).astype(int)
    if np.prod(2 * extent + 1) * len(points) ** 2 > MOST_PAIRS:
        raise NoOracle
    ranges = [np.arange(-most, most + 1) for most in extent]
    edges = []
    for shift in np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(axes)):
        steps = inside[None] + shift @ vectors - inside[:, None]
        near = np.linalg.norm(steps, axis=-1) <= radius * (1 + 2 * CLOSE)
        receivers, senders = np.nonzero(near)
        shifts = np.zeros((len(receivers), m), int)
        shifts[:, axes] = shift + turns[receivers] - turns[senders]
        edges.append(np.column_stack([receivers, senders, shifts]))
    edges = np.concatenate(edges)
    edges = edges[(edges[:, 0] != edges[:, 1]) | edges[:, 2:].any(axis=1)]
    return edges, lengths_of(edges, points, cell)


def lengths_of(edges, points, cell):
    steps = points[edges[:, 1]] + edges[:, 2:] @ cell - points[edges[:, 0]]
    return np.linalg.norm(steps, axis=1)


def difference(graph, points, cell, expected, lengths, radius):
    """Return None, or (kind, text) of what is wrong with a graph."""
    is_edge = lengths <= radius * (1 - CLOSE)
    count = int(graph.count)
    if not np.count_nonzero(is_edge) <= count <= len(expected):
        return "count", f"{count} for {np.count_nonzero(is_edge)} to {len(expected)}"
    if count > MOST_EDGES:
        return None
    found = np.column_stack([graph.receivers, graph.senders, graph.shifts])[:count]
    if (np.diff(found[:, 0]) < 0).any():
        return "order", "receivers do not ascend"
    rows = set(map(tuple, found.tolist()))
    missing = set(map(tuple, expected[is_edge].tolist())) - rows
    surplus = rows - set(map(tuple, expected.tolist()))
    if len(rows) < count or missing or surplus:
        return (
            "edges",
            f"{count - len(rows)} twice, missing {min(missing, default=None)}, {len(surplus)} more",
        )
    own_lengths = lengths_of(found, points, cell)
    if not np.allclose(graph.distances[:count], own_lengths, rtol=1e-5, atol=1e-6 * radius):
        return "distances", "not those of the edges"
    return None


def check(report, draw):
    """Try some cells of one dimension, dtype and kind of periodicity."""
    m = draw(st.integers(1, 3))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    periodic = draw(st.tuples(*[st.booleans()] * m).filter(any))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    differences = []
    compared = 0
    for _ in range(VALUES):
        radius = np.float32(10 ** rng.uniform(-2, 2))
        cell = random_cell(rng, m, float(radius)).astype(dtype)
        fractions = rng.random((ROWS, m))
        if rng.random() < 0.5:
            fractions += rng.integers(-30, 30, fractions.shape) * np.asarray(periodic)
        points = (fractions @ cell).astype(dtype)
        n = int(rng.choice(COUNTS))
        exact_points = points[:n].astype(float)
        exact_cell = cell.astype(float)
        try:
            expected, lengths = all_images(exact_points, exact_cell, periodic, float(radius))
        except NoOracle:
            continue
        with jax.enable_x64(dtype == "float64"):
            graph = jax.tree.map(np.asarray, program(periodic)(points, np.int32(n), cell, radius))
        compared += 1
        wrong = difference(graph, exact_points, exact_cell, expected, lengths, float(radius))
        if wrong:
            kind, text = wrong
            differences.append((kind, f"{text}, n={n}, radius {radius!r}, cell {cell.tolist()}"))
    report.add("cells.radius_graph", f"m={m} {dtype} periodic={periodic}", compared, differences)
