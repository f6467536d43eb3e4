"""Every public function of `jaxapi.numpy` by edge inputs, beside NumPy: values, dtypes, errors, aliasing.

Each statement of sweep.txt runs with a part of the inputs; ``python -m tests.numpy.test_sweep`` runs all of
them, prints what differs, and which expected difference there is none of.
"""

import collections
import pathlib
import re
import sys
import warnings
import zlib

import jax
import numpy as np
import pytest
from rooms import poison_rooms

import jaxapi.numpy as ours
from jaxapi.mutable import _host_way

pytestmark = pytest.mark.filterwarnings("ignore")
NAN, INF = np.nan, np.inf

SECTIONS = pathlib.Path(__file__).with_name("sweep.txt").read_text().split("\n\n")
FUNCTIONS, METHODS, WRITES = (section.splitlines()[1:] for section in SECTIONS[1:])
UFUNCS = [name for name in ours.__all__ if isinstance(getattr(ours, name), ours.ufunc)]
ONE_OPERAND = ["np.{f}(x)"]
TWO_OPERANDS = [
    "np.{f}(x, x)", "np.{f}(x, v)", "np.{f}(x, 2)", "np.{f}(-3, x)", "np.{f}(x, 300)", "np.{f}(1.5, x)",
    "np.{f}(x, [1, 2])",
]  # fmt: skip
FOLDED_NAMES = """
add multiply maximum minimum logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor subtract
divide floor_divide fmax fmin gcd lcm hypot logaddexp remainder equal less left_shift copysign nextafter
"""
FOLDED = FOLDED_NAMES.split()
FOLDS = [
    "np.{f}.reduce(x)", "np.{f}.reduce(x, axis=None)", "np.{f}.reduce(x, axis=1, initial=1)",
    "np.{f}.reduce(x, axis=3)", "np.{f}.reduce(x, where=[True, False, True], initial=1)",
    "np.{f}.reduce(x, keepdims=True)", "np.{f}.accumulate(x)", "np.{f}.accumulate(x, axis=1)",
    "np.{f}.accumulate(x, axis=2)", "np.{f}.reduceat(x, [0, 2, 1])", "np.{f}.reduceat(x, [0, 3])",
    "np.{f}.outer(v, v)",
]  # fmt: skip


def _of_ufuncs():
    for name in {getattr(np, name).__name__: name for name in UFUNCS}.values():
        forms = ONE_OPERAND if getattr(np, name).nin == 1 else TWO_OPERANDS
        yield from (form.replace("{f}", name) for form in forms)
    for name in FOLDED:
        yield from (form.replace("{f}", name) for form in FOLDS)


READS = [*FUNCTIONS, *_of_ufuncs(), *METHODS]
# In these the input is a size, or NumPy takes a step for each multiple of the length.
SIZED = """
np.repeat(v, v)
np.repeat([1, 2, 3], v)
np.tile(2, v)
np.zeros(v)
np.ones(x)
np.arange(v)
np.bincount(v)
np.bincount(x)
np.hanning(v)
np.fft.fftfreq(v)
np.take([3, 4, 5], x, mode='wrap')
np.choose(x, [v, v, v], mode='wrap')
np.ravel_multi_index((v, v), (3, 3), mode='wrap')
""".strip().splitlines()


# Inputs


def _extremes(dtype):
    limits = np.iinfo(dtype)
    numbers = [limits.max, 0, 1, 2, limits.min, 3, limits.max - 1, 1, limits.min + 1]
    return np.array(numbers, dtype).reshape(3, 3)


def _reals(dtype):
    return np.array([1.5, -0.0, 2, INF, NAN, -3, 100, 0.0, -INF], dtype).reshape(3, 3)


def _largest(dtype):
    largest = np.finfo(dtype).max
    return np.array([largest, 1, -largest, 0.5, largest, 2, largest, -largest, -3], dtype).reshape(3, 3)


