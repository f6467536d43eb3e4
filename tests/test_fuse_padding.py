"""`fuse(pad=True)`: right for every length where rows are alone, refused elsewhere."""

import pickle
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi import fuse
from jaxapi._fuse import _padding
from jaxapi._fuse._padding import Padding

LENGTHS = [1, 2, 5, 127, 128, 129, 200, 1000]


def rows(n, columns=3):
    return np.random.default_rng(n).standard_normal((n, columns)).astype(np.float32)


ROW_WISE = {
    "map": lambda x, w: 1 + 0.5 * x * x,
    "many": lambda x, w: (xp.hypot(x, x), {"a": xp.floor_divide(x, 2.0), "b": xp.clip(x, 0, 1) > 0.5}, None),
    "where": lambda x, w: xp.where(x[:, 0][:, xp.newaxis] > 0, xp.inf, x),
    "norms": lambda x, w: x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True)),
    "matmul": lambda x, w: xp.matmul(x, w),
    "vecdot": lambda x, w: (xp.vecdot(x, x), xp.vecdot(w[:, 0], x)),
    "sort": lambda x, w: xp.sort(x, axis=1) + xp.cumulative_sum(x, axis=1),
    "argmax": lambda x, w: xp.argmax(x, axis=1),
    "columns reversed": lambda x, w: x[:, ::-1] + xp.flip(x, axis=1),
    "concat": lambda x, w: xp.concat([x, -x], axis=1),
    "reshape": lambda x, w: xp.reshape(x, (x.shape[0], 1, 3)),
    "count": lambda x, w: x + xp.arange(x.shape[0], dtype=xp.float32)[:, xp.newaxis],
    "without rows": lambda x, w: (x, w @ w.T, 2.0),
    "stacked and tiled": lambda x, w: (xp.stack([x, -x], axis=1), xp.tile(x, (1, 2)), xp.roll(x, 1, axis=1)),
    "gather": lambda x, w: xp.take_along_axis(x, xp.argsort(-x, axis=1), axis=1),
    "table": lambda x, w: xp.take(w, xp.argmax(x, axis=1), axis=0),
    "scatter": lambda x, w: x.at[:, 1].set(x[:, 0]).at[:, 0].add(1),
    "scatter along": lambda x, w: jax.vmap(lambda row, i: row.at[i].set(9))(x, xp.argmax(x, axis=1)),
    "fft": lambda x, w: xp.abs(xp.fft.fft(x, axis=1)),
    "top": lambda x, w: jax.lax.top_k(x, 2),
    "inv": lambda x, w: xp.linalg.inv(spd(x)),
    "solve": lambda x, w: xp.linalg.solve(spd(x), x[:, :, xp.newaxis]),
    "eigh": lambda x, w: xp.linalg.eigh(spd(x)).eigenvalues,
    "svd": lambda x, w: (xp.linalg.svd(spd(x)).S, xp.linalg.pinv(spd(x)), xp.linalg.cholesky(spd(x))),
}


def spd(x):
    """Return a positive definite matrix of each row."""
    return x[:, :, xp.newaxis] * x[:, xp.newaxis] + 2 * xp.eye(3, dtype=x.dtype)


@pytest.mark.parametrize("function", ROW_WISE.values(), ids=ROW_WISE)
def test_equals_the_exact_program(function):
    padded, exact = fuse(function, pad=True), fuse(function)
    w = rows(3, 2)
    for n in (129, 200):
        x = rows(n)
        actual, expected = padded(x, w), exact(x, w)
        assert jax.tree.structure(actual) == jax.tree.structure(expected)
        for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
            assert isinstance(a, jax.Array)
            assert a.dtype == e.dtype
            np.testing.assert_allclose(a, e, rtol=1e-6, atol=1e-6)


ACROSS_ROWS = {
    "sum": lambda x: xp.sum(x),
    "sum of rows": lambda x: x - xp.sum(x, axis=0),
    "mean": lambda x: x - xp.mean(x, axis=0),
    "number of rows": lambda x: x / x.shape[0],
    "branch on it": lambda x: x if x.shape[0] > 100 else -x,
    "flip": lambda x: xp.flip(x, axis=0),
    "sort": lambda x: xp.sort(x, axis=0),
    "cumulative": lambda x: xp.cumulative_sum(x, axis=0),
    "concat": lambda x: xp.concat([x, x]),
    "slice": lambda x: x[1:],
    "one row": lambda x: x - x[0],
    "chosen rows": lambda x: xp.take(x, xp.astype(x[:, 0] > 0, xp.int32), axis=0),
    "gathered rows": lambda x: jax.lax.gather(
        x,
        xp.astype(x[:, :1] > 0, xp.int32),
        jax.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)),
        slice_sizes=(1, 3),
        mode="clip",
    ),
    "gram": lambda x: xp.matmul(x, xp.matmul(x.T, x)),
    "transpose": lambda x: x.T,
    "products": lambda x: xp.matmul(x, x.T),
    "flatten": lambda x: xp.reshape(x, (-1,)),
    "roll": lambda x: xp.roll(x, 1, axis=0),
    "linspace": lambda x: x[:, 0] * xp.linspace(0, 1, x.shape[0]),
    "loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c + xp.max(c), x),
    "random": lambda x: x + jax.random.normal(jax.random.key(0), x.shape),
    "scattered rows": lambda x: x.at[xp.astype(x[:, 0] > 0, xp.int32)].add(1),
    "fft": lambda x: xp.abs(xp.fft.fft(x, axis=0)),
    "svd of all": lambda x: xp.linalg.svd(x, full_matrices=False).U,
    "top": lambda x: jax.lax.top_k(x.T, 2)[0],
    "shape in a loop": lambda x: x * jax.lax.while_loop(lambda c: c < 3, lambda c: c + x.shape[0] * 1.0, 0.0),
    "shape in a branch": lambda x: x * jax.lax.cond(w0() > 0, lambda: x.shape[0] * 1.0, lambda: 2.0),
    "inside a jit": lambda x: jax.jit(lambda y: y - xp.max(y))(x),
}


