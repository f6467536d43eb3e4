"""QR of stacks of small matrices on an NVIDIA GPU squares what is left of a column, which vanishes."""

import jax.numpy as jnp
import numpy as np

x = np.random.default_rng(0).standard_normal((1024, 4, 3))
x[:, 1:, 0] = 0
x[:, 1:, 1:] *= 1e-20
q, _ = (np.asarray(part, np.float64) for part in jnp.linalg.qr(x.astype(np.float32)))
print("made:", np.max(np.abs(np.swapaxes(q, -1, -2) @ q - np.eye(3))))
print("expected:", "below 1e-6")
