"""NearestNDInterpolator: SciPy's interface."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core._dtypes import x64_for
from .._core._programs import any_traced, compiled
from .._core._typing import Array, ArrayLike
from .._interop import placed_on_device_of_one
from .._missing import hints_at_arguments
from ..spatial import KDTree
from ..spatial._cells._cell_arguments import periodic_flags
from ..spatial._cells._parameters import are_parameters, vectors_of
from ._devices import layout_of, on_devices_of
from ._host import in_memory
from ._interpolator_arguments import as_numbers, as_places, real_dtype, restored, row_count, stored, wider

__all__ = ["NearestNDInterpolator"]


@hints_at_arguments
@jax.tree_util.register_pytree_node_class
class NearestNDInterpolator:
    """Interpolate scattered data in N >= 2 dimensions by the value of the nearest point.

    `scipy.interpolate.NearestNDInterpolator` for any array and device: NumPy, CuPy, PyTorch and jax arrays
    and lists go in, jax arrays come out, and everything works under `jax.jit` and `jax.vmap`.

    Parameters
    ----------
    x : array_like, shape (npoints, ndims), or tuple of ndims array_like
        Coordinates of the data points, real and finite, or an array of each coordinate, which broadcast.
        float64 stays float64 (also with x64 off), other floats are taken as float32, integers and lists as
        float64.
    y : array_like, shape (npoints, ...)
        Values at `x`, real or complex; integers become float64.
    rescale : bool, default False
        Measure distances after the points have been brought into the unit cube, for coordinates in different
        units.
    tree_options : dict, optional
        Further arguments of `jaxapi.spatial.KDTree`. A `cell` is in the units of `x`, and rescaled with it.
    n : int, optional
        How many of the rows count, the first ones; by default all. It may be traced: then one program serves
        data of many sizes. What the other rows hold does not matter.

    Raises
    ------
    ValueError
        If the shapes do not fit, there are fewer than 2 dimensions, or a point is not finite.
    TypeError
        If `x` is complex.

    Notes
    -----
    Differences to SciPy: of equally near points the one with the lowest row counts; float32 values stay
    float32. An interpolator is a pytree, an argument or a result of jit, vmap and scan. Derivatives flow to
    `y`; in the places and in `x` the interpolant is constant in steps, and they are 0.

    Examples
    --------
    >>> from jaxapi.interpolate import NearestNDInterpolator
    >>> nearest = NearestNDInterpolator([[0, 0], [3, 4], [6, 8]], [1.0, 2.0, 3.0])
    >>> nearest([[1, 1], [5, 7]]).tolist()
    [1.0, 3.0]
    >>> nearest([1, 5], [[1], [7]]).tolist()  # coordinates that broadcast
    [[1.0, 2.0], [2.0, 3.0]]
    """

    _tree: KDTree  # of the points, in the unit cube where they are rescaled
    _values: Array  # (npoints, ...)
    _offset: Array | None  # (ndims,)
    _scale: Array | None  # (ndims,)

    def __init__(
        self,
        x: ArrayLike | tuple[ArrayLike, ...],
        y: ArrayLike,
        rescale: bool = False,
        tree_options: dict[str, Any] | None = None,
        *,
        n: int | Array | None = None,
    ):
        points = _coordinates(x)
        values = as_numbers(y)
        if values.shape[:1] != points.shape[:1]:
            raise ValueError("different number of values and points")
        if points.ndim != 2:
            raise ValueError("invalid shape for input data points")
        if points.shape[1] < 2:
            raise ValueError("input data must be at least 2-D")
        if tree_options is not None and not isinstance(tree_options, Mapping):
            raise TypeError(f"tree_options must be a dict of KDTree's arguments, got {tree_options!r}")
        options = dict(tree_options or {})
        if n is not None:
            options["n"] = n
        self._offset = self._scale = None
        if rescale:
            count = row_count(options.get("n"), points.shape[0])
            if count is None:
                count = points.shape[0]
            with x64_for(points.dtype):
                self._offset, self._scale = _unit_cube(points, count)
                points = _rescaled(points, self._offset, self._scale)
                if options.get("cell") is not None:
                    cell = as_places(options["cell"], "cell", points.dtype)
                    cell = _as_vectors(cell, options.get("periodic", True), points.shape[1])
                    options["cell"] = _of_unit_cube(cell, self._scale)
        self._tree = KDTree(points, **options)
        self._values = values

    def __call__(self, *args: ArrayLike | tuple[ArrayLike, ...], **query_options: Any) -> Array:
        """Evaluate the interpolant.

        Parameters
        ----------
        x1, x2, ... xn : array_like
            An array of each coordinate of the places, which broadcast, or one array of shape
            ``(..., ndims)``. Lists are of the dtype of the points.
        **query_options
            ``eps``, ``p``, ``distance_upper_bound`` and ``workers`` of `jaxapi.spatial.KDTree.query`.

        Returns
        -------
        Array
            The values of the nearest points, of the shape that the places have, then that of a value; nan
            where no point is near enough.

        Raises
        ------
        ValueError
            If the shapes do not fit, or a place is not finite.

        Examples
        --------
        >>> from jaxapi.interpolate import NearestNDInterpolator
        >>> nearest = NearestNDInterpolator([[0, 0], [3, 4]], [1.0, 2.0])
        >>> nearest([[0, 1], [9, 9]], distance_upper_bound=2).tolist()
        [1.0, nan]
        """
        places = _coordinates(args, like=self._tree.data.dtype, dimensions=self._tree.m)
        if places.shape[-1] != self._tree.m:
            raise ValueError("number of dimensions in xi does not match x")
        layout = layout_of(places) if places.ndim > 1 else None
        if layout is not None:
            return on_devices_of(self, places, layout, **query_options)
        if self._scale is not None:
            with x64_for(places.dtype, self._scale.dtype):
                places = _rescaled(places, self._offset, self._scale)
        tree = self._tree
        if any_traced(places, tree.data):  # the choice of the nearest has no derivative
            tree, places = jax.lax.stop_gradient((tree, places))
        _, rows = tree.query(places, **query_options)
        with x64_for(self._values.dtype, real_dtype(self._values.dtype)):
            return _values_of(self._values, rows, tree.n)

    @property
    def tree(self) -> KDTree:
        """The tree of the points, in the unit cube where they are rescaled."""
        return self._tree

    @property
    def points(self) -> Array:
        """Coordinates of the points, (npoints, ndims), in the unit cube where they are rescaled."""
        return self._tree.data

    @property
    def values(self) -> Array:
        """The values, (npoints, ...)."""
        return self._values

    def tree_flatten(self):
        """Return the arrays; there are no other values."""
        return (self._tree, self._values, self._offset, self._scale), None

    @classmethod
    def tree_unflatten(cls, static, children):
        """Put an interpolator together again; its values may be anything, so nothing is checked."""
        self = object.__new__(cls)
        self._tree, self._values, self._offset, self._scale = children
        return self

    def __getstate__(self):
        """Return what a pickle keeps."""
        return stored(self.__dict__)

    def __setstate__(self, state):
        """Take a pickled state."""
        self.__dict__.update(restored(state))


def _where_arrays_are(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes by NumPy on the host, else by a program."""
    program = compiled(functools.partial(function, jnp))

    @functools.wraps(function)
    def run(*args):
        on_host = in_memory(*args)
        if on_host is None:
            return program(*args)
        with np.errstate(all="ignore"):
            results = function(np, *on_host)
        return placed_on_device_of_one(args, results)

    return run