def w0():
    return jnp.ones(())


@pytest.mark.parametrize("function", ACROSS_ROWS.values(), ids=ACROSS_ROWS)
def test_rows_that_are_combined_are_refused(function):
    with pytest.raises(TypeError, match=r"cannot be padded: .*leave it out"):
        fuse(function, pad=True)(rows(200))


def test_few_programs_for_many_lengths():
    traces = []
    f = fuse(lambda x, a: traces.append(x.shape) or x * a, kernel_name="few", pad=True)
    for n in range(130, 512, 7):
        x = rows(n)
        np.testing.assert_allclose(f(x, float(n)), x * np.float32(n), rtol=1e-6)
    assert len(traces) == 3  # the proof, 256 rows, 512 rows


def test_nothing_compiles_after_the_first_call():
    shapes = []
    f = fuse(lambda x: shapes.append(x.shape[0]) or x + 1, pad=True)
    x = rows(200)
    for _ in range(40):
        np.testing.assert_array_equal(f(x), x + 1)
    assert len(shapes) == 2  # the proof, and 256 rows


def test_every_length_and_kind_of_argument():
    f = fuse(lambda x, y, n, g: g(x) + y[:, xp.newaxis] * n, kernel_name="kinds", pad=True)
    for n in LENGTHS:
        x, y = rows(n), np.arange(n, dtype=np.int8)
        np.testing.assert_allclose(f(jnp.asarray(x), y, 3, xp.abs), np.abs(x) + y[:, None] * 3, rtol=1e-6)
    with pytest.raises(OverflowError, match="int8"):
        f(x, y, 300, xp.abs)


def test_the_weights_are_not_the_rows():
    w = rows(100, 100)
    f = fuse(lambda w, x: xp.matmul(x, w), pad=True)
    for n in (70, 90, 130, 140):
        x = rows(n, 100)
        np.testing.assert_allclose(f(w, x), x @ w, rtol=1e-4, atol=1e-5)


def test_wide_arrays_stay_wide(x64):
    x = np.arange(300) / 3
    result = fuse(lambda x: x * 0.1, pad=True)(x)
    np.testing.assert_array_equal(np.asarray(result), x * 0.1)


def test_errors_of_the_function_are_its_own():
    with pytest.raises(ValueError, match="broadcast"):
        fuse(lambda x: x + xp.ones(7), pad=True)(rows(200))
    with pytest.raises(TypeError, match="Python scalar"):
        fuse(lambda x: x if x[0, 0] > 0 else -x, pad=True)(rows(200))


def test_another_jax_is_refused():
    for traced in (None, types.SimpleNamespace(jaxpr=types.SimpleNamespace(jaxpr=None))):
        with pytest.raises(TypeError, match=r"'kern' cannot be padded: this version of JAX .*leave it out"):
            Padding().plan("kern", [rows(200)], None, lambda leaves, traced=traced: traced)


def test_composes():
    f = fuse(lambda x: xp.sin(x), pad=True)
    x = jnp.asarray(rows(200))
    np.testing.assert_allclose(jax.jit(f)(x), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(lambda x: f(x).sum())(x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(fuse(lambda x: f(x) + 1, pad=True)(x), np.sin(x) + 1, rtol=1e-5, atol=1e-6)
    assert repr(f) == "<Fusion '<lambda>'>"


def test_which_lengths_are_padded(monkeypatch):
    monkeypatch.setattr(_padding, "_MOST_ROWS", 200)

    def lengths(*leaves):
        return _padding.lengths(leaves)

    assert lengths(rows(63), 2.0) == []
    assert lengths(rows(64), rows(200), rows(3)) == [200, 64]
    assert lengths(rows(201)) == []
    monkeypatch.setattr(_padding, "_MOST_BYTES", rows(100).nbytes)
    assert lengths(rows(100)) == [100]
    assert lengths(rows(100), 1.0, np.float32([1])) == []


def test_pickle():
    f = pickle.loads(pickle.dumps(fuse(unit_rows, pad=True)))
    traced = f(rows(100)), f(rows(101)), f(rows(127))
    for found in traced:
        np.testing.assert_allclose(found, unit_rows(rows(len(found))), rtol=1e-6)
    assert f._jit._cache_size() == 1


def unit_rows(x):
    return x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True))
