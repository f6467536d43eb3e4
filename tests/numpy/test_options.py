"""Options that are elements of arrays, NumPy's integers or Python's numbers in a program: beside NumPy."""

import jax
import numpy as np
import pytest

import jaxapi.mutable
import jaxapi.numpy as ours
from tests.numpy.test_statements import check_same

pytestmark = pytest.mark.filterwarnings("ignore")

# x is a vector, n one of integers, m a matrix, i has the elements 0, 1, 2, 3.
STATEMENTS = """
np.bincount(n, minlength=n.max() + 4)
np.std(x, ddof=i[1])
x.std(ddof=i[1])
np.var(m, axis=i[0], ddof=i[1])
np.nanstd(m, axis=i[0], ddof=i[1])
np.var(x, correction=1)
np.std(m, axis=1, correction=i[1])
np.nanvar(m, axis=1, correction=1)
np.nanstd(m, correction=0.5)
np.std(x, ddof=1, correction=1)
np.linalg.norm(x, ord=i[1])
np.linalg.vector_norm(m, axis=i[1], ord=i[3])
np.linalg.matrix_norm(m, ord=i[1])
np.linalg.matrix_power(m, i[2])
np.linalg.cond(m, p=i[1])
np.linalg.tensorinv(np.eye(4).reshape(2, 2, 2, 2), ind=i[2])
np.cov(m, ddof=i[0])
np.corrcoef(m, rowvar=i[1] > 0)
np.vander(x, i[3])
np.vander(x, 3, increasing=i[1] > 0)
np.cumprod(m, axis=i[1])
m.cumsum(i[1])
np.cumulative_prod(x, include_initial=True)
np.cumulative_sum(x, include_initial=i[1] > 0)
np.lexsort(m, axis=i[0])
np.packbits(m > 1, axis=i[1])
np.unpackbits(np.array([3], np.uint8), count=i[3])
np.unwrap(9 * m, axis=i[0])
np.append(m, m, axis=i[0])
np.append(np.array([1, 2], np.int8), np.float32(2.5))
np.resize(m, (i[3], i[2]))
np.resize(m, i[3])
np.argsort(m, axis=i[0])
m.argsort(i[0])
np.fft.fft(m, axis=i[0])
np.fft.fftfreq(i[3])
np.fft.fftshift(m, axes=i[1])
np.tensordot(m, m, axes=i[1])
np.cross(np.ones((3, 3)), np.eye(3), axis=i[0])
np.average(m, axis=i[0])
np.nansum(m, axis=i[0])
np.isclose(x, x, equal_nan=i[1] > 0)
np.ravel_multi_index((1, 1), (i[3], i[2]))
m.diagonal(i[1])
np.histogram(x, bins=i[3])
np.histogram2d(x, x, bins=i[3])
np.histogram2d(x, x, bins=[i[3], i[2]])
np.histogram(x, bins=3, range=(x[0], x[2]))
np.polyder(x, i[2])
np.polyint(x, i[2])
np.quantile(x, x[0] / 2, axis=i[0])
np.pad(x, i[2])
np.einsum('ij,jk->ik', w, w)
np.einsum('ij->i', w)
np.einsum('i,i', w[0], w[1])
np.apply_along_axis(lambda r: r[r > 1].sum(), 1, m)
np.apply_along_axis(lambda r: r[r > 1].sum(), i[0], m)
np.vectorize(lambda r: r[r > 1].sum(), signature='(n)->()')(m)
np.vectorize(lambda r, s: r[s > 1].max(), signature='(n),(n)->()')(m, m)
np.apply_along_axis(lambda r: np.nonzero(r > 1)[0].size, 1, m)
np.apply_along_axis(lambda r: (r[0], r[1], 2.5), 1, m)
np.apply_along_axis(lambda r: [r.sum(), 0], 1, m)
np.apply_along_axis(lambda r: (1, 2.5, True), 0, m)
np.apply_along_axis(lambda r: [[r[0], 1], [2, r[1]]], -1, m)
x.clip(i[1], max=i[2])
x.clip(2, max=None)
x.clip(None, i[2])
x.clip(min=2)
n.clip(2, max=2.5)
np.clip(x, i[1], max=i[2])
np.clip(x, 1)
np.clip(x, 1, 2, max=3)
np.clip(x, None, i[2])
np.prod(x * np.inf, initial=False)
np.prod(-x, initial=x[0] > 1)
(x * np.nan).prod(initial=np.bool(False))
np.multiply.reduce(-x, initial=np.bool(False))
np.multiply.reduce(x * np.inf, initial=False)
np.nanprod(x * np.inf, initial=False)
np.max(-x, initial=x[0] > 1)
np.max(x > 9, initial=True)
np.prod(n, initial=False)
np.tensordot(m, n[:2], axes=(i[:1], i[1:2] - 1))
np.tensordot(m, m, axes=(i[:2], i[:2]))
np.array(x[0], ndmin=i[2])
np.vectorize(lambda p, q=2: p * q)(n, q=x[2])
np.vectorize(lambda p, q: p if p > q else q)(p=x, q=x[1])
np.vectorize(lambda r, s: r[s > 1].max(), signature='(n),(n)->()')(m, s=m[0])
np.vectorize(lambda r, q: np.polyval(q, r), excluded=['q'])(x, q=[1, 2])
"""


