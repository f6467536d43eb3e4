"""A potential fitted to the energies of molecules of differing sizes: every batch runs in one program.

Clusters of 2 to 13 argon atoms, whose energies come from the Lennard-Jones potential with epsilon = 0.0104 eV
and sigma = 3.40 angstroms (C. Kittel, Introduction to Solid State Physics, chapter 3). Run

    python examples/molecules.py [picture.png]

A batch is one array of atoms and their molecules' numbers. The tree keeps the molecules apart, `n` tells how
many atoms there are, and the sums over the edges are the energies: no molecule is padded, and a batch of
other sizes compiles nothing.
"""

import sys
from functools import partial

import jax
import numpy as np

import jaxapi as xp

EPSILON, SIGMA = 0.0104, 3.40  # eV, angstroms
CUTOFF = 12.0  # angstroms
MOLECULES = 32  # in a batch
ATOMS, EDGES = 13 * MOLECULES, 13 * 12 * MOLECULES  # that there is room for


def molecule(rng):
    """Return the positions (2 to 13, 3) of a molecule's atoms in angstroms, no two of them too near."""
    size = rng.integers(2, 14)
    grid = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    sites = rng.permutation(grid)[:size]
    return 3.9 * sites + rng.uniform(-0.2, 0.2, (size, 3))


def pair_energy(distance, epsilon, sigma):
    """Lennard-Jones."""
    sixth = (sigma / distance) ** 6
    return 4 * epsilon * (sixth**2 - sixth)


def true_energy(atoms):
    """Return the energy of a molecule by all of its pairs."""
    low, high = np.triu_indices(len(atoms), 1)
    distances = np.linalg.norm(atoms[low] - atoms[high], axis=1)
    return pair_energy(distances[distances <= CUTOFF], EPSILON, SIGMA).sum()


def batch(rng):
    """Return atoms (ATOMS, 3), their molecules, how many atoms there are, and the molecules' energies."""
    molecules = [molecule(rng) for _ in range(MOLECULES)]
    sizes = [len(atoms) for atoms in molecules]
    n = sum(sizes)
    positions = np.zeros((ATOMS, 3), np.float32)
    positions[:n] = np.concatenate(molecules)
    numbers = np.zeros(ATOMS, np.int32)
    numbers[:n] = np.repeat(np.arange(MOLECULES), sizes)
    energies = np.array([true_energy(atoms) for atoms in molecules], np.float32)
    return positions, numbers, np.int32(n), energies


def predicted(parameters, positions, numbers, n):
    """Return the energies (MOLECULES,) by the logarithms of epsilon and sigma."""
    tree = xp.spatial.KDTree(positions, n=n, batch=numbers)
    graph = tree.radius_graph(CUTOFF, max_edges=EDGES, fill_value=CUTOFF)
    epsilon, sigma = xp.exp(parameters)
    pairs = xp.where(graph.mask, pair_energy(graph.distances, epsilon, sigma), 0) / 2
    return jax.ops.segment_sum(pairs, numbers[graph.receivers], MOLECULES)


@jax.jit
def step(parameters, positions, numbers, n, energies):
    """Return better parameters, by a step of Gauss and Newton, and the root mean square error before it."""
    model = partial(predicted, positions=positions, numbers=numbers, n=n)
    errors = model(parameters) - energies
    slopes = jax.jacfwd(model)(parameters)
    change = xp.linalg.pinv(slopes) @ errors
    return parameters - xp.clip(change, -0.1, 0.1), xp.sqrt(xp.mean(errors**2))


def main(picture=None, steps=12):
    """Return epsilon and sigma after training."""
    rng = np.random.default_rng(0)
    parameters = np.log(np.array([0.02, 3.2], np.float32))
    tried = [parameters]
    for number in range(steps):
        positions, numbers, n, energies = batch(rng)
        parameters, error = step(parameters, positions, numbers, n, energies)
        tried.append(parameters)
        if number % 3 == 0:
            print(f"step {number:2d}: {n} atoms, error {1000 * float(error):8.3f} meV")
    epsilon, sigma = np.exp(parameters)
    print(f"epsilon {epsilon:.5f} eV, sigma {sigma:.4f} angstroms; put in were {EPSILON} and {SIGMA:.2f}")
    if picture:
        draw(tried, picture)
    return float(epsilon), float(sigma)


def draw(tried, picture):
    """Draw the potentials of all steps, and the one behind the energies."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.8), layout="constrained")
    axis = figure.subplots()
    distances = np.linspace(3, 8, 300)
    for number, parameters in enumerate(tried):
        shade = 0.2 + 0.8 * number / len(tried)
        energies = 1e3 * pair_energy(distances, *np.exp(parameters))
        axis.plot(distances, energies, color="#1f6fb4", alpha=shade)
    behind = 1e3 * pair_energy(distances, EPSILON, SIGMA)
    axis.plot(distances, behind, "--", color="#e07b00", label="behind the energies")
    axis.set(ylim=(-24, 24), xlabel="angstroms", ylabel="meV", title="fitted to energies, step by step")
    axis.legend()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
