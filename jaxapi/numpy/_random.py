"""NumPy's `numpy.random` on JAX's keys: the same distributions, other numbers."""

import builtins
import functools
import inspect
import os
import threading
from collections.abc import Callable, MutableSequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from .._core._dtypes import default_dtype, resolve_dtype, x64_for, x64_on
from .._core._programs import any_traced, in_a_trace, is_traced
from ..mutable import _host_way as host_way
from ..mutable._array import NUMPY, Array, raised
from ..mutable._lowering import NotOnHost, lower, refuse_overflow
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

    _numpys_class = np.random.PCG64

    def __init__(self, seed=None):
        """Make it of an int, several, a key of JAX's, or of the system's random bits."""
        self.lock = threading.Lock()
        self.key = self.of_numpy = None
        if host_way.is_default() and not _is_key(seed):
            self.of_numpy = self._made_by_numpy(lower(seed))
        else:
            self.key = _key_of(seed)

    def _made_by_numpy(self, seed):
        return self._numpys_class(seed)

    @property
    def state(self):
        """What NumPy's generator can go on from; of JAX's the key."""
        return self.key if self.of_numpy is None else self.of_numpy.state

    @state.setter
    def state(self, state):
        if isinstance(state, (dict, tuple)):
            self.key, self.of_numpy = None, self.of_numpy or self._made_by_numpy(0)
            self.of_numpy.state = state
        else:
            self.key, self.of_numpy = state, None

    def take(self):
        """Return a new key, and change the state."""
        with self.lock:
            if self.key is None and not in_a_trace():
                self.key = jr.key(int(self.of_numpy.random_raw()) % 2**32)
            if in_a_trace() and not is_traced(self.key):
                raise RuntimeError(
                    "a random generator from outside is used inside a function that jax.jit or fuse traces, "
                    "where its state cannot change: pass a key as an argument, and make the generator of it "
                    "there: numpy.random.default_rng(key), with key = jax.random.key(seed)"
                )
            self.key, taken = jr.split(self.key)
        return taken


class _Mersenne(BitGenerator):
    """The bits of NumPy's older generator, which has a way of its own to read a seed."""

    def _made_by_numpy(self, seed):
        made = np.random.MT19937()
        made.state = np.random.RandomState(seed).get_state(legacy=False)
        return made


def _is_key(seed) -> bool:
    return isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key)


