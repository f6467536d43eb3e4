"""What is called with what: every function of the namespace that NumPy has, too."""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from .arguments import (
    COMPLEX,
    FINITE,
    FLOATS,
    UNIT,
    bounds,
    chosen,
    divided,
    ends,
    indexed,
    indexed_along,
    linear_system,
    low_rank,
    mixed,
    numbers,
    positive_definite,
    repeated,
    same,
    shifts,
    sorted_and_values,
    spread_out,
    square,
    whole_ends,
    with_a_number,
)

__all__ = ["CONCRETE", "SPECS", "Spec"]

SHAPES = [(), (1,), (7,), (3, 4), (2, 1, 5), (0,), (2, 0)]
BOOL, SIGNED, UNSIGNED = (
    ["bool"],
    ["int8", "int16", "int32", "int64"],
    ["uint8", "uint16", "uint32", "uint64"],
)
INTEGERS = SIGNED + UNSIGNED
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEX
MIXED = ["int8 int32", "int64 uint8", "uint32 int64", "float32 float64", "float64 float32", "int16 int64"]
TRACED, STATIC, CONCRETE = ("eager", "jit", "vmap"), ("eager", "jit"), ("eager",)


class Spec(NamedTuple):
    """How one function is tried."""

    dtypes: list
    arrays: Callable  # (rng, dtype, count, shape) -> the arguments, each `count` values of it
    shapes: list = SHAPES
    options: MappingProxyType = MappingProxyType({})  # of strategies
    modes: tuple = TRACED
    ulps: float = 16  # of the largest value among inputs' and results' that rounding can reach
    call: Callable | None = None  # (namespace, *arrays, **options), where it is not the function itself
    typed: bool = False  # whether it takes the dtype, too


AXIS = {"axis": st.sampled_from([0, -1])}
FILLED = [shape for shape in SHAPES if shape and 0 not in shape]
MATRICES = [(3, 4), (2, 1, 5)]
SQUARES = [(1, 1), (3, 3), (2, 4, 4)]
REDUCED = {"axis": st.sampled_from([None, 0, -1]), "keepdims": st.booleans()}
LENGTH = {"n": st.sampled_from([None, 4, 9])}
NORM = {"norm": st.sampled_from(["backward", "ortho", "forward"])}


def each(names, *spec, **options):
    return {name: Spec(*spec, **options) for name in names.split()}


def listed(name):
    """Call a function of a sequence of arrays."""
    return lambda xp, *arrays, **options: getattr(xp, name)(arrays, **options)


def rebuilt(name, product):
    """Multiply the factors of a decomposition, which itself is not unique."""
    return lambda xp, x: product(xp, *getattr(xp.linalg, name)(x))


def converted(xp, x, dtype):
    """Convert to a dtype by its name; complex numbers to no real one, where NumPy only warns."""
    if xp is np and np.iscomplexobj(x) and dtype != "bool":
        raise TypeError("complex")
    return xp.astype(x, getattr(xp, dtype))


def filled(xp, value, dtype):
    """Fill a shape with a number."""
    return xp.full((2, 3), value, dtype=dtype)


def frequencies(name):
    """Return the frequencies in float32: NumPy's are float64, ours of the default dtype."""
    return lambda xp, n: xp.astype(getattr(xp.fft, name)(n), xp.float32)


def in_order(xp, x):
    """Return the eigenvalues, which come in any order, by size; here all are real."""
    return xp.sort(xp.real(xp.linalg.eigvals(x)))


def from_symmetric(xp, values, vectors):
    """Return the symmetric matrix of eigenvalues and orthogonal eigenvectors."""
    return xp.matmul(xp.multiply(vectors, xp.expand_dims(values, axis=-2)), xp.matrix_transpose(vectors))


def from_general(xp, values, vectors):
    """Return the real matrix of eigenvalues and eigenvectors."""
    scaled = xp.multiply(vectors, xp.expand_dims(values, axis=-2))
    return xp.real(xp.matmul(scaled, xp.linalg.inv(vectors)))


