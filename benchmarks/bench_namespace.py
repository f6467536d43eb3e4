"""Every function of the namespace: a million elements, and small calls, beside NumPy's and jax.numpy's.

`large`: times are the shortest of single calls in ms, waited for, compilation apart. Memory is what a program
needs beside its arguments, result included, in MB: XLA's own analysis of the compiled program, Python's trace
of NumPy's arrays. What takes more than `--worst` times jax.numpy's time or memory is marked, as is what grows
faster than the elements: a tenth of them takes less than a fiftieth of the time or memory.

`small`: the host's time of an eager call on 16 elements in us, against the same function under one plain
`jax.jit` and against jax.numpy's. "New data" are other arrays at each call.

`peers`: times of ninety calls on some million elements in ms, beside CuPy's and PyTorch's on a GPU, where six
calls are waited for together, and NumPy's on the CPU.

    python benchmarks/bench_namespace.py [--parts small] [--only isin sort] [--elements 1000000] [--json FILE]
"""

import argparse
import contextlib
import functools
import operator
import time
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import peer_calls
from timing import keep, median_us, new_data_us

import jaxapi as xp

MOST = 10_000  # MB; what needs more is not run
SECONDS = 0.3  # for the rounds of one row

UNARY = "abs acos asin asinh atan atanh ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan"
UNARY += " log log10 log1p log2 negative positive real reciprocal round sign signbit sin sinh sqrt square"
UNARY += " tan tanh trunc"
BINARY = "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp"
BINARY += " maximum minimum multiply nextafter not_equal pow remainder subtract"
LOGICAL = "logical_and logical_or logical_xor"
BITWISE = "bitwise_and bitwise_or bitwise_xor"
REDUCTIONS = "all any argmax argmin count_nonzero max mean min prod std sum var"
ALONG = "argsort cumulative_prod cumulative_sum diff flip sort"
COMPLEX = "abs acos asinh cos exp log log10 log2 sign sin sqrt tanh conj real"
UNIQUE = "unique_all unique_counts unique_inverse unique_values"
MATRICES = "cholesky det eigh eigvalsh inv pinv qr slogdet svd svdvals trace diagonal matrix_norm matrix_rank"


