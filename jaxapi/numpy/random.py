"""NumPy's `numpy.random` on JAX's keys: the same distributions, other numbers."""

import inspect
import os
import threading

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from .._core._dtypes import default_dtype, resolve_dtype, x64_for, x64_on
from .._core._programs import in_a_trace, is_traced
from ..mutable._array import Array
from ._samplers import SAMPLERS
from ._wrap import as_ours, as_type, into, ours, value_of

__all__ = ["BitGenerator", "Generator", "RandomState", "default_rng"]


class BitGenerator:
    """What numbers are made of, by a seed: JAX's bits, whichever of NumPy's or CuPy's classes it is.

    Examples
    --------
    >>> import jaxapi.numpy as np
    >>> np.random.Generator(np.random.PCG64(0)).random(3).shape
    (3,)
    """

    def __init__(self, seed=None):
        """Make it of an int, several, a key of JAX's, or of the system's random bits."""
        self.key, self.lock = _key_of(seed), threading.Lock()

    def take(self):
        """Return a new key, and change the state."""
        with self.lock:
            if in_a_trace() and not is_traced(self.key):
                raise RuntimeError(
                    "a random generator from outside is used inside a function that jax.jit or fuse traces, "
                    "where its state cannot change: pass a key as an argument, and make the generator of it "
                    "there: numpy.random.default_rng(key), with key = jax.random.key(seed)"
                )
            self.key, taken = jr.split(self.key)
        return taken


