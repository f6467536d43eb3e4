"""How rows lie on a mesh, and functions run on every device's part of them."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec

from ..._core._dtypes import x64_for
from ..._core._programs import is_traced
from .._arrays import points_dtype
from ._axes import Axes

__all__ = ["MeshLayout", "layout_now", "names_of_rows", "place_points", "row_count_of_all"]


class MeshLayout(NamedTuple):
    """Which devices hold which rows of the points."""

    mesh: Mesh | AbstractMesh | None  # None: the caller is inside of `jax.shard_map` already
    axes: Axes
    n: int  # rows that count, the first ones; where their number is traced all that there are

    @property
    def rows(self) -> PartitionSpec:
        """The spec of arrays with rows that lie as those of the points."""
        return PartitionSpec(self.axes.names)

    @property
    def sharding(self) -> NamedSharding:
        """The sharding of arrays with rows that lie as those of the points."""
        return self.placed(self.rows)

    @property
    def everywhere(self) -> NamedSharding:
        """The sharding of arrays that every device has."""
        return self.placed(PartitionSpec())

    def placed(self, spec: PartitionSpec) -> NamedSharding:
        """Return a sharding on the mesh."""
        assert self.mesh is not None
        return NamedSharding(self.mesh, spec)

    @property
    def static(self) -> "MeshLayout":
        """The layout as the static part of a tree, in `jax.jit` and outside: arrays show an Explicit mesh."""
        mesh = self.mesh
        if isinstance(mesh, Mesh) and AxisType.Explicit in mesh.axis_types:
            return self._replace(mesh=mesh.abstract_mesh)
        return self

    def own_rows(self, s: int, dtype):
        """Return the `s` rows of the data that this device has; inside of `run`."""
        return self.axes.here().astype(dtype) * s + jnp.arange(s, dtype=dtype)

    def run(self, function, in_specs, out_specs, *arrays):
        """Run a function on every device's parts of the arrays."""
        if self.mesh is None:
            return function(*arrays)
        # The engines' kernels do not tell whether their results differ between devices, so nothing is
        # checked.
        mapped = jax.shard_map(
            function, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False
        )
        return mapped(*arrays)


def row_count_of_all(data, axis_name) -> int:
    """Return how many rows all devices have together."""
    if axis_name is None:
        return data.shape[0]
    return data.shape[0] * _device_count(_as_names(axis_name))


def _as_names(axis_name) -> tuple[str, ...]:
    """Return the names of one axis or of several."""
    names = (axis_name,) if isinstance(axis_name, str) else axis_name
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"axis_name must be the name of an axis of a mesh, or a tuple of names, got {names!r}"
        )
    return names


def _device_count(names: tuple[str, ...]) -> int:
    """Return how many devices share the points, which the caller's `jax.shard_map` knows."""
    try:
        return jax.lax.axis_size(names)
    except NameError:
        raise ValueError(
            f"axis_name={names[0] if len(names) == 1 else names!r}: no such axis is mapped here: call KDTree "
            "inside of jax.shard_map over that axis, or pass sharding= instead"
        ) from None


def place_points(data, sharding, axis_name, n):
    """Return the points as a tree keeps them, and their layout; None where they are on one device.

    `n` is how many of the rows on all devices count; None: all.
    """
    if axis_name is not None:
        names = _as_names(axis_name)
        return data, _counting(MeshLayout(None, Axes(names, _device_count(names)), 0), data, n)
    if sharding is None:
        if _hides_its_sharding(data):
            raise ValueError(
                "points traced on a mesh with Auto axes do not show on which devices they lie: pass "
                "sharding=NamedSharding(mesh, PartitionSpec(axis)), or PartitionSpec() for a tree on each "
                "device, or make the mesh with Explicit axes"
            )
        sharding = jax.typeof(data).sharding if is_traced(data) else getattr(data, "sharding", None)
        layout = _layout(sharding)
        return data, layout and _counting(layout, data, n)
    if not isinstance(sharding, NamedSharding):
        raise TypeError(f"sharding must be a jax.sharding.NamedSharding, got {type(sharding).__name__}")
    layout = _layout(sharding)
    if layout is not None and not is_traced(data):
        n = data.shape[0] if n is None else n
        data = _placed(data, layout)
    return data, layout and _counting(layout, data, n)


def layout_now(layout: MeshLayout, data) -> MeshLayout:
    """Return the layout as the caller sees it, inside or outside of `jax.shard_map` and `jax.jit`."""
    if is_traced(data) and _inside_shard_map(layout.axes.names):
        return layout._replace(mesh=None)
    if isinstance(layout.mesh, Mesh):
        return layout
    sharding = jax.typeof(data).sharding if is_traced(data) else data.sharding
    return layout._replace(mesh=sharding.mesh)


def _placed(data, layout: MeshLayout):
    """Return concrete points on the mesh; the last line is repeated until they divide evenly."""
    dtype = points_dtype(data.dtype)  # before they are moved, as with x64 off that would narrow them
    extra = -data.shape[0] % layout.axes.size
    if extra or isinstance(data, np.ndarray):
        data = np.pad(np.asarray(data, dtype), ((0, extra), (0, 0)), mode="edge")
    with x64_for(dtype, data.dtype):
        return jax.device_put(data, layout.sharding)


def _inside_shard_map(names: tuple[str, ...]) -> bool:
    """Tell whether the caller is inside of a `jax.shard_map` over these axes."""
    try:
        jax.lax.axis_size(names)
    except NameError:
        return False
    return True


def _layout(sharding) -> MeshLayout | None:
    """Return the layout of rows with this sharding, None where they are not sharded."""
    if not isinstance(sharding, NamedSharding):
        return None
    other_axes = tuple(sharding.spec)[1:]
    if any(names is not None for names in other_axes):
        raise ValueError(
            f"points may be sharded along axis 0 alone, got {sharding.spec}: all coordinates of a point "
            "belong on one device"
        )
    names = names_of_rows(sharding)
    size = math.prod(sharding.mesh.shape[name] for name in names)
    return MeshLayout(sharding.mesh, Axes(names, size), 0) if size > 1 else None


def names_of_rows(sharding) -> tuple[str, ...]:
    """Return the names of the mesh axes that rows are sharded over, none where they are not."""
    spec = tuple(sharding.spec)
    names = spec[0] if spec else None
    return () if names is None else _as_names(names)


def _hides_its_sharding(data) -> bool:
    """Tell whether points may lie on several devices without showing it: traced, on a mesh with Auto axes."""
    if not is_traced(data):
        return False
    mesh = jax.typeof(data).sharding.mesh
    mesh = mesh if mesh.axis_names else jax.sharding.get_abstract_mesh()
    axes = zip(mesh.axis_names, mesh.axis_types, strict=True)
    return any(axis_type == AxisType.Auto and mesh.shape[name] > 1 for name, axis_type in axes)


def _counting(layout: MeshLayout, data, n: int | None) -> MeshLayout:
    """Return the layout of as many points as count."""
    size = layout.axes.size
    rows = data.shape[0] * (size if layout.mesh is None else 1)
    if rows % size:
        raise ValueError(
            f"{rows} points do not divide evenly among {size} devices: pad them and pass n, how many count"
        )
    if n is None or is_traced(n):
        n = rows
    if n == 0:
        raise ValueError("a tree over several devices needs at least one point, got none")
    return layout._replace(n=n)
