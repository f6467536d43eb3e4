"""First and second derivatives at random points against finite differences, in float64."""

import numpy as np
from derivatives import CASES, audit
from hypothesis import strategies as st

__all__ = ["check"]


def check(report, draw):
    """Compare the derivatives of one function, next to the point of its table."""
    name = draw(st.sampled_from(sorted(CASES)))
    case, rng = CASES[name], np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    point = np.asarray(case.point, "float64")
    fixed = "zero" in name or "singular" in name  # what is special there is the point itself
    point = point if fixed else point + rng.uniform(-0.02, 0.02, point.shape)
    differences = [
        (which, f"by {difference:.1e} at {point.tolist()}") for which, difference in audit(case, point)
    ]
    report.add(f"derivatives of {name}", "float64", 1, differences)
