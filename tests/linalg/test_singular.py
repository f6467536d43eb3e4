"""Decompositions that are certified by their product, as on NVIDIA GPUs, by algorithms of any device."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxapi as xp
from jaxapi import numpy
from jaxapi.linalg import _singular
from jaxapi.linalg._singular import certified_svd, inverse_by_svd, thin_svd, values_of

default_svd = functools.partial(lax.linalg.svd, full_matrices=False)
DTYPES = ["float32", "float64", "complex64", "complex128"]


def wrong_svd(x):
    """Decompose as a broken algorithm may: of a matrix with 0 in its corner the product is another one."""
    u, s, vh = default_svd(x)
    return u, s * jnp.where(x[..., :1, 0] == 0, 3, 1).astype(s.dtype), vh


def nan_svd(x):
    return tuple(part * jnp.nan for part in default_svd(x))


def skew_svd(x):
    """Return factors with the right product that are not orthogonal."""
    u, s, vh = default_svd(x)
    return u * 2, s / 2, vh


of_default = certified_svd(default_svd, nan_svd)
of_wrong = certified_svd(wrong_svd, default_svd)


def matrices(dtype, shape=(3, 7, 5)):
    rng = np.random.default_rng(2)
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def check(x, found):
    u, s, vh = map(np.asarray, found)
    eps = np.finfo(x.dtype).eps
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), rtol=0, atol=100 * eps * s.max())
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, x, rtol=0, atol=100 * eps * s.max())


@pytest.mark.thorough
@pytest.mark.daily("x64-float64")
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_safe_algorithm_takes_over(dtype, x64):
    for shape in ((3, 7, 5), (3, 5, 7)):
        x = matrices(dtype, shape)
        check(x, jax.jit(of_default)(xp.asarray(x)))
        x[1, 0, 0] = 0
        for broken in (wrong_svd, nan_svd, skew_svd):
            check(x, jax.jit(certified_svd(broken, default_svd))(xp.asarray(x)))


@pytest.mark.thorough
def test_a_batch_is_one_choice():
    """Under vmap, too, where each item's choice would compute both."""
    x = jnp.asarray(matrices("float32"))
    for batched in (of_wrong, jax.vmap(of_wrong), jax.vmap(jax.vmap(of_wrong))):
        stack = x[None] if batched is not of_wrong else x
        check(np.asarray(stack), batched(stack))
        text = str(jax.make_jaxpr(batched)(stack))
        assert "cond" in text
        assert "bool[3]" not in text.split("cond")[0].splitlines()[-1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("float64", (7, 5)), ("complex128", (6, 6)), ("complex128", (7, 5)), ("complex128", (5, 7))],
)
def test_derivatives_are_jaxs(dtype, shape):
    """Forward and backward, of what does not depend on the signs of vectors, where the fast one is wrong."""
    with jax.enable_x64(True):
        x = matrices(dtype, shape)
        x[0, 0] = 0
        x = jnp.asarray(x)
        dx = jnp.asarray(matrices(dtype, (2, *shape))[1])
        weights = jnp.arange(1.0, 6.0 + (shape == (6, 6)))

        def of_vectors(u, s, vh):
            return jnp.sum(abs((u * weights) @ vh) ** 2 * jnp.arange(shape[1])) + jnp.sum(s**3)

        pairs = [
            (lambda x: of_vectors(*thin_svd(x, of_wrong)), lambda x: of_vectors(*default_svd(x))),
            (
                lambda x: (values_of(x, of_wrong) * weights).sum(),
                lambda x: (default_svd(x)[1] * weights).sum(),
            ),
            (
                lambda x: abs(inverse_by_svd(x, jnp.asarray(1e-9), of_wrong)).sum(),
                lambda x: abs(jnp.linalg.pinv(x, rtol=1e-9)).sum(),
            ),
        ]
        for ours, jaxs in pairs:
            for found, expected in zip(jax.jvp(ours, [x], [dx]), jax.jvp(jaxs, [x], [dx]), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-9)
            np.testing.assert_allclose(jax.grad(ours)(x), jax.grad(jaxs)(x), rtol=1e-8, atol=1e-8)
            curvatures = [jax.jvp(jax.grad(f), [x], [dx])[1] for f in (ours, jaxs)]
            np.testing.assert_allclose(*curvatures, rtol=1e-6, atol=1e-6)


