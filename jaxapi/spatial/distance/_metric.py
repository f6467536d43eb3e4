"""What a metric is: its names, its parameters, and what vectors, matrices and reductions share."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..._core._typing import Array
from .._tree._powers_of_two import power_of_two, times_power_of_two
from ._calculus import Rows, rows_for, weighted_sums, without
from ._scales import above_subnormal, into_range

__all__ = [
    "ByRows",
    "KernelTerm",
    "Metric",
    "NormalRows",
    "Parameters",
    "ProductMetric",
    "ScaledRows",
    "SumMetric",
]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Parameters:
    """What a metric is given besides rows."""

    weights: Array | None = None  # (m,), or (..., m) for each cloud of a batch
    inverse_covariance: Array | None = None  # (m, m), or (..., m, m) for each cloud of a batch
    base: Array | None = None  # of the logarithm
    keywords: dict[str, Array] = field(default_factory=dict)  # of a user's function
    p: float = field(default=2.0, metadata={"static": True})
    centered: bool = field(default=True, metadata={"static": True})

    def between_pairs(self) -> "Parameters":
        """Return parameters that broadcast between pairs of rows (..., nA, nB, m)."""
        weights = self.weights
        if weights is not None and weights.ndim > 1:
            weights = weights[..., None, None, :]
        inverse_covariance = self.inverse_covariance
        if inverse_covariance is not None and inverse_covariance.ndim > 2:
            inverse_covariance = inverse_covariance[..., None, :, :]
        return replace(self, weights=weights, inverse_covariance=inverse_covariance)


class KernelTerm(NamedTuple):
    """The term that the CUDA kernel `pairwise` adds up for a metric, and what its sum is multiplied by."""

    name: str
    factor: float = 1


class ScaledRows(NamedTuple):
    """Rows of both sides, prepared for a matrix of all pairs, and their weights."""

    a: Array
    b: Array
    weights: Array | None
    exponent: Array | None = None  # rows are in units of ``2**exponent``; None for 1


class NormalRows(NamedTuple):
    """Rows of both sides without subnormal numbers, which XLA takes for 0 on CPUs."""

    a: Array
    b: Array
    exponent: Array | None = None  # distances are in units of ``2**exponent``; None for 1

    def in_users_units(self, distances: Array) -> Array:
        """Return distances, given those of these rows."""
        if self.exponent is None:
            return distances
        # The barrier: XLA's CPU would else compute the power again for each distance.
        return distances * lax.optimization_barrier(power_of_two(self.exponent, distances.dtype))


class Metric:
    """A metric. The fields are its names and what the documentation says of it."""

    name: ClassVar[str]
    title: ClassVar[str]
    formula: ClassVar[str]
    domain: ClassVar[str] = "any"
    example: ClassVar[str] = "[1, 2, 3], [2, 2, 5]"
    aliases: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[tuple[str, ...]] = ("w",)
    takes_truth: ClassVar[bool] = False  # matrices take every number that is not 0 as True, as SciPy's do
    # Rows times c are ``c**degree`` as far apart. None where they are not, or subnormal numbers do no harm.
    degree: ClassVar[float | None] = 1

    def above_subnormal(self, a: Array, b: Array, parameters: Parameters) -> NormalRows:
        """Return rows whose smallest numbers count."""
        if self.degree is None:
            return NormalRows(a, b)
        (a, b), shift = above_subnormal(parameters.weights, a, b)
        exponent = -(shift // 2) * int(2 * self.degree) if self.degree else None
        return NormalRows(a, b, exponent)

    def distance(self, u: Array, v: Array, parameters: Parameters, scale: Array | None = None) -> Array:
        """Return the distances (...) of rows (..., m) that broadcast: the formula, which differentiates.

        ``scale`` (...) is what `scale_of_distances` makes of them, where they are known already.
        """
        raise NotImplementedError

    def scale_of_distances(self, distances: Array) -> Array | None:
        """Return a scale of pairs whose distances are known; None for metrics that need none."""
        return None


class ByRows(Metric):
    """A metric whose formula takes rows whole."""


class SumMetric(Metric):
    """A metric that is made of sums (or the greatest) of terms, one of each coordinate.

    Subclasses say how rows are `prepared`, what the `terms` of two rows are, and how a distance is `finished`
    from their sums. Where powers of differences may overflow or vanish, the terms are those of differences in
    units of a `scale` of the pair; a matrix has one unit for all of its rows, by `scaled_rows`.
    """

    takes_greatest: ClassVar[bool] = False  # of the terms instead of their sums
    divides_by_largest: ClassVar[bool] = False  # in a matrix, too, pairs have scales: by `scale_of_largest`
    has_logarithms: ClassVar[bool] = False  # fewer coordinates to a kernel, which compiles sooner
    ignores_scale_of_weights: ClassVar[bool] = False
    kernel: ClassVar[KernelTerm | None] = None

    def brought_into_range(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Return the rows of both sides, in a unit in which sums of them are numbers."""
        return u, v

    def prepared(self, rows: Rows, parameters: Parameters) -> Rows:
        """Return the rows of one side as `terms` takes them."""
        return rows

    def scale_of_pairs(self, u: Array, v: Array, parameters: Parameters) -> Array | None:
        """Return the scale (...) of pairs of prepared rows; None for metrics that need none."""
        return None

    def scale_of_largest(self, largest: Array) -> Array:
        """Return the scale of pairs whose largest difference is known."""
        raise NotImplementedError

    def terms(self, u: Array, v: Array, scale: Array | None, parameters: Parameters) -> tuple[Array, ...]:
        """Return what is added up, of prepared coordinates that broadcast, before it is weighted."""
        raise NotImplementedError

    def finished(self, sums: tuple[Array, ...], m: int, scale: Array | None, parameters: Parameters) -> Array:
        """Return the distances, given the sums of `terms` over m coordinates."""
        (total,) = sums
        return total

    def distance(self, u: Array, v: Array, parameters: Parameters, scale: Array | None = None) -> Array:
        parameters = self.with_weights_in_range(parameters)
        u, v = self.brought_into_range(u, v)
        u_rows = self.prepared(rows_for(u, parameters.weights), parameters)
        v_rows = self.prepared(rows_for(v, parameters.weights), parameters)
        if scale is None:
            scale = self.scale_of_pairs(u_rows.seen, v_rows.seen, parameters)

        def terms(u: Array, v: Array, scale: Array | None) -> tuple[Array, ...]:
            return self.terms(u, v, scale, parameters)

        scale_of_terms = None if scale is None else scale[..., None]
        if self.takes_greatest:
            sums = tuple(
                jnp.max(term, axis=-1, initial=0) for term in terms(u_rows.seen, v_rows.seen, scale_of_terms)
            )
        else:
            sums = weighted_sums(terms, (u_rows, v_rows), parameters.weights, scale_of_terms)
        return self.finished(sums, u.shape[-1], scale, parameters)

    def weighted_terms(
        self, u: Array, v: Array, scale: Array | None, weights: Array | None, parameters: Parameters
    ) -> tuple[Array, ...]:
        """Return the terms of scaled coordinates, times weights that broadcast."""
        terms = self.terms(u, v, scale, parameters)
        if weights is None or self.takes_greatest:
            return terms
        return tuple(term * weights for term in terms)

    def scaled_rows(self, a: Array, b: Array, parameters: Parameters) -> ScaledRows:
        """Return the rows of both sides (..., n, m) as a matrix of all pairs takes them."""
        parameters = self.with_weights_in_range(parameters)
        weights = parameters.weights
        weights_of_rows = weights if weights is None or weights.ndim == 1 else weights[..., None, :]
        a, b = self.brought_into_range(without(a, weights_of_rows), without(b, weights_of_rows))
        a = self.prepared(Rows(a, a), parameters).seen
        b = self.prepared(Rows(b, b), parameters).seen
        return ScaledRows(a, b, weights)

    def scaled_for_kernel(self, a: Array, b: Array, parameters: Parameters) -> ScaledRows:
        """Return `scaled_rows` for the CUDA kernel, which takes floating-point numbers."""
        return self.scaled_rows(a, b, parameters)

    def in_users_units(self, distances: Array, exponent: Array) -> Array:
        """Return distances, given those of rows in units of ``2**exponent``."""
        return times_power_of_two(distances, exponent)

    def with_weights_in_range(self, parameters: Parameters) -> Parameters:
        """Return parameters with weights whose sums, and products of two, are numbers."""
        weights = parameters.weights
        if weights is None or not self.ignores_scale_of_weights:
            return parameters
        highest = jnp.finfo(weights.dtype).maxexp // 2 - 2 - weights.shape[-1].bit_length()
        (weights,) = into_range(-highest // 2, highest, weights)
        return replace(parameters, weights=weights)


class ProductMetric(SumMetric):
    """A metric whose sums without weights are those of a matrix product, as exactly."""

    def by_product(self, a: Array, b: Array, parameters: Parameters) -> Array:
        """Return the distances (..., nA, nB) of all pairs of rows."""
        raise NotImplementedError
