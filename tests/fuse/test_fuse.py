"""`fuse`: forms, scalars, arguments, composition; NumPy is the oracle."""

import array
import copy
import inspect
import pickle
import sys
import threading
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_fused

import jaxapi as xp
from jaxapi import fuse

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def axpy(x, y, a):
    return a * x + y


class TestForms:
    @pytest.mark.parametrize(
        ("decorate", "name"),
        [
            (fuse, "axpy"),
            (fuse(), "axpy"),
            (fuse(kernel_name="kern"), "kern"),
            (fuse("kern"), "kern"),
            (lambda f: fuse(f, kernel_name="kern"), "kern"),
        ],
    )
    def test_every_form(self, decorate, name):
        f = decorate(axpy)
        assert_fused(f(X, X, 2.0), 3 * X)
        assert f.name == name
        assert repr(f) == f"<Fusion '{name}'>"
        assert f.func is axpy
        assert f.__wrapped__ is axpy
        assert f.__name__ == "axpy"


class TestScalars:
    def test_python_scalars_are_weak_and_do_not_compile_again(self):
        traces = []

        @fuse
        def f(x, a):
            traces.append(a)
            return x * a

        for a in (1.5, -2.5, 1e30):
            assert_fused(f(X, a), X * np.float32(a))
        assert len(traces) == 1

    def test_numpy_keeps_its_dtype(self, x64):
        f = fuse(axpy)
        assert_fused(f(X.astype(np.float64) / 3, X, 0.1), 0.1 * (X.astype(np.float64) / 3) + X)
        assert_fused(f(X, X, np.float64(0.1)), np.float64(0.1) * X + X)
        assert_fused(f(X.astype(np.int64) + 2**40, 0, 1), X.astype(np.int64) + 2**40)

    @pytest.mark.parametrize("inf", [xp.inf, -xp.inf, xp.nan, float("inf"), np.nan])
    def test_where_with_constants_and_newaxis(self, inf):
        mask = np.array([True, False])
        f = fuse(lambda mask, x: xp.where(mask[:, xp.newaxis], inf, x))
        assert_fused(f(mask, X), np.where(mask[:, None], np.float32(inf), X))


