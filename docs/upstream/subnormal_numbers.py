"""Subnormal numbers are 0 on a CPU."""

import jax.numpy as jnp
import numpy as np

x = np.float32(1e-45)
print("made:", jnp.sign(x))
print("expected:", np.sign(x))
