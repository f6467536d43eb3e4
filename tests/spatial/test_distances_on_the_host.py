"""Distances outside of transformations on the CPU, which SciPy and NumPy compute: nothing compiles."""

import jax
import numpy as np
import pytest
from compilations import no_compilation
from metrics import BOOLEAN, METRICS

from jaxapi.spatial import distance

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", METRICS)
def test_nothing_compiles(name, dtype):
    a, b = RNG.random((2, 9, 4)).astype(dtype)
    if name in BOOLEAN:
        a, b = a > 0.3, b > 0.3
    options = {"minkowski": {"p": 3}, "seuclidean": {"V": [1.0, 2.0, 3.0, 4.0]}}.get(name, {})
    of_vectors = {"mahalanobis": {"VI": np.eye(4)}}.get(name, options)
    with no_compilation():
        matrix = distance.cdist(a, b, name, **options)
        of_two = getattr(distance, name)(a[0], b[0], **of_vectors)
        if name != "inner_product":
            condensed = distance.pdist(a, name, **options)
            assert condensed.shape == (36,)
    assert matrix.shape == (9, 9)
    assert of_two.shape == ()


class Counted:
    """Rows that count how often they are converted."""

    def __init__(self, rows):
        self.rows = rows
        self.count = 0

    def __array__(self, dtype=None, copy=None):
        self.count += 1
        return np.array(self.rows, dtype)


@pytest.mark.parametrize("call", [distance.pdist, lambda x: distance.cdist(x, x)])
def test_rows_are_converted_once(call):
    rows = Counted(RNG.random((5, 3)))
    call(rows)
    assert rows.count == 1


@pytest.mark.parametrize("columns", [2, 12])
@pytest.mark.usefixtures("by_either_way")
def test_the_farthest_row_is_the_lowest_of_equals(columns):
    a, b = RNG.integers(0, 3, (2, 40, columns)).astype(float)
    squares = np.sum((a[:, np.newaxis] - b) ** 2, axis=-1)
    i = np.argmax(squares.min(axis=1))
    j = np.argmin(squares[i])
    found = [x.item() for x in distance.directed_hausdorff(a, b)]
    assert found == [np.sqrt(squares[i, j]), i, j]


def test_the_farthest_row_beside_rows_that_are_not_finite():
    a = np.array([[0.0, 1.0], [np.nan, 0.0]])
    found = [x.item() for x in distance.directed_hausdorff(a, np.zeros((2, 2)))]
    assert found == [np.inf, 1, 2]


def test_so_many_distances_that_a_program_pays(monkeypatch):
    monkeypatch.setattr("jaxapi.spatial.distance._host._MOST_TERMS", 10)
    a = RNG.random((4, 3))
    with pytest.raises(AssertionError), no_compilation():
        distance.cdist(a, a + 1, "canberra")


def test_results_lie_where_arrays_were_put():
    first, *_, last = jax.devices("cpu")
    a = RNG.random((4, 3)).astype(np.float32)
    moved = jax.device_put(a, last)
    assert distance.cdist(a, moved).devices() == distance.cdist(moved, a).devices() == {last}
    assert {x.device for x in distance.directed_hausdorff(a, moved)} == {last}
    if first != last:
        with pytest.raises(ValueError, match="devices"):
            distance.cdist(jax.device_put(a, first), moved)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="float64 by another name here")
def test_extended_precision_is_refused():
    a = np.ones((3, 2), np.longdouble)
    for call in (
        lambda: distance.cdist(a, np.ones((3, 2))),
        lambda: distance.euclidean(a[0], a[0]),
        lambda: distance.euclidean([1.0, 2.0], [2.0, 3.0], w=a[0]),
    ):
        with pytest.raises(TypeError, match="convert it first"):
            call()
