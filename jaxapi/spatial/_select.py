"""Who searches a tree.

| points, and what the search depends on | searcher | searched by |
| --- | --- | --- |
| sharded over devices | `MeshSearcher` | trees of its own on each device |
| concrete, on the CPU | `HostSearcher` | SciPy's tree |
| traced, where the CPU is all there is | `CallbackSearcher` | SciPy's tree, called back by the program |
| few, in `jit`, where the CPU is all there is | `EveryPairSearcher` | every distance, in plain JAX |
| concrete, on a GPU or a TPU, or `engine="lax"` | `DeviceSearcher` | our tree, by an engine of `_engines` |
| traced elsewhere, or `engine="lax"` | `TracedSearcher` | our tree, by the engine of the program's platform |

Our own tree also serves where Minkowski's p is so high that powers of distances, which SciPy compares, are no
numbers.

In many dimensions every distance by matrix products is faster than SciPy where there are many: then
`DeviceSearcher` takes the place of `HostSearcher`, and `TracedSearcher` that of `CallbackSearcher`. Where
points have images in a cell, or belong to clouds, an `ImageSearcher` of `_cells` searches by SciPy's tree or
by the engine that this choice leads to; a `Clusterer` does where clusters are asked for that are no searches.
"""

from typing import TYPE_CHECKING

from .._core._programs import any_traced
from ._cells._points import ImagePoints
from ._cells._searcher import ImageSearcher
from ._clusterings import Clusterer, RadiusClusterer
from ._device import DeviceSearcher
from ._engines import _choice, _lax
from ._engines._by_platform import BY_PLATFORM, PORTABLE
from ._engines._protocol import Engine
from ._every_pair import EveryPairSearcher, compares_sooner
from ._scipy._callback import in_a_program
from ._scipy._host import CallbackSearcher, HostSearcher
from ._scipy._trees import has_powers
from ._search import Request, Search
from ._searcher import ConcreteSearcher, Searcher, TreeSearcher
from ._traced import TracedSearcher
from ._tree._tree import FLAT_FROM

if TYPE_CHECKING:
    from ._kdtree import KDTree

__all__ = [
    "clusterer_for",
    "concrete_searcher_for",
    "concrete_searchers_for",
    "engine_for",
    "searcher_for",
    "searchers_for",
    "searches_own_tree",
    "tree_clusterer_for",
]

MANY_DISTANCES = 1 << 24
ANY_REQUEST = Request()


def searcher_for(tree: "KDTree", request: Request = ANY_REQUEST) -> Searcher:
    """Return what searches the points of a tree."""
    values = request.values
    traced = any_traced(tree._data, tree._given_n, tree._boxsize, tree._cell, tree._ids, *values)
    p = 2.0 if request.search is None else request.search.p
    kept = tree._kept_searcher
    if kept is not None and not traced and (has_powers(p) or tree._has_images):
        return kept
    if tree._layout is not None:
        return tree._mesh(tree._layout)
    if tree._has_images:
        return _images_of(tree, traced)
    pair_count = tree._row_count * request.query_count
    searcher = _new_searcher(tree, _class_for(tree, request, pair_count, traced), traced)
    # It is kept unless it was chosen for this one search: in many dimensions by the number of distances,
    # and with a high p because powers of distances are no numbers.
    serves_again = not traced and has_powers(p) and tree._m < FLAT_FROM
    if serves_again and isinstance(searcher, ConcreteSearcher):
        tree._kept_searcher = searcher
    return searcher


def concrete_searcher_for(tree: "KDTree", search: Search) -> ConcreteSearcher:
    """Return what searches a tree outside of transformations."""
    searcher = searcher_for(tree, Request((), search))
    assert isinstance(searcher, ConcreteSearcher)
    return searcher


def searchers_for(tree: "KDTree", other: "KDTree", request: Request) -> tuple[Searcher, Searcher]:
    """Return what searches a tree and another, whose images are brought into the box of the first."""
    boxsize = tree._periodic_boxsize
    values = other._data, other._given_n, other._ids, *request.values
    traced = tree._traced(*values)
    if tree._has_images or other._has_images:
        return _images_of(tree, traced), _images_of(other, other._traced())
    if tree._layout is not None or other._layout is not None:
        inside = other._inside(boxsize, any_traced(boxsize, other._data, other._given_n))
        return searcher_for(tree), searcher_for(inside)
    pair_count = tree._row_count * request.query_count
    searcher_class = _class_for(tree, request, pair_count, traced)
    searcher = _new_searcher(tree, searcher_class, traced)
    if other is tree:
        return searcher, searcher
    return searcher, _new_searcher(other._inside(boxsize, traced), searcher_class, traced)


