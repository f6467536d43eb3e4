"""Reading and writing the arrays of `jaxapi.mutable` by index, against NumPy's."""

import operator

import jax
import numpy as np
from hypothesis import strategies as st

import jaxapi.mutable as xp

from .report import differs
from .values import array

__all__ = ["check"]

VALUES = 100  # sets of values and positions of a configuration
DTYPES = ["bool", "int32", "int64", "uint8", "float32", "float64", "complex64"]
SHAPES = [(7,), (4, 3), (3, 5, 4)]  # every axis has room for `CHOSEN` different positions
CHOSEN = 3
SLICES = [
    slice(None),
    slice(1, None),
    slice(-2, None),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(0, 2),
]
PARTS = ["int", "int", "rows", "mask", *SLICES, None]
NUMBERS = {"b": [True, False], "i": [2, -3], "u": [2, 3], "f": [2, -0.5], "c": [2, 1.5, 1j]}
OPERATORS = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
}
ALLOWED = {
    "b": "&= |= ^=",
    "i": "+= -= *= //= &= ^=",
    "u": "+= *= %= |=",
    "f": "+= -= *= /= //=",
    "c": "+= -= *= /=",
}


def check(report, draw):
    """Compare one way to index with NumPy's, for several arrays and positions."""
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(SHAPES))
    parts = draw(layouts(shape))
    kind = np.dtype(dtype).kind
    operation = draw(st.sampled_from(["read", "write", "write", *ALLOWED[kind].split()]))
    through = draw(st.sampled_from(["array", "view", *["transposed"] * (len(shape) > 1)]))
    operand = draw(st.sampled_from(["number", "array", "row"]))
    mode = draw(st.sampled_from(["eager", "eager", "jit"]))
    unknown = "mask" in parts or ("masks" in parts and (operation != "write" or through == "view"))
    if unknown or ("int" in parts and through == "view"):
        mode = "eager"  # jit does not know how much a mask selects, and at a traced position is no view
    x64 = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def work(x, positions, value):
        return operate(x, key_of(parts, positions), value, operation, through)

    words = f"{dtype} {shape} {parts} {operation} {operand} through {through} {mode}, x64 {x64}"
    with jax.enable_x64(x64):
        ours = jax.jit(work) if mode == "jit" else work
        drawn = (values(rng, dtype, shape, parts, operand, operation, through) for _ in range(VALUES))
        differences = [compare(work, ours, *each) for each in drawn]
    name = "read" if operation == "read" else "write" if operation == "write" else "in place"
    report.add(f"mutable.Array {name}", words, VALUES, filter(None, differences))


def layouts(shape):
    """Draw what a key is made of: a part for each of the first axes or the last ones, or one mask."""
    axis = st.sampled_from(PARTS)
    plain = st.lists(axis, min_size=1, max_size=len(shape) + 1).filter(
        lambda parts: sum(part is not None for part in parts) <= len(shape)
    )
    last = (
        st.lists(axis, max_size=len(shape) - 1)
        .filter(lambda parts: None not in parts)
        .map(lambda p: [..., *p])
    )
    masks = st.integers(1, len(shape)).map(lambda axes: ["masks", axes])
    return plain | plain | last | masks


def values(rng, dtype, shape, parts, operand, operation, through):
    """Return an array, positions for the parts of a key, and what is written."""
    low = 1 if operation in ("/=", "//=", "%=") else 0 if dtype == "uint8" else -9
    x = array(rng, shape, dtype, kind="finite", low=0 if dtype == "uint8" else -9, high=9)
    seen = x.mT if through == "transposed" else x
    positions = positions_of(rng, parts, seen.shape)
    selected = seen[key_of(parts, positions)]
    if operand == "number":
        choices = [number for number in NUMBERS[x.dtype.kind] if low <= 0 or number == 2] or [2]
        return x, positions, choices[rng.integers(len(choices))]
    wanted = selected.shape if operand == "array" else selected.shape[-1:]
    return x, positions, array(rng, wanted, dtype, kind="finite", low=low, high=9)


def positions_of(rng, parts, shape):
    """Draw ints, rows and masks."""
    if parts[0] == "masks":
        return [rng.random(shape[: parts[1]]) < 0.5]
    if parts[0] is ...:
        parts, shape = parts[1:], shape[len(shape) - len(parts) + 1 :]
    axes = iter(shape)
    found = []
    for part in parts:
        if part is None:
            continue
        n = next(axes)
        if part == "int":
            found.append(int(rng.integers(-n, n)))
        elif part == "rows":
            found.append(rng.integers(-n, n, CHOSEN))
        elif part == "mask":
            found.append(np.isin(np.arange(n), rng.choice(n, CHOSEN, replace=False)))
    return found


def key_of(parts, positions):
    """Return the key: positions in the places of their names."""
    if parts[0] == "masks":
        return positions[0]
    positions = iter(positions)
    return tuple(next(positions) if isinstance(part, str) else part for part in parts)


def operate(x, key, value, operation, through):
    """Do it, and return the array and what was read or written through."""
    part = x.mT if through == "transposed" else x
    if operation == "read":
        return x, part[key]
    if through == "view":  # whether NumPy makes one depends on the key
        part, key = x[key], ...
        if part.ndim == 0:
            return x, part
    if operation == "write":
        part[key] = value
    else:
        part[key] = OPERATORS[operation](part[key], value)
    return x, part


def compare(work, ours, x, positions, value):
    """Return None, or how the array or what was read differs."""
    expected = work(x.copy(), positions, value)
    try:
        given = value if isinstance(value, (int, float, complex)) else xp.asarray(value)
        found = ours(xp.asarray(x), positions, given)
    except Exception as error:
        return type(error).__name__, f"{str(error)[:200]!r} for {positions} of {x.tolist()}"[:400]
    eps = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0
    for mine, theirs in zip(found, expected, strict=True):
        difference = differs(mine, theirs, rtol=4 * eps, atol=4 * eps)
        if difference:
            return difference[0], f"{difference[1]}: {positions} of {x.tolist()}"[:400]
    return None
