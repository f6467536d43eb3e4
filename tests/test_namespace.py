"""The namespace holds the standard's names and ours, and nothing else."""

import builtins
import importlib
import subprocess
import sys

import pytest

import jaxapi

OURS = {"fuse", "logspace", "spatial", "__version__"}
MODULES = ["jaxapi", "jaxapi.fft", "jaxapi.linalg", "jaxapi.spatial"]


@pytest.mark.parametrize("name", MODULES)
def test_all_is_complete(name):
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, n) for n in module.__all__)


def test_dir_is_all():
    assert dir(jaxapi) == sorted(jaxapi.__all__)


def test_ours():
    assert set(jaxapi.__all__) >= OURS
    assert jaxapi.__array_api_version__ == "2025.12"


def test_no_builtin_leaks():
    for name in jaxapi.__all__:
        assert getattr(jaxapi, name) is not getattr(builtins, name, object())


def test_import_leaves_x64_alone():
    code = "import jax, jaxapi; print(jax.config.jax_enable_x64, jax.config.jax_explicit_x64_dtypes)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split()[0] in ("False", "True")
