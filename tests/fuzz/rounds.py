"""What one process does: one round of configurations after another, each drawn from its seed."""

import os
import time

import jax
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from . import cells, derivatives, distances, functions, fused, indexing, lengths, programs, trees
from .report import Report

__all__ = ["work"]

CHECKS = {
    "functions": (functions.check, 60),  # configurations of a round
    "cells": (cells.check, 6),
    "derivatives": (derivatives.check, 3),
    "distances": (distances.check, 6),
    "fused": (fused.check, 20),
    "indexing": (indexing.check, 30),
    "lengths": (lengths.check, 20),
    "programs": (programs.check, 20),
    "programs-traced": (programs.check_traced, 1),
    "trees": (trees.check, 6),
    "mesh": (trees.check_mesh, 1),
}
MEMORY = 3 << 30  # bytes of a process at which it forgets its programs


class TimeIsUp(KeyboardInterrupt):
    """Ends a round; hypothesis looks into every other exception."""


def run(check, examples, report, number, end):
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

    configurations()


def work(pipe, numbers, names, end):
    """Take turns until the time is up; send a report of each round."""
    try:
        for number in numbers:
            for name in names:
                report = Report(seed=number, end=end)
                try:
                    run(*CHECKS[name], report, number, end)
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
