"""Functions that are compiled as they are."""

from typing import assert_type

import jax

import jaxapi as xp


@xp.fuse
def saxpy(a: float, x: jax.Array, y: jax.Array) -> jax.Array:
    return a * x + y


assert_type(saxpy(2.0, xp.ones(3), xp.zeros(3)), jax.Array)


class Oscillator:
    def __init__(self, stiffness: float) -> None:
        self.stiffness = stiffness

    @xp.fuse
    def force(self, x: jax.Array) -> jax.Array:
        return -self.stiffness * x


assert_type(Oscillator(2.0).force(xp.ones(3)), jax.Array)
