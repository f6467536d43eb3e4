"""What `jax.shard_map` wants to know of a loop's values: over which axes of the mesh they vary."""

import jax
from jax import lax

__all__ = ["varying_alike", "varying_like"]


def varying_like(values, like):
    """Return `values` marked as varying over every axis of a mesh that an array of `like` varies over.

    In `jax.shard_map` a loop must be left with the types that it was entered with, and constants do not vary.
    Elsewhere nothing varies, and `values` come back as they are.
    """
    axes = frozenset().union(*map(_axes_of, jax.tree.leaves(like)))
    return jax.tree.map(lambda x: _varying(x, axes - _axes_of(x)), values) if axes else values


def varying_alike(*values):
    """Return `values`, all of which vary over the axes that one of them varies over."""
    return varying_like(values, values)


def _varying(x, axes):
    return lax.pcast(x, tuple(sorted(axes)), to="varying") if axes else x


def _axes_of(x) -> frozenset:
    array_type = jax.typeof(x)
    manual = getattr(array_type, "manual_axis_type", None)  # `vma` before JAX 0.10
    return getattr(array_type, "vma", frozenset()) if manual is None else manual.varying
