"""Decompositions of matrices, in the full precision of the dtype on every device."""

import functools

import jax.numpy as jnp
from jax import lax

from .._core._programs import compiled
from .._core._typing import Array, ArrayLike
from .._interop import as_operand
from ._householder import repaired_qr
from ._matrices import (
    documented,
    full_precision,
    largest_power,
    matrices,
    nan_unless_finite,
    of_matrices,
    of_squares,
    square,
    times,
)
from ._results import EighResult, EigResult, QRResult, SVDResult
from ._singular import decomposition, singular_values
from ._tall import is_tall, qr_of_tall

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]


@documented(square)
def cholesky(x: ArrayLike, /, *, upper: bool = False) -> Array:
    """Cholesky factor of symmetric or Hermitian positive-definite matrices.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., n, n)
        Taken as symmetric: the mean of ``x`` and its adjoint is factored.
    upper : bool
        Give the upper factor.

    Returns
    -------
    Array
        Lower triangular factors L with ``L @ adjoint(L) = x``, or upper ones U with ``adjoint(U) @ U = x``;
        NaN where ``x`` is not positive definite.

    Examples
    --------
    >>> print(cholesky(jnp.asarray([[4.0, 0.0], [0.0, 9.0]])))
    [[2. 0.]
     [0. 3.]]
    """
    return of_squares(jnp.linalg.cholesky, x, upper=upper)


@documented(square, "; differentiable in the eigenvalues alone")
def eig(x: ArrayLike, /) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., n, n)
        NaN or infinity in a matrix makes its results NaN.

    Returns
    -------
    EigResult
        ``eigenvalues``, shape (..., n), and ``eigenvectors``, shape (..., n, n), whose columns belong to
        them; both complex.

    Examples
    --------
    >>> eig(jnp.asarray([[2.0, 0.0], [0.0, 8.0]])).eigenvalues.tolist()
    [(2+0j), (8+0j)]
    """
    return EigResult(*of_squares(_eig, x))


@documented(square, "; differentiable where eigenvalues differ")
def eigh(x: ArrayLike, /) -> EighResult:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., n, n)
        Taken as symmetric: the mean of ``x`` and its adjoint is decomposed.
        NaN or infinity in a matrix makes its results NaN.

    Returns
    -------
    EighResult
        ``eigenvalues``, real, ascending, shape (..., n), and ``eigenvectors``, shape (..., n, n), whose
        columns are orthonormal.

    Examples
    --------
    >>> print(eigh(jnp.asarray([[2.0, 0.0], [0.0, 8.0]])).eigenvalues)
    [2. 8.]
    """
    return EighResult(*of_squares(_eigh, x))


@documented(square)
def eigvals(x: ArrayLike, /) -> Array:
    """Eigenvalues of square matrices.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., n, n)
        NaN or infinity in a matrix makes its results NaN.

    Returns
    -------
    Array
        Complex, shape (..., n), in no particular order.

    Examples
    --------
    >>> eigvals(jnp.asarray([[2.0, 0.0], [0.0, 8.0]])).tolist()
    [(2+0j), (8+0j)]
    """
    return of_squares(_eigvals, x)


@documented(square)
def eigvalsh(x: ArrayLike, /) -> Array:
    """Eigenvalues of symmetric or Hermitian matrices.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., n, n)
        Taken as symmetric: the mean of ``x`` and its adjoint counts.
        NaN or infinity in a matrix makes its results NaN.

    Returns
    -------
    Array
        Real, ascending, shape (..., n).

    Examples
    --------
    >>> print(eigvalsh(jnp.asarray([[2.0, 0.0], [0.0, 8.0]])))
    [2. 8.]
    """
    return of_squares(_eigvalsh, x)


