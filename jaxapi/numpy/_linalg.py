"""NumPy's `numpy.linalg`, of our arrays."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from .._core._programs import any_traced
from ._repairs._common import exact_program, float_dtype, refuse
from ._wrap import in_numpys_way as _in_numpys_way
from ._wrap import with_numpys_signature as _signed

_OF_SQUARE = "cholesky det eig eigh eigvals eigvalsh inv matrix_power slogdet solve"
_OF_MATRICES = "qr svd svdvals"
_OF_FLOATS = f"{_OF_SQUARE} {_OF_MATRICES} cond lstsq matrix_rank norm pinv tensorinv tensorsolve".split()
_OF_ANY = """
cross diagonal matmul matrix_norm matrix_transpose multi_dot outer tensordot trace vecdot vector_norm
"""
LinAlgError = np.linalg.LinAlgError
__all__ = sorted(["LinAlgError", *_OF_FLOATS, *_OF_ANY.split()])


def _checked(name):
    """Return jax.numpy's function, computed in NumPy's dtypes, with NumPy's errors of shapes."""
    function = _UNLIKE.get(name) or getattr(jnp.linalg, name)
    options = {"symmetrize_input": False} if name in ("eigh", "eigvalsh", "cholesky") else {}

    @functools.wraps(function)
    def call(*args, **kwargs):
        first = next(x for x in jax.tree.leaves((args, kwargs)) if isinstance(x, jax.Array))
        of_square = name in _OF_SQUARE.split()
        of_matrices = of_square or name in _OF_MATRICES.split()
        at_least = f"{first.ndim}-dimensional array given. Array must be at least two-dimensional"
        refuse(of_matrices and first.ndim < 2, LinAlgError, at_least)
        is_square = not of_square or first.shape[-1] == first.shape[-2]
        refuse(not is_square, LinAlgError, "Last 2 dimensions of the array must be square")
        refuse(name == "cond" and not first.size, LinAlgError, "cond is not defined on empty arrays")
        if name in _OF_FLOATS and not (name == "matrix_power" and kwargs["n"] >= 0):
            args, kwargs = _as_floats((args, kwargs))
        try:
            return function(*args, **kwargs, **options)
        except (TypeError, ValueError) as error:  # of shapes
            raise (LinAlgError(str(error)) if name in _OF_FLOATS else error) from None

    return call


def _as_floats(tree):
    """Return arrays as floats: NumPy's float64, and others with them, if there are integers among them."""
    arrays = [x for x in jax.tree.leaves(tree) if isinstance(x, jax.Array)]
    is_half = any(x.dtype == np.float16 for x in arrays)
    refuse(is_half, TypeError, "array type float16 is unsupported in linalg")
    if not any(x.dtype.kind in "iub" for x in arrays):
        return tree
    dtype = float_dtype(*arrays)
    return jax.tree.map(lambda x: x.astype(dtype) if isinstance(x, jax.Array) else x, tree)


def _matrix_rank(A: jax.Array, tol=None, hermitian=False, rtol=None):
    if A.ndim < 2:
        return jnp.any(A != 0).astype(int)
    s = jnp.abs(jnp.linalg.eigvalsh(A)) if hermitian else jnp.linalg.svdvals(A)
    if tol is None:
        rtol = max(A.shape[-2:]) * jnp.finfo(s.dtype).eps if rtol is None else jnp.asarray(rtol)[..., None]
        tol = s.max(-1, keepdims=True, initial=0) * rtol
    else:
        tol = jnp.asarray(tol)[..., None]
    return (s > tol).sum(-1)


def _lstsq(a: jax.Array, b: jax.Array, rcond=None):
    refuse(a.ndim != 2, LinAlgError, f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    resid = not any_traced(a, b)  # which NumPy leaves out of low rank
    x, residuals, rank, s = jnp.linalg.lstsq(a, b, rcond, numpy_resid=resid)
    real = jnp.finfo(x.dtype).dtype
    return x, residuals.real.astype(real), rank.astype(np.int32), s.real.astype(real)


def _tensorsolve(a: jax.Array, b: jax.Array, axes=None):
    axes = [] if axes is None else list(axes)
    a = jnp.moveaxis(a, axes, range(-len(axes), 0))
    shape = a.shape[b.ndim :]
    refuse(a.size != b.size**2, LinAlgError, f"a of {a.size} elements cannot be solved for b of {b.size}")
    return jnp.linalg.solve(a.reshape(b.size, b.size), b.reshape(-1)).reshape(shape)


def _cholesky(a: jax.Array, upper=False, symmetrize_input=False):
    """Read the upper triangle for an upper factor: JAX reads the lower one for both."""
    if not upper:
        return jnp.linalg.cholesky(a, symmetrize_input=symmetrize_input)
    adjoint = jnp.conj(jnp.matrix_transpose(a))
    factor = jnp.linalg.cholesky(adjoint, symmetrize_input=symmetrize_input)
    return jnp.conj(jnp.matrix_transpose(factor))


_UNLIKE = {
    "cholesky": _cholesky,
    "lstsq": _lstsq,
    "matrix_norm": exact_program(jnp.linalg.matrix_norm, "keepdims", "ord"),
    "matrix_rank": _matrix_rank,
    "norm": exact_program(jnp.linalg.norm, "ord", "axis", "keepdims"),
    "tensorsolve": _tensorsolve,
    "vector_norm": exact_program(jnp.linalg.vector_norm, "axis", "keepdims", "ord"),
}
for _name in _OF_FLOATS + _OF_ANY.split():
    _numpys = getattr(np.linalg, _name)
    _function = _signed(_name, _numpys, _checked(_name), "jaxapi.numpy.linalg")
    globals()[_name] = _in_numpys_way(_name, _numpys, _function)
