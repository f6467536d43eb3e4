"""What searches a tree: one choice, in one place, and the methods that all have."""

from typing import Any, Protocol

from .._core._programs import is_traced
from ._device import _engines
from ._device._device import Device
from ._host._host import Host
from ._mesh._mesh import Mesh
from ._results import FixedNeighbors, Neighbors
from ._settings import Columns, SearchSettings
from ._structure._tree import FLAT_FROM

__all__ = ["Engine", "select_engine"]

MANY_DISTANCES = 1 << 24


class Engine(Protocol):
    """The searches over a tree's points: queries (q, m) in, results in the shape of their batch out.

    `relation` tells which neighbours count, as in `_structure._queries`.
    """

    data: Any

    def nearest(self, x, batch, columns: Columns, bound, settings: SearchSettings):
        """Return distances and rows, both of shape batch + columns.shape."""

    def others(self, columns: Columns, bound, settings: SearchSettings):
        """Return distances and rows of every point's neighbours, without itself and one column less."""

    def edges_of_nearest(self, columns: Columns, settings: SearchSettings, loop: bool):
        """Return senders, receivers and distances of every point's neighbours, and how many there are."""

    def displacements(self, x, rows, settings: SearchSettings):
        """Return the vectors from `x` (..., m) to the points of the rows (...) or (..., k)."""

    def csr(self, x, r, settings: SearchSettings, sort: bool) -> Neighbors:
        """Return all neighbours in CSR form."""

    def fixed(self, x, r, batch, settings: SearchSettings, limit: int) -> FixedNeighbors:
        """Return the nearest neighbours within the radii, and how many there are."""

    def counts(self, x, r, batch, settings: SearchSettings):
        """Return how many neighbours each query has."""

    def lists(self, x, r, settings: SearchSettings, in_order: bool):
        """Return the rows of each query's neighbours as Python lists."""

    def edges(self, r, settings: SearchSettings, relation: str):
        """Return receivers, senders and distances of all edges."""

    def fixed_edges(self, r, settings: SearchSettings, relation: str, size: int):
        """Return receivers, senders, distances (size,) and the true number of edges."""

    def pairs(self, r, settings: SearchSettings, output_type: str):
        """Return SciPy's set of pairs, or an array of them."""

    def two_point(self, other, radii, settings: SearchSettings, own, others, cumulative: bool):
        """Return the pairs within each radius (R,), counted or by their weights."""

    def ball_tree(self, other, r, settings: SearchSettings) -> list[list[int]]:
        """Return for each point of this tree the rows of its neighbours in the other."""

    def distance_records(self, other, r, settings: SearchSettings):
        """Return the distances to the other tree's points as SciPy's record array with fields i, j, v."""


def select_engine(
    data, layout=None, *, engine: str | None = None, traced: bool = False, distances: int = 0
) -> Any:
    """Return the class that searches the points `data`; `traced`: something the search depends on is.

    `engine` is the user's choice. For uniform points in 17 dimensions and more SciPy takes 20 times as long
    as every distance by matrix products, for points near a surface of three dimensions a sixth of the time;
    in 12 dimensions it takes 2 times as long and an 18th. So the product, where there are so many `distances`
    that SciPy may take longer than compiling.
    """
    if layout is not None:
        return Mesh
    if engine is not None:
        return Host if engine == "scipy" else Device
    on_host = _engines.only_the_cpu() if traced or is_traced(data) else _engines.engine_name(data) == "scipy"
    by_product = data.shape[-1] >= FLAT_FROM and distances >= MANY_DISTANCES
    return Host if on_host and not by_product else Device
