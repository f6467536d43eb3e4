"""The first lines of an array, as the inputs of programs that serve many lengths have them."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._typing import Array
from .. import _lax
from ._launch import Kernel, launch

__all__ = ["lines"]

THREADS, EACH = 256, 8  # as the kernel has them
TYPES = {
    "bool": "unsigned char",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float16": "unsigned short",
    "bfloat16": "unsigned short",
    "float32": "float",
    "float64": "double",
}
HALF = {"float16": 11, "bfloat16": 8}


def lines(x: Array, count: Array, *, dtype) -> Array:
    """Return the first `count` lines of `x` in a dtype, and as many others as it has room for.

    Those are nan, or the largest integer.
    """
    dtype = np.dtype(dtype)
    if x.dtype.name not in TYPES:
        return _lax.lines(x, count, dtype=dtype)
    integers = dtype.kind in "iu"
    constants: dict[str, Any] = {
        "from": TYPES[x.dtype.name],
        "to": TYPES[dtype.name],
        "from_half": HALF.get(x.dtype.name, 0),
    }
    constants |= {"integers": int(integers), "missing": np.iinfo(dtype).max if integers else 0}
    kernel = Kernel.of("lines", m=1, dtype=dtype, **constants)
    blocks = -(-x.size // (THREADS * EACH))
    sizes = np.array([x.shape[0], math.prod(x.shape[1:])], np.int32)
    inputs = x, jnp.asarray(count, jnp.int32), sizes
    return launch(kernel, blocks, THREADS, inputs, [jax.ShapeDtypeStruct(x.shape, dtype)])[0]
