"""What jaxapi's own functions cost: host time of a call, bandwidth on a GPU, errors of float32 products.

Host time is that of an eager call on 16 elements, against the same computation under one plain `jax.jit`
and against jax.numpy. Where jaxapi computes what jax.numpy does not, the special cases of complex numbers and
float64 with x64 off, the plain `jax.jit` is of jaxapi's function.
"New data" has other arrays at each call, of the same shape; another shape compiles, here as in `jax.jit`.
Run with JAX_ENABLE_X64=1 for 64-bit mode.

    python benchmarks/bench_overhead.py [--only moveaxis concat] [--rounds 60]
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
from timing import median_us

import jaxapi as xp

CALLS = 100

UNARY = (
    "abs ceil conj floor imag isfinite isinf isnan logical_not negative positive real reciprocal round sign"
)
UNARY += " sign signbit square trunc"
BINARY = "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp"
BINARY += " logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder"
BINARY += " subtract"
BITWISE = "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor"
REDUCTIONS = "argsort count_nonzero cumulative_sum diff flip mean prod sort std sum var"


def calls():
    """Return (name, jaxapi's call, the plain jitted call, jax.numpy's call), each without arguments."""
    x = jnp.linspace(0.1, 0.9, 16, dtype="float32")
    y = x[::-1] + 1
    z = jax.lax.complex(x, y)
    i = jnp.arange(16)
    flags = x > 0.5
    square = jnp.eye(4, dtype="float32") * 2 + 0.1
    wide = xp.asarray(np.linspace(0.1, 0.9, 16))
    for name in xp._elementwise._special.__all__:
        argument = x + 1 if name == "acosh" else x
        yield row(name, argument)
        yield row(name, z, label=f"{name}, complex", alike=False)
    for name in UNARY.split():
        yield row(name, x)
    for name in BINARY.split():
        yield row(name, x, y)
    for name in BITWISE.split():
        yield row(name, i, i)
    yield row("bitwise_invert", i)
    yield row("clip", x, x, y)
    yield row("where", flags, x, y)
    yield row("add", x, 2.0, label="add, a Python number")
    yield row("astype", x, args=("int32",))
    yield row("argmax", x)
    yield row("argmin", x)
    yield row("argmin", wide, label="argmin, float64", alike=False)
    yield row("max", wide, label="max, float64", alike=False)
    yield row("vecdot", wide, wide, label="vecdot, float64", alike=False)
    yield row("ihfft", wide, module="fft", label="ihfft, float64", alike=False)
    yield row("searchsorted", x, y)
    yield row("isin", i, i)
    yield row("all", flags)
    yield row("any", flags)
    yield row("max", x)
    yield row("min", x)
    yield row("cumulative_prod", x)
    for name in REDUCTIONS.split():
        yield row(name, x)
    yield row("expand_dims", x, args=(0,))
    yield row("broadcast_to", x, args=((2, 16),))
    yield row("reshape", x, args=((4, 4),))
    yield row("repeat", x, args=(2,))
    yield row("roll", x, 1)
    yield row("tile", x, args=((2,),))
    yield row("squeeze", x[None], args=(0,))
    yield row("moveaxis", square, args=(0, 1))
    yield row("concat", (x, y))
    yield row("stack", (x, y))
    yield row("unstack", square)
    yield row("tril", square)
    yield row("triu", square)
    yield row("take", x, i)
    yield row("take_along_axis", x, i)
    yield row("permute_dims", square, args=((1, 0),))
    yield row("broadcast_arrays", x, y)
    yield row("meshgrid", x, y)
    for name in ("cholesky", "det", "inv", "qr", "svdvals", "matrix_rank", "pinv", "slogdet", "matrix_norm"):
        yield row(name, square, module="linalg")
    for name in ("matmul", "tensordot", "vecdot"):
        yield row(name, square, square)
    yield row("solve", square, square, module="linalg")
    yield row("outer", x, y, module="linalg")
    yield row("cross", x[:3], y[:3], module="linalg")
    for name in ("diagonal", "trace", "vector_norm"):
        yield row(name, square, module="linalg")
    for name in ("fft", "ifft", "fftn", "ifftn", "rfft", "rfftn", "ihfft", "fftshift", "ifftshift"):
        yield row(name, x, module="fft")
    for name in ("irfft", "irfftn", "hfft"):
        yield row(name, z, module="fft")


def row(name, *arrays, module=None, args=(), label=None, alike=True):
    ours = getattr(getattr(xp, module) if module else xp, name)
    theirs = getattr(getattr(jnp, module) if module else jnp, name)
    plain = jax.jit(
        theirs if alike else ours, static_argnums=tuple(range(len(arrays), len(arrays) + len(args)))
    )
    return (
        label or name,
        lambda: lambda: ours(*arrays, *args),
        lambda: lambda: plain(*arrays, *args),
        lambda: lambda: theirs(*arrays, *args),
        lambda: over_others(ours, arrays, args),
    )


def over_others(function, arrays, args):
    """Return a call on arrays not seen before, which has as many of them as a round has calls."""
    hosts = [jax.tree.map(np.asarray, arrays) for _ in range(CALLS + CALLS // 10)]
    with jax.enable_x64(True):
        fresh = iter(jax.block_until_ready(jax.device_put(hosts)))
    return lambda: function(*next(fresh), *args)


def host_times(rounds, *makes):
    """Return the microseconds of the calls made for each round, taken in turn; NaN for what raises."""
    times = np.full((rounds, len(makes)), np.nan)
    for column, make in enumerate(makes):
        try:
            jax.block_until_ready(make()())
            times[:, column] = 0
        except Exception:
            continue
    for measured in times:
        for column in np.flatnonzero(measured == 0):
            call = makes[column]()
            for _ in range(CALLS // 10):  # the function measured before, a slow one even, leaves cold caches
                call()
            start = time.perf_counter()
            for _ in range(CALLS):
                out = call()
            measured[column] = (time.perf_counter() - start) / CALLS * 1e6
            jax.block_until_ready(out)
    return np.min(times, axis=0)  # noise only adds


def overheads(rounds, only):
    print(f"\nhost time of one eager call, us (least of {rounds} rounds of {CALLS} calls)")
    print(f"{'function':<52}{'jaxapi':>8}{'jit':>8}{'ratio':>7}{'jax.numpy':>11}{'new data':>10}")
    ratios = []
    for name, *makes in calls():
        if only and name.partition(",")[0] not in only:
            continue
        ours, plain, theirs, new = host_times(rounds, *makes)
        ratios.append(ours / plain)
        print(f"{name:<52}{ours:8.1f}{plain:8.1f}{ours / plain:7.2f}{theirs:11.1f}{new:10.1f}", flush=True)
    print(f"{np.sum(np.array(ratios) <= 1.15)} of {len(ratios)} at most 1.15, median {np.median(ratios):.2f}")


def seconds(function, *arrays):
    """Return the median seconds of a call."""
    return 1e-6 * median_us(lambda: function(*arrays))


def bandwidths(n):
    """Print the bandwidth of repaired element-wise functions next to a copy's, `n` float32 numbers each."""
    print(f"\nbandwidth, bytes read and written, {n} float32 or {n // 4} complex64 elements, TB/s")
    print(f"{'function':<26}{'jaxapi':>8}{'jax.numpy':>11}{'copy':>7}{'of copy':>9}{'jnp of copy':>13}")
    copy = jax.jit(lambda x: jnp.array(x, copy=True))
    x = jax.random.uniform(jax.random.key(0), (n,), "float32", -8, 8)
    y = jax.random.uniform(jax.random.key(1), (n,), "float32", 0.5, 8)
    copied = 2 * x.nbytes / seconds(copy, x)
    for name, arrays in (("sign", (x,)), ("floor_divide", (x, y)), ("remainder", (x, y))):
        moved = (len(arrays) + 1) * x.nbytes
        ours, theirs = (moved / seconds(getattr(m, name), *arrays) for m in (xp, jnp))
        print(bandwidth_row(name, ours, theirs, copied))
    z = jax.lax.complex(x[: n // 4], y[: n // 4])
    del x, y
    copied = 2 * z.nbytes / seconds(copy, z)
    for name in ("exp", "sqrt", "log", "sinh", "tanh", "asinh"):
        ours, theirs = (2 * z.nbytes / seconds(getattr(m, name), z) for m in (xp, jnp))
        print(bandwidth_row(f"{name}, complex64", ours, theirs, copied))


def bandwidth_row(name, ours, theirs, copied):
    return (
        f"{name:<26}{ours / 1e12:8.2f}{theirs / 1e12:11.2f}{copied / 1e12:7.2f}"
        f"{ours / copied:9.2f}{theirs / copied:13.2f}"
    )


def product_errors(n=512):
    """Print the errors of float32 linear algebra against float64 on the host."""
    print(f"\nlargest error relative to the largest value, {n} x {n} float32 against NumPy's float64")
    print(f"{'function':<26}{'jaxapi':>12}{'jax.numpy':>12}")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n)).astype("float32") for _ in range(2))
    spd = (a @ a.T / n + np.eye(n)).astype("float32")
    a64, b64, spd64 = (m.astype("float64") for m in (a, b, spd))

    def one(name, ours, theirs, exact, *arrays):
        arrays = [jnp.asarray(m) for m in arrays]
        scale = np.abs(exact).max()
        errors = [np.abs(np.asarray(f(*arrays), "float64") - exact).max() / scale for f in (ours, theirs)]
        print(f"{name:<26}{errors[0]:12.1e}{errors[1]:12.1e}", flush=True)

    one("matmul", xp.matmul, jnp.matmul, a64 @ b64, a, b)
    one("tensordot", xp.tensordot, jnp.tensordot, np.tensordot(a64, b64), a, b)
    one("vecdot", xp.vecdot, jnp.vecdot, np.sum(a64 * b64, axis=-1), a, b)
    one("x @ y (JAX's)", lambda x, y: x @ y, jnp.matmul, a64 @ b64, a, b)
    for name in ("inv", "cholesky", "pinv", "svdvals", "eigvalsh"):
        ours, theirs = getattr(xp.linalg, name), getattr(jnp.linalg, name)
        exact = np.linalg.svd(spd64, compute_uv=False) if name == "svdvals" else None
        exact = getattr(np.linalg, name)(spd64) if exact is None else exact
        one(name, ours, theirs, exact, spd)
    one("solve", xp.linalg.solve, jnp.linalg.solve, np.linalg.solve(spd64, b64), spd, b)
    power = np.linalg.matrix_power(spd64, 3)
    one(
        "matrix_power 3",
        lambda x: xp.linalg.matrix_power(x, 3),
        lambda x: jnp.linalg.matrix_power(x, 3),
        power,
        spd,
    )
    for name, recompose in (
        ("svd, U S Vh", lambda m: lambda x: rebuild_svd(m, x)),
        ("qr, Q R", lambda m: lambda x: rebuild_qr(m, x)),
        ("eigh, V W Vt", lambda m: lambda x: rebuild_eigh(m, x)),
    ):
        one(name, recompose(xp), recompose(jnp), spd64, spd)