def rows(n):
    """Yield (label, name, arguments, options) of calls on n elements."""
    rng = np.random.default_rng(0)
    side = int(n**0.5)
    x, y = rng.uniform(0.1, 0.9, (2, n)).astype("float32")
    i, j = rng.integers(0, n, (2, n)).astype("int32")
    flags, table, z = x > 0.5, x[: side * side].reshape(side, side), (x + 1j * y).astype("complex64")
    ordered = np.sort(y)
    for name in UNARY.split():
        yield name, name, (x,), {}
    yield "acosh", "acosh", (x + 1,), {}
    for name in BINARY.split():
        yield name, name, (x, y), {}
    for name in COMPLEX.split():
        yield f"{name}, complex", name, (z,), {}
    for name in LOGICAL.split():
        yield name, name, (flags, flags), {}
    for name in BITWISE.split():
        yield name, name, (i, j), {}
    yield "logical_not", "logical_not", (flags,), {}
    yield "bitwise_invert", "bitwise_invert", (i,), {}
    yield "bitwise_left_shift", "bitwise_left_shift", (i, j % 8), {}
    yield "bitwise_right_shift", "bitwise_right_shift", (i, j % 8), {}
    yield "pow, a square", "pow", (x, 2), {}
    yield "pow, integers", "pow", (i, 3), {}
    yield "clip", "clip", (x, 0.2, 0.6), {}
    yield "where", "where", (flags, x, y), {}
    for name in REDUCTIONS.split():
        yield name, name, (x,), {}
        yield f"{name}, rows", name, (table,), {"axis": 1}
        yield f"{name}, columns", name, (table,), {"axis": 0}
    for name in ALONG.split():
        yield name, name, (x,), {}
        yield f"{name}, rows", name, (table,), {"axis": 1}
    for name in UNIQUE.split():
        yield name, name, (i,), {}
    yield "isin", "isin", (i, j), {}
    yield "isin, in few", "isin", (i, j[:10]), {}
    yield "isin, in uint32", "isin", (i, j.astype("uint32")), {}
    yield "searchsorted", "searchsorted", (ordered, x), {}
    yield "searchsorted, few", "searchsorted", (ordered, x[:100]), {}
    yield "nonzero", "nonzero", (flags,), {}
    yield "take", "take", (x, i), {"axis": 0}
    yield (
        "take_along_axis",
        "take_along_axis",
        (table, (i % side)[: side * side].reshape(side, side)),
        {"axis": 1},
    )
    yield "concat", "concat", ((x, y),), {}
    yield "stack", "stack", ((x, y),), {"axis": 1}
    yield "roll", "roll", (x, 7), {}
    yield "repeat", "repeat", (x, 3), {}
    yield "repeat, each", "repeat", (x, i % 3), {}
    yield "tile", "tile", (x, (3,)), {}
    yield "unstack", "unstack", (x[: n // 10 * 10].reshape(10, -1),), {}
    yield "broadcast_to", "broadcast_to", (x, (3, n)), {}
    yield "expand_dims", "expand_dims", (x, 0), {}
    yield "permute_dims", "permute_dims", (table, (1, 0)), {}
    yield "moveaxis", "moveaxis", (table, 0, 1), {}
    yield "reshape", "reshape", (x[: side * side], (side, side)), {}
    yield "squeeze", "squeeze", (x[None],), {"axis": 0}
    yield "meshgrid", "meshgrid", (x[:side], y[:side]), {}
    yield "tril", "tril", (table,), {}
    yield "triu", "triu", (table,), {}
    yield "matrix_transpose", "matrix_transpose", (table,), {}
    yield "matmul", "matmul", (table, table), {}
    yield "tensordot", "tensordot", (x, y), {"axes": 1}
    yield "vecdot", "vecdot", (table, table), {}
    yield "linalg.outer", "linalg.outer", (x[:side], y[:side]), {}
    points = x[: n // 3 * 3].reshape(-1, 3)
    yield "linalg.cross", "linalg.cross", (points, points[::-1]), {}
    yield "linalg.vector_norm", "linalg.vector_norm", (x,), {}
    yield "linalg.vector_norm, rows", "linalg.vector_norm", (points,), {"axis": 1}
    matrices = x[: n // 16 * 16].reshape(-1, 4, 4) + 4 * np.eye(4, dtype="float32")
    matrices += np.matrix_transpose(matrices)
    for name in MATRICES.split():
        yield f"linalg.{name}", f"linalg.{name}", (matrices,), {}
    yield "linalg.matrix_power", "linalg.matrix_power", (matrices, 3), {}
    yield "linalg.solve", "linalg.solve", (matrices, matrices[..., :1]), {}
    for name in ["fft", "fftshift", "ifft", "ifftshift", "rfft"]:
        yield f"fft.{name}", f"fft.{name}", (x if name == "rfft" else z,), {}
    yield "fft.irfft", "fft.irfft", (z,), {}
    yield "arange", "arange", (0.0, float(n), 1.0), {}
    yield "linspace", "linspace", (0.0, 1.0, n), {}
    yield "logspace", "logspace", (0.0, 1.0, n), {}
    yield "zeros", "zeros", ((n,),), {}
    yield "full", "full", ((n,), 3.0), {}
    yield "eye", "eye", (side,), {}
    yield "full_like", "full_like", (x, 3.0), {}
    yield "asarray", "asarray", (x,), {}
    yield "astype", "astype", (x, "float16"), {}


def call_of(namespace, name, arguments, options):
    """Return a function of arrays, and the arrays, of the namespace's kind."""
    function = operator.attrgetter(name)(namespace)
    is_array = [any(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(a)) for a in arguments]
    arrays = [a for a, at in zip(arguments, is_array, strict=True) if at]
    if namespace is not np and name != "asarray":
        arrays = jax.tree.map(jnp.asarray, arrays)

    def on(*arrays):
        rest = iter(arrays)
        given = [next(rest) if at else a for a, at in zip(arguments, is_array, strict=True)]
        return function(*given, **options)

    return on, arrays


def compiled_mb(on, arrays):
    """Return the megabytes of a program's result and temporary arrays; None if it is no one program."""
    try:
        analysis = jax.jit(on).lower(*arrays).compile().memory_analysis()
    except jax.errors.JAXTypeError:  # a result's size is known by values
        return None
    return (analysis.temp_size_in_bytes + analysis.output_size_in_bytes) / 1e6


def traced_mb(call):
    """Return the megabytes of Python's memory that a call takes at most."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def measure(row, rounds=7):
    """Return {namespace: (ms, MB)}: of calls that take turns, the shortest, as other programs disturb."""
    _, name, arguments, options = row
    calls, times, memory = {}, {}, {}
    for label, namespace in (("numpy", np), ("jnp", jnp), ("jaxapi", xp)):
        try:
            on, arrays = call_of(namespace, name, arguments, options)
            call = functools.partial(on, *arrays)
            memory[label] = traced_mb(call) if namespace is np else compiled_mb(on, arrays)
            if memory[label] is None or memory[label] < MOST:
                jax.block_until_ready(call())
                calls[label], times[label] = call, []
        except (AttributeError, TypeError, np.linalg.LinAlgError) as error:
            print(f"    {label}: {type(error).__name__}: {str(error)[:80]}")
    began = time.perf_counter()
    for _ in range(rounds):
        for label, call in calls.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            times[label].append(1e3 * (time.perf_counter() - start))
        if time.perf_counter() - began > SECONDS:
            break
    labels = "numpy", "jnp", "jaxapi"
    return {label: (min(times.get(label, [np.nan])), memory.get(label)) for label in labels}


def marks(measured, few, worst):
    """Say what is wrong with a row, of which ``few`` has a tenth of the elements."""
    ms, mb = measured["jaxapi"]
    jnps, jnps_mb = measured["jnp"]
    said = ""
    if ms > worst * jnps + 0.03:
        said += "  SLOWER"
    if None not in (mb, jnps_mb) and mb > worst * jnps_mb + 0.1:
        said += "  LARGER"
    if few is not None and (ms > 50 * few["jaxapi"][0] or (mb or 0) > 50 * (few["jaxapi"][1] or 1)):
        said += "  QUADRATIC"
    return said


CALLS = 100  # of a round
ROUNDS = 60


def small_calls(only):
    """Print the host's time of small calls; the times of a row are taken in turn."""
    print(f"\n{'us, 16 elements':<28}{'jaxapi':>8}{'jit':>8}{'ratio':>7}{'jnp':>11}{'new data':>10}")
    ratios = []
    for label, name, arguments, options in rows(16):
        if only and name not in only:
            continue
        arrays = on_device(arguments)
        ours = functools.partial(operator.attrgetter(name)(xp), **options)
        on, jit_arrays = call_of(xp, name, arguments, options)
        program = jax.jit(on)
        calls = {
            "jaxapi": functools.partial(ours, *arrays),
            "jit": functools.partial(program, *jit_arrays),
        }
        with contextlib.suppress(AttributeError):
            calls["jnp"] = functools.partial(operator.attrgetter(name)(jnp), *arrays, **options)
        times = {key: host_us(call) for key, call in calls.items() if runs(call)}
        if "jaxapi" not in times:
            continue
        for _ in range(ROUNDS - 1):
            times = {key: min(best, host_us(calls[key])) for key, best in times.items()}
        us, jit_us, jnp_us = (times.get(key, np.nan) for key in ("jaxapi", "jit", "jnp"))
        ratios.append(us / jit_us)
        new_us = new_data_us(ours, lambda arguments=arguments: on_device(arguments), calls=CALLS)
        print(f"{label:<28}{us:8.1f}{jit_us:8.1f}{us / jit_us:7.2f}{jnp_us:11.1f}{new_us:10.1f}", flush=True)
    few = np.sum(np.array(ratios) <= 1.15)
    print(f"{few} of {len(ratios)} at most 1.15, median {np.nanmedian(ratios):.2f}")


def runs(call):
    """Whether a call works at all: some results have no size under `jax.jit`, some names are not JAX's."""
    try:
        jax.block_until_ready(call())
    except (AttributeError, TypeError, ValueError, jax.errors.JAXTypeError):
        return False
    return True


def host_us(call):
    """Return the microseconds of a call, of many to one wait."""
    for _ in range(CALLS // 10):  # the function measured before, a slow one even, leaves cold caches
        call()
    start = time.perf_counter()
    for _ in range(CALLS):
        result = call()
    seconds = (time.perf_counter() - start) / CALLS
    jax.block_until_ready(result)
    return 1e6 * seconds


def on_device(arguments):
    """Return arguments with new jax arrays in the place of NumPy's."""
    return jax.tree.map(lambda x: jax.device_put(x) if isinstance(x, np.ndarray) else x, arguments)


def large_calls(options):
    """Print the table of many elements, and return its figures."""
    print(f"{options.elements} elements")
    print(f"{'ms: NumPy':>36}{'jnp':>10}{'jaxapi':>10}{'/ jnp':>8}{'MB: NumPy':>12}{'jnp':>9}{'jaxapi':>9}")
    table = []
    smaller = {row[0]: row for row in rows(options.elements // 10)}
    for row in rows(options.elements):
        if options.only and row[1] not in options.only:
            continue
        measured = measure(row)
        ms, mb = zip(*measured.values(), strict=True)
        few = measure(smaller[row[0]]) if ms[2] > 5 and row[1] != "matmul" else None
        text = f"{row[0]:26}" + "".join(f"{t:10.3f}" for t in ms) + f"{ms[2] / ms[1]:8.2f}   "
        text += "".join(f"{'':>9}" if m is None else f"{m:9.1f}" for m in mb)
        print(text + marks(measured, few, options.worst), flush=True)
        figures = {label: None if time != time else round(time, 4) for label, (time, _) in measured.items()}
        table.append({"elements": options.elements, "work": row[0], **figures})
    return table


# (elements, rows of a table, side of a matrix, small matrices) of the calls beside peers
PEER_SIZES = {"gpu": (1 << 24, 1 << 12, 2048, 4096), "cpu": (1 << 20, 1 << 9, 512, 256)}
TOGETHER = {"gpu": 6, "cpu": 1}  # calls to one wait, so that a GPU has work while the host starts the next


def peer_table(only):
    """Print the times of calls beside the peers', and return the figures."""
    platform = jax.default_backend()
    peers = peers_of(platform)
    print("".join(f"{name:>10}" for name in ("jaxapi", *peers, "ratio")))
    table = []
    for call in peer_calls.all_calls(peer_calls.Data(*PEER_SIZES[platform])):
        if only and not any(name in call.name for name in only):
            continue
        arrays = [jnp.asarray(array) for array in call.arrays]
        figures = {"jaxapi": peer_ms(functools.partial(call.ours, xp, *arrays), jax.block_until_ready)}
        del arrays
        for name, (run, wait) in peers.items():
            figures[name] = peer_ms(run(call), wait)
        others = [ms for name, ms in figures.items() if name != "jaxapi" and ms is not None]
        ratio = figures["jaxapi"] / min(others) if others else np.nan
        shown = "".join(f"{np.nan if ms is None else ms:10.3f}" for ms in figures.values())
        print(f"{shown}{ratio:10.2f}  {call.name}", flush=True)
        table.append({"work": call.name, **figures})
    return table


def peer_ms(run, wait):
    """Return the median milliseconds of a call; None where a peer has no such function."""
    if run is None:
        return None
    try:
        return round(median_us(run, calls=TOGETHER[jax.default_backend()], wait=wait) / 1e3, 4)
    except (AttributeError, NotImplementedError, TypeError):
        return None


def peers_of(platform):
    """Return for each peer what makes its call, with its arrays on the device, and what waits for it."""
    if platform == "cpu":
        return {"NumPy": (functools.partial(numpys_call, np), lambda result: None)}
    import cupy

    peers = {"CuPy": (functools.partial(numpys_call, cupy), lambda result: cupy.cuda.Device().synchronize())}
    if (torch := peer_calls.torch) is not None:
        peers["PyTorch"] = (torchs_call, lambda result: torch.cuda.synchronize())
    return peers


def numpys_call(namespace, call):
    arrays = [namespace.asarray(array) for array in call.arrays]
    return functools.partial(call.peers or call.ours, namespace, *arrays)


def torchs_call(call):
    if call.torchs is None:
        return None
    return functools.partial(
        call.torchs, *[peer_calls.torch.from_numpy(array).cuda() for array in call.arrays]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parts", nargs="*", default=["large", "small"], choices=["large", "small", "peers"])
    parser.add_argument("--only", nargs="*", help="functions, by their names")
    parser.add_argument("--elements", type=int, default=10**6)
    parser.add_argument("--worst", type=float, default=1.1, help="times jax.numpy's, to be marked")
    parser.add_argument("--json", help="a file for the figures of one part, of many elements or beside peers")
    options = parser.parse_args()
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, x64 {jax.config.jax_enable_x64}")
    if "large" in options.parts:
        keep(options.json, large_calls(options))
    if "peers" in options.parts:
        keep(options.json, peer_table(options.only))
    if "small" in options.parts:
        small_calls(options.only)


if __name__ == "__main__":
    main()
