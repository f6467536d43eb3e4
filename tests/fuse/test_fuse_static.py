"""Static and donated arguments, callables as arguments, and `lower`."""

import dataclasses
import enum
import functools
import pickle
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_fused

import jaxapi as xp
from jaxapi import fuse

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Mode(enum.Enum):
    DOUBLE = 1
    SINGLE = 2


class Flags(enum.Flag):
    A = 1
    B = 2


def counted(function, **options):
    """Fuse ``function``, and count its traces."""
    traces = []

    @functools.wraps(function)
    def traced(*args, **kwargs):
        traces.append(1)
        return function(*args, **kwargs)

    return fuse(traced, **options), traces


class TestStaticByType:
    def test_strings_and_dtypes(self):
        f = fuse(lambda x, mode, dtype: (x * 2 if mode == "double" else x).astype(dtype))
        assert_fused(f(X, "double", xp.int32), 2 * X.astype(np.int32))
        assert_fused(f(X, "single", np.dtype("int16")), X.astype(np.int16))

    def test_enums(self):
        f, traces = counted(lambda x, mode, flags: 2 * x if mode is Mode.DOUBLE or flags & Flags.B else x)
        assert_fused(f(X, Mode.DOUBLE, Flags.A), 2 * X)
        assert_fused(f(X, Mode.SINGLE, Flags.A), X)
        assert_fused(f(X, Mode.SINGLE, Flags.A | Flags.B), 2 * X)
        assert_fused(f(x=X, mode=Mode.SINGLE, flags=Flags.A), X)
        assert len(traces) == 4
        assert_fused(f(X, Mode.DOUBLE, Flags.A), 2 * X)
        assert len(traces) == 4

    def test_what_is_hashable_by_value(self):
        @dataclasses.dataclass(frozen=True)
        class Options:
            scale: float = 2.0
            axes: tuple = (0, 1)

        def scaled_or_sliced(x, options):
            return x * options.scale if isinstance(options, Options) else x[options]

        f, traces = counted(scaled_or_sliced)
        for _ in range(2):
            assert_fused(f(X, Options()), X * 2)
            assert_fused(f(X, Options(3.0)), X * 3)
            assert_fused(f(X, options=Options(3)), X * 3)
            if sys.version_info >= (3, 12):
                assert_fused(f(X, slice(1)), X[:1])
        assert len(traces) == 3 + (sys.version_info >= (3, 12))
        for options in (types.SimpleNamespace(), {1, 2}, Options(axes=[0]), object()):
            with pytest.raises(TypeError, match=f"got {type(options).__name__} as argument 1: pass its"):
                f(X, options)

    def test_callables_and_none(self):
        f = fuse(lambda x, g, y=None: g(x) if y is None else g(x) + y)
        assert_fused(f(X, jnp.sin), np.sin(X))
        assert_fused(f(X, xp.cos, y=X), np.cos(X) + X)
        assert_fused(f(X, {"g": xp.abs}["g"], y=X), 2 * X)


class TestPartial:
    def test_equal_content_shares_a_program(self):
        f, traces = counted(lambda x, g: g(x))
        for _ in range(3):
            assert_fused(f(X, functools.partial(xp.sum, axis=1)), X.sum(1))
            assert_fused(f(X, functools.partial(xp.sum, axis=0)), X.sum(0))
            assert_fused(
                f(X, functools.partial(functools.partial(xp.sum, axis=1), keepdims=True)), X.sum(1)[:, None]
            )
        assert len(traces) == 3

    def test_arrays_are_inputs_and_numbers_are_constants(self):
        f, traces = counted(lambda x, g: g(x))
        for i in range(3):
            assert_fused(f(X, functools.partial(xp.add, X + i)), 2 * X + i)
        assert len(traces) == 1
        for n in (1, True, 1.0, 2.0):
            expected = np.add(n, np.int8([1])) if not isinstance(n, float) else np.float32([1 + n])
            assert_fused(f(np.int8([1]), functools.partial(xp.add, n)), expected)
        assert len(traces) == 5


class TestStaticArguments:
    @pytest.mark.parametrize(
        "options", [{"static_argnames": "axis"}, {"static_argnums": 1}, {"static_argnums": -1}]
    )
    def test_by_position_and_by_name(self, options):
        f, traces = counted(lambda x, axis: xp.sum(x, axis=axis), **options)
        for _ in range(2):
            assert_fused(f(X, 0), X.sum(0))
            assert_fused(f(X, axis=1), X.sum(1))
            assert_fused(f(axis=1, x=X), X.sum(1))
        assert len(traces) == 3

    def test_several(self):
        def f(x, shape, *, flag, count=1):
            for _ in range(count):
                x = x + 1
            return xp.reshape(x, shape) if flag else x

        g = fuse(f, static_argnums=(1,), static_argnames=["flag", "count", "shape"])
        assert_fused(g(X, (3, 2), flag=True), X.reshape(3, 2) + 1)
        assert_fused(g(X, shape=(6,), flag=True, count=3), X.ravel() + 3)
        assert_fused(g(X, (3, 2), flag=False), X + 1)

    def test_refusals(self):
        f = fuse(lambda x, axis: xp.sum(x, axis=axis), static_argnames="axis")
        with pytest.raises(
            ValueError, match="static argument number 1 must be hashable, got list: pass a tuple"
        ):
            f(X, [0])
        with pytest.raises(ValueError, match="static argument 'axis' must be hashable, got ndarray"):
            f(X, axis=X)
        with pytest.raises(ValueError, match=r"static_argnames has \['b'\]"):
            fuse(lambda a: a, static_argnames="b")
        with pytest.raises(ValueError, match="static_argnums has 1, and the function takes 1 "):
            fuse(lambda a: a, static_argnums=1)
        with pytest.raises(ValueError, match="donate_argnums has -2, and the function takes 1 "):
            fuse(lambda a: a, donate_argnums=-2)
        with pytest.raises(ValueError, match=r"static_argnums has -1, .*\*args"):
            fuse(lambda *a: a, static_argnums=-1)
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            fuse(lambda a: a, static_argnums=[0.0])
        with pytest.raises(ValueError, match="arguments 0, a cannot be both static and donated"):
            fuse(lambda a: a, static_argnames="a", donate_argnums=0)

    def test_pickle_keeps_the_options(self):
        f = fuse(running_sum, "kern", static_argnames="axis", donate_argnums=0)
        g = pickle.loads(pickle.dumps(f))
        x = jnp.asarray(X)
        assert_fused(g(x, 1), X.cumsum(1))
        assert x.is_deleted()
        assert g.name == "kern"

    def test_builtins_without_signature(self):
        assert_fused(fuse(max, static_argnums=(0, 1))(5, 3), np.asarray(5, fuse(lambda n: n)(1).dtype))