class TestArguments:
    def test_lists_become_arrays(self, x64):
        f = fuse(lambda x, y: x.sum() + y)
        default = np.float64 if x64 else np.float32
        assert_fused(f([[1.0, 2.0], [3.0, 4.0]], [1, 2]), np.array([11.0, 12.0], default))
        assert f([True, False], 0.5).dtype == default

    def test_other_containers_are_pytrees(self):
        f = fuse(lambda p, xs: {"a": p["w"] @ xs[0], "b": (xs[1], None), "n": p["s"] * xs[1]})
        result = f({"w": X, "s": 2.0}, [X.T, X])
        assert set(result) == {"a", "b", "n"}
        assert_fused(result["a"], X @ X.T)
        assert_fused(result["b"][0], X)
        assert result["b"][1] is None
        assert_fused(result["n"], 2 * X)

    @pytest.mark.thorough
    def test_torch(self):
        torch = pytest.importorskip("torch")
        assert_fused(fuse(lambda x, y: x + y)(torch.arange(6.0).reshape(2, 3), X), 2 * X)
        wide = torch.arange(6.0, dtype=torch.float64) / 3
        assert_fused(fuse(lambda x: x * 0.1)(wide), wide.numpy() * 0.1)

    def test_tensors_that_look_like_torchs(self, monkeypatch):
        class Tensor:
            requires_grad = False
            layout = "torch.strided"

            def __init__(self, data):
                self._data = data

            def __dlpack__(self, **options):
                return self._data.__dlpack__(**options)

            def __dlpack_device__(self):
                return self._data.__dlpack_device__()

        monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor))
        f = fuse(lambda x, y: x + y["z"])
        tensor, wide = Tensor(X), Tensor(X.astype(np.float64) / 3)
        assert_fused(f(tensor, {"z": X}), 2 * X)
        assert_fused(f(X, {"z": tensor}), 2 * X)
        assert_fused(f(wide, {"z": 0.1}), X.astype(np.float64) / 3 + 0.1)
        tensor.requires_grad = True
        for args in ((tensor, {"z": X}), (X, {"z": tensor})):
            with pytest.raises(ValueError, match=r"requires grad .*pass x\.detach\(\)"):
                f(*args)
        tensor.requires_grad, tensor.layout = False, "torch.sparse_coo"
        with pytest.raises(ValueError, match=r"pass x\.to_dense\(\)"):
            f(tensor, {"z": X})

    def test_arrays_that_look_like_cupys(self):
        class Ndarray:  # with dtype and shape, and no way to NumPy but DLPack
            def __init__(self, data):
                self._data, self.dtype, self.shape, self.ndim = data, data.dtype, data.shape, data.ndim

            def __array__(self, dtype=None, copy=None):
                raise TypeError("Implicit conversion to a NumPy array is not allowed")

            def __dlpack__(self, **options):
                return self._data.__dlpack__(**options)

            def __dlpack_device__(self):
                return self._data.__dlpack_device__()

        f = fuse(lambda x, y: x + y)
        assert_fused(f(Ndarray(X), X), 2 * X)
        assert_fused(
            f(X, y=Ndarray(X.astype(np.int64) + 2**40)), X + (X.astype(np.int64) + 2**40).astype(np.float32)
        )

    def test_cupy(self, gpu):
        cupy = pytest.importorskip("cupy")
        assert_fused(fuse(lambda x, y: x + y)(cupy.arange(6, dtype="f4").reshape(2, 3), X), 2 * X)
        assert_fused(fuse(lambda x: x * 0.1)(cupy.arange(3) / 3), np.arange(3) / 3 * 0.1)

    def test_unusual_numpy(self):
        f = fuse(lambda x: x + 1)
        assert_fused(f(X.astype(">f4")), X + 1)
        assert_fused(f(X[::-1, ::2]), X[::-1, ::2] + 1)
        assert_fused(f(np.ulonglong(3)), np.uint64(4))
        assert_fused(f(array.array("d", [1.5, 2.5])), np.array([2.5, 3.5]))
        assert_fused(f(memoryview(X)), X + 1)
        assert_fused(f(np.int16(3)), np.int16(4))

    def test_numpy_scalars_are_not_weak(self, x64):
        f = fuse(lambda x, a: x * a)
        assert f(X, 2.0).dtype == np.float32
        assert f(X, np.float64(2)).dtype == np.float64
        assert f(X.astype(np.int16), np.int32(2)).dtype == np.int32
        assert f(X.astype(np.int16), 2).dtype == np.int16
        assert f(X, 2j).dtype == np.complex64
        assert f(X.astype(np.int16), True).dtype == np.int16

    def test_64_bit_digits_stay(self, x64):
        exact = np.array([2**53 + 1, -(2**62) + 1])
        assert_fused(fuse(lambda x: x - 1)(exact), exact - 1)
        third = np.array([1 / 3])
        for value in (third, jnp.asarray(1.0), third):  # a wide call, a default one, a wide one
            result = fuse(lambda x, a: x * a)(value, 0.1)
            if value is third:
                assert float(result[0]) == 1 / 3 * 0.1
        f = fuse(lambda x, a: x * a)
        for value in (X, third, X, third):
            assert_fused(f(value, 0.1), value * value.dtype.type(0.1))
        g = fuse(lambda x, a: x * a)
        for value in (X, third, X, third):
            result = g(xp.asarray(value), 0.1)  # of another class than NumPy's, and seen before
            assert result.dtype == value.dtype
            np.testing.assert_array_equal(np.asarray(result), value * value.dtype.type(0.1))

    def test_no_array_is_needed(self):
        assert_fused(fuse(lambda: xp.arange(3))(), np.arange(3, dtype=fuse(lambda: xp.arange(3))().dtype))
        assert fuse(lambda x: ())(X) == ()
        assert_fused(fuse(lambda x, y: x + y)(1.5, 2.0), np.asarray(3.5, fuse(lambda x: x)(1.5).dtype))


