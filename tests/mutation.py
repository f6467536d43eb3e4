"""Break the code at random places and see whether its tests fail: `nox -s mutation -- --processes 8`.

cosmic-ray says what can be broken and breaks it; its own runner has one test command for all modules, where
this one runs the files of tests that call the broken function, the quick ones first. The score is the share
of changes that tests see, without those of equivalent_mutants.py, which change no result.
"""

import argparse
import ast
import collections
import contextlib
import json
import multiprocessing
import os
import pathlib
import queue
import random
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from equivalent_mutants import is_equivalent

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNDECIDED = "equivalent", "not begun", "not finished"
CHAPTERS = "chapters namespace errors manipulation dtypes fft creation array_arguments unique devices"
CHAPTERS += " missing transforms"


def named(names, folder=""):
    """Return files of tests by their names."""
    return [f"{folder}test_{name}.py" for name in names.split()]


class Area(NamedTuple):
    """What is broken, and the tests that should see it."""

    modules: list[str]
    tests: list[str]
    marked: str = "not kernels"


AREAS = {
    "spaced": Area(["_spaced", "_frequencies.py"], named("logspace ranges fft devices")),
    "elementwise": Area(
        ["_elementwise"], named("elementwise complex_functions transforms operator_overflow")
    ),
    "chapters": Area(
        ["_creation", "_[!ckfrv]*.py", "fft.py"],
        named(CHAPTERS),
    ),
    "linalg": Area(["linalg", "_compilation.py"], named("linalg products householder transforms")),
    "interop": Area(["_interop"], named("interop creation sharing devices fuse array_arguments")),
    "fuse": Area(["_fuse"], ["test_fuse*.py", "test_explain.py"]),
    "mutable": Area(["mutable", "_constant_cache.py", "_reading.py"], ["mutable/test_*.py"]),
    "structure": Area(["spatial/_structure"], ["spatial/test_[!ms]*.py"]),
    "lax": Area(["spatial/_lax"], ["spatial/test_[!ms]*.py"]),
    "host": Area(["spatial/_host"], ["spatial/test_[!ms]*.py"]),
    "device": Area(["spatial/_device"], ["spatial/test_[!ms]*.py"]),
    "kdtree": Area(["spatial/_*.py"], ["spatial/test_[!ms]*.py"]),
    "mesh": Area(["spatial/_mesh"], named("mesh mesh_programs", "spatial/")),
    "cuda": Area(["spatial/_cuda"], ["spatial/test_build.py", "spatial/test_cuda_*.py"], marked=""),
}
OPERATORS = (
    "ReplaceBinary",
    "ReplaceComparison",
    "ReplaceUnary",
    "ReplaceTrue",
    "ReplaceFalse",
    "Number",
    "AddNot",
)
KINDS = [
    "Add Sub Mul Div FloorDiv Mod Pow",
    "BitAnd BitOr BitXor RShift LShift",
    "Eq NotEq Lt LtE Gt GtE",
    "Is IsNot",
]


def annotated_lines(source):
    """Return the lines of annotations: breaking `X | None` says nothing."""
    lines = set()
    for node in ast.walk(ast.parse(source)):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if part is not None:
                lines.update(range(part.lineno, part.end_lineno + 1))
    return lines


def is_of_a_kind(name):
    """Say whether an operator is replaced by one that takes the same operands: the others fail at once."""
    parts = name.split("_")[1:]
    return not parts or any(set(parts) <= {*kind.split(), "USub", "UAdd", "Invert", "Not"} for kind in KINDS)


def mutants(path):
    """Return (path from the root, operator, occurrence, line) of everything that can be broken in a file."""
    source, found = path.read_text(), []
    skipped, tree = annotated_lines(source), get_ast(source)
    for name in operator_names():
        if name.partition("/")[2].startswith(OPERATORS) and is_of_a_kind(name):
            operator = get_operator(name)()
            places = [place for node in ast_nodes(tree) for place in operator.mutation_positions(node)]
            for occurrence, ((line, _), _) in enumerate(places):
                if line not in skipped:
                    found.append((path.relative_to(ROOT), name, occurrence, line))
    return found


