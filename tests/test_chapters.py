"""The other repaired functions, chapter by chapter, against NumPy over dtypes and shapes."""

import functools
import math

import array_api_strict as strict
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import jaxapi as xp

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
ALL = ["bool", *INTS, *FLOATS, *COMPLEX]
SHAPES = [(), (4,), (2, 3), (0,), (2, 0, 3), (1, 3, 2)]


@st.composite
def arrays(draw, dtypes=ALL, shapes=SHAPES):
    """Draw a small NumPy array: of few shapes, so that few programs are compiled."""
    dtype, shape = np.dtype(draw(st.sampled_from(dtypes))), draw(st.sampled_from(shapes))
    if dtype.kind == "b":
        values = st.booleans()
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = st.integers(int(info.min), int(info.max)) | st.integers(0, 3)
    else:
        values = st.sampled_from([-np.inf, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, np.inf, np.nan])
        if dtype.kind == "c":
            values = st.builds(complex, values, values)
    size = math.prod(shape)
    return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype).reshape(shape)


def axis_of(data, x, several=False):
    axes = st.none()
    if x.ndim:
        axes |= st.integers(-x.ndim, x.ndim - 1)
    if several and x.ndim > 1:
        axes |= st.just((0, -1))
    return data.draw(axes, label="axis")


def default_int():
    return "int64" if jax.config.jax_enable_x64 else "int32"


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
            with pytest.raises(ValueError, match="out of bounds"):
                getattr(xp, name)(xp.zeros(2), axis=1)
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
    @pytest.mark.parametrize("axis", [1, -2, (0, 3)])
    def test_an_axis_out_of_range(self, name, axis):
        with pytest.raises(np.exceptions.AxisError):
            getattr(xp, name)([1.0, 2.0], axis=axis)

    def test_axes(self, name):
        x = np.arange(24.0).reshape(2, 3, 4)
        for axis in (None, 1, -1, (0, -1), [0, 1], ()):
            expected = getattr(np, name)(x, axis=tuple(axis) if isinstance(axis, list) else axis)
            np.testing.assert_allclose(getattr(xp, name)(x, axis=axis), expected)
            np.testing.assert_allclose(getattr(xp, name)(x, axis), expected)
            assert getattr(xp, name)(x, axis=axis, keepdims=True).ndim == 3


class TestCumulativeProd:
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


