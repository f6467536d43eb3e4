"""The compiled handler that starts kernels, on XLA's CPU: what it hands to the driver, and what it says."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import cuda_host
import jax
import pytest

from jaxapi.spatial._engines import _launcher
from jaxapi.spatial._engines._cuda import _launch

HELPERS = Path(cuda_host.__file__).parents[1]
SOURCE = Path(_launcher.__file__).with_name("launcher.cpp")
ON_HOST = HELPERS / "launcher_on_host.cpp"

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(cuda_host.compiler() is None, reason="needs a C++ compiler"),
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is Linux's"),
]


def compiled(name, source, *options):
    """Return the path of a library, built once for these sources, options and headers."""
    options = ["-std=c++17", "-O1", "-shared", "-fPIC", "-isystem", jax.ffi.include_dir(), *options]
    texts = [path.read_bytes() for path in (SOURCE, ON_HOST)]
    made = cuda_host.kept(repr([name, texts, options, jax.__version__, cuda_host.compiler()]), ".so")
    if not made.exists():
        fresh = made.with_suffix(f".{os.getpid()}")
        subprocess.run([*cuda_host.compiler(), *options, str(source), "-o", str(fresh)], check=True)
        os.replace(fresh, made)
    return made


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Return what a process of its own sees, into which no GPU's driver comes."""
    made = compiled("driver", ON_HOST, "-DDRIVER", "-Wl,-soname,libcuda.so.1")
    driver = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    shutil.copy(made, driver)
    handler = compiled("handler", ON_HOST, f'-DLAUNCHER="{SOURCE}"')
    command = [sys.executable, str(HELPERS / "launcher_process.py"), str(driver), str(handler)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_operands_come_before_results(seen):
    """In the order of the call, over the whole grid."""
    assert seen["difference"] == [0, 0, 2, 6, 12, 20]


def test_an_array_is_changed_in_place_on_a_grid_of_three_axes(seen):
    assert seen["in place"] == [42]
    assert seen["launch"] == [5, 6, 7, 32]


def test_a_kernel_is_loaded_once(seen):
    """By four programs with one key, which run at once."""
    assert seen["loads of four programs"] == 1


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ("no PTX", "CUDA kernel subtract, its PTX: error 218, the text is no PTX"),
        ("no PTX, again", "CUDA kernel subtract, its PTX: error 218, the text is no PTX"),
        ("no kernel", "CUDA kernel subtract, its name: error 500, nothing has this name"),
        ("no launch", "CUDA kernel subtract, its launch: error 1, not so many threads"),
    ],
)
def test_an_error_names_the_kernel_the_step_and_what_the_driver_says(seen, case, says):
    assert says in seen[case]


def test_it_needs_neither_python_nor_cuda():
    """One library serves every Python, and loads where there is no GPU."""
    library = compiled("launcher", SOURCE)
    program = f"import ctypes; print(bool(ctypes.CDLL({str(library)!r}).JaxapiLaunch))"
    process = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True)
    assert process.stdout == "True\n", process.stderr


@pytest.fixture
def asked_anew():
    """Ask whether the handler is here before and after a test."""
    _launcher.registered.cache_clear()
    yield
    _launcher.registered.cache_clear()


@pytest.mark.usefixtures("asked_anew")
@pytest.mark.parametrize("found", ["built", "broken", "missing"])
def test_xlas_own_call_serves_where_the_handler_is_not(found, tmp_path, monkeypatch):
    library = tmp_path / "launcher.so"
    if found == "built":
        library = compiled("launcher", SOURCE)
        assert ctypes.CDLL(str(library)).JaxapiInitialize
    elif found == "broken":
        library.write_bytes(b"of another machine")
    registered = []
    monkeypatch.setattr(_launcher, "LIBRARY", library)
    monkeypatch.setattr(jax.ffi, "register_ffi_target", lambda *args, **_: registered.append(args[0]))
    assert _launch.target() == ("jaxapi_launch" if found == "built" else "__gpu$xla.gpu.ptx")
    assert registered == (["jaxapi_launch"] if found == "built" else [])
