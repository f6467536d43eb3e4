"""`fuse` against `jax.jit`, cupy.fuse and CuPy: bandwidth, host time, methods, many lengths, `explain`.

    python benchmarks/bench_fuse.py [--elements 268435456] [--only bandwidth ...] [--json FILE]

Runs what the machine can: with CuPy and a GPU the tables have CuPy's columns. A figure is the median of
several rounds of many calls to one synchronisation. "New data" are other arrays at each call; new sizes are
the 100 lengths.
"""

import argparse
import os
import statistics
import tempfile
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("CUPY_CACHE_DIR", tempfile.mkdtemp())  # compile CuPy's kernels anew, as jax does

import jax
import jax.numpy as jnp
import numpy as np
from timing import keep, median_us, new_data_us

import jaxapi as xp
from jaxapi.spatial import pad_rows

try:
    import cupy as cp

    cp.zeros(1)
except Exception:
    cp = None

ON_GPU = jax.devices()[0].platform == "gpu"


def example_map(xp):
    return lambda x, y: 1 + 0.5 * x * y


def example_where(xp):
    return lambda mask, p: xp.where(mask[:, xp.newaxis], xp.inf, p)


def example_map_reduce(xp):
    return lambda x, y: xp.sum(xp.sqrt(x * x + y * y))


def example_rows(xp):
    def rows(x):
        mean = xp.sum(x, axis=1) / x.shape[1]
        centred = x - mean[:, xp.newaxis]
        return centred / xp.sqrt(xp.sum(centred * centred, axis=1) / x.shape[1])[:, xp.newaxis]

    return rows


def cupy_seconds(function, args):
    try:
        wait = cp.cuda.Device().synchronize
        return 1e-6 * median_us(lambda: function(*args), wait=lambda _: wait(), rounds=3)
    except Exception as error:
        print(f"    (CuPy: {type(error).__name__}: {str(error)[:90]})")
        return None


