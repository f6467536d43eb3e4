"""Points on a sphere: great-circle distances by way of chords, which a KDTree measures exactly."""

import math

import jax
import jax.numpy as jnp

from .._core._programs import is_traced
from .._core._typing import Array, ArrayLike
from .._interop import as_array

__all__ = ["chord_length", "great_circle_distance", "unit_vectors"]


def unit_vectors(latlon: ArrayLike, /) -> Array:
    """Return points of the unit sphere, given by latitude and longitude.

    The order by chords is that by great circles, so a `KDTree` of these vectors finds the neighbors on the
    sphere, poles and date line included.

    Parameters
    ----------
    latlon : array_like, shape (..., 2), floating
        Latitude and longitude in radians, as scikit-learn's haversine metric takes them.

    Returns
    -------
    Array, shape (..., 3), of the same dtype
        Unit vectors. In float32 they resolve 6e-8, half a metre on Earth; float64 resolves a nanometre.

    Raises
    ------
    ValueError
        If the last axis is not 2, or if a latitude is beyond a pole or a longitude more than once around, as
        degrees are.

    Notes
    -----
    Works under jit, vmap and grad, where values are not checked.

    Examples
    --------
    >>> import jaxapi as xp, numpy as np
    >>> from jaxapi.spatial import KDTree, chord_length, great_circle_distance, unit_vectors
    >>> cities = np.radians([[52.52, 13.40], [48.86, 2.35], [40.71, -74.01]])  # Berlin, Paris, New York
    >>> tree = KDTree(unit_vectors(cities))
    >>> chords, rows = tree.kneighbors(1)
    >>> (6371 * great_circle_distance(chords[:, 0])).round().tolist(), rows[:, 0].tolist()
    ([877.0, 877.0, 5837.0], [1, 0, 1])
    >>> tree.query_ball_point(unit_vectors(cities[1]), chord_length(1000 / 6371), return_sorted=True)
    [0, 1]
    """
    latlon = _real_numbers(latlon, "latlon")
    if latlon.shape[-1:] != (2,):
        raise ValueError(f"latlon must be of shape (..., 2), latitude and longitude, got {latlon.shape}")
    remedy = "convert degrees with numpy.radians"
    _refuse_outside(
        latlon[..., 0], -math.pi / 2, math.pi / 2, "latitudes must be radians from -1.571 to 1.571", remedy
    )
    _refuse_outside(
        latlon[..., 1], -2 * math.pi, 2 * math.pi, "longitudes must be radians from -6.283 to 6.283", remedy
    )
    return _unit_vectors(latlon)


@jax.jit
def _unit_vectors(latlon: Array) -> Array:
    latitude = latlon[..., 0]
    longitude = latlon[..., 1]
    from_axis = jnp.cos(latitude)
    return jnp.stack(
        [from_axis * jnp.cos(longitude), from_axis * jnp.sin(longitude), jnp.sin(latitude)], axis=-1
    )


def great_circle_distance(chord: ArrayLike, /) -> Array:
    """Return the angles that chords of the unit sphere subtend, in radians; times a radius the distances.

    Parameters
    ----------
    chord : array_like
        Lengths of chords, 0 to 2, as a `KDTree` of `unit_vectors` measures them; inf for none.

    Returns
    -------
    Array, of the same shape
        Angles from 0 to pi; inf for inf.

    Raises
    ------
    ValueError
        If a chord is negative, or finite and more than a rounding error above 2.

    Notes
    -----
    Works under jit, vmap and grad, where values are not checked and a chord above 2 counts as 2.

    Examples
    --------
    >>> from jaxapi.spatial import great_circle_distance
    >>> great_circle_distance([0.0, 2.0, float("inf")]).tolist()
    [0.0, 3.1415927410125732, inf]
    """
    chord = _real_numbers(chord, "chord")
    _refuse_outside(
        chord, 0, 2, "chords of the unit sphere must be from 0 to 2, or inf", "divide by its radius"
    )
    return _great_circle_distance(chord)


@jax.jit
def _great_circle_distance(chord: Array) -> Array:
    is_finite = chord < jnp.inf
    angle = 2 * jnp.arcsin(jnp.minimum(jnp.where(is_finite, chord, 0) / 2, 1))
    return jnp.where(is_finite, angle, chord)


def chord_length(angle: ArrayLike, /) -> Array:
    """Return the chords of the unit sphere that angles subtend: what a radius search on a sphere takes.

    Parameters
    ----------
    angle : array_like
        Angles in radians, 0 to pi: great-circle distances on the unit sphere; inf for no limit.

    Returns
    -------
    Array, of the same shape
        Lengths of chords, 0 to 2.

    Raises
    ------
    ValueError
        If an angle is negative, or finite and more than a rounding error above pi, as kilometres are.

    Notes
    -----
    Works under jit, vmap and grad, where values are not checked and an angle above pi counts as pi.

    Examples
    --------
    >>> from jaxapi.spatial import chord_length
    >>> float(chord_length(3.141592653589793))
    2.0
    """
    angle = _real_numbers(angle, "angle")
    _refuse_outside(
        angle,
        0,
        math.pi,
        "angles must be radians from 0 to pi, or inf",
        "divide distances by the radius of the sphere, convert degrees with numpy.radians",
    )
    return _chord_length(angle)


@jax.jit
def _chord_length(angle: Array) -> Array:
    return 2 * jnp.sin(jnp.minimum(angle, jnp.pi) / 2)


def _real_numbers(x: ArrayLike, name: str) -> Array:
    """Return anything array-like as an array, in which numbers are real."""
    x = as_array(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        raise TypeError(f"{name} must be real, got complex numbers: pass their real parts")
    return x


def _refuse_outside(x: Array, low: float, high: float, rule: str, remedy: str) -> None:
    """Refuse concrete numbers outside of a range by more than rounding; inf stands for none."""
    if is_traced(x):
        return
    least, greatest = map(float, _finite_range(x))
    if least < low - 1e-5 or greatest > high + 1e-5:
        raise ValueError(f"{rule}, got {least if least < low - 1e-5 else greatest}: {remedy}")


@jax.jit
def _finite_range(x: Array) -> tuple[Array, Array]:
    finite = jnp.where(jnp.isfinite(x), x, 0)
    return finite.min(initial=0), finite.max(initial=0)
