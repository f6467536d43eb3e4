"""A sum with 0 is the other summand, though -0 + 0 is 0."""

import jax

print("made:", jax.jit(lambda x: x + 0.0)(-0.0))
print("expected:", -0.0 + 0.0)
