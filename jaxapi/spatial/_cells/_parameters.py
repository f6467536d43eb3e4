"""The vectors of a cell that is given by its lengths, or by lengths and angles as ASE gives them."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core._dtypes import x64_for
from ..._core._programs import is_traced

__all__ = ["are_parameters", "vectors_of"]


def are_parameters(shape: tuple[int, ...], m: int) -> bool:
    """Tell whether a cell is given by m lengths, or in three dimensions by lengths and angles."""
    return shape == (m,) or (m == 3 and shape == (6,))


def vectors_of(parameters, periodic: tuple[bool, ...]):
    """Return the vectors of a cell, (m, m) in float64, of its lengths, or of its lengths and angles.

    The first vector is along the first axis, the second one in the plane of the first two, and the third one
    on the side of the third axis. Of traced parameters that make no cell the vectors are nan.
    """
    m = len(periodic)
    if not is_traced(parameters):
        values = np.asarray(parameters, np.float64)
        _check(values, periodic)
        return _vectors(values, m, np)
    with x64_for(np.dtype("float64")):
        values = parameters.astype(np.float64)
        return jnp.where(_make_a_cell(values, periodic), _vectors(values, m, jnp), jnp.nan)


def _vectors(parameters, m: int, xp: Any):
    lengths = parameters[:m]
    if parameters.shape == (m,):
        return xp.eye(m) * lengths[:, None]
    rows = _directions(parameters[m:], xp)
    return rows * lengths[:, None]


def _directions(angles, xp: Any):
    """Return unit vectors a, b, c (3, 3): alpha is between b and c, beta of a and c, gamma of a and b."""
    from_right_angles = (90 - angles) * (np.pi / 180)  # so that cosines of right angles are 0, not rounded
    alpha, beta, gamma = xp.sin(from_right_angles)
    sine = xp.cos(from_right_angles[2])
    along_second = (alpha - beta * gamma) / sine
    height_squared = 1 - beta * beta - along_second * along_second
    has_height = height_squared > 0  # else the vectors are in one plane, up to rounding
    height = xp.where(has_height, xp.sqrt(xp.where(has_height, height_squared, 1)), 0)
    zero = xp.zeros_like(sine)
    one = xp.ones_like(sine)
    first = xp.stack([one, zero, zero])
    second = xp.stack([gamma, sine, zero])
    third = xp.stack([beta, along_second, height])
    return xp.stack([first, second, third])


def _are_lengths(lengths, periodic):
    """Tell which lengths are those of vectors: one that is not periodic may be 0, as in ASE."""
    return (lengths > 0) | ((lengths == 0) & ~np.asarray(periodic))


def _span_space(angles):
    """Tell whether there are three vectors with these angles between them, not all in one plane."""
    alpha, beta, gamma = angles[0], angles[1], angles[2]
    are_angles = ((angles > 0) & (angles < 180)).all()
    return (
        are_angles
        & (alpha + beta + gamma < 360)
        & (alpha < beta + gamma)
        & (beta < alpha + gamma)
        & (gamma < alpha + beta)
    )


def _make_a_cell(parameters, periodic):
    m = len(periodic)
    are_right = jnp.isfinite(parameters).all() & _are_lengths(parameters[:m], periodic).all()
    return are_right & _span_space(parameters[m:]) if parameters.shape != (m,) else are_right


def _check(parameters: np.ndarray, periodic: tuple[bool, ...]) -> None:
    """Refuse lengths and angles that make no cell."""
    m = len(periodic)
    if not np.isfinite(parameters).all():
        raise ValueError(f"lengths and angles of a cell must be finite, got {parameters.tolist()}")
    lengths, angles = parameters[:m], parameters[m:]
    if not _are_lengths(lengths, periodic).all():
        raise ValueError(
            f"lengths of a cell must be positive, got {lengths.tolist()}; pass periodic=False for a vector "
            "along which nothing is repeated, whose length may be 0"
        )
    if len(angles) and not _span_space(angles):
        raise ValueError(
            "no cell has such angles alpha, beta, gamma: each must be between 0 and 180, less than the other "
            f"two together, and all less than 360, got {angles.tolist()}; they are in degrees"
        )
