"""Run NumPy's and CuPy's own tests on `jaxapi.numpy`, file by file, and record what became of each.

    python tests/clients/run_suites.py FOLDER numpy.numeric numpy.linalg cupy.math ...

A suite's records are `FOLDER/SUITE.jsonl`, which `failure_causes.py` reads. Without names all suites run;
those of CuPy need `CUPY_CHECKOUT`. What PYTHONPATH finds as `jaxapi` is tested, with 64 bits. A run that
stopped goes on where it was, also after a test that took the process with it. Arguments after `--` go to
pytest.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
NUMPY = pathlib.Path(numpy.__file__).parent
NUMPY_FILES = {
    "numeric": "_core/tests/test_numeric.py",
    "umath": "_core/tests/test_umath.py",
    "indexing": "_core/tests/test_indexing.py",
    "shape_base": "_core/tests/test_shape_base.py",
    "lib_shape_base": "lib/tests/test_shape_base.py",
    "function_base": "lib/tests/test_function_base.py",
    "arraysetops": "lib/tests/test_arraysetops.py",
    "index_tricks": "lib/tests/test_index_tricks.py",
    "twodim_base": "lib/tests/test_twodim_base.py",
    "nanfunctions": "lib/tests/test_nanfunctions.py",
    "linalg": "linalg/tests/test_linalg.py",
}
CUPY_FOLDERS = [
    "binary",
    "creation",
    "indexing",
    "linalg",
    "logic",
    "manipulation",
    "math",
    "padding",
    "sorting",
    "statistics",
    "core",
]


def suites():
    """Return the plugin and the path of each suite."""
    found = {f"numpy.{name}": ("numpy_is_jaxapi_numpy", NUMPY / path) for name, path in NUMPY_FILES.items()}
    if "CUPY_CHECKOUT" in os.environ:
        tests = pathlib.Path(os.environ["CUPY_CHECKOUT"], "tests", "cupy_tests")
        for name in CUPY_FOLDERS:
            found[f"cupy.{name}"] = ("cupy_is_jaxapi_numpy", tests / f"{name}_tests")
    return found


def command(plugin, path, arguments):
    """Return pytest's command, without this project's settings."""
    options = [
        "-c",
        os.devnull,
        "--rootdir",
        str(path.parent),
        "-p",
        "no:cacheprovider",
        "-q",
        "--tb=no",
        "-rN",
    ]
    plugins = ["-p", plugin, "-p", "failure_records"]
    if plugin.startswith("cupy"):
        # files that import CuPy's compiler or its CUDA modules are no tests of an interface of NumPy's
        options += ["-m", "not slow", "--import-mode=importlib", "--continue-on-collection-errors"]
    return [sys.executable, "-m", "pytest", "-W", "ignore", *options, *plugins, str(path), *arguments]


def run(suite, folder, arguments, seconds):
    """Run pytest until it ends by itself."""
    plugin, path = suites()[suite]
    records = folder / f"{suite}.jsonl"
    paths = [str(HERE), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "JAX_ENABLE_X64": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "RECORDS": str(records),
    }
    while True:
        lines_before = count_lines(records)
        try:
            code = subprocess.run(
                command(plugin, path, arguments), env=environment, cwd=folder, timeout=seconds
            ).returncode
        except subprocess.TimeoutExpired:
            print(f"{suite}: stopped after {seconds} s", flush=True)
            return
        if code in (0, 1, 5):
            return
        if count_lines(records) == lines_before:
            sys.exit(f"{suite}: pytest ended with {code}")


def count_lines(path):
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def summary(path):
    outcomes = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        outcomes[record["test"]] = record.get("outcome", "began")
    return {name: list(outcomes.values()).count(name) for name in sorted(set(outcomes.values()))}


def main():
    own, arguments = sys.argv[1:], []
    if "--" in own:
        cut = own.index("--")
        own, arguments = own[:cut], own[cut + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("suites", nargs="*", choices=[*suites(), []], metavar="suite")
    parser.add_argument("--seconds", type=int, help="stop a suite after so long")
    options = parser.parse_args(own)
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for suite in options.suites or suites():
        run(suite, folder, arguments, options.seconds)
        print(suite, summary(folder / f"{suite}.jsonl"), flush=True)


if __name__ == "__main__":
    main()
