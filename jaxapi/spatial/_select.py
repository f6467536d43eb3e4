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

What searches meshes and cells is loaded where there is one: it is an eighth of what importing this package
takes.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import numpy as np

from .._core._dtypes import x64_for
from .._core._programs import any_traced, eagerly, eagerly_unless_traced
from ._arrays import as_dtype
from ._cells._points import ImagePoints
from ._cloud import Cloud
from ._clusterings import Clusterer, RadiusClusterer
from ._device import DeviceSearcher
from ._engines import _choice
from ._every_pair import EveryPairSearcher, compares_sooner
from ._mesh._layout import layout_now
from ._scipy._callback import in_a_program
from ._scipy._host import CallbackSearcher, HostSearcher
from ._scipy._trees import has_powers
from ._search import Request, Search
from ._searcher import ConcreteSearcher, Searcher, TreeSearcher
from ._traced import TracedSearcher
from ._tree._metric import wrap
from ._tree._tree import FLAT_FROM

if TYPE_CHECKING:
    from ._cells._searcher import ImageSearcher
    from ._mesh._mesh import MeshSearcher

__all__ = [
    "clusterer_for",
    "concrete_searcher_for",
    "concrete_searchers_for",
    "mesh_searcher",
    "portable",
    "searcher_for",
    "searchers_for",
    "searches_own_tree",
    "tree_clusterer_for",
]

MANY_DISTANCES = 1 << 24
ANY_REQUEST = Request()


def searcher_for(cloud: Cloud, request: Request = ANY_REQUEST) -> Searcher:
    """Return what searches the points of a tree."""
    p = 2.0 if request.search is None else request.search.p
    kept = cloud.kept_searcher  # of a cloud that is not traced
    if kept is not None and not request.traced and (has_powers(p) or cloud.has_images):
        return kept
    traced = request.traced or cloud.is_traced_with()
    if cloud.layout is not None:
        on_mesh = mesh_searcher(cloud)
        if not traced:
            cloud.kept_searcher = on_mesh
        return on_mesh
    if cloud.has_images:
        return _images_of(cloud, traced)
    searcher = _new_searcher(cloud, _class_for(cloud, request, traced), traced)
    # It is kept unless it was chosen for this one search: in many dimensions by the number of distances,
    # and with a high p because powers of distances are no numbers.
    serves_again = not traced and has_powers(p) and cloud.m < FLAT_FROM
    if serves_again and isinstance(searcher, ConcreteSearcher):
        cloud.kept_searcher = searcher
    return searcher


def concrete_searcher_for(cloud: Cloud, search: Search) -> ConcreteSearcher:
    """Return what searches a tree outside of transformations."""
    searcher = searcher_for(cloud, Request(False, search))
    assert isinstance(searcher, ConcreteSearcher)
    return searcher


def searchers_for(cloud: Cloud, other: Cloud, request: Request) -> tuple[Searcher, Searcher]:
    """Return what searches a tree and another, whose images are brought into the box of the first."""
    boxsize = cloud.periodic_boxsize
    traced = request.traced or cloud.is_traced_with(other.points, other.given_count, other.ids)
    if cloud.has_images or other.has_images:
        return _images_of(cloud, traced), _images_of(other, other.is_traced_with())
    if cloud.layout is not None or other.layout is not None:
        inside = _inside(other, boxsize, any_traced(boxsize, other.points, other.given_count))
        return searcher_for(cloud), searcher_for(inside)
    searcher_class = _class_for(cloud, request, traced)
    searcher = _new_searcher(cloud, searcher_class, traced)
    if other is cloud:
        return searcher, searcher
    return searcher, _new_searcher(_inside(other, boxsize, traced), searcher_class, traced)


def concrete_searchers_for(
    cloud: Cloud, other: Cloud, search: Search
) -> tuple[ConcreteSearcher, ConcreteSearcher]:
    """Return what searches a tree and another outside of transformations."""
    searcher, other_searcher = searchers_for(cloud, other, Request(False, search))
    assert isinstance(searcher, ConcreteSearcher)
    assert isinstance(other_searcher, ConcreteSearcher)
    return searcher, other_searcher


def clusterer_for(cloud: Cloud, request: Request) -> RadiusClusterer:
    """Return what finds clusters of near points."""
    if cloud.layout is not None:
        return mesh_searcher(cloud)
    if cloud.has_images:
        return _images_of(cloud, request.traced or cloud.is_traced_with())
    return tree_clusterer_for(cloud, request)


def tree_clusterer_for(cloud: Cloud, request: Request) -> Clusterer:
    """Return who clusters points without images on one device."""
    traced = request.traced or cloud.is_traced_with()
    searcher_class = _class_for(cloud, Request(False, request.search), traced)
    by_scipy = not issubclass(searcher_class, TreeSearcher)
    return Clusterer(cloud, cloud.engine(traced), by_scipy)


def mesh_searcher(cloud: Cloud) -> "MeshSearcher":
    """Return what searches points on several devices."""
    from ._mesh._mesh import MeshSearcher

    assert cloud.layout is not None
    layout = layout_now(cloud.layout, cloud.points)
    return MeshSearcher(cloud.points, cloud.tree, layout, cloud.given_count)


def searches_own_tree(cloud: Cloud) -> bool:
    """Tell whether our own structure is what searches a tree, unless a request changes it."""
    if cloud.layout is not None:
        return False
    return issubclass(_class_for(cloud, ANY_REQUEST, cloud.is_traced_with()), TreeSearcher)


