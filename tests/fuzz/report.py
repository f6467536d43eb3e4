"""What was tried and what differed."""

import collections
import dataclasses

import numpy as np

__all__ = ["Report", "differs"]


@dataclasses.dataclass
class Report:
    """Counts of cases by name; of differences by name and kind, each with its shortest example."""

    cases: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    differences: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    examples: dict = dataclasses.field(default_factory=dict)
    seed: int = 0  # of the round that runs

    def add(self, name, configuration, difference):
        """Count one case; `difference` is None or (kind, text)."""
        self.cases[name] += 1
        if difference is None:
            return
        kind, text = difference
        example = f"seed {self.seed}: {configuration}: {text}"
        self.differences[name, kind] += 1
        self.examples[name, kind] = min(self.examples.get((name, kind), example), example, key=len)

    def print(self):
        """Print the numbers of cases, then every kind of difference."""
        groups = collections.Counter()
        for name, count in self.cases.items():
            groups[name.split(".")[0]] += count
        for group, count in sorted(groups.items()):
            print(f"{count:10} cases of {group}")
        for (name, kind), count in sorted(self.differences.items()):
            print(f"{count:10} differences of {name}, {kind}; {self.examples[name, kind]}")
        total, wrong = sum(self.cases.values()), sum(self.differences.values())
        print(f"{total} cases of {len(self.cases)} functions and methods, {wrong} differences")


def differs(found, expected, *, rtol=0.0, atol=0.0):
    """Compare two arrays; NaN equals NaN, and the sign of zero is not looked at."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return "shape", f"{found.shape} for {expected.shape}"
    if found.dtype.kind != expected.dtype.kind:
        return "kind of dtype", f"{found.dtype} for {expected.dtype}"
    if found.dtype.kind in "biu":
        wrong = found != expected
    else:
        with np.errstate(all="ignore"):
            near = np.abs(found - expected) <= atol + rtol * np.abs(expected)
        wrong = ~(near | (found == expected) | (np.isnan(found) & np.isnan(expected)))
    if not wrong.any():
        return None
    place = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
    return "values", f"{np.atleast_1d(found)[place]!r} for {np.atleast_1d(expected)[place]!r} at {place}"
