"""Queries on their way to a mesh, and results on their way back to where the queries came from."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from ..._core._constants import constant_on
from ..._core._programs import is_traced
from ._layout import MeshLayout, names_of_rows, place_points

__all__ = ["PlacedQueries", "placed", "placed_as_points"]


class PlacedQueries(NamedTuple):
    """Queries as the mesh takes them."""

    x: Any  # (q, m)
    other: Any  # what belongs to each of them, or to all; None: nothing does
    spread: bool  # whether they lie as the points do; else every device has all of them
    result_sharding: Any = None  # that results go back to; None: they stay

    def send_back(self, arrays, shape: tuple[int, ...]):
        """Return results in the batch shape, where the queries came from."""
        arrays = tuple([a if a.shape == shape else a.reshape(shape) for a in arrays])
        if self.result_sharding is None:
            return arrays
        return jax.device_put(arrays, self.result_sharding)


def placed(layout: MeshLayout, traced: bool, x, other=None) -> PlacedQueries:
    """Return queries as the mesh takes them; `traced`: some of the values that the search depends on are."""
    if layout.mesh is None:
        return PlacedQueries(x, other, spread=True)
    if traced:
        spread = _spread_when_traced(x, layout)
        place = layout.sharding if spread else layout.everywhere
        return PlacedQueries(_resharded(x, place), _resharded(other, place), spread)
    devices = x.sharding.device_set if isinstance(x, jax.Array) else ()
    spread = len(devices) > 1 and x.sharding.is_equivalent_to(layout.sharding, x.ndim)
    result_sharding = x.sharding if devices and not spread else None
    if len(devices) < 2:  # of the host, or one device: every process has it
        x = np.asarray(x)
        other = None if other is None else np.asarray(other)
    other = None if other is None else _put(other, layout, spread)
    return PlacedQueries(_put(x, layout, spread), other, spread, result_sharding)


def placed_as_points(x, layout: MeshLayout):
    """Return as many points as the layout's where these lie."""
    if isinstance(layout.mesh, AbstractMesh):
        return jax.sharding.reshard(x, layout.sharding)
    return place_points(x, layout.sharding, None, None)[0]


def _put(x, layout: MeshLayout, spread: bool):
    """Return a concrete array as it is to lie, without a call where it lies so already."""
    if isinstance(x, np.ndarray) and x.ndim == 1 and len(x) and x.strides == (0,):
        x = np.asarray(x[0])  # a number that was broadcast, which is less to move
    place = layout.sharding if spread and x.ndim else layout.everywhere
    if isinstance(x, np.ndarray) and not x.ndim:
        return constant_on(x.item(), x.dtype, place)
    return x if isinstance(x, jax.Array) and x.sharding == place else jax.device_put(x, place)


def _spread_when_traced(x, layout: MeshLayout) -> bool:
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
    """Return an array on Explicit axes as it is to lie; on others `shard_map` takes care."""
    if x is None or AxisType.Explicit not in place.mesh.axis_types:
        return x
    return jax.sharding.reshard(x, place if x.ndim else place.update(spec=PartitionSpec()))