def _key_of(seed):
    if seed is None:
        return jr.key(int.from_bytes(os.urandom(4), "little"))
    if isinstance(seed, np.random.SeedSequence):
        seed = seed.generate_state(2).tolist()
    seed = value_of(seed)
    if _is_key(seed):
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
    """NumPy's `numpy.random.Generator`: its methods, distributions and arguments.

    On the CPU, outside of JAX's transformations, the numbers are NumPy's for the same seed; elsewhere they
    are JAX's. Results have JAX's default dtypes, float32 and int32 unless x64 is on. Each call of JAX's
    splits the state's key, under a lock. In a function that `jax.jit` traces, make the generator there, of a
    key that is an argument. Parameters that are numbers, lists or NumPy's arrays are checked; for elements of
    arrays on a device that NumPy refuses, NaN is drawn, or of integers -1.

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

    _numpys_class: Any = np.random.Generator
    _bits = BitGenerator
    # made of SAMPLERS below, and called by other methods
    hypergeometric: Callable[..., Array]
    standard_normal: Callable[..., Array]

    def __init__(self, bit_generator=None):
        """Hold a state."""
        given = isinstance(bit_generator, BitGenerator)
        self.bit_generator = bit_generator if given else self._bits(bit_generator)
        self._numpys = None

    def _of_numpy(self):
        """Return NumPy's generator of the same state, or None where JAX draws."""
        of_numpy = self.bit_generator.of_numpy
        if of_numpy is None or self.bit_generator.key is not None or not host_way.is_default():
            return None
        if self._numpys is None or self._numpys[0] is not of_numpy:
            self._numpys = of_numpy, self._numpys_class(of_numpy)
        return self._numpys[1]

    def _take(self):
        return self.bit_generator.take()

    def spawn(self, n_children) -> "list[Generator]":
        """Return generators of states of their own."""
        generator = self._of_numpy()
        if generator is not None:
            return [type(self)(seed) for seed in generator.bit_generator.seed_seq.spawn(n_children)]
        return [type(self)(key) for key in jr.split(self._take(), n_children)]

    def random(self, size=None, dtype=None, out=None) -> Array:
        """Return numbers between 0 and 1, without 1."""
        dtype = resolve_dtype(dtype or float)
        with x64_for(dtype):
            return into(
                out, ours(jr.uniform(self._take(), _shape(size if out is None else out.shape), dtype))
            )

    def integers(self, low, high=None, size=None, dtype=None, endpoint=False) -> Array:
        """Return integers from ``low`` up to ``high``, without that; from 0 to ``low`` if it is None."""
        low, high = (0, low) if high is None else (low, high)
        dtype = resolve_dtype(dtype or int)
        low, high = (np.asarray(x, object) for x in (low, high))
        high = high + bool(endpoint)
        shape = _shape(size, low, high)
        if 0 in shape:
            return ours(jnp.zeros(shape, dtype))
        if np.any(low >= high):
            raise ValueError("low >= high")
        bounds = (0, 2) if dtype == np.bool else (np.iinfo(dtype).min, int(np.iinfo(dtype).max) + 1)
        if np.any(low < bounds[0]) or np.any(high > bounds[1]):
            raise ValueError(f"low or high is out of bounds for {dtype}")
        with x64_on():  # as unsigned differences, which hold every range but the whole one
            key, span = self._take(), high - low
            if np.any(span == 2**64):
                drawn = jr.bits(key, shape, np.uint64)
            else:
                drawn = jr.randint(key, shape, 0, np.asarray(span, np.uint64), np.uint64)
            return ours((drawn + np.asarray(low % 2**64, np.uint64)).astype(dtype))

    def bytes(self, length) -> builtins.bytes:
        """Return random bytes."""
        return np.asarray(jr.bits(self._take(), (length,), np.uint8)).tobytes()

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True) -> Array:
        """Return elements of an array, or numbers below ``a``, with or without repetition."""
        if isinstance(a, (list, tuple)) and np.asarray(a).dtype.kind not in "biufc":  # texts, say
            return np.asarray(a)[np.asarray(self.choice(len(a), size, replace, p, 0, shuffle))]
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

    def permutation(self, x, axis=0) -> Array:
        """Return an array in random order along an axis, or the numbers below ``x``."""
        x = value_of(x)
        x = jnp.arange(int(x), dtype=default_dtype(int)) if np.ndim(x) == 0 else x
        with x64_for(x.dtype):
            return ours(jr.permutation(self._take(), x, axis))

    def permuted(self, x, *, axis=None, out=None) -> Array:
        """Return an array with each row along an axis, or all elements, in a random order of its own."""
        x = as_ours(x)._value
        flat = x.reshape(-1) if axis is None else x
        with x64_for(x.dtype):
            mixed = jr.permutation(self._take(), flat, axis or 0, independent=True)
        return into(out, ours(mixed.reshape(x.shape)))

    def shuffle(self, x, axis=0) -> None:
        """Put an array in random order along an axis, in place."""
        if isinstance(x, Array):
            x[...] = self.permutation(x, axis)
        elif isinstance(x, np.ndarray):
            x[...] = np.asarray(self.permutation(x, axis))
        elif isinstance(x, MutableSequence) and axis == 0:
            x[:] = [x[i] for i in np.asarray(self.permutation(len(x))).tolist()]
        else:
            raise TypeError(f"shuffle writes to an array or a list, got {type(x).__name__}")

    def dirichlet(self, alpha, size=None) -> Array:
        """Return vectors of positive numbers that add up to 1."""
        alpha = as_ours(alpha)._value.astype(default_dtype(float))
        if not is_traced(alpha) and not bool((alpha >= 0).all()):
            raise ValueError("alpha < 0 or alpha is NaN")
        shape = alpha.shape if size is None else _shape(size) + alpha.shape
        is_positive = alpha > 0
        logs = jr.loggamma(self._take(), jnp.where(is_positive, alpha, 1), shape, alpha.dtype)
        drawn = jax.nn.softmax(jnp.where(is_positive, logs, -jnp.inf), axis=-1)
        return ours(jnp.where(is_positive.any(-1, keepdims=True), drawn, 0))

    def multinomial(self, n, pvals, size=None) -> Array:
        """Return how often each outcome came in ``n`` experiments."""
        pvals = as_ours(pvals)._value.astype(default_dtype(float))
        n = jnp.asarray(value_of(n))
        if not any_traced(n, pvals):
            if bool((n < 0).any()):
                raise ValueError(f"n < 0: {n}")
            if not bool(((pvals >= 0) & (pvals <= 1)).all()):
                raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
            if bool((pvals[..., :-1].sum(-1) > 1 + 1e-6).any()):
                raise ValueError("sum(pvals[:-1]) > 1.0")
        shape = _shape(size) if size is not None else np.broadcast_shapes(n.shape, pvals.shape[:-1])
        left, rest, drawn = jnp.broadcast_to(n, shape), jnp.ones(pvals.shape[:-1], pvals.dtype), []
        for i in range(pvals.shape[-1] - 1):  # each outcome among what the ones before have left
            p = jnp.clip(pvals[..., i] / jnp.maximum(rest, 1e-37), 0, 1)
            drawn.append(jr.binomial(self._take(), left, p, shape, pvals.dtype).astype(left.dtype))
            left, rest = left - drawn[-1], rest - pvals[..., i]
        return ours(jnp.stack([*drawn, left], -1).astype(default_dtype(int)))

    def multivariate_hypergeometric(self, colors, nsample, size=None, method="marginals") -> Array:
        """Return how many of each kind are in a sample drawn without putting back."""
        colors = [int(n) for n in np.asarray(colors)]
        if min(colors, default=0) < 0:
            raise ValueError(f"colors must not be negative, got {colors}")
        if not 0 <= nsample <= sum(colors):
            raise ValueError(f"nsample must be from 0 to sum(colors) = {sum(colors)}, got {nsample}")
        left, rest, drawn = jnp.full(_shape(size), nsample), sum(colors), []
        for count in colors[:-1]:
            rest -= count
            drawn.append(self.hypergeometric(count, rest, ours(left), left.shape)._value)
            left = left - drawn[-1]
        return ours(jnp.stack([*drawn, left], -1).astype(default_dtype(int)))

    def multivariate_normal(
        self, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd", dtype=None
    ) -> Array:
        """Return vectors of normal numbers with a covariance."""
        dtype = resolve_dtype(dtype or float)
        mean, cov = (as_type(as_ours(x), dtype)._value for x in (mean, cov))
        if mean.ndim != 1 or cov.shape != mean.shape * 2:
            raise ValueError(f"mean and cov must be of shapes (n,) and (n, n), got {mean.shape}, {cov.shape}")
        with x64_for(dtype):
            shape = _shape(size)
            return ours(jr.multivariate_normal(self._take(), mean, cov, shape, dtype, method="svd"))


