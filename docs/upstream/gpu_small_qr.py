"""QR of stacks of small matrices on an NVIDIA GPU squares what is left of a column, which vanishes."""

import jax.numpy as jnp
import numpy as np

x = np.tile(np.float32([[1, 1], [0, 1e-25], [0, 1e-25]]), (64, 1, 1))
q, _ = (np.asarray(part, np.float64) for part in jnp.linalg.qr(x))
print("made:", np.max(np.abs(np.swapaxes(q, -1, -2) @ q - np.eye(2))))
print("expected:", "below 1e-6")
