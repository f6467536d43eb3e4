"""Graphs with torch_cluster's names: edges are those that brute force finds, by `torch.cdist`."""

import pytest

torch = pytest.importorskip("torch")

import jaxapi.torch as near  # noqa: E402

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
SQUARE = [[-1, -1], [-1, 1], [1, -1], [1, 1]]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(79)


def clouds(n, m=3, count=4, dtype=torch.float32):
    """Return points of whole numbers, whose distances are exact, and ids of their clouds, in any order."""
    return torch.randint(0, 6, (n, m)).to(dtype), torch.randint(0, count, (n,))


def squares_of(x, y, batch_x, batch_y):
    """Return the squared distances (q, n) of queries y from points x, inf between clouds."""
    squares = (torch.cdist(y.double(), x.double(), compute_mode="donot_use_mm_for_euclid_dist") ** 2).round()
    if batch_x is None:
        return squares
    return squares.where(batch_y[:, None] == batch_x, torch.inf)


def nearest_pairs(squares, k):
    """Return the edges from queries to their k nearest, of equally near ones the lowest row first."""
    order = torch.sort(squares, dim=1, stable=True).indices
    return [
        (query, row)
        for query, rows in enumerate(order.tolist())
        for row in [each for each in rows if squares[query, each] < torch.inf][:k]
    ]


def pairs_of(edges):
    assert edges.dtype == torch.int64
    assert edges.shape[0] == 2
    return list(zip(*edges.tolist(), strict=True))


class TestKnn:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("in_clouds", [False, True])
    def test_by_brute_force(self, dtype, in_clouds):
        x, batch_x = clouds(50, dtype=dtype)
        y, batch_y = clouds(30, dtype=dtype)
        if not in_clouds:
            batch_x = batch_y = None
        for k in (1, 3, 20):
            found = near.knn(x, y, k, batch_x, batch_y)
            assert pairs_of(found) == nearest_pairs(squares_of(x, y, batch_x, batch_y), k)

    def test_clouds_of_fewer_points(self):
        x = torch.tensor(SQUARE, dtype=torch.float32)
        assert pairs_of(near.knn(x, x[:1], 9)) == [(0, 0), (0, 1), (0, 2), (0, 3)]
        found = near.knn(x, x[:2], 3, torch.tensor([0, 0, 1, 1]), torch.tensor([1, 0]))
        assert pairs_of(found) == [(0, 2), (0, 3), (1, 1), (1, 0)]

    def test_ids_of_one_side(self):
        x = torch.tensor(SQUARE, dtype=torch.float32)
        assert pairs_of(near.knn(x, x[:1], 3, batch_x=torch.tensor([1, 0, 0, 1]))) == [(0, 1), (0, 2)]

    @pytest.mark.parametrize("in_clouds", [False, True])
    def test_cosine(self, in_clouds):
        x = torch.randn(60, 5, dtype=torch.float64)
        y = torch.randn(20, 5, dtype=torch.float64)
        x[0] = 0
        batches = (torch.arange(60) % 3, torch.arange(20) % 3) if in_clouds else (None, None)
        angles = 1 - torch.nn.functional.cosine_similarity(y[:, None], x[None], dim=-1)
        if in_clouds:
            angles = angles.where(batches[1][:, None] == batches[0], torch.inf)
        found = near.knn(x, y, 7, *batches, cosine=True)
        assert pairs_of(found) == nearest_pairs(angles, 7)

    def test_numbers_are_points_on_a_line(self):
        found = near.knn(torch.tensor([0.0, 4.0, 9.0]), torch.tensor([5.0]), 2)
        assert pairs_of(found) == [(0, 1), (0, 2)]


