"""Statements with kinds of arguments that are seldom met, beside NumPy: value, dtype, shape or exception."""

import jax
import numpy
import pytest

import jaxapi.numpy as xp

pytestmark = pytest.mark.filterwarnings("ignore")

STATEMENTS = """
n.union1d(f32, 2)
n.union1d(2.5, f32)
n.union1d(n.array([1, 2], 'float16'), 1j)
n.union1d(n.array([1, 2], 'int8'), 2)
n.union1d(n.array([1, 2], 'int8'), 2.5)
n.union1d(n.array([1, 2], 'int32'), f32)
n.union1d(f32, [2])
n.union1d(f32, n.float64(2))
n.union1d(b, 2)
n.union1d(2, 3.5)
n.intersect1d(f32, 2)
n.intersect1d(n.array([1, 2], 'int8'), 2)
n.intersect1d(f32, [2], return_indices=True)
n.intersect1d(2, 2.0)
n.percentile(n.array([1, n.nan], 'float32'), n.array(50.0))
n.percentile(n.array([1, n.nan], 'float32'), n.array([50.0]))
n.percentile(n.array([1, 2], 'float32'), n.array(50.0))
n.quantile(n.array([1, n.nan], 'float16'), n.array(0.5, 'float32'))
n.quantile(n.array([[1, n.nan]], 'float16'), n.array(0.5), keepdims=True)
n.quantile(n.array([[1, n.nan]], 'float16'), n.array(0.5), axis=1)
n.nanquantile(n.array([n.nan, n.nan], 'float32'), n.array(0.5))
n.nanquantile(n.array([n.nan, 1], 'float32'), n.array(0.5))
n.isclose(n.float32(1), 2, atol=0, rtol=(1 - 2**-53) / 2)
n.isclose(n.array([1, 2], 'float32'), 2, atol=0, rtol=(1 - 2**-53) / 2)
n.allclose(2, n.array([1, 2], 'float32'), atol=0, rtol=1)
n.isclose(n.array([1, 2], 'int8'), 300)
n.isclose(n.array([1, 2], 'int32'), n.array([1, 2], 'float32'))
n.isclose(16777217, n.array([16777216], 'float32'), rtol=0, atol=0)
n.isclose(n.array([16777217]), n.array([16777216], 'float32'), rtol=0, atol=0)
n.isclose(1, 2)
n.isclose([1.0], 1j)
n.meshgrid([1], [2], indices='ij')
n.concatenate([f32, f32], out=n.zeros(4), casting='no')
n.concatenate([f32, f32], out=n.zeros(4, 'int8'), casting='unsafe')
n.concatenate([f32, f32], out=n.zeros(4, 'int8'))
n.concatenate([n.array([1], 'uint64'), n.array([2**60 + 1])], out=n.zeros(2, 'int64'), casting='unsafe')
n.concatenate([n.array([2**32 + 5], 'uint64'), n.array([1])], out=n.zeros(2, 'int32'), casting='unsafe')
n.stack([f32, n.array([2**60 + 1, 3])], out=n.zeros((2, 2), 'int64'), casting='unsafe')
n.concatenate([n.array([1.5]), n.array([2])], out=n.zeros(2, 'float32'))
n.concatenate([n.array([1j]), n.array([2])], out=n.zeros(2, 'float32'))
n.interp([1.0, 0.5, 0.0, 1.5], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0])
n.interp([2.0], [0.0, 2.0, 2.0, 2.0], [1.0, 5.0, 6.0, 7.0j])
n.sum(n.array([2**62] * 3), out=n.zeros(()))
n.sum(n.array([100, 100], 'int8'), out=n.zeros((), 'int8'))
n.sum(n.array([100, 100], 'int8'), out=n.zeros((), 'int16'))
n.sum(n.array([2**62, 1]), out=n.zeros((), 'uint64'))
n.sum(n.array([1.5, 2.0]), out=n.zeros((), 'complex64'))
n.sum(n.array([1.5, 2.75]), out=n.zeros((), int))
n.sum(2**62, out=n.zeros(()))
n.sum([2**62] * 3, axis=0, out=n.zeros(()))
n.prod(n.array([2**40, 2**40]), out=n.zeros(()))
n.nansum(n.array([True] * 200), out=n.zeros((), 'int8'))
n.cumsum(n.array([2**62] * 3), out=n.zeros(3))
n.cumsum(n.array([2**62] * 3), 0, None, n.zeros(3))
n.cumulative_sum(n.array([100, 100], 'int8'), out=n.zeros(2, 'int16'))
n.nancumprod(n.array([2**40, 2**40]), out=n.zeros(2))
n.array([2**62] * 3).sum(out=n.zeros(()))
n.ptp(n.array([-100, 100], 'int8'), out=n.zeros((), int))
n.ptp(n.array([True, False]), out=n.zeros((), int))
n.nanmean(n.array([1, 2, 6]), out=n.zeros((), int))
n.nanmean(n.array([1.0, 2.0]), out=n.zeros((), int))
n.nanvar(n.array([[1, 2, 7]]), axis=1, out=n.zeros(1, int))
n.divmod.outer([5, -7], [2, 3])
n.setxor1d(n.array([3, 4], 'int8'), 2)
n.setxor1d(n.array([3, 4], 'uint64'), 2)
n.setxor1d(f32, 1j)
n.setxor1d([3, 4], 2.5, assume_unique=True)
n.histogram2d(f32, [1, 3], 2)
n.histogram2d([1, 2], n.array([1, 3], 'float16'), [2, 3])
n.histogramdd([f32, n.array([1, 3])], 2)
n.cumsum([3, 0, 4], dtype=bool)
n.cumsum([[0, 0.5], [0, 0]], axis=1, dtype=bool)
n.nancumsum([n.nan, 0, 4], dtype=bool)
n.interp([n.nan, 0.5], [0, 1], [1j, 2 + 1j])
n.arange(2**63 - 2, 2**63)
n.arange(2**63, 2**63 + 2)
n.argpartition(n.array(2.5), 0)
n.argpartition(n.array(2.5), 0, axis=None)
n.partition(n.array(2.5), 0)
n.argpartition(n.array(2.5), 1)
n.digitize([1.0], n.array([0, 1j]))
n.r_[n.array([1], 'int8'), 300]
n.r_[n.array([1], 'int8'), 100]
n.r_[n.array([1], 'float32'), 300]
n.repeat([1, 2], 1.5)
n.repeat([1, 2], n.float64(1.5))
n.repeat([1, 2], [1.5, 2])
n.polyval([], 2)
n.polyval([], f32)
n.argmin(n.array([1j, 2]), dtype='float32')
n.argmax(n.array([1j, 2]), where=[True, False])
n.max(n.array([1j, 2]), dtype='float32')
n.sort(big)
n.argsort(big)
n.any(big)
n.all(big)
n.count_nonzero(big)
n.ediff1d(big)
n.maximum.reduce(big)
f32.searchsorted(big)
n.var([[1, 2], [4, 8]], dtype='int16')
n.var([[1, 2], [4, 8]], axis=0, dtype='int64')
n.var([1.5, 2.5, 9], dtype='int64', ddof=1)
n.var([1.5, 2.5, 9], dtype='int32', where=[True, False, True])
n.var([True, False, True], dtype='int8')
n.std([1, 5, 9, 40], dtype='int16')
n.nanstd([1, 5, 9, 40], dtype='int16')
n.nanvar(f32, dtype='int64')
n.nanmean(f32, dtype='int64')
n.nanstd(f32, dtype='int64')
n.mean(f32, axis=1)
n.mean(n.array(2.5), axis=0)
n.std(f32, axis=(0, 1))
n.var(f32, axis=-2)
n.average(f32, axis=1)
n.nanmean(f32, axis=1)
n.insert(b, 0, [1j])
n.insert(b, 0, n.array([1j, 0]))
n.insert(b, 0, 1j)
n.pad(b, 1, constant_values=1j)
n.pad(b, 1, constant_values=[1j])
n.pad(b, 1, constant_values=((1j, 0),))
n.pad(b, 1, constant_values=n.complex64(1j))
n.pad(b, 1, constant_values=0.5)
"""


