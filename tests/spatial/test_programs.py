"""KDTree where JAX programs run: meshes, other devices, traced boxes and lists, sizes that change."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import no_compilation
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from scipy.spatial import KDTree as SciPyTree

from jaxapi._core._lengths import first_rows
from jaxapi.spatial import KDTree

RNG = np.random.default_rng(8)
POINTS, QUERIES = RNG.random((60, 3)), RNG.random((7, 3))


@pytest.mark.thorough
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the CPU plays several devices")
def test_several_devices():
    """Local searches in shard_map with its checks on; eager ones under a mesh, and on another device."""
    rng = np.random.default_rng(0)
    p, x = rng.random((700, 3), np.float32), rng.random((64, 3), np.float32)
    oracle = SciPyTree(p)
    nearest = oracle.query(x, k=4)[1]
    near = oracle.query_ball_point(x, 0.25, return_length=True)
    mesh = Mesh(np.array(jax.devices()[:2]), ("rows",))
    split, whole = PartitionSpec("rows"), PartitionSpec()

    def local(p, x):
        tree, own = KDTree(p), KDTree(x)

        def energy(x):
            return tree.query(x, k=3)[0].sum() + own.query(x, k=2)[0].sum()

        return (
            tree.query(x, k=4)[1],
            tree.query_radius(x, 0.25, max_neighbors=4).counts,
            tree.query_ball_point(x, 0.25, return_length=True),
            own.radius_graph(0.3, max_edges=40).count[None],
            own.query_pairs(0.3, max_pairs=40).count[None],
            jax.grad(energy)(x),
            KDTree(jnp.tile(x, (1, 6))).query(jnp.tile(x, (1, 6)))[1],
        )

    found = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=(whole, split), out_specs=split))(p, x)
    assert np.array_equal(found[0], nearest)
    assert np.array_equal(found[1], near)
    assert np.array_equal(found[2], near)
    pairs = [len(SciPyTree(part).query_pairs(0.3)) for part in np.split(x, 2)]
    assert found[4].tolist() == pairs
    assert found[3].tolist() == [2 * each for each in pairs]
    assert np.isfinite(found[5]).all()
    assert found[6].tolist() == [*range(32)] * 2

    old = KDTree(p)
    with jax.set_mesh(mesh):
        for tree in (old, KDTree(p), KDTree(jnp.asarray(p))):
            for queries in (x, jnp.asarray(x)):
                assert np.array_equal(tree.query(queries, k=4)[1], nearest)
            assert int(tree.query(x[0])[1]) == nearest[0, 0]
            assert len(tree.query_radius(x, 0.25).indices) == near.sum()
            assert sorted(tree.indices.tolist()) == list(range(700))
            pairs = oracle.count_neighbors(oracle, [0.1, 0.2])
            assert np.array_equal(tree.count_neighbors(tree, [0.1, 0.2]), pairs)
            assert len(tree.query(x, k=4)[1].devices()) == 1

    elsewhere = jax.device_put(x, jax.devices()[1])
    for search in (lambda: old.query(elsewhere), lambda: old.query_radius(elsewhere, 0.1)):
        with pytest.raises(ValueError, match=r"tree\.data\.device"):
            search()


@pytest.mark.thorough
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the CPU plays several devices")
@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit])
def test_compiled_searches_under_a_mesh(axis_type):
    """As on GPUs: JAX refuses programs whose arrays are not on the devices of the mesh."""
    p = POINTS.astype(np.float32)
    oracle = SciPyTree(p)
    nearest = oracle.query(p, k=4)[1]
    mesh = jax.make_mesh((2,), ("rows",), axis_types=(axis_type,), devices=jax.devices()[:2])
    with jax.set_mesh(mesh):
        x = jnp.asarray(p)
        tree = KDTree(x, engine="lax")
        assert np.array_equal(tree.query(x, k=4)[1], nearest)
        assert np.array_equal(tree.query(x[0], k=4)[1], nearest[0])
        vectors = tree.displacements(x, nearest)
        assert np.array_equal(vectors, p[nearest] - p[:, None])
        assert int(tree.query_ball_point(x[0], 0.25, return_length=True)) == len(
            oracle.query_ball_point(p[0], 0.25)
        )
        assert len(tree.query_pairs(0.25, output_type="ndarray")) == len(oracle.query_pairs(0.25))
        inside = jax.jit(lambda x: x[0] + tree.query(p, k=4)[0].sum())(x)  # at once, while jit traces
        np.testing.assert_allclose(inside, p[0] + oracle.query(p, k=4)[0].sum(), rtol=1e-5)


@pytest.mark.daily
@pytest.mark.parametrize("engine", [None, "lax"])
def test_points_sharded_over_one_device(engine):
    """Numbers and results have fewer axes than the points: they are placed on the device."""
    p = POINTS.astype(np.float32)
    mesh = jax.make_mesh((1,), ("rows",), axis_types=(AxisType.Auto,), devices=jax.devices()[:1])
    x = jax.device_put(p, NamedSharding(mesh, PartitionSpec("rows")))
    tree, oracle = KDTree(x, engine=engine), SciPyTree(p)
    for queries in (x, p):
        assert np.array_equal(tree.query(queries, k=4)[1], oracle.query(p, k=4)[1])
        counts = oracle.query_ball_point(p, 0.25, return_length=True)
        assert np.array_equal(tree.query_ball_point(queries, 0.25, return_length=True), counts)


def test_a_box_of_traced_and_other_lengths():
    with jax.enable_x64(True):
        lengths = np.array([1.0, 0.0, 1.25])
        tree = SciPyTree(POINTS, boxsize=lengths)
        built = jax.jit(lambda length: KDTree(POINTS, boxsize=[length, 0.0, 1.25]))(1.0)
        np.testing.assert_array_equal(built.boxsize, lengths)
        np.testing.assert_array_equal(built.query(QUERIES, k=3)[1], tree.query(QUERIES, k=3)[1])


@pytest.mark.daily
def test_lists_that_hold_traced_numbers():
    tree = KDTree(POINTS.astype(np.float32))
    x = POINTS[4].astype(np.float32).tolist()
    assert int(jax.jit(lambda a: tree.query([a, *x[1:]])[1])(x[0])) == 4
    counts = jax.jit(lambda r: tree.query_radius(tree.data[:2], [0.0, r], max_neighbors=60).counts)(9.0)
    assert counts.tolist() == [1, 60]
    assert int(jax.jit(lambda a: KDTree([[a], [2.0]]).query([1.5])[1])(9.0)) == 1
    assert jax.jit(lambda r: tree.count_neighbors(tree, [0.0, r]))(9.0).tolist() == [60, 3600]


REFUSED = {
    "p shapes the compiled search": lambda tree, a: tree.query(QUERIES, p=a),
    "k shapes the result": lambda tree, a: tree.query(QUERIES, k=[1, a]),
    "pass max_pairs": lambda tree, a: tree.query_pairs(0.1, eps=a),
    r"use query_radius\(x, r, max_neighbors": lambda tree, a: tree.query_ball_point(QUERIES, 0.1, eps=a),
}


@pytest.mark.parametrize("text", REFUSED)
def test_traced_arguments_that_shape_a_program_are_named(text):
    with pytest.raises(TypeError, match=text):
        jax.jit(lambda a: REFUSED[text](KDTree(POINTS), a))(2.0)


def test_arguments_that_are_no_real_numbers():
    tree, other = KDTree(POINTS), SciPyTree(POINTS)
    with pytest.raises(TypeError, match=r"expected jaxapi.spatial.KDTree, got scipy.spatial._kdtree.KDTree"):
        tree.query_ball_tree(other, 0.1)
    for weights in (np.full(60, 1j), ["1"] * 60):
        with pytest.raises(TypeError, match="weights must be a real number"):
            tree.count_neighbors(tree, 0.1, weights=weights)
    with pytest.raises(TypeError, match="r must be a real number"):
        tree.count_neighbors(tree, "0.1")
    with pytest.raises(TypeError, match=r"^k must be an integer or a sequence of integers"):
        tree.query(QUERIES, k="2")
    for name, value in (("p", "2"), ("eps", "0"), ("distance_upper_bound", 1j)):
        with pytest.raises(TypeError, match=f"^{name} must be a real number"):
            tree.query(QUERIES, **{name: value})
    with pytest.raises(TypeError, match="boxsize must be a real number"):
        KDTree(POINTS, boxsize="2")
    assert int(jax.jit(lambda eps: tree.query_pairs(0.1, eps=eps, max_pairs=9).count)(0.5)) == len(
        other.query_pairs(0.1)
    )


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64, np.int64])
def test_first_lines_share_memory_and_compile_nothing(dtype):
    with jax.enable_x64(True):
        x = jnp.asarray(np.arange(3000, dtype=dtype))
        pairs = jnp.asarray(np.arange(3000, dtype=dtype).reshape(1000, 3))
    place = x.unsafe_buffer_pointer()
    with no_compilation():
        short, lines = first_rows(700, x, pairs)
    assert (short.dtype, short.shape, lines.shape) == (dtype, (700,), (700, 3))
    assert short.unsafe_buffer_pointer() == place
    del x, pairs
    np.testing.assert_array_equal(short, np.arange(700))
    np.testing.assert_array_equal(lines, np.arange(2100).reshape(700, 3))
    np.testing.assert_array_equal(short + short, 2 * np.arange(700))
    assert first_rows(0, short)[0].shape == (0,)


@pytest.mark.parametrize("search", [
    lambda tree: tree.query(tree.data, 2),
    lambda tree: tree.query_ball_point(tree.data, 0.3, return_length=True),
    lambda tree: tree.query_radius(tree.data, 0.3, max_neighbors=4),
    lambda tree: tree.radius_graph(0.3, max_edges=40),
    lambda tree: tree.query_pairs(0.3, max_pairs=40),
    lambda tree: tree.count_neighbors(tree, [0.1, 0.3]),
])  # fmt: skip
def test_few_steps_without_jit(search):
    """Each step is a program of its own where there is vmap or grad alone."""
    steps = jax.make_jaxpr(lambda points: jax.tree.leaves(search(KDTree(points))))(POINTS).eqns
    assert len(steps) <= 30


def test_a_second_vmap_compiles_nothing():
    clouds = POINTS.reshape(3, 20, 3)

    def search():
        return jax.vmap(lambda points: KDTree(points).query(points, 2)[1])(clouds)

    rows = search()
    with no_compilation():
        search()
    np.testing.assert_array_equal(rows, [SciPyTree(each).query(each, 2)[1] for each in clouds])


@pytest.mark.thorough("lax")
@pytest.mark.parametrize("bound", [np.inf, 0.25])
@pytest.mark.parametrize("has_cell", [False, True])
@pytest.mark.parametrize("engine", [None, "lax"])
def test_programs_inside_of_vmap_keep_64_bits(engine, has_cell, bound):
    """With x64 mode off: such a program may be traced when the search that needs 64 bits has returned."""
    queries = np.random.default_rng(1).random((2, 3, 3), np.float32)  # as programs take them
    images = POINTS
    if has_cell:
        shifts = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3), axis=-1).reshape(-1, 1, 3)
        images = (POINTS + shifts).reshape(-1, 3)
    expected = SciPyTree(images).query(queries, 4, distance_upper_bound=bound)[0]
    with jax.enable_x64(False):
        tree = KDTree(POINTS, cell=np.eye(3) if has_cell else None, engine=engine)
        search = jax.jit(lambda x: tree.query(x, 4, distance_upper_bound=bound)[0])
        found = jax.vmap(search)(queries)
        of_program = jax.jit(jax.vmap(search))(queries)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_allclose(of_program, expected, rtol=1e-14)
