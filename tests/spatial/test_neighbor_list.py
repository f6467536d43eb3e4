"""Lists of neighbors that are kept while points move, against all pairs of points and images in float64."""

import itertools
import math
import pickle
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxapi.spatial import KDTree, NeighborList

STEPS = 4
CUTOFF = 1.0


def all_edges(x, cutoff, cell=None, periodic=True, batch=None):
    """Return edges (receiver, sender, *shift), sorted, and their distances: every pair is measured."""
    dtype = x.dtype
    x = np.asarray(x, np.float64)
    n, m = x.shape
    batch = np.zeros(n, int) if batch is None else np.asarray(batch)
    has_cells = cell is not None and np.ndim(cell) == 3
    edges, lengths = [np.zeros((0, 2 + m), int)], [np.zeros(0)]
    for cloud in np.unique(batch):
        rows = np.flatnonzero((batch == cloud) & np.isfinite(x).all(axis=1))
        vectors = x[rows][None, :] - x[rows][:, None]
        shifts = np.zeros((1, *vectors.shape), int)
        if cell is not None:
            own_cell = np.asarray(cell[cloud] if has_cells else cell, np.float64)
            shifts = near_shifts(vectors, cutoff, own_cell, np.broadcast_to(periodic, m))
            vectors = vectors + shifts @ own_cell
        else:
            vectors = vectors[None]
        distances = np.linalg.norm(vectors, axis=-1).astype(dtype)
        is_itself = np.eye(len(rows), dtype=bool) & (shifts == 0).all(axis=-1)
        image, i, j = np.nonzero((distances <= dtype.type(cutoff)) & ~is_itself)
        edges.append(np.column_stack([rows[i], rows[j], shifts[image, i, j]]))
        lengths.append(distances[image, i, j])
    edges = np.concatenate(edges)
    order = np.lexsort(edges.T[::-1])
    return edges[order], np.concatenate(lengths)[order]


def near_shifts(vectors, cutoff, cell, periodic):
    """Return all shifts (images, n, n, m) by which vectors (n, n, m) may become as short as the cutoff."""
    axes = np.flatnonzero(periodic)
    inverse = np.linalg.pinv(cell[axes]) if len(axes) else np.zeros((len(cell), 0))
    reach = np.floor(np.linalg.norm(inverse, axis=0) * cutoff + 0.5 + 1e-6).astype(int)
    steps = list(itertools.product(*(range(-most, most + 1) for most in reach)))
    steps = np.array(steps, int).reshape(len(steps), 1, 1, len(axes))
    shifts = np.zeros((len(steps), *vectors.shape), int)
    shifts[..., axes] = steps - np.rint(vectors @ inverse).astype(int)
    return shifts


def edges_of(graph):
    """Return the edges of a graph (receiver, sender, *shift), sorted, and their distances."""
    count = int(graph.count)
    receivers = np.asarray(graph.receivers)
    assert (np.diff(receivers) >= 0).all()
    shifts = np.asarray(graph.shifts) if hasattr(graph, "shifts") else np.zeros((len(receivers), 0), int)
    edges = np.column_stack([receivers, graph.senders, shifts])[:count]
    order = np.lexsort(edges.T[::-1])
    return edges[order], np.asarray(graph.distances)[:count][order]


def within_cutoff(graph, n):
    """Return the part of a graph of candidates that a program may sum over."""
    is_edge = (graph.receivers < n) & (graph.distances <= CUTOFF)
    edges = {name: array[is_edge] for name, array in graph._asdict().items() if np.ndim(array)}
    return graph._replace(**edges, count=np.sum(is_edge))


def assert_edges(graph, x, cutoff=CUTOFF, **settings):
    """Compare a graph with all pairs."""
    edges, distances = edges_of(graph)
    expected, lengths = all_edges(np.asarray(x), cutoff, **settings)
    if not hasattr(graph, "shifts"):
        expected = expected[:, :2]
    np.testing.assert_array_equal(edges, expected)
    size = 1 + np.nanmax(np.abs(x), initial=0)
    np.testing.assert_allclose(distances, lengths, rtol=0, atol=64 * np.finfo(lengths.dtype).eps * size)


