"""KDTree: SciPy's interface."""

import math

import jax

from .._core._programs import eagerly, eagerly_unless_traced, is_traced
from .._core._typing import Array, ArrayLike
from . import _arguments
from ._arguments import reject_traced
from ._clustering import Clustering
from ._graph_methods import GraphSearches
from ._mesh._mesh import Mesh
from ._nodes import InnerNode, LeafNode, Node, Structure, node_of
from ._pair_methods import PairSearches
from ._radius_methods import RadiusSearches
from ._settings import result_dtype
from ._structure._lengths import flat
from ._structure._open_shapes import has_open_shape, in_blocks

__all__ = ["KDTree"]


@jax.tree_util.register_pytree_node_class
class KDTree(RadiusSearches, GraphSearches, PairSearches, Clustering):
    """Find the nearest of n points in m dimensions.

    `scipy.spatial.KDTree` for any array and device: NumPy, CuPy, PyTorch and jax arrays and lists go in, jax
    arrays come out, and everything works under `jax.jit`, `jax.vmap` and `jax.grad`.

    Parameters
    ----------
    data : array_like, shape (n, m)
        The points, real and finite, n >= 0 and m >= 1. float64 stays float64 (also with x64 off), other
        floats are kept as float32, integers and booleans as float64 (exact up to 2**53).
    leafsize : int, default 10
        Points in a leaf of SciPy's structure; a hint, the other engines pick their own.
    compact_nodes, balanced_tree : bool
        Passed to SciPy where it is the engine; no effect elsewhere, and never on results. Without a balanced
        tree SciPy builds in two thirds of the time, and in many times as long where the distances of points
        span dozens of orders of magnitude.
    copy_data : bool, default False
        Copy a jax array, too, which you mean to donate or delete: otherwise it is kept as it is, as it does
        not change. Anything else is always copied.
    boxsize : float or array_like of m floats, optional
        Periodic axes: the length of each; 0, negative or inf for an axis that is not periodic. The data
        must lie in ``[0, boxsize)`` there; queries are wrapped into the box. May be traced: distances to
        points outside of the box are then wrong (pass ``data % boxsize``).
    n : int, optional
        How many of the rows count, the first ones; by default all. It may be traced: then one program serves
        clouds of many sizes. What the other rows hold does not matter: they are nobody's neighbours and have
        none. `data` keeps them, and `pad_rows` makes them.
    sharding : jax.sharding.NamedSharding, optional
        Where the points are to lie, sharded along axis 0 over devices; they are padded where they do not
        divide evenly. By default where they are. Needed for traced points on a mesh with Auto axes.
    axis_name : str or tuple of str, optional
        Inside of `jax.shard_map`: the mesh axes over which `data` are a part of the points.
    engine : {'scipy', 'lax'}, optional
        What searches; by default what suits the device. ``'lax'`` for `jax.export`, which cannot carry the
        callbacks that SciPy is called by, and inside of a `jax.shard_map` over a part of the mesh's axes.

    Raises
    ------
    TypeError
        If the data are complex or not numbers.
    ValueError
        If the data have another shape, are not finite, lie outside of the box, or are on several devices,
        neither whole on each nor sharded along axis 0 alone; if leafsize < 1 or boxsize is nan; if traced
        points do not show how they lie.

    Notes
    -----
    Engines, by the device that holds `data`: SciPy's cKDTree on the CPU (a matrix product for many queries
    in 17 dimensions and more), CUDA kernels on NVIDIA GPUs, pure `jax.lax` elsewhere; `engine` tells. Where
    the CPU is the only device, `jit` calls SciPy back (`jax.pure_callback`), once for a batch of `jax.vmap`;
    where there is a GPU, too, programs for the CPU search by `jax.lax`, unless ``engine='scipy'`` is asked
    for. Differences to SciPy:

    - of equally distant points the lowest row comes first, and is the one that counts at the k-th place;
    - rows and distances are jax arrays: rows int32 (int64 with x64 on), distances in the common dtype of
      data and queries;
    - points that are sharded along axis 0 are searched on all their devices, with the answers of one; what
      makes Python objects on the host raises TypeError there (docs/distributed.md);
    - the tree is a pytree: an argument or a result of jit, vmap and scan. No method and no attribute changes
      its leaves, and trees over as many points and with the same arguments have one structure, built inside
      of jit or outside: loops carry them. There values cannot be checked: a point that is not finite is
      nobody's neighbour, a query that is not finite has none.

    Examples
    --------
    >>> import jaxapi as xp
    >>> tree = xp.spatial.KDTree([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> distance, row = tree.query([3.0, 3.0])
    >>> float(distance), int(row)
    (1.0, 1)
    """

    node = Node
    innernode = InnerNode
    leafnode = LeafNode

    def query(
        self,
        x: ArrayLike,
        k: int | ArrayLike = 1,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: ArrayLike = math.inf,
        workers: int | None = None,
        *,
        order: str = "input",
    ) -> tuple[Array, Array]:
        """Find the `k` nearest points of each point of `x`.

        As `scipy.spatial.KDTree.query`; of equally distant points the lowest row comes first, and is the one
        that counts at the k-th place.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Query points, in the units of the data.
        k : int or sequence of int, default 1
            How many neighbours, or which ones (the nearest is 1), in any order. Static under jit.
        eps : float, default 0
            The k-th distance may be up to ``1 + eps`` times the true one.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        distance_upper_bound : float, default inf
            Only points nearer than this (not as near); with 0 or less there are none.
        workers : int, optional
            Threads for SciPy's engine, -1 for all cores; by default as many as pay. No effect elsewhere.
        order : {'input', 'tree'}, default 'input'
            'tree' needs ``x is tree.data``: line i of the results then belongs to the point
            ``tree.indices[i]``. On several devices the results so stay where they were found.

        Returns
        -------
        d : Array, shape x.shape[:-1] + (len(k),), floating
            Distances, nearest first, in the units of the data; inf where there is no neighbour. The last axis
            is dropped for ``k=1``. float64 if the data or `x` are, else float32.
        i : Array, the same shape, integer
            Rows of `data`; n where there is no neighbour. Mask by ``i < tree.n`` before you look rows up: JAX
            clamps an index out of range to the last point.

        Raises
        ------
        TypeError
            If `x` is complex or not numbers, or `workers` no integer.
        ValueError
            If the last axis of `x` is not m, if `x` is not finite, if a k < 1, p < 1, or workers is 0.

        Notes
        -----
        Works under jit and vmap. Derivatives flow to `x` and to the data (through a tree built under the same
        transformation or passed through it), to a traced `boxsize` too, and of any order. A distance has a
        kink at 0: all its derivatives are 0 there, where squares of `displacements` are smooth. Under a
        transformation a query that is not finite has no neighbours. For `jax.export` the number of queries
        may be a symbol.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
        >>> d, i = tree.query([[0.0, 0.0], [6.0, 0.0]], k=2)
        >>> d.tolist(), i.tolist()
        ([[0.0, 5.0], [5.0, 6.0]], [[0, 1], [1, 0]])
        """
        x = _arguments.query_array(x, self._data)
        columns = _arguments.neighbour_columns(k)
        workers = workers if workers is None else _arguments.worker_count(workers)
        shape = x.shape
        if shape[-1:] != (self._m,):
            _arguments.check_vectors(x, self._m)
        bound = _arguments.limit(distance_upper_bound, "distance_upper_bound")
        eps = _arguments.limit(eps, "eps")
        if order != "input":
            _arguments.one_of(order, ("input", "tree"), "order")
            if x is not self._data:
                raise ValueError("order='tree' is the order of the tree's own points: pass tree.data as x")
        if has_open_shape(shape):
            return in_blocks(lambda x: self._portable().query(x, k, eps, p, bound), x)
        dtype, batch = result_dtype(self._data, x), shape[:-1]
        settings = self._settings(_arguments.norm_order(p), dtype, eps=eps, workers=workers)
        if len(shape) != 2:
            x = flat(x, (math.prod(batch), self._m))
        searcher = self._searcher(x, bound, eps, distances=self._rows * math.prod(batch))
        if isinstance(searcher, Mesh) and x is self._data:
            return searcher.nearest_of_all(columns, bound, settings, order)
        distances, rows = searcher.nearest(x, batch, columns, bound, settings)
        if order == "tree":
            with eagerly_unless_traced(distances):
                return distances[self.indices], rows[self.indices]
        return distances, rows

    @property
    def tree(self) -> Node:
        """The root of the structure that jit and the GPU search, a copy on the host.

        As `scipy.spatial.KDTree.tree`: inner nodes have ``split_dim``, ``split``, ``less``, ``greater`` and
        ``children``, leaves ``idx`` and ``children``. The splits are this structure's own: the points of
        ``less`` lie at or below ``split``, up to rounding, a leaf may be empty, and `leafsize` has no effect.

        Raises
        ------
        TypeError
            If the tree is traced.

        Examples
        --------
        >>> import jaxapi as xp
        >>> root = xp.spatial.KDTree([[0.0], [1.0], [3.0]]).tree
        >>> root.children, root.less.children + root.greater.children
        (3, 3)
        """
        reject_traced(is_traced(self._data), "tree", "look at it outside")
        self._refuse_on_mesh("tree", "build one of a part of the points")
        with eagerly():
            return node_of(Structure(self._structure(), self._data), 1)