def outcome(text, module):
    names = {
        "np": module,
        "x": module.asarray(np.float64([1, 2, 3, 2])),
        "n": module.asarray(np.int64([1, 2, 3, 2])),
        "m": module.asarray(np.float64([[2, 1], [1, 3]])),
        "w": module.asarray(np.float64([[2, 1], [1, 3]])),
        "i": module.arange(4),
    }
    with np.errstate(all="ignore"):
        try:
            return eval(text, names)
        except Exception as error:
            return error


@pytest.mark.parametrize("text", STATEMENTS.strip().splitlines())
def test_statement(text, x64):
    made, expected = outcome(text, ours), outcome(text, np)
    if not x64 and not isinstance(made, Exception):  # integers and what is computed of them has 32 bits
        expected = jax.tree.map(as_in_half_the_bits, expected, jax.tree.map(lambda x: x, made))
    check_same(made, expected)


OF_NO_ELEMENTS = """
np.vectorize(lambda: 3)()
np.vectorize(lambda: (1, 2.5))()
np.vectorize(lambda *p: sum(p))()
np.vectorize(lambda p=7: p)()
np.vectorize(lambda **p: len(p), otypes=[float])()
np.vectorize(lambda p, q: p + q, excluded=[0, 1])(1, 2)
np.vectorize(lambda p, q: p + q, excluded=['p', 'q'])(p=1, q=2)
np.vectorize(lambda p, q: p + q, excluded=[0, 'q'])(x, q=2)
np.vectorize(lambda: 1, signature='()->()')()
np.vectorize(lambda p: p, signature='(n)->(n)', excluded=[0])(x)
np.vectorize(lambda p: p)([])
np.vectorize(lambda p, q: p)(np.zeros((0, 3)), 1)
np.vectorize(lambda p: p, otypes=[int])([])
np.vectorize(lambda p: (p, p / 2), otypes=[int, float])(n)
"""


@pytest.mark.parametrize("text", OF_NO_ELEMENTS.strip().splitlines())
def test_vectorized_functions_of_no_elements(text):
    check_same(outcome(text, ours), outcome(text, np))


def as_in_half_the_bits(expected, made):
    """Return NumPy's result in the dtype of ours, where that has as many bits or half as many."""
    expected = np.asarray(expected)
    assert made.dtype.kind == expected.dtype.kind
    return expected.astype(made.dtype)


IN_PROGRAMS = """
np.histogram(x, bins=4)
np.histogram(x, 3, (0, 4))
np.histogram_bin_edges(x, bins=4)
np.histogram2d(x, x, bins=3)
np.histogramdd(m, bins=[2, 3])
np.polyder(x, 2)
np.polyint(x, 2)
np.polyint(x, m=2, k=3.0)
np.std(x, correction=1)
np.cumulative_prod(x, include_initial=True)
np.vander(x, 3)
np.cov(m, ddof=0)
np.quantile(x, 0.5, method='lower')
np.unwrap(9 * x, period=6)
np.linalg.norm(x, ord=1)
np.linalg.matrix_power(m, 2)
np.roll(m, 1, axis=np.int64(1))
np.fft.fftshift(m, axes=np.int64(1))
np.digitize(x, [1, 2, 2.5])
np.digitize(x, [3, 2, 1], right=True)
np.digitize(m, [2])
np.polyfit(np.arange(4), x, 1)
np.polyfit(np.arange(4), x.astype(int), 2, w=[1, 2, 1, 2])
x.clip(2, max=2.5)
np.apply_along_axis(lambda r: (r[0], 2), 1, m)
"""


@pytest.mark.parametrize("text", IN_PROGRAMS.strip().splitlines())
def test_numbers_in_programs(text):
    """Python's numbers in a program stay numbers."""
    x, m = np.float32([1, 2, 3, 2]), np.float32([[2, 1], [1, 3]])
    made = jax.jit(lambda x, m: eval(text, {"np": ours, "x": ours.asarray(x), "m": ours.asarray(m)}))(x, m)
    expected = eval(text, {"np": np, "x": x, "m": m})
    for part, wanted in zip(jax.tree.leaves(made), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(part), wanted, rtol=1e-5, atol=1e-6)


AXES = [
    lambda np, x, axis: np.roll(x, 1, axis=axis),
    lambda np, x, axis: np.fft.fftshift(x, axes=axis),
    lambda np, x, axis: np.flip(x, axis=axis) + np.cumulative_sum(x, axis=axis),
    lambda np, x, axis: np.sort(x, axis=axis) - np.max(x, axis=axis, keepdims=True),
]


@pytest.mark.parametrize("function", AXES)
@pytest.mark.parametrize("module", [ours, jaxapi.mutable])
def test_axes_that_are_integers_of_numpy(module, function):
    x = np.random.default_rng(5).random((70, 4)).astype(np.float32)
    with_room = module.asarray(x)
    with_room = with_room[with_room[:, 0] > 0.4]
    exact = x[x[:, 0] > 0.4]
    for axis in (np.int64(1), np.int32(-1)):
        expected = function(np, exact, axis)
        for run in (function, module.fuse(lambda x, axis=axis: function(module, x, axis))):
            made = run(with_room) if run is not function else function(module, with_room, axis)
            np.testing.assert_allclose(np.asarray(made), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int8", "int32"])
def test_unwrap_of_integers_by_a_python_integer(dtype):
    x = np.array([1, 5, 2, 7], dtype)
    for period in (6, 300, -5):
        try:
            expected = np.unwrap(x, period=period)
        except OverflowError:
            with pytest.raises(OverflowError, match="out of bounds"):
                ours.unwrap(ours.asarray(x), period=period)
            continue
        np.testing.assert_array_equal(ours.unwrap(ours.asarray(x), period=period), expected)