def random_cell(rng, m):
    """Return a cell of any shape, but for those whose images would be thousands."""
    while True:
        cell = rng.normal(size=(m, m)) * rng.uniform(0.7, 3.0)
        if rng.random() < 0.3:  # nearly parallel vectors
            cell[-1] = cell[0] * rng.integers(-2, 3) + cell[-1] * 0.5
        if abs(np.linalg.det(cell)) < 0.2:
            continue
        reach = np.linalg.norm(np.linalg.inv(cell), axis=0) * CUTOFF
        if np.prod(2 * reach + 2) < 300:
            return cell


def moving_cloud(rng, n, m, kind, periodic, dtype=np.float64):
    """Return positions (STEPS + 1, n, m), cells of the steps or None, and the clouds."""
    positions = np.cumsum(random_steps(rng, n, m), axis=0) + rng.random((n, m)) * rng.uniform(1.0, 4.0)
    batch = rng.integers(0, 3, n) if kind in ("batch", "cells of clouds") else None
    if kind not in ("cell", "cells of clouds"):
        return positions.astype(dtype), None, batch
    strains = np.eye(m) + np.cumsum(rng.normal(size=(STEPS + 1, m, m)) * rng.choice([0, 0.003, 0.05]), axis=0)
    if kind == "cell":
        cells = random_cell(rng, m) @ strains
        cells_of_points = cells[:, None]
    else:
        cells = np.stack([random_cell(rng, m) for _ in range(3)]) @ strains[:, None]
        cells_of_points = cells[:, batch]
    if rng.random() < 0.5:  # as a barostat scales the points, too
        positions = positions @ strains
    if rng.random() < 0.5:  # points jump by vectors of the cell
        turns = rng.integers(-2, 3, positions.shape) * np.asarray(periodic)
        turns = np.where(rng.random((STEPS + 1, n, 1)) < 0.5, turns, 0)
        positions = positions + (turns[..., None, :] @ cells_of_points)[..., 0, :]
    return positions.astype(dtype), cells.astype(dtype), batch


def random_steps(rng, n, m):
    """Return steps (STEPS + 1, n, m): none, short and long ones, of some of the points."""
    steps = rng.normal(size=(STEPS + 1, n, m)) * rng.choice([0.0, 0.02, 0.1, 0.5])
    return steps * rng.random((n, 1)) * (rng.random((n, 1)) < 0.5)


@jax.jit
def each_step(neighbors, positions, cells):
    """Return the list after all steps, and the edges and candidates of each, by a loop in a program."""

    def step(neighbors, now):
        neighbors = neighbors.update(*now)
        return neighbors, (neighbors.edges(), neighbors.candidates())

    return jax.lax.scan(step, neighbors, (positions, cells))


def check_moving_clouds(rng, kind, n, count, *, m=3, periodic=True, skin=0.25, engine=None, dtype=np.float64):
    """Compare the edges of moving clouds at each step with all pairs, in a loop and outside of programs."""
    rebuilds = 0
    for number in range(count):
        positions, cells, batch = moving_cloud(rng, n, m, kind, periodic, dtype)
        settings = [{"batch": batch}] * (STEPS + 1)
        if cells is not None:
            settings = [{"batch": batch, "cell": cell, "periodic": periodic} for cell in cells]
        neighbors = NeighborList(
            positions[0], CUTOFF, skin, max_edges=1000 * max(n, 1), engine=engine, **settings[0]
        )
        assert_edges(neighbors.edges(), positions[0], **settings[0])
        last, graphs = each_step(neighbors, positions[1:], None if cells is None else cells[1:])
        assert not bool(last.did_buffer_overflow)
        rebuilds += int(last.rebuilds)
        for step in range(1, STEPS + 1):
            graph, candidates = jax.tree.map(lambda array, step=step: np.asarray(array[step - 1]), graphs)
            assert_edges(graph, positions[step], **settings[step])
            assert_edges(within_cutoff(candidates, n), positions[step], **settings[step])
        if number % 4 == 0:
            neighbors = neighbors.update(positions[1], None if cells is None else cells[1])
            assert_edges(neighbors.edges(), positions[1], **settings[1])
    if skin:
        assert rebuilds < STEPS * count  # some lists were kept
    else:
        assert rebuilds == STEPS * count


