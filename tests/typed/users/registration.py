"""Iterative closest point, compiled."""

import jax
import jax.numpy as jnp

from jaxapi.spatial import KDTree


@jax.jit
def step(source: jax.Array, target: jax.Array) -> jax.Array:
    _, rows = KDTree(target).query(source)
    matched = target[rows]
    centered = source - source.mean(axis=0)
    u, _, vt = jnp.linalg.svd(centered.T @ (matched - matched.mean(axis=0)))
    return centered @ (u @ vt) + matched.mean(axis=0)


cloud = jax.random.normal(jax.random.key(0), (40, 3))
aligned = step(cloud + 0.1, cloud)
