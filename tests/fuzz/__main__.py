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

DEVICES = "--xla_force_host_platform_device_count=4"  # the CPU plays so many, for the mesh
CHECKS = {"functions": 60, "fused": 20, "indexing": 30, "trees": 6, "mesh": 1}  # configurations of a round
MEMORY = 3 << 30  # bytes of a process at which it forgets its programs


class TimeIsUp(KeyboardInterrupt):
    """Ends a round; hypothesis looks into every other exception."""


def run(check, report, number, examples, end):
    """Try the configurations that a seed draws, until the time is up."""
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis import strategies as st

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def configurations(data):
        if time.monotonic() >= end:
            raise TimeIsUp
        check(report, data.draw)

    configurations()


def work(pipe, numbers, names, end):
    """Take turns until the time is up; send a report of each round."""
    import jax

    from . import functions, fused, indexing, trees
    from .report import Report

    checks = {"functions": functions.check, "fused": fused.check, "indexing": indexing.check}
    checks |= {"trees": trees.check, "mesh": trees.check_mesh}
    try:
        for number in numbers:
            for name in names:
                report = Report(seed=number)
                try:
                    run(checks[name], report, number, CHECKS[name], end)
                finally:
                    pipe.send(report)
            if memory() > MEMORY:
                jax.clear_caches()
    except KeyboardInterrupt:  # the time is up, or the user has seen enough
        pass
    pipe.close()


def memory():
    """Return the bytes of this process that are in memory, 0 where Linux does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


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
    context = multiprocessing.get_context("spawn")
    pipes, workers = [], []
    for first in range(options.processes):
        numbers = itertools.count(options.seed + first, options.processes)
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(theirs, numbers, options.only or list(CHECKS), end))
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
    from .report import Report

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
