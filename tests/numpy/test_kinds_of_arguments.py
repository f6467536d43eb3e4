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
    try:
        made = eval(statement, names)
    except Exception as error:
        return type(error)
    return [numpy.asarray(x) for x in (made if isinstance(made, (list, tuple)) else [made])]


def are_same(found, expected) -> bool:
    if isinstance(expected, type):
        return isinstance(found, type) and issubclass(found, expected)
    if isinstance(found, type) or len(found) != len(expected):
        return False
    for x, y in zip(found, expected, strict=True):
        are_numbers = y.dtype.kind in "fc"
        if x.dtype != y.dtype or x.shape != y.shape:
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
