"""Single linkage of the edges of a tree."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import x64_on
from .._core._programs import any_traced, eagerly_unless_traced
from .._core._typing import Array, ArrayLike
from . import _arguments
from ._clusters import _calls, _device
from ._device import _engines
from ._searcher import without_slopes
from ._settings import index_dtype
from ._structure._build import padded_size
from ._structure._lengths import first_lines

__all__ = ["single_linkage"]


def single_linkage(rows: ArrayLike, distances: ArrayLike) -> Array:
    """Return the dendrogram of single linkage from a minimum spanning tree.

    As `scipy.cluster.hierarchy.linkage` of all distances with ``method='single'``: SciPy's `fcluster`,
    `dendrogram` and `cophenet` take it.

    Parameters
    ----------
    rows : array_like of int, shape (n - 1, 2)
        The edges of a tree of n points, as `KDTree.minimum_spanning_tree` returns them.
    distances : array_like, shape (n - 1,)
        Their lengths, in any order; of equal ones the first comes first.

    Returns
    -------
    Array, shape (n - 1, 4), float64
        SciPy's linkage matrix: of each merge the two nodes, the distance, and how many points are in both.
        Nodes below n are points, n + i is what line i has merged.

    Raises
    ------
    TypeError
        If `rows` are no integers or `distances` no real numbers.
    ValueError
        If the shapes are others, the distances are nan, or `rows` are not the edges of a tree.

    Notes
    -----
    Works under jit, vmap and scan, on CPUs by NumPy, elsewhere by a program of XLA. The third column has the
    derivatives of the distances. Edges with rows -1 come last, with nodes -1 and size 0; other rows are not
    checked when traced.

    Examples
    --------
    >>> import jaxapi as xp
    >>> edges = xp.spatial.KDTree([[0.0], [3.0], [1.0]]).minimum_spanning_tree()
    >>> xp.spatial.single_linkage(*edges).tolist()
    [[0.0, 2.0, 1.0, 2.0], [1.0, 3.0, 2.0, 3.0]]
    """
    edges, lengths = _arguments.real_array(rows), _arguments.real_array(distances)
    if not jnp.issubdtype(edges.dtype, jnp.integer):
        raise TypeError(f"rows must be integers, got dtype {edges.dtype}")
    lines = len(lengths)
    if edges.shape != (lines, 2) or lengths.ndim != 1:
        raise ValueError(
            "rows and distances must be of shape (n - 1, 2) and (n - 1,), "
            f"got {edges.shape} and {lengths.shape}"
        )
    index, traced = index_dtype(2 * lines), any_traced(edges, lengths)
    shapes = [((lines,), index), ((lines, 2), index), ((lines,), index), ((), np.dtype(bool))]

    def on_host(*inputs):
        return _calls.computed(_calls.linkage, [jax.ShapeDtypeStruct(*each) for each in shapes], *inputs)

    def by_program(*inputs):
        return tuple(_device.merged(*inputs, np.int32(lines + 1), index))

    with eagerly_unless_traced(edges, lengths), x64_on():
        place = None if traced else _device_of(edges, lengths)
        if place is not None and lines:
            engine, room = _engines.engine_of(place), padded_size(lines)
            inputs = (jax.device_put(each, place.sharding) for each in (edges, lengths))
            inputs = (engine.with_room(each, room, place.sharding) for each in inputs)
            found, tree = _device.linkage(*inputs, np.int32(lines + 1), engine=engine)
            found = first_lines(lines, found)[0]
        else:
            inputs = without_slopes((edges, lengths))
            if traced and lines and not _engines.only_the_cpu():
                *merges, tree = lax.platform_dependent(*inputs, cpu=on_host, default=by_program)
            else:
                *merges, tree = on_host(*inputs)
            found = _device.linkage_matrix(lengths, *merges)
        if not traced and not tree:
            if jnp.isnan(lengths).any():
                raise ValueError("distances must not be nan")
            raise ValueError(f"rows must be the edges of a tree of {lines + 1} points")
        return found


def _device_of(*arrays):
    """Return the first array that lies on one device other than the CPU."""
    for each in arrays:
        if isinstance(each, jax.Array) and [d.platform != "cpu" for d in each.devices()] == [True]:
            return each
    return None