KINDS = ["free", "cell", "batch", "cells of clouds"]


@pytest.mark.daily
@pytest.mark.parametrize("kind", KINDS)
def test_edges_are_those_of_all_pairs_at_each_step(kind):
    with jax.enable_x64(True):
        check_moving_clouds(np.random.default_rng(3), kind, 17, 6)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_edges_in_other_dtypes_and_dimensions(kind):
    rng = np.random.default_rng(4)
    for m, periodic in ((3, (True, False, True)), (2, (False, True)), (1, (True,)), (3, (False,) * 3)):
        if kind in ("free", "batch"):
            periodic = True
        with jax.enable_x64(False):
            check_moving_clouds(rng, kind, 9, 6, m=m, periodic=periodic, dtype=np.float32)
        with jax.enable_x64(True):
            check_moving_clouds(rng, kind, 9, 6, m=m, periodic=periodic)
            check_moving_clouds(rng, kind, 9, 2, m=m, periodic=periodic, skin=0.0)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_edges_by_the_engine_of_other_devices(kind):
    with jax.enable_x64(False):
        check_moving_clouds(np.random.default_rng(5), kind, 9, 10, engine="lax", dtype=np.float32)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_10000_moving_clouds(kind, seed):
    rng = np.random.default_rng(100 + seed)
    with jax.enable_x64(True):
        for n, periodic, skin in ((0, True, 0.3), (1, True, 0.3), (2, True, 0.0), (12, True, 0.5)):
            check_moving_clouds(rng, kind, n, 50, periodic=periodic, skin=skin)
        for periodic in (True, (True, True, False)):
            periodic = periodic if kind in ("cell", "cells of clouds") else True
            check_moving_clouds(rng, kind, 20, 150, periodic=periodic, skin=0.2)


# --- when a list is built anew --------------------------------------------------------------------------


def rebuilds_after(start, moved, skin=0.5, cell=None, new_cell=None):
    """Return how often a list of some points is built anew when they have moved."""
    with jax.enable_x64(True):
        neighbors = NeighborList(np.asarray(start, float), CUTOFF, skin, cell=cell, max_edges=1000)
        moved = np.asarray(moved, float)
        update = jax.jit(NeighborList.update)(neighbors, moved, new_cell)
        assert int(update.rebuilds) == int(neighbors.update(moved, new_cell).rebuilds)
        assert_edges(update.edges(), moved, cell=cell if new_cell is None else new_cell)
        return int(update.rebuilds)


def test_points_may_move_half_the_skin():
    start = [[0.0, 0.0], [1.6, 0.0]]
    assert rebuilds_after(start, [[0.249, 0.0], [1.351, 0.0]]) == 0
    assert rebuilds_after(start, [[0.251, 0.0], [1.6, 0.0]]) == 1
    assert rebuilds_after(start, [[0.31, 0.0], [1.29, 0.0]]) == 1  # which are an edge now
    assert rebuilds_after(start, start, skin=0.0) == 1
    assert rebuilds_after(np.zeros((0, 2)), np.zeros((0, 2))) == 0


def test_points_that_are_wrapped_into_the_cell_have_not_moved():
    cell = np.array([[4.0, 0.0], [1.5, 3.0]])
    start = np.array([[0.1, 0.1], [3.9, 0.1], [2.0, 1.0]])
    turns = np.array([[1, 0], [-1, 1], [0, -3]])
    assert rebuilds_after(start, start + turns @ cell + 0.1, cell=cell) == 0
    assert rebuilds_after(start, start + turns @ cell + 0.2, cell=cell) == 1


