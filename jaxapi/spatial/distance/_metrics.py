"""The table of metrics: one row decides a metric's names, arguments, formula and documentation.

A row's formula has three parts, so that vectors, matrices and reductions share it: ``prepare`` rows (as by
normalizing them), ``terms`` of two rows coordinate by coordinate, ``finish`` with the terms' sums (or their
maxima). Every part works on the last axis of arrays that broadcast, and takes the options ``o``: arrays
(``w``, ``VI``, ``base``) and static values (``p``, ``centered``). The formula's derivatives are the metric's:
where a distance is 0 they are finite, and 0 if there are none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

__all__ = ["KERNEL_TERMS", "METRICS", "Metric", "find_metric", "register"]


@dataclass(frozen=True)
class Metric:
    """A row of the table; ``title`` to ``example`` are for the docs."""

    name: str
    terms: Any  # a function; None where `rows` is the whole formula
    finish: Callable
    title: str = ""
    formula: str = ""
    domain: str = "any"
    example: str = "[1, 2, 3], [2, 2, 5]"
    aliases: tuple[str, ...] = ()
    options: tuple[str, ...] = ("w",)
    prepare: Callable = lambda x, o: x
    combine: str = "sum"  # of the terms: "sum" or "max"
    homogeneous: bool = False  # d(s u, s v) = s d(u, v): rows are scaled so that no square overflows
    largest: Callable | None = None  # terms whose maximum the pair's terms are divided by
    truth: bool = False  # matrices take every number that is not 0 as True, as SciPy's do
    product: Callable | None = None  # the terms' sums by a matrix product, where that is as exact
    rows: Callable | None = None  # the formula for rows whose terms do not separate by coordinates
    users: bool = False  # a function that the user gave: it gets rows and options as they are
    slow: bool = False  # terms with logarithms: fewer to a kernel, which compiles sooner


def _root(x):
    """Return the square root; at 0 all its derivatives are 0."""
    zero = x == 0
    return jnp.where(zero, x, jnp.sqrt(jnp.where(zero, 1, x)))


def _quotient(x, y):
    """Return ``x / y``, 0 where both are."""
    none = (x == 0) & (y == 0)
    return jnp.where(none, 0, x / jnp.where(none, 1, y))


def _weighted(x, o):
    return x if o.get("w") is None else x * _along(o["w"], x)


def _along(w, x):
    """Return weights that broadcast along the last axis of ``x``, without a promotion of ranks."""
    return w.reshape((1,) * (x.ndim - w.ndim) + w.shape)


def _squared(u, v, o):
    return (_weighted(jnp.square(u - v), o),)


def _absolute(u, v, o):
    return (_weighted(jnp.abs(u - v), o),)


def _largest(u, v, o):
    size = jnp.abs(u - v)
    return (size if o.get("w") is None else jnp.where(_along(o["w"], size) > 0, size, 0),)


def _powers(u, v, o):
    """Return powers of ratios to the pair's largest difference: powers alone vanish where p is large."""
    ratio = jnp.abs(u - v) / _finite(o["largest"])
    none = ratio == 0
    return (_weighted(jnp.where(none, 0, jnp.where(none, 1, ratio) ** o["p"]), o),)


def _finite(largest):
    return jnp.where((largest > 0) & (largest < jnp.inf), largest, 1)


def _power_root(total, o):
    none = total == 0
    return jnp.where(none, 0, jnp.where(none, 1, total) ** (1 / o["p"]) * _finite(o["largest"]))


def _canberra(u, v, o):
    return (_weighted(_quotient(jnp.abs(u - v), jnp.abs(u) + jnp.abs(v)), o),)


def _braycurtis(u, v, o):
    return _weighted(jnp.abs(u - v), o), _weighted(jnp.abs(u + v), o)


def _direction(x, o):
    """Return rows of length 1 (by the weights), those of 0 as nan."""
    x = x / lax.stop_gradient(jnp.max(jnp.abs(x), axis=-1, keepdims=True, initial=0))
    if o.get("w") is not None:
        x = x * _along(_root(o["w"]), x)
    return x / jnp.sqrt(jnp.sum(jnp.square(x), axis=-1, keepdims=True))


def _centered_direction(x, o):
    if o.get("centered", True):
        w = o.get("w")
        for _ in range(2):  # the second time takes away the first mean's rounding
            if w is None:
                mean = jnp.mean(x, axis=-1, keepdims=True)
            else:
                mean = jnp.sum(x * _along(w, x), axis=-1, keepdims=True) / jnp.sum(w)
            x = x - mean
    return _direction(x, o)


def _unequal(u, v, o):
    return (_weighted(jnp.where(u != v, 1, jnp.zeros_like(u)), o),)


def _half_square(u, v, o):
    """Return what adds up to ``1 - cos``, and is as exact for small angles as for large ones."""
    return (jnp.square(u - v) / 2,)


def _probabilities(x, o):
    return x / jnp.sum(x, axis=-1, keepdims=True)


