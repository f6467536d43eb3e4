"""Threads that call JAX: none waits for a thread of XLA's pool that another has taken."""

import threading

import jax
import numpy as np
import pytest
import scipy.interpolate

import jaxapi
from jaxapi.interpolate import RBFInterpolator, _host
from jaxapi.spatial import KDTree


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pieces_of_neighborhoods(monkeypatch, dtype):
    """Many small batches of systems, on all cores where JAX allows it."""
    monkeypatch.setattr(_host, "_NUMBERS_IN_CACHE", 2**15)
    rng = np.random.default_rng(20)
    points = rng.random((400, 2)).astype(dtype)
    places = rng.random((3000, 2)).astype(dtype)
    values = np.sin(5 * points[:, 0]) + points[:, 1]
    expected = scipy.interpolate.RBFInterpolator(points, values, neighbors=16)(places[::10])
    for _ in range(5):
        found = RBFInterpolator(points, values, neighbors=16)(places)
        np.testing.assert_allclose(np.asarray(found)[::10], expected, atol=1e-3)


def test_searches_in_programs():
    """A callback's search, on several threads, beside programs that come before it."""
    rng = np.random.default_rng(21)
    points = rng.random((5000, 3))
    tree = KDTree(points)

    @jax.jit
    def distances(x):
        shifted = jax.numpy.linalg.solve(np.eye(3) + 0 * x[:3], x.T).T
        return tree.query(shifted, k=8)[0]

    for _ in range(3):
        found = distances(jax.numpy.asarray(points, np.float32))
        assert found.shape == (5000, 8)
        assert float(found[:, 0].max()) < 1e-6


def test_the_rank_of_monomials_beside_the_solution():
    rng = np.random.default_rng(22)
    points = rng.random((400, 2))
    places = rng.random((3000, 2))
    values = np.sin(5 * points[:, 0]) + points[:, 1]
    options = {"neighbors": 12, "kernel": "quintic"}
    expected = scipy.interpolate.RBFInterpolator(points, values, **options)(places[::10])
    for _ in range(5):
        found = RBFInterpolator(points, values, **options)(places)
        np.testing.assert_allclose(np.asarray(found)[::10], expected, atol=1e-3)


def test_slopes_of_determinants_beside_these():
    rng = np.random.default_rng(22)
    matrices = np.eye(5, dtype=np.float32) + rng.random((2000, 5, 5)).astype(np.float32)
    slope = jax.jit(jax.grad(lambda x: jaxapi.linalg.det(x).sum()))
    determinants = np.linalg.det(matrices.astype(np.float64))[:, None, None]
    expected = determinants * np.linalg.inv(matrices.astype(np.float64)).swapaxes(1, 2)
    for _ in range(20):
        np.testing.assert_allclose(slope(matrices), expected, rtol=1e-3, atol=1e-3)


def test_second_slopes_of_interpolants():
    rng = np.random.default_rng(22)
    points = rng.random((400, 2))
    places = rng.random((3000, 2)).astype(np.float32)
    f = RBFInterpolator(points, (points**2).sum(axis=1), neighbors=12, kernel="quintic")
    curvature = jax.jit(jax.vmap(jax.hessian(lambda x: f(x[None])[0])))
    for _ in range(10):
        np.testing.assert_allclose(curvature(places), 2 * np.broadcast_to(np.eye(2), (3000, 2, 2)), atol=1e-2)


def test_threads_that_solve():
    rng = np.random.default_rng(23)
    matrices = np.eye(18, dtype=np.float32) + rng.random((2000, 18, 18)).astype(np.float32)
    right = rng.random((2000, 18, 1)).astype(np.float32)
    expected = np.linalg.solve(matrices, right)
    found = {}

    def solve(name):
        for _ in range(30):
            found[name] = np.asarray(jaxapi.linalg.solve(matrices, right))

    jaxapi.linalg.solve(matrices, right)
    threads = [threading.Thread(target=solve, args=(name,), daemon=True) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in range(4):
        np.testing.assert_allclose(found[name], expected, rtol=0.1, atol=0.01)
