"""Farthest-point sampling: each sampled point is the farthest from those before it.

Brute force is the oracle, of whole numbers, whose distances and ties are exact. Of other points the distances
themselves are compared: no point is farther than the one that was sampled.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist

import jaxapi as xp
from jaxapi.spatial import _farthest, pad_rows, sample_farthest_points
from jaxapi.spatial._scipy import _farthest as by_numpy

RNG = np.random.default_rng(792)


def by_brute_force(points, k, start=0):
    """Return the sample of whole numbers, without a row twice; the number of rows where there is none."""
    points = np.asarray(points).astype(int)
    squares = ((points[:, None] - points) ** 2).sum(axis=-1)
    sample = [start]
    nearest = squares[start]
    while len(sample) < min(k, len(points)):
        nearest[sample] = -1
        sample.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, squares[sample[-1]])
    return sample + [len(points)] * (k - len(sample))


def on_device(points, k, start=0, n=None):
    """Return what other devices' program finds, on the CPU."""
    points = xp.asarray(points)
    return _farthest._on_device(points, len(points) if n is None else n, start, k)


@pytest.fixture(params=["numpy", "jit", "program"])
def sample(request):
    if request.param == "numpy":
        return sample_farthest_points
    if request.param == "program":
        return on_device
    return lambda points, k, **others: jax.jit(lambda x: sample_farthest_points(x, k, **others))(
        xp.asarray(points)
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("m", [1, 2, 3, 7])
def test_ties_by_brute_force(sample, m, dtype):
    points = RNG.integers(0, 4, (60, m)).astype(dtype)  # many are equal
    assert sample(points, 70).tolist() == by_brute_force(points, 70)
    assert sample(points, 9, start=33).tolist() == by_brute_force(points, 9, start=33)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_blocks_find_the_same(m, monkeypatch):
    points = RNG.integers(0, 12, (1000, m)).astype(np.float64)
    monkeypatch.setattr(by_numpy, "BLOCKS_FROM", 0)
    assert sample_farthest_points(points, 1000).tolist() == by_brute_force(points, 1000)
    clustered = RNG.standard_normal((3000, m)) * 10.0 ** RNG.integers(-8, 8, (3000, 1))
    in_blocks = sample_farthest_points(clustered, 500)
    monkeypatch.setattr(by_numpy, "BLOCKS_FROM", 10**9)
    assert in_blocks.tolist() == sample_farthest_points(clustered, 500).tolist()


@pytest.mark.parametrize("size", [1.0, 1e-30, 1e30, 1e200, 1e307, 1e-200])
def test_sampled_points_are_the_farthest(sample, size):
    dtype = np.float32 if 1e-40 < size < 1e38 else np.float64
    unit = RNG.standard_normal((200, 3)).astype(dtype)
    points = unit * dtype(size)
    rows = np.asarray(sample(points, 50))
    exact = (points / dtype(size)).astype(np.float64)
    distances = cdist(exact, exact[rows])
    for i in range(1, 50):
        nearest = distances[:, :i].min(axis=1)
        np.testing.assert_allclose(nearest[rows[i]], nearest.max(), rtol=1e-6)


def test_beside_one_far_point(sample):
    near = RNG.integers(0, 30, (50, 2))
    points = np.concatenate([near, [[10**9, 0]]]).astype(np.float64)
    assert sample(points, 51).tolist() == by_brute_force(points, 51)


def test_rows_that_count(sample):
    points = RNG.integers(0, 9, (40, 2)).astype(np.float32)
    right = by_brute_force(points[:25], 30)
    found = sample(points, 30, n=25)
    assert found.tolist() == right[:25] + [40] * 5


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (5, 1)])
def test_few_points(sample, shape):
    n = shape[0]
    points = np.arange(n, dtype=np.float32)[:, None] * np.ones(shape, np.float32)
    assert sample(points, 0).tolist() == []
    assert sorted(sample(points, n + 2).tolist()) == [*range(n), n, n]


