"""NumPy's distributions that `jax.random` has: functions of a key, a shape, a dtype and the parameters."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from .._core._dtypes import default_dtype

__all__ = ["OF_GAMMAS", "ON_HOST_ALONE", "SAMPLERS", "Sampler", "log_gamma"]


class Rule(NamedTuple):
    """What holds for a parameter, element by element, and a number for which it does."""

    holds: Callable[[Any], Any]
    instead: float


_NUMBER = Rule(lambda x: x == x, 1.0)
_POSITIVE = Rule(lambda x: x > 0, 1.0)
_NOT_NEGATIVE = Rule(lambda x: x >= 0, 1.0)
_PROBABILITY = Rule(lambda x: (x >= 0) & (x <= 1), 0.5)
_POSITIVE_PROBABILITY = Rule(lambda x: (x > 0) & (x <= 1), 0.5)


class Parameter(NamedTuple):
    """A parameter of a distribution; without a default it must be given."""

    name: str
    rule: Rule
    default: float | None = None


class Sampler(NamedTuple):
    """How to draw, with which parameters, and what NumPy refuses.

    A refusal is a function of the parameters, as arrays of NumPy's, that raises.
    """

    draw: Any
    parameters: tuple[Parameter, ...]
    is_discrete: bool = False
    refuse: Callable[..., None] | None = None


_NORMAL_FROM = 1e4  # means from which on JAX's own numbers, which it draws in float32, deviate too much


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


def _beta(key, a, b, shape, dtype):
    """Draw by JAX; where b alone is infinite the whole distribution is at 0."""
    is_at_zero = jnp.isinf(b) & jnp.isfinite(a)
    drawn = jr.beta(key, a, jnp.where(is_at_zero, 1, b), shape, dtype)
    return jnp.where(is_at_zero, 0, drawn)


def _refuse_infinitely_many(n, p):
    if np.any(np.isinf(n)):
        raise OverflowError("n must be a finite number of experiments, got inf")


def _lognormal(x, mean, sigma):
    return jnp.exp(_placed(x, mean, sigma))


def _pareto(x, a):
    return jnp.expm1(x / a)


def _power(x, a):
    return jnp.exp(-x / a)


def _rayleigh(x, scale):
    return scale * jnp.sqrt(2 * x)


def _between(x, low, high):
    return low + (high - low) * x


_LOC = Parameter("loc", _NUMBER, 0.0)
_SCALE = Parameter("scale", _NOT_NEGATIVE, 1.0)

SAMPLERS: dict[str, Sampler] = {
    "beta": Sampler(_given(_beta), (Parameter("a", _POSITIVE), Parameter("b", _POSITIVE))),
    "binomial": Sampler(
        _given(jr.binomial),
        (Parameter("n", _NOT_NEGATIVE), Parameter("p", _PROBABILITY)),
        is_discrete=True,
        refuse=_refuse_infinitely_many,
    ),
    "chisquare": Sampler(_given(jr.chisquare), (Parameter("df", _POSITIVE),)),
    "exponential": Sampler(_changed(jr.exponential, _scaled), (_SCALE,)),
    "f": Sampler(_given(jr.f), (Parameter("dfnum", _POSITIVE), Parameter("dfden", _POSITIVE))),
    "gamma": Sampler(_scaled_gamma, (Parameter("shape", _NOT_NEGATIVE), _SCALE)),
    "geometric": Sampler(
        _changed(jr.exponential, _geometric), (Parameter("p", _POSITIVE_PROBABILITY),), is_discrete=True
    ),
    "gumbel": Sampler(_changed(jr.gumbel, _placed), (_LOC, _SCALE)),
    "laplace": Sampler(_changed(jr.laplace, _placed), (_LOC, _SCALE)),
    "logistic": Sampler(_changed(jr.logistic, _placed), (_LOC, _SCALE)),
    "lognormal": Sampler(
        _changed(jr.normal, _lognormal),
        (Parameter("mean", _NUMBER, 0.0), Parameter("sigma", _NOT_NEGATIVE, 1.0)),
    ),
    "normal": Sampler(_changed(jr.normal, _placed), (_LOC, _SCALE)),
    "pareto": Sampler(_changed(jr.exponential, _pareto), (Parameter("a", _POSITIVE),)),
    "poisson": Sampler(
        _poisson, (Parameter("lam", _NOT_NEGATIVE, 1.0),), is_discrete=True, refuse=_refuse_large_mean
    ),
    "power": Sampler(_changed(jr.exponential, _power), (Parameter("a", _POSITIVE),)),
    "rayleigh": Sampler(_changed(jr.exponential, _rayleigh), (_SCALE,)),
    "standard_cauchy": Sampler(jr.cauchy, ()),
    "standard_exponential": Sampler(jr.exponential, ()),
    "standard_gamma": Sampler(_given(jr.gamma), (Parameter("shape", _NOT_NEGATIVE),)),
    "standard_normal": Sampler(jr.normal, ()),
    "standard_t": Sampler(_given(jr.t), (Parameter("df", _POSITIVE),)),
    "triangular": Sampler(
        _given(jr.triangular),
        (Parameter("left", _NUMBER), Parameter("mode", _NUMBER), Parameter("right", _NUMBER)),
        refuse=_refuse_triangle,
    ),
    "uniform": Sampler(
        _changed(jr.uniform, _between),
        (Parameter("low", _NUMBER, 0.0), Parameter("high", _NUMBER, 1.0)),
        refuse=_refuse_range,
    ),
    "weibull": Sampler(_changed(jr.exponential, _power_unless_zero), (Parameter("a", _NOT_NEGATIVE),)),
}

# Numbers of float64 made of gamma's, where JAX's program of these is lowered narrow: it takes float32 for
# some of its constants.


def log_gamma(key, a, shape, dtype):
    """Return logarithms of gamma's numbers, by rejection (Marsaglia and Tsang, 2000)."""
    key, key_of_boost = jr.split(key)
    is_regular = jnp.isfinite(a) & (a > 0)
    at_least_1 = jnp.where(is_regular, jnp.where(a < 1, a + 1, a), 1)
    d = at_least_1 - 1 / 3
    c = 1 / (3 * jnp.sqrt(d))

    def is_any_left(state):
        return ~state[1].all()

    def try_again(state):
        key, is_accepted, cubes = state
        key, key_of_normal, key_of_uniform = jr.split(key, 3)
        z = jr.normal(key_of_normal, shape, dtype)
        cube = (1 + c * z) ** 3
        log = jnp.log(jnp.where(cube > 0, cube, 1))
        limit = z * z / 2 + d * (1 - cube + log)
        accepts = (cube > 0) & (jnp.log(jr.uniform(key_of_uniform, shape, dtype)) < limit)
        return key, is_accepted | accepts, jnp.where(~is_accepted & accepts, cube, cubes)

    start = key, jnp.zeros(shape, bool), jnp.ones(shape, dtype)
    cubes = jax.lax.while_loop(is_any_left, try_again, start)[2]
    # -log(u) of an exponential number; where a is 0 the boost is -inf, and so is the logarithm
    boost = jnp.where(a < 1, -jr.exponential(key_of_boost, shape, dtype) / a, 0)
    return jnp.where(is_regular | (a == 0), jnp.log(d * cubes) + boost, a)


