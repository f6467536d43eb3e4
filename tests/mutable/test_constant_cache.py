"""Numbers that are kept on a GPU: here the CPU takes its place."""

import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi
import jaxapi.mutable as xp
from jaxapi import _constant_cache as cache
from jaxapi import _reading
from jaxapi.mutable import _constants, _indexing
from jaxapi.mutable._selection import Selection, put, take

pytestmark = pytest.mark.usefixtures("pretended_gpu")


def test_positions():
    host = np.arange(1000, dtype=np.float32)
    x = xp.asarray(host)
    for i in [*range(300), 999, 500, -1, 501, 700, 300]:
        assert float(x[i]) == host[i]
        x[i] = -host[i]
        host[i] *= -1
        np.testing.assert_array_equal(x[i : i + 5], host[i : i + 5])
    np.testing.assert_array_equal(x, host)


def test_positions_one_after_the_other_are_sent_together():
    x = xp.arange(1000)
    assert [int(x[i]) for i in (10, 11, 12)] == [10, 11, 12]
    assert {i for i, device in cache._cache} == {10, *range(11, 11 + cache._BLOCK)}
    assert int(x[11 + cache._BLOCK]) == 11 + cache._BLOCK
    assert {i for i, device in cache._cache} == {10, *range(11, 11 + 2 * cache._BLOCK)}


def test_few_are_sent_one_by_one(monkeypatch):
    monkeypatch.setattr(cache, "_ALONE", 4)
    monkeypatch.setattr(cache, "put_together", None)  # not before _SENT
    monkeypatch.setattr(cache, "_SENT", 100)
    x = xp.asarray(np.arange(1000))
    assert [int(x[i : i + 9].sum()) for i in range(20, 26)] == [9 * i + 36 for i in range(20, 26)]
    assert {i for i, device in cache._cache} == {*range(20, 25), *range(25, 25 + cache._BLOCK)}


def test_all_are_forgotten_when_there_are_many(monkeypatch):
    monkeypatch.setattr(cache, "_MOST", 50)
    x = xp.arange(1000)
    assert [int(x[i]) for i in range(0, 1000, 7)] == list(range(0, 1000, 7))
    assert [int(x[i]) for i in range(300)] == list(range(300))
    assert len(cache._cache) <= 50


def test_numbers(x64):
    x = xp.ones(3, dtype=xp.float32)
    for number in (2, 2.5, True, 0.0, -0.0, float("nan"), 1, 1.0):
        y = x * number
        assert y.dtype == np.float32
        np.testing.assert_array_equal(y, np.ones(3, np.float32) * np.float32(number))
        assert np.signbit(np.asarray(y)).all() == np.signbit(float(number))
        x[1] = number
        np.testing.assert_array_equal(x[1], np.float32(number))
        assert (xp.asarray([1], dtype=xp.int8) + 2).dtype == np.int8
        assert (xp.asarray([1], dtype=xp.int32) * 2.5).dtype == xp.asarray(2.5).dtype
        x[1] = 1
    wide = xp.zeros(2, dtype=xp.float64)
    wide[0] = 0.1
    wide += 0.1
    x += 2
    np.testing.assert_array_equal(x, [3, 3, 3])
    np.testing.assert_array_equal(wide, [0.2, 0.1])
    with pytest.raises(OverflowError):
        xp.ones(1, dtype=xp.int8) + 300


def test_numbers_are_put_together_of_their_bytes(x64):
    device = jax.devices()[0]
    for number in (
        *(np.int32(i) for i in (0, 1, -2, 2**31 - 1)),
        *(np.float32(x) for x in (0.1, -0.0, np.inf, 1e-45)),
        *(np.float64(x) for x in (0.1, -0.0, np.pi, 5e-324)),
        np.uint64(2**64 - 3),
        np.float16(0.1),
    ):
        made = cache.put_together(number, device)
        assert made.shape == ()
        assert made.dtype == number.dtype
        assert made.devices() == {device}
        assert np.asarray(made).tobytes() == number.tobytes()
    traced = jax.jit(lambda x: x + cache.put_together(np.float32(0.5), device))
    assert traced(1.0) == 1.5