def test_counts_and_starts_are_traced():
    points = RNG.integers(0, 9, (30, 3)).astype(np.float32)
    find = jax.jit(lambda x, start, n: sample_farthest_points(x, 12, start=start, n=n))
    assert find(points, 7, 20).tolist() == by_brute_force(points[:20], 12, start=7)
    assert find(points, 25, 20).tolist() == [30] * 12  # no row that counts
    padded, n = pad_rows(points)
    found = jax.jit(lambda x, n: sample_farthest_points(x, 12, n=n))(padded, n)
    assert found.tolist() == by_brute_force(points, 12)


@pytest.mark.parametrize("find", ["callback", "program"])
def test_vmap(find):
    clouds = RNG.integers(0, 9, (5, 20, 3)).astype(np.float32)
    counts = np.asarray([20, 3, 1, 0, 11], np.int32)

    def of_cloud(x, n):
        if find == "program":
            start = np.zeros(1, np.int32)
            return _farthest.sample_of_clouds(x[None], n[None], start, np.int32(6), size=6)[0]
        return sample_farthest_points(x, 6, n=n)

    found = jax.vmap(of_cloud)(clouds, counts)
    for cloud, n, rows in zip(clouds, counts, found.tolist(), strict=True):
        right = by_brute_force(cloud[:n], 6) if n else [20] * 6
        assert rows == [20 if row == n else row for row in right]


def test_points_that_are_not_finite(monkeypatch):
    points = RNG.integers(0, 9, (20, 2)).astype(np.float32)
    points[[3, 8]] = np.nan, np.inf
    with pytest.raises(ValueError, match="must be finite"):
        sample_farthest_points(points, 3)
    monkeypatch.setattr(_farthest, "is_on_host", lambda x: False)
    with pytest.raises(ValueError, match="must be finite"):
        sample_farthest_points(points, 3)
    with pytest.raises(ValueError, match="must be finite"):
        sample_farthest_points(points, 3, n=4)
    assert sample_farthest_points(points, 3, n=3).tolist() == by_brute_force(points[:3], 3)
    for dtype in ("int32", "int8", "float16"):
        whole = RNG.integers(0, 2, (20, 2)).astype(dtype)
        assert sample_farthest_points(whole, 3).tolist() == by_brute_force(whole, 3)
    kept = [i for i in range(20) if i not in (3, 8)]
    right = [kept[i] for i in by_brute_force(points[kept], 18)]
    by_jit = jax.jit(lambda x: sample_farthest_points(x, 20))(points)
    assert by_jit.tolist() == on_device(points, 20).tolist() == [*right, 20, 20]
    assert on_device(points, 2, start=3).tolist() == [20, 20]


def test_derivatives_are_those_of_the_points():
    points = jnp.asarray(RNG.standard_normal((20, 2)), jnp.float32)
    rows = sample_farthest_points(points, 4)
    slope = jax.grad(lambda x: x[sample_farthest_points(x, 4)].sum())(points)
    np.testing.assert_array_equal(slope, np.isin(np.arange(20), rows)[:, None] * np.ones((20, 2)))


def test_what_is_refused():
    points = np.zeros((4, 2))
    for k in (2.0, None, True):
        with pytest.raises(TypeError, match="k must be an integer"):
            sample_farthest_points(points, k)
    with pytest.raises(TypeError, match="not traced"):
        jax.jit(lambda k: sample_farthest_points(points, k))(2)
    with pytest.raises(TypeError, match="complex"):
        sample_farthest_points(points * 1j, 2)
    with pytest.raises(ValueError, match="k must be at least 0"):
        sample_farthest_points(points, -1)
    with pytest.raises(ValueError, match=r"shape \(n, m\)"):
        sample_farthest_points(points[0], 1)
    for start in (-1, 4):
        with pytest.raises(ValueError, match="start must be one of the 4 rows"):
            sample_farthest_points(points, 1, start=start)
    with pytest.raises(TypeError, match="start must be an integer"):
        jax.jit(lambda start: sample_farthest_points(points, 1, start=start))(0.5)


@pytest.mark.parametrize("x64", [False, True])
def test_dtype_of_rows(sample, x64):
    with jax.enable_x64(x64):
        assert sample(np.zeros((4, 2), np.float64), 2).dtype == (np.int64 if x64 else np.int32)
