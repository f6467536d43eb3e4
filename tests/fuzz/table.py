"""What is called with what: every function of the namespace that NumPy has, too."""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from .values import array

__all__ = ["SPECS", "Spec"]

SHAPES = [(), (1,), (7,), (3, 4), (2, 1, 5), (0,), (2, 0)]
BOOL, SIGNED, UNSIGNED = (
    ["bool"],
    ["int8", "int16", "int32", "int64"],
    ["uint8", "uint16", "uint32", "uint64"],
)
FLOATS, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
INTEGERS = SIGNED + UNSIGNED
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEX


class Spec(NamedTuple):
    """How one function is tried."""

    dtypes: list
    arrays: Callable  # (rng, dtype, shape) -> arrays
    shapes: list = SHAPES
    options: MappingProxyType = MappingProxyType({})  # of strategies
    traced: bool = True  # whether jit and vmap take it
    ulps: float = 16  # of the largest value among inputs' and results' that rounding can reach
    batched: bool = True


def same(count, **kind):
    """Make so many arrays of one shape; complex ones finite: their special cases are the standard's."""

    def arrays(rng, dtype, shape):
        finite = {"kind": "finite", "low": -20, "high": 20} if dtype in COMPLEX else {}
        return [array(rng, shape, dtype, **(finite | kind)) for _ in range(count)]

    return arrays


def shifts(rng, dtype, shape):
    return [
        array(rng, shape, dtype),
        array(rng, shape, dtype, kind="finite", low=0, high=np.iinfo(dtype).bits - 1),
    ]


def divided(rng, dtype, shape):
    x, y = array(rng, shape, dtype), array(rng, shape, dtype)
    return [x, np.where(y == 0, 1, y).astype(dtype) if y.dtype.kind in "iu" else y]


def sorted_and_values(rng, dtype, shape):
    return [np.sort(array(rng, (9,), dtype, kind="few")), array(rng, shape, dtype, kind="few")]


def indexed(rng, dtype, shape):
    return [*same(1)(rng, dtype, shape), rng.integers(0, shape[-1], (4,)).astype("int32")]


def indexed_along(rng, dtype, shape):
    return [*same(1)(rng, dtype, shape), rng.integers(0, shape[-1], shape).astype("int32")]


def repeated(rng, dtype, shape):
    return [*same(1)(rng, dtype, shape), rng.integers(0, 4, shape[-1]).astype("int32")]


def bounds(rng, dtype, shape):
    low, high = np.sort(same(2, kind="finite")(rng, dtype, shape), axis=0)
    return [array(rng, shape, dtype), low, high]


def chosen(rng, dtype, shape):
    return [array(rng, shape, "bool"), *same(2)(rng, dtype, shape)]


def square(rng, dtype, shape):
    """Make well-conditioned matrices."""
    n = shape[-1]
    return [(array(rng, shape, dtype, kind="finite", low=-1, high=1) + 3 * n * np.eye(n)).astype(dtype)]


def positive_definite(rng, dtype, shape):
    (a,) = square(rng, dtype, shape)
    return [(a @ a.swapaxes(-1, -2) / shape[-1]).astype(dtype)]


def linear_system(rng, dtype, shape):
    return [*square(rng, dtype, shape), array(rng, shape, dtype, kind="finite", low=-1, high=1)]


def ends(rng, dtype, shape):
    low, high = rng.uniform(-5, 5, 2).astype(dtype)
    return [float(low), float(high)]


AXIS = {"axis": st.sampled_from([0, -1])}
FILLED = [shape for shape in SHAPES if shape and 0 not in shape]
SQUARES = [(1, 1), (3, 3), (2, 4, 4)]
REDUCED = {"axis": st.sampled_from([None, 0, -1]), "keepdims": st.booleans()}
FINITE = {"kind": "finite", "low": -20, "high": 20}


def each(names, *spec, **options):
    return {name: Spec(*spec, **options) for name in names.split()}


