"""Places that are sharded over devices: each device evaluates its part, with all data."""

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from .._core._dtypes import x64_for
from .._core._programs import is_traced

__all__ = ["Layout", "layout_of", "on_devices_of"]


class Layout(NamedTuple):
    """How places lie on several devices."""

    mesh: Any
    axes: Any  # of the mesh, which the first axis is sharded over


def layout_of(x: jax.Array) -> Layout | None:
    """Return how places lie, None where they lie on one device or the program decides."""
    x = lax.stop_gradient(x)  # known where a derivative is taken outside of jit
    sharding = jax.typeof(x).sharding if is_traced(x) else x.sharding
    if not isinstance(sharding, NamedSharding) or sharding.mesh.size == 1:
        return None
    if is_traced(x) and AxisType.Explicit not in sharding.mesh.axis_types:
        return None
    axes = sharding.spec[0] if len(sharding.spec) else None
    if any(axis is not None for axis in sharding.spec[1:]):
        raise ValueError(
            f"places must be sharded along their first axes alone, got {sharding.spec}: bring them there "
            "with jax.device_put"
        )
    return Layout(sharding.mesh, axes)


def on_devices_of(interpolator, x: jax.Array, layout: Layout, **options):
    """Return an interpolator at places, each device's results where the places are; options are static."""
    if isinstance(layout.mesh, Mesh):  # not the abstract one of a program
        interpolator = jax.device_put(interpolator, NamedSharding(layout.mesh, PartitionSpec()))
    dtypes = [np.dtype(array.dtype) for array in jax.tree.leaves((interpolator, x))]
    with x64_for(*dtypes):
        return _evaluated(interpolator, x, layout=layout, options=tuple(sorted(options.items())))


@partial(jax.jit, static_argnames=("layout", "options"))
def _evaluated(interpolator, x, *, layout: Layout, options: tuple[tuple[str, Any], ...]):
    replicated = PartitionSpec()
    sharded = PartitionSpec(layout.axes)

    def evaluate_part(interpolator, x):
        return interpolator(x, **dict(options))

    evaluate = jax.shard_map(
        evaluate_part, mesh=layout.mesh, in_specs=(replicated, sharded), out_specs=sharded
    )
    return evaluate(interpolator, x)
