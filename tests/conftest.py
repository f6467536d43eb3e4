"""What every test shares: XLA's flags, x64 on and off, hypothesis profiles, the device."""

import gc
import importlib.metadata
import os
import zlib

# Tests may compile without XLA's optimizations, in half the time: they should change no result. With JAX 0.10
# all do. From 0.11 on a run with JAXAPI_TESTS_UNOPTIMIZED does; others see what users see, to the last bit.
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
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

import jaxapi  # noqa: E402, F401  (its import lets explicit 64-bit dtypes through)

# The CPU plays several devices; what does not ask for them uses the first. JAX has more threads then than for
# the one device that most users have, so some files run with one, too.
jax.config.update("jax_num_cpu_devices", int(os.environ.get("JAXAPI_TESTS_DEVICES", "8")))

# Tests that turn x64 off see what a program sees that starts so, also where the tests start with x64 on.
if "JAX_EXPLICIT_X64_DTYPES" not in os.environ:
    jax.config.update("jax_explicit_x64_dtypes", "allow")

# JAX keeps millions of objects: to look through all of them again and again takes a sixth of the time.
gc.freeze()
gc.set_threshold(100_000, 50, 100)

# Programs of other sessions and processes, and plugins that put our names into other libraries.
collect_ignore = ["clients", "conformance", "fuzz", "helpers", "mutants", "typed"]

_common = {"deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=20, **_common)
settings.register_profile("ci", max_examples=50, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_addoption(parser):
    """Add the options by which sessions pick tests: noxfile.py."""
    group = parser.getgroup("jaxapi")
    group.addoption("--quick", action="store_true", help="leave out the tests that are marked thorough")
    group.addoption(
        "--share", metavar="K/N", help="of the tests that --quick leaves out, the K-th of N shares"
    )
    group.addoption("--check-costs", action="store_true", help="fail dear tests that have no mark")


def pytest_report_header(config):
    """Say what runs the tests."""
    return f"jax {jax.__version__}, {jax.devices()}, x64 {jax.config.jax_enable_x64}"


# Examples of JAX's own docstrings whose last digit is a CPU's.
CPU_EXAMPLES = {"jaxapi.fft.hfft"}


def is_marked(item, name):
    """Whether a test has a mark: ``mark`` has every case of a function, ``mark("x32")`` those so called."""
    case = item.callspec.id if hasattr(item, "callspec") else ""
    marks = item.iter_markers(name)
    return any(not mark.args or any(part in case for part in mark.args) for mark in marks)


def is_quick(item):
    """Whether a test is of the default suite."""
    return is_marked(item, "daily") or not is_marked(item, "thorough")


def is_of_share(item, share):
    """Whether a test is of one share of several: all cases of a function are, as they share programs."""
    number, of = map(int, share.split("/"))
    function = item.nodeid.partition("[")[0]
    return zlib.crc32(function.encode()) % of == number % of


def pytest_collection_modifyitems(config, items):
    """Leave out what the options say, and on other devices the examples that print a CPU's last digit."""
    picked = items
    if jax.default_backend() != "cpu":
        picked = [item for item in picked if item.name not in CPU_EXAMPLES]
    if config.option.quick:
        picked = [item for item in picked if is_quick(item)]
    if config.option.share:
        picked = [item for item in picked if not is_quick(item) and is_of_share(item, config.option.share)]
    left_out = set(items).difference(picked)
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = picked


# CPU seconds of a test, where nothing was compiled before: what takes half as long needs no mark.
DEAR = 1.0


@pytest.fixture(autouse=True)
def cost(request):
    """Fail a test that takes long and is marked neither thorough nor daily, if that is asked for."""
    before = sum(os.times()[:4])
    yield
    seconds = sum(os.times()[:4]) - before
    is_known = is_marked(request.node, "thorough") or is_marked(request.node, "daily")
    if request.config.option.check_costs and seconds > DEAR and not is_known:
        pytest.fail(f"{seconds:.2f} CPU seconds: mark it thorough, or daily if it stays in the default suite")


@pytest.fixture(scope="module", autouse=True)
def programs_are_let_go():
    """Have JAX forget what a file's tests compiled: it keeps a megabyte for each program, and slows down.

    What other files need comes from JAX's cache on disk, if there is one.
    """
    yield
    if jax.config.jax_compilation_cache_dir:
        jax.clear_caches()


@pytest.fixture(autouse=True)
def numpys_modes():
    """Give NumPy its modes back: a test's Ctrl-C may come while ``numpy.errstate`` is entered or left."""
    before = np.geterr()
    yield
    np.seterr(**before)


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
