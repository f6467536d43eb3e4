"""Every name of NumPy's is here, or says why not; NumPy's own functions come here with our arrays."""

import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxapi.numpy as ours
from jaxapi._hints import EXPLAINED
from jaxapi.numpy import _table as table


@pytest.mark.parametrize("path", ["", "linalg", "fft", "random"])
def test_every_name_is_here_or_says_why(path):
    numpys, own = (getattr(module, path) if path else module for module in (np, ours))
    for name in numpys.__all__ if hasattr(numpys, "__all__") else dir(numpys):
        if name.startswith("__"):
            continue
        if name in own.__all__:
            assert hasattr(own, name)
            continue
        with pytest.raises(AttributeError, match=rf"no attribute '{name}': ."):
            getattr(own, name)


def test_each_name_comes_from_one_place():
    groups = [table.NUMPYS_OBJECTS, table.ON_HOST, table.NUMPYS_CODE, table.OF_JAXAPI, table.OF_JAX]
    groups += [*table.OURS.values(), ours._ufuncs.UFUNCS]
    names = [name for group in groups for name in group]
    assert len(names) == len(set(names))
    assert set(names) == set(ours.__all__)
    assert set(names).isdisjoint(EXPLAINED["jaxapi.numpy"])


def test_the_namespace_of_an_array_can_be_inspected():
    namespace = ours.ones(2).__array_namespace__()
    assert namespace.__array_api_version__ >= "2025.12"
    assert np.dtype("float32") == namespace.__array_namespace_info__().dtypes()["float32"]


@pytest.mark.thorough
def test_modules_are_loaded_where_they_are_used():
    code = """
import sys
import jaxapi
assert "jaxapi.numpy" not in sys.modules
jaxapi.numpy.zeros(1)
assert "jaxapi.spatial" not in sys.modules
jaxapi.mutable.spatial.KDTree
jaxapi.mutable.interpolate.RBFInterpolator
assert not {"scipy.interpolate", "scipy.linalg", "scipy.sparse", "scipy.spatial"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(dir(ours)) == set(ours.__all__)


CALLS = [
    lambda np, x: np.concatenate([x, x], 1),
    lambda np, x: np.mean(x, 0),
    lambda np, x: np.exp(x),
    lambda np, x: np.add.reduce(x, 1),
    lambda np, x: np.linalg.norm(x, axis=1),
    lambda np, x: np.fft.rfft(x),
    lambda np, x: np.where(x > 1, x, 0),
    lambda np, x: np.einsum("ij,kj->ik", x, x),
    lambda np, x: np.percentile(x, [10, 50], axis=0, method="hazen"),
    lambda np, x: np.sort(x, axis=None),
    lambda np, x: np.stack([x, x], axis=-1),
    lambda np, x: np.clip(x, 0, 1),
]


@pytest.mark.parametrize("call", CALLS)
def test_numpys_functions_stay_on_the_device(call):
    host = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    expected = call(np, host)
    for made in (call(np, ours.asarray(host)), call(ours, ours.asarray(host)), call(ours, host)):
        assert isinstance(made, ours.ndarray)
        np.testing.assert_allclose(np.asarray(made), expected, rtol=2e-5, atol=1e-6)


def test_numpys_functions_that_need_the_host(tmp_path):
    x = ours.arange(3.0)
    np.save(tmp_path / "x.npy", x)
    assert ours.load(tmp_path / "x.npy").tolist() == [0, 1, 2]
    host = np.zeros(3)
    np.add(host, x, out=host)
    host += x
    np.copyto(host[:1], x[2:])
    assert host.tolist() == [2, 2, 4]
    with pytest.raises(TypeError, match=r"(numpy\.asarray|cast)"):
        np.busday_offset(x, 1)


def test_jit_and_fuse_take_functions_as_they_are():
    x = ours.arange(4.0)
    np.testing.assert_allclose(np.asarray(jax.jit(ours.sin)(x)), np.asarray(ours.sin(x)), rtol=1e-6)
    fused = ours.fuse(lambda x: ours.add.reduce(ours.sqrt(x)) + ours.median(x))
    np.testing.assert_allclose(float(fused(x)), np.sqrt(np.arange(4)).sum() + 1.5, rtol=1e-6)


def test_python_numbers_are_weak():
    x = ours.ones(2, dtype=np.int8)
    assert ours.add(x, 1).dtype == (x + 1).dtype == np.int8
    assert ours.multiply(ours.ones(2, np.float32), 2.0).dtype == np.float32
    assert float(ours.add(True, 1.5)) == 2.5
    assert int(ours.add(True, True)) == int(ours.subtract(1, False)) == 1
    for ufunc in (ours.add, ours.fmod, ours.gcd):
        with pytest.raises(OverflowError):
            ufunc(x, 300)
    assert (x < 300).all()
    assert ours.less(x, 300).all()
    assert not (x == -1000).any()
    assert (ours.ones(2, bool) < 2**62).all()
