"""Squeeze a crystal: energy, pressure and stress of argon in a sheared periodic cell.

Lennard-Jones atoms in reduced units (lengths in sigma, energies in epsilon). The primitive cell of the
face-centred cubic crystal has one atom, whose neighbours are all its own images, and vectors at 60 degrees.
A strain e moves points and cell; the slope of the energy in it, divided by the volume, is the stress (the
virial theorem), and its trace the pressure. The second derivatives are the elastic constants. Run

    python examples/argon_stress.py [picture.png]

All derivatives are those of one function by `jax.grad`. The stress is compared with central differences.
"""

import sys
from functools import partial

import jax
import numpy as np

import jaxapi as xp

CUTOFF, ROOM = 4.0, 512
SHIFT = 4 * (CUTOFF**-12 - CUTOFF**-6)  # makes the energy 0 at the cutoff


def primitive_cell(spacing):
    """Return the vectors (3, 3) of the cell with one atom; `spacing` is the edge of the cube of four."""
    return spacing / 2 * np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])


def energy(points, cell):
    """Return the energy of the atoms of one cell."""
    tree = xp.spatial.KDTree(points, cell=cell)
    graph = tree.radius_graph(CUTOFF, max_edges=ROOM, fill_value=CUTOFF)
    sixth = graph.distances**-6.0
    pairs = xp.where(graph.mask, 4 * (sixth * sixth - sixth) - SHIFT, 0.0)
    return xp.sum(pairs) / 2  # each pair has two edges


def strained_energy(strain, points, cell):
    """Return the energy after a strain of points and cell."""
    deformation = xp.eye(3, dtype=cell.dtype) + strain
    return energy(points @ deformation, cell @ deformation)


@jax.jit
def stress(points, cell):
    """Return the stress (3, 3), positive under tension."""
    volume = xp.abs(xp.linalg.det(cell))
    return jax.grad(strained_energy)(xp.zeros((3, 3), dtype=cell.dtype), points, cell) / volume


@jax.jit
def stress_by_differences(points, cell, step=1e-4):
    """Return the stress by central differences of the energy."""
    changes = step * xp.reshape(xp.eye(9, dtype=cell.dtype), (9, 3, 3))
    difference = jax.vmap(partial(strained_energy, points=points, cell=cell))
    slopes = (difference(changes) - difference(-changes)) / (2 * step)
    return xp.reshape(slopes, (3, 3)) / xp.abs(xp.linalg.det(cell))


@jax.jit
def elastic_constants(points, cell):
    """Return the second derivatives (3, 3, 3, 3) of the energy by the strain, divided by the volume."""
    slopes = jax.jacfwd(jax.grad(strained_energy))(xp.zeros((3, 3), dtype=cell.dtype), points, cell)
    return slopes / xp.abs(xp.linalg.det(cell))


def main(picture=None):
    with jax.enable_x64(True):
        point = xp.zeros((1, 3), dtype="float64")
        pressures = []
        for spacing in (1.50, 1.54, 1.58):
            cell = xp.asarray(primitive_cell(spacing))
            tension = stress(point, cell)
            pressures.append(-float(xp.linalg.trace(tension)) / 3)
            print(
                f"edge {spacing:.2f}: energy an atom {energy(point, cell):.4f}, pressure {pressures[-1]:.4f}"
            )
        shear = np.eye(3)
        shear[0, 1] = 0.05
        sheared = xp.asarray(primitive_cell(1.54) @ shear)
        tension, expected = stress(point, sheared), stress_by_differences(point, sheared)
        print(f"sheared: stress xy {tension[0, 1]:.5f}, by central differences {expected[0, 1]:.5f}")
        constants = elastic_constants(point, xp.asarray(primitive_cell(1.54)))
        print(f"elastic constants xxxx {constants[0, 0, 0, 0]:.1f}, xxyy {constants[0, 0, 1, 1]:.1f}")
        if picture:
            draw(point, picture)
        return pressures, np.asarray(tension), np.asarray(expected)


def draw(point, picture):
    """Draw the energy and the pressure over the edge of the cube of four."""
    from matplotlib.figure import Figure

    edges = np.linspace(1.44, 1.72, 20)
    cells = [xp.asarray(primitive_cell(edge)) for edge in edges]
    jitted_energy = jax.jit(energy)
    curves = {
        "energy an atom": [float(jitted_energy(point, cell)) for cell in cells],
        "pressure": [-float(xp.linalg.trace(stress(point, cell))) / 3 for cell in cells],
    }
    figure = Figure(figsize=(5.5, 3.8), layout="constrained")
    axis = figure.subplots()
    for (name, values), colour in zip(curves.items(), ("#1f6fb4", "#e07b00"), strict=True):
        axis.plot(edges, values, color=colour, label=name)
    axis.axhline(0, color="#9aa0a6", linewidth=0.8)
    axis.set(
        xlabel="edge of the cube (sigma)", ylabel="reduced units", title="argon, squeezed", ylim=(-12, 22)
    )
    axis.legend()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
