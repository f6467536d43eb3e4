"""What writes must not do: lose an array, or an answer of somebody else's."""

import signal
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jaxapi.mutable as xp
from jaxapi.mutable import _storage


def differences(x):
    x[1:] -= x[:-1]
    return x / x.sum()


def shifted(x):
    x[1:] = x[:-1]
    return x * x[1]


def smoothed(x):
    x[1:-1] += x[2:] + x[:-2]
    return x / x.sum()


def from_one(x):
    x[:3] = x[1] * 2
    return x / x.sum()


def of_a_row(x):
    x[[1]] = x[::-1][[1]] + x[0]
    x[:2] *= x[1:3]
    return x / x.sum()


@pytest.mark.daily
@pytest.mark.parametrize("function", [differences, shifted, smoothed, from_one, of_a_row])
def test_loops_read_before_they_write(function):
    """XLA's compiler for the CPU updates in place what it still reads; one for GPUs reads too far."""
    rows = np.arange(1, 13, dtype=np.float32).reshape(2, 6)
    expected = np.stack([function(row.copy()) for row in rows])
    x = xp.asarray(rows)
    np.testing.assert_allclose(lax.map(function, x), expected, rtol=1e-6)
    np.testing.assert_allclose(lax.scan(lambda c, row: (c, function(row)), 0, x)[1], expected, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(function)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(function)(x[0]), expected[0], rtol=1e-6)
    slope = xp.grad(lambda row: xp.sum(lax.map(function, row[None]) * xp.arange(6)))(xp.asarray(rows[0]))
    step = 1e-2
    moved = [
        np.dot(function(rows[0] + np.float32(step) * way), np.arange(6)) for way in np.eye(6, dtype="f4")
    ]
    back = [np.dot(function(rows[0] - np.float32(step) * way), np.arange(6)) for way in np.eye(6, dtype="f4")]
    np.testing.assert_allclose(slope, (np.asarray(moved) - back) / (2 * step), rtol=2e-2, atol=2e-2)


def test_grad_without_jit_keeps_what_it_needs():
    def loss(x):
        y = xp.exp(x)
        y[0] = 1
        y[1:] *= y[:-1]
        return xp.sum(y)

    x = np.asarray([1.0, 2.0, 3.0, 4.0], np.float32)
    e = np.exp(x)
    # 1 + e1 + e1 e2 ... : y1 = e1 * 1, y2 = e2 * e1, y3 = e3 * e2
    expected = [0, e[1] * (1 + e[2]), e[2] * (e[1] + e[3]), e[3] * e[2]]
    for gradient in (xp.grad(loss), jax.jit(xp.grad(loss)), xp.grad(jax.checkpoint(loss))):
        np.testing.assert_allclose(gradient(xp.asarray(x)), expected, rtol=1e-5)


def test_a_view_is_read_in_inner_traces():
    def f(x):
        part, table = x[1:], xp.reshape(x, (2, 3))
        carry, _ = lax.scan(lambda c, _: (c + xp.sum(part), 0), table[1, 1], None, length=2)
        chosen = lax.cond(jnp.asarray(x[0] < 1), lambda: xp.sum(part * 2), lambda: xp.sum(part))
        grown = lax.while_loop(lambda c: jnp.asarray(c < 20), lambda c: c + part[0] + part[1], x[0])
        kept = jax.checkpoint(lambda: xp.sum(table[0]))()
        part += 1
        return carry, chosen, grown, kept, xp.sum(part)

    expected = [34, 30, 21, 3, 20]
    for transformed in (f, jax.jit(f), lambda x: [r[0] for r in jax.vmap(f)(x[None])]):
        assert [float(r) for r in transformed(xp.asarray(np.arange(6, dtype=np.float32)))] == expected


@pytest.mark.parametrize("way", ["jaxs"], indirect=True)
def test_donation_takes_what_nobody_else_holds():
    @xp.fuse(donate_argnums=0)
    def double(x):
        return x * 2

    n = 50_000
    x = xp.full(n, 3.0) + 0
    assert float(x[0]) == 3  # a copy of what waits would share its memory
    copy, element = x.copy(), x[1]
    np.testing.assert_array_equal(double(x), np.full(n, 6))
    assert x._value.is_deleted()
    np.testing.assert_array_equal(copy, np.full(n, 3))
    assert float(element) == 3
    for _ in range(2):
        np.testing.assert_array_equal(double(xp.full(7, 3.0)), np.full(7, 6))
    plain, whole = jnp.ones(n), xp.asarray(np.ones(n, np.float32))
    double(xp.asarray(plain))
    double(whole[:])
    np.testing.assert_array_equal(plain, np.ones(n))
    np.testing.assert_array_equal(whole, np.ones(n))

    @xp.fuse(donate_argnums=0)
    def add(x, y):
        x += y

    both = xp.asarray(np.arange(4, dtype=np.float32))
    add(both[1:], both[:-1])
    np.testing.assert_array_equal(both, [0, 1, 3, 5])
    both = xp.fuse(lambda pair: (pair[0] + pair[1], pair[0] - pair[1]), donate_argnums=0)
    np.testing.assert_array_equal(both((whole[:], whole[:]))[0], np.full(n, 2))
    np.testing.assert_array_equal(whole[:3], np.ones(3))


