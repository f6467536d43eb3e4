"""NumPy's `numpy.linalg`, of our arrays."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ._repairs._common import float_dtype
from ._wrap import with_numpys_signature as _signed

_NAMES = """
cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power
matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv
tensorsolve trace vecdot vector_norm
"""
_OF_SQUARE = "cholesky det eig eigh eigvals eigvalsh inv matrix_power slogdet solve"
_OF_FLOATS = _OF_SQUARE + " cond lstsq norm pinv qr svd svdvals tensorinv tensorsolve"
LinAlgError = np.linalg.LinAlgError


def _checked(name):
    """Return jax.numpy's function, computed in NumPy's dtypes, with NumPy's errors of shapes."""
    function = getattr(jnp.linalg, name)
    is_of_square, is_of_floats = name in _OF_SQUARE.split(), name in _OF_FLOATS.split()
    options = {"symmetrize_input": False} if name in ("eigh", "eigvalsh", "cholesky") else {}

    @functools.wraps(function)
    def call(*args, **kwargs):
        first = next((x for x in (*args, *kwargs.values()) if isinstance(x, jax.Array)), None)
        if first is not None and (is_of_square or (first.ndim < 2 and name in ("qr", "svd", "svdvals"))):
            if first.ndim < 2:
                raise LinAlgError(
                    f"{first.ndim}-dimensional array given. Array must be at least two-dimensional"
                )
            if first.shape[-1] != first.shape[-2]:
                raise LinAlgError("Last 2 dimensions of the array must be square")
        if name == "cond" and not first.size:
            raise LinAlgError("cond is not defined on empty arrays")
        if is_of_floats and not (name == "matrix_power" and kwargs["n"] >= 0):
            args, kwargs = jax.tree.map(_as_float, (args, kwargs))
        return function(*args, **kwargs, **options)

    return call


def _as_float(x):
    if isinstance(x, jax.Array) and x.dtype == np.float16:
        raise TypeError("array type float16 is unsupported in linalg")
    return x.astype(float_dtype(x)) if isinstance(x, jax.Array) and x.dtype.kind in "iub" else x


def _matrix_rank(A: jax.Array, tol=None, hermitian=False, rtol=None):
    A = jnp.asarray(A)
    if A.ndim < 2:
        return jnp.any(A != 0).astype(int)
    s = jnp.abs(jnp.linalg.eigvalsh(_as_float(A))) if hermitian else jnp.linalg.svdvals(_as_float(A))
    if tol is None:
        rtol = max(A.shape[-2:]) * jnp.finfo(s.dtype).eps if rtol is None else jnp.asarray(rtol)[..., None]
        tol = s.max(-1, keepdims=True, initial=0) * rtol
    else:
        tol = jnp.asarray(tol)[..., None]
    return (s > tol).sum(-1)


for _name in _NAMES.split():
    _function = _matrix_rank if _name == "matrix_rank" else _checked(_name)
    globals()[_name] = _signed(_name, getattr(np.linalg, _name), _function, __name__)
__all__ = ["LinAlgError", *_NAMES.split()]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