def test_only_numbers_of_several_bytes_are_put_together(monkeypatch):
    made, new = [], cache._new
    monkeypatch.setattr(cache, "_new", lambda host, device: made.append(host.dtype) or new(host, device))
    for host in np.int8(3), np.float32(0.5), np.bool_(True), np.int32(7), np.asarray([1, 2], np.int32):
        there = cache.constant(np.asarray(host), jnp.zeros(1))
        assert isinstance(there, jax.Array)
        assert (there.shape, there.dtype) == (host.shape, host.dtype)
        np.testing.assert_array_equal(there, host)
    assert made == [np.float32, np.int32]


def test_large_constants_are_not_kept():
    for size in (cache._FEW, cache._FEW + 1, 100 * cache._FEW):
        host = np.zeros(size, np.int8)
        there = cache.constant(host, jnp.zeros(1))
        assert (there is host) == (size > cache._FEW)


def test_a_number_that_comes_again_is_the_same_array():
    first = cache.number(2.5, jnp.zeros(1))
    assert isinstance(first, jax.Array)
    assert first.weak_type
    assert cache.number(2.5, jnp.zeros(1)) is first


def test_nothing_of_a_trace_is_kept():
    x = xp.zeros(5)

    @jax.jit
    def f():
        return x[3] + 1.5, x * 2

    f()
    assert not any(isinstance(kept, jax.core.Tracer) for kept in cache._cache.values())
    np.testing.assert_array_equal(x[3] + 1.5, 1.5)


def test_filled_arrays(x64):
    for _ in range(2):
        for dtype in (xp.bool, xp.int8, xp.uint64, xp.float32, xp.float64, xp.complex128):
            for found, expected in (
                (xp.zeros(3, dtype=dtype), np.zeros(3, dtype)),
                (xp.ones((2, 1), dtype=dtype), np.ones((2, 1), dtype)),
                (xp.full(3, True, dtype=dtype), np.full(3, True, dtype)),
                (xp.eye(3, k=-1, dtype=dtype), np.eye(3, k=-1, dtype=dtype)),
            ):
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(xp.full(2, 0.1, dtype=xp.float64), [0.1] * 2)
        assert xp.full(2, 0.1).dtype == xp.asarray(0.1).dtype
    assert cache._cache
    known = len(cache._cache)
    np.testing.assert_array_equal(jax.jit(lambda: xp.full(2, 17.5))(), [17.5] * 2)
    with jax.default_device(jax.devices()[0]):
        np.testing.assert_array_equal(xp.full(2, 18.5), [18.5] * 2)
    assert len(cache._cache) == known


def test_numbers_are_read_by_way_of_the_hosts_memory(x64):
    for number in (True, 3, 2.5, 1 + 2j):
        x = +xp.asarray(number)
        memory = _reading.in_host_memory(x._value)
        assert memory.sharding.memory_kind == "pinned_host"
        assert complex(x) == number
        assert memory.dtype == x.dtype
    assert int(+xp.asarray(2**30)) == 2**30
    assert bool(xp.all(xp.ones(3) == 1))
    x = xp.asarray(0.1, dtype=xp.float64) + 0.0
    assert float(x) == 0.1
    assert jax.jit(lambda y: y * float(x))(2.0) == np.float32(0.2)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda y: float(xp.asarray(y)))(2.0)


@pytest.mark.parametrize("size", [5, 40_000])
def test_masks_are_read_by_way_of_the_hosts_memory(size, monkeypatch):
    monkeypatch.setattr(_indexing, "_is_on_host", lambda x: isinstance(x, np.ndarray))
    host = np.arange(2 * size, dtype=np.float32).reshape(size, 2)
    x, mask = xp.asarray(host), host[:, 0] % 3 == 0
    for key in (mask, xp.asarray(mask)):
        np.testing.assert_array_equal(x[key], host[mask])
    whole = host % 5 > 1
    np.testing.assert_array_equal(x[xp.asarray(whole)], host[whole])
    np.testing.assert_array_equal(x[:, 0][xp.ones(size, dtype=xp.bool)], host[:, 0])
    x[xp.asarray(mask), :] = -host[mask]
    np.testing.assert_array_equal(x, np.where(mask[:, None], -host, host))
    with pytest.raises(ValueError, match="cannot assign 1000 input values"):
        x[xp.asarray(mask)] = np.ones((1000, 2))


@pytest.mark.parametrize("number", [2, 0.5, np.float32(3), np.float64(3), np.int16(4), True, 1j])
def test_numbers_commit_no_array_to_a_device(number):
    x = xp.asarray([1.0, 2.0, 3.0]) + 0
    x[1:] = 0.25
    x[xp.asarray([True, False, True])] = 0.75
    for y in (x, x + number, xp.where(x > 1, x, number), x**number):
        assert not y._value.committed
    n = xp.asarray([1, 2], dtype=xp.int8) + 1
    assert not (xp.where(n > 1, n, 3) ** 2)._value.committed


