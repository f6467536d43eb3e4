"""`fuse`: what the function does to its arguments is done to the caller's."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi.mutable as xp


def test_arguments_change():
    @xp.fuse
    def step(x, y, a):
        x += a * y
        y[x > 2] = 0

    x, y = xp.asarray([1.0, 2.0]), xp.asarray([1.0, 1.0])
    alias = x
    for _ in range(2):
        assert step(x, y, 1.0) is None
    np.testing.assert_array_equal(alias, [3, 3])
    np.testing.assert_array_equal(y, [0, 0])
    with jax.log_compiles(False):
        step(x, y, 2.0)


def test_arguments_of_several_lengths_change():
    def change(x, y):
        x *= 2
        x[x > 3] = 0
        y[:, 0] = y[:, 1] + 1
        y[:, 1:] = 7

    f = xp.fuse(change)
    for n in (70, 130):
        x, y = np.arange(n, dtype=np.float32), np.ones((n, 3), np.float32)
        mine = xp.asarray(x), xp.asarray(y)
        assert f(*mine) is None
        change(x, y)
        np.testing.assert_array_equal(mine[0], x)
        np.testing.assert_array_equal(mine[1], y)


def test_results_and_containers():
    @xp.fuse()
    def f(x, others, name="a"):
        others[name] *= 2
        x[0] = 5
        return {"sum": xp.sum(x), "both": (x, others[name])}

    x, a = xp.ones(2), xp.ones(3)
    result = f(x, {"a": a, "b": xp.zeros(1)})
    np.testing.assert_array_equal(x, [5, 1])
    np.testing.assert_array_equal(a, [2, 2, 2])
    assert float(result["sum"]) == 6
    assert all(type(leaf) is xp.Array for leaf in result["both"])


def test_numpy_arguments_change_too():
    host = np.zeros(3)

    @xp.fuse(kernel_name="fill")
    def fill(x):
        x += 3

    fill(host)
    np.testing.assert_array_equal(host, [3, 3, 3])
    assert fill.name == "fill"


def test_numpy_scalars_do_not_change():
    @xp.fuse
    def f(scalar, x):
        before = scalar
        scalar += 1
        x += scalar
        scalar += x
        return scalar, before * x

    x, scalar = xp.ones(2), np.float32(2)
    found, product = f(scalar, x)
    assert type(found) is type(product) is xp.Array
    np.testing.assert_array_equal(x, [4, 4])
    np.testing.assert_array_equal(found, [7, 7])
    np.testing.assert_array_equal(product, [8, 8])
    assert scalar == 2


def test_an_argument_that_cannot_change():
    @xp.fuse
    def add(x, y):
        x += y
        return x

    with pytest.raises(TypeError, match="argument 0, which cannot be changed"):
        add(jnp.ones(2), 1.0)
    x = xp.ones(2)
    np.testing.assert_array_equal(add(x, xp.ones(2)), [2, 2])
    with pytest.raises(ValueError, match="passed twice"):
        xp.fuse(lambda x, others: others[0].__iadd__(x))(x, [x])


def test_numbers_that_the_function_changes_for_itself():
    @xp.fuse
    def f(x, scale):
        scale += 1
        return x * scale

    np.testing.assert_array_equal(f(xp.ones(3), 2), [3, 3, 3])
    np.testing.assert_array_equal(f(xp.ones(3), 0.5), [1.5, 1.5, 1.5])


def test_one_array_passed_twice():
    @xp.fuse
    def f(x, y, z=None):
        x += y
        y[0] = 10
        return x + (0 if z is None else z)

    for function in (f, f.func):
        x = xp.asarray([1.0, 2.0])
        np.testing.assert_array_equal(function(x, x), [10, 4])
        np.testing.assert_array_equal(x, [10, 4])
        y = xp.ones(2)
        np.testing.assert_array_equal(function(y, xp.ones(2), z=y), [4, 4])
        np.testing.assert_array_equal(y, [2, 2])


@pytest.mark.parametrize("way", ["jaxs"], indirect=True)
@pytest.mark.parametrize("argument", [lambda x: x, lambda x: [x], lambda x: {"a": (x,)}])
def test_what_is_not_changed_keeps_its_memory(argument):
    @xp.fuse
    def twice(x):
        return jax.tree.map(lambda x: x * 2, x)

    x = xp.zeros(100_000)
    for _ in range(
        3
    ):  # the first write to a number, and to one that is kept on the device, is made to a copy
        x[0] = 1
        jax.block_until_ready(x._value)
    before = x._value.unsafe_buffer_pointer()
    twice(argument(x))
    x[0] = 1
    assert x._value.unsafe_buffer_pointer() == before


def test_methods_and_explain():
    class Model:
        def __init__(self):
            self.scale = 3.0

        @xp.fuse
        def apply(self, x):
            x *= self.scale

    model, x = Model(), xp.ones(2)
    model.apply(x)
    model.scale = 2.0
    model.apply(x)
    np.testing.assert_array_equal(x, [6, 6])
    f = xp.fuse(lambda x: x + 1)
    assert f.explain(xp.ones(10)).bytes_accessed == 80
    f.clear_cache()
    assert repr(xp.fuse("name")(lambda x: x)) == "<Fusion 'name'>"
    with pytest.raises(TypeError, match="fuse takes a function"):
        xp.fuse(3)


def test_inside_jit():
    @xp.fuse
    def add(x):
        x += 1

    def f(x):
        add(x)
        return x

    np.testing.assert_array_equal(jax.jit(f)(xp.ones(2)), [2, 2])


def test_static_arguments_by_position_and_by_name():
    f = xp.fuse(lambda x, axis: xp.sum(x, axis=axis), static_argnames="axis")
    np.testing.assert_array_equal(f(xp.ones((2, 3)), 0), [2, 2, 2])
    np.testing.assert_array_equal(f(xp.ones((2, 3)), axis=1), [3, 3])


@pytest.mark.daily
def test_overlapping_views(way):
    @xp.fuse
    def f(a, b, whole=None):
        a += 1
        b *= 2
        if whole is not None:
            whole[0] = a[-1]
        return b

    for slices in [(slice(1, None), slice(None, -1)), (slice(3), slice(3, None)), (slice(None), slice(0, 2))]:
        host = np.arange(6, dtype=np.float32)
        x, eager = xp.asarray(host), xp.asarray(host)
        for _ in range(2):
            expected = f.func(*(host[s] for s in slices), host)
            np.testing.assert_array_equal(f.func(*(eager[s] for s in slices), whole=eager), expected)
            np.testing.assert_array_equal(f(*(x[s] for s in slices), whole=x), expected)
            np.testing.assert_array_equal(x, host)
            np.testing.assert_array_equal(f(*(x[s] for s in slices)), f.func(*(host[s] for s in slices)))
            np.testing.assert_array_equal(x, host)
            eager[...] = host
    add = xp.fuse(lambda x, others: others[0].__iadd__(x))
    if way == "jaxs":
        with pytest.raises(ValueError, match="passed twice"):
            add(x[:2], [x[1:3]])
    else:
        add(x[:2], [x[1:3]])
        host[1:3] += host[:2]
        np.testing.assert_array_equal(x, host)


class Heat:
    def __init__(self):
        self.field = xp.zeros(5)
        self.parts = [xp.ones(5)]

    @xp.fuse(static_argnames="steps")
    def run(self, source, steps):
        for _ in range(steps):
            self.field[1:-1] = (self.field[2:] + self.field[:-2]) / 2 + source[1:-1]
        self.parts[0] += 1


def test_a_methods_object_changes():
    heat, expected = Heat(), Heat()
    expected.parts = [np.ones(5, np.float32)]
    expected.field = np.zeros(5, np.float32)
    for model in (heat, pickle.loads(pickle.dumps(heat))):
        model.run(xp.ones(5), steps=3)
        np.testing.assert_array_equal(model.parts[0], [2, 2, 2, 2, 2])
        expected.field[:] = 0
        Heat.run.func(expected, np.ones(5, np.float32), 3)
        np.testing.assert_allclose(model.field, expected.field)


def test_lower_explain_and_pickle():
    heat = Heat()
    assert "module @jit_run" in heat.run.lower(xp.ones(5), steps=2).as_text()
    assert heat.run.explain(xp.ones(5), steps=1).name == "run"
    again = pickle.loads(pickle.dumps(heat.run))
    again(xp.ones(5), steps=1)
    np.testing.assert_array_equal(again.__self__.field, [0, 1, 1, 1, 0])
    np.testing.assert_array_equal(heat.field, np.zeros(5))
    assert pickle.loads(pickle.dumps(Heat.run)) is Heat.run
    fused = pickle.loads(pickle.dumps(xp.fuse(add_to_first)))
    x = xp.zeros(2)
    fused(x)
    np.testing.assert_array_equal(x, [1, 0])
    result, changed = xp.fuse(add_to_first).lower(x).compile()(jnp.ones(2))
    assert result is None
    np.testing.assert_array_equal(changed["0 0"], [2, 1])


def add_to_first(x):
    x[0] += 1


def test_wide_numbers_with_narrow_ones(x64):
    """A float64 array that comes to a function traced for float32."""

    @xp.fuse
    def f(x, a):
        x += a

    for dtype in (np.float32, np.float64):
        x = xp.zeros(2, dtype=dtype)
        f(x, 0.1)
        np.testing.assert_array_equal(x, np.full(2, 0.1, dtype))