def _jensen_shannon(p, q, o):
    """Return ``p log(p/m) + q log(q/m)`` with ``p = m (1 + e)`` and ``q = m (1 - e)``."""
    mean, e = (p + q) / 2, _quotient(p - q, p + q)
    near = jnp.abs(e) < 0.5  # the two logarithms cancel there
    small = jnp.where(near, e, 0)
    small = small * (jnp.log1p(small) - jnp.log1p(-small)) + jnp.log1p(-jnp.square(small))
    large = jnp.where(near, 1, e)
    return (mean * jnp.where(near, small, _x_log_x(1 + large) + _x_log_x(1 - large)),)


def _x_log_x(x):
    none = x == 0
    return jnp.where(none, 0, x * jnp.log(jnp.where(none, 1, x)))


def _jensen_shannon_distance(total, o):
    base = o.get("base")
    return _root(jnp.maximum(total, 0) / (2 if base is None else 2 * jnp.log(base)))


def _relative_entropy(u, v, o):
    none = u == 0
    ratio = jnp.where(none, 1, u) / jnp.where(none, 1, v)
    return (jnp.where(none, 0, u * jnp.log(ratio)),)


def _mahalanobis(u, v, o):
    difference = u - v
    product = jnp.matmul(difference, o["VI"], precision=lax.Precision.HIGHEST)
    return _root(jnp.sum(product * difference, axis=-1))


def _counts(u, v, o):
    """Return in how many places both are true, only ``u``, only ``v``, and neither."""
    return tuple(_weighted(x, o) for x in (u * v, u * (1 - v), (1 - u) * v, (1 - u) * (1 - v)))


def _product(u, v):
    return jnp.matmul(u, jnp.swapaxes(v, -1, -2), precision=lax.Precision.HIGHEST)


def _counts_by_product(u, v):
    """Return `_counts` of rows of 0 and 1: products and sums of whole numbers, which are exact."""
    both = _product(u, v)
    of_u, of_v = jnp.sum(u, axis=-1)[..., :, None], jnp.sum(v, axis=-1)[..., None, :]
    return both, of_u - both, of_v - both, u.shape[-1] - of_u - of_v + both


def _total(total, o):
    return total


def _share(total, o):
    return total / (o["size"] if o.get("w") is None else jnp.sum(o["w"]))


def _total_root(total, o):
    return _root(total)


def _boolean(name, title, finish, formula, truth=True, **fields):
    """Return a row for counts of places: ``tt`` both true, ``tf`` only u, ``ft`` only v, ``ff`` neither."""
    fields = {"domain": "bool, or numbers 0 and 1"} | fields
    example = "[True, True, False, False], [False, True, False, True]"
    return Metric(name, _counts, finish, title, formula, truth=truth, product=_counts_by_product,
                  example=example, **fields)  # fmt: skip


