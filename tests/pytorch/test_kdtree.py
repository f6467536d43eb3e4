"""The KD-tree of tensors, and what else has derivatives: SciPy and finite differences are the oracles."""

import math

import jax
import numpy as np
import pytest
import scipy.interpolate
import scipy.spatial

torch = pytest.importorskip("torch")

import jaxapi.torch as near  # noqa: E402

gradcheck = torch.autograd.gradcheck
gradgradcheck = torch.autograd.gradgradcheck
CELL = [[1.0, 0.0, 0.0], [0.3, 1.2, 0.0], [0.1, -0.2, 0.9]]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(792)


def points_of(n, m=3, dtype=torch.float64, **others):
    return torch.rand(n, m, dtype=dtype, **others)


class TestQuery:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("k", [1, 4, [2, 5]])
    def test_by_scipy(self, dtype, k):
        points = points_of(50, dtype=dtype)
        x = points_of(20, dtype=dtype).reshape(4, 5, 3)
        distances, indices = near.KDTree(points).query(x, k)
        right = scipy.spatial.KDTree(points.numpy()).query(x.numpy(), k)
        assert distances.dtype == dtype
        assert indices.dtype == torch.int64
        np.testing.assert_allclose(distances, right[0], rtol=1e-6)
        np.testing.assert_array_equal(indices, right[1])

    @pytest.mark.thorough
    @pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
    @pytest.mark.parametrize("k", [1, 3])
    def test_derivatives(self, p, k):
        points = points_of(9, requires_grad=True)
        x = points_of(4, requires_grad=True)

        def distances(points, x):
            return near.KDTree(points).query(x, k, p=p)[0]

        assert gradcheck(distances, (points, x))
        if p in (2.0, 3.0):
            assert gradgradcheck(distances, (points, x))

    @pytest.mark.thorough
    def test_derivatives_in_a_box(self):
        points = points_of(9, requires_grad=True)
        x = points_of(4, requires_grad=True)

        def distances(points, x):
            return near.KDTree(points, boxsize=torch.tensor([1.0, 2.0, 0.0])).query(x, 3)[0]

        assert gradcheck(distances, (points, x))
        assert gradgradcheck(distances, (points, x))

    @pytest.mark.thorough
    def test_derivatives_in_a_cell(self):
        points = points_of(5, requires_grad=True)
        x = points_of(3, requires_grad=True)
        cell = torch.tensor(CELL, dtype=torch.float64, requires_grad=True)

        def distances(points, x, cell):
            return near.KDTree(points, cell=cell).query(x, 4)[0]

        assert gradcheck(distances, (points, x, cell))
        assert gradgradcheck(distances, (points, x, cell))

    @pytest.mark.thorough
    def test_derivatives_in_cells_of_clouds(self):
        points = points_of(6, requires_grad=True)
        x = points_of(3, requires_grad=True)
        cells = torch.tensor([CELL, CELL], dtype=torch.float64)
        cells[1] *= 1.5
        cells.requires_grad_()
        batch = torch.tensor([0, 1, 0, 1, 0, 1])

        def distances(points, x, cells):
            return near.KDTree(points, cell=cells, batch=batch).query(x, 2, batch=batch[:3])[0]

        assert gradcheck(distances, (points, x, cells))

    def test_slopes_at_distance_0_are_0(self):
        points = torch.zeros(3, 2, requires_grad=True)
        distances, _ = near.KDTree(points).kneighbors(3)
        (slope,) = torch.autograd.grad(distances.nan_to_num(posinf=0).sum(), points, create_graph=True)
        assert slope.eq(0).all()
        (second,) = torch.autograd.grad(slope.sum(), points)
        assert second.eq(0).all()

    def test_without_a_graph(self):
        points = points_of(9, requires_grad=True)
        tree = near.KDTree(points)
        with torch.no_grad():
            assert not tree.query(points)[0].requires_grad
            assert not near.cdist(points, points).requires_grad
        with torch.inference_mode():
            assert not near.KDTree(points_of(9)).kneighbors(2)[0].requires_grad
            assert not near.cdist(points_of(3), points_of(4)).requires_grad
        assert not near.KDTree(points.detach()).kneighbors(2)[0].requires_grad

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_precision(self, dtype):
        points = torch.randint(0, 9, (30, 2)).to(dtype).requires_grad_()
        distances, indices = near.KDTree(points).kneighbors(2)
        right = near.KDTree(points.detach().double()).kneighbors(2)
        assert indices.tolist() == right[1].tolist()
        np.testing.assert_allclose(distances.detach(), right[0], rtol=1e-6)
        distances.sum().backward()
        assert points.grad.dtype == dtype


