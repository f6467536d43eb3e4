"""Scattered values on a grid."""

from typing import assert_type

import jax
import jax.numpy as jnp
import numpy as np

from jaxapi.interpolate import NearestNDInterpolator, RBFInterpolator

stations = np.random.default_rng(0).random((50, 2))
heights = np.sin(stations[:, 0])
smooth = RBFInterpolator(stations, heights, kernel="thin_plate_spline", neighbors=10)
grid = jnp.stack(jnp.meshgrid(jnp.linspace(0, 1, 5), jnp.linspace(0, 1, 5)), axis=-1).reshape(-1, 2)
assert_type(smooth(grid), jax.Array)
assert_type(NearestNDInterpolator(stations, heights)(grid), jax.Array)
