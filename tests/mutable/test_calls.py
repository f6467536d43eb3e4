"""Calls that wait until their results are needed: here the CPU takes a GPU's place."""

import gc
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi.mutable as xp
from jaxapi.mutable import _calls, _together

pytestmark = [
    pytest.mark.usefixtures("pretended_gpu"),
    pytest.mark.skipif(not _together._KEEPS_APART, reason="this JAX joins operations"),
]


def waits(x):
    """Whether an array's call has not run yet."""
    return type(x._later) is _calls.Call and not x._later.has_run


def random(shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def programs(monkeypatch):
    """Return the list of what programs of several calls compute, each time that one is compiled."""
    found = []
    computed = _calls._computed

    def seen(plan, *args):
        found.append([kind.function.__name__ for kind, _ in plan[0]])
        return computed(plan, *args)

    monkeypatch.setattr(_calls, "_computed", seen)
    monkeypatch.setattr(_calls, "_met", {})
    return found


def test_one_program_for_what_a_number_is_computed_of(monkeypatch):
    found = programs(monkeypatch)
    host = random((50, 3), seed=1), random((50, 3), seed=2)
    x, y = map(xp.asarray, host)
    loss = xp.sum(2.0 * (x - y) ** 2, axis=None)
    assert waits(loss)
    np.testing.assert_allclose(float(loss), np.sum(2 * (host[0] - host[1]) ** 2, dtype=np.float64), rtol=1e-5)
    assert found == [["subtract", "pow", "multiply", "sum"]]


def test_results_are_the_same_to_the_last_bit(monkeypatch):
    hosts = [random(5000, seed) for seed in range(3)]

    def results():
        x, y, z = map(xp.asarray, hosts)
        product = x * y
        rest = product + z  # XLA would make one operation of both, that rounds once
        return [
            rest,
            xp.sum(rest * rest),
            xp.where(x > 0, rest / 3, xp.exp(y) - product),
            xp.mean(rest, axis=0),
        ]

    together = results()
    assert all(map(waits, together))
    together = [np.asarray(x) for x in together[::-1]]
    monkeypatch.setattr(_together, "calls_wait", lambda: False)
    alone = results()
    assert not any(map(waits, alone))
    for found, expected in zip(together, alone[::-1], strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64"])
def test_dtypes_and_shapes_are_known_before(x64, dtype):
    host = np.arange(1, 7).reshape(2, 3).astype(dtype)
    x = xp.asarray(host)
    for result in (x + 1, x / 2, x > 2, xp.sum(x, axis=0), xp.mean(x * 1.5, keepdims=True), x**2, -x, x * x):
        known = result.shape, result.dtype, result.ndim, result.size, result.device
        value = jnp.asarray(result)
        assert known == (value.shape, value.dtype, value.ndim, value.size, value.device)
    np.testing.assert_allclose(xp.sum(x * 3, axis=1), np.sum(host * 3, axis=1))
    assert xp.sum(x + 1, axis=0, dtype="float64").dtype == np.float64


def test_what_is_still_wanted_is_kept(monkeypatch):
    found = programs(monkeypatch)
    x = xp.asarray(random(10))
    y = x + 1
    z = xp.sin(y * 2)
    np.testing.assert_array_equal(np.asarray(z), np.asarray(z))
    assert not waits(y)
    assert len(found) == 1
    np.testing.assert_array_equal(y, random(10) + 1)
    assert len(found) == 1


def test_operands_may_be_written_to_before_it_runs():
    x, y = xp.ones(20), xp.full(20, 2.0)
    x += 0
    total = x + y
    x[:] = 7
    x[3] = 8
    y *= 10
    del y
    np.testing.assert_array_equal(total, np.full(20, 3.0))
    np.testing.assert_array_equal(x, [7, 7, 7, 8, *[7] * 16])


def test_operands_may_be_deleted_by_others_before_it_runs():
    x = xp.asarray(random(100))
    y = x * 2
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    np.testing.assert_array_equal(y, random(100) * 2)
    plain = jnp.ones(5)
    z = xp.asarray(plain) + 1  # which others hold
    assert not waits(z)
    plain.delete()
    np.testing.assert_array_equal(z, np.full(5, 2))


def test_host_memory_may_be_written_to_before_it_runs():
    host = random(1000)
    x = xp.asarray(host)
    y = x + 1
    expected = host + 1
    host[:] = 0
    np.testing.assert_array_equal(y, expected)


def test_errors_are_raised_at_once():
    x, y = xp.ones(3), xp.ones(4)
    with pytest.raises((TypeError, ValueError), match="broadcast"):
        x + y
    with pytest.raises(np.exceptions.AxisError):
        xp.sum(x + 1, axis=3)
    with pytest.raises(TypeError):
        ~(x + 1)
    i = xp.ones(3, dtype=xp.int32) + 1
    with pytest.raises(TypeError, match="in place"):
        i += 0.5
    with pytest.raises(ValueError, match="output operand"):
        x += xp.ones((2, 3))
    np.testing.assert_array_equal(x, [1, 1, 1])
    np.testing.assert_array_equal(i, [2, 2, 2])


def test_small_arrays_change_in_place_later():
    x = xp.asarray(random(8))
    host = random(8)
    alias, before = x, x.copy()
    x += 1
    x *= xp.asarray(host)
    mask = x > 0
    x[mask] = 0.5
    x[~mask] = xp.asarray([-1.0], dtype=xp.float32)
    assert waits(x)
    assert alias is x
    expected = np.where((host + 1) * host > 0, 0.5, -1)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(before, host)
    with pytest.raises(TypeError):
        x[mask] = 1j
    x[mask] = xp.asarray([2])  # of another dtype
    np.testing.assert_array_equal(x, np.where(expected > 0, 2, -1))
    assert x.dtype == np.float32


def test_masks_of_what_waits():
    x = xp.asarray(random(30))
    y = x * 2
    np.testing.assert_array_equal(y[y > 0], (random(30) * 2)[random(30) > 0])
    np.testing.assert_array_equal(y[y < np.inf], random(30) * 2)


def test_views_and_elements():
    host = random((6, 5))
    x = xp.asarray(host)
    y = x[1:, 0] - x[:-1, 4]
    z = x.T @ (x + x[2, 3])
    w = (x + 1)[2]
    x[:] = 0
    np.testing.assert_array_equal(y, host[1:, 0] - host[:-1, 4])
    np.testing.assert_allclose(z, host.T @ (host + host[2, 3]), rtol=1e-5)
    np.testing.assert_array_equal(w, host[2] + 1)
    v = x + 1
    v[2:4][:, 1] = 5
    assert float(v[3, 1]) == 5
    assert float(v.sum()) == 28 + 10


def test_inside_of_a_trace_it_runs_at_once():
    x = xp.asarray(random(4)) + 1
    assert waits(x)
    np.testing.assert_array_equal(jax.jit(lambda y: (x + y)._value)(jnp.ones(4)), random(4) + 1 + 1)
    np.testing.assert_allclose(xp.grad(lambda y: xp.sum(y**2))(x), 2 * (random(4) + 1), rtol=1e-6)


def test_settings_are_those_of_the_call():
    x = xp.asarray([1, 2, 3], dtype=xp.int32) + 1
    with jax.enable_x64(True):
        y = xp.sum(x)
        z = y + 1
    assert (y.dtype, z.dtype) == (np.int64, np.int64)
    assert int(z) == 10
    assert jnp.asarray(y).dtype == np.int64
    assert jnp.asarray(x).dtype == np.int32


def test_numbers():
    x = xp.asarray(random(100))
    assert bool(xp.all(xp.isfinite(x)))
    assert not xp.any(x > 100)
    assert int(xp.sum(x > 0)) == int((random(100) > 0).sum())
    total = xp.sum(x)
    assert float(total) == float(total) == float(total + 0)
    assert complex(xp.max(x)) == complex(random(100).max())
    assert [10, 20][xp.argmax(xp.asarray([1, 3]) + 1)] == 20
    with pytest.raises(TypeError):
        float(x + 1)


def test_few_wait_and_chains_are_short():
    x = xp.asarray(random(3))
    many = [x + i for i in range(100)]
    assert sum(map(waits, many)) <= _calls._MOST
    y = x
    for _ in range(200):
        y = y * 1.01 + x
        assert not waits(y) or y._later.length <= 2 * _calls.LONGEST
    expected = random(3)
    for _ in range(200):
        expected = (expected * np.float32(1.01)) + random(3)
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    for i, each in enumerate(many):
        np.testing.assert_array_equal(each, random(3) + i)


def test_loops_of_other_lengths_compile_nothing(monkeypatch):
    found = programs(monkeypatch)
    x = xp.ones(3)
    for n in range(2, 9):
        y = x
        for _ in range(n):
            y = y + x
        assert float(y[0]) == n + 1
    assert found == []


def test_large_arrays_do_not_wait(monkeypatch):
    monkeypatch.setattr(_calls, "_LARGE", 100)
    x = xp.asarray(random(26))
    assert not waits(x + 1)
    column = xp.reshape(xp.asarray(random(10)), (-1, 1))
    assert not waits(column + column.T)
    assert waits(column + column)


def test_memory_is_given_back():
    x = xp.asarray(random(1000))
    held = weakref.ref(x._value)
    y = xp.sum(x * 2)
    z = y + 1
    del x
    gc.collect()
    assert held() is not None
    float(z)
    jax.block_until_ready(y)
    gc.collect()
    assert held() is None
    unused = xp.asarray(random(1000)) + 1
    held = weakref.ref(unused._later.operands[0].source)
    del unused
    gc.collect()
    assert held() is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", None])
def test_constants_are_sent(x64, dtype):
    for name, number in (("zeros", 0), ("ones", 1)):
        for shape in ((), (3,), 4, (0, 2)):
            made = getattr(xp, name)(shape, dtype=dtype)
            expected = getattr(np, name)(shape, dtype=dtype or jnp.zeros(()).dtype)
            assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(made, expected)
            assert not made._value.weak_type
            assert number == 0 or made.size == 0 or made.any()
    with pytest.raises(ValueError, match="negative"):
        xp.zeros(-1)


def test_copies_of_reshaped_arrays_are_apart():
    x = xp.asarray(random(6))
    column = xp.reshape(x, (3, 2))
    copy = column.copy()
    copy[0, 0] = 5
    x[1] = 7
    np.testing.assert_array_equal(column[0], [random(6)[0], 7])
    np.testing.assert_array_equal(copy[0], [5, random(6)[1]])
    np.testing.assert_array_equal(xp.astype(column, xp.float32, copy=True), column)


def test_threads():
    x = xp.asarray(random(500))
    shared = xp.sum(xp.sin(x) * 2)
    found = []

    def work(i):
        y = x + i
        found.append((float(shared), i, float(xp.max(y * 2))))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({total for total, _, _ in found}) == 1
    assert len(found) == 8
    for _, i, largest in found:
        assert largest == np.max((random(500) + np.float32(i)) * 2)


def test_products_do_not_wait():
    x = xp.asarray(random((4, 4)))
    product = (x + 1) @ x
    assert not waits(product)
    x @= x
    assert not waits(x)
    np.testing.assert_allclose(product, (random((4, 4)) + 1) @ random((4, 4)), rtol=1e-5)
    np.testing.assert_allclose(x, random((4, 4)) @ random((4, 4)), rtol=1e-5)


def test_jax_disable_jit():
    with jax.disable_jit():
        y = xp.asarray(random(3)) + 1
        assert not waits(y)
    np.testing.assert_array_equal(y, random(3) + 1)
