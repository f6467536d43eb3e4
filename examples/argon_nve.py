"""Keep the energy: 4,000 Lennard-Jones atoms in a triclinic cell, with a neighbour list that is seldom built.

Reduced units (lengths in sigma, energies in epsilon). A crystal melts at constant energy by the velocity
Verlet method. `NeighborList` is carried through `jax.lax.scan`; the device decides in each step whether an
atom has moved half the skin, and only then searches anew. Potential and force are 0 at the cutoff, so that no
atom that crosses it changes the energy by a jump. Run

    python examples/argon_nve.py [picture.png]

The largest number of edges comes back with the list: above its room the run would be wrong, and it says so.
"""

import sys
import time
from functools import partial

import jax
import numpy as np

import jaxapi as xp

DENSITY, TEMPERATURE, STEP = 0.8442, 1.44, 0.004
CUTOFF, SKIN = 2.5, 0.3


def crystal(cells):
    """Return a face-centred cubic crystal (4 * cells**3, 3), velocities and a triclinic cell (3, 3)."""
    spacing = (4 / DENSITY) ** (1 / 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    positions = (corners + basis).reshape(-1, 3) * spacing
    # Whole numbers of cubes, sheared against each other: the crystal has no fault where it is repeated.
    cell = spacing * np.array([[cells, 0, 0], [cells // 3, cells, 0], [1, -2, cells]])
    velocities = np.random.default_rng(0).normal(0, np.sqrt(TEMPERATURE), positions.shape)
    return positions, velocities - velocities.mean(axis=0), cell


def potential(distance):
    """Return the energy of a pair, which goes to 0 with its slope at the cutoff."""
    return _lennard_jones(distance) - _lennard_jones(CUTOFF) - (distance - CUTOFF) * _slope(CUTOFF)


def _lennard_jones(distance):
    return 4 * (distance**-12.0 - distance**-6.0)


def _slope(distance):
    return -24 * (2 * distance**-13.0 - distance**-7.0)


def forces_of(neighbors):
    """Return the forces (n, 3) and the potential energy."""
    graph = neighbors.edges(fill_value=CUTOFF)  # where there is no edge energy and force are 0
    pull = (_slope(graph.distances) - _slope(CUTOFF)) / graph.distances
    pulls = xp.where(graph.mask[:, None], pull[:, None] * neighbors.vectors(graph), 0.0)
    forces = jax.ops.segment_sum(pulls, graph.receivers, neighbors.positions.shape[0])
    return forces, xp.sum(
        xp.where(graph.mask, potential(graph.distances), 0.0)
    ) / 2  # each pair has two edges


@partial(jax.jit, static_argnames="steps")
def simulate(neighbors, velocities, steps):
    """Run some steps; return the list and the velocities of the last one, and the energies of all."""

    def step(state, _):
        neighbors, velocities, forces = state
        velocities = velocities + STEP / 2 * forces
        neighbors = neighbors.update(neighbors.positions + STEP * velocities)
        forces, energy = forces_of(neighbors)
        velocities = velocities + STEP / 2 * forces
        return (neighbors, velocities, forces), (energy, xp.sum(velocities**2) / 2)

    forces, _ = forces_of(neighbors)
    (neighbors, velocities, _), energies = jax.lax.scan(step, (neighbors, velocities, forces), length=steps)
    return neighbors, velocities, *energies


def main(picture=None, cells=10, steps=500):
    positions, velocities, cell = crystal(cells)
    positions, velocities = (xp.asarray(x, dtype="float32") for x in (positions, velocities))
    neighbors = xp.spatial.NeighborList(positions, CUTOFF, SKIN, cell=cell)
    start = time.perf_counter()
    neighbors, velocities, *energies = simulate(neighbors, velocities, steps)
    if neighbors.did_buffer_overflow:
        raise SystemExit(f"{neighbors.needed} edges in room for {neighbors.max_edges}: pass max_edges")
    n = len(positions)
    potential, kinetic = (np.asarray(energy, float) / n for energy in energies)
    total = potential + kinetic
    seconds = time.perf_counter() - start
    print(f"{n} atoms, {steps} steps in {seconds:.1f} s, the list was built {int(neighbors.rebuilds)} times")
    print(f"{int(neighbors.needed)} of {neighbors.max_edges} places in use")
    print(f"energy an atom {total[0]:.5f} -> {total[-1]:.5f}; temperature {kinetic[-1] / 1.5:.2f}")
    if picture:
        draw(potential, kinetic, picture)
    return total, kinetic, neighbors


def draw(potential, kinetic, picture):
    """Draw the energies over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.8), layout="constrained")
    axis = figure.subplots()
    times = STEP * np.arange(len(potential))
    for values, label in ((potential, "potential"), (kinetic, "kinetic"), (potential + kinetic, "total")):
        axis.plot(times, values, label=label)
    axis.set(xlabel="time", ylabel="energy an atom (epsilon)", title="a crystal melts at constant energy")
    axis.legend()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
