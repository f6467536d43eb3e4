"""The choice of engine for arrays on devices, in one place.

An engine is a package with a `NAME` and functions, all but the first pure and traceable, on points or on a
tree and queries in the dtype of the distances:

- ``with_room(x, rows, place)``,
- ``lines(x, count, *, dtype, fill)``,
- ``build(points, n, scale, *, leaf_size)``,
- ``ordered_queries(tree, queries, radius, box, *, p)``,
- ``nearest(tree, queries, bound, eps, box, *, k, p, rooted)``,
- ``nearest_of_slots(tree, prepared, begin, bound, eps, box, *, size, k, p, rooted)``,
- ``in_units(tree, powers, box, *, p)``,
- ``count(tree, queries, order, box, *, p, relation, enough)``,
- ``running_sums(counts)``,
- ``fill(tree, queries, order, offsets, box, *, size, p, relation)``,
- ``fill_edges(tree, queries, offsets, box, *, size, p, relation)``,
- ``fill_pairs(tree, queries, offsets, box, *, size, p)``,
- ``fill_lines(tree, queries, order, box, *, limit, p)``,
- ``bin_counts(tree, queries, radii, weights, box, *, p)``,
- ``component_rows(tree, radius, box, *, p)``,
- ``lowest(tree, queries, order, numbers, box, *, p)``.

`_lax` documents them, and runs everywhere. `_cuda` also has ``nodes_of(tree, box)``, which `prepared` calls,
``check()``, which raises where it cannot run,
``spanning_edges(tree, cores, shortens, box, *, p)``, of which spanning trees are made,
``nearest_of_all(tree, bound, eps, box, *, lines, k, p, rooted)``, for the tree's points by their rows,
``pairwise(a, b, weights, *, term)``, of which matrices of distances are made, and
``all_finite(x)``, whether an array is finite, found out without waiting for the device's queue.
"""

import functools
import importlib
import warnings

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._programs import is_traced
from .. import _lax
from .._structure._tree import FLAT_FROM
from .._structure._varying import varying_alike, varying_like

__all__ = ["engine_name", "engine_of", "gpu_engine", "only_the_cpu", "prepared", "run"]


@functools.cache
def gpu_engine():
    """Return the engine for NVIDIA GPUs, `None` without a GPU or where the engine cannot run.

    It rests on NVRTC and on a part of XLA that may go: whatever they raise is told by one warning, and the
    portable engine searches instead.
    """
    try:
        jax.devices("cuda")
    except RuntimeError:
        return None
    try:
        engine = importlib.import_module("jaxapi.spatial._cuda")
        engine.check()
    except Exception as error:
        warnings.warn(
            "KDTree searches the GPU slowly, without its CUDA kernels, which do not start here "
            f"({type(error).__name__}: {error}); pip install 'jaxapi[cuda13]' brings what they need",
            stacklevel=2,
        )
        return None
    return engine


def only_the_cpu() -> bool:
    """Whether programs can only run on the CPU, where they can call SciPy back."""
    return jax.default_backend() == "cpu" and gpu_engine() is None


def engine_of(data):
    """Return the engine that searches concrete points."""
    return (_platform(data) == "gpu" and gpu_engine()) or _lax


def _platform(data) -> str:
    """Return the kind of the devices that hold concrete points."""
    return next(iter(data.sharding.device_set)).platform


def engine_name(data) -> str:
    """Return what searches `data`: 'scipy', an engine's name, 'brute', or 'traced' inside of jit."""
    if is_traced(data):
        return "traced"
    if _platform(data) == "cpu" and len(data.sharding.device_set) == 1:
        return "scipy"
    return "brute" if data.shape[1] >= FLAT_FROM else engine_of(data).NAME


def run(engine, name: str, *arrays, **options):
    """Call the function of that name of an engine; of None, of the engine for the platform that runs it."""
    arrays = varying_alike(*arrays)
    if engine is not None or gpu_engine() is None:
        return getattr(engine or _lax, name)(*arrays, **options)

    def by(engine):  # the branches for all platforms must have results of one type
        return lambda *arrays: varying_like(getattr(engine, name)(*arrays, **options), arrays)

    return lax.platform_dependent(*arrays, cuda=by(gpu_engine()), default=by(_lax))


def prepared(tree, box):
    """Return what `nearest_of_slots` reads besides the tree on a GPU, made once for a loop of searches."""
    engine = gpu_engine()
    if engine is None or tree.is_flat:
        return ()
    shapes = jax.eval_shape(engine.nodes_of, tree, box)

    def nothing(*arrays):
        return varying_like(jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes), arrays)

    def nodes(*arrays):
        return varying_like(engine.nodes_of(*arrays), arrays)

    return lax.platform_dependent(*varying_alike(tree, box), cuda=nodes, default=nothing)
