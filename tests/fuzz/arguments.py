"""Values for the arguments of the namespace's functions: so many sets of them at once."""

import numpy as np

from .values import array

FLOATS, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
FINITE = {"kind": "finite", "low": -20, "high": 20}
UNIT = {"kind": "finite", "low": -1, "high": 1}


def same(count, **kind):
    """Make so many arrays of one shape; complex ones finite: their special cases are the standard's."""

    def arrays(rng, dtype, sets, shape):
        finite = FINITE if dtype in COMPLEX else {}
        return [array(rng, (sets, *shape), dtype, **(finite | kind)) for _ in range(count)]

    return arrays


def mixed(rng, dtype, sets, shape):
    return [array(rng, (sets, *shape), each) for each in dtype.split()]


def with_a_number(rng, dtype, sets, shape):
    exact = np.dtype(dtype).kind in "iu"
    (x,) = same(1, **FINITE)(rng, dtype, sets, shape)
    return [x, rng.choice([2, 3, 1] if exact else [2.5, -1.0, 1e-3], sets).tolist()]


def shifts(rng, dtype, sets, shape):
    shape = sets, *shape
    return [
        array(rng, shape, dtype),
        array(rng, shape, dtype, kind="finite", low=0, high=np.iinfo(dtype).bits - 1),
    ]


def divided(rng, dtype, sets, shape):
    x, y = same(2)(rng, dtype, sets, shape)
    if x.dtype.kind in "iu":
        return [x, np.where(y == 0, 1, y).astype(dtype)]
    return [
        np.where(np.isinf(a), 3, a) for a in (x, y)
    ]  # the standard has other rules for infinity than NumPy


def sorted_and_values(rng, dtype, sets, shape):
    return [np.sort(array(rng, (sets, 9), dtype, kind="few")), array(rng, (sets, *shape), dtype, kind="few")]


def indexed(rng, dtype, sets, shape):
    return [*same(1)(rng, dtype, sets, shape), rng.integers(0, shape[-1], (sets, 4)).astype("int32")]


def indexed_along(rng, dtype, sets, shape):
    return [*same(1)(rng, dtype, sets, shape), rng.integers(0, shape[-1], (sets, *shape)).astype("int32")]


def repeated(rng, dtype, sets, shape):
    return [*same(1)(rng, dtype, sets, shape), rng.integers(0, 4, (sets, shape[-1])).astype("int32")]


def bounds(rng, dtype, sets, shape):
    low, high = np.sort(same(2, kind="finite")(rng, dtype, sets, shape), axis=0)
    return [*same(1)(rng, dtype, sets, shape), low, high]


def chosen(rng, dtype, sets, shape):
    return [array(rng, (sets, *shape), "bool"), *same(2)(rng, dtype, sets, shape)]


def square(rng, dtype, sets, shape):
    """Make well-conditioned matrices."""
    n = shape[-1]
    return [(array(rng, (sets, *shape), dtype, **UNIT) + 3 * n * np.eye(n)).astype(dtype)]


def spread_out(rng, dtype, sets, shape):
    """Make matrices whose eigenvalues lie apart."""
    n = shape[-1]
    return [(array(rng, (sets, *shape), dtype, **UNIT) + np.diag(4 * n * np.arange(1, n + 1))).astype(dtype)]


def positive_definite(rng, dtype, sets, shape):
    (a,) = square(rng, dtype, sets, shape)
    return [(a @ a.swapaxes(-1, -2) / shape[-1]).astype(dtype)]


def linear_system(rng, dtype, sets, shape):
    return [*square(rng, dtype, sets, shape), array(rng, (sets, *shape), dtype, **UNIT)]


def low_rank(rng, dtype, sets, shape):
    """Make products of thin factors, of whole numbers."""
    a, b = (rng.integers(-3, 4, (sets, *each)) for each in ((4, 2), (2, 5)))
    return [(a @ b).astype(dtype)]


def ends(rng, dtype, sets, shape):
    return rng.uniform(-5, 5, (2, sets)).astype(dtype).astype(float).tolist()


def whole_ends(rng, dtype, sets, shape):
    return [
        rng.integers(-9, 3, sets).tolist(),
        rng.integers(0, 9, sets).tolist(),
        rng.integers(1, 4, sets).tolist(),
    ]


def numbers(low, high):
    return lambda rng, dtype, sets, shape: [rng.integers(low, high, sets).tolist()]
