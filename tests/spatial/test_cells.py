"""Trees with a periodic cell, every image of which counts, against brute force over images in float64."""

import itertools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

import jaxapi as xp
from jaxapi.spatial import KDTree

ENGINES = (None, "lax")


def images_within(data, x, r, cell, periodic, p=2.0):
    """Return (query, row, *shift) of all images within a radius, and their distances."""
    data, x, cell = (np.asarray(array, np.float64) for array in (data, x, cell))
    m = data.shape[1]
    at = np.flatnonzero(periodic)
    inverse = np.linalg.pinv(cell[at]) if len(at) else np.zeros((m, 0))
    reach = r * m ** max(0.5 - 1 / p, 0)
    found = {}
    for i, j in itertools.product(range(len(x)), range(len(data))):
        difference = data[j] - x[i]
        fractions = -(difference @ inverse)
        span = np.linalg.norm(inverse, axis=0) * reach + 1e-6
        ranges = [
            np.arange(np.ceil(f - s), np.floor(f + s) + 1) for f, s in zip(fractions, span, strict=True)
        ]
        grids = np.meshgrid(*ranges, indexing="ij") if ranges else []
        along = np.stack(grids, axis=-1).reshape(-1, len(at)) if ranges else np.zeros((1, 0))
        shifts = np.zeros((len(along), m), int)
        shifts[:, at] = along
        distances = np.linalg.norm(difference + shifts @ cell, ord=p, axis=1)
        for shift, distance in zip(shifts, distances, strict=True):
            if distance <= r:
                found[(i, j, *shift.tolist())] = distance
    return found


def random_cell(rng, m, cutoff=1.0):
    """Return a cell with vectors from 0.3 to 5 of the cutoff and angles down to five degrees."""
    lengths = cutoff * 10.0 ** rng.uniform(-0.5, 0.7, m)
    while True:
        directions = rng.normal(size=(m, m))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        if m > 1 and rng.random() < 0.5:
            angle = np.deg2rad(rng.uniform(5, 20))
            across = directions[1] - directions[1] @ directions[0] * directions[0]
            across /= np.linalg.norm(across)
            directions[1] = np.cos(angle) * directions[0] + np.sin(angle) * across
        if abs(np.linalg.det(directions)) > 0.02:
            return directions * lengths[:, None]


def random_points(rng, n, cell):
    """Return points in the cell and far outside."""
    fractions = rng.random((n, len(cell)))
    if rng.random() < 0.5:
        fractions += rng.integers(-30, 30, fractions.shape)
    return fractions @ cell


def edge_set(graph, count=None):
    """Return the edges of a graph as a set of (receiver, sender, *shift)."""
    receivers = np.asarray(graph.receivers)[:count]
    senders = np.asarray(graph.senders)[:count]
    shifts = np.asarray(graph.shifts)[:count]
    edges = list(zip(receivers.tolist(), senders.tolist(), *shifts.T.tolist(), strict=True))
    assert len(edges) == len(set(edges))
    return set(edges)


def without_points_themselves(found):
    return {edge for edge in found if edge[0] != edge[1] or any(edge[2:])}


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_edges_of_random_cells(m, dtype):
    rng = np.random.default_rng(m)
    for _ in range(40 if m < 3 else 12):
        cell = random_cell(rng, m).astype(dtype)
        periodic = tuple(bool(flag) for flag in rng.random(m) < 0.8)
        points = random_points(rng, int(rng.integers(1, 9)), cell).astype(dtype)
        radius = np.float32(rng.uniform(0.2, 1.2))
        graph = KDTree(points, cell=cell, periodic=periodic).radius_graph(radius)
        expected = images_within(points, points, float(radius), cell, periodic)
        assert edge_set(graph) == without_points_themselves(expected)
        assert graph.distances.dtype == dtype
        assert graph.count == len(graph.senders)
        rows = zip(*(np.asarray(each).tolist() for each in graph[:2]), strict=True)
        keys = [(i, j, *s) for (j, i), s in zip(rows, np.asarray(graph.shifts).tolist(), strict=True)]
        np.testing.assert_allclose(graph.distances, [expected[key] for key in keys], rtol=1e-6, atol=1e-7)


# One program for each engine, precision and number of dimensions serves all cells.
@pytest.mark.thorough
@pytest.mark.daily("None", "2-float32-lax")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("m", "dtype"), [(2, "float32"), (3, "float64")])
def test_edges_of_random_cells_in_one_program(engine, m, dtype):
    rows = 8
    periodic = (True,) * m

    @jax.jit
    def edges(points, n, cell, radius):
        tree = KDTree(points, n=n, cell=cell, periodic=periodic, engine=engine)
        return tree.radius_graph(radius, max_edges=2048)

    rng = np.random.default_rng(10 + m)
    for _ in range(40 if m < 3 else 12):
        cell = random_cell(rng, m).astype(dtype)
        n = int(rng.integers(1, rows + 1))
        points = random_points(rng, rows, cell).astype(dtype)
        radius = np.float32(rng.uniform(0.2, 0.9))
        expected = without_points_themselves(
            images_within(points[:n], points[:n], float(radius), cell, periodic)
        )
        with jax.enable_x64(dtype == "float64"):
            graph = edges(points, np.int32(n), cell, radius)
        assert int(graph.count) == len(expected)
        if len(expected) <= 2048:
            assert not graph.did_buffer_overflow
            assert np.count_nonzero(graph.mask) == len(expected)
            assert edge_set(graph, len(expected)) == expected
            assert (np.asarray(graph.receivers)[len(expected) :] == n).all()


def crystal(dtype="float64"):
    """Return a sheared cell with five points, some of them outside."""
    cell = np.asarray([[1.0, 0.0, 0.0], [0.9, 1.1, 0.0], [0.2, 0.3, 0.9]], dtype)
    points = np.random.default_rng(0).random((5, 3)) @ cell
    points[1] += [3.0, -2.0, 1.0]
    return points.astype(dtype), cell


