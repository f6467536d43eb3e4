"""The namespace's functions beside NumPy's: eager, jitted and vmapped, with x64 on and off."""

from functools import partial

import jax
import numpy as np
from hypothesis import strategies as st

import jaxapi as xp

from .report import differs
from .table import SPECS

__all__ = ["check"]

VALUES = 100  # cases of a configuration, which is compiled once


def check(report, draw):
    """Compare one function of one configuration with NumPy, for several values."""
    name = draw(st.sampled_from(sorted(SPECS)))
    spec = SPECS[name]
    dtype, shape = draw(st.sampled_from(spec.dtypes)), draw(st.sampled_from(spec.shapes))
    options = {key: draw(strategy) for key, strategy in spec.options.items()}
    mode = draw(st.sampled_from(["eager", "jit", "vmap"])) if spec.traced else "eager"
    x64, rng = draw(st.booleans()), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    configuration = f"{dtype} {shape} {options} {mode}, x64 {'on' if x64 else 'off'}"
    ours, theirs = function(xp, name), function(np, name)
    if not spec.traced and spec.ulps in (0, 64):
        options["dtype"] = dtype
    with jax.enable_x64(x64):
        call = partial(ours, **options)
        run = {"eager": call, "jit": jax.jit(call), "vmap": jax.jit(jax.vmap(call))}[mode]
        for _ in range(VALUES):
            arguments = spec.arrays(rng, dtype, shape)
            oracle = partial(theirs, **options)
            report.add(f"xp.{name}", configuration, compare(run, oracle, arguments, mode, spec.ulps))


def function(namespace, name):
    """Return a function by its dotted name."""
    if namespace is np and name == "unique_values":
        return np.unique  # which sorts, as ours does; the standard leaves the order open
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def compare(run, oracle, arguments, mode, ulps):
    """Return None, or (kind, text): how our result differs from NumPy's."""
    with np.errstate(all="ignore"):
        try:
            expected = oracle(*arguments)
        except (ValueError, TypeError, OverflowError):
            return None  # without an answer of NumPy's there is nothing to compare with
    given = [a if isinstance(a, float) else xp.asarray(a) for a in arguments]
    try:
        found = run(*(xp.stack([a, a]) for a in given) if mode == "vmap" else given)
    except Exception as error:
        return type(error).__name__, f"{str(error)[:200]!r} for {expected!r}"
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        ours = np.asarray(ours)[1] if mode == "vmap" else ours
        difference = differs(ours, theirs, **tolerance(np.asarray(theirs), arguments, ulps))
        if difference:
            inputs = ", ".join(repr(np.asarray(a).tolist()) for a in arguments)
            return difference[0], f"{difference[1]} of {inputs[:300]}"
    return None


def tolerance(expected, arguments, ulps):
    """Allow so many units in the last place, absolute ones for sums; XLA flushes subnormals."""
    if expected.dtype.kind not in "fc":
        return {}
    info = np.finfo(expected.dtype)
    sizes = [np.max(np.abs(a[np.isfinite(a)]), initial=0) for a in map(np.asarray, [*arguments, expected])]
    largest = max(sizes) if ulps > 16 or expected.dtype.kind == "c" else 0
    return {"rtol": ulps * info.eps, "atol": ulps * info.eps * float(min(largest, 1e6)) + float(info.tiny)}
