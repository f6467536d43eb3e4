"""Singular value decompositions on NVIDIA GPUs: fast and exact, where JAX's own are off by a thousand eps.

JAX takes Jacobi rotations for matrices of up to 1024 rows and columns, which stop early, and QR iterations
for larger ones, which take five times as long as polar decompositions. These are wrong for singular
matrices, and the product of what they find says so. Then QR iterations decompose all of a batch.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .._core import _parts
from .._core._dtypes import as_inexact
from .._core._typing import Array
from ._certified import certified
from ._matrices import full_precision, nan_unless_finite

__all__ = ["certified_svd", "decomposition", "default_rtol", "inverse_by_svd", "pseudo_inverse"]
__all__ += ["singular_values", "thin_svd", "values_of"]

Decomposition = Callable[[Array], Any]  # of matrices (..., m, n) into U, S and Vh

_SMALL = 32  # rows or columns up to which cuSOLVER decomposes all of a batch at once, by Jacobi rotations
_PRODUCT_ERROR = 32  # eps of the largest singular value, ten times of what is found
_ORTHOGONALITY_ERROR = 1024  # eps


@nan_unless_finite
def decomposition(x: Array, *, full_matrices: bool = True) -> Any:
    """Return U, S and Vh of matrices."""
    x = as_inexact(x)
    if full_matrices and x.shape[-1] != x.shape[-2]:
        return full_svd(x, _full_svd)
    return thin_svd(x, _thin_svd)


def _decomposed(full_matrices: bool, x: Array) -> Any:
    default = functools.partial(jnp.linalg.svd, full_matrices=full_matrices)
    if _is_small(x):
        return default(x)
    on_cuda = _of_cuda(full_matrices)
    return lax.platform_dependent(x, cuda=lambda x: tuple(on_cuda(x)), default=lambda x: tuple(default(x)))


_full_svd = functools.partial(_decomposed, True)
_thin_svd = functools.partial(_decomposed, False)


@nan_unless_finite
def singular_values(x: Array) -> Array:
    """Return the singular values of matrices, descending."""
    if _is_small(x):
        return jnp.linalg.svdvals(x)
    on_cuda = functools.partial(values_of, decompose=_of_cuda(False))
    return lax.platform_dependent(as_inexact(x), cuda=on_cuda, default=jnp.linalg.svdvals)


@nan_unless_finite
def pseudo_inverse(x: Array, rtol: Any) -> Array:
    """Return the pseudo-inverses of matrices, where singular values up to rtol of the largest are 0."""

    def default(x: Array) -> Array:
        return jnp.linalg.pinv(x, rtol=rtol)

    if _is_small(x):
        return default(x)
    x = as_inexact(x)
    cutoff = lax.stop_gradient(jnp.asarray(rtol, x.real.dtype))
    on_cuda = functools.partial(inverse_by_svd, cutoff=cutoff, decompose=_of_cuda(False))
    return lax.platform_dependent(x, cuda=on_cuda, default=default)


def default_rtol(shape: tuple[int, ...], dtype: Any, times: int = 1) -> Any:
    """Return up to which part of the largest singular value others count as 0: ``max(m, n)`` times eps.

    It is a float, or an array where a number of rows is not known. NumPy's `pinv` takes ten times as much.
    """
    longest = times * max(shape[-2:])
    eps = float(jnp.finfo(dtype).eps)
    return longest * eps if isinstance(longest, int) else jnp.asarray(longest).astype(dtype) * eps


def _is_small(x: Array) -> bool:
    """Whether JAX's own decomposition serves: of few rows or columns, or of a number that is not known."""
    lengths = jnp.shape(x)[-2:]
    return not all(isinstance(n, int) for n in lengths) or min(lengths) <= _SMALL


@functools.cache
def _of_cuda(full_matrices: bool) -> Decomposition:
    algorithms = lax.linalg.SvdAlgorithm
    polar = functools.partial(lax.linalg.svd, full_matrices=full_matrices, algorithm=algorithms.POLAR)
    qr = functools.partial(lax.linalg.svd, full_matrices=full_matrices, algorithm=algorithms.QR)
    return certified_svd(polar, qr)


def certified_svd(fast: Decomposition, safe: Decomposition) -> Decomposition:
    """Return a decomposition by ``fast`` where all of a batch are right, else by ``safe``.

    Both take matrices of at least as many rows as columns.
    """

    def checked(x: Array) -> Any:
        parts = tuple(fast(x))
        return parts, _is_right(x, *parts)

    of_tall = certified(checked, safe)

    def decompose(x: Array) -> Any:
        if x.shape[-2] >= x.shape[-1]:
            return of_tall(x)
        v, s, uh = of_tall(_adjoint(x))
        return _adjoint(uh), s, _adjoint(v)

    return decompose


@full_precision
def _is_right(x: Array, u: Array, s: Array, vh: Array) -> Array:
    """Whether U and Vh are orthogonal, and their product is the matrix, for all of a batch; not with NaN."""
    eps = jnp.finfo(x.dtype).eps
    count = s.shape[-1]
    product = jnp.matmul(u[..., :count] * s[..., None, :], vh)
    is_product = jnp.abs(product - x) <= _PRODUCT_ERROR * eps * s[..., :1, None]
    is_orthogonal = [
        jnp.abs(jnp.matmul(_adjoint(q), q) - jnp.eye(q.shape[-1], dtype=q.dtype))
        <= _ORTHOGONALITY_ERROR * eps
        for q in (u, _adjoint(vh))
    ]
    return is_product.all() & is_orthogonal[0].all() & is_orthogonal[1].all()


def _adjoint(x: Array) -> Array:
    return jnp.conj(jnp.matrix_transpose(x))


