"""Single linkage of the edges of a tree."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import x64_on
from .._core._lengths import first_rows
from .._core._programs import any_traced, eagerly_unless_traced
from .._core._typing import Array, ArrayLike
from . import _tree_arguments
from ._clusters import _device
from ._clusters._hierarchy import Linkage
from ._engines import _choice
from ._scipy import _cluster
from ._scipy._callback import Result, computed
from ._search import index_dtype
from ._tree._build import padded_size
from ._tree._slopes import without_slopes

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
    edges = _tree_arguments.real_array(rows, name="rows")
    lengths = _tree_arguments.real_array(distances, name="distances")
    if not jnp.issubdtype(edges.dtype, jnp.integer):
        raise TypeError(f"rows must be integers, got dtype {edges.dtype}")
    edge_count = len(lengths)
    if edges.shape != (edge_count, 2) or lengths.ndim != 1:
        raise ValueError(
            "rows and distances must be of shape (n - 1, 2) and (n - 1,), "
            f"got {edges.shape} and {lengths.shape}"
        )
    traced = any_traced(edges, lengths)
    with eagerly_unless_traced(edges, lengths), x64_on():
        edges = _signed(edges)
        on_device = None if traced else _on_a_device(edges, lengths)
        if on_device is not None and edge_count:
            matrix, is_tree = _merged_on(on_device.sharding, edges, lengths)
        else:
            merges = _merged(edges, lengths)
            matrix = _device.linkage_matrix(lengths, merges)
            is_tree = merges.is_tree
        if not traced and not is_tree:
            if jnp.isnan(lengths).any():
                raise ValueError("distances must not be nan")
            raise ValueError(f"rows must be the edges of a tree of {edge_count + 1} points")
        return matrix


def _merged(rows, distances) -> Linkage:
    """Return what the edges merge: on the CPU by NumPy, elsewhere by a program."""
    edge_count = len(distances)
    dtype = index_dtype(2 * edge_count)
    numbers = Result((edge_count,), dtype)
    results = [numbers, Result((edge_count, 2), dtype), numbers, Result((), np.dtype(bool))]

    def on_host(rows, distances):
        return Linkage(*computed(_cluster.linkage, results, rows, distances))

    def by_program(rows, distances):
        return _device.merged(rows, distances, np.int32(edge_count + 1), dtype)

    inputs = without_slopes((rows, distances))
    if any_traced(rows, distances) and edge_count and not _choice.only_the_cpu():
        return lax.platform_dependent(*inputs, cpu=on_host, default=by_program)
    return on_host(*inputs)


def _merged_on(sharding, rows, distances):
    """Return the linkage matrix of concrete edges, made on a device, and whether they are a tree's."""
    edge_count = len(distances)
    size = padded_size(edge_count)
    rows = jax.device_put(rows, sharding)
    distances = jax.device_put(distances, sharding)
    engine = _choice.engine_of(rows)
    padded_rows = engine.as_input(rows, size, sharding)
    padded_distances = engine.as_input(distances, size, sharding)
    point_count = np.int32(edge_count + 1)
    matrix, is_tree = _device.linkage(padded_rows, padded_distances, point_count, engine=engine)
    (matrix,) = first_rows(edge_count, matrix)
    return matrix, is_tree


def _signed(rows):
    """Return rows as signed integers; those that no point has stay such."""
    if not jnp.issubdtype(rows.dtype, jnp.unsignedinteger):
        return rows
    xp = jnp if isinstance(rows, jax.Array) else np
    most = min(len(rows) + 1, jnp.iinfo(rows.dtype).max)
    return xp.minimum(rows, np.asarray(most, rows.dtype)).astype(np.int64)


def _on_a_device(*arrays):
    """Return the first array that lies on one device other than the CPU."""
    for each in arrays:
        if isinstance(each, jax.Array) and [d.platform != "cpu" for d in each.devices()] == [True]:
            return each
    return None