QUERIES = np.random.default_rng(1).uniform(-2, 3, (4, 3))


@pytest.mark.thorough
@pytest.mark.daily("None")
@pytest.mark.parametrize("engine", ENGINES)
def test_every_search_counts_images(engine, monkeypatch):
    points, cell = crystal()
    tree = KDTree(points, cell=cell, engine=engine)
    radius = 0.8
    found = images_within(points, QUERIES, radius, cell, (True,) * 3)
    counts = np.bincount([key[0] for key in found], minlength=4)

    near = tree.query_radius(QUERIES, radius, sort=True)
    assert np.diff(near.indptr).tolist() == counts.tolist()
    keys = zip(
        near.receivers.tolist(), near.indices.tolist(), *np.asarray(near.shifts).T.tolist(), strict=True
    )
    assert set(keys) == set(found)
    assert (np.diff(near.distances)[np.diff(near.receivers) == 0] >= 0).all()

    if engine is not None:  # in pieces of four queries
        room = 1 << max(int(counts.max()) - 1, 7).bit_length()
        monkeypatch.setattr("jaxapi.spatial._cells._program_searcher.NEIGHBORS_AT_ONCE", 4 * room)
        more = tree.query_radius(np.concatenate([QUERIES, QUERIES[:3]]), radius, sort=True)
        assert np.diff(more.indptr).tolist() == [*counts.tolist(), *counts[:3].tolist()]
        np.testing.assert_array_equal(more.indices[: len(near.indices)], near.indices)
        np.testing.assert_array_equal(more.shifts[: len(near.indices)], near.shifts)

    room = 32
    assert counts.max() < room
    fixed = tree.query_radius(QUERIES, radius, max_neighbors=room, fill_value=9.0)
    assert fixed.counts.tolist() == counts.tolist()
    assert fixed.shifts.shape == (4, room, 3)
    np.testing.assert_array_equal(np.asarray(fixed.indices)[np.asarray(fixed.mask)], near.indices)
    np.testing.assert_array_equal(np.asarray(fixed.shifts)[np.asarray(fixed.mask)], near.shifts)
    np.testing.assert_allclose(np.asarray(fixed.distances)[np.asarray(fixed.mask)], near.distances)
    assert (np.asarray(fixed.distances)[~np.asarray(fixed.mask)] == 9).all()

    if engine is None:  # of another size, for which an engine's program is compiled anew
        cut = tree.query_radius(QUERIES, radius, max_neighbors=2)
        assert cut.counts.tolist() == counts.tolist()
        assert bool(cut.did_buffer_overflow)
        np.testing.assert_array_equal(cut.shifts, np.asarray(fixed.shifts)[:, :2])

    lists = tree.query_ball_point(QUERIES, radius)
    assert [len(each) for each in lists] == counts.tolist()
    assert tree.query_ball_point(QUERIES, radius, return_length=True).tolist() == counts.tolist()
    if engine is None:
        lengths = tree.query_ball_point(QUERIES.reshape(2, 2, 3), radius, return_length=True)
        np.testing.assert_array_equal(lengths, counts.reshape(2, 2))
        assert tree.query_ball_point(QUERIES[0], radius, return_length=True).shape == ()

    distances, rows, shifts = tree.query(QUERIES, 40, return_shifts=True)
    vectors = points[np.asarray(rows)] + np.asarray(shifts) @ cell - QUERIES[:, None]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=2), distances)
    for i in range(4):
        far = images_within(points, QUERIES[i : i + 1], float(distances[i, -1]) * 1.001, cell, (True,) * 3)
        np.testing.assert_allclose(sorted(far.values())[:40], distances[i])

    among = images_within(points, points, radius, cell, (True,) * 3)
    radii = [0.3, radius]
    fewer = images_within(points, points, 0.3, cell, (True,) * 3)
    assert tree.count_neighbors(tree, radii).tolist() == [len(fewer), len(among)]
    weights = np.arange(1.0, 6.0)
    products = [sum(weights[key[0]] * weights[key[1]] for key in each) for each in (fewer, among)]
    np.testing.assert_allclose(tree.count_neighbors(tree, radii, weights=weights), products)

    other = KDTree(QUERIES, engine=engine)  # whose images are those in the cell of the tree
    seen = images_within(QUERIES, points, radius, cell, (True,) * 3)
    rows_seen = [sorted(j for i, j, *_ in seen if i == point) for point in range(5)]
    assert tree.query_ball_tree(other, radius) == rows_seen
    nearest = {}
    for (i, j, *_), distance in seen.items():
        nearest[i, j] = min(distance, nearest.get((i, j), np.inf))
    assert len(nearest) < len(seen)
    matrix = tree.sparse_distance_matrix(other, radius, output_type="dict")
    assert matrix.keys() == nearest.keys()
    np.testing.assert_allclose([matrix[key] for key in nearest], list(nearest.values()))

    pairs = tree.query_pairs(radius, output_type="ndarray")
    halves = set()
    for i, j, *shift in without_points_themselves(among):
        if i < j or (i == j and next(each for each in shift if each) > 0):
            halves.add((i, j, *shift))
    assert len(pairs.pairs) == len(halves) == pairs.count
    ends = zip(*np.asarray(pairs.pairs).T.tolist(), *np.asarray(pairs.shifts).T.tolist(), strict=True)
    assert set(ends) == halves
    fixed_pairs = tree.query_pairs(radius, max_pairs=1024)
    ends = np.concatenate([fixed_pairs.pairs, fixed_pairs.shifts], axis=1)[np.asarray(fixed_pairs.mask)]
    assert set(map(tuple, ends.tolist())) == halves


