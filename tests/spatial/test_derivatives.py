"""Derivatives of first and second order of what searches return, against differences of NumPy's energies."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec
from meshes import mesh_of

from jaxapi.spatial import KDTree
from jaxapi.spatial._engines import _choice, _cuda

RNG = np.random.default_rng(29)
POINTS, QUERIES, BOX = RNG.random((6, 2)), RNG.random((2, 2)), np.array([1.0, 1.25])
VALUES = np.concatenate([POINTS.ravel(), QUERIES.ravel(), BOX])
R, ORDERS = 0.45, (1, 1.5, 7.5, np.inf)
HALF_OPEN = "query_radius", "columns"  # searches whose box has one side alone


def split(name, values):
    """Return points, queries and box of one vector."""
    sides = np.array([1.0, name not in HALF_OPEN])
    return values[:12].reshape(6, 2), values[12:16].reshape(2, 2), values[16:] * sides


def energy(distances, xp=jnp):
    """Sum a function of distances that bends; pads, at inf, count 0."""
    there = distances < np.inf
    distances = xp.where(there, distances, 1)
    return xp.where(there, distances**3 * xp.exp(-distances), 0).sum()


def displaced(tree, x):
    vectors = tree.displacements(x, jnp.tile(jnp.arange(6), (2, 1)))
    return jnp.sqrt((vectors**2).sum(axis=2))


SEARCHES = {
    "query": lambda tree, x: [tree.query(x, 4)[0]],
    "orders": lambda tree, x: [tree.query(x, 4, p=p)[0] for p in ORDERS],
    "kneighbors": lambda tree, x: [tree.kneighbors(2)[0]],
    "knn_graph": lambda tree, x: [tree.knn_graph(2, p=3).distances],
    "query_radius": lambda tree, x: [tree.query_radius(x, R, max_neighbors=6).distances],
    "radius_graph": lambda tree, x: [tree.radius_graph(R, max_edges=31).distances],
    "query_pairs": lambda tree, x: [tree.query_pairs(R, max_pairs=16).distances],
    "displacements": lambda tree, x: [displaced(tree, x)],
    "columns": lambda tree, x: [
        tree.query(x, [1, 4], distance_upper_bound=R)[0], tree.kneighbors(2)[0],
    ],
}  # fmt: skip


def apart(x, points, box, p=2):
    vectors = x[:, None] - points
    vectors -= box * np.round(vectors / np.where(box > 0, box, np.inf))
    return np.linalg.norm(vectors, ord=p, axis=2)


def others(points, box, p=2):
    distances = apart(points, points, box, p)
    return np.where(np.eye(6, dtype=bool), np.inf, distances)


def within(distances):
    return np.where(distances <= R, distances, np.inf)


ORACLES = {
    "query": lambda points, x, box: [np.sort(apart(x, points, box))[:, :4]],
    "orders": lambda points, x, box: [np.sort(apart(x, points, box, p))[:, :4] for p in ORDERS],
    "kneighbors": lambda points, x, box: [np.sort(others(points, box))[:, :2]],
    "knn_graph": lambda points, x, box: [np.sort(others(points, box, 3))[:, :2]],
    "query_radius": lambda points, x, box: [within(apart(x, points, box))],
    "radius_graph": lambda points, x, box: [within(others(points, box))],
    "query_pairs": lambda points, x, box: [np.triu(within(others(points, box)))],
    "displacements": lambda points, x, box: [apart(x, points, box)],
    "columns": lambda points, x, box: [
        within(np.sort(apart(x, points, box))[:, [0, 3]]), np.sort(others(points, box))[:, :2],
    ],
}  # fmt: skip


def expected(name, values):
    """Return the energies, and their first and second derivatives as differences."""

    def energies(values):
        return np.array([energy(each, np) for each in ORACLES[name](*split(name, values))])

    steps, h = np.eye(len(values)), 2.0**-13
    up = np.stack([energies(values + h * s) for s in steps], -1)
    down = np.stack([energies(values - h * s) for s in steps], -1)
    second = [
        [
            energies(values + h * (s + t)) - energies(values + h * (s - t))
            - energies(values + h * (t - s)) + energies(values - h * (s + t))
            for t in steps
        ]
        for s in steps
    ]  # fmt: skip
    return energies(values), (up - down) / (2 * h), np.moveaxis(np.array(second), 2, 0) / (4 * h * h)


def derivatives(name, ways=("jacfwd", "jacrev"), **lies):
    """Return a function of the values: energies, first and second derivatives, by JAX in each way."""

    def energies(values):
        points, x, box = split(name, values)
        tree = KDTree(points, boxsize=box, **lies)
        found = jnp.stack([energy(each) for each in SEARCHES[name](tree, x)])
        return found, found

    def first(way, values):
        slopes, found = getattr(jax, way)(energies, has_aux=True)(values)
        return slopes, (found, slopes)

    def run(values):
        results = []
        for way, other in zip(ways, ways[::-1], strict=True):
            second, (found, slopes) = getattr(jax, way)(partial(first, other), has_aux=True)(values)
            results.append((found, slopes, second))
        return results

    return run


def compare(name, results, values):
    right = expected(name, values)
    for result in results:
        for part, other in zip(result, right, strict=True):
            np.testing.assert_allclose(part, other, rtol=1e-5, atol=1e-6)
    assert (np.abs(right[2]) > 1e-2).mean() > 0.1, "the energies bend"


@pytest.mark.thorough
@pytest.mark.daily("displacements")
@pytest.mark.parametrize("name", sorted(SEARCHES.keys() - {"columns"}))
def test_derivatives_inside_of_jit(name):
    with jax.enable_x64(True):
        compare(name, jax.jit(derivatives(name))(VALUES), VALUES)


@pytest.mark.thorough
@pytest.mark.kernels
@pytest.mark.usefixtures("kernels_on_host")
def test_kernels_are_not_differentiated(monkeypatch):
    """Neither those of the build nor those of searches."""
    monkeypatch.setattr(_choice, "gpu_engine", lambda: _cuda)
    for name in ("query", "query_radius", "query_pairs", "displacements"):

        def energies(values, name=name):
            points, x, box = split(name, values)
            return sum(energy(each) for each in SEARCHES[name](KDTree(points, boxsize=box), x))

        jax.make_jaxpr(jax.jit(jax.grad(energies)))(VALUES)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["query", "query_radius"])
def test_derivatives_under_vmap_and_without_jit(name):
    clouds = np.stack([VALUES, VALUES + 0.02 * RNG.random(18)])
    with jax.enable_x64(True):
        both = jax.jit(jax.vmap(derivatives(name, ["jacrev"])))(clouds)
        for i, values in enumerate(clouds):
            compare(name, jax.tree.map(lambda each, i=i: each[i], both), values)
        if name == "query":
            compare(name, derivatives(name, ["jacfwd"])(VALUES), VALUES)


@pytest.mark.thorough
def test_derivatives_on_a_mesh():
    """Of points, queries and a box of which a side is open.

    Not in one program: XLA for CPUs runs the partitioner's collectives beside those of `shard_map` in any
    order, on each device in another one, and then waits for ever.
    """
    sharding = NamedSharding(mesh_of(2), PartitionSpec("d"))
    with jax.enable_x64(True):
        compare("columns", derivatives("columns", ["jacrev"], sharding=sharding)(VALUES), VALUES)


@pytest.mark.thorough
def test_derivatives_at_distance_zero_are_zero():
    @jax.jit
    def zeros(x):
        searches = [lambda x, p=p: KDTree(POINTS).query(x, p=p)[0] for p in (1, 1.5, 2, 5, np.inf)]
        second = [jax.hessian(lambda x, f=f: jnp.stack([f(x), f(x) ** 2]))(x) for f in searches]
        return [jax.grad(f)(x) for f in searches], second

    with jax.enable_x64(True):
        assert not any(np.any(each) for each in jax.tree.leaves(zeros(POINTS[0])))


@pytest.mark.daily
def test_second_derivatives_of_coordinates_that_agree():
    """On a lattice differences along axes are equal or 0, where norms are smooth but for p = 1 and inf."""
    origin, x = np.zeros((1, 2)), np.array([[2.0, 0.0], [1.0, 1.0]])
    orders = 2.0, 3.0, 6.0

    @jax.jit
    def second(x):
        return [jax.hessian(lambda x, p=p: KDTree(origin).query(x, p=p)[0])(x) for p in orders]

    with jax.enable_x64(True):
        for at in x:
            for p, found in zip(orders, second(at), strict=True):
                d = np.linalg.norm(at, p)
                u = at / d
                right = (p - 1) / d * (np.diag(u ** (p - 2)) - np.outer(u ** (p - 1), u ** (p - 1)))
                np.testing.assert_allclose(found, right, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.daily("inf")
@pytest.mark.parametrize("p", [1.0, 1.5, 3.0, np.inf])
def test_slopes_along_coordinates_that_agree(p):
    """They are 0, as at distance 0; so are second ones, which are 0, infinite or do not exist."""
    x = np.array([2.0, 0.0])

    def distance(points, x):
        return KDTree(points).query(x, p=p)[0]

    with jax.enable_x64(True):
        slopes = jax.jit(jax.grad(distance, argnums=(0, 1)))(np.zeros((1, 2)), x)
        second = jax.jit(jax.hessian(distance, argnums=1))(np.zeros((1, 2)), x)
    np.testing.assert_allclose(slopes[0], [[-1, 0]])
    np.testing.assert_allclose(slopes[1], [1, 0])
    np.testing.assert_allclose(second, np.zeros((2, 2)), atol=1e-12)


@pytest.mark.daily
def test_derivatives_of_large_and_small_distances():
    """Squares of these overflow and vanish in float32."""
    for size in (1e-30, 1e30):
        points = np.array([[0, 0], [-9 * size, 0]], np.float32)
        x = jnp.asarray([3 * size, 4 * size], jnp.float32)
        slope = jax.grad(lambda x, points=points: KDTree(points).query(x)[0])(x)
        np.testing.assert_allclose(slope, [0.6, 0.8], rtol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings",
    [{}, {"boxsize": BOX}, {"cell": np.diag(BOX)}, {"batch": [0, 0, 0, 1, 1, 1]}, {"engine": "lax"}],
    ids=["plain", "boxsize", "cell", "batch", "lax"],
)
def test_radius_graph_whose_values_are_known_needs_no_room(settings):
    """Outside of jit all edges come; their derivatives are those of a graph with room."""

    def total(points, max_edges=None):
        graph = KDTree(points, **settings).radius_graph(R, max_edges=max_edges)
        assert max_edges or graph.distances.shape == (int(graph.count),)
        return energy(graph.distances)

    def nothing(points):
        graph = KDTree(points, **settings).radius_graph(0.0)
        return graph.distances.sum(), graph

    with jax.enable_x64(True):
        points = jnp.asarray(POINTS)
        for derivative in (jax.grad, jax.hessian):
            expected = jax.jit(derivative(partial(total, max_edges=40)))(points)
            np.testing.assert_allclose(derivative(total)(points), expected, rtol=1e-12, atol=1e-12)
        slopes, none = jax.grad(nothing, has_aux=True)(points)
        assert not np.asarray(slopes).any()
        assert all(len(array) == 0 for array in none if array.ndim)
        with pytest.raises(TypeError, match="pass max_edges"):
            jax.jit(jax.grad(total))(points)


def test_radius_graph_has_a_slope_in_the_cell():
    with jax.enable_x64(True):
        cell = jnp.diag(jnp.asarray(BOX))
        found = jax.grad(lambda cell: KDTree(POINTS, cell=cell).radius_graph(R).distances.sum())(cell)
        step = 1e-6 * np.eye(4).reshape(4, 2, 2)
        sums = [
            float(KDTree(POINTS, cell=cell + change).radius_graph(R).distances.sum())
            for change in (*step, *-step)
        ]
        expected = (np.array(sums[:4]) - sums[4:]) / 2e-6
        np.testing.assert_allclose(found.ravel(), expected, rtol=1e-6, atol=1e-7)