class TestManipulation:
    @given(x=arrays(shapes=[(), (4,), (2, 0, 3)]), axis=st.integers(-4, 4) | st.just((0, -1)))
    def test_expand_dims(self, x, axis):
        try:
            expected = np.expand_dims(x, axis)
        except np.exceptions.AxisError:
            with pytest.raises(np.exceptions.AxisError):
                xp.expand_dims(xp.asarray(x), axis)
        else:
            np.testing.assert_array_equal(np.asarray(xp.expand_dims(xp.asarray(x), axis)), expected)

    def test_expand_dims_errors(self):
        with pytest.raises(IndexError):
            xp.expand_dims(xp.ones(2), 2)
        with pytest.raises(ValueError, match=r"repeated|duplicate|unique"):
            xp.expand_dims(xp.ones(2), (0, 0))
        with pytest.raises(TypeError):
            xp.expand_dims(xp.ones(2), 0.5)

    @pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (-1, 0, -2), [1, 2, 0]])
    def test_permute_dims(self, axes):
        x = np.arange(24).reshape(2, 3, 4)
        np.testing.assert_array_equal(np.asarray(xp.permute_dims(xp.asarray(x), axes)), np.transpose(x, axes))

    @pytest.mark.parametrize("axes", [(0, 2), (0, 0), (0, -2), (0,), (0, 1, 2), (-3, 0)])
    def test_permute_dims_errors(self, axes):
        with pytest.raises(ValueError, match=r"permutation|repeated|out of bounds"):
            xp.permute_dims(xp.ones((2, 3)), axes)

    def test_permute_dims_takes_integers(self):
        assert xp.permute_dims(xp.ones((2, 3)), np.array([1, 0])).shape == (3, 2)
        for axes in (0, (0, 1.0)):
            with pytest.raises(TypeError):
                xp.permute_dims(xp.ones((2, 3)), axes)

    @pytest.mark.parametrize("shape", [5, (2, 4), (), (-1, 4), (-1, -1), (-2, -3), (3, -2), (0, -1)])
    def test_shapes_that_do_not_fit(self, shape):
        for x in (xp.ones(6), xp.ones((0, 3))) if shape == (0, -1) else (xp.ones(6),):
            for function in (xp.reshape, jax.jit(xp.reshape, static_argnums=1)):
                with pytest.raises(ValueError, match="reshape"):
                    function(x, shape)

    @pytest.mark.parametrize("shape", [6, (2, 3), (-1,), (3, -1), (1, 6, 1), [2, -1]])
    def test_reshape(self, shape):
        x = np.arange(6)
        for order in ("C", "F"):
            np.testing.assert_array_equal(xp.reshape(x, shape, order=order), x.reshape(shape, order=order))
        np.testing.assert_array_equal(xp.reshape(x, shape=shape, copy=True), x.reshape(shape))
        assert xp.reshape(xp.ones((0, 3)), (3, -1)).shape == (3, 0)
        assert xp.reshape(3, (1, -1)).shape == (1, 1)

    @pytest.mark.parametrize("repeats", [-1, [1, -1], np.array([-1, 3])])
    def test_negative_numbers_of_repeats(self, repeats):
        with pytest.raises(ValueError, match="negative"):
            xp.repeat([1, 2], repeats)
        with pytest.raises(ValueError, match="negative"):
            xp.tile([1, 2], repeats)

    @pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
    def test_indices_and_repeats_of_narrow_dtypes(self, dtype, x64):
        """Which JAX adds to lengths that the dtype cannot hold."""
        x = np.arange(40_000)
        last = [-1, -100, 5] if dtype[0] == "i" else [200, 255]
        indices = np.asarray(last, dtype)
        repeats = np.asarray([100, 100], dtype)
        for convert in (xp.asarray, np.asarray):
            np.testing.assert_array_equal(xp.take(x, convert(indices)), x[indices])
            np.testing.assert_array_equal(xp.take_along_axis(x, convert(indices)), x[indices])
            np.testing.assert_array_equal(xp.repeat(x[:2], convert(repeats)), np.repeat(x[:2], repeats))
        traced = jax.jit(lambda n: xp.repeat(xp.asarray(x[:2]), n, total_repeat_length=200))
        np.testing.assert_array_equal(traced(xp.asarray(repeats)), np.repeat(x[:2], repeats))
        np.testing.assert_array_equal(jax.jit(xp.take)(xp.asarray(x), xp.asarray(indices)), x[indices])

    @pytest.mark.parametrize("repeats", [1.5, [1.0, 2.0], [1j]])
    def test_repeats_that_are_no_integers(self, repeats):
        with pytest.raises(TypeError, match="integers"):
            xp.repeat([1, 2], repeats)

    def test_repeats_that_are_known_inside_of_jit(self, x64):
        x = xp.asarray([5, 7])
        for repeats in ([2, 1], np.array([2, 1]), np.array([2, 1], "int8"), xp.asarray([2, 1])):
            assert jax.jit(lambda x, n=repeats: xp.repeat(x, n))(x).tolist() == [5, 5, 7]
            assert xp.repeat(x, repeats).tolist() == [5, 5, 7]

    def test_traced_repeats(self):
        x, repeats = xp.asarray([5, 7]), xp.asarray([2, 1])
        out = jax.jit(lambda n: xp.repeat(x, n, total_repeat_length=3))(repeats)
        assert out.tolist() == [5, 5, 7]

    def test_broadcast_arrays(self):
        x, y = xp.ones((3, 1), dtype="int8"), xp.zeros(2)
        out = xp.broadcast_arrays(x, y)
        assert isinstance(out, tuple)
        assert [(part.shape, part.dtype) for part in out] == [((3, 2), x.dtype), ((3, 2), y.dtype)]
        with pytest.raises(ValueError, match=r"broadcast|shape"):
            xp.broadcast_arrays(xp.ones(3), xp.ones(2))

    @pytest.mark.parametrize("indexing", ["xy", "ij"])
    def test_meshgrid(self, indexing):
        x, y = np.arange(3), np.arange(2.0)
        out = xp.meshgrid(xp.asarray(x), xp.asarray(y), indexing=indexing)
        assert isinstance(out, tuple)
        for part, expected in zip(out, np.meshgrid(x, y, indexing=indexing), strict=True):
            np.testing.assert_array_equal(np.asarray(part), expected)
        with pytest.raises(ValueError, match="indexing"):
            xp.meshgrid(xp.ones(2), indexing="yx")


