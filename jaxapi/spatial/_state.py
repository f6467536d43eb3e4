"""What a KDTree keeps, and how it becomes a pytree or a pickle; the choice of what searches it."""

import copy
import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core._dtypes import x64_for
from .._core._programs import any_traced, compiled, eagerly, eagerly_unless_traced, is_traced
from .._core._typing import Array, ArrayLike
from .._interop import as_array
from . import _arguments, _lax
from ._device import _engines
from ._device._arrays import as_dtype, constant_on, placed_like
from ._device._device import Device
from ._device._structure import structure
from ._host._clouds import Cloud, Options
from ._host._host import Host
from ._mesh._layout import Layout, arguments_of, layout_now, place_points
from ._mesh._mesh import Mesh
from ._select import select_engine
from ._settings import SearchSettings, index_dtype
from ._structure._build import padded_size
from ._structure._lengths import first_lines
from ._structure._metric import into_box
from ._structure._open_shapes import has_open_shape
from ._structure._tree import FLAT_FROM

__all__ = ["TreeState"]


class TreeState:
    """The points, the settings, and the structures over them, each built at first use."""

    _data: Array  # (n, m), or more rows where `n` was given
    _count: Any  # how many rows count, where `n` was given: an operand of programs
    _rows: int
    _m: int
    _boxsize: tuple[float, ...] | Array | None  # as given; an array where it is or was traced
    _options: Options  # SciPy's
    _asked: str | None  # for which engine
    _scipy_tree: Any
    _ready: Any  # what searches concrete arrays
    _tree: Any  # Tree, or on several devices a Forest
    _layout: Layout | None  # of points on several devices

    def __init__(
        self,
        data: ArrayLike,
        leafsize: int = 10,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: ArrayLike | None = None,
        *,
        n: int | Array | None = None,
        sharding: jax.sharding.NamedSharding | None = None,
        axis_name: str | tuple[str, ...] | None = None,
        engine: str | None = None,
    ):
        points = _arguments.real_array(data, copy=True)
        if points.ndim != 2:
            raise ValueError(
                "data must be of shape (n, m), where there are n points of dimension m, "
                f"got shape {points.shape}"
            )
        if has_open_shape(points.shape):
            raise TypeError(
                f"the points must be of a known shape, got {points.shape}: export a program for each number "
                "of points (the number of queries may be a symbol)"
            )
        self._m = points.shape[1]
        if self._m == 0:
            raise ValueError("data must be of shape (n, m) with m >= 1, got no dimension")
        rows = points.shape[0]
        points, self._layout = place_points(points, sharding, axis_name, n)
        if self._layout is None:
            points = _arguments.on_one_device(points)
        self._rows = rows if self._layout is None else self._layout.n
        on_mesh = self._layout is not None and not is_traced(n)  # whose layout tells
        self._count = None if on_mesh else _arguments.row_count(n, self._rows if axis_name else rows)
        self._asked = engine if engine is None else _arguments.one_of(engine, ("scipy", "lax"), "engine")
        self._boxsize = _arguments.box_lengths(boxsize, self._m)
        self._options = Options(_arguments.leaf_size(leafsize), bool(compact_nodes), bool(balanced_tree))
        self._tree = self._scipy_tree = self._ready = None
        if is_traced(points):
            points = points.astype(_arguments.floating(points.dtype))
        else:
            with eagerly():
                points = _kept(points, copy_data)
        self._data = points
        traced = any_traced(points, self._n)
        finite: Any = True
        if self._layout is not None:
            self._tree, finite = Mesh.prepare(points, self._layout, self._count)
        elif self._kind() is Device:
            self._tree, finite = structure(points, self._n, self._engine())
        elif not traced:
            finite = bool(np.isfinite(np.asarray(points)[: self._n]).all())
        if not traced:
            _check(points, self._n, finite, self._lengths)

    __init__.__qualname__ = "KDTree.__init__"  # as Python names it where an argument is wrong

    def __repr__(self) -> str:
        box = "" if self._boxsize is None else f", boxsize={self._box()}"
        devices = 1 if self._layout is None else self._layout.axes.size
        facts = f"n={self._n}, m={self._m}, dtype={self._data.dtype}, engine={self.engine!r}"
        return f"{type(self).__name__}({facts}, devices={devices}{box})"

    @property
    def data(self) -> Array:
        """The points, (n, m), in the dtype that distances are computed in."""
        return self._data

    @property
    def n(self) -> int | Array:
        """Number of points; a traced one where the argument `n` was."""
        return self._n

    @property
    def _n(self) -> Any:
        count = self._rows if self._count is None else self._count
        return count if type(count) is int or is_traced(count) else int(count)

    @property
    def m(self) -> int:
        """Number of dimensions."""
        return self._m

    @property
    def leafsize(self) -> int:
        """The leaf size asked for."""
        return self._options.leafsize

    @property
    def boxsize(self) -> np.ndarray | Array | None:
        """Length of the periodic box along each axis, (m,), as given; `None` without a box."""
        box = self._box()
        if box is None or isinstance(box, jax.Array):
            return box
        lengths = np.asarray(box)
        lengths.flags.writeable = False
        return lengths

    @property
    def size(self) -> int:
        """Number of nodes of the structure that jit and the GPU search."""
        if self._layout is not None:
            return math.prod(self._tree.tree.lower.shape[::2]) - self._layout.axes.size
        return self._structure().lower.shape[-1] - 1

    @property
    def mins(self) -> Array:
        """Least coordinate along each axis, (m,); zeros without points."""
        return self._extremes()[0]

    @property
    def maxes(self) -> Array:
        """Greatest coordinate along each axis, (m,); zeros without points."""
        return self._extremes()[1]

    def _extremes(self):
        if is_traced(self._n) or self._n:
            return _extremes(self._data, self._n)
        with x64_for(self._data.dtype):
            return (jnp.zeros((self._m,), self._data.dtype),) * 2

    @property
    def indices(self) -> Array:
        """The rows of `data` in the order of the leaves, (n,).

        On several devices the order in which they hold the points, filled up with n to the same number on
        each.
        """
        if self._layout is not None:
            return self._searcher().indices
        rows = self._structure().rows
        if is_traced(rows) or len(rows.devices()) > 1:  # under jax.set_mesh they are on all its devices
            return rows[: len(self._data)]
        return first_lines(self._n, rows)[0]

    @property
    def engine(self) -> str:
        """What searches this tree: 'scipy', 'cuda', 'lax' or 'brute'; 'traced' inside of jit."""
        if self._asked is None or is_traced(self._data):
            return _engines.engine_name(self._data)
        return "brute" if self._asked == "lax" and self._m >= FLAT_FROM else self._asked

    # --- what searches --------------------------------------------------------------------------------------

    def _kind(self, *values, distances: int = 0):
        """Return the class of what searches this tree with these values."""
        traced, engine = self._traced(*values), self._asked
        return select_engine(self._data, self._layout, engine=engine, traced=traced, distances=distances)

    def _engine(self, *values):
        """Return the engine of `_engines` that searches our structure; None: that of the platform."""
        if self._asked == "lax":
            return _lax
        return None if self._traced(*values) else _engines.engine_of(self._data)

    def _traced(self, *values) -> bool:
        """Tell whether the tree or one of these values is traced."""
        return any_traced(self._data, self._count, self._boxsize, *values)

    def _portable(self):
        """Return this tree as programs search it that are exported."""
        tree = copy.copy(self)
        if _engines.only_the_cpu():
            tree._asked, tree._ready = tree._asked or "lax", None
        return tree

    def _searcher(self, *values, kind=None, distances: int = 0) -> Any:
        """Return what searches this tree, with these values or as another tree is searched."""
        traced = any_traced(self._data, self._count, self._boxsize, *values)
        # Of many dimensions the number of distances decides.
        if self._ready and not traced and self._m < FLAT_FROM and kind in (None, type(self._ready)):
            return self._ready
        kind = kind or self._kind(*values, distances=distances)
        if self._layout is not None:
            return Mesh(self._data, self._tree, layout_now(self._layout, self._data), self._count)
        found: Any
        if kind is Host:
            found = Host(self._data, self._n, None if self._traced() else self._scipy, self._options)
        else:
            found = Device(self._data, self._n, self._structure(), self._engine(*values), traced)
        if not traced:
            self._ready = found
        return found

    def _searchers(self, other: "TreeState", *values):
        """Return what searches this tree and `other`, whose images are brought into this tree's box."""
        if self._layout is not None or other._layout is not None:
            kind = other._kind(self._lengths)
            return self._searcher(), other._inside(self._lengths, kind)._searcher()
        values = self._data, self._count, self._boxsize, other._data, other._count, *values
        kind = self._kind(*values)
        mine = self._searcher(*values, kind=kind)
        if other is self:
            return mine, mine
        return mine, other._inside(self._lengths, any_traced(*values))._searcher(*values, kind=kind)

    def _inside(self, lengths, traced) -> "TreeState":
        """Return this tree, or the tree of its images in the periodic box of `lengths`."""
        if lengths is None:
            return self
        if not any_traced(lengths, self._lengths) and lengths == self._lengths:
            return self
        if self._layout is not None:
            with eagerly_unless_traced(self._data, lengths):
                inside = into_box(self._data, as_dtype(lengths, self._data.dtype))
                return type(self)(inside, n=self._n, **arguments_of(self._layout, inside))
        if traced:
            inside = into_box(self._data, as_dtype(lengths, self._data.dtype))
            return type(self)(inside, n=self._count, engine=self._asked)
        points, length = np.asarray(self._data), np.asarray(lengths)
        if ((points >= 0) & (points < length))[:, length > 0].all():
            return self
        with eagerly():
            inside = into_box(points.astype(np.float64), length).astype(points.dtype)
            return type(self)(inside, *self._options, n=self._count, engine=self._asked)

    def _settings(self, p, dtype, n: int | None = None, eps=0.0, workers=None) -> SearchSettings:
        """Return what a search asks for; `n` bounds the rows."""
        if self._data.ndim != 2:
            raise ValueError(
                f"this KDTree holds clouds of shape {self._data.shape}: search it under jax.vmap"
            )
        rows = index_dtype(self._rows if n is None else n)
        lengths = None if self._boxsize is None else self._lengths
        return SearchSettings(p, lengths, dtype, rows, eps, workers)

    @property
    def _lengths(self) -> tuple[float, ...] | Array | None:
        """The periodic lengths, 0 on axes that are not periodic; None without one."""
        return _arguments.periodic_lengths(self._box())

    def _box(self) -> tuple[float, ...] | Array | None:
        """Return the box as it was given; as numbers where it was traced and no longer is."""
        if isinstance(self._boxsize, jax.Array) and not is_traced(self._boxsize):
            return tuple(np.asarray(self._boxsize, np.float64).tolist())
        return self._boxsize

    def _structure(self) -> Any:
        """Return our own structure; over concrete points it is built at first use."""
        if self._tree is not None:
            return self._tree
        if any_traced(self._data, self._count):
            return structure(self._data, self._n, self._engine())[0]
        with eagerly():
            self._tree, _ = structure(self._data, self._n, self._engine())
        return self._tree

    def _scipy(self) -> Cloud:
        """Return SciPy's structure, built at first use."""
        if self._scipy_tree is None:
            self._scipy_tree = Cloud(np.asarray(self._data), self._n, self._lengths, self._options)
        return self._scipy_tree

    def _refuse_on_mesh(self, what: str, remedy: str) -> None:
        """Refuse what needs all points in one place, where they are on several devices."""
        if self._layout is not None:
            raise TypeError(
                f"{what} needs all points in one place, and this KDTree has them on a mesh: {remedy}"
            )

    # --- pytree and pickle ----------------------------------------------------------------------------------

    def tree_flatten(self):
        """Return the arrays, and everything else as Python values.

        Our own structure is among the arrays where programs may search it: not where SciPy does.
        """
        is_array = isinstance(self._boxsize, jax.Array)
        array, numbers = (self._boxsize, None) if is_array else (None, self._boxsize)
        rows = None if self._layout is None and self._count is not None else self._rows
        aux = (rows, self._m, numbers, self._options, self._asked, self._layout and self._layout.static)
        on_host = _engines.only_the_cpu() if self._asked is None else self._asked == "scipy"
        tree = None if on_host and self._layout is None else self._structure()
        count = np.int32(self._count) if type(self._count) is int else self._count
        return (self._data, tree, array, count), aux

    @classmethod
    def tree_unflatten(cls, aux, children):
        """Put a tree together again; its values may be anything, so nothing is checked."""
        tree = object.__new__(cls)
        rows, tree._m, tree._boxsize, tree._options, tree._asked, tree._layout = aux
        tree._data, tree._tree, lengths, tree._count = children
        tree._rows = len(tree._data) if rows is None and hasattr(tree._data, "shape") else rows
        if tree._boxsize is None:
            tree._boxsize = lengths
        tree._scipy_tree = tree._ready = None
        return tree

    def __getstate__(self):
        """Return what a pickle keeps: the points and the settings, not the structures."""
        self._refuse_on_mesh(
            "pickle.dumps(tree)", "save the points of each process, and build the tree again"
        )
        state = self.__dict__ | {"_tree": None, "_scipy_tree": None, "_ready": None, "_boxsize": self._box()}
        count = self._count if self._count is None else self._n
        return state | {"_data": np.asarray(self._data), "_count": count}

    def __setstate__(self, state):
        """Take a pickled state."""
        self.__dict__.update(state | {"_data": as_array(state["_data"])})


