"""Statements and small programs on a length that no call has seen, beside CuPy, jax.numpy and NumPy.

    python benchmarks/bench_lengths.py [--library jaxapi|cupy|jnp|numpy] [--size 1000000] [--calls 32]
                                       [--json FILE]

Prints milliseconds: of the first call, the median of the later half of the calls, by which every size of a
buffer has been met, and the longest of these. One library a process, as each compiles its own programs. On a
CPU ``JAXAPI_NUMPY_ON_HOST=0`` sends jaxapi's arrays JAX's way.
"""

import argparse
import importlib
import time

import jax
import numpy as np
from timing import keep

LIBRARIES = {"jaxapi": "jaxapi.numpy", "cupy": "cupy", "jnp": "jax.numpy", "numpy": "numpy"}


def waiting_for(library):
    """Return what waits until a result is there."""
    if library == "cupy":
        import cupy

        return lambda result: cupy.cuda.Device().synchronize()
    if library == "numpy":
        return lambda result: None

    def wait(result):
        for array in result if isinstance(result, tuple) else (result,):
            buffer = getattr(array, "_buffer", None)
            jax.block_until_ready(array if buffer is None else buffer._value)

    return wait


# Statements: of a vector, a mask, small integers and a length


def selected(xp, x, mask, groups, n):
    return x[mask]


def nonzero(xp, x, mask, groups, n):
    return xp.nonzero(mask)


def unique_with_counts(xp, x, mask, groups, n):
    return xp.unique(groups, return_counts=True)


def repeated(xp, x, mask, groups, n):
    return xp.repeat(x, groups)


def slice_plus_one(xp, x, mask, groups, n):
    return x[:n] + 1


def sorted_slice(xp, x, mask, groups, n):
    return xp.sort(x[:n])


def running_sum(xp, x, mask, groups, n):
    return xp.cumsum(x[:n])


STATEMENTS = {
    "x[mask]": selected,
    "nonzero(mask)": nonzero,
    "unique(k, return_counts=True)": unique_with_counts,
    "repeat(x, k)": repeated,
    "x[:n] + 1": slice_plus_one,
    "sort(x[:n])": sorted_slice,
    "cumsum(x[:n])": running_sum,
}

# Writes: of a vector, values for a part of it, a mask of as many True, and their number


def write_slice(x, values, mask, n):
    x[x.shape[0] - n :] = values


def write_number(x, values, mask, n):
    x[:n] = 7


def write_where(x, values, mask, n):
    x[mask] = 7


def write_values_where(x, values, mask, n):
    x[mask] = values


def add_to_slice(x, values, mask, n):
    x[:n] += values


WRITES = {
    "x[n:] = v": write_slice,
    "x[:n] = 7": write_number,
    "x[mask] = 7": write_where,
    "x[mask] = v": write_values_where,
    "x[:n] += v": add_to_slice,
}

# Programs


def standardise(xp, rows):
    return (rows - xp.mean(rows, axis=0)) / xp.std(rows, axis=0)


def group(xp, rows):
    """Select, sort by a column, count what is alike, and add up what is there often."""
    bright = rows[rows[:, 0] > 0.3]
    ordered = bright[xp.argsort(bright[:, 1])]
    values, counts = xp.unique(xp.floor(ordered[:, 2] * 1000), return_counts=True)
    return xp.sum(ordered[:, 3] * 2) + xp.sum(values[counts > xp.mean(counts)])


def without_outliers(xp, x):
    """Leave out what is far from the mean, five times: each time another length."""
    for _ in range(5):
        distance = xp.abs(x - xp.mean(x))
        x = x[distance < 2.5 * xp.std(x)]
    return xp.mean(x)


def milliseconds(wait, call, *arguments):
    for argument in arguments:
        wait(argument)
    start = time.perf_counter()
    wait(call(*arguments))
    return 1e3 * (time.perf_counter() - start)


class Table:
    """Rows of times, printed as they come."""

    def __init__(self, library):
        self.library = library
        self.rows = []

    def add(self, name, times):
        later = times[len(times) // 2 :]
        row = {
            "library": self.library,
            "name": name,
            "first": times[0],
            "median": float(np.median(later)),
            "longest": max(later),
        }
        self.rows.append(row)
        print(
            f"{self.library:8} {name:30} first {row['first']:9.2f}  median {row['median']:9.3f}"
            f"  longest {row['longest']:9.2f} ms",
            flush=True,
        )


def time_statements(table, xp, wait, rng, size, calls):
    x = xp.asarray(rng.random(size, np.float32))
    for name, statement in STATEMENTS.items():
        takes_lists = table.library == "cupy" and statement is repeated  # CuPy's repeat takes no arrays
        times = []
        for _ in range(4 if takes_lists else calls):
            mask = xp.asarray(rng.random(size) < rng.uniform(0.4, 0.6))
            groups = rng.integers(0, rng.integers(3, 6), size).astype(np.int32)
            n = int(rng.integers(size // 2, size))
            given = groups.tolist() if takes_lists else xp.asarray(groups)
            times.append(milliseconds(wait, lambda *a, f=statement: f(xp, *a), x, mask, given, n))
        table.add(name, times)


def time_writes(table, xp, wait, rng, size, calls):
    x = xp.asarray(rng.random(size, np.float32))
    for name, write in WRITES.items():
        times = []
        for _ in range(calls):
            mask = rng.random(size) < rng.uniform(0.3, 0.6)
            count = int(mask.sum())
            values = xp.asarray(rng.random(count, np.float32))
            given = (x, values, xp.asarray(mask), count)

            def call(x, *others, write=write):
                write(x, *others)
                return x

            times.append(milliseconds(wait, call, *given))
        table.add(name, times)


def time_programs(table, xp, wait, rng, calls):
    for program in (standardise, group):
        lengths = rng.integers(20_000, 40_000, calls)
        inputs = [xp.asarray(rng.random((int(n), 16), np.float32)) for n in lengths]
        table.add(program.__name__, [milliseconds(wait, lambda x, f=program: f(xp, x), x) for x in inputs])
    lengths = rng.integers(200_000, 400_000, calls)
    inputs = [xp.asarray(rng.standard_t(3, int(n)).astype(np.float32)) for n in lengths]
    times = [milliseconds(wait, lambda x: without_outliers(xp, x), x) for x in inputs]
    table.add(without_outliers.__name__, times)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", choices=LIBRARIES, default="jaxapi")
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=32)
    parser.add_argument("--json")
    options = parser.parse_args()
    xp = importlib.import_module(LIBRARIES[options.library])
    wait = waiting_for(options.library)
    rng = np.random.default_rng(0)
    table = Table(options.library)
    print(jax.devices()[0], jax.__version__)
    time_statements(table, xp, wait, rng, options.size, options.calls)
    if options.library != "jnp":  # whose arrays cannot be assigned to
        time_writes(table, xp, wait, rng, options.size, options.calls)
    time_programs(table, xp, wait, rng, options.calls)
    keep(options.json, table.rows)


if __name__ == "__main__":
    main()
