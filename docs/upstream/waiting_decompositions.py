"""Decompositions of stacks, side by side in one program, wait for each other on two threads."""

import os
import threading

os.environ["PJRT_NPROC"] = "2"  # as on a machine of two cores

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
x = jnp.asarray(rng.random((2000, 5, 5)) + np.eye(5), np.float32)
solutions = jax.jit(lambda x: [jnp.linalg.solve(x + shift, x) for shift in range(8)])


def run():
    for _ in range(20):
        jax.block_until_ready(solutions(x))


thread = threading.Thread(target=run, daemon=True)
thread.start()
thread.join(60)
print("made:", "no result in 60 s" if thread.is_alive() else "results", flush=True)
print("expected:", "results", flush=True)
os._exit(0)  # the thread would be waited for
