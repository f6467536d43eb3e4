"""A cloud: the points of a tree, with all that a search of them depends on, and the structures over them."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import jax
import numpy as np

from .._core._programs import any_traced, eagerly, is_traced
from .._core._typing import Array
from .._interop import as_array
from ._build_tree import build_tree
from ._engines import _choice, _lax
from ._engines._by_platform import BY_PLATFORM, PORTABLE
from ._engines._protocol import Engine
from ._mesh._layout import MeshLayout
from ._scipy._trees import Options, SciPyTrees
from ._search import Search, index_dtype
from ._searcher import ConcreteSearcher
from ._tree_arguments import periodic_boxsize

__all__ = ["Cloud"]


@dataclass(eq=False, kw_only=True)
class Cloud:
    """Points, the box or the cell that they lie in, which of them see each other, and who is to search them.

    The arrays are what programs trace; a structure over concrete points is built at first use and kept.
    """

    points: Any  # (rows, m), a jax array
    tree: Any = None  # our own structure: a Tree, or on several devices a Forest
    traced_boxsize: Array | None = None  # (m,) the sides of the periodic box where they are, or were, traced
    given_count: Any = None  # how many of the rows count, where the user said so
    cell: Array | None = None  # (m, m) or (clouds, m, m)
    ids: Array | None = None  # (rows,) the cloud that each point belongs to

    fixed_boxsize: tuple[float, ...] | None = jax.tree.static(default=None)  # (m,) the sides as numbers
    periodic: tuple[bool, ...] = jax.tree.static()  # (m,) along which vectors of the cell
    options: Options = jax.tree.static()  # how SciPy's trees are built
    engine_asked: Literal["scipy", "lax"] | None = jax.tree.static(default=None)  # the user's choice
    layout: MeshLayout | None = jax.tree.static(default=None)  # of points on several devices

    kept_searcher: ConcreteSearcher | None = field(default=None, init=False)  # of concrete arrays
    scipy_trees: SciPyTrees | None = field(default=None, init=False)  # over concrete points

    # --- what it is ---------------------------------------------------------------------------------------

    @property
    def m(self) -> int:
        """Number of dimensions."""
        return self.points.shape[-1]

    @property
    def row_count(self) -> int:
        """Number of rows, without those that pad them on a mesh."""
        return self.points.shape[-2] if self.layout is None else self.layout.n

    @property
    def n(self) -> int | Array:
        """Number of rows that count, the first ones; a traced one where it was given as such."""
        count = self.given_count
        if count is None:
            return self.row_count
        return count if is_traced(count) else int(count)

    @property
    def has_images(self) -> bool:
        """Whether points have images, or belong to clouds."""
        return self.cell is not None or self.ids is not None

    @property
    def boxsize(self) -> tuple[float, ...] | Array | None:
        """The sides of the periodic box as they were given; numbers where these are no longer traced."""
        sides = self.traced_boxsize
        if sides is None:
            return self.fixed_boxsize
        return sides if is_traced(sides) else tuple(np.asarray(sides, np.float64).tolist())

    @property
    def periodic_boxsize(self) -> tuple[float, ...] | Array | None:
        """The sides of the periodic box, 0 on axes that are not periodic; None without a box."""
        if self.fixed_boxsize is None and self.traced_boxsize is None:
            return None
        return periodic_boxsize(self.boxsize)

    def is_traced_with(self, *values) -> bool:
        """Tell whether something of the cloud is traced, or one of these values."""
        return any_traced(self.points, self.given_count, self.traced_boxsize, self.cell, self.ids, *values)

    def search(self, p, dtype, n: int | None = None, eps=0.0, workers=None) -> Search:
        """Return what a search of these points asks for; `n` bounds the rows that it finds."""
        if self.points.ndim != 2:
            raise ValueError(
                f"this KDTree holds clouds of shape {self.points.shape}: search it under jax.vmap"
            )
        rows = index_dtype(self.row_count if n is None else n)
        return Search(p, self.periodic_boxsize, dtype, rows, BY_PLATFORM, eps, workers)

    # --- structures over the points -----------------------------------------------------------------------

    def engine(self, traced: bool) -> Engine:
        """Return the engine that searches our structure; `traced`: something that the search depends on is.

        `PORTABLE` is `_lax` whose arrays may vary over the axes of a mesh, as inside of `jax.shard_map`.
        """
        if self.engine_asked == "lax":
            return PORTABLE if traced else _lax
        return BY_PLATFORM if traced else _choice.engine_of(self.points)

    def built_tree(self) -> Any:
        """Return our own structure; over traced points it is built anew."""
        if self.tree is not None:
            return self.tree
        if any_traced(self.points, self.given_count):
            return build_tree(self.points, self.n, self.engine(traced=True))[0]
        with eagerly():
            self.tree, _ = build_tree(self.points, self.n, self.engine(self.is_traced_with()))
        return self.tree

    def built_scipy_trees(self) -> SciPyTrees:
        """Return SciPy's structure over concrete points."""
        if self.scipy_trees is None:
            points = np.asarray(self.points)
            self.scipy_trees = SciPyTrees(points, self.n, self.periodic_boxsize, self.options)
        return self.scipy_trees

    def for_programs(self) -> "Cloud":
        """Return the cloud as programs take it: of one structure for as many points, wherever it was made.

        Our own structure comes along where programs may search it: not where SciPy does.
        """
        on_host = _choice.only_the_cpu() if self.engine_asked is None else self.engine_asked == "scipy"
        has_no_tree = self.has_images or (on_host and self.layout is None)
        tree = None if has_no_tree else self.built_tree()
        count = np.int32(self.given_count) if type(self.given_count) is int else self.given_count
        layout = None if self.layout is None else self.layout.static
        if tree is self.tree and count is self.given_count and layout is self.layout:
            return self
        return replace(self, tree=tree, given_count=count, layout=layout)

    # --- pickles ------------------------------------------------------------------------------------------

    def __getstate__(self):
        """Return the points and the settings, in NumPy's arrays, without the structures."""
        structures = {"tree": None, "kept_searcher": None, "scipy_trees": None}
        box = {"traced_boxsize": None, "fixed_boxsize": self.boxsize}
        count = self.given_count if self.given_count is None else self.n
        arrays = {name: np.asarray(array) for name, array in self._arrays()}
        return self.__dict__ | structures | box | {"given_count": count} | arrays

    def __setstate__(self, state):
        """Take a pickled state."""
        self.__dict__.update(state)
        self.__dict__.update({name: as_array(array) for name, array in self._arrays()})

    def _arrays(self) -> list[tuple[str, Any]]:
        """Return the arrays that there are, and their names."""
        arrays = {"points": self.points, "cell": self.cell, "ids": self.ids}
        return [(name, array) for name, array in arrays.items() if array is not None]


_GIVEN = [each for each in fields(Cloud) if each.init]  # what is kept of concrete points is built anew
jax.tree_util.register_dataclass(
    Cloud,
    data_fields=[each.name for each in _GIVEN if not each.metadata.get("static")],
    meta_fields=[each.name for each in _GIVEN if each.metadata.get("static")],
)
