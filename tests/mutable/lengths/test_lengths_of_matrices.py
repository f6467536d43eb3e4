"""Matrices and stacks of them with room: NumPy says what counts."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_mutable
from compilations import no_compilation
from rooms import NAMESPACES, has_room

import jaxapi.numpy
from jaxapi import mutable
from jaxapi.mutable import Array

COUNTS = 17, 33, 70, 101
# Both namespaces run the same programs: one has its turn with complex numbers, one with 64 bits and integers.
OF_DTYPES = pytest.mark.parametrize(
    ("xp", "dtype"),
    [
        (mutable, "float32"),
        (mutable, "complex64"),
        (jaxapi.numpy, "float32"),
        (jaxapi.numpy, "float64"),
    ],
    ids=["mutable", "mutable-complex64", "numpy", "numpy-float64"],
)


def numbers(shape, dtype="float32"):
    rng = np.random.default_rng(shape[0])
    found = rng.normal(size=shape) * 3
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.normal(size=shape)
    return found.astype(dtype)


def stack_of(count, dtype="float32", size=3):
    """Return positive definite matrices, far from singular."""
    x = numbers((count, size, size), dtype)
    product = x @ np.conj(np.swapaxes(x, 1, 2)) + 9 * np.eye(size)
    return product.astype(dtype)


def as_parts(result):
    return result if isinstance(result, tuple) else (result,)


def assert_as_exact(found, of_exact):
    """Whether a result is, in all but its room, that of the exact array."""
    assert type(found) is type(of_exact)
    for part, exact_part in zip(as_parts(found), as_parts(of_exact), strict=True):
        assert type(part) is type(exact_part)
        if isinstance(part, Array):
            assert part.dtype == exact_part.dtype
            assert part.shape == exact_part.shape
            assert part._is_scalar == exact_part._is_scalar
            assert part._module == exact_part._module


def exactly(xp, host):
    """Return an array without room."""
    with jax.enable_x64(True):
        value = jnp.asarray(host)
    x = xp.asarray(value)
    assert x._buffer is None
    return x


OF_STACKS = {
    "cond": {},
    "det": {},
    "diagonal": {"offset": 1},
    "eigvalsh": {},
    "inv": {},
    "matrix_norm": {"keepdims": True},
    "matrix_power": {},
    "matrix_rank": {},
    "pinv": {},
    "slogdet": {},
    "svdvals": {},
    "trace": {},
}


@pytest.mark.thorough
@pytest.mark.daily("poisoned-mutable-complex64", "poisoned-numpy-float64")
@OF_DTYPES
def test_functions_of_stacks(xp, dtype):
    for count in COUNTS if dtype == "float32" else (70,):
        host = stack_of(count, dtype)
        x = xp.asarray(host)
        assert has_room(x)
        for name, options in OF_STACKS.items():
            if not hasattr(xp.linalg, name):
                continue
            args = (2,) if name == "matrix_power" else ()
            found = getattr(xp.linalg, name)(x, *args, **options)
            expected = getattr(np.linalg, name)(host, *args, **options)
            for part, of_numpy in zip(as_parts(found), as_parts(expected), strict=True):
                assert has_room(part)
                assert_mutable(part, of_numpy, 1e-3 * max(1, abs(of_numpy).max()))
            if count == 70:
                assert_as_exact(found, getattr(xp.linalg, name)(exactly(xp, host), *args, **options))


@pytest.mark.thorough
@pytest.mark.daily("poisoned-mutable-complex64")
@OF_DTYPES
def test_decompositions_of_stacks(xp, dtype):
    for count in (70, 81):
        host = stack_of(count, dtype)
        x = xp.asarray(host)
        factor = xp.linalg.cholesky(x)
        assert has_room(factor)
        assert_mutable(factor, np.linalg.cholesky(host))
        values, vectors = xp.linalg.eigh(x)
        assert has_room(values)
        assert_mutable(values, np.linalg.eigvalsh(host), 1e-3)
        assert_mutable((vectors * values[:, None, :]) @ xp.conj(vectors).mT, host, 1e-3)
        for shape in ((count, 4, 2), (count, 2, 4)):
            of_others = numbers(shape, dtype)
            y = xp.asarray(of_others)
            u, s, vh = xp.linalg.svd(y, full_matrices=False)
            assert has_room(u)
            assert_mutable(s, np.linalg.svdvals(of_others), 1e-3)
            assert_mutable((u * s[:, None, :]) @ vh, of_others, 1e-3)
            q, r = xp.linalg.qr(y)
            assert has_room(q)
            assert_mutable(q @ r, of_others, 1e-3)
            assert_mutable(xp.linalg.pinv(y), np.linalg.pinv(of_others), 1e-3)
        full = xp.linalg.svd(y)
        assert has_room(full[2])
        assert full[2].shape == (count, 4, 4)


@pytest.mark.thorough
@pytest.mark.daily("poisoned-mutable")
@NAMESPACES
def test_matrices_that_are_singular_or_not_finite(xp):
    """Rows stay apart: what one holds changes no other."""
    for count in COUNTS:
        host = stack_of(count)
        host[3] = np.nan
        host[5, 0, 1] = np.inf
        host[7] = 0
        x = xp.asarray(host)
        regular = [i for i in range(count) if i not in (3, 5, 7)]
        for name in ("inv", "det", "pinv", "svdvals", "eigvalsh"):
            found = np.asarray(getattr(xp.linalg, name)(x))
            expected = getattr(np.linalg, name)(host[regular])
            np.testing.assert_allclose(found[regular], expected, rtol=2e-3, atol=2e-3)
            assert np.isnan(found[3]).all()
        of_exact = xp.linalg.inv(exactly(xp, host))
        np.testing.assert_array_equal(np.isnan(np.asarray(xp.linalg.inv(x))), np.isnan(np.asarray(of_exact)))
        assert np.asarray(xp.linalg.matrix_rank(x))[7] == 0


@pytest.mark.daily
@NAMESPACES
def test_systems(xp):
    for count in COUNTS:
        host = stack_of(count)
        right = numbers((count, 3, 2))
        x = xp.asarray(host)
        y = xp.asarray(right)
        for found, expected in (
            (xp.linalg.solve(x, y), np.linalg.solve(host, right)),
            (x @ y, host @ right),
        ):
            assert has_room(found)
            assert_mutable(found, expected, 1e-3)


@pytest.mark.daily
@NAMESPACES
def test_systems_of_other_operands(xp):
    host = stack_of(70)
    right = numbers((70, 3, 2))
    matrix = stack_of(1)[0]
    x = xp.asarray(host)
    y = xp.asarray(right)
    for found, expected in (
        (xp.linalg.solve(x, right), np.linalg.solve(host, right)),
        (xp.linalg.solve(xp.asarray(matrix), y), np.linalg.solve(matrix, right)),
        (xp.linalg.solve(x, xp.asarray(matrix)), np.linalg.solve(host, matrix)),
        (xp.linalg.solve(x, xp.asarray(matrix[0])), np.linalg.solve(host, matrix[0])),
        (xp.linalg.solve(x, y[0][None]), np.linalg.solve(host, right[:1])),
        (x @ right, host @ right),
        (xp.matmul(xp.asarray(matrix), y), matrix @ right),
        (matrix[0] @ y, matrix[0] @ right),
        (y.mT @ x, right.transpose(0, 2, 1) @ host),
        (xp.linalg.matmul(x, x[:1]), host @ host[:1]),
    ):
        assert has_room(found)
        assert_mutable(found, expected, 1e-3)


@NAMESPACES
def test_stacks_that_do_not_fit(xp):
    x = xp.asarray(stack_of(70))
    for wrong in (
        lambda: xp.linalg.solve(x, xp.asarray(numbers((66, 3, 2)))),
        lambda: xp.linalg.solve(x, xp.asarray(numbers((96, 3, 2)))),  # as many rows as the buffer has
        lambda: xp.linalg.solve(x, numbers((96, 3, 2))),
        lambda: xp.linalg.solve(x, xp.asarray(numbers((70, 4, 2)))),
        lambda: x @ xp.asarray(numbers((66, 3, 2))),
        lambda: x @ numbers((96, 3, 2)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 (each with its own words)
            wrong()
    with pytest.raises((TypeError, ValueError)):  # as of exact arrays
        xp.linalg.cross(x, xp.asarray(numbers((66, 3, 3))))
    for name in ("inv", "det", "cholesky", "eigh"):
        with pytest.raises(np.linalg.LinAlgError):
            getattr(xp.linalg, name)(xp.asarray(numbers((70, 3, 2))))
    with pytest.raises(ValueError, match="ord"):
        xp.linalg.matrix_norm(x, ord="fast")
    with pytest.raises(TypeError):
        xp.linalg.matrix_power(x, 0.5)
    with pytest.raises(TypeError):
        xp.linalg.inv(x, axis=0)


@NAMESPACES
def test_results_have_memory_of_their_own(xp):
    host = stack_of(70)
    x = xp.asarray(host)
    for result in (xp.linalg.matrix_power(x, 1), xp.linalg.diagonal(x), xp.linalg.pinv(x)):
        if not result._is_read_only:
            result[...] = 7
    assert_mutable(x, host)


@pytest.mark.thorough
@pytest.mark.daily("as it comes-numpy")
@NAMESPACES
def test_vectors(xp):
    for count in COUNTS:
        host, other = numbers((count, 3)), numbers((count, 3), "float64")
        short = numbers((3,))
        x, y = xp.asarray(host), xp.asarray(other)
        found = xp.linalg.cross(x, y)
        assert has_room(found)
        assert_mutable(found, np.linalg.cross(host, other), 1e-3)
        assert_mutable(xp.linalg.cross(x, xp.asarray(short[None])), np.linalg.cross(host, short[None]), 1e-3)
        columns = numbers((3, count))
        assert_mutable(
            xp.linalg.cross(xp.asarray(columns), xp.asarray(columns[::-1].copy()), axis=0),
            np.linalg.cross(columns, columns[::-1], axis=0),
            1e-3,
        )
        found = xp.linalg.outer(x[:, 0], xp.asarray(short))
        assert has_room(found)
        assert_mutable(found, np.outer(host[:, 0], short))
        assert_mutable(xp.linalg.outer(x[:, 0], x[:, 1]), np.outer(host[:, 0], host[:, 1]))
        assert_mutable(xp.linalg.outer(x[:, 0], numbers((count,))), np.outer(host[:, 0], numbers((count,))))
        assert_mutable(xp.linalg.outer(xp.asarray(short), x[:, 0]), np.outer(short, host[:, 0]))
    square = numbers((20, 3, 3))
    for axis in (0, 1, 2, -3):
        of_axis = numbers((3, 3, 3)) if axis in (0, -3) else square
        x = xp.asarray(of_axis)
        assert_mutable(
            xp.linalg.cross(x, x[:, ::-1], axis=axis),
            np.linalg.cross(of_axis, of_axis[:, ::-1], axis=axis),
            1e-3,
        )


@pytest.mark.parametrize("name", ["cross", "outer", "trace", "diagonal"])
def test_functions_of_other_axes(name):
    """Those of NumPy, which are no functions of stacks."""
    xp = jaxapi.numpy
    host = numbers((70, 3, 3))
    x = xp.asarray(host)
    function, of_numpy = getattr(xp, name), getattr(np, name)
    if name in ("trace", "diagonal"):
        assert_mutable(function(x), of_numpy(host))
        assert_mutable(function(x, 1, 1, 2), of_numpy(host, 1, 1, 2))
    elif name == "outer":
        assert_mutable(function(x, host[0]), of_numpy(host, host[0]))
        assert has_room(function(x[:, 0, 0], host[0, 0]))
    else:
        assert_mutable(function(x, x[::-1]), of_numpy(host, host[::-1]), 1e-3)
        assert_mutable(function(x, x[::-1], axisc=0), of_numpy(host, host[::-1], axisc=0), 1e-3)
        assert_mutable(function(x, x[::-1], 1, 1, 1), of_numpy(host, host[::-1], 1, 1, 1), 1e-3)


@pytest.mark.thorough
@pytest.mark.daily("poisoned-numpy-float64")
@OF_DTYPES
def test_matrices_of_rows(xp, dtype):
    for count in COUNTS if dtype == "float32" else (70,):
        host = numbers((count, 3), dtype)
        x = xp.asarray(host)
        inverse = xp.linalg.pinv(x)
        assert_mutable(inverse, np.linalg.pinv(host))
        assert_mutable(inverse @ x, np.eye(3, dtype=host.dtype), 1e-3)
        exact = exactly(xp, host)
        orders = ("fro", "nuc", 1, 2, np.inf, -1, -2, -np.inf) if count == 70 else ("fro", "nuc")
        for order in orders:
            for options in (
                ({"ord": order}, {"ord": order, "keepdims": True}) if count == 70 else ({"ord": order},)
            ):
                found = xp.linalg.matrix_norm(x, **options)
                assert_mutable(found, np.linalg.matrix_norm(host, **options))
                if count == 70:
                    assert_as_exact(found, xp.linalg.matrix_norm(exact, **options))
        rank = xp.linalg.matrix_rank(x)
        assert rank == 3
        if count == 70:
            assert_as_exact(rank, xp.linalg.matrix_rank(exact))
        lower = host.copy()
        lower[:, 2] = lower[:, 0] - lower[:, 1]
        assert xp.linalg.matrix_rank(xp.asarray(lower)) == 2
        assert_mutable(xp.linalg.pinv(xp.asarray(lower)), np.linalg.pinv(lower, rtol=1e-5), 1e-3)
        if xp is jaxapi.numpy:
            for order in ("fro", "nuc"):
                assert_mutable(xp.linalg.norm(x, order), np.linalg.norm(host, order))
            for order in (None, 2, -2) if count == 70 else (None,):
                assert_mutable(xp.linalg.cond(x, order), np.linalg.cond(host, order))
            host[4, 1] = np.nan
            assert np.isnan(np.asarray(xp.linalg.norm(xp.asarray(host), "fro")))
    wide = numbers((20, 40))
    x = xp.asarray(wide)
    for order in ("fro", "nuc", 1, 2, np.inf):
        assert_mutable(xp.linalg.matrix_norm(x, ord=order), np.linalg.matrix_norm(wide, ord=order))
    assert xp.linalg.matrix_rank(x) == 20
    assert_mutable(xp.linalg.pinv(x), np.linalg.pinv(wide))
    with pytest.raises(TypeError):
        xp.linalg.matrix_rank(x, 1, 2, 3, 4)


@pytest.mark.thorough
@pytest.mark.daily("poisoned-float64")
@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64"])
def test_least_squares(dtype):
    xp = jaxapi.numpy
    for count in COUNTS if dtype == "float32" else (70,):
        host = numbers((count, 3), dtype)
        lower = host.copy()
        lower[:, 2] = lower[:, 0]
        for table, right in (
            (host, numbers((count,), dtype)),
            (host, numbers((count, 2), dtype)),
            (lower, numbers((count,), dtype)),
        ):
            for rcond in (None, 1e-3) if count == 70 and table is host else (1e-4,):
                found = xp.linalg.lstsq(xp.asarray(table), xp.asarray(right), rcond=rcond)
                expected = np.linalg.lstsq(table, right, rcond=rcond)
                for part, of_numpy in zip(found, expected, strict=True):
                    assert_mutable(part, of_numpy, 2e-3)
        if count == 70:
            exact = xp.linalg.lstsq(exactly(xp, host), exactly(xp, right))
            assert_as_exact(xp.linalg.lstsq(xp.asarray(host), xp.asarray(right)), exact)
    square = numbers((20, 20), dtype)
    right = numbers((20,), dtype)
    found = xp.linalg.lstsq(xp.asarray(square), xp.asarray(right))
    assert_mutable(found[1], np.linalg.lstsq(square, right)[1])
    with pytest.raises(TypeError):
        xp.linalg.lstsq(xp.asarray(numbers((70, 3))), xp.asarray(numbers((70,))), 1e-3, rcond=1e-3)
    for wrong in (numbers((66,)), numbers((96,)), numbers((70, 2, 2))):
        with pytest.raises(np.linalg.LinAlgError):
            xp.linalg.lstsq(xp.asarray(numbers((70, 3))), xp.asarray(wrong))


EINSUMS = {
    "ij,ij->i": ("rows", "rows"),
    "ij,jk->ik": ("rows", "small"),
    "jk,ij->ik": ("small", "rows"),
    "ij,ik->jk": ("rows", "rows"),
    "ij,ij->": ("rows", "rows"),
    "i,i->": ("vector", "vector"),
    "i,ij->j": ("vector", "rows"),
    "i,ij->ij": ("vector", "rows"),
    "ij->j": ("rows",),
    "ij->i": ("rows",),
    "ij->ji": ("rows",),
    "ij,j->j": ("rows", "short"),
    "ij,jk->k": ("rows", "small"),
    "ij,jk,i->ik": ("rows", "small", "vector"),
    "i,j->ij": ("vector", "vector"),
    "ij,kj->ik": ("rows", "rows"),
    "i j, j k -> i k": ("rows", "small"),
    "ij,jk": ("rows", "small"),
    "...j,jk->...k": ("rows", "small"),
}
KEEPING_ROWS = ["ij,ij->i", "ij,jk->ik", "jk,ij->ik", "i,ij->ij", "i j, j k -> i k"]


@pytest.mark.daily
@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_sums_of_einstein(dtype):
    xp = jaxapi.numpy
    for count in (17, 33, 70) if dtype == "float32" else (70,):
        hosts = {
            "rows": numbers((count, 3), dtype),
            "short": numbers((3,), dtype),
            "small": numbers((3, 2), dtype),
            "vector": numbers((count,), dtype),
        }
        for subscripts, names in EINSUMS.items():
            of_numpy = [hosts[name] for name in names]
            found = xp.einsum(subscripts, *map(xp.asarray, of_numpy))
            expected = np.einsum(subscripts, *of_numpy)
            assert_mutable(found, expected, 1e-3)
            assert found.dtype == expected.dtype
            assert found._is_scalar == (expected.ndim == 0)
            assert has_room(found) or subscripts not in KEEPING_ROWS
        exact = jnp.asarray(hosts["vector"])
        assert_mutable(
            xp.einsum("ij,i->j", xp.asarray(hosts["rows"]), exact),
            np.einsum("ij,i->j", hosts["rows"], hosts["vector"]),
            1e-3,
        )
    x = xp.asarray(numbers((70, 3)))
    many = xp.asarray(numbers((20, 5)))  # has room, too
    assert_mutable(
        xp.einsum("ij,jk->ik", xp.asarray(numbers((70, 20))), many),
        numbers((70, 20)) @ numbers((20, 5)),
        1e-3,
    )
    out = xp.zeros(70, dtype="float32")
    assert xp.einsum("ij,ij->i", x, x, out=out) is out
    assert_mutable(out, np.einsum("ij,ij->i", numbers((70, 3)), numbers((70, 3))), 1e-3)
    for wrong in (
        lambda: xp.einsum("ij,ij->i", x, xp.asarray(numbers((66, 3)))),
        lambda: xp.einsum("ij,ij->i", x, numbers((96, 3))),
        lambda: xp.einsum("ij,jk->ik", x, numbers((4, 2))),
        lambda: xp.einsum("i->", x),
        lambda: xp.einsum("ij,ij->z", x, x),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 (each with its own words)
            wrong()


def test_sums_of_rows_that_are_not_finite():
    xp = jaxapi.numpy
    host = numbers((70, 3))
    host[4] = np.nan, np.inf, -np.inf
    x = xp.asarray(host)
    infinite = np.asarray([np.inf, 1, -np.inf], "float32")
    above = abs(numbers((70, 3)))
    found = xp.einsum("ij,j->j", xp.asarray(above), xp.asarray(infinite))
    assert_mutable(found, np.einsum("ij,j->j", above, infinite))
    found = xp.einsum("ij->ij", x)
    found[0, 0] = 8  # it is a view, as NumPy's
    assert x[0, 0] == 8
    host[0, 0] = 8
    with np.errstate(invalid="ignore"):
        assert_mutable(xp.einsum("ij,ik->jk", x, x), np.einsum("ij,ik->jk", host, host))
        assert_mutable(xp.inner(x[:, 1], x[:, 1]), np.inner(host[:, 1], host[:, 1]))
        assert_mutable(xp.cov(x, rowvar=False), np.cov(host, rowvar=False))


def test_inner_products():
    xp = jaxapi.numpy
    for count in COUNTS:
        host, small = numbers((count, 3)), numbers((5, 3))
        x = xp.asarray(host)
        found = xp.inner(x[:, 0], x[:, 1])
        assert_mutable(found, np.inner(host[:, 0], host[:, 1]), 1e-3)
        assert found._is_scalar
        for other in (small, small[0]):
            found = xp.inner(x, xp.asarray(other))
            assert has_room(found)
            assert_mutable(found, np.inner(host, other), 1e-3)
        assert_mutable(xp.inner(x, x), np.inner(host, host), 1e-3)
        assert_mutable(xp.inner(x[:, 0], 2), np.inner(host[:, 0], 2))
    for wrong in (numbers((66,)), numbers((96,))):
        with pytest.raises(ValueError):  # noqa: PT011
            xp.inner(xp.asarray(numbers((70,))), xp.asarray(wrong))


@pytest.mark.thorough
@pytest.mark.daily("poisoned-complex64")
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32"])
def test_covariances(dtype):
    xp = jaxapi.numpy
    for count in COUNTS if dtype == "float32" else (70,):
        host = numbers((count, 3), dtype) + np.asarray(5, dtype)
        x, exact = xp.asarray(host), exactly(xp, host)
        for options in ({}, {"bias": True}, {"ddof": 2}) if count == 70 else ({},):
            found = xp.cov(x, rowvar=False, **options)
            assert_mutable(found, np.cov(host, rowvar=False, **options))
            if count == 70:
                assert_as_exact(found, xp.cov(exact, rowvar=False, **options))
            assert_mutable(xp.cov(x.T, **options), np.cov(host.T, **options))
            assert_mutable(xp.cov(x[:, 0], **options), np.cov(host[:, 0], **options))
            if not options:
                assert xp.cov(x[:, 0])._is_scalar == xp.cov(exactly(xp, host[:, 0]))._is_scalar
            assert_mutable(xp.cov(x[:, 0], x[:, 1], **options), np.cov(host[:, 0], host[:, 1], **options))
    if dtype == "float32":
        host = numbers((20, 30))
        assert_mutable(xp.cov(xp.asarray(host)), np.cov(host), 1e-3)
        weights = np.arange(20)
        assert_mutable(xp.cov(xp.asarray(host).T, fweights=weights), np.cov(host.T, fweights=weights), 1e-3)
        for ddof in (20, 25):  # no degree of freedom is left
            found = np.asarray(xp.cov(xp.asarray(host).T, ddof=ddof))
            of_exact = np.asarray(xp.cov(exactly(xp, host.T.copy()), ddof=ddof))
            np.testing.assert_array_equal(np.isfinite(found), np.isfinite(of_exact))
        with pytest.raises(ValueError, match="ddof"):
            xp.cov(xp.asarray(host).T, ddof=0.5)


@pytest.mark.thorough
@pytest.mark.daily("poisoned-jaxapi.numpy-float64")
@pytest.mark.parametrize(
    ("xp", "dtype"),
    [(mutable, "float32"), (mutable, "uint8"), (jaxapi.numpy, "float64"), (jaxapi.numpy, "int32")],
)
def test_differences(xp, dtype):
    for count in COUNTS if dtype in ("float32", "float64") else (70,):
        host = abs(numbers((count, 3), "float32")).astype(dtype)
        x = xp.asarray(host)
        for n in (1, 2, 3):
            assert_mutable(xp.diff(x, n=n, axis=0), np.diff(host, n=n, axis=0))
            assert_mutable(xp.diff(x[:, 0], n=n), np.diff(host[:, 0], n=n))
        for n in (1, 2, 3, 4):
            assert_mutable(xp.diff(x, n=n, axis=1), np.diff(host, n=n, axis=1))
        assert_mutable(xp.diff(x), np.diff(host))
        assert_mutable(xp.diff(x, n=0), host)
        if count == 70:
            assert has_room(xp.diff(x, axis=0))
            assert has_room(xp.diff(x, axis=1))
            assert xp.diff(x, n=55, axis=0).shape == (15, 3)
    with pytest.raises(ValueError, match="n"):
        xp.diff(x, n=-1)
    with pytest.raises((ValueError, IndexError)):
        xp.diff(x, axis=2)


@NAMESPACES
def test_new_lengths_compile_no_operators_of_transposes(xp):
    for count in (70, 66, 81):
        host = numbers((count, 3))
        x = xp.asarray(host)
        with contextlib.nullcontext() if count == 70 else no_compilation():
            found = x.T * 2 + x[:, 0], 3 - x.T
        assert_mutable(found[0], host.T * 2 + host[:, 0], 1e-6)
        assert_mutable(found[1], 3 - host.T, 1e-6)


@NAMESPACES
def test_transposes(xp):
    for count in COUNTS:
        host = numbers((count, 3))
        x = xp.asarray(host)
        for name in ("exp", "abs", "isnan", "negative"):
            found = getattr(xp, name)(x.T)
            assert_mutable(found, getattr(np, name)(host.T), 1e-3)
        assert_mutable(xp.maximum(x.T, x[:, 0]), np.maximum(host.T, host[:, 0]))
        of_transpose = xp.exp(x.T)
        of_transpose[...] = 0
        assert_mutable(x, host)
    with pytest.raises(ValueError):  # noqa: PT011
        xp.maximum(x.T, x)
    if xp is jaxapi.numpy:
        for found, expected in zip(xp.frexp(x.T), np.frexp(host.T), strict=True):
            assert_mutable(found, expected)
