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
points have images in a cell, or belong to clouds, `KDTree` asks an `ImageSearcher` of `_cells`, which
searches by SciPy's tree or by the engine that this choice leads to.
"""

from .._core._programs import is_traced
from ._device import DeviceSearcher
from ._engines import _choice
from ._every_pair import EveryPairSearcher
from ._mesh._mesh import MeshSearcher
from ._scipy._callback import in_a_program
from ._scipy._host import CallbackSearcher, HostSearcher
from ._scipy._trees import has_powers
from ._searcher import Searcher
from ._traced import TracedSearcher
from ._tree._tree import FLAT_FROM

__all__ = ["select_searcher"]

MANY_DISTANCES = 1 << 24


def select_searcher(
    data,
    layout=None,
    *,
    engine: str | None = None,
    p: float = 2.0,
    traced: bool = False,
    distance_count: int = 0,
    is_small: bool = False,
) -> type[Searcher]:
    """Return the class that searches the points `data`.

    `layout` says how points lie on many devices. `engine` is the user's choice. `traced`: something that the
    search depends on is. `is_small`: all pairs of points and queries are compared sooner than SciPy is called
    back.

    SciPy takes far longer for uniform points in many dimensions than every distance by matrix products, and
    less for points near a surface of few dimensions. So the product serves from `FLAT_FROM` dimensions on,
    where there are so many distances that compiling it pays.
    """
    if layout is not None:
        return MeshSearcher
    in_program = traced or is_traced(data)
    of_tree: type[Searcher] = TracedSearcher if in_program else DeviceSearcher
    of_scipy: type[Searcher] = CallbackSearcher if in_program else HostSearcher
    if engine is not None:
        return of_scipy if engine == "scipy" and has_powers(p) else of_tree
    on_host = _choice.only_the_cpu() if in_program else _choice.engine_name(data) == "scipy"
    by_product = data.shape[-1] >= FLAT_FROM and distance_count >= MANY_DISTANCES
    if not on_host or by_product or not has_powers(p):
        return of_tree
    return EveryPairSearcher if is_small and in_program and in_a_program() else of_scipy
