"""Searches of few points inside of programs for the CPU, without a tree: every distance is computed.

SciPy, which a program calls back, takes half a millisecond to begin with: in that time all distances between
200 points are there. Answers are SciPy's: differences, squares and sums are float64's, each rounded, summed
up in the order of the axes, and only then brought to the dtype of the results. That is float32, of which all
squares are numbers of float64; points in float64 are SciPy's.
"""

import functools
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import x64_for
from .._core._programs import is_traced
from .._core._quotients import root
from .._core._typing import Array
from ._answers import Answer, FoundNeighbors
from ._arrays import as_dtype
from ._search import PairWeights, Search
from ._searcher import LocalSearcher
from ._tree._batching import one_after_another, one_search_of_all
from ._tree._metric import axis_difference, wrap
from ._tree._queries import Relation
from ._tree._slopes import without_slopes
from ._tree._tree import FLAT_FROM
from ._tree._varying import varying_alike, varying_like

__all__ = ["EveryPairSearcher", "beyond", "compares_sooner", "longest_within"]

ORDERS = (1, 2, np.inf)  # p for which SciPy's results do not depend on how it computes powers
FLOAT64 = np.dtype(np.float64)
MOST_WORK = 1 << 20  # in pairs and rounds, which takes less time than SciPy does
PAIRS_AT_ONCE = 1 << 18  # whose distances are held in memory
_MOST_IN_A_ROW = 16  # neighbors that a program finds one after another without a loop


def compares_sooner(search: Search | None, m: int, pair_count: int, k: int = 0) -> bool:
    """Tell whether a program finds the `k` nearest, or all, of so many pairs sooner than SciPy's tree does.

    To compute a distance, and to write it down where it is wanted, takes as long as eight rounds over the
    distances, each of which finds one neighbor more.
    """
    if search is None or search.dtype != np.float32 or search.p not in ORDERS or m >= FLAT_FROM:
        return False
    return 0 < pair_count * (8 + k) <= MOST_WORK


class ComparedPoints(NamedTuple):
    """The points that every query is compared with, and the box that they lie in."""

    points: Array  # (rows, m)
    n: Array  # how many of the rows count
    boxsize: Array | None  # (m,) of the periodic box, 0 on axes that are not periodic


class EveryPairSearcher(LocalSearcher):
    """The searches of few points where the points, the queries or a number are traced by a program."""

    def __init__(self, data, n):
        self.data = data
        self.n = n

    def _nearest_columns(self, x, bound, search: Search, results, answer: Answer):
        find = partial(_nearest, k=answer.k)
        distances, rows = self._of_queries(find, x, _computed_once(beyond, bound, search), search)
        found = FoundNeighbors(distances, rows, as_dtype(self.n, np.int32), len(rows))
        return _in_shape(answer.of(found), results)

    def _nearest_within(self, x, r, search: Search, results, max_neighbors: int):
        k = min(max_neighbors, len(self.data))
        reach = _computed_once(partial(_farthest_power, p=search.p), r, search)
        distances, rows, counts = self._of_queries(partial(_within, k=k), x, reach, search)
        missing = (0, 0), (0, max_neighbors - k)
        distances = jnp.pad(distances, missing, constant_values=np.inf)
        is_neighbor = jnp.pad(rows < as_dtype(self.n, rows.dtype), missing)
        rows = jnp.where(is_neighbor, jnp.pad(rows, missing), as_dtype(self.n, rows.dtype))
        return _in_shape((rows, distances, counts), results)

    def _counts_within(self, x, r, search: Search, results):
        reach = _computed_once(partial(_farthest_power, p=search.p), r, search)
        return _in_shape(self._of_queries(_counts, x, reach, search), results)

    def _fixed_edges(self, r, search: Search, results, *, relation: Relation, size: int):
        with x64_for(FLOAT64):
            find = partial(_edges, search=search.static_part(search.engine), relation=relation, size=size)
            find = jax.custom_batching.sequential_vmap(jax.jit(find))
            reach = _computed_once(partial(_farthest_power, p=search.p), r, search)
            edges = find(*varying_alike(self._compared(search), reach))
            return _in_shape(edges, results)

    def _pair_sums(self, other, radii, search: Search, weights: PairWeights, sums):
        with x64_for(FLOAT64):
            inputs = (
                self._compared(search),
                other._compared(search),
                _computed_once(partial(_farthest_power, p=search.p), radii, search),
            )
            weights = PairWeights(*without_slopes(tuple(weights)))
            find = partial(_pair_sums, search=search.static_part(search.engine), sums=sums)
            return jax.custom_batching.sequential_vmap(jax.jit(find))(*varying_alike(*inputs, weights))

    def _compared(self, search: Search) -> ComparedPoints:
        """Return what a search reads of the points."""
        boxsize = search.boxsize
        boxsize = as_dtype(boxsize, FLOAT64) if isinstance(boxsize, tuple) else boxsize
        return without_slopes(ComparedPoints(self.data, as_dtype(self.n, np.int32), boxsize))

    def _of_queries(self, find, x, limit, search: Search):
        """Return what a function finds of queries (q, m), with one limit for each or one for all."""
        with x64_for(FLOAT64):
            compared = self._compared(search)
            if self.are_own_points(x):
                is_query = lax.iota(jnp.int32, len(x)) < compared.n
                x = jnp.where(is_query[:, None], x, jnp.nan)
            x = without_slopes(as_dtype(x, search.dtype))
            find = partial(find, search=search.static_part(search.engine))
            return one_search_of_all(one_after_another(partial(_in_blocks, find)))(compared, x, limit)


