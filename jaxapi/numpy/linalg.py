"""NumPy's `numpy.linalg`, of our arrays."""

import jax.numpy as jnp
import numpy as np

from .._missing import missing as _missing
from ._wrap import with_numpys_signature as _signed

_NAMES = """
cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power matrix_rank
matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv tensorsolve trace
vecdot vector_norm
"""
LinAlgError = np.linalg.LinAlgError
for _name in _NAMES.split():
    globals()[_name] = _signed(_name, getattr(np.linalg, _name), getattr(jnp.linalg, _name), __name__)
__all__ = ["LinAlgError", *_NAMES.split()]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
