"""Types of `jaxapi.spatial`: what searches return depends on whether the tree has a cell.

`KDTree[None]` has none, `KDTree[Array]` has one, `KDTree` may have one. Everything else is where the code is.
"""

from collections.abc import Sequence
from typing import Generic, Literal, overload

import jax
from typing_extensions import Self, TypeVar

from .._core._typing import Array, ArrayLike
from . import _kdtree, _neighbor_list
from . import distance as distance
from ._farthest import sample_farthest_points as sample_farthest_points
from ._linkage import single_linkage as single_linkage
from ._padding import pad_rows as pad_rows
from ._results import (
    FixedNeighbors,
    FixedPairs,
    NeighborGraph,
    Neighbors,
    PeriodicFixedNeighbors,
    PeriodicNeighborGraph,
    PeriodicNeighbors,
    PeriodicPairs,
)
from ._sphere import chord_length as chord_length
from ._sphere import great_circle_distance as great_circle_distance
from ._sphere import unit_vectors as unit_vectors

__all__ = [
    "KDTree",
    "NeighborList",
    "chord_length",
    "distance",
    "great_circle_distance",
    "pad_rows",
    "sample_farthest_points",
    "single_linkage",
    "unit_vectors",
]

Cell = TypeVar("Cell", bound=Array | None, covariant=True, default=Array | None)

class KDTree(_kdtree.KDTree, Generic[Cell]):
    @overload
    def __init__(
        self: KDTree[None],
        data: ArrayLike,
        leafsize: int = 10,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: ArrayLike | None = None,
        *,
        cell: None = None,
        periodic: Literal[True] = True,
        batch: ArrayLike | None = None,
        n: int | Array | None = None,
        sharding: jax.sharding.NamedSharding | None = None,
        axis_name: str | tuple[str, ...] | None = None,
        engine: Literal["scipy", "lax"] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: KDTree[Array],
        data: ArrayLike,
        leafsize: int = 10,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: None = None,
        *,
        cell: ArrayLike,
        periodic: bool | Sequence[bool] = True,
        batch: ArrayLike | None = None,
        n: int | Array | None = None,
        sharding: jax.sharding.NamedSharding | None = None,
        axis_name: str | tuple[str, ...] | None = None,
        engine: Literal["scipy", "lax"] | None = None,
    ) -> None: ...
    @property
    def cell(self) -> Cell: ...
    @overload
    def query_radius(
        self: KDTree[None],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[True] = True,
        max_neighbors: None = None,
        batch: ArrayLike | None = None,
    ) -> Neighbors[Array]: ...
    @overload
    def query_radius(
        self: KDTree[Array],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[True] = True,
        max_neighbors: None = None,
        batch: ArrayLike | None = None,
    ) -> PeriodicNeighbors[Array]: ...
    @overload
    def query_radius(
        self: KDTree[Array | None],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[True] = True,
        max_neighbors: None = None,
        batch: ArrayLike | None = None,
    ) -> Neighbors[Array] | PeriodicNeighbors[Array]: ...
    @overload
    def query_radius(
        self: KDTree[None],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[False],
        max_neighbors: None = None,
        batch: ArrayLike | None = None,
    ) -> Neighbors[None]: ...
    @overload
    def query_radius(
        self: KDTree[Array],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[False],
        max_neighbors: None = None,
        batch: ArrayLike | None = None,
    ) -> PeriodicNeighbors[None]: ...
    @overload
    def query_radius(
        self: KDTree[Array | None],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[False],
        max_neighbors: None = None,
        batch: ArrayLike | None = None,
    ) -> Neighbors[None] | PeriodicNeighbors[None]: ...
    @overload
    def query_radius(
        self: KDTree[None],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[True] = True,
        max_neighbors: int,
        fill_value: ArrayLike = ...,
        batch: ArrayLike | None = None,
    ) -> FixedNeighbors[Array]: ...
    @overload
    def query_radius(
        self: KDTree[Array],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[True] = True,
        max_neighbors: int,
        fill_value: ArrayLike = ...,
        batch: ArrayLike | None = None,
    ) -> PeriodicFixedNeighbors[Array]: ...
    @overload
    def query_radius(
        self: KDTree[Array | None],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[True] = True,
        max_neighbors: int,
        fill_value: ArrayLike = ...,
        batch: ArrayLike | None = None,
    ) -> FixedNeighbors[Array] | PeriodicFixedNeighbors[Array]: ...
    @overload
    def query_radius(
        self: KDTree[None],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[False],
        max_neighbors: int,
        fill_value: ArrayLike = ...,
        batch: ArrayLike | None = None,
    ) -> FixedNeighbors[None]: ...
    @overload
    def query_radius(
        self: KDTree[Array],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[False],
        max_neighbors: int,
        fill_value: ArrayLike = ...,
        batch: ArrayLike | None = None,
    ) -> PeriodicFixedNeighbors[None]: ...
    @overload
    def query_radius(
        self: KDTree[Array | None],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: Literal[False],
        max_neighbors: int,
        fill_value: ArrayLike = ...,
        batch: ArrayLike | None = None,
    ) -> FixedNeighbors[None] | PeriodicFixedNeighbors[None]: ...
    @overload
    def query_radius(
        self: KDTree[Array | None],
        x: ArrayLike,
        r: ArrayLike,
        *,
        p: float = 2.0,
        sort: bool = False,
        return_distance: bool = True,
        max_neighbors: int | None = None,
        fill_value: ArrayLike = ...,
        batch: ArrayLike | None = None,
    ) -> (
        Neighbors[Array]
        | Neighbors[None]
        | FixedNeighbors[Array]
        | FixedNeighbors[None]
        | PeriodicNeighbors[Array]
        | PeriodicNeighbors[None]
        | PeriodicFixedNeighbors[Array]
        | PeriodicFixedNeighbors[None]
    ): ...
    @overload
    def knn_graph(
        self: KDTree[None],
        k: int,
        *,
        p: float = 2.0,
        loop: bool = False,
        fill_value: ArrayLike = ...,
    ) -> NeighborGraph: ...
    @overload
    def knn_graph(
        self: KDTree[Array],
        k: int,
        *,
        p: float = 2.0,
        loop: bool = False,
        fill_value: ArrayLike = ...,
    ) -> PeriodicNeighborGraph: ...
    @overload
    def knn_graph(
        self: KDTree[Array | None],
        k: int,
        *,
        p: float = 2.0,
        loop: bool = False,
        fill_value: ArrayLike = ...,
    ) -> NeighborGraph | PeriodicNeighborGraph: ...
    @overload
    def radius_graph(
        self: KDTree[None],
        r: ArrayLike,
        *,
        p: float = 2.0,
        loop: bool = False,
        max_edges: int | None = None,
        fill_value: ArrayLike = ...,
    ) -> NeighborGraph: ...
    @overload
    def radius_graph(
        self: KDTree[Array],
        r: ArrayLike,
        *,
        p: float = 2.0,
        loop: bool = False,
        max_edges: int | None = None,
        fill_value: ArrayLike = ...,
    ) -> PeriodicNeighborGraph: ...
    @overload
    def radius_graph(
        self: KDTree[Array | None],
        r: ArrayLike,
        *,
        p: float = 2.0,
        loop: bool = False,
        max_edges: int | None = None,
        fill_value: ArrayLike = ...,
    ) -> NeighborGraph | PeriodicNeighborGraph: ...
    @overload
    def query_pairs(
        self: KDTree[Array | None],
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        output_type: Literal["set"] = "set",
        *,
        max_pairs: None = None,
    ) -> set[tuple[int, int]]: ...
    @overload
    def query_pairs(
        self: KDTree[None],
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        *,
        output_type: Literal["ndarray"],
        max_pairs: None = None,
    ) -> Array: ...
    @overload
    def query_pairs(
        self: KDTree[Array],
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        *,
        output_type: Literal["ndarray"],
        max_pairs: None = None,
    ) -> PeriodicPairs: ...
    @overload
    def query_pairs(
        self: KDTree[Array | None],
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        *,
        output_type: Literal["ndarray"],
        max_pairs: None = None,
    ) -> Array | PeriodicPairs: ...
    @overload
    def query_pairs(
        self: KDTree[None],
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        output_type: str = "set",
        *,
        max_pairs: int,
        fill_value: ArrayLike = ...,
    ) -> FixedPairs: ...
    @overload
    def query_pairs(
        self: KDTree[Array],
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        output_type: str = "set",
        *,
        max_pairs: int,
        fill_value: ArrayLike = ...,
    ) -> PeriodicPairs: ...
    @overload
    def query_pairs(
        self: KDTree[Array | None],
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        output_type: str = "set",
        *,
        max_pairs: int,
        fill_value: ArrayLike = ...,
    ) -> FixedPairs | PeriodicPairs: ...
    @overload
    def query_pairs(
        self: KDTree[Array | None],
        r: ArrayLike,
        p: float = 2.0,
        eps: float = 0.0,
        output_type: str = "set",
        *,
        max_pairs: int | None = None,
        fill_value: ArrayLike = ...,
    ) -> set[tuple[int, int]] | Array | FixedPairs | PeriodicPairs: ...

