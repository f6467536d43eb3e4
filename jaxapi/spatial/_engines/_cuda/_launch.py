"""How a kernel is started: by XLA's own custom call for PTX."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import numpy as np

from . import _compile

__all__ = ["TARGET", "Kernel", "check", "launch"]

TARGET = "__gpu$xla.gpu.ptx"

# A kernel that writes a 1, for any GPU
PROBE = """
.version 6.3
.target sm_75
.address_size 64
.visible .entry probe(.param .u64 out)
{
  .reg .u64 %out;
  .reg .u32 %one;
  ld.param.u64 %out, [out];
  mov.u32 %one, 1;
  st.global.u32 [%out], %one;
  ret;
}
"""


class Kernel(NamedTuple):
    """A kernel and the constants that it is compiled with."""

    name: str  # of the file and of the function in it
    macros: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, name: str, *, m: int, dtype, p: float = 2.0, periodic: bool = False, **constants):
        """Return the kernel for m dimensions, a dtype and a norm."""
        norm = 0 if p == math.inf else int(p) if p == int(p) else p
        macros = {
            "DIMENSIONS": m,
            "DOUBLE": int(np.dtype(dtype) == np.float64),
            "P": norm,
            "PERIODIC": int(periodic),
            **{key.upper(): value for key, value in constants.items()},
        }
        return cls(name, tuple((key, str(value)) for key, value in macros.items()))


def launch(kernel: Kernel, blocks: int, threads: int, inputs, outputs, *, in_place: int = 0):
    """Run a kernel on arrays; the last inputs, `in_place` of them, become the last outputs."""
    first_in = len(inputs) - in_place
    first_out = len(outputs) - in_place
    aliases = {first_in + i: first_out + i for i in range(in_place)}
    return custom_call(kernel, blocks, threads, inputs, tuple(outputs), aliases)


def custom_call(kernel: Kernel, blocks: int, threads: int, inputs, outputs, aliases: dict[int, int]):
    """Let XLA launch a kernel: the one thing that needs a GPU, in whose place tests put the host's compiler.

    Sizes of the grid are part of the program, the PTX does not depend on them. `aliases` are the inputs, by
    number, that become outputs.
    """
    call = jax.ffi.ffi_call(TARGET, outputs, vmap_method="sequential", input_output_aliases=aliases)
    ptx = _compile.compiled(kernel.name, architecture(), kernel.macros)
    return call(*inputs, **_description(kernel.name, ptx, blocks, threads))


def _description(name: str, ptx: str, blocks: int, threads: int):
    """Return what XLA's target expects."""
    single = np.int32(1)
    return {
        "name": name,
        "kernel_type": "ptx",
        "kernel_data": ptx,
        "grid_x": np.int32(blocks),
        "grid_y": single,
        "grid_z": single,
        "block_x": np.int32(threads),
        "block_y": single,
        "block_z": single,
        "shared_mem_bytes": np.int32(0),
    }


def check() -> None:
    """Raise where kernels cannot be compiled or launched here: NVRTC or XLA's target is missing."""
    _compile.nvrtc()
    # In a thread of its own, which knows nothing of a trace, mesh or `jax.shard_map` that this one is in
    with ThreadPoolExecutor(1) as thread:
        if thread.submit(_probed).result() != 1:
            raise RuntimeError(f"XLA's {TARGET} runs no kernel")


def _probed() -> int:
    call = jax.ffi.ffi_call(TARGET, jax.ShapeDtypeStruct((), np.int32))
    with jax.default_device(_own_gpu()):
        return int(jax.jit(lambda: call(**_description("probe", PROBE, 1, 1)))())


def architecture() -> str:
    """Return the compute capability of the GPU without its point, such as '90'."""
    return _own_gpu().compute_capability.replace(".", "")


def _own_gpu() -> jax.Device:
    """Return a GPU of this process: those of other processes run nothing for it."""
    return jax.local_devices(backend="cuda")[0]
