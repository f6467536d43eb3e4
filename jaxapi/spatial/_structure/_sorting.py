"""Sorting by radix, which XLA does of single keys on GPUs."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for

__all__ = ["lexsorted", "sorted_by"]

RADIX_FROM = 1 << 15  # keys: for fewer XLA compiles kernels of its own, longer than all else around them


def sorted_by(key, values):
    """Return values in the stable order of a key, of whole numbers."""
    count, room = len(key), (0, max(RADIX_FROM - len(key), 0))
    with x64_for(key.dtype):  # without x64 the greatest number of 64 bits would be -1
        key = jnp.pad(key, room, constant_values=key.dtype.type(np.iinfo(key.dtype).max))
    return lax.sort((key, jnp.pad(values, room)), num_keys=1)[1][:count]  # stable: pads stay last


def lexsorted(*keys):
    """Return the stable order by the last key, of equals by that before: integers, or floats from 0 on."""
    order = jnp.arange(len(keys[0]), dtype=jnp.int32)
    for key in keys:
        key = key.astype(np.int32) if key.dtype == bool else key
        if jnp.issubdtype(key.dtype, jnp.floating):  # whose bits are ordered like the numbers
            key = lax.bitcast_convert_type(key, f"int{8 * key.dtype.itemsize}")
        order = sorted_by(key[order], order)
    return order
