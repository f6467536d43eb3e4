"""NumPy's distributions, drawn by JAX's: each a function of a key, a shape, a dtype and the parameters."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr

__all__ = ["SAMPLERS"]


class Sampler(NamedTuple):
    """How to draw, and the parameters with their defaults (None for none) and rules."""

    draw: Any
    parameters: list
    rules: list
    is_discrete: bool


def _gamma(key, shape, dtype, a):
    return jr.gamma(key, a, shape, dtype)


def _chisquare(key, shape, dtype, df):
    return 2 * _gamma(key, shape, dtype, df / 2)


def _poisson(key, shape, dtype, lam):
    return jr.poisson(key, lam, shape).astype(dtype)


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


def _vonmises(key, shape, dtype, mu, kappa):
    """Best and Fisher, 1979."""
    safe = jnp.maximum(kappa, 1e-6)
    tau = 1 + jnp.sqrt(1 + 4 * safe**2)
    rho = (tau - jnp.sqrt(2 * tau)) / (2 * safe)
    r = jnp.where(safe < 1e-3, 1 / safe + safe, (1 + rho**2) / (2 * rho))

    def propose(key):
        u = jr.uniform(key, (3, *shape), dtype)
        z = jnp.cos(jnp.pi * u[0])
        f = (1 + r * z) / (r + z)
        c = safe * (r - f)
        accepted = (c * (2 - c) > u[1]) | (jnp.log(c / jnp.maximum(u[1], 1e-38)) + 1 - c >= 0)
        return jnp.where(u[2] < 0.5, -1, 1) * jnp.arccos(jnp.clip(f, -1, 1)), accepted

    first, second = jr.split(key)
    angle = _until_accepted(propose, first, shape, jnp.zeros(shape, dtype))
    angle = jnp.where(kappa < 1e-6, jr.uniform(second, shape, dtype, -jnp.pi, jnp.pi), angle) + mu
    return jnp.remainder(angle + jnp.pi, 2 * jnp.pi) - jnp.pi


def _zipf(key, shape, dtype, a):
    """Devroye, 1986: page 551."""
    power = 2 ** (a - 1)

    def propose(key):
        u = jr.uniform(key, (2, *shape), dtype)
        x = jnp.floor((1 - u[0]) ** (-1 / (a - 1)))
        t = (1 + 1 / x) ** (a - 1)
        return x, (u[1] * x * (t - 1) / (power - 1) <= t / power) & (x < 2.0**31)

    return _until_accepted(propose, key, shape, jnp.ones(shape, dtype))


def _logseries(key, shape, dtype, p):
    """Kemp, 1981."""
    first, second = jr.split(key)
    u, v = jr.uniform(first, shape, dtype), jr.uniform(second, shape, dtype, minval=jnp.finfo(dtype).tiny)
    q = -jnp.expm1(jnp.log1p(-p) * u)
    long = jnp.maximum(jnp.floor(1 + jnp.log(v) / jnp.log(q)), 1)
    return jnp.where(v >= p, 1, jnp.where(v <= q * q, long, jnp.where(v >= q, 1, 2)))


def _hypergeometric(key, shape, dtype, ngood, nbad, nsample):
    """Draw one after another."""

    def step(i, state):
        key, good = state
        key, use = jr.split(key)
        left = ngood + nbad - i
        taken = (jr.uniform(use, shape, dtype) * left < good) & (i < nsample)
        return key, good - taken

    steps = jnp.max(nsample, initial=0).astype(int)
    return ngood - jax.lax.fori_loop(0, steps, step, (key, ngood))[1]


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


def _placed(x, loc, scale):
    return loc + scale * x


_RULES = {
    "": lambda x: True,
    ">0": lambda x: x > 0,
    ">=0": lambda x: x >= 0,
    ">1": lambda x: x > 1,
    "in[0,1]": lambda x: 0 <= x <= 1,
    "in[0,1)": lambda x: 0 <= x < 1,
    "in(0,1]": lambda x: 0 < x <= 1,
}


def _sampler(parameters: str, draw, is_discrete=False) -> Sampler:
    """Read parameters as ``a>0`` or ``scale=1>=0``: a name, a default, a rule."""
    found, rules = [], []
    for text in parameters.split():
        rule = max((rule for rule in _RULES if text.endswith(rule)), key=len)
        name, _, default = text.removesuffix(rule).partition("=")
        found.append((name, float(default) if default else None))
        rules.append(_RULES[rule])
    return Sampler(draw, found, rules, is_discrete)


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
    "triangular": _sampler("left mode right", _triangular),
    "uniform": _sampler("low=0 high=1", _changed(jr.uniform, lambda x, low, high: low + (high - low) * x)),
    "vonmises": _sampler("mu kappa>=0", _vonmises),
    "wald": _sampler("mean>0 scale>0", _wald),
    "weibull": _sampler("a>=0", _changed(jr.exponential, lambda x, a: x ** (1 / a))),
    "binomial": _sampler("n>=0 pin[0,1]", _given(jr.binomial), True),
    "geometric": _sampler(
        "pin(0,1]", _changed(jr.exponential, lambda x, p: jnp.ceil(-x / jnp.log1p(-p))), True
    ),
    "hypergeometric": _sampler("ngood>=0 nbad>=0 nsample>=0", _hypergeometric, True),
    "logseries": _sampler("pin[0,1)", _logseries, True),
    "negative_binomial": _sampler("n>0 pin(0,1]", _negative_binomial, True),
    "poisson": _sampler("lam=1>=0", _poisson, True),
    "zipf": _sampler("a>1", _zipf, True),
}