@pytest.mark.thorough
def test_derivatives_of_batches():
    def ours(x):
        u, s, vh = thin_svd(x, of_wrong)
        return jnp.sum((u * s) @ vh * jnp.arange(6.0)) + jnp.sum(values_of(x, of_wrong) ** 2)

    def jaxs(x):
        return jnp.sum(x * jnp.arange(6.0)) + jnp.sum(x**2)

    with jax.enable_x64(True):
        x = jnp.asarray(matrices("float64", (3, 6, 6)))
        expected = jax.vmap(jax.grad(jaxs))(x)
        np.testing.assert_allclose(jax.vmap(jax.grad(ours))(x), expected, atol=1e-9)
        np.testing.assert_allclose(jax.grad(lambda x: jax.vmap(ours)(x).sum())(x), expected, atol=1e-9)


def test_inverses_of_low_rank():
    x = matrices("float32", (7, 5)) @ np.diag([1, 1, 1, 0, 0]).astype("float32")
    found = inverse_by_svd(jnp.asarray(x), jnp.asarray(1e-5), of_default)
    np.testing.assert_allclose(found, np.linalg.pinv(x, rcond=1e-5), atol=1e-5)


@pytest.mark.thorough
def test_on_a_gpu_the_certified_form_is_taken(monkeypatch):
    """Traced as for a GPU, with algorithms that a CPU has: every function goes that way."""
    taken = []

    def on_cuda(*operands, cuda, default):
        taken.append(True)
        return cuda(*operands)

    monkeypatch.setattr(lax, "platform_dependent", on_cuda)

    def of_cpu(full_matrices):
        safe = functools.partial(lax.linalg.svd, full_matrices=full_matrices)
        return certified_svd(lambda x: tuple(part * jnp.nan for part in safe(x)), safe)

    monkeypatch.setattr(_singular, "_of_cuda", of_cpu)
    x = matrices("float32", (40, 36))
    functions = {
        "svd": (lambda x: abs(xp.linalg.svd(x).U), lambda x: abs(np.linalg.svd(x).U)),
        "reduced": (
            lambda x: abs(xp.linalg.svd(x, full_matrices=False).Vh),
            lambda x: abs(np.linalg.svd(x, full_matrices=False).Vh),
        ),
        "svdvals": (xp.linalg.svdvals, np.linalg.svdvals),
        "pinv": (xp.linalg.pinv, np.linalg.pinv),
        "matrix_rank": (xp.linalg.matrix_rank, np.linalg.matrix_rank),
        "norm 2": (lambda x: xp.linalg.matrix_norm(x, ord=2), lambda x: np.linalg.matrix_norm(x, ord=2)),
        "norm -2": (lambda x: xp.linalg.matrix_norm(x, ord=-2), lambda x: np.linalg.matrix_norm(x, ord=-2)),
        "nuc": (
            lambda x: xp.linalg.matrix_norm(x, ord="nuc", keepdims=True),
            lambda x: np.linalg.matrix_norm(x, ord="nuc", keepdims=True),
        ),
    }
    for name in ("pinv", "cond", "matrix_rank"):
        functions[f"numpy {name}"] = (
            lambda x, name=name: jnp.asarray(getattr(numpy.linalg, name)(numpy.asarray(x))),
            getattr(np.linalg, name),
        )
    functions["numpy lstsq"] = (
        lambda x: jnp.asarray(numpy.linalg.lstsq(numpy.asarray(x), numpy.asarray(x[:, 0] + x[:, 1]))[0]),
        lambda x: np.linalg.lstsq(x, x[:, 0] + x[:, 1])[0],
    )
    for name, (ours, numpys) in functions.items():
        taken.clear()
        found = np.asarray(jax.jit(ours)(x))
        expected = numpys(x)
        if name == "svd":  # the other vectors of U are any that are orthogonal to the first 36
            found = found[:, :36]
            expected = expected[:, :36]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-4, err_msg=name)
        assert taken, name


@pytest.mark.parametrize("rtol", [0.6, 0.4, None])
def test_the_rank_is_relative_to_the_largest_singular_value(rtol):
    x = np.diag([2.0, 1.0, 1e-9]).astype("float32")
    assert xp.linalg.matrix_rank(x, rtol=rtol) == np.linalg.matrix_rank(x, rtol=rtol)
    stack = np.stack([x, 3 * x])
    per_matrix = np.asarray([0.6, 0.4], "float32")
    np.testing.assert_array_equal(
        xp.linalg.matrix_rank(stack, rtol=per_matrix), np.linalg.matrix_rank(stack, rtol=per_matrix)
    )