@pytest.mark.thorough
@pytest.mark.daily("None")
@pytest.mark.parametrize("engine", ENGINES)
def test_others_than_the_point_itself(engine):
    points, cell = crystal("float32")
    tree = KDTree(points, cell=cell, engine=engine)
    distances, rows, shifts = tree.kneighbors(6, return_shifts=True)
    graph = tree.knn_graph(6)
    np.testing.assert_array_equal(graph.senders, rows.reshape(-1))
    np.testing.assert_array_equal(graph.shifts, shifts.reshape(-1, 3))
    np.testing.assert_array_equal(tree.kneighbors(6)[0], distances)
    vectors = tree.displacements(tree.data[graph.receivers], graph.senders, shifts=graph.shifts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), graph.distances, rtol=1e-6)
    for i in range(5):
        found = images_within(points, points[i : i + 1], float(distances[i, -1]) + 1e-5, cell, (True,) * 3)
        others = sorted(d for key, d in found.items() if key[1] != i or any(key[2:]))
        np.testing.assert_allclose(others[:6], distances[i], rtol=1e-6)
    alone = KDTree([[7.0, 7.0]], cell=[[1.0, 0.0], [0.0, 2.0]], engine=engine)
    graph = alone.knn_graph(2)
    assert graph.senders.tolist() == [0, 0]
    assert graph.distances.tolist() == [1.0, 1.0]
    assert graph.shifts.tolist() == [[-1, 0], [1, 0]]
    assert alone.query([7.0, 7.0], 3)[0].tolist() == [0.0, 1.0, 1.0]


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", ENGINES)
def test_images_join_clusters(engine):
    rng = np.random.default_rng(3)
    cell = np.array([[3.0, 0.0], [2.5, 3.0]])
    points = rng.random((30, 2)) @ cell
    radius = 0.45
    tree = KDTree(points, cell=cell, engine=engine)
    found = images_within(points, points, radius, cell, (True, True))
    linked = np.zeros((30, 30))
    neighbor_counts = np.zeros(30, int)
    for i, j, *_ in found:
        linked[i, j] = 1
        neighbor_counts[i] += 1
    count, labels = connected_components(linked)
    components = tree.connected_components(radius)
    assert components.count == count
    np.testing.assert_array_equal(components.labels, labels)
    inside_only = KDTree(points, engine=engine).connected_components(radius)
    assert components.count < inside_only.count

    clusters = tree.dbscan(radius, 4)
    is_core = neighbor_counts >= 4
    np.testing.assert_array_equal(clusters.core, is_core)
    cores = np.flatnonzero(is_core)
    _, core_labels = connected_components(linked[np.ix_(cores, cores)])
    expected = np.full(30, -1)
    expected[cores] = core_labels
    for i in np.flatnonzero(~is_core):
        reached = core_labels[linked[i, cores] > 0]
        expected[i] = reached.min(initial=30) if len(reached) else -1
    np.testing.assert_array_equal(clusters.labels, expected)


def lattice_energy(points, cell, engine, room=512):
    """Return a smooth energy of pairs within a cutoff."""
    cutoff = 0.9
    tree = KDTree(points, cell=cell, engine=engine)
    graph = tree.radius_graph(cutoff, max_edges=room, fill_value=cutoff)
    return jnp.sum(jnp.where(graph.mask, (1 - graph.distances / cutoff) ** 4, 0)) / 2


@pytest.mark.thorough
@pytest.mark.daily("None")
@pytest.mark.parametrize("engine", ENGINES)
def test_forces_and_stress_equal_central_differences(engine):
    with jax.enable_x64(True):
        check_slopes(engine)


def check_slopes(engine):
    points, cell = crystal()

    @jax.jit
    def strained(strain, points, cell):
        deformation = jnp.eye(3, dtype=points.dtype) + strain
        return lattice_energy(points @ deformation, cell @ deformation, engine)

    no_strain = np.zeros((3, 3))
    stress = jax.grad(strained)(no_strain, points, cell)
    forces = jax.grad(strained, 1)(no_strain, points, cell)
    step = 1e-5
    for index in np.ndindex(3, 3):
        change = np.zeros((3, 3))
        change[index] = step
        difference = strained(change, points, cell) - strained(-change, points, cell)
        np.testing.assert_allclose(stress[index], difference / (2 * step), rtol=1e-6, atol=1e-8)
        change = np.zeros_like(points)
        change[index] = step
        difference = strained(no_strain, points + change, cell) - strained(no_strain, points - change, cell)
        np.testing.assert_allclose(forces[index], difference / (2 * step), rtol=1e-6, atol=1e-8)
    # Of second order: the elastic constants
    slopes = jax.jit(jax.grad(strained))
    change = np.zeros((3, 3))
    change[0, 1] = step
    second = jax.jvp(lambda strain: slopes(strain, points, cell), (no_strain,), (change / step,))[1]
    difference = slopes(change, points, cell) - slopes(-change, points, cell)
    np.testing.assert_allclose(second, difference / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ENGINES)
