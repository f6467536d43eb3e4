"""How a kernel is started: by our handler of `jax.ffi`; where that was not built, by XLA's call for PTX."""

import functools
import hashlib
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...._core._typing import Array
from .. import _launcher
from . import _compile

__all__ = ["NONE", "XLAS_TARGET", "Items", "Kernel", "check", "launch", "runs", "target"]

XLAS_TARGET = "__gpu$xla.gpu.ptx"  # which XLA does not promise to keep
NONE: Mapping[str, Any] = MappingProxyType({})  # no operands
MOST_ITEMS_ACROSS = 65535  # blocks of a grid along an axis that is not its first

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


class Items(NamedTuple):
    """The items of a batch, for each of which one launch does the same."""

    size: int  # how many there are
    strides: tuple[int, ...]  # bytes from item to item in each input and output; 0 where all items share it


def launch(
    kernel: Kernel,
    blocks: int,
    threads: int,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, jax.ShapeDtypeStruct] = NONE,
    in_place: Mapping[str, Any] = NONE,
) -> list[Array]:
    """Run a kernel on arrays; return the outputs, and the arrays that it changes in place.

    All by the names that its source gives them, and in the order there. Under `jax.vmap` one launch runs it
    for all items.
    """
    changed = {name: jax.ShapeDtypeStruct(x.shape, x.dtype) for name, x in in_place.items()}
    arrays = {**inputs, **in_place}
    work = _Work(kernel, blocks, threads, tuple(arrays), {**outputs, **changed})
    return _launched(work, [*arrays.values()], has_items=[False] * len(arrays), item_count=None)


class _Work(NamedTuple):
    """What a launch does for one item. An input that is an output, too, is changed in place."""

    kernel: Kernel
    blocks: int
    threads: int
    inputs: tuple[str, ...]
    outputs: dict[str, jax.ShapeDtypeStruct]

    def is_in_place(self, number: int) -> bool:
        """Tell whether the kernel writes into an input, which the items of a batch then cannot share."""
        return self.inputs[number] in self.outputs

    def run(self, inputs, has_items, item_count: int | None):
        """Return the outputs, each with an axis of items in front if it is a batch."""
        if item_count == 0:
            return [jnp.zeros((0, *x.shape), x.dtype) for x in self.outputs.values()]
        items = None
        outputs = self.outputs
        if item_count is not None:
            outputs = {
                name: jax.ShapeDtypeStruct((item_count, *x.shape), x.dtype) for name, x in outputs.items()
            }
            strides = [
                _bytes_of_an_item(x) if is_of_items else 0
                for x, is_of_items in zip(inputs, has_items, strict=True)
            ]
            strides += [_bytes_of_an_item(x) for x in outputs.values()]
            items = Items(item_count, tuple(strides))
        inputs = dict(zip(self.inputs, inputs, strict=True))
        return list(custom_call(self.kernel, self.blocks, self.threads, inputs, outputs, items))


def _launched(work: _Work, inputs, has_items, item_count: int | None):
    """Run a kernel for each item of a batch; None: there is no batch, and no input has items.

    Inputs that have items have them on an axis in front. `jax.vmap` of a batch makes a larger one.
    """

    @jax.custom_batching.custom_vmap
    def run(*inputs):
        return work.run(inputs, has_items, item_count)

    @run.def_vmap
    def rule(size, is_batched, *inputs):
        new_inputs = []
        new_has_items = []
        for number, x in enumerate(inputs):
            needs_items = is_batched[number] or has_items[number] or work.is_in_place(number)
            if needs_items:
                x = _of_all_items(x, size, is_batched[number], item_count, has_items[number])
            new_inputs.append(x)
            new_has_items.append(needs_items)
        new_item_count = size if item_count is None else size * item_count
        results = _launched(work, new_inputs, new_has_items, new_item_count)
        if item_count is not None:
            results = [x.reshape(size, item_count, *x.shape[1:]) for x in results]
        return results, [True] * len(results)

    return run(*inputs)


