"""A tree is an argument and a result of compiled functions, and points are padded to one size."""

import jax

from jaxapi.spatial import KDTree, pad_rows


@jax.jit
def build(points: jax.Array, n: jax.Array) -> KDTree[None]:
    return KDTree(points, n=n)


@jax.jit
def mean_distance(tree: KDTree[None], queries: jax.Array) -> jax.Array:
    return tree.query(queries, k=2)[0].mean()


points = jax.random.normal(jax.random.key(0), (33, 3))
padded, count = pad_rows(points, 40)
print(mean_distance(build(padded, count), points))
