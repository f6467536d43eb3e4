"""Statements of NumPy's own tests that once gave another value, or raised, on a device."""

import collections
import operator

import numpy as np
import pytest

import jaxapi.numpy as ours
from tests.numpy.test_statements import check_same

Place = collections.namedtuple("Place", ["row", "column"])


def written(n, key, value):
    a = n.arange(6).reshape(2, 3)
    a[key] = value
    return a


def written_flat(n, key, value, added=0):
    a = n.arange(12).reshape(3, 4)
    a.flat[key] = value
    a.flat[key] += added
    return a


def clipped(n, casting):
    out = n.zeros(3, "int32")
    n.array([1.5, 2.7, 9.0]).clip(2, 5, out=out, casting=casting)
    return out


WAYS_TO_WRITE = {
    "setitem": lambda n, a, value: a.__setitem__(slice(1), value),
    "put": lambda n, a, value: a.put([0], value),
    "putmask": lambda n, a, value: n.putmask(a, [True, False], value),
    "place": lambda n, a, value: n.place(a, n.array([True, False]), value),
    "fill_diagonal": lambda n, a, value: n.fill_diagonal(a.reshape(1, 2), value),
}


def filled(n, dtype, how, value):
    a = n.zeros(2, dtype)
    WAYS_TO_WRITE[how](n, a, value)
    return a


