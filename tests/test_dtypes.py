"""Data types: their limits, promotion and conversion, and what the namespace tells of itself."""

import array_api_strict as strict
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_arrays import ALL, COMPLEX, FLOATS, INTS, arrays, default_int

import jaxapi as xp


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
        for no_float in (xp.int32, [1.0], None, "no dtype"):
            with pytest.raises(ValueError, match="floating or complex dtype"):
                xp.finfo(no_float)

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


def test_isdtype_by_name():
    assert xp.isdtype(dtype=xp.int8, kind="integral")


REFUSED = {
    "scan": lambda x: jax.lax.scan(lambda total, x: (total + x, total), 0.0, x)[0],
    "fori_loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, total: total + x[i], 0.0),
    "while_loop": lambda x: jax.lax.while_loop(lambda total: total < 1, lambda total: total + x[1], 0.0),
    "cond": lambda x: jax.lax.cond(x[0] > 1, lambda: x[0], lambda: 0.0),
    "lax.add": lambda x: jax.lax.add(x, 0.1),
    "lax.clamp": lambda x: jax.lax.clamp(0.15, x, 0.25),
    "argmax": lambda x: jnp.argmax(x),
    "ndtr": lambda x: jax.scipy.special.ndtr(x),
    "norm.cdf": lambda x: jax.scipy.stats.norm.cdf(x),
    "normal": lambda x: jax.random.normal(jax.random.key(0), (2,), x.dtype),
}


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_what_jax_refuses_with_x64_off_is_done_by_fuse(function):
    """As docs/dtypes.md says: a call with a 64-bit argument runs in 64-bit mode as a whole."""
    host = np.array([0.1, 0.2, 0.3])
    with jax.enable_x64(True):
        expected = jax.jit(function)(jnp.asarray(host))
    with jax.enable_x64(False):
        wide = xp.asarray(host)
        with pytest.raises(TypeError):
            function(wide)
        result = xp.fuse(function)(wide)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
