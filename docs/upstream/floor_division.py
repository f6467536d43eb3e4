"""Operators // and % of arrays lack special cases of the array API standard."""

import jax.numpy as jnp

inf = jnp.inf
made = [x // y for x, y in ((jnp.float32(1), -inf), (jnp.float32(inf), 2.0), (jnp.float32(-0.0), 2.0))]
print("made:", [float(x) for x in [*made, jnp.float32(0.0) % -2.0]])
print("expected:", [-0.0, inf, -0.0, -0.0])