@pytest.mark.daily
def test_a_strained_cell_uses_up_the_skin():
    """Points that are scaled with the cell have not moved; within 1.5 pairs may become 1 - e as long."""
    cell = np.array([[3.0, 0.0], [0.0, 3.0]])
    start = np.random.default_rng(0).random((20, 2)) * 3
    for strain, rebuilds in ((0.05, 0), (0.32, 0), (0.34, 1)):
        scale = np.diag([1 - strain, 1.0])
        assert rebuilds_after(start, start @ scale, cell=cell, new_cell=cell @ scale) == rebuilds
    turned = np.array([[math.cos(0.2), math.sin(0.2)], [-math.sin(0.2), math.cos(0.2)]])
    assert rebuilds_after(start, start @ turned, cell=cell, new_cell=cell @ turned) == 0
    # Points that stay while the cell shrinks: an image comes nearer by as much as the cell is shorter.
    ends = [[0.1, 1.0], [1.52, 1.0]]
    assert rebuilds_after(ends, ends, cell=cell, new_cell=np.diag([2.4, 3.0])) == 1


def test_a_point_that_is_not_a_number_has_no_neighbors_in_a_program():
    with jax.enable_x64(True):
        x = np.array([[0.0], [0.5], [1.0]])
        neighbors = NeighborList(x, 1.0, 0.5, max_edges=10)
        broken = np.array([[0.0], [np.nan], [1.0]])
        updated = jax.jit(NeighborList.update)(neighbors, broken)
        assert_edges(updated.edges(), broken)
        repaired = jax.jit(NeighborList.update)(updated, x)
        assert_edges(repaired.edges(), x)
        with pytest.raises(ValueError, match="finite"):
            neighbors.update(broken)


def test_items_of_a_batch_are_built_anew_together():
    """All are searched when one needs it: those that kept an older list would need the next search sooner."""
    with jax.enable_x64(True):
        rng = np.random.default_rng(6)
        x = rng.random((3, 12, 3)) * 2
        cell = np.eye(3) * 2.5
        make = jax.jit(jax.vmap(lambda x: NeighborList(x, 1.0, 0.4, cell=cell, max_edges=400)))
        update = jax.vmap(NeighborList.update)
        neighbors = make(x)
        moved = x + np.array([0.05, 0.3, 0.05])[:, None, None]
        program = jax.make_jaxpr(update)(neighbors, moved)
        assert "cond[" in str(program)  # and not a select, which would search at each step
        updated = jax.jit(update)(neighbors, moved)
        assert updated.rebuilds.tolist() == [1, 1, 1]
        graphs = jax.vmap(lambda neighbors: neighbors.edges())(updated)
        for item in range(3):
            graph = jax.tree.map(lambda array, item=item: np.asarray(array[item]), graphs)
            assert_edges(graph, moved[item], cell=cell)
        # Less than half the skin from the new start, and more from the first one.
        assert jax.jit(update)(neighbors, moved + 0.1).rebuilds.tolist() == [1, 1, 1]
        assert jax.jit(update)(updated, moved + 0.1).rebuilds.tolist() == [1, 1, 1]


@pytest.mark.thorough
def test_several_lists_outside_of_jit_in_float32():
    """Warnings are errors: those that are built anew are traced where x64 mode is off."""
    with jax.enable_x64(False):
        x = (np.random.default_rng(12).random((3, 12, 3)) * 2).astype(np.float32)
        neighbors = jax.vmap(partial(NeighborList, cutoff=1.0, skin=0.4, max_edges=200))(x)
        moved = x + np.float32([0.05, 0.3, 0.05])[:, None, None]
        updated = jax.vmap(NeighborList.update)(neighbors, moved)
        assert updated.rebuilds.tolist() == [0, 1, 0]
        graphs = jax.vmap(NeighborList.edges)(updated)
        for item in range(3):
            graph = jax.tree.map(lambda array, item=item: np.asarray(array[item]), graphs)
            assert_edges(graph, moved[item])