class TestKnnGraph:
    @pytest.mark.parametrize("loop", [False, True])
    @pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
    @pytest.mark.parametrize("in_clouds", [False, True])
    def test_by_brute_force(self, loop, flow, in_clouds):
        x, batch = clouds(40)
        batch = batch if in_clouds else None
        squares = squares_of(x, x, batch, batch)
        squares.fill_diagonal_(-1 if loop else torch.inf)  # itself first, or not at all
        right = nearest_pairs(squares, 5)
        if flow == "source_to_target":
            right = [(sender, receiver) for receiver, sender in right]
        found = near.knn_graph(x, 5, batch, loop=loop, flow=flow)
        assert sorted(pairs_of(found)) == sorted(right)
        assert found[int(flow == "source_to_target")].tolist() == sorted(
            found[int(flow == "source_to_target")].tolist()
        )

    @pytest.mark.parametrize("loop", [False, True])
    def test_clouds_of_fewer_points(self, loop):
        x = torch.tensor([0.0, 1.0, 3.0, 4.5])
        assert near.knn_graph(x, 9, loop=loop).shape == (2, 16 if loop else 12)
        edges = pairs_of(near.knn_graph(x, 2, torch.tensor([0, 0, 1, 2]), loop=loop))
        right = {(1, 0), (0, 1)} | ({(i, i) for i in range(4)} if loop else set())
        assert len(edges) == len(right)
        assert set(edges) == right

    def test_cosine_in_positional_order(self):
        x = torch.tensor([[1.0, 0.0], [9.0, 1.0], [0.0, 1.0], [0.0, 9.0]])
        found = near.knn_graph(x, 1, None, False, "source_to_target", True, 2, 1)
        assert pairs_of(found) == [(1, 0), (0, 1), (3, 2), (2, 3)]


class TestRadius:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("in_clouds", [False, True])
    def test_by_brute_force(self, dtype, in_clouds):
        x, batch_x = clouds(50, dtype=dtype)
        y, batch_y = clouds(30, dtype=dtype)
        if not in_clouds:
            batch_x = batch_y = None
        squares = squares_of(x, y, batch_x, batch_y)
        for r in (0.0, 1.0, 2.5, 100.0):
            found = near.radius(x, y, r, batch_x, batch_y)
            assert sorted(pairs_of(found)) == [tuple(pair) for pair in (squares <= r * r).nonzero().tolist()]
            assert found[0].tolist() == sorted(found[0].tolist())

    def test_nothing_is_left_out_by_default(self):
        assert near.radius(torch.zeros(100, 2), torch.zeros(1, 2), 1.0).shape == (2, 100)
        assert near.radius_graph(torch.zeros(100, 2), 1.0).shape == (2, 100 * 99)

    @pytest.mark.parametrize("ignore_same_index", [False, True])
    @pytest.mark.parametrize("in_clouds", [False, True])
    def test_the_nearest_are_kept(self, ignore_same_index, in_clouds):
        x, batch = clouds(60)
        batch = batch if in_clouds else None
        squares = squares_of(x, x[:40], batch, None if batch is None else batch[:40])
        squares = squares.where(squares <= 9, torch.inf)
        if ignore_same_index:
            squares.fill_diagonal_(torch.inf)
        found = near.radius(
            x,
            x[:40],
            3.0,
            batch,
            None if batch is None else batch[:40],
            max_num_neighbors=4,
            ignore_same_index=ignore_same_index,
        )
        assert pairs_of(found) == nearest_pairs(squares, 4)

    def test_ignore_same_index(self):
        x, _ = clouds(30)
        squares = squares_of(x, x, None, None)
        squares.fill_diagonal_(torch.inf)
        found = near.radius(x, x, 2.0, ignore_same_index=True)
        assert sorted(pairs_of(found)) == [tuple(pair) for pair in (squares <= 4).nonzero().tolist()]


class TestRadiusGraph:
    @pytest.mark.parametrize("loop", [False, True])
    @pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
    @pytest.mark.parametrize("most", [None, 3])
    def test_by_brute_force(self, loop, flow, most):
        x, batch = clouds(40)
        squares = squares_of(x, x, batch, batch)
        squares = squares.where(squares <= 4, torch.inf)
        if not loop:
            squares.fill_diagonal_(torch.inf)
        right = nearest_pairs(squares, most)
        if flow == "source_to_target":
            right = [(sender, receiver) for receiver, sender in right]
        found = near.radius_graph(x, 2.0, batch, loop, most, flow, 1, 4)
        assert sorted(pairs_of(found)) == sorted(right)

    def test_flow_is_checked(self):
        with pytest.raises(ValueError, match="flow must be"):
            near.radius_graph(torch.zeros(3, 2), 1.0, flow="to_target")


