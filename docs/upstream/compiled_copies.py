"""`jax.numpy.asarray` of a NumPy array compiles a program for each shape."""

import jax
import jax.numpy as jnp
import numpy as np

compiled = []


def note(name, seconds, **options):
    if "backend_compile" in name:
        compiled.append(name)


jax.monitoring.register_event_duration_secs_listener(note)
for length in range(100, 110):
    jnp.asarray(np.ones(length, np.float32))
by_asarray = len(compiled)
for length in range(100, 110):
    jax.device_put(np.ones(length, np.float32))
print("made:", by_asarray, "programs")
print("expected:", len(compiled) - by_asarray, "programs, as by device_put")
