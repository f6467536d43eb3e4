"""Minkowski distance with periodic axes: the one place that knows ``p`` and ``boxsize``.

Everything works coordinate by coordinate on values of any shape, so that array code and GPU kernels
share it. A distance is built up as a *power distance*, in which comparing is cheap::

    acc = power(axis_distance(x0, y0, length0), p)
    acc = combine(acc, power(axis_distance(x1, y1, length1), p), p)      # and so on, one axis a time
    distance = root(acc, p)

``p`` is a static Python float. Power distances are the sum of ``|d|**p`` up to ``p = 4``; above that the
powers of small distances would vanish (0.005**20 is zero in float32), so there the power distance is the
distance itself, combined pairwise as ``a * (1 + (b/a)**p)**(1/p)`` with ``a >= b``.
"""

import math

import jax.numpy as jnp
from jax import lax

__all__ = ["axis_distance", "axis_gap", "combine", "in_units", "power", "root", "scaled_power"]

_LARGEST_SUMMED_P = 4.0


def power(difference, p: float):
    """Return the power distance along one axis; ``difference`` may have either sign."""
    if p == 2:
        return difference * difference
    size = jnp.abs(difference)
    if p == 1 or p > _LARGEST_SUMMED_P:
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


def combine(acc, term, p: float):
    """Add one axis to a power distance."""
    if p == math.inf:
        return jnp.maximum(acc, term)
    if p > _LARGEST_SUMMED_P:
        large = jnp.maximum(acc, term)
        small = jnp.minimum(acc, term)
        ratio = small / jnp.where((large > 0) & (large < math.inf), large, 1)
        return large * (1 + ratio**p) ** (1 / p)
    return acc + term


def root(acc, p: float):
    """Return the distance of a power distance."""
    if p == 1 or p > _LARGEST_SUMMED_P:
        return acc
    if p == 2:
        return jnp.sqrt(acc)
    if p == 4:
        return jnp.sqrt(jnp.sqrt(acc))
    return acc ** (1 / p)


def in_units(acc, scale, p: float, rooted: bool = True):
    """Return the distance, in the user's units, of a scaled power distance, or where not `rooted` the latter."""
    return root(acc, p) / scale if rooted else acc


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
