"""The other repaired functions, chapter by chapter, against NumPy over dtypes and shapes."""

import functools
import math

import jax
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from small_arrays import COMPLEX, FLOATS, INTS, arrays, axis_of, default_int

import jaxapi as xp


class TestAllAny:
    @pytest.mark.parametrize("name", ["all", "any"])
    @given(data=st.data())
    def test_numpys(self, name, data):
        x = data.draw(arrays())
        axis, keepdims = axis_of(data, x, several=True), data.draw(st.booleans())
        out = getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keepdims)
        assert out.dtype == bool
        np.testing.assert_array_equal(np.asarray(out), getattr(np, name)(x, axis=axis, keepdims=keepdims))

    def test_imaginary_parts_count(self, x64):
        x = xp.asarray([[0, 1j], [0, complex(0, np.nan)], [0, 0]])
        assert xp.any(x, axis=1).tolist() == [True, True, False]
        assert xp.all(x[:2, 1:]).item()


class TestExtremes:
    @pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
    @given(data=st.data())
    def test_numpys(self, name, data):
        x = data.draw(arrays([*INTS, *FLOATS], [(), (4,), (2, 3), (1, 3, 2)]))
        axis, keepdims = axis_of(data, x), data.draw(st.booleans())
        out = getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keepdims)
        assert out.dtype == (default_int() if name.startswith("arg") else x.dtype)
        np.testing.assert_array_equal(np.asarray(out), getattr(np, name)(x, axis=axis, keepdims=keepdims))

    @pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
    def test_64_bits(self, name, x64):
        for x in (
            [2**60, 2**60 + 1, 2**60 - 1],
            np.array([5, 2**64 - 1, 2**63], "uint64"),
            [0.1, 1e300, -1e300],
        ):
            x = np.asarray(x)
            for function in (getattr(xp, name), jax.jit(getattr(xp, name))):
                out = function(xp.asarray(x))
                assert out.dtype == (default_int() if name.startswith("arg") else x.dtype)
                assert out.item() == getattr(np, name)(x)
            assert getattr(xp, name)(x).item() == getattr(np, name)(x)
            columns = np.stack([x, x[::-1]])
            each = jax.vmap(getattr(xp, name))(xp.asarray(columns))
            np.testing.assert_array_equal(np.asarray(each), getattr(np, name)(columns, axis=1))

    @pytest.mark.parametrize("name", ["argmax", "argmin"])
    def test_the_first_nan_or_zero_counts(self, name, x64):
        for x in ([1.0, np.nan, 7.0, np.nan, 0.0], [0.0, -0.0, 0.0], [-0.0, 0.0]):
            assert getattr(xp, name)(xp.asarray(np.asarray(x))).item() == getattr(np, name)(x)

    @pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
    def test_one_nan_among_thousands(self, name, x64):
        """XLA's own reductions on the CPU lose it."""
        for dtype in (np.float32, np.float64):
            x = np.linspace(-5, 5, 120 * 110, dtype=dtype).reshape(120, 110)
            x[37, 59] = np.nan
            for axis in (None, 0, 1):
                found = getattr(xp, name)(xp.asarray(x), axis=axis)
                np.testing.assert_array_equal(np.asarray(found), getattr(np, name)(x, axis=axis))

    @pytest.mark.parametrize("name", ["max", "min"])
    def test_initial_and_where(self, name):
        x, where = np.array([[1.0, 9.0], [5.0, -7.0]]), np.array([[True, False], [True, False]])
        options = {"axis": [0], "initial": 3.0, "where": where}
        out = getattr(xp, name)(xp.asarray(x), **options)
        np.testing.assert_array_equal(np.asarray(out), getattr(np, name)(x, **{**options, "axis": 0}))

    @pytest.mark.parametrize("name", ["max", "min"])
    @pytest.mark.parametrize(
        ("x", "initial"),
        [
            (np.array([0.01, 0.2]), 0.1),
            (np.array([0.01, 0.2]), np.float64(0.1)),
            (np.array([5, 2**60]), 2**40 + 1),
            (np.array([5, 2**63], "uint64"), np.uint64(2**63 - 1)),
            (np.array([5, 9], "int8"), 7),
        ],
    )
    def test_initial_keeps_its_digits(self, name, x, initial, x64):
        expected = getattr(np, name)(x[:1], initial=initial)
        function = functools.partial(getattr(xp, name), initial=initial)
        for out in (function(xp.asarray(x[:1])), jax.jit(function)(xp.asarray(x[:1]))):
            assert out.dtype == x.dtype
            assert out.item() == expected
        for where in ([True, False], np.array([True, False])):
            assert function(xp.asarray(x), where=where).item() == expected

    @pytest.mark.parametrize("name", ["max", "min"])
    def test_initial_out_of_range(self, name, x64):
        x = xp.asarray([1, 2], dtype=xp.int32)
        for initial in (2**40, np.int64(2**40)):
            with pytest.raises(OverflowError, match="out of bounds for int32"):
                getattr(xp, name)(x, initial=initial)
        with pytest.raises(TypeError, match="complex"):
            getattr(xp, name)(x, initial=1j)

    def test_errors(self):
        for name in ("max", "min", "argmax", "argmin"):
            for empty in (xp.zeros(0), xp.asarray(np.zeros(0)), xp.asarray(np.zeros(0, int))):
                with pytest.raises(ValueError, match=r"zero-size|empty"):
                    getattr(xp, name)(empty)
        for name in ("argmax", "argmin"):
            for axis in ((0, 1), 1.0):
                with pytest.raises(TypeError, match=r"integer"):
                    getattr(xp, name)(xp.zeros((2, 2)), axis=axis)


