"""linalg against NumPy: values, result types, errors, and the precision of the products."""

import functools

import jax
import numpy as np
import pytest

import jaxapi as xp
import jaxapi.numpy

DTYPES = ["float32", "float64", "complex64", "complex128"]
SYMMETRIC = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])
GENERAL = np.array([[2.0, 1.0, 0.0], [0.5, 3.0, 0.2], [0.1, 0.2, 1.0]])


def matrix(dtype, base=SYMMETRIC):
    x = base.astype(dtype)
    return x + 0.25j * (np.triu(base, 1) - np.triu(base, 1).T).astype(dtype) if dtype[0] == "c" else x


def close(out, expected, dtype):
    np.testing.assert_allclose(np.asarray(out), expected, rtol=0, atol=5e3 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
class TestValues:
    @pytest.mark.parametrize("name", ["cholesky", "inv", "pinv", "det", "eigvalsh"])
    def test_one_array(self, name, dtype, x64):
        x = matrix(dtype)
        out = getattr(xp.linalg, name)(xp.asarray(x))
        expected = getattr(np.linalg, name)(x)
        assert out.dtype == expected.dtype
        close(out, expected, dtype)

    def test_cholesky_upper(self, dtype):
        x = matrix(dtype)
        close(xp.linalg.cholesky(xp.asarray(x), upper=True), np.linalg.cholesky(x).conj().T, dtype)

    def test_decompositions(self, dtype):
        x = matrix(dtype)
        u, s, vh = (np.asarray(part) for part in xp.linalg.svd(xp.asarray(x)[:, :2], full_matrices=False))
        close(u * s @ vh, x[:, :2], dtype)
        assert [part.shape for part in xp.linalg.svd(xp.asarray(x)[:, :2])] == [(3, 3), (2,), (2, 2)]
        q, r = (np.asarray(part) for part in xp.linalg.qr(xp.asarray(x)))
        close(q @ r, x, dtype)
        assert xp.linalg.qr(xp.asarray(x)[:, :2], mode="complete").Q.shape == (3, 3)
        w, v = (np.asarray(part) for part in xp.linalg.eigh(xp.asarray(x)))
        close(v * w @ v.conj().T, x, dtype)
        close(xp.linalg.svdvals(xp.asarray(x)), np.linalg.svd(x, compute_uv=False), dtype)

    def test_eigenvalues(self, dtype):
        x = matrix(dtype, GENERAL)
        w, v = (np.asarray(part) for part in xp.linalg.eig(xp.asarray(x)))
        close(x @ v, v * w, dtype)
        close(np.sort_complex(xp.linalg.eigvals(xp.asarray(x))), np.sort_complex(np.linalg.eigvals(x)), dtype)

    def test_solve_and_slogdet(self, dtype):
        x = matrix(dtype, GENERAL)
        for y in (x[0], x[:, :2]):
            close(xp.linalg.solve(xp.asarray(x), xp.asarray(y)), np.linalg.solve(x, y), dtype)
        for out, expected in zip(xp.linalg.slogdet(xp.asarray(x)), np.linalg.slogdet(x), strict=True):
            close(out, expected, dtype)

    @pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
    def test_matrix_norm(self, ord, dtype):
        x = matrix(dtype, GENERAL)[:2]
        out = xp.linalg.matrix_norm(xp.asarray(x), ord=ord, keepdims=True)
        assert out.shape == (1, 1)
        close(out, np.linalg.norm(x, ord, (0, 1), True), dtype)

    @pytest.mark.parametrize("n", [-2, 0, 1, 3])
    def test_matrix_power(self, n, dtype):
        x = matrix(dtype, GENERAL)
        close(xp.linalg.matrix_power(xp.asarray(x), n), np.linalg.matrix_power(x, n), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_qr_of_large_and_small_elements(dtype, x64):
    """Squares of elements overflow or vanish; an element's absolute value may be too large, too."""
    rng = np.random.default_rng(3)
    matrix = rng.uniform(-1, 1, (2, 4, 3)) + (1j * rng.uniform(-1, 1, (2, 4, 3)) if dtype[0] == "c" else 0)
    info = np.finfo(dtype)
    least, most = float(info.tiny), float(info.max)
    for scale in (1, 2**60 * least, most**0.75, most / 8):
        q, r = (np.asarray(part) for part in xp.linalg.qr(xp.asarray((matrix * scale).astype(dtype))))
        np.testing.assert_allclose(q @ (r / scale), matrix, atol=20 * info.eps)
        np.testing.assert_array_equal(r, np.triu(r))
    unit = 1 + 1j if dtype[0] == "c" else 1
    for row in ([most, most / 2], [least, least], [0, 0], [np.nan, 1]):
        r = np.asarray(xp.linalg.qr(xp.asarray((np.asarray([row]) * unit).astype(dtype))).R)
        assert np.isnan(r).any() == np.isnan(row).any(), (row, r)


def test_rank_and_tolerance():
    x = np.diag([1.0, 1e-3, 1e-9, 0.0]).astype("float32")
    assert xp.linalg.matrix_rank(xp.asarray(x)).item() == 2
    assert xp.linalg.matrix_rank(xp.asarray(x), rtol=1e-2).item() == 1
    # The standard's default for pinv is max(m, n) eps = 4.8e-7, not ten times that.
    x = np.diag([1.0, 1e-6]).astype("float32")
    np.testing.assert_allclose(np.asarray(xp.linalg.pinv(xp.asarray(x))), np.diag([1, 1e6]), rtol=1e-5)
    np.testing.assert_array_equal(np.asarray(xp.linalg.pinv(xp.asarray(x), rtol=1e-3)), np.diag([1, 0]))
    tolerances = xp.asarray([1e-3, 1e-9], dtype=xp.float32)
    out = xp.linalg.pinv(xp.asarray(np.stack([x, x])), rtol=tolerances)
    np.testing.assert_allclose(np.asarray(out), np.stack([np.diag([1, 0]), np.diag([1, 1e6])]), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32"])
def test_integer_matrices_that_are_singular(dtype, x64):
    """Their singular values count as zero by the precision that they are computed in."""
    x = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], dtype)
    out = xp.linalg.pinv(xp.asarray(x))
    assert out.dtype == ("float64" if x64 or dtype == "int64" else "float32")
    np.testing.assert_allclose(out, np.linalg.pinv(x), atol=1e-5)
    assert xp.linalg.matrix_rank(xp.asarray(x)) == 2


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "eigh", "eig", "svd", "qr", "slogdet", "svdvals"])
def test_stacks_and_empty(name):
    x = np.stack([SYMMETRIC, 2 * SYMMETRIC])
    out = getattr(xp.linalg, name)(xp.asarray(x))
    parts = out if isinstance(out, tuple) else (out,)
    one = getattr(xp.linalg, name)(xp.asarray(x[1]))
    for stacked, single in zip(parts, one if isinstance(one, tuple) else (one,), strict=True):
        np.testing.assert_allclose(np.asarray(stacked)[1], np.asarray(single), atol=1e-5)
    out = getattr(xp.linalg, name)(xp.zeros((0, 3, 3)))
    assert (out[0] if isinstance(out, tuple) else out).shape[0] == 0


