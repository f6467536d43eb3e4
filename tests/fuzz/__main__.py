"""Try random configurations for so many minutes: `nox -s fuzz -- --minutes 60`."""

import argparse
import itertools
import sys
import time

import jax
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from . import functions, fused, trees
from .report import Report

CHECKS = {"functions": functions.check, "fused": fused.check, "trees": trees.check}
EXAMPLES = {"functions": 60, "fused": 20, "trees": 20}  # configurations of a round


class TimeIsUp(KeyboardInterrupt):
    """Ends a round; hypothesis looks into every other exception."""


def run(check, report, number, examples, end):
    """Try the configurations that a seed draws, until the time is up."""

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

    report.seed = number
    configurations()


def main():
    """Take turns until the time is up, then print what was found; fail if anything differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first round; the next rounds count from it"
    )
    parser.add_argument("--only", choices=CHECKS, action="append")
    options = parser.parse_args()
    report, end = Report(), time.monotonic() + 60 * options.minutes
    print(f"jax {jax.__version__}, {jax.devices()}, seeds from {options.seed}", flush=True)
    try:
        for number in itertools.count(options.seed):
            for name in options.only or CHECKS:
                run(CHECKS[name], report, number, EXAMPLES[name], end)
            jax.clear_caches()  # a configuration hardly comes twice
    except KeyboardInterrupt:  # the time is up, or the user has seen enough
        print(f"seeds {options.seed} to {report.seed}")
    report.print()
    sys.exit(bool(report.differences))


if __name__ == "__main__":
    main()
