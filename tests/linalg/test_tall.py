"""QR of tall matrices by Cholesky factors, as on NVIDIA GPUs, here on any device."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxapi as xp
from jaxapi.linalg import _decompositions, _tall
from jaxapi.linalg._certified import certified
from jaxapi.linalg._tall import cholesky_qr, thin_qr

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPE = (3, 40, 5)


def nan_qr(x):
    return tuple(part * jnp.nan for part in jnp.linalg.qr(x))


fast_alone = jax.jit(certified(cholesky_qr, nan_qr))
either = jax.jit(certified(cholesky_qr, jnp.linalg.qr))


def of_dtype(dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=SHAPE)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=SHAPE)
    return x.astype(dtype)


def with_condition(dtype, condition):
    u, _, vh = np.linalg.svd(of_dtype(dtype), full_matrices=False)
    return ((u * np.geomspace(1, 1 / condition, SHAPE[-1])) @ vh).astype(dtype)


def check(x, q, r):
    """Compare with x, the identity and, where they are determined, NumPy's."""
    q = np.asarray(q)
    r = np.asarray(r)
    assert q.dtype == r.dtype == x.dtype
    tolerance = 20 * np.finfo(x.dtype).eps
    scale = np.abs(x).max()
    np.testing.assert_allclose(q @ r, x, rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(
        np.matrix_transpose(q.conj()) @ q, np.broadcast_to(np.eye(5), (3, 5, 5)), rtol=0, atol=tolerance
    )
    assert not np.tril(r, -1).any()


@pytest.mark.daily
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_far_from_singular_ones(dtype, x64):
    largest_condition = 100 if np.finfo(dtype).eps > 1e-10 else 1e6
    graded_rows = of_dtype(dtype) * np.geomspace(1, 1e-12, SHAPE[-2], dtype=np.float32)[:, None]
    for x in (
        of_dtype(dtype),
        graded_rows.astype(dtype),
        with_condition(dtype, 1),
        with_condition(dtype, largest_condition),
    ):
        q, r = fast_alone(xp.asarray(x))
        check(x, q, r)
        diagonal = np.diagonal(np.asarray(r), axis1=-2, axis2=-1)
        assert (diagonal.real > 0).all()
        assert not diagonal.imag.any()
        exact = np.linalg.qr(x.astype("complex128")).R
        sizes = np.linalg.norm(x, axis=-2, keepdims=True)
        error = np.abs(np.abs(r) - np.abs(exact)) / sizes
        assert error.max() < 50 * np.finfo(x.dtype).eps * max(np.linalg.cond(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_others_are_left_to_reflections(dtype, x64):
    """One of a batch that is singular, or nearly, has zeros, is graded, or no numbers, and then all."""
    eps = np.finfo(dtype).eps
    examples = {name: of_dtype(dtype) for name in ("rank", "zero", "nearly", "nan", "inf")}
    examples["rank"][1, :, 3] = examples["rank"][1, :, 0]
    examples["zero"][1, :, 2] = 0
    examples["nearly"][1, :, 3] = examples["nearly"][1, :, 0] + 8 * eps * examples["nearly"][1, :, 3]
    examples["nan"][1, 0, 0] = np.nan
    examples["inf"][1, 0, 0] = np.inf
    examples["graded"] = with_condition(dtype, 1 / eps)
    for name, x in examples.items():
        fast_q, _ = fast_alone(xp.asarray(x))
        assert np.isnan(np.asarray(fast_q)).any(), name
        q, r = either(xp.asarray(x))
        if name in ("nan", "inf"):
            assert np.isnan(np.asarray(r)[1]).any()
            check(x[[0, 0, 2]], np.asarray(q)[[0, 0, 2]], np.asarray(r)[[0, 0, 2]])
        else:
            check(x, q, r)


def test_what_is_not_orthogonal_is_never_kept():
    """From well to badly conditioned matrices: what is certified is right to some eps."""
    kept = []
    for condition in np.geomspace(1, 1e8, 33):
        x = with_condition("float32", condition)
        q, r = fast_alone(x)
        kept.append(not np.isnan(q).any())
        if kept[-1]:
            check(x, q, r)
    assert kept[0]
    assert not kept[-1]
    assert kept == sorted(kept, reverse=True)


def test_the_second_step_must_begin_near_an_orthogonal_matrix(monkeypatch):
    """Whatever the first one leaves, and without NaN that would tell."""
    step = _tall._step
    q, _ = np.linalg.qr(of_dtype("float32"))
    for scale, expected in [(1, True), (1.01, True), (1.3, False), (100, False), (0, False)]:
        near_q = q.copy()
        near_q[1, :, 2] *= scale
        of_steps = [(None, near_q, np.eye(5, dtype="float32")), step(jnp.asarray(q))]
        of_steps[1] = (near_q.mT @ near_q, *of_steps[1][1:])
        monkeypatch.setattr(_tall, "_step", lambda x, of_steps=of_steps: of_steps.pop(0))
        (_, _), is_right = cholesky_qr(jnp.asarray(q))
        assert is_right == expected, scale


def test_a_batch_is_one_choice():
    """Under vmap, too, where each item's choice would compute both."""
    x = of_dtype("float32")
    x[1, :, 2] = 0
    batched = jax.vmap(either)
    check(x, *batched(x))
    text = str(jax.make_jaxpr(batched)(x))
    assert "cond" in text
    assert "bool[3]" not in text.split("cond")[0].splitlines()[-1]


@pytest.mark.thorough("x32")
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_are_those_of_reflections(dtype, x64):
    """Of columns and rows turned to a positive diagonal."""
    x = xp.asarray(of_dtype(dtype)[0])
    weights = np.random.default_rng(3).normal(size=SHAPE[1:])
    decompose = certified(cholesky_qr, nan_qr)

    def turned(q, r):
        diagonal = jnp.diagonal(r)
        signs = lax.stop_gradient(diagonal / jnp.abs(diagonal))
        return q * signs, signs.conj()[:, None] * r

    def loss(decomposed, x):
        q, r = turned(*decomposed(x))
        return jnp.sum(jnp.abs(q + 2) ** 2 * weights) + jnp.sum(jnp.abs(r - 1) ** 2 * weights[:5])

    with jax.enable_x64(True):
        found = jax.grad(functools.partial(loss, lambda x: thin_qr(x, decompose)))(x)
        expected = jax.grad(functools.partial(loss, jnp.linalg.qr))(x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@pytest.mark.thorough
def test_on_a_gpu_tall_matrices_go_this_way(monkeypatch):
    """The branch for CUDA, run on the CPU: which shapes it is for, and that columns are scaled before."""
    taken = []

    def on_cuda(x, *others, cuda, default):
        taken.append(cuda is _tall.qr_of_tall)
        return cuda(x, *others)

    monkeypatch.setattr(_decompositions.lax, "platform_dependent", on_cuda)
    monkeypatch.setattr(_tall, "_of_cuda", certified(cholesky_qr, nan_qr))
    rng = np.random.default_rng(4)
    for shape, mode, is_tall in [
        ((1024, 128), "reduced", True),
        ((32, 1024, 4), "reduced", True),
        ((31, 1024, 4), "reduced", False),
        ((1024, 128), "complete", False),
        ((1023, 129), "reduced", False),
        ((1024, 257), "reduced", False),
    ]:
        x = (rng.normal(size=shape) * np.geomspace(1, 1e-30, shape[-1])).astype("float32")
        q, r = _decompositions._qr.__wrapped__(jnp.asarray(x), mode)
        assert taken.pop() == is_tall
        product = np.asarray(q, "float64") @ np.asarray(r, "float64")
        scale = np.abs(x).max(axis=-2, keepdims=True)
        np.testing.assert_allclose(product / scale, x / scale, rtol=0, atol=1e-5)
