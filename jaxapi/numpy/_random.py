"""NumPy's `numpy.random`: its numbers on the host, and `jax.random`'s on a device and in a trace."""

import builtins
import functools
import inspect
import math
import operator
import threading
from collections.abc import Callable, MutableSequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax

from .._core._constants import constant
from .._core._dtypes import default_dtype, is_lowered_narrow, resolve_dtype, x64_for, x64_on
from .._core._errors import refuse_traced
from .._core._programs import any_traced, compiled, in_a_trace, is_traced
from .._interop import as_array
from ..mutable import _host_way as host_way
from ..mutable._array import NUMPY, Array, from_numpy, rows_of, wrap, wrap_rows
from ..mutable._batches import Pending, attempt_by_kinds, concrete, is_recording, kind_of, line_program_of
from ..mutable._capacity._rows import Rows, number_of, rows_in
from ..mutable._faces import in_numpys_dtypes
from ..mutable._numpy_arguments import NotOnHost, to_numpy
from ._samplers import OF_GAMMAS, ON_HOST_ALONE, SAMPLERS, Sampler, log_gamma
from ._wrap import as_option, as_ours, as_type, current_of, into, ours, value_of

__all__ = ["BitGenerator", "Generator", "RandomState", "default_rng"]


_NUMBERS = frozenset([int, float])
_LINES_KEPT = 1024


class BitGenerator:
    """What numbers are made of: NumPy's bits of a seed, or a key of JAX's, which `jax.jit` can trace.

    A state is NumPy's and can be pickled, copied and set. Where JAX draws, keys are made of these bits.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence or key of `jax.random.key`, optional
        The system's random bits if it is not given.

    Examples
    --------
    >>> import jaxapi.numpy as np
    >>> np.random.Generator(np.random.PCG64(0)).random(3).shape
    (3,)
    """

    _numpys_class: Any = np.random.PCG64

    def __init__(self, seed=None):
        """Make it of a seed or a key."""
        self.lock = threading.Lock()
        self.key = None
        self.of_numpy = None
        if _is_key(seed):
            self.key = seed
        else:
            self.of_numpy = self._made_by_numpy(as_option(_on_host(seed)))

    def _made_by_numpy(self, seed):
        return self._numpys_class(seed)

    @property
    def state(self):
        """NumPy's state; of a generator that was made of a key the key."""
        return self.key if self.of_numpy is None else self.of_numpy.state

    @state.setter
    def state(self, state):
        if _is_key(state) != (self.of_numpy is None):
            raise TypeError("the state of a generator is a key where it was made of one, else NumPy's state")
        if self.of_numpy is None:
            self.key = state
        else:
            self.of_numpy.state = state

    def __getstate__(self):
        """Return what is pickled and copied."""
        key = None if self.key is None else (str(jr.key_impl(self.key)), np.asarray(jr.key_data(self.key)))
        return {"key": key, "of_numpy": self.of_numpy}

    def __setstate__(self, state):
        """Go on from what was pickled."""
        self.lock = threading.Lock()
        self.of_numpy = state["of_numpy"]
        self.key = None
        if state["key"] is not None:
            implementation, words = state["key"]
            self.key = jr.wrap_key_data(words, impl=implementation)

    def take(self):
        """Return a new key of JAX's, and change the state."""
        with self.lock:
            if in_a_trace() and not is_traced(self.key):
                raise RuntimeError(
                    "a random generator from outside is used inside a function that jax.jit or fuse traces, "
                    "where its state cannot change: pass a key as an argument, and make the generator of it "
                    "there: numpy.random.default_rng(key), with key = jax.random.key(seed)"
                )
            if self.of_numpy is not None:
                return _key_of(self._words(), jax.config.jax_default_prng_impl)
            self.key, taken = jr.split(self.key)
            return taken

    def _words(self):
        """Return the numbers of which a key is made, and change the state."""
        return self.of_numpy.random_raw(2).astype(np.uint32)  # the lower half of each

    def draw(self, program, options, values, dtype):
        """Return what a program draws of a new key; as a line of a batch where NumPy's bits make the key.

        Its arguments are a key, options and values: numbers, of ``dtype``, and arrays.
        """
        if self.of_numpy is not None:
            with self.lock:
                words = self._words()
            key = program, jax.config.jax_default_prng_impl, options, dtype
            made = attempt_by_kinds(_line_program_of_draw, key, (*words.tolist(), *values))
            if made is not None:
                return made
            random_key = _key_of(words, jax.config.jax_default_prng_impl)
        else:
            random_key = self.take()
        numbers = [constant(x, dtype) if type(x) is float else concrete(x) for x in values]
        return program(random_key, *options, *numbers)


