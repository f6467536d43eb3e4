"""`jaxapi.mutable` beside NumPy, CuPy, PyTorch: indexing, the wrapper's host time, scikit-learn's estimators.

    python benchmarks/bench_mutable.py [--megabytes 100] [--rows 1000000] [--only indexing wrapper estimators]
                                       [--json FILE]

Runs what the machine can: with CuPy and a GPU the tables have their columns; scikit-learn must be there for
the estimators.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import jax
import numpy as np
from timing import keep

import jaxapi
import jaxapi.mutable as xp

try:
    import cupy as cp

    cp.zeros(1)
except Exception:
    cp = None


def synchronise(library, x):
    if library is cp and cp is not None:
        cp.cuda.Device().synchronize()
    elif library is xp:
        jax.block_until_ready(x)


def microseconds(library, call, x, calls=30, rounds=5):
    """Return the host's time and the time until all is done, for one of many calls in a row."""
    call()
    call()
    synchronise(library, x)
    host, done = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        host.append((time.perf_counter() - start) / calls)
        synchronise(library, x)
        done.append((time.perf_counter() - start) / calls)
    return statistics.median(host) * 1e6, statistics.median(done) * 1e6


def indexing_calls(library, n):
    x = library.zeros(n, dtype=library.float32)
    y = library.ones(n, dtype=library.float32)
    mask = library.arange(n) % 2 == 0
    rows = library.asarray(np.arange(0, n, max(n // 1000, 1)))
    positions = iter(range(1, 10**9))

    def write(key, value):
        x[key] = value

    def add_in_place():
        nonlocal x
        x += y

    def swap_slices():
        x[1:-1] = y[2:] + y[:-2]

    return x, {
        "x[i], another i each time": lambda: x[next(positions) % n],
        "x[i:i + 1000], another i": lambda: x[(i := next(positions) % (n - 1000)) : i + 1000],
        "x[rows], 1000 rows": lambda: x[rows],
        "x[mask]": lambda: x[mask],
        "x[i] = 1, another i": lambda: write(next(positions) % n, 1.0),
        "x[100:1100] = 1": lambda: write(slice(100, 1100), 1.0),
        "x[::2] = 1": lambda: write(slice(None, None, 2), 1.0),
        "x[rows] = 1": lambda: write(rows, 1.0),
        "x[mask] = 0": lambda: write(mask, 0.0),
        "x += y": add_in_place,
        "x[1:-1] = y[2:] + y[:-2]": swap_slices,
    }


def indexing(megabytes, kept):
    for size in (10_000, megabytes * 250_000):
        libraries = {"jaxapi.mutable": xp, "CuPy": cp} if cp else {"jaxapi.mutable": xp, "NumPy": np}
        print(f"\n{size} float32: microseconds of the host, and until done\n")
        print("| | " + " | ".join(libraries) + " |\n| --- |" + " --- |" * len(libraries))
        calls = {name: indexing_calls(library, size) for name, library in libraries.items()}
        for what in calls["jaxapi.mutable"][1]:
            cells = []
            kept.append(row := {"part": "indexing", "elements": size, "work": what})
            for name, library in libraries.items():
                x, named = calls[name]
                host, done = microseconds(library, named[what], x)
                cells.append(f"{host:,.0f}, {done:,.0f}")
                row[name] = round(done, 1)
            print(f"| `{what}` | " + " | ".join(cells) + " |", flush=True)


def wrapper(kept):
    print("\nHost microseconds of a call with arrays of 1000 float32\n")
    print("| | jaxapi.mutable | jaxapi | ratio |\n| --- | --- | --- | --- |")

    def calls(library):
        x, matrix = library.ones(1000), library.ones((30, 30))
        return {
            "zeros(1000)": lambda: library.zeros(1000),
            "x + x": lambda: x + x,
            "x * 2.0": lambda: x * 2.0,
            "sin(x)": lambda: library.sin(x),
            "sum(x)": lambda: library.sum(x),
            "where(x > 0, x, 0.0)": lambda: library.where(x > 0, x, 0.0),
            "concat([x, x])": lambda: library.concat([x, x]),
            "reshape(x, (10, 100))": lambda: library.reshape(x, (10, 100)),
            "matmul(m, m)": lambda: library.matmul(matrix, matrix),
            "m @ m": lambda: matrix @ matrix,
            "linalg.svd(m)": lambda: library.linalg.svd(matrix),
        }

    ours, plain = calls(xp), calls(jaxapi)
    for what in ours:
        found = {}
        for _ in range(3):  # in turns, since a machine's speed changes
            for name, named in (("ours", ours), ("plain", plain)):
                found.setdefault(name, []).append(microseconds(xp, named[what], None, 100, 3)[0])
        mine, theirs = statistics.median(found["ours"]), statistics.median(found["plain"])
        print(f"| `{what}` | {mine:.1f} | {theirs:.1f} | {mine / theirs:.2f} |", flush=True)
        figures = {"jaxapi.mutable": round(mine, 1), "jaxapi": round(theirs, 1)}
        kept.append({"part": "wrapper", "work": what, **figures})


def estimators(rows, peers, chosen, kept):
    import sklearn
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.metrics import r2_score
    from sklearn.mixture import GaussianMixture
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    sklearn.set_config(array_api_dispatch=True)
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, 32)).astype(np.float32)
    y = (x @ random.standard_normal(32)).astype(np.float32)
    labels = (y > 0).astype(np.int32)

    programs = {
        "StandardScaler": lambda x, y, labels: StandardScaler().fit_transform(x),
        "MinMaxScaler": lambda x, y, labels: MinMaxScaler().fit_transform(x),
        "PCA": lambda x, y, labels: PCA(8, svd_solver="covariance_eigh").fit_transform(x),
        "Ridge": lambda x, y, labels: Ridge(solver="svd").fit(x, y).predict(x),
        "LDA": lambda x, y, labels: LinearDiscriminantAnalysis(solver="svd").fit(x, labels).predict(x),
        "GaussianMixture": lambda x, y, labels: GaussianMixture(
            4, max_iter=5, tol=0.0, init_params="random", random_state=0
        ).fit(x),
        "r2_score": lambda x, y, labels: r2_score(y, y + 1),
    }
    libraries = {"NumPy": (np.asarray, lambda: None)}
    if cp:
        libraries["CuPy"] = (cp.asarray, lambda: cp.cuda.Device().synchronize())
    try:
        import torch

        if torch.cuda.is_available() or not cp:
            device = "cuda" if torch.cuda.is_available() else "cpu"
            wait = torch.cuda.synchronize if device == "cuda" else lambda: None
            libraries["PyTorch"] = (lambda a: torch.asarray(a, device=device), wait)
    except ImportError:
        pass
    libraries["jaxapi.mutable"] = (xp.asarray, lambda: jax.block_until_ready(xp.zeros(1) + 1))
    libraries = {name: libraries[name] for name in libraries if name in (*peers, "jaxapi.mutable")}
    print(f"\n{rows} rows of 32 float32: milliseconds, and the first call in seconds\n")
    print("| | " + " | ".join(libraries) + " |\n| --- |" + " --- |" * len(libraries))
    inputs = {name: [convert(a) for a in (x, y, labels)] for name, (convert, _) in libraries.items()}
    for what, program in programs.items():
        if chosen and what not in chosen:
            continue
        cells = []
        kept.append(row := {"part": "estimators", "rows": rows, "work": what})
        for name, (_, wait) in libraries.items():
            found = []
            for i in range(1 if name == "NumPy" else 30):
                if i >= 4 and sum(found[1:]) > 0.5:
                    break
                wait()
                start = time.perf_counter()
                try:
                    program(*inputs[name])
                except Exception as error:
                    found = f"{type(error).__name__}: {str(error)[:60]}"
                    break
                wait()
                found.append(time.perf_counter() - start)
            if isinstance(found, str):
                cells.append(found)
                continue
            row[name] = round(statistics.median(found[1:] or found) * 1e3, 2)
            if name == "NumPy":
                cells.append(f"{found[0] * 1e3:,.1f}")
            else:
                cells.append(f"{statistics.median(found[1:]) * 1e3:,.1f} ({found[0]:.1f})")
        print(f"| {what} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", default=["indexing", "wrapper", "estimators"])
    parser.add_argument("--peers", nargs="*", default=["NumPy", "CuPy", "PyTorch"], help="for the estimators")
    parser.add_argument("--estimators", nargs="*", help="their names, if not all")
    parser.add_argument("--json")
    options = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}")
    kept = []
    if "indexing" in options.only:
        indexing(options.megabytes, kept)
    if "wrapper" in options.only:
        wrapper(kept)
    if "estimators" in options.only:
        estimators(options.rows, options.peers, options.estimators, kept)
    keep(options.json, kept)


if __name__ == "__main__":
    main()
