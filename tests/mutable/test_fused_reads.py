"""Parts that are read by the program that computes with them: to the last bit what NumPy finds."""

import operator

import jax
import numpy as np
import pytest

import jaxapi.mutable as xp
from jaxapi.mutable import _array, _views


@pytest.fixture
def size():
    """Take the sizes as they are."""


PARTS = {
    "two slices": lambda x, y: (x[2:], x[:-2]),
    "a slice backward": lambda x, y: (x[::-1], y),
    "a row": lambda x, y: (y, x[1]),
    "a column": lambda x, y: (x[:, 1:2], y),
    "transposes": lambda x, y: (x.T, y.T),
    "an element": lambda x, y: (x, y[2, 1]),
    "two elements": lambda x, y: (x[0, 0], y[2, 1]),
    "a new axis": lambda x, y: (x[:, None], y[None, 1:]),
    "a view's view": lambda x, y: (x[1:].T[::2], y[1:].T[1::2]),
}


@pytest.mark.parametrize("function", [operator.add, operator.sub, operator.mul, operator.truediv])
@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_operators(function, parts, dtype):
    random = np.random.default_rng(0)
    hosts = [random.integers(1, 100, (6, 6)).astype(dtype) for _ in range(2)]
    found = function(*parts(*map(xp.asarray, hosts)))
    expected = function(*parts(*hosts))
    assert found.dtype == expected.dtype
    if dtype == "float32" and function is not operator.truediv:  # XLA multiplies by the inverse of a row
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-6)


FUNCTIONS = {
    "sqrt": (xp.sqrt, np.sqrt),
    "@": (operator.matmul, operator.matmul),
    "matmul": (xp.matmul, np.matmul),
    "vecdot": (xp.vecdot, np.vecdot),
    "diagonal": (xp.linalg.diagonal, np.diagonal),
    "inv": (xp.linalg.inv, np.linalg.inv),
    "solve": (xp.linalg.solve, np.linalg.solve),
    "outer": (lambda a, b: xp.linalg.outer(a[0], b[1:, 0]), lambda a, b: np.outer(a[0], b[1:, 0])),
    "maximum": (xp.maximum, np.maximum),
}
OF_ONE = ("sqrt", "diagonal", "inv")

REDUCTIONS = ("all", "any", "max", "mean", "min", "prod", "std", "sum", "var")


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}, {"axis": None}])
def test_reductions(name, options, monkeypatch):
    host = np.random.default_rng(0).uniform(-1, 2, (4, 3, 2)).astype(np.float32)
    x = xp.asarray(host)
    with monkeypatch.context() as patched:
        patched.setattr(_views, "take", None)
        found = getattr(xp, name)(x.T[1, ::-1], **options), getattr(x[1:3], name)(**options)
    expected = getattr(np, name)(host.T[1, ::-1], **options), getattr(np, name)(host[1:3], **options)
    for ours, numpys in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, numpys, rtol=1e-5, atol=1e-6)


def test_reductions_by_what_is_no_axis():
    part = xp.asarray(np.arange(6.0, dtype=np.float32))[1:]
    assert float(xp.std(part, correction=1.0)) == pytest.approx(np.std(np.arange(1.0, 6), ddof=1))
    assert float(xp.sum(part, dtype=xp.int32)) == 15
    assert float(xp.sum(part, 0)) == 15
    with pytest.raises(np.exceptions.AxisError):
        xp.sum(part, axis=1)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("parts", [lambda x: (x[1].T, x[0, ::-1]), lambda x: (x[0], x.T[..., 1])])
def test_functions(name, parts):
    host = np.random.default_rng(0).uniform(1, 2, (2, 3, 3)).astype(np.float32)
    host[0] += 3 * np.eye(3, dtype=np.float32)
    host[1] += 5 * np.eye(3, dtype=np.float32)
    ours, numpys = FUNCTIONS[name]
    x = xp.asarray(host)
    if name in OF_ONE:
        for part, expected in zip(parts(x), parts(host), strict=True):
            np.testing.assert_allclose(ours(part), numpys(expected), rtol=1e-3, atol=1e-4)
        return
    for _ in range(3):
        np.testing.assert_allclose(ours(*parts(x)), numpys(*parts(host)), rtol=1e-4, atol=1e-4)
    first, second = parts(x)
    for function in (ours, xp.subtract, ours):  # reads them on the way twice, then alone
        function(first, second)
    np.testing.assert_allclose(ours(first, second), numpys(*parts(host)), rtol=1e-4, atol=1e-4)


