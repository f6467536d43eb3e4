"""QR by Householder reflections of normalised columns, for matrices on which cuSOLVER's fail.

cuSOLVER and cuBLAS divide by the square root of a sum of squares, which is zero where what an elimination
has left of a complex column is below the root of the smallest number: their results are then NaN.
"""

import jax.numpy as jnp
from jax import lax

from .._typing import Array

__all__ = ["repaired_qr"]


def repaired_qr(x: Array, q: Array, r: Array) -> tuple[Array, Array]:
    """Return ``q`` and ``r``, computed again for the matrices of finite numbers of which they are NaN."""
    lost = jnp.isfinite(x).all(axis=(-2, -1), keepdims=True) & jnp.isnan(r).any(axis=(-2, -1), keepdims=True)
    # No step where nothing is lost; a `cond` would take every step under vmap.
    steps = jnp.where(lost.any(), min(x.shape[-2:]), 0)
    new_q, new_r = _householder_qr(lax.stop_gradient(x), q.shape[-1], steps)
    return jnp.where(lost, new_q, q), jnp.where(lost, new_r[..., : r.shape[-2], :], r)


def _householder_qr(x: Array, columns: int, steps: Array) -> tuple[Array, Array]:
    """Return as many ``columns`` of Q as asked for, and R with all its rows; ``steps`` is min(m, n)."""
    m, n = x.shape[-2:]
    batch, k = x.shape[:-2], min(m, n)

    def eliminate(j, state):
        r, vectors, factors = state
        vector, factor = _reflector(_at(r, j), j)
        r = _reflected(r, vector, jnp.conj(factor))
        return r, vectors.at[..., j].set(vector), factors.at[..., j].set(factor)

    def accumulate(i, q):
        j = k - 1 - i
        return _reflected(q, _at(vectors, j), _at(factors, j))

    state = x, jnp.zeros((*batch, m, k), x.dtype), jnp.zeros((*batch, k), x.dtype)
    r, vectors, factors = lax.fori_loop(0, steps, eliminate, state)
    q = jnp.broadcast_to(jnp.eye(m, columns, dtype=x.dtype), (*batch, m, columns))
    return lax.fori_loop(0, steps, accumulate, q), jnp.triu(r)


def _reflector(column: Array, j: Array) -> tuple[Array, Array]:
    """Return v with v[j] = 1 and f: I - conj(f) v v^H leaves nothing of the column below row j (as LAPACK's)."""
    rows = jnp.arange(column.shape[-1])
    column = jnp.where(rows >= j, column, 0)
    largest = jnp.maximum(jnp.abs(column.real), jnp.abs(column.imag)).max(axis=-1, keepdims=True)
    scale = jnp.where(largest > 0, largest, 1)
    column = lax.complex(column.real / scale, column.imag / scale)
    norm = jnp.sqrt((column.real**2 + column.imag**2).sum(axis=-1))
    alpha = _at(column, j)
    beta = -jnp.copysign(jnp.where(norm > 0, norm, 1), alpha.real)
    vector = jnp.where(rows == j, 1, column / (alpha - beta)[..., None])
    return vector, jnp.where(norm > 0, (beta - alpha) / beta, 0)


def _reflected(x: Array, vector: Array, factor: Array) -> Array:
    """Return (I - factor v v^H) x."""
    row = jnp.einsum("...i,...ij->...j", jnp.conj(vector), x)
    return x - factor[..., None, None] * vector[..., :, None] * row[..., None, :]


def _at(x: Array, j: Array) -> Array:
    return lax.dynamic_index_in_dim(x, j, axis=-1, keepdims=False)
