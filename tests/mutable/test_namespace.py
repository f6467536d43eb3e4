"""The namespace: jaxapi's names, one wrapper, our arrays everywhere."""

import inspect
import pickle

import jax
import numpy as np
import pytest
import scipy.spatial

import jaxapi
import jaxapi.mutable as xp
from jaxapi.mutable import _wrap


def test_names():
    assert set(dir(xp)) == set(jaxapi.__all__) - {"numpy"} | {
        "Array",
        "deferred",
        "grad",
        "lib",
        "pad",
        "value_and_grad",
    }
    assert all(hasattr(xp, name) for name in xp.__all__)
    for part in ("fft", "interpolate", "linalg", "spatial"):
        assert getattr(xp, part).__all__ == list(getattr(jaxapi, part).__all__)
    assert xp.float32 is jaxapi.float32
    assert xp.__array_namespace_info__().default_dtypes()["real floating"] == np.float32
    assert jaxapi.ones(1).__array_namespace__() is not xp


def functions():
    for module in (xp, xp.linalg, xp.fft):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function):
                yield pytest.param(function, id=f"{module.__name__}.{name}")


@pytest.mark.parametrize("function", list(functions()))
def test_functions_are_jaxapis(function):
    """The signature and the docstring are jaxapi's, and joblib can ship it."""
    if function not in (xp.deferred, xp.fuse, xp.grad, xp.pad, xp.value_and_grad):
        part = function.__module__.removeprefix("jaxapi.mutable").removeprefix(".")
        plain = getattr(getattr(jaxapi, part) if part in ("fft", "linalg") else jaxapi, function.__name__)
        assert inspect.signature(function) == inspect.signature(plain)
    assert function.__doc__
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(
    "name", ["sin", "sqrt", "sum", "max", "sort", "argmax", "cumulative_sum", "tril", "where"]
)
def test_results_are_jaxapis(name):
    host = np.asarray([[2.0, 1.0], [4.0, 3.0]], np.float32)
    extra = (host, 0.0) if name == "where" else ()
    first = host > 2 if name == "where" else host
    axis = {"axis": 1} if name == "cumulative_sum" else {}
    found = getattr(xp, name)(xp.asarray(first), *extra, **axis)
    assert type(found) is xp.Array
    expected = np.asarray(getattr(jaxapi, name)(first, *extra, **axis))
    assert found.dtype == expected.dtype
    if name in ("sin", "sqrt"):  # by NumPy on the host
        np.testing.assert_array_max_ulp(np.asarray(found), expected, 2)
    else:
        np.testing.assert_array_equal(found, expected, strict=True)


def test_containers():
    parts = xp.unstack(xp.eye(2))
    assert [type(part) for part in parts] == [xp.Array] * 2
    np.testing.assert_array_equal(xp.concat([*parts, xp.zeros(1)]), [1, 0, 0, 1, 0])
    result = xp.linalg.eigh(xp.eye(2))
    assert type(result.eigenvalues) is type(result[1]) is xp.Array
    assert type(xp.unique_all(xp.asarray([1, 1])).values) is xp.Array
    assert xp.result_type(xp.ones(1), xp.float64) == np.float64
    assert xp.finfo(xp.ones(1)).bits == 32
    np.testing.assert_allclose(xp.logspace(0, 2, 3), [1, 10, 100])
    np.testing.assert_allclose(xp.fft.fft(xp.ones(4)), [4, 0, 0, 0])


def test_shapes_that_do_not_broadcast():
    x, y = xp.ones(2), xp.ones(3)
    for call in (
        lambda: x + y,
        lambda: xp.add(x, y),
        lambda: xp.broadcast_arrays(x, y),
        lambda: xp.where(x > 0, x, y),
    ):
        with pytest.raises(ValueError, match=r"could not be broadcast together.*\(2,\),? .*\(3,\)"):
            call()


def test_out():
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds"):
        xp.sum(xp.ones((2, 2)), axis=2)
    x, out = xp.asarray([1.0, 2.0]), xp.zeros(2)
    assert xp.add(x, 1.0, out=out) is out
    np.testing.assert_array_equal(out, [2, 3])
    with pytest.raises(ValueError, match="shape"):
        xp.add(x, 1.0, out=xp.zeros(3))
    with pytest.raises(TypeError, match="dtype int32"):
        xp.add(x, 1.0, out=xp.zeros(2, dtype=xp.int32))
    with pytest.raises(TypeError, match="Array"):
        xp.add(x, 1.0, out=np.zeros(2))