def _coordinates(given, like: np.dtype | None = None, dimensions: int | None = None) -> Array:
    """Return points (..., ndims), given as one array or as a tuple of one for each coordinate."""
    if isinstance(given, tuple) and len(given) == 1:
        (given,) = given
    if not isinstance(given, tuple):
        points = as_places(given, "x", like)
        if points.ndim != 1:
            return points
        dimensions = dimensions or 1
        if points.shape[0] % dimensions:
            raise ValueError(
                f"cannot take an array of shape {points.shape} for points of {dimensions} coordinates"
            )
        return points.reshape(-1, dimensions)
    columns = [as_places(column, "x", like) for column in given]
    with x64_for(*[column.dtype for column in columns]):
        return _stacked(*columns)


@_where_arrays_are
def _stacked(xp, *columns):
    dtype = wider(*[column.dtype for column in columns])
    columns = [column.astype(dtype) for column in columns]
    return xp.stack(xp.broadcast_arrays(*columns), axis=-1)


@_where_arrays_are
def _unit_cube(xp, points, count):
    """Return the mean of the points that count, and their extent along each axis."""
    mask = (xp.arange(points.shape[0], dtype=np.int32) < count)[:, None]
    offset = xp.sum(xp.where(mask, points, 0), axis=0) / xp.maximum(xp.sum(mask), 1).astype(points.dtype)
    lowest = xp.min(points, axis=0, where=mask, initial=xp.inf)
    highest = xp.max(points, axis=0, where=mask, initial=-xp.inf)
    extent = highest - lowest
    return offset, xp.where(extent > 0, extent, 1)


@_where_arrays_are
def _rescaled(xp, points, offset, scale):
    dtype = wider(points.dtype, scale.dtype)
    return (points.astype(dtype) - offset.astype(dtype)) / scale.astype(dtype)


def _as_vectors(cell, periodic, m: int):
    """Return the vectors of a cell that is given by lengths, or by lengths and angles."""
    if not are_parameters(cell.shape, m):
        return cell
    return vectors_of(cell, periodic_flags(periodic, m))


def _of_unit_cube(cell, scale):
    """Return vectors (..., m) as long as those of rescaled points; of another shape as they are."""
    if cell.shape[-1:] != scale.shape:
        return cell
    with x64_for(cell.dtype, scale.dtype):
        return _rescaled(cell, jnp.zeros_like(scale), scale)


@_where_arrays_are
def _values_of(xp, values, rows, count):
    """Return the values of rows; nan for a row that does not exist."""
    if not jnp.issubdtype(values.dtype, jnp.inexact):
        values = values.astype(np.float64)
    if not values.shape[0]:
        values = xp.zeros((1, *values.shape[1:]), values.dtype)
    is_row = (rows < count).reshape(*rows.shape, *(1,) * (values.ndim - 1))
    return xp.where(is_row, values[xp.minimum(rows, len(values) - 1)], xp.nan)