def portable(cloud: Cloud) -> Cloud:
    """Return the cloud as programs search it that are exported: without callbacks, its structure built."""
    engine = cloud.engine_asked
    if engine is None and _choice.only_the_cpu():
        engine = "lax"
    exported = replace(cloud, engine_asked=engine)
    if searches_own_tree(exported) and not exported.has_images:
        exported.tree = exported.built_tree()
    return exported


def _class_for(cloud: Cloud, request: Request, traced: bool) -> type[Searcher]:
    """Return the class that searches points on one device, without images.

    SciPy takes far longer for uniform points in many dimensions than every distance by matrix products, and
    less for points near a surface of few dimensions. So the product serves from `FLAT_FROM` dimensions on,
    where there are so many distances that compiling it pays: to find the nearest, not those within a radius.
    """
    search = request.search
    m = cloud.m
    pair_count = cloud.row_count * request.query_count
    can_scipy = search is None or has_powers(search.p)
    of_tree: type[Searcher] = TracedSearcher if traced else DeviceSearcher
    of_scipy: type[Searcher] = CallbackSearcher if traced else HostSearcher
    if cloud.engine_asked is not None:
        return of_scipy if cloud.engine_asked == "scipy" and can_scipy else of_tree
    on_host = _choice.only_the_cpu() if traced else _choice.engine_name(cloud.points) == "scipy"
    by_product = request.k > 0 and m >= FLAT_FROM and pair_count >= MANY_DISTANCES
    if not on_host or by_product or not can_scipy:
        return of_tree
    if not traced:
        return of_scipy
    is_small = compares_sooner(search, m, pair_count, request.k or request.max_neighbors)
    return EveryPairSearcher if is_small and in_a_program() else of_scipy


def _new_searcher(cloud: Cloud, searcher_class: type[Searcher], traced: bool) -> Searcher:
    """Return a searcher of this class, for points without images on one device."""
    if searcher_class is EveryPairSearcher:
        return EveryPairSearcher(cloud.points, cloud.n)
    if searcher_class is CallbackSearcher:
        build_trees = None if cloud.is_traced_with() else cloud.built_scipy_trees
        return CallbackSearcher(cloud.points, cloud.n, build_trees, cloud.options)
    if issubclass(searcher_class, TreeSearcher):
        return searcher_class(cloud.points, cloud.n, cloud.built_tree(), cloud.engine(traced))
    return HostSearcher(cloud.points, cloud.n, cloud.built_scipy_trees)


def _inside(cloud: Cloud, boxsize, traced: bool) -> Cloud:
    """Return the cloud, or that of its images in the periodic box of another."""
    if boxsize is None:
        return cloud
    if not any_traced(boxsize, cloud.periodic_boxsize) and boxsize == cloud.periodic_boxsize:
        return cloud
    if cloud.layout is not None:
        return _inside_on_mesh(cloud, boxsize)
    if traced:
        return _without_box(cloud, wrap(cloud.points, as_dtype(boxsize, cloud.points.dtype)))
    points = np.asarray(cloud.points)
    length = np.asarray(boxsize)
    is_inside = (points >= 0) & (points < length)
    if is_inside[:, length > 0].all():
        return cloud
    inside = wrap(points.astype(np.float64), length).astype(points.dtype)
    with eagerly(), x64_for(points.dtype):
        return _without_box(cloud, jax.device_put(inside, cloud.points.sharding))


def _inside_on_mesh(cloud: Cloud, boxsize) -> Cloud:
    """Return the cloud of the images in a periodic box, with trees of its own on all devices."""
    from ._mesh._mesh import MeshSearcher

    assert cloud.layout is not None
    with eagerly_unless_traced(cloud.points, boxsize):
        inside = wrap(cloud.points, as_dtype(boxsize, cloud.points.dtype))
        layout = layout_now(cloud.layout, inside)
        moved = _without_box(cloud, inside)
        moved.tree, _ = MeshSearcher.prepare(inside, layout, cloud.given_count)
        return moved


def _without_box(cloud: Cloud, points) -> Cloud:
    """Return the cloud with other points in the same places."""
    return replace(cloud, points=points, tree=None, fixed_boxsize=None, traced_boxsize=None)


def _images_of(cloud: Cloud, traced: bool) -> "ImageSearcher":
    """Return what searches the images of the points; of any points, too."""
    from ._cells._host_searcher import HostImageSearcher
    from ._cells._program_searcher import ProgramImageSearcher
    from ._cells._searcher import ImageSearcher

    if isinstance(cloud.kept_searcher, ImageSearcher) and not traced:
        return cloud.kept_searcher
    cloud.search(2.0, cloud.points.dtype)  # which refuses clouds of several axes
    by_engine = len(cloud.points) > 0 and issubclass(_class_for(cloud, ANY_REQUEST, traced), TreeSearcher)
    points = ImagePoints(cloud.points, cloud.n, cloud.cell, cloud.ids)
    searcher: ImageSearcher
    if by_engine or traced:
        engine = cloud.engine(traced) if by_engine else None
        searcher = ProgramImageSearcher(points, cloud.periodic, cloud.options, engine)
    else:
        searcher = HostImageSearcher(points, cloud.periodic, cloud.options)
    if cloud.has_images and not traced:
        cloud.kept_searcher = searcher
    return searcher
