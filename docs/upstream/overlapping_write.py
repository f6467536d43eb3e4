"""A part of an array that is written to another part of it is read after it was written to."""

import jax
import jax.numpy as jnp
import numpy as np


def moved_down(x):
    x = x * 2
    return x.at[1:].set(x[:-1])[None]


x = jnp.arange(1.0, 7.0).reshape(3, 2)
with jax.disable_jit():
    expected = moved_down(x)
print("made:", np.asarray(jax.jit(moved_down)(x)).tolist())
print("expected:", np.asarray(expected).tolist())
