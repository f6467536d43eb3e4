"""KDTree: arguments are checked, a searcher is asked, and results get their shapes.

Public methods come first, in groups: the nearest, all within a radius, graphs, pairs, clusters. Then comes
how a tree becomes a pytree or a pickle. What it holds is a `Cloud`, by which `_select` chooses a searcher.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from types import GenericAlias
from typing import Any, Literal, TypeAlias, overload

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from .._core._constants import constant_on
from .._core._dtypes import x64_for
from .._core._lengths import first_rows
from .._core._programs import any_traced, compiled, eagerly, eagerly_unless_traced, is_traced
from .._core._typing import Array, ArrayLike
from .._missing import hints_at_arguments, hints_at_attributes
from . import _clusterings, _tree_arguments
from ._arrays import as_dtype, in_rows, is_on_host, placed_like, points_dtype, reject_traced
from ._build_tree import are_finite, build_tree
from ._cells import _cell_arguments
from ._cells._points import ImagePoints
from ._cloud import Cloud
from ._clusters._results import Components, DensityClusters, SpanningTree, StableClusters
from ._clusters._selection import Selection
from ._engines import _choice
from ._engines._by_platform import BY_PLATFORM
from ._mesh._layout import MeshLayout, layout_now, place_points, row_count_of_all
from ._nodes import InnerNode, LeafNode, Node, Structure, node_of
from ._results import (
    FixedNeighbors,
    FixedPairs,
    NeighborGraph,
    Neighbors,
    PeriodicFixedNeighbors,
    PeriodicNeighborGraph,
    PeriodicNeighbors,
    PeriodicPairs,
    filled,
)
from ._scipy._trees import Options
from ._search import PairWeights, Queries, Request, Search, result_dtype
from ._searcher import Searcher
from ._select import (
    clusterer_for,
    concrete_searcher_for,
    concrete_searchers_for,
    mesh_searcher,
    portable,
    searcher_for,
    searchers_for,
    searches_own_tree,
    tree_clusterer_for,
)
from ._tree._build import padded_size
from ._tree._open_shapes import has_open_shape, in_blocks
from ._tree._queries import Relation
from ._tree._slopes import without_slopes
from ._tree._tree import FLAT_FROM

__all__ = ["KDTree", "as_points"]

SPARSE = ("coo_array", "coo_matrix", "csr_array", "csr_matrix", "dok_array", "dok_matrix")
Weights: TypeAlias = ArrayLike | tuple[ArrayLike | None, ArrayLike | None]


@hints_at_arguments
@hints_at_attributes
@jax.tree_util.register_pytree_node_class
class KDTree:
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
        Copy a jax array, too, which you mean to donate or delete: otherwise points, and ids of `batch` on a
        GPU, are kept as they are, as they do not change. Anything else is always copied.
    boxsize : float or array_like of m floats, optional
        Periodic axes: the length of each; 0 or inf for an axis that is not periodic. The data
        must lie in ``[0, boxsize]`` there, where ``data % boxsize`` brings them: its last number, which SciPy
        refuses, is the same place as 0. Queries are wrapped into the box. May be traced: distances to points
        outside of the box are then wrong.
    n : int, optional
        How many of the rows count, the first ones; by default all. It may be traced: then one program serves
        clouds of many sizes. What the other rows hold does not matter: they are nobody's neighbors and have
        none. `data` keeps them, and `pad_rows` makes them.
    sharding : jax.sharding.NamedSharding, optional
        Where the points are to lie, sharded along axis 0 over devices; they are padded where they do not
        divide evenly. By default where they are. Needed for traced points on a mesh with Auto axes.
    axis_name : str or tuple of str, optional
        Inside of `jax.shard_map`: the mesh axes over which `data` are a part of the points.
    cell : array_like, shape (m, m), (clouds, m, m), (m,) or in three dimensions (6,), optional
        The vectors of a periodic cell, in rows, in the units of the data and kept in their dtype: of any
        orientation and as sheared as one likes. Or their lengths alone, for right angles. Or a, b, c, alpha,
        beta and gamma of a triclinic unit cell, the angles in degrees, laid as ASE lays it: a along the first
        axis, b in the plane of the first two. Every image of a point counts, in `boxsize` the nearest one.
        Points may lie anywhere up to 2**29 cells from the origin. With `batch` there may be one for each id
        from 0 on, by its vectors. May be traced: one that is singular or not finite, and a point that is
        farther away, has no neighbors then, nor has a query that lies on a GPU and is farther away.
    periodic : bool or sequence of m bools, default True
        Along which vectors of the `cell` the points are repeated. Static under jit.
    batch : array_like of int, shape (n,), optional
        The cloud that each point belongs to, in any order: points of other clouds are nobody's neighbors,
        and queries say by ``batch=`` which cloud they search. May be traced.
    engine : {'scipy', 'lax'}, optional
        What searches points on one device; by default what suits it. ``'lax'`` for `jax.export`, which cannot
        carry the callbacks that SciPy is called by, and inside of a `jax.shard_map` over a part of the mesh's
        axes. Points on several devices are searched by what suits these: there is no choice.

    Raises
    ------
    TypeError
        If the data are complex or not numbers, or a cell or a batch comes with points on several devices.
    ValueError
        If the cell is of another shape, not finite or singular, its lengths are not positive or its angles
        make no cell, or it comes with `boxsize`, or flags and ids are not as many as vectors and points.
        If the data have another shape, are not finite, lie outside of the box, or are on several devices,
        neither whole on each nor sharded along axis 0 alone; if leafsize < 1; if boxsize is negative or
        nan; if traced points do not show how they lie; if an engine is asked for where points are on several
        devices.

    Notes
    -----
    Engines, by the device that holds `data`: SciPy's cKDTree on the CPU (a matrix product for many queries
    in 17 dimensions and more), CUDA kernels on NVIDIA GPUs, pure `jax.lax` elsewhere; `engine` tells. Where
    the CPU is the only device, `jit` calls SciPy back, once for a batch of `jax.vmap`, but for few pairs of
    points and queries in float32, of which it computes every distance; where there is a GPU, too, programs
    for the CPU search by `jax.lax`. With ``engine='scipy'`` they always call SciPy back. Minkowski's p
    above 20, but for inf, is searched by `jax.lax` in any case: SciPy's powers of distances would be no
    numbers. Differences to SciPy:

    - of equally distant points the lowest row comes first, and is the one that counts at the k-th place;
    - rows and distances are jax arrays: rows int32 (int64 with x64 on), distances in the common dtype of
      data and queries;
    - points that are sharded along axis 0 are searched on all their devices, with the answers of one; what
      makes Python objects on the host raises TypeError there (docs/distributed.md);
    - with a `cell` every image counts, and results have one more field at the end, the shifts of the images,
      `query` and `kneighbors` with ``return_shifts=True``: the vector to a neighbor is
      ``data[i] + s @ cell - x``. Images are found and measured in float64, and distances rounded to the
      common dtype of data and queries (docs/periodic.md);
    - the tree is a pytree: an argument or a result of jit, vmap and scan. No method and no attribute changes
      its leaves, and trees over as many points and with the same arguments have one structure, built inside
      of jit or outside: loops carry them. There values cannot be checked: a point that is not finite is
      nobody's neighbor, a query that is not finite has none, as one that lies on a GPU has none anywhere.

    Examples
    --------
    >>> import jaxapi as xp
    >>> tree = xp.spatial.KDTree([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> distance, row = tree.query([3.0, 3.0])
    >>> float(distance), int(row)
    (1.0, 1)

    Every image in a cell, and clouds that do not see each other:

    >>> chain = xp.spatial.KDTree([[0.1, 0.0]], cell=[[1.0, 0.0], [0.5, 2.0]])
    >>> chain.radius_graph(1.0).shifts.tolist()
    [[-1, 0], [1, 0]]
    >>> xp.spatial.KDTree([[0.0], [0.1], [0.2]], batch=[0, 1, 0]).radius_graph(1.0).senders.tolist()
    [2, 0]
    """

    node = Node
    innernode = InnerNode
    leafnode = LeafNode
    __class_getitem__: Any = classmethod(GenericAlias)  # `KDTree[Array]`: types are in `__init__.pyi`

    _cloud: Cloud

    def __init__(
        self,
        data: ArrayLike,
        leafsize: int = 10,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: ArrayLike | None = None,
        *,
        cell: ArrayLike | None = None,
        periodic: bool | Sequence[bool] = True,
        batch: ArrayLike | None = None,
        n: int | Array | None = None,
        sharding: jax.sharding.NamedSharding | None = None,
        axis_name: str | tuple[str, ...] | None = None,
        engine: Literal["scipy", "lax"] | None = None,
    ):
        points = _tree_arguments.real_array(data, copy=True)
        _check_shape(points.shape)
        count = _tree_arguments.row_count(n, row_count_of_all(points, axis_name))
        points, layout = place_points(points, sharding, axis_name, count)
        if layout is None:
            points = _tree_arguments.on_one_device(points)
        _check_engine(engine, layout)
        boxsize = _tree_arguments.boxsize_per_axis(boxsize, points.shape[1])
        layout_has_count = layout is not None and not is_traced(count)
        self._cloud = Cloud(
            points=as_points(points, copy_data),
            traced_boxsize=boxsize if isinstance(boxsize, jax.Array) else None,
            given_count=None if layout_has_count else count,
            fixed_boxsize=None if isinstance(boxsize, jax.Array) else boxsize,
            periodic=(False,) * points.shape[1],
            options=Options(_tree_arguments.leaf_size(leafsize), bool(compact_nodes), bool(balanced_tree)),
            engine_asked=engine,
            layout=layout,
        )
        self._set_cell(cell, periodic, batch, copy_data)
        all_finite = _build(self._cloud)
        if not any_traced(self._cloud.points, self.n):
            _check_points(self._cloud, all_finite)

    def _set_cell(self, cell, periodic, batch, copy_data: bool) -> None:
        """Check the cell and the ids of clouds, and keep them, or a copy."""
        if cell is None and periodic is not True:
            raise ValueError(
                "periodic tells along which vectors of a cell points are repeated: pass cell, too"
            )
        if cell is None and batch is None:
            return
        name = "batch" if cell is None else "cell"
        cloud = self._cloud
        if cloud.boxsize is not None:
            raise ValueError(
                f"{name} and boxsize cannot come together: pass cell=numpy.diag(boxsize), in which every "
                "image counts"
            )
        remedy = "bring them to one device by jax.device_put(points, jax.devices()[0])"
        self._refuse_on_mesh(f"a KDTree with a {name}", remedy)
        if cell is not None:
            cloud.periodic = _cell_arguments.periodic_flags(periodic, cloud.m)
            cloud.cell = _cell_arguments.cell_vectors(cell, cloud.periodic, cloud.points, batch is not None)
        if batch is not None:
            cloud.ids = _cell_arguments.cloud_ids(batch, (len(cloud.points),), cloud.points, copy_data)
            if cloud.cell is not None and cloud.cell.ndim == 3:
                _cell_arguments.check_clouds(cloud.ids, len(cloud.cell))

    def __repr__(self) -> str:
        cloud = self._cloud
        period = "" if cloud.boxsize is None else f", boxsize={cloud.boxsize}"
        if cloud.cell is not None and not is_traced(cloud.cell):
            period = f", cell={np.asarray(cloud.cell).tolist()}, periodic={cloud.periodic}"
        devices = 1 if cloud.layout is None else cloud.layout.axes.size
        facts = f"n={self.n}, m={self.m}, dtype={cloud.points.dtype}, engine={self.engine!r}"
        return f"{type(self).__name__}({facts}, devices={devices}{period})"

    @property
    def data(self) -> Array:
        """The points, (n, m), in the dtype that distances are computed in."""
        return self._cloud.points

    @property
    def n(self) -> int | Array:
        """Number of points; a traced one where the argument `n` was."""
        return self._cloud.n

    @property
    def m(self) -> int:
        """Number of dimensions."""
        return self._cloud.m

    @property
    def leafsize(self) -> int:
        """The leaf size asked for."""
        return self._cloud.options.leafsize

    @property
    def boxsize(self) -> np.ndarray | Array | None:
        """Length of the periodic box along each axis, (m,), as given; `None` without a box."""
        boxsize = self._cloud.boxsize
        if boxsize is None or isinstance(boxsize, jax.Array):
            return boxsize
        sides = np.asarray(boxsize)
        sides.flags.writeable = False
        return sides

    @property
    def cell(self) -> Array | None:
        """The vectors of the periodic cell in rows, (m, m) or (clouds, m, m); `None` without one."""
        return self._cloud.cell

    @property
    def periodic(self) -> tuple[bool, ...]:
        """Along which vectors of the cell points are repeated, (m,); along none without a cell."""
        return self._cloud.periodic

    @property
    def batch(self) -> Array | None:
        """The cloud that each point belongs to, (n,); `None` where all are of one."""
        return self._cloud.ids

    @property
    def size(self) -> int:
        """Number of nodes of our own structure, which GPUs search, and jit where there is a GPU."""
        if self._cloud.layout is not None:
            return math.prod(self._cloud.tree.tree.lower.shape[::2]) - self._cloud.layout.axes.size
        return self._cloud.built_tree().lower.shape[-1] - 1

    @property
    def mins(self) -> Array:
        """Least coordinate along each axis, (m,); zeros without points."""
        return self._extremes()[0]

    @property
    def maxes(self) -> Array:
        """Greatest coordinate along each axis, (m,); zeros without points."""
        return self._extremes()[1]

    def _extremes(self):
        if is_traced(self.n) or self.n:
            return _extremes(self._cloud.points, self.n)
        with x64_for(self._cloud.points.dtype):
            return (jnp.zeros((self._cloud.m,), self._cloud.points.dtype),) * 2

    @property
    def indices(self) -> Array:
        """The rows of `data` in the order of the leaves, (n,).

        On several devices the order in which they hold the points, filled up with n to the same number on
        each.
        """
        if self._cloud.layout is not None:
            return mesh_searcher(self._cloud).indices
        rows = self._cloud.built_tree().rows
        if is_traced(rows) or len(rows.devices()) > 1:  # under jax.set_mesh they are on all its devices
            return rows[: len(self._cloud.points)]
        return first_rows(int(self.n), rows)[0]

    @property
    def engine(self) -> str:
        """What searches this tree: 'scipy', 'cuda', 'lax' or 'brute'; 'traced' inside of jit.

        On several devices what searches each of them: never 'scipy'.
        """
        if (
            self._cloud.engine_asked is None
            or self._cloud.layout is not None
            or is_traced(self._cloud.points)
        ):
            return _choice.engine_name(self._cloud.points)
        return (
            "brute"
            if self._cloud.engine_asked == "lax" and self._cloud.m >= FLAT_FROM
            else self._cloud.engine_asked
        )

    # --- the nearest ------------------------------------------------------------------------------------

    @overload
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
        batch: ArrayLike | None = None,
        return_shifts: Literal[False] = False,
    ) -> tuple[Array, Array]: ...
    @overload
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
        batch: ArrayLike | None = None,
        return_shifts: Literal[True],
    ) -> tuple[Array, Array, Array]: ...

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
        batch: ArrayLike | None = None,
        return_shifts: bool = False,
    ) -> tuple[Array, Array] | tuple[Array, Array, Array]:
        """Find the `k` nearest points of each point of `x`.

        As `scipy.spatial.KDTree.query`; of equally distant points the lowest row comes first, and is the one
        that counts at the k-th place.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Query points, in the units of the data.
        k : int or sequence of int, default 1
            How many neighbors, or which ones (the nearest is 1), in any order. Static under jit.
        eps : float, default 0
            The k-th distance may be up to ``1 + eps`` times the true one.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        distance_upper_bound : float, default inf
            Only points nearer than this (not as near); at least 0, with which there are none, as with a
            traced one below. It is rounded to the dtype of the distances, and compared with these as they
            are returned: of float32 data ``float32(distance_upper_bound)`` counts. So what `query_radius`
            finds within a radius is what is nearer, and what is as far.
        workers : int, optional
            Threads for SciPy's engine, -1 for all cores; by default as many as pay. No effect elsewhere.
        order : {'input', 'tree'}, default 'input'
            'tree' needs ``x is tree.data``: line i of the results then belongs to the point
            ``tree.indices[i]``. On several devices the results so stay where they were found.
        batch : array_like of int, broadcast to x.shape[:-1], optional
            The cloud that each query searches, where the tree has clouds.
        return_shifts : bool, default False
            Return the shifts of the images, too, where the tree has a cell. Then each image is a neighbor of
            its own, and of equally distant images of a point that with the least shift comes first.

        Returns
        -------
        d : Array, shape x.shape[:-1] + (len(k),), floating
            Distances, nearest first, in the units of the data; inf where there is no neighbor. The last axis
            is dropped for ``k=1``. float64 if the data or `x` are, else float32.
        i : Array, the same shape, integer
            Rows of `data`; n where there is no neighbor. Mask by ``i < tree.n`` before you look rows up: JAX
            clamps an index out of range to the last point.
        s : Array, shape i.shape + (m,), int32
            With `return_shifts`: the vector to the neighbor is ``data[i] + s @ cell - x``; 0 where there is
            none.

        Raises
        ------
        TypeError
            If `x` is complex or not numbers, or `workers` no integer.
        ValueError
            If the last axis of `x` is not m, if an `x` from the host is not finite, if a k < 1, p < 1,
            `distance_upper_bound` is negative or nan, workers is 0, `return_shifts` is set without a cell, or
            `batch` without clouds.

        Notes
        -----
        Works under jit and vmap. Derivatives flow to `x` and to the data (through a tree built under the same
        transformation or passed through it), to a traced `boxsize` too, and of any order. A distance has a
        kink at 0: all its derivatives are 0 there, where squares of `displacements` are smooth. Under a
        transformation and on a GPU, where nobody looks (but with `jax_debug_nans`), a query that is not
        finite has no neighbors. For `jax.export` the number of queries may be a symbol.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
        >>> d, i = tree.query([[0.0, 0.0], [6.0, 0.0]], k=2)
        >>> d.tolist(), i.tolist()
        ([[0.0, 5.0], [5.0, 6.0]], [[0, 1], [1, 0]])
        >>> crystal = xp.spatial.KDTree([[0.0, 0.0]], cell=[[1.0, 0.0], [0.0, 2.0]])
        >>> d, i, s = crystal.query([0.0, 1.5], k=2, return_shifts=True)
        >>> d.round(3).tolist(), i.tolist(), s.tolist()
        ([0.5, 1.118], [0, 0], [[0, 1], [-1, 1]])
        """
        # What most calls leave out is not looked at: a query of one point takes as long as few such steps.
        columns = _tree_arguments.neighbor_columns(k)  # first, as in SciPy, whose tests ask for its error
        cloud = self._cloud
        x = _tree_arguments.query_array(x, cloud.points)
        bound = distance_upper_bound
        if type(bound) is not float or bound != np.inf:
            bound = _tree_arguments.scalar(bound, "distance_upper_bound")
        if type(bound) is float and bound < 0:
            raise ValueError(f"distance_upper_bound must be at least 0, got {bound}")
        if type(eps) is not float or eps != 0:
            eps = _tree_arguments.scalar(eps, "eps")
        if type(p) is not float or p != 2:
            p = _tree_arguments.norm_order(p)
        ids = None
        if workers is not None:
            workers = _tree_arguments.worker_count(workers)
        if order != "input":
            self._check_tree_order(order, x)
        if batch is not None or cloud.ids is not None:
            ids = self._query_ids(batch, x.shape[:-1])
        if return_shifts:
            self._check_has_shifts()
        traced = any_traced(x, bound, eps, ids)
        if traced and has_open_shape(x.shape):
            return self._query_of_open_shape(x, k, eps, p, bound)

        search = cloud.search(p, result_dtype(cloud.points, x), eps=eps, workers=workers)
        if type(bound) is not float or bound < np.inf:
            bound = _tree_arguments.rounded(bound, search.dtype)
        queries = Queries.of(x, ids)
        searcher = searcher_for(cloud, Request(traced, search, len(queries.x), k=columns.k))

        if order == "tree":
            return self._nearest_in_tree_order(searcher, queries, columns, bound, search)
        distances, rows, shifts = searcher.nearest(queries, columns, bound, search)
        if return_shifts:
            return distances, rows, shifts
        return distances, rows

    def _check_tree_order(self, order: str, x) -> None:
        """Refuse an order that there is not, and that of the tree for queries that are not its own points."""
        _tree_arguments.one_of(order, ("input", "tree"), "order")
        if x is not self._cloud.points:
            raise ValueError("order='tree' is the order of the tree's own points: pass tree.data as x")

    def _query_of_open_shape(self, x, k, eps, p: float, bound):
        """Return the nearest of queries whose number `jax.export` leaves open."""
        self._refuse_open_shape()
        tree = self._portable()
        return in_blocks(lambda block: tree.query(block, k, eps, p, bound), x)

    def _nearest_in_tree_order(self, searcher: Searcher, queries: Queries, columns, bound, search: Search):
        """Return distances and rows of the tree's own points, in the order of its leaves."""
        self._refuse_images(
            self._cloud.has_images, "query with order='tree'", "search in the order of the input"
        )
        if self._cloud.layout is not None:
            nearest = mesh_searcher(self._cloud).nearest_in_tree_order(columns, bound, search)
            return nearest.distances, nearest.rows
        distances, rows, _ = searcher.nearest(queries, columns, bound, search)
        with eagerly_unless_traced(distances):
            return distances[self.indices], rows[self.indices]

    @property
    def tree(self) -> Node:
        """The root of our own structure, which GPUs search, and jit where there is one: a copy on the host.

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
        reject_traced(is_traced(self._cloud.points), "tree", "look at it outside")
        self._refuse_on_mesh("tree", "build one of a part of the points")
        with eagerly():
            return node_of(Structure(self._cloud.built_tree(), self._cloud.points), 1)

    # --- all within a radius ----------------------------------------------------------------------------

    def query_radius(
        self,
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: bool = True,
        max_neighbors: int | None = None,
        fill_value: ArrayLike = math.inf,
        batch: ArrayLike | None = None,
    ) -> Neighbors | FixedNeighbors | PeriodicNeighbors | PeriodicFixedNeighbors:
        """Find all points within a distance of each query, as arrays.

        The name is scikit-learn's, the result a sparse graph in CSR form: two passes, memory in proportion
        to the result, no Python lists. With `max_neighbors` the shapes are fixed, which jit, vmap and grad
        need.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Query points, in the units of the data.
        r : float or array_like, broadcast to x.shape[:-1]
            Radius of each query, inclusive, rounded to the dtype of the distances; at least 0. A traced one
            that is negative or nan has no neighbors.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        sort : bool, default False
            Bring the neighbors of each query into order by distance, then row. With `max_neighbors` they
            always are.
        return_distance : bool, default True
            If False, `distances` is None.
        max_neighbors : int, optional
            The most neighbors to return of each query. Static under jit.
        fill_value : float, default inf
            With `max_neighbors`: the distance where there is no neighbor. With 0, functions of it and their
            derivatives stay finite there: sum them by ``where(near.mask, f(near.distances), 0)``.
        batch : array_like of int, broadcast to x.shape[:-1], optional
            The cloud that each query searches, where the tree has clouds.

        Returns
        -------
        Neighbors
            ``indptr`` (q + 1,), ``indices`` and ``distances``, for the q queries of `x` in C order.
        FixedNeighbors
            With `max_neighbors`: ``indices`` and ``distances`` of shape (..., max_neighbors), filled up with
            n and `fill_value`, ``mask`` of the same shape, which are none of these, and ``counts`` (...), the
            true numbers. Where a count is above `max_neighbors`, the nearest are kept.
        PeriodicNeighbors or PeriodicFixedNeighbors
            Of a tree with a cell, whose images are neighbors each: the same and ``shifts`` (..., m), int32.

        Raises
        ------
        TypeError
            If `x` is complex, or if arrays are traced and `max_neighbors` is not given.
        ValueError
            If the last axis of `x` is not m, an `x` from the host is not finite, `r` does not broadcast, or
            is infinite where points have images, p < 1, or `max_neighbors` < 1.

        Notes
        -----
        Which neighbors there are has no derivative; the distances have, in `x` and in the data, 0 at
        distance 0. Under a transformation and on a GPU, where nobody looks (but with `jax_debug_nans`), a
        query that is not finite has no neighbors. For `jax.export` the number of queries may be a symbol.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0], [3.0]])
        >>> found = tree.query_radius([[0.0], [2.0]], 1.0, sort=True)
        >>> found.indptr.tolist(), found.indices.tolist(), found.distances.tolist()
        ([0, 2, 4], [0, 1, 1, 2], [0.0, 1.0, 1.0, 1.0])
        >>> fixed = tree.query_radius([[0.0], [2.0]], 1.0, max_neighbors=1)
        >>> fixed.indices.tolist(), fixed.counts.tolist()
        ([[0], [1]], [2, 2])

        A sum over all near points, and its derivative in ``h``:

        >>> import jax
        >>> def kernel(h):
        ...     near = tree.query_radius([0.0], 1.0, max_neighbors=3, fill_value=0.0)
        ...     return xp.sum(xp.where(near.mask, xp.exp(-((near.distances / h) ** 2)), 0.0))
        >>> round(float(jax.grad(kernel)(1.0)), 4)
        0.7358
        """
        x = _tree_arguments.query_array(x, self._cloud.points)
        ids = self._query_ids(batch, x.shape[:-1])
        if has_open_shape(x.shape) and max_neighbors is not None:
            self._refuse_open_shape()
            static = {"p": p, "return_distance": return_distance, "max_neighbors": max_neighbors}
            search_block = partial(self._portable().query_radius, fill_value=fill_value, **static)
            return in_blocks(search_block, x, self._open_radii(r, x))
        r, search = self._around(x, r, p)
        queries = Queries.of(x, ids)
        values = x, r, ids
        if max_neighbors is None:
            remedy = "pass max_neighbors for arrays of fixed shape"
            reject_traced(self._cloud.is_traced_with(*values), "query_radius", remedy)
            neighbors = concrete_searcher_for(self._cloud, search).csr(queries, r, search, sort)
        else:
            size = _tree_arguments.capacity(max_neighbors, "max_neighbors")
            request = Request(any_traced(*values), search, len(queries.x), max_neighbors=size)
            searcher = searcher_for(self._cloud, request)
            neighbors = filled(searcher.fixed(queries, r, search, size), fill_value)
        return neighbors if return_distance else neighbors._replace(distances=None)

    @overload
    def query_ball_point(
        self,
        x: ArrayLike,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        workers: int | None = None,
        return_sorted: bool | None = None,
        return_length: Literal[False] = False,
        *,
        batch: ArrayLike | None = None,
    ) -> list[int] | np.ndarray: ...
    @overload
    def query_ball_point(
        self,
        x: ArrayLike,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        workers: int | None = None,
        return_sorted: bool | None = None,
        *,
        return_length: Literal[True],
        batch: ArrayLike | None = None,
    ) -> Array: ...

    def query_ball_point(
        self,
        x: ArrayLike,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        workers: int | None = None,
        return_sorted: bool | None = None,
        return_length: bool = False,
        *,
        batch: ArrayLike | None = None,
    ) -> list[int] | np.ndarray | Array:
        """Find all points within a distance of each query, as Python lists.

        As `scipy.spatial.KDTree.query_ball_point`, but a negative radius is refused. `query_radius`
        returns arrays, which takes less time and memory and works under jit.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Query points, in the units of the data.
        r : float or array_like, broadcast to x.shape[:-1]
            Radius of each query, inclusive, rounded to the dtype of the distances.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        eps : float, default 0
            SciPy's engine may leave out points farther than ``r / (1 + eps)`` and add points nearer than
            ``r * (1 + eps)``; the other engines are exact.
        workers : int, optional
            Threads for SciPy's engine, -1 for all cores; by default as many as pay. No effect elsewhere.
        return_sorted : bool, optional
            Sort the rows of each list. By default lists are sorted where `x` has several points.
        return_length : bool, default False
            Return the numbers of neighbors instead; works under jit and vmap.
        batch : array_like of int, broadcast to x.shape[:-1], optional
            The cloud that each query searches, where the tree has clouds.

        Returns
        -------
        list of int, or object ndarray of lists of shape x.shape[:-1]
            Rows of the data; of a tree with a cell one for each image.
        Array, shape x.shape[:-1], integer
            With `return_length`, their number.

        Raises
        ------
        TypeError
            If `x` is complex, or if arrays are traced and `return_length` is not set.
        ValueError
            If the last axis of `x` is not m, an `x` from the host is not finite, `r` does not broadcast, or
            p < 1.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0], [3.0]])
        >>> tree.query_ball_point([2.0], 1.0, return_sorted=True)
        [1, 2]
        >>> tree.query_ball_point([[0.0], [2.0]], [0.5, 1.0], return_length=True).tolist()
        [1, 2]
        """
        workers = _tree_arguments.worker_count(workers)
        eps = _tree_arguments.scalar(eps, "eps")
        x = _tree_arguments.query_array(x, self._cloud.points)
        ids = self._query_ids(batch, x.shape[:-1])
        if has_open_shape(x.shape) and return_length:
            self._refuse_open_shape()
            search_block = partial(self._portable().query_ball_point, p=p, return_length=True)
            return in_blocks(search_block, x, self._open_radii(r, x))
        r, search = self._around(x, r, p, eps, workers)
        queries = Queries.of(x, ids)
        values = x, r, eps, ids
        if return_length:
            searcher = searcher_for(self._cloud, Request(any_traced(*values), search, len(queries.x)))
            return searcher.counts(queries, r, search)
        remedy = "use query_radius(x, r, max_neighbors=...)"
        reject_traced(self._cloud.is_traced_with(*values), "query_ball_point", remedy)
        shape = queries.shape
        in_order = bool(shape) if return_sorted is None else return_sorted
        lists = concrete_searcher_for(self._cloud, search).lists(queries, r, search, in_order)
        if not shape:
            return lists[0]
        array_of_lists = np.empty(len(lists), object)
        array_of_lists[:] = lists
        return array_of_lists.reshape(shape)

    def _check_has_shifts(self) -> None:
        if self._cloud.cell is None:
            raise ValueError("shifts are those of a cell: pass cell= to KDTree, or leave return_shifts out")

    def _query_ids(self, batch, shape: tuple[int, ...]):
        """Return the cloud that each query searches, (q,), None where the tree has none."""
        if self._cloud.ids is None and batch is None:
            return None
        if self._cloud.ids is None:
            raise ValueError("this KDTree has no clouds: pass batch= to KDTree, too, or leave it out here")
        if batch is None:
            raise ValueError("this KDTree has clouds: pass batch=, the cloud that each query searches")
        if has_open_shape(shape):
            self._refuse_open_shape()
        return _cell_arguments.cloud_ids(batch, shape, self._cloud.points)

    def _refuse_open_shape(self) -> None:
        """Refuse a number of queries that `jax.export` leaves open, where points have images or clouds."""
        if self._cloud.has_images:
            raise TypeError(
                "a KDTree with a cell or a batch takes a known number of queries: export a program for each"
            )

    def _open_radii(self, r, x):
        """Return a radius for each of an open number of queries."""
        return jnp.broadcast_to(
            as_dtype(_tree_arguments.numbers(r), result_dtype(self._cloud.points, x)), x.shape[:-1]
        )

    def _around(self, x, r, p, eps=0.0, workers=None):
        """Check queries, radii and p; return the radii (q,) and the search."""
        batch = x.shape[:-1]
        dtype = result_dtype(self._cloud.points, x)
        search = self._cloud.search(_tree_arguments.norm_order(p), dtype, eps=eps, workers=workers)
        r = _tree_arguments.radii_of(r, batch, dtype, on_mesh=self._cloud.layout is not None)
        return in_rows(r, (math.prod(batch),)), search

    # --- graphs of neighbors ---------------------------------------------------------------------------

    @overload
    def kneighbors(
        self,
        k: int,
        p: float = 2.0,
        *,
        distance_upper_bound: ArrayLike = math.inf,
        workers: int | None = None,
        return_shifts: Literal[False] = False,
    ) -> tuple[Array, Array]: ...
    @overload
    def kneighbors(
        self,
        k: int,
        p: float = 2.0,
        *,
        distance_upper_bound: ArrayLike = math.inf,
        workers: int | None = None,
        return_shifts: Literal[True],
    ) -> tuple[Array, Array, Array]: ...

    def kneighbors(
        self,
        k: int,
        p: float = 2.0,
        *,
        distance_upper_bound: ArrayLike = math.inf,
        workers: int | None = None,
        return_shifts: bool = False,
    ) -> tuple[Array, Array] | tuple[Array, Array, Array]:
        """Find the `k` nearest other points of each point.

        The name and the rule are scikit-learn's: a point is not its own neighbor, a duplicate of it is. (Of
        ``tree.query(tree.data, k + 1)`` the first column is another point where there are duplicates.)

        Parameters
        ----------
        k : int
            How many neighbors. Static under jit.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        distance_upper_bound : float, default inf
            Only points nearer than this, as in `query`.
        workers : int, optional
            Threads for SciPy's engine, -1 for all cores; by default as many as pay. No effect elsewhere.
        return_shifts : bool, default False
            Return the shifts of the images, too, where the tree has a cell: then a point's own images are
            others.

        Returns
        -------
        d : Array, shape (n, k), floating
            Distances, nearest first, of equal ones the lowest row first; inf where there is no neighbor.
        i : Array, shape (n, k), integer
            Rows of the data; n where there is no neighbor.
        s : Array, shape (n, k, m), int32
            With `return_shifts`, as those of `query`.

        Raises
        ------
        TypeError
            If `k` is no integer or traced.
        ValueError
            If k < 1 or p < 1, or `return_shifts` is set without a cell.

        Notes
        -----
        Works under jit and vmap; derivatives as those of `query`.

        Examples
        --------
        >>> import jaxapi as xp
        >>> d, i = xp.spatial.KDTree([[0.0], [0.0], [3.0]]).kneighbors(1)
        >>> d[:, 0].tolist(), i[:, 0].tolist()
        ([0.0, 0.0, 3.0], [1, 0, 0])
        """
        if np.ndim(k) > 0:
            raise TypeError("kneighbors(k) is of the tree's own points: for others use query(x, k)")
        k = _tree_arguments.capacity(k, "k")
        if return_shifts:
            self._check_has_shifts()
        columns = _tree_arguments.neighbor_columns(k + 1)
        workers = _tree_arguments.worker_count(workers)
        search = self._cloud.search(_tree_arguments.norm_order(p), self._cloud.points.dtype, workers=workers)
        bound = _tree_arguments.scalar(distance_upper_bound, "distance_upper_bound")
        if type(bound) is float and bound < 0:
            raise ValueError(f"distance_upper_bound must be at least 0, got {bound}")
        bound = _tree_arguments.rounded(bound, search.dtype)
        request = Request(is_traced(bound), search, self._cloud.row_count, k=columns.k)
        searcher = searcher_for(self._cloud, request)
        nearest = searcher.kneighbors(columns, bound, search)
        if return_shifts:
            return nearest.distances, nearest.rows, nearest.shifts
        return nearest.distances, nearest.rows

    def knn_graph(
        self, k: int, *, p: float = 2.0, loop: bool = False, fill_value: ArrayLike = math.inf
    ) -> NeighborGraph | PeriodicNeighborGraph:
        """Connect each point with its `k` nearest others: the edge list of a graph network.

        The name and `loop` are PyTorch Geometric's, the fields jraph's: ``senders[e]`` is one of the `k`
        nearest of ``receivers[e]``. The shape is fixed, so that it works under jit as it is.

        Parameters
        ----------
        k : int
            How many edges each point receives. Static under jit.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        loop : bool, default False
            Count a point among its own neighbors.
        fill_value : float, default inf
            The distance where there is no edge.

        Returns
        -------
        NeighborGraph
            ``senders``, ``receivers`` (ascending) and ``distances``, all (n * k,), and ``count``. Where there
            are less than `k` others, rows are n and distances `fill_value`; ``mask`` tells. Of a tree with a
            cell a PeriodicNeighborGraph, with ``shifts`` (n * k, m): a point's own images are others.

        Raises
        ------
        TypeError
            If `k` is no integer or traced.
        ValueError
            If k < 1 or p < 1.

        Notes
        -----
        The distances have derivatives in the data, 0 at distance 0.

        Examples
        --------
        >>> import jaxapi as xp
        >>> graph = xp.spatial.KDTree([[0.0], [1.0], [3.0]]).knn_graph(1)
        >>> graph.senders.tolist(), graph.receivers.tolist(), graph.distances.tolist()
        ([1, 0, 1], [0, 1, 2], [1.0, 1.0, 2.0])
        """
        k = _tree_arguments.capacity(k, "k")
        search = self._cloud.search(_tree_arguments.norm_order(p), self._cloud.points.dtype)
        columns = _tree_arguments.neighbor_columns(range(1, k + 1) if loop else k + 1)
        searcher = searcher_for(self._cloud, Request(False, search, self._cloud.row_count, k=columns.k))
        return filled(searcher.knn_graph(columns, search, loop), fill_value)

    def radius_graph(
        self,
        r: ArrayLike,
        *,
        p: float = 2.0,
        loop: bool = False,
        max_edges: int | None = None,
        fill_value: ArrayLike = math.inf,
    ) -> NeighborGraph | PeriodicNeighborGraph:
        """Connect all points within a distance of each other: the edge list of a graph network.

        The name and `loop` are PyTorch Geometric's, the fields jraph's. Each near pair gives two edges.
        ``jax.ops.segment_sum(values, graph.receivers, n)`` sums over the neighbors of each point.

        Parameters
        ----------
        r : float
            Largest distance, inclusive, rounded to the dtype of the data; at least 0.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        loop : bool, default False
            Connect each point with itself, too.
        max_edges : int, optional
            The most edges to return, which jit and vmap need. Static under jit. `jax.grad` and `jax.jvp`
            outside of these know the values and need none; the edges are searched for twice then.
        fill_value : float, default inf
            With `max_edges`: the distance where there is no edge. With 0, functions of it and their
            derivatives stay finite there: sum them by ``where(graph.mask, f(graph.distances), 0)``.

        Returns
        -------
        NeighborGraph
            ``senders``, ``receivers`` (ascending), ``distances`` and ``count``. With `max_edges` they are
            filled up with n and `fill_value`, which ``mask`` tells, and where ``count`` is above `max_edges`,
            the last receivers' edges are left out (2**31 - 1 stands for more, too). On several devices they
            may be a few lines longer, as all have equal parts. Of a tree with a cell a PeriodicNeighborGraph,
            with ``shifts`` (e, m): a point is connected with its own images, too.

        Raises
        ------
        TypeError
            If jit or vmap traces arrays and `max_edges` is not given.
        ValueError
            If p < 1, `r` is negative, nan or no single number, or `max_edges` < 1.

        Notes
        -----
        The distances have derivatives in the data, 0 at distance 0.

        Examples
        --------
        >>> import jaxapi as xp
        >>> graph = xp.spatial.KDTree([[0.0], [1.0], [3.0]]).radius_graph(1.0)
        >>> graph.senders.tolist(), graph.receivers.tolist(), graph.distances.tolist()
        ([1, 0], [0, 1], [1.0, 1.0])
        """
        search = self._cloud.search(_tree_arguments.norm_order(p), self._cloud.points.dtype)
        r = _tree_arguments.one_radius(r, search.dtype)
        relation = Relation.ANY if loop else Relation.OTHER
        if max_edges is not None:
            size = _tree_arguments.capacity(max_edges, "max_edges")
            searcher = searcher_for(self._cloud, Request(is_traced(r), search, self._cloud.row_count))
            return filled(searcher.fixed_edges(r, search, relation, size), fill_value)
        if not self._cloud.is_traced_with(r):
            return concrete_searcher_for(self._cloud, search).edges(r, search, relation)
        known = self._graph_of_known_values(r, p, relation)
        size = int(known.count)
        if not size:  # which has no derivatives
            return known
        searcher = searcher_for(self._cloud, Request(True, search, self._cloud.row_count))
        return searcher.fixed_edges(r, search, relation, size)

    def _radius_graph_with_room(self, r, room: Callable[[int], int]):
        """Return the radius graph of concrete points, filled up to the length `room(count)`."""
        search = self._cloud.search(2.0, self._cloud.points.dtype)
        r = _tree_arguments.one_radius(r, search.dtype)
        return concrete_searcher_for(self._cloud, search).edges_with_room(r, search, Relation.OTHER, room)

    def _graph_of_known_values(self, r, p, relation: Relation):
        """Return the radius graph, without derivatives, of arrays that `jax.grad` traces outside of jit."""
        cloud, r = without_slopes((self._cloud, r))
        remedy = "pass max_edges for arrays of fixed shape"
        reject_traced(cloud.is_traced_with(r), "radius_graph", remedy)
        search = cloud.search(_tree_arguments.norm_order(p), cloud.points.dtype)
        return concrete_searcher_for(cloud, search).edges(r, search, relation)

    def displacements(self, x: ArrayLike, indices: ArrayLike, *, shifts: ArrayLike | None = None) -> Array:
        """Return the vectors from query points to points of the tree, in a periodic box the shortest.

        What forces and equivariant networks need besides the distances of `query`, `query_radius` and the
        graphs; jax-md's displacement functions follow the same rule, the nearest image along each axis.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Where the vectors start.
        indices : array_like of int, shape (...) or (..., k)
            Rows of the data, n for none, as searches return: one for each point of `x`, or several.
        shifts : array_like of int, shape indices.shape + (m,), optional
            The shifts of the images, which a tree with a cell needs.

        Returns
        -------
        Array, shape indices.shape + (m,)
            With `shifts` ``data[indices] + shifts @ cell - x``. Else ``data[indices] - x``, along periodic
            axes within half a period. 0 where the row is n, and under jit, and of `indices` that lie on a
            GPU, for any other that is no row.

        Raises
        ------
        TypeError
            If `x` is complex or not numbers, or `indices` are no integers.
        IndexError
            If one of the `indices` is below 0 or above n.
        ValueError
            If the last axis of `x` is not m, or the other axes are not the first of `indices`, or `shifts`
            are missing, of another shape, or there is no cell.

        Notes
        -----
        Derivatives flow to `x`, to the data and to a traced `boxsize` or `cell`. Sums of their squares are
        smooth also where two points coincide; a distance has a kink there.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.5], [9.5]], boxsize=10.0)
        >>> graph = tree.radius_graph(2.0)
        >>> tree.displacements(tree.data[graph.receivers], graph.senders).tolist()
        [[-1.0], [1.0]]
        """
        x = _tree_arguments.query_array(x, self._cloud.points)
        rows = _tree_arguments.row_numbers(indices, x.shape[:-1])
        if self._cloud.has_images or shifts is not None:
            shifts = _cell_arguments.image_shifts(shifts, rows, self._cloud.m, self._cloud.cell is not None)
        search = self._cloud.search(2.0, result_dtype(self._cloud.points, x))
        _tree_arguments.check_rows(rows, self.n if type(self.n) is int else self._cloud.row_count)
        request = Request(any_traced(x, rows, shifts))
        return searcher_for(self._cloud, request).displacements(x, rows, shifts, search)

    # --- pairs ------------------------------------------------------------------------------------------

    def query_pairs(
        self,
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        output_type: str = "set",
        *,
        max_pairs: int | None = None,
        fill_value: ArrayLike = math.inf,
    ) -> set[tuple[int, int]] | Array | FixedPairs | PeriodicPairs:
        """Find all pairs of points within a distance of each other.

        As `scipy.spatial.KDTree.query_pairs`, but a negative radius is refused. With `max_pairs` the
        result has a fixed shape, which jit, vmap and grad need.

        Parameters
        ----------
        r : float
            Largest distance, inclusive, rounded to the dtype of the data.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        eps : float, default 0
            SciPy's engine may leave out pairs farther than ``r / (1 + eps)`` and add pairs nearer than
            ``r * (1 + eps)``; the other engines are exact.
        output_type : {'set', 'ndarray'}
            'ndarray' stands for a jax array of rows.
        max_pairs : int, optional
            The most pairs to return; `output_type` and `eps` then have no effect. Static under jit.
        fill_value : float, default inf
            With `max_pairs`: the distance where there is no pair.

        Returns
        -------
        set of (int, int)
            Rows ``i < j`` of the data.
        Array, shape (number of pairs, 2), integer
            With ``output_type='ndarray'``; the order of the pairs is left open.
        FixedPairs
            With `max_pairs`: ``pairs`` (max_pairs, 2) filled up with n, ``distances`` filled up with
            `fill_value`, ``mask``, which are none of these, and ``count``, the true number (2**31 - 1 stands
            for more, too). Where it is above `max_pairs`, which pairs are left out is left open. On several
            devices a few lines longer, as all have equal parts.
        PeriodicPairs
            Of a tree with a cell, with ``output_type='ndarray'`` or `max_pairs`: the same and ``shifts``, of
            each pair of images once. Of a point and its own images the half comes whose first number of the
            shift that is not 0 is positive.

        Raises
        ------
        TypeError
            If arrays are traced and `max_pairs` is not given.
        ValueError
            If `output_type` is unknown, or a set, which holds no shifts, of a tree with a cell, p < 1, `r` is
            negative, nan or no single number, or `max_pairs` < 1.

        Notes
        -----
        The distances have derivatives in the data, 0 at distance 0.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0], [3.0]])
        >>> tree.query_pairs(1.0)
        {(0, 1)}
        >>> found = tree.query_pairs(1.0, max_pairs=2)
        >>> found.pairs.tolist(), found.distances.tolist(), int(found.count)
        ([[0, 1], [3, 3]], [1.0, inf], 1)
        """
        eps = _tree_arguments.scalar(eps, "eps")
        search = self._cloud.search(_tree_arguments.norm_order(p), self._cloud.points.dtype, eps=eps)
        r = _tree_arguments.one_radius(r, search.dtype)
        output_type = _tree_arguments.one_of(output_type, ("set", "ndarray"))
        if max_pairs is not None:
            size = _tree_arguments.capacity(max_pairs, "max_pairs")
            searcher = searcher_for(self._cloud, Request(is_traced(r), search, self._cloud.row_count))
            return filled(searcher.fixed_pairs(r, search, size), fill_value)
        remedy = "pass max_pairs for arrays of fixed shape"
        reject_traced(self._cloud.is_traced_with(r, eps), "query_pairs", remedy)
        return concrete_searcher_for(self._cloud, search).pairs(r, search, output_type)

    def query_ball_tree(
        self, other: "KDTree", r: ArrayLike, p: float = 2.0, eps: float = 0.0
    ) -> list[list[int]]:
        """Find all pairs of points of two trees within a distance of each other, as Python lists.

        As `scipy.spatial.KDTree.query_ball_tree`, but a negative radius is refused.
        ``other.query_radius(tree.data, r)`` returns arrays.

        Parameters
        ----------
        other : KDTree
            The tree that is searched. Distances are periodic in the box of this tree, not of `other`; in its
            cell every image counts.
        r : float
            Largest distance, inclusive, rounded to the dtype of the data.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf.
        eps : float, default 0
            SciPy's engine may leave out pairs farther than ``r / (1 + eps)`` and add pairs nearer than
            ``r * (1 + eps)``; the other engines are exact.

        Returns
        -------
        list of lists of int
            For each point of this tree the rows of `other`, ascending, in a cell one for each image.

        Raises
        ------
        TypeError
            If `other` is no KDTree, or if arrays are traced.
        ValueError
            If the trees have different m, one has a cell and the other a boxsize, p < 1, or `r` is no single
            number.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0]])
        >>> tree.query_ball_tree(xp.spatial.KDTree([[0.5], [1.5]]), 0.5)
        [[0], [0, 1]]
        """
        _tree_arguments.same_dimensions(self, other, "query_ball_tree")
        self._check_clouds_with(other, "query_ball_tree")
        search, r = self._between(other, r, p, eps=_tree_arguments.scalar(eps, "eps"))
        traced = self._cloud.is_traced_with(r, search.eps) or other._cloud.is_traced_with()
        reject_traced(traced, "query_ball_tree", "use other.query_radius(tree.data, r, max_neighbors=...)")
        searcher, other_searcher = concrete_searchers_for(self._cloud, other._cloud, search)
        return searcher.ball_tree(other_searcher, r, search)

    @overload
    def sparse_distance_matrix(
        self,
        other: "KDTree",
        max_distance: ArrayLike,
        p: float = 2.0,
        output_type: Literal["dok_matrix"] = "dok_matrix",
    ) -> "scipy.sparse.dok_matrix[np.float64]": ...
    @overload
    def sparse_distance_matrix(
        self, other: "KDTree", max_distance: ArrayLike, p: float = 2.0, *, output_type: Literal["dok_array"]
    ) -> "scipy.sparse.dok_array[np.float64]": ...
    @overload
    def sparse_distance_matrix(
        self, other: "KDTree", max_distance: ArrayLike, p: float = 2.0, *, output_type: Literal["coo_matrix"]
    ) -> "scipy.sparse.coo_matrix[np.float64]": ...
    @overload
    def sparse_distance_matrix(
        self, other: "KDTree", max_distance: ArrayLike, p: float = 2.0, *, output_type: Literal["coo_array"]
    ) -> "scipy.sparse.coo_array[np.float64]": ...
    @overload
    def sparse_distance_matrix(
        self, other: "KDTree", max_distance: ArrayLike, p: float = 2.0, *, output_type: Literal["csr_matrix"]
    ) -> "scipy.sparse.csr_matrix[np.float64]": ...
    @overload
    def sparse_distance_matrix(
        self, other: "KDTree", max_distance: ArrayLike, p: float = 2.0, *, output_type: Literal["csr_array"]
    ) -> "scipy.sparse.csr_array[np.float64]": ...
    @overload
    def sparse_distance_matrix(
        self, other: "KDTree", max_distance: ArrayLike, p: float = 2.0, *, output_type: Literal["dict"]
    ) -> dict[tuple[int, int], float]: ...
    @overload
    def sparse_distance_matrix(
        self, other: "KDTree", max_distance: ArrayLike, p: float = 2.0, *, output_type: Literal["ndarray"]
    ) -> np.ndarray: ...
    def sparse_distance_matrix(
        self, other: "KDTree", max_distance: ArrayLike, p: float = 2.0, output_type: str = "dok_matrix"
    ) -> Any:
        """Compute the distances between the points of two trees, as far as they are small.

        As `scipy.spatial.KDTree.sparse_distance_matrix`, but a negative distance is refused. Distances of
        0 are stored. ``other.query_radius(tree.data, r)`` returns jax arrays.

        Parameters
        ----------
        other : KDTree
            The other tree. Distances are periodic in the box of this tree, not of `other`; in its cell the
            nearest image has the distance.
        max_distance : float
            Largest distance, inclusive, rounded to the dtype of the data.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf.
        output_type : {'dok_matrix', 'dok_array', 'coo_matrix', 'coo_array', 'dict', 'ndarray'}
            Or 'csr_matrix' or 'csr_array', which SciPy's method does not know. 'ndarray' is a record array
            with fields i, j and v; the order of its entries is left open.

        Returns
        -------
        scipy.sparse array or matrix, dict or ndarray
            Of shape (n, other.n), float64, on the host.

        Raises
        ------
        TypeError
            If `other` is no KDTree, or if arrays are traced.
        ValueError
            If the trees have different m, one has a cell and the other a boxsize, `output_type` is unknown,
            p < 1, or `max_distance` is negative, nan or no single number.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0]])
        >>> tree.sparse_distance_matrix(xp.spatial.KDTree([[0.5], [3.0]]), 1.0, output_type="dict")
        {(0, 0): 0.5, (1, 0): 0.5}
        """
        _tree_arguments.same_dimensions(self, other, "sparse_distance_matrix")
        self._check_clouds_with(other, "sparse_distance_matrix")
        output_type = _tree_arguments.one_of(output_type, (*SPARSE, "dict", "ndarray"))
        search, r = self._between(other, max_distance, p, "max_distance")
        reject_traced(
            self._cloud.is_traced_with(r) or other._cloud.is_traced_with(),
            "sparse_distance_matrix",
            "use other.query_radius(tree.data, r, max_neighbors=...)",
        )
        searcher, other_searcher = concrete_searchers_for(self._cloud, other._cloud, search)
        entries = searcher.distance_records(other_searcher, r, search)
        if output_type == "ndarray":
            return entries
        if output_type == "dict":
            places = zip(entries["i"].tolist(), entries["j"].tolist(), strict=True)
            return dict(zip(places, entries["v"].tolist(), strict=True))
        shape = (self.n, other.n)
        sparse = scipy.sparse.coo_array if output_type.endswith("array") else scipy.sparse.coo_matrix
        matrix: Any = sparse((entries["v"], (entries["i"], entries["j"])), shape=shape)
        return matrix.asformat(output_type[:3])

    @overload
    def count_neighbors(
        self, other: "KDTree", r: float, p: float = 2.0, weights: None = None, cumulative: bool = True
    ) -> int: ...
    @overload
    def count_neighbors(
        self, other: "KDTree", r: float, p: float = 2.0, *, weights: Weights, cumulative: bool = True
    ) -> float: ...
    @overload
    def count_neighbors(
        self,
        other: "KDTree",
        r: Sequence[float] | np.ndarray | Array,
        p: float = 2.0,
        weights: Weights | None = None,
        cumulative: bool = True,
    ) -> Array: ...

    def count_neighbors(
        self,
        other: "KDTree",
        r: ArrayLike,
        p: float = 2.0,
        weights: Weights | None = None,
        cumulative: bool = True,
    ) -> int | float | Array:
        """Count the pairs of points of two trees within each of several distances.

        As `scipy.spatial.KDTree.count_neighbors`, but negative and nan radii are refused. The two-point
        correlation of a catalogue with itself or a random one is made of such counts.

        Parameters
        ----------
        other : KDTree
            The other tree; the same one counts each pair twice and each point with itself. Distances are
            periodic in the box of this tree, not of `other`; in its cell every image counts.
        r : float or array_like of shape (R,)
            Largest distances, inclusive, rounded to the dtype of the data.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        weights : array_like (n,) or tuple of two, optional
            A weight for each point of this tree and of `other`, each pair counting as the product; None for
            1. A single array stands for both where `other` is this tree.
        cumulative : bool, default True
            If False, entry i counts ``r[i-1] < d <= r[i]``; `r` must then not decrease.

        Returns
        -------
        int or float
            For a single concrete `r`: int without, float with weights.
        Array, shape (R,), int64 or float64
            For several radii, exact to 2**63 without weights. Under jit with x64 off int32, and with weights
            in their dtype, float32 or float64.

        Raises
        ------
        TypeError
            If `other` is no KDTree.
        ValueError
            If the trees have different m, one has a cell and the other a boxsize, `r` is negative or nan, has
            more than one axis or decreases with ``cumulative=False``,
            the number of weights is not that of the points, or a single array of weights comes with two
            trees.
        OverflowError
            If arrays are traced with x64 off and the number of pairs may pass 2**31. The number of images
            is not known before: a count that is not below 2**31 is 2**31 - 1 then.

        Notes
        -----
        The kernel sums in float64 where the weights are concrete. Counts have no derivatives; those in
        the weights are not implemented.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0], [3.0]])
        >>> tree.count_neighbors(tree, 1.0)
        5
        >>> tree.count_neighbors(tree, [0.0, 1.0, 3.0]).tolist()
        [3, 5, 9]
        >>> tree.count_neighbors(tree, [0.0, 1.0, 3.0], cumulative=False).tolist()
        [3, 2, 4]
        """
        _tree_arguments.same_dimensions(self, other, "count_neighbors")
        dtype = np.promote_types(self._cloud.points.dtype, other._cloud.points.dtype)
        search = self._cloud.search(_tree_arguments.norm_order(p), dtype)
        radii = _tree_arguments.counted_radii(r, dtype, cumulative)
        pair_weights = PairWeights(*_tree_arguments.pair_weights(self._cloud, other._cloud, weights))
        traced = self._cloud.is_traced_with(radii, *pair_weights) or other._cloud.is_traced_with()
        if not traced and pair_weights.self_weights is not None:
            # Copies, as SciPy takes no arrays that cannot be written to.
            pair_weights = PairWeights(*(np.array(array, np.float64) for array in pair_weights))
        self._check_clouds_with(other, "count_neighbors")
        request = Request(any_traced(radii, *pair_weights), search, other._cloud.row_count * radii.size)
        searcher, other_searcher = searchers_for(self._cloud, other._cloud, request)
        if other._cloud.layout is not None and self._cloud.layout is None:
            searcher, other_searcher = other_searcher, searcher
            pair_weights = PairWeights(pair_weights.other_weights, pair_weights.self_weights)
        counts = searcher.two_point(other_searcher, radii.reshape(-1), search, pair_weights, cumulative)
        return self._counted(counts, radii, traced)

    def _check_clouds_with(self, other: "KDTree", method: str) -> None:
        """Refuse a search between two trees of which one has clouds or a cell that the other cannot have."""
        if not (self._cloud.has_images or other._cloud.has_images):
            return
        if (self._cloud.ids is None) != (other._cloud.ids is None):
            raise ValueError("of two trees one has clouds and the other none: pass batch= to both")
        if self._cloud.boxsize is not None or other._cloud.boxsize is not None:
            raise ValueError(
                "of two trees one has a cell and the other a boxsize: pass cell=numpy.diag(boxsize), in "
                "which every image counts"
            )
        for tree in (self, other):
            remedy = "bring them to one device by jax.device_put(points, jax.devices()[0])"
            tree._refuse_on_mesh(f"{method} with a cell or a batch", remedy)

    def _counted(self, counts, radii, traced: bool):
        """Return the counts within radii in the shape of these; of a single one that is known a number."""
        if traced:
            return counts.reshape(radii.shape)
        if not radii.ndim:
            return counts[0].item()
        if self._cloud.layout is None:
            return placed_like(self._cloud.points, counts)[0]
        with eagerly(), x64_for(counts.dtype):
            return jnp.asarray(counts)

    def _between(self, other, r, p, name: str = "r", eps=0.0):
        """Check p and the one radius of a search between two trees; return the search and the radius."""
        dtype = np.promote_types(self._cloud.points.dtype, other._cloud.points.dtype)
        search = self._cloud.search(
            _tree_arguments.norm_order(p), dtype, max(self._cloud.row_count, other._cloud.row_count), eps
        )
        return search, _tree_arguments.one_radius(r, search.dtype, name)

    # --- clusters ---------------------------------------------------------------------------------------

    def connected_components(self, r: ArrayLike, *, p: float = 2.0) -> Components:
        """Join all points within a distance of each other: friends of friends.

        As `scipy.sparse.csgraph.connected_components` of the pairs of `query_pairs`, which are not held in
        memory where they are many. In cosmology the groups are haloes, and `r` the linking length.

        Parameters
        ----------
        r : float
            Largest distance, inclusive, rounded to the dtype of the data. May be traced.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.

        Returns
        -------
        Components
            ``count`` and ``labels`` (n,), integers; components are numbered by their lowest row.

        Raises
        ------
        ValueError
            If `r` is negative, nan or no single number, p < 1, or more than 2**31 - 2 points lie on a mesh.

        Notes
        -----
        Works under jit, vmap and scan: on NVIDIA GPUs by kernels, elsewhere, and in 17 dimensions and more,
        by the host's SciPy; with ``engine="lax"`` exported, too. Of points on a mesh each device joins its
        own, and asks others for those near them; the labels lie as the points do, and each device needs room
        for a number for each point of all. The labels have no derivatives. Rows from the tree's `n` on have
        the label -1; traced, points that are not finite have it, too, and a negative or nan `r` joins none.

        Examples
        --------
        >>> import jaxapi as xp
        >>> found = xp.spatial.KDTree([[0.0], [9.0], [1.0]]).connected_components(1.0)
        >>> int(found.count), found.labels.tolist()
        (2, [0, 1, 0])
        """
        search = self._cloud.search(_tree_arguments.norm_order(p), self._cloud.points.dtype)
        radius = _tree_arguments.one_radius(r, search.dtype)
        clusterer = clusterer_for(self._cloud, Request(is_traced(radius), search))
        return Components(*clusterer.components(radius, search))

    def dbscan(
        self,
        eps: ArrayLike,
        min_samples: int = 5,
        *,
        p: float = 2.0,
        sample_weight: ArrayLike | None = None,
    ) -> DensityClusters:
        """Find clusters of dense points and what borders on them: DBSCAN.

        As `sklearn.cluster.DBSCAN`, with its labels; a border point belongs to the first cluster that
        reaches it.

        Parameters
        ----------
        eps : float
            Largest distance of neighbors, inclusive, rounded to the dtype of the data. May be traced.
        min_samples : int, default 5
            How many neighbors make a core, the point itself counted; with weights, their sum.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit, as is `min_samples`.
        sample_weight : array_like, shape (n,), optional
            What each point counts; negative weights keep others from being cores.

        Returns
        -------
        DensityClusters
            ``core`` (n,), bool, and ``labels`` (n,), integers, -1 for noise.

        Raises
        ------
        TypeError
            If `min_samples` is no integer.
        ValueError
            If `eps` is not above 0 or no single number, `min_samples` < 1, p < 1, `sample_weight` has
            another shape or is nan, or more than 2**31 - 2 points lie on a mesh.

        Notes
        -----
        Works under jit, vmap and scan, exported and on a mesh as `connected_components` does. There are no
        derivatives. Rows from the tree's `n` on are noise; traced, points that are not finite are, too, and
        an `eps` that is negative or nan reaches nothing.

        Examples
        --------
        >>> import jaxapi as xp
        >>> found = xp.spatial.KDTree([[0.0], [1.0], [2.0], [9.0]]).dbscan(1.0, min_samples=3)
        >>> found.core.tolist(), found.labels.tolist()
        ([False, True, False, False], [0, 0, 0, -1])
        """
        search = self._cloud.search(_tree_arguments.norm_order(p), self._cloud.points.dtype)
        radius = _tree_arguments.one_radius(eps, search.dtype, "eps")
        if not is_traced(radius) and radius == 0:
            raise ValueError(f"eps must be above 0, got {radius}")
        min_samples = _at_least(min_samples, 1, "min_samples")
        weights = sample_weight
        if weights is not None:
            weights = _tree_arguments.real_array(weights, name="sample_weight")
            inside = (
                self._cloud.layout is not None
                and layout_now(self._cloud.layout, self._cloud.points).mesh is None
            )
            n = len(self._cloud.points) if inside else self._cloud.row_count
            if weights.shape != (n,):
                raise ValueError(f"sample_weight must be of shape ({n},), got {weights.shape}")
            if not is_traced(weights) and np.isnan(np.asarray(weights)).any():
                raise ValueError("sample_weight must not be nan")
        clusterer = clusterer_for(self._cloud, Request(any_traced(radius, weights), search))
        return DensityClusters(*clusterer.dbscan(radius, weights, search, min_samples))

    def minimum_spanning_tree(self, *, min_samples: int | None = None, p: float = 2.0) -> SpanningTree:
        """Connect all points by the n - 1 edges of least length in all.

        As `scipy.sparse.csgraph.minimum_spanning_tree` of all distances, which are not held in memory. Edges
        are ordered by (distance, lower row, higher row), so that there is one such tree.

        Parameters
        ----------
        min_samples : int, optional
            Take HDBSCAN's mutual reachability distances: those of two points are at least the distance of
            each to its neighbor number `min_samples`, the point itself counted, as scikit-learn does.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit, as is `min_samples`.

        Returns
        -------
        SpanningTree
            ``rows`` (n - 1, 2), the lower first, and ``distances`` (n - 1,), ascending. `single_linkage`
            makes a dendrogram of them.

        Raises
        ------
        TypeError
            If `min_samples` is no integer, or the points are sharded over devices.
        ValueError
            If `min_samples` is below 1 or above the number of points, p < 1, or 20 < p < inf where SciPy does
            it.

        Notes
        -----
        Works under jit, vmap and scan: on NVIDIA GPUs by kernels, elsewhere, and in 17 dimensions and more,
        by the host's SciPy. GPUs compare distances in the dtype of the data, SciPy in float64. The distances
        have derivatives in the data of any order, 0 at distance 0. Rows from the tree's `n` on have no edges,
        nor have traced points that are not finite: as many at the end have rows -1 and distance inf.

        Examples
        --------
        >>> import jaxapi as xp
        >>> found = xp.spatial.KDTree([[0.0], [3.0], [1.0]]).minimum_spanning_tree()
        >>> found.rows.tolist(), found.distances.tolist()
        ([[0, 2], [1, 2]], [1.0, 2.0])
        """
        search = self._clustered("minimum_spanning_tree", p)
        min_samples = 1 if min_samples is None else self._neighbor_count(min_samples, "min_samples")
        rows, distances, measured = tree_clusterer_for(self._cloud, Request(False, search)).spanning_tree(
            search, min_samples
        )
        if len(rows) and self._cloud.is_traced_with():
            distances = _clusterings.with_slopes_of_edges(self._cloud.points, distances, measured, search)
        return SpanningTree(rows, distances)

    def hdbscan(
        self,
        min_cluster_size: int = 5,
        *,
        min_samples: int | None = None,
        cluster_selection_method: Literal["eom", "leaf"] = "eom",
        cluster_selection_epsilon: float = 0.0,
        allow_single_cluster: bool = False,
        alpha: float = 1.0,
        p: float = 2.0,
    ) -> StableClusters:
        """Find clusters of all densities: HDBSCAN.

        As `sklearn.cluster.HDBSCAN`, with its labels and probabilities; on GPUs, of edges that are equally
        long, as core distances are, another may come first, and then labels differ from scikit-learn's about
        as often as its own do when the rows are shuffled.

        Parameters
        ----------
        min_cluster_size : int, default 5
            Fewer points are no cluster.
        min_samples : int, optional
            Neighbors that make a point dense, itself counted; by default `min_cluster_size`.
        cluster_selection_method : {'eom', 'leaf'}
            Clusters that last longest ('excess of mass'), or the smallest ones.
        cluster_selection_epsilon : float, default 0
            Clusters that part at a smaller distance are one.
        allow_single_cluster : bool, default False
            Whether all points may be one cluster.
        alpha : float, default 1
            Divides the distances of points, but not those that make them dense.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. All arguments are static under jit.

        Returns
        -------
        StableClusters
            ``labels`` (n,), integers, -1 for noise, and ``probabilities`` (n,), in the dtype of the data.

        Raises
        ------
        TypeError
            If sizes are no integers, or the points are sharded over devices.
        ValueError
            If `min_cluster_size` < 2, `min_samples` is below 1 or above the number of points,
            `cluster_selection_epsilon` is negative, `alpha` is not above 0, or p < 1.

        Notes
        -----
        Works under jit, vmap and scan: on NVIDIA GPUs all of it, elsewhere, and in 17 dimensions and more, by
        the host's SciPy and NumPy. There are no derivatives. Rows from the tree's `n` on are noise, and
        traced points that are not finite.

        Examples
        --------
        >>> import jaxapi as xp
        >>> found = xp.spatial.KDTree([[0.0], [1.0], [2.0], [9.0], [9.5], [10.0]]).hdbscan(3)
        >>> found.labels.tolist(), found.probabilities.tolist()
        ([0, 0, 0, 1, 1, 1], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
        """
        search = self._clustered("hdbscan", p)
        size = _at_least(min_cluster_size, 2, "min_cluster_size")
        if min_samples is None:
            neighbor_count = self._neighbor_count(
                size, "min_samples, which is min_cluster_size unless it is given,"
            )
        else:
            neighbor_count = self._neighbor_count(min_samples, "min_samples")
        methods = ("eom", "leaf")
        method = _tree_arguments.one_of(cluster_selection_method, methods, "cluster_selection_method")
        epsilon = _fixed(cluster_selection_epsilon, "cluster_selection_epsilon")
        if epsilon < 0:
            raise ValueError(f"cluster_selection_epsilon must be at least 0, got {epsilon}")
        alpha = _fixed(alpha, "alpha")
        if not 0 < alpha < math.inf:
            raise ValueError(f"alpha must be above 0 and finite, got {alpha}")
        selection = Selection(size, method, epsilon or None, bool(allow_single_cluster))
        return StableClusters(
            *tree_clusterer_for(self._cloud, Request(False, search)).hdbscan(
                search, neighbor_count, alpha, selection
            )
        )

    def _clustered(self, method: str, p) -> Search:
        """Check what all clusterings take, and return the search."""
        self._refuse_on_mesh(method, "bring them to one device by jax.device_put(points, jax.devices()[0])")
        remedy = "cluster by connected_components or dbscan, or a tree of each cloud without a cell"
        self._refuse_images(self._cloud.has_images, method, remedy)
        return self._cloud.search(_tree_arguments.norm_order(p), self._cloud.points.dtype)

    def _neighbor_count(self, number, name: str) -> int:
        number = _at_least(number, 1, name)
        if not is_traced(self.n) and number > self.n:
            raise ValueError(
                f"{name} must be at most the number of points, got {number} of {self.n} points: pass fewer"
            )
        return number

    # --- what searches ----------------------------------------------------------------------------------

    def _portable(self):
        """Return this tree as programs search it that are exported, built once for all of their blocks."""
        tree = object.__new__(type(self))
        tree._cloud = portable(self._cloud)
        return tree

    def _refuse_images(self, is_asked: bool, what: str, remedy: str) -> None:
        """Refuse what cannot be done where points have images, or belong to clouds."""
        if is_asked:
            raise TypeError(f"{what} takes no KDTree with a cell or a batch: {remedy}")

    def _refuse_on_mesh(self, what: str, remedy: str) -> None:
        """Refuse what needs all points in one place, where they are on several devices."""
        if self._cloud.layout is not None:
            raise TypeError(
                f"{what} needs all points in one place, and this KDTree has them on a mesh: {remedy}"
            )

    # --- pytree and pickle ------------------------------------------------------------------------------

    def tree_flatten(self):
        """Return the cloud, a pytree."""
        return (self._cloud.for_programs(),), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        """Put a tree together again; its values may be anything, so nothing is checked."""
        tree = object.__new__(cls)
        (tree._cloud,) = children
        return tree

    def __getstate__(self):
        """Return what a pickle keeps: the points and the settings, not the structures."""
        self._refuse_on_mesh(
            "pickle.dumps(tree)", "save the points of each process, and build the tree again"
        )
        return self.__dict__


def _check_shape(shape: tuple[int, ...]) -> None:
    """Refuse points of another shape than (n, m), and of one that `jax.export` leaves open."""
    if len(shape) != 2:
        raise ValueError(
            f"data must be of shape (n, m), where there are n points of dimension m, got shape {shape}"
        )
    if has_open_shape(shape):
        raise TypeError(
            f"the points must be of a known shape, got {shape}: export a program for each number of points "
            "(the number of queries may be a symbol)"
        )
    if shape[1] == 0:
        raise ValueError("data must be of shape (n, m) with m >= 1, got no dimension")


def _check_engine(engine, layout: MeshLayout | None) -> None:
    """Refuse an engine that there is not, and any where points are on several devices."""
    if engine is None:
        return
    _tree_arguments.one_of(engine, ("scipy", "lax"), "engine")
    if layout is not None:
        raise ValueError(
            f"engine={engine!r} is for points on one device, and these are on several, which are "
            "searched by what suits them: leave engine out"
        )


def as_points(data, copy: bool = False) -> Array:
    """Return the points on their device, in the dtype they are kept in; of JAX they stay, unless `copy`."""
    dtype = points_dtype(data.dtype)
    if is_traced(data):
        return data.astype(dtype)
    with eagerly(), x64_for(dtype, data.dtype):
        if isinstance(data, np.ndarray):  # jnp.asarray would compile for each shape
            return _tree_arguments.on_one_device(jax.device_put(np.array(data, dtype=dtype)))
        if data.dtype == dtype and not copy:
            return data
        if len(data.sharding.device_set) > 1:
            return jnp.array(data, dtype=dtype, copy=True)
        engine = _choice.engine_of(data)
        n = data.shape[0]
        count = constant_on(n, np.dtype(np.int32), data.sharding)
        padded = engine.as_input(data, padded_size(n), data.sharding)
        return first_rows(n, _read(padded, count, dtype=dtype, engine=engine))[0]


@partial(compiled, static_argnames=("dtype", "engine"))
def _read(padded, count, *, dtype, engine):
    return engine.read_input(padded, count, dtype=dtype)


def _build(cloud: Cloud) -> Any:
    """Build our own structure, where it searches; return whether points are finite, as far as known."""
    if cloud.layout is not None:
        from ._mesh._mesh import MeshSearcher

        cloud.tree, all_finite = MeshSearcher.prepare(cloud.points, cloud.layout, cloud.given_count)
        return all_finite
    if searches_own_tree(cloud) and not cloud.has_images:
        cloud.tree, all_finite = build_tree(cloud.points, cloud.n, cloud.engine(cloud.is_traced_with()))
        return all_finite
    if any_traced(cloud.points, cloud.n):
        return True
    if not is_on_host(cloud.points):
        return are_finite(cloud.points, int(cloud.n), cloud.engine(False))
    return bool(np.isfinite(np.asarray(cloud.points)[: cloud.n]).all())


def _check_points(cloud: Cloud, all_finite) -> None:
    """Refuse concrete points that are not finite, or where they cannot be."""
    _check(cloud.points, cloud.n, all_finite, cloud.periodic_boxsize)
    if cloud.has_images and not is_on_host(cloud.points):
        # On a GPU these are looked at here, as `all_finite` does; searches look at those on the host.
        points = ImagePoints(cloud.points, cloud.n, cloud.cell, cloud.ids)
        _cell_arguments.check_turns_of_points(points, cloud.periodic)


def _check(data: Array, n, finite, boxsize) -> None:
    """Refuse points that are not finite or lie outside of the periodic box."""
    if not finite:
        raise ValueError("data must be finite, check for nan or inf values")
    if boxsize is None or is_traced(boxsize) or not n:
        return
    with x64_for(data.dtype):
        least, greatest = (np.asarray(x) for x in _extremes(data, n))
    boxsize = np.asarray(boxsize)
    # Remainders are rounded, and then may be the box's length in the points' dtype: there they stand for 0.
    if (greatest > boxsize.astype(data.dtype))[boxsize > 0].any():
        raise ValueError(
            "Some input data are greater than the size of the periodic box: pass data % boxsize."
        )
    if (least < 0)[boxsize > 0].any():
        raise ValueError("Negative input data are outside of the periodic box: pass data % boxsize.")


def _extremes(points, n: int):
    """Return the least and greatest coordinate of the first `n` along each axis."""
    if any_traced(points, n) or len(points.sharding.device_set) > 1:
        with x64_for(points.dtype):
            return _compiled_extremes(points, n, engine=BY_PLATFORM)
    if points.devices().pop().platform == "cpu":
        rows = np.asarray(points)[:n]
        return placed_like(points, rows.min(axis=0), rows.max(axis=0))
    with eagerly(), x64_for(points.dtype):
        engine = _choice.engine_of(points)
        padded = engine.as_input(points, padded_size(points.shape[0]), points.sharding)
        return _compiled_extremes(padded, constant_on(n, np.dtype(np.int32), points.sharding), engine=engine)


@partial(compiled, static_argnames="engine")
def _compiled_extremes(points, n, *, engine):
    points = engine.read_input(points, n, dtype=points.dtype)
    lowest = jnp.where(n > 0, jnp.nanmin(points, axis=0), 0)
    highest = jnp.where(n > 0, jnp.nanmax(points, axis=0), 0)
    return lowest, highest


def _at_least(number, least: int, name: str) -> int:
    number = _tree_arguments.whole(number, name)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def _fixed(value, name: str) -> float:
    """Return a number that is not traced."""
    value = _tree_arguments.scalar(value, name)
    if is_traced(value):
        raise TypeError(f"{name} must be a Python number, not traced: mark it as static")
    return value
