"""Fit a pair potential to forces: the derivative of forces, which are derivatives themselves.

Forces of solid argon, as a reference method would give them, are fitted by a Lennard-Jones potential whose
epsilon and sigma are unknown (C. Kittel, Introduction to Solid State Physics, chapter 3: 0.0104 eV and 3.40
angstroms). Run

    python examples/force_matching.py [picture.png]

Energies are sums over a radius graph in a periodic box, of as many edges as there is room for. `jax.grad`
gives the forces, and `jax.jacfwd` of them, in the two parameters, the steps of Gauss and Newton.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

from jaxapi.spatial import KDTree

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error

LATTICE, CELLS, CUTOFF = 5.26, 4, 8.0  # angstroms, cells of four atoms along each edge, angstroms
TRUE = np.float32([0.0104, 3.40])  # eV, angstroms
EDGES = 30_000  # that there is room for


def potential(d, parameters):
    """Lennard-Jones, in eV."""
    epsilon, sigma = parameters
    sixth = (sigma / d) ** 6
    return 4 * epsilon * (sixth**2 - sixth)


def energy(positions, parameters):
    """Return the energy, and whether there was no room for all edges."""
    tree = KDTree(positions, boxsize=CELLS * LATTICE)
    graph = tree.radius_graph(CUTOFF, max_edges=EDGES, fill_value=CUTOFF)
    pairs = jnp.where(graph.mask, potential(graph.distances, parameters), 0.0)
    return jnp.sum(pairs) / 2, graph.did_buffer_overflow  # each pair has two edges


@jax.jit
def forces(positions, parameters):
    """Return the forces in eV/angstrom, and whether there was no room."""
    slope, overflow = jax.grad(energy, has_aux=True)(positions, parameters)
    return -slope, overflow


@jax.jit
def step(parameters, positions, wanted):
    """Return the parameters after one step of Gauss and Newton."""
    found, _ = forces(positions, parameters)
    jacobian, _ = jax.jacfwd(forces, argnums=1)(positions, parameters)
    change, *_ = jnp.linalg.lstsq(jacobian.reshape(-1, 2), (wanted - found).ravel())
    return parameters + change


def main(picture=None):
    rng = np.random.default_rng(0)
    corners = np.stack(np.meshgrid(*[np.arange(CELLS)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    positions = ((corners + basis + 0.25) * LATTICE).reshape(-1, 3)
    positions = (positions + 0.15 * rng.standard_normal(positions.shape)).astype(np.float32)
    wanted, overflow = forces(positions, TRUE)
    if overflow:
        raise SystemExit(f"more than {EDGES} edges: raise EDGES")
    wanted += 0.02 * jnp.std(wanted) * rng.standard_normal(wanted.shape)  # a reference method's noise
    steps = [np.float32([0.02, 3.1])]
    for _ in range(6):
        steps.append(step(steps[-1], positions, wanted))
    for number, (epsilon, sigma) in enumerate(steps):
        print(f"step {number}: epsilon {epsilon:.4f} eV, sigma {sigma:.3f} angstroms")
    if picture:
        draw(steps, picture)
    return np.asarray(steps[-1])


def draw(steps, picture):
    """Draw the potentials of all steps, and the one behind the forces."""
    figure = Figure(figsize=(5.5, 3.8), layout="constrained")
    axis = figure.subplots()
    d = np.linspace(3, CUTOFF, 300)
    for number, parameters in enumerate(steps):
        axis.plot(d, 1e3 * potential(d, parameters), color="#1f6fb4", alpha=0.2 + 0.8 * number / len(steps))
    axis.plot(d, 1e3 * potential(d, TRUE), "--", color="#e07b00", label="behind the forces")
    axis.set(ylim=(-22, 22), xlabel="angstroms", ylabel="meV", title="fitted to forces, step by step")
    axis.legend()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