def _refuse_parameters(name, sampler, given):
    """Raise for parameters that NumPy refuses, of those that are numbers, lists or NumPy's arrays."""
    on_host = [isinstance(x, (int, float, list, tuple, np.ndarray, np.generic)) for x in given]
    for (parameter, _), value, rule, is_read in zip(
        sampler.parameters, given, sampler.rules, on_host, strict=True
    ):
        if not is_read or any_traced(*jax.tree.leaves(value)):
            continue
        numbers = np.asarray(value, float)
        is_missing = np.isnan(numbers) & (not sampler.is_discrete)
        if not np.all(rule.holds(numbers) | is_missing):
            raise ValueError(f"{name}: {parameter}={value} is out of range")
    if sampler.refuse is not None and all(on_host) and not any_traced(*jax.tree.leaves(given)):
        sampler.refuse(*[np.asarray(x, float) for x in given])


def _within(x, dtype):
    """Return a number as one that a dtype holds: not as 0 or infinity if it is neither."""
    if not isinstance(x, (int, float)) or x == 0 or not np.isfinite(x):
        return x
    limits = jnp.finfo(dtype)
    return float(np.copysign(min(max(abs(x), float(limits.tiny)), float(limits.max)), x))


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
        _refuse_parameters(name, sampler, [given[n] for n, _ in sampler.parameters])
        values = [_within(value_of(given[n]), computed) for n, _ in sampler.parameters]
        shape = _shape(given["size"] if out is None else out.shape, *values)
        with x64_for(computed):
            values = [jnp.broadcast_to(jnp.asarray(x, computed), shape) for x in values]
            is_valid = jnp.ones(shape, bool)
            for i, rule in enumerate(sampler.rules):  # with others a loop might not end
                holds = rule.holds(values[i])
                is_valid &= holds
                values[i] = jnp.where(holds, values[i], rule.instead)
            drawn = sampler.draw(self._take(), shape, computed, *values)
            drawn = jnp.where(is_valid, drawn, -1 if sampler.is_discrete else jnp.nan)
            return into(out, ours(drawn.astype(dtype)))

    method.__name__, method.__qualname__, method.__signature__ = name, f"Generator.{name}", signature
    method.__doc__ = f"Return numbers distributed as `numpy.random.Generator.{name}`'s."
    return method


for _name, _sampler in SAMPLERS.items():
    setattr(Generator, _name, _sampling(_name, _sampler))


