"""Quotients, reciprocals, roots, floors and remainders: how many are not NumPy's, and how long they take.

Random bits of each floating dtype, beside `jax.numpy`, and beside CuPy where it is installed. On a CPU XLA
takes numbers below the normal range for 0, so only normal ones count there.

    python benchmarks/bench_quotients.py [how many numbers]
"""

import importlib.util
import sys

import jax
import jax.numpy as jnp
import numpy as np
from timing import median_us

import jaxapi as xp

# Functions of a namespace, and how many operands they have.
OPERATIONS = {
    "divide": (lambda np, x, y: np.divide(x, y), 2),
    "by 49": (lambda np, x: np.divide(x, x.dtype.type(49)), 1),
    "reciprocal": (lambda np, x: np.reciprocal(x), 1),
    "sqrt": (lambda np, x: np.sqrt(x), 1),
    "floor_divide": (lambda np, x, y: np.floor_divide(x, y), 2),
    "remainder": (lambda np, x, y: np.remainder(x, y), 2),
}
CHAINS = {
    "a / b / b": (lambda np, x, y: x / y / y, 2),
    "1 / sqrt(a)": (lambda np, x: x.dtype.type(1) / np.sqrt(x), 1),
    "sqrt(a / b)": (lambda np, x, y: np.sqrt(x / y), 2),
}


def random_bits(rng, dtype, count):
    """Return numbers of all sizes, infinities and NaN among them."""
    return np.frombuffer(rng.bytes(count * np.dtype(dtype).itemsize), dtype)


def wrong(name, made, expected, operands):
    """Return how many numbers differ from NumPy's; those that are not normal count on a GPU alone.

    Floors of infinite operands do not count: they are the standard's, which differ from NumPy's.
    """
    made = np.asarray(made)
    differs = (made != expected) & ~(np.isnan(made) & np.isnan(expected))
    if name == "floor_divide":
        for x in operands:
            differs &= ~np.isinf(x)
    if jax.default_backend() == "cpu":
        for x in (expected, *operands):
            differs &= ~(np.abs(x) < np.finfo(x.dtype).tiny)
    return int(differs.sum())


def milliseconds_of_cupy(function, operands):
    """Return the time of CuPy's function, None where it is not installed."""
    if importlib.util.find_spec("cupy") is None:
        return None
    import cupy

    arrays = [cupy.asarray(x) for x in operands]
    return median_us(lambda: function(cupy, *arrays), wait=lambda _: cupy.cuda.Device().synchronize()) / 1e3


def report(dtype, name, function, operands, ours):
    """Print what is wrong of how many, and times."""
    expected = function(np, *operands)
    arrays = [jnp.asarray(x) for x in operands]
    plain = jax.jit(lambda *arrays: function(jnp, *arrays))
    cells = [np.dtype(dtype).name, name]
    for each in (ours, plain):
        cells.append(f"{wrong(name, each(*arrays), expected, operands)}")
        cells.append(f"{median_us(lambda each=each: each(*arrays)) / 1e3:.3f}")
    time_of_cupy = milliseconds_of_cupy(function, operands)
    cells.append("-" if time_of_cupy is None else f"{time_of_cupy:.3f}")
    print(" | ".join(cells), flush=True)


def main(count):
    """Print a line for each function of each dtype."""
    rng = np.random.default_rng(1)
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}, {count} numbers; chains by `fuse`")
    print("dtype | function | jaxapi: wrong | ms | jax.numpy: wrong | ms | CuPy: ms")
    for dtype in (np.float32, np.float64, np.float16):
        with jax.enable_x64(dtype == np.float64):
            numbers = [random_bits(rng, dtype, count) for _ in range(2)]
            for name, (function, operand_count) in OPERATIONS.items():
                ours = jax.jit(lambda *arrays, function=function: function(xp, *arrays))
                report(dtype, name, function, numbers[:operand_count], ours)
            for name, (function, operand_count) in CHAINS.items():
                ours = xp.fuse(lambda *arrays, function=function: function(jnp, *arrays))
                report(dtype, name, function, numbers[:operand_count], ours)


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2**26 if jax.default_backend() == "gpu" else 2**20)
