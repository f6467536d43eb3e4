"""Products and decompositions of matrices against peers: bandwidth, errors of float32, eager time.

python benchmarks/bench_products.py [--only errors orthogonality decompositions]
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
from timing import median_us, new_data_us

import jaxapi as xp

try:
    import cupy
except ImportError:
    cupy = None

ON_GPU = jax.devices()[0].platform == "gpu"
ROWS = 2**20 if ON_GPU else 2**15


def cupy_wait(_):
    cupy.cuda.Device().synchronize()


def bandwidth():
    """Bytes that must be read and written, by time, against a device copy of the same array."""
    keys = jax.random.split(jax.random.key(0), 2)
    x, y = (jax.random.normal(key, (ROWS, 128), jnp.float32) for key in keys)
    vector = x[0]
    number = 20
    copy = jax.jit(lambda x: x + 1)
    seconds = median_us(lambda: copy(x), calls=number) * 1e-6
    speed = 2 * x.nbytes / seconds
    print(f"  copy of {x.nbytes >> 20} MiB (x + 1): {seconds * 1e6:.0f} us, {speed / 1e12:.2f} TB/s")
    einsum = jax.jit(lambda a, b: jnp.einsum("...i,...i->...", a, b))
    cases = [
        ("vecdot(x, x)", (x, x), -1, x.nbytes + ROWS * 4),
        ("vecdot(x, y)", (x, y), -1, 2 * x.nbytes + ROWS * 4),
        ("vecdot(vector, x)", (vector, x), -1, x.nbytes + ROWS * 4),
        ("vecdot(x, y, axis=0)", (x, y), -2, 2 * x.nbytes),
    ]
    for name, args, axis, size in cases:
        line = f"  {name:22}"
        calls = {
            "jaxapi": lambda *new, args=args, axis=axis: xp.vecdot(*(new or args), axis=axis),
            "jnp": lambda args=args, axis=axis: jnp.vecdot(*args, axis=axis),
        }
        if axis == -1:
            calls["jit(einsum)"] = lambda args=args: einsum(*args)
        for label, call in calls.items():
            micro = median_us(call, calls=number)
            line += f" {label} {micro:8.0f} us {size / micro * 1e6 / speed:5.2f} of copy |"
        new = new_data_us(calls["jaxapi"], lambda args=args: [copy(a) for a in args], calls=4)
        line += f" new data {new:8.0f} us |"
        memory = jax.jit(lambda a, b, axis=axis: xp.vecdot(a, b, axis=axis)).lower(*args).compile()
        line += f" temporary bytes {memory.memory_analysis().temp_size_in_bytes}"
        print(line, flush=True)
    if cupy:
        a, b = cupy.asarray(np.asarray(x)), cupy.asarray(np.asarray(y))
        micro = median_us(lambda: cupy.einsum("ij,ij->i", a, b), calls=number, wait=cupy_wait)
        print(f"  CuPy einsum(x, y)      {micro:8.0f} us {cases[1][3] / micro * 1e6 / speed:5.2f} of copy")
        micro = median_us(lambda: (a * b).sum(axis=-1), calls=number, wait=cupy_wait)
        print(f"  CuPy (x * y).sum(-1)   {micro:8.0f} us {cases[1][3] / micro * 1e6 / speed:5.2f} of copy")


def precision():
    """Largest error relative to the largest result, float32."""
    rng = np.random.default_rng(0)
    n = 1024
    x, y = rng.normal(size=(2, n, n)).astype(np.float32)
    wide = x.astype(float), y.astype(float)
    cases = {
        "matmul": (np.matmul(*wide), xp.matmul, jnp.matmul),
        "tensordot": (
            np.tensordot(*wide, axes=1),
            lambda a, b: xp.tensordot(a, b, axes=1),
            lambda a, b: jnp.tensordot(a, b, axes=1),
        ),
        "vecdot": (np.vecdot(*wide), xp.vecdot, jnp.vecdot),
        "vecdot, broadcast": (
            np.vecdot(wide[0][:, None], wide[1][None]),
            lambda a, b: xp.vecdot(a[:, None], b[None]),
            lambda a, b: jnp.vecdot(a[:, None], b[None]),
        ),
    }
    x, y = jnp.asarray(x), jnp.asarray(y)
    for name, (want, ours, theirs) in cases.items():
        line = f"  {name:18}"
        for label, function in (("jaxapi", ours), ("jax.numpy", theirs)):
            error = np.abs(np.asarray(function(x, y)) - want).max() / np.abs(want).max()
            line += f" {label} {error:8.1e} {median_us(lambda f=function: f(x, y), calls=20):7.0f} us |"
        print(line, flush=True)


def with_new(function, hosts, kwargs):
    """Return the microseconds of calls on arrays, then on shapes, that were not seen before."""
    rng, lengths = np.random.default_rng(0), iter(range(17, 10**6))

    def values():
        return jax.device_put([rng.random(a.shape, np.float32) for a in hosts])

    def shapes():
        n = next(lengths)
        return jax.device_put([rng.random((n,) * a.ndim, np.float32) for a in hosts])

    def call(*arrays):
        return function(*arrays, **kwargs)

    return {
        "new data": new_data_us(call, values, calls=100),
        "new sizes": new_data_us(call, shapes, calls=1, rounds=3),
    }


def eager():
    """Microseconds of one eager call on 16 elements."""
    x = jnp.ones(16)
    matrix = jnp.ones((4, 4))
    plain = jax.jit(lambda a, b: jnp.dot(a, b))
    print(f"  {'jax.jit of a dot':18} {median_us(lambda: plain(x, x)):8.1f}")
    cases = [
        ("vecdot", (x, x), {}),
        ("matmul", (matrix, matrix), {}),
        ("tensordot", (matrix, matrix), {"axes": 1}),
        ("matrix_transpose", (matrix,), {}),
    ]
    for name, args, kwargs in cases:
        ours, theirs, numpys = (getattr(library, name) for library in (xp, jnp, np))
        host = [np.asarray(a) for a in args]
        line = f"  {name:18} {median_us(lambda f=ours, a=args, k=kwargs: f(*a, **k)):8.1f}"
        line += f" jax.numpy {median_us(lambda f=theirs, a=args, k=kwargs: f(*a, **k)):8.1f}"
        line += f" NumPy {median_us(lambda f=numpys, a=host, k=kwargs: f(*a, **k)):6.1f}"
        line += "".join(f" {word} {micro:8.1f}" for word, micro in with_new(ours, host, kwargs).items())
        if cupy and hasattr(cupy, name):
            device = [cupy.asarray(a) for a in host]
            theirs = getattr(cupy, name)
            call = lambda f=theirs, a=device, k=kwargs: f(*a, **k)  # noqa: E731
            line += f" CuPy {median_us(call, wait=cupy_wait):6.1f}"
        print(line, flush=True)


def product_errors(n=512):
    """Print the largest errors relative to the largest value, of n x n float32 against NumPy's float64."""
    print(f"{'function':<26}{'jaxapi':>12}{'jax.numpy':>12}")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n)).astype("float32") for _ in range(2))
    spd = (a @ a.T / n + np.eye(n)).astype("float32")
    a64, b64, spd64 = (m.astype("float64") for m in (a, b, spd))

    def compare(name, ours, theirs, exact, *arrays):
        arrays = [jnp.asarray(m) for m in arrays]
        scale = np.abs(exact).max()
        errors = [np.abs(np.asarray(f(*arrays), "float64") - exact).max() / scale for f in (ours, theirs)]
        print(f"{name:<26}{errors[0]:12.1e}{errors[1]:12.1e}", flush=True)

    compare("matmul", xp.matmul, jnp.matmul, a64 @ b64, a, b)
    compare("tensordot", xp.tensordot, jnp.tensordot, np.tensordot(a64, b64), a, b)
    compare("vecdot", xp.vecdot, jnp.vecdot, np.sum(a64 * b64, axis=-1), a, b)
    compare("x @ y (JAX's)", lambda x, y: x @ y, jnp.matmul, a64 @ b64, a, b)
    for name in ("inv", "cholesky", "pinv", "svdvals", "eigvalsh"):
        ours, theirs = getattr(xp.linalg, name), getattr(jnp.linalg, name)
        exact = np.linalg.svd(spd64, compute_uv=False) if name == "svdvals" else None
        exact = getattr(np.linalg, name)(spd64) if exact is None else exact
        compare(name, ours, theirs, exact, spd)
    compare("solve", xp.linalg.solve, jnp.linalg.solve, np.linalg.solve(spd64, b64), spd, b)
    power = np.linalg.matrix_power(spd64, 3)
    compare(
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
        compare(name, recompose(xp), recompose(jnp), spd64, spd)


def orthogonality_errors(stack=64, m=4, n=3):
    """Print how far from orthogonal Q is where eliminating the first column leaves little of the others.

    The largest element of Q^H Q - I in eps, of a stack of matrices.
    """
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


def decomposition_errors(n=1024):
    """Print how far factors of float32 matrices are from their product and from orthogonal, and the time.

    In eps: the norm of the difference from the product by the norm of the matrix, and the norm of Q^H Q - I
    by that of I.
    """
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((n, n))
    graded = normal * 10.0 ** -np.linspace(0, 8, n)
    of_rank_half = normal[:, : n // 2] @ rng.standard_normal((n // 2, n)) / n
    tall = rng.standard_normal((64 * n, n // 4))
    symmetric = normal + normal.T
    cases = [
        ("svd", "normal", normal),
        ("svd", "of rank n / 2", of_rank_half),
        ("svd", "columns from 1 to 1e-8", graded),
        ("svd", "tall", tall),
        ("qr", "normal", normal),
        ("qr", "columns from 1 to 1e-8", graded),
        ("qr", "tall", tall),
        ("eigh", "symmetric", symmetric),
    ]
    modules = {"jaxapi": (xp, jnp.asarray), "jax.numpy": (jnp, jnp.asarray), "LAPACK": (np, np.asarray)}
    if cupy is not None:
        modules["CuPy"] = cupy, cupy.asarray
    print("| | " + " | ".join(modules) + " |")
    for name, label, matrix in cases:
        x = matrix.astype("float32")
        cells = [f"`{name}`, {label}"]
        for module, to_array in modules.values():
            factors, seconds = timed_factors(module, name, to_array(x))
            product, orthogonality = errors_of_factors(name, x, factors)
            cells.append(f"{product:.1f}, {orthogonality:.1f}; {1e3 * seconds:.1f} ms")
        print("| " + " | ".join(cells) + " |", flush=True)


def timed_factors(module, name, x):
    """Return the factors as NumPy's arrays, and the least time of three calls in seconds."""
    options = {"full_matrices": False} if name == "svd" else {}
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        factors = getattr(module.linalg, name)(x, **options)
        if module is cupy:
            cupy_wait(factors)
        else:
            jax.block_until_ready(factors)
        seconds.append(time.perf_counter() - start)
    return [part.get() if module is cupy else np.asarray(part) for part in factors], min(seconds)


def errors_of_factors(name, x, factors):
    """Return the errors of the product and of orthogonality, in eps."""
    factors = [part.astype("float64") for part in factors]
    if name == "svd":
        u, s, vh = factors
        product = u * s @ vh
        orthogonal = [u, vh.T]
    elif name == "qr":
        product = factors[0] @ factors[1]
        orthogonal = factors[:1]
    else:
        values, vectors = factors
        product = vectors * values @ vectors.T
        orthogonal = [vectors]
    eps = np.finfo("float32").eps
    from_identity = [np.linalg.norm(q.T @ q - np.eye(q.shape[1])) / np.sqrt(q.shape[1]) for q in orthogonal]
    return np.linalg.norm(product - x) / np.linalg.norm(x) / eps, max(from_identity) / eps


def rebuild_svd(module, x):
    u, s, vh = (np.asarray(part, "float64") for part in module.linalg.svd(x))
    return u * s @ vh


def rebuild_qr(module, x):
    q, r = (np.asarray(part, "float64") for part in module.linalg.qr(x))
    return q @ r


def rebuild_eigh(module, x):
    w, v = (np.asarray(part, "float64") for part in module.linalg.eigh(x))
    return v * w @ v.T


PARTS = {
    "bandwidth": ("bandwidth, float32", bandwidth),
    "precision": ("error and time of a float32 product of 1024 x 1024", precision),
    "errors": ("largest error of float32 linear algebra, relative", product_errors),
    "orthogonality": ("how far from orthogonal Q is after a small remainder, in eps", orthogonality_errors),
    "decompositions": ("errors of factors in eps: of the product, of orthogonality", decomposition_errors),
    "eager": ("one eager call, us", eager),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=PARTS, choices=PARTS)
    options = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.devices()[0]}, CuPy {getattr(cupy, '__version__', '-')}")
    for name in options.only:
        title, part = PARTS[name]
        print(title)
        try:
            part()
        except Exception as error:  # one part must not cost the others
            print(f"  {type(error).__name__}: {str(error)[:300]}", flush=True)


if __name__ == "__main__":
    main()
