"""Random expressions of arrays and Python numbers: fused they are what NumPy makes of them, to the last bit.

All values are small whole numbers, so that no order of operations rounds; integers may wrap.
"""

import operator

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxapi as xp
from jaxapi import fuse

INTEGERS = ["int8", "int32", "int64", "uint8", "uint32"]
FLOATS = ["float32", "float64"]
SHAPES = [((), ()), ((), (3,)), ((2, 1), (3,)), ((2, 3), (2, 3)), ((0, 3), (3,))]
ARITHMETIC = [operator.add, operator.sub, operator.mul]
FUNCTIONS = ["maximum", "minimum"]
REDUCTIONS = ["max", "min", "sum"]


def binary(operation):
    """Return the operation as (function of a namespace and its operands)."""
    if callable(operation):
        return lambda namespace, a, b: operation(a, b)
    return lambda namespace, a, b: getattr(namespace, operation)(a, b)


def choice(namespace, a, b):
    return namespace.where(a > b, a, namespace.abs(b))


def weighted(namespace, a, b):
    return a * 3 - b * 2


def leaf(name):
    return lambda namespace, values: values[name]


def apply(function, a, b):
    return lambda namespace, values: function(namespace, a(namespace, values), b(namespace, values))


def reduce(name, axis, a):
    def reduced(namespace, values):
        x = a(namespace, values)
        if x.size == 0 or x.ndim == 0:
            return x
        options = {"dtype": x.dtype} if name == "sum" else {}
        return getattr(namespace, name)(x, axis=axis, keepdims=True, **options)

    return reduced


ARRAYS = st.sampled_from([leaf("x"), leaf("y")])
OPERATIONS = st.sampled_from([*map(binary, [*ARITHMETIC, *FUNCTIONS]), choice, weighted])
EXPRESSIONS = st.recursive(
    ARRAYS,
    lambda arrays: st.one_of(
        st.builds(apply, OPERATIONS, arrays, arrays),
        st.builds(apply, st.sampled_from([binary(f) for f in ARITHMETIC]), arrays, st.just(leaf("n"))),
        st.builds(reduce, st.sampled_from(REDUCTIONS), st.sampled_from([None, -1]), arrays),
    ),
    max_leaves=6,
)


def result_or_error(function, *args):
    try:
        with np.errstate(over="ignore"):
            return np.asarray(function(*args))
    except OverflowError:
        return OverflowError


@pytest.mark.parametrize("dtypes", [INTEGERS, FLOATS], ids=["integers", "floats"])
def test_fused_is_numpy(dtypes, x64):
    @given(st.data())
    def compare(data):
        dtype = data.draw(st.sampled_from(dtypes))
        shapes = data.draw(st.sampled_from(SHAPES))
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        x, y = (rng.integers(0, 4, shape).astype(dtype) for shape in shapes)
        numbers = [-1, 0, 2, 3] + ([200, 2**31, 2**40] if dtype in INTEGERS else [0.0, -2.0, True])
        n = data.draw(st.sampled_from(numbers))
        expression = data.draw(EXPRESSIONS)

        def of(namespace):
            return lambda x, y, n: expression(namespace, {"x": x, "y": y, "n": n})

        expected = result_or_error(of(np), x, y, n)
        fused = fuse(of(xp))
        for function, args in ((fused, (x, y, n)), (fused, (x, jax.device_put(y), n)), (fused, (x, y, n))):
            if args[1] is not y and dtype.endswith("64") and not x64:
                continue  # device_put itself would narrow it
            found = result_or_error(function, *args)
            if expected is OverflowError or found is OverflowError:
                assert found is expected
                continue
            assert found.dtype == expected.dtype
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found, expected)

    compare()