class NeighborList(_neighbor_list.NeighborList, Generic[Cell]):
    @overload
    def __init__(
        self: NeighborList[None],
        positions: ArrayLike,
        cutoff: float,
        skin: float = 0.0,
        *,
        cell: None = None,
        periodic: Literal[True] = True,
        batch: ArrayLike | None = None,
        max_edges: int | None = None,
        sharding: jax.sharding.NamedSharding | None = None,
        engine: Literal["scipy", "lax"] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: NeighborList[Array],
        positions: ArrayLike,
        cutoff: float,
        skin: float = 0.0,
        *,
        cell: ArrayLike,
        periodic: bool | Sequence[bool] = True,
        batch: ArrayLike | None = None,
        max_edges: int | None = None,
        engine: Literal["scipy", "lax"] | None = None,
    ) -> None: ...
    @property
    def cell(self) -> Cell: ...
    def update(self, positions: ArrayLike, cell: ArrayLike | None = None) -> Self: ...
    @overload
    def edges(
        self: NeighborList[None], cutoff: float | None = None, *, fill_value: ArrayLike = ...
    ) -> NeighborGraph: ...
    @overload
    def edges(
        self: NeighborList[Array], cutoff: float | None = None, *, fill_value: ArrayLike = ...
    ) -> PeriodicNeighborGraph: ...
    @overload
    def edges(
        self: NeighborList[Array | None], cutoff: float | None = None, *, fill_value: ArrayLike = ...
    ) -> NeighborGraph | PeriodicNeighborGraph: ...
    @overload
    def candidates(self: NeighborList[None], *, fill_value: ArrayLike = ...) -> NeighborGraph: ...
    @overload
    def candidates(self: NeighborList[Array], *, fill_value: ArrayLike = ...) -> PeriodicNeighborGraph: ...
    @overload
    def candidates(self: NeighborList[Array | None], *, fill_value: ArrayLike = ...) -> NeighborGraph | PeriodicNeighborGraph: ...