# every dtype with one order, and every order with some dtypes, for every pair compiles a program
@pytest.mark.parametrize(
    ("dtype", "ord"),
    [(dtype, 3) for dtype in ("int8", "uint32", "bool", "float64", "complex128")]
    + [(dtype, ord) for dtype in ("int64", "complex64") for ord in (0, 1, 2, 3, 0.5, -1, np.inf, -np.inf)],
)
def test_vector_norm(dtype, ord, x64):
    x = np.array([[3, 4, 1], [1, 2, 2]]).astype(dtype)
    out = xp.linalg.vector_norm(xp.asarray(x), axis=[-1], keepdims=True, ord=ord)
    expected = np.linalg.norm(x, ord=ord, axis=-1, keepdims=True)
    narrow = x.dtype.kind in "biu" and not x64 and x.dtype.itemsize < 8
    assert out.dtype == ("float32" if narrow else np.linalg.norm(x).dtype)
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-6)
    assert xp.linalg.vector_norm([3, 4]) == 5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_roots_of_norms_are_rounded_once(dtype):
    """Of integers whose squares add up exactly; also where a program divides by the norm or squares it."""
    parts = np.random.default_rng(60).integers(-100, 100, (6, 500, 2, 3)).astype(dtype)

    def norms(parts, of_rows, of_matrices, divide):
        rows = parts.reshape(6, 500, 6)
        return [
            of_rows(rows[0]),
            of_matrices(parts[1]),
            of_rows(rows[2]) * of_rows(rows[2]),
            of_matrices(parts[3]) * of_matrices(parts[3]),
            divide(1, of_rows(rows[4])),
            divide(1, of_matrices(parts[5])),
        ]

    of_rows = functools.partial(xp.linalg.vector_norm, axis=1)
    with jax.enable_x64(dtype == "float64"):
        expected = norms(
            parts,
            lambda x: np.sqrt(np.sum(x * x, axis=1)),
            lambda x: np.sqrt(np.sum(x * x, axis=(1, 2))),
            np.divide,
        )
        program = jax.jit(lambda parts: norms(parts, of_rows, xp.linalg.matrix_norm, xp.divide))
        for out, wanted in zip(program(parts), expected, strict=True):
            np.testing.assert_array_equal(np.asarray(out), wanted)
        np.testing.assert_array_equal(np.asarray(of_rows(parts[0].reshape(500, 6))), expected[0])
        np.testing.assert_array_equal(np.asarray(xp.linalg.matrix_norm(parts[1])), expected[1])