class Interrupt(BaseException):
    pass


ARMED = [False]  # whether the signal raises


def until_interrupted(write, x, seconds):
    """Write until a signal raises; Python ignores what is raised in a finalizer, so it comes again."""
    ARMED[0] = True
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        while True:
            write(x)
    finally:
        ARMED[0] = False


@pytest.mark.parametrize("way", ["jaxs"], indirect=True)
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals")
def test_an_interrupt_leaves_the_old_or_the_new_value():
    def interrupt(*_):
        if ARMED[0]:
            raise Interrupt

    n, rng = 40_000, np.random.default_rng(0)
    one, even = xp.ones(n), xp.asarray(np.arange(n) % 2 == 0)
    writes = [
        lambda x: x.__setitem__(3, 1.0),
        lambda x: x.__setitem__(slice(5, 9), 1.0),
        lambda x: x.__iadd__(one),
        lambda x: x.__setitem__(even, 1.0),
        lambda x: x.__setitem__([1, 2], 1.0),
    ]
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for write in writes:
            for repeat in range(13):
                x = xp.zeros(n) + 0
                if not repeat:
                    for _ in range(6):  # some wait, and some run at once
                        write(x)
                        np.asarray(x)
                    continue
                with pytest.raises(Interrupt):
                    until_interrupted(write, x, rng.uniform(1e-5, 1e-3))
                ARMED[0] = False
                values = np.asarray(x)
                x += one
                np.testing.assert_array_equal(x, values + 1)
    finally:
        ARMED[0] = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("way", ["jaxs"], indirect=True)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_program_that_raises_leaves_the_old_value(when, monkeypatch):
    x = xp.zeros(50_000) + 1
    name = {"before": "_take_out", "after": "in_a_trace"}[when]

    def fail(*args):
        raise Interrupt

    with monkeypatch.context() as patched:
        patched.setattr(_storage, name, fail)
        with pytest.raises(Interrupt), xp.deferred(False):
            x[0] = 5
    np.testing.assert_array_equal(x, np.ones(50_000))


@pytest.mark.skipif(len(jax.devices("cpu")) < 2, reason="the CPU plays several devices")
@pytest.mark.parametrize("kind", [AxisType.Explicit, AxisType.Auto])
@pytest.mark.parametrize("spec", [None, P(), P("i")])
def test_under_a_mesh(kind, spec):
    mesh = jax.make_mesh((2,), ("i",), axis_types=(kind,), devices=jax.devices("cpu")[:2])

    def program(xp, x):
        x[3] = 1.0
        x[2:5] = x[1:4] + 1
        x += 1
        x[x > 2] = 0.0
        x[[1, 2]] = 7.0
        x[::2] *= 2
        x[::-1] = x * 1
        return float(x[1]), x[2:4] + x[[0, 1]], x[x > 5]

    host = np.zeros(8, np.float32)
    expected = program(np, host)
    for inside in (True, False):
        with jax.set_mesh(mesh):
            x = xp.zeros(8, dtype=xp.float32)
            if spec is not None:
                x = xp.asarray(jax.device_put(np.zeros(8, np.float32), NamedSharding(mesh, spec)))
            found = program(xp, x) if inside else None
        found = found or program(xp, x)
        for ours, numpys in zip((*found, x), (*expected, host), strict=True):
            np.testing.assert_array_equal(ours, numpys)
        if spec is not None:
            assert x.device.is_equivalent_to(NamedSharding(mesh, spec), 1)


