"""KDTree: SciPy's interface, argument checks, the choice between SciPy and our own structure."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from .._interop import as_array
from .._typing import Array, ArrayLike
from . import _arguments
from ._counting import PairCounts
from ._device import _engines, _queries
from ._host import _nearest as _engine_host
from ._nodes import NodeAccess
from ._pairs import PairSearch
from ._radius import RadiusSearch
from ._structure._tree import Tree

__all__ = ["KDTree"]


@jax.tree_util.register_pytree_node_class
class KDTree(RadiusSearch, PairSearch, PairCounts, NodeAccess):
    """Find the nearest of n points in m dimensions.

    `scipy.spatial.KDTree` for any array and device: NumPy, CuPy, PyTorch and jax arrays and lists go in, jax
    arrays come out, and everything works under `jax.jit`, `jax.vmap` and `jax.grad`.

    Parameters
    ----------
    data : array_like, shape (n, m)
        The points, real and finite, n >= 0 and m >= 1. float64 stays float64 (also with x64 off), other
        floats are kept as float32, integers and booleans as float64 (exact up to 2**53). A copy is kept.
    leafsize : int, default 10
        Points in a leaf of SciPy's structure; a hint, the other engines pick their own.
    compact_nodes, balanced_tree : bool
        Passed to SciPy where it is the engine; no effect elsewhere, and never on results.
    copy_data : bool
        No effect: jax arrays do not change, anything else is copied.
    boxsize : float or array_like of m floats, optional
        Periodic axes: the length of each; 0, negative or inf for an axis that is not periodic. The data
        must lie in ``[0, boxsize)`` there; queries are wrapped into the box. Concrete, not traced.

    Raises
    ------
    TypeError
        If the data are complex or not numbers.
    ValueError
        If the data have another shape, are not finite, lie outside of the box, or are spread over several
        devices; if leafsize < 1 or boxsize is nan.

    Notes
    -----
    Engines, by the device that holds `data`: SciPy's cKDTree for concrete arrays on the CPU, a Pallas kernel
    on NVIDIA GPUs, pure `jax.lax` elsewhere; `engine` tells. Differences to SciPy:

    - of equally distant points the lowest row comes first, and is the one that counts at the k-th place;
    - rows and distances are jax arrays: rows int32 (int64 with x64 on), distances in the common dtype of
      data and queries;
    - the tree is a pytree: an argument or a result of jit, vmap and scan. There values cannot be checked:
      a point that is not finite is nobody's neighbour, a query that is not finite has none.

    Examples
    --------
    >>> import jaxapi as xp
    >>> tree = xp.spatial.KDTree([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> distance, row = tree.query([3.0, 3.0])
    >>> float(distance), int(row)
    (1.0, 1)
    """

    def __init__(
        self,
        data: ArrayLike,
        leafsize: int = 10,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: ArrayLike | None = None,
    ):
        data = _arguments.real_array(data, copy=True)
        if data.ndim != 2:
            raise ValueError(
                "data must be of shape (n, m), where there are n points of dimension m, "
                f"got shape {data.shape}"
            )
        self._n, self._m = data.shape
        if self._m == 0:
            raise ValueError("data must be of shape (n, m) with m >= 1, got no dimension")
        self._leafsize = _arguments.leaf_size(leafsize)
        self._boxsize = _arguments.box_lengths(boxsize, self._m)
        self._lengths = _arguments.periodic_lengths(self._boxsize)
        self._scipy_options = (bool(compact_nodes), bool(balanced_tree))
        self._scipy_tree = None
        self._tree = None
        if _arguments.is_traced(data):
            self._data = data.astype(_arguments.floating(data.dtype))
            self._tree, _ = _queries.structure(self._data)
        else:
            with jax.core.eval_context():
                self._data = _kept(data)
                if self.engine == "scipy":
                    finite = np.isfinite(np.asarray(self._data)).all()
                else:  # a device builds while the answer comes back
                    self._tree, finite = _queries.structure(self._data)
                _check(self._data, finite, self._lengths)

    @property
    def data(self) -> Array:
        """The points, (n, m), in the dtype that distances are computed in."""
        return self._data

    @property
    def n(self) -> int:
        """Number of points."""
        return self._n

    @property
    def m(self) -> int:
        """Number of dimensions."""
        return self._m

    @property
    def leafsize(self) -> int:
        """The leaf size asked for."""
        return self._leafsize

    @property
    def boxsize(self) -> np.ndarray | None:
        """Length of the periodic box along each axis, (m,), as given; `None` without a box."""
        if self._boxsize is None:
            return None
        lengths = np.asarray(self._boxsize)
        lengths.flags.writeable = False
        return lengths

    @property
    def size(self) -> int:
        """Number of nodes of the structure that jit and the GPU search."""
        return self._structure().lower.shape[-1] - 1

    @property
    def mins(self) -> Array:
        """Least coordinate along each axis, (m,); zeros without points."""
        return jnp.min(self._data, axis=0) if self._n else jnp.zeros((self._m,), self._data.dtype)

    @property
    def maxes(self) -> Array:
        """Greatest coordinate along each axis, (m,); zeros without points."""
        return jnp.max(self._data, axis=0) if self._n else jnp.zeros((self._m,), self._data.dtype)

    @property
    def indices(self) -> Array:
        """The rows of `data` in the order of the leaves, (n,)."""
        return self._structure().rows[: self._n]

    @property
    def engine(self) -> str:
        """What searches this tree: 'scipy', 'pallas', 'lax' or 'brute'; 'traced' inside of jit."""
        return _engines.engine_name(self._data)

    def query(
        self,
        x: ArrayLike,
        k: int | ArrayLike = 1,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: float = math.inf,
        workers: int = 1,
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
        workers : int, default 1
            Threads for SciPy's engine, -1 for all cores; the other engines ignore it.

        Returns
        -------
        d : Array, shape x.shape[:-1] + (len(k),), floating
            Distances, nearest first, in the units of the data; inf where there is no neighbour. The last axis
            is dropped for ``k=1``. float64 if the data or `x` are, else float32.
        i : Array, the same shape, integer
            Rows of `data`; n where there is no neighbour.

        Raises
        ------
        TypeError
            If `x` is complex or not numbers, or `workers` no integer.
        ValueError
            If the last axis of `x` is not m, if `x` is not finite, if a k < 1, p < 1, or workers is 0.

        Notes
        -----
        Works under jit and vmap. Derivatives flow to `x` and to the data (through a tree built under the same
        transformation or passed through it); at distance 0 they are 0. Under a transformation a query that is
        not finite has no neighbours.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
        >>> d, i = tree.query([[0.0, 0.0], [6.0, 0.0]], k=2)
        >>> d.tolist(), i.tolist()
        ([[0.0, 5.0], [5.0, 6.0]], [[0, 1], [1, 0]])
        """
        if self._data.ndim != 2:
            raise ValueError(
                f"this KDTree holds clouds of shape {self._data.shape}: search it under jax.vmap"
            )
        x = _arguments.query_array(x, self._data.dtype)
        k, columns = _arguments.neighbour_columns(k)
        workers = _arguments.worker_count(workers)
        _arguments.check_vectors(x, self._m)
        p = _arguments.norm_order(p)
        bound = _arguments.limit(distance_upper_bound, "distance_upper_bound")
        eps = _arguments.limit(eps, "eps")
        batch = x.shape[:-1]
        asked = _queries.Asked(k, columns, p, bound, eps, self._lengths)
        x = x if x.ndim == 2 else x.reshape((math.prod(batch), self._m))
        if _arguments.any_traced(self._data, x, bound, eps):
            return _queries.traced(self._structure(), self._data, x, batch, asked)
        if self._n == 0:
            return _queries.without_points(self._data, x, batch, asked)
        if self._scipy_tree is not None or self.engine == "scipy":
            return _queries.on_host(self._scipy(), self._data, x, batch, asked, workers)
        with jax.core.eval_context():
            return _queries.on_device(self._structure(), self._data, x, batch, asked)

    def _structure(self) -> Tree:
        """Return our own structure, built at first use."""
        if self._tree is None:
            with jax.core.eval_context():
                self._tree, _ = _queries.structure(self._data)
        return self._tree

    def _scipy(self):
        """Return SciPy's structure, built at first use."""
        if self._scipy_tree is None:
            self._scipy_tree = _engine_host.build(
                np.asarray(self._data), self._leafsize, *self._scipy_options, self._lengths
            )
        return self._scipy_tree

    def tree_flatten(self):
        """Return the arrays, and everything else as Python values."""
        aux = (self._n, self._m, self._leafsize, self._boxsize, self._scipy_options)
        return (self._data, self._structure()), aux

    @classmethod
    def tree_unflatten(cls, aux, children):
        """Put a tree together again; its values may be anything, so nothing is checked."""
        tree = object.__new__(cls)
        tree._n, tree._m, tree._leafsize, tree._boxsize, tree._scipy_options = aux
        tree._lengths = _arguments.periodic_lengths(tree._boxsize)
        tree._data, tree._tree = children
        tree._scipy_tree = None
        return tree

    def __getstate__(self):
        """Return what a pickle keeps: the points and the settings, not the structures."""
        settings = (self._n, self._m, self._leafsize, self._boxsize, self._scipy_options)
        return {"data": np.asarray(self._data), "settings": settings}

    def __setstate__(self, state):
        """Take a pickled state."""
        data = as_array(state["data"])
        tree = type(self).tree_unflatten(state["settings"], (data, None))
        self.__dict__.update(tree.__dict__)


def _kept(data) -> Array:
    """Return a copy of the points, on their device, in the dtype they are kept in."""
    dtype = _arguments.floating(data.dtype)
    if isinstance(data, np.ndarray):
        return as_array(np.array(data, dtype=dtype))
    with _queries.width(dtype, data.dtype):
        return data if data.dtype == dtype else data.astype(dtype)


def _check(data: Array, finite, lengths) -> None:
    """Refuse points that are not finite or lie outside of the periodic box."""
    if not finite:
        raise ValueError("data must be finite, check for nan or inf values")
    if lengths is None or not data.size:
        return
    with _queries.width(data.dtype):
        least, greatest = (np.asarray(x) for x in _extremes(data))
    lengths = np.asarray(lengths)
    if (greatest >= lengths)[lengths > 0].any():
        raise ValueError("Some input data are greater than the size of the periodic box.")
    if (least < 0)[lengths > 0].any():
        raise ValueError("Negative input data are outside of the periodic box.")


@jax.jit
def _extremes(points):
    """Return the least and greatest coordinate along each axis."""
    return points.min(axis=0), points.max(axis=0)