class _Mersenne(BitGenerator):
    """The bits of NumPy's older generator, which has a way of its own to read a seed."""

    def _made_by_numpy(self, seed):
        made = np.random.MT19937()
        made.state = np.random.RandomState(seed).get_state(legacy=False)
        return made


# Each of these is one program: on a GPU a number drawn step by step takes the time of twenty.


@functools.partial(compiled, static_argnums=1)
def _key_of(words, implementation):
    return jr.fold_in(jr.key(words[0], impl=implementation), words[1])


@functools.partial(compiled, static_argnums=(1, 2))
def _uniform(key, shape, dtype):
    return jr.uniform(key, shape, dtype)


@functools.partial(compiled, static_argnums=(1, 2))
def _integers_from(key, shape, dtype, low, span):
    """Return as many integers from one on as there are; None stands for all of 64 bits."""
    drawn = jr.bits(key, shape, np.uint64) if span is None else jr.randint(key, shape, 0, span, np.uint64)
    return (drawn + low).astype(dtype)


@functools.partial(compiled, static_argnums=(2, 3, 5))
def _chosen(key, a, shape, replace, p, axis):
    return jr.choice(key, a, shape, replace, p, axis)


@functools.partial(compiled, static_argnums=1)
def _integers_below(key, shape, count):
    """Return what `jax.random.choice` draws as positions, for every number of elements."""
    return jr.randint(key, shape, 0, count)


@functools.partial(compiled, static_argnums=(1, 3))
def _random_order(key, capacity, count, rounds):
    """Return the order that `jax.random.permutation` makes by so many sorts, of the positions that count."""
    positions = lax.iota(np.int32, capacity)
    does_not_count = positions >= count
    order = positions
    for _ in range(rounds):
        key, subkey = jr.split(key)
        bits = jr.bits(subkey, (capacity,), np.uint32)
        *_, order = lax.sort((does_not_count, bits, order), num_keys=2, is_stable=True)
    return order.astype(int)


@functools.partial(compiled, static_argnums=(2, 3))
def _in_random_order(key, x, axis, independent):
    return jr.permutation(key, x, axis, independent)


@functools.partial(compiled, static_argnums=(1, 2, 3, 4, 5))
def _sampled(key, name, shape, computed, dtype, is_narrow, *values):
    """Draw from one of `SAMPLERS`; for parameters that NumPy refuses, NaN, or of integers -1.

    Where float64 is lowered narrow, gamma's numbers are not JAX's.
    """
    sampler = SAMPLERS[name]
    is_valid = jnp.ones(shape, bool)
    given = []
    for value, parameter in zip(values, sampler.parameters, strict=True):  # with others a loop might not end
        value = jnp.broadcast_to(jnp.asarray(value, computed), shape)
        holds = parameter.rule.holds(value)
        is_valid &= holds
        given.append(jnp.where(holds, value, parameter.rule.instead))
    is_of_gammas = is_narrow and computed == np.float64 and name in OF_GAMMAS
    draw = OF_GAMMAS[name] if is_of_gammas else sampler.draw
    drawn = draw(key, shape, computed, *given)
    return jnp.where(is_valid, drawn, -1 if sampler.is_discrete else jnp.nan).astype(dtype)


@functools.lru_cache(_LINES_KEPT)
def _line_program_of_draw(key):
    """Return the program of a line that draws of two words, and of numbers and arrays behind them."""
    program, implementation, options, dtype, (_, _, *kinds), _ = key
    typed = [kind_of((), dtype) if type(kind) is type else kind for kind in kinds]
    word = kind_of((), np.dtype(np.uint32))
    return line_program_of(_of_words(program), (implementation, options), (word, word, *typed))


@functools.cache
def _of_words(program):
    """Return a program of two words, of which its key is made."""

    def draw(first, second, implementation, options, *values):
        return program(_key_of(jnp.stack([first, second]), implementation), *options, *values)

    return compiled(draw, static_argnums=(2, 3))


def _draws_by_position(key) -> bool:
    """Whether each number follows from its position alone: a longer shape begins with the same ones."""
    return jax.config.jax_threefry_partitionable and str(jr.key_impl(key)) == "threefry2x32"


