"""NumPy's distributions, drawn by JAX's: each a function of a key, a shape, a dtype and the parameters."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from .._core._dtypes import default_dtype, x64_on

__all__ = ["SAMPLERS"]


class Sampler(NamedTuple):
    """How to draw, the parameters with their defaults (None for none) and rules, and what NumPy refuses.

    A refusal is a function of the parameters, as arrays of NumPy's, that raises.
    """

    draw: Any
    parameters: list
    rules: list
    is_discrete: bool
    refuse: Callable[..., None] | None = None


def _gamma(key, shape, dtype, a):
    return jr.gamma(key, a, shape, dtype)


def _chisquare(key, shape, dtype, df):
    return 2 * _gamma(key, shape, dtype, df / 2)


_NORMAL_FROM = 1e7  # JAX draws in float32, which skips integers from there on


def _poisson(key, shape, dtype, lam):
    """Draw by JAX; numbers of a large mean by a normal one, corrected for the skewness."""
    small = jr.poisson(key, jnp.minimum(lam, _NORMAL_FROM), shape).astype(dtype)
    z = jr.normal(key, shape, dtype)
    large = jnp.floor(lam + jnp.sqrt(lam) * z + (z * z - 1) / 6 + 0.5)
    return jnp.where(lam < _NORMAL_FROM, small, large)


def _noncentral_chisquare(key, shape, dtype, df, nonc):
    first, second = jr.split(key)
    return _chisquare(first, shape, dtype, df + 2 * _poisson(second, shape, dtype, nonc / 2))


def _ratio(above, below):
    """Return the ratio of two draws, each by its degrees of freedom."""

    def draw(key, shape, dtype, dfnum, dfden, *more):
        first, second = jr.split(key)
        return above(first, shape, dtype, dfnum, *more) / dfnum * dfden / below(second, shape, dtype, dfden)

    return draw


def _triangular(key, shape, dtype, left, mode, right):
    u, at = jr.uniform(key, shape, dtype), (mode - left) / (right - left)
    low = left + jnp.sqrt(u * (right - left) * (mode - left))
    return jnp.where(u < at, low, right - jnp.sqrt((1 - u) * (right - left) * (right - mode)))


def _until_accepted(propose, key, shape, start):
    """Draw again where a proposal was refused: ``propose(key)`` returns values and which are accepted."""

    def again(state):
        key, value, done = state
        key, use = jr.split(key)
        new, accepted = propose(use)
        return key, jnp.where(done, value, new), done | accepted

    state = (key, start, jnp.zeros(shape, bool))
    return jax.lax.while_loop(lambda state: ~state[2].all(), again, state)[1]


_WRAPPED_NORMAL_FROM = 1e6  # where a von Mises distribution is one, up to a millionth


def _vonmises(key, shape, dtype, mu, kappa):
    """Best and Fisher, 1979."""
    safe = jnp.clip(kappa, 1e-6, _WRAPPED_NORMAL_FROM)
    tau = 1 + jnp.sqrt(1 + 4 * safe**2)
    rho = (tau - jnp.sqrt(2 * tau)) / (2 * safe)
    r = jnp.where(safe < 1e-3, 1 / safe + safe, (1 + rho**2) / (2 * rho))

    def propose(key):
        u = jr.uniform(key, (3, *shape), dtype)
        z = jnp.cos(jnp.pi * u[0])
        f = (1 + r * z) / (r + z)
        c = safe * (r - f)
        accepted = (c * (2 - c) > u[1]) | (jnp.log(c / jnp.maximum(u[1], 1e-38)) + 1 - c >= 0)
        is_other = kappa > _WRAPPED_NORMAL_FROM
        return jnp.where(u[2] < 0.5, -1, 1) * jnp.arccos(jnp.clip(f, -1, 1)), accepted | is_other

    first, second = jr.split(key)
    angle = _until_accepted(propose, first, shape, jnp.zeros(shape, dtype))
    narrow = jr.normal(second, shape, dtype) / jnp.sqrt(kappa)
    angle = jnp.where(kappa > _WRAPPED_NORMAL_FROM, narrow, angle)
    angle = jnp.where(kappa < 1e-6, jr.uniform(second, shape, dtype, -jnp.pi, jnp.pi), angle) + mu
    return jnp.remainder(angle + jnp.pi, 2 * jnp.pi) - jnp.pi


_ALWAYS_ONE_FROM = 60  # beyond it another number than 1 comes less often than 2 to the -60


def _zipf(key, shape, dtype, a):
    """Devroye, 1986: page 551, among the numbers that the default integer dtype holds."""
    less_one = jnp.minimum(a, _ALWAYS_ONE_FROM) - 1
    largest = float(np.nextafter(dtype.type(np.iinfo(default_dtype(int)).max), dtype.type(0)))

    def propose(key):
        u = jr.uniform(key, (2, *shape), dtype)
        log_x = -jnp.log1p(u[0] * jnp.expm1(-less_one * math.log(largest))) / less_one
        x = jnp.clip(jnp.floor(jnp.exp(log_x)), 1, largest)
        ratio = jnp.expm1(less_one * jnp.log1p(1 / x))
        whole = jnp.expm1(less_one * math.log(2))
        return x, u[1] * x * ratio / whole <= (ratio + 1) / (whole + 1)

    return _until_accepted(propose, key, shape, jnp.ones(shape, dtype))


def _logseries(key, shape, dtype, p):
    """Kemp, 1981."""
    first, second = jr.split(key)
    u, v = jr.uniform(first, shape, dtype), jr.uniform(second, shape, dtype, minval=jnp.finfo(dtype).tiny)
    q = -jnp.expm1(jnp.log1p(-p) * u)
    long = jnp.maximum(jnp.floor(1 + jnp.log(v) / jnp.log(q)), 1)
    return jnp.where(v >= p, 1, jnp.where(v <= q * q, long, jnp.where(v >= q, 1, 2)))


_FEW = 10


def _hypergeometric(key, shape, dtype, ngood, nbad, nsample):
    """Draw the sample or what it leaves, whichever is smaller: one after another if they are few."""
    few_key, many_key = jr.split(key)
    with x64_on():
        ngood, nbad, nsample = (x.astype(np.float64) for x in (ngood, nbad, nsample))
        count = jnp.minimum(nsample, ngood + nbad - nsample)
        few = _one_after_another(few_key, shape, ngood, nbad, count)
        many = _good_among_many(many_key, shape, ngood, nbad, count)
        drawn = jnp.where(count <= _FEW, few, many)
        return jnp.where(count < nsample, ngood - drawn, drawn).astype(dtype)


def _one_after_another(key, shape, ngood, nbad, count):
    def step(i, state):
        key, good = state
        key, use = jr.split(key)
        left = ngood + nbad - i
        taken = (jr.uniform(use, shape, np.float64) * left < good) & (i < count)
        return key, good - taken

    return ngood - jax.lax.fori_loop(0, _FEW, step, (key, ngood))[1]


def _good_among_many(key, shape, ngood, nbad, count):
    """Stadlober, 1990: the ratio of two uniform numbers, under a hat around the mean."""
    fewer, more = jnp.minimum(ngood, nbad), jnp.maximum(ngood, nbad)
    total = jnp.maximum(fewer + more, 2)
    share = fewer / total
    variance = count * share * (1 - share) * (total - count) / (total - 1)
    width = 2 * math.sqrt(2 / math.e) * jnp.sqrt(variance + 0.5) + 3 - 2 * math.sqrt(3 / math.e)
    center = count * share + 0.5
    largest = jnp.minimum(count, fewer)

    def log_probability(k):
        parts = k, fewer - k, count - k, more - count + k
        return -sum(jax.scipy.special.gammaln(part + 1) for part in parts)

    mode = jnp.floor((count + 1) * (fewer + 1) / (total + 2))
    highest = log_probability(jnp.clip(mode, 0, largest))

    def propose(key):
        u = jr.uniform(key, (2, *shape), np.float64)
        above = 1 - u[0]
        x = jnp.floor(center + width * (u[1] - 0.5) / above)
        is_inside = (x >= 0) & (x <= largest)
        x = jnp.clip(x, 0, largest)
        is_below = 2 * jnp.log(above) <= log_probability(x) - highest
        return x, (is_inside & is_below) | (count <= _FEW)

    drawn = _until_accepted(propose, key, shape, jnp.zeros(shape, np.float64))
    return jnp.where(ngood <= nbad, drawn, count - drawn)


def _negative_binomial(key, shape, dtype, n, p):
    first, second = jr.split(key)
    return _poisson(second, shape, dtype, _gamma(first, shape, dtype, n) * (1 - p) / p)


def _scaled_gamma(key, shape, dtype, a, scale):
    return scale * _gamma(key, shape, dtype, a)


def _wald(key, shape, dtype, mean, scale):
    return scale * jr.wald(key, mean / scale, shape, dtype)


def _given(draw):
    """Draw by JAX's function of the same parameters."""
    return lambda key, shape, dtype, *given: draw(key, *given, shape, dtype)