class TestNearest:
    @pytest.mark.parametrize("in_clouds", [False, True])
    def test_by_brute_force(self, in_clouds):
        x, batch_x = clouds(50)
        y, batch_y = clouds(60)
        if not in_clouds:
            batch_x = batch_y = None
        squares = squares_of(y, x, batch_y, batch_x)
        assert near.nearest(x, y, batch_x, batch_y).tolist() == squares.argmin(dim=1).tolist()

    def test_clouds_without_points(self):
        with pytest.raises(ValueError, match="a point in each cloud"):
            near.nearest(torch.zeros(2, 1), torch.zeros(1, 1), torch.tensor([0, 1]), torch.tensor([0]))


def farthest(points, k, start):
    """Return k rows of points by brute force."""
    squares = squares_of(points, points, None, None)
    sample = [start]
    while len(sample) < k:
        nearest = squares[:, sample].amin(dim=1)
        nearest[sample] = -1
        sample.append(int(nearest.argmax()))
    return sample


@pytest.fixture(params=["on host", "on device"])
def by_either_way(request, monkeypatch):
    """Sample on the CPU as there, and by the program of other devices."""
    if request.param == "on device":
        graphs = near.fps.__globals__
        monkeypatch.setitem(graphs, "_sample_on_host", graphs["_sample_on_device"])


