"""`fuse`: forms, scalars, arguments, composition; NumPy is the oracle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi import fuse

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def axpy(x, y, a):
    return a * x + y


def same(actual, expected):
    assert isinstance(actual, jax.Array)
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


class TestForms:
    @pytest.mark.parametrize(
        ("decorate", "name"),
        [
            (fuse, "axpy"),
            (fuse(), "axpy"),
            (fuse(kernel_name="kern"), "kern"),
            (fuse("kern"), "kern"),
            (lambda f: fuse(f, kernel_name="kern"), "kern"),
        ],
    )
    def test_every_form(self, decorate, name):
        f = decorate(axpy)
        same(f(X, X, 2.0), 3 * X)
        assert f.name == name
        assert repr(f) == f"<Fusion '{name}'>"
        assert f.func is axpy
        assert f.__wrapped__ is axpy
        assert f.__name__ == "axpy"

    def test_lambda(self):
        same(fuse(lambda x: x + 1)(X), X + 1)


class TestScalars:
    def test_python_scalars_are_weak_and_do_not_compile_again(self):
        traces = []

        @fuse
        def f(x, a):
            traces.append(a)
            return x * a

        for a in (1.5, -2.5, 1e30):
            same(f(X, a), X * np.float32(a))
        assert len(traces) == 1

    def test_numpy_keeps_its_dtype(self, x64):
        f = fuse(axpy)
        same(f(X.astype(np.float64) / 3, X, 0.1), 0.1 * (X.astype(np.float64) / 3) + X)
        same(f(X, X, np.float64(0.1)), np.float64(0.1) * X + X)
        same(f(X.astype(np.int64) + 2**40, 0, 1), X.astype(np.int64) + 2**40)

    @pytest.mark.parametrize("inf", [xp.inf, -xp.inf, xp.nan, float("inf"), np.nan])
    def test_where_with_constants_and_newaxis(self, inf):
        mask = np.array([True, False])
        f = fuse(lambda mask, x: xp.where(mask[:, xp.newaxis], inf, x))
        same(f(mask, X), np.where(mask[:, None], np.float32(inf), X))


def test_static_callables_and_none():
    f = fuse(lambda x, g, y=None: g(x) if y is None else g(x) + y)
    same(f(X, jnp.sin), np.sin(X))
    same(f(X, xp.cos, y=X), np.cos(X) + X)
