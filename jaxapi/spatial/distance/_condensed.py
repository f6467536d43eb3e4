"""Matrices of distances in their two forms, and checks of these."""

import math
import warnings

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._programs import any_traced
from ..._core._typing import Array, ArrayLike
from ._distance_arguments import as_numbers, computed
from ._pairs import condensed

__all__ = ["is_valid_dm", "is_valid_y", "num_obs_dm", "num_obs_y", "squareform"]


def squareform(X: ArrayLike, force: str = "no", checks: bool = True) -> Array:
    """Return a condensed matrix of distances as a square one, or the other way.

    As `scipy.spatial.distance.squareform` (SciPy 1.18), on every device, with derivatives.

    Parameters
    ----------
    X : array_like, shape (n (n - 1) / 2,) or (n, n)
        Distances, of any real dtype; values are only moved, NaN too.
    force : str
        ``'tovector'`` or ``'tomatrix'`` refuse the other form.
    checks : bool
        Whether a matrix must be symmetric with a diagonal of 0. Inside jit it is not looked at; the part
        above the diagonal counts.

    Returns
    -------
    Array, shape (n, n) or (n (n - 1) / 2,)
        Of the same dtype.

    Raises
    ------
    ValueError
        If X has another shape or not the form asked for, or fails the checks.

    Notes
    -----
    Works under jit, vmap and grad.

    Examples
    --------
    >>> from jaxapi.spatial import distance
    >>> distance.squareform([3, 5, 4]).tolist()
    [[0, 3, 5], [3, 0, 4], [5, 4, 0]]
    """
    x = as_numbers(X)
    if force.lower() == "tomatrix" and x.ndim != 1:
        raise ValueError("Forcing 'tomatrix' but input X is not a distance vector.")
    if force.lower() == "tovector" and x.ndim != 2:
        raise ValueError("Forcing 'tovector' but input X is not a distance matrix.")
    if x.ndim == 1:
        if _observations(x.shape[0]) is None:
            raise ValueError(
                "Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer "
                f"n >= 2, got {x.shape[0]}"
            )
        return _square(x.dtype, x)
    if x.ndim != 2:
        raise ValueError(
            f"The first argument must be one or two dimensional array. A {x.ndim}-dimensional array is not "
            "permitted"
        )
    if x.shape[0] != x.shape[1]:
        raise ValueError("The matrix argument must be square.")
    if checks and not any_traced(x):
        is_valid_dm(x, throw=True, name="X")
    return _condensed(x.dtype, x)


def _observations(size: int) -> int | None:
    """Return the n with ``n (n - 1) / 2 == size``; None where there is none."""
    n = (1 + math.isqrt(1 + 8 * size)) // 2
    return n if n * (n - 1) // 2 == size else None


@computed()
def _square(dtype: np.dtype, vector: Array) -> Array:
    n = _observations(vector.shape[0]) or 1
    if not vector.shape[0]:
        return jnp.zeros((1, 1), dtype)
    index = np.int32 if vector.shape[0] < 2**30 else np.int64
    rows, columns = (lax.broadcasted_iota(index, (n, n), axis) for axis in (0, 1))
    i = jnp.minimum(rows, columns)
    j = jnp.maximum(rows, columns)
    is_diagonal = i == j
    position = i * n - i * (i + 1) // 2 + j - i - 1
    distances = vector[jnp.where(is_diagonal, 0, position)]
    return jnp.where(is_diagonal, jnp.zeros((), dtype), distances)


@computed()
def _condensed(dtype: np.dtype, square: Array) -> Array:
    return condensed(square)


