"""One way to run everything; `nox --list` says what there is."""

import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import nox

PROJECT = nox.project.load_toml("pyproject.toml")
SUITE = "data-apis/array-api-tests"
SUITE_COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"


def group(name):
    return nox.project.dependency_groups(PROJECT, name)


def requirements(*names):
    """Return what the project requires of packages, with their versions."""
    pattern = re.compile(rf"({'|'.join(names)})\b")
    return [each for each in PROJECT["project"]["dependencies"] if pattern.match(each)]


def runs(version):
    """Say whether ``python<version>`` is here and starts (a pyenv shim may be here and not start)."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return True
    try:
        return subprocess.run([f"python{version}", "-c", ""], capture_output=True).returncode == 0
    except OSError:
        return False


# 3.14 has JAX's wheels from 0.11 on; the free-threaded 3.14t is not tried.
PYTHONS = [version for version in ("3.11", "3.12", "3.13", "3.14") if runs(version)]
HERE = pathlib.Path(__file__).resolve().parent


def kept_folder():
    """Return the folder of this machine in which tests keep what they compile, for the next Python and run.

    `JAXAPI_TESTS_CACHE` names another one. Programs are those of the processor: one with other instructions
    has a folder of its own.
    """
    if named := os.environ.get("JAXAPI_TESTS_CACHE"):
        return pathlib.Path(named).resolve()
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    cpu_info = pathlib.Path("/proc/cpuinfo")
    lines = cpu_info.read_text().splitlines() if cpu_info.exists() else [platform.processor()]
    instructions = next((line for line in lines if line.startswith(("flags", "Features"))), lines[0])
    processor = hashlib.sha256(instructions.encode()).hexdigest()[:8]
    return caches / "jaxapi-tests" / f"{platform.machine()}-{processor}"


COMPILED = {
    "JAXAPI_TESTS_CACHE": str(kept_folder()),
    "JAX_COMPILATION_CACHE_DIR": os.environ.get("JAX_COMPILATION_CACHE_DIR") or str(kept_folder() / "jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "PYTHONDONTWRITEBYTECODE": "",
}
# Each core takes whole files: what their tests compile and trace is alike. A test that hangs ends its process
# with the stacks of all threads, and a process that dies ends the run, as its successor may wait for ever.
NO_TESTS = 5  # what pytest exits with where it ran none
PARALLEL = ("-n", "2", "--dist", "loadfile", "--max-worker-restart", "0")
PARALLEL += ("--timeout", "900", "--timeout-method", "thread")

# What XLA's optimizations could change to the last bit.
EXACT = (
    "tests/test_exact_quotients.py",
    "tests/fuse/test_fuse_quotients.py",
    "tests/test_logspace.py",
    "tests/test_ranges.py",
)
# Their programs run on several simulated devices, of which XLA aborts the process where one waits for ever.
MESHES = sorted(str(path.relative_to(HERE)) for path in HERE.glob("tests/spatial/test_mesh*.py"))
# JAX has as many threads as devices: what waits for one may wait for ever where there is one device alone.
ONE_DEVICE = (
    "tests/one_device",
    "tests/interpolate/test_rbf.py",
    "tests/mutable/test_safety.py",
    "tests/spatial/test_callbacks.py",
    "tests/spatial/test_kdtree.py",
)
# One file of each room, for a Python whose JAX is another one's.
ROOMS = (
    "tests/test_namespace.py",
    "tests/fuse/test_fuse.py",
    "tests/linalg/test_linalg.py",
    "tests/test_interop.py",
    "tests/mutable/test_array.py",
    "tests/numpy/test_arrays.py",
    "tests/spatial/test_kdtree.py",
    "tests/spatial/test_distance.py",
    "tests/interpolate/test_nearest.py",
)
# What a Python changes whose JAX is the newest one's: names, their types, and the examples of docstrings.
NAMES = (
    "tests/test_namespace.py",
    "tests/mutable/test_namespace.py",
    "tests/mutable/test_stubs.py",
    "tests/numpy/test_names.py",
    "jaxapi",
)

nox.options.sessions = ["lint", "tests"]
nox.options.error_on_missing_interpreters = False


@nox.session(reuse_venv=True)
def demo(session):
    """Run the main job; its environment is kept until a file of the package changes."""
    installed = pathlib.Path(session.virtualenv.location, "jaxapi-installed.txt")
    if not installed.exists() or installed.read_text() != state_of_package():
        session.log("pip installs SciPy, JAX, matplotlib and jaxapi, in three steps: about a minute")
        # In one step pip says nothing for twenty seconds.
        session.install(*requirements("numpy", "scipy"), silent=False)
        session.install(*requirements("jax"), silent=False)
        session.install(".[demo]", silent=False)
        installed.write_text(state_of_package())
    session.run("python", "-m", "jaxapi", *session.posargs)


def state_of_package():
    """Return what changes when a file that is installed does."""
    files = [HERE / "pyproject.toml", *sorted((HERE / "jaxapi").rglob("*.py"))]
    return "\n".join(f"{path} {path.stat().st_mtime_ns}" for path in files)


def install_tests(session):
    """Install jaxapi from here, and what its tests need; pip says what it does."""
    session.log(
        f"Python {session.python or platform.python_version()}: installing jaxapi and what its tests need"
    )
    session.install("-e", ".", *group("tests"), silent=False)


def pytest(session, *arguments, python="python", **environment):
    """Run pytest on two cores; of a share of the tests some files may have none."""
    command = (python, "-m", "pytest", *PARALLEL, *arguments)
    passed = [0, NO_TESTS] if "--share" in arguments else [0]
    session.run(*command, env={**COMPILED, **environment}, external=True, success_codes=passed)


def run_parts(session, *options, python="python", paths=("tests", "jaxapi"), optimized=False):
    """Run the tests in four calls of pytest, which do not disturb each other.

    The first one, nearly all of them, compiles without XLA's optimizations unless ``optimized`` is true.
    """
    apart = [f"--ignore={path}" for path in (*EXACT, *MESHES, "tests/one_device")]
    unoptimized = {} if optimized else {"JAXAPI_TESTS_UNOPTIMIZED": "1"}
    parts = {
        "all rooms": ([*paths, *apart], unoptimized),
        "numbers to the last bit, which XLA's optimizations could change": (EXACT, {}),
        "trees over several devices": (MESHES, {"JAXAPI_TESTS_UNOPTIMIZED": "1"}),
        "one device": (ONE_DEVICE, {"JAXAPI_TESTS_UNOPTIMIZED": "1", "JAXAPI_TESTS_DEVICES": "1"}),
    }
    for number, (name, (chosen, environment)) in enumerate(parts.items(), 1):
        session.log(f"part {number} of {len(parts)}: {name}")
        pytest(session, *options, *chosen, python=python, **environment)


@nox.session
def tests(session):
    """Run the default suite on the Python that nox runs with; arguments pick tests, thorough ones as well."""
    install_tests(session)
    if session.posargs:
        pytest(session, *session.posargs)
    else:
        run_parts(session, "--quick")


@nox.session(python=sorted({PYTHONS[0], PYTHONS[-1]}))
def thorough(session):
    """Run all tests on the oldest and the newest Python found; arguments pick some.

    The newest compiles with XLA's optimizations, as users do, and runs arrays that can be assigned to with
    statements that run at once, too. The oldest has a JAX with which tests compile without, and fails dear
    tests that have no mark, which shows where nothing was compiled before.
    """
    install_tests(session)
    is_newest = session.python == PYTHONS[-1]
    options = () if is_newest else ("--check-costs",)
    if session.posargs:
        pytest(session, *options, *session.posargs)
    else:
        run_parts(session, *options, optimized=is_newest)
        if is_newest:
            session.log("statements that run at once")
            environment = {"JAXAPI_DEFERRED": "0", "JAXAPI_TESTS_UNOPTIMIZED": "1"}
            pytest(session, "--quick", "tests/mutable", "tests/numpy", **environment)


@nox.session(python=PYTHONS[-1])
def share(session):
    """Run a twelfth of what the default suite leaves out: that of the number of commits, or `-- 3/12`."""
    install_tests(session)
    commits = session.run("git", "rev-list", "--count", "HEAD", external=True, silent=True).strip()
    chosen = session.posargs[0] if session.posargs else f"{int(commits) % 12}/12"
    session.log(f"share {chosen} of the thorough tests")
    run_parts(session, "--share", chosen)


@nox.session(python=PYTHONS[-1])
def mutants(session):
    """Run the default suite against small faults in the code; arguments pick some (`-- --only linalg`)."""
    install_tests(session)
    session.run("python", "-m", "mutants", *session.posargs, env={**COMPILED, "PYTHONPATH": "tests"})


@nox.session(python=PYTHONS[0])
def rooms(session):
    """Run one file of each room on the oldest Python found, without what takes long, and with one device."""
    install_tests(session)
    pytest(session, "--quick", "-m", "not daily and not kernels", *ROOMS)
    pytest(session, "--quick", "tests/one_device", JAXAPI_TESTS_DEVICES="1")


@nox.session(python=PYTHONS[1:-1] or PYTHONS[-1:])
def names(session):
    """Run the tests of names, the typed programs and the examples of docstrings on the Pythons in between."""
    install_tests(session)
    session.install("mypy", "scipy-stubs")
    pytest(session, "--quick", *NAMES)
    session.run("mypy", "tests/typed")


@nox.session(python=PYTHONS)
def matrix(session):
    """Run all tests on every Python found."""
    install_tests(session)
    if session.posargs:
        pytest(session, *session.posargs)
    else:
        run_parts(session)


@nox.session(python=PYTHONS[0])
def lowest(session):
    """Run the default suite on the lowest versions that pyproject.toml allows; arguments pick others."""
    session.install("uv")
    floors = pathlib.Path(session.create_tmp(), "floors.txt").resolve()
    resolution = ("--resolution", "lowest-direct", "--python-version", session.python)
    session.run("uv", "pip", "compile", "--quiet", *resolution, "pyproject.toml", "--output-file", floors)
    session.install("-e", ".", *group("tests"), "--constraint", floors)
    pytest(session, *(session.posargs or ["--quick", "-m", "not kernels"]))


@nox.session(python=PYTHONS[-1])
def prerelease(session):
    """Run the default suite on the newest pre-releases of the dependencies, or newer releases.

    Functions with derivative rules are what JAX is to make of them: objects that trace a program.
    """
    session.env.update(JAX_CUSTOM_JVP3="1", JAX_CUSTOM_VJP3="1")
    session.install("-e", ".", *group("tests"))
    session.install("--upgrade", "--pre", "jax", "jaxlib", "numpy", "scipy", "array-api-compat")
    versions = "jax.__version__, numpy.__version__, scipy.__version__"
    session.run("python", "-c", f"import jax, numpy, scipy; print({versions})")
    if session.posargs:
        pytest(session, *session.posargs)
    else:
        run_parts(session, "--quick")


# The C library that release wheels ask for, as JAX's own do, and the machines that they are for.
C_LIBRARY = "2.28"
MACHINES = ("x86_64", "aarch64")


@nox.session
def launcher(session):
    """Build the handler that starts GPU kernels in place, for this machine; release wheels bring it."""
    made = pathlib.Path("jaxapi", "spatial", "_engines", "launcher.so")
    compile_launcher(session, platform.machine(), made)
    session.log(f"{made}: python -m jaxapi says how kernels start")


def compile_launcher(session, machine, made):
    """Compile launcher.cpp for a Linux machine, with the oldest JAX's headers, which newer JAX serves, too.

    Zig's compiler builds for any machine and an old C library, and links its own C++ library.
    """
    floor = re.search(r">=([\d.]+)", requirements("jax")[0])[1]
    session.install(f"jax=={floor}", "ziglang")
    headers = session.run("python", "-c", "import jax; print(jax.ffi.include_dir())", silent=True).strip()
    target = ("-target", f"{machine}-linux-gnu.{C_LIBRARY}")
    options = ("-std=c++17", "-O2", "-shared", "-fPIC", "-s", "-isystem", headers)
    source = pathlib.Path("jaxapi", "spatial", "_engines", "launcher.cpp")
    session.run("python", "-m", "ziglang", "c++", *target, *options, source, "-o", made)


def with_launcher(session, wheel, machine):
    """Add to a folder the wheel for a Linux machine that brings the compiled handler."""
    session.install("wheel")
    place = pathlib.Path(session.create_tmp(), f"wheel-{machine}").resolve()
    shutil.rmtree(place, ignore_errors=True)
    session.run("python", "-m", "wheel", "unpack", wheel, "--dest", place)
    (contents,) = place.iterdir()
    compile_launcher(session, machine, contents / "jaxapi" / "spatial" / "_engines" / "launcher.so")
    (about,) = contents.glob("*.dist-info/WHEEL")
    tag = f"py3-none-manylinux_{C_LIBRARY.replace('.', '_')}_{machine}"
    text = about.read_text().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
    about.write_text(text.replace("py3-none-any", tag))
    session.run("python", "-m", "wheel", "pack", contents, "--dest-dir", wheel.parent)


def distributions(session, folder):
    """Build the sdist and, of that, the wheel into a folder, which is emptied first."""
    session.install("build")
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@nox.session
def build(session):
    """Build into dist the sdist, the wheel for every machine, and those with the compiled handler."""
    _, wheel = distributions(session, HERE / "dist")
    for machine in MACHINES:
        with_launcher(session, wheel, machine)


@nox.session
def package(session):
    """Build sdist and wheel, resolve every extra, run the sdist's default suite on the installed wheel."""
    session.install("uv")
    folder = pathlib.Path(session.create_tmp(), "package").resolve()
    sdist, wheel = distributions(session, folder)
    for extra in PROJECT["project"]["optional-dependencies"]:
        # pip's dry run would download gigabytes of CUDA libraries
        session.run("uv", "pip", "install", "--dry-run", "--quiet", f"{wheel}[{extra}]")
    python = folder / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python"
    session.run("python", "-m", "venv", folder / "environment")
    session.run(python, "-m", "pip", "install", "--quiet", wheel, external=True)
    session.chdir(folder)
    session.run(python, "-c", "import jaxapi.spatial; print(jaxapi.__file__)", external=True)
    session.run(python, "-m", "pip", "install", "--quiet", *group("tests"), external=True)
    shutil.unpack_archive(sdist, folder)
    session.chdir(folder / sdist.name.removesuffix(".tar.gz"))
    shutil.rmtree("jaxapi")  # so that the tests import the wheel
    run_parts(session, "--quick", python=python, paths=["tests"])