def test_displacements_have_slopes(engine):
    points, cell = crystal("float32")
    tree = KDTree(points, cell=cell, engine=engine)
    graph = tree.radius_graph(0.7)

    def along(points, cell, x):
        tree = KDTree(points, cell=cell, engine=engine)
        return tree.displacements(x, graph.senders, shifts=graph.shifts)

    x = points[np.asarray(graph.receivers)]
    vectors = along(points, cell, x)
    plain = points[np.asarray(graph.senders)] + np.asarray(graph.shifts) @ cell.astype(np.float64) - x
    np.testing.assert_allclose(vectors, plain, rtol=1e-6, atol=1e-6)
    weights = np.random.default_rng(0).normal(size=vectors.shape).astype("float32")
    of_points, of_cell, of_x = jax.jit(
        jax.grad(lambda *args: jnp.sum(along(*args) * weights), argnums=(0, 1, 2))
    )(points, cell, x)
    expected = np.zeros_like(points)
    np.add.at(expected, np.asarray(graph.senders), weights)
    np.testing.assert_allclose(of_points, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(of_cell, np.asarray(graph.shifts).T @ weights, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(of_x, -weights, rtol=1e-6)
    nothing = tree.displacements(points[:1], np.array([[5, 0]]), shifts=np.ones((1, 2, 3), int))
    assert nothing[0, 0].tolist() == [0, 0, 0]


@pytest.mark.thorough
def test_no_points_and_what_programs_cannot_check():
    points, cell = crystal("float32")
    for engine in ENGINES:
        nothing = KDTree(np.zeros((0, 3)), cell=cell, engine=engine)
        assert nothing.query([[0.0, 0.0, 0.0]], 2, return_shifts=True)[1].tolist() == [[0, 0]]
        assert nothing.radius_graph(1.0).count == 0
        no_queries = np.zeros((0, 3), "float32")
        counts = KDTree(points, cell=cell, engine=engine).query_ball_point(
            no_queries, 1.0, return_length=True
        )
        assert counts.shape == (0,)
        search = jax.vmap(lambda points, cell=cell: KDTree(points, cell=cell).radius_graph(1.0, max_edges=2))
        assert search(np.zeros((2, 0, 3))).count.tolist() == [0, 0]

        @jax.jit
        def count(points, cell, radius, engine=engine):
            return KDTree(points, cell=cell, engine=engine).radius_graph(radius, max_edges=512).count

        assert count(points, np.ones((3, 3), "float32"), 0.8) == 0  # singular
        assert count(points, cell * np.nan, 0.8) == 0
        assert count(points, cell, np.inf) == 0
        assert count(points, cell, np.nan) == count(points, cell, -1.0) == 0
        lost = np.where(np.arange(5)[:, None] == 2, np.nan, points).astype("float32")
        left = KDTree(np.delete(points, 2, axis=0), cell=cell).radius_graph(0.8).count
        assert count(lost, cell, 0.8) == left


@pytest.mark.thorough
def test_vmap_of_an_engine():
    points, cell = crystal("float32")
    cells = np.stack([cell, 1.2 * cell])

    def search(cell):
        return KDTree(points, cell=cell, engine="lax").query(points[:2], 4, return_shifts=True)

    found = jax.jit(jax.vmap(search))(cells)
    for i, each in enumerate(cells):
        expected = KDTree(points, cell=each).query(points[:2], 4, return_shifts=True)
        for array, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(array[i], other, atol=1e-6)


def test_vmap_scan_and_pytrees():
    points, cell = crystal()

    def count(points, cell):
        return KDTree(points, cell=cell).radius_graph(0.8, max_edges=300).count

    cells = np.stack([cell, 1.2 * cell, 0.9 * cell])
    expected = [
        len(without_points_themselves(images_within(points, points, 0.8, each, (True,) * 3)))
        for each in cells
    ]
    assert jax.vmap(count, (None, 0))(points, cells).tolist() == expected
    assert jax.lax.scan(lambda _, each: (None, count(points, each)), None, cells)[1].tolist() == expected

    tree = KDTree(points, cell=cell)
    leaves, structure = jax.tree.flatten(tree)
    again = jax.tree.unflatten(structure, leaves)
    assert again.radius_graph(0.8).count == expected[0]
    searched = jax.jit(lambda tree, x: tree.query(x, 3, return_shifts=True))(tree, QUERIES)
    for array, other in zip(searched, tree.query(QUERIES, 3, return_shifts=True), strict=True):
        np.testing.assert_allclose(array, other, rtol=1e-6, atol=1e-6)


def test_pickles_and_repr():
    points, cell = crystal("float32")
    tree = KDTree(points, cell=cell, periodic=(True, True, False))
    again = pickle.loads(pickle.dumps(tree))
    assert edge_set(again.radius_graph(0.8)) == edge_set(tree.radius_graph(0.8))
    assert "periodic=(True, True, False)" in repr(again)
    assert tree.periodic == (True, True, False)
    np.testing.assert_array_equal(tree.cell, cell)


def test_equal_distances_come_by_row_and_shift():
    tree = KDTree([[0.0, 0.0], [0.5, 0.5]], cell=np.eye(2))
    distances, rows, shifts = tree.query([0.0, 0.0], 9, return_shifts=True)
    assert rows.tolist() == [0, 1, 1, 1, 1, 0, 0, 0, 0]
    assert shifts[1:5].tolist() == [[-1, -1], [-1, 0], [0, -1], [0, 0]]
    assert shifts[5:].tolist() == [[-1, 0], [0, -1], [0, 1], [1, 0]]
    assert distances[5:].tolist() == [1.0] * 4


@pytest.mark.thorough
def test_a_radius_of_whole_cells_reaches_both_ways():
    cell = np.array([[0.35]])
    for engine in ENGINES:
        graph = KDTree([[0.123], [77.7]], cell=cell, engine=engine).radius_graph(3 * 0.35)
        edges = edge_set(graph)
        assert {(j, i, -s) for i, j, s in edges} == edges


def line_of_points():
    """Return points on a line, a tenth apart up to rounding, many outside of the cell, and the cell."""
    rng = np.random.default_rng(0)
    points = rng.permutation(24)[:, None] * 0.1 + rng.integers(-5, 5, (24, 1)) * 2.4
    return points, np.array([[2.4]])


@pytest.mark.thorough
@pytest.mark.daily("None")
@pytest.mark.parametrize("engine", ENGINES)
def test_radii_that_reach_points_up_to_rounding(engine):
    points, cell = line_of_points()
    radius = 0.1 + 0.2
    found = images_within(points, points, radius, cell, (True,))
    others = without_points_themselves(found)
    halves = {key for key in others if key[0] < key[1]}
    counts = np.bincount([key[0] for key in found], minlength=24)
    assert len(set(counts.tolist())) > 1  # rounding decides
    weights = np.arange(1.0, 25.0)
    sums = [sum(weights[key[0]] * weights[key[1]] for key in found)]
    weight_of_each = np.bincount([key[0] for key in found], [weights[key[1]] for key in found], 24)

    def search(points, radius):
        tree = KDTree(points, cell=cell, engine=engine)
        return {
            "whole": tree.query_radius(points, radius, max_neighbors=int(counts.max())),
            "cut": tree.query_radius(points, radius, max_neighbors=3),
            "counts": tree.query_ball_point(points, radius, return_length=True),
            "graph": tree.radius_graph(radius, max_edges=len(others)),
            "pairs": tree.query_pairs(radius, max_pairs=len(halves)),
            "number": tree.count_neighbors(tree, [radius]),
            "sums": tree.count_neighbors(tree, [radius], weights=(weights, weights)),
            "cores": tree.dbscan(radius, int(counts.max())).core,
            "heavy": tree.dbscan(radius, int(np.median(weight_of_each)), sample_weight=weights).core,
            "components": tree.connected_components(0.1),
        }

    with jax.enable_x64(True):
        results = jax.jit(search)(points, radius)
        near = KDTree(points, cell=cell, engine=engine).query_radius(points, radius)
    keys = zip(
        *(np.asarray(each).tolist() for each in (near.receivers, near.indices, near.shifts[:, 0])),
        strict=True,
    )
    assert set(keys) == set(found)
    assert np.isfinite(near.distances).all()
    for name in ("whole", "cut"):
        lines = results[name]
        np.testing.assert_array_equal(lines.counts, counts)
        rows = np.asarray(lines.indices)[np.asarray(lines.mask)]
        assert len(rows) == np.minimum(counts, lines.indices.shape[1]).sum()
        assert (rows < 24).all()
    np.testing.assert_array_equal(results["counts"], counts)
    assert int(results["graph"].count) == len(others)
    assert edge_set(results["graph"]) == others
    pairs = results["pairs"]
    assert int(pairs.count) == len(halves)
    assert set(map(tuple, np.concatenate([pairs.pairs, pairs.shifts], axis=1).tolist())) == halves
    assert results["number"].tolist() == [len(found)]
    np.testing.assert_allclose(results["sums"], sums)
    np.testing.assert_array_equal(results["cores"], counts == counts.max())
    np.testing.assert_array_equal(results["heavy"], weight_of_each >= int(np.median(weight_of_each)))
    linked = np.zeros((24, 24))
    for i, j, *_ in images_within(points, points, 0.1, cell, (True,)):
        linked[i, j] = 1
    assert int(results["components"].count) == connected_components(linked)[0] > 1


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", ENGINES)
def test_nearest_of_equal_distances_are_the_lowest_rows(engine):
    points, cell = line_of_points()
    lines = np.repeat(points, 3, axis=0)  # three points at each place
    with jax.enable_x64(True):
        tree = KDTree(lines, cell=cell, engine=engine)
        distances, rows, shifts = tree.query(points, 5, return_shifts=True)
        fixed = tree.query_radius(points, 0.15, max_neighbors=5)
    found = images_within(lines, points, 0.35, cell, (True,))
    for i in range(24):
        keys = sorted((distance, *key[1:]) for key, distance in found.items() if key[0] == i)[:5]
        expected = [list(each) for each in zip(*keys, strict=True)]
        assert distances[i].tolist() == expected[0]
        assert rows[i].tolist() == fixed.indices[i].tolist() == expected[1]
        assert shifts[i, :, 0].tolist() == fixed.shifts[i, :, 0].tolist() == expected[2]


@pytest.mark.thorough
def test_pairs_of_many_leaves_by_an_engine():
    rng = np.random.default_rng(4)
    cell = np.array([[3.0, 0.0], [1.0, 2.0]], "float32")
    points = (rng.random((150, 2)) @ cell).astype("float32")
    pairs = KDTree(points, cell=cell, engine="lax").query_pairs(0.4, output_type="ndarray")
    expected = KDTree(points, cell=cell).query_pairs(0.4, output_type="ndarray")
    ends = [np.concatenate([each.pairs, each.shifts], axis=1).tolist() for each in (pairs, expected)]
    assert sorted(ends[0]) == sorted(ends[1])
    assert np.asarray(pairs.shifts).any(axis=1).sum() > 10


@pytest.mark.thorough
def test_queries_far_above_a_slab():
    cell = np.eye(3)
    points = np.random.default_rng(5).random((6, 3))
    x = np.array([[0.3, 0.4, 3000.0], [0.3, 0.4, -2000.0], [5.1, -3.2, 0.5]])
    with jax.enable_x64(True):
        tree = KDTree(points, cell=cell, periodic=(True, True, False), engine="lax")
        distances = tree.query(x, 4)[0]
        counts = tree.query_ball_point(x[1:2], 2000.5, return_length=True)
    shifts = np.array([[i, j, 0] for i in range(-60, 61) for j in range(-60, 61)])
    for i, query in enumerate(x):
        images = points[:, None] + shifts - query
        expected = np.sort(np.linalg.norm(images, axis=2).ravel())
        np.testing.assert_allclose(distances[i], expected[:4], rtol=1e-12)
        if i == 1:
            assert int(counts[0]) == np.count_nonzero(expected <= 2000.5)


def test_mutable_arrays():
    points, cell = crystal()
    tree = xp.spatial.KDTree(points, cell=cell)
    import jaxapi.mutable as mutable

    other = mutable.spatial.KDTree(points, cell=cell)
    np.testing.assert_array_equal(other.radius_graph(0.8).shifts, tree.radius_graph(0.8).shifts)


ERRORS = [
    (ValueError, "of shape", {"cell": np.eye(3)}),
    (ValueError, "finite", {"cell": [[np.nan, 0.0], [0.0, 1.0]]}),
    (ValueError, "singular", {"cell": [[1.0, 2.0], [2.0, 4.0]]}),
    (ValueError, "singular", {"cell": np.zeros((2, 2))}),
    (ValueError, "periodic", {"cell": np.eye(2), "periodic": (True, False, True)}),
    (ValueError, "periodic", {"cell": np.eye(2), "periodic": 1.0}),
    (ValueError, "periodic", {"periodic": (True, False)}),
    (ValueError, "boxsize", {"cell": np.eye(2), "boxsize": 1.0}),
    (ValueError, "of shape", {"cell": np.ones((3, 2, 2))}),
]


@pytest.mark.parametrize(("error", "text", "arguments"), ERRORS)
def test_bad_cells_are_refused(error, text, arguments):
    with pytest.raises(error, match=text):
        KDTree(np.zeros((4, 2)), **arguments)


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", ENGINES)
def test_points_and_queries_that_shifts_cannot_reach_are_refused(engine):
    cell = np.array([[1.0, 0.0], [1e6, 1.0]])
    tree = KDTree([[0.0, 0.0]], cell=cell, engine=engine)
    far = [[0.0, 3000.0]]  # at -3e9 times the first vector
    with pytest.raises(ValueError, match="2\\*\\*29 cells"):
        tree.query(far)
    with pytest.raises(ValueError, match="2\\*\\*29 cells"):
        KDTree(far, cell=cell, engine=engine).radius_graph(1.0)
    padded = KDTree([[0.0, 0.0], *far], cell=cell, engine=engine, n=1)  # whose other row does not matter
    assert padded.radius_graph(0.5).count == 0
    of_clouds = KDTree([[0.0, 0.0]], cell=cell[None], batch=[0], engine=engine)
    with pytest.raises(ValueError, match="2\\*\\*29 cells"):
        of_clouds.query(far, batch=0)
    found = jax.jit(lambda x: tree.query(x, return_shifts=True))(np.array([*far, [0.0, 200.0]]))
    assert found[1].tolist() == [1, 0]
    assert found[2].tolist() == [[0, 0], [-200_000_000, 200]]


def test_what_images_cannot_have_is_refused():
    tree = KDTree([[0.1, 0.2], [0.5, 0.5]], cell=np.eye(2))
    with pytest.raises(ValueError, match="infinite"):
        tree.radius_graph(np.inf)
    with pytest.raises(ValueError, match="no shifts"):
        tree.query_pairs(1.0)
    with pytest.raises(ValueError, match="shifts"):
        tree.displacements(tree.data, [0, 1])
    with pytest.raises(ValueError, match="shape"):
        tree.displacements(tree.data, [0, 1], shifts=[0, 1])
    with pytest.raises(ValueError, match="return_shifts"):
        KDTree([[0.0]]).query([0.0], return_shifts=True)
    for method in (tree.minimum_spanning_tree, tree.hdbscan):
        with pytest.raises(TypeError, match="cell"):
            method()
    with pytest.raises(ValueError, match="return_shifts"):
        KDTree([[0.0]]).kneighbors(1, return_shifts=True)
    clouds = KDTree([[0.0, 0.0]], batch=[0])
    for method in (tree.query_ball_tree, tree.sparse_distance_matrix):
        with pytest.raises(ValueError, match="clouds"):
            method(clouds, 1.0)


def test_queries_so_far_above_a_slab_that_no_image_is_searched():
    cell = np.eye(3) * 3
    points = np.random.default_rng(0).random((5, 3)) * [3, 3, 0.01]
    tree = KDTree(points, cell=cell, periodic=(True, True, False))
    x = np.array([[0.3, 0.2, 3e3], [0.3, 0.2, -50.0], [1.0, 1.0, 2.0]])
    distances, rows, shifts = tree.query(x, 2, return_shifts=True)
    for query, *nearest in zip(x, distances, rows, shifts, strict=True):
        grid = np.stack(np.meshgrid(range(-40, 41), range(-40, 41), [0], indexing="ij"), axis=-1)
        vectors = points[:, None] + grid.reshape(1, -1, 3) @ cell - query
        lengths = np.linalg.norm(vectors, axis=2)
        row, number = np.unravel_index(np.argsort(lengths, axis=None)[:2], lengths.shape)
        np.testing.assert_allclose(nearest[0], np.sort(lengths, axis=None)[:2], rtol=1e-14)
        np.testing.assert_array_equal(nearest[1], row)
        np.testing.assert_array_equal(nearest[2], grid.reshape(-1, 3)[number])
    # A radius that does not lead to the plane reaches nothing.
    assert tree.query_ball_point(x, [2900.0, 40.0, 1.5], return_length=True).tolist() == [0, 0, 0]
    clouds = KDTree(points, cell=cell, periodic=(True, True, False), batch=[0] * 5)
    far = [[0.0, 0.0, 1e30], [1.0, 1.0, 0.0]]
    expected = [0, tree.query_ball_point(far[1], 1.0, return_length=True)]
    counts = clouds.query_ball_point(far, 1.0, batch=0, return_length=True)
    assert counts.tolist() == expected
    assert clouds.query(far[0], 1, distance_upper_bound=1e29, batch=0)[1] == 5
    if clouds.engine == "scipy":  # the other engines have no limit but the time
        with pytest.raises(ValueError, match="images of the cell"):
            clouds.query_radius(far[0], 2e30, batch=0)
        with pytest.raises(ValueError, match="images of the cell"):
            tree.query_radius(points, 1e5)


@pytest.mark.parametrize(("k", "far"), [(4, 1e14), (120, 1e12), (120, 1e15)])
def test_many_images_of_a_long_cell_from_far_off_its_plane(k, far):
    """Images next to each other along the short vector are equally near from there."""
    points = np.random.default_rng(0).random((7, 3)) * [1.0, 1000.0, 1.0]
    cell = np.diag([1.0, 1000.0, 1.0])
    x = np.array([[0.3, 0.3, far]])
    with jax.enable_x64(True):
        tree = KDTree(points, cell=cell, periodic=(True, True, False))
        distances, rows, shifts = map(np.asarray, tree.query(x, k, return_shifts=True))
    nearest = np.sort(far - points[:, 2])[0]
    np.testing.assert_allclose(distances[0], nearest, rtol=2.0**-52 + 1 / far)
    vectors = points[rows[0]] + shifts[0] @ cell - x
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), distances[0], rtol=5e-16)
    assert len(np.unique(np.column_stack([rows[0], shifts[0]]), axis=0)) == k


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", ENGINES)
def test_radii_of_queries_far_from_their_cloud(engine):
    """A query is not within a radius that is longer than its coordinates alone."""
    points = np.float32([[0, 0], [1, 0], [0, 1], [5, 5]])
    ids = np.int32([0, 0, 1, 1])
    x = np.float32([[3e29, 3e29], [0, 1e30], [0.5, 0]])
    query_ids = np.int32([0, 1, 0])
    tree = KDTree(points, batch=ids, engine=engine)
    queries = KDTree(x, batch=query_ids, engine=engine)
    radii = np.float32([1, 3.5e29, 4.5e29, 2e30])
    vectors = points.astype(float) - x.astype(float)[:, None]
    is_neighbor = query_ids[:, None] == ids
    is_within = (np.linalg.norm(vectors, axis=2) <= radii[:, None, None]) & is_neighbor
    for radius, counts in zip(radii, is_within.sum(axis=2), strict=True):
        found = tree.query_ball_point(x, radius, return_length=True, batch=query_ids)
        assert found.tolist() == counts.tolist()
        fixed = tree.query_radius(x, radius, max_neighbors=1, batch=query_ids)
        assert fixed.counts.tolist() == counts.tolist()
    assert queries.count_neighbors(tree, radii).tolist() == is_within.sum(axis=(1, 2)).tolist()
    weights = np.float32([1, 10, 100]), np.float32([1, 2, 4, 8])
    sums = (is_within * weights[0][:, None] * weights[1]).sum(axis=(1, 2))
    assert queries.count_neighbors(tree, radii, weights=weights).tolist() == sums.tolist()


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("has_clouds", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("periodic", [(True, True, False), (True, False)])
def test_queries_from_which_rounding_hides_that_images_differ(periodic, engine, has_clouds):
    """Far off the plane of the cell: the nearest points of one cell are not the nearest of all images."""
    m = len(periodic)
    rng = np.random.default_rng(m)
    points = rng.random((7, m))
    cell = np.eye(m) + 0.3 * np.tril(rng.random((m, m)), -1)
    shifts = np.array(list(itertools.product(*(range(-6, 7) if flag else [0] for flag in periodic))))
    images = (points[:, None] + shifts @ cell).astype(np.longdouble)
    ids = {"batch": [0] * 7} if has_clouds else {}
    query_ids = {"batch": [0]} if has_clouds else {}
    with jax.enable_x64(True):
        tree = KDTree(points, cell=cell, periodic=periodic, engine=engine, **ids)
        for far in (1e3, 1e18) if engine == "lax" else (1e3, 1e8, 1e10, 1e18, -1e150):
            x = np.array([[0.3] * (m - 1) + [far]])
            lengths = np.sqrt(((images - x) ** 2).sum(axis=-1)).ravel()
            for k in (1, 4, 11):
                columns = [*range(1, k + 1)]
                nearest = tree.query(x, columns, return_shifts=True, **query_ids)
                distances, rows, found = map(np.asarray, nearest)
                np.testing.assert_allclose(distances[0], np.sort(lengths)[:k], rtol=5e-16)
                vectors = points[rows[0]] + found[0] @ cell - x.astype(np.longdouble)
                np.testing.assert_allclose(np.sqrt((vectors**2).sum(axis=1)), distances[0], rtol=5e-16)
                assert len(np.unique(np.column_stack([rows[0], found[0]]), axis=0)) == k


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("depth", "far"), [(1e3, 1e13), (1e3, 1e15), (1e6, 1e12)])
def test_queries_far_off_points_that_are_deep(depth, far, engine):
    """All images of the upper point are nearer than the lower one, which is in the same cell."""
    points = np.array([[0.25, 0.5, 0.0], [0.5, 0.25, -depth]])
    with jax.enable_x64(True):
        tree = KDTree(points, cell=np.eye(3), periodic=(True, True, False), engine=engine)
        distances, rows, shifts = tree.query([0.3, 0.3, far], 4, return_shifts=True)
    assert np.asarray(distances).tolist() == [far] * 4
    assert np.asarray(rows).tolist() == [0] * 4
    assert len(np.unique(shifts, axis=0)) == 4


