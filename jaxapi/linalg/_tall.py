"""QR of tall matrices on NVIDIA GPUs by Cholesky factors, where the matrix is not near a singular one.

Householder's reflections go over the matrix once for each column. The Cholesky factor of ``x^H x`` is R, but
for an error that grows with the square of the condition number, and ``x / R`` is near an orthogonal matrix.
The same once more, with that, leaves rounding errors alone (Yamamoto, Nakatsukasa, Yanagisawa and Fukaya,
2015).
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .._core._typing import Array
from ._certified import certified
from ._householder import repaired_qr, slopes

__all__ = ["cholesky_qr", "is_tall", "qr_of_tall", "thin_qr"]

_LEAST_ROWS = 1024
_LEAST_ELEMENTS = 2**17  # of all the batch: below, reflections take no longer than two products
_ROWS_FOR_A_COLUMN = 4
# In the 2-norm of Q^H Q - I: the condition number of what is decomposed again is below 1.3.
_FARTHEST_FROM_ORTHOGONAL = 0.25


def is_tall(x: Array) -> bool:
    """Whether the matrices have so many rows for each column that Cholesky factors are faster."""
    lengths_are_known = all(isinstance(n, int) for n in x.shape)
    has_decompositions = x.dtype.itemsize >= 4
    if not (has_decompositions and lengths_are_known and x.size >= _LEAST_ELEMENTS):
        return False
    rows, columns = x.shape[-2:]
    return rows >= max(_LEAST_ROWS, _ROWS_FOR_A_COLUMN * columns)


def qr_of_tall(x: Array) -> tuple[Array, Array]:
    """Return Q of as many columns as the matrices, and R."""
    return thin_qr(x, _of_cuda)


def cholesky_qr(x: Array) -> tuple[tuple[Array, Array], Array]:
    """Return Q and R, whose diagonal is positive, and whether they are right for all of a batch.

    They are where the first step left a matrix near an orthogonal one; where its Cholesky factor does not
    exist, it is NaN.
    """
    column_count = x.shape[-1]
    _, near_q, first_r = _step(x)
    gram, q, second_r = _step(near_q)
    distances = jnp.abs(gram - jnp.eye(column_count, dtype=x.dtype))
    is_right = (distances <= _FARTHEST_FROM_ORTHOGONAL / column_count).all()
    return (q, jnp.triu(_product(second_r, first_r))), is_right


def _step(x: Array) -> tuple[Array, Array, Array]:
    """Return x^H x, x / R and R, for which R^H R is that product."""
    gram = _product(_adjoint(x), x)
    lower = lax.linalg.cholesky(gram, symmetrize_input=False)
    quotient = lax.linalg.triangular_solve(lower, x, lower=True, transpose_a=True, conjugate_a=True)
    return gram, quotient, _adjoint(lower)


def _product(x: Array, y: Array) -> Array:
    """Multiply in full precision, whatever the user's: that of reflections does not depend on it."""
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def _adjoint(x: Array) -> Array:
    return jnp.conj(jnp.matrix_transpose(x))


def _by_reflections(x: Array) -> tuple[Array, Array]:
    q, r = jnp.linalg.qr(x, mode="reduced")
    return repaired_qr(x, q, r)


_of_cuda = certified(cholesky_qr, _by_reflections)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def thin_qr(x: Array, decompose: Callable[[Array], Any]) -> tuple[Array, Array]:
    """Return Q and R of tall matrices as ``decompose`` does, which is not differentiated."""
    return tuple(decompose(x))


@thin_qr.defjvp
def _thin_qr_jvp(decompose: Callable[[Array], Any], primals: Any, tangents: Any) -> Any:
    (x,) = primals
    (dx,) = tangents
    q, r = thin_qr(x, decompose)
    everywhere = jnp.ones((*x.shape[:-2], 1, 1), bool)
    return (q, r), slopes(x, q, r, dx, everywhere)
