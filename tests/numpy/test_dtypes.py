"""The dtypes and values of operators and functions of arrays of two dtypes, beside NumPy's."""

import itertools
import operator

import jax
import numpy as np
import pytest

import jaxapi.mutable
import jaxapi.numpy as ours

OPERATORS = """
add sub mul truediv floordiv mod pow and_ lt iadd isub itruediv ifloordiv imod iand matmul
"""
FUNCTIONS = """
np.add.outer(x, y) | np.add(x, y, out=np.zeros(3, x.dtype)) | np.arctan2(x, y) | np.append(x, y)
np.array([x, y]) | np.concatenate([x, y]) | np.convolve(x, y) | np.correlate(x, y) | np.cross(x, y)
np.choose([0, 1, 1], [x, y]) | np.divmod(x, y) | np.dot(x, y) | np.einsum("i,i", x, y) | np.inner(x, y)
np.isin(x, y) | np.kron(x, y) | np.linalg.multi_dot([x, x[:, None], y[None]]) | np.linalg.outer(x, y)
np.linalg.solve(x * np.eye(3, dtype=x.dtype) + 1, y) | np.matmul(x, y) | np.outer(x, y) | np.polymul(x, y)
np.polyval(x, y) | np.select([x > 1], [x], y) | np.stack([x, y]) | np.tensordot(x, y, 1) | np.union1d(x, y)
np.vdot(x, y) | np.vstack([x, y]) | np.where(x > 1, x, y)
""".replace("\n", "|").split("|")