def orthogonality_errors(stack=64, m=4, n=3):
    """Print how far from orthogonal Q is where eliminating the first column leaves little of the others."""
    print(f"\nlargest element of Q^H Q - I in eps, {stack} matrices of {m} x {n} with a small remainder")
    print(f"{'dtype':<12}{'remainder':>12}{'jaxapi':>12}{'jax.numpy':>12}")
    rng = np.random.default_rng(0)
    for dtype in ("float32", "complex64"):
        for remainder in (1e-15, 1e-20, 1e-23, 1e-30):
            x = rng.standard_normal((stack, m, n)) + (
                1j * rng.standard_normal((stack, m, n)) if dtype[0] == "c" else 0
            )
            x[:, 1:, 0] = 0
            x[:, 1:, 1:] *= remainder
            factors = (np.asarray(module.linalg.qr(jnp.asarray(x.astype(dtype)))[0]) for module in (xp, jnp))
            errors = (np.abs(np.conj(q.swapaxes(-1, -2)) @ q - np.eye(n)).max() for q in factors)
            eps = np.finfo(dtype).eps
            print(f"{dtype:<12}{remainder:12.0e}" + "".join(f"{error / eps:12.2g}" for error in errors))


def rebuild_svd(module, x):
    u, s, vh = (np.asarray(part, "float64") for part in module.linalg.svd(x))
    return u * s @ vh


def rebuild_qr(module, x):
    q, r = (np.asarray(part, "float64") for part in module.linalg.qr(x))
    return q @ r


def rebuild_eigh(module, x):
    w, v = (np.asarray(part, "float64") for part in module.linalg.eigh(x))
    return v * w @ v.T


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=(), help="the host time of these functions alone")
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}, x64 {jax.config.jax_enable_x64}")
    overheads(options.rounds, options.only)
    if options.only:
        return
    bandwidths(2**28 if jax.devices()[0].platform == "gpu" else 2**22)
    product_errors()
    orthogonality_errors()


if __name__ == "__main__":
    main()
