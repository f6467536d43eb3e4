"""Numbers times truth values: NaN, infinities and the sign of zero, of which XLA alone makes 0."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_same

import jaxapi
import jaxapi.numpy
from jaxapi import mutable
from jaxapi.mutable import _batches

X = np.array([np.nan, np.inf, -np.inf, -0.0, -2.0, 3.0])
B = np.array([False, False, False, False, False, True])

EVERYWHERE = """
np.multiply(x, b)
np.multiply(x, x > 0)
np.multiply(x[:, None], b)
np.multiply(x[3], b[3])
np.multiply(x, np.eye(6, dtype=x.dtype))
np.multiply(np.astype(b, x.dtype), x)
np.multiply(np.asarray(b, dtype=x.dtype), x)
np.matmul(x, b)
np.tensordot(x[:1], b[:1], axes=1)
np.vecdot(x, b)
np.prod(x, initial=b[0])
np.prod(np.stack([x, b]), axis=0)
""".strip().splitlines()

OURS = """
x * b
x * (x > 0)
b * x * b
x[3] * b[3]
b.astype(x.dtype) * x
x @ b
x[:1] @ b[:1]
np.dot(x, b)
np.outer(x, b)
""".strip().splitlines()

NUMPYS = """
x[:1].dot(b[:1])
np.inner(x[3:4], b[3:4])
np.kron(x, b)
np.average(x, weights=b)
np.average(x[3:], weights=b[3:])
np.cov(x[3:], aweights=b[3:] | (x[3:] < 0))
np.multiply.reduce(x, initial=b[0])
np.multiply.outer(x, b)
np.convolve(x[3:], b[3:])
np.tri(6, dtype=x.dtype) * x
np.gradient(x * b)
np.mean(b[:1], dtype=x.dtype) * x[:1]
np.apply_along_axis(lambda row: row * (row > 0), 0, x)
""".strip().splitlines()

STATEMENTS = {jaxapi: EVERYWHERE, mutable: EVERYWHERE + OURS[:-2], jaxapi.numpy: EVERYWHERE + OURS + NUMPYS}
FACES = pytest.mark.parametrize("face", STATEMENTS, ids=lambda face: face.__name__)
DTYPES = pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def program_of(face):
    code = compile(f"[{', '.join(STATEMENTS[face])}]", "statements", "eval")

    def program(np, x, b):
        return eval(code, {"np": np, "x": x, "b": b})

    return program


def assert_numpys(made, face, x):
    wanted = program_of(face)(np, x, B)
    for one, other, statement in zip(made, wanted, STATEMENTS[face], strict=True):
        tolerance = 1e-3 if x.dtype == np.float16 else 1e-6
        # a sum of one -0 is 0 where it begins with 0
        is_product = "multiply" in statement or "*" in statement
        assert_same(one, other, rtol=tolerance, dtype=False, signs=is_product)


@DTYPES
@FACES
def test_in_jit_and_fuse(face, dtype):
    x = X.astype(dtype)
    program = program_of(face)
    for compile_it in (jax.jit, face.fuse):
        made = compile_it(lambda x, b: program(face, x, b))(face.asarray(x), face.asarray(B))
        assert_numpys(made, face, x)


@pytest.mark.parametrize("face", [mutable, jaxapi.numpy], ids=lambda face: face.__name__)
def test_of_statements_that_wait(face):
    x = X.astype(np.float32)
    for _ in range(3):  # line by line, compiled as one, and that again
        with jaxapi.numpy.deferred():
            made = program_of(face)(face, face.asarray(x), face.asarray(B))
        assert_numpys(made, face, x)
    _batches.run_all()


@FACES
def test_at_once(face):
    x = X.astype(np.float32)
    assert_numpys(program_of(face)(face, face.asarray(x), face.asarray(B)), face, x)


@pytest.mark.parametrize("face", STATEMENTS, ids=lambda face: face.__name__)
def test_complex_numbers(face):
    x = ((1 + 1j) * X).astype(np.complex64)
    made = np.asarray(jax.jit(face.multiply)(face.asarray(x), face.asarray(B)))
    wanted = x * B
    assert_same(made.real, wanted.real, signs=True)
    assert_same(made.imag, wanted.imag, signs=True)


@FACES
def test_rows_of_vmap(face):
    rows = np.stack([X, X[::-1]]).astype(np.float32)
    made = jax.vmap(face.multiply, (0, None))(face.asarray(rows), face.asarray(B))
    assert_same(made, rows * B, signs=True)


def test_jaxs_operators_in_a_fused_function():
    x = X.astype(np.float32)
    assert_same(jaxapi.fuse(lambda x, b: x * b)(jnp.asarray(x), jnp.asarray(B)), x * B, signs=True)


@FACES
def test_slopes(face):
    x = np.array([-2.0, 0.5, 3.0, 1.5], np.float32)

    def total(x):
        x = face.asarray(x)
        kept = face.multiply(face.multiply(x, x), x > 0)
        whole = face.multiply(kept, face.astype(x > 1, x.dtype))
        return jnp.asarray(face.sum(kept)) + jnp.asarray(face.sum(whole))

    slopes = 2 * x * (x > 0) + 2 * x * (x > 1)
    np.testing.assert_allclose(jax.jit(jax.grad(total))(x), slopes)
    second = 2.0 * (x > 0) + 2.0 * (x > 1)
    np.testing.assert_allclose(jax.hessian(total)(x).sum(0), second)
    step = 1e-2 * np.eye(4, dtype=np.float32)
    differences = [(total(x + h) - total(x - h)) / 2e-2 for h in step]
    np.testing.assert_allclose(jax.grad(total)(x), differences, rtol=1e-3)