class TestSearchsorted:
    @given(data=st.data())
    def test_numpys(self, data):
        x1 = np.sort(data.draw(arrays([*INTS, *FLOATS], [(4,), (0,)])))
        x2 = data.draw(arrays([x1.dtype], [(), (4,), (2, 3)]))
        side = data.draw(st.sampled_from(["left", "right"]))
        out = xp.searchsorted(xp.asarray(x1), xp.asarray(x2), side=side)
        assert out.dtype == default_int()
        np.testing.assert_array_equal(np.asarray(out), np.searchsorted(x1, x2, side=side))

    @pytest.mark.parametrize("side", ["left", "right"])
    def test_sorter_and_scalars(self, side, x64):
        for x1, values in (
            (np.array([5.5, 1.5, 3.5]), [1.5, 2, 9e300]),
            (np.array([2**40, 3, 2**31], "uint64"), [3, 2**40, 2**63 + 1]),
            (np.array([7, 2**32 - 1, 9], "uint32"), [7, 2**31, 2**32 - 1]),
        ):
            order = np.argsort(x1)
            for value in values:
                out = xp.searchsorted(xp.asarray(x1), value, side=side, sorter=xp.asarray(order))
                assert out.dtype == default_int()
                assert out.item() == np.searchsorted(x1, x1.dtype.type(value), side=side, sorter=order)

    def test_errors(self):
        x = xp.asarray([1, 2], dtype=xp.int8)
        with pytest.raises(ValueError, match="1-dim"):
            xp.searchsorted(xp.ones((2, 2)), 1.0)
        with pytest.raises(ValueError, match="side"):
            xp.searchsorted(x, x, side="middle")
        with pytest.raises(OverflowError):
            xp.searchsorted(x, 300)
        with pytest.raises(ValueError, match="sorter"):
            xp.searchsorted(x, x, sorter=[0])


class TestIsin:
    @given(data=st.data())
    def test_by_value(self, data):
        x1, x2 = data.draw(arrays(INTS)), data.draw(arrays(INTS))
        invert = data.draw(st.booleans())
        members = set(x2.ravel().tolist())
        expected = np.array([(x in members) != invert for x in x1.ravel().tolist()], bool).reshape(x1.shape)
        out = xp.isin(xp.asarray(x1), xp.asarray(x2), invert=invert)
        np.testing.assert_array_equal(np.asarray(out), expected)

    def test_signedness(self, x64):
        negative, large = xp.asarray([-1, 2**62 + 1], dtype=xp.int64), xp.asarray(2**64 - 1, dtype=xp.uint64)
        assert xp.isin(negative, large).tolist() == [False, False]
        assert xp.isin(large, negative).tolist() is False
        assert xp.isin(negative, xp.asarray([2**62], dtype=xp.uint64)).tolist() == [False, False]
        assert xp.isin(negative, xp.asarray([2**62 + 1, 3], dtype=xp.uint64)).tolist() == [False, True]
        narrow = xp.asarray([2**32 - 1], dtype=xp.uint32)
        assert xp.isin(narrow, xp.asarray([-1], dtype=xp.int32)).tolist() == [False]

    def test_scalars(self, x64):
        x = xp.asarray([2**40, 3], dtype=xp.int64)
        assert xp.isin(x, 2**40).tolist() == [True, False]
        assert xp.isin(2**40, x).tolist() is True
        assert xp.isin(3, x, invert=True).tolist() is False
        for x, scalar in (
            (np.array([0.1, 0.2]), 0.1),
            (np.array([0.1, 1j]), 0.1),
            (np.array([0.1 + 1j, 1j]), 0.1 + 1j),
        ):
            for isin in (xp.isin, jax.jit(xp.isin, static_argnums=1)):
                assert isin(xp.asarray(x), scalar).tolist() == [True, False]
        with pytest.raises(OverflowError):
            xp.isin(xp.asarray([1], dtype=xp.int8), 300)

    def test_numpys_arrays_and_lists(self, x64):
        x = np.array([2**40 + 1, 1])
        assert xp.isin(x, np.array([1])).tolist() == [False, True]
        assert xp.isin([1, 2, 3], [2, 5]).tolist() == [False, True, False]

    def test_inside_of_jit(self, x64):
        x, unsigned = xp.asarray([-1, 2**62 + 1], dtype=xp.int64), xp.asarray([2**62 + 1], dtype=xp.uint64)
        assert jax.jit(xp.isin)(x, unsigned).tolist() == [False, True]
        narrow = xp.asarray([2**32 - 1, 7], dtype=xp.uint32), xp.asarray([-1, 7], dtype=xp.int32)
        assert jax.jit(xp.isin)(*narrow).tolist() == [False, True]

    def test_floats(self):
        x = xp.asarray([0.5, math.nan, 2.0])
        assert xp.isin(x, xp.asarray([2.0, math.nan])).tolist() == [False, False, True]


