"""A pipeline through `jax.export`: one platform at a time, loaded in a process that has only JAX."""

import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi.spatial._tree._open_shapes import in_blocks

pytest.importorskip("flatbuffers")  # jax.export writes its files with it
from jax import export

LOAD = """
import sys, numpy as np
from jax import export
call = export.deserialize(bytearray(open(sys.argv[1], "rb").read())).call
with np.load(sys.argv[2]) as arguments:
    np.savez(sys.argv[3], *call(arguments["points"], arguments["x"]))
"""
ALONE = """
assert "jaxapi" not in sys.modules
"""


@xp.fuse
def weight(distances):
    return 1 / (1 + 0.5 * distances * distances)


def smoothness(points, x, engine="lax"):
    """Use all that is ours: KDTree, fuse, vecdot and logspace."""
    distances, rows = xp.spatial.KDTree(points, engine=engine).query(x, k=4)
    scales = xp.logspace(0, 3, 4, base=2.0, dtype="int32")
    return xp.vecdot(weight(distances), distances), rows, scales * scales


def shapes(*arrays):
    return [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays]


def run_in_a_fresh_process(exported, tmp_path, points, x):
    """Run a program where jaxapi is not, or, if our handler starts its kernels, where it was imported."""
    program, given, found = tmp_path / "program", tmp_path / "given.npz", tmp_path / "found.npz"
    program.write_bytes(exported.serialize())
    np.savez(given, points=points, x=x)
    needs_our_handler = b"jaxapi_launch" in exported.mlir_module_serialized
    load = f"import jaxapi.spatial\n{LOAD}" if needs_our_handler else LOAD + ALONE
    subprocess.run([sys.executable, "-c", load, program, given, found], check=True)
    with np.load(found) as results:
        return list(results.values())


def clouds():
    random = np.random.default_rng(0)
    return random.random((200, 3), dtype="float32"), random.random((10, 3), dtype="float32")


def check(exported, tmp_path):
    points, x = clouds()
    found = run_in_a_fresh_process(exported, tmp_path, points, x)
    squares = ((x[:, None] - points) ** 2).sum(-1)
    rows = np.argsort(squares, axis=1)[:, :4]
    distances = np.sqrt(np.take_along_axis(squares, rows, 1))
    np.testing.assert_allclose(found[0], (distances / (1 + 0.5 * distances**2)).sum(1), rtol=1e-5)
    np.testing.assert_array_equal(found[1], rows)
    np.testing.assert_array_equal(found[2], [1, 4, 16, 64])


@pytest.mark.thorough
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="exports for the CPU from the CPU")
def test_cpu(tmp_path):
    exported = export.export(jax.jit(smoothness))(*shapes(*clouds()))
    assert exported.platforms == ("cpu",)
    check(exported, tmp_path)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="calls SciPy back on the CPU")
def test_callbacks_are_refused():
    with pytest.raises(NotImplementedError, match="callbacks"):
        export.export(jax.jit(partial(smoothness, engine="scipy")))(*shapes(*clouds()))


# Of programs for GPUs, whose launches `jax.export` does not know.
KERNELS = [
    export.DisabledSafetyCheck.custom_call(target) for target in ("jaxapi_launch", "__gpu$xla.gpu.ptx")
]


@pytest.mark.gpu
def test_cuda(gpu, tmp_path):
    exported = export.export(jax.jit(partial(smoothness, engine=None)), disabled_checks=KERNELS)(
        *shapes(*clouds())
    )
    assert exported.platforms == ("cuda",)
    check(exported, tmp_path)


def test_any_batch_size(tmp_path):
    """A dimension may stay open, as `jax.export` has it, where no value of ours depends on it."""
    (n,) = export.symbolic_shape("n")
    exported = export.export(jax.jit(lambda x: xp.vecdot(weight(x), x)))(
        jax.ShapeDtypeStruct((n, 3), "float32")
    )
    for size in (2, 5):
        x = np.linspace(0, 1, 3 * size, dtype="float32").reshape(size, 3)
        np.testing.assert_allclose(exported.call(jnp.asarray(x)), (x / (1 + 0.5 * x * x)).sum(1), rtol=1e-6)


def three_searches(points, x):
    """Search by every method whose number of queries may be open."""
    tree = xp.spatial.KDTree(points)
    distances, rows = tree.query(x, k=3)
    near = tree.query_radius(x, 0.2, max_neighbors=5)
    return distances, rows, near.indices, near.counts, tree.query_ball_point(x, 0.3, return_length=True)