def test_they_are_not_read_before(monkeypatch):
    x = xp.asarray(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    x[0, 0] = 0.0
    monkeypatch.setattr(_views, "take", None)
    monkeypatch.setattr(_array, "take", None)
    assert float(xp.sum(x[1:] + x[:-1])) == sum(range(4, 12)) + sum(range(8))
    assert float(xp.sum(xp.matmul(x[1:], x[0]) + xp.sqrt(x[1:, 1]))) == pytest.approx(103 + 5**0.5)
    row = x[1]
    row - x[2]
    row * x[2]
    with pytest.raises(TypeError):
        row + x[2]  # used for the third time, it is read


WITH_NUMBERS = {
    "x * 2": lambda x: x * 2,
    "2.5 - x": lambda x: 2.5 - x,
    "x ** 2": lambda x: x**2,
    "x > 1": lambda x: x > 1,
    "-x": lambda x: -x,
    "an array of JAX": lambda x: x + jax.numpy.ones(3),
}


@pytest.mark.parametrize("function", WITH_NUMBERS.values(), ids=WITH_NUMBERS)
def test_parts_and_numbers_on_a_gpu(function, pretended_gpu, monkeypatch):
    for dtype in ("float32", "int32", "float64"):
        host = np.arange(12).reshape(4, 3).astype(dtype)
        x = xp.asarray(host)
        function(x[0])  # so that the number is there
        with monkeypatch.context() as patched:
            patched.setattr(_views, "take", None)
            found = [function(part) for part in (x[1], x[3, ::-1], x.T[:, 2])]
        if dtype == "float32":
            expected = [function(part) for part in (host[1], host[3, ::-1], host[2])]
            for ours, numpys in zip(found, expected, strict=True):
                np.testing.assert_array_equal(ours, numpys)
        assert [y.dtype for y in found] == [function(+x[1]).dtype] * 3


def test_an_element_and_numbers():
    x = xp.asarray(np.arange(5.0, dtype=np.float32))
    assert float(-x[3]) == -3
    assert float(x[3] * 2 + 1) == 7
    assert float(2 ** x[3]) == 8


def test_what_is_written_between():
    x = xp.asarray(np.arange(5.0, dtype=np.float32))
    left, right = x[:-1], x[1:]
    x[2] = 10.0
    np.testing.assert_array_equal(left + right, [1, 11, 13, 7])
    right += 1
    np.testing.assert_array_equal(left + right, [2, 13, 15, 9])
    x[0] = 5.0
    np.testing.assert_array_equal(left - right, [3, -9, 7, -1])


def test_shapes_that_do_not_fit():
    x = xp.zeros(5)
    with pytest.raises(ValueError, match="broadcast"):
        x[1:] + x[:3]


def test_under_transformations():
    x = xp.asarray(np.arange(5.0, dtype=np.float32))

    @jax.jit
    def f(y):
        return y[1:] + x[:-1] + (x[1:] - x[:-1])

    np.testing.assert_array_equal(f(x), [2, 4, 6, 8])
    gradient = xp.grad(lambda y: xp.sum(y[1:] * y[:-1] + x[0] * x[1]))(x)
    np.testing.assert_array_equal(gradient, [1, 2, 4, 6, 3])


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_assignment(parts, dtype):
    random = np.random.default_rng(0)
    hosts = [random.integers(1, 100, (6, 6)).astype(np.float32) for _ in range(2)]
    found, expected = [], []
    for results, arrays in ((found, [xp.asarray(host) for host in hosts]), (expected, hosts)):
        for part in parts(*arrays):
            shape = part.shape
            target = xp.zeros((2, *shape), dtype=dtype) if results is found else np.zeros((2, *shape), dtype)
            target[1] = part
            target[:, ...] = part
            arrays[0][0] = 0
            results.append(target)
    for x, host in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, host)


def test_assignment_within_one_array():
    for n in (6, 50_000):
        host = np.arange(n, dtype=np.float32)
        x = xp.asarray(host, copy=True)
        x += 1
        host += 1
        before = x._value.unsafe_buffer_pointer()
        x[1:] = x[:-1]
        assert n == 6 or x._value.unsafe_buffer_pointer() == before
        x[:2] = x[::-1][:2]
        y = x.copy()
        x[2:4] = y[:2]
        host[1:] = host[:-1].copy()
        host[:2] = host[::-1][:2].copy()
        host[2:4] = host[:2]
        np.testing.assert_array_equal(x, host)
        with pytest.raises(ValueError, match="broadcast"):
            x[:3] = y[:2]
        with pytest.raises(TypeError, match="complex"):
            x[:3] = xp.asarray(host + 1j)[:3]
        np.testing.assert_array_equal(x, host)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed):
    """Parts, copies, writes, constants and donation in any order, as NumPy has them."""
    random = np.random.default_rng(seed)
    hosts = [random.integers(0, 9, (4, 4)).astype(np.float32) for _ in range(3)]
    pairs = [(xp.asarray(host), host) for host in hosts]
    spend = jax.jit(lambda x: x + 1, donate_argnums=0)

    def part(pair):
        x, host = pair
        match random.integers(5):
            case 0:
                return x, host
            case 1:
                return x[::-1], host[::-1]
            case 2:
                return x.T, host.T
            case 3:
                i = int(random.integers(4))
                return x[i], host[i]
            case _:
                i, j = map(int, random.integers(4, size=2))
                return x[i, j], host[i, j]

    for _ in range(120):
        k = int(random.integers(3))
        (x, host), (y, other) = pairs[k], part(pairs[random.integers(3)])
        match random.integers(8):
            case 0:
                x[...] = y
                host[...] = other.copy()
            case 1:
                target, expected = part(pairs[k])
                if target.ndim:
                    target[...] = y if y.ndim <= target.ndim else y[0]
                    expected[...] = (other if other.ndim <= target.ndim else other[0]).copy()
            case 2:
                z, result = part(pairs[k])
                np.testing.assert_array_equal(y * z, other * result)
            case 3:
                x[1:] = y if y.ndim < 2 else (y[1:] - x[:-1])
                host[1:] = other.copy() if other.ndim < 2 else (other[1:] - host[:-1])
            case 4:
                pairs[k] = x.copy(), host.copy()
            case 5:
                z = x.copy()
                spend(x)
                pairs[k] = z, host.copy()
            case 6:
                pairs[k] = xp.zeros((4, 4), dtype=xp.float32), np.zeros((4, 4), np.float32)
            case 7:
                x %= 7
                host %= 7
        for x, host in pairs:
            np.testing.assert_array_equal(x, host)
