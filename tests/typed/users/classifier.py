"""A classifier by nearest neighbors."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from jaxapi.spatial import KDTree


class NearestNeighbors:
    def __init__(self, k: int = 5) -> None:
        self.k = k
        self.tree: KDTree | None = None

    def fit(self, x: NDArray[np.float64], y: NDArray[np.int64]) -> "NearestNeighbors":
        self.tree = KDTree(x)
        self.labels = jnp.asarray(y)
        return self

    def predict(self, x: NDArray[np.float64]) -> jax.Array:
        assert self.tree is not None
        _, rows = self.tree.query(x, k=self.k)
        votes = jax.nn.one_hot(self.labels[rows], 2).sum(axis=1)
        return jnp.argmax(votes, axis=1)


rng = np.random.default_rng(0)
x = rng.normal(size=(60, 2))
accuracy = (NearestNeighbors().fit(x, (x[:, 0] > 0).astype(np.int64)).predict(x) == (x[:, 0] > 0)).mean()
print(float(accuracy))
