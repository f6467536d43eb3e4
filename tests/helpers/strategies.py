"""Point clouds and queries for property tests."""

import numpy as np
from hypothesis import strategies as st

__all__ = ["clouds"]


def _scattered(rng, n, m):
    return rng.random((n, m))


def _duplicates(rng, n, m):
    return rng.integers(0, 2, (n, m)).astype(float)


def _grid(rng, n, m):
    return rng.integers(-4, 5, (n, m)).astype(float)


def _collinear(rng, n, m):
    return rng.random((n, 1)) * np.arange(1, m + 1)


def _clustered(rng, n, m):
    return rng.integers(0, 3, (n, m)) * 1000.0 + rng.random((n, m))


def _far_off(rng, n, m):
    return rng.random((n, m)) + 4096.0


@st.composite
def clouds(draw, sizes=(2, 30), dimensions=(1, 3)):
    """Draw (points, queries): few sizes, so that compiled code is shared; float32 values in float64."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.sampled_from(sizes)), draw(st.sampled_from(dimensions))
    kind = draw(st.sampled_from([_scattered, _duplicates, _grid, _collinear, _clustered, _far_off]))
    points = kind(rng, n, m).astype(np.float32).astype(float)
    near = points[rng.integers(0, n, 6)] + rng.integers(-1, 2, (6, m)) * draw(
        st.sampled_from([0.0, 0.5, 1e6])
    )
    return points, near.astype(np.float32).astype(float)
