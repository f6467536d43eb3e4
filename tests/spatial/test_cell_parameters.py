"""Cells given by lengths, or by lengths and angles: the metric tensor, and brute force over images."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi.interpolate import NearestNDInterpolator
from jaxapi.spatial import KDTree

POINTS = np.random.default_rng(0).random((4, 3)) * 2
TRICLINIC = [2.0, 2.5, 3.0, 75.0, 98.0, 64.0]


def metric_tensor(parameters):
    """Return the products of the vectors with each other, which lengths and angles are defined by."""
    lengths = np.asarray(parameters[:3], float)
    alpha, beta, gamma = np.cos(np.radians(parameters[3:]))
    products = np.array([[1, gamma, beta], [gamma, 1, alpha], [beta, alpha, 1]])
    return products * np.outer(lengths, lengths)


def distances_to_images(x, points, tensor, spans=4):
    """Return all distances from x to images of points, by fractions and the metric tensor alone."""
    lower = np.linalg.cholesky(tensor)  # vectors laid in the same way
    fractions = (points - x) @ np.linalg.inv(lower)
    shifts = np.array(list(itertools.product(range(-spans, spans + 1), repeat=3)))
    steps = fractions[:, None] + shifts
    return np.sort(np.sqrt(np.einsum("nsi,ij,nsj->ns", steps, tensor, steps)).ravel())


def random_parameters(rng):
    while True:
        parameters = np.concatenate([rng.uniform(0.5, 9, 3), rng.uniform(20, 160, 3)])
        if np.linalg.eigvalsh(metric_tensor(parameters))[0] > 0.01:
            return parameters


def test_vectors_have_the_metric_tensor_and_lie_as_ases():
    rng = np.random.default_rng(1)
    for _ in range(50):
        parameters = random_parameters(rng)
        vectors = np.asarray(KDTree(POINTS, cell=parameters).cell)
        np.testing.assert_allclose(vectors @ vectors.T, metric_tensor(parameters), rtol=1e-12, atol=1e-12)
        assert (vectors[np.triu_indices(3, 1)] == 0).all()
        assert (np.diag(vectors) > 0).all()


def test_right_angles_are_exact():
    assert KDTree(POINTS, cell=[2, 3, 5]).cell.tolist() == np.diag([2.0, 3.0, 5.0]).tolist()
    assert KDTree(POINTS, cell=[2, 3, 5, 90, 90, 90]).cell.tolist() == np.diag([2.0, 3.0, 5.0]).tolist()
    hexagonal = np.asarray(KDTree(POINTS, cell=(1, 1, 2, 90, 90, 120)).cell)
    np.testing.assert_allclose(hexagonal, [[1, 0, 0], [-0.5, 3**0.5 / 2, 0], [0, 0, 2]], rtol=1e-15)
    assert hexagonal[2].tolist() == [0, 0, 2]


@pytest.mark.parametrize("parameters", [TRICLINIC, [2.0, 2.5, 3.0]])
def test_distances_to_images(parameters):
    tree = KDTree(POINTS, cell=parameters)
    distances = np.asarray(tree.query(POINTS[:2], k=12)[0])
    tensor = metric_tensor([*parameters, 90, 90, 90][:6])
    for row in range(2):
        expected = distances_to_images(POINTS[row], POINTS, tensor)[:12]
        np.testing.assert_allclose(distances[row], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2])
def test_lengths_in_fewer_dimensions(m):
    """Within half of the shortest length a box and a cell have the same neighbors."""
    lengths = [2.0, 3.0][:m]
    points = np.random.default_rng(2).random((20, m)) * lengths
    edges = KDTree(points, cell=lengths).radius_graph(0.9)
    in_box = KDTree(points, boxsize=lengths).radius_graph(0.9)
    assert len(edges.senders) == len(in_box.senders) > 20
    np.testing.assert_allclose(np.sort(edges.distances), np.sort(in_box.distances), rtol=1e-12)


def test_six_lengths_in_six_dimensions():
    points = np.random.default_rng(3).random((3, 6))
    lengths = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert KDTree(points, cell=lengths).cell.tolist() == np.diag(lengths).tolist()


def test_float32_is_rounded_once():
    points = POINTS.astype("float32")
    cell = np.asarray(KDTree(points, cell=TRICLINIC).cell)
    assert cell.dtype == np.float32
    np.testing.assert_array_equal(cell, np.asarray(KDTree(POINTS, cell=TRICLINIC).cell).astype("float32"))
    assert np.abs(cell - np.linalg.cholesky(metric_tensor(TRICLINIC))).max() < 2.5e-7


def test_a_slab_whose_third_vector_has_no_length():
    parameters = [2.0, 2.5, 0.0, 90.0, 90.0, 64.0]
    flags = (True, True, False)
    slab = KDTree(POINTS, cell=parameters, periodic=flags).radius_graph(1.5)
    vectors = np.asarray(KDTree(POINTS, cell=[2.0, 2.5, 7.0, 90.0, 90.0, 64.0]).cell)
    expected = KDTree(POINTS, cell=vectors, periodic=flags).radius_graph(1.5)
    assert slab.senders.tolist() == expected.senders.tolist()
    np.testing.assert_allclose(slab.distances, expected.distances, rtol=1e-12)


# --- traced ---------------------------------------------------------------------------------------------


@jax.jit
def edge_lengths(points, parameters):
    graph = KDTree(points, cell=parameters).radius_graph(1.6, max_edges=128, fill_value=0.0)
    return graph.count, graph.distances


def test_traced_parameters_are_as_given_ones():
    with jax.enable_x64(True):
        count, distances = edge_lengths(POINTS, np.array(TRICLINIC))
    graph = KDTree(POINTS, cell=TRICLINIC).radius_graph(1.6)
    assert int(count) == len(graph.distances)
    np.testing.assert_allclose(np.sort(distances)[-int(count) :], np.sort(graph.distances), rtol=1e-12)


@pytest.mark.thorough
def test_traced_parameters_with_x64_off():
    points = POINTS.astype("float32")
    with jax.enable_x64(False):
        count, distances = edge_lengths(points, np.array(TRICLINIC, "float32"))
    assert distances.dtype == np.float32
    graph = KDTree(points, cell=TRICLINIC).radius_graph(1.6)
    assert int(count) == len(graph.distances)
    np.testing.assert_allclose(np.sort(distances)[-int(count) :], np.sort(graph.distances), rtol=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        [-2.0, 2.5, 3.0, 75.0, 98.0, 64.0], [2.0, 2.5, 0.0, 75.0, 98.0, 64.0],
        [2.0, 2.5, 3.0, 10.0, 98.0, 64.0], [2.0, 2.5, 3.0, 75.0, 180.0, 64.0],
        [2.0, 2.5, np.nan, 75.0, 98.0, 64.0], [2.0, 2.5, 3.0, 130.0, 120.0, 110.0],
    ],
)  # fmt: skip
def test_what_makes_no_cell(parameters):
    with pytest.raises(ValueError, match=r"got \["):
        KDTree(POINTS, cell=parameters)
    with jax.enable_x64(True):
        assert int(edge_lengths(POINTS, np.array(parameters))[0]) == 0


@pytest.mark.thorough
def test_slopes_in_lengths_and_angles():
    """Beside finite differences, right angles included."""

    def energy(parameters):
        return jnp.sum(edge_lengths(POINTS, parameters)[1] ** 2)

    with jax.enable_x64(True):
        lengths = np.array([2.0, 2.5, 3.0])
        for parameters in (np.array(TRICLINIC), np.append(lengths, [90.0] * 3), lengths):
            slope = jax.grad(energy)(parameters)
            steps = 1e-6 * np.eye(len(parameters))
            differences = [(energy(parameters + step) - energy(parameters - step)) / 2e-6 for step in steps]
            np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-6)
    with jax.enable_x64(False):
        narrow = jax.grad(energy)(jnp.asarray(lengths, jnp.float32))
    np.testing.assert_allclose(narrow, slope, rtol=1e-5, atol=1e-4)


@pytest.mark.thorough
def test_a_batch_of_cells_under_vmap():
    parameters = np.array([TRICLINIC, [2.2, 2.5, 3.0, 90.0, 90.0, 90.0]])
    with jax.enable_x64(True):
        counts = jax.vmap(edge_lengths, (None, 0))(POINTS, parameters)[0]
    expected = [len(KDTree(POINTS, cell=cell).radius_graph(1.6).senders) for cell in parameters]
    assert counts.tolist() == expected


# --- errors and other faces -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "options", "says"),
    [
        ([1, 1, 1, 60, 60], {}, r"or 3 lengths, or 3 lengths and 3 angles, got shape \(5,\)"),
        ([1, 1, 0], {}, "lengths of a cell must be positive"),
        ([1, 1, 1, 1.5, 1.5, 3.1], {}, "they are in degrees"),
        ([1, -1, 1], {"periodic": False}, "lengths of a cell must be positive"),
        ([1, 1, 1, 60, 60, np.inf], {}, "must be finite"),
        (np.ones((2, 6)), {"batch": [0, 0, 1, 1]}, r"or \(clouds, 3, 3\) with batch"),
    ],
)
def test_errors(parameters, options, says):
    with pytest.raises(ValueError, match=says):
        KDTree(POINTS, cell=parameters, **options)


def test_mutable_arrays_as_parameters():
    import jaxapi.mutable as mutable

    tree = mutable.spatial.KDTree(POINTS, cell=mutable.asarray(TRICLINIC))
    np.testing.assert_array_equal(np.asarray(tree.cell), np.asarray(KDTree(POINTS, cell=TRICLINIC).cell))


@pytest.mark.parametrize("parameters", [TRICLINIC, [2.0, 2.5, 3.0]])
def test_the_cell_of_an_interpolator_is_rescaled(parameters):
    values = np.arange(4.0)
    given, by_vectors = (
        NearestNDInterpolator(POINTS, values, rescale=True, tree_options={"cell": cell})
        for cell in (parameters, np.asarray(KDTree(POINTS, cell=parameters).cell))
    )
    np.testing.assert_array_equal(given.tree.cell, by_vectors.tree.cell)
    places = np.random.default_rng(4).random((30, 3)) * 9
    np.testing.assert_array_equal(given(places), by_vectors(places))
    assert len(set(given(places).tolist())) > 1
    assert xp.asarray(given(places)).dtype == np.float64