class Copies:
    """Copies of the project, one for each process: a test runs in one that nobody else breaks meanwhile."""

    def __init__(self, folder, number):
        self.free = queue.SimpleQueue()
        for i in range(number):
            copy = pathlib.Path(folder, f"copy{i}")
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "_build"))
            self.free.put(copy)

    @contextlib.contextmanager
    def one(self):
        """Lend a copy."""
        copy = self.free.get()
        try:
            yield copy
        finally:
            self.free.put(copy)


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["jax.numpy", "scipy.spatial", "scipy.sparse", "pytest"])


class Called:
    """A plugin of pytest that writes down which functions of jaxapi tests call, and their time."""

    def __init__(self, file):
        self.file, self.functions, self.start = file, set(), time.monotonic()
        self.package = os.path.join(os.getcwd(), "jaxapi", "")
        sys.monitoring.use_tool_id(sys.monitoring.COVERAGE_ID, "mutation")
        events = sys.monitoring.events.PY_START
        sys.monitoring.register_callback(sys.monitoring.COVERAGE_ID, events, self.called)
        sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, events)

    def called(self, code, _):
        if code.co_filename.startswith(self.package):
            path = os.path.join("jaxapi", code.co_filename.removeprefix(self.package))
            self.functions.add(f"{path}:{code.co_name}")
        return sys.monitoring.DISABLE

    def pytest_sessionfinish(self):
        found = {"seconds": time.monotonic() - self.start, "functions": sorted(self.functions)}
        pathlib.Path(self.file).write_text(json.dumps(found))


def run_pytest(folder, arguments, called, output):
    """Run in a process of its own, in a copy of the project."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    with open(output, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    plugins = [Called(called)] if called else []
    sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *arguments], plugins))


def passes(copy, tests, timeout, called=None, output=os.devnull):
    """Run pytest in the copy; return None if it takes longer."""
    process = FORKS.Process(target=run_pytest, args=(copy, tests, called, output))
    process.start()
    process.join(timeout)
    code = process.exitcode
    process.kill()
    process.join()
    return None if code is None else code in (0, 5)  # 5: there is no test


def files_called_by(copies, tests, marked, folder):
    """Run a file of tests on the unbroken code, and return the functions that it calls and its time."""
    called, output = (pathlib.Path(folder, tests.replace("/", "-") + end) for end in (".json", ".log"))
    with copies.one() as copy:
        if not passes(copy, [tests, "-m", marked], None, called=called, output=output):
            print(output.read_text())
            raise SystemExit(f"the tests fail as they are: pytest {tests}")
    return json.loads(called.read_text())


def function_at(path, line):
    """Return the innermost function with a line in its body, as `Called` names it; None if there is none."""
    functions = [n for n in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(n, ast.FunctionDef)]
    around = [n for n in functions if n.body[0].lineno <= line <= n.end_lineno]
    return f"{path}:{max(around, key=lambda n: n.lineno).name}" if around else None


def tests_of(path, line, area, known):
    """Return the files of an area's tests that call the function of a line, those of its name first."""
    function, names = function_at(path, line), {each.strip("_") for each in path.with_suffix("").parts[1:]}
    callers = [
        (names.isdisjoint(re.split(r"[/_.]", file)[2:]), known[file]["seconds"], file)
        for file in test_files(AREAS[area])
        if function is None or function in known[file]["functions"]
    ]
    return [file for *_, file in sorted(callers)]


