"""Write docs/differences.csv from the namespace itself; with --check, fail where it is out of date."""

import csv
import inspect
import io
import pathlib
import sys

import jax

import jaxapi as xp

TABLE = pathlib.Path(__file__).parent / "differences.csv"
OURS = {"fuse", "interpolate", "logspace", "numpy", "spatial", "__version__"}
CHAPTERS = [
    ("Constants", xp, ["_constants"]),
    ("Creation functions", xp, ["_creation"]),
    ("Data types and functions on them", xp, ["_dtypes"]),
    ("Element-wise functions", xp, ["_elementwise"]),
    ("Indexing functions", xp, ["_indexing"]),
    ("Inspection", xp, ["_info"]),
    ("Linear algebra functions", xp, ["_products"]),
    ("Manipulation functions", xp, ["_manipulation"]),
    ("Searching functions", xp, ["_searching"]),
    ("Set functions", xp, ["_set"]),
    ("Sorting functions", xp, ["_sorting"]),
    ("Statistical functions", xp, ["_statistical"]),
    ("Utility functions", xp, ["_utility"]),
    ("Extension linalg", xp.linalg, None),
    ("Extension fft", xp.fft, None),
]


def main():
    with jax.enable_x64(False):
        rows = [row for chapter in CHAPTERS for row in differences(*chapter)]
    unlisted = set(xp.__all__) - listed() - OURS - {"__array_api_version__", "linalg", "fft"}
    if unlisted:
        sys.exit(f"names in no chapter: {sorted(unlisted)}")
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("chapter", "name", "from", "why"), *rows])
    if "--check" not in sys.argv:
        TABLE.write_text(text.getvalue(), encoding="utf-8")
    elif TABLE.read_text(encoding="utf-8") != text.getvalue():
        sys.exit("docs/differences.csv is out of date: run python docs/make_conformance.py")


def listed():
    return {name for _, module, files in CHAPTERS if files for name in names(module, files)}


def names(module, files):
    if files is None:
        return sorted(module.__all__)
    if files == ["_products"]:
        return ["matmul", "matrix_transpose", "tensordot", "vecdot"]
    return sorted({name for file in files for name in getattr(module, file).__all__})


def differences(title, module, files):
    """Yield a row for each name of a chapter: ours and why, or whose it is."""
    for name in names(module, files):
        value = getattr(module, name)
        if hasattr(value, "__wrapped__") and "anything array-like" in reason(value):
            yield title, f"`{name}`", "jax.numpy", "right, once the arrays are converted"
        elif inspect.isfunction(value) and value.__module__.startswith("jaxapi"):
            yield title, f"`{name}`", "jaxapi", reason(value)
        else:
            yield title, f"`{name}`", "jax.numpy", "right as it is"


def reason(function):
    """Return the docstring's sentence on the difference: the first after the summary."""
    paragraphs = inspect.getdoc(function).split("\n\n")
    text = next((p for p in paragraphs if p.startswith(("Unlike", "Differs"))), paragraphs[1])
    text = " ".join(text.split()).replace(" [1]_", "").replace(" ([1]_)", "").replace("``", "`")
    return text.replace("([1]_, ", "(")


if __name__ == "__main__":
    main()
