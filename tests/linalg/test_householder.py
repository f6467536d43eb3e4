"""The QR decomposition that stands in where cuBLAS's loses precision."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi.linalg import _householder

repaired_qr = jax.jit(_householder.repaired_qr)

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(1, 1), (1, 2), (2, 2), (5, 3), (3, 5), (2, 4, 3)]


def matrices(shape, dtype):
    rng = np.random.default_rng(5)
    real, imaginary = (rng.uniform(-1, 1, shape) for _ in range(2))
    return (real + 1j * imaginary if dtype[0] == "c" else real).astype(dtype)


def lost(x, mode):
    """Return Q and R of NaN in the shapes of the decomposition's."""
    return [jnp.asarray(part * np.nan) for part in np.linalg.qr(x, mode=mode)]


def assert_decomposes(q, r, x):
    q, r = np.asarray(q), np.asarray(r)
    assert q.dtype == r.dtype == x.dtype
    eps, scale = np.finfo(x.dtype).eps, np.abs(x).max(axis=-2, keepdims=True)
    assert np.all(np.abs(q @ r - x) <= 10 * eps * scale)
    np.testing.assert_array_equal(r, np.triu(r))
    columns = np.conj(np.swapaxes(q, -1, -2)) @ q
    np.testing.assert_allclose(columns, np.broadcast_to(np.eye(q.shape[-1]), columns.shape), atol=10 * eps)


# every shape in the widest dtype, and two in the others, for every pair compiles a program
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("complex128", shape) for shape in SHAPES]
    + [(dtype, shape) for dtype in DTYPES[:3] for shape in [(3, 5), (2, 4, 3)]],
)
def test_lost_matrices_are_decomposed_again(dtype, shape, mode):
    with jax.enable_x64(dtype in ("float64", "complex128")):
        x = matrices(shape, dtype)
        q, r = lost(x, mode)
        new = repaired_qr(jnp.asarray(x), q, r)
        assert [part.shape for part in new] == [q.shape, r.shape]
        assert_decomposes(*new, x)
        expected = np.linalg.qr(x, mode=mode).R
        np.testing.assert_allclose(np.asarray(new[1]), expected, atol=20 * np.finfo(dtype).eps)


@pytest.mark.thorough
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


@pytest.mark.thorough
@pytest.mark.daily("complex128")
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_that_elimination_leaves_tiny(dtype):
    """The squares of what is left of the second column have few bits or none."""
    info = np.finfo(dtype)
    i = 1j if dtype[0] == "c" else 1
    for tiny in (2**10 * float(info.tiny), float(info.tiny) ** 0.75, float(info.tiny * info.eps) ** 0.5):
        corners = []
        for x in (
            [[1, 1], [0, tiny * (1 + i)]],
            [[1, 1], [0, tiny], [0, -tiny * i]],
            [[i, 2], [tiny * i, tiny**0.9]],
            [[1 + i, 1, 3], [0, tiny * (2 - 3 * i), 1], [0, tiny * i, 5]],
            [[tiny * (1 + i), 1]],
            [[0, 0], [0, tiny * i]],
        ):
            x = np.asarray(x, dtype)
            assert_decomposes(*xp.linalg.qr(xp.asarray(x)), x)
            corners.append(np.eye(3, dtype=dtype))
            corners[-1][: x.shape[0], : x.shape[1]] = x
            stacked = np.stack([x, x[::-1], np.eye(*x.shape, dtype=dtype)])  # cuBLAS takes the stacks
            assert_decomposes(*xp.linalg.qr(xp.asarray(stacked)), stacked)
        corners = np.stack(corners)  # of one shape, which is one program
        with jax.enable_x64(dtype in ("float64", "complex128")):
            assert_decomposes(*repaired_qr(jnp.asarray(corners), *lost(corners, "reduced")), corners)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lost_digits_are_seen(dtype):
    info = np.finfo(dtype)
    for remainder, is_lost in (
        (0, False),
        (float(info.eps), False),
        (float(info.tiny * info.eps) ** 0.5, True),
    ):
        with jax.enable_x64(dtype in ("float64", "complex128")):
            x = matrices((2, 2, 2), dtype)
            r = jnp.asarray(np.array([np.eye(2), np.diag([1, remainder])], dtype))
            q = jnp.asarray(np.zeros((2, 2, 2), dtype))
            new_q, _ = repaired_qr(jnp.asarray(x), q, r)
        assert np.abs(np.asarray(new_q)).any(axis=(-2, -1)).tolist() == [False, is_lost]


@pytest.mark.daily
def test_gradient_of_the_others():
    x = jnp.asarray(matrices((2, 2, 2), "complex64"))
    weights = jnp.asarray([1.0, 0.0])

    def total(x, repair):
        q, r = jnp.linalg.qr(x)
        q, r = repair(x, q, r) if repair else (q, r)
        return (weights * jnp.abs(q @ r).sum(axis=(-1, -2))).sum()

    @functools.partial(jax.jit, static_argnums=1)
    @jax.default_matmul_precision("highest")
    def gradient(x, repair):
        return jax.grad(total)(x, repair)

    broken = x.at[1].set(jnp.asarray([[1, 1], [0, 0]]))
    expected = gradient(broken, None)[0]
    np.testing.assert_allclose(gradient(broken, repaired_qr)[0], expected, rtol=1e-5)
    assert np.isfinite(expected).all()


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("shape", "mode"), [((3, 2), "reduced"), ((3, 2), "complete"), ((2, 3), "reduced")])
def test_derivatives_of_what_is_repaired(dtype, shape, mode):
    """The second matrix counts as lost: its derivatives are those of JAX's QR of the matrix itself."""
    with jax.enable_x64(True):
        x, dx, weights = (jnp.asarray(matrices((2, *shape), dtype) + i) for i in range(3))
        weights = weights[..., :1]

        def factors(x, repair):
            q, r = jnp.linalg.qr(x, mode=mode)
            if repair:
                lost = jnp.arange(2)[:, None, None] == 1
                q, r = repaired_qr(x, jnp.where(lost, jnp.nan, q), jnp.where(lost, jnp.nan, r))
            return q, r

        def total(x, repair):
            q, r = factors(x, repair)
            return jnp.sum(jnp.abs(weights * q) ** 3) + jnp.sum(jnp.abs(r) ** 3)

        def derivatives(repair):
            slopes = jax.jvp(lambda x: factors(x, repair), (x,), (dx,))[1]
            gradient = jax.grad(lambda x: total(x, repair))
            return slopes, gradient(x), jax.jvp(gradient, (x,), (dx,))[1]

        for found, right in zip(
            jax.tree.leaves(jax.jit(derivatives, static_argnums=0)(True)),
            jax.tree.leaves(derivatives(False)),
            strict=True,
        ):
            np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_squares_that_vanish(dtype):
    """Column by column nothing larger was found to scale by: the numbers are subnormal, or flushed so."""
    with jax.enable_x64(dtype in ("float64", "complex128")):
        x = np.full((1, 2), np.finfo(dtype).tiny * (1 + 1j if dtype[0] == "c" else 1), dtype)
        q, r = _householder._householder_qr(jnp.asarray(x), 1, 1)
        np.testing.assert_allclose(np.asarray(q) @ np.asarray(r), x, rtol=1e-6)