@pytest.mark.parametrize("cell", [None, np.eye(3) * 4])
def test_what_is_there_of_a_list_without_enough_room(cell):
    """Pads are no edges, and what is there is one."""
    with jax.enable_x64(True):
        x = np.random.default_rng(14).random((20, 3)) * 2
        make = jax.jit(lambda x: NeighborList(x, CUTOFF, 1.0, cell=cell, max_edges=60))
        neighbors = make(x)
        assert bool(neighbors.did_buffer_overflow)
        graph = neighbors.edges()
        assert bool(graph.did_buffer_overflow)
        mask = np.asarray(graph.mask)
        assert 0 < mask.sum() < 60
        np.testing.assert_array_equal(mask, np.asarray(graph.senders) < 20)
        columns = [graph.receivers, graph.senders]
        if cell is not None:
            columns += list(graph.shifts.T)
        found = set(map(tuple, np.column_stack(columns)[mask].tolist()))
        edges, _ = all_edges(x, CUTOFF, cell=cell)
        assert found <= set(map(tuple, edges[:, : len(columns)].tolist()))


def test_several_lists_outside_of_vmap():
    """What a batch of lists is asked there, and how it gets more room."""
    with jax.enable_x64(True):
        x = np.random.default_rng(11).random((3, 12, 3)) * np.array([4.0, 2.0, 1.5])[:, None, None]

        def make(x, max_edges):
            return NeighborList(x, 1.0, 0.4, max_edges=max_edges)

        neighbors = jax.vmap(partial(make, max_edges=40))(x)
        assert neighbors.did_buffer_overflow.tolist() == [False, False, True]
        assert neighbors.needed.tolist() == [len(all_edges(cloud, 1.4)[0]) for cloud in x]
        assert neighbors.positions.shape == (3, 12, 3)
        with pytest.raises(ValueError, match=r"jax\.vmap\(NeighborList\.edges\)"):
            neighbors.edges()
        with pytest.raises(ValueError, match=r"jax\.vmap\(NeighborList\.candidates\)"):
            neighbors.candidates()
        graphs = jax.vmap(NeighborList.edges)(neighbors)
        with pytest.raises(ValueError, match=r"jax\.vmap\(NeighborList\.vectors\)"):
            neighbors.vectors(graphs)
        with pytest.raises(ValueError, match="edges of several graphs"):
            make(x[0], 40).vectors(graphs)
        remedy = r"jax\.vmap\(NeighborList\.update\).*max_edges=int\(neighbors\.needed\.max\(\)\)"
        with pytest.raises(ValueError, match=remedy):
            neighbors.update(x)
        neighbors = jax.vmap(partial(make, max_edges=int(neighbors.needed.max())))(x)
        assert neighbors.did_buffer_overflow.tolist() == [False] * 3
        moved = jax.vmap(NeighborList.update)(neighbors, x + 0.01)
        graphs = jax.vmap(NeighborList.edges)(moved)
        for item in range(3):
            graph = jax.tree.map(lambda array, item=item: np.asarray(array[item]), graphs)
            assert_edges(graph, x[item] + 0.01)
            one = jax.tree.map(lambda array, item=item: array[item], moved)
            assert_edges(one.edges(), x[item] + 0.01)


