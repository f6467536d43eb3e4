"""A quotient by a number is a product with the number's reciprocal, which is rounded twice."""

import jax
import numpy as np

x = np.arange(1, 1001, dtype=np.float32)
made = jax.jit(lambda x: x / 41)(x)
print("made:", made[40])
print("expected:", x[40] / np.float32(41))
print("wrong:", np.sum(made != x / np.float32(41)), "of", x.size)
