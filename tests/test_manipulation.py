"""The functions that move and repeat elements, against NumPy."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_arrays import arrays

import jaxapi as xp


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
