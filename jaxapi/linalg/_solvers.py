"""Systems, determinants, inverses, powers and norms of matrices, in the full precision of the dtype."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import as_inexact
from .._core._errors import refuse_traced, whole_number
from .._core._exact import exact_norm
from .._core._programs import compiled
from .._core._typing import Array, ArrayLike
from .._core._waiting import available_after
from .._interop import as_operand
from ._matrices import check_system, documented, full_precision, matrices, of_matrices, of_squares, square
from ._results import SlogdetResult
from ._singular import decomposition, default_rtol, pseudo_inverse, singular_values
from ._vectors import without_slopes_at_zero

__all__ = [
    "det",
    "determinants",
    "inv",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "norms_of_matrices",
    "pinv",
]
__all__ += ["slogdet", "solve"]


@documented(square)
def det(x: ArrayLike, /) -> Array:
    """Compute the determinants of square matrices.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., n, n)

    Returns
    -------
    Array
        Shape (...); 1 for n = 0.

    Examples
    --------
    >>> print(det(jnp.asarray([[2.0, 0.0], [0.0, 8.0]])))
    16.0
    """
    return _det(as_operand(x))


@compiled
@full_precision
def _det(x):
    return determinants(as_inexact(square(jnp.asarray(x))))


@jax.custom_jvp
def determinants(x):
    """Return JAX's determinants; those of singular matrices are 0 without a sign, as NumPy's."""
    determinant = jnp.linalg.det(x)
    return jnp.where(determinant == 0, jnp.zeros_like(determinant), determinant)


@determinants.defjvp
def _determinants_jvp(primals, tangents):
    """Differentiate by the adjugate, which a singular matrix has, too: JAX's rule makes zeros of some."""
    (x,) = primals
    determinant = determinants(x)
    change = _einsum("...ij,...ji->...", _adjugate(available_after(determinant, x)), *tangents)
    return determinant, change


def _adjugate(x):
    n = x.shape[-1]
    if n < 2:
        return jnp.ones_like(x)
    if n == 2:
        (a, b), (c, d) = jnp.moveaxis(x, (-2, -1), (0, 1))
        first_row = jnp.stack([d, -b], axis=-1)
        second_row = jnp.stack([-c, a], axis=-1)
        return jnp.stack([first_row, second_row], axis=-2)
    if n == 3:
        rows = [x[..., i, :] for i in range(3)]
        columns = [jnp.cross(rows[i - 2], rows[i - 1]) for i in range(3)]
        return jnp.stack(columns, axis=-1)
    return _large_adjugate(x)


@jax.custom_jvp
def _large_adjugate(x):
    u, s, vh, phase = _factors(x)
    products = _products_without(s, 1).astype(x.dtype)
    return _einsum("...,...ki,...k,...jk->...ij", phase, vh.conj(), products, u.conj())


@_large_adjugate.defjvp
def _large_adjugate_jvp(primals, tangents):
    """Differentiate the adjugate of the diagonal matrix of singular values, in every direction."""
    u, s, vh, phase = _factors(*primals)
    products = _products_without(s, 2).astype(u.dtype)
    turned = _einsum("...ki,...kl,...jl->...ij", u.conj(), *tangents, vh.conj())
    along = _einsum("...ij,...jj->...i", products, turned)
    identity = jnp.eye(s.shape[-1], dtype=u.dtype)
    change = along[..., None] * identity - products * turned
    change = _einsum("...,...ki,...kl,...jl->...ij", phase, vh.conj(), change, u.conj())
    return _large_adjugate(*primals), change


def _factors(x):
    """Return the singular value decomposition and the product of the determinants of U and Vh."""
    u, s, vh = decomposition(x)
    return u, s, vh, jnp.linalg.det(jnp.stack([u, vh])).prod(axis=0)


