"""Sorting by radix, which XLA does of single keys on GPUs."""

import jax.numpy as jnp
import numpy as np
from jax import lax

__all__ = ["RADIX_FROM", "lexsorted"]

RADIX_FROM = 1 << 15  # keys: for fewer XLA compiles kernels of its own, longer than all else here


def lexsorted(*keys):
    """Return the stable order by the last key, of equals by that before: integers, or floats from 0 on."""
    count = len(keys[0])
    order = jnp.arange(max(count, RADIX_FROM), dtype=jnp.int32)
    for key in keys:
        key = key.astype(np.int32) if key.dtype == bool else key
        last = np.inf if jnp.issubdtype(key.dtype, jnp.floating) else np.iinfo(key.dtype).max
        key = jnp.pad(key, (0, len(order) - count), constant_values=last)
        bits = lax.bitcast_convert_type(key, f"int{8 * key.dtype.itemsize}")  # ordered like the numbers
        _, order = lax.sort((bits[order], order), num_keys=1)  # stable: pads stay last
    return order[:count]
