"""Random points, and all distances between two sets of them by NumPy: the oracle of the searches."""

import numpy as np

__all__ = ["KINDS", "clear_radius", "distances", "points"]

KINDS = ["grid", "duplicates", "uniform", "clustered", "collinear", "far"]
EXACT = ("grid", "duplicates")  # whole numbers: no rounding, ties everywhere


def points(rng, kind, n, m, box):
    """Return (n, m) float64 points whose values float32 holds, inside of a box of 8 if there is one."""
    if kind in EXACT:
        found = rng.integers(0, 8 if kind == "grid" else 2, (n, m)).astype(float)
    elif kind == "clustered":
        found = rng.integers(0, 3, (n, m)) * 2.5 + rng.random((n, m))
    elif kind == "collinear":
        found = rng.random((n, 1)) * np.linspace(1, 7, m)
    elif kind == "far" and box is None:
        found = rng.random((n, m)) + 4096
    else:
        found = rng.random((n, m)) * 7.9
    return found.astype(np.float32).astype(float)


def distances(x, y, p, box):
    """Return the (len(x), len(y)) Minkowski distances, the axes periodic where there is a box."""
    apart = np.abs(x[:, None] - y[None])
    if box is not None:
        apart = np.mod(apart, box)
        apart = np.minimum(apart, box - apart)
    return (
        np.linalg.norm(apart, axis=-1)
        if p == 2
        else np.max(apart, axis=-1, initial=0)
        if p == np.inf
        else (np.sum(apart**p, axis=-1) ** (1 / p))
    )


def clear_radius(rng, apart, exact):
    """Return a radius: one that exact distances equal, else one that none is near to."""
    if exact:
        return float(rng.choice([0, 1, 2, 3, 5]))
    near = np.unique(apart[np.isfinite(apart)])
    if len(near) < 2:
        return None
    place = rng.integers(0, min(len(near) - 1, 200))
    low, high = near[place], near[place + 1]
    return float((low + high) / 2) if high - low > 1e-4 * high else None