def _complexes(dtype):
    z = np.array([1.5, -0.0, 2, 3, NAN, -3, 1, 0.0, 5], dtype)
    z.imag = [1, 0, -2, NAN, 1, 0.5, -4, 0, 0]
    return z.reshape(3, 3)


def _whole(dtype):
    return np.array([4, 1, 0, 1, 3, 1, 0, 2, 5]).astype(dtype).reshape(3, 3)


def _read_only(x):
    x.flags.writeable = False
    return x


FEW_INPUTS = {
    "uint8 extremes": _extremes("uint8"),
    "float64": _reals("float64"),
    "complex128": _complexes("complex128"),
    "bool": _whole("bool"),
    "float64 without axes": np.array(1.0),
    "float64 of no rows": np.zeros((0, 3)),
    "a list": [[4, 1, 0], [1, 3, 1], [0, 2, 5]],
    "an int": 3,
}
DTYPES = ["int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
ALL_INPUTS = FEW_INPUTS | {f"{dtype} extremes": _extremes(dtype) for dtype in DTYPES}
ALL_INPUTS |= {dtype: _reals(dtype) for dtype in ("float16", "float32")}
ALL_INPUTS |= {f"{dtype} largest": _largest(dtype) for dtype in ("float32", "float64")}
ALL_INPUTS |= {
    f"{dtype} whole": _whole(dtype) for dtype in ("int8", "int64", "float16", "float32", "complex64")
}
ALL_INPUTS |= {f"{dtype} without axes": np.array(1, dtype) for dtype in ("bool", "int64", "complex128")}
ALL_INPUTS |= {f"{dtype} empty": np.zeros(0, dtype) for dtype in ("bool", "int64", "float64", "complex128")}
ALL_INPUTS |= {
    "float64 of no columns": np.zeros((3, 0)),
    "float64 T": _reals("float64").T,
    "float64 reversed": _reals("float64")[::-1],
    "an empty list": [],
    "a list of complex": [[4.5, 1j, 0], [1, 3, 1 + 2j], [0, 2, 5]],
    "a float": 2.5,
    "a bool": True,
    "None": None,
    "text": "a",
}
# Arrays of NumPy's, which are handed over as they are, and not written to.
NUMPYS_INPUTS = {
    "NumPy's read-only": _read_only(_whole("float32")),
    "NumPy's T": _whole("int64").T,
    "NumPy's reversed": _whole("float64")[::-1],
    "NumPy's steps": np.arange(18.0).reshape(3, 6)[:, ::2],
    "NumPy's broadcast": np.broadcast_to(np.array([1, 2, 3], "int8"), (3, 3)),
    "NumPy's scalar": np.float32(2.5),
    "NumPy's big-endian": _whole(">i4"),
}


# What must differ JAX's way: the kind of difference, inputs and statements, as regular expressions.

ALWAYS = ".*"
NUMBERS = r"^an? (int|float|bool)$|without axes|scalar"
LISTS_AND_NUMBERS = rf"list|{NUMBERS}"
OTHER_ORDERS = r" T$|reversed|steps|broadcast|read-only"
EXPECTED = {
    "views that are copies": [
        ("aliasing", ALWAYS, r"diag|broadcast_|ix_|trim_zeros|asfortranarray|view\('int8'\)|fft.i?fftn|'F'"),
    ],
    "which of equal zeros, and the sign of a sum of zeros": [
        ("sign of zero", "float|complex", r"cum|accumulate|clip|max|min|dot|einsum|linspace|vander|expm1"),
        ("sign of zero", "float|complex", r"unique|union1d|sort|setdiff1d|intersect1d"),
        ("sign of zero", "float|complex", r"pow|\*\* -1|divide|sinc|multiply|reciprocal"),
        ("sign of zero", ALWAYS, r"ihfft"),
        ("argument changed", "float", r"\.sort\("),
    ],
    "numbers that the dtype of a cast does not hold": [
        ("values", "extremes", r"np.round\(x, -1\)"),
        ("argument changed", "extremes", r"np.add.at\(x, 0, 1.5\)"),
        ("values", "int64 extremes", r"mode='median'|histogram\(\[1, 2, 3\], 2, weights=v\)"),
        ("no error", "^int|NumPy's broadcast", r"np.pad\(x, 1, constant_values=300\)"),
        ("values", "int|list|NumPy's T", r"np.round\(x, -400\)"),
        ("values", "list|int|bool|NumPy's (T|big)", r"np.reciprocal\(x\)"),
        ("values", "float|complex", r"astype\((x, )?'u?int"),
        ("values", "int|extremes", r"np.add\(x, 1e30, out=x, casting='unsafe'\)"),
        ("values", "largest|float64 T", r"np.roll\(x, v\)|np.insert\(\[1, 2, 3\], 1, v\)"),
    ],
    "ends are exact, and multiples of pi": [
        ("values", "float|complex", r"linspace\((0, x|v, 1), 3|linear_ramp"),
        ("values", ALWAYS, r"sinc"),
    ],
    "NaN and infinity in transforms, and in quotients, powers and products of complex numbers": [
        ("values", "float|complex", r"np.fft"),
        ("values", "float|complex|int(32|64)", r"np.power\(x, 1, dtype='complex128'\)"),
        ("values", "complex", r"divide|reciprocal|power|prod|multiply.accumulate|\*\* -1|ipow__\(-1\)"),
    ],
    "complex numbers that are positions or are counted in bins, which NumPy casts": [
        ("raises", "complex", r"roll\(x, v\)|histogram\(v|interp\(v, .*period=2"),
        ("error class", "complex", r"histogram\(v, 0\)|interp\(\[1\], v|bincount\(\[1, 2, 2\], v\)"),
        ("no error|dtype", "complex", r"digitize\(\[1, 2\], x\)|hanning\(v\)"),
        ("dtype", "complex", r"histogram(2d|dd)"),
    ],
    "positions that are floats, which NumPy cuts or reads in a way of its own": [
        ("raises", ALWAYS, r"(take|repeat|put|rot90|tril)\(.*1\.5|tri\(2\.5\)"),
        ("raises", ALWAYS, r"flat\[1\.5\]|reduceat\(x, \[1\.5|bincount\(\[1\.5"),
        ("error class", LISTS_AND_NUMBERS, r"\b[01]\.5"),
        ("error class", "float64 T", r"np.tile\(2, v\)"),
        ("raises", "a float|scalar", r"np.take\(\[|np.repeat\("),
        ("no error", "float", r"np.roll\(x, v\)"),
    ],
    "the order of what NumPy does not sort": [
        ("values", ALWAYS, r"unique_values|argpartition\(x, 1\)"),
    ],
    "matrices with NaN, and singular ones": [
        ("no error", "float|complex|uint8|bool", r"linalg|np.poly\(x\)"),
        ("no error", "extremes|NumPy's", r"linalg"),
        ("values", "NumPy's broadcast", r"linalg.cond"),
        ("error class", "float16", r"linalg.(eig|eigvals|eigvalsh|qr)\(|np.poly\(x\)"),
    ],
    "rounding of very large numbers, the order of sums that overflow, and subnormal numbers": [
        ("values", "int(32|64) extremes", r"linalg.(det|eigvalsh)"),
        ("values", "int(32|64) extremes", r"np.fft.i(rfft2|rfftn|fft2|fftn)"),
        ("values", "largest", r"sum\(|mean\(|average|(add|divide).reduce|dot|cross|mat(mul|vec)|@ v|einsum"),
        ("values", "largest", r"linalg|np.poly\(x\)|np.cov"),
    ],
    "quantiles of integers, whose differences wrap in NumPy": [
        ("values", "^int", r"np.percentile\(x, \[25, 60\], axis=1\)"),
    ],
    "integers to negative powers in arrays, which NumPy refuses": [
        ("no error", " extremes", r"np.power\(x, x\)|np.power\(-3, x\)|2 \*\* x"),
    ],
    "uint64 beyond int64, which NumPy takes for negative positions and for floats": [
        ("values|raises|shape", "uint64", r"mode='clip'|intersect1d|x\[v\]"),
    ],
    "a Python number is weak in ``at``, as in NumPy from 2.6 on": [
        ("argument changed|no error", "uint64", r"\.at\(x"),
    ],
    "eigenvalues, which NumPy before 2.5 makes real where they can be": [
        ("dtype", ALWAYS, r"linalg.eig(vals)?\(|np.poly\(x\)|np.roots"),
    ],
    "scalars are arrays without axes": [
        ("class", r"^an? (int|float|bool)$", r"np.(imag|real|isreal|trim_zeros)\("),
    ],
    "lists, numbers and arrays without axes are taken where NumPy fails": [
        (
            "no error|error class|shape|raises",
            LISTS_AND_NUMBERS,
            r"take_along|rollaxis|split|unstack|trim_zeros|_from",
        ),
        (
            "no error|error class",
            LISTS_AND_NUMBERS,
            r"astype|apply_over_axes|arange\(v\)|histogramdd|multi_dot",
        ),
        ("no error|error class", NUMBERS, r"np.poly|np.pad|tensorinv|shift\(x\)|linalg.pinv|percentile"),
        ("no error", NUMBERS, r"nan(mean|std)\(x, axis=0"),
        ("raises", NUMBERS, r"compress|packbits"),
        ("no error", "^a bool$|bool without axes", r"insert\(\[1, 2, 3\], v, 9\)|fftfreq"),
    ],
    "memory is in C's order, and not NumPy's": [
        ("aliasing|argument changed", OTHER_ORDERS, r"ravel|reshape|contiguous|order=|require|array\("),
        ("values|raises|no error", OTHER_ORDERS, r"isfortran|strides|flags|view\(|order='K'|copy=False"),
        ("values|no error", OTHER_ORDERS, r"may_share_memory|dot\(x, x, out"),
        ("raises|no error", "NumPy's", r"copy=False"),
        ("dtype", "big-endian", ALWAYS),
    ],
    "objects and text, of which JAX has no arrays": [
        (ALWAYS, r"^(None|text)$", ALWAYS),
    ],
    "arrays of no elements": [
        (
            "no error",
            "of no|empty",
            r"np.take\(\[|insert\(\[|average|vectorize|repeat\(v|bincount|cov|along_axis",
        ),
        ("raises|shape", "of no|empty", r"repeat\(x, -1|tile\(x, -1|tensorsolve|polyval|along_axis"),
        ("dtype|class", "of no|empty", r"np.ix_|polyval|np.poly\("),
        ("error class", "of no|empty", r"take|average|repeat\(\[|\b[01]\.5|\[0, 0, 1\]"),
        ("values", "of no|empty", r"x.strides|np.cov"),
        ("raises|dtype", "empty", r"x \*\* -1|ipow__\(-1\)|np.dot\(x, 2\)"),
        ("error class", "complex128 empty", r"imum.reduce\(x, where"),
    ],
    "other errors, which say what to do": [
        ("error class", ALWAYS, r"insert\(\[1, 2, 3\], v, 9\)|asarray\(\[x, 300\]\)"),
        ("error class", "uint|bool", r"x \*\* -1|x.__ipow__\(-1\)"),
        ("error class", "bool|uint", r"x.__iadd__\(\[1, 2\]\)|out=x\[:2\]"),
        ("error class", NUMBERS, r"concatenate|np.take\(|where=\[True|linalg.cross"),
        ("error class", "bool", r"percentile|quantile|gradient|negative.at"),
        ("raises|error class", ALWAYS, r"__setitem__\(0, ('a'|None)\)"),
    ],
    "an error before anything is written": [
        ("argument changed", "without axes", r"x.put\(\[0, 1\], 5\)"),
    ],
}

if jax.default_backend() != "cpu":
    EXPECTED["positions on a device, of which no error depends"] = [
        ("no error", ALWAYS, r"np.put_along_axis"),
    ]
    EXPECTED["singular matrices by another library"] = [
        ("values", "float64|complex", r"linalg.tensorsolve"),
    ]


def is_expected(kind, name, text):
    """Return the cause of an expected difference, or None."""
    for cause, patterns in EXPECTED.items():
        for pattern in patterns:
            if all(map(re.search, pattern, (kind, name, text))):
                return cause
    return None


# Running and comparing


def run(module, text, x):
    """Return what a statement gives, or the error that it raises."""
    row = x[0] if np.ndim(x) > 1 and len(x) else x
    try:
        return eval(text, {"np": module, "x": x, "v": row})
    except Exception as error:
        return error


def outcome(name, x, text):
    """Return how a statement differs from NumPy's, as a kind and a text, or None."""
    is_array = isinstance(x, np.ndarray) and name not in NUMPYS_INPUTS
    given, wanted = (ours.asarray(x), x.copy(order="K")) if is_array else (x, x)
    before = repr(x)
    expected, made = run(np, text, wanted), run(ours, text, given)
    found = difference(made, expected)
    if found is None and is_array:
        changed = difference(given, wanted)
        found = changed and ("argument changed", changed[1])
        if found is None and text not in WRITES:
            found = unlike_sharing(made, expected, given, wanted)
    return ("argument changed", before) if repr(x) != before else found


ERRORS = (IndexError, ZeroDivisionError, TypeError, OverflowError, ValueError)


def difference(made, expected):
    """Return how a result differs: a kind and a text, or None."""
    text = f"{_short(made)} for {_short(expected)}"
    if isinstance(expected, Exception):
        if not isinstance(made, Exception):
            return "no error", text
        kinds = tuple(kind for kind in ERRORS if isinstance(expected, kind)) or (type(expected),)
        if isinstance(expected, np.linalg.LinAlgError):
            kinds = (np.linalg.LinAlgError,)
        return None if isinstance(made, kinds) else ("error class", text)
    if isinstance(made, Exception):
        return "raises", text
    if isinstance(expected, (tuple, list)):
        if not isinstance(made, (tuple, list)) or len(made) != len(expected):
            return "shape", text
        parts = (difference(*each) for each in zip(made, expected, strict=True))
        return next((part for part in parts if part), None)
    if isinstance(expected, (np.ndarray, np.generic)):
        if not isinstance(made, (np.ndarray, np.generic, ours.ndarray)):
            return "class", text
        if made.shape != expected.shape:
            return "shape", text
        if made.dtype != expected.dtype:
            return "dtype", f"{made.dtype} for {expected.dtype}"
        return unlike_values(np.asarray(made), expected)
    if isinstance(made, (np.ndarray, np.generic, ours.ndarray)) or callable(expected):
        return None if callable(expected) else ("class", text)
    if isinstance(expected, (float, complex)):
        return unlike_values(np.asarray(made), np.asarray(expected))
    return None if made == expected else ("values", text)


def unlike_values(made, expected):
    """Compare arrays of one shape and dtype, floats up to some units in the last place of the largest."""
    text = f"{_short(made)} for {_short(expected)}"
    if expected.dtype.kind not in "fc":
        return None if np.array_equal(made, expected) else ("values", text)
    eps = float(np.finfo(expected.dtype).eps)
    sizes = np.abs(expected[np.isfinite(expected)])
    largest = min(float(sizes.max(initial=0)), 1e6)
    parts = [(made.real, expected.real)]
    if expected.dtype.kind == "c":
        parts.append((made.imag, expected.imag))
    for part, wanted in parts:
        near = np.isclose(part, wanted, rtol=64 * eps, atol=64 * eps * largest, equal_nan=True)
        if not near.all():
            return "values", text
    for part, wanted in parts:
        zeros = (part == 0) & (wanted == 0)
        if (np.signbit(part) != np.signbit(wanted))[zeros].any():
            return "sign of zero", text
    return None


def unlike_sharing(made, expected, given, wanted):
    """Compare whether a result shares the input's memory."""
    if not isinstance(made, ours.ndarray) or not isinstance(expected, np.ndarray):
        return None
    shares = ours.shares_memory(made, given)
    return None if shares == np.shares_memory(expected, wanted) else ("aliasing", f"shares: {shares}")


def _short(x):
    return " ".join(repr(x).split())[:200]


def statements_for(name, x):
    """Return the statements that are tried with an input."""
    texts = READS if name in NUMPYS_INPUTS or not isinstance(x, np.ndarray) else [*READS, *WRITES]
    if not isinstance(x, np.ndarray):
        texts = [text for text in texts if text not in METHODS]
    if isinstance(x, (np.ndarray, np.generic, list, int, float)) and np.max(np.abs(x), initial=0) > 100:
        texts = [text for text in texts if text not in SIZED]
    return texts


def differences(name, x, is_chosen):
    """Yield the differences of an input that are not expected, and the causes of those that are."""
    with np.errstate(all="ignore"), jax.enable_x64(True):
        for text in filter(is_chosen, statements_for(name, x)):
            found = outcome(name, x, text)
            if found:
                yield text, *found


def choice(part, parts):
    """Return what chooses a part of the statements, always the same."""
    return lambda text: zlib.crc32(text.encode()) % parts == part % parts


@pytest.mark.thorough
def test_edge_inputs(way):
    """Each statement is tried with one input JAX's way, which keeps programs few."""
    inputs = ALL_INPUTS | NUMPYS_INPUTS if way == "numpys" else FEW_INPUTS
    check_inputs(way, inputs, enumerate(inputs), len(FEW_INPUTS))


PARTS = 6  # The default suite runs each of them JAX's way by one of the two tests.
ONE_IN_TWO = "uint8 extremes", "complex128"


@pytest.mark.thorough
@pytest.mark.daily("numpys", "jaxs-0", "jaxs-1", "jaxs-2", "jaxs-5")
@pytest.mark.parametrize("part", range(PARTS))
def test_floats(part, way):
    """Each statement is tried with floats."""
    check_inputs(way, ALL_INPUTS, [(part, "float64")], PARTS)


@pytest.mark.thorough
@pytest.mark.daily("numpys", "jaxs-3", "jaxs-4")
@pytest.mark.parametrize("part", range(PARTS))
def test_integers_or_complex_numbers_with_room(part, way, monkeypatch):
    """Each statement is tried with one of both, JAX's way in buffers with rows that do not count."""
    if way == "jaxs":
        poison_rooms(monkeypatch, exact_up_to=1)
    check_inputs(way, ALL_INPUTS, [(part, ONE_IN_TWO[part % 2])], PARTS)


def check_inputs(way, inputs, chosen, parts):
    """Try the statements of each part with an input."""
    explained_by = is_expected_on_the_host if way == "numpys" else is_expected
    unexpected = []
    for part, name in chosen:
        for text, kind, more in differences(name, inputs[name], choice(part, parts)):
            if not explained_by(kind, name, text):
                unexpected.append(f"{name}: {text}: {kind}: {more}")
    assert not unexpected, "\n".join(unexpected)


def is_expected_on_the_host(kind, name, text):
    """Whether objects are refused, a Python number is weak in ``at``, as in NumPy from 2.6 on, or values are
    in order that NumPy leaves as they come.
    """
    if text == "np.unique_values(x)":
        return kind == "values"
    refuses_objects = name in ("None", "text") and text.startswith("np.broadcast(")
    refuses_objects = refuses_objects or (name == "None" and kind == "raises")
    return refuses_objects or (name.startswith("uint64") and ".at(x" in text)


# What was once another value, no error, or another dtype.
ONCE_WRONG = {
    "float64": """
np.logical_or.reduce(x, where=[True, False, True], initial=1)
np.polyval([1, 2, 3], x)
np.polyadd(v, 1)
np.select([x], [x])
np.average(x, weights=[0, 0, 0], axis=0)
np.geomspace(1, v, 3)
np.equal.reduce(x)
np.less.accumulate(x)
np.fmax.reduce(x, axis=None)
np.argmax(x, axis=0, out=x[0])
np.around(x, 400)
np.linalg.matrix_transpose(x)
np.linalg.matrix_power(x, 1.5)
np.choose(x, [v, v, v])
np.compress([False, False, False, True], x, axis=0)
np.indices((2, -1))
np.take([3, 4, 5], x, mode='clip')
np.insert([1, 2, 3], v, 9)
np.add(x, 1, 3, 4, 5)
np.negative.at(x, [0, 1, 1])
x ** 0.5
np.linalg.matrix_rank(v)
np.tensordot(x, x, axes=5)
np.partition(x, 1.5)
x.partition(1.5)
np.insert(v, 1.5, 1)
np.trace(x, 1.5)
np.eye(2, k=1.5)
np.extract([False, False] * 5, x)
np.extract([True] * 10, x)
x.view(x.dtype)
""",
    "uint8 extremes": """
np.linalg.vector_norm(x)
np.linalg.vector_norm(x, ord=0)
np.linalg.matrix_norm(x)
np.dot(x, 2)
np.polyval(v, 2)
np.polyder(v)
np.polyint(v, k=3)
np.poly(v)
np.ediff1d(v, 300)
np.ediff1d(v, to_begin=1)
np.putmask(x, x == x, [1, 2])
np.argmax(x, axis=0, out=x[0])
""",
    "complex128": """
np.max(x)
np.min(x, initial=2)
np.maximum.reduce(x, axis=None)
np.minimum.reduce(x)
np.maximum.at(x, [0, 1], v)
np.logical_and.reduce(x * 1j)
np.ptp(x)
np.nanargmax(x)
np.nanargmin(x, axis=1)
np.round(x, 1)
np.interp(x, [0, 1], [1, 2])
np.interp([1], v, [1, 2])
np.unique_all(x)
np.unique_counts(x)
np.unique_inverse(x)
np.setdiff1d(x, [1])
np.setxor1d(x, v)
np.union1d(x, [7])
np.median(x)
np.median(x, axis=0)
np.pad(x, 1, mode='maximum')
np.pad(x, 1, mode='median')
""",
    "int8 extremes": """
np.unwrap(x)
np.trapezoid(x, dx=2, axis=0)
""",
    "int32 extremes": """
np.pad(x, 1, mode='median')
""",
    "int64 extremes": """
np.pad(x, 1, mode='maximum')
""",
    "uint32 extremes": """
np.roll(x, v)
""",
    "uint64 extremes": """
np.average(v, weights=v)
""",
    "int8 whole": """
np.unravel_index(x, 200)
""",
    "float16": """
np.select([x > 0], [x], 7)
np.poly(v)
np.r_[0:3, v]
np.linalg.matrix_rank(v)
""",
    "float32 whole": """
np.select([x > 0], [x], 7)
np.r_[0:3, v]
""",
    "complex64 whole": """
np.select([x > 0], [x], 7)
np.poly(v)
np.r_[0:3, v]
np.real_if_close(x)
""",
    "bool": """
x ** 2
pow(x, 2)
np.take([3, 4, 5], x)
np.choose(x, [v, v, v])
np.insert([1, 2, 3], v, 9)
np.unravel_index(x, 200)
np.polyval(v, v)
np.histogram([1, 2, 3], 2, weights=v)
np.round(x, 1)
np.clip(x, None, None)
np.putmask(x, x > 0, 300)
x ** -1
""",
    "float64 without axes": """
np.sum(x, axis=0)
np.add.reduce(x)
np.add.accumulate(x)
np.cumulative_sum(x, axis=-1)
np.meshgrid(x, x)
np.sum(x, where=[True, False, True])
np.atleast_1d(x)
x[None]
np.average(v, weights=[1, 2, 1])
np.squeeze(x)
x.T
np.add(x, x, out=x, where=[True, False, True])
""",
    "float64 of no rows": """
np.logical_or.accumulate(x)
np.subtract.reduce(x, axis=1, initial=1)
np.pad(x, 1, mode='mean')
np.put(x, [0, 1], v)
np.partition(x, 1, axis=0)
""",
    "float64 of no columns": """
np.fmax.reduce(x)
np.subtract.reduceat(x, [0, 2, 1])
np.power.at(x, [0], 2)
np.negative.at(x, [0, 1, 1])
""",
    "a list": """
np.asarray(x, copy=False)
np.histogramdd(x, 2, [(0, 1)] * 3)
""",
    "an int": """
np.mean(x)
np.gradient(x)
np.linalg.norm(x)
""",
    "NumPy's read-only": """
np.average(x, axis=0, weights=[1, 2, 3])
np.polyint(v, k=3)
""",
    "NumPy's steps": """
np.linalg.matrix_rank(x, hermitian=True)
""",
    "int64 empty": """
np.logaddexp.reduce(x)
""",
    "a float": """
np.zeros(x)
np.hanning(x)
np.nanmean(x, axis=0)
np.nanstd(x, axis=0, ddof=1)
""",
    "a bool": """
np.gcd(x, [1, 2])
np.ones(x)
np.zeros(v)
""",
    "NumPy's T": """
np.shares_memory(x, x)
""",
}


@pytest.mark.daily
@pytest.mark.parametrize("name", ONCE_WRONG)
def test_what_was_once_wrong(name, way):
    x = (ALL_INPUTS | NUMPYS_INPUTS)[name]
    with np.errstate(all="ignore"), jax.enable_x64(True):
        for text in ONCE_WRONG[name].strip().splitlines():
            found = outcome(name, x, text)
            assert found is None or found[0] == "sign of zero", f"{text}: {found}"


NOT_SWEPT_NAMES = """
apply_along_axis asnumpy cuda empty fft frombuffer fromfile fromiter fromstring from_dlpack fuse deferred
genfromtxt get_array_module grad lib linalg load loadtxt ndarray random testing top_k ufunc value_and_grad
save savetxt savez savez_compressed array2string array_repr array_str einsum_path common_type c_ r_
mgrid ogrid
"""
NOT_SWEPT = NOT_SWEPT_NAMES.split()


def test_every_function_is_swept():
    text = "\n".join([*READS, *WRITES])
    for module, prefix in ((ours, "np."), (ours.linalg, "np.linalg."), (ours.fft, "np.fft.")):
        for name in module.__all__:
            function = getattr(module, name)
            is_ufunc = isinstance(function, ours.ufunc)
            is_numpys = function is getattr(np, name, None) or not callable(function)
            if name in NOT_SWEPT or is_ufunc or is_numpys or isinstance(function, type):
                continue
            assert re.search(rf"{re.escape(prefix + name)}\(", text), f"{prefix}{name} is in no statement"


def main(way="jaxs"):
    """Print every difference that is not expected, and the causes of those that are."""
    warnings.simplefilter("ignore")
    _host_way.set_on(way == "numpys")
    causes = collections.Counter()
    for name, x in (ALL_INPUTS | NUMPYS_INPUTS).items():
        for text, kind, more in differences(name, x, lambda text: True):
            cause = is_expected(kind, name, text)
            causes[cause] += 1
            if cause is None:
                print(f"{name}: {text}: {kind}: {more}", flush=True)
    print(causes)


if __name__ == "__main__":
    main(*sys.argv[1:])
