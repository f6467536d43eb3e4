"""Minkowski distance with periodic axes: the one place that knows ``p`` and ``boxsize``.

Everything works coordinate by coordinate on values of any shape, so that array code and GPU kernels
share it. A distance is built up as a *power distance*, in which comparing is cheap::

    total = power_distance(lambda axis: axis_distance(x[axis], y[axis], length[axis]), m, p)
    distance = root(total, p)

``p`` is a static Python float. Power distances are the sum of ``|d|**p`` up to ``p = 4``; above that the
powers of small distances would vanish (0.005**20 is zero in float32), so there the power distance is the
distance itself, combined pairwise as ``a * (1 + (b/a)**p)**(1/p)`` with ``a >= b``.

A search skips a node whose box is farther than what it still wants. Both are rounded: to the box and to a
point in it the same differences are taken, which rounding keeps in order, but their powers and sums may be
contracted differently. So every test on a box leaves `box_slack`; what is found is decided by points alone.
"""

import functools
import math

import jax.numpy as jnp
import numpy as np
from jax import lax

__all__ = [
    "LARGEST_SUMMED_P",
    "axis_distance",
    "axis_gap",
    "axis_reach",
    "box_slack",
    "in_units",
    "into_box",
    "power",
    "power_distance",
    "root",
    "scaled_power",
]

LARGEST_SUMMED_P = 4.0


def power(difference, p: float):
    """Return the power distance along one axis; ``difference`` may have either sign."""
    if p == 2:
        return difference * difference
    size = jnp.abs(difference)
    if p == 1 or p > LARGEST_SUMMED_P:
        return size
    if p == 3:
        return size * size * size
    if p == 4:
        return (difference * difference) * (difference * difference)
    return size**p


def scaled_power(distance, scale, p: float):
    """Return the power distance of ``distance * scale``.

    XLA may rewrite ``(d * s) * (d * s)`` as ``(d * d) * (s * s)``, which overflows or vanishes where the
    scaled distance does not (inf becomes nan): the barrier keeps the product whole.
    """
    return power(lax.optimization_barrier(distance * scale), p)


def power_distance(difference, m: int, p: float, *, unrolled: bool = True):
    """Return the power distance of ``difference(axis)``, of either sign, over `m` axes.

    Without `unrolled` the axes are gone through in a loop, which compiles sooner where they are many.
    """
    first = power(difference(0), p)
    if not unrolled:
        return lax.fori_loop(1, m, lambda axis, total: _combine(total, power(difference(axis), p), p), first)
    return functools.reduce(
        lambda total, axis: _combine(total, power(difference(axis), p), p), range(1, m), first
    )


def _combine(total, term, p: float):
    """Add one axis to a power distance."""
    if p == math.inf:
        return jnp.maximum(total, term)
    if p > LARGEST_SUMMED_P:
        large = jnp.maximum(total, term)
        small = jnp.minimum(total, term)
        ratio = small / jnp.where((large > 0) & (large < math.inf), large, 1)
        return large * (1 + ratio**p) ** (1 / p)
    return total + term


def box_slack(dtype, m: int) -> float:
    """Return the factor, a little above 1, that makes a test on a node's box safe against rounding.

    A term of the sum is off by a few roundings, the sum of m terms by m more, on either side of the test.
    """
    return 1 + 8 * (m + 1) * float(jnp.finfo(dtype).eps)


def root(total, p: float):
    """Return the distance of a power distance."""
    if p == 1 or p > LARGEST_SUMMED_P:
        return total
    if p == 2:
        return jnp.sqrt(total)
    if p == 4:
        return jnp.sqrt(jnp.sqrt(total))
    return total ** (1 / p)


def in_units(total, scale, p: float, rooted: bool = True):
    """Return the distance in the user's units of a scaled power distance; if not `rooted`, the latter."""
    return root(total, p) / scale if rooted else total


def axis_distance(x, y, length=None):
    """Return the distance along one axis; periodic where ``length > 0`` (``None``: not periodic).

    ``x`` and ``y`` lie in ``[0, length)`` on a periodic axis.
    """
    difference = x - y
    if length is None:
        return jnp.abs(difference)
    half = length / 2
    shifted = jnp.where(difference < -half, difference + length, difference)
    shifted = jnp.where(difference > half, difference - length, shifted)
    return jnp.abs(jnp.where(length > 0, shifted, difference))


def axis_gap(x, lower, upper, length=None):
    """Return the distance along one axis from ``x`` to the interval ``[lower, upper]``, 0 inside it.

    Of either sign, as `power` takes it. Never more than the computed `axis_distance` to a point of the
    interval: both round the same differences, and rounding is monotone.
    """
    if length is None:
        return x - jnp.minimum(jnp.maximum(x, lower), upper)
    below = lower - x
    above = x - upper
    gap = jnp.maximum(jnp.maximum(below, above), 0)
    around = jnp.minimum(length + below, length + above)
    return jnp.where(length > 0, jnp.minimum(gap, jnp.maximum(around, 0)), gap)


def axis_reach(x, lower, upper, length=None):
    """Return a distance along one axis that no point of the interval ``[lower, upper]`` exceeds."""
    reach = jnp.maximum(jnp.abs(x - lower), jnp.abs(x - upper))
    return reach if length is None else jnp.where(length > 0, jnp.minimum(reach, length / 2), reach)


def into_box(x, lengths):
    """Shift every periodic coordinate (..., m) into ``[0, length)``; NumPy arrays stay NumPy's."""
    xp = np if isinstance(x, np.ndarray) else jnp
    lengths = xp.broadcast_to(lengths, x.shape)
    length = xp.where(lengths > 0, lengths, 1)
    inside = x - xp.floor(x / length) * length  # the quotient was rounded: up to a length too far off
    inside = xp.where(inside >= length, inside - length, inside)
    inside = xp.where(inside < 0, inside + length, inside)
    inside = xp.where(inside >= length, inside - length, inside)
    return xp.where(lengths > 0, inside, x)