@pytest.mark.usefixtures("by_either_way")
class TestFps:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_one_cloud(self, dtype):
        x, _ = clouds(30, dtype=dtype)
        assert near.fps(x, ratio=0.3, random_start=False).tolist() == farthest(x, 9, 0)

    def test_clouds_of_any_size_and_order(self):
        x, batch = clouds(90, count=5)
        batch[batch == 2] = 3  # none in cloud 2
        ratios = torch.tensor([0.5, 1.0, 0.7, 0.07, 0.01])
        right = []
        for cloud, ratio in enumerate(ratios.tolist()):
            rows = (batch == cloud).nonzero()[:, 0]
            k = -int(-len(rows) * ratio // 1)
            right += rows[farthest(x[rows], k, 0)].tolist() if k else []
        assert near.fps(x, batch, ratios, random_start=False).tolist() == right

    def test_ptr(self):
        x, _ = clouds(20)
        batch = torch.arange(20) // 12
        right = near.fps(x, batch, 0.4, False)
        assert near.fps(x, ratio=None, random_start=False).tolist() == farthest(x, 10, 0)
        for ptr in ([0, 12, 20], torch.tensor([0, 12, 20])):
            assert near.fps(x, ratio=0.4, random_start=False, ptr=ptr).tolist() == right.tolist()

    def test_random_start(self):
        x, batch = clouds(400)
        first = {near.fps(x, ratio=0.001).item() for _ in range(40)}
        assert len(first) > 10
        sample = near.fps(x, batch, ratio=0.1)
        for cloud in range(4):
            rows = (batch == cloud).nonzero()[:, 0].tolist()
            of_cloud = [rows.index(row) for row in sample.tolist() if row in rows]
            assert of_cloud == farthest(x[rows], -(-len(rows) // 10), of_cloud[0])

    def test_the_same_seed_gives_the_same(self):
        x, batch = clouds(100)
        torch.manual_seed(1)
        once = near.fps(x, batch)
        torch.manual_seed(1)
        assert near.fps(x, batch).tolist() == once.tolist()

    def test_no_points(self):
        assert near.fps(torch.zeros(0, 3)).tolist() == []
        assert near.fps(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)).tolist() == []


def test_points_that_are_not_finite():
    x = torch.tensor([[0.0], [torch.nan]])
    for call in (lambda: near.fps(x), lambda: near.knn_graph(x, 1), lambda: near.radius_graph(x, 1.0)):
        with pytest.raises(ValueError, match="finite"):
            call()


def test_empty_tensors():
    nothing = torch.zeros(0, 3)
    points = torch.zeros(4, 3)
    ids = torch.zeros(0, dtype=torch.int64)
    for edges in (
        near.knn(nothing, points, 2),
        near.knn(points, nothing, 2),
        near.knn(points, nothing, 2, torch.zeros(4, dtype=torch.int64), ids),
        near.knn_graph(nothing, 2),
        near.radius(nothing, points, 1.0),
        near.radius(points, nothing, 1.0),
        near.radius_graph(nothing, 1.0, ids),
        near.radius_graph(nothing, 1.0, max_num_neighbors=3),
    ):
        assert edges.shape == (2, 0)
        assert edges.dtype == torch.int64
    assert near.nearest(nothing, points).shape == (0,)


def test_tensors_of_any_layout_and_graph():
    x, batch = clouds(40)
    right = near.radius_graph(x, 2.0, batch).tolist()
    for like_x in (x.T.contiguous().T, torch.stack([x, x], dim=2)[..., 1], x.clone().requires_grad_()):
        assert near.radius_graph(like_x, 2.0, batch).tolist() == right
        assert not near.radius_graph(like_x, 2.0, batch).requires_grad
    assert near.radius_graph(x, 2.0, batch.int()).tolist() == right
    assert near.radius_graph(x, 2.0, torch.stack([batch, batch])[:, ::1][1]).tolist() == right
    with torch.inference_mode():
        assert near.radius_graph(x.clone(), 2.0, batch.clone()).tolist() == right


def test_what_is_written_later_changes_nothing():
    x, _ = clouds(2000)
    right = near.knn_graph(x, 3).tolist()
    found = near.knn_graph(x, 3)
    x.zero_()
    assert found.tolist() == right


def test_arrays_of_others_are_refused():
    with pytest.raises(TypeError, match=r"x must be a torch\.Tensor, got list"):
        near.knn_graph([[0.0], [1.0]], 1)
    complex_points = torch.zeros(3, 2, dtype=torch.complex64)
    with pytest.raises(TypeError, match=r"x must be real numbers, got torch\.complex64"):
        near.radius_graph(complex_points, 1.0)
    with pytest.raises(TypeError, match=r"src must be real numbers, got torch\.complex64"):
        near.fps(complex_points)


def small_case(generator):
    """Return few points and queries of whole numbers, with ids of clouds or without."""

    def draw(low, high):
        return int(torch.randint(low, high, (), generator=generator))

    n, q, m = draw(0, 9), draw(0, 6), draw(1, 5)
    cloud_count = draw(0, 4)
    x = torch.randint(0, 3, (n, m), generator=generator).float()
    y = torch.randint(0, 3, (q, m), generator=generator).float()
    if cloud_count == 0:
        return x, y, None, None
    ids = [torch.randint(0, cloud_count, (size,), generator=generator) for size in (n, q)]
    return x, y, *ids


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_few_points_of_every_sort(seed):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(40):
        x, y, batch_x, batch_y = small_case(generator)
        k, r, most = (int(torch.randint(1, high, (), generator=generator)) for high in (5, 4, 4))
        squares = squares_of(x, y, batch_x, batch_y)
        within = squares.where(squares <= r * r, torch.inf)
        assert pairs_of(near.knn(x, y, k, batch_x, batch_y)) == nearest_pairs(squares, k)
        assert sorted(pairs_of(near.radius(x, y, r, batch_x, batch_y))) == sorted(nearest_pairs(within, None))
        found = near.radius(x, y, r, batch_x, batch_y, most)
        assert pairs_of(found) == nearest_pairs(within, most)
        has_point = (squares < torch.inf).any(dim=1)
        if has_point.all() and len(x):
            rows = near.nearest(y, x, batch_y, batch_x)
            assert rows.tolist() == squares.argmin(dim=1).tolist()

        squares = squares_of(x, x, batch_x, batch_x)
        squares.fill_diagonal_(torch.inf)
        within = squares.where(squares <= r * r, torch.inf)
        right = sorted((sender, receiver) for receiver, sender in nearest_pairs(squares, k))
        assert sorted(pairs_of(near.knn_graph(x, k, batch_x))) == right
        assert sorted(pairs_of(near.KDTree(x, batch=batch_x).knn_graph(k).edge_index)) == right
        right = sorted((sender, receiver) for receiver, sender in nearest_pairs(within, None))
        assert sorted(pairs_of(near.radius_graph(x, r, batch_x))) == right
        assert sorted(pairs_of(near.KDTree(x, batch=batch_x).radius_graph(r).edge_index)) == right

        sample = near.fps(x, batch_x, 0.6, random_start=False).tolist()
        ids = torch.zeros(len(x)) if batch_x is None else batch_x
        right = []
        for cloud in sorted(set(ids.tolist())):
            rows = (ids == cloud).nonzero()[:, 0]
            right += rows[farthest(x[rows], -int(-len(rows) * 0.6 // 1), 0)].tolist()
        assert sample == right
