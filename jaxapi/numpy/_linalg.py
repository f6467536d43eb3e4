"""NumPy's `numpy.linalg`, of our arrays."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._programs import any_traced, is_traced
from ..linalg._matrices import full_precision
from ..linalg._results import SVDResult
from ..linalg._singular import decomposition, singular_values
from ._common import exact_program, float_dtype, refuse
from ._wrap import as_ours
from ._wrap import in_numpys_way as _in_numpys_way
from ._wrap import with_numpys_signature as _signed

_OF_SQUARE = "cholesky det eig eigh eigvals eigvalsh inv matrix_power slogdet solve"
_OF_MATRICES = "qr svd svdvals"
_OF_OTHERS = "cond lstsq matrix_norm matrix_rank norm pinv tensorinv tensorsolve vector_norm"
_OF_FLOATS = f"{_OF_SQUARE} {_OF_MATRICES} {_OF_OTHERS}".split()
_OF_ANY = "cross diagonal matmul matrix_transpose multi_dot outer tensordot trace vecdot"
# They decompose nothing, but for some orders of a matrix.
_NORMS = frozenset(["matrix_norm", "norm", "vector_norm"])
# Whose errors of shapes are NumPy's LinAlgError; of the others they are ValueError.
_RAISE_OWN_ERROR = frozenset(["cond", "lstsq", "multi_dot", "tensorinv", "tensorsolve"])
# Parameters that are arrays.
_OPERANDS = frozenset(["A", "a", "b", "x", "x1", "x2"])
LinAlgError = np.linalg.LinAlgError
__all__ = sorted(["LinAlgError", *_OF_FLOATS, *_OF_ANY.split()])


def _checked(name):
    """Return jax.numpy's function, computed in NumPy's dtypes, with NumPy's errors of shapes."""
    function = full_precision(_UNLIKE.get(name) or getattr(jnp.linalg, name))
    options = {"symmetrize_input": False} if name in ("eigh", "eigvalsh", "cholesky") else {}

    @functools.wraps(function)
    def call(*args, **kwargs):
        args = [_as_array(x) for x in args]
        kwargs = {name: _as_array(x) if name in _OPERANDS else x for name, x in kwargs.items()}
        arrays = [x for x in jax.tree.leaves((args, kwargs)) if isinstance(x, jax.Array)]
        refuse(not arrays, LinAlgError, f"{name} takes arrays with axes, got numbers")
        first = arrays[0]
        lacks_axis = name in ("cross", "vecdot") and not all(x.ndim for x in arrays)
        refuse(lacks_axis, ValueError, f"{name} takes vectors, got an array without axes")
        of_square = name in _OF_SQUARE.split()
        of_matrices = of_square or name in _OF_MATRICES.split()
        at_least = f"{first.ndim}-dimensional array given. Array must be at least two-dimensional"
        refuse(of_matrices and first.ndim < 2, LinAlgError, at_least)
        is_square = not of_square or first.shape[-1] == first.shape[-2]
        refuse(not is_square, LinAlgError, "Last 2 dimensions of the array must be square")
        refuse(name == "cond" and not first.size, LinAlgError, "cond is not defined on empty arrays")
        is_of_vector = name == "matrix_rank" and first.ndim < 2
        is_of_any = is_of_vector or (name == "matrix_power" and kwargs["n"] >= 0)
        if name in _OF_FLOATS and not is_of_any:
            takes_halves = name in _NORMS and kwargs.get("ord") not in (2, -2, "nuc")
            args, kwargs = _as_floats((args, kwargs), takes_halves or name == "vector_norm")
        try:
            return function(*args, **kwargs, **options)
        except (TypeError, ValueError) as error:
            raise (LinAlgError(str(error)) if name in _RAISE_OWN_ERROR else error) from None

    return call


def _as_array(x):
    """Return a Python number as an array."""
    return jnp.asarray(x) if isinstance(x, (int, float, complex)) else x


def _as_floats(tree, takes_halves):
    """Return arrays as floats: NumPy's float64, and others with them, if there are integers among them."""
    arrays = [x for x in jax.tree.leaves(tree) if isinstance(x, jax.Array)]
    is_half = any(x.dtype == np.float16 for x in arrays)
    refuse(is_half and not takes_halves, TypeError, "array type float16 is unsupported in linalg")
    if not any(x.dtype.kind in "iub" for x in arrays):
        return tree
    dtype = float_dtype(*arrays)
    return jax.tree.map(lambda x: x.astype(dtype) if isinstance(x, jax.Array) else x, tree)


def _matrix_rank(A: jax.Array, tol=None, hermitian=False, rtol=None):
    if A.ndim < 2:
        rank = jnp.any(A != 0).astype(int)
        return rank if is_traced(rank) else int(rank)
    is_square = A.shape[-1] == A.shape[-2]
    refuse(hermitian and not is_square, LinAlgError, "Last 2 dimensions of the array must be square")
    # NumPy reads one triangle of what is said to be hermitian.
    s = jnp.abs(jnp.linalg.eigvalsh(A, symmetrize_input=False)) if hermitian else singular_values(A)
    if tol is None:
        rtol = max(A.shape[-2:]) * jnp.finfo(s.dtype).eps if rtol is None else jnp.asarray(rtol)[..., None]
        tol = s.max(-1, keepdims=True, initial=0) * rtol
    else:
        tol = jnp.asarray(tol)[..., None]
    return (s > tol).sum(-1)


def _tensordot(x1: jax.Array, x2: jax.Array, /, *, axes=2):
    return jaxapi.tensordot(x1, x2, axes=axes)


def _svd(a: jax.Array, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:
        return jnp.linalg.svd(a, full_matrices, compute_uv, hermitian)
    if not compute_uv:
        return singular_values(a)
    return SVDResult(*decomposition(a, full_matrices=full_matrices))


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
    "svd": _svd,
    "svdvals": singular_values,
    "tensordot": _tensordot,
    "tensorsolve": _tensorsolve,
    "vector_norm": exact_program(jnp.linalg.vector_norm, "axis", "keepdims", "ord"),
}


def _matrix_transpose(x, /):
    """Return the transposed matrices as a view."""
    x = as_ours(x)
    refuse(x.ndim < 2, ValueError, f"matrices have two axes, got an array of {x.ndim}")
    return x.mT


for _name in _OF_FLOATS + _OF_ANY.split():
    _numpys = getattr(np.linalg, _name)
    _function = _signed(_name, _numpys, _checked(_name), "jaxapi.numpy.linalg")
    globals()[_name] = _in_numpys_way(_name, _numpys, _function)
matrix_transpose = _in_numpys_way("matrix_transpose", np.linalg.matrix_transpose, _matrix_transpose)
