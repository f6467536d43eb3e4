"""uint32 and int32 are multiplied in 32 bits, and wrap, with 64-bit dtypes off."""

import jax
import jax.numpy as jnp
import numpy as np

x, y = np.uint32(2**31 - 1), np.int32(-3)
with jax.enable_x64(False):
    print("made:", jnp.asarray(x) * jnp.asarray(y))
print("expected:", x * y)
