"""hypot of numbers that have an exact one is off."""

import jax.numpy as jnp
import numpy as np

print("made:", jnp.hypot(jnp.float32(5), jnp.float32(12)))
print("expected:", np.hypot(np.float32(5), np.float32(12)))
