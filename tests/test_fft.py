"""`ihfft` and the frequencies of transforms, against NumPy."""

import jax
import numpy as np
import pytest

import jaxapi as xp


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
