"""Values of interpolators where a rule is easily missed; SciPy's, or of fewer points by hand."""

import numpy as np
import pytest
import scipy.interpolate

from jaxapi.interpolate import NearestNDInterpolator, RBFInterpolator

RNG = np.random.default_rng(8)
PLACES = RNG.uniform(0, 2, (40, 2))


def test_rescaled_points_with_a_constant_coordinate():
    points = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    values = np.array([3.0, 4.0, 5.0])
    found = NearestNDInterpolator(points, values, rescale=True)([[0.1, 1.0], [1.2, 1.0], [1.9, 1.0]])
    np.testing.assert_array_equal(found, values)


def test_rescaled_points_of_which_some_count():
    """The extent is that of the points that count."""
    points = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 9.0], [1e6, 3.0]])
    values = np.arange(4.0)
    places = PLACES * [1, 4]
    found = NearestNDInterpolator(points, values, rescale=True, n=3)(places)
    expected = scipy.interpolate.NearestNDInterpolator(points[:3], values[:3], rescale=True)(places)
    np.testing.assert_array_equal(found, expected)


def test_coinciding_points_of_which_one_is_smoothed():
    points, values = np.array([[0.0], [0.0], [1.0], [3.0]]), np.arange(4.0)
    smoothing = np.array([0.0, 1.0, 0.0, 0.0])
    places = [[0.5], [2.0]]
    found = RBFInterpolator(points, values, smoothing=smoothing)(places)
    expected = scipy.interpolate.RBFInterpolator(points, values, smoothing=smoothing)(places)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_points_that_do_not_count(smoothing):
    points, values = np.array([[0.0], [2.0], [1.0], [2.0], [2.0]]), np.array([0.0, 1.0, 3.0, 9.0, 7.0])
    places = [[0.5], [1.5]]
    found = RBFInterpolator(points, values, n=3, smoothing=smoothing)(places)
    expected = scipy.interpolate.RBFInterpolator(points[:3], values[:3], smoothing=smoothing)(places)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.daily
def test_smoothed_kernels():
    """Their signs, which matter where data is smoothed."""
    points = RNG.normal(size=(9, 2))
    values = np.sin(np.arange(9.0))
    for kernel in ("linear", "cubic", "quintic", "thin_plate_spline", "multiquadric", "inverse_multiquadric"):
        options = {"kernel": kernel, "epsilon": 1.3, "smoothing": 0.7}
        found = RBFInterpolator(points, values, **options)(PLACES)
        expected = scipy.interpolate.RBFInterpolator(points, values, **options)(PLACES)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