@nox.session
def conformance(session):
    """Run the official suite on both namespaces; arguments replace `--max-examples 200`.

    `jaxapi` runs with the lists of known failures, `jaxapi.mutable` has none.
    """
    session.install("-e", ".", *group("conformance"))
    suite = pathlib.Path(os.environ.get("ARRAY_API_TESTS_DIR") or clone_suite(session)).resolve()
    python = "import jax; print(jax.__version__, jax.devices()[0].platform, jax.config.jax_enable_x64)"
    version, platform, x64 = session.run("python", "-c", python, silent=True).split()[-3:]
    conditions = {
        "all": True,
        "x64-off": x64 == "False",
        "jax-0.10": version.startswith("0.10."),
        "cuda": platform == "gpu",
    }
    lists = pathlib.Path("tests/conformance").resolve()
    xfails = pathlib.Path(session.create_tmp(), "xfails.txt").resolve()
    xfails.write_text(
        "\n".join((lists / f"xfails-{name}.txt").read_text() for name, on in conditions.items() if on)
    )
    known = ("-o", "xfail_strict=True", "--xfails-file", xfails)
    examples = session.posargs or ("--max-examples", "200")
    env = {}
    if conditions["x64-off"]:
        # In one word: a path after an option that pytest does not know yet would load our tests' conftest.
        known += (f"--skips-file={lists / 'skips.txt'}", "-p", "operator_overflow")
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(lists), os.environ.get("PYTHONPATH")]))
    session.run("python", "docs/make_conformance.py", "--check")
    session.chdir(suite)
    for module, lists in (("jaxapi", known), ("jaxapi.mutable", ())):
        arguments = ("array_api_tests", "--disable-deadline", *lists, *examples)
        session.run("pytest", *arguments, env={**env, "ARRAY_API_TESTS_MODULE": module})