@pytest.mark.thorough
@pytest.mark.parametrize("points_are_an_argument", [True, False])
def test_any_number_of_queries(points_are_an_argument):
    """Also of a tree that the program itself builds."""
    points, _ = clouds()
    (q,) = export.symbolic_shape("q")
    x = jax.ShapeDtypeStruct((q, 3), "float32")
    if points_are_an_argument:
        exported = export.export(jax.jit(three_searches), disabled_checks=KERNELS)(*shapes(points), x)
        search = partial(exported.call, points)
    else:
        program = jax.jit(partial(three_searches, points))
        search = export.export(program, disabled_checks=KERNELS)(x).call
    for size in (1, 300):
        queries = np.random.default_rng(size).random((size, 3), dtype="float32")
        distances, rows, near_rows, near_counts, counts = map(np.asarray, search(queries))
        apart = np.sqrt(((queries[:, None] - points) ** 2).sum(-1))
        order = np.argsort(apart, axis=1)
        np.testing.assert_array_equal(rows, order[:, :3])
        np.testing.assert_allclose(distances, np.take_along_axis(apart, rows, 1), rtol=1e-5)
        near = np.take_along_axis(apart, order[:, :5], 1) <= 0.2
        np.testing.assert_array_equal(near_rows, np.where(near, order[:, :5], len(points)))
        np.testing.assert_array_equal(near_counts, (apart <= 0.2).sum(1))
        np.testing.assert_array_equal(counts, (apart <= 0.3).sum(1))


def test_pieces_of_an_open_number_of_queries():
    """One batch or several axes, and numbers of each query, beside the function of all of them."""

    def search(x, limits):
        return x.sum(-1) + limits, jnp.sort(x, axis=-1)

    (q,) = export.symbolic_shape("q")
    for batch in ((), (2,)):
        shapes = [jax.ShapeDtypeStruct((*batch, q, *rest), "float32") for rest in ((3,), ())]
        exported = export.export(jax.jit(partial(in_blocks, search)))(*shapes)
        for count in (1, 255, 256, 300):
            rng = np.random.default_rng(count)
            x, limits = (rng.random((*batch, count, *rest)).astype("f") for rest in ((3,), ()))
            for found, expected in zip(exported.call(x, limits), search(x, limits), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-6)


MOVE = """
import sys, numpy as np
from jax import export
from jaxapi.spatial import NeighborList
call = export.deserialize(bytearray(open(sys.argv[1], "rb").read())).call
with np.load(sys.argv[2]) as given:
    start, positions, cell = given["start"], given["positions"], given["cell"]
neighbors = NeighborList(start, 0.5, 0.2, cell=cell, max_edges=2000, engine="lax")
for x in positions:
    neighbors, graph = call(neighbors, x)
np.savez(sys.argv[3], neighbors.rebuilds, graph.receivers, graph.senders, graph.shifts, graph.count)
"""


def near_images(x, cutoff, side):
    """Return edges (receiver, sender, *shift) of points in a cube, sorted; the cutoff is below half of it."""
    vectors = x[None, :].astype(float) - x[:, None]
    shifts = -np.rint(vectors / side).astype(int)
    distances = np.linalg.norm(vectors + shifts * side, axis=-1)
    receivers, senders = np.nonzero((distances <= cutoff) & ~np.eye(len(x), dtype=bool))
    return np.column_stack([receivers, senders, shifts[receivers, senders]])


@pytest.mark.thorough
def test_steps_of_a_list_of_neighbors(tmp_path):
    """Written for two platforms, and run in a process that makes the list itself."""
    rng = np.random.default_rng(1)
    side = 2.0
    start = rng.random((30, 3)).astype("f") * np.float32(side)
    positions = start + np.float32([0.02, 0.3])[:, None, None] * rng.normal(size=(30, 3)).astype("f")
    cell = np.eye(3, dtype="f") * np.float32(side)
    neighbors = xp.spatial.NeighborList(start, 0.5, 0.2, cell=cell, max_edges=2000, engine="lax")

    def step(neighbors, x):
        neighbors = neighbors.update(x)
        return neighbors, neighbors.edges()

    exported = export.export(jax.jit(step), platforms=["cpu", "cuda"])(neighbors, start)
    program, given, found = tmp_path / "program", tmp_path / "given.npz", tmp_path / "found.npz"
    program.write_bytes(exported.serialize())
    np.savez(given, start=start, positions=positions, cell=cell)
    subprocess.run([sys.executable, "-c", MOVE, program, given, found], check=True)
    with np.load(found) as results:
        rebuilds, receivers, senders, shifts, count = results.values()
    assert int(rebuilds) == 1
    edges = np.column_stack([receivers, senders, shifts])[: int(count)]
    expected = near_images(positions[-1], 0.5, side)
    np.testing.assert_array_equal(edges[np.lexsort(edges.T[::-1])], expected)


@pytest.mark.thorough
def test_a_program_of_lists_can_be_read_again():
    """Its trees of arguments and results are those that were written: with and without a cell and ids."""
    for settings in ({}, {"cell": np.eye(1), "periodic": (False,)}, {"batch": [0, 0, 3]}):
        x = np.float32([[0.0], [0.1], [5.0]])
        neighbors = xp.spatial.NeighborList(x, 0.1, 1 / 3, max_edges=8, engine="lax", **settings)
        exported = export.export(jax.jit(lambda neighbors: (neighbors, neighbors.edges())))(neighbors)
        again = export.deserialize(exported.serialize())
        assert again.in_tree == exported.in_tree
        assert again.out_tree == exported.out_tree
        _, graph = again.call(neighbors)
        assert int(graph.count) == 2
