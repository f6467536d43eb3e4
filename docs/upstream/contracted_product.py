"""A product to which something is added is not rounded in one program, and is in two."""

import jax
import numpy as np

x = np.float32(1.1)
square = jax.jit(lambda x: x * x)(x)
print("made:", jax.jit(lambda x, y: x * x - y)(x, square))
print("expected:", jax.jit(lambda x, y: x - y)(square, square))
