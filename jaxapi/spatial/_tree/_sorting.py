"""Sorting by radix, which XLA does of single keys on GPUs."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for
from ..._core._typing import Array

__all__ = ["in_order_of_bits", "lexsorted", "sorted_by", "sorted_by_distance"]

RADIX_FROM = 1 << 15  # keys: for fewer XLA compiles kernels of its own, longer than all else around them


@jax.custom_batching.custom_vmap
def sorted_by(key, values):
    """Return values (count,) in the stable order of a key, of whole numbers."""
    count = len(key)
    padding = (0, max(RADIX_FROM - count, 0))
    with x64_for(key.dtype):  # without x64 the greatest number of 64 bits would be -1
        greatest = np.asarray(np.iinfo(key.dtype).max, key.dtype)
        key = jnp.pad(key, padding, constant_values=greatest)
    _, values = lax.sort((key, jnp.pad(values, padding)), num_keys=1)  # stable: what is added stays last
    return values[:count]


@sorted_by.def_vmap
def _sorted_at_once(size, is_batched, key, values):
    """Sort the items of a batch by one sort, of the item and the key: padding each would take far longer."""
    key, values = (
        x if is_x_batched else jnp.broadcast_to(x, (size, *x.shape))
        for x, is_x_batched in zip((key, values), is_batched, strict=True)
    )
    if key.dtype.itemsize > 4:  # which leaves no bits for the item
        _, values = lax.sort((key, values), num_keys=1)
        return values, True
    with x64_for(np.dtype(np.uint64)):
        if jnp.issubdtype(key.dtype, jnp.signedinteger):
            key = key ^ np.asarray(np.iinfo(key.dtype).min, key.dtype)  # in the order of unsigned numbers
            key = lax.bitcast_convert_type(key, f"uint{8 * key.dtype.itemsize}")
        item = lax.broadcasted_iota(jnp.uint64, key.shape, 0)
        key = (item << np.uint64(32)) | key.astype(jnp.uint64)
        return sorted_by(key.reshape(-1), values.reshape(-1)).reshape(values.shape), True


def lexsorted(*keys):
    """Return the stable order by the last key, of equals by that before: integers, or floats from 0 on."""
    order = jnp.arange(len(keys[0]), dtype=jnp.int32)
    for key in keys:
        key = key.astype(np.int32) if key.dtype == bool else key
        if jnp.issubdtype(key.dtype, jnp.floating):
            key = in_order_of_bits(key)
        order = sorted_by(key[order], order)
    return order


def in_order_of_bits(distances: Array) -> Array:
    """Return integers in the order of floats from 0 on; XLA takes subnormal numbers for 0 on CPUs."""
    return lax.bitcast_convert_type(distances, f"int{8 * distances.dtype.itemsize}")


def sorted_by_distance(distances: Array, rows: Array, *first_keys: Array) -> tuple[Array, Array]:
    """Return distances and rows, sorted along the last axis by other keys first, then by both."""
    keys = *first_keys, in_order_of_bits(distances), rows
    *_, bits, rows = lax.sort(keys, num_keys=len(keys))
    return lax.bitcast_convert_type(bits, distances.dtype), rows
