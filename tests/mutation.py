"""Break the code at random places and see whether its tests fail: `nox -s mutation -- --mutants 150`.

cosmic-ray says what can be broken and breaks it; its own runner has one test command for all modules, where
this one runs the tests of the module that is broken. The score is the share of changes that tests see.
"""

import argparse
import ast
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = pathlib.Path(__file__).resolve().parents[1]
SPATIAL = ["properties", "against_scipy", "kdtree", "radius", "pairs", "counting", "build"]
AREAS = {  # what is broken, and the tests that should see it
    "spaced": (["_spaced"], ["test_logspace.py", "test_ranges.py"]),
    "elementwise": (
        ["_elementwise"],
        ["test_elementwise.py", "test_complex_functions.py", "test_transforms.py"],
    ),
    "chapters": (["_searching.py", "_statistical.py"], ["test_chapters.py", "test_transforms.py"]),
    "linalg": (
        ["linalg"],
        ["test_linalg.py", "test_products.py", "test_householder.py", "test_transforms.py"],
    ),
    "spatial": (
        ["spatial/_structure", "spatial/_lax", "spatial/_host", "spatial/_device"],
        [f"spatial/test_{name}.py" for name in SPATIAL],
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
    """Yield (path, operator, occurrence, line) of everything that can be broken in a file."""
    source = path.read_text()
    skipped, tree = annotated_lines(source), get_ast(source)
    for name in operator_names():
        if name.partition("/")[2].startswith(OPERATORS) and is_of_a_kind(name):
            operator = get_operator(name)()
            places = [place for node in ast_nodes(tree) for place in operator.mutation_positions(node)]
            for occurrence, ((line, _), _) in enumerate(places):
                if line not in skipped:
                    yield path, name, occurrence, line


def tests_pass(copy, arguments, timeout):
    """Run pytest in the copy."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not kernels",
        *arguments,
    ]
    try:
        return subprocess.run(command, cwd=copy, capture_output=True, timeout=timeout).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    """Break, test and mend one place after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=AREAS, action="append")
    options = parser.parse_args()
    areas = options.only or list(AREAS)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "copy")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        scores = {}
        for area in areas:
            modules, tests = AREAS[area]
            roots = [copy / "jaxapi" / module for module in modules]
            paths = [
                path for root in roots for path in (sorted(root.rglob("*.py")) if root.is_dir() else [root])
            ]
            arguments = [f"tests/{name}" for name in tests]
            start = time.monotonic()
            if not tests_pass(copy, arguments, 3600):
                sys.exit(f"the tests of {area} fail as they are")
            timeout = 60 + 5 * (time.monotonic() - start)
            found = [mutant for path in paths for mutant in mutants(path)]
            chosen = random.Random(options.seed).sample(found, min(len(found), options.mutants // len(areas)))
            caught = 0
            for path, name, occurrence, line in chosen:
                source = path.read_text()
                path.write_text(mutate_code(source, get_operator(name)(), occurrence))
                changed = path.read_text().splitlines()
                survives = tests_pass(copy, [*arguments, str(path.relative_to(copy))], timeout)
                path.write_text(source)
                caught += not survives
                if survives:
                    new = changed[line - 1].strip() if line <= len(changed) else ""
                    where = path.relative_to(copy)
                    print(
                        f"survives: {where}:{line}: {source.splitlines()[line - 1].strip()} -> {new}",
                        flush=True,
                    )
            scores[area] = f"{caught} of {len(chosen)}"
            print(f"{area}: {caught} of {len(chosen)} caught, of {len(found)} possible", flush=True)
        print(
            "caught:",
            ", ".join(f"{area} {score}" for area, score in scores.items()),
            f"(seed {options.seed})",
        )


if __name__ == "__main__":
    main()