def result(module, function, x, y, dtypes):
    x, y = (module.asarray(v).astype(d) for v, d in zip((x, y), dtypes, strict=True))
    try:
        with np.errstate(all="ignore"):
            made = function(x, y) if callable(function) else eval(function, {"np": module, "x": x, "y": y})
        return [np.asarray(part) for part in (made if isinstance(made, tuple) else (made,))]
    except (TypeError, ValueError, np.linalg.LinAlgError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError


def check(function, pairs):
    with jax.enable_x64(True):
        for dtypes in pairs:
            expected, made = (result(m, function, [3, 0, 1], [2, 0, 3], dtypes) for m in (np, ours))
            assert isinstance(made, list) == isinstance(expected, list), (dtypes, expected, made)
            for mine, numpys in zip(made, expected, strict=True) if isinstance(made, list) else ():
                assert mine.dtype == numpys.dtype, dtypes
                np.testing.assert_allclose(
                    mine, numpys, 2e-3 if "float16" in dtypes else 1e-6, err_msg=dtypes
                )
            assert isinstance(made, list) or made == expected


@pytest.mark.daily
@pytest.mark.parametrize("name", OPERATORS.split())
def test_operators_as_numpys(name):
    dtypes = ["bool", "int8", "int32", "uint8", "uint64", "float16", "float32", "complex64"]
    check(getattr(operator, name), itertools.product(dtypes, repeat=2))


@pytest.mark.daily
@pytest.mark.parametrize("text", [text.strip() for text in FUNCTIONS if text.strip()])
def test_functions_as_numpys(text):
    pairs = [*itertools.product(["int8", "int32"], ["float16", "float32", "complex64"]), ("int32", "int64")]
    check(text, [*pairs, *[pair[::-1] for pair in pairs]])


WEAK = [("float32", 1.1), ("float32", 1j), ("uint8", 3), ("uint8", -1), ("uint64", 1), ("int32", 2**40)]
WEAK += [("float16", 1), ("int16", 1.5), ("uint8", True)]


@pytest.mark.parametrize(("dtype", "number"), WEAK)
def test_python_numbers_are_weak_in_outer_and_at(dtype, number):
    """As NumPy from 2.6 on has it, and every NumPy in a call."""
    host = np.asarray([2**63, 2**63 + 5] if dtype == "uint64" else [2, 5], dtype)
    with jax.enable_x64(True):
        x = ours.asarray(host)
        try:
            expected = np.multiply(host, number)
        except OverflowError:
            for function in (ours.multiply, np.multiply):
                with pytest.raises(OverflowError):
                    function.outer(x, number)
                with pytest.raises(OverflowError):
                    function.at(x, 0, number)
            assert x.tolist() == host.tolist()
            return
        for made in (ours.multiply.outer(x, number), np.multiply.outer(number, x)):
            assert made.dtype == expected.dtype
            np.testing.assert_allclose(made, expected, 1e-7)
        for function in (ours.multiply, np.multiply) if expected.dtype.kind != "c" else ():
            x = ours.asarray(host)
            function.at(x, [1], number)
            assert x.tolist() == [host[0], expected.astype(dtype)[1]]


def test_full_takes_what_the_dtype_holds():
    for dtype, number in (("uint64", 2**63), ("int64", -(2**40)), ("float32", 5), ("bool", 5)):
        assert ours.full(2, number, dtype=dtype).tolist() == np.full(2, number, dtype=dtype).tolist()
    with pytest.raises(OverflowError):
        ours.full(2, 300, dtype="uint8")


def test_floats_that_are_added_at_integers_lose_the_fraction_of_the_sum():
    host = np.asarray([-5, 5, 7], "int32")
    x = ours.asarray(host)
    for function, new in (("add", 1.5), ("multiply", np.asarray([0.5, 1.5], "float32"))):
        getattr(np, function).at(host, [0, 1], new)
        getattr(ours, function).at(x, [0, 1], new)
        assert x.tolist() == host.tolist()


def test_promotion_and_the_namespace_of_results():
    for x64 in (False, True):
        with jax.enable_x64(x64):
            x, y = ours.ones(3, "int32"), ours.ones(3, "float32")
            assert (
                (x * y).dtype == ours.add(y, x).dtype == jax.jit(lambda x, y: x - y)(x, y).dtype == "float64"
            )
            assert ours.fuse(lambda x, y: x[1:] - y[1:])(x, y).dtype == (x.T * y.copy()).dtype == "float64"
            wide = "float64" if x64 else "float32"
            a, b = jaxapi.mutable.asarray(x._value), jaxapi.mutable.asarray(y._value)
            assert (a * b).dtype == (a[1:] * b[1:]).dtype == (a.sum(keepdims=True) * b).dtype == wide
            for made in (a.ravel(), a.copy(), a.sum(), a[0], a + 1, a[1:], np.sum(a), a.T):
                assert made.__array_namespace__() is jaxapi.mutable
            for made in (a * y, y * a, ours.asarray(a), ours.ndarray((2, 3))[0], x.ravel()):
                assert made.__array_namespace__() is ours
            ours.asarray(a)[0] = 7
            assert a[0] == 7


def test_positions_of_common_elements(x64):
    x, y = np.array([5, 1, 3, 9]), np.array([9, 3, 2])
    for is_unique in (True, False):
        options = {"assume_unique": is_unique, "return_indices": True}
        made = ours.intersect1d(ours.asarray(x), ours.asarray(y), **options)
        for part, expected in zip(made, np.intersect1d(x, y, **options), strict=True):
            assert part.dtype == expected.dtype
            np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize(("x", "y"), [(1, -1), (0.5, 2), (True, 3), (1j, 2), (True, False)])
def test_a_choice_of_two_numbers_has_their_dtype_in_what_follows(x, y, way):
    """It is no number that gives way to another array's dtype."""
    host = np.asarray([1.5, 0, 3], np.float32)
    expected = np.where(host > 1, x, y) * host
    given = ours.asarray(host)
    np.testing.assert_array_equal(ours.where(given > 1, x, y) * given, expected, strict=True)
    traced = ours.fuse(lambda v: ours.where(v > 1, x, y) * v)(given)
    np.testing.assert_array_equal(traced, expected, strict=True)
