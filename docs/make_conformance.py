"""Write docs/conformance.md from the namespace itself; with --check, fail where the page is out of date."""

import csv
import inspect
import pathlib
import sys

import jax
import numpy as np

import jaxapi as xp

DOCS = pathlib.Path(__file__).parent
PAGE = DOCS / "conformance.md"
LISTS = DOCS.parent / "tests" / "conformance"
OURS = {"fuse", "logspace", "numpy", "spatial", "__version__"}
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
# What x64 off loses, run as written when the page is made and when it is checked.
LOSSES = [
    (
        "A NumPy float64 array as argument of a jitted function becomes float32.",
        "jax.jit(xp.sin)(np.ones(1)).dtype",
    ),
    ("An int64 one becomes int32 there, and wraps.", "jax.vmap(xp.negative)(ids)"),
    ("A Python float combined with a float64 array is rounded to float32 first.", "float(x * 0.1)"),
    ("So a large one is infinite.", "float(x * 1e300)"),
    ("A Python int beyond int32 raises, even together with an int64 array.", "i + 2**40"),
    (
        "uint32 with a signed integer stays 32 bits wide.",
        "(xp.ones(1, dtype=xp.uint32) + xp.ones(1, dtype=xp.int32)).dtype",
    ),
    ("The default dtypes have 32 bits.", "xp.ones(1).dtype"),
]
INTRODUCTION = """# Conformance

Written by `python docs/make_conformance.py`; with `--check` it says whether this page is up to date.

jaxapi implements the Python array API standard 2025.12 over `jax.numpy`, on every supported JAX. A name whose
`jax.numpy` function does what the standard says is that function behind one rule for its arrays; the others
are repaired here, and the tables below say why.

**Arrays in.** Every function takes what `asarray` takes (lists, arrays of NumPy, CuPy and PyTorch) and keeps
its dtype, 64-bit included, whatever JAX's x64 mode; text is refused with a TypeError. A Python number with an
array keeps all its precision, and an int that does not fit an integer array raises OverflowError. Integers
compare by value, uint64 with signed ones too. Shapes that do not fit raise ValueError, and axes out of bounds
`numpy.exceptions.AxisError`, as in NumPy. Masked arrays raise TypeError, since their masks would be lost.
`__wrapped__` leads to `jax.numpy`'s function. What the rule cannot reach is under "What x64 off loses" and in
[dtypes.md](dtypes.md).

**Pass `xp=jaxapi`.** Arrays are plain `jax.Array`s, so `x.__array_namespace__()`, and with it
`array_api_compat.array_namespace(x)`, is `jax.numpy`, not jaxapi. Import jaxapi, or hand it to libraries that
take a namespace (`xp=jaxapi`). The arrays of [`jaxapi.mutable`](mutable.md) know their namespace, and it
passes the whole suite.

**`x @ y` is JAX's.** Operators belong to `jax.Array`. On NVIDIA GPUs `x @ y` multiplies float32 in TF32, with
errors near 1e-3 of the largest value; `xp.matmul`, `xp.tensordot`, `xp.vecdot` and `xp.linalg` multiply in
full float32 unless `jax_default_matmul_precision` is set. `x // y` and `x % y` lack the standard's special
cases; `xp.floor_divide` and `xp.remainder` have them.
"""

ADVICE = """With `JAX_ENABLE_X64=1` none of this happens: set it for 64-bit work.
"""

BY_THE_DRAW = """With x64 off more ids fail in some runs, by the values drawn, where a line of the suite
hands an operator of `jax.Array` a Python int beyond int32, as it can in every test with such a line:
`nox -s conformance` runs them and excuses that failure alone (next section), which the table counts. It skips
`test_outer` and `test_cross`, whose expectations wrap in JAX's operators.
"""

RULE = """With x64 off it takes the plugin tests/conformance/operator_overflow.py too. A failed test is an
expected failure there if each of its exceptions is an OverflowError, and the traceback's last frame in the
suite is directly followed by an operator of `jax.Array` that was handed a Python int beyond int32, with no
function of jaxapi in between. Everything else stays a failure, and with x64 on nothing is excused. The end of
the run lists each excused test with the suite's line.
"""

