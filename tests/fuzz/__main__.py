"""Try random configurations for so many minutes: `nox -s fuzz -- --minutes 60`.

Each process has its own seeds, every so-many-th from `--seed`; `--seed S --processes 1` repeats the round of
seed S first.
"""

import argparse
import itertools
import multiprocessing
import os
import sys
import time
from multiprocessing.connection import wait

from .report import Report

DEVICES = "--xla_force_host_platform_device_count=4"  # the CPU plays so many, for the mesh
CHECKS = [
    "functions",
    "cells",
    "derivatives",
    "distances",
    "fused",
    "indexing",
    "lengths",
    "programs",
    "programs-traced",
    "trees",
]
CHECKS += ["mesh"]


def main():
    """Try until the time is up, then print what was found; fail if anything differed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count(), help="the cores, unless said otherwise"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first round; the next rounds count from it"
    )
    parser.add_argument("--only", choices=CHECKS, action="append")
    parser.add_argument("--all", action="store_true", help="print the numbers of every function")
    options = parser.parse_args()
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {DEVICES}"
    end = time.monotonic() + 60 * options.minutes
    from .rounds import work  # after the flags are set, which JAX reads

    context = multiprocessing.get_context("spawn")
    pipes, workers = [], []
    for first in range(options.processes):
        numbers = itertools.count(options.seed + first, options.processes)
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(theirs, numbers, options.only or CHECKS, end))
        worker.start()
        theirs.close()
        pipes.append(ours)
        workers.append(worker)
    print(f"{options.processes} processes, seeds from {options.seed}", flush=True)
    report = collect(pipes)
    for worker in workers:
        worker.join()
        if worker.exitcode:
            report.differ("process", f"ended with {worker.exitcode}", f"{worker.name}, after its last report")
    report.print(options.all)
    sys.exit(bool(report.differences))


def collect(pipes):
    """Merge the reports that come through the pipes until all are closed."""
    total = Report()
    while pipes:
        try:
            for pipe in wait(pipes):
                try:
                    report = pipe.recv()
                except EOFError:
                    pipes.remove(pipe)
                    continue
                total.merge(report)
                total.seed = max(total.seed, report.seed)
        except KeyboardInterrupt:
            print("stopping", flush=True)
    print(f"seeds to {total.seed}")
    return total


if __name__ == "__main__":
    main()