def test_numbers_in_functions(x64):
    for dtype in ("int8", "int32", "float32", "float64", "complex64", "bool"):
        host = np.asarray([0, 1, 1], dtype)
        x, mask = xp.asarray(host), xp.asarray([True, False, True])
        for number in (0, 2, 0.5, True, 1j):
            dtype_of_jax = jax.eval_shape(lambda x, n=number: jnp.where(x == x, x, n), x._value).dtype
            for kept in range(3):
                known = len(cache._cache)
                found = xp.where(mask, x, number), xp.where(mask, number, x)
                expected = np.where(mask, host, number), np.where(mask, number, host)
                for ours, plain in zip(found, expected, strict=True):
                    assert ours.dtype == dtype_of_jax
                    np.testing.assert_array_equal(ours, plain)
                assert not kept or len(cache._cache) == known
        if dtype.startswith("float"):
            np.testing.assert_array_equal(xp.maximum(x, 0.5), np.maximum(host, host.dtype.type(0.5)))
            np.testing.assert_array_equal(xp.clip(x, 0.25, 0.5), np.clip(host, 0.25, 0.5))
    with pytest.raises(OverflowError):
        xp.where(mask, xp.asarray([1, 2, 3], dtype=xp.int8), 1000)
    assert xp.where(mask, 1, 2).dtype == jaxapi.where(mask, 1, 2).dtype


