"""Distances of all pairs against SciPy, cupyx and jnp by hand, beside what writing them takes.

    python benchmarks/bench_distance.py [--rows 10000] [--columns 64] [--only euclidean nearest ...]
                                        [--json FILE]

Times are milliseconds of whole public calls on float32, results waited for. ``writing`` is what it takes to
write the matrix; ``arithmetic`` (on a GPU) what the metric's operations take at --tflops in plain float32.
``product`` is |a|^2 + |b|^2 - 2ab by jnp in full float32: faster, and wrong for near rows, as the first table
shows. ``temporary`` is XLA's own count of the memory that a call needs beside its arguments and result.
"""

import argparse
import functools
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
import scipy.spatial.distance
from timing import clock, keep

from jaxapi.spatial import distance

try:
    import cupy
    from cupyx.scipy.spatial import distance as cupys
except ImportError:
    cupy = None

ON_GPU = jax.devices()[0].platform == "gpu"
# Plain operations of float32 for each coordinate of a pair, a fused multiply-add counted once.
OPERATIONS = {
    "euclidean": 2,
    "sqeuclidean": 2,
    "seuclidean": 3,
    "cityblock": 2,
    "chebyshev": 2,
    "cosine": 2,
    "correlation": 2,
    "braycurtis": 4,
    "canberra": 8,
    "hamming": 2,
    "hellinger": 2,
    "inner_product": 1,
    "jaccard": 1,
    "minkowski": 30,
    "jensenshannon": 40,
    "kl_divergence": 20,
}
OPTIONS = {"minkowski": {"p": 3}}


def product(a, b):
    squares = jnp.sum(a * a, 1)[:, None] + jnp.sum(b * b, 1)[None]
    return jnp.sqrt(jnp.maximum(squares - 2 * jnp.matmul(a, b.T, precision="highest"), 0))


BY_HAND = {
    "euclidean": lambda u, v: jnp.sqrt(jnp.sum(jnp.square(u - v), -1)),
    "sqeuclidean": lambda u, v: jnp.sum(jnp.square(u - v), -1),
    "cityblock": lambda u, v: jnp.sum(jnp.abs(u - v), -1),
    "chebyshev": lambda u, v: jnp.max(jnp.abs(u - v), -1),
    "canberra": lambda u, v: jnp.sum(jnp.abs(u - v) / (jnp.abs(u) + jnp.abs(v)), -1),
    "braycurtis": lambda u, v: jnp.sum(jnp.abs(u - v), -1) / jnp.sum(jnp.abs(u + v), -1),
    "hamming": lambda u, v: jnp.mean(u != v, -1),
    "minkowski": lambda u, v: jnp.sum(jnp.abs(u - v) ** 3, -1) ** (1 / 3),
    "kl_divergence": lambda u, v: jnp.sum(u * jnp.log(u / v), -1),
    "hellinger": lambda u, v: jnp.sqrt(jnp.sum(jnp.square(jnp.sqrt(u) - jnp.sqrt(v)), -1) / 2),
}


def milliseconds(call, wait=jax.block_until_ready):
    try:
        return clock(call, wait, rounds=7)[1]
    except Exception as error:
        return type(error).__name__[:10]


def cell(value):
    return f"{value:10.3f}" if isinstance(value, float) else f"{value or '-':>10}"


def temporary(function, *args):
    try:
        memory = jax.jit(function).lower(*args).compile().memory_analysis()
        return f"{memory.temp_size_in_bytes / 1e6:10.1f}"
    except Exception as error:
        return f"{type(error).__name__[:10]:>10}"


def accuracy():
    """Errors in ulp of 10**6 pairs, ordinary ones and ones a millionth of their norm apart."""
    rng = np.random.default_rng(0)
    print("euclidean, error in ulp of float32: largest of 10**6 pairs, 99.9 %, mean")
    for m in (3, 64, 784):
        for name in ("ordinary", "near"):
            one, b = (rng.normal(size=(1000, m)).astype(np.float32) for _ in range(2))
            if name == "near":
                one = one[:10]
                b = np.repeat(one, 10**5 if m < 100 else 10**3, 0)
                b = (b * (1 + 1e-6 * rng.standard_normal(b.shape, np.float32))).astype(np.float32)
            ours, theirs = distance.cdist, jax.jit(product)
            if name == "near":  # each row with its own
                one, b = one[:, None], b.reshape(10, -1, m)
                exact = np.stack([scipy.spatial.distance.cdist(*each) for each in zip(one, b, strict=True)])
                theirs = jax.jit(jax.vmap(product))
            else:
                exact = scipy.spatial.distance.cdist(one, b)
            line = f"  m={m:<4} {name:9}"
            for label, function in (("ours", ours), ("product", theirs)):
                got = np.asarray(function(jnp.asarray(one), jnp.asarray(b)), np.float64)
                ulps = np.abs(got - exact) / np.spacing(exact.astype(np.float32)).astype(np.float64)
                line += f" {label} {ulps.max():10.3g} {np.quantile(ulps, 0.999):10.3g} {ulps.mean():10.3g} |"
            print(line, flush=True)