def outcome(statement, n):
    names = {"n": n, "f32": n.array([1, 2], "float32"), "b": n.array([True, False])}
    names["big"] = numpy.array([3, 1, 2], ">f8")
    try:
        made = eval(statement, names)
    except Exception as error:
        return type(error)
    return [numpy.asarray(x) for x in leaves(made)]


def leaves(made):
    return [x for part in made for x in leaves(part)] if isinstance(made, (list, tuple)) else [made]


def are_same(found, expected) -> bool:
    if isinstance(expected, type):
        return isinstance(found, type) and issubclass(found, expected)
    if isinstance(found, type) or len(found) != len(expected):
        return False
    for x, y in zip(found, expected, strict=True):
        are_numbers = y.dtype.kind in "fc"
        if x.dtype.newbyteorder("=") != y.dtype.newbyteorder("=") or x.shape != y.shape:
            return False
        rtol = 100 * numpy.finfo(y.dtype).eps if are_numbers else 0
        is_near = numpy.allclose(x, y, rtol, 0, equal_nan=True) if are_numbers else numpy.array_equal(x, y)
        if not is_near:
            return False
    return True


@pytest.mark.parametrize("x64", [False, True])
def test_values_dtypes_shapes_and_exceptions(x64):
    wrong = []
    with jax.enable_x64(x64):
        for statement in STATEMENTS.strip().splitlines():
            found = outcome(statement, xp)
            expected = outcome(statement, numpy)
            if not are_same(found, expected):
                wrong.append((statement, found, expected))
    assert not wrong