class TestGraphs:
    def test_radius_graph_by_scipy(self):
        points = points_of(60)
        graph = near.KDTree(points).radius_graph(0.3)
        right = scipy.spatial.KDTree(points.numpy()).query_pairs(0.3)
        assert sorted(zip(*graph.edge_index.tolist(), strict=True)) == sorted(
            [*right, *((j, i) for i, j in right)]
        )
        lengths = (points[graph.senders] - points[graph.receivers]).norm(dim=1)
        np.testing.assert_allclose(graph.distances, lengths, rtol=1e-12)

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", ["radius_graph", "knn_graph", "query_radius"])
    @pytest.mark.parametrize("in_cell", [False, True])
    def test_derivatives(self, name, in_cell):
        points = points_of(8, requires_grad=True)
        x = points_of(4)
        cell = torch.tensor(CELL, dtype=torch.float64, requires_grad=True)

        def lengths(points, cell):
            tree = near.KDTree(points, cell=cell if in_cell else None)
            if name == "radius_graph":
                return tree.radius_graph(0.6).distances
            if name == "knn_graph":
                return tree.knn_graph(3).distances
            return tree.query_radius(x, 0.5).distances

        inputs = (points, cell) if in_cell else (points, cell.detach())
        assert gradcheck(lengths, inputs)
        assert gradgradcheck(lengths, inputs)

    def test_clouds_of_fewer_points(self):
        points = torch.tensor([[0.0], [1.0], [3.0]], requires_grad=True)
        tree = near.KDTree(points, batch=torch.tensor([0, 0, 1]))
        graph = tree.knn_graph(4)
        assert graph.edge_index.tolist() == [[1, 0], [0, 1]]
        graph.distances.sum().backward()
        assert points.grad.tolist() == [[-2.0], [2.0], [0.0]]
        distances, indices = tree.kneighbors(2)
        assert indices.tolist() == [[1, 3], [0, 3], [3, 3]]
        assert distances.tolist() == [[1.0, math.inf], [1.0, math.inf], [math.inf, math.inf]]
        (slopes,) = torch.autograd.grad(distances[0, 0], points)
        assert slopes.tolist() == [[-1.0], [1.0], [0.0]]

    def test_query_radius_by_scipy(self):
        points = points_of(60)
        x = points_of(7)
        radii = torch.linspace(0, 0.6, 7, dtype=torch.float64)
        found = near.KDTree(points).query_radius(x, radii)
        right = scipy.spatial.KDTree(points.numpy()).query_ball_point(x.numpy(), radii.numpy())
        for i, rows in enumerate(right):
            begin, end = found.indptr[i : i + 2].tolist()
            assert sorted(found.indices[begin:end].tolist()) == sorted(rows)
        assert found.receivers.tolist() == [i for i, rows in enumerate(right) for _ in rows]

    def test_images_in_a_cell(self):
        points = points_of(6)
        cell = torch.tensor(CELL, dtype=torch.float64)
        graph = near.KDTree(points, cell=cell).radius_graph(1.1)
        vectors = points[graph.senders] + graph.shifts.double() @ cell - points[graph.receivers]
        np.testing.assert_allclose(graph.distances, vectors.norm(dim=1), rtol=1e-12)
        assert (graph.shifts != 0).any()


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine", "sqeuclidean"])
def test_cdist(metric):
    x = points_of(5, requires_grad=True)
    y = points_of(4, requires_grad=True)
    right = scipy.spatial.distance.cdist(x.detach().numpy(), y.detach().numpy(), metric)
    np.testing.assert_allclose(near.cdist(x, y, metric).detach(), right, rtol=1e-10)
    assert gradcheck(lambda x, y: near.cdist(x, y, metric), (x, y))
    assert gradgradcheck(lambda x, y: near.cdist(x, y, metric), (x, y))