@pytest.mark.parametrize("shape", [(4, 0, 3), (4, 3, 0), (0, 3, 3), (0, 3)])
def test_rank_of_matrices_without_elements(shape):
    out = xp.linalg.matrix_rank(np.zeros(shape))
    assert out.dtype == xp.asarray(1).dtype
    np.testing.assert_array_equal(out, np.zeros(shape[:-2]))


class TestErrors:
    @pytest.mark.parametrize("name", ["pinv", "qr", "svd", "svdvals", "matrix_rank", "matrix_norm"])
    def test_not_a_matrix(self, name):
        with pytest.raises(np.linalg.LinAlgError, match=r"matrices.*\(2,\)"):
            getattr(xp.linalg, name)([1.0, 2.0])

    @pytest.mark.parametrize("shape", [(), (3,), (3, 2), (1, 2), (2, 3, 1)])
    def test_a_right_side_that_does_not_fit(self, shape):
        with pytest.raises(ValueError, match=r"x2 must have shape \(2,\) or \(..., 2, k\)"):
            xp.linalg.solve(xp.eye(2), xp.ones(shape))

    @pytest.mark.parametrize("name", ["cholesky", "inv", "det", "eigh", "eig", "slogdet", "eigvals", "solve"])
    def test_not_square(self, name):
        with pytest.raises(np.linalg.LinAlgError, match=r"square.*\(2, 3\)"):
            getattr(xp.linalg, name)(xp.ones((2, 3)), *[xp.ones(2)] * (name == "solve"))

    def test_options(self):
        with pytest.raises(ValueError, match="mode must be"):
            xp.linalg.qr(xp.ones((2, 2)), mode="r")
        with pytest.raises(ValueError, match=r"order|ord"):
            xp.linalg.matrix_norm(xp.ones((2, 2)), ord=7)
        with pytest.raises(TypeError):
            xp.linalg.matrix_power(xp.ones((2, 2)), 0.5)


class TestVectors:
    def test_cross(self):
        x, y = np.array([[1, 2, 3], [4, 5, 6]]), np.array([7, 8, 9])
        np.testing.assert_array_equal(
            np.asarray(xp.linalg.cross(xp.asarray(x), xp.asarray(y))), np.cross(x, y)
        )
        with pytest.raises(ValueError, match="3"):
            xp.linalg.cross(xp.ones(2), xp.ones(2))
        with pytest.raises(np.exceptions.AxisError):
            xp.linalg.cross(xp.ones((3, 3)), xp.ones(3), axis=-2)

    def test_outer(self):
        x, y = np.arange(3.0), np.arange(2.0) + 1
        np.testing.assert_array_equal(
            np.asarray(xp.linalg.outer(xp.asarray(x), xp.asarray(y))), np.outer(x, y)
        )
        with pytest.raises(ValueError, match="one-dimensional"):
            xp.linalg.outer(xp.ones((2, 2)), xp.ones(2))

    @pytest.mark.parametrize("name", ["outer", "cross", "matmul", "tensordot", "vecdot"])
    def test_mixed_signedness(self, name, x64):
        options = {"axes": 1} if name == "tensordot" else {}
        ours = functools.partial(getattr(xp.linalg, name), **options)
        numpys = {"outer": np.outer, "cross": np.cross}.get(name, np.dot)
        y = np.array([-1, 2, 3], "int32")
        for unsigned, promoted in (("uint32", "int64"), ("uint64", "float64")):
            x = np.array([2**32 - 1, 5, 7], unsigned)
            expected = numpys(x.astype(promoted), y.astype(promoted))
            for function in (ours, jax.jit(ours)):
                out = function(xp.asarray(x), xp.asarray(y))
                assert out.dtype == promoted
                np.testing.assert_array_equal(np.asarray(out), expected)

    @pytest.mark.parametrize("name", ["outer", "cross", "matmul", "tensordot", "vecdot"])
    def test_64_bit_arrays_need_no_permission(self, name):
        x, y = (xp.asarray(np.array(numbers)) for numbers in ([2**40, 5, 7], [3, 2, 1]))
        y = xp.asarray(y, dtype=xp.int32)
        options = {"axes": 1} if name == "tensordot" else {}
        explicit = jax.config.jax_explicit_x64_dtypes
        with jax.enable_x64(False):
            jax.config.update("jax_explicit_x64_dtypes", "error")
            try:
                out = getattr(xp.linalg, name)(x, y, **options)
            finally:
                jax.config.update("jax_explicit_x64_dtypes", explicit)
        expected = {"outer": np.outer, "cross": np.cross}.get(name, np.dot)(np.asarray(x), np.asarray(y))
        assert out.dtype == "int64"
        np.testing.assert_array_equal(np.asarray(out), expected)