def _kept(data, copy: bool) -> Array:
    """Return the points on their device, in the dtype they are kept in; of JAX they stay, unless `copy`."""
    dtype = _arguments.floating(data.dtype)
    with x64_for(dtype, data.dtype):
        if isinstance(data, np.ndarray):  # jnp.asarray would compile for each shape from JAX 0.12 on
            return _arguments.on_one_device(jax.device_put(np.array(data, dtype=dtype)))
        if data.dtype == dtype and not copy:
            return data
        if len(data.sharding.device_set) > 1:
            return jnp.array(data, dtype=dtype, copy=True)
        engine, n = _engines.engine_of(data), data.shape[0]
        count = constant_on(n, np.dtype(np.int32), data.sharding)
        room = engine.with_room(data, padded_size(n), data.sharding)
        return first_lines(n, _lines(room, count, dtype=dtype, engine=engine))[0]


@partial(compiled, static_argnames=("dtype", "engine"))
def _lines(room, count, *, dtype, engine):
    return _engines.run(engine, "lines", room, count, dtype=dtype)


def _check(data: Array, n: int, finite, lengths) -> None:
    """Refuse points that are not finite or lie outside of the periodic box."""
    if not finite:
        raise ValueError("data must be finite, check for nan or inf values")
    if lengths is None or is_traced(lengths) or not data.size:
        return
    with x64_for(data.dtype):
        least, greatest = (np.asarray(x) for x in _extremes(data, n))
    lengths = np.asarray(lengths)
    if (greatest >= lengths)[lengths > 0].any():
        raise ValueError("Some input data are greater than the size of the periodic box.")
    if (least < 0)[lengths > 0].any():
        raise ValueError("Negative input data are outside of the periodic box.")


def _extremes(points, n: int):
    """Return the least and greatest coordinate of the first `n` along each axis."""
    if any_traced(points, n) or len(points.sharding.device_set) > 1:
        with x64_for(points.dtype):
            return _compiled_extremes(points, n, engine=None)
    if points.devices().pop().platform == "cpu":
        rows = np.asarray(points)[:n]
        return placed_like(points, rows.min(axis=0), rows.max(axis=0))
    with eagerly(), x64_for(points.dtype):
        engine = _engines.engine_of(points)
        room = engine.with_room(points, padded_size(points.shape[0]), points.sharding)
        return _compiled_extremes(room, constant_on(n, np.dtype(np.int32), points.sharding), engine=engine)


@partial(compiled, static_argnames="engine")
def _compiled_extremes(points, n, *, engine):
    points = _engines.run(engine, "lines", points, n, dtype=points.dtype)
    return tuple(jnp.where(n > 0, each(points, axis=0), 0) for each in (jnp.nanmin, jnp.nanmax))
