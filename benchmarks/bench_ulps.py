"""Largest errors of real functions of each element, in units in the last place, of jaxapi and of NumPy.

NumPy's long double is the reference, where it has more bits than float64.

    python benchmarks/bench_ulps.py
"""

import jax
import numpy as np

import jaxapi as xp

COUNT = 1_000_000
EVERYWHERE = "asinh atan cos cosh exp expm1 log1p sin sinh tan tanh"
POSITIVE = "log log2 log10 sqrt"
LIMITED = {"acos": (-1, 1), "asin": (-1, 1), "atanh": (-1, 1), "acosh": (1, None)}
OF_TWO = "atan2 hypot pow"


def arguments(name, dtype, rng):
    """Return numbers of all sizes where the function is a number, and more of them around 1."""
    largest = {"cosh": 80, "sinh": 80, "exp": 80, "expm1": 80, "sin": 100, "cos": 100, "tan": 100}.get(
        name, 1e30
    )
    sizes = np.exp(rng.uniform(np.log(1e-30), np.log(largest), COUNT))
    x = np.where(rng.random(COUNT) < 0.5, sizes, rng.uniform(0, min(largest, 20), COUNT))
    low, high = LIMITED.get(name, (0 if name in POSITIVE.split() else None, None))
    if high == 1:
        x = np.where(x < 1, x, 1 / x)
    elif low == 1:
        x = np.where(x > 1, x, 1 / x)
    has_both_signs = (low is None or low == -1) and name != "log1p"
    if has_both_signs:
        x = x * rng.choice([-1, 1], COUNT)
    return x.astype(dtype)


def largest_error(function, name, given, dtype):
    """Return the largest error in units in the last place of the true values."""
    exact = getattr(np, name)(*[x.astype(np.longdouble) for x in given])
    made = np.asarray(function(*given)).astype(np.longdouble)
    limits = np.finfo(dtype)
    is_normal = (abs(exact) > limits.tiny) & (abs(exact) < limits.max)
    unit = np.spacing(abs(exact[is_normal]).astype(dtype)).astype(np.longdouble)
    return float((abs(made[is_normal] - exact[is_normal]) / unit).max())


def main():
    """Print a line for each function."""
    rng = np.random.default_rng(0)
    print(f"jax {jax.__version__}, numpy {np.__version__}, {jax.devices()[0]}, {COUNT} numbers")
    print("function | float32: jaxapi | NumPy | float64: jaxapi | NumPy")
    with jax.enable_x64(True):
        for name in sorted([*EVERYWHERE.split(), *POSITIVE.split(), *LIMITED, *OF_TWO.split()]):
            errors = []
            for dtype in (np.float32, np.float64):
                given = [arguments(name, dtype, rng) for _ in range(2 if name in OF_TWO.split() else 1)]
                if name == "pow":
                    given = [abs(given[0]), given[1] % 3]
                for function in (getattr(xp, name), getattr(np, name)):
                    errors.append(largest_error(function, name, given, dtype))
            print(f"{name} | " + " | ".join(f"{error:.2f}" for error in errors))


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main()
