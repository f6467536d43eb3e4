"""What a user may pass about cells and clouds, checked once and turned into plain values."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._constants import constant_on
from ..._core._devices import last_in_host_memory
from ..._core._dtypes import x64_for
from ..._core._lengths import first_rows
from ..._core._programs import any_traced, eagerly, is_traced
from ..._core._typing import Array
from .._arrays import is_on_host
from .._engines._choice import engine_of
from .._engines._protocol import Engine
from .._tree._build import padded_size
from .._tree_arguments import broadcast_shape, number_array, numbers, what_is_in
from ._lattice import is_singular, lattice_of
from ._parameters import are_parameters, vectors_of
from ._points import ImagePoints

__all__ = ["cell_vectors", "check_clouds", "check_turns", "check_turns_of_points", "cloud_ids"]
__all__ += ["image_shifts", "periodic_flags"]

INT32 = np.dtype(np.int32)
TOO_LARGE = "the ids of batch must fit int32: number the clouds from 0 on"


def periodic_flags(periodic, m: int) -> tuple[bool, ...]:
    """Return along which vectors of a cell points are repeated."""
    if any_traced(*jax.tree.leaves(periodic)):
        raise TypeError("periodic must be Python bools, not traced: mark it as static")
    flags = np.asarray(periodic)
    if flags.dtype != bool or flags.shape not in ((), (m,)):
        raise ValueError(f"periodic must be a bool, or one for each of the {m} vectors, got {periodic!r}")
    return tuple(np.broadcast_to(flags, (m,)).tolist())


def cell_vectors(cell, periodic: tuple[bool, ...], data: Array, has_clouds: bool) -> Array:
    """Return the vectors of a cell, (m, m) or (clouds, m, m), in the dtype and on the device of the data."""
    vectors = number_array(cell, "cell")
    m = len(periodic)
    if are_parameters(vectors.shape, m):
        vectors = vectors_of(vectors, periodic)
    if vectors.shape[-2:] != (m, m) or vectors.ndim > (3 if has_clouds else 2):
        kinds = (
            f"({m}, {m}), or (clouds, {m}, {m}) with batch,"
            if has_clouds or vectors.ndim > 2
            else f"({m}, {m})"
        )
        lengths = "3 lengths, or 3 lengths and 3 angles" if m == 3 else f"{m} lengths"
        raise ValueError(
            f"cell must be of shape {kinds} the lattice vectors in its rows, or {lengths}, got shape "
            f"{vectors.shape}"
        )
    if is_traced(vectors):
        return vectors.astype(data.dtype)
    vectors = np.asarray(vectors, data.dtype)
    if not np.isfinite(vectors).all():
        raise ValueError("cell must be finite, check for nan or inf values")
    if is_singular(vectors.astype(np.float64), periodic):
        raise ValueError(
            f"cell is singular: its periodic vectors must be linearly independent, got {vectors.tolist()}; "
            "pass periodic=False for a vector along which nothing is repeated"
        )
    return _placed(vectors, data)


def cloud_ids(batch, shape: tuple[int, ...], data: Array, copy: bool = False):
    """Return the numbers of clouds, int32, of the points or of queries; flat, where the data are.

    Those that lie there on a device stay, unless `copy`.
    """
    ids = batch if isinstance(batch, jax.Array) else numbers(batch)
    if not jnp.issubdtype(ids.dtype, jnp.integer):
        raise TypeError(f"batch must be integers, got {what_is_in(ids)}")
    if broadcast_shape(ids.shape, shape) != shape:
        raise ValueError(f"batch must be one id for each point, of shape {shape}, got shape {ids.shape}")
    size = math.prod(shape)
    if is_traced(ids):
        return jnp.broadcast_to(ids, shape).reshape(size).astype(jnp.int32)
    is_beside_data = isinstance(ids, jax.Array) and not is_on_host(ids) and ids.sharding == data.sharding
    if is_beside_data and ids.shape == (size,):
        return ids if ids.dtype == INT32 and not copy else _as_int32(ids)
    ids = np.broadcast_to(np.asarray(ids), shape).reshape(size)
    limits = np.iinfo(np.int32)
    if size and not limits.min <= int(ids.min()) <= int(ids.max()) <= limits.max:
        raise ValueError(TOO_LARGE)
    return _placed(ids.astype(np.int32), data)


def _as_int32(ids: Any) -> Array:
    """Return a copy of concrete ids (n,) on a device, in int32."""
    size = len(ids)
    engine = engine_of(ids)
    with eagerly(), x64_for(ids.dtype):
        count = constant_on(size, INT32, ids.sharding)
        given = engine.as_input(ids, padded_size(size), ids.sharding)
        narrow, do_fit = last_in_host_memory(_narrowed, count, "engine")(count, given, engine=engine)
        if not do_fit:
            raise ValueError(TOO_LARGE)
        return first_rows(size, narrow)[0]


def _narrowed(count, given, *, engine: Engine):
    """Return ids in int32, and whether they fit."""
    ids = engine.read_input(given, count, dtype=given.dtype, fill=0)
    narrow = ids.astype(INT32)
    # Large unsigned numbers become negative, and themselves again on the way back.
    is_same = (narrow.astype(ids.dtype) == ids) & ((narrow < 0) == (ids < 0))
    return narrow, is_same.all()


def check_clouds(ids, clouds: int) -> None:
    """Refuse concrete ids of points that have no cell."""
    if is_traced(ids) or not len(ids):
        return
    ids = np.asarray(ids)
    if ids.min() < 0 or ids.max() >= clouds:
        wrong = ids.min() if ids.min() < 0 else ids.max()
        raise ValueError(
            f"batch must be ids from 0 to {clouds - 1}, as there are {clouds} cells, got {wrong}"
        )


def check_turns_of_points(points: ImagePoints, periodic: tuple[bool, ...]) -> None:
    """Refuse points, of those that count, that are too far away; none of traced ones."""
    if points.cell is None or any_traced(*points):
        return
    n = int(points.n)
    ids = None if points.ids is None else np.asarray(points.ids)[:n]
    check_turns(points, periodic, np.asarray(points.data)[:n], ids, "a point")


def check_turns(points: ImagePoints, periodic: tuple[bool, ...], x, ids, name: str) -> None:
    """Refuse concrete `x` so far away that shifts cannot count the cells up to it; `name` is one of it."""
    cell = points.cell
    if cell is None or not len(x) or any_traced(x, ids, cell):
        return
    x = np.asarray(x, np.float64)
    lattice = lattice_of(cell, periodic, np)
    if lattice.has_axes:
        lattice = lattice.of_clouds(np.clip(np.asarray(ids), 0, len(cell) - 1))
    with np.errstate(all="ignore"):
        turns = lattice.wrapped(x, np).turns
    is_far = np.isfinite(x).all(axis=1) & np.isnan(turns).any(axis=1)
    if is_far.any():
        raise ValueError(
            f"{name} lies 2**29 cells or more from the origin, more than int32 shifts can count: got "
            f"{x[is_far][0]}; wrap it into the cell, or pass shorter vectors"
        )


def image_shifts(shifts, rows, m: int, has_cell: bool):
    """Return the shifts of images, of shape rows.shape + (m,), None without a cell."""
    if not has_cell and shifts is None:
        return None
    if not has_cell:
        raise ValueError("shifts are those of a cell, and this KDTree has none: pass cell= to KDTree")
    if shifts is None:
        raise ValueError(
            "of a KDTree with a cell a row has many images: pass shifts=, as searches return them"
        )
    shifts = shifts if isinstance(shifts, jax.Array) else numbers(shifts)
    if not jnp.issubdtype(shifts.dtype, jnp.integer):
        raise TypeError(f"shifts must be integers, got dtype {shifts.dtype}")
    if shifts.shape != (*rows.shape, m):
        raise ValueError(f"shifts must be of shape {(*rows.shape, m)}, got {shifts.shape}")
    return shifts


def _placed(array: np.ndarray, data: Array) -> Array:
    """Return an array on the device of the data; as it is where these are traced."""
    with eagerly(), x64_for(array.dtype):
        return jax.device_put(array, None if is_traced(data) else data.sharding)