def _computed_once(function, number, search: Search):
    """Return what a function of numbers gives: of known ones now, by NumPy, else in the program.

    Where it lies between a number of float32 and the next is a long program, longer than the search.
    """
    with x64_for(FLOAT64):
        if is_traced(number):
            return function(without_slopes(as_dtype(number, search.dtype)))
        with np.errstate(all="ignore"):
            return function(np.asarray(number, search.dtype))


def _in_shape(arrays, results):
    return [array.reshape(shape).astype(dtype) for array, (shape, dtype) in zip(arrays, results, strict=True)]


def _traced_in_float64(function):
    """Let a function be traced with x64 mode on, by `jax.vmap`, too, which may come while it is off."""

    @functools.wraps(function)
    def run(*args, **settings):
        with x64_for(FLOAT64):
            return function(*args, **settings)

    return run


@partial(jax.jit, static_argnums=0)
@_traced_in_float64
def _in_blocks(find, compared: ComparedPoints, x, limit):
    """Return what is found of queries, of so many at a time that memory holds their distances."""
    query_count, m = x.shape
    limit = jnp.broadcast_to(limit, (query_count,))
    compared, x, limit = varying_alike(compared, x, limit)
    block_size = max(PAIRS_AT_ONCE // len(compared.points), 1)
    if query_count <= block_size:
        return find(compared, x, limit)
    block_count = -(-query_count // block_size)
    missing = (0, block_count * block_size - query_count)
    x = jnp.pad(x, (missing, (0, 0))).reshape(block_count, block_size, m)
    limit = jnp.pad(limit, missing).reshape(block_count, block_size)
    found = lax.map(lambda block: find(compared, *block), (x, limit))
    return jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:])[:query_count], found)


# --- distances ------------------------------------------------------------------------------------------


class _Pairs(NamedTuple):
    """How far points are from queries, in float64."""

    powers: Array  # (..., n, q): distances before the root is taken; inf for what is no pair
    p: float

    def distances(self) -> Array:
        """Return the distances (..., n, q)."""
        return root(self.powers) if self.p == 2 else self.powers

    def within(self, farthest_power: Array) -> Array:
        """Tell which pairs are within what `_farthest_power` made of radii, (..., 1, q) or (..., 1, 1)."""
        return (self.powers <= farthest_power) & (self.powers < jnp.inf)


def _farthest_power(radius, p: float):
    """Return the largest powers of distances that are returned as the radii, or as less; -1 for none."""
    xp = _namespace(radius)
    power = longest = longest_within(radius)
    if p == 2:
        # Look for the largest square whose root is within the bound: the root is rounded, too.
        power = longest * longest
        for _ in range(3):
            next_power = xp.nextafter(power, xp.full_like(power, xp.inf))
            power = xp.where(xp.sqrt(next_power) <= longest, next_power, power)
    return xp.where(radius >= 0, power, -1.0)


def longest_within(radius: Array) -> Array:
    """Return the longest distances, in float64, that are returned as radii of float32, or as less."""
    if radius.dtype != np.float32:
        return radius.astype(FLOAT64)
    xp = _namespace(radius)
    exact_radius = _as_float64(radius)
    after = _as_float64(xp.nextafter(radius, xp.full_like(radius, xp.inf)))
    middle = exact_radius + (after - exact_radius) / 2
    below = xp.nextafter(middle, xp.zeros_like(middle))
    farthest = xp.where(_as_float32(middle) <= radius, middle, below)
    is_normal = (radius >= np.finfo(np.float32).tiny) & (after < xp.inf)
    return xp.where(is_normal, farthest, exact_radius)


def beyond(bound: Array) -> Array:
    """Return the shortest distances, in float64, that are returned as bounds of float32, or as more."""
    if bound.dtype != np.float32:
        return bound.astype(FLOAT64)
    xp = _namespace(bound)
    exact_bound = _as_float64(bound)
    last_below = xp.nextafter(bound, xp.zeros_like(bound))
    longest_below = longest_within(last_below)
    shortest = xp.nextafter(longest_below, xp.full_like(longest_below, xp.inf))
    is_normal = (exact_bound > float(np.finfo(np.float32).tiny)) & (bound < xp.inf)
    return xp.where(is_normal, shortest, exact_bound)