def _products_without(s, left_out: int):
    """Return the products of all but one, or of all but two different ones (0 for one twice)."""
    n = s.shape[-1]
    kept = ~np.eye(n, dtype=bool)
    if left_out == 1:
        return jnp.where(kept, s[..., None, :], 1).prod(axis=-1)
    both_kept = kept[:, None] & kept
    products = jnp.where(both_kept, s[..., None, None, :], 1).prod(axis=-1)
    return jnp.where(kept, products, 0)


_einsum = functools.partial(jnp.einsum, precision=lax.Precision.HIGHEST)


@documented(square)
def slogdet(x: ArrayLike, /) -> SlogdetResult:
    """Signs and logarithms of the absolute determinants of square matrices.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., n, n)

    Returns
    -------
    SlogdetResult
        ``sign`` (0 for a singular matrix) and ``logabsdet`` (-inf there), shape (...).

    Examples
    --------
    >>> print(slogdet(jnp.asarray([[2.0, 0.0], [0.0, 8.0]])).sign)
    1.0
    """
    return SlogdetResult(*of_squares(jnp.linalg.slogdet, x))


@documented(square)
def inv(x: ArrayLike, /) -> Array:
    """Inverses of square matrices.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., n, n)

    Returns
    -------
    Array
        Infinite or NaN for a singular matrix; nothing is raised.

    Examples
    --------
    >>> print(inv(jnp.asarray([[2.0, 0.0], [0.0, 8.0]])))
    [[0.5   0.   ]
     [0.    0.125]]
    """
    return of_squares(jnp.linalg.inv, x)