def test_iteration_and_parts_are_views():
    for xp_ in (np, xp):
        m, line, x, s = xp_.zeros((2, 3)), xp_.zeros(3), xp_.zeros(3), xp_.asarray(2.0)
        for row in m:
            row += 1
            m += 1
        seen = []
        for element in line:
            line += 1
            seen.append(float(element))
        part = x[1, ...]
        part += 4
        whole = s[...]
        whole += 5
        turned = s.T
        turned *= 2
        alone = x[1]
        alone += 1
        found = [np.asarray(each).tolist() for each in (m, line, x, s)]
        assert found == [[[3.0] * 3] * 2, [3.0] * 3, [0.0, 4.0, 0.0], 14.0]
        assert seen == [0, 1, 2]


def test_a_method_of_an_object_with_slots():
    class Model:
        __slots__ = ("factor", "state")

        def __init__(self):
            self.state, self.factor = xp.zeros(3), 2.0

        @xp.fuse
        def step(self, y):
            self.state += self.factor * y
            return self.state * 2

    model = Model()
    np.testing.assert_array_equal(model.step(xp.ones(3)), [4, 4, 4])
    np.testing.assert_array_equal(model.state, [2, 2, 2])


def test_single_elements():
    """Elements of small arrays are read and written by the host: what was taken before stays."""
    x, n = xp.zeros((2, 3), dtype=xp.int32), np.zeros((2, 3), np.int32)
    seen = []
    for a in (x, n):
        row, before = a[1], a + 0
        element = a[1, 2]
        a[1, 2] = 5
        a[-1, 0] = a[1, 2]
        element += 1
        row[1] = True
        values = [np.asarray(v).tolist() for v in (a, row, before, element, a[1, 2], row + a[1, 1])]
        a[...] = 9
        row[0] = np.int32(4)
        seen.append([*values, np.asarray(a).tolist(), [int(i) for i in a[1]], float(a[0, 0]), a[0, 0].dtype])
    assert seen[0] == seen[1]
    wide = xp.zeros(2, dtype=xp.float64)
    wide[0], wide[1] = 0.1, wide[0] + 1
    assert [float(v) for v in wide] == [0.1, 1]
    given = jnp.asarray(x)
    held = np.asarray(given).copy()
    x[0, 0] = 77
    np.testing.assert_array_equal(given, held)
    with pytest.raises(OverflowError):
        x[0, 0] = 2**40
    with pytest.raises(TypeError, match="complex"):
        x[0, 0] = 1j
    with pytest.raises(IndexError, match="out of bounds"):
        x[2, 0] = 1
    with pytest.raises(ValueError, match="outside"):
        jax.jit(lambda y: x.__setitem__((0, 0), 3) or y)(1.0)
    assert int(x[0, 0]) == 77
    assert int(jax.jit(lambda i: x[0, 0] + i)(jnp.int32(1))) == 78


def test_an_element_outlives_a_donated_array():
    x = xp.ones(4)
    element = x[1]
    jax.jit(lambda y: y + 1, donate_argnums=0)(x)
    assert float(element) == 1


def test_elements_written_by_threads():
    """Each thread writes its own elements, and the whole now and then: nothing is lost."""
    x = xp.zeros((8, 16), dtype=xp.int32)

    def work(row):
        for i in range(16):
            x[row, i] = int(x[row, i]) + i
            if i % 5 == row % 5:
                x[row, i : i + 1] += 100
                xp.sum(x)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    expected = np.arange(16) + 100 * (np.arange(16) % 5 == np.arange(8)[:, None] % 5)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("way", ["numpys"], indirect=True)
def test_elements_written_before_the_default_device_changes():
    x = xp.zeros(3)
    x[0] = 5
    with jax.default_device(jax.devices()[-1]):
        x[1] = 6
        np.testing.assert_array_equal(x, [5, 6, 0])
        assert x.device == jax.devices()[0]


def test_numbers_that_are_kept_are_told_apart():
    x = xp.asarray([1.0, -1.0])
    y = xp.asarray([True, False])
    for number in (0.0, -0.0, 1.0, float("nan"), float("inf"), -float("inf")):
        host = np.asarray([1.0, -1.0], np.float32)
        np.testing.assert_array_equal(
            np.signbit(np.asarray(x * number)), np.signbit(host * np.float32(number))
        )
        z = xp.asarray([1.0, -1.0])
        z[0] = number
        host[0] = number
        np.testing.assert_array_equal(np.signbit(np.asarray(z)), np.signbit(host))
        np.testing.assert_array_equal(z, host)
    assert [(y + 1).dtype, (y * 1.0).dtype] == [xp.asarray([1]).dtype, xp.asarray([1.0]).dtype]
    assert ((x == 1).dtype, (x + 1).dtype, (x + True).dtype) == (np.bool, np.float32, np.float32)
