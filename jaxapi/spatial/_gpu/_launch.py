"""How a kernel is started on an NVIDIA GPU: Pallas by way of Triton, one warp a program."""

import warnings
from typing import Any

from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

__all__ = ["check", "launch"]


def check() -> None:
    """Raise where this JAX cannot compile the kernels."""
    if not hasattr(triton, "CompilerParams"):
        raise ImportError("this JAX has no Pallas route to Triton")


def launch(kernel, programs: int, inputs, out_shape, *, in_place: int = 0, interpret: bool = False):
    """Run `kernel`; the last inputs, `in_place` of them, become the outputs."""
    options: dict[str, Any] = {}
    if in_place:
        options["input_output_aliases"] = {len(inputs) - in_place + i: i for i in range(in_place)}
    if not interpret:
        options["compiler_params"] = triton.CompilerParams(num_warps=1, num_stages=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Pallas Triton backend is deprecated.*")
        call = pl.pallas_call(kernel, grid=(programs,), out_shape=out_shape, interpret=interpret, **options)
        return call(*inputs)