# Derivatives, which are JAX's: those of what `fast` found would be NaN where it is not taken.


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def thin_svd(x: Array, decompose: Decomposition) -> Any:
    """Return U, S and Vh of min(m, n) singular values."""
    return tuple(decompose(x))


@thin_svd.defjvp
@full_precision
def _thin_svd_jvp(decompose: Decomposition, primals: Any, tangents: Any) -> Any:
    u, s, vh = thin_svd(*primals, decompose)
    (x,) = primals
    (dx,) = tangents
    return (u, s, vh), _thin_changes(x, dx, u, s, vh)


def _thin_changes(x: Array, dx: Array, u: Array, s: Array, vh: Array) -> Any:
    """Return the changes of U, S and Vh of min(m, n) singular values.

    The change of x, seen from the singular vectors, turns each of them towards the others of its side, and by
    a phase. Where they do not span all of the space, it also moves them out of what they span.
    """
    v = _adjoint(vh)
    inner = jnp.matmul(jnp.matmul(_adjoint(u), dx), v)  # u^H dx v
    columns = s[..., None, :].astype(x.dtype)
    rows = s[..., :, None].astype(x.dtype)
    is_diagonal = jnp.eye(s.shape[-1], dtype=bool)
    differences_of_squares = (columns + rows) * (columns - rows)
    weights = jnp.where(is_diagonal, 0, 1 / jnp.where(is_diagonal, 1, differences_of_squares))
    # The vectors of a singular value that is 0 have any phase.
    has_phase = is_diagonal & (columns != 0)
    twice_values = 2 * jnp.where(has_phase, columns, 1)
    phases = jnp.where(has_phase, (inner - _adjoint(inner)) / twice_values, 0)
    turns_of_u = weights * (inner * columns + rows * _adjoint(inner))
    turns_of_v = weights * (rows * inner + _adjoint(inner) * columns)
    du = jnp.matmul(u, turns_of_u + phases)
    dv = jnp.matmul(v, turns_of_v)
    if x.shape[-2] > x.shape[-1]:
        images = jnp.matmul(dx, v)
        du += (images - jnp.matmul(u, inner)) / columns
    if x.shape[-2] < x.shape[-1]:
        images = jnp.matmul(_adjoint(dx), u)
        dv += (images - jnp.matmul(v, _adjoint(inner))) / columns
    ds = _parts.real(jnp.diagonal(inner, axis1=-2, axis2=-1))
    return du, ds, _adjoint(dv)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def full_svd(x: Array, decompose: Decomposition) -> Any:
    """Return square U and Vh, and S of min(m, n) singular values."""
    return tuple(decompose(x))


@full_svd.defjvp
@full_precision
def _full_svd_jvp(decompose: Decomposition, primals: Any, tangents: Any) -> Any:
    """Differentiate what is decomposed; the vectors of no singular value turn only as they must.

    They are any of the space that is left. What does not depend on which ones has these derivatives.
    """
    u, s, vh = full_svd(*primals, decompose)
    count = s.shape[-1]
    (x,) = primals
    (dx,) = tangents
    du, ds, dvh = _thin_changes(x, dx, u[..., :count], s, vh[..., :count, :])
    du = _with_others(u, du)
    dv = _with_others(_adjoint(vh), _adjoint(dvh))
    return (u, s, vh), (du, ds, _adjoint(dv))


def _with_others(q: Array, dq: Array) -> Array:
    """Return the changes of all columns of an orthogonal matrix by those of the first ones."""
    count = dq.shape[-1]
    others = q[..., count:]
    changes = -jnp.matmul(q[..., :count], jnp.matmul(_adjoint(dq), others))
    return jnp.concatenate([dq, changes], axis=-1)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def values_of(x: Array, decompose: Decomposition) -> Array:
    """Return the singular values."""
    return decompose(x)[1]


@values_of.defjvp
@full_precision
def _values_jvp(decompose: Decomposition, primals: Any, tangents: Any) -> Any:
    u, s, vh = thin_svd(*primals, decompose)
    changes = jnp.sum(u.conj() * jnp.matmul(tangents[0], _adjoint(vh)), axis=-2)
    return s, _parts.real(changes)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
@full_precision
def inverse_by_svd(x: Array, cutoff: Array, decompose: Decomposition) -> Array:
    """Return the pseudo-inverse, where singular values up to the cutoff times the largest count as 0."""
    u, s, vh = decompose(x)
    is_kept = s > cutoff[..., None] * s[..., :1]
    factors = jnp.where(is_kept, 1 / jnp.where(is_kept, s, 1), 0)
    factors = jnp.where(jnp.isnan(s), jnp.nan, factors).astype(x.dtype)
    return jnp.matmul(_adjoint(vh) * factors[..., None, :], _adjoint(u))


@inverse_by_svd.defjvp
@full_precision
def _inverse_jvp(decompose: Decomposition, primals: Any, tangents: Any) -> Any:
    """Differentiate at constant rank (Golub and Pereyra, 1973)."""
    x, cutoff = primals
    dx = tangents[0]
    inverse = inverse_by_svd(x, cutoff, decompose)

    def left_over(y: Array) -> Array:
        """Return what the columns of x do not span."""
        return y - jnp.matmul(x, jnp.matmul(inverse, y))

    within = -jnp.matmul(inverse, jnp.matmul(dx, inverse))
    to_rows = jnp.matmul(jnp.matmul(inverse, _adjoint(inverse)), _adjoint(left_over(dx)))
    spread = jnp.matmul(_adjoint(dx), jnp.matmul(_adjoint(inverse), inverse))
    to_columns = spread - jnp.matmul(inverse, jnp.matmul(x, spread))
    return inverse, within + to_rows + to_columns