def _changed(draw, change):
    """Draw by JAX's function without parameters, and apply these."""
    return lambda key, shape, dtype, *given: change(draw(key, shape, dtype), *given)


def _power_unless_zero(x, a):
    return jnp.where(a == 0, 0, x ** (1 / jnp.where(a == 0, 1, a)))


def _placed(x, loc, scale):
    return loc + scale * x


class Rule(NamedTuple):
    """What holds for a parameter, element by element, and a number for which it does."""

    holds: Callable[[Any], Any]
    instead: float


_RULES = {
    "": Rule(lambda x: x == x, 1.0),
    ">0": Rule(lambda x: x > 0, 1.0),
    ">=0": Rule(lambda x: x >= 0, 1.0),
    ">1": Rule(lambda x: x > 1, 2.0),
    "in[0,1]": Rule(lambda x: (x >= 0) & (x <= 1), 0.5),
    "in[0,1)": Rule(lambda x: (x >= 0) & (x < 1), 0.5),
    "in(0,1]": Rule(lambda x: (x > 0) & (x <= 1), 0.5),
}


def _refuse_triangle(left, mode, right):
    for is_bad, text in (
        (left > mode, "left > mode"),
        (mode > right, "mode > right"),
        (left == right, "left == right"),
    ):
        if np.any(is_bad):
            raise ValueError(text)


