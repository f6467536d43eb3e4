"""The mesh axes that rows are sharded over, taken as one axis, and what devices tell each other along it."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._typing import Array

__all__ = ["Axes", "packed", "unpacked"]


class Axes(NamedTuple):
    """Names of mesh axes, the slowest first, and how many devices they have together."""

    names: tuple[str, ...]
    size: int

    def here(self) -> Array:
        """Return the number of this device."""
        return lax.axis_index(self.names)

    def devices(self) -> Array:
        """Return the numbers of all devices."""
        return lax.iota(jnp.int32, self.size)

    def sum(self, x):
        """Add up over the devices."""
        return lax.psum(x, self.names)

    def min(self, x):
        """Return the least over the devices."""
        return lax.pmin(x, self.names)

    def max(self, x):
        """Return the greatest over the devices."""
        return lax.pmax(x, self.names)

    def gather(self, arrays):
        """Return the arrays of all devices, stacked; several of them travel as one message."""
        if len(jax.tree.leaves(arrays)) == 1:
            return jax.tree.map(lambda array: lax.all_gather(array, self.names), arrays)
        return unpacked(lax.all_gather(packed(arrays, 0), self.names), arrays, 0)

    def peers(self) -> Array:
        """Return the devices that this one swaps lines with, in their order: all, or the only other one."""
        if self.size == 2:
            return 1 - self.here()[None]
        return self.devices()

    def swap(self, message: Array) -> Array:
        """Send line ``i`` of an array (peers, ...) to the i-th of the `peers`, and return theirs."""
        if self.size == 2:
            return lax.ppermute(message, self.names, [(0, 1), (1, 0)])
        return lax.all_to_all(message, self.names, 0, 0, tiled=True)

    def from_device(self, arrays, device):
        """Return the arrays of one device on all of them."""
        is_sender = self.here() == device
        sent = jax.tree.map(lambda array: jnp.where(is_sender, array, jnp.zeros_like(array)), arrays)
        return jax.tree.map(self.sum, sent)

    def varying(self, arrays):
        """Mark arrays as different on each device, as a loop's results are, for `shard_map` to check."""

        def mark(array):
            varying = jax.typeof(array).manual_axis_type.varying
            missing = tuple(name for name in self.names if name not in varying)
            return lax.pcast(array, missing, to="varying") if missing else array

        return jax.tree.map(mark, arrays)


def packed(arrays, axes: int) -> Array:
    """Return arrays of 32 or 64 bits, whose first `axes` axes are the same, as 32-bit words (..., w)."""
    words = []
    for array in jax.tree.leaves(arrays):
        bits = lax.bitcast_convert_type(array, jnp.uint32)
        words.append(bits.reshape(*array.shape[:axes], -1))
    return words[0] if len(words) == 1 else jnp.concatenate(words, axis=axes)


def unpacked(words: Array, like, axes: int):
    """Return words (..., w) as arrays with the dtypes of those in `like`, and their axes from `axes` on."""
    leaves, structure = jax.tree.flatten(like)
    sizes = [math.prod(leaf.shape[axes:]) * (leaf.dtype.itemsize // 4) for leaf in leaves]
    parts = jnp.split(words, np.cumsum(sizes)[:-1], axis=words.ndim - 1)
    arrays = []
    for part, leaf in zip(parts, leaves, strict=True):
        shape = *words.shape[:-1], *leaf.shape[axes:]
        if leaf.dtype.itemsize == 8:
            shape = *shape, 2
        arrays.append(lax.bitcast_convert_type(part.reshape(shape), leaf.dtype))
    return jax.tree.unflatten(structure, arrays)
