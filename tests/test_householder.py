"""The QR decomposition that stands in where cuSOLVER's is NaN."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi.linalg._householder import repaired_qr

DTYPES = ["complex64", "complex128"]
SHAPES = [(1, 1), (1, 2), (2, 2), (5, 3), (3, 5), (2, 4, 3)]


def matrices(shape, dtype):
    rng = np.random.default_rng(5)
    return (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(dtype)


def lost(x, mode):
    """Return Q and R of NaN in the shapes of the decomposition's."""
    q, r = jnp.linalg.qr(jnp.asarray(x), mode=mode)
    return q * np.nan, r * np.nan


def assert_decomposes(q, r, x):
    q, r = np.asarray(q), np.asarray(r)
    assert q.dtype == r.dtype == x.dtype
    eps, scale = np.finfo(x.dtype).eps, np.abs(x).max(axis=-2, keepdims=True)
    assert np.all(np.abs(q @ r - x) <= 10 * eps * scale)
    np.testing.assert_array_equal(r, np.triu(r))
    columns = np.conj(np.swapaxes(q, -1, -2)) @ q
    np.testing.assert_allclose(columns, np.broadcast_to(np.eye(q.shape[-1]), columns.shape), atol=10 * eps)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_lost_matrices_are_decomposed_again(dtype, shape, mode, x64):
    with jax.enable_x64(x64 or dtype == "complex128"):
        x = matrices(shape, dtype)
        q, r = lost(x, mode)
        new = jax.jit(repaired_qr)(jnp.asarray(x), q, r)
        assert [part.shape for part in new] == [q.shape, r.shape]
        assert_decomposes(*new, x)
        expected = np.linalg.qr(x, mode=mode).R
        np.testing.assert_allclose(np.asarray(new[1]), expected, atol=20 * np.finfo(dtype).eps)


def test_other_matrices_are_left_alone():
    x = matrices((4, 3, 3), "complex64")
    x[2, 0, 0] = np.inf
    q, r = (np.asarray(part).copy() for part in xp.linalg.qr(xp.asarray(x)))
    q[1], r[1], r[2] = np.nan, np.nan, np.nan
    for repair in (repaired_qr, jax.vmap(repaired_qr)):
        new_q, new_r = (np.asarray(part) for part in repair(*map(jnp.asarray, (x, q, r))))
        np.testing.assert_array_equal(new_q[[0, 2, 3]], q[[0, 2, 3]])
        np.testing.assert_array_equal(new_r[[0, 2, 3]], r[[0, 2, 3]])
        assert_decomposes(new_q[1], new_r[1], x[1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_that_elimination_leaves_tiny(dtype, x64):
    """The squares of what is left of the second column vanish."""
    tiny = 2**10 * float(np.finfo(dtype).tiny)
    for x in (
        [[1, 1], [0, tiny * (1 + 1j)]],
        [[1j, 2], [tiny**0.75 * 1j, tiny**0.6]],
        [[1 + 1j, 1, 3], [0, tiny**0.75 * (2 - 1j), 1], [0, tiny**0.75 * 1j, 5]],
        [[tiny * (1 + 1j), 1]],
        [[0, 0], [0, tiny * 1j]],
    ):
        x = np.asarray(x, dtype)
        q, r = xp.linalg.qr(xp.asarray(x))
        assert_decomposes(q, r, x)
        with jax.enable_x64(x64 or dtype == "complex128"):
            assert_decomposes(*repaired_qr(jnp.asarray(x), *lost(x, "reduced")), x)
        stacked = np.stack([x, x[::-1], np.eye(*x.shape, dtype=dtype)])  # cuBLAS takes the stacks
        q, r = xp.linalg.qr(xp.asarray(stacked))
        assert_decomposes(q, r, stacked)


def test_gradient_of_the_others():
    x = jnp.asarray(matrices((2, 2, 2), "complex64"))
    weights = jnp.asarray([1.0, 0.0])

    def total(x, repair):
        q, r = jnp.linalg.qr(x)
        q, r = repair(x, q, r) if repair else (q, r)
        return (weights * jnp.abs(q @ r).sum(axis=(-1, -2))).sum()

    broken = x.at[1].set(jnp.asarray([[1, 1], [0, 0]]))
    expected = jax.grad(total)(broken, None)[0]
    np.testing.assert_allclose(jax.grad(total)(broken, repaired_qr)[0], expected, rtol=1e-5)
    assert np.isfinite(expected).all()
