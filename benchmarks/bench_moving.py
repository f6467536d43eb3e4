"""Lists of neighbors while atoms move: kept with a skin, built in each step, and jax-md's if it is there.

Lennard-Jones liquids in a cube and in a sheared cell, in float32. A step updates the list, and sums a force
on each atom over its candidates within the cutoff. It is timed where the list is kept, and where it is built
anew. Columns:

- `first list`: to make the first `NeighborList` of a number of atoms, with all that it compiles, in ms;
  `next list`: of seven atoms less; `list`: once more;
- `update`, `step`: `NeighborList` where it is kept; `update, anew`, `step, anew`: where it is built;
- `gradient`: `jax.grad` of an energy of the candidates of a list that is kept;
- `graph`, `graph step`: `KDTree(points, cell=cell).radius_graph(r, max_edges=)` in each step;
- `jax-md ...`: the same of jax-md's sparse list, in the cube.

Run

    python benchmarks/bench_moving.py [--json FILE] [--atoms 1000 8000 ...]
"""

import argparse
import importlib.util
import time

import jax
import jax.numpy as jnp
import numpy as np
from timing import keep, median_us

from jaxapi.spatial import KDTree, NeighborList

SIZES = 1_024, 8_000, 64_000, 262_144, 1_000_000
DENSITY, CUTOFF, SKIN = 0.8442, 2.5, 0.3
ROOM = 1.1  # for edges, beyond those at first


def liquid(atoms, shear):
    """Return positions (n, 3) of about so many atoms, off the places of a lattice, and a cell."""
    side = round(atoms ** (1 / 3))
    spacing = DENSITY ** (-1 / 3)
    cell = side * spacing * np.array([[1.0, 0, 0], [shear, 1, 0], [shear, -shear, 1]])
    corners = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)
    fractions = (corners + 0.5 + np.random.default_rng(0).uniform(-0.15, 0.15, corners.shape)) / side
    return jnp.asarray(fractions @ cell, jnp.float32), jnp.asarray(cell, jnp.float32)


def force_of(vectors, is_edge, receivers, n):
    """Return the forces (n, 3) of edges, as a molecular dynamics program sums them."""
    squares = jnp.where(is_edge, jnp.sum(vectors**2, axis=1), CUTOFF**2)
    sixth = squares**-3
    pull = jnp.where(is_edge, -24 * (2 * sixth * sixth - sixth) / squares, 0.0)
    return jax.ops.segment_sum(pull[:, None] * vectors, receivers, n, indices_are_sorted=True)


def energy_of(lengths):
    """Return the energy of soft spheres, 0 at the cutoff and beyond."""
    return jnp.sum(jnp.maximum(1 - lengths / CUTOFF, 0) ** 2)


def milliseconds(program, *inputs):
    return round(1e-3 * median_us(lambda: program(*inputs)), 4)


def list_times(positions, cell):
    """Return the times of a first list, of another number of atoms, and of a list that compiles nothing."""

    def made(positions):
        return NeighborList(positions, CUTOFF, SKIN, cell=cell).needed

    fewer_positions = positions[:-7]
    times = {}
    for name, of_these in (("first list", positions), ("next list", fewer_positions)):
        begin = time.perf_counter()
        made(of_these).block_until_ready()
        times[name] = round(1e3 * (time.perf_counter() - begin), 1)
    return times | {"list": milliseconds(made, positions)}