def test_pairs_at_the_border_are_measured():
    cell = np.diag([0.1, 0.3])
    points = np.array([[0.123, 0.2], [77.7, -3.1], [0.173, 0.05]])
    radii = np.array([0.0, 0.1, 0.2, 0.3, 0.30000000000000004])
    tree = KDTree(points, cell=cell)
    other = KDTree(points[:2] + np.array([0.1, 0.3]))
    weights = np.array([1.0, 2.0, 5.0]), np.array([3.0, -1.0])
    for queries, sought in ((points, tree), (points, other)):
        found = images_within(sought.data, queries, 0.31, cell, (True, True))
        expected = [sum(distance <= r for distance in found.values()) for r in radii]
        assert tree.count_neighbors(sought, radii).tolist() == expected
    expected = [
        sum(weights[0][i] * weights[1][j] for (i, j, *_), d in found.items() if d <= r) for r in radii
    ]
    assert tree.count_neighbors(other, radii, weights=weights).tolist() == expected


@pytest.mark.daily
def test_more_images_than_are_searched_for_at_once():
    points = np.random.default_rng(6).random((20, 2))
    cell = np.array([[1.0, 0.0], [0.4, 0.9]])
    x = np.array([[0.3, 0.2], [-2.0, 5.0], [0.5, 0.5]])
    radii = np.array([335.0, 0.9, 40.0])
    counts = []
    nearest = []
    for query, radius in zip(x, radii, strict=True):
        box = int(radius / 0.9) + 15  # planes of the lattice are 0.9 apart and more
        steps = np.mgrid[-box : box + 1, -box : box + 1].reshape(2, -1).T @ cell
        count = 0
        candidates: list[float] = []
        for point in points:
            squared = np.square(point + steps - query).sum(axis=1)
            count += np.count_nonzero(squared <= radius**2)
            candidates += np.sqrt(np.partition(squared, 40)[:40]).tolist()
        counts.append(count)
        nearest.append(sorted(candidates)[:40])
    assert counts[0] > 7_000_000
    tree = KDTree(points, cell=cell)
    fixed = tree.query_radius(x, radii, max_neighbors=7)
    assert fixed.counts.tolist() == counts
    within = np.where(nearest <= radii[:, None], nearest, np.inf)
    np.testing.assert_allclose(fixed.distances, within[:, :7])
    ends = points[np.asarray(fixed.indices)] + np.asarray(fixed.shifts) @ cell
    np.testing.assert_allclose(np.linalg.norm(ends - x[:, None], axis=2), fixed.distances)
    np.testing.assert_allclose(tree.query(x, 40)[0], nearest)


