"""NumPy's `numpy.linalg`, of our arrays."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._exact import exact_norm
from .._core._programs import any_traced, compiled, is_traced
from ..linalg._matrices import full_precision, nan_unless_finite
from ..linalg._results import SVDResult
from ..linalg._singular import decomposition, default_rtol, singular_values
from ..linalg._solvers import determinants, norms_of_matrices
from ..linalg._vectors import norms_of_vectors, without_slopes_at_zero
from ..mutable._by_numpy import in_numpys_way as _in_numpys_way
from ._common import axes_of, float_dtype, refuse
from ._wrap import as_ours
from ._wrap import on_rows_first as _on_rows_first
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

    @functools.wraps(function)
    def call(*args, **kwargs):
        args = [_as_array(x) for x in args]
        kwargs = {name: _as_array(x) if name in _OPERANDS else x for name, x in kwargs.items()}
        arrays = [x for x in jax.tree.leaves((args, kwargs)) if isinstance(x, jax.Array)]
        refuse(not arrays, LinAlgError, f"{name} takes arrays with axes, got numbers")
        is_alone = name == "multi_dot" and len(arrays) < 2
        refuse(is_alone, ValueError, f"Expecting at least two arrays, got {len(arrays)}.")
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
            of_vectors = first.ndim == 1 or isinstance(kwargs.get("axis"), int)
            takes_halves = name in _NORMS and (of_vectors or kwargs.get("ord") not in (2, -2, "nuc"))
            args, kwargs = _as_floats((args, kwargs), takes_halves or name == "vector_norm")
        try:
            return function(*args, **kwargs)
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
    s = jnp.abs(_eigvalsh(A)) if hermitian else _svdvals(A)
    if tol is None:
        rtol = default_rtol(A.shape, s.dtype) if rtol is None else jnp.asarray(rtol)[..., None]
        tol = s.max(-1, keepdims=True, initial=0) * rtol
    else:
        tol = jnp.asarray(tol)[..., None]
    return (s > tol).sum(-1)


_decomposition = compiled(decomposition, static_argnames="full_matrices")
_svdvals = compiled(singular_values)


def _of_triangle(function, UPLO: str):
    """Return a function of matrices that reads one triangle: NaN in the other one does not count."""
    triangle = UPLO.upper()
    refuse(triangle not in ("L", "U"), ValueError, f"UPLO must be 'L' or 'U', got {UPLO!r}")
    of_triangle = functools.partial(function, UPLO=triangle, symmetrize_input=False)
    return nan_unless_finite(of_triangle, reads=jnp.tril if triangle == "L" else jnp.triu)


@compiled
def _det(a: jax.Array):
    """Return determinants of arrays that are checked already, as those of all functions here."""
    return determinants(a)


@compiled
def _eig(a: jax.Array):
    return nan_unless_finite(jnp.linalg.eig)(a)


@compiled
def _eigvals(a: jax.Array):
    return nan_unless_finite(jnp.linalg.eigvals)(a)


@functools.partial(compiled, static_argnames="UPLO")
def _eigh(a: jax.Array, UPLO="L"):
    return _of_triangle(jnp.linalg.eigh, UPLO)(a)


@functools.partial(compiled, static_argnames="UPLO")
def _eigvalsh(a: jax.Array, UPLO="L"):
    return _of_triangle(jnp.linalg.eigvalsh, UPLO)(a)


def _tensordot(x1: jax.Array, x2: jax.Array, /, *, axes=2):
    return jaxapi.tensordot(x1, x2, axes=axes)


def _svd(a: jax.Array, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:
        return nan_unless_finite(jnp.linalg.svd)(a, full_matrices, compute_uv, hermitian)
    if not compute_uv:
        return _svdvals(a)
    return SVDResult(*_decomposition(a, full_matrices=full_matrices))


def _lstsq(a: jax.Array, b: jax.Array, rcond=None):
    refuse(a.ndim != 2, LinAlgError, f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    text = f"{b.ndim}-dimensional array given. Array must be one or two-dimensional"
    refuse(b.ndim not in (1, 2), LinAlgError, text)
    refuse(a.shape[0] != b.shape[0], LinAlgError, "Incompatible dimensions")
    dtype = jnp.result_type(a, b)
    columns = b[:, None] if b.ndim == 1 else b
    x, residuals, rank, s = _least_squares(a.astype(dtype), columns.astype(dtype), rcond)
    m, n = a.shape
    is_concrete = not any_traced(a, b, rcond)
    if m <= n or (is_concrete and rank < n):  # NumPy leaves them out; a program cannot know the rank
        residuals = residuals[:0] if is_concrete else residuals
    return x.reshape(n, *b.shape[1:]), residuals, rank, s


@compiled
@full_precision
def _least_squares(a: jax.Array, b: jax.Array, rcond):
    """Return solutions (n, k), sums of squared residuals (k,), the rank and the singular values."""
    m, n = a.shape
    eps = float(jnp.finfo(a.dtype).eps)
    if 0 in a.shape:
        s = jnp.zeros(0, jnp.finfo(a.dtype).dtype)
        x = jnp.zeros((n, b.shape[1]), a.dtype)
        rank = jnp.zeros((), np.int32)
    else:
        u, s, vh = decomposition(a, full_matrices=False)
        cutoff = max(m, n) * eps if rcond is None else jnp.where(rcond < 0, eps, rcond).astype(s.dtype)
        is_kept = (s > 0) & (s > cutoff * s[0])
        rank = is_kept.sum(dtype=np.int32)
        factors = jnp.where(is_kept, jaxapi.divide(1, jnp.where(is_kept, s, 1)), 0)
        factors = jnp.where(jnp.isnan(s), s, factors).astype(a.dtype)
        x = jnp.matmul(jnp.conj(vh).T, factors[:, None] * jnp.matmul(jnp.conj(u).T, b))
    left = b - jnp.matmul(a, x)
    residuals = jnp.sum(left.real**2 + left.imag**2 if jnp.iscomplexobj(left) else left**2, axis=0)
    return x, residuals, rank, s


def _pinv(a: jax.Array, rcond=None, hermitian=False, *, rtol=None):
    refuse(rcond is not None and rtol is not None, ValueError, "`rtol` and `rcond` can't be both set.")
    cutoff = rcond if rtol is None else rtol
    if hermitian:
        return nan_unless_finite(jnp.linalg.pinv)(a, cutoff, hermitian=True)
    if cutoff is None:  # as jax.numpy's
        cutoff = default_rtol(a.shape, jnp.finfo(a.dtype).dtype, times=10)
    return jaxapi.linalg.pinv(a, rtol=cutoff)


def _cond(x: jax.Array, p=None):
    if p not in (None, 2, -2):
        return jnp.linalg.cond(x, p)
    refuse(
        x.ndim < 2, LinAlgError, f"{x.ndim}-dimensional array given. Array must be at least two-dimensional"
    )
    return _condition(x, p == -2)


@functools.partial(compiled, static_argnums=1)
def _condition(x: jax.Array, is_inverse):
    s = singular_values(x)
    largest = s[..., 0]
    smallest = s[..., -1]
    number = jaxapi.divide(smallest, largest) if is_inverse else jaxapi.divide(largest, smallest)
    is_of_zeros = jnp.isnan(number) & ~jnp.isnan(x).any(axis=(-2, -1))
    return jnp.where(is_of_zeros, jnp.inf, number)


def _norm(x: jax.Array, ord=None, axis=None, keepdims=False):
    """Return what `jax.numpy.linalg.norm` does, with slopes of 0 where a norm is 0."""
    axes = axes_of(x, axis)
    if ord is None or len(axes) != 2:
        x = x if ord in (None, 2) else without_slopes_at_zero(x)
        return exact_norm(jnp.linalg.norm)(x, ord=ord, axis=axis, keepdims=keepdims)
    matrices = jnp.moveaxis(x, axes, (-2, -1))
    norms = norms_of_matrices(matrices, ord=ord)
    return jnp.expand_dims(norms, axes) if keepdims else norms


def _tensorsolve(a: jax.Array, b: jax.Array, axes=None):
    axes = [] if axes is None else list(axes)
    a = jnp.moveaxis(a, axes, range(-len(axes), 0))
    shape = a.shape[b.ndim :]
    refuse(a.size != b.size**2, LinAlgError, f"a of {a.size} elements cannot be solved for b of {b.size}")
    return jnp.linalg.solve(a.reshape(b.size, b.size), b.reshape(-1)).reshape(shape)


def _cholesky(a: jax.Array, upper=False):
    """Read the upper triangle for an upper factor: JAX reads the lower one for both."""
    if not upper:
        return jnp.linalg.cholesky(a, symmetrize_input=False)
    adjoint = jnp.conj(jnp.matrix_transpose(a))
    factor = jnp.linalg.cholesky(adjoint, symmetrize_input=False)
    return jnp.conj(jnp.matrix_transpose(factor))


_UNLIKE = {
    "cholesky": _cholesky,
    "cond": _cond,
    "det": _det,
    "eig": _eig,
    "eigh": _eigh,
    "eigvals": _eigvals,
    "eigvalsh": _eigvalsh,
    "lstsq": _lstsq,
    "matmul": jaxapi.linalg.matmul,  # which says what does not fit
    "matrix_norm": compiled(norms_of_matrices, static_argnames=("keepdims", "ord")),
    "matrix_rank": _matrix_rank,
    "norm": compiled(_norm, static_argnames=("ord", "axis", "keepdims")),
    "pinv": _pinv,
    "svd": _svd,
    "svdvals": _svdvals,
    "tensordot": _tensordot,
    "tensorsolve": _tensorsolve,
    "vecdot": jaxapi.linalg.vecdot,
    "vector_norm": compiled(norms_of_vectors, static_argnames=("axis", "keepdims", "ord")),
}


def _matrix_transpose(x, /):
    """Return the transposed matrices as a view."""
    x = as_ours(x)
    refuse(x.ndim < 2, ValueError, f"matrices have two axes, got an array of {x.ndim}")
    return x.mT


for _name in _OF_FLOATS + _OF_ANY.split():
    _numpys = getattr(np.linalg, _name)
    _function = _on_rows_first(_name, _signed(_name, _numpys, _checked(_name), "jaxapi.numpy.linalg"))
    globals()[_name] = _in_numpys_way(_numpys, _function)
matrix_transpose = _in_numpys_way(np.linalg.matrix_transpose, _matrix_transpose)
