"""`fuse` and Python integers: checked against the other operand's dtype, as in NumPy, without compiling."""

import enum
import threading
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_fused

import jaxapi as xp
from jaxapi import fuse
from jaxapi._fuse import _fusion, _integers

X = np.arange(6, dtype=np.float32).reshape(2, 3)

INTEGERS = [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.int64, np.uint64]


def carried(x, n, cond, body):
    """Loop with a Python int that is carried unchanged."""
    return jax.lax.while_loop(cond, body, (x, n))[0]


MEETINGS = {
    "where": lambda x, n: xp.where(x > 0, x, n),
    "clip": lambda x, n: xp.clip(x, 0, n),
    "cond": lambda x, n: jax.lax.cond(x[0] > 0, lambda: x + n, lambda: x),
    "fori": lambda x, n: jax.lax.fori_loop(0, 2, lambda i, c: c * n, x),
    "while": lambda x, n: jax.lax.while_loop(lambda c: c[0] > n, lambda c: c - 1, x),
    "body": lambda x, n: jax.lax.while_loop(lambda c: c[0] > 1, lambda c: c - n, x),
    "carry in body": lambda x, n: carried(x, n, lambda c: c[0][0] > 5, lambda c: (c[0] + c[1], c[1])),
    "carry in cond": lambda x, n: carried(x, n, lambda c: c[0][0] > c[1], lambda c: (c[0] - x, c[1])),
    "carry, constants": lambda x, n: carried(
        x, n, lambda c: c[0][0] > x[1], lambda c: (c[0] - x * x[0] - c[1], c[1])
    ),
    "carry, constants in cond": lambda x, n: carried(
        x, n, lambda c: c[0][0] > x[0] + c[1], lambda c: (c[0] - 1, c[1])
    ),
    "scan": lambda x, n: jax.lax.scan(lambda c, _: (c + n, None), x, length=2)[0],
    "jit": lambda x, n: jax.jit(lambda y, m: y - m)(x, n),
    "fuse": lambda x, n: fuse(lambda y, m: y - m)(x, n),
    "asarray": lambda x, n: x + xp.asarray(n, dtype=xp.int8),
}


class TestPythonIntegers:
    @pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.__name__)
    def test_bounds_are_numpys_and_nothing_compiles_again(self, dtype, x64):
        traces = []

        @fuse
        def f(x, n):
            traces.append(n)
            return x + n

        x = np.zeros(2, dtype)
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        for good in (1, high, low, high - 1):
            assert_fused(f(x, good), x + dtype(good))
        for bad in (high + 1, low - 1, 10**30):
            with pytest.raises(OverflowError, match=f"Python integer {bad} out of bounds for {x.dtype}"):
                f(x, bad)
            with pytest.raises(OverflowError):
                f(x, n=bad)
        assert len(traces) == 2  # positional and by keyword

    def test_first_call_with_a_bad_value(self):
        f = fuse(lambda x, n: x + n)
        for _ in range(2):
            with pytest.raises(OverflowError, match="out of bounds for int8"):
                f(np.zeros(2, np.int8), 128)
        assert_fused(f(np.zeros(2, np.int16), 128), np.full(2, 128, np.int16))
        with pytest.raises(OverflowError, match="out of bounds for int8"):
            f(np.zeros(2, np.int8), 128)

    @pytest.mark.parametrize("function", MEETINGS.values(), ids=MEETINGS)
    def test_wherever_the_dtype_is_met(self, function):
        f = fuse(function)
        x = np.ones(2, np.int8)
        assert f(x, 1).dtype == np.int8
        with pytest.raises(OverflowError, match="Python integer 300 out of bounds for int8"):
            f(x, 300)

    def test_large_ints_with_floats_as_in_numpy(self):
        f = fuse(lambda x, n: x * n)
        for n in (2**31, 2**40, -(2**70)):
            assert_fused(f(X, n), X * np.float32(n))
        assert_fused(f(X.astype(np.float64), 2**1000), X.astype(np.float64) * 2.0**1000)

    def test_a_default_integer_that_is_too_large(self):
        with pytest.raises(OverflowError, match="Python integer 1180591620717411303424 out of bounds"):
            fuse(lambda x, n: x[0] + xp.sin(n + 1))(X, 2**70)

    def test_the_first_call_runs_once(self):
        runs = []
        f = fuse(lambda x, n: jax.debug.callback(lambda: runs.append(1)) or x + n)
        jax.block_until_ready(f(X.astype(np.int8), 100))
        jax.effects_barrier()
        assert len(runs) == 1

    def test_unused_and_in_containers(self):
        assert_fused(fuse(lambda x, n: x + 1)(X, 2**80), X + 1)
        f = fuse(lambda x, p: x + p["n"])
        assert_fused(f(np.zeros(2, np.int8), {"n": 127}), np.full(2, 127, np.int8))
        with pytest.raises(OverflowError, match="out of bounds for int8"):
            f(np.zeros(2, np.int8), {"n": 128})

    def test_an_int_that_is_carried_keeps_its_value(self):
        @fuse
        def power(x, n):
            return jax.lax.while_loop(
                lambda c: c[1] > 0, lambda c: (c[0] * x, c[1] - 1), (xp.ones_like(x), n)
            )[0]

        for n in (0, 3, 5):
            assert_fused(power(X, n), X**n)
        assert int(fuse(lambda x, n: carried(x, n, lambda c: c[0] > 5, lambda c: c))(1, 70_000)) == 1

    @pytest.mark.parametrize("jaxpr", [None, types.SimpleNamespace(jaxpr=None)])
    def test_another_jax_leaves_ints_unchecked(self, jaxpr, monkeypatch):
        """Where the traced program is of another form: ints are passed as they are."""
        f = fuse(lambda x, n: x + n)
        traced = types.SimpleNamespace(jaxpr=jaxpr)
        monkeypatch.setattr(
            _fusion, "integer_promotions", lambda _, count: _integers.integer_promotions(traced, count)
        )
        assert_fused(f(np.zeros(2, np.int16), 300), np.full(2, 300, np.int16))
        f(np.zeros(2, np.int8), 300)

    def test_int_enum(self):
        class Color(enum.IntEnum):
            RED = 300

        f = fuse(lambda x, n: x + n)
        assert_fused(f(np.zeros(2, np.int16), Color.RED), np.full(2, 300, np.int16))
        with pytest.raises(OverflowError):
            f(np.zeros(2, np.int8), Color.RED)

    def test_threads(self):
        f = fuse(lambda x, n: x + n)
        failures = []

        def work(seed):
            dtype = [np.int8, np.int16, np.uint8, np.int32][seed % 4]
            try:
                for shape in range(1, 4):
                    x = jnp.zeros(shape, dtype)
                    for n in (200, 100, 70_000, -1):
                        fits = np.iinfo(dtype).min <= n <= np.iinfo(dtype).max
                        try:
                            result = f(x, n)
                        except OverflowError:
                            assert not fits
                        else:
                            assert fits
                            assert (np.asarray(result) == n).all()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
