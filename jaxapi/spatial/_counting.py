"""The two-point counts of KDTree: how many pairs of two trees are near, weighted or not."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from .._typing import Array, ArrayLike
from . import _arguments
from ._device import _engines, _neighbours
from ._device._queries import as_dtype, width
from ._host import _radius as _host_radius
from ._pairs import in_box_of
from ._radius_arguments import any_traced, same_dimensions

__all__ = ["PairCounts"]

LARGEST = np.iinfo(np.int32).max


class PairCounts:
    """`KDTree.count_neighbors`."""

    def count_neighbors(
        self,
        other,
        r: ArrayLike,
        p: float = 2.0,
        weights: ArrayLike | tuple[ArrayLike | None, ArrayLike | None] | None = None,
        cumulative: bool = True,
    ) -> int | float | Array:
        """Count the pairs of points of two trees within each of several distances.

        As `scipy.spatial.KDTree.count_neighbors`, but negative and nan radii count nothing. The two-point
        correlation of a catalogue with itself or a random one is made of such counts.

        Parameters
        ----------
        other : KDTree
            The other tree; the same one counts each pair twice and each point with itself. Distances are
            periodic in the box of this tree, not of `other`.
        r : float or array_like of shape (R,)
            Largest distances, inclusive, rounded to the dtype of the data.
        p : float, default 2
            Minkowski's p, 1 <= p <= inf. Static under jit.
        weights : array_like (n,) or tuple of two, optional
            A weight for each point of this tree and of `other`, each pair counting as the product; None for
            1. A single array stands for both where `other` is this tree.
        cumulative : bool, default True
            If False, entry i counts ``r[i-1] < d <= r[i]``; `r` must then not decrease.

        Returns
        -------
        int or float
            For a single concrete `r`: int without, float with weights.
        Array, shape (R,), int64 or float64
            For several radii, exact to 2**63 without weights. Under jit with x64 off int32, and float32 for
            weights of 32 bits.

        Raises
        ------
        TypeError
            If `other` is no KDTree.
        ValueError
            If the trees have different m, `r` has more than one axis or decreases with ``cumulative=False``,
            the number of weights is not that of the points, or a single array of weights comes with two
            trees.
        OverflowError
            If arrays are traced with x64 off and the number of pairs may pass 2**31.

        Notes
        -----
        The kernel sums in float64 where the weights are concrete. Counts have no derivatives; those in
        the weights are not implemented.

        Examples
        --------
        >>> import jaxapi as xp
        >>> tree = xp.spatial.KDTree([[0.0], [1.0], [3.0]])
        >>> tree.count_neighbors(tree, 1.0)
        5
        >>> tree.count_neighbors(tree, [0.0, 1.0, 3.0]).tolist()
        [3, 5, 9]
        >>> tree.count_neighbors(tree, [0.0, 1.0, 3.0], cumulative=False).tolist()
        [3, 2, 4]
        """
        same_dimensions(self, other, "count_neighbors")
        p = _arguments.norm_order(p)
        dtype = np.promote_types(self._data.dtype, other._data.dtype)
        radii = _radii(r, dtype, cumulative)
        own, others = _weights(self, other, weights)
        if any_traced(self._data, other._data, radii, own, others):
            return _traced(self, other, radii, p, dtype, own, others, cumulative)
        with jax.core.eval_context():
            own, others = (None if each is None else np.asarray(each, np.float64) for each in (own, others))
            counts = _concrete(
                self, in_box_of(self, other), radii.reshape(-1), p, dtype, own, others, cumulative
            )
            if radii.ndim:
                with width(counts.dtype):
                    return jnp.asarray(counts, device=self._data.sharding)
            return counts[0].item()


def _radii(r, dtype, cumulative: bool):
    """Return the radii, () or (R,), in the dtype of the distances."""
    traced = _arguments.is_traced(r)
    r = r if traced else np.asarray(r, dtype=np.float64)
    if r.ndim > 1:
        raise ValueError(
            f"r must be either a single value or a one-dimensional array of values, got shape {r.shape}"
        )
    if not cumulative and not traced and (np.diff(r) < 0).any():
        raise ValueError("r must be non-decreasing for non-cumulative counting.")
    with np.errstate(over="ignore"):
        return r.astype(dtype)


def _weights(tree, other, weights):
    """Return the weights of both trees, `None` twice for plain counting."""
    if isinstance(weights, tuple):
        if len(weights) != 2:
            raise ValueError(f"weights must be a tuple of two, one for each tree, got {len(weights)}")
        own, others = weights
    elif weights is not None and other is not tree:
        raise ValueError("Two different trees are used. Specify weights for both in a tuple.")
    else:
        own = others = weights
    if own is None and others is None:
        return None, None
    return _weights_of(tree, own), _weights_of(other, others)


def _weights_of(tree, weights):
    """Return a weight for each point."""
    if weights is None:
        return np.ones(tree.n)
    weights = weights if _arguments.is_traced(weights) else np.asarray(weights)
    if weights.shape != (tree.n,):
        raise ValueError(
            f"Number of weights differ from the number of data points: {weights.shape} for {tree.n} points"
        )
    return weights


def _concrete(tree, other, radii, p, dtype, own, others, cumulative):
    """Count with concrete arrays: (R,) int64 or float64."""
    if tree.engine == "scipy":
        weights = None if own is None else (own, others)
        return _host_radius.count_pairs(
            tree._scipy(), other._scipy(), radii, p=p, weights=weights, cumulative=cumulative
        )
    sums = np.dtype(np.int64 if own is None else np.float64)
    if not (tree.n and other.n and len(radii)):
        return np.zeros(len(radii), sums)
    own = np.ones(tree.n, sums) if own is None else own
    others = np.ones(other.n, sums) if others is None else others
    rows = _engines.padded_size(tree.n)
    search = _neighbours.Search(p, _neighbours.engine_of(tree._data), dtype, np.dtype(np.int32))
    box = None if tree._lengths is None else np.asarray(tree._lengths, dtype)
    with width(sums):
        counts = _compiled(other._structure(), tree._data, own, others, radii, box, search=search, rows=rows)
        return _differences(np.asarray(counts), cumulative)


@partial(jax.jit, static_argnames=("search", "rows"))
def _compiled(tree, x, x_weights, weights, radii, box, *, search, rows):
    extra = rows - x.shape[0]
    x = jnp.pad(x.astype(search.dtype), ((0, extra), (0, 0)), mode="edge")
    return _neighbours.two_point(tree, x, jnp.pad(x_weights, (0, extra)), weights, radii, box, search=search)


def _differences(counts, cumulative: bool):
    """Return the counts between one radius and the next."""
    if cumulative:
        return counts
    return counts - (jnp if _arguments.is_traced(counts) else np).concatenate([counts[:1] * 0, counts[:-1]])


def _traced(tree, other, radii, p, dtype, own, others, cumulative):
    """Count inside a transformation: () or (R,)."""
    wide = jax.config.jax_enable_x64
    if own is None:
        if not wide and tree.n * other.n > LARGEST:
            raise OverflowError(
                f"{tree.n} times {other.n} pairs may not fit int32: turn x64 mode on to count them under jit"
            )
        sums = np.dtype(np.int64 if wide else np.int32)
        own, others = np.ones(tree.n, sums), np.ones(other.n, sums)
    else:
        sums = jnp.result_type(own, others) if wide else np.dtype(np.float32)
        own, others = jnp.asarray(own).astype(sums), jnp.asarray(others).astype(sums)
    radii = as_dtype(radii, dtype)
    if not (tree.n and other.n and radii.size):
        return jnp.zeros(radii.shape, sums)
    search = _neighbours.Search(p, "traced", np.dtype(dtype), np.dtype(np.int32))
    box = None if tree._lengths is None else as_dtype(tree._lengths, dtype)
    structure, x = _traced_in_box(tree, other), tree._data.astype(dtype)
    counts = _neighbours.two_point(
        structure, x, jnp.asarray(own), jnp.asarray(others), radii.reshape(-1), box, search=search
    )
    return _differences(counts, cumulative).reshape(radii.shape)


def _traced_in_box(tree, other):
    """Return the structure of `other` inside the periodic box of `tree`."""
    if tree._lengths is None or tree._lengths == other._lengths:
        return other._structure()
    lengths = as_dtype(tree._lengths, other._data.dtype)
    return type(tree)(_engines.into_box(other._data, lengths), other.leafsize)._structure()