REFUSED = """
n.ptp(n.array([1.5, 2.0]), out=n.zeros((), int))
n.ptp(n.array([1, 2]), out=n.zeros((), 'uint64'))
n.nanstd(n.array([1, 2, 7]), out=n.zeros((), int))
n.std([[1, 2], [3, 4]], axis=0, dtype=int)
n.std([1, 2], keepdims=True, dtype=int)
n.nanstd([[1, 2], [3, 4]], axis=0, dtype=int)
"""


@pytest.mark.parametrize("statement", REFUSED.strip().splitlines())
def test_results_that_out_does_not_hold(statement):
    for n in (numpy, xp):
        with pytest.raises(TypeError, match=r"(?i)cannot cast"):
            eval(statement, {"n": n})


FOLDS = """
all any cumprod cumsum max mean median min nancumprod nancumsum nanmax nanmedian nanmin nanprod nansum prod
ptp std sum var
"""


@pytest.mark.parametrize("name", FOLDS.split())
def test_results_cast_to_out(name):
    for elements in ([[1.5, 2.0], [3.0, 4.0]], [[1, 2], [3, 4]]):
        for dtype in ("int64", "int8", "float32", "bool"):
            made = []
            for n in (xp, numpy):
                out = n.zeros((2, 2) if "cum" in name else 2, dtype=dtype)
                try:
                    getattr(n, name)(n.array(elements), axis=0, out=out)
                    made.append(numpy.asarray(out))
                except TypeError:
                    made.append(numpy.asarray("TypeError"))
            numpy.testing.assert_array_equal(made[0], made[1], strict=True)


@pytest.mark.parametrize("name", ["add", "fmax", "hypot", "logical_and", "maximum", "minimum", "multiply"])
def test_folds_of_ufuncs_cast_to_out(name):
    for dtype in ("int64", "int8", "float32", "bool"):
        made = []
        for n in (xp, numpy):
            out = n.zeros(2, dtype=dtype)
            getattr(n, name).reduce(n.array([[1.5, 2.0], [3.0, 4.0]]), out=out)
            made.append(numpy.asarray(out))
        numpy.testing.assert_array_equal(made[0], made[1], strict=True)


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin", "argmax", "argmin"])
def test_positions_go_into_integers(name):
    with pytest.raises(TypeError, match="safe"):
        getattr(xp, name)(xp.ones((2, 2)), axis=0, out=xp.zeros(2))
    out = xp.ones(2, dtype=int)
    assert getattr(xp, name)(xp.ones((2, 2)), axis=0, out=out) is out
    assert out.tolist() == [0, 0]
