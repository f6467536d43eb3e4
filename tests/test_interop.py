"""Anything array-like becomes a jax.Array with the values and dtype that it had."""

import array
import enum

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from comparisons import assert_jaxs
from hypothesis import given
from hypothesis import strategies as st

import jaxapi as xp
from jaxapi._interop import aligned_empty

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numpy_layouts_keep_values_and_dtype(dtype, x64):
    base = np.arange(24).reshape(4, 6).astype(dtype)
    read_only = base.copy()
    read_only.flags.writeable = False
    layouts = [
        *(base, base.T, np.asfortranarray(base), base[::-1, ::-2], base[1:, 1:]),
        *(base[0, 0], base[2, 3, ...], base[:0], np.broadcast_to(base[0], (4, 6)), read_only),
    ]
    for host in layouts:
        assert_jaxs(xp.asarray(host), np.asarray(host))


STEPS = st.sampled_from([-3, -2, -1, 1, 2, 3])
CUT = st.builds(slice, st.integers(-6, 6), st.integers(-6, 6), STEPS)


VIEW_DTYPES = ["bool", "int8", "<i8", ">i8", "uint64", "float16", ">f4", "float64", "complex128"]


@given(
    dtype=st.sampled_from(VIEW_DTYPES),
    cuts=st.tuples(CUT, CUT, CUT),
    axes=st.permutations(range(3)),
    copy=st.sampled_from([None, True]),
)
def test_any_view_of_numpy(dtype, cuts, axes, copy):
    view = (np.arange(210).reshape(5, 6, 7) * 257).astype(dtype)[cuts].transpose(axes)
    assert_jaxs(xp.asarray(view), view)
    assert_jaxs(xp.from_dlpack(view, copy=copy), view)


@given(
    st.recursive(
        st.one_of(st.booleans(), st.integers(-(2**40), 2**40), st.floats(width=32, allow_nan=False)),
        lambda inner: st.integers(0, 3).flatmap(lambda n: inner.map(lambda element: [element] * n)),
        max_leaves=5,
    )
)
def test_any_nested_list(numbers):
    expected = np.asarray(numbers)
    if not expected.size:
        assert xp.asarray(numbers).shape == expected.shape
        return
    if expected.dtype == np.int64 and np.abs(expected).max() >= 2**31:
        with jax.enable_x64(False), pytest.raises(OverflowError):
            xp.asarray(numbers)
    with jax.enable_x64(True):
        assert_jaxs(xp.asarray(numbers), expected)


@pytest.mark.parametrize("dtype", [">i2", ">i8", ">f4", ">f8", ">c16"])
def test_big_endian(dtype, x64):
    assert_jaxs(xp.asarray(np.arange(6).astype(dtype)), np.arange(6).astype(dtype))


def test_another_shape_compiles_nothing(caplog):
    with jax.log_compiles():
        for n in (11, 13, 17):
            assert xp.asarray(np.ones(n)).shape == (n,)
            assert xp.asarray([1.0] * n).shape == (n,)
        jax.jit(lambda: xp.zeros(19))()
    programs = [record for record in caplog.messages if "XLA compilation" in record]
    assert len(programs) == 1, programs  # the last line's, which shows that they are counted


def test_nothing_compiles_however_often_a_shape_is_met(caplog):
    with jax.log_compiles():
        for number in range(300):
            host = np.full(13, number)
            found = xp.asarray(host)
            host[:] = -1
            assert found.tolist() == [number] * 13
            assert found.dtype == host.dtype
    assert not [record for record in caplog.messages if "XLA compilation" in record]


def test_a_copy_lies_where_xla_needs_no_other():
    for size in range(1, 60, 7):
        private = aligned_empty((size, 3), np.dtype(np.float32))
        assert private.ctypes.data % 64 == 0
        assert private.shape == (size, 3)


def test_later_writes_are_not_seen():
    for size in (16, 1 << 20):
        host = np.ones(size)
        copied = xp.asarray(host)
        host[:] = 2
        assert (np.asarray(copied) == 1).all()


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        (3, int), (True, bool), (2.5, float), (1j, complex), ([True, False], bool), ([True, 2], int),
        ([1, 2.5, False], float), ([[1, 2], [3.0, 4j]], complex), ((), float), ([[], []], float),
        (range(4), int), ([enum.IntEnum("Colour", "red green").green, 1], int), ([2**100, 1.5], float),
    ],
)  # fmt: skip
def test_python_numbers_take_the_default_dtype(numbers, kind, x64):
    got = xp.asarray(numbers)
    assert got.dtype == jnp.asarray([kind(0)]).dtype
    assert not got.weak_type
    np.testing.assert_array_equal(np.asarray(got), np.asarray(numbers, dtype=got.dtype))


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 2**100])
def test_an_int_that_does_not_fit_raises(number):
    for numbers in (number, [number], [[1, number]], [number, -1]):
        with jax.enable_x64(False), pytest.raises(OverflowError, match="int64"):
            xp.asarray(numbers)
    with jax.enable_x64(True):
        if -(2**63) <= number < 2**63:
            assert int(xp.asarray([number])[0]) == number
        else:
            with pytest.raises(OverflowError):
                xp.asarray([number])


def test_explicit_dtype_keeps_every_digit(x64):
    assert int(xp.asarray([2**53 + 1], dtype=xp.int64)[0]) == 2**53 + 1
    assert int(xp.asarray(2**64 - 1, dtype=xp.uint64)) == 2**64 - 1
    assert float(xp.asarray([0.1], dtype=xp.float64)[0]) == 0.1
    with pytest.raises(OverflowError):
        xp.asarray([300], dtype=xp.int8)
    with pytest.raises(OverflowError):
        xp.asarray([-1], dtype=xp.uint8)