def is_valid_dm(
    D: ArrayLike, tol: float = 0.0, throw: bool = False, name: str | None = "D", warning: bool = False
) -> bool:
    """Return whether an array is a matrix of distances: 2-D, symmetric, its diagonal 0.

    As `scipy.spatial.distance.is_valid_dm` (SciPy 1.18).

    Parameters
    ----------
    D : array_like
        Concrete: inside jit its values are unknown, and JAX raises. NaN is not equal to itself.
    tol : float
        How far it may be from symmetric, and its diagonal above 0.
    throw, warning : bool
        Raise or warn where it is not valid.
    name : str, optional
        What to call it in messages.

    Returns
    -------
    bool
        A Python value.

    Raises
    ------
    ValueError
        Where it is not valid, if ``throw``.

    Examples
    --------
    >>> from jaxapi.spatial import distance
    >>> distance.is_valid_dm([[0, 1], [1, 0]]), distance.is_valid_dm([[0, 1], [2, 0]])
    (True, False)
    """
    x = np.asarray(D)
    called = f"Distance matrix '{name}'" if name else "Distance matrix"
    within = f" within tolerance {tol:5.5f}" if tol else ""
    wrong = None
    if x.ndim != 2:
        wrong = f"{called} must have shape=2 (i.e. be two-dimensional)."
    elif x.shape[0] != x.shape[1] or not _is_symmetric(x, tol):
        wrong = f"{called} must be symmetric{within}."
    elif not _has_zero_diagonal(x, tol):
        wrong = f"{called} diagonal must be {'close to zero' if tol else 'zero'}{within}."
    return _verdict(wrong, throw, warning)


def _is_symmetric(x: np.ndarray, tol: float) -> bool:
    """Tell whether a square matrix is, within a tolerance above 0, or exactly."""
    is_near = x - x.T <= tol if tol else x == x.T
    return bool(is_near.all())


def _has_zero_diagonal(x: np.ndarray, tol: float) -> bool:
    is_near = x.diagonal() <= tol if tol else x.diagonal() == 0
    return bool(is_near.all())


def is_valid_y(y: ArrayLike, warning: bool = False, throw: bool = False, name: str | None = None) -> bool:
    """Return whether an array is a condensed matrix of distances: 1-D, of n (n - 1) / 2 elements.

    As `scipy.spatial.distance.is_valid_y` (SciPy 1.18); only the shape is looked at, so ``y`` may be traced
    and hold NaN.

    Parameters
    ----------
    y : array_like
        What may be one.
    warning, throw, name
        As in `is_valid_dm`.

    Returns
    -------
    bool
        A Python value.

    Raises
    ------
    ValueError
        Where it is not valid, if ``throw``.

    Examples
    --------
    >>> from jaxapi.spatial import distance
    >>> distance.is_valid_y([3, 5, 4]), distance.is_valid_y([3, 5])
    (True, False)
    """
    shape = as_numbers(y).shape
    wrong = None
    called = f"ondensed distance matrix '{name}'" if name else "ondensed distance matrix"
    if len(shape) != 1:
        wrong = f"C{called} must have shape=1 (i.e. be one-dimensional)."
    elif _observations(shape[0]) is None:
        wrong = f"Length n of c{called} must be a binomial coefficient, n = (k choose 2), got {shape[0]}"
    return _verdict(wrong, throw, warning)


def _verdict(wrong: str | None, throw: bool, warning: bool) -> bool:
    if wrong and throw:
        raise ValueError(wrong)
    if wrong and warning:
        warnings.warn(wrong, stacklevel=3)
    return not wrong


def num_obs_dm(d: ArrayLike) -> int:
    """Return the number of observations of a square matrix of distances, an int.

    As `scipy.spatial.distance.num_obs_dm` (SciPy 1.18); only the shape is looked at, so ``d`` may be traced
    and hold NaN. ValueError if it is not square.

    Examples
    --------
    >>> from jaxapi.spatial import distance
    >>> distance.num_obs_dm([[0, 1], [1, 0]])
    2
    """
    shape = as_numbers(d).shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"Distance matrix 'd' must be square, got shape {shape}")
    return shape[0]


def num_obs_y(Y: ArrayLike) -> int:
    """Return the number of observations of a condensed matrix of distances, an int of 2 or more.

    As `scipy.spatial.distance.num_obs_y` (SciPy 1.18); only the shape is looked at, so ``Y`` may be traced
    and hold NaN. ValueError if it is empty, or of another length or number of axes.

    Examples
    --------
    >>> from jaxapi.spatial import distance
    >>> distance.num_obs_y([3, 5, 4])
    3
    """
    is_valid_y(Y, throw=True, name="Y")
    size = as_numbers(Y).shape[0]
    if size == 0:
        raise ValueError("The number of observations cannot be determined on an empty distance matrix.")
    return _observations(size)  # type: ignore[return-value]
