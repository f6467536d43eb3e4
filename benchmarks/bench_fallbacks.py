"""Whether JAX's own decompositions are as right and as fast as those that stand in for them on NVIDIA GPUs.

    python benchmarks/bench_fallbacks.py

A line says of a matrix how far the factors are from it and from orthogonal, in eps, and the time of a call.
Behind the lines of a file of jaxapi/linalg stands whether this JAX, on this device, still needs it. On a CPU
none is used; what stands in runs there all the same where JAX has its algorithm, to see that it is right.
"""

import jax
import jax.numpy as jnp
import numpy as np
from bench_products import errors_of_factors, timed_factors

import jaxapi as xp
from jaxapi.linalg import _householder, _tall

ON_GPU = jax.devices()[0].platform == "gpu"
N = 1024 if ON_GPU else 256
RIGHT = 64.0  # eps
MOST_TIMES_OURS = 2.0, 1.1  # errors above those that are right, and times


def singular_values():
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((N, N))
    yield "svd", "normal", normal
    yield "svd", "of rank n / 2", normal[:, : N // 2] @ rng.standard_normal((N // 2, N)) / N
    yield "svd", "columns from 1 to 1e-8", normal * 10.0 ** -np.linspace(0, 8, N)
    yield "svd", "tall", rng.standard_normal((64 * N, N // 4))


def tall():
    yield "qr", "tall", np.random.default_rng(0).standard_normal((64 * N, N // 4))


def small_columns():
    rng = np.random.default_rng(0)
    for size in (1e-15, 1e-20, 1e-30):
        x = rng.standard_normal((1024, 4, 3))
        x[:, 1:, 0] = 0
        x[:, 1:, 1:] *= size
        yield "qr", f"stack, columns of {size:.0e} left", x


class _Module:
    """Stands for a namespace that has these decompositions."""

    def __init__(self, **functions):
        self.linalg = self
        vars(self).update(functions)


def _lost_qr(x):
    """Decompose as where cuBLAS lost all of the matrices."""
    return _householder.repaired_qr(x, jnp.full_like(x, jnp.nan), jnp.full_like(x[:, :3], jnp.nan))


ON_A_CPU = {
    "_singular.py": None,  # JAX has no polar decomposition there
    "_tall.py": _Module(qr=jax.jit(lambda x: _tall.cholesky_qr(x)[0])),
    "_householder.py": _Module(qr=jax.jit(_lost_qr)),
}
FILES = {"_singular.py": singular_values, "_tall.py": tall, "_householder.py": small_columns}


def measured(module, name, x):
    """Return the largest errors of a stack's factors in eps, and milliseconds."""
    timed_factors(module, name, jnp.asarray(x))  # compiles
    factors, seconds = timed_factors(module, name, jnp.asarray(x))
    stack = [x] if x.ndim == 2 else x
    parts = [factors] if x.ndim == 2 else list(zip(*factors, strict=True))
    # the norms of the smallest columns would vanish in those of the others
    errors = [errors_of_factors(name, each, part) for each, part in zip(stack, parts, strict=True)]
    return np.max(errors, axis=0), 1e3 * seconds


def is_as_good(jaxs, ours):
    errors, milliseconds = jaxs
    our_errors, our_milliseconds = ours
    more_errors, more_time = MOST_TIMES_OURS
    is_right = np.all(errors <= np.maximum(more_errors * our_errors, RIGHT))
    return is_right and milliseconds <= more_time * our_milliseconds


def main():
    print(f"JAX {jax.__version__}, {jax.devices()[0]}")
    for file, cases in FILES.items():
        ours = xp if ON_GPU else ON_A_CPU[file]
        is_needed = False
        for name, label, matrix in cases():
            x = matrix.astype("float32")
            jaxs = measured(jnp, name, x)
            line = f"{name:4} {label:30} jax.numpy {jaxs[0][0]:8.1f} {jaxs[0][1]:8.1f} {jaxs[1]:9.2f} ms"
            if ours is not None:
                found = measured(ours, name, x)
                line += f" | {file} {found[0][0]:8.1f} {found[0][1]:8.1f} {found[1]:9.2f} ms"
                is_needed |= not is_as_good(jaxs, found)
            print(line, flush=True)
        if not ON_GPU:
            verdict = "is not used on a CPU"
        elif is_needed:
            verdict = "stays: JAX's is less right, or slower"
        else:
            verdict = "can be deleted: JAX's is as right and as fast"
        print(f"     jaxapi/linalg/{file} {verdict}")


if __name__ == "__main__":
    main()
