"""`fuse` against the same function called eagerly on NumPy arrays."""

import jax
import numpy as np
from hypothesis import strategies as st

import jaxapi as xp

from .report import differs
from .values import array

__all__ = ["check"]

VALUES = 200  # sets of values of a configuration
WHOLE = ["abs", "negative", "square"]
UNARY = [*WHOLE, "sin", "exp", "sqrt", "tanh"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "hypot"]
WHOLE_BINARY = ["add", "subtract", "multiply", "maximum", "minimum"]
REDUCTIONS = [None, "sum", "max", "mean"]
NUMBERS = [2, -1, 3, 0.5, -1.5]


def expression(namespace, steps, reduction):
    """Return the function that a list of steps says: each works on the last results."""

    def function(x, y, number):
        results = [x, y]
        for name, place, literal in steps:
            last, other = results[-1], results[place % len(results)]
            if name in UNARY:
                results.append(getattr(namespace, name)(last))
            elif name == "where":
                results.append(
                    namespace.where(x > literal, last, other)
                )  # whose sides rounding does not change
            else:
                operand = {"literal": literal, "argument": number}.get(name.partition(" ")[2], other)
                results.append(getattr(namespace, name.partition(" ")[0])(last, operand))
        return results[-1] if reduction is None else getattr(namespace, reduction)(results[-1], axis=-1)

    return function


def check(report, draw):
    """Compare one fused expression with NumPy's values, for several arrays and Python numbers."""
    dtype, x64 = draw(st.sampled_from(["float32", "float64", "int32", "int64"])), draw(st.booleans())
    whole = dtype.startswith("int")
    unary, binary, numbers = (WHOLE, WHOLE_BINARY, [2, -1, 3]) if whole else (UNARY, BINARY, NUMBERS)
    binary = [f"{name} {operand}" for name in binary for operand in ("array", "literal", "argument")]
    step = st.tuples(st.sampled_from([*unary, *binary, "where"]), st.integers(0, 5), st.sampled_from(numbers))
    steps = draw(st.lists(step, min_size=1, max_size=6))
    reduction = draw(st.sampled_from([None, "max"] if whole else REDUCTIONS))
    shapes = draw(st.sampled_from([((7,), (7,)), ((3, 4), (4,)), ((2, 1), (1, 5))]))
    static = draw(st.sampled_from(["", "", "by name", "by number", "by keyword"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    configuration = f"{steps} {reduction} {dtype} {shapes}, static {static}, x64 {'on' if x64 else 'off'}"
    options = (
        {}
        if not static
        else {"static_argnums": 2}
        if static == "by number"
        else {"static_argnames": "number"}
    )
    differences = []
    with jax.enable_x64(x64):
        fused = xp.fuse(expression(xp, steps, reduction), **options)
        run = (lambda x, y, number: fused(x, y, number=number)) if static == "by keyword" else fused
        for _ in range(VALUES):
            x, y = (array(rng, shape, dtype, kind="finite", low=-3, high=3) for shape in shapes)
            differences.append(compare(run, steps, reduction, x, y, numbers[rng.integers(len(numbers))]))
    report.add("fuse", configuration, VALUES, filter(None, differences))


def compare(fused, steps, reduction, x, y, number):
    """Return None, or how the result differs from NumPy's in the next wider dtype's distance of rounding."""
    with np.errstate(all="ignore"):
        expected = np.asarray(expression(np, steps, reduction)(x, y, number))
        exact = expression(np, steps, reduction)(x.astype("longdouble"), y.astype("longdouble"), number)
    try:
        found = np.asarray(fused(x, y, number))
    except Exception as error:
        return type(error).__name__, str(error)[:200]
    if found.dtype != expected.dtype or expected.dtype.kind != "f":
        return differs(found, expected)
    with np.errstate(all="ignore"):
        lost = np.abs(expected - exact)  # what NumPy itself lost by rounding shows how ill-conditioned it is
        unsure = ~np.isfinite(expected) | (lost > 1e-3 * np.abs(exact))
        noise = float(np.max(lost, initial=0, where=np.isfinite(lost)))
    eps = np.finfo(expected.dtype).eps
    settled = np.where(unsure, 0, expected)
    return differs(np.where(unsure, 0, found), settled, rtol=256 * eps, atol=16 * noise + 256 * eps)