@pytest.mark.daily
def test_more_pairs_than_are_listed_at_once():
    points = np.random.default_rng(8).random((2500, 2))
    pairs, distances, count, shifts = KDTree(points, cell=10 * np.eye(2)).query_pairs(
        1.5, output_type="ndarray"
    )
    assert len(pairs) == int(count) == 2500 * 2499 // 2  # all of them, and no images
    assert not np.asarray(shifts).any()
    lower, higher = np.asarray(pairs).T
    assert (lower < higher).all()
    assert len(np.unique(lower.astype(np.int64) * 2500 + higher)) == len(pairs)
    np.testing.assert_allclose(distances, np.linalg.norm(points[higher] - points[lower], axis=1))


def test_counts_of_images_do_not_wrap():
    @jax.jit
    def count(points, radii):
        tree = KDTree(points, cell=[[1.0]])
        return tree.count_neighbors(tree, radii), tree.count_neighbors(tree, radii, cumulative=False)

    points = np.linspace(0, 1e-3, 40_000, dtype=np.float32)[:, None]
    with jax.enable_x64(False):
        counts, differences = count(points, np.float32([0.5, 1.5]))
    assert counts.tolist() == [40_000**2, np.iinfo(np.int32).max]  # of 4.8e9
    assert differences.tolist() == counts.tolist()
    with pytest.raises(OverflowError, match="x64"), jax.enable_x64(False):
        jax.eval_shape(count, jax.ShapeDtypeStruct((50_000, 1), np.float32), np.float32([1.0]))