def _namespace(x):
    """Return numpy for numbers that are known, else jax.numpy."""
    return np if isinstance(x, np.ndarray | np.generic) else jnp


def _pairs(compared: ComparedPoints, x, p: float) -> _Pairs:
    """Return how far the points of a cloud are from queries (q, m)."""
    points, n, boxsize = compared
    is_point = jnp.isfinite(points).all(axis=1) & (lax.iota(jnp.int32, len(points)) < n)
    is_query = jnp.isfinite(x).all(axis=1)
    points = _as_float64(points)
    x = _as_float64(x)
    if boxsize is not None:
        points = _wrapped(points, boxsize)
        x = _wrapped(x, boxsize)
    differences = []
    for axis in range(points.shape[1]):
        length = None if boxsize is None else boxsize[axis]
        differences.append(jnp.abs(axis_difference(x[None, :, axis], points[:, axis, None], length)))
    along_axes = jnp.stack(differences)
    if p == np.inf:
        total = along_axes.max(axis=0)
    elif p == 1:
        total = along_axes.sum(axis=0)
    else:
        squares = along_axes * along_axes
        # No square is larger. Without a minimum XLA rounds a product and its sum once, not one by one.
        total = jnp.minimum(squares, np.finfo(FLOAT64).max).sum(axis=0)
    is_pair = is_point[:, None] & is_query[None]
    return _Pairs(jnp.where(is_pair, total, jnp.inf), p)


def _wrapped(x, boxsize):
    """Return coordinates inside of the periodic box; those that lie there bit for bit."""
    is_outside = (x < 0) | (x >= boxsize[None])
    return _sum_once(jnp.where(is_outside, 0, x), jnp.where(is_outside, wrap(x, boxsize), 0))


def _sum_once(first, second):
    """Return a sum; a plain one XLA would compute again for each pair that it is needed for."""
    return jnp.stack([first, second]).sum(axis=0)


def _as_float64(x):
    """Return float32 numbers as float64; XLA takes those below the least normal one for 0 on the CPU."""
    if _namespace(x) is np:
        return x.astype(FLOAT64)
    bits = lax.bitcast_convert_type(x, jnp.int32)
    exponent_bits = (bits >> 23) & 0xFF
    multiples = jnp.where(bits < 0, -(bits & 0x7FFFFF), bits & 0x7FFFFF)
    subnormal = jnp.where(exponent_bits == 0, multiples, 0).astype(FLOAT64)
    return _sum_once(x.astype(FLOAT64), subnormal * 2.0**-75 * 2.0**-74)


def _as_float32(x):
    """Return float64 numbers, none below 0, as float32, also where these are below the least normal one."""
    if _namespace(x) is np:
        return x.astype(np.float32)
    is_subnormal = x < 2.0**-126
    scaled = jnp.where(is_subnormal, x, 0) * 2.0**75 * 2.0**74
    multiples = jnp.round(scaled).astype(jnp.int32)
    subnormal = lax.bitcast_convert_type(multiples, jnp.float32)
    return jnp.where(is_subnormal, subnormal, x.astype(jnp.float32))


# --- searches -------------------------------------------------------------------------------------------


def _nearest(compared: ComparedPoints, x, bound, *, search: Search, k: int):
    """Return distances and rows (q, k) of the nearest points, nearer than bounds (q,) of float64."""
    pairs = _pairs(compared, x, search.p)
    distances = pairs.distances()
    is_near = distances < bound[None]
    return _least(jnp.where(is_near, distances, jnp.inf), compared.n, k)


def _within(compared: ComparedPoints, x, farthest_power, *, search: Search, k: int):
    """Return distances and rows (q, k) of the nearest points within reach (q,), and the true counts."""
    pairs = _pairs(compared, x, search.p)
    distances = pairs.distances()
    is_near = pairs.within(farthest_power[None])
    nearest = _least(jnp.where(is_near, distances, jnp.inf), compared.n, k)
    return *nearest, is_near.sum(axis=0, dtype=jnp.int32)


def _counts(compared: ComparedPoints, x, farthest_power, *, search: Search):
    """Return how many points are within reach of each query."""
    return (_pairs(compared, x, search.p).within(farthest_power[None]).sum(axis=0, dtype=jnp.int32),)


def _least(distances, n, k: int):
    """Return the `k` least distances (n, q) of each query and their rows, both (q, k), by distance and row.

    One after another: for few of them that takes less than to sort all.
    """
    find = _few_least if 0 < k <= _MOST_IN_A_ROW else _least_in_a_loop
    found_distances, found_rows = find(distances, n, k)
    return _as_float32(found_distances).T, found_rows.T


