"""How the benchmarks take times, whole calls, results waited for, medians of rounds, and keep them."""

import contextlib
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import time

import jax

__all__ = ["clock", "keep", "median_us", "new_data_us"]

SHOWN = "jax numpy scipy scikit-learn cupy-cuda12x cupy-cuda13x jztree jaxkd torch vesin matscipy"


def keep(path, rows):
    """Write rows of figures (dicts) as JSON with the machine, the versions and the date; without a path, not.

    docs/make_performance.py makes the page's tables and charts of these files.
    """
    if path is None:
        return
    device, cores = jax.devices()[0], os.cpu_count()
    chip = device.device_kind if device.platform == "gpu" else platform.machine()
    versions = {"Python": platform.python_version()}
    for name in SHOWN.split():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    today = datetime.date.today().isoformat()
    facts = {"machine": f"{chip}, {cores} cores", "date": today, "versions": versions}
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    text = json.dumps(facts, indent=1)[:-2] + f',\n "rows": [\n{lines}\n ]\n}}\n'
    pathlib.Path(path).write_text(text)


def median_us(call, *, rounds=7, calls=None, wait=jax.block_until_ready):
    """Return the median time of one call in microseconds, many calls to one wait.

    A call that returns another result each time, on data not seen before, shows what compiles anew. As many
    ``calls`` as 20 ms hold make a round, unless said otherwise; the first two calls of all are not counted.
    """
    wait(call())
    start = time.perf_counter()
    wait(call())
    once = time.perf_counter() - start
    calls = calls or max(1, min(1000, int(0.02 / max(once, 1e-7))))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            result = call()
        wait(result)
        times.append((time.perf_counter() - start) / calls)
        del result
    return 1e6 * statistics.median(times)


def new_data_us(call, make, *, rounds=7, calls=20, wait=jax.block_until_ready):
    """Return the median time of one call in microseconds, each on what `make` returns: data not seen before.

    Data are made before the clock starts; many calls to one wait, as in `median_us`. Where `make` returns
    another size each time, the times are those of first calls, compilation included.
    """
    for _ in range(2):
        wait(call(*make()))
    times = []
    for _ in range(rounds):
        inputs = [make() for _ in range(calls)]
        wait(inputs)
        start = time.perf_counter()
        for arguments in inputs:
            result = call(*arguments)
        wait(result)
        times.append((time.perf_counter() - start) / calls)
        del result, inputs
    return 1e6 * statistics.median(times)


def clock(call, wait=jax.block_until_ready, *, rounds=15, budget=0.3):
    """Return (first call in s, median of single calls in ms), each waited for, within some seconds.

    Some calls before are not counted: a GPU takes some long calls until its clock is steady.
    """
    start = time.perf_counter()
    wait(call())
    first = time.perf_counter() - start
    began = time.perf_counter()
    for _ in range(8):
        if time.perf_counter() - began < 3 * budget:
            wait(call())
    times, began = [], time.perf_counter()
    while len(times) < rounds and (len(times) < 3 or time.perf_counter() - began < budget):
        start = time.perf_counter()
        wait(call())
        times.append(1e3 * (time.perf_counter() - start))
    return round(first, 2), round(statistics.median(times), 3)
