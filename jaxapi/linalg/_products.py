"""Products of arrays, shared by the main namespace and `linalg`."""

from jax.numpy import (
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)

__all__ = [
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
]
