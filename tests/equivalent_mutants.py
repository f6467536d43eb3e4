"""Places where tests/mutation.py breaks nothing: no result changes, or only the time that it takes.

Each entry: files, what stands there, what it becomes (None for anything), why no test can or should see it.
"""

import fnmatch
import re

EQUIVALENT = [
    ("*", "strict=True", "strict=False", "lengths are equal by how they are made: it finds mistakes early"),
    ("*", "inline=True", "inline=False", "how a traced program is printed"),
    ("jaxapi/linalg/_shapes.py", "jnp.shape(square(x1))[-1]", "jnp.shape(square(x1))[-2]", "it is square"),
    ("jaxapi/_elementwise/_complex.py", "(a == inf)", "(a >= inf)", "nothing is above"),
    (
        "jaxapi/_fuse/_integers.py",
        "aval.shape == ()",
        "aval.shape >= ()",
        "more is checked, no value differs",
    ),
    (
        "jaxapi/_elementwise/_complex.py",
        "(isinf(a) | isinf(b), inf, None)",
        "(isinf(a) ^ isinf(b), inf, None)",
        "JAX has both right",
    ),
    (
        "jaxapi/_elementwise/_complex.py",
        "jnp.abs(b) < 1e-10",
        "jnp.abs(b) <= 1e-10",
        "both forms are right there",
    ),
    ("jaxapi/_elementwise/_hyperbolic.py", "_LARGE = 20.0", None, "both forms are right there"),
    ("jaxapi/_spaced/_powers.py", "<= jnp.abs(powers) / 1024", "< jnp.abs(powers) / 1024", "none lies there"),
    ("jaxapi/_manipulation.py", "min(lengths, default=0)", "min(lengths, default=1)", "neither is below -1"),
    ("jaxapi/_interop/_convert.py", "types <= PYTHON_NUMBERS", "types < PYTHON_NUMBERS", "a slower way"),
    ("jaxapi/_fuse/_explain.py", "(self.devices or 1) > 1", "(self.devices or 1) != 1", "none is below"),
    (
        "jaxapi/linalg/_solvers.py",
        "jnp.shape(matrices(x))[-2:]",
        "jnp.shape(matrices(x))[-3:]",
        "no matrix, no rank",
    ),
    (
        "jaxapi/mutable/_fuse.py",
        "owners.count(id(target._owner)) > 1",
        "owners.count(id(target._owner)) != 1",
        "one at least",
    ),
    (
        "jaxapi/spatial/_lax/_brute.py",
        "max(_COORDINATES // ((k + _SPARE) * m), 1)",
        None,
        "the size of a piece",
    ),
    # how much is kept, and what is done at once: only time and memory depend on it
    ("jaxapi/_constant_cache.py", "len(devices) > 1", "len(devices) != 1", "there is one at least"),
    ("jaxapi/_reading.py", "_FEW = 8", None, "what is small"),
    ("jaxapi/_compilation.py", ": False,", ": True,", "the time of a compilation on a GPU"),
    ("jaxapi/mutable/_selection.py", "if span > 1 else 1", "if span > 1 else 2", "one element has no step"),
    ("jaxapi/mutable/_selection.py", "low + span > size", "low // span > size", "by another program"),
    ("jaxapi/mutable/_selection.py", "> size - abs(step)", "> size * abs(step)", "by another program"),
    ("jaxapi/mutable/_selection.py", "abs(step) <= _SHORT", "abs(step) > _SHORT", "by another program"),
    ("jaxapi/mutable/_selection.py", "if step < 0", "if step <= 0", "no step is 0"),
    ("jaxapi/mutable/_selection.py", "if span < size", "if span != size", "no span is longer"),
    ("jaxapi/mutable/_indexing.py", 'd.platform == "cpu"', 'd.platform >= "cpu"', "a wait for a GPU"),
    ("jaxapi/mutable/_indexing.py", "_SMALL = 2**16", None, "where the host is faster"),
    ("jaxapi/spatial/_device/_few.py", "FEW = 1 << 17", None, "below which all distances are taken"),
    ("jaxapi/spatial/_device/_nearest.py", "LARGEST_PIECE = 2**31 - 2**16", None, "memory that no test has"),
    ("jaxapi/spatial/_mesh/_own.py", "MORE = 1.3", None, "how many are searched for again at once"),
    ("jaxapi/spatial/_mesh/_own.py", "PIECE = 1 << 23", None, "the size of a piece"),
    ("jaxapi/spatial/_mesh/_own.py", "PIECES = 6", None, "the number of pieces"),
    ("jaxapi/spatial/_mesh/_own.py", "max(-(-q // PIECES)", "max(~(-q // PIECES)", "the size of a piece"),
    ("jaxapi/spatial/_mesh/_rounds.py", "FEW = 1 << 14", None, "how many are answered in a round"),
]


def is_equivalent(path, before, after):
    """Tell whether a changed line is one of the entries."""
    before, after = (re.sub(r"\s", "", line) for line in (before, after))
    for files, old, new, _ in EQUIVALENT:
        old = re.sub(r"\s", "", old)
        if not fnmatch.fnmatch(path, files):
            continue
        for place in re.finditer(re.escape(old), before):
            left, right = before[: place.start()], before[place.end() :]
            if new is None and after.startswith(left) and after.endswith(right):
                return True
            if new is not None and after == left + re.sub(r"\s", "", new) + right:
                return True
    return False
