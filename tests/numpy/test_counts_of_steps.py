"""Slices that are folded and paddings that repeat: one program, however many there are, beside NumPy."""

import numpy as np
import pytest

import jaxapi.numpy as ours

pytestmark = pytest.mark.filterwarnings("ignore")
SLICES = [[0, 3, 1], [4, 2, 2, 0], [1]]
FOLDS = "add multiply maximum minimum fmax subtract logical_or logical_xor bitwise_and greater hypot"


@pytest.mark.thorough
@pytest.mark.daily("add-", "int8", "float32")
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "float32", "float16", "complex64"])
@pytest.mark.parametrize("name", FOLDS.split())
def test_slices(name, dtype):
    x = (np.random.default_rng(6).random((6, 3)) * 5).astype(dtype)
    if x.dtype.kind == "f":
        x[2, 1] = np.nan
    for axis, slices in ((0, SLICES[0]), (0, SLICES[1]), (0, SLICES[2]), (-1, [2, 0])):
        with np.errstate(all="ignore"):
            try:
                expected = getattr(np, name).reduceat(x, slices, axis=axis)
            except TypeError:
                with pytest.raises(TypeError):
                    getattr(ours, name).reduceat(ours.asarray(x), slices, axis=axis)
                continue
        made = getattr(ours, name).reduceat(ours.asarray(x), slices, axis=axis)
        assert made.dtype.kind == expected.dtype.kind
        rtol = 5e-3 if expected.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(np.asarray(made), expected, rtol=rtol)


@pytest.mark.parametrize("name", ["maximum", "add", "fmax"])
def test_many_slices(name):
    """A program that had a step for each would take minutes to compile."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 99, 30000).astype(np.float32)
    starts = np.sort(rng.choice(30000, 10000, replace=False))
    made = getattr(ours, name).reduceat(ours.asarray(x), ours.asarray(starts))
    np.testing.assert_array_equal(made, getattr(np, name).reduceat(x, starts))


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_paddings_that_repeat(mode):
    for x, widths in (
        (np.arange(3.0), 10000),
        (np.arange(6).reshape(2, 3), ((0, 7), (5, 0))),
        (np.arange(1.0), (4, 3)),
        (np.arange(12).reshape(3, 4), ((1, 2), (9, 11))),
    ):
        made = ours.pad(ours.asarray(x), widths, mode)
        np.testing.assert_array_equal(made, np.pad(x, widths, mode))
    with pytest.raises(ValueError, match="negative"):
        ours.pad(ours.arange(3), -1, mode)
    with pytest.raises(ValueError, match="extend"):
        ours.pad(ours.arange(0), 1, mode)
    if mode in ("edge", "wrap"):
        with pytest.raises(ValueError, match="keyword"):
            ours.pad(ours.arange(4.0), 3, mode, reflect_type="odd")


@pytest.mark.daily
@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_paddings_that_turn_around_their_ends(mode):
    odd = {"reflect_type": "odd"}
    for x, widths in (
        (np.array([3.0, 1.0, 2.0]), 10000),
        (np.array([[3, 1, 7], [4, 9, 2]]), ((0, 7), (5, 0))),
        (np.array([3, 250, 7], np.uint8), (9, 8)),
        (np.array([5.0]), (4, 3)),
        (np.array([1 + 2j, 3j, 4]), (8, 11)),
        (np.arange(4.0), 3),
        (np.float32([-0.0, -0.0, -0.0]), 2),
    ):
        made = ours.pad(ours.asarray(x), widths, mode, **odd)
        assert made.dtype.kind == x.dtype.kind
        expected = np.pad(x, widths, mode, **odd)
        np.testing.assert_array_equal(made, expected)
        np.testing.assert_array_equal(np.signbit(np.asarray(made).real), np.signbit(expected.real))


RAMPS = [
    (np.float32([[1, -0.0, 3], [2, -1, 0]]), ((1, 2), (3, 4)), ((1, 2), (3, -0.0))),
    (np.float64([1, 2, 3]), 4, -0.0),
    (np.float16([1, 2.5]), 5, (7, 0.1)),
    (np.array([1 + 2j, -3j]), 3, 1j),
    (np.array([[1, 2], [3, 7]], np.int8), 4, -2.7),
    (np.float32([np.inf, 1, np.nan]), 2, 0),
]


@pytest.mark.parametrize(("x", "widths", "ends"), RAMPS)
def test_ramps(x, widths, ends):
    given = ours.asarray(ends)  # elements and arrays of ours, too
    with np.errstate(all="ignore"):
        expected = np.pad(x, widths, "linear_ramp", end_values=ends)
    for of_ends in (ends, given):
        made = np.asarray(ours.pad(ours.asarray(x), widths, "linear_ramp", end_values=of_ends))
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, rtol=1e-6)
        np.testing.assert_array_equal(np.signbit(made.real), np.signbit(expected.real))