class TestVectorProducts:
    @pytest.mark.parametrize("name", ["outer", "cross"])
    @given(data=st.data())
    def test_integers(self, name, data):
        shapes = [(3,)] if name == "outer" else [(3,), (2, 3), (2, 1, 3)]
        x, y = (data.draw(arrays(INTS, shapes)) for _ in range(2))
        assume(np.result_type(x, y).kind in "iu")  # not uint64 with a signed integer
        for x64 in (False, True):
            with jax.enable_x64(x64):
                out = getattr(xp.linalg, name)(xp.asarray(x), xp.asarray(y))
            expected = getattr(np, name)(x, y)
            assert out.dtype == expected.dtype
            np.testing.assert_array_equal(np.asarray(out), expected)


@pytest.mark.parametrize("name", ["mean", "std", "var"])
class TestMoments:
    @pytest.mark.thorough
    @pytest.mark.daily("mean")
    def test_axes(self, name):
        x = np.arange(24.0).reshape(2, 3, 4)
        with pytest.raises(np.exceptions.AxisError):
            getattr(xp, name)(x, axis=(0, 3))
        for axis in (None, 1, -1, (0, -1), [0, 1], ()):
            expected = getattr(np, name)(x, axis=tuple(axis) if isinstance(axis, list) else axis)
            np.testing.assert_allclose(getattr(xp, name)(x, axis=axis), expected)
            np.testing.assert_allclose(getattr(xp, name)(x, axis), expected)
            assert getattr(xp, name)(x, axis=axis, keepdims=True).ndim == 3


class TestCumulativeProd:
    @pytest.mark.daily
    @given(data=st.data())
    def test_numpys(self, data):
        x = data.draw(arrays([*INTS, *FLOATS, *COMPLEX], [(4,), (2, 3), (0,), (1, 3, 2)]))
        if x.dtype.kind == "c":  # where a product overflows, nan depends on its order
            x = np.where(np.abs(x) < 1e6, x, x.dtype.type(1 - 2j))
        axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
        out = xp.cumulative_prod(xp.asarray(x), axis=axis)
        assert out.dtype == xp.cumulative_sum(xp.asarray(x), axis=axis).dtype
        with np.errstate(all="ignore"):
            expected = np.cumprod(x, axis=axis, dtype=out.dtype)
        np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-6)

    def test_initial_and_dtype(self, x64):
        x = xp.asarray([[100, 100, 100]], dtype=xp.int8)
        out = xp.cumulative_prod(x, axis=1, include_initial=True)
        assert (out.dtype, out.tolist()) == (default_int(), [[1, 100, 10**4, 10**6]])
        out = xp.cumulative_prod(x[0], dtype=xp.float64)
        assert (out.dtype, out.tolist()) == ("float64", [100, 10**4, 10**6])
        assert xp.cumulative_prod(xp.asarray([2], dtype=xp.uint8)).dtype == default_int().replace(
            "i", "ui", 1
        )

    def test_errors(self):
        for x, axis in ((xp.ones(()), None), (xp.ones((2, 2)), None), (xp.ones(2), 1)):
            with pytest.raises(ValueError, match=r"scalar|axis|bounds"):
                xp.cumulative_prod(x, axis=axis)
