"""The same in the body of `jax.lax.map`, where no axis is added."""

import jax
import jax.numpy as jnp
import numpy as np


def shares_of_differences(x):
    differences = x.at[1:].add(-x[:-1])
    return differences / jnp.sum(differences)


x = jnp.arange(1.0, 5.0)[None]
print("made:", np.asarray(jax.lax.map(shares_of_differences, x)[0]).tolist())
print("expected:", np.asarray(shares_of_differences(x[0])).tolist())
