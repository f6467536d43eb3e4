"""Time of conversions and creation, against jax.numpy's: python benchmarks/bench_interop.py [MiB].

Beside each conversion of an array: another array, then one of another length, at each call.
"""

import importlib.util
import sys

import jax
import jax.numpy as jnp
import numpy as np
from timing import median_us, new_data_us

import jaxapi as xp


def row(name, ours, peer=None, peer_name="jax.numpy", convert=None, make=None):
    """Print a line; `make` returns an array of the length that it is given, new each time, for `convert`."""
    try:
        line = f"{name:46} {median_us(ours):12.1f}"
        line += f" {median_us(peer):12.1f}" if peer else f" {'':12}"
        if convert:
            lengths = iter(range(17, 10**6))
            same = new_data_us(convert, lambda: (make(16),), calls=100, wait=wait)
            line += f" {same:9.1f} {new_data_us(convert, lambda: (make(next(lengths)),), wait=wait):9.1f}"
        else:
            line += f" {'':19}" if peer else ""
        line += f"  {peer_name}" if peer else ""
    except Exception as error:  # one row must not cost the others
        line = f"{name:46} {type(error).__name__}: {str(error)[:80]}"
    print(line, flush=True)


def wait(arrays):
    """Wait for jax arrays; other libraries' are ready or synchronised by DLPack."""
    jax.block_until_ready([each for each in jax.tree.leaves(arrays) if isinstance(each, jax.Array)])


def aligned(size, dtype, offset):
    room = np.ones(size * np.dtype(dtype).itemsize + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    return room[start : start + size * np.dtype(dtype).itemsize].view(dtype)


def small():
    floats, array = [1.0, 2.0], np.ones(16, np.float32)
    wide, x = np.ones(16), jnp.ones(16)
    row("asarray([1.0, 2.0])", lambda: xp.asarray(floats), lambda: jnp.asarray(floats))
    row("asarray(list of 100)", lambda: xp.asarray(floats * 50), lambda: jnp.asarray(floats * 50))
    row("asarray(2.5)", lambda: xp.asarray(2.5), lambda: jnp.asarray(2.5))
    for each in (array, wide):
        row(
            f"asarray(NumPy {each.dtype}[16])",
            lambda each=each: xp.asarray(each),
            lambda each=each: jnp.asarray(each),
            convert=xp.asarray,
            make=lambda n, each=each: np.ones(n, each.dtype),
        )
    row("asarray(jax.Array)", lambda: xp.asarray(x), lambda: jnp.asarray(x))
    row("zeros(16)", lambda: xp.zeros(16), lambda: jnp.zeros(16))
    row("ones(16)", lambda: xp.ones(16), lambda: jnp.ones(16))
    row("full(16, 2.0)", lambda: xp.full(16, 2.0), lambda: jnp.full(16, 2.0))
    row("arange(16)", lambda: xp.arange(16), lambda: jnp.arange(16))
    row("eye(4)", lambda: xp.eye(4), lambda: jnp.eye(4))
    row("zeros_like", lambda: xp.zeros_like(x), lambda: jnp.zeros_like(x))
    device = jax.devices()[0]
    row("zeros(16, device=...)", lambda: xp.zeros(16, device=device), lambda: jnp.zeros(16, device=device))
    values = iter(range(10**9))
    row("full(16, a new value)", lambda: xp.full(16, next(values)), lambda: jnp.full(16, next(values)))


def host(mebibytes):
    size = mebibytes << 18
    cpu = jax.local_devices(backend="cpu")[0]
    whole, odd = aligned(size, np.float32, 0), aligned(size, np.float32, 16)
    reversed_ = whole[::-1]
    private = aligned(size, np.float32, 0)
    row("from_dlpack(aligned), shared", lambda: xp.from_dlpack(whole), lambda: jnp.from_dlpack(whole))
    row("asarray(aligned, copy=False), shared", lambda: xp.asarray(whole, copy=False, device=cpu))
    for name, array in (("aligned", whole), ("at 16 bytes", odd), ("reversed", reversed_)):
        row(
            f"asarray({name}, device=CPU), one copy",
            lambda array=array: xp.asarray(array, device=cpu),
            lambda array=array: np.copyto(private, array),
            "numpy.copyto into touched memory",
        )
        row(
            "  the same",
            lambda array=array: xp.asarray(array, device=cpu),
            lambda a=array: a.copy(),
            "x.copy()",
        )
    row("asarray(at 16 bytes)", lambda: xp.asarray(odd), lambda: jnp.asarray(odd))


def gpu(mebibytes):
    device = next((d for d in jax.devices() if d.platform == "gpu"), None)
    if device is None:
        print("no GPU here: CuPy and PyTorch on the GPU not measured")
        return
    size = mebibytes << 18
    if importlib.util.find_spec("cupy"):
        import cupy

        for n in (16, size):
            x = cupy.ones(n, "float32")
            y = xp.from_dlpack(x)
            row(
                f"from_dlpack(CuPy float32[{n}])",
                lambda x=x: xp.from_dlpack(x),
                lambda x=x: jnp.from_dlpack(x),
            )
            new = {} if n != 16 else {"convert": xp.asarray, "make": lambda n: cupy.ones(n, "float32")}
            row(f"asarray(CuPy float32[{n}])", lambda x=x: xp.asarray(x), lambda x=x: jnp.asarray(x), **new)
            row(f"cupy.from_dlpack(float32[{n}])", lambda y=y: cupy.from_dlpack(y))
    if importlib.util.find_spec("torch"):
        import torch

        for n in (16, size):
            x = torch.ones(n, device="cuda")
            y = xp.from_dlpack(x)
            row(
                f"from_dlpack(PyTorch float32[{n}])",
                lambda x=x: xp.from_dlpack(x),
                lambda x=x: jnp.from_dlpack(x),
            )
            new = {} if n != 16 else {"convert": xp.asarray, "make": lambda n: torch.ones(n, device="cuda")}
            row(f"asarray(PyTorch float32[{n}])", lambda x=x: xp.asarray(x), **new)
            row(f"torch.from_dlpack(float32[{n}])", lambda y=y: torch.from_dlpack(y))


if __name__ == "__main__":
    MEBIBYTES = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    print(f"jax {jax.__version__}, {jax.devices()[0]}, large arrays of {MEBIBYTES} MiB\n")
    print(f"{'':46} {'jaxapi, us':>12} {'peer, us':>12} {'new data':>9} {'new sizes':>9}")
    small()
    host(MEBIBYTES)
    gpu(MEBIBYTES)