class RandomState(Generator):
    """NumPy's and CuPy's older generator: `Generator`, and ``rand``, ``randn``, ``randint`` and so on."""

    _numpys_class: Any = np.random.RandomState
    _bits = _Mersenne

    def seed(self, seed=None):
        """Start anew."""
        self.bit_generator = self._bits(seed)

    def get_state(self, legacy=False):
        """Return what `set_state` takes."""
        generator = self._of_numpy()
        return self.bit_generator.key if generator is None else generator.get_state(legacy)

    def set_state(self, state) -> None:
        """Go back to what `get_state` returned."""
        if isinstance(state, (dict, tuple)):
            self.bit_generator = self._bits(0)
            self._of_numpy().set_state(state)
        else:
            self.bit_generator = self._bits(state)

    def rand(self, *size, dtype=None) -> Array:
        """Return numbers between 0 and 1 of a shape that is given as several arguments."""
        return self.random(size, dtype)

    def randn(self, *size, dtype=None) -> Array:
        """Return normal numbers of a shape that is given as several arguments."""
        return self.standard_normal(size, dtype)

    def randint(self, low, high=None, size=None, dtype=None) -> Array:
        """Return integers from ``low`` up to ``high``, without that."""
        return self.integers(low, high, size, dtype)

    def random_integers(self, low, high=None, size=None) -> Array:
        """Return integers from ``low``, or 1, up to ``high``."""
        return self.integers(1 if high is None else low, low if high is None else high, size, endpoint=True)

    def random_sample(self, size=None, dtype=None) -> Array:
        """Return numbers between 0 and 1, without 1."""
        return self.random(size, dtype)

    ranf = sample = random_sample


_BELOW_ONE = frozenset(["rand", "random", "random_sample", "ranf", "sample"])
_OF_INTEGERS = frozenset(["integers", "randint"])
_NOT_DRAWN = frozenset(["get_state", "seed", "set_state", "spawn"])


def _in_numpys_way(name: str, method):
    """Have NumPy draw where it computes; its methods may lack ``dtype=`` and ``out=``."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        generator = self._of_numpy()
        if generator is None or (name == "shuffle" and not isinstance(args[0], Array)):
            return method(self, *args, **kwargs)
        draw = getattr(generator, "random_sample" if name in ("ranf", "sample") else name, None)
        if draw is None:
            return method(self, *args, **kwargs)
        try:
            return _drawn_by_numpy(name, draw, args, kwargs)
        except NotOnHost:
            return method(self, *args, **kwargs)

    return call


def _drawn_by_numpy(name, draw, args, kwargs):
    out = kwargs.get("out")
    dtype = resolve_dtype(kwargs.pop("dtype", None)) if "dtype" in kwargs else None
    kwargs = {key: x for key, x in kwargs.items() if key != "out"}
    if name in _OF_INTEGERS:
        if len(args) < 4:
            kwargs["dtype"] = dtype or default_dtype(int)
    elif out is not None:
        kwargs.setdefault("size", out.shape)
    drawn = draw(*map(lower, args), **{key: lower(x) for key, x in kwargs.items()})
    if isinstance(drawn, np.ndarray):
        refuse_overflow(drawn, (dtype,))
    if dtype is not None and name not in _OF_INTEGERS:
        drawn = drawn.astype(dtype) if hasattr(drawn, "dtype") else dtype.type(drawn)
    kept = raised(drawn, NUMPY, (dtype, *args))
    if name in _BELOW_ONE and getattr(kept, "dtype", None) == np.float32:
        kept = raised(np.minimum(lower(kept), np.float32(1 - 2.0**-24)), NUMPY)
    return into(out, kept)


def default_rng(seed=None) -> Generator:
    """Return a `Generator` of a seed, of a key of `jax.random.key`, or of the system's random bits.

    Examples
    --------
    >>> import jaxapi.numpy as np
    >>> np.random.default_rng(0).integers(10, size=4).shape
    (4,)
    """
    return seed if isinstance(seed, Generator) else Generator(seed)


for _class in (Generator, RandomState):
    for _name, _method in list(vars(_class).items()):
        if inspect.isfunction(_method) and not _name.startswith("_") and _name not in _NOT_DRAWN:
            setattr(_class, _name, _in_numpys_way(_name, _method))

_state = RandomState()
for _name in dir(RandomState):
    if not _name.startswith("_") and _name not in ("bit_generator", "integers", "permuted", "spawn"):
        globals()[_name] = getattr(_state, _name)
        __all__ += [_name] if _name not in __all__ else []
for _name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "XORWOW", "MRG32k3a", "Philox4x3210"):
    _members = {"__doc__": BitGenerator.__doc__, "_numpys_class": getattr(np.random, _name, np.random.PCG64)}
    globals()[_name] = type(_name, (BitGenerator,), _members)
    __all__.append(_name)
SeedSequence = np.random.SeedSequence
__all__ += ["SeedSequence"]
