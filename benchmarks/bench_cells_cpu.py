"""Neighbour lists of periodic cells on the CPU: jaxapi, and vesin and matscipy where they are installed.

Crystals of 42 neighbours an atom within a cutoff of 5, in a cube and in a sheared cell. Run

    python benchmarks/bench_cells_cpu.py [--json FILE]
"""

import argparse
import contextlib
import math
import time

import jax
import numpy as np
from timing import keep

from jaxapi.spatial import KDTree

CUTOFF, NEIGHBORS = 5.0, 42
SIZES = (1_000, 8_000, 100_000)


def crystal(atoms, shear):
    """Return about so many atoms (n, 3) and the cell."""
    edge = (4 / 3 * np.pi * CUTOFF**3 / (NEIGHBORS + 1)) ** (1 / 3)
    side = round(atoms ** (1 / 3))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    points = (grid + np.random.default_rng(0).uniform(-0.2, 0.2, grid.shape)) * edge
    cell = np.eye(3) * side * edge
    cell[1, 0] = shear * side * edge
    return points, cell


def best_times(functions, seconds=6.0):
    """Return the least time of each of several functions in milliseconds, called one after the other.

    It is the processor's time, of all threads: with several cores less passes, and other work adds nothing.
    """
    for function in functions.values():
        function()
    best = dict.fromkeys(functions, math.inf)
    start = time.perf_counter()
    rounds = 0
    while rounds < 5 or time.perf_counter() - start < seconds:
        rounds += 1
        for name, function in functions.items():
            begin = time.process_time()
            function()
            best[name] = min(best[name], 1e3 * (time.process_time() - begin))
    return best


def candidates(points, cell):
    """Yield names and functions that return the number of edges."""

    def eager():
        graph = KDTree(points, cell=cell).radius_graph(CUTOFF)
        jax.block_until_ready(graph)
        return len(graph.senders)

    yield "jaxapi", eager
    most = int(1.2 * eager())
    program = jax.jit(lambda points, cell: KDTree(points, cell=cell).radius_graph(CUTOFF, max_edges=most))

    def in_jit():
        graph = jax.block_until_ready(program(points, cell))
        return int(graph.count)

    yield "jaxapi, in jit", in_jit
    with contextlib.suppress(ModuleNotFoundError):
        from vesin import NeighborList

        calculator = NeighborList(cutoff=CUTOFF, full_list=True)
        options = {"periodic": True, "quantities": "ijSd"}
        yield "vesin", lambda: len(calculator.compute(points=points, box=cell, **options)[0])
    with contextlib.suppress(ModuleNotFoundError):
        from matscipy.neighbours import neighbour_list

        options = {"cutoff": CUTOFF, "positions": points, "cell": cell, "pbc": np.ones(3, bool)}
        yield "matscipy", lambda: len(neighbour_list("ijSd", **options)[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the figures into this file")
    arguments = parser.parse_args()
    rows = []
    with jax.enable_x64(True):
        for atoms in SIZES:
            for shear in (0.0, 0.7):
                points, cell = crystal(atoms, shear)
                functions = dict(candidates(points, cell))
                edges = {function() for function in functions.values()}
                assert len(edges) == 1, edges
                times = best_times(functions)
                rows.append({"atoms": len(points), "shear": shear, **times})
                figures = ", ".join(f"{name} {value:.2f} ms" for name, value in times.items())
                print(f"{len(points):7d} atoms, shear {shear}: {figures}", flush=True)
    keep(arguments.json, rows)


if __name__ == "__main__":
    main()