def test_open_numbers_and_boxes_are_refused():
    points, cell = crystal("float32")
    tree = KDTree(points, cell=cell, engine="lax")
    (q,) = jax.export.symbolic_shape("q")
    queries = jax.ShapeDtypeStruct((q, 3), np.float32)
    with pytest.raises(TypeError, match="known number of queries"):
        jax.export.export(jax.jit(lambda x: tree.query(x, 2, return_shifts=True)))(queries)
    for trees in ((KDTree(points % 1, boxsize=1.0), tree), (tree, KDTree(points % 1, boxsize=1.0))):
        with pytest.raises(ValueError, match="boxsize"):
            trees[0].count_neighbors(trees[1], 0.3)


@pytest.mark.daily
def test_a_radius_below_all_numbers_reaches_nothing():
    tree = KDTree([[0.1, 0.2], [0.5, 0.5]], cell=np.eye(2))
    count = jax.jit(lambda radius: tree.query_ball_point([[0.1, 0.2]], radius, return_length=True))
    assert count(-np.inf).tolist() == [0]
    with pytest.raises(ValueError, match="r must be at least 0"):
        tree.query_ball_point([[0.1, 0.2]], -np.inf)


@pytest.mark.parametrize("periodic", [[True, False, True], [False, False, True], True, False])
def test_empty_clouds_compute_nothing_invalid(periodic):
    """Not where floating-point errors raise, either."""
    no_points, some_points = np.zeros((0, 3)), np.random.default_rng(8).random((4, 3))
    cell = np.array([[1, 0, 0], [0.2, 1, 0], [0, 0.1, 1]])
    with np.errstate(all="raise"):
        for points, queries in ((no_points, some_points), (some_points, no_points), (no_points, no_points)):
            tree = KDTree(points, cell=cell, periodic=periodic)
            others = KDTree(queries, cell=cell, periodic=periodic)
            assert not np.isfinite(tree.query(queries)[0]).any()
            assert all(not len(rows) for rows in tree.query_ball_point(queries, 0.3))
            assert not np.asarray(tree.query_ball_point(queries, 0.3, return_length=True)).any()
            tree.query_radius(queries, 0.3)
            tree.query_ball_tree(others, 0.3)
            assert int(tree.count_neighbors(others, 0.3)) == 0
