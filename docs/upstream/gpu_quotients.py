"""Quotients, roots and reciprocals of float32 are approximate on an NVIDIA GPU."""

import jax
import jax.numpy as jnp
import numpy as np

bits = np.random.default_rng(0).integers(0, 2**32, (2, 2**26), np.uint32)
x, y = bits.view(np.float32)
functions = {
    "x / y": (lambda x, y: x / y, np.divide(x, y)),
    "1 / x": (lambda x, y: 1 / x, 1 / x),
    "sqrt(x)": (lambda x, y: jnp.sqrt(x), np.sqrt(x)),
}
for name, (function, expected) in functions.items():
    made = np.asarray(jax.jit(function)(x, y))
    is_same = (made == expected) | (np.isnan(made) & np.isnan(expected))
    print(name, "made:", np.sum(~is_same), "wrong; expected:", 0)
