"""Quotients of quotients are rewritten: a / b / c is a / (b * c)."""

import jax
import numpy as np

a, b, c = np.random.default_rng(0).uniform(0.5, 1.5, (3, 1000)).astype(np.float32)
expected = a / b / c
made = np.asarray(jax.jit(lambda a, b, c: a / b / c)(a, b, c))
first = np.argmax(made != expected)
print("made:", made[first])
print("expected:", expected[first])
print("wrong:", np.sum(made != expected), "of", a.size)
