"""NumPy's methods: what NumPy's return, views where NumPy's are."""

import warnings

import jax
import numpy as np
import pytest

import jaxapi.mutable as xp

HOST = np.asarray([[3.0, 1.0, 2.0], [9.0, 7.0, 8.5]], np.float32)
NAMES = "all any argmax argmin max mean min prod std sum var"
RETURNING = [
    "x.ravel()", "x.T.ravel()", "x.flatten()", "x.argsort()", "x.argsort(None)", "x.argsort(axis=0)",
    "x.dot(x.T)", "x.dot(2)", "x[0].dot(x[1])", "x.dot(x[0])", "x.clip(2, 8)", "x.clip(max=3)", "x.round()",
    "x.round(decimals=1)", "x.cumsum()", "x.cumsum(1)", "x.cumsum(axis=-1)", "x.cumprod()", "x.cumprod(0)",
    "x.repeat(2)", "x.repeat([1, 2], axis=0)", "x.take([0, 5])", "x.take(1)", "x.take([0, -1], axis=1)",
    "x.take(1, axis=-1)", "x.swapaxes(0, -1)", "x[None].squeeze()", "x[:, :1].squeeze(1)", "x.transpose()",
    "x.transpose(1, 0)", "x[None].transpose((2, 0, 1))", "x[None].transpose(0, -1, 1)", "x.std(0, ddof=1)",
    "x.sum(1, np.float64)", "x.conj()", "x.mean(1, keepdims=True)", "x.tolist()", "x.item(1)",
    "x.item() if x.size == 1 else 0", "x.nonzero()[1]", "x.max(0)",
    "x.astype(np.int8)", "x.reshape(3, 2)", "x.reshape((2, -1))", "x.copy()", "x.item(0, 1)",
]  # fmt: skip
RETURNING += [f"x.{name}({axis})" for name in NAMES.split() for axis in ("", 1)]


@pytest.mark.parametrize("call", RETURNING)
def test_results(call):
    found, expected = (eval(call, {"x": x, "np": np}) for x in (xp.asarray(HOST), HOST.copy()))
    assert np.shape(found) == np.shape(expected)
    assert type(found) is xp.Array or not isinstance(expected, np.ndarray | np.generic)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_ptp_get_and_out():
    x, out = xp.asarray(HOST), xp.zeros(3)
    assert x.sum(0, out=out) is out
    np.testing.assert_array_equal(out, HOST.sum(0))
    np.testing.assert_array_equal(x.ptp(axis=0), np.ptp(HOST, axis=0))
    host = x.get()
    host[0] = 0
    np.testing.assert_array_equal(x, HOST)


WRITING = [
    "x.sort()", "x.sort(0)", "x.T.sort()", "x.fill(3)", "x[1:].fill(3)", "x.ravel().__setitem__(0, 5)",
    "x.T.ravel().fill(5)", "x[:, 1:].ravel().fill(5)", "x.swapaxes(0, 1).__setitem__(0, 7)",
    "x[None].squeeze().__setitem__((0, 1), -4)", "x[:, :1].squeeze(1).fill(6)", "x.transpose()[1].fill(6)",
    "x.flatten().fill(1)", "x.take([0]).fill(1)", "x.copy().fill(1)", "xp.add.at(x, [0, 0], 1.0)",
    "xp.add.at(x, ([0, 0], [1, 1]), [2.0, 3.0])", "xp.add.at(x, (slice(None), [0, 0]), 2)",
    "xp.add.at(x, x > 5, 1)", "xp.subtract.at(x[1], [1, 1, -1], 1)",
    "xp.multiply.at(x, (slice(None), [0, 0]), 2)", "xp.maximum.at(x, (0,), 2.5)",
    "xp.minimum.at(x, ([0, 0, 1], 1), [4, 0, 3])",
]  # fmt: skip


@pytest.mark.parametrize("call", WRITING)
def test_writes(call):
    x, host = xp.asarray(HOST), HOST.copy()
    assert eval(call, {"x": x, "xp": xp}) is None
    eval(call, {"x": host, "xp": np})
    np.testing.assert_array_equal(x, host)


def test_at_counts_in_programs():
    def counts(rows):
        found = xp.zeros(4)
        xp.add.at(found, rows, 1)
        return found

    rows = np.asarray([0, 3, 3, 1, 3])
    np.testing.assert_array_equal(jax.jit(counts)(rows), np.bincount(rows))

    def loss(v):
        y = xp.zeros(3)
        xp.add.at(y, [0, 0, 1], v)
        return xp.sum(y * xp.asarray([1.0, 2.0, 3.0]))

    np.testing.assert_array_equal(xp.grad(loss)(xp.ones(3)), [1, 1, 2])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("x.squeeze(0)", ValueError), ("x.transpose(0)", ValueError), ("x.transpose(0, 0)", ValueError),
        ("x.swapaxes(0, 2)", np.exceptions.AxisError), ("x.take([6])", IndexError),
        ("x.take([0], axis=2)", np.exceptions.AxisError), ("x.fill(1j)", TypeError),
        ("xp.add.at(x, [2], 1)", IndexError), ("xp.add.at(np.ones(2), [0], 1)", TypeError),
    ],
)  # fmt: skip
def test_errors(call, error):
    x = xp.asarray(HOST)
    with pytest.raises(error):
        eval(call, {"x": x, "xp": xp, "np": np})
    np.testing.assert_array_equal(x, HOST)


def test_quotients_by_zero_are_silent():
    """As JAX's are, where scikit-learn's StandardScaler divides 0 by 0."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        zeros = xp.zeros(3)
        assert xp.all(xp.isnan(zeros / zeros))
        assert xp.all(xp.isinf(1 / zeros))
        assert xp.all(xp.isinf(zeros**-1.0))
        x = xp.ones(3)
        x /= zeros
        assert xp.all(xp.isinf(x))