def metrics(n, m, tflops, only, kept):
    rng = np.random.default_rng(0)
    A, B = (rng.random((n, m), np.float32) + 0.1 for _ in range(2))
    a, b = jnp.asarray(A), jnp.asarray(B)
    by_product = jax.jit(product)
    zeros = jax.jit(lambda s: jnp.full((n, n), s, np.float32))
    writing = clock(lambda: zeros(1.5), rounds=7)[1]
    print(f"cdist of {n} x {n} x {m} float32, ms; writing {n * n * 4e-6:.0f} MB takes {writing:.3f} ms")
    print(
        f"  {'':14}{'ours':>10}{'in jit':>10}{'SciPy':>10}{'cupyx':>10}{'by hand':>10}{'product':>10}", end=""
    )
    print(f"{'arithmetic':>11}{'temp. MB':>10}{'of hand':>10}")
    for name, operations in OPERATIONS.items():
        if only and name not in only:
            continue
        options = OPTIONS.get(name, {})
        ours = functools.partial(distance.cdist, metric=name, **options)
        jitted = jax.jit(ours)
        row = {"rows": n, "columns": m, "metric": name, "writing": writing}
        row |= {"jaxapi": milliseconds(lambda f=ours: f(a, b)), "jit": milliseconds(lambda f=jitted: f(a, b))}
        row |= dict.fromkeys(("scipy", "cupy", "hand", "product"))
        if hasattr(scipy.spatial.distance, name) and n * n * m <= 10**9:
            call = functools.partial(scipy.spatial.distance.cdist, A, B, name, **options)
            row["scipy"] = milliseconds(call, lambda _: None)
        if cupy:
            x, y = cupy.asarray(A), cupy.asarray(B)
            call = functools.partial(cupys.cdist, x, y, name, **options)
            row["cupy"] = milliseconds(call, lambda _: cupy.cuda.Device().synchronize())
        hand = BY_HAND.get(name)
        broadcast = jax.jit(lambda a, b, f=hand: f(a[:, None], b[None])) if hand else None
        if hand:
            row["hand"] = milliseconds(lambda f=broadcast: f(a, b))
        if name == "euclidean":
            row["product"] = milliseconds(lambda: by_product(a, b))
        kept.append(row)
        line = f"  {name:14}" + "".join(cell(each) for each in list(row.values())[4:])
        line += f"{n * n * m * operations / tflops * 2e-9:11.3f}" if ON_GPU else f"{'-':>11}"
        line += temporary(ours, a, b) + (temporary(broadcast, a, b) if hand else f"{'-':>10}")
        print(line, flush=True)


def reductions(n, m, only, kept):
    """Nearest rows, kernel sums and derivatives; by hand the matrix is held."""
    rng = np.random.default_rng(0)
    a, b = (jnp.asarray(rng.random((n, m), np.float32)) for _ in range(2))
    w = jnp.asarray(rng.random(n, np.float32))

    def gauss(d):
        return jnp.exp(-jnp.square(d))

    def matrix(a, b):
        return distance.cdist(a, b)

    rows = {
        "nearest k=1": (lambda a, b: distance.nearest(a, b), lambda a, b: jax.lax.top_k(-matrix(a, b), 1)),
        "nearest k=8": (lambda a, b: distance.nearest(a, b, 8), lambda a, b: jax.lax.top_k(-matrix(a, b), 8)),
        "kernel_sum": (
            lambda a, b: distance.kernel_sum(gauss, a, b, w),
            lambda a, b: gauss(matrix(a, b)) @ w,
        ),
        "its gradient": (
            jax.grad(lambda a, b: jnp.sum(distance.kernel_sum(gauss, a, b, w))),
            jax.grad(lambda a, b: jnp.sum(gauss(product(a, b)) @ w)),
        ),
        "cdist gradient": (
            jax.grad(lambda a, b: jnp.sum(jnp.cos(matrix(a, b)))),
            jax.grad(lambda a, b: jnp.sum(jnp.cos(product(a, b)))),
        ),
    }
    print(
        f"reductions of {n} x {n} x {m} float32 in jit, ms, and temporary MB; by hand with the whole matrix"
    )
    for name, functions in rows.items():
        if only and name.split()[0] not in only:
            continue
        line = f"  {name:14}"
        kept.append(row := {"rows": n, "columns": m, "metric": name})
        for label, function in zip(("ours", "by hand"), functions, strict=True):
            compiled = jax.jit(function)
            row[{"ours": "jit", "by hand": "hand"}[label]] = ms = milliseconds(lambda f=compiled: f(a, b))
            line += f" {label} {cell(ms)} {temporary(function, a, b)} MB |"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000 if ON_GPU else 3_000)
    parser.add_argument("--columns", type=int, nargs="+", default=[3, 64, 784] if ON_GPU else [3, 64])
    parser.add_argument(
        "--tflops", type=float, default=60.0, help="plain float32, multiply-adds counted twice"
    )
    parser.add_argument("--only", nargs="*", help="metrics and reductions by name")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.devices()[0]}, CuPy {getattr(cupy, '__version__', '-')}")
    if not arguments.only:
        accuracy()
    kept = []
    try:
        for m in arguments.columns:
            metrics(arguments.rows, m, arguments.tflops, arguments.only, kept)
            reductions(arguments.rows, m, arguments.only, kept)
    finally:  # what was measured until Ctrl-C, too
        keep(arguments.json, kept)


if __name__ == "__main__":
    main()
