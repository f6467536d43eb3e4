"""The largest of some thousand numbers is not NaN where one of them is."""

import jax.numpy as jnp
import numpy as np

x = np.ones(4096, np.float32)
x[2048] = np.nan
print("made:", jnp.max(x))
print("expected:", np.max(x))
