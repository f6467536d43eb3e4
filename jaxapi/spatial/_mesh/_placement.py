"""Queries on their way to a mesh, and results on their way back to where the queries came from."""

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from ..._core._programs import is_traced
from .._device._arrays import constant_on
from ._layout import Layout, names_of_rows

__all__ = ["placed", "sent_home"]


def placed(layout: Layout, traced: bool, x, other=None):
    """Return queries as the mesh takes them, whether they are spread, and where results go.

    After the queries comes the `other` array, if there is one, of what belongs to each of them or to all.
    `traced`: some of the values that the search depends on are.
    """
    both: tuple = (x,) if other is None else (x, other)
    if layout.mesh is None:
        return *both, True, None
    if traced:
        spread = _spread_when_traced(x, layout)
        place = layout.sharding if spread else layout.everywhere
        return *(_resharded(each, place) for each in both), spread, None
    devices = x.sharding.device_set if isinstance(x, jax.Array) else ()
    spread = len(devices) > 1 and x.sharding.is_equivalent_to(layout.sharding, x.ndim)
    if len(devices) < 2:  # of the host, or one device: every process has it
        both = tuple(map(np.asarray, both))
    home = x.sharding if devices and not spread else None
    both = tuple(map(_one_for_all, both))
    places = (layout.sharding if spread and each.ndim else layout.everywhere for each in both)
    return *map(_put, both, places), spread, home


def sent_home(arrays, home, shape):
    """Return results in the batch shape, where the queries came from."""
    arrays = tuple(a if a.shape == shape else a.reshape(shape) for a in arrays)
    return arrays if home is None else jax.device_put(arrays, home)


def _put(x, place: NamedSharding):
    """Return an array as it is to lie, without a call where it lies so already."""
    if isinstance(x, np.ndarray) and not x.ndim:
        return constant_on(x.item(), x.dtype, place)
    return x if isinstance(x, jax.Array) and x.sharding == place else jax.device_put(x, place)


def _one_for_all(x):
    """Return a number that was broadcast as this number, which is less to move, and kept on the devices."""
    return (
        np.asarray(x[0]) if isinstance(x, np.ndarray) and x.ndim == 1 and len(x) and x.strides == (0,) else x
    )


def _spread_when_traced(x, layout: Layout) -> bool:
    """Tell whether traced queries lie as the points do.

    Only a mesh with Explicit axes shows it. With Auto axes they are spread where they divide evenly.
    """
    if not is_traced(x):
        return False
    sharding = jax.typeof(x).sharding
    if AxisType.Explicit in sharding.mesh.axis_types:
        return names_of_rows(sharding) == layout.axes.names
    return x.shape[0] % layout.axes.size == 0


def _resharded(x, place: NamedSharding):
    """Return an array with Explicit axes as it is to lie; of others `shard_map` takes care."""
    if is_traced(x) and AxisType.Explicit in jax.typeof(x).sharding.mesh.axis_types:
        return jax.sharding.reshard(x, place if x.ndim else place.update(spec=PartitionSpec()))
    return x
