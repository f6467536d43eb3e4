"""The metrics, a class each.

Derivatives are those of a metric's `distance`. Where it has a corner, as at 0, they are 0.
"""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from .._tree._powers_of_two import times_power_of_two
from ._calculus import (
    Rows,
    Sums,
    absolute,
    along_last_axis,
    divided,
    quotient,
    ratio,
    rounded_ratio,
    rows_for,
    square_root,
    weighted_sums,
    without,
)
from ._metric import (
    ByRows,
    KernelTerm,
    Metric,
    NormalRows,
    Parameters,
    ProductMetric,
    ScaledRows,
    SumMetric,
)
from ._scales import (
    above_subnormal,
    as_truth,
    balanced,
    into_range,
    near_overflow,
    of_size_one,
    reciprocal_of_size,
    unequal_codes,
)

__all__ = ["METRICS", "BooleanMetric", "UserMetric", "find_metric", "register"]

Scale = Array | None


class Euclidean(SumMetric):
    """The root of a sum of squares of differences."""

    name = "euclidean"
    title = "Euclidean distance"
    formula = "sqrt(sum(w (u - v)^2))"
    aliases: ClassVar[tuple[str, ...]] = ("euclid", "eu", "e")
    kernel = KernelTerm("square")

    def scale_of_pairs(self, u: Array, v: Array, parameters: Parameters) -> Scale:
        """Return the power of two that brings the largest difference near 1."""
        size = jnp.abs(lax.stop_gradient(u) - lax.stop_gradient(v))
        if parameters.weights is not None:
            size = size * along_last_axis(jnp.sqrt(lax.stop_gradient(parameters.weights)), size)
        return reciprocal_of_size(jnp.max(size, axis=-1, initial=0))

    def scale_of_distances(self, distances: Array) -> Array:
        return reciprocal_of_size(distances)

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        difference = u - v
        if scale is not None:
            difference = difference * scale
        return (jnp.square(difference),)

    def finished(self, sums: Sums, m: int, scale: Scale, parameters: Parameters) -> Array:
        (total,) = sums
        distance = square_root(total)
        return distance if scale is None else distance / scale

    def scaled_rows(self, a: Array, b: Array, parameters: Parameters) -> ScaledRows:
        rows = super().scaled_rows(a, b, parameters)
        return ScaledRows(*near_overflow(rows.a, rows.b, rows.weights))


class SEuclidean(Euclidean):
    """The Euclidean distance in units of standard deviations."""

    name = "seuclidean"
    title = "standardized Euclidean distance"
    formula = "sqrt(sum((u - v)^2 / V))"
    example = "[1, 2, 3], [2, 2, 5], [1, 1, 4]"
    aliases = ("se", "s")
    options = ("V",)  # whose reciprocals are the weights


class SqEuclidean(Euclidean):
    """A sum of squares of differences."""

    name = "sqeuclidean"
    title = "squared Euclidean distance"
    formula = "sum(w (u - v)^2)"
    aliases = ("sqe", "sqeuclid")
    degree = 2

    def scale_of_pairs(self, u: Array, v: Array, parameters: Parameters) -> Scale:
        """Return no scale without weights: squares overflow where the distance does, but slopes do not."""
        if parameters.weights is None:
            return None
        scale = super().scale_of_pairs(u, v, parameters)
        assert scale is not None
        return self._with_square(scale)

    def scale_of_distances(self, distances: Array) -> Array:
        return self._with_square(reciprocal_of_size(jnp.sqrt(lax.stop_gradient(distances))))

    @staticmethod
    def _with_square(scale: Array) -> Array:
        """Return scales so near 1 that their squares are numbers; 1 where the distance overflows anyway."""
        highest = jnp.finfo(scale.dtype).maxexp // 2
        limit = 2.0 ** (highest - 2)
        return jnp.where(scale <= 2.0**-highest, 1, jnp.clip(scale, 1 / limit, limit))

    def finished(self, sums: Sums, m: int, scale: Scale, parameters: Parameters) -> Array:
        (total,) = sums
        return total if scale is None else total / scale / scale

    def in_users_units(self, distances: Array, exponent: Array) -> Array:
        return times_power_of_two(times_power_of_two(distances, exponent), exponent)


