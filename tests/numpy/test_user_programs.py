"""What users of NumPy write, run on `numpy` and on `jaxapi.numpy`: every name that it leaves is compared.

The programs are in `statements/*.txt`, one between two blank lines. Their statements run one after another
on both modules. The same must be each statement's exception, and at the end the value of each name, its
dtype, its shape, and whether it is an array, a scalar or a Python object. Where NumPy raises, the line says
`# raises`.

`host(x)` is `numpy.asarray`, and `File()` an open file. Random numbers differ from NumPy's: those programs
keep only what holds for all numbers.
"""

import ast
import io
import numbers
import pathlib
import types
import warnings

import jax
import numpy as np
import pytest

import jaxapi.numpy as ours

FOLDER = pathlib.Path(__file__).parent / "statements"
# These compile large programs or many.
DEAR_NAMES = """
arithmetic-9 indexing-9 libraries-0 random_numbers-7 random_numbers-10 random_numbers-11 reductions-6
reductions-13 reductions-26 small_programs-6 views-53
"""
DEAR = DEAR_NAMES.split()
PROGRAMS = [
    pytest.param(program, id=name, marks=[pytest.mark.thorough] if name in DEAR else [])
    for path in sorted(FOLDER.glob("*.txt"))
    for number, program in enumerate(path.read_text(encoding="utf-8").strip().split("\n\n"))
    for name in [f"{path.stem}-{number}"]
]
COMPARED_BY_NOTHING = types.ModuleType | types.FunctionType | np.ufunc


def open_file(text=False):
    return io.StringIO() if text else io.BytesIO()


class Run:
    """The names of a program on one module."""

    def __init__(self, module):
        self.scope = {"np": module, "host": np.asarray, "File": open_file}

    def step(self, code):
        """Run a statement; return its exception."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(code, self.scope)
            except Exception as error:
                return error
        return None

    def names(self):
        helpers = ("np", "host", "File")
        return {
            name: x for name, x in self.scope.items() if name not in helpers and not name.startswith("__")
        }


def differences(program):
    """Return a line for each difference between a program on `jaxapi.numpy` and on NumPy."""
    theirs, own = Run(np), Run(ours)
    found = []
    lines = program.splitlines()
    for statement in ast.parse(program).body:
        code = compile(ast.Module([statement], []), "<program>", "exec")
        expected = theirs.step(code)
        text = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        assert ("# raises" in text) == (expected is not None), f"NumPy, {text}: {expected!r}"
        error = own.step(code)
        if error is not None and expected is None:
            found.append(f"{text}: raises {type(error).__name__}: {error}")
        elif expected is not None and not isinstance(error, type(expected)):
            found.append(f"{text}: {error!r} for {expected!r}")
    expected_names, got_names = theirs.names(), own.names()
    for name in expected_names.keys() & got_names.keys():
        found.extend(value_differences(got_names[name], expected_names[name], name))
    if not found and expected_names.keys() != got_names.keys():
        found.append(f"names {sorted(got_names)} for {sorted(expected_names)}")
    return found


def kind_of(value):
    """Return whether a value is an array, a scalar with a dtype, or of which Python class."""
    if hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, type | types.ModuleType):
        return "scalar" if is_hashable(value) else "array"
    return type(value).__name__


def is_hashable(value):
    """NumPy's scalars are, its arrays are not."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def value_differences(got, expected, path):
    """Yield where two values differ; the path says where that is."""
    kind = kind_of(expected)
    if kind_of(got) != kind:
        yield f"{path}: {kind_of(got)} {got!r} for {kind} {expected!r}"
    elif kind in ("array", "scalar"):
        yield from array_differences(got, expected, path)
    elif isinstance(expected, dict):
        if list(got) != list(expected):
            yield f"{path}: keys {list(got)} for {list(expected)}"
        for key in got.keys() & expected.keys():
            yield from value_differences(got[key], expected[key], f"{path}[{key!r}]")
    elif isinstance(expected, tuple | list):
        if len(got) != len(expected):
            yield f"{path}: {got!r} for {expected!r}"
        for index, (item, right) in enumerate(zip(got, expected, strict=False)):
            yield from value_differences(item, right, f"{path}[{index}]")
    elif isinstance(expected, numbers.Number):
        yield from number_differences(np.asarray(got), np.asarray(expected), path)
    elif not isinstance(expected, COMPARED_BY_NOTHING) and got != expected:
        yield f"{path}: {got!r} for {expected!r}"


def array_differences(got, expected, path):
    """Yield whether dtype, shape and values differ."""
    if np.dtype(got.dtype) != expected.dtype or tuple(got.shape) != expected.shape:
        yield f"{path}: {got.dtype}{tuple(got.shape)} for {expected.dtype}{expected.shape}"
    else:
        yield from number_differences(np.asarray(got), np.asarray(expected), path)


def number_differences(got, expected, path):
    """Yield whether whole numbers differ, or others by more than some units in the last place."""
    if expected.dtype.kind in "fc":
        precision = 32 * float(np.finfo(expected.dtype).eps)
        same = np.allclose(got, expected, rtol=precision, atol=precision, equal_nan=True)
    else:
        same = np.array_equal(got, expected)
    if not same:
        yield f"{path}: {got!r} for {expected!r}"


# Where libraries ask for `numpy.ndarray` itself: write groupby(numpy.asarray(x)).
OF_NUMPYS_CLASS = ["libraries-12"]
# What JAX's way, as on a GPU, does not do, by the reason.
NOT_JAXS_WAY = {
    "scalars are no numpy.generic, and no float": """
scalar_protocol-12 scalar_protocol-15 scalar_protocol-16 scalar_protocol-24 scalar_protocol-25
scalar_protocol-26 scalar_protocol-27 scalar_protocol-51 random_numbers-2 random_numbers-17
""",
    "a scalar, where NumPy has an array without axes or a Python number, or the other way round": """
arithmetic-6 reductions-6 scalar_protocol-29 scalar_protocol-43 shapes-10 shapes-16
""",
    "values do not raise: singular matrices give NaN": """
linear_algebra-4 linear_algebra-5 linear_algebra-6 linear_algebra-11
""",
    "the class of the error is TypeError": "views-16 views-17 views-18",
    "shapes of memory cannot be set, and broadcast_to is a copy": """
views-25 views-26 views-32 views-34
""",
}
if type(np.count_nonzero(np.ones(1))) is int:
    NOT_JAXS_WAY["count_nonzero of this NumPy returns an int, that of a newer one a scalar"] = "scalars-10"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_leaves_what_it_leaves_with_numpy(program, way, request):
    name = request.node.callspec.id.removeprefix(f"{way}-")
    reasons = [why for why, names in NOT_JAXS_WAY.items() if name in names.split()] if way == "jaxs" else []
    if name in OF_NUMPYS_CLASS:
        reasons.append("the library asks for numpy.ndarray itself")
    if reasons:
        request.applymarker(pytest.mark.xfail(reason=reasons[0], strict=True))
    with jax.enable_x64(True):
        assert differences(program) == []