def _refuse_range(low, high):
    with np.errstate(all="ignore"):
        width = high - low
    if not np.all(np.isfinite(width)):
        raise OverflowError("high - low range exceeds valid bounds")
    if np.any(width < 0):
        raise ValueError("high - low < 0")


def _refuse_sample(ngood, nbad, nsample):
    if np.any(ngood + nbad < nsample):
        raise ValueError("ngood + nbad < nsample")
    if np.any(ngood >= 10**9) or np.any(nbad >= 10**9):
        raise ValueError("both ngood and nbad must be less than 1000000000")


def _refuse_large_mean(lam):
    largest = np.iinfo(default_dtype(int)).max
    if np.any(lam > largest - 10 * math.sqrt(largest)):
        raise ValueError(f"lam value too large: {default_dtype(int)} does not hold what would be drawn")


def _refuse_large_count(n, p):
    mean = n * (1 - p) / p
    largest = np.iinfo(default_dtype(int)).max
    if np.any(mean + 10 * np.sqrt(mean) > largest):
        raise ValueError(
            f"n too large or p too small: {default_dtype(int)} does not hold what would be drawn"
        )


def _sampler(parameters: str, draw, is_discrete=False, refuse=None) -> Sampler:
    """Read parameters as ``a>0`` or ``scale=1>=0``: a name, a default, a rule."""
    found, rules = [], []
    for text in parameters.split():
        rule = max((rule for rule in _RULES if text.endswith(rule)), key=len)
        name, _, default = text.removesuffix(rule).partition("=")
        found.append((name, float(default) if default else None))
        rules.append(_RULES[rule])
    return Sampler(draw, found, rules, is_discrete, refuse)


SAMPLERS = {
    "beta": _sampler("a>0 b>0", _given(jr.beta)),
    "chisquare": _sampler("df>0", _chisquare),
    "exponential": _sampler("scale=1>=0", _changed(jr.exponential, lambda x, scale: scale * x)),
    "f": _sampler("dfnum>0 dfden>0", _ratio(_chisquare, _chisquare)),
    "gamma": _sampler("shape>=0 scale=1>=0", _scaled_gamma),
    "gumbel": _sampler("loc=0 scale=1>=0", _changed(jr.gumbel, _placed)),
    "laplace": _sampler("loc=0 scale=1>=0", _changed(jr.laplace, _placed)),
    "logistic": _sampler("loc=0 scale=1>=0", _changed(jr.logistic, _placed)),
    "lognormal": _sampler(
        "mean=0 sigma=1>=0", _changed(jr.normal, lambda x, *given: jnp.exp(_placed(x, *given)))
    ),
    "noncentral_chisquare": _sampler("df>0 nonc>=0", _noncentral_chisquare),
    "noncentral_f": _sampler("dfnum>0 dfden>0 nonc>=0", _ratio(_noncentral_chisquare, _chisquare)),
    "normal": _sampler("loc=0 scale=1>=0", _changed(jr.normal, _placed)),
    "pareto": _sampler("a>0", _changed(jr.exponential, lambda x, a: jnp.expm1(x / a))),
    "power": _sampler("a>0", _changed(jr.exponential, lambda x, a: jnp.exp(-x / a))),
    "rayleigh": _sampler("scale=1>=0", _changed(jr.exponential, lambda x, scale: scale * jnp.sqrt(2 * x))),
    "standard_cauchy": _sampler("", jr.cauchy),
    "standard_exponential": _sampler("", jr.exponential),
    "standard_gamma": _sampler("shape>=0", _given(jr.gamma)),
    "standard_normal": _sampler("", jr.normal),
    "standard_t": _sampler("df>0", _given(jr.t)),
    "triangular": _sampler("left mode right", _triangular, refuse=_refuse_triangle),
    "uniform": _sampler(
        "low=0 high=1",
        _changed(jr.uniform, lambda x, low, high: low + (high - low) * x),
        refuse=_refuse_range,
    ),
    "vonmises": _sampler("mu kappa>=0", _vonmises),
    "wald": _sampler("mean>0 scale>0", _wald),
    "weibull": _sampler("a>=0", _changed(jr.exponential, _power_unless_zero)),
    "binomial": _sampler("n>=0 pin[0,1]", _given(jr.binomial), True),
    "geometric": _sampler(
        "pin(0,1]", _changed(jr.exponential, lambda x, p: jnp.maximum(jnp.ceil(-x / jnp.log1p(-p)), 1)), True
    ),
    "hypergeometric": _sampler("ngood>=0 nbad>=0 nsample>=0", _hypergeometric, True, _refuse_sample),
    "logseries": _sampler("pin[0,1)", _logseries, True),
    "negative_binomial": _sampler("n>0 pin(0,1]", _negative_binomial, True, _refuse_large_count),
    "poisson": _sampler("lam=1>=0", _poisson, True, _refuse_large_mean),
    "zipf": _sampler("a>1", _zipf, True),
}