def _gamma(key, shape, dtype, a, scale=1):
    return scale * jnp.exp(log_gamma(key, a, shape, dtype))


def _chisquare(key, shape, dtype, df):
    return _gamma(key, shape, dtype, df / 2, 2)


def _ratio(key, shape, dtype, dfnum, dfden):
    above, below = jr.split(key)
    return (_chisquare(above, shape, dtype, dfnum) / dfnum) / (_chisquare(below, shape, dtype, dfden) / dfden)


def _student(key, shape, dtype, df):
    above, below = jr.split(key)
    return jr.normal(above, shape, dtype) * jnp.sqrt(df / _chisquare(below, shape, dtype, df))


def _share(key, shape, dtype, a, b):
    of_a, of_b = jr.split(key)
    is_at_zero = jnp.isinf(b) & jnp.isfinite(a)
    logs = log_gamma(of_a, a, shape, dtype) - log_gamma(of_b, b, shape, dtype)
    return jnp.where(is_at_zero, 0, jax.nn.sigmoid(logs))


OF_GAMMAS: dict[str, Callable[..., Any]] = {
    "beta": _share,
    "chisquare": _chisquare,
    "f": _ratio,
    "gamma": _gamma,
    "standard_gamma": _gamma,
    "standard_t": _student,
}

# What NumPy has beyond `jax.random`, with its parameters: drawn on the host.
ON_HOST_ALONE: dict[str, tuple[str, ...]] = {
    "hypergeometric": ("ngood", "nbad", "nsample"),
    "logseries": ("p",),
    "negative_binomial": ("n", "p"),
    "noncentral_chisquare": ("df", "nonc"),
    "noncentral_f": ("dfnum", "dfden", "nonc"),
    "vonmises": ("mu", "kappa"),
    "wald": ("mean", "scale"),
    "zipf": ("a",),
}
