"""The tree's invariants: every row in one slot, equal leaves, tight boxes, empty slots last."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from trees import check, cloud

from jaxapi.spatial._engines._cuda import _build as _cuda_build
from jaxapi.spatial._tree._build import build, padded_size, plan, rounds

SIZES = [0, 1, 2, 100, 1000]  # all padded to one shape: one compilation


@pytest.mark.parametrize("kind", ["uniform", "duplicates", "line", "outlier", "wide", "narrow", "far"])
@pytest.mark.parametrize("n", SIZES)
def test_invariants(kind, n):
    points = cloud(kind, n, 3, np.float32)
    padded = np.zeros((1024, 3), np.float32)
    padded[:n] = points
    check(jitted(padded, n), points)


jitted = jax.jit(build, static_argnames="leaf_size")


@pytest.fixture(params=["lax", pytest.param("cuda", marks=pytest.mark.kernels)])
def engine_build(request, monkeypatch):
    """Build by one engine after the other, the CUDA engine's kernels on the host where there is no GPU."""
    if request.param == "lax":
        return jitted
    request.getfixturevalue("kernels_on_host")
    if jax.default_backend() != "gpu":
        monkeypatch.setattr(_cuda_build, "_room", lambda m: 512)
    return jax.jit(_cuda_build.build)


@pytest.mark.thorough
@pytest.mark.daily("16-100")
@pytest.mark.parametrize(("m", "n"), [(1, 500), (2, 500), (8, 500), (16, 100)])
def test_dimensions(m, n):
    points = cloud("uniform", n, m, np.float32)
    check(jitted(points, n), points)


@pytest.mark.daily
def test_float64_keeps_its_digits(engine_build):
    points = cloud("uniform", 1000, 3, np.float64)
    with jax.enable_x64(True):
        tree = engine_build(jnp.asarray(points), 1000)
    assert tree.points.dtype == np.float64
    check(tree, points)


def test_vmap():
    points = np.stack([cloud(kind, 100, 2, np.float32) for kind in ("uniform", "duplicates", "line")])
    trees = jax.jit(jax.vmap(lambda p: build(p, 100)))(points)
    for i in range(3):
        check(jax.tree.map(lambda leaf, i=i: leaf[i], trees), points[i])


def test_rows_that_are_not_finite_take_no_part(engine_build):
    points = cloud("uniform", 100, 3, np.float32)
    points[[3, 50]] = [[np.nan, 0, 0], [0, -np.inf, 0]]
    tree = engine_build(points, 100)
    assert sorted(np.asarray(tree.rows)[:98]) == sorted(set(range(100)) - {3, 50})
    assert (np.asarray(tree.rows)[98:] == 100).all()
    assert np.isinf(np.asarray(tree.points)[:, 98:]).all()
    assert np.isfinite(np.asarray(tree.lower)[:, 1]).all()


def test_splits_follow_the_points(engine_build):
    """Of a uniform cloud, a leaf's box is not much longer than wide, and leaves do not overlap."""
    points = cloud("uniform", 4096, 3, np.float32)
    tree = engine_build(points, 4096)
    low, high = (np.asarray(box)[:, tree.leaves :] for box in (tree.lower, tree.upper))
    assert np.prod(high - low, axis=0).sum() < 1.0 * float(tree.scale) ** 3
    assert np.median((high - low).max(0) / (high - low).min(0)) < 4


def test_padded_sizes_are_few():
    for n in [*range(0, 5000, 7), 10**5, 131_073, 10**6, 10**7, 3 * 10**9]:
        size = padded_size(n)
        assert n <= size
        assert padded_size(size) == size
        assert size <= 1.25 * n or (size < 2 * n and size <= 2**17) or size == 1024
        for row_bytes in (8, 8000, 10**6):
            size = padded_size(n, row_bytes=row_bytes)
            assert n <= size
            assert padded_size(size, row_bytes=row_bytes) == size
            assert n <= 1024 or n * row_bytes <= 2**26 or size <= 1.25 * n
    assert len({padded_size(n) for n in range(10**4)}) == 5
    assert len({padded_size(n) for n in range(2**20, 2**21, 999)}) == 5


@pytest.mark.parametrize("n", [1, 16, 100, 1000, 10**6, 10**7, 2**31])
@pytest.mark.parametrize("m", [1, 2, 3, 8, 20])
def test_plan(n, m):
    levels, leaf = plan(n)
    assert leaf << levels >= n
    assert leaf % 4 == 0
    assert n < 1000 or leaf << levels <= 1.3 * n
    steps = rounds(levels, m)
    assert sum(steps) == levels
    assert min(steps) >= 1
