"""NeighborList: the pairs of moving points, kept from step to step until a point has moved too far.

A build finds all pairs within the cutoff and the skin. Later steps measure these pairs alone, as long as
`_motion` shows that no other pair can have come within the cutoff.
"""

import functools
import json
import math
from collections.abc import Sequence
from functools import partial
from types import GenericAlias
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.custom_batching import custom_vmap
from jax.tree_util import GetAttrKey

from .._core import _lengths
from .._core._dtypes import x64_on
from .._core._programs import any_traced, compiled, eagerly_unless_traced, is_traced
from .._core._quotients import root, rounded
from .._core._typing import Array, ArrayLike
from . import _tree_arguments
from ._arrays import points_dtype
from ._cells import _cell_arguments
from ._cells._lattice import product, right_inverse
from ._cells._points import ROUNDING
from ._cells._slopes import ImageRows, lengths_of, sum_in_order, with_image_slopes
from ._kdtree import KDTree, as_points
from ._mesh import _moving
from ._mesh._layout import MeshLayout, layout_now
from ._mesh._placement import placed_as_points
from ._results import NeighborGraph, PeriodicNeighborGraph, filled
from ._searcher import EDGES_AT_FIRST
from ._tree._slopes import rows_of, without_slopes

__all__ = ["NeighborList"]

FLOAT64 = np.dtype(np.float64)
MOST_TURNS = 2.0**20  # of a point around the cell, since the last build
EDGE_BYTES = 20  # of two rows and three numbers of a shift


class _Settings(NamedTuple):
    """What a list was asked for."""

    cutoff: float
    skin: float
    periodic: tuple[bool, ...]
    engine: Literal["scipy", "lax"] | None
    layout: MeshLayout | None = None  # of points on several devices

    def layout_of(self, points: "_Points") -> MeshLayout | None:
        """Return on which devices points of this list are, as the caller sees them."""
        if self.layout is None:
            return None
        layout = layout_now(self.layout, points.positions)
        if layout.mesh is None:
            raise TypeError(
                "inside of jax.shard_map each device has a part of this NeighborList alone: call it outside, "
                "where it runs on all devices by itself"
            )
        return layout


@partial(export.register_namedtuple_serialization, serialized_name="jaxapi.spatial.NeighborList.points")
class _Points(NamedTuple):
    """Where points are, and in which cell."""

    positions: Any  # (n, m)
    cell: Any  # (m, m) or (clouds, m, m), None without one
    ids: Any  # (n,) the cloud of each, None where all are of one


@partial(export.register_namedtuple_serialization, serialized_name="jaxapi.spatial.NeighborList.pairs")
class _Pairs(NamedTuple):
    """Pairs of points within some distance, both ways, the receivers ascending; n where there is none.

    On a mesh each device has those whose receivers are its own points, and as much room for each of these.
    """

    receivers: Any  # (e,)
    senders: Any  # (e,)
    shifts: Any  # (e, m) int32, None without a cell
    count: Any  # () the true number: above e, some were left out


@partial(export.register_namedtuple_serialization, serialized_name="jaxapi.spatial.NeighborList.build")
class _Build(NamedTuple):
    """What the last search has found, and where the points were."""

    points: _Points
    pairs: _Pairs
    needed: Any  # () the largest number of pairs that a search has found so far
    rebuilds: Any  # () int32


