"""The energy of a fluid in a periodic cell, and forces by its derivative."""

import jax
import jax.numpy as jnp

from jaxapi.spatial import KDTree


def energy(positions: jax.Array, cell: jax.Array) -> jax.Array:
    pairs = KDTree(positions, cell=cell).query_pairs(2.5, max_pairs=400, fill_value=1.0)
    shifted = positions[pairs.pairs[:, 1]] + pairs.shifts @ cell
    lengths = jnp.linalg.norm(shifted - positions[pairs.pairs[:, 0]], axis=1)
    inverse = jnp.where(pairs.mask, lengths, 1.0) ** -6
    return jnp.sum(jnp.where(pairs.mask, 4.0 * (inverse**2 - inverse), 0.0))


points = jax.random.uniform(jax.random.key(0), (30, 3)) * 5.0
forces = -jax.grad(energy)(points, 5.0 * jnp.eye(3))