class CityBlock(SumMetric):
    """A sum of sizes of differences."""

    name = "cityblock"
    title = "city block (Manhattan) distance"
    formula = "sum(w |u - v|)"
    aliases = ("cblock", "cb", "c")
    kernel = KernelTerm("size")

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        return (absolute(u - v),)


class Chebyshev(SumMetric):
    """The largest difference; weights only say which coordinates are seen."""

    name = "chebyshev"
    title = "Chebyshev distance"
    formula = "max(|u - v|) where w > 0"
    aliases = ("chebychev", "cheby", "cheb", "ch")
    takes_greatest = True
    kernel = KernelTerm("greatest")

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        return (absolute(u - v),)


class Minkowski(SumMetric):
    """Powers of ratios to the pair's largest difference are added: powers alone vanish for a large p."""

    name = "minkowski"
    title = "Minkowski distance"
    formula = "sum(w |u - v|^p)^(1/p)"
    domain = "any; p > 0, or inf"
    example = "[1, 2, 3], [2, 2, 5], 3"
    aliases = ("mi", "m", "pnorm")
    options = ("p", "w")
    has_logarithms = True
    divides_by_largest = True

    def scale_of_pairs(self, u: Array, v: Array, parameters: Parameters) -> Array:
        """Return the largest difference, weighted."""
        size = jnp.abs(lax.stop_gradient(u) - lax.stop_gradient(v))
        if parameters.weights is not None:
            size = size * along_last_axis(self._weights_of_rows(parameters), size)
        return self.scale_of_largest(jnp.max(size, axis=-1, initial=0))

    def scale_of_distances(self, distances: Array) -> Array:
        return self.scale_of_largest(lax.stop_gradient(distances))

    def scale_of_largest(self, largest: Array) -> Array:
        """Return the largest difference, 1 where a quotient by it would not be a number."""
        return jnp.where((largest > 0) & (largest < jnp.inf), largest, 1)

    @staticmethod
    def _weights_of_rows(parameters: Parameters) -> Array:
        """Return by what rows are multiplied that need no weights then."""
        assert parameters.weights is not None
        weights = lax.stop_gradient(parameters.weights)
        return jnp.where(weights == 0, 0, jnp.where(weights == 0, 1, weights) ** (1 / parameters.p))

    def scaled_rows(self, a: Array, b: Array, parameters: Parameters) -> ScaledRows:
        rows = super().scaled_rows(a, b, parameters)
        if rows.weights is None or parameters.p < 1:  # roots of order p < 1 may overflow
            return rows
        factors = self._weights_of_rows(parameters)
        return ScaledRows(rows.a * along_last_axis(factors, a), rows.b * along_last_axis(factors, b), None)

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        assert scale is not None
        ratio_to_scale = jnp.abs(u - v) / scale
        is_zero = ratio_to_scale == 0
        return (jnp.where(is_zero, 0, jnp.where(is_zero, 1, ratio_to_scale) ** parameters.p),)

    def finished(self, sums: Sums, m: int, scale: Scale, parameters: Parameters) -> Array:
        assert scale is not None
        (total,) = sums
        is_zero = total == 0
        return jnp.where(is_zero, 0, jnp.where(is_zero, 1, total) ** (1 / parameters.p) * scale)


class BrayCurtis(SumMetric):
    """A quotient of two sums."""

    name = "braycurtis"
    title = "Bray-Curtis dissimilarity"
    formula = "sum(w |u - v|) / sum(w |u + v|)"
    domain = "any; nan for 0/0"
    degree = 0
    ignores_scale_of_weights = True

    def brought_into_range(self, u: Array, v: Array) -> tuple[Array, Array]:
        limit = jnp.finfo(u.dtype).maxexp // 2
        u, v = into_range(-limit, limit - 2, u, v)
        return u, v

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        return absolute(u - v), absolute(u + v)

    def finished(self, sums: Sums, m: int, scale: Scale, parameters: Parameters) -> Array:
        differences, totals = sums
        return rounded_ratio(differences, totals)