@pytest.mark.thorough
def test_cdist_of_one_that_requires_grad():
    x = points_of(5)
    y = points_of(4, requires_grad=True)
    near.cdist(x, y).sum().backward()
    right = torch.autograd.grad((x[:, None] - y).norm(dim=-1).sum(), y)[0]
    np.testing.assert_allclose(y.grad, right, rtol=1e-10)
    weights = torch.tensor([1.0, 2.0, 0.0], dtype=torch.float64)
    weighted = near.cdist(x, y.detach(), "minkowski", p=3, w=weights)
    right = scipy.spatial.distance.cdist(x, y.detach(), "minkowski", p=3, w=weights.numpy())
    np.testing.assert_allclose(weighted, right, rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("neighbors", [None, 6])
def test_interpolator(neighbors):
    y = points_of(12, 2, requires_grad=True)
    d = torch.rand(12, dtype=torch.float64, requires_grad=True)
    x = points_of(3, 2, requires_grad=True)
    options = {"neighbors": neighbors, "kernel": "cubic"}
    right = scipy.interpolate.RBFInterpolator(y.detach().numpy(), d.detach().numpy(), **options)
    np.testing.assert_allclose(
        near.RBFInterpolator(y.detach(), d.detach(), **options)(x.detach()), right(x.detach()), rtol=1e-9
    )
    fixed = near.RBFInterpolator(y.detach(), d.detach(), **options)
    assert gradcheck(fixed, (x,))
    assert gradgradcheck(fixed, (x,))
    assert gradcheck(lambda y, d, x: near.RBFInterpolator(y, d, **options)(x), (y, d, x))


def test_clusters():
    centres = torch.tensor([[0.0, 0.0], [5.0, 5.0], [0.0, 9.0]])
    points = (centres[:, None] + 0.1 * torch.randn(3, 20, 2)).reshape(60, 2)
    right = [0] * 20 + [1] * 20 + [2] * 20
    for found in (near.dbscan(points, 1.0), near.KDTree(points).dbscan(1.0)):
        assert found.labels.tolist() == right
        assert found.core.dtype == torch.bool
        assert found.core.all()
    for found in (near.hdbscan(points, 10), near.KDTree(points).hdbscan(10)):
        assert found.labels.dtype == torch.int64
        assert len({tuple(labels) for labels in found.labels.reshape(3, 20).tolist()}) == 3
        assert all(len(set(labels)) == 1 for labels in found.labels.reshape(3, 20).tolist())
        assert ((found.probabilities >= 0) & (found.probabilities <= 1)).all()
    weights = torch.zeros(60)
    assert near.dbscan(points, 1.0, sample_weight=weights).labels.eq(-1).all()


def test_tensors_on_the_cpu_stay_there():
    """Also where JAX's default device is another one, as where there is a GPU."""
    points = points_of(40, requires_grad=True)
    right = near.KDTree(points).query(points[:5], 3)
    with jax.default_device(jax.devices("cpu")[-1]):
        found = near.KDTree(points).query(points[:5], 3)
        assert near.radius_graph(points, 0.3, torch.zeros(40, dtype=torch.int64)).device.type == "cpu"
        assert near.fps(points).shape == (20,)
        assert near.dbscan(points, 0.2, sample_weight=torch.ones(40)).labels.shape == (40,)
        near.cdist(points, points).sum().backward()
        values = near.RBFInterpolator(points.detach(), points[:, 0].detach(), kernel="linear")(points)
    assert found[1].equal(right[1])
    torch.testing.assert_close(values, points[:, 0])


def test_a_tree_has_points_of_its_own():
    points = points_of(40)
    x = points_of(5)
    tree = near.KDTree(points)
    right = tree.query(x, 3)
    points.zero_()
    found = tree.query(x, 3)
    assert found[0].equal(right[0])
    assert found[1].equal(right[1])