NAMES = {
    "filled": filled,
    "Place": Place,
    "written": written,
    "written_flat": written_flat,
    "clipped": clipped,
    "operator": operator,
}
STATEMENTS = """
n.piecewise([0, 0], n.array([1, 0]), [1])
n.piecewise([0, 0], [n.array([1, 0])], [1])
n.piecewise([0, 0], [[False, True]], [lambda x: -1])
n.piecewise(n.array(3), n.array(3) > 3, [4, 0])
n.piecewise(n.array([[1, 2]]), n.array([[[1, 0]], [[0, 2]]]), [10, lambda x: x * 2, -1])
n.select([True], [0], default=[0])
n.select([n.array([[True, False]])], [[[1, 2]]], default=[[7], [8]])
n.arange(12).reshape(3, 4).flat[n.array([1, 3, 5])]
n.arange(12).reshape(3, 4).flat[n.array([[1, 3], [5, 0]])]
n.arange(12).reshape(3, 4).flat[n.arange(12) > 5]
written_flat(n, n.array([1, 3, 5]), 10, added=1000)
written_flat(n, n.array([], int), 10)
written_flat(n, n.array([1, 3, 5], 'int16'), n.array([7, 8]))
written_flat(n, slice(2, 8, 2), [1, 2])
n.arange(12).flat[None]
n.arange(12).flat[1, 2]
clipped(n, 'unsafe')
clipped(n, 'same_kind')
n.isclose(n.float32(1), 1 + 1e-10, atol=0, rtol=0)
n.isclose(n.array([1], 'float32'), 1 + 1e-10, atol=0, rtol=0)
n.isclose(n.array([2**53 + 1]), n.array([2.0**53], 'float32'), rtol=0, atol=0)
n.allclose(n.array([1], 'float16'), 1.0002, atol=0, rtol=0)
n.arange(6).reshape(2, 3)[Place(1, 2)]
n.arange(6).reshape(2, 3)[Place([1], slice(1, None))]
(n.arange(6).reshape(2, 3) + 1)[Place(n.array([0, 1]), n.array([1, 2]))]
(n.arange(6).reshape(2, 3) + 1)[Place(n.array([True, False]), slice(1, None))]
written(n, Place(1, 2), 9)
written(n, Place(slice(None), 1), n.array([7, 8]))
written(n, Place(n.array([0, 1]), n.array([1, 2])), 5)
n.interp([], [1.0, 2], [3.0, 4])
n.interp(0.5, [], [])
n.array([1.0, 2], 'float32') ** 1j
n.array([1.0, 2], 'float64') ** (1 + 1j)
n.power(n.array([1.0, 2], 'float32'), complex(2))
operator.iadd(n.array([1.0, 2], 'float32'), 1j)
operator.ipow(n.array([1.0, 2], 'float32'), 1j)
written(n, slice(1, None), 1j)
n.put(n.arange(6), 0, 1j)
n.put(n.zeros(6), 0, 1j)
n.linalg.norm(n.array([1, 2, 3], 'float16'), 2)
n.linalg.norm(n.array([[1, 2], [3, 4]], 'float16'), 2, axis=1)
n.linalg.norm(n.array([[1, 2], [3, 4]], 'float16'), 2)
n.isin([1], [2], kind='quicksort')
n.isin(n.array([1, 2]), [2], kind='sort')
n.asarray(2**64 - 1)
n.isin(n.zeros(2, 'int8'), 256)
n.isin(n.array([255], 'uint8'), -1)
n.isin(n.array([1.0, 2.0]), [1.0], kind='table')
n.isin(n.array([1, 2]), [1], kind='table')
n.arange(6).reshape(2, 3).flat[(1,)]
n.equal.reduce(n.array([1, 2, 2]), dtype=bool)
n.less.reduce(n.array([0.0, 2.0, 0.0]), dtype=bool)
n.equal.reduce(n.array([1, 2, 2]))
n.add.reduce(n.array([1.5, 2.5]), dtype=int)
n.delete(n.arange(4), n.array([]))
n.delete(n.arange(4), [])
n.insert(n.arange(4), n.array([]), 1)
n.insert(n.arange(4), [], 1)
n.insert(n.zeros(2, 'int8'), 0, 300.7)
n.insert(n.zeros(2, 'int8'), 0, 3.7)
n.insert(n.zeros(2, 'int64'), 0, [1e300])
n.insert(n.zeros(2, 'int64'), 0, n.nan)
n.insert(n.zeros(2), 0, 1j)
n.pad(n.zeros(2, 'int8'), 1, constant_values=300.7)
n.pad(n.zeros(2, 'int64'), 1, constant_values=n.nan)
n.pad(n.zeros(2, 'int8'), 1, constant_values=3.7)
n.nan_to_num(n.zeros(2), nan=1j)
n.arange(1j, 3, dtype='float64')
n.sum(n.zeros(2), initial=1j)
n.sum(n.zeros(2, int), initial=1j)
n.prod(n.ones(2, 'float32'), initial=1j)
n.max(n.zeros(2, 'complex64'), initial=n.nan)
n.min(n.ones(2, 'complex64'), initial=2)
filled(n, 'int8', 'setitem', 300.7)
filled(n, 'int8', 'setitem', [300.7])
filled(n, 'int8', 'setitem', [3.7])
filled(n, 'uint8', 'setitem', -1.5)
filled(n, 'int64', 'setitem', [1e300])
filled(n, 'int64', 'setitem', n.inf)
filled(n, 'int32', 'setitem', n.nan)
filled(n, 'int8', 'setitem', [True])
filled(n, 'float32', 'setitem', [2**70])
filled(n, 'float32', 'setitem', 1j)
filled(n, 'int8', 'put', 300.7)
filled(n, 'int8', 'put', [300.7])
filled(n, 'int8', 'put', [3.7])
filled(n, 'uint8', 'put', -1.5)
filled(n, 'int64', 'put', [1e300])
filled(n, 'int64', 'put', n.inf)
filled(n, 'int32', 'put', n.nan)
filled(n, 'int8', 'put', [True])
filled(n, 'float32', 'put', [2**70])
filled(n, 'float32', 'put', 1j)
filled(n, 'int8', 'putmask', 300.7)
filled(n, 'int8', 'putmask', [300.7])
filled(n, 'int8', 'putmask', [3.7])
filled(n, 'uint8', 'putmask', -1.5)
filled(n, 'int64', 'putmask', [1e300])
filled(n, 'int64', 'putmask', n.inf)
filled(n, 'int32', 'putmask', n.nan)
filled(n, 'int8', 'putmask', [True])
filled(n, 'float32', 'putmask', [2**70])
filled(n, 'float32', 'putmask', 1j)
filled(n, 'int8', 'place', 300.7)
filled(n, 'int8', 'place', [300.7])
filled(n, 'int8', 'place', [3.7])
filled(n, 'uint8', 'place', -1.5)
filled(n, 'int64', 'place', [1e300])
filled(n, 'int64', 'place', n.inf)
filled(n, 'int32', 'place', n.nan)
filled(n, 'int8', 'place', [True])
filled(n, 'float32', 'place', [2**70])
filled(n, 'float32', 'place', 1j)
filled(n, 'float64', 'fill_diagonal', 1j)
filled(n, 'int8', 'putmask', n.float64(3.5))
filled(n, 'int8', 'putmask', n.array([3.5]))
"""


def outcome(statement, n):
    try:
        return eval(statement, {"n": n, **NAMES})
    except Exception as error:
        return error


@pytest.mark.parametrize("statement", STATEMENTS.strip().splitlines())
def test_the_value_or_the_exception_is_numpys(statement, x64):
    check_same(outcome(statement, ours), outcome(statement, np))


def test_nothing_is_interpolated_between_nothing(way):
    """NumPy before 2.5 raised; where it computes, it is asked."""
    if way == "jaxs":
        check_same(ours.interp([], [], []), np.zeros(0))
