"""What was tried and what differed."""

import collections
import dataclasses
import math

import numpy as np

__all__ = ["NoOracle", "Report", "differing", "differs"]


class NoOracle(Exception):
    """There is nothing to compare with: NumPy raises, or no radius is clear of rounding."""


@dataclasses.dataclass
class Report:
    """Configurations and comparisons by name; differences by name and kind, each with its shortest example.

    A configuration is a function or method with its dtype, shape, options and mode; a comparison is one set
    of values in it, ours next to the oracle's.
    """

    configurations: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    comparisons: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    differences: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    examples: dict = dataclasses.field(default_factory=dict)
    seed: int = 0  # of the round that runs
    end: float = math.inf  # when its time is up

    def add(self, name, configuration, comparisons, differences):
        """Count a configuration; `differences` has (kind, text) of each set of values that differs."""
        self.configurations[name] += 1
        self.comparisons[name] += comparisons
        for kind, text in differences:
            self.differ(name, kind, f"seed {self.seed}: {configuration}: {text}")

    def differ(self, name, kind, example):
        """Count one difference."""
        self.differences[name, kind] += 1
        self.examples[name, kind] = min(self.examples.get((name, kind), example), example, key=len)

    def merge(self, other):
        """Add what another process found."""
        self.configurations += other.configurations
        self.comparisons += other.comparisons
        self.differences += other.differences
        for key, example in other.examples.items():
            self.examples[key] = min(self.examples.get(key, example), example, key=len)

    def print(self, by_name=False):
        """Print the numbers of groups, or of every function and method, then every kind of difference."""
        groups = collections.defaultdict(lambda: [0, 0])
        for name, count in self.configurations.items():
            group = groups[name if by_name else name.partition(".")[0]]
            group[0] += count
            group[1] += self.comparisons[name]
        for group, (configurations, comparisons) in sorted(groups.items()):
            print(f"{comparisons:10} comparisons in {configurations:7} configurations of {group}")
        for (name, kind), count in sorted(self.differences.items()):
            print(f"{count:10} differences of {name}, {kind}; {self.examples[name, kind]}")
        print(
            f"{self.comparisons.total()} comparisons in {self.configurations.total()} configurations of "
            f"{len(self.configurations)} functions and methods: {self.differences.total()} differences"
        )


def differs(found, expected, *, rtol=0.0, atol=0.0):
    """Return None, or (kind, text); NaN equals NaN, and the sign of zero is not looked at."""
    for _, difference in differing([found], [expected], rtol=rtol, atol=atol):
        return difference
    return None


def differing(found, expected, *, rtol=0.0, atol=0.0):
    """Compare arrays with arrays; yield (place, (kind, text)) of each that differs.

    `atol` is one number, or one for each array. Arrays that are all of one shape are compared in one go.
    """
    found, expected = [np.asarray(each) for each in found], [np.asarray(each) for each in expected]
    atol = np.broadcast_to(atol, len(found))
    alike = {(a.shape, a.dtype) for a in found} | {
        (b.shape, a.dtype) for a, b in zip(found, expected, strict=True)
    }
    if len(alike) == 1 and len({b.dtype for b in expected}) == 1 and len(found) > 1:
        across = atol.reshape(-1, *[1] * found[0].ndim)
        wrong = unequal(np.stack(found), np.stack(expected), rtol, across)
        suspects = np.flatnonzero(wrong.reshape(len(found), -1).any(axis=1))
    else:
        suspects = range(len(found))
    for place in suspects:
        difference = one_differs(found[place], expected[place], rtol, atol[place])
        if difference:
            yield place, difference


def one_differs(found, expected, rtol, atol):
    """Compare two arrays; floating dtypes have to be the same, of integers the kind."""
    if found.shape != expected.shape:
        return "shape", f"{found.shape} for {expected.shape}"
    exact = expected.dtype.kind in "fc"
    if found.dtype != expected.dtype if exact else found.dtype.kind != expected.dtype.kind:
        return "dtype", f"{found.dtype} for {expected.dtype}"
    found, expected = np.atleast_1d(found, expected)
    wrong = np.argwhere(unequal(found, expected, rtol, atol))
    if not len(wrong):
        return None
    place = tuple(wrong[0].tolist())
    return "values", f"{found[place]!r} for {expected[place]!r} at {place}"


def unequal(found, expected, rtol, atol):
    """Say where two arrays of one shape differ."""
    if found.dtype != expected.dtype or found.dtype.kind not in "fc":
        return (found != expected) | (found.dtype != expected.dtype and found.dtype.kind in "fc")
    with np.errstate(all="ignore"):
        near = np.abs(found - expected) <= atol + rtol * np.abs(expected)
    return ~(near | (found == expected) | (np.isnan(found) & np.isnan(expected)))