def _rows_to_draw(key, shape) -> int:
    """Return of how many rows a buffer is drawn, which many lengths share; 0 if none is."""
    if not shape or not host_way.is_by_jax() or not _draws_by_position(key):
        return 0
    capacity = rows_in(shape[0])
    return capacity if capacity > shape[0] else 0


def _drawn(draw: Callable[[Any, tuple[int, ...]], jax.Array], key, shape: tuple[int, ...]) -> Array:
    """Return what is drawn of a shape, with room where that has no other numbers."""
    capacity = _rows_to_draw(key, shape)
    if not capacity:
        return ours(draw(key, shape))
    return wrap_rows(Rows(draw(key, (capacity, *shape[1:])), shape[0]), NUMPY)


def _is_key(seed) -> bool:
    return isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key)


def _on_host(x):
    """Return an argument as NumPy takes it; an array on a device is copied."""
    try:
        return to_numpy(x)
    except NotOnHost:
        return np.asarray(x) if isinstance(x, (Array, jax.Array)) else type(x)(map(_on_host, x))


_MOST_DRAWN_EVENLY = 2**43  # integers that `jax.random.randint` draws evenly, by remainders of 64 bits


@np.vectorize
def _is_drawn_evenly(span) -> bool:
    """Whether `jax.random` draws each of so many integers as often as the others, up to a millionth."""
    return span <= _MOST_DRAWN_EVENLY or span & (span - 1) == 0


def _bounds(numbers) -> np.ndarray:
    """Return bounds of integers as Python's, of any size, cut as `int` cuts; it raises for what is none."""
    given = np.asarray(numbers)
    if given.dtype.kind in "fU":
        return np.array([int(number) for number in given.flat], object).reshape(given.shape)
    return np.asarray(numbers, object)


def _shape(size, *parameters) -> tuple[int, ...]:
    are_numbers = _NUMBERS.issuperset(map(type, parameters))
    if are_numbers and type(size) is int and size >= 0:
        return (size,)
    wanted = () if are_numbers else np.broadcast_shapes(*map(np.shape, parameters))
    if size is None:
        return wanted
    if isinstance(size, (bool, np.bool_)):
        raise TypeError(f"size is an int or a tuple of ints, got {size!r}")
    refuse_traced("size", size)
    lengths = size if np.ndim(size) else [size]
    size = tuple(operator.index(n) for n in lengths)
    if min(size, default=0) < 0:
        raise ValueError(f"negative dimensions are not allowed: size={size}")
    if np.broadcast_shapes(size, wanted) != size:
        raise ValueError(f"size {size} does not fit the parameters, whose shape is {wanted}")
    return size


def _size_of(size, out):
    """Return the size that is asked for, which is that of ``out`` where this is given."""
    if out is None:
        return size
    if size is not None and _shape(size) != out.shape:
        raise ValueError(f"size must match out.shape when used together, got {size} and {out.shape}")
    return out.shape