def _of_all_items(x, size: int, is_batched: bool, item_count: int | None, has_items: bool):
    """Return an input (size * items, ...) of each item of a batch, whose items may be batches."""
    if not is_batched:
        x = jnp.broadcast_to(x, (size, *jnp.shape(x)))
    if item_count is None:
        return x
    if not has_items:
        x = jnp.broadcast_to(x[:, None], (size, item_count, *x.shape[1:]))
    return x.reshape(size * item_count, *x.shape[2:])


def _bytes_of_an_item(x) -> int:
    return math.prod(x.shape[1:]) * x.dtype.itemsize


def custom_call(
    kernel: Kernel,
    blocks: int,
    threads: int,
    inputs: dict[str, Any],
    outputs: dict[str, jax.ShapeDtypeStruct],
    items: Items | None,
):
    """Let XLA launch a kernel: the one thing that needs a GPU, in whose place tests put the host's compiler.

    Sizes of the grid are part of the program, the PTX does not depend on them. Inputs that are outputs, too,
    become these.
    """
    place_of_output = {name: place for place, name in enumerate(outputs)}
    aliases = {i: place_of_output[name] for i, name in enumerate(inputs) if name in outputs}
    starts = target()
    call = jax.ffi.ffi_call(starts, tuple(outputs.values()), input_output_aliases=aliases)
    arrays = inputs.values()
    if items is None:
        ptx = _compile.compiled(kernel.name, architecture(), kernel.macros)
        return call(*arrays, **_attributes(starts, kernel.name, ptx, (blocks, 1, 1), threads))
    operands = _compile.Operands(len(inputs), len(outputs))
    ptx = _compile.compiled(kernel.name, architecture(), kernel.macros, operands)
    items_deep = -(-items.size // MOST_ITEMS_ACROSS)
    items_across = -(-items.size // items_deep)
    grid = blocks, items_across, items_deep
    # In words of 32 bits, which no setting of JAX's narrows
    numbers = np.array([*items.strides, items.size], np.int64).view(np.uint32)
    name = _compile.entry_name(kernel.name)
    return call(*arrays, numbers, **_attributes(starts, name, ptx, grid, threads))


def target() -> str:
    """Return the name of what starts kernels here: our handler where it was built."""
    return _launcher.TARGET if _launcher.registered() else XLAS_TARGET


def _attributes(target: str, name: str, ptx: str, grid: tuple[int, int, int], threads: int):
    """Return what a target has to know of a launch."""
    across, down, deep = map(np.int32, grid)
    of_grid = {"grid_x": across, "grid_y": down, "grid_z": deep}
    if target == _launcher.TARGET:
        return {"key": _key(name, ptx), "name": name, "ptx": ptx, **of_grid, "threads": np.int32(threads)}
    single = np.int32(1)
    return {
        "name": name,
        "kernel_type": "ptx",
        "kernel_data": ptx,
        **of_grid,
        "block_x": np.int32(threads),
        "block_y": single,
        "block_z": single,
        "shared_mem_bytes": np.int32(0),
    }


@functools.cache
def _key(name: str, ptx: str) -> str:
    """Return what our handler knows a loaded kernel by: programs with the same one share it."""
    return hashlib.sha256(f"{name}\0{ptx}".encode()).hexdigest()


def check() -> None:
    """Raise where kernels cannot be compiled or launched here: NVRTC or the target is missing."""
    _compile.nvrtc()
    # In a thread of its own, which knows nothing of a trace, mesh or `jax.shard_map` that this one is in
    with ThreadPoolExecutor(1) as thread:
        if not thread.submit(runs, target()).result():
            raise RuntimeError(f"{target()} runs no kernel")


def runs(target: str) -> bool:
    """Tell whether a target starts a kernel on a GPU of this process."""
    call = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((), np.int32))
    with jax.default_device(_own_gpu()):
        written = jax.jit(lambda: call(**_attributes(target, "probe", PROBE, (1, 1, 1), 1)))()
        return int(written) == 1


def architecture() -> str:
    """Return the compute capability of the GPU without its point, such as '90'."""
    return _own_gpu().compute_capability.replace(".", "")


def _own_gpu() -> jax.Device:
    """Return a GPU of this process: those of other processes run nothing for it."""
    return jax.local_devices(backend="cuda")[0]
