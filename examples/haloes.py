"""Haloes of a simulation's snapshot, and their mass function, by friends of friends.

A box with periodic sides holds haloes whose masses follow a power law, each with an isothermal profile
(density as 1 / r**2), and as many particles between them. Particles within a fifth of the mean separation of
each other are friends; a halo is what friends of friends reach (M. Davis et al., The evolution of large-scale
structure, 1985). Run

    python examples/haloes.py [picture.png]
"""

import sys

import numpy as np

from jaxapi.spatial import KDTree

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: pip install '.[demo]' brings what the examples need"
    ) from error

BOX = 100.0  # Mpc
LEAST = 32  # particles of a halo that counts


def snapshot(particles):
    """Return positions (n, 3) in the box, and the numbers of particles that were put into haloes."""
    rng = np.random.default_rng(0)
    masses = []
    while sum(masses) < particles // 2:
        masses.append(int(20 * rng.random() ** (-1 / 1.1)))  # dN/dM as M**-2.1
        if masses[-1] > particles // 10:
            masses.pop()
    centres = np.repeat(rng.random((len(masses), 3)) * BOX, masses, axis=0)
    separation = BOX / particles ** (1 / 3)
    radius = 0.1 * separation * np.repeat(masses, masses) ** (1 / 3)
    towards = rng.normal(size=centres.shape)
    towards /= np.linalg.norm(towards, axis=1)[:, None]
    halo = centres + towards * (radius * rng.random(len(radius)))[:, None]
    field = rng.random((particles - len(halo), 3)) * BOX
    positions = np.concatenate([halo, field])
    return (positions[rng.permutation(particles)] % BOX).astype(np.float32), np.array(masses)


def main(picture=None, particles=200_000):
    positions, masses = snapshot(particles)
    tree = KDTree(positions, boxsize=BOX)
    linking = 0.2 * BOX / particles ** (1 / 3)
    count, labels = tree.connected_components(linking)
    found = np.bincount(np.asarray(labels))
    print(f"{particles} particles, linking length {linking:.3f} Mpc: {int(count)} groups")
    large, put_in = (found >= LEAST).sum(), (masses >= LEAST).sum()
    print(f"{large} haloes of {LEAST} particles and more, {put_in} were put in")
    print(f"the largest: {np.sort(found)[::-1][:4].tolist()}, put in {np.sort(masses)[::-1][:4].tolist()}")
    if picture:
        draw(positions, np.asarray(labels), found, masses, picture)
    return masses, found


def draw(positions, labels, found, masses, picture):
    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    slab = positions[:, 2] < BOX / 8
    x, y, _ = positions[slab].T
    inside = found[labels[slab]] >= LEAST
    left.plot(x[~inside], y[~inside], ",", color="#c8ccd0")
    colour = np.random.default_rng(1).permutation(len(found))[labels[slab]]
    left.scatter(x[inside], y[inside], c=colour[inside], s=1, cmap="turbo")
    left.set(xlim=(0, BOX), ylim=(0, BOX), aspect="equal", xlabel="x (Mpc)", ylabel="y (Mpc)")
    left.set_title("Haloes in a slab of an eighth of the box")
    for sizes, style, name in ((masses, "k--", "put in"), (found, "-", "found")):
        sizes = np.sort(sizes[sizes >= LEAST])[::-1]
        right.step(sizes, np.arange(1, len(sizes) + 1), style, where="post", label=name)
    right.set(xscale="log", yscale="log", xlabel="particles", ylabel="haloes of as many and more")
    right.set_title("Cumulative mass function")
    right.legend()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