class TestDtypes:
    @pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX, "float16", "bfloat16"])
    def test_finfo(self, dtype):
        info, limits = xp.finfo(jnp.dtype(dtype)), jnp.finfo(dtype)
        for name in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(info, name)) is float
            assert getattr(info, name) == float(getattr(limits, name))
        assert type(info.bits) is int
        assert info.dtype == limits.dtype
        assert xp.finfo(xp.ones(2, dtype=jnp.dtype(dtype))) == info

    def test_finfo_errors(self):
        with pytest.raises(ValueError, match="int32"):
            xp.finfo(xp.int32)

    @given(dtypes=st.lists(st.sampled_from(ALL), min_size=1, max_size=3), data=st.data())
    def test_result_type_is_the_standards(self, dtypes, data):
        try:
            expected = strict.result_type(*(getattr(strict, dtype) for dtype in dtypes))
        except TypeError:  # kinds the standard does not mix
            return
        name = str(expected).split(".")[-1]
        for x64 in (False, True):
            with jax.enable_x64(x64):
                assert (
                    xp.result_type(*(getattr(xp, dtype) for dtype in dtypes)) == str(expected).split(".")[-1]
                )
                first = xp.ones(1, dtype=getattr(xp, dtypes[0]))
                rest = (getattr(xp, dtype) for dtype in dtypes[1:])
                assert xp.result_type(first, *rest) == name

    def test_result_type_of_scalars(self, x64):
        double = "float64" if x64 else "float32"
        assert xp.result_type(xp.int8, 1) == "int8"
        assert xp.result_type(xp.float64, 1.0, 2) == "float64"
        assert xp.result_type(xp.float64, 1j) == "complex128"
        for wide in (xp.int64, xp.uint64):
            assert xp.result_type(wide, 1.0) == "float64"
            assert xp.result_type(wide, 1j) == "complex128"
        # A number of NumPy has a dtype, though it is a Python float, too.
        assert xp.result_type(xp.float32, np.float64(1)) == "float64"
        assert xp.result_type(xp.complex64, np.complex128(1)) == "complex128"
        assert xp.result_type(1.0) == xp.result_type(1, 1.0) == double
        assert xp.result_type(xp.int32, 1.0) == double
        assert xp.result_type(jnp.asarray(1.0), xp.asarray([1], dtype=xp.int8)) == double
        with pytest.raises(ValueError, match="at least one"):
            xp.result_type()

    @given(x=arrays([*INTS, "bool"], [(4,), ()]), dtype=st.sampled_from([*FLOATS, *INTS, *COMPLEX, "bool"]))
    def test_astype(self, x, dtype):
        out = xp.astype(xp.asarray(x), getattr(xp, dtype))
        assert out.dtype == dtype
        np.testing.assert_array_equal(np.asarray(out), x.astype(dtype))

    def test_astype_keeps_64_bits(self, x64):
        out = xp.astype(np.array([1 / 3]), xp.float64)
        assert (out.dtype, float(out[0])) == ("float64", 1 / 3)
        assert xp.astype(np.array([2**40 + 1]), xp.int64).tolist() == [2**40 + 1]
        assert xp.astype(xp.asarray([1j, 0]), xp.bool).tolist() == [True, False]

    def test_astype_by_pythons_types(self, x64):
        """They are JAX's defaults everywhere; `numpy.dtype("int64") == int`."""
        for kind, wide in ((int, xp.int64), (float, xp.float64), (complex, xp.complex128)):
            x = xp.asarray([1], dtype=wide)
            for copy in (True, False):
                assert xp.astype(x, kind, copy=copy).dtype == xp.asarray([1], dtype=kind).dtype

    def test_complex_numbers_become_no_real_ones(self):
        """But bools, as in the standard."""
        for x in (xp.asarray([1j, 0]), np.array([1j, 0]), [1j, 0]):
            for convert in (xp.astype, lambda x, dtype: xp.asarray(x, dtype=dtype)):
                assert convert(x, xp.bool).tolist() == [True, False]
                for dtype in (xp.float32, xp.int64):
                    with pytest.raises(TypeError, match="complex"):
                        convert(x, dtype)

    def test_astype_errors(self):
        with pytest.raises(TypeError, match="dtype"):
            xp.astype([1.0], None)
        with pytest.raises(TypeError, match="device"):
            xp.astype([1.0], xp.int32, device="cpu")
        with pytest.raises(TypeError, match="datetime64"):
            xp.astype([1.0], "M8[s]")

    def test_can_cast(self):
        for source in (xp.int8, xp.uint8, xp.float32, xp.complex64, xp.bool):
            for target in (xp.int16, xp.int8, xp.float32, xp.float64):
                expected = np.can_cast(np.dtype(source), np.dtype(target))
                assert xp.can_cast(source, target) is expected
                assert xp.can_cast(xp.ones(2, dtype=source), target) is expected

    def test_astype_copy_and_device(self):
        x = xp.ones(3)
        assert xp.astype(x, x.dtype, copy=False) is x
        copied = xp.astype(x, x.dtype)
        assert copied.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
        device = jax.devices()[0]
        assert xp.astype(x, xp.int32, device=device).devices() == {device}