class TestFunctions:
    def test_reductions(self):
        x = X.reshape(1, 2, 3)

        def f(x, xp):
            total = xp.sum(x, axis=(0, 2), keepdims=True)
            return x / total, xp.max(x), xp.prod(x, axis=1), xp.any(x > 3, axis=-1), xp.min(total) - xp.sum(x)

        for actual, expected in zip(fuse(lambda x: f(x, xp))(x), f(x, np), strict=True):
            assert_fused(actual, np.asarray(expected))
        assert fuse(lambda x: xp.sum(x, dtype=xp.float64))(X).dtype == np.float64

    def test_weak_literals(self):
        mu, dt = 0.3, 2
        assert_fused(fuse(lambda phi: 1 + mu * dt * phi)(X), (1 + np.float32(mu * dt) * X).astype(np.float32))
        assert fuse(lambda x: x * 2.5 + xp.inf)(X.astype(np.float16)).dtype == np.float16

    def test_slices_newaxis_and_clip(self):
        f = fuse(lambda x: xp.clip(x[:, ::-1, xp.newaxis][..., 0], 1, 4) - x[:, :1])
        assert_fused(f(X), np.clip(X[:, ::-1], 1, 4) - X[:, :1])


class TestComposition:
    def test_inside_transformations(self, x64):
        f = fuse(lambda x, a: xp.sum(xp.sin(x) * a))
        x = jnp.linspace(0.0, 1.0, 4)
        np.testing.assert_allclose(jax.grad(f)(x, 2.0), 2 * np.cos(x), rtol=1e-6)
        np.testing.assert_allclose(jax.jit(f)(x, 2.0), f(x, 2.0), rtol=1e-6)
        np.testing.assert_allclose(jax.vmap(f, in_axes=(0, None))(x[:, None], 2.0), 2 * np.sin(x), rtol=1e-6)
        np.testing.assert_allclose(jax.jacfwd(jax.grad(f))(x, 1.0), np.diag(-np.sin(x)), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(fuse(jax.grad(f))(x, 2.0), 2 * np.cos(x), rtol=1e-6)

    def test_gradient_of_wide_input(self, x64):
        x = xp.asarray(np.array([1 / 3, 2 / 3]))
        gradient = jax.grad(fuse(lambda x: xp.sum(x * x * x)))(x)
        assert gradient.dtype == np.float64
        np.testing.assert_allclose(gradient, 3 * np.asarray(x) ** 2, rtol=1e-14)

    def test_nesting(self):
        inner = fuse(lambda x, y: (x - y * 2, x + y))

        @fuse
        def outer(x, y):
            a, b = inner(x + y * 2, y * 3)
            return a - b * inner(x - 2, -y)[0]

        x, y = X, X + 1
        assert_fused(outer(x, y), (x + 2 * y - 6 * y) - (x + 5 * y) * (x - 2 + 2 * y))

    def test_threads_share_one_function(self):
        f = fuse(lambda x, y: x + y * 2)
        wide = [X.astype(np.float64), X.astype(np.int64), X]
        out = [None] * 30

        def work(i):
            out[i] = f(wide[i % 3], wide[i % 3])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i, result in enumerate(out):
            assert_fused(result, wide[i % 3] * 3)

    def test_name_in_the_compiled_module(self):
        assert "module @jit_axpy" in fuse(axpy).lower(X, X, 1).as_text()
        visible = fuse(axpy, kernel_name="visible")
        assert "HloModule jit_visible" in visible.lower(X, X, 1.0).compile().as_text()
        assert "name=visible" in str(jax.make_jaxpr(visible)(X, X, 1.0))

    @pytest.mark.parametrize("value", [2, 2.0, np.float64(2)])
    def test_without_jit(self, value, x64):
        f = fuse(lambda x, a: x * a)
        with jax.disable_jit():
            result = f(X, value)
        np.testing.assert_array_equal(result, X * value)

    def test_clear_cache_traces_again(self):
        traces = []
        f = fuse(lambda x, n: traces.append(n) or x + n)
        for _ in range(2):
            f(X, 1)
        assert len(traces) == 1
        f.clear_cache()
        f(X, 1)
        assert len(traces) == 2


module_level = fuse(axpy)


@fuse
def decorated(x):
    """Document the function."""
    return x + 1


class TestAsAFunction:
    def test_signature_and_documentation(self):
        assert inspect.signature(module_level) == inspect.signature(axpy)
        assert decorated.__doc__ == "Document the function."
        assert decorated.__module__ == __name__

    def test_pickle_and_copy(self):
        assert pickle.loads(pickle.dumps(decorated)) is decorated
        assert copy.deepcopy(decorated) is decorated
        other = pickle.loads(pickle.dumps(module_level))
        assert_fused(other(X, X, 1.0), 2 * X)