class Generator:
    """NumPy's `numpy.random.Generator`: its methods, distributions and arguments.

    On the CPU, outside of JAX's transformations, the numbers are NumPy's for the same seed. On a device
    `jax.random` draws, by a key that is made of the state; what it lacks, such as `zipf`, is drawn by NumPy
    and put on the device. Results are float64 and int64 unless ``dtype=`` says otherwise. In a function that
    `jax.jit` traces, make the generator there, of a key that is an argument: there `jax.random` draws alone.
    Parameters that are numbers, lists or NumPy's arrays are checked; for elements of arrays on a
    device that NumPy refuses, NaN is drawn, or of integers -1.

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
    standard_normal: Callable[..., Array]  # made of SAMPLERS below, and called by another method

    # The methods draw by `jax.random`. Near the end of this file they are wrapped: where NumPy computes, it
    # draws.

    def __init__(self, bit_generator=None):
        """Hold a state."""
        self._start(bit_generator)

    def _start(self, bit_generator):
        """Begin with a state; `_numpys` is NumPy's generator of the same one, where it is NumPy's."""
        given = isinstance(bit_generator, BitGenerator)
        self.bit_generator = bit_generator if given else self._bits(bit_generator)
        of_numpy = self.bit_generator.of_numpy
        self._numpys = None if of_numpy is None else self._numpys_class(of_numpy)

    def _take(self):
        return self.bit_generator.take()

    def spawn(self, n_children) -> "list[Generator]":
        """Return generators of states of their own."""
        if self._numpys is not None:
            return [type(self)(seed) for seed in self._numpys.bit_generator.seed_seq.spawn(n_children)]
        return [type(self)(key) for key in jr.split(self._take(), n_children)]

    def random(self, size=None, dtype=None, out=None) -> Array:
        """Return numbers between 0 and 1, without 1."""
        dtype = resolve_dtype(dtype or float)
        if dtype.kind != "f":
            raise TypeError(f"Unsupported dtype {dtype!r} for random")
        shape = _shape(_size_of(size, out))
        with x64_for(dtype):
            if is_recording():
                drawn = self.bit_generator.draw(_uniform, (shape, dtype), (), dtype)
                return into(out, wrap(drawn, NUMPY, is_scalar=not shape))
            return into(out, _drawn(lambda *args: _uniform(*args, dtype), self._take(), shape))

    def integers(self, low, high=None, size=None, dtype=None, endpoint=False) -> Array:
        """Return integers from ``low`` up to ``high``, without that; from 0 to ``low`` if it is None."""
        low, high = (0, low) if high is None else (low, high)
        dtype = resolve_dtype(dtype or int)
        if dtype.kind not in "biu":
            raise TypeError(f"Unsupported dtype {dtype!r} for integers")
        low, high = map(_bounds, (low, high))
        high = high + bool(endpoint)
        shape = _shape(size, low, high)
        if 0 in shape:
            return ours(jnp.zeros(shape, dtype))
        if np.any(low >= high):
            raise ValueError("low >= high")
        bounds = (0, 2) if dtype == np.bool else (np.iinfo(dtype).min, int(np.iinfo(dtype).max) + 1)
        if np.any(low < bounds[0]) or np.any(high > bounds[1]):
            raise ValueError(f"low or high is out of bounds for {dtype}")
        span = high - low
        if not np.all(_is_drawn_evenly(span)):
            return self._integers_on_host(low, high, shape, dtype)
        is_every_one = np.any(span == 2**64)
        with x64_on():  # as unsigned differences, which hold every range but the whole one
            span = None if is_every_one else np.asarray(span, np.uint64)
            least = np.asarray(low % 2**64, np.uint64)
            if np.ndim(low) or np.ndim(high):
                return ours(_integers_from(self._take(), shape, dtype, least, span))
            return _drawn(lambda *args: _integers_from(*args, dtype, least, span), self._take(), shape)

    def _integers_on_host(self, low, high, shape, dtype) -> Array:
        """Draw from a range of which `jax.random` would draw some integers more often than others."""
        self._check_numpy_draws(f"integers of more than {_MOST_DRAWN_EVENLY} values")
        numpys = np.random.Generator(self.bit_generator.of_numpy)
        return ours(as_array(numpys.integers(low, high, shape, dtype)))

    def _check_numpy_draws(self, name):
        """Raise where NumPy cannot draw what `jax.random` lacks: of a key, and in what JAX traces."""
        if in_a_trace():
            self._take()  # which refuses a generator from outside
        if self._numpys is None:
            raise NotImplementedError(
                f"jax.random has no {name}: make the generator of a seed, draw outside of what jax.jit "
                "traces, and pass the numbers as an argument"
            )

    def bytes(self, length) -> builtins.bytes:
        """Return random bytes."""
        count = int(length)
        if count < 0:
            raise ValueError(f"length must not be negative, got {length}")
        return np.asarray(jr.bits(self._take(), (count,), np.uint8)).tobytes()

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True) -> Array:
        """Return elements of an array, or numbers below ``a``, with or without repetition."""
        if isinstance(a, (list, tuple)) and np.asarray(a).dtype.kind not in "biufc":  # texts, say
            return np.asarray(a)[np.asarray(self.choice(len(a), size, replace, p, 0, shuffle))]
        if np.ndim(a) == 0 and np.asarray(a).dtype.kind not in "iub":
            raise ValueError(f"a must be a sequence or an integer, not {type(a)}")
        is_by_position = replace and p is None and axis == 0
        drawn = self._chosen_by_position(a, _shape(size)) if is_by_position else None
        if drawn is not None:
            return drawn
        a = value_of(a)
        if p is not None and np.ndim(p) == 0:
            raise TypeError(f"p is a vector of probabilities, got {p!r}")
        p = None if p is None else as_ours(p)._value
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
        if not replace and p is not None and np.prod(shape) > int((p > 0).sum()):
            raise ValueError("fewer non-zero entries in p than size")
        if np.ndim(a) == 0:
            a = jnp.arange(int(count), dtype=default_dtype(int))
        with x64_for(a.dtype):
            return ours(_chosen(self._take(), a, shape, bool(replace), p, axis))

    def _chosen_by_position(self, a, shape) -> Array | None:
        """Return rows of an array with room, or numbers below an int, with repetition; None for others."""
        rows = rows_of(a)
        count = a if type(a) is int else 0 if rows is None else rows.count
        if count < 1 or not shape or 0 in shape:
            return None
        number = np.asarray(count, default_dtype(int))
        with x64_for(number.dtype if rows is None else rows.value.dtype):
            positions = _drawn(lambda *args: _integers_below(*args, number), self._take(), shape)
        return positions if rows is None else a[positions]

    def permutation(self, x, axis=0) -> Array:
        """Return an array in random order along an axis, or the numbers below ``x``."""
        rows = rows_of(x) if axis == 0 else None
        x = value_of(x) if rows is None else x
        if np.ndim(x) == 0:
            if np.asarray(x).dtype.kind not in "iub":
                raise np.exceptions.AxisError(f"x must be an integer or have axes, got {x!r}")
            count = int(x)
        else:
            count = 0 if rows is None else rows.count
        key = self._take()
        capacity = _rows_to_draw(key, (count,))
        if capacity:
            rounds = math.ceil(
                3 * np.log(count) / np.log(2**32 - 1)
            )  # as many as `jax.random.permutation` has
            order = _random_order(key, capacity, number_of(count), rounds)
            positions = wrap_rows(Rows(order, count), NUMPY)
            return positions if rows is None else x[positions]
        x = jnp.arange(count, dtype=default_dtype(int)) if np.ndim(x) == 0 else value_of(x)
        with x64_for(x.dtype):
            return ours(_in_random_order(key, x, axis, False))

    def permuted(self, x, *, axis=None, out=None) -> Array:
        """Return an array with each row along an axis, or all elements, in a random order of its own."""
        x = as_ours(x)._value
        if not x.ndim:
            raise TypeError("permuted takes an array with axes: use permutation(n) for the numbers below n")
        flat = x.reshape(-1) if axis is None else x
        with x64_for(x.dtype):
            mixed = _in_random_order(self._take(), flat, axis or 0, True)
        return into(out, ours(mixed.reshape(x.shape)))

    def shuffle(self, x, axis=0) -> None:
        """Put an array in random order along an axis, in place."""
        if isinstance(x, (Array, np.ndarray)) and not x.ndim:
            raise TypeError("shuffle takes an array with axes: there is nothing to put in order")
        if isinstance(x, Array):
            x[...] = self.permutation(x, axis)
        elif isinstance(x, np.ndarray):
            x[...] = np.asarray(self.permutation(x, axis))
        elif isinstance(x, MutableSequence):
            if axis != 0:
                raise NotImplementedError("Axis argument is only supported on ndarray objects")
            x[:] = [x[i] for i in np.asarray(self.permutation(len(x))).tolist()]
        else:
            raise TypeError(f"shuffle writes to an array or a list, got {type(x).__name__}")

    def dirichlet(self, alpha, size=None) -> Array:
        """Return vectors of positive numbers that add up to 1."""
        if not np.ndim(alpha):
            raise TypeError(f"alpha is a vector, got {alpha!r}")
        dtype = default_dtype(float)
        alpha = as_ours(alpha)._value.astype(dtype)
        if not is_traced(alpha) and bool((alpha < 0).any()):
            raise ValueError("alpha < 0")
        shape = alpha.shape if size is None else _shape(size) + alpha.shape
        is_positive = alpha > 0
        draw = log_gamma if is_lowered_narrow() else jr.loggamma
        logs = draw(self._take(), jnp.where(is_positive, alpha, 1), shape, alpha.dtype)
        drawn = jax.nn.softmax(jnp.where(is_positive, logs, -jnp.inf), axis=-1)
        drawn = jnp.where(is_positive.any(-1, keepdims=True), drawn, 0)
        return ours(jnp.where(jnp.isnan(alpha).any(-1, keepdims=True), jnp.nan, drawn).astype(dtype))

    def multinomial(self, n, pvals, size=None) -> Array:
        """Return how often each outcome came in ``n`` experiments."""
        if not np.ndim(pvals) or not np.shape(pvals)[-1]:
            raise ValueError("pvals must have at least one axis, the last of them of at least one element")
        pvals = as_ours(pvals)._value.astype(default_dtype(float))
        n = jnp.asarray(value_of(n))
        if not any_traced(n, pvals):
            if bool((n < 0).any()):
                raise ValueError(f"n < 0: {n}")
            if not bool(((pvals >= 0) & (pvals <= 1)).all()):
                raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
            if bool((pvals[..., :-1].sum(-1) > 1 + 1e-6).any()):
                raise ValueError("sum(pvals[:-1]) > 1.0")
        shape = np.broadcast_shapes(n.shape, pvals.shape[:-1])
        if size is not None:
            shape = _shape(size)
        counts = jr.multinomial(
            self._take(),
            jnp.broadcast_to(n, shape),
            jnp.broadcast_to(pvals, (*shape, pvals.shape[-1])),
            dtype=pvals.dtype,
        )
        return ours(counts.astype(default_dtype(int)))

    def multivariate_hypergeometric(self, colors, nsample, size=None, method="marginals") -> Array:
        """Return how many of each kind are in a sample drawn without putting back."""
        self._check_numpy_draws("multivariate_hypergeometric")
        return _drawn_by_numpy(self._numpys.multivariate_hypergeometric, (colors, nsample, size, method), {})

    def multivariate_normal(
        self, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd", dtype=None
    ) -> Array:
        """Return vectors of normal numbers with a covariance."""
        if check_valid not in ("warn", "raise", "ignore"):
            raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
        dtype = resolve_dtype(dtype or float)
        mean, cov = (as_type(as_ours(x), dtype)._value for x in (mean, cov))
        if mean.ndim != 1 or cov.shape != mean.shape * 2:
            raise ValueError(f"mean and cov must be of shapes (n,) and (n, n), got {mean.shape}, {cov.shape}")
        is_checked = check_valid == "raise" and not is_traced(cov)
        if is_checked and not _is_covariance(np.asarray(cov), tol):
            raise ValueError("covariance is not symmetric positive-semidefinite.")
        with x64_for(dtype):
            shape = _shape(size)
            return ours(jr.multivariate_normal(self._take(), mean, cov, shape, dtype, method=method))


def _is_covariance(cov: np.ndarray, tol: float) -> bool:
    """Whether a matrix is symmetric and has no negative eigenvalue, up to a tolerance."""
    _, sizes, axes = np.linalg.svd(cov)
    return np.allclose((axes.T * sizes) @ axes, cov, rtol=tol, atol=tol)


def _refuse_parameters(name, sampler, given):
    """Raise for parameters that NumPy refuses, of those that are numbers, lists or NumPy's arrays."""
    on_host = [isinstance(x, (int, float, list, tuple, np.ndarray, np.generic)) for x in given]
    for parameter, value, is_read in zip(sampler.parameters, given, on_host, strict=True):
        if type(value) in _NUMBERS and parameter.rule.holds(float(value)):
            continue
        if value is None:
            raise TypeError(f"{name}: {parameter.name} must be a real number, not None")
        if not is_read or any_traced(*jax.tree.leaves(value)):
            continue
        numbers = np.asarray(value, float)
        is_missing = np.isnan(numbers) & (not sampler.is_discrete)
        if not np.all(parameter.rule.holds(numbers) | is_missing):
            raise ValueError(f"{name}: {parameter.name}={value} is out of range")
    if sampler.refuse is not None and all(on_host) and not any_traced(*jax.tree.leaves(given)):
        sampler.refuse(*[np.asarray(x, float) for x in given])