@jax.tree_util.register_pytree_with_keys_class
class NeighborList:
    """Keep the neighbors of points that move: a radius graph that is seldom built anew.

    All pairs within ``cutoff + skin`` are found once. As long as no point has moved half the skin, every pair
    within the cutoff is one of these. `update` moves the points, and builds anew where that no longer holds;
    `edges` are those within the cutoff now, always the same ones as of a list built anew.

    Parameters
    ----------
    positions : array_like, shape (n, m)
        The points, as `KDTree` takes them. They need not be wrapped into the cell, and may be at any step.
    cutoff : float
        Largest length of an edge, inclusive, rounded to the dtype of the positions; at least 0.
    skin : float, default 0
        How much farther pairs are looked for, at least 0. With 0 every update
        builds anew, where there are points.
    cell, periodic, batch
        As those of `KDTree`.
    max_edges : int, optional
        How many pairs within ``cutoff + skin`` there is room for, each in both directions. By default as many
        as there are, and an eighth more. Needed where the positions are traced. Static under jit.
    sharding : jax.sharding.NamedSharding, optional
        As that of `KDTree`: how the positions lie on several devices, which are to have equally many. By
        default where they are. Needed for traced positions on a mesh with Auto axes.
    engine : {'scipy', 'lax'}, optional
        As that of `KDTree`: ``'lax'`` for `jax.export`.

    Raises
    ------
    TypeError
        If the positions are complex or not numbers, they are traced and `max_edges` is not given, or they are
        on several devices and there is a cell or a batch.
    ValueError
        If cutoff or skin is negative, nan or infinite, if the positions do not divide evenly among devices,
        and as of `KDTree`.

    Notes
    -----
    A list is a pytree, and `update` returns one of the same structure: it is the carry of `jax.lax.scan` and
    `while_loop`. The device decides whether to build anew, by `jax.lax.cond`. Items of `jax.vmap` and clouds
    (`batch`) are built anew together, when one of them needs it: all are searched at once anyway, and would
    fall out of step if some kept an older list.

    On several devices each has the edges whose receivers are its own points, and gathers the positions of all
    to measure them. Each point has room for equally many edges, of which `max_edges` is the sum, rounded up;
    `needed` is n times the most that a point has. There are pads behind the edges of each device, so the
    receivers of all do not ascend. The rest is as on one device, under jit and grad, too; lists on several
    devices are not exported, and not used inside of `jax.shard_map`.

    Why no pair is missed. Let ``x0`` and ``H0`` be the points and the periodic vectors of the cell, in rows,
    when the list was built, ``x`` and ``H`` those of now, and ``F`` a matrix with ``H0 @ F = H``; here
    ``F = I + E`` with ``E = pinv(H0) @ (H - H0)``. Each point is where the cell has carried it, or an image
    of that, and moved by ``u`` from there: ``x = x0 @ F + k @ H + u``, for any whole numbers ``k``. The image
    of a pair that had the shift ``s`` has ``s - k[sender] + k[receiver]`` now, and its vector is
    ``v = v0 @ F + u[sender] - u[receiver]``. So ``|v| >= (1 - |E|) |v0| - 2 max|u|``, which is more than the
    cutoff for every pair with ``|v0| > cutoff + skin`` if ``2 max|u| < (1 - |E|) (cutoff + skin) - cutoff``.
    This is what is asked, of each point by the strain of its own cloud, as a pair is of one, in float64 and
    less a bound of the rounding, of which each point answers for its part, with
    ``|E| <= sqrt(max row sum * max column sum of abs(E))``. With a cell that stays ``E`` is 0, and a point
    may move half the skin. A point that jumps by vectors of the cell, as one that is wrapped into it, has not
    moved. Points that a barostat scales with the cell have not moved, either: the strain alone counts then.

    Points that are not finite are refused where they are concrete, and have no neighbors where they are
    traced; the list is built anew at each step then.

    Outside of jit, an update whose points no longer fit makes room for them; inside `needed` is all that can
    tell. Check it after a loop, and update the list outside of jit before it runs again. Lists of `jax.vmap`
    have one size: make them anew, with ``max_edges=int(neighbors.needed.max())``.

    Examples
    --------
    >>> import jaxapi as xp
    >>> neighbors = xp.spatial.NeighborList([[0.1], [0.9], [5.0]], 1.0, 0.5, cell=[[10.0]])
    >>> graph = neighbors.edges()
    >>> graph.senders[graph.mask].tolist(), graph.receivers[graph.mask].tolist()
    ([1, 0], [0, 1])
    >>> moved = neighbors.update([[-0.1], [1.1], [5.0]])
    >>> int(moved.edges().count), int(moved.rebuilds)
    (0, 0)
    """

    __class_getitem__: Any = classmethod(GenericAlias)  # `NeighborList[Array]`: types are in `__init__.pyi`

    def __init__(
        self,
        positions: ArrayLike,
        cutoff: float,
        skin: float = 0.0,
        *,
        cell: ArrayLike | None = None,
        periodic: bool | Sequence[bool] = True,
        batch: ArrayLike | None = None,
        max_edges: int | None = None,
        sharding: jax.sharding.NamedSharding | None = None,
        engine: Literal["scipy", "lax"] | None = None,
    ):
        points = _tree_arguments.real_array(positions, True, "positions")
        if points.ndim != 2 or points.shape[1] == 0:
            raise ValueError(f"positions must be of shape (n, m) with m >= 1, got {points.shape}")
        tree = KDTree(points, cell=cell, periodic=periodic, batch=batch, sharding=sharding, engine=engine)
        layout = tree._cloud.layout
        if layout is not None and len(points) % layout.axes.size:
            raise ValueError(
                f"{len(points)} positions do not divide evenly among {layout.axes.size} devices: use fewer "
                "devices, or add points that are far away"
            )
        self._settings = _Settings(
            _length(cutoff, "cutoff"),
            _length(skin, "skin"),
            tree.periodic,
            engine,
            None if layout is None else layout.static,
        )
        reach = _reach(self._settings, tree.data.dtype)
        if not math.isfinite(reach):
            raise ValueError(f"cutoff + skin must be finite in {tree.data.dtype}, got {cutoff} + {skin}")
        self._points = _Points(tree.data, tree.cell, tree.batch)
        if max_edges is not None:
            max_edges = _tree_arguments.capacity(max_edges, "max_edges")
        elif any_traced(*jax.tree.leaves(without_slopes(self._points))):
            raise TypeError(
                "the number of edges depends on values, which are traced by jit or vmap: pass max_edges, "
                "or make the list outside and update it"
            )
        self._turns = None if tree.cell is None else _no_turns(tree.data)
        self._build = _built(self._points, self._settings, max_edges)

    @property
    def _layout(self) -> MeshLayout | None:
        return self._settings.layout_of(self._points)

    # --- what it is ---------------------------------------------------------------------------------------

    @property
    def positions(self) -> Array:
        """The points now, (n, m)."""
        return self._points.positions

    @property
    def cell(self) -> Array | None:
        """The vectors of the cell now, in rows; `None` without one."""
        return self._points.cell

    @property
    def batch(self) -> Array | None:
        """The cloud that each point belongs to, (n,); `None` where all are of one."""
        return self._points.ids

    @property
    def cutoff(self) -> float:
        """Largest length of an edge."""
        return self._settings.cutoff

    @property
    def skin(self) -> float:
        """How much farther pairs are looked for."""
        return self._settings.skin

    @property
    def periodic(self) -> tuple[bool, ...]:
        """Along which vectors of the cell points are repeated, (m,); along none without a cell."""
        return self._settings.periodic

    @property
    def max_edges(self) -> int:
        """How many edges within ``cutoff + skin`` there is room for; a pair has two."""
        return self._build.pairs.senders.shape[-1]

    @property
    def needed(self) -> Array:
        """The largest number of edges within ``cutoff + skin`` that a build has found so far, ().

        Above `max_edges` some were left out.
        """
        return self._build.needed

    @property
    def rebuilds(self) -> Array:
        """How often the list was built anew, (), int32."""
        return self._build.rebuilds

    @property
    def did_buffer_overflow(self) -> Array:
        """Whether some build found more edges than there was room for; the name is jax-md's."""
        with eagerly_unless_traced(self.needed):
            return self.needed > self.max_edges

    def __repr__(self) -> str:
        n, m = self.positions.shape[-2:]
        facts = f"n={n}, m={m}, dtype={self.positions.dtype}, max_edges={self.max_edges}"
        return f"{type(self).__name__}(cutoff={self.cutoff}, skin={self.skin}, {facts})"

    # --- steps --------------------------------------------------------------------------------------------

    def update(self, positions: ArrayLike, cell: ArrayLike | None = None) -> "NeighborList":
        """Return the list of the same points at other places.

        Parameters
        ----------
        positions : array_like, shape (n, m)
            Where they are now, as many and of the same dtype.
        cell : array_like, optional
            The cell now; by default it stays.

        Returns
        -------
        NeighborList
            Of the same structure. Outside of jit, with more room where that is needed.

        Raises
        ------
        ValueError
            If there is another number of points or of dimensions, or another dtype, than the list was made
            for, if there is a cell where the list has none, or for several lists, of `jax.vmap`, outside of
            it.

        Examples
        --------
        >>> import jax, jaxapi as xp
        >>> neighbors = xp.spatial.NeighborList([[0.0], [2.0]], 1.0, 0.5)
        >>> def step(neighbors, _):
        ...     neighbors = neighbors.update(neighbors.positions * 0.8)
        ...     return neighbors, neighbors.edges().count
        >>> neighbors, counts = jax.lax.scan(step, neighbors, length=4)
        >>> counts.tolist(), int(neighbors.rebuilds), bool(neighbors.did_buffer_overflow)
        ([0, 0, 0, 2], 3, False)
        """
        points = self._checked(positions, cell)
        old = self._build
        with eagerly_unless_traced(*jax.tree.leaves((self, points))):
            settings = self._settings._replace(layout=self._layout)
            is_kept, turns = _motion(*without_slopes((old.points, points)), settings=settings)
            if is_traced(is_kept):
                is_kept = _for_all_items(is_kept)
                build = lax.cond(
                    is_kept, lambda: old, lambda: self._rebuilt_with_room(points, self.max_edges)
                )
                turns = None if turns is None else jnp.where(is_kept, turns, 0)
            elif is_kept and not self.did_buffer_overflow:
                build = old
            else:
                build = self._rebuilt(points)
                turns = None if turns is None else _no_turns(points.positions)
            return self._of(self._settings, points, turns, build)

    def edges(
        self, cutoff: float | None = None, *, fill_value: ArrayLike = math.inf
    ) -> NeighborGraph | PeriodicNeighborGraph:
        """Return the edges within the cutoff, as `KDTree.radius_graph` returns them.

        Parameters
        ----------
        cutoff : float, optional
            A smaller cutoff than that of the list: several are served by one list.
        fill_value : float, default inf
            The distance where there is no edge.

        Returns
        -------
        NeighborGraph, or with a cell PeriodicNeighborGraph
            ``senders``, ``receivers`` (ascending), ``distances`` and ``shifts``, all of length `max_edges`
            and filled up with n, `fill_value` and 0, which ``mask`` tells, and ``count``. If the last build
            has left pairs out, ``count`` is their number, above `max_edges`.

        Raises
        ------
        ValueError
            If the cutoff is negative, nan, or larger than that of the list, and for several lists, of
            `jax.vmap`, outside of it.

        Notes
        -----
        The distances have derivatives in the positions and the cell that the list was updated by, 0 at
        distance 0. They are measured in float64 and rounded to the dtype of the positions. What no one looks
        at is not computed under jit.

        Examples
        --------
        >>> import jaxapi as xp
        >>> neighbors = xp.spatial.NeighborList([[0.0], [1.0], [3.0]], 2.0, 0.5)
        >>> int(neighbors.edges().count), int(neighbors.edges(1.5).count)
        (4, 2)
        """
        self._refuse_several("edges")
        cutoff = self.cutoff if cutoff is None else _length(cutoff, "cutoff")
        dtype = self.positions.dtype
        if dtype.type(cutoff) > dtype.type(self.cutoff):
            raise ValueError(f"this list has the edges within {self.cutoff}, got cutoff {cutoff}")
        inputs = self._points, self._turns, self._build.pairs
        with eagerly_unless_traced(*jax.tree.leaves(inputs)):
            graph = _edges_within(*inputs, cutoff=cutoff, layout=self._layout)
        return filled(graph, fill_value)

    def candidates(self, *, fill_value: ArrayLike = math.inf) -> NeighborGraph | PeriodicNeighborGraph:
        """Return all pairs that the last build has found, as they lie now: the edges are among them.

        The quickest for functions that are 0 beyond the cutoff by themselves, as potentials are: no pair is
        looked for, and none moves to another place. It is what jax-md's lists have.

        Parameters
        ----------
        fill_value : float, default inf
            The distance where there is no pair.

        Returns
        -------
        NeighborGraph, or with a cell PeriodicNeighborGraph
            As that of `edges`. ``count`` is the number of pairs within ``cutoff + skin`` at the last build,
            and a little beyond, as distances are rounded; above `max_edges`, some were left out. Distances
            are those of the points now, most of them within the cutoff, others up to the cutoff and twice the
            skin, or so.

        Raises
        ------
        ValueError
            If this is several lists, of `jax.vmap`, outside of it.

        See Also
        --------
        edges : those within the cutoff alone.

        Notes
        -----
        All pairs within the cutoff are here. Which others are depends on when the list was built, so mask
        what you sum by ``graph.mask & (graph.distances <= cutoff)``. The distances have derivatives as those
        of `edges`, and what no one looks at is not computed under jit.

        Examples
        --------
        >>> import jaxapi as xp
        >>> neighbors = xp.spatial.NeighborList([[0.0], [1.0], [2.25]], 1.0, 0.5)
        >>> pairs = neighbors.candidates()
        >>> pairs.distances[pairs.mask].tolist(), int(neighbors.edges().count)
        ([1.0, 1.0, 1.25, 1.25], 2)
        """
        self._refuse_several("candidates")
        inputs = self._points, self._turns, self._build.pairs
        with eagerly_unless_traced(*jax.tree.leaves(inputs)):
            graph = _candidates(*inputs, layout=self._layout)
        return filled(graph, fill_value)

    def vectors(self, graph: NeighborGraph | PeriodicNeighborGraph) -> Array:
        """Return the vectors of edges, from receiver to sender, as functions of the positions and the cell.

        Parameters
        ----------
        graph : NeighborGraph or PeriodicNeighborGraph
            Edges of this list.

        Returns
        -------
        Array, shape (e, m)
            ``positions[senders] + shifts @ cell - positions[receivers]``, 0 where there is no edge.

        Raises
        ------
        ValueError
            If list or graph are several, of `jax.vmap`, outside of it.

        Examples
        --------
        >>> import jaxapi as xp
        >>> neighbors = xp.spatial.NeighborList([[0.5], [9.5]], 2.0, cell=[[10.0]])
        >>> graph = neighbors.edges()
        >>> neighbors.vectors(graph)[graph.mask].tolist()
        [[-1.0], [1.0]]
        """
        self._refuse_several("vectors")
        if graph.senders.ndim != 1:
            raise ValueError(
                f"these are edges of several graphs, of shape {graph.senders.shape}: "
                "call vectors under jax.vmap"
            )
        layout = self._layout
        edge_count = len(graph.senders)
        if layout is not None and edge_count % layout.axes.size:
            raise ValueError(
                f"edges of a list on {layout.axes.size} devices must lie as edges() returned them, got "
                f"{edge_count} edges"
            )
        shifts = graph.shifts if isinstance(graph, PeriodicNeighborGraph) else None
        inputs = self._points, _Pairs(graph.receivers, graph.senders, shifts, None)
        with eagerly_unless_traced(*jax.tree.leaves(inputs)):
            return _edge_vectors(*inputs, layout=layout)

    def _refuse_several(self, method: str) -> None:
        """Refuse what `jax.vmap` has made of several lists: their arrays have one axis more."""
        shape = self.positions.shape
        if len(shape) == 2:
            return
        remedy = f"call jax.vmap(NeighborList.{method})(neighbors, ...)"
        if method == "update":
            remedy += ", and to make room make them anew with max_edges=int(neighbors.needed.max())"
        raise ValueError(f"these are several lists, of positions of shape {shape}: {remedy}")

    def _checked(self, positions, cell) -> _Points:
        """Return the points at other places; what cannot be the same points is refused."""
        self._refuse_several("update")
        positions = _tree_arguments.real_array(positions, True, "positions")
        layout = self._layout
        if layout is None:
            positions = _tree_arguments.on_one_device(positions)
        old = self.positions
        if positions.shape != old.shape:
            raise ValueError(f"this list is of positions of shape {old.shape}, got shape {positions.shape}")
        if points_dtype(positions.dtype) != old.dtype:
            raise ValueError(
                f"this list is of positions of dtype {old.dtype}, got dtype {positions.dtype}: make it of "
                f"such ones, or pass positions.astype({str(old.dtype)!r})"
            )
        if layout is not None:
            positions = placed_as_points(positions, layout)
        positions = as_points(positions)
        if cell is None:
            return self._points._replace(positions=positions)
        if self.cell is None:
            raise ValueError("this list has no cell: make it with one to update it by another")
        has_clouds = self.batch is not None
        cell = _cell_arguments.cell_vectors(cell, self.periodic, positions, has_clouds)
        if cell.shape != self.cell.shape:
            raise ValueError(f"this list has a cell of shape {self.cell.shape}, got shape {cell.shape}")
        return self._points._replace(positions=positions, cell=cell)

    def _rebuilt(self, points: _Points) -> _Build:
        """Return what is found at concrete points, with room for what any build so far has needed."""
        needs_more = self.did_buffer_overflow
        return self._rebuilt_with_room(points, _room_for(int(self.needed)) if needs_more else self.max_edges)

    def _rebuilt_with_room(self, points: _Points, max_edges: int) -> _Build:
        """Return what is found at these points, as the next build of this list."""
        old = self._build
        found = _built(points, self._settings, max_edges)
        needed = jnp.maximum(old.needed, found.needed)
        return found._replace(needed=needed, rebuilds=old.rebuilds + np.int32(1))

    # --- pytrees ------------------------------------------------------------------------------------------

    def tree_flatten_with_keys(self):
        """Return the arrays by their names, and the settings."""
        names = "_points", "_turns", "_build"
        return [(GetAttrKey(name), getattr(self, name)) for name in names], self._settings

    @classmethod
    def tree_unflatten(cls, settings, children):
        """Put a list together again; its values may be anything, so nothing is checked."""
        return cls._of(settings, *children)

    @classmethod
    def _of(cls, settings: _Settings, points: _Points, turns, build: _Build) -> "NeighborList":
        neighbors = object.__new__(cls)
        neighbors._settings = settings
        neighbors._points = points
        neighbors._turns = turns
        neighbors._build = build
        return neighbors


