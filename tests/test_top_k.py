"""`top_k` against NumPy's stable sort of the same elements, NaN last and of equals the lowest index first."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import jaxapi as xp
import jaxapi.mutable
import jaxapi.numpy

FLOATS = [3.0, np.nan, 0.0, -0.0, np.inf, -np.inf, 3.0, -2.5, -np.nan, 0.5, -np.inf, 3.5]
DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]
NARROW = ["int4", "uint4", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"]
MODES = ["largest", "smallest"]


def elements(dtype):
    """Return elements of a dtype with its extremes and equal ones."""
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype == np.bool:
        return np.asarray([False, True, True, False])
    if not jnp.issubdtype(dtype, jnp.integer):
        return np.asarray(FLOATS, np.float32).astype(dtype)
    limits = ml_dtypes.iinfo(dtype)
    lowest, highest = int(limits.min), int(limits.max)
    integers = [1, highest, lowest, highest - 1, 1, lowest + 1, highest, 0, lowest]
    return np.asarray(integers, object).astype(dtype)


def expected(x, k, axis=-1, mode="largest"):
    """Return NumPy's answer: a stable sort of the numbers, each negated for the largest."""
    x = np.asarray(x)
    if jnp.issubdtype(x.dtype, jnp.floating):
        with np.errstate(invalid="ignore"):  # signaling NaN
            wide = x.astype(np.float64)
        keys = wide if mode == "smallest" else -wide
    else:
        wide = x.astype(object)  # integers of Python, which do not overflow
        keys = wide * 1 if mode == "smallest" else wide * -1
    order = np.argsort(keys, axis=axis, kind="stable")
    indices = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, indices, axis), indices


def check(result, x, *args, **options):
    values, indices = expected(x, *args, **options)
    assert result.values.dtype == values.dtype
    is_numpys = result.indices.__array_namespace__() is jaxapi.numpy
    assert result.indices.dtype == (np.int64 if is_numpys else jnp.result_type(int))
    assert result.values.shape == result.indices.shape == values.shape
    np.testing.assert_array_equal(np.asarray(result.indices), indices)
    found = np.asarray(result.values)
    if found.dtype.name in NARROW:  # of which NumPy does not know what NaN is
        found, values = found.astype(np.float64), values.astype(np.float64)
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES + NARROW)
def test_every_dtype(dtype, mode, x64):
    x = elements(dtype)
    check(xp.top_k(xp.asarray(x), len(x), mode=mode), x, len(x), mode=mode)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_least_numbers_differ(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.asarray([0, 2 * tiny, -tiny, tiny, -0.0, -2 * tiny], dtype)
    for mode in MODES:
        _, indices = xp.top_k(xp.asarray(x), 6, mode=mode)
        np.testing.assert_array_equal(np.asarray(indices), expected(x, 6, mode=mode)[1])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
def test_axes(axis, mode):
    x = np.random.default_rng(0).integers(0, 4, (3, 5, 4)).astype(np.float32)
    x[x == 3] = np.nan
    for k in (0, 2, x.shape[axis]):
        check(xp.top_k(xp.asarray(x), k, axis=axis, mode=mode), x, k, axis=axis, mode=mode)


def test_empty_axes():
    x = np.zeros((0, 3), np.float32)
    check(xp.top_k(xp.asarray(x), 0, axis=0), x, 0, axis=0)
    check(xp.top_k(xp.asarray(x), 2), x, 2)


@pytest.mark.parametrize("mode", MODES)
def test_many_equal_elements(mode):
    rng = np.random.default_rng(1)
    for x in (rng.integers(-3, 3, 5000), rng.integers(-3, 3, 5000).astype(np.float32)):
        check(xp.top_k(xp.asarray(x), 1000, mode=mode), x, 1000, mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float16"])
def test_any_bits(dtype, mode):
    size = np.dtype(dtype).itemsize
    words = np.random.default_rng(2).integers(0, 2 ** (8 * size), 4000, f"uint{8 * size}")
    x = words.view(dtype)
    check(xp.top_k(xp.asarray(x), 4000, mode=mode), x, 4000, mode=mode)


def test_jit_vmap_and_derivatives(x64):
    x = np.asarray([[1.0, 4.0, np.nan, 4.0], [3.0, -1.0, 2.0, 0.0]], np.float64)
    given = xp.asarray(x)

    def smallest(x):
        return xp.top_k(x, np.int64(3), mode="smallest")

    check(jax.jit(smallest)(given), x, 3, mode="smallest")
    check(jax.vmap(smallest)(given), x, 3, mode="smallest")
    check(jax.jit(jax.vmap(smallest, in_axes=1))(given.T), x, 3, mode="smallest")
    weights = jnp.asarray([1.0, 10.0, 100.0])
    slopes = jax.jit(jax.grad(lambda x: (xp.top_k(x, 3).values * weights).sum()))(given[1])
    np.testing.assert_array_equal(np.asarray(slopes), [1, 0, 10, 100])
    assert slopes.dtype == np.float64
    tangents = jax.jvp(lambda x: xp.top_k(x, 2).values, (given[1],), (xp.asarray(x[1] * 2),))[1]
    np.testing.assert_array_equal(np.asarray(tangents), [6, 4])


@pytest.mark.parametrize("module", [jaxapi.mutable, jaxapi.numpy])
def test_arrays_that_can_be_assigned_to(module, x64):
    x = np.asarray([[2**62, 2**62 + 1, -(2**63)], [5, 5, 2**63 - 1]])
    for mode in MODES:
        result = module.top_k(module.asarray(x), 2, axis=-1, mode=mode)
        check(result, x, 2, mode=mode)
        assert isinstance(result.values, jaxapi.mutable.Array)
        result.values[0, 0] = 7
        assert int(result.values[0, 0]) == 7
    assert module.top_k(module.asarray(x), 1).values.__array_namespace__() is module


def test_numpys_signature():
    x = [4.0, 1.0, 4.0]
    values, indices = jaxapi.numpy.top_k(x, 2, sorted=False)
    assert values.tolist() == [4, 4]
    assert indices.tolist() == [0, 2]
    if hasattr(np, "top_k"):
        np.testing.assert_array_equal(np.asarray(values), np.top_k(x, 2)[0])


@pytest.mark.parametrize("top_k", [xp.top_k, jaxapi.mutable.top_k, jaxapi.numpy.top_k])
def test_errors(top_k):
    x = np.arange(3.0)
    for k in (-1, 4):
        with pytest.raises(ValueError, match=rf"k must be from 0 to 3, the size of axis 0, got {k}"):
            top_k(x, k)
    for k in (1.0, None, True, "2"):
        with pytest.raises(TypeError, match="k must be an integer"):
            top_k(x, k)
    for axis in (None, (0,), 0.0):
        with pytest.raises(TypeError, match="axis must be an integer"):
            top_k(x, 1, axis=axis)
    for array, axis in ((x, 1), (x, -2), (np.float32(1), -1)):
        with pytest.raises(np.exceptions.AxisError):
            top_k(array, 1, axis=axis)
    with pytest.raises(ValueError, match="mode must be 'largest' or 'smallest', got 'least'"):
        top_k(x, 1, mode="least")
    with pytest.raises(TypeError, match=r"complex.*real\(x\)"):
        top_k(x + 1j, 1)


def test_k_is_no_traced_value():
    with pytest.raises(jax.errors.TracerIntegerConversionError):
        jax.jit(lambda x, k: xp.top_k(x, k))(jnp.arange(3.0), 1)