class TestInfo:
    def test_dtypes(self, x64):
        info = xp.__array_namespace_info__()
        strict_info = strict.__array_namespace_info__()
        for kind in (None, "bool", "integral", "numeric", "complex floating", ("bool", "real floating")):
            assert set(info.dtypes(kind=kind)) == set(strict_info.dtypes(kind=kind))
            assert all(dtype == name for name, dtype in info.dtypes(kind=kind).items())
        with pytest.raises(ValueError, match="kind must be one of"):
            info.dtypes(kind="floating")

    def test_dtypes_where_64_bits_are_truncated(self):
        explicit = jax.config.jax_explicit_x64_dtypes
        jax.config.update("jax_explicit_x64_dtypes", "warn")
        try:
            with jax.enable_x64(False):
                assert set(xp.__array_namespace_info__().dtypes(kind="real floating")) == {"float32"}
        finally:
            jax.config.update("jax_explicit_x64_dtypes", explicit)

    def test_the_rest(self, x64):
        info = xp.__array_namespace_info__()
        assert set(jax.devices()) < set(info.devices())
        assert info.default_device() in info.devices()
        assert info.default_dtypes()["integral"] == default_int()
        assert info.capabilities()["boolean indexing"] is False


class TestIhfft:
    @pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
    @pytest.mark.parametrize("n", [None, 3, 6])
    def test_numpys(self, norm, n, x64):
        x = np.array([[0.1, 0.7, -0.3, 1.1]])
        out = xp.fft.ihfft(xp.asarray(x), n=n, norm=norm)
        assert out.dtype == "complex128"
        np.testing.assert_allclose(np.asarray(out), np.fft.ihfft(x, n=n, norm=norm), rtol=1e-14, atol=1e-16)

    def test_errors(self):
        with pytest.raises(ValueError, match="norm"):
            xp.fft.ihfft(xp.ones(3), norm="half")
        for shape, axis in (((), -1), ((3,), 1), ((3,), -2)):
            with pytest.raises(np.exceptions.AxisError):
                xp.fft.ihfft(xp.ones(shape), axis=axis)
        with pytest.raises(ValueError, match="empty"):
            xp.fft.ihfft(xp.ones((2, 0)))


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
class TestFrequencies:
    @pytest.mark.parametrize("n", [1, 2, 7, 8])
    def test_numpys(self, name, n, x64):
        function, reference = getattr(xp.fft, name), getattr(np.fft, name)
        expected = reference(n, 1 / 3)
        for dtype in (None, "float64", "float32", "float16"):
            out = function(n, d=1 / 3, dtype=dtype)
            assert out.dtype == (dtype or ("float64" if x64 else "float32"))
            np.testing.assert_allclose(out, expected, rtol=2 * np.finfo(out.dtype).eps)
        np.testing.assert_allclose(function(n, 2), reference(n, 2), rtol=1e-6)
        wide = jax.jit(lambda d: function(n, d, dtype="float64"))(xp.asarray(1 / 3, dtype="float64"))
        np.testing.assert_allclose(wide, expected, rtol=1e-15)

    def test_device(self, name):
        device = jax.devices()[0]
        out = getattr(xp.fft, name)(5, device=device)
        assert out.committed
        assert out.devices() == {device}
        with pytest.raises(TypeError, match="device"):
            getattr(xp.fft, name)(5, device="cpu")

    def test_errors(self, name):
        function = getattr(xp.fft, name)
        for n in (0, -1):
            with pytest.raises(ValueError, match="at least 1"):
                function(n)
        with pytest.raises(ValueError, match="floating"):
            function(4, dtype=xp.int32)
        for n, d in ((2.5, 1.0), (4, 1j), (4, "1")):
            with pytest.raises(TypeError):
                function(n, d)


@pytest.mark.parametrize("function", [xp.argmax, xp.argmin])
def test_an_axis_just_out_of_range(function):
    x = xp.asarray([[3.0, 1.0], [2.0, 4.0]])
    for axis in (-3, 2):
        with pytest.raises(np.exceptions.AxisError):
            function(x, axis=axis)
    expected = getattr(np, function.__name__)(np.asarray(x), axis=-2)
    np.testing.assert_array_equal(function(x, axis=-2), expected)
