"""The value of an interpolant at one place, without its coefficients.

With the symmetric matrix ``M = [[K, P], [P^T, 0]]`` of the equations, the value at a place is
``[k, p]^T M^-1 [d, 0]``: k and p are kernels and monomials there. Householder reflections turn the monomials
P into a triangle on top of zeros. What is left of K where the zeros are has as many rows less as there are
monomials, and its LU factors give the value: bordered by the sides of the product,

    [[B, v], [u^T, 0]]  has the Schur complement  -u^T B^-1 v,

which elimination leaves in its last rows. A batch of small systems so takes one call of the library and no
triangular solves; the library of NVIDIA GPUs is four times as fast up to 32 rows as above.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._waiting import available_after

__all__ = ["by_reflections", "by_weights", "combination", "matmul", "right_sides", "saddle"]

_MOST_MONOMIALS = 6  # each is a reflection, step by step
_MOST_COLUMNS = 4  # each is one row more
# The border's row, so small that elimination takes it for a pivot where there is no other, exactly.
_SMALL = {"float32": 2.0**-60, "float64": 2.0**-400}


def saddle(kernels, monomials):
    """Return the matrix of kernels with its border of monomials."""
    corner = jnp.zeros((monomials.shape[1],) * 2, kernels.dtype)
    return jnp.block([[kernels, monomials], [monomials.T, corner]])


def right_sides(values, monomial_count: int):
    """Return the right-hand sides (k + monomials, columns) of values (k, columns)."""
    # Not by jnp.pad, whose derivative in reverse JAX has for 64 bits with x64 on alone.
    return jnp.concatenate([values, jnp.zeros((monomial_count, values.shape[1]), values.dtype)])


@jax.custom_jvp
def combination(kernels, monomials, kernels_at_x, monomials_at_x, values):
    """Return the value (columns,) at a place; nan where the system is singular.

    Parameters
    ----------
    kernels : (k, k)
    monomials : (k, monomials)
    kernels_at_x : (k,)
    monomials_at_x : (monomials,)
    values : (k, columns)
    """
    columns = values.shape[1]
    arrays = kernels, monomials, kernels_at_x, monomials_at_x, values
    if monomials.shape[1] > _MOST_MONOMIALS or not 0 < columns <= _MOST_COLUMNS:
        return by_weights(*arrays)
    # On the CPU weights take a fifth less time of a call, and compile faster.
    return lax.platform_dependent(*arrays, cpu=by_weights, default=by_reflections)


@combination.defjvp
def _slope(primals, tangents):
    """Differentiate the product with the inverse, by solutions that can be differentiated again."""
    kernels, monomials, kernels_at_x, monomials_at_x, values = primals
    count, columns = values.shape
    value = combination(*primals)
    kernels = available_after(jnp.sum(value), kernels)
    at_x = jnp.concatenate([kernels_at_x, monomials_at_x])
    right = jnp.concatenate([right_sides(values, monomials.shape[1]), at_x[:, None]], axis=1)
    solutions = jnp.linalg.solve(saddle(kernels, monomials), right)
    coefficients, weight_column = jnp.split(solutions, [columns], axis=1)
    weights = weight_column[:, 0]
    value_weights, _ = jnp.split(weights, [count])
    d_kernels, d_monomials, d_kernels_at_x, d_monomials_at_x, d_values = tangents
    d_at_x = jnp.concatenate([d_kernels_at_x, d_monomials_at_x])
    slope = matmul(d_at_x, coefficients) + matmul(value_weights, d_values)
    slope -= matmul(matmul(weights, saddle(d_kernels, d_monomials)), coefficients)
    return value, slope


def matmul(x, y):
    """Return the product in full precision."""
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def by_weights(kernels, monomials, kernels_at_x, monomials_at_x, values):
    """Return the value by the weight that each of the values has there."""
    at_x = jnp.concatenate([kernels_at_x, monomials_at_x])
    weights = jnp.linalg.solve(saddle(kernels, monomials), at_x)
    weights = jnp.where(jnp.isfinite(weights).all(), weights, jnp.nan)
    return matmul(weights[: len(values)], values)


def by_reflections(kernels, monomials, kernels_at_x, monomials_at_x, values):
    """Return the value by the factors of the reduced system."""
    count, monomial_count = monomials.shape
    columns = values.shape[1]
    kernels = lax.optimization_barrier(kernels)  # XLA would compute them again for each of their uses
    reflectors, triangle = _reflectors(monomials)
    # Weights of the values that are right for polynomials: monomials^T @ weights == monomials_at_x.
    weights = _unreflected(reflectors, _forward_substitution(triangle, monomials_at_x), count)
    products = matmul(kernels, jnp.stack([*reflectors, weights], axis=1))  # (k, monomials + 1)
    rest = kernels_at_x - products[:, -1]

    # Reflecting K from both sides takes ``v w^T + w v^T`` from it, for each reflector v and its side w.
    sides = []
    for index, reflector in enumerate(reflectors):
        side = products[:, index]
        for earlier, earlier_side in zip(reflectors[:index], sides, strict=True):
            side = side - earlier * jnp.sum(earlier_side * reflector)
            side = side - earlier_side * jnp.sum(earlier * reflector)
        sides.append(side - reflector * jnp.sum(side * reflector) / 2)
    reduced = kernels[monomial_count:, monomial_count:]
    for reflector, side in zip(reflectors, sides, strict=True):
        v = reflector[monomial_count:]
        w = side[monomial_count:]
        reduced = reduced - v[:, None] * w - w[:, None] * v

    row = _reflected_by_all(reflectors, rest)[monomial_count:]
    reflected_columns = [_reflected_by_all(reflectors, values[:, column]) for column in range(columns)]
    right = jnp.stack([column[monomial_count:] for column in reflected_columns], axis=1)
    polynomial = jnp.sum(weights[:, None] * values, axis=0)
    return polynomial + _product_with_inverse(row, reduced, right)


def _reflectors(monomials):
    """Return vectors (k,) of reflections ``I - v v^T``, and the triangle that they make of the monomials."""
    count, monomial_count = monomials.shape
    rows = np.arange(count)
    columns = [monomials[:, index] for index in range(monomial_count)]
    reflectors: list = []
    for index in range(monomial_count):
        column = jnp.where(rows >= index, columns[index], 0)
        length = jnp.sqrt(jnp.sum(column * column))
        first = column[index]
        signed_length = jnp.where(first < 0, -length, length)
        reflector = column + jnp.where(rows == index, signed_length, 0)
        half_squared_norm = length * (length + jnp.abs(first))
        reflector = reflector / jnp.sqrt(jnp.where(half_squared_norm > 0, half_squared_norm, 1))
        columns = [_reflected(column, reflector) for column in columns]
        reflectors.append(reflector)
    return reflectors, [column[:monomial_count] for column in columns]


def _reflected(x, reflector):
    return x - reflector * jnp.sum(reflector * x)


def _reflected_by_all(reflectors, x):
    for reflector in reflectors:
        x = _reflected(x, reflector)
    return x


def _unreflected(reflectors, head, count):
    """Return a vector (k,) that the reflections turn into the head on top of zeros."""
    x = jnp.zeros((count,), head.dtype).at[: len(head)].set(head)
    for reflector in reversed(reflectors):
        x = _reflected(x, reflector)
    return x


def _forward_substitution(triangle, right):
    """Solve for the transpose of the triangle, given by its columns."""
    solution: list = []
    for index, column in enumerate(triangle):
        product = sum(column[row] * value for row, value in enumerate(solution))
        solution.append((right[index] - product) / column[index])
    return jnp.stack(solution) if solution else right


def _product_with_inverse(row, matrix, right):
    """Return ``row @ inv(matrix) @ right`` (columns,); nan where the matrix is singular."""
    size, columns = right.shape
    small = _SMALL[matrix.dtype.name]
    largest = jnp.max(jnp.abs(row), initial=0)
    largest = jnp.where(largest > 0, largest, 1)
    bordered = jnp.zeros((size + columns,) * 2, matrix.dtype)
    bordered = bordered.at[:size, :size].set(matrix).at[:size, size:].set(right)
    bordered = bordered.at[size, :size].set(row / largest * small)
    factors, pivots, _ = lax.linalg.lu(bordered)
    singular = jnp.any(pivots[:size] >= size)
    return jnp.where(singular, jnp.nan, -factors[size, size:] / small * largest)
