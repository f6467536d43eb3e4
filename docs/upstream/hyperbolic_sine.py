"""sinh(x) is off by tens of ulp: it is exp(x + log(1 / 2)), whose argument is rounded."""

import jax.numpy as jnp
import numpy as np

x = np.linspace(20, 88, 1000, dtype=np.float32)
exact = np.sinh(x.astype(np.float64))


def ulps(made):
    return np.max(np.abs(np.asarray(made, np.float64) - exact) / np.spacing(exact.astype(np.float32)))


print("made:", f"{ulps(jnp.sinh(x)):.1f} ulp")
print("expected:", f"{ulps(np.sinh(x)):.1f} ulp, NumPy's")
