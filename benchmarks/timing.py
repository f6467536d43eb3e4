"""How the benchmarks take times: whole calls, results waited for, the median of several rounds."""

import statistics
import time

import jax

__all__ = ["clock", "median_us", "new_data_us"]


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
