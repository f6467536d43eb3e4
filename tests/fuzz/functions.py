"""The namespace's functions against NumPy's: eager, jitted and vmapped, with x64 on and off."""

from functools import partial

import jax
import numpy as np
from hypothesis import strategies as st

import jaxapi as xp

from .report import differing
from .table import CONCRETE, SPECS

__all__ = ["check"]

VALUES = 1000  # sets of values of a configuration, which is compiled once
FEW = 40  # where each shape of a result compiles


def check(report, draw):
    """Compare one function in one configuration with NumPy, for many sets of values."""
    name = draw(st.sampled_from(sorted(SPECS)))
    spec = SPECS[name]
    dtype, shape = draw(st.sampled_from(spec.dtypes)), draw(st.sampled_from(spec.shapes))
    options = {key: draw(strategy) for key, strategy in spec.options.items()}
    mode, x64 = draw(st.sampled_from(spec.modes)), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    configuration = f"{dtype} {shape} {options} {mode}, x64 {'on' if x64 else 'off'}"
    if spec.typed:
        options["dtype"] = dtype
    count = 1 if 0 in shape else FEW if spec.modes == CONCRETE else VALUES
    arrays = spec.arrays(rng, dtype, count, shape)
    sets = list(zip(*(a if isinstance(a, list) else map(np.asarray, a) for a in arrays), strict=True))
    with jax.enable_x64(x64):
        report.add(
            f"xp.{name}", configuration, *compare(function(name, spec, options), sets, mode, spec.ulps)
        )


def function(name, spec, options):
    """Return what is called with a namespace and arrays."""
    if spec.call:
        return partial(spec.call, **options)

    def call(namespace, *arrays):
        found = namespace
        for part in name.partition(",")[0].split("."):
            # NumPy's `unique` sorts, as ours does; the standard leaves the order open
            found = getattr(found, "unique" if found is np and part == "unique_values" else part)
        return found(*arrays, **options)

    return call


def compare(call, sets, mode, ulps):
    """Return for how many sets of values NumPy has an answer, and how ours differ: (kind, text) each."""
    known, expected = [], []
    for values in sets:
        with np.errstate(all="ignore"):
            try:
                expected.append(jax.tree.leaves(call(np, *values)))
            except (ValueError, TypeError, OverflowError):
                continue
        known.append(values)
    if not known:
        return 0, []
    try:
        found = results(partial(call, xp), known, mode)
    except Exception as error:
        return len(known), [(type(error).__name__, f"{str(error)[:200]!r} for {expected[0]!r}")]
    differences = {}
    for ours, theirs in zip(zip(*found, strict=True), zip(*expected, strict=True), strict=True):
        for place, (kind, text) in differing(ours, theirs, **tolerance(theirs, known, ulps)):
            inputs = ", ".join(repr(np.asarray(a).tolist()) for a in known[place])
            differences[place] = kind, f"{text} of {inputs[:300]}"
    return len(known), differences.values()


def results(call, sets, mode):
    """Return the leaves of each result, by one call for each set of values, or one for all of them."""
    if mode == "vmap":
        arrays = [xp.asarray(np.stack(column)) for column in zip(*sets, strict=True)]
        return list(zip(*map(np.asarray, jax.tree.leaves(jax.jit(jax.vmap(call))(*arrays))), strict=True))
    if mode == "jit":  # which narrows NumPy's arrays and Python's numbers with x64 off
        numbers = [i for i, a in enumerate(sets[0]) if not isinstance(a, np.ndarray)]
        call = jax.jit(call, static_argnums=numbers)
        sets = [[xp.asarray(a) if isinstance(a, np.ndarray) else a for a in values] for values in sets]
    return [jax.tree.leaves(call(*values)) for values in sets]


def tolerance(expected, sets, ulps):
    """Allow so many units in the last place, absolute ones for sums; XLA flushes subnormals."""
    dtype = np.asarray(expected[0]).dtype
    if dtype.kind not in "fc":
        return {}
    info = np.finfo(dtype)
    if ulps <= 16 and dtype.kind != "c":
        return {"rtol": ulps * info.eps, "atol": float(info.tiny)}
    sizes = np.array(
        [max(map(largest, [*values, result])) for values, result in zip(sets, expected, strict=True)]
    )
    return {"rtol": ulps * info.eps, "atol": ulps * info.eps * np.minimum(sizes, 1e6) + float(info.tiny)}


def largest(values):
    """Return the largest finite magnitude."""
    sizes = np.abs(values)
    return float(np.max(sizes, initial=0, where=np.isfinite(sizes)))