def test_what_does_not_fit_is_said_and_gets_room_outside_of_programs():
    with jax.enable_x64(True):
        x = np.arange(8.0)[:, None] * 2
        neighbors = NeighborList(x, 1.0, 0.5, max_edges=6)
        assert not bool(neighbors.did_buffer_overflow)
        assert int(neighbors.needed) == 0
        update = jax.jit(NeighborList.update)
        crowded = update(neighbors, x * 0.4)
        assert int(crowded.needed) == 14
        assert bool(crowded.did_buffer_overflow)
        assert bool(crowded.edges().did_buffer_overflow)
        again = update(crowded, x)  # fits, but the steps before did not
        assert int(again.needed) == 14
        assert bool(again.did_buffer_overflow)
        assert jax.tree.structure(again) == jax.tree.structure(neighbors)
        sparse = again.update(x * 3)  # which makes room for the steps before, too
        assert int(sparse.needed) == 14
        assert sparse.max_edges >= 14
        assert not bool(update(sparse, x * 0.4).did_buffer_overflow)
        larger = again.update(x * 0.4)
        assert larger.max_edges >= 14
        assert not bool(larger.did_buffer_overflow)
        assert_edges(larger.edges(), x * 0.4)
        assert int(larger.rebuilds) == 3
        assert NeighborList(x * 0.4, 1.0, 0.5, max_edges=6).max_edges >= 14


def test_a_list_may_be_donated():
    """Its arrays are all of their own memory, of one that is made and one that is built anew."""
    x = jax.numpy.asarray(np.random.default_rng(8).random((20, 2)), np.float32)
    update = jax.jit(NeighborList.update, donate_argnums=0)
    neighbors = NeighborList(x + 0, 0.3, 0.1, cell=np.eye(2), batch=np.zeros(20, int))
    moved = update(neighbors, x + np.float32(0.01))
    moved = update(moved.update(x * np.float32(0.5)), x)
    assert_edges(moved.edges(), np.asarray(x), 0.3, cell=np.eye(2))


def test_a_cutoff_in_the_dtype_of_the_positions_is_the_lists():
    neighbors = NeighborList(np.float32([[0.0], [0.1]]), 0.1)
    assert int(neighbors.edges(np.float32(0.1)).count) == 2


# --- what it gives --------------------------------------------------------------------------------------


@pytest.mark.daily
def test_several_cutoffs_of_one_list():
    with jax.enable_x64(True):
        x = np.random.default_rng(7).random((30, 3)) * 3
        cell = np.eye(3) * 3
        neighbors = NeighborList(x, 1.0, 0.2, cell=cell)
        for cutoff in (0.0, 0.5, 1.0):
            assert_edges(neighbors.edges(cutoff), x, cutoff, cell=cell)
        with pytest.raises(ValueError, match=r"within 1\.0, got cutoff 1\.5"):
            neighbors.edges(1.5)


@pytest.mark.thorough
def test_the_graph_is_that_of_a_tree():
    for batch, cell in itertools.product((None, [0, 1] * 20), (None, np.eye(3) * 2)):
        x = np.random.default_rng(8).random((40, 3)).astype(np.float32) * 2
        neighbors = NeighborList(x, 1.0, 0.3, cell=cell, batch=batch)
        graph = KDTree(x, cell=cell, batch=batch).radius_graph(1.0)
        found = neighbors.edges(fill_value=-1.0)
        assert type(found) is type(graph)
        for one, other in zip(edges_of(found), edges_of(graph), strict=True):
            np.testing.assert_array_equal(one, other)
        assert int(found.mask.sum()) == int(found.count)
        assert (np.asarray(found.distances) < 0).sum() == neighbors.max_edges - int(found.count)
        assert found.senders.dtype == graph.senders.dtype


def energy(neighbors, x, cell):
    """Return a smooth function of lengths and of vectors, both of which end at the cutoff."""
    neighbors = neighbors.update(x, cell)
    graph = neighbors.edges(fill_value=1.0)
    vectors = neighbors.vectors(graph)
    weights = jnp.where(graph.mask, (CUTOFF - graph.distances) ** 4, 0)
    return jnp.sum(weights * (1 + vectors[:, 0] ** 3 * vectors[:, 1]))


def slopes_of(neighbors):
    return jax.jit(jax.grad(partial(energy, neighbors), argnums=(0, 1)))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["cell", "cells of clouds"])