def clone_suite(session):
    """Fetch the suite's pinned commit once, and say where it is."""
    suite = pathlib.Path(session.create_tmp(), "array-api-tests")
    if not suite.exists():
        session.run("git", "clone", f"https://github.com/{SUITE}", suite, external=True)
    session.run("git", "-C", suite, "checkout", SUITE_COMMIT, external=True)
    session.run("git", "-C", suite, "submodule", "update", "--init", external=True)
    return suite


@nox.session
def pytorch(session):
    """Run the tests of `jaxapi.torch`, which other sessions skip, and its page's programs."""
    install_tests(session)
    session.install("torch")
    pytest(session, *(session.posargs or ("tests/pytorch", "tests/test_docs.py", "-k", "pytorch")))


@nox.session
def clients(session):
    """Run the array-API tests of scikit-learn and SciPy on `jaxapi.mutable`; arguments go to pytest.

    And those of array-api-extra and CuPy's of `fuse`, if ARRAY_API_EXTRA_DIR and CUPY_CHECKOUT name them.
    """
    session.install("-e", ".", *group("clients"))
    folder = pathlib.Path("tests/clients").resolve()
    known = (folder / "known_failures.txt").read_text().splitlines()
    skipped = [f"--deselect={line}" for line in known if line and not line.startswith("#")]
    env = {"JAX_ENABLE_X64": "1", "SCIPY_ARRAY_API": "1", **COMPILED}
    extra, cupy = os.environ.get("ARRAY_API_EXTRA_DIR"), os.environ.get("CUPY_CHECKOUT")
    modules = "cluster constants differentiate fft integrate linalg optimize signal spatial special stats"
    runs = [("only_jaxapi_mutable", "", ("--pyargs", "sklearn", *(f"scipy.{m}" for m in modules.split())))]
    if extra:
        settings = ("-c", f"{extra}/pyproject.toml", "--rootdir", extra)  # it tests its own warnings
        tests = (*settings, "-W", "error::DeprecationWarning", f"{extra}/tests/main")
        runs.append(("only_jaxapi_mutable", f"{extra}/src", tests))
    if cupy:
        tests = ("-c", os.devnull, "--rootdir", cupy, f"{cupy}/tests/cupy_tests/core_tests/fusion_tests")
        runs.append(("cupy_is_jaxapi_mutable", "", tests))
    session.chdir(session.create_tmp())  # away from this project's settings for pytest
    for plugin, path, tests in runs:
        chosen = () if plugin.startswith("cupy") else ("-k", "jaxapi.mutable")
        paths = os.pathsep.join(filter(None, (str(folder), path)))
        command = (
            "pytest",
            "-p",
            plugin,
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore",
            *chosen,
            *skipped,
            *tests,
        )
        session.run(*command, *session.posargs, env={**env, "PYTHONPATH": paths})