class Canberra(SumMetric):
    """A sum of quotients."""

    name = "canberra"
    title = "Canberra distance"
    formula = "sum(w |u - v| / (|u| + |v|))"
    domain = "any; a term 0/0 is 0"
    degree = 0

    def brought_into_range(self, u: Array, v: Array) -> tuple[Array, Array]:
        limits = jnp.finfo(u.dtype)
        u, v = into_range(limits.minexp // 2, limits.maxexp - 2, u, v)
        return u, v

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        return (quotient(absolute(u - v), absolute(u) + absolute(v)),)


class Cosine(SumMetric):
    """Half of the squared difference of directions is ``1 - cos``, as exact for small angles as for large."""

    name = "cosine"
    title = "cosine distance"
    formula = "1 - u.v / (|u| |v|)"
    domain = "any; nan where u or v is 0"
    aliases = ("cos",)
    degree = 0
    ignores_scale_of_weights = True
    kernel = KernelTerm("square", 0.5)

    def prepared(self, rows: Rows, parameters: Parameters) -> Rows:
        """Return rows of length 1; nan for those of length 0."""
        weights = parameters.weights
        rows = Rows(*(of_size_one(x, rows.seen) for x in rows))
        (squares,) = weighted_sums(lambda x, _: (jnp.square(x),), (rows,), weights)
        length = jnp.sqrt(squares)[..., None]
        return Rows(ratio(rows.seen, length), _ratio_of_any_size(rows.whole, length))

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        return (jnp.square(u - v) / 2,)

    def finished(self, sums: Sums, m: int, scale: Scale, parameters: Parameters) -> Array:
        """Return the distances; nan without columns, as all rows of length 0 have."""
        (total,) = sums
        return jnp.full_like(total, jnp.nan) if m == 0 else total


def _ratio_of_any_size(x: Array, y: Array) -> Array:
    """Return ``x / y``; a quotient that may overflow has no derivative, and does no harm to others'."""
    is_small = jnp.abs(x) < 2.0 ** (jnp.finfo(x.dtype).maxexp // 4)
    return jnp.where(is_small, ratio(jnp.where(is_small, x, 0), y), lax.stop_gradient(x / y))


class Correlation(Cosine):
    """The cosine distance of rows whose means are taken away."""

    name = "correlation"
    title = "correlation distance"
    formula = "1 - cos(u - mean(u), v - mean(v))"
    domain = "any; nan where u or v is constant"
    aliases = ("co",)
    options = ("w", "centered")

    def prepared(self, rows: Rows, parameters: Parameters) -> Rows:
        """Return centered rows of length 1."""
        weights = parameters.weights
        if parameters.centered:
            rows = Rows(*(of_size_one(x, rows.seen) for x in rows))
            total_weight = rows.seen.shape[-1] if weights is None else jnp.sum(weights, axis=-1)
            for _ in range(2):  # the second time takes away the first mean's rounding
                (total,) = weighted_sums(lambda x, _: (x,), (rows,), weights)
                mean = (total / total_weight)[..., None]
                rows = Rows(without(rows.seen - mean, weights), rows.whole - mean)
        return super().prepared(rows, parameters)


class Hamming(SumMetric):
    """The share of coordinates that differ."""

    name = "hamming"
    title = "Hamming distance"
    formula = "sum(w [u != v]) / sum(w)"
    aliases = ("matching", "hamm", "ha", "h")
    degree = None
    ignores_scale_of_weights = True
    kernel = KernelTerm("unequal")

    def distance(self, u: Array, v: Array, parameters: Parameters, scale: Scale = None) -> Array:
        parameters = self.with_weights_in_range(parameters)
        codes = unequal_codes(u, v)
        is_unequal = jnp.where(codes[0] != codes[1], jnp.ones((), u.dtype), 0)
        rows = rows_for(is_unequal, parameters.weights)
        sums = weighted_sums(lambda x, _: (x,), (rows,), parameters.weights)
        return self.finished(sums, u.shape[-1], None, parameters)

    def brought_into_range(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Return integers in the place of numbers."""
        return unequal_codes(u, v)

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        dtype = jnp.float64 if u.dtype.itemsize == 8 else jnp.float32
        return (jnp.where(u != v, jnp.ones((), dtype), 0),)

    def finished(self, sums: Sums, m: int, scale: Scale, parameters: Parameters) -> Array:
        (total,) = sums
        weights = parameters.weights
        return divided(total, m if weights is None else jnp.sum(weights))

    def scaled_for_kernel(self, a: Array, b: Array, parameters: Parameters) -> ScaledRows:
        """Return the rows as they are: a GPU compares the smallest numbers as others."""
        weights = self.with_weights_in_range(parameters).weights
        return ScaledRows(without(a, weights), without(b, weights), weights)


class Hellinger(Euclidean):
    """The Euclidean distance of square roots."""

    name = "hellinger"
    title = "Hellinger distance"
    formula = "sqrt(sum((sqrt(u) - sqrt(v))^2) / 2)"
    domain = "u, v >= 0"
    degree = 0.5
    example = "[0.5, 0.5], [0.9, 0.1]"
    aliases: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[tuple[str, ...]] = ()
    kernel = KernelTerm("square", 0.5)

    def distance(self, u: Array, v: Array, parameters: Parameters, scale: Scale = None) -> Array:
        """Return the distances; where both are 0 the terms ``u + v - 2 sqrt(u v)`` have slopes of 1."""
        if scale is None:
            scale = self.scale_of_pairs(square_root(u), square_root(v), parameters)
        assert scale is not None

        def terms(u: Array, v: Array, scale: Array) -> Sums:
            both_zero = (u == 0) & (v == 0)
            squares = jnp.square((square_root(u) - square_root(v)) * scale)
            return (jnp.where(both_zero, (u + v) * scale * scale, squares) / 2,)

        sums = weighted_sums(terms, (Rows(u, u), Rows(v, v)), None, scale[..., None])
        return self.finished(sums, u.shape[-1], scale, parameters)

    def prepared(self, rows: Rows, parameters: Parameters) -> Rows:
        return Rows(*map(square_root, rows))

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        return (jnp.square(u - v) / 2,)


class JensenShannon(SumMetric):
    """The root of the mean divergence of probabilities from their mean."""

    name = "jensenshannon"
    title = "Jensen-Shannon distance"
    formula = "sqrt((D(u, m) + D(v, m)) / 2), D relative entropy, m = (u + v) / 2"
    domain = "u, v >= 0, normalized to sum 1"
    aliases = ("js",)
    degree = 0
    options = ("base",)
    has_logarithms = True

    def prepared(self, rows: Rows, parameters: Parameters) -> Rows:
        """Return rows of sum 1."""
        of_unit_size = of_size_one(rows.seen, rows.seen)
        probabilities = of_unit_size / jnp.sum(of_unit_size, axis=-1, keepdims=True)
        return Rows(probabilities, probabilities)

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        return (_divergence_from_mean(u, v),)

    def finished(self, sums: Sums, m: int, scale: Scale, parameters: Parameters) -> Array:
        """Return the distances; infinity without columns, as SciPy's matrices have."""
        (total,) = sums
        if m == 0:
            return jnp.full_like(total, jnp.inf)
        base = parameters.base
        return square_root(divided(jnp.maximum(total, 0), 2 if base is None else 2 * jnp.log(base)))


@jax.custom_jvp
def _divergence_from_mean(p: Array, q: Array) -> Array:
    """Return ``p log(p/m) + q log(q/m)`` with ``p = m (1 + e)`` and ``q = m (1 - e)``.

    Where e is but the rounding of a normalization, it counts as 0.
    """
    mean = (p + q) / 2
    e = quotient(p - q, p + q)
    is_small = jnp.abs(e) < 0.5  # the two logarithms cancel there
    is_rounding = jnp.abs(e) <= 4 * jnp.finfo(e.dtype).eps
    small = jnp.where(is_small & ~is_rounding, e, 0)
    of_small = small * (jnp.log1p(small) - jnp.log1p(-small)) + jnp.log1p(-jnp.square(small))
    large = jnp.where(is_small, 1, e)
    of_large = _x_log_x(1 + large) + _x_log_x(1 - large)
    return mean * jnp.where(is_small, of_small, of_large)


@_divergence_from_mean.defjvp
def _slope_of_divergence(primals: Any, tangents: Any) -> tuple[Array, Array]:
    p, q = primals
    e = quotient(p - q, p + q)
    slopes = _log_of_share(p, q, e), _log_of_share(q, p, -e)
    return _divergence_from_mean(p, q), slopes[0] * tangents[0] + slopes[1] * tangents[1]


def _log_of_share(p: Array, q: Array, e: Array) -> Array:
    """Return ``log(2 p / (p + q))``, its limit from above where both are 0, and 0 where it is infinite."""
    is_zero = p == 0
    at_zero = jnp.where(q == 0, jnp.log(jnp.full((), 2, p.dtype)), 0)
    return jnp.where(is_zero, at_zero, jnp.log1p(jnp.where(is_zero, 0, e)))


def _x_log_x(x: Array) -> Array:
    is_zero = x == 0
    return jnp.where(is_zero, 0, x * jnp.log(jnp.where(is_zero, 1, x)))


class KLDivergence(SumMetric):
    """The divergence of one row from another."""

    name = "kl_divergence"
    title = "Kullback-Leibler divergence"
    formula = "sum(u log(u / v))"
    domain = "u, v >= 0; inf where only v is 0"
    example = "[0.5, 0.5], [0.9, 0.1]"
    aliases = ("kl_div", "kld")
    options: ClassVar[tuple[str, ...]] = ()
    has_logarithms = True

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        is_zero = u == 0
        u_not_zero = jnp.where(is_zero, 1, u)
        return (jnp.where(is_zero, 0, u * _log_of_ratio(u_not_zero, jnp.where(is_zero, 1, v))),)


def _log_of_ratio(x: Array, y: Array) -> Array:
    """Return ``log(x / y)``, also where the quotient overflows or vanishes."""
    quarter = jnp.finfo(x.dtype).maxexp // 2
    power = jnp.asarray(2.0**quarter, x.dtype)
    ratio = lax.stop_gradient(x / y)
    overflows = (ratio == jnp.inf) & (y > 0) & (x < jnp.inf)
    vanishes = (ratio < jnp.finfo(x.dtype).tiny) & (x > 0) & (y < jnp.inf)
    factor = jnp.where(overflows, 1 / power, jnp.where(vanishes, power, 1))
    missing = jnp.where(overflows, 2 * quarter, jnp.where(vanishes, -2 * quarter, 0))
    return jnp.log((x * factor) / (y / factor)) + missing * math.log(2)


class InnerProduct(ProductMetric):
    """A sum of products."""

    name = "inner_product"
    title = "inner product, a similarity,"
    formula = "u.v"
    options: ClassVar[tuple[str, ...]] = ()

    def above_subnormal(self, a: Array, b: Array, parameters: Parameters) -> NormalRows:
        """Return rows in a unit for each side."""
        (a,), shift_of_a = above_subnormal(None, a)
        (b,), shift_of_b = above_subnormal(None, b)
        return NormalRows(a, b, -(shift_of_a + shift_of_b))

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        return (u * v,)

    def by_product(self, a: Array, b: Array, parameters: Parameters) -> Array:
        """Return the matrix of all pairs of rows by a matrix product."""
        return _product(a, b)


def _product(a: Array, b: Array) -> Array:
    return jnp.matmul(a, jnp.swapaxes(b, -1, -2), precision=lax.Precision.HIGHEST)


class Counts(NamedTuple):
    """In how many places (weights of them) two rows are true."""

    both: Array
    only_u: Array
    only_v: Array
    neither: Array


class BooleanMetric(ProductMetric):
    """A metric of counts: ``tt`` both true, ``tf`` only u, ``ft`` only v, ``ff`` neither."""

    domain = "bool, or numbers 0 and 1"
    degree = None
    example = "[True, True, False, False], [False, True, False, True]"
    takes_truth = True
    ignores_scale_of_weights = True

    def of_counts(self, counts: Counts) -> Array:
        """Return the distances."""
        raise NotImplementedError

    def terms(self, u: Array, v: Array, scale: Scale, parameters: Parameters) -> Sums:
        return u * v, u * (1 - v), (1 - u) * v, (1 - u) * (1 - v)

    def finished(self, sums: Sums, m: int, scale: Scale, parameters: Parameters) -> Array:
        return self.of_counts(Counts(*sums))

    def by_product(self, a: Array, b: Array, parameters: Parameters) -> Array:
        """Return the matrix of all pairs of rows: sums of whole numbers, which are exact in a product."""
        a = self.prepared(Rows(a, a), parameters).seen
        b = self.prepared(Rows(b, b), parameters).seen
        both = _product(a, b)
        of_a = jnp.sum(a, axis=-1)[..., :, None]
        of_b = jnp.sum(b, axis=-1)[..., None, :]
        counts = Counts(both, of_a - both, of_b - both, a.shape[-1] - of_a - of_b + both)
        return self.of_counts(counts)


class Dice(BooleanMetric):
    """Unequal places beside those of twice both."""

    name = "dice"
    title = "Dice dissimilarity"
    formula = "(tf + ft) / (2 tt + tf + ft)"
    takes_truth = False

    def of_counts(self, counts: Counts) -> Array:
        unequal = counts.only_u + counts.only_v
        return divided(unequal, 2 * counts.both + unequal)


class Jaccard(BooleanMetric):
    """Unequal places beside those where one is true."""

    name = "jaccard"
    title = "Jaccard dissimilarity"
    formula = "(tf + ft) / (tt + tf + ft)"
    domain = "any, true where not 0; 0 where none is true"
    aliases = ("jacc", "ja", "j")

    def prepared(self, rows: Rows, parameters: Parameters) -> Rows:
        return Rows(*(as_truth(x).astype(x.dtype) for x in rows))

    def of_counts(self, counts: Counts) -> Array:
        unequal = counts.only_u + counts.only_v
        return quotient(unequal, counts.both + unequal, rounded_ratio)


class RogersTanimoto(BooleanMetric):
    """Twice the unequal places beside all."""

    name = "rogerstanimoto"
    title = "Rogers-Tanimoto dissimilarity"
    formula = "2 (tf + ft) / (tt + ff + 2 (tf + ft))"

    def of_counts(self, counts: Counts) -> Array:
        unequal = 2 * (counts.only_u + counts.only_v)
        return divided(unequal, counts.both + counts.neither + unequal)


class RussellRao(BooleanMetric):
    """The share of places where not both are true."""

    name = "russellrao"
    title = "Russell-Rao dissimilarity"
    formula = "(tf + ft + ff) / (tt + tf + ft + ff)"

    def of_counts(self, counts: Counts) -> Array:
        not_both = counts.only_u + counts.only_v + counts.neither
        return divided(not_both, counts.both + not_both)


class SokalSneath(BooleanMetric):
    """Twice the unequal places beside those where one is true."""

    name = "sokalsneath"
    title = "Sokal-Sneath dissimilarity"
    formula = "2 (tf + ft) / (tt + 2 (tf + ft))"
    domain = "bool, or numbers 0 and 1; nan where none is true"

    def of_counts(self, counts: Counts) -> Array:
        unequal = 2 * (counts.only_u + counts.only_v)
        return divided(unequal, counts.both + unequal)


class Yule(BooleanMetric):
    """Products of counts."""

    name = "yule"
    title = "Yule dissimilarity"
    formula = "2 tf ft / (tt ff + tf ft)"
    domain = "bool, or numbers 0 and 1; 0 where tf ft is"

    def of_counts(self, counts: Counts) -> Array:
        crossed = counts.only_u * counts.only_v
        return quotient(2 * crossed, counts.both * counts.neither + crossed, rounded_ratio)


class Mahalanobis(ByRows):
    """The length of a difference by the inverse of a covariance matrix."""

    name = "mahalanobis"
    title = "Mahalanobis distance"
    formula = "sqrt((u - v) VI (u - v)^T)"
    example = "[1, 0], [0, 1], [[2, 0], [0, 1]]"
    aliases = ("mahal", "mah")
    options = ("VI",)

    def distance(self, u: Array, v: Array, parameters: Parameters, scale: Scale = None) -> Array:
        """Return the distances, computed in units of the pair's largest difference, and of columns."""
        assert parameters.inverse_covariance is not None
        matrix, units, unit = balanced(parameters.inverse_covariance)
        if matrix.ndim > 2:  # of each cloud of a batch, whose pairs are (..., nA, nB)
            units = units[..., None, :]
            unit = unit[..., None]
        difference = (u - v) * along_last_axis(units, u)
        scale = reciprocal_of_size(jnp.max(jnp.abs(lax.stop_gradient(difference)), axis=-1, initial=0))
        difference = difference * scale[..., None]
        product = jnp.matmul(difference, matrix, precision=lax.Precision.HIGHEST)
        return square_root(jnp.sum(product * difference, axis=-1)) / scale * unit


@dataclass(frozen=True)
class UserMetric(ByRows):
    """A function of two vectors that the user gave: it gets rows and options as they are."""

    degree = None
    function: Callable[..., Any]
    options_of_function: tuple[tuple[str, Any], ...] = ()

    def distance(self, u: Array, v: Array, parameters: Parameters, scale: Scale = None) -> Array:
        options = dict(self.options_of_function) | parameters.keywords

        def of_vectors(u: Array, v: Array) -> Array:
            distance = self.function(u, v, **options)
            number = None
            if not isinstance(distance, str):
                with contextlib.suppress(TypeError, ValueError):  # what JAX raises for None and objects
                    number = jnp.asarray(distance)
            if number is None or number.ndim or jnp.iscomplexobj(number):
                given = repr(distance) if number is None else f"{number.dtype} of shape {number.shape}"
                raise ValueError(f"a metric must return one real number for two vectors, got {given}")
            return number

        return jnp.vectorize(of_vectors, signature="(m),(m)->()")(u, v)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        BrayCurtis(),
        Canberra(),
        Chebyshev(),
        CityBlock(),
        Correlation(),
        Cosine(),
        Dice(),
        Euclidean(),
        Hamming(),
        Hellinger(),
        InnerProduct(),
        Jaccard(),
        JensenShannon(),
        KLDivergence(),
        Mahalanobis(),
        Minkowski(),
        RogersTanimoto(),
        RussellRao(),
        SEuclidean(),
        SokalSneath(),
        SqEuclidean(),
        Yule(),
    )
}
# fmt: off
MetricName: TypeAlias = Literal[
    "braycurtis", "c", "canberra", "cb", "cblock", "ch", "cheb", "cheby", "chebychev", "chebyshev",
    "cityblock", "co", "correlation", "cos", "cosine", "dice", "e", "eu", "euclid", "euclidean", "h",
    "ha", "hamm", "hamming", "hellinger", "inner_product", "j", "ja", "jacc", "jaccard",
    "jensenshannon", "js", "kl_div", "kl_divergence", "kld", "m", "mah", "mahal", "mahalanobis",
    "matching", "mi", "minkowski", "pnorm", "rogerstanimoto", "russellrao", "s", "se", "seuclidean",
    "sokalsneath", "sqe", "sqeuclid", "sqeuclidean", "yule",
]
# fmt: on
MetricLike: TypeAlias = MetricName | Callable[..., Any]
_BY_ALIAS = {alias: metric for metric in METRICS.values() for alias in (metric.name, *metric.aliases)}
_BY_FUNCTION: dict[Any, Metric] = {}


def register(function: Any, metric: Metric) -> None:
    """Make the public function stand for its metric where one is asked for."""
    _BY_FUNCTION[function] = metric


# What to write for names that scikit-learn has, and SciPy has not.
_OF_SCIKIT_LEARN = {
    "haversine": "use spatial.great_circle_distance, or a KDTree of unit_vectors and chord_length",
    "l1": "use 'cityblock'",
    "l2": "use 'euclidean'",
    "manhattan": "use 'cityblock'",
    "nan_euclidean": "fill missing values first, or give their coordinates the weight 0",
    "p": "use 'minkowski'",
    "precomputed": "pass vectors, of which the distances are computed",
}


def find_metric(metric: Any) -> Metric:
    """Return the metric of a name or function; a new one for a function of the user's."""
    if isinstance(metric, str):
        name = metric.lower().removeprefix("test_")  # SciPy's names for its slow forms of the same
        if name not in _BY_ALIAS:
            advice = _OF_SCIKIT_LEARN.get(name) or f"known are {', '.join(METRICS)}"
            raise ValueError(f"Unknown Distance Metric: {metric}: {advice}")
        return _BY_ALIAS[name]
    if not callable(metric):
        raise TypeError(
            f"2nd argument metric must be a string identifier or a function, got {type(metric).__name__}"
        )
    if getattr(metric, "__module__", None) == "scipy.spatial.distance":
        return _BY_ALIAS[metric.__name__]
    if metric in _BY_FUNCTION:
        return _BY_FUNCTION[metric]
    return UserMetric(metric)
