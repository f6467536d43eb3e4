"""QR by Householder reflections of normalised columns, for matrices on which cuBLAS's fail.

JAX decomposes stacks of small matrices on GPUs with cuBLAS, which takes the root of a sum of squares. Where
an elimination leaves of a column less than the root of the smallest number, the sum has few bits or none: Q
is not orthogonal, or NaN.
"""

import jax
import jax.numpy as jnp
from jax import lax

from .._core import _parts
from .._core._typing import Array
from ._matrices import largest_power, times

__all__ = ["repaired_qr", "slopes"]


@jax.custom_jvp
def repaired_qr(x: Array, q: Array, r: Array) -> tuple[Array, Array]:
    """Return ``q`` and ``r``, computed again for the matrices of finite numbers that lost precision."""
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        return lax.cond(_is_lost(x, q, r).any(), _repaired, lambda x, q, r: (q, r), x, q, r)


@repaired_qr.defjvp
def _repaired_qr_jvp(primals, tangents):
    """Differentiate what was computed again as JAX does what it decomposes itself."""
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        x, _, _ = primals
        dx, jax_dq, jax_dr = tangents
        lost = _is_lost(*primals)
        q, r = repaired_qr(*primals)
        dq, dr = slopes(x, q, r, dx, lost)
        return (q, r), (jnp.where(lost, dq, jax_dq), jnp.where(lost, dr, jax_dr))


def slopes(x, q, r, dx, lost):
    """Return the derivatives of Q and R along dx; of matrices that are not `lost` any finite ones.

    Of x = q r, with q unitary and r triangular, the square part of r has those of a thin decomposition.
    Further columns of r are q^H x; further columns of q are those that the reflections leave
    (arXiv:2409.13374).
    """
    k = min(x.shape[-2:])
    first = q[..., :k]
    square = jnp.where(lost, r[..., :k, :k], jnp.eye(k, dtype=r.dtype))
    from jax.scipy.linalg import solve_triangular  # which takes long to load, with special functions

    relative = solve_triangular(square.mT, dx[..., :k].mT, lower=True).mT  # dx / r
    along = first.mT.conj() @ relative
    below = jnp.tril(along, -1)
    turn = below - below.mT.conj() + jnp.eye(k, dtype=r.dtype) * (along - _parts.real(along))
    dq = first @ (turn - along) + relative
    dr = (along - turn) @ r[..., :k, :k]
    if x.shape[-1] > k:
        further = dq.mT.conj() @ x[..., k:] + q.mT.conj() @ dx[..., k:]
        dr = jnp.concatenate([dr, further], axis=-1)
    if q.shape[-1] > k:
        top = jnp.where(lost, first[..., :k, :], 0)
        bottom = first[..., k:, :]
        less_one = top - jnp.eye(k, dtype=q.dtype)
        ratio = jnp.linalg.solve(less_one.mT.conj(), bottom.mT.conj())
        rest = first + q[..., k:] @ ratio.mT.conj()
        change = dq[..., k:, :] - ratio.mT.conj() @ dq[..., :k, :]
        dq = jnp.concatenate([dq, dq @ ratio - rest @ change.mT.conj()], axis=-1)
        row_count = q.shape[-1] - k
        no_slopes = jnp.zeros((*dr.shape[:-2], row_count, k), dr.dtype)
        dr = jnp.concatenate([dr, no_slopes], axis=-2)
    return dq, dr


def _is_lost(x: Array, q: Array, r: Array) -> Array:
    """Say which matrices of finite numbers lost precision, (..., 1, 1)."""
    is_finite = jnp.isfinite(x).all(axis=(-2, -1))
    is_lost = _have_lost_precision(q, r) & is_finite
    return is_lost[..., None, None]


def _have_lost_precision(q: Array, r: Array) -> Array:
    """Say in which matrices a column's remainder, the diagonal of R, has a square of few bits, or none."""
    info = jnp.finfo(r.dtype)
    remainders = jnp.abs(jnp.diagonal(r, axis1=-2, axis2=-1))
    root_of_least_exact_square = (info.tiny / info.eps) ** 0.5
    has_few_bits = (remainders > 0) & (remainders < root_of_least_exact_square)
    last_row = q[..., -1, :]  # which has a part of each reflection
    return has_few_bits.any(axis=-1) | jnp.isnan(last_row).any(axis=-1)


def _repaired(x: Array, q: Array, r: Array) -> tuple[Array, Array]:
    lost = _is_lost(x, q, r)
    # No step where nothing is lost, since under vmap both branches of the `cond` run.
    steps = jnp.where(lost.any(), min(x.shape[-2:]), 0)
    new_q, new_r = _householder_qr(x, q.shape[-1], steps)
    new_r = new_r[..., : r.shape[-2], :]
    return jnp.where(lost, new_q, q), jnp.where(lost, new_r, r)


def _householder_qr(x: Array, columns: int, steps: Array) -> tuple[Array, Array]:
    """Return as many ``columns`` of Q as wanted, and R with all its rows; ``steps`` is min(m, n)."""
    m, n = x.shape[-2:]
    batch = x.shape[:-2]
    k = min(m, n)

    def eliminate(j, state):
        r, vectors, factors = state
        vector, factor = _reflector(_at(r, j), j)
        r = _reflected(r, vector, jnp.conj(factor))
        return r, vectors.at[..., j].set(vector), factors.at[..., j].set(factor)

    def accumulate(i, q):
        j = k - 1 - i
        return _reflected(q, _at(vectors, j), _at(factors, j))

    # made of x, so that in `jax.shard_map` they vary over the axes of the mesh that x varies over
    no_vectors = jnp.zeros_like(x, shape=(*batch, m, k))
    no_factors = jnp.zeros_like(x, shape=(*batch, k))
    r, vectors, factors = lax.fori_loop(0, steps, eliminate, (x, no_vectors, no_factors))
    q = jnp.zeros_like(x, shape=(*batch, m, columns)) + jnp.eye(m, columns, dtype=x.dtype)
    return lax.fori_loop(0, steps, accumulate, q), jnp.triu(r)


def _reflector(column: Array, j: Array) -> tuple[Array, Array]:
    """Return v, where v[j] = 1, and f: I - conj(f) v v^H clears the column below row j (LAPACK's larfg)."""
    rows = jnp.arange(column.shape[-1])
    column = jnp.where(rows >= j, column, 0)
    column = times(column, 1 / largest_power(column, axis=-1))
    norm = jnp.sqrt((jnp.abs(column) ** 2).sum(axis=-1))
    alpha = _at(column, j)
    is_clear = (alpha.imag == 0) & ~jnp.where(rows > j, column, 0).any(axis=-1)
    is_subnormal = norm < 1  # and was not scaled: its squares vanish
    reflects_nothing = is_clear | is_subnormal
    beta = -jnp.copysign(jnp.where(reflects_nothing, 1, norm), alpha.real)
    vector = jnp.where(rows == j, 1, column / (alpha - beta)[..., None])
    return vector, jnp.where(reflects_nothing, 0, (beta - alpha) / beta)


def _reflected(x: Array, vector: Array, factor: Array) -> Array:
    """Return (I - factor v v^H) x."""
    row = jnp.einsum("...i,...ij->...j", jnp.conj(vector), x)
    column = factor[..., None, None] * vector[..., :, None]
    return x - column * row[..., None, :]


def _at(x: Array, j: Array) -> Array:
    return lax.dynamic_index_in_dim(x, j, axis=-1, keepdims=False)