@pytest.mark.parametrize("shape", [(), (2,), (1,), (3, 2), (3, 1), (0, 2), (3,), (2, 3)])
@pytest.mark.parametrize("name", ["add", "sqrt", "sum"])
def test_out_takes_what_broadcasts_to_it(name, shape):
    """As NumPy: of element-wise functions alone."""
    results = []
    for module in (np, xp):
        x, y = module.asarray([[4.0, 9.0]]), module.asarray([1.0])
        out = module.zeros(shape)
        args, options = {"add": ((x, y), {}), "sqrt": ((x,), {}), "sum": ((x,), {"axis": 0})}[name]
        try:
            assert getattr(module, name)(*args, out=out, **options) is out
            results.append(np.asarray(out).tolist())
        except ValueError:
            results.append("refused")
    assert results[0] == results[1]


def test_kdtree():
    random = np.random.default_rng(0)
    points, queries = random.random((50, 3)), random.random((7, 3))
    data = xp.asarray(points)
    tree, scipys = xp.spatial.KDTree(data), scipy.spatial.KDTree(points)
    data[...] = 0  # the tree keeps what it was given
    distance, row = tree.query(xp.asarray(queries), k=2)
    expected = scipys.query(queries, k=2)
    assert type(distance) is type(row) is xp.Array
    np.testing.assert_allclose(distance, expected[0], rtol=1e-6)
    np.testing.assert_array_equal(row, expected[1])
    other = xp.spatial.KDTree(queries)
    assert tree.query_ball_tree(other, 0.3) == scipys.query_ball_tree(scipy.spatial.KDTree(queries), 0.3)
    assert type(tree.data) is xp.Array
    assert tree.n == 50
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.query(queries)[1], scipys.query(queries)[1])
    jitted = jax.jit(lambda tree, x: tree.query(x)[1])(tree, xp.asarray(queries))
    np.testing.assert_array_equal(jitted, scipys.query(queries)[1])


@pytest.mark.daily
def test_distances():
    random = np.random.default_rng(0)
    one, other = random.random((5, 3)), random.random((4, 3))
    distance, scipys = xp.spatial.distance, scipy.spatial.distance
    assert distance.__all__ == list(jaxapi.spatial.distance.__all__)
    found = distance.cdist(xp.asarray(one), other, "cityblock")
    assert type(found) is xp.Array
    found[0] = 0
    np.testing.assert_allclose(found[1:], scipys.cdist(one, other, "cityblock")[1:], rtol=1e-6)
    out = xp.zeros(10)
    assert distance.pdist(one, out=out) is out
    np.testing.assert_allclose(out, scipys.pdist(one), rtol=1e-6)
    assert type(distance.directed_hausdorff(one, other)[0]) is xp.Array
    assert distance.num_obs_y(out) == 5


def test_the_only_device_is_not_named(monkeypatch):
    """Arrays on a device that was named and those on it by default would be compiled for apart."""
    device = jax.devices()[0]
    monkeypatch.setattr(_wrap, "_only_device", lambda: device)
    for x in (
        xp.ones(3, device=device),
        xp.asarray([1.0], device=device),
        xp.asarray(np.ones(2), device=device),
        xp.zeros_like(xp.ones(2), device=device),
    ):
        assert x.device == device
        assert not x.__jax_array__().committed
    with jax.default_device(device):
        assert xp.ones(3, device=device).__jax_array__().committed
    monkeypatch.setattr(_wrap, "_only_device", object)
    assert xp.ones(4, device=device).__jax_array__().committed


@pytest.mark.parametrize("mode", ["constant", "edge", "wrap"])
def test_padding_is_numpys(mode):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    found = xp.pad(xp.asarray(x), ((1, 0), (0, 2)), mode=mode)
    assert found.__array_namespace__() is xp
    np.testing.assert_array_equal(np.asarray(found), np.pad(x, ((1, 0), (0, 2)), mode=mode), strict=True)


def test_windows_are_numpys():
    x = np.arange(12.0).reshape(3, 4)
    found = xp.lib.stride_tricks.sliding_window_view(xp.asarray(x), 2, axis=1)
    assert found.__array_namespace__() is xp
    expected = np.lib.stride_tricks.sliding_window_view(x, 2, axis=1)
    np.testing.assert_array_equal(np.asarray(found), expected, strict=True)
    assert jax.jit(lambda x: xp.lib.stride_tricks.sliding_window_view(x, 2).sum())(x[0]) == 9