def ours(positions, cell):
    """Return the times of a list that is kept and built anew, and of a graph in each step."""
    times_of_lists = list_times(positions, cell)
    neighbors = NeighborList(positions, CUTOFF, SKIN, cell=cell)
    most = int(ROOM * int(neighbors.edges().count))
    far = positions + SKIN

    @jax.jit
    def step(neighbors, positions):
        neighbors = neighbors.update(positions)
        pairs = neighbors.candidates()
        vectors = neighbors.vectors(pairs)
        is_edge = (pairs.receivers < len(positions)) & (jnp.sum(vectors**2, axis=1) <= CUTOFF**2)
        return neighbors, force_of(vectors, is_edge, pairs.receivers, len(positions))

    def energy(positions, neighbors):
        pairs = neighbors.update(positions).candidates(fill_value=CUTOFF)
        return energy_of(pairs.distances)

    @jax.jit
    def graph_of(positions):
        return KDTree(positions, cell=cell).radius_graph(CUTOFF, max_edges=most)

    @jax.jit
    def graph_step(positions):
        tree = KDTree(positions, cell=cell)
        graph = tree.radius_graph(CUTOFF, max_edges=most)
        starts = positions[graph.receivers]
        vectors = tree.displacements(starts, graph.senders, shifts=graph.shifts)
        return force_of(vectors, graph.mask, graph.receivers, len(positions))

    update = jax.jit(NeighborList.update)
    assert int(update(neighbors, far).rebuilds) == 1
    assert int(update(neighbors, positions).rebuilds) == 0
    return {
        "edges": int(neighbors.edges().count),
        "needed": int(neighbors.needed),
        **times_of_lists,
        "update": milliseconds(update, neighbors, positions),
        "edges of a list": milliseconds(jax.jit(lambda neighbors: neighbors.edges()), neighbors),
        "step": milliseconds(step, neighbors, positions),
        "gradient": milliseconds(jax.jit(jax.grad(energy)), positions, neighbors),
        "update, anew": milliseconds(update, neighbors, far),
        "step, anew": milliseconds(step, neighbors, far),
        "graph": milliseconds(graph_of, positions),
        "graph step": milliseconds(graph_step, positions),
    }


def of_jax_md(positions, side):
    """Return the times of jax-md's sparse list in a cube."""
    partition = importlib.import_module("jax_md.partition")
    space = importlib.import_module("jax_md.space")
    displacement, _ = space.periodic(side)
    functions = partition.neighbor_list(
        displacement, side, CUTOFF, SKIN, format=partition.Sparse, capacity_multiplier=1.1
    )
    positions = positions % side
    neighbors = functions.allocate(positions)
    far = (positions + SKIN) % side

    @jax.jit
    def step(neighbors, positions):
        neighbors = neighbors.update(positions)
        receivers, senders = neighbors.idx
        vectors = jax.vmap(displacement)(positions[senders], positions[receivers])
        is_edge = (receivers < len(positions)) & (jnp.sum(vectors**2, axis=1) <= CUTOFF**2)
        return neighbors, force_of(vectors, is_edge, receivers, len(positions))

    def energy(positions, neighbors):
        neighbors = neighbors.update(positions)
        receivers, senders = neighbors.idx
        vectors = jax.vmap(displacement)(positions[senders], positions[receivers])
        squares = jnp.where(receivers < len(positions), jnp.sum(vectors**2, axis=1), CUTOFF**2)
        return energy_of(jnp.sqrt(squares))

    update = jax.jit(lambda neighbors, positions: neighbors.update(positions))
    return {
        "jax-md update": milliseconds(update, neighbors, positions),
        "jax-md step": milliseconds(step, neighbors, positions),
        "jax-md gradient": milliseconds(jax.jit(jax.grad(energy)), positions, neighbors),
        "jax-md update, anew": milliseconds(update, neighbors, far),
        "jax-md step, anew": milliseconds(step, neighbors, far),
    }


def row_of(atoms, shear):
    positions, cell = liquid(atoms, shear)
    row = {"atoms": len(positions), "cell": "sheared" if shear else "cube"} | ours(positions, cell)
    if not shear and importlib.util.find_spec("jax_md"):
        row |= of_jax_md(positions, float(cell[0, 0]))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the figures into this file")
    parser.add_argument("--atoms", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    rows = []
    for atoms in options.atoms:
        for shear in (0.0, 0.3):
            rows.append(row_of(atoms, shear))
            print(rows[-1], flush=True)
    keep(options.json, rows)


if __name__ == "__main__":
    main()