def _value(x, dtype):
    """Return a parameter as a value; a number as one that a dtype holds: not 0 if it is another, nor inf."""
    if not isinstance(x, (int, float)):
        return current_of(x)
    number = float(x)
    if number == 0 or not math.isfinite(number):
        return number
    tiny, largest = _limits(dtype)
    return math.copysign(min(max(abs(number), tiny), largest), number)


@functools.cache
def _limits(dtype) -> tuple[float, float]:
    """Return the least and the largest of the positive numbers of a dtype that lose no digits."""
    limits = jnp.finfo(dtype)
    return float(limits.tiny), float(limits.max)


def _operand(x, dtype):
    """Return a parameter as a program takes it: one number is kept on the device."""
    if type(x) is float:
        return constant(x, dtype)
    return x if type(x) is Pending else as_array(x)


_REQUIRED = inspect.Parameter.empty  # in place of a default


def _signature(defaults: dict[str, Any]) -> inspect.Signature:
    """Return the signature of a method, by the names and defaults of its parameters."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, default=default) for name, default in defaults.items()]
    return inspect.Signature(parameters, return_annotation=Array)


def _as_method(function: Any, name: str, signature: inspect.Signature, text: str) -> Any:
    """Give a function the name, the signature and the docstring of a method of `Generator`."""
    function.__name__ = name
    function.__qualname__ = f"Generator.{name}"
    function.__signature__ = signature
    function.__doc__ = text
    return function


def _sampling(name: str, sampler: Sampler):
    """Return the method of a distribution that `jax.random` has."""
    names = [parameter.name for parameter in sampler.parameters]
    defaults: dict[str, Any] = {"self": _REQUIRED}
    for parameter in sampler.parameters:
        defaults[parameter.name] = _REQUIRED if parameter.default is None else parameter.default
    required = {name for name, default in defaults.items() if default is _REQUIRED}
    defaults |= dict.fromkeys(("size", "dtype", "out", "method"))
    signature = _signature(defaults)

    def method(self, *args, **kwargs):
        given = dict(zip(defaults, (self, *args), strict=False)) | kwargs
        is_each_known = required <= given.keys() <= defaults.keys()
        if not is_each_known or len(given) < 1 + len(args) + len(kwargs):
            signature.bind(self, *args, **kwargs)  # which raises
        given = defaults | given
        out = given["out"]
        dtype = resolve_dtype(given["dtype"] or (int if sampler.is_discrete else float))
        computed = default_dtype(float) if sampler.is_discrete else dtype
        if computed.kind != "f":
            raise TypeError(f"unsupported dtype {computed} for {name}")
        _refuse_parameters(name, sampler, [given[n] for n in names])
        values = [_value(given[n], computed) for n in names]
        shape = _shape(_size_of(given["size"], out), *values)
        with x64_for(computed):
            options = (computed, dtype, is_lowered_narrow())
            if is_recording():
                drawn = self.bit_generator.draw(_sampled, (name, shape, *options), values, computed)
                return into(out, wrap(drawn, NUMPY, is_scalar=not shape))
            values = [_operand(x, computed) for x in values]
            key = self._take()
            if any(np.ndim(x) == len(shape) for x in values):  # which may be one for each row
                return into(out, ours(_sampled(key, name, shape, *options, *values)))

            def draw(key, shape):
                return _sampled(key, name, shape, *options, *values)

            return into(out, _drawn(draw, key, shape))

    text = f"Return numbers distributed as `numpy.random.Generator.{name}`'s."
    return _as_method(method, name, signature, text)


def _drawn_on_the_host(name: str, parameter_names: tuple[str, ...]):
    """Return the method of a distribution that `jax.random` lacks."""
    defaults: dict[str, Any] = dict.fromkeys(("self", *parameter_names), _REQUIRED)
    signature = _signature(defaults | {"size": None})

    def method(self, *args, **kwargs):
        signature.bind(self, *args, **kwargs)
        self._check_numpy_draws(name)
        return _drawn_by_numpy(getattr(self._numpys, name), args, kwargs)

    text = (
        f"Return numbers distributed as `numpy.random.Generator.{name}`'s: NumPy draws them, as `jax.random` "
        "has no such function, so one that `jax.jit` traces refuses it."
    )
    return _as_method(method, name, signature, text)


for _name, _sampler in SAMPLERS.items():
    setattr(Generator, _name, _sampling(_name, _sampler))
for _name, _parameter_names in ON_HOST_ALONE.items():
    setattr(Generator, _name, _drawn_on_the_host(_name, _parameter_names))


class RandomState(Generator):
    """NumPy's and CuPy's older generator: `Generator`, and ``rand``, ``randn``, ``randint`` and so on."""

    _numpys_class: Any = np.random.RandomState
    _bits = _Mersenne

    def seed(self, seed=None):
        """Start anew."""
        self._start(self._bits(seed))

    def get_state(self, legacy=True):
        """Return what `set_state` takes."""
        return self.bit_generator.key if self._numpys is None else self._numpys.get_state(legacy)

    def set_state(self, state) -> None:
        """Go back to what `get_state` returned."""
        if _is_key(state):
            self._start(self._bits(state))
            return
        if self._numpys is None:
            self._start(self._bits(0))
        self._numpys.set_state(state)

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

    def tomaxint(self, size=None) -> Array:
        """Return integers from 0 up to the largest of int64, that included."""
        return self.randint(0, 2**63, size, np.int64)


_BELOW_ONE = frozenset(["rand", "random", "random_sample", "ranf", "sample"])
_DISCRETE = Sampler(None, (), is_discrete=True)  # in place of one that is none of `SAMPLERS`
_OF_INTEGERS = frozenset(["integers", "randint"])
_NOT_DRAWN = frozenset(["get_state", "seed", "set_state", "spawn"])


def _in_numpys_way(name: str, method):
    """Have NumPy draw where it computes; its methods may lack ``dtype=`` and ``out=``."""
    by_jax = in_numpys_dtypes(method)

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        is_numpys = self._numpys is not None and host_way.is_default()
        if not is_numpys or (name == "shuffle" and not isinstance(args[0], Array)):
            return by_jax(self, *args, **kwargs)
        draw = getattr(self._numpys, "random_sample" if name in ("ranf", "sample") else name, None)
        if draw is None:
            return by_jax(self, *args, **kwargs)
        try:
            return _drawn_in_numpys_way(name, draw, args, kwargs)
        except NotOnHost:
            return by_jax(self, *args, **kwargs)

    return call


def _drawn_in_numpys_way(name, draw, args, kwargs):
    """Return NumPy's numbers as an array in the host's memory."""
    out = kwargs.get("out")
    dtype = kwargs.get("dtype")
    dtype = None if dtype is None else np.dtype(dtype)
    is_continuous = name in _BELOW_ONE or not SAMPLERS.get(name, _DISCRETE).is_discrete
    if dtype is not None and is_continuous and not np.issubdtype(dtype, np.floating):
        raise TypeError(f"Unsupported dtype {dtype!r} for {name}")
    kwargs = {key: x for key, x in kwargs.items() if key not in ("dtype", "out")}
    if name in _OF_INTEGERS:
        if len(args) < 4:  # else the dtype is the fourth of them
            kwargs["dtype"] = dtype or np.dtype(int)
    elif out is not None and name != "permuted":  # whose result has the shape of its array
        given = inspect.signature(getattr(Generator, name)).bind(None, *args, **kwargs).arguments
        args = ()
        kwargs = {key: x for key, x in given.items() if key not in ("self", "dtype", "out")}
        kwargs["size"] = _size_of(given.get("size"), out)
    drawn = draw(*map(to_numpy, args), **{key: to_numpy(x) for key, x in kwargs.items()})
    if dtype is not None and name not in _OF_INTEGERS:
        drawn = drawn.astype(dtype) if hasattr(drawn, "dtype") else dtype.type(drawn)
    kept = from_numpy(drawn, NUMPY, (dtype, *args))
    # A float64 just below 1 may have been rounded to 1.
    if name in _BELOW_ONE and getattr(kept, "dtype", None) == np.float32:
        kept = from_numpy(np.minimum(to_numpy(kept), np.float32(1 - 2.0**-24)), NUMPY)
    return into(out, kept)


def _drawn_by_numpy(draw, args, kwargs):
    """Return NumPy's numbers as an array on the device."""
    args = [_on_host(x) for x in args]
    kwargs = {key: _on_host(x) for key, x in kwargs.items()}
    drawn = np.asarray(draw(*args, **kwargs))
    return ours(as_array(drawn))


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

_NOT_OF_THE_MODULE = frozenset(["bit_generator", "integers", "permuted", "spawn", "tomaxint"])
_state = RandomState()
for _name in dir(RandomState):
    if not _name.startswith("_") and _name not in _NOT_OF_THE_MODULE:
        globals()[_name] = getattr(_state, _name)
        __all__ += [_name] if _name not in __all__ else []
# The last three are CuPy's, which NumPy lacks: their bits are those of PCG64.
for _name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "XORWOW", "MRG32k3a", "Philox4x3210"):
    _members = {"__doc__": BitGenerator.__doc__, "_numpys_class": getattr(np.random, _name, np.random.PCG64)}
    globals()[_name] = type(_name, (BitGenerator,), _members)
    __all__.append(_name)
SeedSequence = np.random.SeedSequence
__all__ += ["SeedSequence"]
