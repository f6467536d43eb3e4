"""The namespace holds the standard's names and ours, and nothing else."""

import builtins
import importlib
import os
import pathlib
import pkgutil
import subprocess
import sys
import tomllib

import numpy as np
import pytest

import jaxapi

OURS = {"fuse", "interpolate", "logspace", "spatial", "top_k", "__version__"}
MODULES = [
    "jaxapi",
    *(
        module.name
        for module in pkgutil.walk_packages(jaxapi.__path__, "jaxapi.")
        if not any(part.startswith("_") for part in module.name.split("."))
    ),
]
# modules that are loaded where they are used, or imported by name
LAZY = {"jaxapi": {"numpy", "mutable", "torch"}}


def test_all_public_modules_are_known():
    assert {"jaxapi.fft", "jaxapi.spatial.distance", "jaxapi.mutable.spatial", "jaxapi.numpy.random"} <= set(
        MODULES
    )


def imported(name):
    """Return a module; skip the test where PyTorch is missing, which one of them needs."""
    if name == "jaxapi.torch":
        pytest.importorskip("torch")
    return importlib.import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_all_is_complete(name):
    module = imported(name)
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, public) for public in module.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_nothing_but_public_names_is_seen(name):
    module = imported(name)
    public = {*module.__all__, *LAZY.get(name, ())}
    assert {each for each in vars(module) if not each.startswith("_")} <= public
    assert set(module.__all__) <= set(dir(module)) <= public


@pytest.mark.parametrize("name", MODULES)
def test_a_star_import_brings_public_names(name):
    """As many as `__all__` lists, of which none hides a module of the user's."""
    public = imported(name).__all__
    names = {}
    exec(f"import numpy\nfrom {name} import *", names)
    assert names["numpy"] is np
    assert set(names) - {"__builtins__", "numpy"} == set(public)


def test_what_is_loaded_where_it_is_used_is_listed():
    assert "numpy" in dir(jaxapi)
    assert "numpy" not in jaxapi.__all__


def test_ours():
    assert set(jaxapi.__all__) >= OURS
    assert jaxapi.__array_api_version__ == "2025.12"


def test_no_builtin_leaks():
    for name in jaxapi.__all__:
        assert getattr(jaxapi, name) is not getattr(builtins, name, object())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "False ALLOW"),
        ({"JAX_ENABLE_X64": "1"}, "True WARN"),
        ({"JAX_EXPLICIT_X64_DTYPES": "error"}, "False ERROR"),
    ],
)
def test_import_changes_one_setting(environment, expected):
    """x64 mode stays as it is; explicit 64-bit dtypes are let through unless the user chose otherwise."""
    code = "import jax, jaxapi; print(jax.config.jax_enable_x64, jax.config.jax_explicit_x64_dtypes.name)"
    rest = {key: value for key, value in os.environ.items() if "X64" not in key}
    run = subprocess.run([sys.executable, "-c", code], env=rest | environment, capture_output=True, text=True)
    assert run.stdout.strip() == expected, run.stderr


@pytest.mark.thorough
def test_import_survives_a_jax_without_the_setting():
    """The setting is experimental: without it JAX's own treatment of explicit 64-bit dtypes counts."""
    code = """
import jax

class Config:
    def __init__(self, config):
        self.__dict__["config"] = config
    def __getattr__(self, name):
        if name == "jax_explicit_x64_dtypes":
            raise AttributeError(name)
        return getattr(self.config, name)

jax.config = Config(jax.config)
import jaxapi
from jaxapi._core._dtypes import explicit_64_bits
for x64 in (False, True):
    with jax.enable_x64(x64):
        assert explicit_64_bits() is x64
        assert ("float64" in jaxapi.__array_namespace_info__().dtypes()) is x64
"""
    environment = {key: value for key, value in os.environ.items() if "X64" not in key}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.thorough
def test_the_import_loads_only_what_it_needs():
    code = "import sys, jax.numpy; before = set(sys.modules); import jaxapi\n"
    code += "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))\n"
    code += "print(*(m for m in ('jaxapi.spatial', 'jaxapi.mutable') if m in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages, ours = run.stdout.split("\n")[:2]
    assert not {"scipy", "array_api_extra", "cuda", "cupy", "torch"} & set(packages.split())
    assert ours == ""
    code = "import jaxapi; print(jaxapi.spatial.KDTree.__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "KDTree\n"


@pytest.mark.thorough
def test_what_is_compiled_after_the_import_is_not_compiled_again():
    code = """
import importlib, jax, numpy
import jaxapi as xp
traced = []
@jax.jit
def count(x):
    traced.append(x)
    return x + 1
count(1.0)
rows = numpy.random.default_rng(0).random((20, 2))
tree = xp.spatial.KDTree(rows)
steps = [
    lambda: xp.divide(xp.ones(3), 3.0),
    lambda: xp.mean(xp.ones(3)),
    lambda: xp.fuse(lambda x: x / 3)(xp.ones(3)),
    lambda: tree.query(rows),
    lambda: jax.jit(tree.query)(rows),
    lambda: xp.spatial.distance.cdist(rows, rows),
    lambda: jax.jit(lambda x: xp.spatial.KDTree(x, engine="lax").query(x))(rows),
    lambda: importlib.import_module("jaxapi.mutable").asarray(rows)[0] / 3,
    lambda: importlib.import_module("jaxapi.numpy").asarray(rows)[0] / 3,
    lambda: importlib.import_module("jaxapi.interpolate").NearestNDInterpolator(rows, rows[:, 0])(rows),
]
for step in steps:
    step()
    count(1.0)
print(len(traced))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "1\n", run.stderr


def test_every_file_has_the_same_version_and_dependencies():
    root = pathlib.Path(__file__).parents[1]
    recipe = (root / "packaging" / "recipe.yaml").read_text()
    assert f'version: "{jaxapi.__version__}"' in recipe
    assert f"version: {jaxapi.__version__}\n" in (root / "CITATION.cff").read_text()
    assert f"Version {jaxapi.__version__};" in (root / "README.md").read_text()
    dependencies = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    in_recipe = [line.strip(" -").replace(" ", "") for line in recipe.splitlines()]
    for dependency in dependencies:
        assert in_recipe.count(dependency) == 1, "of run: the build needs hatchling alone"
