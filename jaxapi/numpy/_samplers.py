"""NumPy's distributions that `jax.random` has: functions of a key, a shape, a dtype and the parameters."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from .._core._dtypes import default_dtype

__all__ = ["ON_HOST_ALONE", "SAMPLERS"]


class Sampler(NamedTuple):
    """How to draw, the parameters with their defaults (None for none) and rules, and what NumPy refuses.

    A refusal is a function of the parameters, as arrays of NumPy's, that raises.
    """

    draw: Any
    parameters: list
    rules: list
    is_discrete: bool
    refuse: Callable[..., None] | None = None


_NORMAL_FROM = 1e4  # JAX's own numbers, which it draws in float32, deviate too much for means from 1e5 on


def _poisson(key, shape, dtype, lam):
    """Draw by JAX; numbers of a large mean by a normal one, corrected for the skewness."""
    small = jr.poisson(key, jnp.minimum(lam, _NORMAL_FROM), shape).astype(dtype)
    z = jr.normal(key, shape, dtype)
    large = jnp.floor(lam + jnp.sqrt(lam) * z + (z * z - 1) / 6 + 0.5)
    return jnp.where(lam < _NORMAL_FROM, small, large)


def _given(draw):
    """Return a sampler that draws by JAX's function of the same parameters."""
    return lambda key, shape, dtype, *given: draw(key, *given, shape, dtype)


def _changed(draw, change):
    """Return a sampler that draws by JAX's function without parameters, and applies these."""
    return lambda key, shape, dtype, *given: change(draw(key, shape, dtype), *given)


def _scaled_gamma(key, shape, dtype, a, scale):
    return scale * jr.gamma(key, a, shape, dtype)


def _geometric(x, p):
    return jnp.maximum(jnp.ceil(-x / jnp.log1p(-p)), 1)


def _power_unless_zero(x, a):
    return jnp.where(a == 0, 0, x ** (1 / jnp.where(a == 0, 1, a)))


def _scaled(x, scale):
    return scale * x


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
    ":[0,1]": Rule(lambda x: (x >= 0) & (x <= 1), 0.5),
    ":(0,1]": Rule(lambda x: (x > 0) & (x <= 1), 0.5),
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


def _refuse_large_mean(lam):
    largest = np.iinfo(default_dtype(int)).max
    if np.any(lam > largest - 10 * math.sqrt(largest)):
        raise ValueError(f"lam value too large: {default_dtype(int)} does not hold what would be drawn")


def _sampler(parameters: str, draw, is_discrete=False, refuse=None) -> Sampler:
    """Read parameters as ``a>0``, ``scale=1>=0`` or ``p:[0,1]``: a name, perhaps a default, a rule."""
    found = []
    rules = []
    for text in parameters.split():
        rule = max((rule for rule in _RULES if text.endswith(rule)), key=len)
        name, _, default = text.removesuffix(rule).partition("=")
        found.append((name, float(default) if default else None))
        rules.append(_RULES[rule])
    return Sampler(draw, found, rules, is_discrete, refuse)


SAMPLERS = {
    "beta": _sampler("a>0 b>0", _given(jr.beta)),
    "chisquare": _sampler("df>0", _given(jr.chisquare)),
    "exponential": _sampler("scale=1>=0", _changed(jr.exponential, _scaled)),
    "f": _sampler("dfnum>0 dfden>0", _given(jr.f)),
    "gamma": _sampler("shape>=0 scale=1>=0", _scaled_gamma),
    "gumbel": _sampler("loc=0 scale=1>=0", _changed(jr.gumbel, _placed)),
    "laplace": _sampler("loc=0 scale=1>=0", _changed(jr.laplace, _placed)),
    "logistic": _sampler("loc=0 scale=1>=0", _changed(jr.logistic, _placed)),
    "lognormal": _sampler(
        "mean=0 sigma=1>=0", _changed(jr.normal, lambda x, mean, sigma: jnp.exp(_placed(x, mean, sigma)))
    ),
    "normal": _sampler("loc=0 scale=1>=0", _changed(jr.normal, _placed)),
    "pareto": _sampler("a>0", _changed(jr.exponential, lambda x, a: jnp.expm1(x / a))),
    "power": _sampler("a>0", _changed(jr.exponential, lambda x, a: jnp.exp(-x / a))),
    "rayleigh": _sampler("scale=1>=0", _changed(jr.exponential, lambda x, scale: scale * jnp.sqrt(2 * x))),
    "standard_cauchy": _sampler("", jr.cauchy),
    "standard_exponential": _sampler("", jr.exponential),
    "standard_gamma": _sampler("shape>=0", _given(jr.gamma)),
    "standard_normal": _sampler("", jr.normal),
    "standard_t": _sampler("df>0", _given(jr.t)),
    "triangular": _sampler("left mode right", _given(jr.triangular), refuse=_refuse_triangle),
    "uniform": _sampler(
        "low=0 high=1",
        _changed(jr.uniform, lambda x, low, high: low + (high - low) * x),
        refuse=_refuse_range,
    ),
    "weibull": _sampler("a>=0", _changed(jr.exponential, _power_unless_zero)),
    "binomial": _sampler("n>=0 p:[0,1]", _given(jr.binomial), True),
    "geometric": _sampler("p:(0,1]", _changed(jr.exponential, _geometric), True),
    "poisson": _sampler("lam=1>=0", _poisson, True, _refuse_large_mean),
}

# What NumPy has beyond `jax.random`, with its parameters: drawn on the host.
ON_HOST_ALONE = {
    "hypergeometric": "ngood nbad nsample",
    "logseries": "p",
    "negative_binomial": "n p",
    "noncentral_chisquare": "df nonc",
    "noncentral_f": "dfnum dfden nonc",
    "vonmises": "mu kappa",
    "wald": "mean scale",
    "zipf": "a",
}