def _key_of(seed):
    if seed is None:
        return jr.key(int.from_bytes(os.urandom(4), "little"))
    if isinstance(seed, np.random.SeedSequence):
        seed = seed.generate_state(2).tolist()
    seed = value_of(seed)
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        return seed
    words = [int(word) for word in np.ravel(np.asarray(seed, object))]
    if min(words, default=0) < 0:
        raise ValueError(f"a seed is not negative, got {seed}")
    key = jr.key(0) if len(words) > 1 else jr.key(words[0] % 2**32 if words else 0)
    for word in words if len(words) > 1 else [word // 2**32 for word in words if word >= 2**32]:
        key = jr.fold_in(key, word % 2**32)
    return key


def _shape(size, *parameters) -> tuple[int, ...]:
    wanted = np.broadcast_shapes(*map(np.shape, parameters))
    if size is None:
        return wanted
    size = (int(size),) if np.ndim(size) == 0 else tuple(int(n) for n in size)
    if min(size, default=0) < 0:
        raise ValueError(f"negative dimensions are not allowed: size={size}")
    if np.broadcast_shapes(size, wanted) != size:
        raise ValueError(f"size {size} does not fit the parameters, whose shape is {wanted}")
    return size


class Generator:
    """NumPy's `numpy.random.Generator`: its methods, distributions and arguments; other numbers.

    Results have JAX's default dtypes, float32 and int32 unless x64 is on. Each call splits the state's
    key, under a lock. In a function that `jax.jit` traces, make the generator there, of a key that is an
    argument. Parameters that are Python's or NumPy's numbers are checked; arrays on a device are not.

    Parameters
    ----------
    bit_generator : BitGenerator, int, or key of `jax.random.key`
        The state, or what to make it of.

    Examples
    --------
    >>> import jaxapi.numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rng.normal(size=(2, 3)).shape
    (2, 3)
    """

    def __init__(self, bit_generator=None):
        """Hold a state."""
        given = isinstance(bit_generator, BitGenerator)
        self.bit_generator = bit_generator if given else BitGenerator(bit_generator)

    def _take(self):
        return self.bit_generator.take()

    def spawn(self, n_children):
        """Return generators of states of their own."""
        return [type(self)(key) for key in jr.split(self._take(), n_children)]

    def random(self, size=None, dtype=None, out=None):
        """Return numbers between 0 and 1, without 1."""
        dtype = resolve_dtype(dtype or float)
        with x64_for(dtype):
            return into(
                out, ours(jr.uniform(self._take(), _shape(size if out is None else out.shape), dtype))
            )

    def integers(self, low, high=None, size=None, dtype=None, endpoint=False):
        """Return integers from ``low`` up to ``high``, without that; from 0 to ``low`` if it is None."""
        low, high = (0, low) if high is None else (low, high)
        dtype = resolve_dtype(dtype or int)
        low, high = (np.asarray(x, object) for x in (low, high))
        high = high + bool(endpoint)
        if np.any(low >= high):
            raise ValueError("low >= high")
        bounds = (0, 2) if dtype == np.bool else (np.iinfo(dtype).min, int(np.iinfo(dtype).max) + 1)
        if np.any(low < bounds[0]) or np.any(high > bounds[1]):
            raise ValueError(f"low or high is out of bounds for {dtype}")
        shape = _shape(size, low, high)
        with x64_on():  # as unsigned differences, which hold every range but the whole one
            key, span = self._take(), high - low
            if np.any(span == 2**64):
                drawn = jr.bits(key, shape, np.uint64)
            else:
                drawn = jr.randint(key, shape, 0, np.asarray(span, np.uint64), np.uint64)
            return ours((drawn + np.asarray(low % 2**64, np.uint64)).astype(dtype))

    def bytes(self, length):
        """Return random bytes."""
        return np.asarray(jr.bits(self._take(), (length,), np.uint8)).tobytes()

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        """Return elements of an array, or numbers below ``a``, with or without repetition."""
        a, p = value_of(a), None if p is None else as_ours(p)._value
        count = a if np.ndim(a) == 0 else a.shape[axis]
        shape = _shape(size)
        if int(count) <= 0 and np.prod(shape):
            raise ValueError("a must be positive, or not empty")
        if p is not None and (
            p.shape != (count,) or not np.isclose(float(p.sum()), 1, atol=1e-4) or bool((p < 0).any())
        ):
            raise ValueError("p must be probabilities that add up to 1, as many as a has elements")
        if not replace and np.prod(shape) > count:
            raise ValueError("cannot take a larger sample than population when replace is False")
        if np.ndim(a) == 0:
            a = jnp.arange(int(count), dtype=default_dtype(int))
        with x64_for(a.dtype):
            return ours(jr.choice(self._take(), a, shape, replace, p, axis))

    def permutation(self, x, axis=0):
        """Return an array in random order along an axis, or the numbers below ``x``."""
        x = value_of(x)
        x = jnp.arange(int(x), dtype=default_dtype(int)) if np.ndim(x) == 0 else x
        with x64_for(x.dtype):
            return ours(jr.permutation(self._take(), x, axis))

    def permuted(self, x, *, axis=None, out=None):
        """Return an array with each row along an axis, or all elements, in a random order of its own."""
        x = as_ours(x)._value
        flat = x.reshape(-1) if axis is None else x
        with x64_for(x.dtype):
            mixed = jr.permutation(self._take(), flat, axis or 0, independent=True)
        return into(out, ours(mixed.reshape(x.shape)))

    def shuffle(self, x, axis=0):
        """Put an array in random order along an axis, in place."""
        if not isinstance(x, Array):
            raise TypeError(f"shuffle writes to an array of jaxapi.numpy, got {type(x).__name__}")
        x[...] = self.permutation(x, axis)

    def dirichlet(self, alpha, size=None):
        """Return vectors of positive numbers that add up to 1."""
        alpha = as_ours(alpha)._value.astype(default_dtype(float))
        if bool((alpha <= 0).any()):
            raise ValueError("alpha <= 0")
        return ours(jr.dirichlet(self._take(), alpha, None if size is None else _shape(size), alpha.dtype))

    def multinomial(self, n, pvals, size=None):
        """Return how often each outcome came in ``n`` experiments."""
        pvals = as_ours(pvals)._value.astype(default_dtype(float))
        n = jnp.asarray(value_of(n))
        shape = _shape(size) if size is not None else np.broadcast_shapes(n.shape, pvals.shape[:-1])
        left, rest, drawn = jnp.broadcast_to(n, shape), jnp.ones(pvals.shape[:-1], pvals.dtype), []
        for i in range(pvals.shape[-1] - 1):  # each outcome among what the ones before have left
            p = jnp.clip(pvals[..., i] / jnp.maximum(rest, 1e-37), 0, 1)
            drawn.append(jr.binomial(self._take(), left, p, shape, pvals.dtype).astype(left.dtype))
            left, rest = left - drawn[-1], rest - pvals[..., i]
        return ours(jnp.stack([*drawn, left], -1).astype(default_dtype(int)))

    def multivariate_hypergeometric(self, colors, nsample, size=None, method="marginals"):
        """Return how many of each kind are in a sample drawn without putting back."""
        colors = [int(n) for n in np.asarray(colors)]
        left, rest, drawn = jnp.full(_shape(size), nsample), sum(colors), []
        for count in colors[:-1]:
            rest -= count
            drawn.append(self.hypergeometric(count, rest, ours(left), left.shape)._value)
            left = left - drawn[-1]
        return ours(jnp.stack([*drawn, left], -1).astype(default_dtype(int)))

    def multivariate_normal(
        self, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd", dtype=None
    ):
        """Return vectors of normal numbers with a covariance."""
        dtype = resolve_dtype(dtype or float)
        mean, cov = (as_type(as_ours(x), dtype)._value for x in (mean, cov))
        if mean.ndim != 1 or cov.shape != mean.shape * 2:
            raise ValueError(f"mean and cov must be of shapes (n,) and (n, n), got {mean.shape}, {cov.shape}")
        with x64_for(dtype):
            shape = _shape(size)
            return ours(jr.multivariate_normal(self._take(), mean, cov, shape, dtype, method="svd"))


def _sampling(name, sampler):
    own = [(n, inspect.Parameter.empty if default is None else default) for n, default in sampler.parameters]
    options = [(n, None) for n in ("size", "dtype", "out", "method")]
    parameters = [
        inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
        for n, default in [("self", inspect.Parameter.empty), *own, *options]
    ]
    signature = inspect.Signature(parameters, return_annotation=Array)

    def method(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        out = given["out"]
        dtype = resolve_dtype(given["dtype"] or (int if sampler.is_discrete else float))
        computed = default_dtype(float) if sampler.is_discrete else dtype
        if not np.issubdtype(computed, np.floating):
            raise TypeError(f"unsupported dtype {computed} for {name}")
        values = [value_of(given[n]) for n, _ in sampler.parameters]
        for (n, _), value, holds in zip(sampler.parameters, values, sampler.rules, strict=True):
            if isinstance(value, (int, float)) and not holds(value):
                raise ValueError(f"{name}: {n}={value} is out of range")
        shape = _shape(given["size"] if out is None else out.shape, *values)
        with x64_for(computed):
            values = [jnp.broadcast_to(jnp.asarray(x, computed), shape) for x in values]
            drawn = sampler.draw(self._take(), shape, computed, *values)
            return into(out, ours(drawn.astype(dtype)))

    method.__name__, method.__qualname__, method.__signature__ = name, f"Generator.{name}", signature
    method.__doc__ = f"Return numbers distributed as `numpy.random.Generator.{name}`'s."
    return method


for _name, _sampler in SAMPLERS.items():
    setattr(Generator, _name, _sampling(_name, _sampler))


class RandomState(Generator):
    """NumPy's and CuPy's older generator: `Generator`, and ``rand``, ``randn``, ``randint`` and so on."""

    def seed(self, seed=None):
        """Start anew."""
        self.bit_generator = BitGenerator(seed)

    def get_state(self, legacy=False):
        """Return what `set_state` takes."""
        return self.bit_generator.key

    def set_state(self, state):
        """Go back to what `get_state` returned."""
        self.bit_generator = BitGenerator(state)

    def rand(self, *size, dtype=None):
        """Return numbers between 0 and 1 of a shape that is given as several arguments."""
        return self.random(size, dtype)

    def randn(self, *size, dtype=None):
        """Return normal numbers of a shape that is given as several arguments."""
        return self.standard_normal(size, dtype)

    def randint(self, low, high=None, size=None, dtype=None):
        """Return integers from ``low`` up to ``high``, without that."""
        return self.integers(low, high, size, dtype)

    def random_integers(self, low, high=None, size=None):
        """Return integers from ``low``, or 1, up to ``high``."""
        return self.integers(1 if high is None else low, low if high is None else high, size, endpoint=True)

    def random_sample(self, size=None, dtype=None):
        """Return numbers between 0 and 1, without 1."""
        return self.random(size, dtype)

    ranf = sample = random_sample


def default_rng(seed=None) -> Generator:
    """Return a `Generator` of a seed, of a key of `jax.random.key`, or of the system's random bits.

    Examples
    --------
    >>> import jaxapi.numpy as np
    >>> np.random.default_rng(0).integers(10, size=4).shape
    (4,)
    """
    return seed if isinstance(seed, Generator) else Generator(seed)


_state = RandomState()
for _name in dir(RandomState):
    if not _name.startswith("_") and _name not in ("bit_generator", "integers", "permuted", "spawn"):
        globals()[_name] = getattr(_state, _name)
        __all__ += [_name] if _name not in __all__ else []
for _name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "XORWOW", "MRG32k3a", "Philox4x3210"):
    globals()[_name] = type(_name, (BitGenerator,), {"__doc__": BitGenerator.__doc__})
    __all__.append(_name)
SeedSequence = np.random.SeedSequence
__all__ += ["SeedSequence"]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