VALUES = """## Values that differ from NumPy's

These are XLA's, and a repair would cost every call:

- **Subnormal numbers are zero on CPUs.** XLA flushes them before and after most operations: `xp.sign(5e-324)`
  is 0, `xp.remainder(1.0, 1e-310)` is NaN as for 0, `xp.remainder(-1e-310, 1.0)` is subnormal where NumPy has
  1.0, and `xp.reciprocal` of a complex number loses subnormal parts.
- **Reciprocals of complex infinities and zeros.** `inf + inf j` and `inf + nan j` give 0, as C99 has it
  (NumPy: NaN), and a complex 0 gives `inf + nan j` (NumPy: `nan + nan j`). The standard leaves both open.
- **Integers divided by zero** give -1 or -2 in `xp.floor_divide` and 0 in `xp.remainder`, without a warning
  (NumPy: a warning and 0).
- **The sign of `inf + nan j`** is `nan + nan j`, as the standard says; NumPy has 1.
- **The last digits of real functions.** On a CPU they are within 7 ulp for `tanh`, 4 for `acosh`, 3 for
  `atan`, `sinh`, `cosh`, `asinh`, `atanh` and `log10`, 2.5 for the others (float32 and float64, against
  extended precision; NumPy is within 3). GPUs differ from CPUs in the last digit.
- **Quotients of float32 on NVIDIA GPUs** are right to 2 ulp, not to the last bit. So `xp.floor_divide` may be
  off by one there where the quotient is above 2**22.
"""


def main():
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/conformance.md is out of date: run python docs/make_conformance.py")


def page():
    with jax.enable_x64(False):
        parts = [INTRODUCTION, counts(), failures(), losses(), VALUES, *(chapter(*row) for row in CHAPTERS)]
    unlisted = set(xp.__all__) - listed() - OURS - {"__array_api_version__", "linalg", "fft"}
    if unlisted:
        raise ValueError(f"names in no chapter: {sorted(unlisted)}")
    return "\n".join(parts)


def listed():
    return {name for _, module, files in CHAPTERS if files for name in names(module, files)}


def names(module, files):
    if files is None:
        return sorted(module.__all__)
    if files == ["_products"]:
        return ["matmul", "matrix_transpose", "tensordot", "vecdot"]
    return sorted({name for file in files for name in getattr(module, file).__all__})


def chapter(title, module, files):
    lines = [f"## {title}", "", "| name | from | why |", "| --- | --- | --- |"]
    converting, reexported = [], []
    for name in names(module, files):
        value = getattr(module, name)
        if hasattr(value, "__wrapped__"):
            converting.append(f"`{name}`")
        elif inspect.isfunction(value) and value.__module__.startswith("jaxapi"):
            lines.append(f"| `{name}` | jaxapi | {reason(value)} |")
        else:
            reexported.append(f"`{name}`")
    if converting:
        lines.append(f"| {', '.join(converting)} | jax.numpy | right, once the arrays are converted |")
    if reexported:
        lines.append(f"| {', '.join(reexported)} | jax.numpy | right as they are |")
    return "\n".join([*lines, ""])


def reason(function):
    """Return the docstring's sentence on the difference: the first after the summary."""
    paragraphs = inspect.getdoc(function).split("\n\n")
    text = next((p for p in paragraphs if p.startswith(("Unlike", "Differs"))), paragraphs[1])
    text = (
        " ".join(text.split())
        .replace(" [1]_", "")
        .replace(" ([1]_)", "")
        .replace("``", "`")
        .replace("|", "\\|")
    )
    return text.replace("([1]_, ", "(")


def counts():
    lines = [
        "## Counts",
        "",
        "Failures among the 1,384 tests of the official suite (pinned in the noxfile):",
        "",
    ]
    lines += ["| namespace | setting | examples a test | failed |", "| --- | --- | --- | --- |"]
    with open(DOCS / "counts.csv", encoding="utf-8", newline="") as file:
        lines += [f"| {' | '.join(row.values())} |" for row in csv.DictReader(file)]
    return "\n".join([*lines, "", BY_THE_DRAW])


def failures():
    lines = [
        "## Known failures",
        "",
        "`nox -s conformance` runs the suite with these lists, strictly.",
        "",
        RULE,
    ]
    for file in sorted(LISTS.glob("*.txt")):
        rows = [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        ids = sum(not line.startswith("#") for line in rows)
        lines += [f"### {file.name}: {ids}", "", "```", *rows, "```", ""]
    return "\n".join(lines)


def losses():
    lines = [
        "## What x64 off loses",
        "",
        "Operators, and what is passed to a jitted or mapped function, are JAX's. With x64 off:",
        "",
    ]
    lines += [
        "```python",
        ">>> x = xp.asarray(1.0, dtype=xp.float64)",
        ">>> i = xp.asarray([1], dtype=xp.int64)",
        ">>> ids = np.array([2**40 + 2, 2**40 + 1])",
    ]
    scope = {"xp": xp, "np": np, "jax": jax, "ids": np.array([2**40 + 2, 2**40 + 1])}
    scope["x"], scope["i"] = xp.asarray(1.0, dtype=xp.float64), xp.asarray([1], dtype=xp.int64)
    for what, code in LOSSES:
        lines += ["", f">>> {code}  # {what}", outcome(code, scope)]
    return "\n".join([*lines, "```", "", ADVICE])


def outcome(code, scope):
    try:
        return repr(eval(code, scope))
    except OverflowError as error:
        return f"OverflowError: {str(error).splitlines()[0].split(',')[0]}"


if __name__ == "__main__":
    main()