def try_out(copies, mutant, area, known, options):
    """Break one place in a copy; return what it looks like there, and whether a test saw it."""
    path, name, occurrence, line = mutant
    source = (ROOT / path).read_text()
    broken = mutate_code(source, get_operator(name)(), occurrence)
    before, after = (text.splitlines()[line - 1].strip() for text in (source, broken))
    looks = f"{path}:{line}: {before} -> {after}"
    if is_equivalent(str(path), before, after):
        return looks, "equivalent"
    begin = time.monotonic()
    if begin > options.last:
        return looks, "not begun"
    tests = [str(path), *tests_of(path, line, area, known), "-m", AREAS[area].marked]
    with copies.one() as copy:
        place = copy / path
        place.write_text(broken)
        try:
            passed = passes(copy, tests, min(options.timeout, options.end - begin))
        finally:
            place.write_text(source)
    if passed is None and begin + options.timeout > options.end:
        return looks, "not finished"
    return f"{looks} ({time.monotonic() - begin:.0f} s)", "survives" if passed else "caught"


def python_files(modules, name=None):
    """Return the files of modules and packages, or those of one name."""
    paths = [path for module in modules for path in sorted((ROOT / "jaxapi").glob(module))]
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return [file for file in files if name in (None, file.name)]


def test_files(area):
    """Return an area's files of tests, from the project's root."""
    paths = [path for pattern in area.tests for path in sorted((ROOT / "tests").glob(pattern))]
    return [str(path.relative_to(ROOT)) for path in dict.fromkeys(paths)]


def arguments():
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=20, help="in each area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=AREAS, action="append", help="an area; may be given several times")
    parser.add_argument("--module", help="break files of this name alone")
    parser.add_argument("--processes", type=int, default=1, help="how many tests run at a time")
    parser.add_argument("--timeout", type=float, default=600, help="seconds; slower tests count as failed")
    parser.add_argument("--seconds", type=float, default=1e9, help="for all; none begins in the last third")
    parser.add_argument("--calls", help="a file that keeps which tests call what, while nothing changes")
    options = parser.parse_args()
    options.end = time.monotonic() + options.seconds
    options.last = options.end - options.seconds / 3
    return options


def calls_of_tests(areas, copies, pool, folder, file):
    """Return for each file of tests what it calls, and its time; this also fills the cache of programs."""
    known = json.loads(pathlib.Path(file).read_text()) if file and os.path.exists(file) else {}
    marked = {tests: AREAS[area].marked for area in areas for tests in test_files(AREAS[area])}
    new = {tests: mark for tests, mark in marked.items() if tests not in known}
    found = pool.map(lambda tests: files_called_by(copies, tests, new[tests], folder), new)
    known.update(zip(new, found, strict=True))
    if file:
        pathlib.Path(file).write_text(json.dumps(known))
    return known


def main():
    """Break and test as many places at a time as there are processes."""
    options = arguments()
    areas = options.only or list(AREAS)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.processes) as pool:
        copies = Copies(folder, options.processes)
        known = calls_of_tests(areas, copies, pool, folder, options.calls)
        files = {area: python_files(AREAS[area].modules, options.module) for area in areas}
        every = [file for of_area in files.values() for file in of_area]
        with FORKS.Pool(options.processes) as processes:
            found = dict(zip(every, processes.map(mutants, every, chunksize=1), strict=True))
        chosen = []
        for area in areas:
            places = [(place, area) for file in files[area] for place in found[file]]
            chosen += random.Random(options.seed).sample(places, min(len(places), options.mutants))
        random.Random(options.seed).shuffle(chosen)  # so that time is cut from all areas alike
        running = {pool.submit(try_out, copies, *place, known, options): place[1] for place in chosen}
        score = {area: collections.Counter() for area in areas}
        for done in as_completed(running):
            area, (looks, result) = running[done], done.result()
            score[area][result] += 1
            if result != "not begun":
                print(f"{area}: {result}: {looks}", flush=True)
    total = collections.Counter()
    for counts in score.values():
        total.update(counts)
    for area, counts in {**score, "all": total}.items():
        tried = counts["caught"] + counts["survives"]
        rest = ", ".join(f"{counts[name]} {name}" for name in UNDECIDED if counts[name])
        print(f"{area}: {counts['caught']} of {tried} caught" + (f"; {rest}" if rest else ""))


if __name__ == "__main__":
    main()
