"""Neighbour lists of periodic cells and of batches on a GPU, the build included, in one program.

Crystals of 42 neighbours an atom within a cutoff of 5, in a cube, in a sheared cell and, beside them, in a
box of right angles (`boxsize`, the nearest image alone); clouds of equal sizes by `batch=`, with and without
a cell for each, and under `jax.vmap`. Run

    python benchmarks/bench_cells_gpu.py [--json FILE]
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from bench_cells_cpu import CUTOFF, NEIGHBORS, crystal
from timing import keep, median_us

from jaxapi.spatial import KDTree

SIZES = (64, 1_000, 8_000, 132_651, 531_441)
BATCHES = ((512, 96), (512, 192), (64, 1024))
ROOM = 1.1  # for edges, beyond the mean


def program_of(make_tree, most):
    """Return a program that builds a tree and lists its edges."""

    def neighbor_list(*inputs):
        return make_tree(*inputs).radius_graph(CUTOFF, max_edges=most)

    return jax.jit(neighbor_list)


def milliseconds(program, *inputs):
    return 1e-3 * median_us(lambda: program(*inputs))


def crystal_row(atoms):
    """Return the times of one crystal."""
    row = {}
    for name, shear in (("cube", 0.0), ("sheared", 0.7)):
        points, cell = crystal(atoms, shear)
        most = int(ROOM * (NEIGHBORS + 4) * len(points)) + 64
        inputs = jnp.asarray(points, jnp.float32), jnp.asarray(cell, jnp.float32)
        program = program_of(lambda points, cell: KDTree(points, cell=cell), most)
        row["atoms"] = len(points)
        row[f"{name} edges"] = int(program(*inputs).count)
        row[name] = milliseconds(program, *inputs)
    points, cell = crystal(atoms, 0.0)
    length = np.float32(cell[0, 0])
    inside = jnp.asarray(points % length, jnp.float32)
    program = program_of(lambda points: KDTree(points, boxsize=float(length)), most)
    row["boxsize"] = milliseconds(program, inside)
    return row


def batch_row(clouds, atoms):
    """Return the times of many clouds of one size."""
    side = (atoms / NEIGHBORS * 4 / 3 * np.pi * CUTOFF**3) ** (1 / 3)
    points = np.random.default_rng(0).random((clouds, atoms, 3)) * side
    points = jnp.asarray(points, jnp.float32)
    joined = points.reshape(-1, 3)
    ids = jnp.repeat(jnp.arange(clouds), atoms)
    cells = jnp.tile(jnp.eye(3, dtype=jnp.float32) * np.float32(side), (clouds, 1, 1))
    most = (NEIGHBORS + 4) * atoms
    of_ids = program_of(lambda points, ids: KDTree(points, batch=ids), clouds * most)
    of_cells = program_of(lambda points, ids, cell: KDTree(points, batch=ids, cell=cell), clouds * most)
    of_items = jax.jit(jax.vmap(program_of(KDTree, most)))
    return {
        "clouds": clouds,
        "atoms": atoms,
        "batch": milliseconds(of_ids, joined, ids),
        "batch, cell": milliseconds(of_cells, joined, ids, cells),
        "vmap": milliseconds(of_items, points),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the figures into this file")
    arguments = parser.parse_args()
    rows = []
    for atoms in SIZES:
        rows.append(crystal_row(atoms))
        print(rows[-1], flush=True)
    for clouds, atoms in BATCHES:
        rows.append(batch_row(clouds, atoms))
        print(rows[-1], flush=True)
    keep(arguments.json, rows)


if __name__ == "__main__":
    main()
