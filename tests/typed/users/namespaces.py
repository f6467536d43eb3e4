"""Functions of the Array API standard on lists and arrays."""

from typing import assert_type

import jax

import jaxapi as xp


def softmax(x: jax.Array) -> jax.Array:
    exponentials = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return xp.divide(exponentials, xp.sum(exponentials, axis=-1, keepdims=True))


assert_type(softmax(xp.asarray([[1.0, 2.0]])), jax.Array)
assert_type(xp.unique_counts([1, 2, 2]).counts, jax.Array)
assert_type(xp.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [1.0, 2.0]), jax.Array)