def test_sequences_with_arrays_in_them(x64):
    assert_jaxs(xp.asarray([np.float64(0.1), 2]), np.array([0.1, 2.0]))
    assert_jaxs(xp.asarray([np.int64(2**40)]), np.array([2**40]))
    assert_jaxs(xp.asarray([np.ones(2), np.zeros(2)]), np.array([[1.0, 1], [0, 0]]))
    float64 = xp.asarray(np.float64(0.1))
    assert_jaxs(xp.asarray([float64, 0.1]), np.array([0.1, 0.1]))
    assert_jaxs(xp.asarray([[float64, 1], (0.1, 0.3)]), np.array([[0.1, 1], [0.1, 0.3]]))
    assert_jaxs(xp.asarray([[jnp.float32(1), 2], [3, 4]]), np.array([[1, 2], [3, 4]], "float32"))
    with pytest.raises(OverflowError, match="float"):
        xp.asarray([np.int8(1), 2**63, -1])


def test_sequences_with_traced_values():
    stacked = jax.jit(lambda x: xp.asarray([x[1], 5.0, x[0]]))(jnp.arange(2.0))
    np.testing.assert_array_equal(stacked, [1, 5, 0])


def test_buffers():
    assert_jaxs(xp.asarray(array.array("d", [1.5, 2])), np.array([1.5, 2]))
    assert_jaxs(xp.asarray(memoryview(array.array("q", [1, 2]))[::-1]), np.array([2, 1]))
    assert_jaxs(xp.asarray(bytearray(b"ab")), np.array([97, 98], "uint8"))


@pytest.mark.thorough
def test_pandas():
    pandas = pytest.importorskip("pandas")
    assert_jaxs(xp.asarray(pandas.Series([1.5, None])), np.array([1.5, np.nan]))
    assert_jaxs(xp.asarray(pandas.DataFrame({"a": [1, 2], "b": [0.5, 1]})), np.array([[1, 0.5], [2, 1]]))
    with pytest.raises(TypeError, match="object"):
        xp.asarray(pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    with pytest.raises(TypeError, match="timedelta64"):
        xp.asarray(pandas.Series(np.array(["2026-01-01"], "M8[ns]")))


@pytest.mark.parametrize(
    ("x", "error", "remedy"),
    [
        (np.array(["2026-01-01"], "M8[D]"), TypeError, "timedelta64"),
        (np.array([1], "m8[s]"), TypeError, "timedelta64"), (np.array([1, None]), TypeError, "astype"),
        (np.array(["a"]), TypeError, "astype"), (np.zeros(2, [("a", "f4")]), TypeError, "fields"),
        (np.zeros(2, np.longdouble), TypeError, "astype"),
        (np.ma.masked_array([1, 2], [0, 1]), TypeError, "filled"), (b"abc", TypeError, "frombuffer"),
        ("abc", TypeError, "convert text"), (["a"], TypeError, "astype"), ([None, 1], TypeError, "astype"),
        (None, TypeError, "array-like"), ({1, 2}, TypeError, "array-like"),
        pytest.param((i for i in range(3)), TypeError, "array-like", id="generator"),
        ([[1], [2, 3]], ValueError, "inhomogeneous"), ([1, [2]], ValueError, "sequence"),
        ([np.ones(2), np.ones(3)], ValueError, "rectangular"),
    ],
    ids=str,
)  # fmt: skip
def test_refused_with_the_remedy(x, error, remedy):
    with pytest.raises(error, match=remedy):
        xp.asarray(x)


def test_asarray_takes_every_way_to_name_a_dtype(x64):
    for dtype in ("int64", np.int64, np.dtype("int64"), jnp.int64, xp.int64):
        assert xp.asarray([1], dtype=dtype).dtype == np.int64
    for kind in (bool, int, float, complex):
        assert xp.asarray([1], dtype=kind).dtype == jnp.asarray([kind(1)]).dtype


@pytest.mark.parametrize(
    ("sequence", "dtype"),
    [
        ([np.float32(1), 1.0], "float32"), ([np.int8(1), 2], "int8"),
        ([[np.float16(1), 2], [3.0, 4]], "float16"), ([np.arange(2.0, dtype="float32"), [1, 2.5]], "float32"),
        ([np.float64(1 / 3), 1], "float64"), ([np.int64(2**40), True], "int64"),
        ([np.float32(1), 1j], "complex64"),
    ],
)  # fmt: skip
def test_python_numbers_take_the_dtype_of_numpys(sequence, dtype, x64):
    """As NumPy promotes an array of that dtype with a Python number (NEP 50)."""
    out = xp.asarray(sequence)
    assert out.dtype == dtype
    np.testing.assert_array_equal(np.asarray(out), np.asarray(sequence, dtype))


def test_a_python_integer_among_numpys_must_fit():
    with pytest.raises(OverflowError):
        xp.asarray([np.int8(1), 300])
    assert xp.asarray([np.int64(2**60 + 1), 1.0], dtype="int64").tolist() == [2**60 + 1, 1]
    with pytest.raises(TypeError, match="dates"):
        xp.asarray([np.datetime64("2020-01-01"), 1.0])


def test_numbers_of_every_type_in_one_list(x64):
    found = xp.asarray([[True, 2], [2.5, 1j]])
    assert found.dtype == (np.complex128 if x64 else np.complex64)
    np.testing.assert_array_equal(found, [[1, 2], [2.5, 1j]])