def from_singular(xp, u, s, vh):
    """Return the matrix of its singular value decomposition, `u` being square."""
    k = s.shape[-1]
    return xp.matmul(xp.multiply(u[..., :k], xp.expand_dims(s, axis=-2)), vh[..., :k, :])


# a comma ends the function's name
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
    **each("add,mixed multiply,mixed maximum,mixed less,mixed equal,mixed", MIXED, mixed),
    **each("divide,mixed", MIXED[3:5], mixed),
    **each("add,number multiply,number subtract,number", REAL, with_a_number, modes=STATIC),
    **each("divide,number pow,number", FLOATS, with_a_number, modes=STATIC, ulps=64),
    **each("equal not_equal", NUMERIC, same(2, kind="few")),
    **each("divide", FLOATS + COMPLEX, same(2)),
    **each("less less_equal greater greater_equal maximum minimum", REAL, same(2)),
    **each("floor_divide remainder", REAL, divided),
    **each("atan2 copysign hypot nextafter", FLOATS, same(2)),
    **each("logaddexp", FLOATS, same(2), ulps=32),
    **each("bitwise_and bitwise_or bitwise_xor", BOOL + INTEGERS, same(2)),
    **each("bitwise_left_shift bitwise_right_shift", INTEGERS, shifts),
    **each("logical_and logical_or logical_xor", BOOL, same(2)),
    **each("clip", REAL, bounds),
    **each("pow", FLOATS, same(2, kind="finite", low=0.1, high=5), ulps=64),
    # reductions
    **each("sum mean", FLOATS + COMPLEX, same(1, **FINITE), FILLED, REDUCED, ulps=64),
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
    **each("repeat", NUMERIC, repeated, FILLED, {"axis": st.just(-1)}, modes=CONCRETE),
    **each("concat", NUMERIC, same(2), FILLED, AXIS, call=listed("concat")),
    **each("stack", NUMERIC, same(2), FILLED, AXIS, call=listed("stack")),
    **each("concat,mixed", MIXED, mixed, FILLED, {"axis": st.sampled_from([0, None])}, call=listed("concat")),
    **each("unstack", NUMERIC, same(1), FILLED, AXIS),
    **each("moveaxis", NUMERIC, same(1), MATRICES, {"source": st.just(0), "destination": st.just(-1)}),
    **each("permute_dims", NUMERIC, same(1), [(2, 1, 5)], {"axes": st.sampled_from([(2, 0, 1), (-1, 1, 0)])}),
    **each(
        "reshape", NUMERIC, same(1), [(3, 4), (12,)], {"shape": st.sampled_from([(-1,), (4, 3), (2, 1, 6)])}
    ),
    **each("squeeze", NUMERIC, same(1), [(2, 1, 5)], {"axis": st.sampled_from([1, -2, None])}),
    **each(
        "broadcast_to",
        NUMERIC,
        same(1),
        [(1,), (3, 1), (4,)],
        {"shape": st.sampled_from([(3, 4), (2, 3, 4)])},
    ),
    **each("broadcast_arrays meshgrid", NUMERIC, same(2), [(1,), (7,)]),
    **each("tile", NUMERIC, same(1), FILLED, call=lambda xp, x: xp.tile(x, (2, 1))),
    **each(
        "astype",
        NUMERIC,
        same(1, **FINITE),
        options={"dtype": st.sampled_from(["int64", "float64", "float32", "bool"])},
        call=converted,
    ),
    # values and places
    **each(
        "unique_values unique_counts unique_inverse unique_all", REAL, same(1, kind="few"), modes=CONCRETE
    ),
    **each("nonzero", REAL, same(1, kind="few"), FILLED, modes=CONCRETE),
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
    **each("linalg.matmul linalg.vecdot", FLOATS, same(2, **FINITE), SQUARES, ulps=256),
    **each("linalg.cross", INTEGERS + FLOATS, same(2, **FINITE), [(3,), (2, 3)], ulps=64),
    **each("linalg.diagonal", NUMERIC, same(1), [*SQUARES, (3, 4)], {"offset": st.sampled_from([-1, 0, 1])}),
    **each(
        "linalg.matrix_power",
        FLOATS,
        same(1, **UNIT),
        SQUARES,
        {"n": st.sampled_from([0, 1, 2, 3])},
        ulps=256,
        call=lambda xp, x, n: xp.linalg.matrix_power(x, n),
    ),
    **each("linalg.matrix_rank", FLOATS, low_rank, [()]),
    **each(
        "linalg.vector_norm",
        [*FLOATS, *COMPLEX, "int64"],
        same(1, **FINITE),
        FILLED,
        {**REDUCED, "ord": st.sampled_from([0, 1, 2, 3, np.inf, -np.inf])},
        ulps=256,
    ),
    **each(
        "linalg.qr",
        FLOATS + COMPLEX,
        same(1, **FINITE),
        SQUARES + MATRICES,
        ulps=512,
        call=rebuilt("qr", lambda xp, q, r: xp.matmul(q, r)),
    ),
    **each(
        "linalg.svd",
        FLOATS + COMPLEX,
        same(1, **FINITE),
        SQUARES + MATRICES,
        ulps=512,
        call=rebuilt("svd", from_singular),
    ),
    **each(
        "linalg.eigh", FLOATS, positive_definite, SQUARES, ulps=4000, call=rebuilt("eigh", from_symmetric)
    ),
    **each(
        "linalg.eig", FLOATS, spread_out, SQUARES, modes=STATIC, ulps=4000, call=rebuilt("eig", from_general)
    ),
    **each("linalg.eigvals", FLOATS, spread_out, SQUARES, modes=STATIC, ulps=4000, call=in_order),
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
    **each("fft.fft,n fft.ifft,n", COMPLEX, same(1, **FINITE), FILLED, {**LENGTH, **NORM, **AXIS}, ulps=512),
    **each(
        "fft.irfft fft.hfft",
        COMPLEX,
        same(1, **FINITE),
        FILLED,
        {"n": st.sampled_from([8, 9]), **NORM},
        ulps=512,
    ),
    **each("fft.fftn fft.ifftn", COMPLEX, same(1, **FINITE), FILLED, NORM, ulps=512),
    **each("fft.rfftn", FLOATS, same(1, **FINITE), FILLED, NORM, ulps=512),
    **each("fft.irfftn", COMPLEX, same(1, **FINITE), [(2, 5), (3, 1, 4)], NORM, ulps=512),
    **each("fft.fftshift fft.ifftshift", FLOATS + COMPLEX, same(1, **FINITE), FILLED),
    **each(
        "fft.fftfreq", ["float32"], numbers(1, 40), [()], modes=CONCRETE, ulps=2, call=frequencies("fftfreq")
    ),
    **each(
        "fft.rfftfreq",
        ["float32"],
        numbers(1, 40),
        [()],
        modes=CONCRETE,
        ulps=2,
        call=frequencies("rfftfreq"),
    ),
    # arrays from Python numbers
    **each(
        "linspace",
        FLOATS,
        ends,
        [()],
        {"num": st.sampled_from([0, 1, 2, 50])},
        modes=CONCRETE,
        ulps=2,
        typed=True,
    ),
    **each(
        "logspace",
        FLOATS,
        ends,
        [()],
        {"num": st.sampled_from([1, 2, 50])},
        modes=CONCRETE,
        ulps=64,
        typed=True,
    ),
    **each("arange", ["int32", "int64", *FLOATS], whole_ends, [()], modes=CONCRETE, typed=True),
    **each(
        "eye",
        NUMERIC,
        lambda *_: [[3, 1, 4]],
        [()],
        {"k": st.sampled_from([-1, 0, 2])},
        modes=CONCRETE,
        typed=True,
    ),
    **each("full", NUMERIC, numbers(0, 100), [()], modes=CONCRETE, call=filled, typed=True),
    **each("zeros ones", BOOL + NUMERIC, lambda *_: [[0, 1, 5]], [()], modes=CONCRETE, typed=True),
    **each("zeros_like ones_like", BOOL + NUMERIC, same(1)),
    **each("full_like", NUMERIC, same(1), options={"fill_value": st.sampled_from([0, 7])}),
}
