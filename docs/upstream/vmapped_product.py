"""A vmapped product of a matrix and a vector, squared and summed up, is wrong in one row."""

import jax
import jax.numpy as jnp
import numpy as np

rows = np.zeros((16385, 3))
rows[:, 0] = np.arange(16385)
matrix = np.eye(3)

with jax.enable_x64(True):
    lengths = jax.jit(jax.vmap(lambda row: jnp.sum(jnp.matmul(matrix, row) ** 2)))(rows)
print("made:", lengths[-1])
print("expected:", np.square(rows[-1, 0]))
