"""The mesh axes that rows are sharded over, taken as one axis."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ._words import packed, unpacked

__all__ = ["Axes"]


class Axes(NamedTuple):
    """Names of mesh axes, the slowest first, and how many devices they have together."""

    names: tuple[str, ...]
    size: int

    def index(self):
        """Return the number of this device."""
        return lax.axis_index(self.names)

    def sum(self, x):
        """Add up over the devices."""
        return lax.psum(x, self.names)

    def min(self, x):
        """Return the least over the devices."""
        return lax.pmin(x, self.names)

    def max(self, x):
        """Return the greatest over the devices."""
        return lax.pmax(x, self.names)

    def gather(self, tree):
        """Return the arrays of all devices, stacked; several of them travel as one message."""
        leaves = jax.tree.leaves(tree)
        if len(leaves) == 1:
            return jax.tree.map(lambda a: lax.all_gather(a, self.names), tree)
        return unpacked(lax.all_gather(packed(tree, 0), self.names), tree, 0)

    def peers(self):
        """Return the devices that this one swaps lines with, in their order: all, or the only other one."""
        if self.size == 2:
            return 1 - self.index()[None]
        return lax.iota(jnp.int32, self.size)

    def swap(self, tree):
        """Send element ``i`` of the arrays (peers, ...) to the i-th of the `peers`, and get theirs."""
        leaves = jax.tree.leaves(tree)
        if len(leaves) == 1:
            return jax.tree.map(self._swap, tree)
        return unpacked(self.swap(packed(tree, 1)), tree, 1)

    def _swap(self, a):
        if self.size == 2:
            return lax.ppermute(a, self.names, [(0, 1), (1, 0)])
        return lax.all_to_all(a, self.names, 0, 0, tiled=True)

    def from_device(self, tree, device):
        """Return the arrays of one device on all of them."""
        here = self.index() == device
        return jax.tree.map(lambda a: self.sum(lax.select(here, a, jnp.zeros_like(a))), tree)

    def varying(self, tree):
        """Mark arrays as different on each device, as a loop's results are, for `shard_map` to check."""

        def one(a):
            missing = tuple(name for name in self.names if name not in jax.typeof(a).manual_axis_type.varying)
            return lax.pcast(a, missing, to="varying") if missing else a

        return jax.tree.map(one, tree)
