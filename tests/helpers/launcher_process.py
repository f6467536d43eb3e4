"""What a process sees whose kernels the launcher starts, on XLA's CPU with a driver in CUDA's place."""

import ctypes
import json
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np

from jaxapi.spatial._engines import _launcher

TARGET = f"{_launcher.TARGET}_on_host"


def launch(name, ptx, results, *operands, grid=(1, 1, 1), threads=1, aliases=None, key=None):
    """Start a kernel as `_launch.custom_call` does."""
    x, y, z = map(np.int32, grid)
    call = jax.ffi.ffi_call(TARGET, results, input_output_aliases=aliases)
    attributes = {"key": key or name + ptx, "name": name, "ptx": ptx, "grid_x": x, "grid_y": y, "grid_z": z}
    return call(*operands, **attributes, threads=np.int32(threads))


def error_of(name, ptx, threads=1):
    result = jax.ShapeDtypeStruct((3,), jnp.float32)
    try:
        jax.jit(lambda a: launch(name, ptx, result, a, a, threads=threads))(jnp.ones(3)).block_until_ready()
    except Exception as error:  # JAX's class has had several names
        return str(error)


def main(driver_path, handler_path):
    driver = ctypes.CDLL(driver_path, mode=ctypes.RTLD_GLOBAL)  # `dlopen` finds it by its name
    handler = ctypes.CDLL(handler_path)
    stages = {"initialize": handler.JaxapiInitialize, "execute": handler.OnHost}
    capsules = {stage: jax.ffi.pycapsule(function) for stage, function in stages.items()}
    jax.ffi.register_ffi_target(TARGET, capsules, platform="cpu")
    seen = {}

    result = jax.ShapeDtypeStruct((6,), jnp.float32)
    subtract = jax.jit(lambda a, b: launch("subtract", "subtract", result, a, b, grid=(2, 1, 1), threads=3))
    seen["difference"] = subtract(jnp.arange(6.0) ** 2, jnp.arange(6.0)).tolist()

    shapes = [jax.ShapeDtypeStruct((1,), jnp.float32), jax.ShapeDtypeStruct((4,), jnp.int32)]
    changed, how = jax.jit(
        lambda x: launch("increase", "increase", shapes, x, grid=(5, 6, 7), threads=32, aliases={0: 0})
    )(jnp.full(1, 41.0))
    seen["in place"], seen["launch"] = changed.tolist(), how.tolist()

    before = driver.load_count()
    programs = [
        jax.jit(lambda a, n=n: n + launch("subtract", "subtract, anew", result, a, a, threads=6, key="one"))
        for n in range(4)
    ]
    workers = [
        threading.Thread(target=lambda program=program: [program(jnp.ones(6)) for _ in range(50)])
        for program in programs
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seen["loads of four programs"] = driver.load_count() - before

    seen["no PTX"] = error_of("subtract", "not PTX")
    seen["no PTX, again"] = error_of("subtract", "not PTX")
    seen["no kernel"] = error_of("subtract", "PTX of something else")
    seen["no launch"] = error_of("subtract", "subtract", threads=2000)
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
