"""A tree as the carry of a loop: one structure, wherever it was built."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import cKDTree

from jaxapi.spatial import KDTree
from jaxapi.spatial._engines import _choice, _cuda
from jaxapi.spatial._engines._cuda import _build

RNG = np.random.default_rng(31)
ENGINES = [None, "lax", pytest.param("cuda", marks=pytest.mark.kernels)]


@pytest.fixture(params=ENGINES)
def options(request, monkeypatch):
    """Return the arguments for one engine after the other, the kernels on the host if there is no GPU."""
    if request.param != "cuda":
        return {"engine": request.param}
    request.getfixturevalue("kernels_on_host")
    if jax.default_backend() != "gpu":
        monkeypatch.setattr(_build, "_room", lambda m: 512)
        monkeypatch.setattr(_choice, "gpu_engine", lambda: _cuda)
        monkeypatch.setattr(_choice, "engine_name", lambda data: "lax")
        monkeypatch.setattr(_choice, "engine_of", lambda data: _cuda)
    return {}


def kind(tree):
    leaves, structure = jax.tree.flatten(tree)
    return structure, [(jax.typeof(x).shape, jax.typeof(x).dtype, jax.typeof(x).weak_type) for x in leaves]


@pytest.mark.thorough
@pytest.mark.daily("lax-150-20-float32")
@pytest.mark.parametrize(
    ("n", "m", "dtype"), [(0, 3, "float32"), (100, 3, "float64"), (1025, 3, "float32"), (150, 20, "float32")]
)
def test_one_structure(options, n, m, dtype):
    """Of concrete points and of traced ones, with a box, of some of the rows, and in a batch."""
    with jax.enable_x64(dtype == "float64"):
        clouds = jnp.asarray(RNG.random((3, n, m)).astype(dtype))
        for more in ({}, {"boxsize": 1.5}, {"n": n // 2}):
            build = lambda points, more=more: KDTree(points, **options, **more)  # noqa: E731
            assert kind(build(clouds[0])) == kind(jax.eval_shape(build, clouds[0]))
        build = jax.vmap(build)
        assert kind(build(clouds)) == kind(jax.eval_shape(build, clouds))


def moved(tree):
    """Return the points a quarter of the way to their nearest others."""
    rows = tree.query(tree.data, 2)[1][:, 1]
    return tree.data + 0.25 * (tree.data[rows] - tree.data)


def steps(points, count):
    """Do so again and again, by SciPy."""
    for _ in range(count):
        rows = cKDTree(points).query(points, 2)[1][:, 1]
        points = points + 0.25 * (points[rows] - points)
    return points


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", [None, "lax"])
def test_loops_from_a_concrete_tree(engine):
    """A scan, a while loop and a choice between a concrete tree and one built there; a batch of trees."""
    clouds = RNG.random((2, 130, 2))
    again = lambda tree: KDTree(moved(tree), engine=engine)  # noqa: E731
    with jax.enable_x64(True):
        tree = KDTree(clouds[0], engine=engine)
        last, between = jax.lax.scan(lambda tree, _: (again(tree), tree.data), tree, length=3)
        np.testing.assert_allclose(last.data, steps(clouds[0], 3), rtol=1e-12)
        np.testing.assert_allclose(between[2], steps(clouds[0], 2), rtol=1e-12)
        np.testing.assert_array_equal(last.query(clouds[1])[1], cKDTree(last.data).query(clouds[1])[1])
        _, last = jax.lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, again(s[1])), (0, tree))
        np.testing.assert_allclose(last.data, steps(clouds[0], 2), rtol=1e-12)
        for moves in (True, False):
            found = jax.jit(lambda t, moves: jax.lax.cond(moves, again, lambda _: tree, t))(tree, moves)
            np.testing.assert_allclose(found.data, steps(clouds[0], int(moves)), rtol=1e-12)
        trees = jax.vmap(lambda points: KDTree(points, engine=engine))(jnp.asarray(clouds))
        trees, _ = jax.lax.scan(lambda trees, _: (jax.vmap(again)(trees), None), trees, length=2)
        for cloud, found in zip(clouds, trees.data, strict=True):
            np.testing.assert_allclose(found, steps(cloud, 2), rtol=1e-12)
