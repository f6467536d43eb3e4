"""What every test shares: XLA's flags, x64 on and off, hypothesis profiles, the device."""

import gc
import importlib.metadata
import os

# Tests may compile without XLA's optimizations, in half the time: they should change no result. With JAX 0.10
# all do. From 0.11 on only a run with JAXAPI_TESTS_UNOPTIMIZED does, for tests that compile large programs;
# the others see what users see, to the last bit.
UNOPTIMIZED = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_parallel_codegen_split_count=1",
)
WITHOUT_FUSION_EMITTERS = "--xla_cpu_use_fusion_emitters=false"  # halves the time again; unknown to later XLA


def set_xla_flags():
    """Set the flags of this process and of those that it starts, before any of them imports JAX."""
    is_jax_0_10 = importlib.metadata.version("jax").startswith("0.10.")
    flags = os.environ.get("XLA_FLAGS", "").split()
    if is_jax_0_10 or os.environ.get("JAXAPI_TESTS_UNOPTIMIZED"):
        flags += [flag for flag in UNOPTIMIZED if flag not in flags]
    if is_jax_0_10 and WITHOUT_FUSION_EMITTERS not in flags:
        flags.append(WITHOUT_FUSION_EMITTERS)
    os.environ["XLA_FLAGS"] = " ".join(flags)


set_xla_flags()

import jax  # noqa: E402  (after its flags)
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

import jaxapi  # noqa: E402, F401  (its import lets explicit 64-bit dtypes through)

# The CPU plays several devices; what does not ask for them uses the first.
jax.config.update("jax_num_cpu_devices", 8)

# Tests that turn x64 off see what a program sees that starts so, also where the tests start with x64 on.
if "JAX_EXPLICIT_X64_DTYPES" not in os.environ:
    jax.config.update("jax_explicit_x64_dtypes", "allow")

# JAX keeps millions of objects: to look through all of them again and again takes a sixth of the time.
gc.freeze()
gc.set_threshold(100_000, 50, 100)

# Programs of other sessions and processes, and plugins that put our names into other libraries.
collect_ignore = ["clients", "conformance", "fuzz", "typed"]
collect_ignore += ["mesh_process.py", "scipy_comparisons.py", "scipy_suite.py"]

_common = {"deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=20, **_common)
settings.register_profile("ci", max_examples=50, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_report_header(config):
    """Say what runs the tests."""
    return f"jax {jax.__version__}, {jax.devices()}, x64 {jax.config.jax_enable_x64}"


# Examples of JAX's own docstrings whose last digit is a CPU's.
CPU_EXAMPLES = {"jaxapi.fft.hfft"}


def pytest_collection_modifyitems(config, items):
    """Leave out on other devices the examples of JAX that print a CPU's last digit."""
    if jax.default_backend() != "cpu":
        left_out = [item for item in items if item.name in CPU_EXAMPLES]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.name not in CPU_EXAMPLES]


@pytest.fixture(scope="module", autouse=True)
def programs_are_let_go():
    """Have JAX forget what a file's tests compiled: it keeps a megabyte for each program, and slows down.

    What other files need comes from JAX's cache on disk, if there is one.
    """
    yield
    if jax.config.jax_compilation_cache_dir:
        jax.clear_caches()


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def x64(request):
    """Run the test with 64-bit mode off and on."""
    with jax.enable_x64(request.param):
        yield request.param


@pytest.fixture
def gpu():
    """Return the first NVIDIA GPU, or skip."""
    devices = [d for d in jax.devices() if d.platform == "gpu"]
    if not devices:
        pytest.skip("no GPU here")
    return devices[0]