def _written(settings: _Settings) -> bytes:
    """Return settings as `jax.export` writes them."""
    if settings.layout is not None:
        raise TypeError(
            "a program with a NeighborList of points on several devices cannot be exported: its devices are "
            "those of this process"
        )
    return json.dumps([settings.cutoff, settings.skin, settings.periodic, settings.engine]).encode()


def _read(written) -> _Settings:
    """Return settings that `jax.export` has written."""
    cutoff, skin, periodic, engine = json.loads(bytes(written))
    return _Settings(cutoff, skin, tuple(periodic), engine)


export.register_pytree_node_serialization(
    NeighborList,
    serialized_name="jaxapi.spatial.NeighborList",
    serialize_auxdata=_written,
    deserialize_auxdata=_read,
)


# --- arguments ------------------------------------------------------------------------------------------


def _length(value, name: str) -> float:
    """Return a cutoff or a skin as a Python float."""
    if is_traced(value):
        raise TypeError(f"{name} must be a Python number, not traced: mark it as static")
    length = _tree_arguments.real_number(value, name)
    if not 0 <= length < math.inf:
        raise ValueError(f"{name} must be at least 0 and finite, got {value}")
    return length


def _room_for(edge_count: int) -> int:
    """Return room for as many edges and an eighth more: their number changes while points move."""
    return _lengths.capacity(edge_count + edge_count // 8, EDGE_BYTES)


# --- builds ---------------------------------------------------------------------------------------------


def _reach(settings: _Settings, dtype) -> float:
    """Return within which distance pairs are looked for: a little more than the cutoff and the skin.

    Engines round distances, by less than that.
    """
    rounding = 64 * float(np.finfo(dtype).eps)
    with np.errstate(over="ignore"):
        return float(dtype.type((settings.cutoff + settings.skin) * (1 + rounding)))


def _built(points: _Points, settings: _Settings, max_edges: int | None) -> _Build:
    """Return what is found at these points; where they are concrete, with room for all of it."""
    points = without_slopes(points)
    layout = settings.layout_of(points)
    tree = _tree_of(points, settings, layout)
    reach = _reach(settings, points.positions.dtype)
    find = _found if layout is None else partial(_found_on_a_mesh, layout=layout)
    if max_edges is None and layout is None:
        pairs, needed = _all_found(tree, reach)
    else:
        pairs, needed = find(tree, reach, max_edges or EDGES_AT_FIRST)
        if not is_traced(needed) and (max_edges is None or int(needed) > max_edges):
            pairs, needed = find(tree, reach, _room_for(int(needed)))
    with eagerly_unless_traced(needed):
        # Each array is one of its own, so that a program may be given the memory of the whole list.
        start = jax.tree.map(jnp.copy, points)
        return _Build(start, pairs, jnp.copy(needed), jnp.zeros_like(needed, np.int32))


def _tree_of(points: _Points, settings: _Settings, layout: MeshLayout | None) -> KDTree:
    periodic: Any = True if points.cell is None else settings.periodic
    return KDTree(
        points.positions,
        cell=points.cell,
        periodic=periodic,
        batch=points.ids,
        sharding=None if layout is None else layout.sharding,
        engine=settings.engine,
    )


def _all_found(tree: KDTree, reach: float) -> tuple[_Pairs, Array]:
    """Return all pairs of concrete points, and their number."""
    return _pairs_of(tree, tree._radius_graph_with_room(reach, _room_for))


def _found(tree: KDTree, reach: float, max_edges: int) -> tuple[_Pairs, Array]:
    """Return the pairs that there is room for, and for how many it is needed."""
    return _pairs_of(tree, tree.radius_graph(reach, max_edges=max_edges))


def _pairs_of(tree: KDTree, graph) -> tuple[_Pairs, Array]:
    """Return the edges of a graph as pairs, and their true number."""
    shifts = None if tree.cell is None else graph.shifts
    return _Pairs(graph.receivers, graph.senders, shifts, graph.count), graph.count


def _found_on_a_mesh(
    tree: KDTree, reach: float, max_edges: int, *, layout: MeshLayout
) -> tuple[_Pairs, Array]:
    """Return the pairs that there is room for, the same for each point, and for how many it is needed."""
    places = -(-max_edges // layout.n)
    near: Any = tree.query_radius(tree.data, reach, max_neighbors=places + 1)
    with eagerly_unless_traced(near.counts):
        found = _moving.pairs_of(near, layout=layout)
        count = jnp.where(found.needed > found.senders.size, found.needed, found.count)
    return _Pairs(found.receivers, found.senders, None, count), found.needed


@compiled
def _no_turns(positions):
    return jnp.zeros_like(positions, dtype=np.int32)


# --- motion ---------------------------------------------------------------------------------------------


class _Motion(NamedTuple):
    """How points have moved since a build."""

    is_kept: Any  # () or (n,) whether every pair within the cutoff is among those that were found
    turns: Any  # (n, m) int32, how often each has gone around the cell, None without a cell


@partial(compiled, static_argnames="settings")
def _motion(built: _Points, now: _Points, *, settings: _Settings) -> _Motion:
    """Return how points have moved; `NeighborList` says why no pair is missed."""
    if settings.layout is None:
        is_kept, turns = _moved(built, now, settings)
        return _Motion(is_kept.all(), turns)

    def are_kept(built, now):
        return _moved(built, now, settings).is_kept.all()

    return _Motion(_moving.holds_on_all(are_kept, settings.layout, built, now), None)


def _moved(built: _Points, now: _Points, settings: _Settings) -> _Motion:
    """Return how each point has moved.

    Sums and maxima go over columns, one after the other: XLA makes one kernel of all of it then.
    """
    with x64_on():
        start = built.positions.astype(FLOAT64)
        moved = now.positions.astype(FLOAT64)
        steps = moved - start
        strain = 0.0
        skewness = 1.0
        turns = None
        if built.cell is not None:
            axes = np.flatnonzero(settings.periodic)
            lattice = _Moving.of(built.cell[..., axes, :], now.cell[..., axes, :], built.ids)
            steps, turns = lattice.steps(start, moved, axes)
            strain = lattice.strain
            skewness = lattice.skewness
        precision = 8 * float(np.finfo(built.positions.dtype).eps)
        cutoff = settings.cutoff
        reach = cutoff + settings.skin
        # Each point answers for its part of what a pair may be rounded by.
        extent = jnp.maximum(_largest(jnp.abs(start)), _largest(jnp.abs(moved))) + reach
        rounding = ROUNDING * len(settings.periodic) * skewness * extent
        allowed = (1 - strain) * reach * (1 - precision) - cutoff * (1 + precision)
        lengths = jnp.sqrt(sum_in_order(steps * steps, axis=-1))
        return _Motion(2 * (lengths + rounding) < allowed, turns)


def _largest(numbers):
    """Return the largest of a few columns (..., m), at least 0, or nan if one of them is."""
    columns = [numbers[..., column] for column in range(numbers.shape[-1])]
    return functools.reduce(jnp.maximum, columns, jnp.zeros(numbers.shape[:-1]))


class _Moving(NamedTuple):
    """A lattice that was strained: its periodic vectors, and the points that move with it."""

    vectors: Any  # (P, m) now, or (n, P, m) of the cloud of each point
    inverse: Any  # (m, P) of those of the build: a right inverse
    strain_of_space: Any  # (m, m) E of `NeighborList`
    strain: Any  # () a bound of its norm, or (n,)
    skewness: Any  # () how many times as long as their sum multiples of the vectors may be, or (n,)

    @classmethod
    def of(cls, built, now, ids) -> "_Moving":
        """Return how a lattice was strained: its vectors (P, m) at the build and now, or those of clouds."""
        built = built.astype(FLOAT64)
        now = now.astype(FLOAT64)
        inverse = right_inverse(built, jnp)
        strain_of_space = product(inverse, (now - built)[..., None, :, :])
        sizes = jnp.abs(strain_of_space)
        largest_sums = _largest(sum_in_order(sizes, axis=-1)), _largest(sum_in_order(sizes, axis=-2))
        strain = jnp.sqrt(largest_sums[0] * largest_sums[1])
        lengths = jnp.sqrt(sum_in_order(built * built, axis=-1)) * jnp.sqrt(
            sum_in_order(inverse * inverse, axis=-2)
        )
        skewness = jnp.square(1 + lengths.sum(axis=-1))
        lattice = cls(now, inverse, strain_of_space, strain, skewness)
        if now.ndim == 2:
            return lattice
        cloud = jnp.clip(ids, 0, len(now) - 1)
        return cls(*(array[cloud] for array in lattice))

    def steps(self, start, moved, axes) -> tuple:
        """Return how far points have gone (n, m) from where the cell has carried them, and turns (n, m).

        `axes` are the numbers of the vectors among those of the cell.
        """
        steps = moved - start - product(start, self.strain_of_space)
        turns = jnp.round(product(steps, self.inverse))
        is_countable = _largest(jnp.abs(turns))[:, None] < MOST_TURNS
        steps = jnp.where(is_countable, steps - product(turns, self.vectors), jnp.nan)
        turns = jnp.where(is_countable, turns, 0).astype(np.int32)
        no_turns = jnp.zeros(len(turns), np.int32)
        columns = [no_turns] * steps.shape[-1]
        for column, axis in enumerate(axes):
            columns[axis] = turns[:, column]
        return steps, jnp.stack(columns, axis=-1)


@custom_vmap
def _for_all_items(flag):
    """Return a flag, under `jax.vmap` whether it holds for all items: then `lax.cond` stays a choice."""
    return flag


@_for_all_items.def_vmap
def _for_all_items_of_a_batch(axis_size, is_batched, flags):
    return _for_all_items(flags.all(axis=0)), False


# --- edges ----------------------------------------------------------------------------------------------


@partial(compiled, static_argnames="layout")
def _candidates(points: _Points, turns, pairs: _Pairs, *, layout: MeshLayout | None):
    """Return all pairs that there are, as they lie now."""

    def measured(points, pairs):
        pairs = _turned(pairs, turns)
        distances = jnp.where(_are_pairs(points, pairs), _distances_of(without_slopes(points), pairs), np.inf)
        return _graph(points, pairs, distances)

    with x64_on():
        return _of_pairs(measured, layout, points, pairs)._replace(count=pairs.count)


@partial(compiled, static_argnames=("cutoff", "layout"))
def _edges_within(points: _Points, turns, pairs: _Pairs, *, cutoff: float, layout: MeshLayout | None):
    """Return the edges within a cutoff, in arrays as long as those of the pairs."""

    def compacted(points, pairs):
        distances = _distances_of(without_slopes(points), _turned(pairs, turns))
        is_edge = _are_pairs(points, pairs) & (distances <= distances.dtype.type(cutoff))
        compact = _Compaction(is_edge)
        n = len(points.positions)
        edges = _Pairs(
            compact(pairs.receivers, n),
            compact(pairs.senders, n),
            None if pairs.shifts is None else compact(pairs.shifts, 0),
            None,
        )
        # Shifts are turned once more: to compact those that were would take more memory and time.
        return _graph(points, _turned(edges, turns), compact(distances, np.inf))

    with x64_on():
        graph = _of_pairs(compacted, layout, points, pairs)
        count = (graph.senders < len(points.positions)).sum().astype(pairs.count.dtype)
        # Where pairs were left out nobody knows how many edges there are.
        return graph._replace(count=jnp.where(pairs.count > len(pairs.senders), pairs.count, count))


def _of_pairs(function, layout: MeshLayout | None, points: _Points, pairs: _Pairs):
    """Return what a function makes of points and pairs; on a mesh each device has a part of the pairs."""
    pairs = pairs._replace(count=None)
    if layout is None:
        return function(points, pairs)
    return _moving.of_own_pairs(function, layout, points, pairs)


class _Compaction:
    """Lines of arrays (e, ...) where a flag holds, one after another, and as long as before."""

    def __init__(self, is_kept):
        size = len(is_kept)
        ends = jnp.cumsum(is_kept, dtype=np.int32)
        places = jnp.where(is_kept, ends - 1, size)
        lines = jnp.arange(size, dtype=np.int32)
        self._lines = jnp.full(size, size, np.int32).at[places].set(lines, mode="drop")

    def __call__(self, array, fill):
        """Return an array compacted, filled up by a number."""
        return array.at[self._lines].get(mode="fill", fill_value=fill)


def _are_pairs(points: _Points, pairs: _Pairs):
    """Tell where there is a pair, (e,)."""
    return pairs.senders < len(points.positions)


def _turned(pairs: _Pairs, turns) -> _Pairs:
    """Return pairs with the shifts of points that have gone around the cell (n, m) since these were found."""
    if pairs.shifts is None or not len(turns):
        return pairs
    last_row = len(turns) - 1
    of_senders = turns[jnp.minimum(pairs.senders, last_row)]
    of_receivers = turns[jnp.minimum(pairs.receivers, last_row)]
    return pairs._replace(shifts=pairs.shifts - of_senders + of_receivers)


def _graph(points: _Points, pairs: _Pairs, distances):
    """Return pairs as a graph, whose distances are functions of the points and the cell."""
    receivers, senders, shifts, count = pairs
    if len(points.positions):
        distances = _sloped(distances, points, pairs)
    if shifts is None:
        return NeighborGraph(senders, receivers, distances, count)
    return PeriodicNeighborGraph(senders, receivers, distances, count, shifts)


def _coordinates_of(points: _Points, pairs: _Pairs) -> list:
    """Return the coordinates (e,) of the vectors from receivers to senders, float64; 0 where there is none.

    They are rounded as those of a search. One axis after the other: XLA takes twice as long for vectors whose
    coordinates lie side by side.
    """
    n, m = points.positions.shape
    if not n:
        return [jnp.zeros(len(pairs.senders))] * m
    starts, cell = _receivers_of(points, pairs)
    ends = rows_of(points.positions, pairs.senders)
    coordinates = []
    for axis in range(m):
        coordinate = ends[:, axis].astype(FLOAT64) - starts[:, axis].astype(FLOAT64)
        if cell is not None:
            along = cell[..., axis].astype(FLOAT64)
            coordinate = coordinate + sum_in_order(rounded(pairs.shifts.astype(FLOAT64) * along), axis=-1)
        coordinates.append(jnp.where(pairs.senders < n, coordinate, 0))
    return coordinates


def _distances_of(points: _Points, pairs: _Pairs):
    """Return the distances (e,) of pairs in the dtype of the points, as a search on the host rounds them."""
    dtype = points.positions.dtype
    coordinates = _coordinates_of(points, pairs)
    if dtype == np.float32:  # whose squares neither vanish nor overflow in float64
        squares = [rounded(coordinate * coordinate) for coordinate in coordinates]
        return root(functools.reduce(jnp.add, squares)).astype(dtype)
    return lengths_of(jnp.stack(coordinates, axis=-1), 2.0)


@partial(compiled, static_argnames="layout")
def _edge_vectors(points: _Points, pairs: _Pairs, *, layout: MeshLayout | None):
    """Return the vectors of edges (e, m) in the dtype of the points."""

    def vectors(points, pairs):
        return jnp.stack(_coordinates_of(points, pairs), axis=-1).astype(points.positions.dtype)

    with x64_on():
        return _of_pairs(vectors, layout, points, pairs)


def _sloped(distances, points: _Points, edges: _Pairs):
    """Return the distances (e,) of edges as a function of the points and the cell."""
    x, cell = _receivers_of(points, edges)
    # One column: each receiver is a query with one neighbor.
    images = ImageRows(edges.senders[:, None], None if edges.shifts is None else edges.shifts[:, None])
    return with_image_slopes(distances[:, None], points.positions, x, cell, images, 2.0)[:, 0]


def _receivers_of(points: _Points, pairs: _Pairs) -> tuple:
    """Return where the receivers are (e, m), and the cell of each, or of all."""
    cell = points.cell
    if cell is not None and cell.ndim == 3:
        rows = jnp.minimum(pairs.receivers, len(points.positions) - 1)
        cell = cell[jnp.clip(points.ids[rows], 0, len(cell) - 1)]
    return rows_of(points.positions, pairs.receivers), cell