@pytest.mark.parametrize("size", [5, 40_000])
def test_a_mask_that_comes_again(size, monkeypatch):
    monkeypatch.setattr(_indexing, "_is_on_host", lambda x: isinstance(x, np.ndarray))
    for dtype in ("float32", "int64", "bool"):
        host = (np.arange(size) % 7).astype(dtype)
        table = np.stack([host, host], 1)
        x, rows, mask = xp.asarray(host), xp.asarray(table), xp.asarray(host > 2)
        for _ in range(_indexing._OFTEN + 2):
            np.testing.assert_array_equal(x[mask], host[host > 2])
            np.testing.assert_array_equal(rows[mask], table[host > 2])
        mask[0] = True
        x[mask] = np.zeros(np.count_nonzero(mask), dtype)
        np.testing.assert_array_equal(x, np.where(np.asarray(mask), 0, host))
        with pytest.raises(ValueError, match="output values where the mask is true"):
            x[mask] = np.zeros(size + 1, dtype)


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32", "complex64"])
def test_powers(dtype):
    host = np.asarray([1, 2, 3], dtype)
    x = xp.asarray(host)
    for n in (0, 1, 2, 3):
        found = x**n
        assert found.dtype == dtype
        np.testing.assert_allclose(found, host**n, rtol=1e-6)
    np.testing.assert_allclose(2**x, 2.0 ** host.astype(complex), rtol=1e-6)
    x **= 2
    np.testing.assert_allclose(x, host**2, rtol=1e-6)
    known = len(cache._cache)
    x**2
    assert len(cache._cache) == known


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_negative_powers(x64, dtype):
    """Integers have none: NumPy raises, too."""
    x = xp.asarray(np.asarray([1, 2, 3], dtype))
    for apply in (operator.pow, operator.ipow):
        with pytest.raises(ValueError, match="negative integer power"):
            apply(x, -1)
        with pytest.raises(OverflowError):
            apply(xp.asarray([1, 2], dtype=xp.uint8), -1)
    assert np.asarray(x).tolist() == [1, 2, 3]
    np.testing.assert_array_equal((-2) ** xp.asarray(np.asarray([0, 1, 3], "int8")), [1, -2, -8])
    np.testing.assert_allclose(xp.asarray([2.0, 4.0]) ** -1, [0.5, 0.25], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", None])
def test_constants_are_sent(x64, monkeypatch, dtype):
    monkeypatch.setattr(_constants, "_cache", {})
    for name in ("zeros", "ones", "empty"):
        for shape in ((), (3,), 4, (0, 2)):
            made = getattr(xp, name)(shape, dtype=dtype)
            expected = getattr(np, name.replace("empty", "zeros"))(shape, dtype=dtype or jnp.zeros(()).dtype)
            assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(made, expected)
            assert not made._value.weak_type
    with pytest.raises(ValueError, match="negative"):
        xp.zeros(-1)


def test_constants_that_are_sent_compile_nothing(monkeypatch, caplog):
    monkeypatch.setattr(_constants, "_cache", {})
    with jax.log_compiles():
        x = xp.ones((7, 13), dtype=xp.float32)
        y = xp.zeros((7, 13), dtype=xp.int16)
    assert "Compiling" not in caplog.text
    np.testing.assert_array_equal(x, np.ones((7, 13)))
    np.testing.assert_array_equal(y, np.zeros((7, 13)))


@pytest.mark.parametrize("size", [2**31 - 1, 2**31, 2**33])
def test_positions_along_axes_too_long_for_int32(x64, size):
    """NumPy's int64 would be cut to 32 bits with x64 off, and another element be read or written."""
    for device in None, jax.devices()[0]:
        for i in 0, 5, size - 1:
            found = cache.position(i, size, device)
            assert (int(found), found.shape) == (i, ())
            assert found.dtype == (np.int32 if size < 2**31 else np.int64)
            assert isinstance(found, jax.Array) == (device is not None or size >= 2**31)


def test_long_axes_where_the_user_lets_nothing_have_64_bits():
    setting = "jax_explicit_x64_dtypes"
    before = getattr(jax.config, setting, None)
    if before is None:
        pytest.skip("this JAX has no such setting")
    jax.config.update(setting, "error")
    try:
        assert int(cache.position(2**31 + 2, 2**32, None)) == 2**31 + 2
    finally:
        jax.config.update(setting, before.name.lower())


def test_the_last_positions_of_int32():
    device, size = jax.devices()[0], 2**31 - 1
    for i in range(size - cache._BLOCK - 9, size):
        assert int(cache.position(i, size, device)) == i


def test_int64_positions(x64, monkeypatch):
    """Every axis is a long one here."""
    monkeypatch.setattr(cache, "_LONG", 1)
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = xp.asarray(host)
    for key in ((2, 3), (slice(1, 3), -1), (1, slice(4, 1, -2)), (2, [0, 5]), ([0, 1], slice(2))):
        np.testing.assert_array_equal(x[key], host[key])
        x[key] = -host[key]
        host[key] *= -1
        np.testing.assert_array_equal(x, host)
    part = x[1:3, 1:]
    part += 1
    host[1:3, 1:] += 1
    np.testing.assert_array_equal(x, host)
    np.testing.assert_array_equal(jax.jit(lambda: x[3] + x[2, 1])(), host[3] + host[2, 1])


def test_programs_along_long_axes(x64):
    """Nothing in them has 32 bits where a position does not fit."""
    x = jax.ShapeDtypeStruct((2**31 + 5, 2), np.int8)
    part = Selection.of((2**31 + 2, 1), x.shape)
    reading = str(jax.make_jaxpr(lambda x: take(x, part))(x))
    writing = str(jax.make_jaxpr(lambda x: put(x, part, np.int8(3), False))(x))
    for rows in [5, 2**31 + 2], np.asarray([5, 2**31 + 2]), np.asarray([-3], np.int8):
        program = str(jax.make_jaxpr(lambda x, rows=rows: _indexing.read(x, (rows, 1)))(x))
        assert "new_dtype=int32" not in program
    for program in reading, writing:
        assert "2147483653:i64[]" in program
        assert "new_dtype=int32" not in program


def test_numbers_go_to_the_first_device():
    host = np.asarray(0.25, np.float32)
    for _ in range(2):
        there = cache.constant_anywhere(host)
        assert there.devices() == {jax.devices()[0]}
        assert not there.committed
    other = jax.device_put(np.zeros(3, np.float32), jax.devices()[-1])
    assert cache.gpu_of(other) == jax.devices()[-1]
    for _ in range(cache._SENT + 2):
        there = cache.constant(host, other)
        assert there.devices() == {jax.devices()[-1]}


def test_only_gpus_keep_numbers(monkeypatch):
    """Arrays of the CPU have none kept where there is a GPU, too."""
    assert cache.on_gpu()  # which is remembered
    monkeypatch.setattr(cache, "_GPU", "gpu")
    x = jax.device_put(np.zeros(3, np.float32), jax.devices("cpu")[0])
    assert cache.gpu_of(x) is None
    assert cache.number(2.5, x) == 2.5
    assert type(cache.position(1, 3, cache.gpu_of(x))) is np.int32
    assert isinstance(cache.constant(np.float32(1), x), np.float32)