SPECS = {
    # element-wise
    **each("abs negative positive square isfinite isinf isnan round", NUMERIC, same(1)),
    **each("ceil floor trunc sign", REAL, same(1)),
    **each("real imag conj", COMPLEX, same(1)),
    **each("acos acosh asin asinh atan atanh cos cosh exp expm1 log log10", FLOATS + COMPLEX, same(1)),
    **each("log1p log2 reciprocal sin sinh sqrt tan tanh", FLOATS + COMPLEX, same(1)),
    **each("signbit", FLOATS, same(1)),
    **each("logical_not", BOOL, same(1)),
    **each("bitwise_invert", BOOL + INTEGERS, same(1)),
    **each("add subtract multiply", NUMERIC, same(2)),
    **each("equal not_equal", NUMERIC, same(2, kind="few")),
    **each("divide", FLOATS + COMPLEX, same(2)),
    **each("less less_equal greater greater_equal maximum minimum", REAL, same(2)),
    **each("floor_divide remainder", REAL, divided),
    **each("atan2 copysign hypot logaddexp nextafter", FLOATS, same(2)),
    **each("bitwise_and bitwise_or bitwise_xor", BOOL + INTEGERS, same(2)),
    **each("bitwise_left_shift bitwise_right_shift", INTEGERS, shifts),
    **each("logical_and logical_or logical_xor", BOOL, same(2)),
    **each("clip", REAL, bounds),
    **each("pow", FLOATS, same(2, kind="finite", low=0.1, high=5), ulps=64),
    # reductions
    **each("sum mean", FLOATS + COMPLEX, same(1, **FINITE), FILLED, REDUCED),
    **each("prod", FLOATS, same(1, kind="finite", low=-3, high=3), FILLED, REDUCED, ulps=64),
    **each("std var", FLOATS, same(1, **FINITE), FILLED, REDUCED, ulps=256),
    **each("max min argmax argmin", REAL, same(1), FILLED, REDUCED),
    **each("all any", BOOL + REAL, same(1, kind="few"), FILLED, REDUCED),
    **each("count_nonzero", BOOL + REAL, same(1, kind="few"), FILLED, REDUCED),
    # along an axis
    **each("sort", REAL, same(1), FILLED, AXIS),
    **each("argsort", REAL, same(1, kind="few"), FILLED, {**AXIS, "stable": st.just(True)}),
    **each(
        "cumulative_sum", REAL, same(1, **FINITE), FILLED, {**AXIS, "include_initial": st.booleans()}, ulps=64
    ),
    **each("cumulative_prod", FLOATS, same(1, kind="finite", low=-2, high=2), FILLED, AXIS, ulps=64),
    **each("diff", REAL, same(1, **FINITE), FILLED, {**AXIS, "n": st.sampled_from([1, 2])}),
    **each("flip", NUMERIC, same(1), FILLED, {"axis": st.sampled_from([None, 0, -1])}),
    **each("roll", NUMERIC, same(1), FILLED, {**AXIS, "shift": st.sampled_from([-3, 0, 2])}),
    **each("expand_dims", NUMERIC, same(1), FILLED, AXIS),
    **each("repeat", NUMERIC, repeated, FILLED, {"axis": st.just(-1)}, traced=False),
    # values and places
    **each("unique_values unique_counts unique_inverse unique_all", REAL, same(1, kind="few"), traced=False),
    **each("nonzero", REAL, same(1, kind="few"), FILLED, traced=False),
    **each("searchsorted", REAL, sorted_and_values, options={"side": st.sampled_from(["left", "right"])}),
    **each("isin", INTEGERS + FLOATS, same(2, kind="few")),
    **each("where", NUMERIC, chosen),
    **each("take", NUMERIC, indexed, FILLED, {"axis": st.just(-1)}),
    **each("take_along_axis", NUMERIC, indexed_along, FILLED, {"axis": st.just(-1)}),
    **each("tril triu", NUMERIC, same(1), [*SQUARES, (3, 4)], {"k": st.sampled_from([-1, 0, 2])}),
    **each("matrix_transpose", NUMERIC, same(1), [*SQUARES, (3, 4)]),
    # linear algebra and Fourier transforms
    **each("matmul", INTEGERS + FLOATS + COMPLEX, same(2, **FINITE), SQUARES, ulps=256),
    **each("vecdot", INTEGERS + FLOATS + COMPLEX, same(2, **FINITE), FILLED, AXIS, ulps=256),
    **each(
        "tensordot",
        INTEGERS + FLOATS,
        same(2, **FINITE),
        SQUARES,
        {"axes": st.sampled_from([0, 1, 2])},
        ulps=256,
    ),
    **each("linalg.outer", FLOATS, same(2, **FINITE), [(1,), (7,)]),
    **each("linalg.trace", FLOATS, same(1, **FINITE), SQUARES, ulps=64),
    **each(
        "linalg.det linalg.inv linalg.slogdet linalg.svdvals linalg.pinv", FLOATS, square, SQUARES, ulps=2000
    ),
    **each("linalg.matrix_norm", FLOATS, square, SQUARES, {"keepdims": st.booleans()}, ulps=256),
    **each("linalg.cholesky linalg.eigvalsh", FLOATS, positive_definite, SQUARES, ulps=4000),
    **each("linalg.solve", FLOATS, linear_system, SQUARES, ulps=2000),
    **each("fft.fft fft.ifft", COMPLEX, same(1, **FINITE), FILLED, ulps=512),
    **each("fft.rfft fft.ihfft", FLOATS, same(1, **FINITE), FILLED, ulps=512),
    **each("fft.fftshift", FLOATS + COMPLEX, same(1, **FINITE), FILLED),
    # numbers at even distances, from Python numbers
    **each("linspace", FLOATS, ends, options={"num": st.sampled_from([0, 1, 2, 50])}, traced=False, ulps=0),
    **each("logspace", FLOATS, ends, options={"num": st.sampled_from([1, 2, 50])}, traced=False, ulps=64),
}
