"""Melt a crystal: molecular dynamics in a periodic box, neighbour lists inside of `lax.scan`.

Lennard-Jones atoms in reduced units (lengths in sigma, energies in epsilon, L. Verlet, Computer
experiments on classical fluids, 1967). A list of neighbours of fixed size, searched within the cutoff and
a skin, serves ten steps of the velocity Verlet method; then the next one is searched, all in one compiled
program. Run

    python examples/argon_dynamics.py [picture.png]

The true number of neighbours comes back with each list: above the size, the run would be wrong, and it
says so.
"""

import sys
from functools import partial

import jax
import numpy as np

import jaxapi as xp

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error

DENSITY, TEMPERATURE, STEP = 0.75, 1.4, 0.004
CUTOFF, SKIN, PLACES = 2.2, 0.3, 96
SHIFT = 4 * (CUTOFF**-12 - CUTOFF**-6)  # makes the energy 0 at the cutoff


def crystal(cells):
    """Return a face-centred cubic crystal (4 * cells**3, 3), random velocities, and the edge of the box."""
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    atoms = 4 * cells**3
    edge = float((atoms / DENSITY) ** (1 / 3))
    positions = (corners + basis + 0.25).reshape(-1, 3) * edge / cells
    velocities = np.random.default_rng(0).normal(0, np.sqrt(2 * TEMPERATURE), (atoms, 3))
    return positions, velocities - velocities.mean(axis=0), edge


def forces_of(positions, rows, edge):
    """Return forces (n, 3) and the potential energy, from lists of neighbours (n, places)."""
    n = positions.shape[0]
    apart = positions[:, None] - positions[rows]  # row n would be the last atom: masked below
    apart = apart - edge * xp.round(apart / edge)  # the nearest image
    squared = xp.sum(apart * apart, axis=-1)
    near = (rows < n) & (rows != xp.arange(n)[:, None]) & (squared < CUTOFF**2)
    sixth = xp.where(near, 1 / xp.where(near, squared, 1.0) ** 3, 0.0)
    energy = xp.where(near, 4 * (sixth * sixth - sixth) - SHIFT, 0.0)
    push = xp.where(near, 24 * (2 * sixth * sixth - sixth) / xp.where(near, squared, 1.0), 0.0)
    return xp.sum(push[..., None] * apart, axis=1), xp.sum(energy) / 2


@partial(jax.jit, static_argnames=("edge", "lists", "steps"))
def simulate(positions, velocities, *, edge, lists, steps=10):
    """Run `lists` lists of `steps` steps each; return the last state, energies and the longest list."""

    def step(state, _, rows):
        positions, velocities, forces = state
        velocities = velocities + STEP / 2 * forces
        positions = positions + STEP * velocities
        forces, potential = forces_of(positions, rows, edge)
        velocities = velocities + STEP / 2 * forces
        return (positions, velocities, forces), (potential, xp.sum(velocities**2) / 2)

    def one_list(state, _):
        positions, velocities = state
        inside = positions - edge * xp.floor(positions / edge)
        inside = xp.where(inside < edge, inside, 0.0)  # rounding may give the edge itself
        tree = xp.spatial.KDTree(inside, boxsize=edge)
        near = tree.query_radius(inside, CUTOFF + SKIN, max_neighbors=PLACES)
        forces, _ = forces_of(inside, near.indices, edge)
        run = partial(step, rows=near.indices)
        (positions, velocities, _), energies = jax.lax.scan(run, (inside, velocities, forces), None, steps)
        return (positions, velocities), (*energies, xp.max(near.counts))

    state, (potential, kinetic, most) = jax.lax.scan(one_list, (positions, velocities), None, lists)
    return state, xp.reshape(potential, (-1,)), xp.reshape(kinetic, (-1,)), xp.max(most)


def main(picture=None, cells=5, lists=50):
    positions, velocities, edge = crystal(cells)
    start = [xp.asarray(x, dtype="float32") for x in (positions, velocities)]
    (last, _), potential, kinetic, most = simulate(*start, edge=edge, lists=lists)
    if most > PLACES:
        raise SystemExit(f"{most} neighbours in places for {PLACES}: raise PLACES")
    n, total = len(positions), np.asarray(potential + kinetic)
    print(f"{n} atoms, {len(total)} steps, {lists} lists, at most {most} of {PLACES} places in use")
    print(
        f"energy an atom {total[0] / n:.4f} -> {total[-1] / n:.4f}; temperature {kinetic[-1] / n / 1.5:.2f}"
    )
    if picture:
        draw(positions, np.asarray(last), edge, potential / n, kinetic / n, picture)
    return total / n, start, edge


def pair_distances(positions, edge):
    """Return how many pairs lie at which distance, compared with a gas of the same density."""
    radii = np.linspace(0.5, edge / 2, 120)
    tree = xp.spatial.KDTree(positions % edge, boxsize=edge)
    counts = np.diff(np.asarray(tree.count_neighbors(tree, radii)))
    gas = len(positions) * DENSITY * 4 / 3 * np.pi * np.diff(radii**3)
    return (radii[1:] + radii[:-1]) / 2, counts / gas


def draw(first, last, edge, potential, kinetic, picture):
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    time = STEP * np.arange(len(potential))
    for values, label in ((potential, "potential"), (kinetic, "kinetic"), (potential + kinetic, "total")):
        left.plot(time, np.asarray(values), label=label)
    left.set(xlabel="time", ylabel="energy an atom (epsilon)")
    left.legend()
    right.plot(*pair_distances(first + 1e-3, edge), color="#c8ccd0", label="crystal at the start")
    right.plot(*pair_distances(last, edge), color="#e07b00", label="liquid at the end")
    right.set(xlabel="distance (sigma)", ylabel="pairs, relative to a gas", ylim=(0, 6))
    right.legend()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