# fmt: off
_TABLE = (
    Metric("braycurtis", _braycurtis, lambda differences, sums, o: differences / sums,
           "Bray-Curtis dissimilarity", "sum(w |u - v|) / sum(w |u + v|)", "any; nan for 0/0"),
    Metric("canberra", _canberra, _total, "Canberra distance", "sum(w |u - v| / (|u| + |v|))",
           "any; a term 0/0 is 0"),
    Metric("chebyshev", _largest, _total, "Chebyshev distance", "max(|u - v|) where w > 0", combine="max",
           aliases=("chebychev", "cheby", "cheb", "ch")),
    Metric("cityblock", _absolute, _total, "city block (Manhattan) distance", "sum(w |u - v|)",
           aliases=("cblock", "cb", "c")),
    Metric("correlation", _half_square, _total, "correlation distance", "1 - cos(u - mean(u), v - mean(v))",
           "any; nan where u or v is constant", prepare=_centered_direction, aliases=("co",),
           options=("w", "centered")),
    Metric("cosine", _half_square, _total, "cosine distance", "1 - u.v / (|u| |v|)",
           "any; nan where u or v is 0", prepare=_direction, aliases=("cos",)),
    _boolean("dice", "Dice dissimilarity", lambda tt, tf, ft, ff, o: (tf + ft) / (2 * tt + tf + ft),
             "(tf + ft) / (2 tt + tf + ft)", truth=False),
    Metric("euclidean", _squared, _total_root, "Euclidean distance", "sqrt(sum(w (u - v)^2))",
           homogeneous=True, aliases=("euclid", "eu", "e")),
    Metric("hamming", _unequal, _share, "Hamming distance", "sum(w [u != v]) / sum(w)",
           aliases=("matching", "hamm", "ha", "h")),
    Metric("hellinger", _half_square, _total_root, "Hellinger distance",
           "sqrt(sum((sqrt(u) - sqrt(v))^2) / 2)", "u, v >= 0", "[0.5, 0.5], [0.9, 0.1]",
           prepare=lambda x, o: _root(x), options=()),
    Metric("inner_product", lambda u, v, o: (u * v,), _total, "inner product, a similarity,", "u.v",
           options=(), product=lambda u, v: (_product(u, v),)),
    _boolean("jaccard", "Jaccard dissimilarity", lambda tt, tf, ft, ff, o: _quotient(tf + ft, tt + tf + ft),
             "(tf + ft) / (tt + tf + ft)", domain="any, true where not 0; 0 where none is true",
             aliases=("jacc", "ja", "j"), prepare=lambda x, o: jnp.where(x != 0, 1, jnp.zeros_like(x))),
    Metric("jensenshannon", _jensen_shannon, _jensen_shannon_distance, "Jensen-Shannon distance",
           "sqrt((D(u, m) + D(v, m)) / 2), D relative entropy, m = (u + v) / 2",
           "u, v >= 0, normalized to sum 1", prepare=_probabilities, slow=True, aliases=("js",),
           options=("base",)),
    Metric("kl_divergence", _relative_entropy, _total, "Kullback-Leibler divergence", "sum(u log(u / v))",
           "u, v >= 0; inf where only v is 0", "[0.5, 0.5], [0.9, 0.1]", slow=True,
           aliases=("kl_div", "kld"), options=()),
    Metric("mahalanobis", None, _total, "Mahalanobis distance", "sqrt((u - v) VI (u - v)^T)",
           example="[1, 0], [0, 1], [[2, 0], [0, 1]]", rows=_mahalanobis, homogeneous=True,
           aliases=("mahal", "mah"), options=("VI",)),
    Metric("minkowski", _powers, _power_root, "Minkowski distance", "sum(w |u - v|^p)^(1/p)",
           "any; p > 0, or inf", "[1, 2, 3], [2, 2, 5], 3", homogeneous=True, largest=_largest, slow=True,
           aliases=("mi", "m", "pnorm"), options=("p", "w")),
    _boolean("rogerstanimoto", "Rogers-Tanimoto dissimilarity",
             lambda tt, tf, ft, ff, o: 2 * (tf + ft) / (tt + ff + 2 * (tf + ft)),
             "2 (tf + ft) / (tt + ff + 2 (tf + ft))"),
    _boolean("russellrao", "Russell-Rao dissimilarity",
             lambda tt, tf, ft, ff, o: (tf + ft + ff) / (tt + tf + ft + ff),
             "(tf + ft + ff) / (tt + tf + ft + ff)"),
    Metric("seuclidean", _squared, _total_root, "standardized Euclidean distance",
           "sqrt(sum((u - v)^2 / V))", example="[1, 2, 3], [2, 2, 5], [1, 1, 4]", homogeneous=True,
           aliases=("se", "s"), options=("V",)),
    _boolean("sokalsneath", "Sokal-Sneath dissimilarity",
             lambda tt, tf, ft, ff, o: 2 * (tf + ft) / (tt + 2 * (tf + ft)),
             "2 (tf + ft) / (tt + 2 (tf + ft))", domain="bool, or numbers 0 and 1; nan where none is true"),
    Metric("sqeuclidean", _squared, _total, "squared Euclidean distance", "sum(w (u - v)^2)",
           aliases=("sqe", "sqeuclid")),
    _boolean("yule", "Yule dissimilarity",
             lambda tt, tf, ft, ff, o: _quotient(2 * tf * ft, tt * ff + tf * ft),
             "2 tf ft / (tt ff + tf ft)", domain="bool, or numbers 0 and 1; 0 where tf ft is"),
)
# fmt: on
METRICS = {row.name: row for row in _TABLE}
# What the CUDA kernel `pairwise` adds up for them, what that is to be multiplied by, and whether it takes the
# weights: prepared rows have them already where the terms do not.
KERNEL_TERMS = {
    _squared: ("square", 1, True), _half_square: ("square", 0.5, False), _absolute: ("size", 1, True),
    _largest: ("greatest", 1, True), _unequal: ("unequal", 1, True),
}  # fmt: skip
_BY_ALIAS = {alias: row for row in _TABLE for alias in (row.name, *row.aliases)}
_BY_FUNCTION: dict[Any, Metric] = {}


def register(function, metric: Metric) -> None:
    """Make the public function stand for its metric where one is asked for."""
    _BY_FUNCTION[function] = metric


def find_metric(metric) -> Metric:
    """Return the row of a name or function; a new one for a function of the user's."""
    if isinstance(metric, str):
        name = metric.lower().removeprefix("test_")  # SciPy's names for its slow forms of the same
        if name not in _BY_ALIAS:
            raise ValueError(f"Unknown Distance Metric: {metric}: known are {', '.join(METRICS)}")
        return _BY_ALIAS[name]
    if not callable(metric):
        raise TypeError(
            f"2nd argument metric must be a string identifier or a function, got {type(metric).__name__}"
        )
    if getattr(metric, "__module__", None) == "scipy.spatial.distance":
        return _BY_ALIAS[metric.__name__]
    if metric in _BY_FUNCTION:
        return _BY_FUNCTION[metric]
    name = getattr(metric, "__name__", "metric")
    return Metric(name, terms=None, finish=_total, rows=_Rows(metric), users=True)


@dataclass(frozen=True)
class _Rows:
    """A function of two vectors, over the leading axes of arrays that broadcast."""

    function: Callable

    def __call__(self, u, v, o):
        def of_vectors(u, v):
            return jnp.asarray(self.function(u, v, **o))

        return jnp.vectorize(of_vectors, signature="(m),(m)->()")(u, v)