def running_sum(x, axis):
    return xp.cumulative_sum(x, axis=axis)


class TestDonation:
    @pytest.mark.parametrize(
        "options", [{"donate_argnums": 0}, {"donate_argnames": "x"}, {"donate_argnames": ["x"]}]
    )
    def test_the_buffer_is_given_away(self, options):
        f = fuse(lambda x, n: x + n, **options)
        for call in (
            lambda x: f(x, 1.0),
            lambda x: f(x=x, n=1.0),
            lambda x: f(x, 70_000),
            lambda x: f(x, np.float32(1)),
        ):
            x = jnp.asarray(X)
            kept = jnp.asarray(X)
            call(x).block_until_ready()
            assert x.is_deleted()
            assert not kept.is_deleted()

    def test_the_others_stay(self):
        f = fuse(lambda x, y, mode: x + y, donate_argnums=1)
        x, y = jnp.asarray(X), jnp.asarray(X)
        assert_fused(f(x, y, "text"), 2 * X)
        assert y.is_deleted()
        assert not x.is_deleted()

    def test_integers_are_checked_before_the_buffer_is_gone(self):
        f = fuse(lambda x, n: x + n, donate_argnums=0)
        for _ in range(2):
            x = jnp.asarray(X.astype(np.int8))
            with pytest.raises(OverflowError, match="int8"):
                f(x, 300)
            assert_fused(x, X.astype(np.int8))
            assert_fused(f(x, 100), X.astype(np.int8) + np.int8(100))

    def test_memory_of_others_is_not_written_to(self):
        f = fuse(lambda x: x + 1, donate_argnums=0)
        room = np.zeros(1024 + 16, np.float32)
        aligned = room[(-room.ctypes.data % 64) // 4 :][:1024]
        assert_fused(f(aligned), np.ones(1024, np.float32))
        assert not aligned.any()

        class Foreign:  # another library's array
            def __dlpack__(self, **options):
                return aligned.__dlpack__(**options)

            def __dlpack_device__(self):
                return aligned.__dlpack_device__()

        assert_fused(f(Foreign()), np.ones(1024, np.float32))
        assert not aligned.any()

        class Owner:  # as CuPy's memory is shared on a GPU
            array = jnp.asarray(X)

            def __jax_array__(self):
                return self.array

        assert_fused(f(Owner()), X + 1)
        assert not Owner.array.is_deleted()


class TestLower:
    def test_as_in_jax(self):
        f = fuse(lambda x, y, a: a * x + y, kernel_name="kern")
        lowered = f.lower(X, X, 2.0)
        assert isinstance(lowered, jax.stages.Lowered)
        assert "module @jit_kern" in lowered.as_text()
        assert_fused(lowered.compile()(X, X, 3.0), 4 * X)
        assert_fused(f.lower(x=X, y=X, a=2).compile()(x=X, y=X, a=5), 6 * X)

    def test_static_arguments_are_left_out(self):
        f = fuse(lambda x, axis, y, *, dtype: xp.sum(x, axis=axis, dtype=dtype) + y, static_argnames="axis")
        compiled = f.lower(X, 0, X[0], dtype=xp.float32).compile()
        assert_fused(compiled(X, X[0]), X.sum(0) + X[0])

    def test_donated_arguments_are_donated(self):
        f = fuse(lambda mode, x: x + 1, donate_argnums=1)
        x = jnp.asarray(X)
        assert_fused(f.lower("text", x).compile()(x), X + 1)
        assert x.is_deleted()

    def test_shapes_and_wide_dtypes(self, x64):
        wide = jax.ShapeDtypeStruct((3,), np.float64)
        compiled = fuse(lambda x: x * 0.1).lower(wide).compile()
        x = np.arange(3) / 3
        with jax.enable_x64(True):
            assert_fused(compiled(x), x * 0.1)
        assert fuse(lambda x: x * 0.1).explain(wide).bytes_accessed == 48

    def test_of_a_method_and_errors(self):
        class Model:
            scale = 2.0

            def __init__(self):
                self.weights = X

            @fuse
            def of(self, x):
                return x * self.scale * self.weights

        assert "tensor<2x3xf32>" in Model().of.lower(X).as_text()
        with pytest.raises(TypeError, match="Python scalar"):
            fuse(lambda x: x if x > 0 else -x).lower(X)
        with pytest.raises(OverflowError, match="int8"):
            fuse(lambda x, n: x + n).lower(X.astype(np.int8), 300)
