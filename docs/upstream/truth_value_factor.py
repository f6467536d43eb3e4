"""A product with a truth value is a selection: NaN, infinities and the sign of zero are lost."""

import jax.numpy as jnp
import numpy as np

x = np.array([np.nan, np.inf, -1.0], np.float32)
no = np.zeros(3, bool)
with np.errstate(invalid="ignore"):
    expected = x * no
print("made:", jnp.asarray(x) * no)
print("expected:", expected)
