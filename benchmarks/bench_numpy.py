"""Times of the nine programs of examples/numpy_programs.py, beside NumPy and, where it is installed, CuPy.

    JAX_ENABLE_X64=1 python benchmarks/bench_numpy.py [--rounds N] [--large] [--only-numpy]

Of each module the first call, which compiles, and the median of the others, in milliseconds: of the sizes in
the gallery, which take a GPU no time beside starting its work, or with `--large` of sizes that keep it busy.
"""

import argparse
import importlib
import pathlib
import statistics
import sys
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))

LARGE = {
    "heat": {"size": 1024},
    "cavity": {"size": 401},
    "life": {"size": 2048},
    "kmeans": {"size": 200_000},
    "pagerank": {"pages": 3000},
    "deblur": {"size": 1024},
    "particle_filter": {"particles": 100_000},
    "black_scholes": {"paths": 2_000_000},
}


def modules(only_numpy: bool) -> dict:
    """Return the modules that there are, by their names."""
    found = {"numpy": numpy}
    for name in () if only_numpy else ("jaxapi.numpy", "cupy"):
        try:
            found[name] = importlib.import_module(name)
        except ImportError:
            print(f"{name} is not installed")
    return found


def timed(program, module, sizes) -> float:
    """Return the milliseconds until the result is in host memory."""
    start = time.perf_counter()
    result = program(module, **sizes)
    getattr(module, "asnumpy", numpy.asarray)(result)
    return 1e3 * (time.perf_counter() - start)


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only-numpy", action="store_true")
    options = parser.parse_args()
    programs = importlib.import_module("numpy_programs").PROGRAMS
    found = modules(options.only_numpy)
    print("| program | " + " | ".join(f"{name}: first, median (ms)" for name in found) + " |")
    print("| --- |" + " --- |" * len(found))
    for program in programs:
        if options.large and program.__name__ not in LARGE:
            continue
        sizes, cells = LARGE[program.__name__] if options.large else {}, []
        for module in found.values():
            try:
                first, *others = [timed(program, module, sizes) for _ in range(options.rounds + 1)]
            except AttributeError as error:  # a peer that lacks a name
                cells.append(str(error))
                continue
            cells.append(f"{first:.1f}, {statistics.median(others):.2f}")
        print(f"| {program.__name__} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
