"""Arrays of random values: plain, special, equal, of all magnitudes."""

import numpy as np

__all__ = ["array"]

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-30, -1e30, 3.0, 10.0]


def array(rng, shape, dtype, *, kind="any", low=-100.0, high=100.0):
    """Return an array of `dtype`: 'any' values, 'finite' ones in [low, high], or 'few' distinct ones."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if kind == "any" and rng.random() < 0.3:
            return rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
        few = kind == "few"
        return rng.integers(
            max(low, bounds.min, -3 if few else low), min(high, 3 if few else high), shape
        ).astype(dtype)
    if dtype.kind == "c":
        real = np.empty(0, dtype).real.dtype
        return array(rng, shape, real, kind=kind, low=low, high=high) + 1j * array(
            rng, shape, real, kind=kind, low=low, high=high
        ).astype(dtype)
    if kind == "few":
        return rng.integers(-2, 3, shape).astype(dtype)
    values = rng.uniform(low, high, shape)
    if kind == "any":
        wide = np.sign(values) * 10.0 ** rng.uniform(-30, 30, shape)
        special = rng.choice(SPECIAL, shape)
        values = np.choose(rng.choice([0, 0, 0, 1, 2], shape), [values, wide, special])
    return np.asarray(values, dtype)