def precisions(function, *arrays):
    """Return the precisions of the products in a function's compiler input."""
    text = jax.jit(function).lower(*arrays).as_text()
    return [line.partition("precision = ")[2] for line in text.splitlines() if "dot_general" in line]


@pytest.mark.parametrize("name", ["matrix_power", "pinv", "inv"])
def test_products_ask_for_full_precision(name):
    x = xp.ones((4, 4), dtype=xp.float32)
    args = (3,) if name == "matrix_power" else ()

    def call(x):
        return getattr(xp.linalg, name)(x, *args)

    found = precisions(call, x)
    assert all(text.startswith("[HIGHEST, HIGHEST]") for text in found)
    assert found or name == "inv"  # an inverse has none
    if name == "matrix_power":
        with jax.default_matmul_precision("default"):
            assert all(text.startswith("[DEFAULT, DEFAULT]") or not text for text in precisions(call, x))


@pytest.mark.parametrize("name", ["eig", "eigh", "eigvals", "eigvalsh", "pinv", "svd", "svdvals"])
@pytest.mark.parametrize("size", [3, 40])
def test_results_of_a_matrix_that_is_not_finite_are_nan(name, size):
    """cuSOLVER has numbers for some of them. Other matrices of a stack are not touched."""
    rng = np.random.default_rng(size)
    x = rng.normal(size=(3, size, size)).astype(np.float32)
    x = x @ x.swapaxes(1, 2) + size * np.eye(size, dtype=np.float32)
    function = getattr(xp.linalg, name)
    of_finite = jax.tree.leaves(function(xp.asarray(x)))
    x[0, 0, 1] = x[0, 1, 0] = np.nan
    x[2, 1, 1] = np.inf
    for found, expected in zip(jax.tree.leaves(function(xp.asarray(x))), of_finite, strict=True):
        assert np.isnan(np.asarray(found)[[0, 2]]).all()
        np.testing.assert_allclose(np.asarray(found)[1], np.asarray(expected)[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["eigh", "eigvalsh"])
def test_nan_in_the_triangle_that_numpy_does_not_read(name):
    x = matrix("float32")
    above, below = x.copy(), x.copy()
    above[0, 2] = below[2, 0] = np.nan
    function = getattr(jaxapi.numpy.linalg, name)
    numpys = getattr(np.linalg, name)
    for hosts, uplo in ((above, "L"), (below, "U")):
        found = jax.tree.leaves(function(jaxapi.numpy.asarray(xp.asarray(hosts)), UPLO=uplo))[0]
        close(found, jax.tree.leaves(numpys(hosts, UPLO=uplo))[0], "float32")


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_derivatives_of_eigenvalues_of_one_triangle(uplo):
    x = SYMMETRIC.copy()

    def lowest(a):
        return jax.numpy.asarray(jaxapi.numpy.linalg.eigvalsh(a, UPLO=uplo)[0])

    value, gradient = jax.value_and_grad(lowest)(xp.asarray(x))
    w, v = np.linalg.eigh(x)
    np.testing.assert_allclose(value, w[0], rtol=1e-5)
    np.testing.assert_allclose(gradient, np.outer(v[:, 0], v[:, 0]), atol=1e-5)


@pytest.mark.daily
@pytest.mark.parametrize("name", ["eigvalsh", "pinv", "svdvals"])
def test_derivatives_of_a_matrix_that_is_not_finite_are_nan(name):
    """As those of jax.numpy; of the other matrices of a stack they are what they are without it."""
    x = np.stack([SYMMETRIC, np.full((3, 3), np.nan), np.diag([1.0, 2, 4])]).astype(np.float32)

    def total(x, namespace):
        return getattr(namespace, name)(x).sum()

    found = jax.grad(total)(xp.asarray(x), xp.linalg)
    expected = jax.grad(total)(xp.asarray(x[::2]), jax.numpy.linalg)
    assert np.isnan(found[1]).all()
    np.testing.assert_allclose(found[::2], expected, rtol=1e-4, atol=1e-5)


def test_zeros_of_determinants_have_no_sign(x64):
    """NumPy's determinant of a matrix without an inverse is 0."""
    for x in ([[-0.0]], [[1.0, 2], [2, 4]], [[-1.0, 2], [-1, 2]], [[-0.0] * 3] * 3):
        assert not np.signbit(np.asarray(xp.linalg.det(np.float32(x))))
        assert not np.signbit(np.linalg.det(np.float32(x)))