def test_derivatives_to_second_order(kind):
    with jax.enable_x64(True):
        rng = np.random.default_rng(9)
        batch = None
        cell = np.array([[1.7, 0.1, 0.0], [0.4, 1.5, 0.2], [0.0, 0.3, 1.6]])
        if kind == "cells of clouds":
            batch = rng.integers(0, 2, 10)
            cell = np.stack([cell, cell[::-1] * 1.1])
        x = rng.random((10, 3)) * 1.5
        neighbors = NeighborList(x + 0.02, CUTOFF, 0.5, cell=cell, batch=batch)
        function = jax.jit(partial(energy, neighbors))
        slope = slopes_of(neighbors)
        slopes = slope(x, cell)
        step = 1e-5
        for _ in range(4):
            direction = rng.normal(size=x.shape), rng.normal(size=cell.shape)
            ahead, behind = (
                (x + sign * step * direction[0], cell + sign * step * direction[1]) for sign in (1, -1)
            )
            expected = (function(*ahead) - function(*behind)) / (2 * step)
            found = sum(jnp.vdot(each, along) for each, along in zip(slopes, direction, strict=True))
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            _, second = jax.jvp(slope, (x, cell), direction)
            pairs = zip(slope(*ahead), slope(*behind), strict=True)
            for each, (high, low) in zip(second, pairs, strict=True):
                np.testing.assert_allclose(each, (high - low) / (2 * step), rtol=1e-5, atol=1e-5)
        # The same where the list is built anew inside of the derivative.
        others = NeighborList(x[::-1], CUTOFF, 0.1, cell=cell, batch=batch, max_edges=neighbors.max_edges)
        for found, expected in zip(slopes_of(others)(x, cell), slopes, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_derivative_outside_of_programs_needs_no_room():
    x = np.random.default_rng(10).random((12, 3)).astype(np.float32)

    def sum_of_squares(x):
        neighbors = NeighborList(x, 0.3, 0.1).update(x * 2)
        graph = neighbors.edges(fill_value=0)
        return jnp.sum(graph.distances**2)

    def expected(x):
        return 4 * jnp.sum(KDTree(x).radius_graph(0.15).distances ** 2)

    np.testing.assert_allclose(jax.grad(sum_of_squares)(x), jax.grad(expected)(x), rtol=1e-4)


@pytest.mark.daily
def test_candidates_are_all_pairs_of_the_last_build():
    x = np.random.default_rng(11).random((40, 3)) * 3
    built = NeighborList(x, CUTOFF, 0.4, cell=3 * np.eye(3))
    moved = built.update(x + np.random.default_rng(12).uniform(-0.1, 0.1, x.shape))
    assert int(moved.rebuilds) == 0
    graph = moved.candidates()
    assert int(graph.count) == int(built.edges(CUTOFF).count) + int(
        ((built.candidates().distances > CUTOFF) & built.candidates().mask).sum()
    )
    assert_edges(built.candidates(), x, CUTOFF + 0.4, cell=3 * np.eye(3))
    is_pad = ~np.asarray(graph.mask)
    assert (np.asarray(moved.candidates(fill_value=7.0).distances)[is_pad] == 7).all()
    vectors = np.asarray(moved.vectors(graph))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1)[graph.mask], graph.distances[graph.mask])
    assert not vectors[~np.asarray(graph.mask)].any()

    def sum_of_squares(x, method):
        graph = method(built.update(x))
        return jnp.sum(jnp.where(graph.mask & (graph.distances <= CUTOFF), graph.distances, 0) ** 2)

    by_edges = jax.grad(sum_of_squares)(moved.positions, NeighborList.edges)
    by_candidates = jax.grad(sum_of_squares)(moved.positions, NeighborList.candidates)
    np.testing.assert_allclose(by_candidates, by_edges, rtol=1e-12, atol=1e-12)