def _few_least(distances, n, k: int):
    """Return the least distances and their rows, (k, q) each; XLA compiles a loop for twice as long.

    Rows are float64 until they are found: so is their least, and one of integers takes longer to compile.
    """
    rows = lax.broadcasted_iota(FLOAT64, distances.shape, 0)
    found_distances = []
    found_rows = []
    for _ in range(k):
        distance = distances.min(axis=0)
        row = jnp.where(distances == distance[None], rows, jnp.inf).min(axis=0)
        distances = jnp.where(rows == row[None], jnp.inf, distances)
        found_distances.append(distance)
        found_rows.append(jnp.where(distance < jnp.inf, row.astype(jnp.int32), n))
    return jnp.stack(found_distances), jnp.stack(found_rows)


def _least_in_a_loop(distances, n, k: int):
    """Return the least distances and their rows, (k, q) each; it ends where no query has more of them."""
    point_count, query_count = distances.shape
    rows = lax.broadcasted_iota(jnp.int32, (point_count, 1), 0)

    def next_of(last_distance, last_row):
        is_tied = distances == last_distance[None]
        is_after = (distances > last_distance[None]) | (is_tied & (rows > last_row[None]))
        distance = jnp.where(is_after, distances, jnp.inf).min(axis=0)
        row = jnp.where(is_after & (distances == distance[None]), rows, point_count).min(axis=0)
        return distance, jnp.where(distance < jnp.inf, row, n)

    class State(NamedTuple):
        found_count: Array
        distances: Array  # (k, q)
        rows: Array  # (k, q)
        last_distance: Array  # (q,)
        last_row: Array  # (q,)

    def has_more(state: State):
        return (state.found_count < k) & (state.last_distance < jnp.inf).any()

    def find_next(state: State):
        distance, row = next_of(state.last_distance, state.last_row)
        return State(
            state.found_count + 1,
            state.distances.at[state.found_count].set(distance),
            state.rows.at[state.found_count].set(row),
            distance,
            row,
        )

    start = State(
        jnp.int32(0),
        jnp.full((k, query_count), jnp.inf, FLOAT64),
        jnp.full((k, query_count), n),
        jnp.full(query_count, -1.0, FLOAT64),
        jnp.full(query_count, -1, jnp.int32),
    )
    end = lax.while_loop(has_more, find_next, varying_like(start, distances))
    return end.distances, end.rows


@_traced_in_float64
def _edges(compared: ComparedPoints, farthest_power, *, search: Search, relation: Relation, size: int):
    """Return receivers, senders and distances (size,) of the edges, by receiver, and their true number."""
    rows = lax.iota(jnp.int32, len(compared.points))
    pairs = _pairs(compared, compared.points, search.p)
    # Receivers are the lines, senders the columns: a pair is as far either way.
    is_edge = pairs.within(farthest_power) & (rows < compared.n)[None]
    if relation is Relation.OTHER:
        is_edge = is_edge & (rows[:, None] != rows[None])
    elif relation is Relation.LATER:
        is_edge = is_edge & (rows[:, None] < rows[None])
    is_edge = is_edge.reshape(-1)
    count = is_edge.sum(dtype=jnp.int32)
    ends = jnp.cumsum(is_edge, dtype=jnp.int32)
    places = jnp.where(is_edge, ends - 1, size)
    numbers = lax.iota(jnp.int32, is_edge.size)
    edges = jnp.zeros(size, jnp.int32).at[places].set(numbers, mode="drop")
    is_found = lax.iota(jnp.int32, size) < count
    receivers = jnp.where(is_found, edges // len(rows), compared.n)
    senders = jnp.where(is_found, edges % len(rows), compared.n)
    distances = _as_float32(pairs.distances().reshape(-1)[edges])
    return receivers, senders, jnp.where(is_found, distances, jnp.inf), count


@_traced_in_float64
def _pair_sums(
    compared: ComparedPoints, other: ComparedPoints, powers, weights: PairWeights, *, search: Search, sums
):
    """Return the sums (R,) of the products of weights of the pairs within reach; of 1 without weights."""
    pairs = _pairs(other, compared.points, search.p)
    is_query = lax.iota(jnp.int32, len(compared.points)) < compared.n
    pairs = pairs._replace(powers=pairs.powers[None])
    within = pairs.within(powers[:, None, None]) & is_query[None, None]
    if weights.self_weights is None:
        return within.sum(axis=(1, 2), dtype=sums)
    self_weights = weights.self_weights.astype(FLOAT64)
    other_weights = weights.other_weights.astype(FLOAT64)
    products = other_weights[:, None] * self_weights[None]
    return jnp.where(within, products[None], 0).sum(axis=(1, 2)).astype(sums)
