"""NearestNDInterpolator beside SciPy's."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.interpolate
from compilations import no_compilation

import jaxapi as xp
from jaxapi.interpolate import NearestNDInterpolator
from jaxapi.spatial import pad_rows

SCIPYS = scipy.interpolate.NearestNDInterpolator
RNG = np.random.default_rng(0)
X, PLACES = RNG.random((40, 3)), RNG.random((2, 7, 3))
VALUES = RNG.random(40)


@pytest.mark.parametrize("rescale", [False, True])
@pytest.mark.parametrize(
    "values",
    [VALUES, np.arange(40), RNG.random((40, 2, 3)), VALUES + 1j, RNG.random((40, 0)), VALUES > 0.5],
    ids=["real", "int", "shaped", "complex", "empty", "bool"],
)
def test_values(values, rescale):
    x = X * [1, 100, 0.01]
    ours, scipys = NearestNDInterpolator(x, values, rescale), SCIPYS(x, values, rescale)
    places = PLACES * [1, 100, 0.01]
    for arguments in [
        (places,),
        (tuple(np.moveaxis(places, -1, 0)),),
        (places[..., 0], places[..., 1], 0.5),
        (places[0, 0],),
        (places[:, :0],),
    ]:
        result, expected = ours(*arguments), scipys(*arguments)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_allclose(ours.points, scipys.points, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ours.values, scipys.values)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ours))(places), scipys(places))


@pytest.mark.parametrize(
    "options", [{"p": 1}, {"p": np.inf}, {"distance_upper_bound": 0.1}, {"eps": 0.0}, {"workers": -1}]
)
def test_query_options(options):
    for values in (VALUES, VALUES[:, None] + 1j):
        expected = SCIPYS(X, values)(PLACES, **options)
        np.testing.assert_array_equal(NearestNDInterpolator(X, values)(PLACES, **options), expected)


def test_tree_options():
    options = {"leafsize": 3, "balanced_tree": False, "compact_nodes": False, "boxsize": 1.0}
    expected = SCIPYS(X, VALUES, tree_options=options)(PLACES)
    ours = NearestNDInterpolator(X, VALUES, tree_options=options)
    np.testing.assert_array_equal(ours(PLACES), expected)
    assert ours.tree.leafsize == 3


def test_lists():
    lists = [[0, 0, 1, 1], [0, 1, 0, 1]]
    expected = SCIPYS(tuple(lists), [1, 2, 3, 4])([0.1, 0.9], [0.2, 0.7])
    result = NearestNDInterpolator(tuple(lists), [1, 2, 3, 4])([0.1, 0.9], [0.2, 0.7])
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda N: N(X, VALUES[:3]),
        lambda N: N(X[:, :1], VALUES),
        lambda N: N(X[:, 0], VALUES),
        lambda N: N(PLACES, VALUES[:2]),
        lambda N: N(X, VALUES)(PLACES[..., :2]),
        lambda N: N(X, VALUES)(PLACES[..., 0], PLACES[..., 1]),
        lambda N: N(X, VALUES)([0.5]),
        lambda N: N(X, VALUES)(PLACES, radius=3),
        lambda N: N(X * [np.nan, 1, 1], VALUES),
        lambda N: N(X, VALUES, tree_options=3),
        lambda N: N(X, VALUES, tree_options={"leaves": 3}),
    ],
)
def test_errors(call):
    with pytest.raises(Exception) as scipys:  # noqa: PT011 (which one is the question)
        call(SCIPYS)
    with pytest.raises(scipys.type):
        call(NearestNDInterpolator)


def test_of_equal_distances_the_lowest_row_counts():
    nearest = NearestNDInterpolator([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1.0, 2.0, 3.0])
    assert nearest([[0.0, 0.0], [2.0, 0.0]]).tolist() == [1.0, 1.0]


@pytest.mark.daily
def test_transformations():
    x, values, places = map(np.float32, (X, VALUES, PLACES))
    expected = SCIPYS(x, values, rescale=True)(places).astype(np.float32)
    nearest = NearestNDInterpolator(x, values, rescale=True)
    assert nearest(places).dtype == np.float32
    np.testing.assert_array_equal(jax.jit(lambda f, x: f(x))(nearest, places), expected)
    made = jax.jit(lambda x, y: NearestNDInterpolator(x, y, rescale=True))(x, values)
    np.testing.assert_array_equal(made(places), expected)
    assert jax.tree.structure(made) == jax.tree.structure(nearest)
    batch = jax.vmap(lambda x, y: NearestNDInterpolator(x, y)(places))(
        np.stack([x, x + 1]), np.stack([values] * 2)
    )
    np.testing.assert_array_equal(batch[1], SCIPYS(x + 1, values)(places).astype(np.float32))


def test_derivatives():
    """A value counts where its point is the nearest; in the places the interpolant is constant in steps."""
    x, values, places = map(xp.asarray, map(np.float32, (X, VALUES, PLACES.reshape(-1, 3))))
    rows = np.argmin(((PLACES.reshape(-1, 1, 3) - X) ** 2).sum(axis=2), axis=1)
    slopes = jax.grad(lambda y: jnp.sum(NearestNDInterpolator(x, y)(places)))(values)
    np.testing.assert_array_equal(slopes, np.bincount(rows, minlength=40))
    for slope in jax.grad(lambda x, p: jnp.sum(NearestNDInterpolator(x, values, True)(p)), (0, 1))(x, places):
        np.testing.assert_array_equal(slope, 0)


def test_clouds_of_changing_size():
    places = np.float32(PLACES)

    @jax.jit
    def values_at(x, y, n):
        return NearestNDInterpolator(x, y, rescale=True, n=n)(places)

    for n in (40, 25, 3):
        x, values = np.float32(X[:n]), np.float32(VALUES[:n])
        padded, count = pad_rows(x, sizes=[64])
        filled = jnp.full((64,), jnp.nan).at[:n].set(values)
        expected = SCIPYS(x, values, rescale=True)(places)
        np.testing.assert_allclose(values_at(padded, filled, count), expected, rtol=1e-6)
        np.testing.assert_allclose(
            NearestNDInterpolator(padded, filled, True, n=n)(places), expected, rtol=1e-6
        )


def test_a_cell_is_rescaled_with_the_points():
    rng = np.random.default_rng(8)
    cell = np.array([[1.0, 0.0], [0.3, 100.0]])
    x = rng.random((12, 2)) @ cell
    places = rng.random((30, 2)) @ cell
    nearest = NearestNDInterpolator(x, np.arange(12.0), rescale=True, tree_options={"cell": cell})
    images = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1]), axis=-1).reshape(-1, 2) @ cell
    vectors = (x[:, None] + images - places[:, None, None]) / np.ptp(x, axis=0)
    distances = np.linalg.norm(vectors, axis=-1).min(axis=-1)
    np.testing.assert_array_equal(nearest(places), distances.argmin(axis=1))


def test_nothing_is_compiled_outside_of_transformations():
    rng = np.random.default_rng(9)
    x, values, places = rng.random((53, 3)), rng.random((53, 2)), rng.random((37, 3))
    with no_compilation():
        found = NearestNDInterpolator(x, values, rescale=True)(*places.T)
    np.testing.assert_array_equal(found, SCIPYS(x, values, rescale=True)(*places.T))
