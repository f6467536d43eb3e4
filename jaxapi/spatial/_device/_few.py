"""The nearest of few points inside of a transformation: by every distance, which compiles much sooner.

On the CPU a tree and its search take about two seconds to compile, every distance half a second. To run, both
take the same up to about 2**16 distances; at `FEW` a call takes 0.1 to 0.4 ms longer, and the compilation
saved is worth thousands of calls.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._programs import is_traced
from .. import _lax
from .._structure import _build
from .._structure._batching import one_search_of_all
from .._structure._metric import into_box
from .._structure._tree import FLAT_FROM
from ._engines import gpu_engine
from ._nearest import nearest_in_pieces

__all__ = ["nearest_of_traced"]

FEW = 1 << 17  # distances
STATIC = "k", "p", "dtype", "index_dtype"


def nearest_of_traced(data, structure, x, bound, eps, box, **settings):
    """Return what `_nearest.nearest` does, for points `data` (n, m) in a tree that ``structure()`` returns.

    Under vmap, queries of one tree become one search, and other trees are searched one after another; the
    choice is made for the search that remains. The tree over concrete points is built where it is needed.
    """
    if is_traced(data):
        return _in_one_piece(data, structure(), x, bound, eps, box, few=FEW, **settings)
    return _search(structure, FEW, settings)((data, None, eps, box), x, bound)


# Else vmap alone would compile the loop over trees at each call.
@partial(jax.jit, static_argnames=("few", *STATIC))
def _in_one_piece(data, tree, x, bound, eps, box, *, few: int, **settings):
    return _search(None, few, settings)((data, tree, eps, box), x, bound)


def _search(structure, few: int, settings):
    """Return a function of arrays that searches, and knows what to do under vmap."""

    def run(shared, x, bound):
        data, tree, eps, box = shared

        def by_tree(data, tree, *rest):
            return nearest_in_pieces(structure() if tree is None else tree, *rest, **settings)

        def by_every_distance(data, tree, *rest):
            return _by_every_distance(data, *rest, **settings)

        arrays = data, tree, x, bound, eps, box
        distances = data.shape[0] * x.shape[0]
        if data.shape[1] >= FLAT_FROM or not 0 < distances <= few:
            return by_tree(*arrays)
        if gpu_engine() is None:
            return by_every_distance(*arrays)
        return lax.platform_dependent(*arrays, cuda=by_tree, default=by_every_distance)

    return one_search_of_all(run)


@partial(jax.jit, static_argnames=STATIC)
def _by_every_distance(data, x, bound, eps, box, *, k: int, p: float, dtype, index_dtype):
    data, x = data.astype(dtype), x.astype(dtype)
    x = x if box is None else into_box(x, box)
    tree = _build.flat(data, data.shape[0], _build.scale_of(data, jnp.isfinite(data).all(axis=1)))
    distances, rows = _lax.nearest_of_few(tree, x, bound, eps, box, k=k, p=p)
    return distances, rows.astype(index_dtype)
