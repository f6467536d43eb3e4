"""What functions need to know of rows that do not count.

A function is run by one program, which first puts into these rows what changes nothing, and then does what
the function does inside of `jax.jit`: so dtypes, NaN and errors are the function's own.
"""

from typing import NamedTuple

__all__ = ["EACH_ROW", "TABLE", "Rule"]


class Rule(NamedTuple):
    """How a function of one array treats rows where it mixes them."""

    filler: str  # what rows that do not count hold: "nothing" of these names, or one of `_fillers._FILLERS`
    folds: bool = True  # whether the first axis is gone then, or of length 1
    takes_count: bool = False  # whether it divides by the number of rows


# Of functions that mix no rows, or each row with those before it alone.
EACH_ROW = Rule("nothing", folds=False)

TABLE = {
    # reductions
    "all": Rule("one"),
    "amax": Rule("least"),
    "amin": Rule("greatest"),
    "any": Rule("zero"),
    "argmax": Rule("least"),
    "argmin": Rule("greatest"),
    "count_nonzero": Rule("zero"),
    "max": Rule("least"),
    "mean": Rule("zero", takes_count=True),
    "min": Rule("greatest"),
    "nanmax": Rule("missing"),
    "nanmean": Rule("missing"),
    "nanmedian": Rule("missing"),
    "nanmin": Rule("missing"),
    "nanprod": Rule("one"),
    "nanstd": Rule("missing"),
    "nansum": Rule("zero"),
    "nanvar": Rule("missing"),
    "norm": Rule("zero"),  # orders above 0, of vectors and matrices
    "prod": Rule("one"),
    "ptp": Rule("first"),
    "std": Rule("zero", takes_count=True),
    "sum": Rule("zero"),
    "var": Rule("zero", takes_count=True),
    "vector_norm": Rule("zero"),
    # sorting: what does not count comes last, behind NaN, as sorting is stable
    "argsort": Rule("last", folds=False),
    "sort": Rule("last", folds=False),
    # of rows up to each one, which those behind do not change
    "cumprod": EACH_ROW,
    "cumsum": EACH_ROW,
    "cumulative_prod": EACH_ROW,
    "cumulative_sum": EACH_ROW,
    # of each element, with other arguments than operands
    "around": EACH_ROW,
    "ones_like": EACH_ROW,
    "round": EACH_ROW,
    "zeros_like": EACH_ROW,
}
