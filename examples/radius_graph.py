"""Energy and forces of an argon crystal: a radius graph in a periodic box, differentiated.

Solid argon is face-centred cubic with a lattice constant of 5.26 angstroms, and its atoms attract each other
by the Lennard-Jones potential with epsilon = 0.0104 eV and sigma = 3.40 angstroms (C. Kittel, Introduction to
Solid State Physics, chapters 1 and 3). Run

    python examples/radius_graph.py [picture.png]

The tree is built and searched inside of jit, `jax.grad` goes through the distances, and a sum over all pairs
checks the result. The crystal at rest has 12 nearest neighbours an atom and an energy of -8.3 epsilon an atom
within the cutoff of 3 sigma, of Kittel's -8.6 in all.
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

LATTICE = 5.26  # angstroms
EPSILON, SIGMA = 0.0104, 3.40  # eV, angstroms
CUTOFF = 3 * SIGMA
MOST = 192  # atoms within the cutoff that there is room for; at rest there are 135


def crystal(cells, shake=0.0):
    """Return the atoms' positions (4 * cells**3, 3) in angstroms, and the edge of the box."""
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    edge = cells * LATTICE
    positions = ((corners + basis + 0.25) * LATTICE).reshape(-1, 3)
    positions += shake * np.random.default_rng(0).standard_normal(positions.shape)
    return positions % edge, edge


def pair_energy(distance):
    """Lennard-Jones."""
    sixth = (SIGMA / distance) ** 6
    return 4 * EPSILON * (sixth**2 - sixth)


@partial(jax.jit, static_argnames="edge")
def energy(positions, edge):
    """Return the energy in eV and the largest number of neighbours, by a search of fixed size."""
    tree = xp.spatial.KDTree(positions, boxsize=edge)
    near = tree.query_radius(positions, CUTOFF, max_neighbors=MOST)
    pair = (near.distances > 0) & (near.distances < xp.inf)  # neither the atom itself nor an empty place
    distances = xp.where(pair, near.distances, CUTOFF)
    return xp.sum(xp.where(pair, pair_energy(distances), 0)) / 2, xp.max(near.counts)


def dense_energy_and_forces(positions, edge):
    """Do it with all pairs, in NumPy: the oracle."""
    apart = positions[:, None] - positions
    apart -= edge * np.round(apart / edge)
    distances = np.linalg.norm(apart, axis=-1)
    near = (distances > 0) & (distances <= CUTOFF)
    distances = np.where(near, distances, np.inf)
    sixth = (SIGMA / distances) ** 6
    pull = np.where(near, 24 * EPSILON * (2 * sixth**2 - sixth) / distances**2, 0)
    return 2 * EPSILON * np.sum(sixth**2 - sixth), np.sum(pull[..., None] * apart, axis=1)


def main(picture=None, cells=5):
    at_rest, edge = crystal(cells)
    graph = xp.spatial.KDTree(at_rest, boxsize=edge).radius_graph(1.1 * LATTICE / 2**0.5)
    contacts = np.bincount(graph.receivers)
    value, most = energy(xp.asarray(at_rest, dtype="float32"), edge)
    print(f"{len(at_rest)} atoms, {contacts.min()} to {contacts.max()} nearest neighbours")
    print(f"at rest {value / len(at_rest) / EPSILON:.2f} epsilon an atom, {most} atoms within the cutoff")

    positions, edge = crystal(cells, shake=0.2)
    wanted, wanted_forces = dense_energy_and_forces(positions, edge)
    slope = jax.value_and_grad(energy, has_aux=True)
    (value, most), gradient = slope(xp.asarray(positions, dtype="float32"), edge)
    if most > MOST:
        raise SystemExit(f"{most} atoms within the cutoff, room for {MOST}: raise MOST")
    error = np.abs(-np.asarray(gradient) - wanted_forces).max() / np.abs(wanted_forces).max()
    print(f"shaken {value:.4f} eV (all pairs: {wanted:.4f}), forces differ by {error:.1e} of the largest")
    if picture:
        draw(positions, -np.asarray(gradient), picture)
    return contacts, float(value), float(wanted), float(error)


def draw(positions, forces, picture):
    """Draw a slice of the crystal with the forces on its atoms."""
    figure = Figure(figsize=(5.5, 5), layout="constrained")
    axis = figure.subplots()
    near = positions[:, 2] < LATTICE
    x, y, z = positions[near].T
    axis.scatter(x, y, c=z, s=120, cmap="Blues", vmin=-4, edgecolors="white")
    axis.quiver(x, y, *forces[near, :2].T, color="#e07b00", width=0.006)
    axis.set(aspect="equal", xlabel="angstroms", title="forces on the shaken atoms")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