@documented(
    None,
    "; differentiable where x has full rank. On NVIDIA GPUs the host waits for the decomposition, to see "
    "whether precision was lost",
)
def qr(x: ArrayLike, /, *, mode: str = "reduced") -> QRResult:
    """QR decomposition.

    Each column is scaled by a power of two, so that the squares of its elements neither overflow nor vanish,
    and matrices of which cuBLAS loses precision are decomposed again, column by column. On NVIDIA GPUs, with
    ``mode='reduced'``, matrices of at least 1024 rows and four rows for each column, 2**17 elements in all,
    are decomposed by Cholesky factors, if all of a batch are far from singular ones: one that is not sends
    all of them the other way.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., m, n)
        NaN or infinity in a matrix makes NaN of what depends on it.
    mode : {'reduced', 'complete'}
        Give Q min(m, n) columns, or m.

    Returns
    -------
    QRResult
        ``Q`` with orthonormal columns and the upper triangular ``R``; ``Q @ R = x``. The diagonal of ``R`` is
        positive where Cholesky factors were found, and has the signs of LAPACK, or of cuSOLVER, elsewhere:
        ``s = sign(diagonal(R))`` makes it positive by ``Q * s`` and ``conj(s)[:, None] * R``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If ``x`` has fewer than two dimensions (a ``ValueError``).
    ValueError
        If ``mode`` is another one.

    Examples
    --------
    >>> print(abs(qr(jnp.asarray([[2.0, 0.0], [0.0, 8.0]])).R))
    [[2. 0.]
     [0. 8.]]
    """
    return _qr(as_operand(x), _checked(mode))


@functools.partial(compiled, static_argnums=(1,))
@full_precision
def _qr(x, mode):
    x = matrices(jnp.asarray(x))
    if not x.size or not jnp.issubdtype(x.dtype, jnp.inexact):
        return QRResult(*jnp.linalg.qr(x, mode=mode))
    power = largest_power(x, axis=-2)
    x = times(x, 1 / power)  # exact, and no sum of squares of a column overflows or vanishes
    if mode == "reduced" and is_tall(x):
        q, r = lax.platform_dependent(x, cuda=qr_of_tall, default=lambda x: tuple(jnp.linalg.qr(x)))
    else:
        q, r = jnp.linalg.qr(x, mode=mode)
        q, r = lax.platform_dependent(x, q, r, cuda=repaired_qr, default=lambda x, q, r: (q, r))
    return QRResult(q, times(r, power))


@documented(matrices, "; differentiable where singular values differ, with ``full_matrices=False``")
def svd(x: ArrayLike, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular value decomposition.

    On NVIDIA GPUs matrices of more than 32 rows and columns are decomposed by polar decompositions, and where
    their product is not ``x``, by QR iterations: to some eps, where JAX's errors are up to a thousand.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., m, n)
        NaN or infinity in a matrix makes its results NaN.
    full_matrices : bool
        Give square ``U`` and ``Vh``, not only the first min(m, n) vectors.

    Returns
    -------
    SVDResult
        ``U``, the singular values ``S`` in descending order, and ``Vh``; ``U * S @ Vh = x`` with
        ``full_matrices=False``.

    Examples
    --------
    >>> print(svd(jnp.asarray([[2.0, 0.0], [0.0, 8.0]])).S)
    [8. 2.]
    """
    return SVDResult(*of_matrices(decomposition, x, full_matrices=full_matrices))


@documented(matrices)
def svdvals(x: ArrayLike, /) -> Array:
    """Singular values.

    Parameters
    ----------
    x : array_like, floating or complex, shape (..., m, n)
        NaN or infinity in a matrix makes its results NaN.

    Returns
    -------
    Array
        Real, descending, shape (..., min(m, n)).

    Examples
    --------
    >>> print(svdvals(jnp.asarray([[2.0, 0.0], [0.0, 8.0]])))
    [8. 2.]
    """
    return of_matrices(singular_values, x)


_eig = nan_unless_finite(jnp.linalg.eig)
_eigh = nan_unless_finite(jnp.linalg.eigh)
_eigvals = nan_unless_finite(jnp.linalg.eigvals)
_eigvalsh = nan_unless_finite(jnp.linalg.eigvalsh)


def _checked(mode: str) -> str:
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode must be 'reduced' or 'complete', got {mode!r}")
    return mode
