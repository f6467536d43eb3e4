"""`jax.numpy.linalg.svd` of float32 is off by thousands of eps on an NVIDIA GPU."""

import jax.numpy as jnp
import numpy as np

x = np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32)
u, s, vh = (np.asarray(part, np.float64) for part in jnp.linalg.svd(x))
error = np.linalg.norm(u * s @ vh - x) / np.linalg.norm(x)
turn = np.linalg.norm(u.T @ u - np.eye(1024)) / np.linalg.norm(np.eye(1024))
eps = np.finfo(np.float32).eps
print("made:", f"{error / eps:.0f} eps from the matrix, {turn / eps:.0f} eps from orthogonal")
print("expected:", "about 20 eps each, as by lax.linalg.SvdAlgorithm.POLAR")