@documented()
def solve(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Solutions y of the linear systems ``x1 @ y = x2``.

    Parameters
    ----------
    x1 : array_like, floating or complex, shape (..., n, n)
    x2 : array_like, shape (n,) or (..., n, k)
        A 1-D one is one right side for every matrix.

    Returns
    -------
    Array
        Infinite or NaN for a singular matrix; nothing is raised.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the last two axes of ``x1`` are not of one size (a ``ValueError``).
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> print(solve(jnp.asarray([[2.0, 0.0], [0.0, 8.0]]), jnp.asarray([2.0, 4.0])))
    [1.  0.5]
    """
    return _solve(as_operand(x1), as_operand(x2))


@compiled
@full_precision
def _solve(x1, x2):
    check_system(x1, x2)
    return jnp.linalg.solve(x1, x2)


@documented(matrices)
def pinv(x: ArrayLike, /, *, rtol: ArrayLike | None = None) -> Array:
    """Moore-Penrose pseudo-inverses.

    The default ``rtol`` is the standard's, a tenth of JAX's.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., m, n)
        NaN or infinity in a matrix makes its results NaN.
    rtol : float or array of shape (...), optional
        Singular values up to ``rtol`` times the largest count as zero. Default: ``max(m, n)`` times the
        dtype's epsilon.

    Returns
    -------
    Array
        Shape (..., n, m).

    Examples
    --------
    >>> print(pinv(jnp.asarray([[2.0, 0.0], [0.0, 0.0]])))
    [[0.5 0. ]
     [0.  0. ]]
    """
    if rtol is None or isinstance(rtol, int | float):
        return _pinv(as_operand(x), rtol)
    return _pinv_for(as_operand(x), as_operand(rtol))


@functools.partial(compiled, static_argnums=1)
@full_precision
def _pinv(x, rtol):
    x = as_inexact(matrices(x))
    if rtol is None:  # a constant, so that JAX 0.10 can differentiate it too
        rtol = default_rtol(x.shape, x.dtype)
    return pseudo_inverse(x, rtol)


@compiled
@full_precision
def _pinv_for(x, rtol):
    return pseudo_inverse(matrices(x), rtol)


@documented(matrices, "")
def matrix_rank(x: ArrayLike, /, *, rtol: ArrayLike | None = None) -> Array:
    """Numbers of singular values that are not zero.

    ``rtol`` is relative to the largest singular value, as in NumPy; JAX compares with ``rtol`` itself.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., m, n)
        NaN or infinity in a matrix makes its rank 0.
    rtol : float or array of shape (...), optional
        Singular values up to ``rtol`` times the largest count as zero. Default: ``max(m, n)`` times the
        dtype's epsilon.

    Returns
    -------
    Array
        Integers, shape (...).

    Examples
    --------
    >>> print(matrix_rank(jnp.asarray([[2.0, 0.0], [0.0, 0.0]])))
    1
    """
    return _matrix_rank(as_operand(x), None if rtol is None else as_operand(rtol))


@compiled
@full_precision
def _matrix_rank(x, rtol):
    if 0 in jnp.shape(matrices(x))[-2:]:  # no singular values, of which JAX wants the largest
        return jnp.zeros(x.shape[:-2], int)
    s = singular_values(x)
    if rtol is None:
        rtol = default_rtol(x.shape, s.dtype)
    least = s[..., 0] * rtol
    return jnp.sum(s > least[..., None], axis=-1)


@documented(square)
def matrix_power(x: ArrayLike, n: int, /) -> Array:
    """Integer powers of square matrices.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., n, n)
    n : int
        Negative powers are those of the inverse; 0 gives the identity.

    Returns
    -------
    Array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> print(matrix_power(jnp.asarray([[2.0, 0.0], [0.0, 8.0]]), 2))
    [[ 4.  0.]
     [ 0. 64.]]
    """
    return of_squares(jnp.linalg.matrix_power, x, n=whole_number(n, "n"))


@documented()
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: int | float | str | None = "fro") -> Array:
    """Norms of matrices.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., m, n)
        NaN in a matrix makes its norm NaN, as does infinity for 2, -2 and 'nuc'.
    keepdims : bool
        Keep the last two axes with size 1.
    ord : {'fro', 'nuc', 1, -1, 2, -2, inf, -inf}
        Frobenius, nuclear (sum of singular values), largest or smallest column sum, singular value, row sum.

    Returns
    -------
    Array
        Real, shape (...).

    Raises
    ------
    numpy.linalg.LinAlgError
        If ``x`` has fewer than two dimensions (a ``ValueError``).
    ValueError
        If ``ord`` is another one.

    Examples
    --------
    >>> print(matrix_norm(jnp.asarray([[2.0, 0.0], [0.0, 8.0]]), ord=2))
    8.0
    """
    refuse_traced("ord", ord)
    return of_matrices(norms_of_matrices, x, keepdims=keepdims, ord=ord)


def norms_of_matrices(x, *, keepdims=False, ord="fro"):
    """Return what `jax.numpy.linalg.matrix_norm` does, with slopes of 0 for a matrix of zeros."""
    reduce = _OF_SINGULAR_VALUES.get(ord)
    if reduce is None or not all(x.shape[-2:]):
        return _norm_of_elements(x, keepdims=keepdims, ord=ord)
    rows, columns = x.shape[-2:]
    is_zero = (x == 0).all(axis=(-2, -1))
    # A decomposition of zeros has no second slopes. This one's singular values differ.
    numbers = jnp.arange(1, columns + 1, dtype=x.dtype)
    of_other_matrix = jnp.broadcast_to(jnp.eye(rows, columns, dtype=x.dtype) * numbers[None], x.shape)
    norm = reduce(singular_values(jnp.where(is_zero[..., None, None], of_other_matrix, x)), axis=-1)
    norm = jnp.where(is_zero, 0, norm)
    return norm[..., None, None] if keepdims else norm


def _norm_of_elements(x, *, keepdims, ord):
    x = x if ord in ("fro", None) else without_slopes_at_zero(x)
    return exact_norm(jnp.linalg.matrix_norm)(x, keepdims=keepdims, ord=ord)


_OF_SINGULAR_VALUES: dict[Any, Callable[..., Array]] = {2: jnp.max, -2: jnp.min, "nuc": jnp.sum}
