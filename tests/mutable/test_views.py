"""Slices and transposes are parts of their array: what NumPy does, step by step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_same

import jaxapi.mutable as xp
from jaxapi.mutable import _selection, _views
from jaxapi.mutable._batches import is_recording

pytestmark = pytest.mark.parametrize("size", ["small", "large"], indirect=True)


def slices(x):
    row, column = x[1], x[:, -1]
    row += 10
    column[1:] = 5
    x[1, 0] = -7
    return row, column


def views_of_views(x):
    x[0][1] = 100
    x[::-1][0][::2] += 3
    inner = x[1:][:, 1:]
    inner *= 2
    inner.T[0] = 9
    return inner, inner.T


def transposes(x):
    t = x.T
    t[0] = 4
    x.mT[1, 1:] -= 1
    x[0, 0] = 50
    return t


def rows(x):
    for i, row in enumerate(x):
        row[i] = -1
    return x[None, ..., 0]


def shifts(x):
    for _ in range(3):
        x = x[:, 1:]
        x += 1
    return x


def reshapes(x):
    lines = x.reshape(2, 6)
    lines[1, 2:] = 40
    left, right = x.T.reshape(2, 2, 3)  # splits an axis: a view of other strides
    left[0] += 1
    right *= 3
    x.T.reshape(12)[:] = 99  # a copy
    x[:, 1:].reshape(9)[:] = 99  # a copy
    x[1:].reshape(-1)[3] = -1
    x[0] = 7
    inner = x[1:, None, ::2].reshape(2, 2, 1)
    inner.T[...] = 8
    inner.reshape(2, 2).T[0] -= 3
    return lines, left, right, inner, x.reshape(3, 4), x[2, 3:].reshape(())


def new_axes(x):
    x[None][0:0] = 5  # nothing
    x[:, None][1] += 10
    return x[None][0:0], x[:, None][:, 0:0].T, x[None].T[0], x[..., None][::-1, 1]


PROGRAMS = [slices, views_of_views, transposes, rows, shifts, reshapes, new_axes]


@pytest.mark.parametrize("program", PROGRAMS)
def test_views(program):
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = xp.asarray(host)
    expected, found = program(host), program(x)
    assert_same((found, x), (expected, host))


@pytest.mark.parametrize("program", PROGRAMS)
def test_views_under_jit(program):
    host = np.arange(12, dtype=np.float32).reshape(3, 4)

    @jax.jit
    def run(x):
        return program(x), x

    assert_same(run(xp.asarray(host)), (program(host), host))


def test_a_view_sees_later_writes():
    x = xp.zeros((2, 3))
    row = x[0]
    x[0, 1] = 4
    x += 1
    np.testing.assert_array_equal(row, [1, 5, 1])
    assert float(xp.sum(row)) == 7
    np.testing.assert_array_equal(jax.jit(lambda: row + 0)(), [1, 5, 1])
    x[0, 0] = 2
    np.testing.assert_array_equal(jax.jit(lambda: row + 0)(), [2, 5, 1])
    np.testing.assert_array_equal(row, [2, 5, 1])


def test_what_is_no_view():
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    others = [x[[0, 1]], x[x > 0], x[0, 0], xp.reshape(x.T, (4,)), xp.matrix_transpose(x)]
    for y in (*others, xp.asarray(x[0], copy=True)):
        y += 1
    np.testing.assert_array_equal(x, [[1, 2], [3, 4]])
    a, b = x[0, 0], x[0, 1]
    x[0, 0], x[0, 1] = b, a
    np.testing.assert_array_equal(x[0], [2, 1])


@pytest.mark.parametrize("way", ["jaxs"], indirect=True)
def test_views_leave_the_owner_its_memory():
    """A view that is alive does not make writes copy, and `x[key] += y` writes once."""
    x = xp.zeros(100_000)
    part = x[10:20]

    def write():
        x[1] = 1
        part[...] += 1
        x[10:12] += 1
        return x._value.unsafe_buffer_pointer()

    addresses = [write() for _ in range(4)]
    first = 2 if is_recording() else 0  # a batch's programs are given copies in their first calls
    assert len(set(addresses[first:])) == 1
    np.testing.assert_array_equal(part, [8, 8] + [4] * 8)


def test_deep_views():
    x = y = xp.zeros(3)
    for _ in range(1201):
        y = y[::-1]
    y[0] = 3
    assert float(x[2]) == 3


def test_reshape_and_copy():
    x = xp.arange(6)
    xp.reshape(x, (2, 3), copy=True)[...] = 9
    np.testing.assert_array_equal(x, np.arange(6))
    xp.reshape(x, (2, 3), copy=False)[1] = 9
    np.testing.assert_array_equal(x, [0, 1, 2, 9, 9, 9])
    with pytest.raises(ValueError, match="by a copy alone"):
        xp.reshape(x.reshape(2, 3).T, (6,), copy=False)
    lines = x.reshape(2, 3)
    np.testing.assert_array_equal(lines[1], [9, 9, 9])
    assert lines.tolist()[0] == [0, 1, 2]
    with pytest.raises(ValueError, match="broadcast"):
        x[...] = lines  # the same elements, and yet of another shape
    assert xp.reshape(xp.zeros((0, 3)), (3, 0)).shape == (3, 0)
    with pytest.raises(ValueError, match="reshape"):
        xp.reshape(x, (4, 2))


def test_programs_read_the_parts_that_they_compute_with(monkeypatch, way):
    """No program of its own reads a view that an operator computes with, or a write copies."""
    host, other = (np.random.default_rng(k).normal(size=(32, 34)).astype(np.float32) for k in (0, 1))
    x, y = xp.asarray(host.copy()), xp.asarray(other)

    def refuse(value, selection):
        raise AssertionError(f"{selection} is read by itself")

    with monkeypatch.context() as context:
        if way == "jaxs":
            context.setattr(_views, "take", refuse)
            context.setattr(_selection, "take", refuse)
        results = [
            x[1:, 1:] + x[:-1, :-1],
            4 * x[1:-1, ::-1],
            x[2:, :5] * y[2:, :5],
            x[:, 3] < y[::-1, 4],
            x.T - y.T,
        ]
        x[1:-1, 1:-1] = y[2:, 2:]
        x[:, -1] = x[:, -2]
        x[3:20, 1:] = x[2:19, 1:]
        x[0, :] = x[5, ::-1]
    expected = [
        *(host[1:, 1:] + host[:-1, :-1], 4 * host[1:-1, ::-1], host[2:, :5] * other[2:, :5]),
        *(host[:, 3] < other[::-1, 4], host.T - other.T),
    ]
    host[1:-1, 1:-1] = other[2:, 2:]
    host[:, -1] = host[:, -2]
    host[3:20, 1:] = host[2:19, 1:]
    host[0, :] = host[5, ::-1]
    for found, wanted in zip([*results, x], [*expected, host], strict=True):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises((ValueError, TypeError), match=r"shape|broadcast"):
        x[1:, 1:] + x[:, 1:]
    with pytest.raises(ValueError, match="broadcast"):
        x[1:, 1:] = y[:, 1:]
    integers = xp.asarray(np.arange(40, dtype=np.int16).reshape(4, 10))
    x[:4, :9] = integers[:, 1:]
    np.testing.assert_array_equal(x[:4, :9], np.arange(40).reshape(4, 10)[:, 1:])
    total = jax.jit(lambda a: a[1:, 1:] + a[:-1, :-1])(x)
    np.testing.assert_array_equal(total, np.asarray(x)[1:, 1:] + np.asarray(x)[:-1, :-1])


def test_parts_keep_what_their_owner_has(way):
    """Weak dtypes, 64 bits where JAX would make 32 of them, and values that left a trace."""
    weak = xp.asarray(jnp.full(4, 1.0) if way == "jaxs" else np.ones(4, np.float32))
    if way == "jaxs":
        assert weak._value.weak_type
        half = xp.asarray(np.ones(4, np.float16))
        assert (weak[1:] + half[1:]).dtype == np.float16
        assert (half[1:] * weak[:-1]).dtype == np.float16
    with jax.enable_x64(True):
        wide, other = xp.asarray(np.arange(40.0)), xp.asarray(np.arange(40.0) / 3)
    expected = np.arange(40.0)
    with jax.enable_x64(False):
        wide[1:] = other[:-1]
        wide[20:30] = wide[19:29]
    expected[1:] = np.arange(39.0) / 3
    expected[20:30] = expected[19:29]
    np.testing.assert_array_equal(np.asarray(wide), expected)
    left = []
    jax.jit(lambda t: left.append(t * 1) or t)(xp.asarray(np.arange(6.0, dtype=np.float32)))
    with pytest.raises(jax.errors.UnexpectedTracerError):
        left[0][1:] = xp.ones(6)[:-1]


def test_views_made_in_a_trace_of_an_array_that_becomes_numpys():
    x = jax.jit(lambda t: t)(xp.asarray(np.arange(6, dtype=np.float32)) * 1)
    views = []
    jax.jit(lambda t: (views.append(x[1:]), views.append(x[:-1]), t)[2])(1.0)
    x[0] = 9
    views[0][...] = views[1]
    np.testing.assert_array_equal(x, [9, 9, 1, 2, 3, 4])