@pytest.mark.daily
def test_a_list_is_a_value():
    neighbors = NeighborList(np.array([[0.0], [0.5]]), 1.0, 0.5, cell=[[4.0]], batch=[0, 0])
    copies = [jax.jit(lambda neighbors: neighbors)(neighbors), pickle.loads(pickle.dumps(neighbors))]
    for copy in copies:
        assert jax.tree.structure(copy) == jax.tree.structure(neighbors)
        assert copy.edges().senders.tolist() == neighbors.edges().senders.tolist()
    assert (neighbors.cutoff, neighbors.skin, neighbors.periodic) == (1.0, 0.5, (True,))
    assert neighbors.batch.tolist() == [0, 0]
    assert "cutoff=1.0, skin=0.5" in repr(neighbors)
    names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(neighbors)]
    assert "._build.needed" in names

    def is_moving(neighbors):
        return neighbors.positions.max() < 3

    def move(neighbors):
        return neighbors.update(neighbors.positions + jnp.asarray(0.25, neighbors.positions.dtype))

    moved = jax.lax.while_loop(is_moving, move, neighbors)
    assert int(moved.rebuilds) > 2
    assert_edges(moved.edges(), np.asarray(moved.positions), cell=np.array([[4.0]]))


X = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: NeighborList(X, -1.0), ValueError, r"cutoff must be at least 0 and finite, got -1\.0"),
        (lambda: NeighborList(X, math.nan), ValueError, "cutoff must be at least 0 and finite, got nan"),
        (lambda: NeighborList(X, math.inf), ValueError, "cutoff must be at least 0 and finite, got inf"),
        (lambda: NeighborList(X, 1.0, -0.1), ValueError, r"skin must be at least 0 and finite, got -0\.1"),
        (lambda: NeighborList(X, 1.0, math.nan), ValueError, "skin must be at least 0 and finite, got nan"),
        (lambda: NeighborList(X.astype("f"), 1e38, 3e38), ValueError, "must be finite in float32"),
        (lambda: NeighborList(X, 1.0, max_edges=0), ValueError, "max_edges must be at least 1"),
        (lambda: NeighborList(X, "1"), TypeError, "cutoff"),
        (
            lambda: NeighborList(X + 1j, 1.0),
            TypeError,
            "positions must be real numbers, got dtype complex128",
        ),
        (lambda: NeighborList(X, 1.0).update(X + 1j), TypeError, "positions must be real numbers"),
        (lambda: NeighborList([["a"]], 1.0), TypeError, "positions must be real numbers.*got dtype <U1"),
        (lambda: NeighborList(None, 1.0), TypeError, "positions must be.*got None: pass an array of shape"),
        (lambda: NeighborList(X[0], 1.0), ValueError, r"positions must be of shape \(n, m\).*got \(2,\)"),
        (lambda: NeighborList(X[:, :0], 1.0), ValueError, r"positions must be of shape.*got \(3, 0\)"),
        (lambda: NeighborList(X, 1.0, periodic=False), ValueError, "pass cell"),
        (lambda: NeighborList(X, 1.0).update(X[:2]), ValueError, r"shape \(3, 2\), got shape \(2, 2\)"),
        (
            lambda: NeighborList(X, 1.0).update(X.astype("f")),
            ValueError,
            "dtype float64, got dtype float32",
        ),
        (lambda: NeighborList(X, 1.0).update(X, np.eye(2)), ValueError, "this list has no cell"),
        (
            lambda: NeighborList(X, 1.0, cell=np.eye(2) * 9).update(X, np.eye(3)),
            ValueError,
            r"cell must be of shape \(2, 2\)",
        ),
        (
            lambda: NeighborList(X, 1.0, batch=[0] * 3, cell=np.eye(2)[None] * 9).update(X, np.eye(2) * 9),
            ValueError,
            r"a cell of shape \(1, 2, 2\), got shape \(2, 2\)",
        ),
        (lambda: jax.jit(lambda x: NeighborList(x, 1.0).needed)(X), TypeError, "pass max_edges"),
        (lambda: jax.jit(lambda r: NeighborList(X, r).needed)(1.0), TypeError, "cutoff must be a Python num"),
    ],
)
def test_arguments_that_cannot_be(make, error, message):
    with jax.enable_x64(True), pytest.raises(error, match=message):
        make()