def concrete_searchers_for(
    tree: "KDTree", other: "KDTree", search: Search
) -> tuple[ConcreteSearcher, ConcreteSearcher]:
    """Return what searches a tree and another outside of transformations."""
    searcher, other_searcher = searchers_for(tree, other, Request((), search))
    assert isinstance(searcher, ConcreteSearcher)
    assert isinstance(other_searcher, ConcreteSearcher)
    return searcher, other_searcher


def clusterer_for(tree: "KDTree", request: Request) -> RadiusClusterer:
    """Return what finds clusters of near points."""
    if tree._layout is not None:
        return tree._mesh(tree._layout)
    if tree._has_images:
        return _images_of(tree, tree._traced(*request.values))
    return tree_clusterer_for(tree, request)


def tree_clusterer_for(tree: "KDTree", request: Request) -> Clusterer:
    """Return who clusters points without images on one device."""
    traced = tree._traced(*request.values)
    return Clusterer(
        tree._data,
        tree.n,
        tree._built_tree,
        engine_for(tree, traced),
        is_asked_for=tree._engine_asked is not None,
        by_scipy=not issubclass(_class_for(tree, Request((), request.search), 0, traced), TreeSearcher),
    )


def searches_own_tree(tree: "KDTree") -> bool:
    """Tell whether our own structure is what searches a tree, unless a request changes it."""
    if tree._layout is not None:
        return False
    return issubclass(_class_for(tree, ANY_REQUEST, 0, tree._traced()), TreeSearcher)


def engine_for(tree: "KDTree", traced: bool) -> Engine:
    """Return the engine that searches our structure; `traced`: something that the search depends on is.

    `PORTABLE` is `_lax` whose arrays may vary over the axes of a mesh, as inside of `jax.shard_map`.
    """
    if tree._engine_asked == "lax":
        return PORTABLE if traced else _lax
    return BY_PLATFORM if traced else _choice.engine_of(tree._data)


def _class_for(tree: "KDTree", request: Request, pair_count: int, traced: bool) -> type[Searcher]:
    """Return the class that searches points on one device, without images.

    SciPy takes far longer for uniform points in many dimensions than every distance by matrix products, and
    less for points near a surface of few dimensions. So the product serves from `FLAT_FROM` dimensions on,
    where there are so many distances that compiling it pays: to find the nearest, not those within a radius.
    """
    search = request.search
    can_scipy = search is None or has_powers(search.p)
    of_tree: type[Searcher] = TracedSearcher if traced else DeviceSearcher
    of_scipy: type[Searcher] = CallbackSearcher if traced else HostSearcher
    if tree._engine_asked is not None:
        return of_scipy if tree._engine_asked == "scipy" and can_scipy else of_tree
    on_host = _choice.only_the_cpu() if traced else _choice.engine_name(tree._data) == "scipy"
    by_product = request.k > 0 and tree._m >= FLAT_FROM and pair_count >= MANY_DISTANCES
    if not on_host or by_product or not can_scipy:
        return of_tree
    if not traced:
        return of_scipy
    is_small = compares_sooner(search, tree._m, pair_count, request.k or request.max_neighbors)
    return EveryPairSearcher if is_small and in_a_program() else of_scipy


def _new_searcher(tree: "KDTree", searcher_class: type[Searcher], traced: bool) -> Searcher:
    """Return a searcher of this class, for points without images on one device."""
    if searcher_class is EveryPairSearcher:
        return EveryPairSearcher(tree._data, tree.n)
    if searcher_class is CallbackSearcher:
        build_trees = None if tree._traced() else tree._built_scipy_trees
        return CallbackSearcher(tree._data, tree.n, build_trees, tree._options)
    if issubclass(searcher_class, TreeSearcher):
        return searcher_class(tree._data, tree.n, tree._built_tree(), engine_for(tree, traced))
    return HostSearcher(tree._data, tree.n, tree._built_scipy_trees)


def _images_of(tree: "KDTree", traced: bool) -> ImageSearcher:
    """Return what searches the images of the points; of any points, too."""
    if isinstance(tree._kept_searcher, ImageSearcher) and not traced:
        return tree._kept_searcher
    tree._search(2.0, tree._data.dtype)  # which refuses clouds of several axes
    by_engine = issubclass(_class_for(tree, ANY_REQUEST, 0, traced), TreeSearcher)
    points = ImagePoints(tree._data, tree.n, tree._cell, tree._ids)
    searcher = ImageSearcher(
        points, tree._periodic, engine_for(tree, traced) if by_engine else None, tree._options
    )
    if tree._has_images and not traced:
        tree._kept_searcher = searcher
    return searcher
