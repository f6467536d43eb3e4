"""What an engine can do. `_lax` runs everywhere and documents each function; `_cuda` is for NVIDIA GPUs.

Engines are modules, or objects such as `BY_PLATFORM`. Their functions are pure and traceable, but for
`as_input` and `check`. They take a tree and queries in the dtype of the distances; what is behind a ``*`` is
static.
"""

from typing import Any, Protocol, TypeGuard

from ..._core._typing import Array
from .._tree._metric import Measure, TreeMetric
from .._tree._queries import Limits, RadiusQueries, Relation, Slots, Written
from .._tree._tree import Tree

__all__ = ["Engine", "KernelEngine", "has_kernels"]


class Engine(Protocol):
    """Searches of a tree."""

    NAME: str

    def as_input(self, x, row_count: int, sharding) -> Any:
        """Return `x` (count, ...) as an input of a program, which reads it by `read_input`."""

    def read_input(self, x, count, *, dtype, fill: int | None = None) -> Array:
        """Return the first `count` rows of an input, and behind them, where it has room, `fill` or nan."""
        ...

    def build(self, points: Array, n: Array, scale: Array | None = None) -> Tree:
        """Return the tree over the first `n` of points (rows, m)."""
        ...

    def ordered_queries(self, tree: Tree, queries: Array, radius: Array, metric: TreeMetric) -> RadiusQueries:
        """Return queries (q, m) made ready for a radius search."""
        ...

    def nearest(
        self,
        tree: Tree,
        queries: Array,
        limits: Limits,
        metric: TreeMetric,
        *,
        k: int,
        measure: Measure = Measure.DISTANCE,
    ) -> tuple[Array, Array]:
        """Return how far the nearest points are, and their rows, both (q, k)."""
        ...

    def prepare(self, tree: Tree, boxsize: Array | None) -> Any:
        """Return what `nearest_of_slots` reads besides the tree, made once for a loop of searches."""

    def nearest_of_slots(
        self, tree: Tree, prepared, slots: Slots, limits: Limits, metric: TreeMetric, *, k: int
    ) -> tuple[Array, Array]:
        """Return distances and rows (size, k) of the nearest points of those on some slots."""
        ...

    def distances_in_units(self, tree: Tree, powers: Array, metric: TreeMetric) -> Array:
        """Return the distances of scaled power distances (q, k), as `nearest` rounds them."""
        ...

    def count(
        self, tree: Tree, queries: RadiusQueries, metric: TreeMetric, *, relation: Relation, enough: int = ...
    ) -> Array:
        """Return how many neighbors each query has."""
        ...

    def running_sums(self, counts: Array) -> Array:
        """Return 0 and the sums (q + 1,) of the first 1, 2, ... counts."""
        ...

    def fill(
        self,
        tree: Tree,
        queries: RadiusQueries,
        offsets: Array,
        metric: TreeMetric,
        *,
        size: int,
        relation: Relation,
        written: Written = Written.NEIGHBORS,
    ) -> tuple[Array, ...]:
        """Return what is written (size,) of each query's neighbors, from its offset on; pairs (size, 2)."""
        ...

    def fill_rows(
        self, tree: Tree, queries: RadiusQueries, metric: TreeMetric, *, max_neighbors: int
    ) -> tuple[Array, Array, Array]:
        """Return rows and distances (q, max_neighbors) of each query's neighbors, and how many there are."""
        ...

    def bin_counts(
        self, tree: Tree, queries: RadiusQueries, radii: Array, weights: Array, metric: TreeMetric
    ) -> Array:
        """Return the sums (R, q) of weights of slots within each radius, by the order of the queries."""
        ...

    def component_rows(self, tree: Tree, radius: Array, metric: TreeMetric) -> Array:
        """Return the lowest row of the component of each slot."""
        ...

    def lowest(self, tree: Tree, queries: RadiusQueries, numbers: Array, metric: TreeMetric) -> Array:
        """Return the lowest of the slots' numbers within reach of each query."""
        ...


class KernelEngine(Engine, Protocol):
    """An engine with kernels of its own for more."""

    def check(self) -> None:
        """Raise where it cannot run."""

    def nearest_of_all(
        self,
        tree: Tree,
        limits: Limits,
        metric: TreeMetric,
        *,
        row_count: int,
        k: int,
        measure: Measure = Measure.DISTANCE,
    ) -> tuple[Array, Array]:
        """Return how far the nearest points of each of the tree's are, and their rows, (row_count, k)."""
        ...

    def spanning_edges(
        self, tree: Tree, cores: Array | None, shortens, metric: TreeMetric
    ) -> tuple[Array, Array]:
        """Return the rows and the distances of the edges of the minimum spanning tree."""
        ...

    def pairwise(self, a: Array, b: Array, weights: Array | None, *, term: str) -> Array:
        """Return a matrix of distances of rows before their roots."""
        ...


def has_kernels(engine: Engine) -> TypeGuard[KernelEngine]:
    """Tell whether an engine is a `KernelEngine`. `BY_PLATFORM` is none: its compiler chooses."""
    return engine.NAME == "cuda"
