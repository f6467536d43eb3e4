"""Powers of two, by which numbers are brought where squares neither overflow nor vanish, without rounding."""

import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from ._metric import LARGEST_SUMMED_P
from ._tree import Tree

__all__ = ["a_point", "brought_near", "exponent_of", "power_of_two", "times_power_of_two"]


def brought_near(tree: Tree, x: Array, bound: Array, box, p: float):
    """Return queries (q, m) and their bounds (q,), on the way to the tree halved so often that powers fit.

    Also return how often, (q,). To so far a query all points are as near as one, to the last digit, and as
    near to its mirror image: it comes to the side of the point where the periodic box does not end.
    """
    info, order = jnp.finfo(x.dtype), p if p <= LARGEST_SUMMED_P else 1
    most = int((info.maxexp - 2 - x.shape[1].bit_length()) / order) - 1
    one = a_point(tree)[None]
    half = jnp.abs(x / 2 - one / 2)  # of the way, which may overflow
    back = False
    if box is not None:
        box = jnp.broadcast_to(box, x.shape)
        half, back = jnp.where(box > 0, jnp.minimum(half, box / 2 - half), half), (box > 0) & (one > box / 2)
    largest = jnp.max(jnp.where(jnp.isfinite(half), half, 0), axis=1)
    halvings = jnp.maximum(exponent_of(largest) + exponent_of(tree.scale) - most, 0)
    halvings = jnp.where(largest > 0, halvings, 0)
    way, lines = times_power_of_two(half, 1 - halvings[:, None]), halvings[:, None]
    near = jnp.where(back, one - way, one + way)
    return jnp.where(lines > 0, near, x), times_power_of_two(bound, -halvings), halvings


def a_point(tree: Tree) -> Array:
    """Return one of the tree's points (m,) in the user's units; 0 where the first slot has none."""
    one = tree.points[:, 0]
    return jnp.where(jnp.isfinite(one), one, 0) / tree.scale


def times_power_of_two(x: Array, exponent: Array) -> Array:
    """Return ``x * 2**exponent``, in two steps: the power alone may be out of range."""
    half = exponent // 2
    return x * power_of_two(half, x.dtype) * power_of_two(exponent - half, x.dtype)


def power_of_two(exponent: Array, dtype) -> Array:
    """Return ``2**exponent``, for a normal result; from the bits, as in `exponent_of`."""
    info = jnp.finfo(dtype)
    biased = (exponent + (1 - info.minexp)).astype(jnp.uint32)
    if info.bits == 64:
        high = biased << (info.nmant - 32)
        return lax.bitcast_convert_type(jnp.stack([jnp.zeros_like(high), high], axis=-1), dtype)
    return lax.bitcast_convert_type(biased << info.nmant, dtype)


def exponent_of(x: Array) -> Array:
    """Return ``e`` with ``2**(e - 1) <= x < 2**e`` for a normal x >= 0; 0 for 0.

    From the bits, in 32-bit integers: `jax.numpy.frexp` fails for float64 traced with x64 off.
    """
    info = jnp.finfo(x.dtype)
    words = lax.bitcast_convert_type(x, jnp.uint32)
    high, mantissa = (words[..., 1], info.nmant - 32) if info.bits == 64 else (words, info.nmant)
    exponent = (high >> mantissa).astype(jnp.int32) + info.minexp
    return jnp.where(x > 0, exponent, 0)