@nox.session
def numpy_suites(session):
    """Run NumPy's own tests on `jaxapi.numpy`, and CuPy's if CUPY_CHECKOUT names a checkout.

    Arguments name suites, such as `numpy.linalg`; the failures are counted by cause, and if all run, the
    tables of the documentation are written. With `JAXAPI_NUMPY_ON_HOST=0` in the environment the CPU's
    arrays are JAX's.
    """
    session.install("-e", ".", *group("clients"))
    records = pathlib.Path(session.create_tmp(), "records").resolve()
    shutil.rmtree(records, ignore_errors=True)
    session.run("python", "tests/clients/run_suites.py", records, *session.posargs, env=COMPILED)
    docs = () if session.posargs else ("--docs",)
    session.run("python", "tests/clients/failure_causes.py", records, *docs)


@nox.session
def fuzz(session):
    """Try random configurations of everything for `-- --minutes N`; the seeds that it prints repeat a run."""
    session.install("-e", ".", *group("tests"))
    session.run(
        "python",
        "-W",
        "ignore",
        "-m",
        "fuzz",
        *session.posargs,
        env={"PYTHONPATH": os.pathsep.join(["tests", "tests/helpers"])},
    )


@nox.session(python=PYTHONS[-1])
def lint(session):
    """Check style and types."""
    session.install("-e", ".", *group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("basedpyright", "--level", "error")


@nox.session(python=PYTHONS[-1])
def stubs(session):
    """Write the type stubs anew, with the newest JAX and NumPy."""
    session.install("-e", ".")
    session.run("python", "make_stubs.py")


@nox.session
def docs(session):
    """Build the documentation into docs/_build/html, and check its links; warnings are errors."""
    session.install("-e", ".[demo]", *group("docs"))
    site = "docs/_build/html"
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", site, *session.posargs)
    session.run("python", "docs/check_links.py", site)


@nox.session
def bench(session):
    """Measure what this machine can, against the peers: everything, or what is named (`-- kdtree fuse`)."""
    session.install(".[demo]", *group("benchmarks"))
    scripts = sorted(pathlib.Path("benchmarks").glob("bench_*.py"))
    names = session.posargs or [script.stem.removeprefix("bench_") for script in scripts]
    for name in names:
        session.run("python", f"benchmarks/bench_{name}.py")
