"""Bandwidth, precision and eager time of the products against peers: python benchmarks/bench_vecdot.py."""

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


def main():
    print(f"jax {jax.__version__}, {jax.devices()[0]}, CuPy {getattr(cupy, '__version__', '-')}")
    for title, part in (
        ("bandwidth, float32", bandwidth),
        ("error and time of a float32 product of 1024 x 1024", precision),
        ("one eager call, us", eager),
    ):
        print(title)
        try:
            part()
        except Exception as error:  # one part must not cost the others
            print(f"  {type(error).__name__}: {str(error)[:300]}", flush=True)


if __name__ == "__main__":
    main()