def bandwidth(elements, kept):
    rows = elements // 1024
    key = jax.random.key(0)
    flat = [jax.random.normal(k, (elements,), dtype="float32") for k in jax.random.split(key)]
    mask = jax.random.bernoulli(key, 0.5, (elements // 4,))
    cases = [
        ("1 + 0.5*x*y", example_map, flat, 12 * elements),
        ("where(mask[:, None], inf, p)", example_where, [mask, flat[0].reshape(-1, 4)], 8.25 * elements),
        ("sum(sqrt(x*x + y*y))", example_map_reduce, flat, 8 * elements),
        ("row normalisation, 1024", example_rows, [flat[0].reshape(rows, 1024)], 8 * elements),
    ]
    copy = jax.jit(jnp.copy)
    seconds = 1e-6 * median_us(lambda: copy(flat[0]))
    copy_speed = 8 * elements / seconds
    print(f"\nBandwidth, {elements} float32 on {jax.devices()[0].device_kind}, TB/s (of the copy)")
    print(f"{'device copy, jax':32s} {copy_speed / 1e12:.3f}")
    if cp is not None:
        source, target = cp.ones(elements, cp.float32), cp.empty(elements, cp.float32)
        seconds = cupy_seconds(lambda a, b: cp.copyto(b, a), [source, target])
        print(f"{'device copy, CuPy':32s} {8 * elements / seconds / 1e12:.3f}")
        copy_speed = max(copy_speed, 8 * elements / seconds)
        del source, target
    print(f"{'':32s} {'fuse':>14s} {'new data':>14s} {'jax.jit':>14s} {'cupy.fuse':>14s} {'CuPy':>14s}")
    for name, make, args, size in cases:
        fused, compiled = xp.fuse(make(xp)), jax.jit(make(jnp))
        cells = [1e-6 * median_us(lambda f=fused, a=args: f(*a))]
        cells.append(1e-6 * new_data_us(fused, lambda a=args: [copy(each) for each in a], calls=4))
        cells.append(1e-6 * median_us(lambda f=compiled, a=args: f(*a)))
        if cp is not None:
            theirs = [cp.from_dlpack(a) if a.dtype != bool else cp.asarray(np.asarray(a)) for a in args]
            kernel = cp.fuse(kernel_name="bench")(make(cp))
            cells += [cupy_seconds(kernel, theirs), cupy_seconds(make(cp), theirs)]
            del theirs
            cp.get_default_memory_pool().free_all_blocks()
        names, times = ("fuse", "new", "jit", "cupy.fuse", "cupy"), [s and round(1e3 * s, 4) for s in cells]
        kept.append({"work": name} | dict(zip(names, times, strict=False)))
        shown = [
            f"{size / s / 1e12:6.3f} ({size / s / copy_speed:.2f})" if s else f"{'-':>13s}" for s in cells
        ]
        print(f"{name:32s} " + " ".join(f"{cell:>14s}" for cell in shown))


def explain(elements):
    print("\nWhat XLA made of the examples")
    flat = jnp.ones(elements, "float32")
    for make, args in (
        (example_map, (flat, flat)),
        (example_where, (jnp.ones(elements // 4, bool), flat.reshape(-1, 4))),
        (example_map_reduce, (flat, flat)),
        (example_rows, (flat.reshape(-1, 1024),)),
    ):
        print(xp.fuse(make(xp), kernel_name=make.__name__).explain(*args))


def host_time():
    print(
        "\nHost time a call, 16 elements, us of this thread: fuse, jax.jit, difference (interleaved medians)"
    )
    x = jnp.ones(16, "float32")

    def function(x, y, a):
        return a * x + y

    def compare(name, *args, **kwargs):
        pair = [xp.fuse(function), jax.jit(function)]
        rounds: list = [[], []]
        for f in pair:
            f(*args, **kwargs)
        for _ in range(40):
            for f, found in zip(pair, rounds, strict=True):
                start = time.thread_time()
                for _ in range(500):
                    result = f(*args, **kwargs)
                found.append((time.thread_time() - start) / 500)
                jax.block_until_ready(result)
        ours, theirs = (1e6 * statistics.median(found) for found in rounds)
        print(f"{name:36s} {ours:7.2f} {theirs:7.2f} {ours - theirs:+6.2f}")

    def new_arrays(title):
        def make():
            return jax.device_put([np.ones(16, x.dtype) for _ in range(3)])

        ours, theirs = (new_data_us(f, make, calls=200) for f in (xp.fuse(function), jax.jit(function)))
        print(f"{title + ': new arrays at each call':36s} {ours:7.2f} {theirs:7.2f} {ours - theirs:+6.2f}")

    for x64 in (False, True):
        with jax.enable_x64(x64):
            x = jnp.ones(16)
            title = f"x64 {'on' if x64 else 'off'}, {x.dtype}"
            compare(f"{title}: arrays", x, x, x)
            new_arrays(title)
            compare(f"{title}: a Python float", x, x, 2.0)
            compare(f"{title}: a Python int", x, x, 3)
            compare(f"{title}: keywords", x, x, a=2.0)
            compare(f"{title}: a NumPy array", np.ones(16, x.dtype), x, 2.0)
    wide = xp.asarray(np.ones(16))
    compare("x64 off, float64: a Python float", wide, wide, 2.0)


class Scaled:
    """An object with the fields of a small model."""

    def __init__(self, x):
        self.x = x
        self.a = 2.0
        self.mode = "plain"
        self.steps = 3
        self.shape = (4, 4)
        self.options = {"shift": 0.5}

    @xp.fuse
    def of(self, y):
        return self.a * self.x + y


def methods():
    """Print what a fused method takes beside the fused function of its fields."""
    x = jnp.ones(16, "float32")
    scaled = Scaled(x)
    function = xp.fuse(lambda x, y, a: a * x + y)
    calls = {"function": lambda: function(x, x, 2.0), "method": lambda: scaled.of(x)}
    times: dict = {name: [] for name in calls}
    for _ in range(60):
        for name, call in calls.items():
            start = time.thread_time()
            for _ in range(200):
                result = call()
            times[name].append(1e6 * (time.thread_time() - start) / 200)
            jax.block_until_ready(result)
    print("\nHost time of a method with six fields, of the function of what it uses, difference, us (least)")
    method_time, function_time = (min(times[name]) for name in ("method", "function"))
    print(f"{method_time:7.2f} {function_time:7.2f} {method_time - function_time:+6.2f}")


def many_lengths():
    lengths = np.random.default_rng(0).integers(1_000, 1_000_000, 100)
    data = [jnp.asarray(np.random.default_rng(n).standard_normal(n), "float32") for n in lengths]
    jax.block_until_ready(data)
    print("\n100 lengths from 1,000 to 1,000,000, 1 + 0.5*x*y, seconds: first pass, second pass")

    def passes(name, function, data, synchronise):
        times = []
        for _ in range(2):
            start = time.perf_counter()
            result = [function(x, x) for x in data]
            synchronise(result)
            times.append(time.perf_counter() - start)
        print(f"{name:32s} {times[0]:8.3f} {times[1]:8.3f}")

    padded = xp.fuse(example_map(xp))

    def padded_and_cut(x, _):
        rows, _ = pad_rows(x)
        return padded(rows, rows)[: len(x)]

    passes("fuse of pad_rows", padded_and_cut, data, jax.block_until_ready)
    if cp is not None:
        theirs = [cp.asarray(np.asarray(x)) for x in data]
        kernel = cp.fuse(kernel_name="lengths")(example_map(cp))
        passes("cupy.fuse", kernel, theirs, lambda _: cp.cuda.Device().synchronize())
    passes("fuse", xp.fuse(example_map(xp)), data, jax.block_until_ready)
    passes("jax.jit", jax.jit(example_map(jnp)), data, jax.block_until_ready)
    jax.config.update("jax_compilation_cache_dir", tempfile.mkdtemp())
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    passes("fuse, filling a persistent cache", xp.fuse(example_map(xp)), data, jax.block_until_ready)
    jax.clear_caches()
    passes("fuse, from the persistent cache", xp.fuse(example_map(xp)), data, jax.block_until_ready)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=2**28 if ON_GPU else 2**22)
    parser.add_argument("--only", nargs="*", default=["host", "methods", "bandwidth", "explain", "lengths"])
    parser.add_argument("--json", help="write the bandwidths' times in ms to this file, too")
    options, kept = parser.parse_args(), []
    print(f"jax {jax.__version__}, {jax.devices()}, CuPy {cp.__version__ if cp else 'absent'}")
    parts = {
        "host": host_time,
        "methods": methods,
        "bandwidth": lambda: bandwidth(options.elements, kept),
        "explain": lambda: explain(options.elements),
        "lengths": many_lengths,
    }
    for name in options.only:
        try:
            parts[name]()
        except Exception as error:
            print(f"failed: {type(error).__name__}: {error}")
    keep(options.json, kept)


if __name__ == "__main__":
    main()
