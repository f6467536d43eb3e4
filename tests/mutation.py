"""Break the code at random places and see whether its tests fail: `nox -s mutation -- --processes 8`.

cosmic-ray says what can be broken and breaks it; its own runner has one test command for all modules, where
this one runs the tests of the module that is broken. The score is the share of changes that tests see.
"""

import argparse
import ast
import collections
import contextlib
import multiprocessing
import os
import pathlib
import queue
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = pathlib.Path(__file__).resolve().parents[1]
CUDA = "finite build nearest every radius compile"
SPATIAL = "properties against_scipy few kdtree choices radius pairs graphs counting build programs host_order"
FUSE = "errors integers methods class_attributes state padding random sharded static"


class Area(NamedTuple):
    """What is broken, and the tests that should see it, the quick ones first."""

    modules: list[str]
    tests: list[str]
    marked: str = "not kernels"


AREAS = {
    "spaced": Area(["_spaced"], ["test_logspace.py", "test_ranges.py"]),
    "elementwise": Area(
        ["_elementwise"],
        ["test_elementwise.py", "test_complex_functions.py", "test_transforms.py"],
    ),
    "chapters": Area(
        ["_searching.py", "_statistical.py", "_sorting.py", "_set.py", "_manipulation.py", "_creation"],
        [
            "test_chapters.py",
            "test_manipulation.py",
            "test_dtypes.py",
            "test_fft.py",
            "test_creation.py",
            "test_array_arguments.py",
            "test_transforms.py",
        ],
    ),
    "linalg": Area(
        ["linalg"],
        ["test_linalg.py", "test_products.py", "test_householder.py", "test_transforms.py"],
    ),
    "interop": Area(
        ["_interop"],
        [
            "test_interop.py",
            "test_creation.py",
            "test_sharing.py",
            "test_devices.py",
            "test_fuse.py",
            "test_array_arguments.py",
        ],
    ),
    "fuse": Area(
        ["_fuse"], ["test_fuse.py", *(f"test_fuse_{name}.py" for name in FUSE.split()), "test_explain.py"]
    ),
    "mutable": Area(["mutable", "_kept.py", "_reading.py"], ["mutable"]),
    "spatial": Area(
        ["spatial/_structure", "spatial/_lax", "spatial/_host", "spatial/_device"],
        [f"spatial/test_{name}.py" for name in SPATIAL.split()],
    ),
    "mesh": Area(["spatial/_mesh"], ["spatial/test_mesh.py", "spatial/test_mesh_programs.py"]),
    "cuda": Area(
        ["spatial/_cuda"],
        ["spatial/test_build.py", *(f"spatial/test_cuda_{name}.py" for name in CUDA.split())],
        marked="",
    ),
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
    """Yield (path from the root, operator, occurrence, line) of everything that can be broken in a file."""
    source = path.read_text()
    skipped, tree = annotated_lines(source), get_ast(source)
    for name in operator_names():
        if name.partition("/")[2].startswith(OPERATORS) and is_of_a_kind(name):
            operator = get_operator(name)()
            places = [place for node in ast_nodes(tree) for place in operator.mutation_positions(node)]
            for occurrence, ((line, _), _) in enumerate(places):
                if line not in skipped:
                    yield path.relative_to(ROOT), name, occurrence, line


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
FORKS.set_forkserver_preload(["jax.numpy", "scipy.spatial", "scipy.sparse", "pytest"])  # half of a short run


def run_pytest(folder, arguments, quiet):
    """Run in a process of its own, in a copy of the project."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    if quiet:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
    sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *arguments]))


def tests_pass(copy, tests, timeout, quiet):
    """Run pytest in the copy."""
    process = FORKS.Process(target=run_pytest, args=(copy, tests, quiet))
    process.start()
    process.join(timeout)
    process.kill()
    process.join()
    return process.exitcode == 0


def survives(copies, mutant, tests, timeout):
    """Break one place in a copy; return what it looks like there if no test sees it."""
    path, name, occurrence, line = mutant
    with copies.one() as copy:
        place = copy / path
        source = place.read_text()
        broken = mutate_code(source, get_operator(name)(), occurrence)
        place.write_text(broken)
        try:
            if not tests_pass(copy, [*tests, str(path)], timeout, quiet=True):
                return None
        finally:
            place.write_text(source)
    before, after = (text.splitlines()[line - 1].strip() for text in (source, broken))
    return f"{path}:{line}: {before} -> {after}"


def python_files(modules):
    """Yield the files of modules and packages, from the project's root."""
    for module in modules:
        path = ROOT / "jaxapi" / module
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def main():
    """Break and test as many places at a time as there are processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=20, help="in each area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=AREAS, action="append", help="an area; may be given several times")
    parser.add_argument("--processes", type=int, default=1, help="how many tests run at a time")
    parser.add_argument(
        "--timeout", type=float, default=600, help="seconds after which tests count as failed"
    )
    options = parser.parse_args()
    areas = options.only or list(AREAS)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.processes) as pool:
        copies = Copies(folder, options.processes + 1)  # one is for the tests of the unbroken code
        running = {}
        for area in areas:
            tests = [*(f"tests/{name}" for name in AREAS[area].tests), "-m", AREAS[area].marked]
            with copies.one() as copy:  # this also fills the cache of compiled programs
                if not tests_pass(copy, ["-n", str(options.processes), *tests], None, quiet=False):
                    sys.exit(f"the tests of {area} fail as they are: pytest {' '.join(tests)}")
            places = [place for path in python_files(AREAS[area].modules) for place in mutants(path)]
            chosen = random.Random(options.seed).sample(places, min(len(places), options.mutants))
            for mutant in chosen:
                running[pool.submit(survives, copies, mutant, tests, options.timeout)] = area
        tried, caught = collections.Counter(), collections.Counter()
        for done in as_completed(running):
            area, survivor = running[done], done.result()
            tried[area] += 1
            caught[area] += survivor is None
            if survivor:
                print(f"survives: {survivor}", flush=True)
            print(f"{area}: {caught[area]} of {tried[area]} caught", flush=True)
        print("caught:", ", ".join(f"{area} {caught[area]} of {tried[area]}" for area in areas))


if __name__ == "__main__":
    main()
