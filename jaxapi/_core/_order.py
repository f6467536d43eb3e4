"""NumPy's order of numbers, exactly, and where numbers belong in a sorted array.

Bits of floats are compared and not floats, as XLA takes the smallest of these for 0 on the CPU.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._dtypes import x64_for
from ._masks import index_dtype_for

__all__ = ["float_keys", "insertion_points", "keys_of"]


def keys_of(x: jax.Array) -> tuple[jax.Array, ...]:
    """Return integers that are in the order of the elements: the first keys decide, the next among equals.

    NaN comes last; of complex numbers those with NaN in the imaginary part, in the real part, in both.
    """
    if jnp.iscomplexobj(x):
        real_is_nan = jnp.isnan(x.real)
        imag_is_nan = jnp.isnan(x.imag)
        missing = 2 * real_is_nan.astype(np.int8) + imag_is_nan.astype(np.int8)
        real = float_keys(jnp.where(real_is_nan, 0, x.real))
        imag = float_keys(jnp.where(imag_is_nan, 0, x.imag))
        return missing, real, imag
    if x.dtype == np.bool:
        return (x.astype(np.int8),)
    return (x if jnp.issubdtype(x.dtype, jnp.integer) else float_keys(x),)


def float_keys(x: jax.Array) -> jax.Array:
    """Return signed integers in the order of floats, the same for 0.0 and -0.0, the greatest for NaN."""
    if x.dtype.itemsize == 1:  # float32 has all of these numbers
        x = x.astype(np.float32)
    signed = np.dtype(f"int{8 * x.dtype.itemsize}")
    greatest = np.asarray(np.iinfo(signed).max, signed)
    infinite = np.asarray(np.inf, x.dtype).view(signed)
    with x64_for(signed):  # else constants of 64 bits were cut to 32 with x64 mode off
        bits = lax.bitcast_convert_type(x, signed)
        magnitude = bits & greatest  # all bits but the sign's
        return jnp.where(magnitude > infinite, greatest, jnp.where(bits < 0, -magnitude, magnitude))


def insertion_points(x: jax.Array, values: jax.Array, side: str) -> jax.Array:
    """Return where values belong in the sorted x (n,), before or after its equal elements.

    Both have one dtype. The bits of the answer are found from the highest to the lowest: one kernel of a GPU
    finds all. For a CPU XLA would compile the steps one by one, and runs a loop.
    """
    x = lax.stop_gradient(x)
    values = lax.stop_gradient(values)
    n: Any = x.shape[0]
    most = getattr(n, "most", n)  # of rows whose number is not known, but up to which
    if not isinstance(most, int):  # in a program exported for all lengths
        return jnp.searchsorted(x, values, side=side)
    index_dtype = index_dtype_for(most)
    bits = most.bit_length()
    if not bits:
        return jnp.zeros(values.shape, index_dtype)
    highest = np.asarray(1 << (bits - 1), index_dtype)
    is_known = isinstance(n, int)
    n = n if is_known else jnp.asarray(n).astype(index_dtype)

    def with_bit(below: jax.Array, step: Any) -> jax.Array:
        tried = below + step
        positions = jnp.minimum(tried, n) - 1
        if sorted_keys is None:
            keys_there = keys_of(_at(x, positions))
        else:
            keys_there = tuple(_at(key, positions) for key in sorted_keys)
        comes_before = _less(keys_there, keys) if side == "left" else ~_less(keys, keys_there)
        return jnp.where((tried <= n) & comes_before, tried, below)

    def at_once(below: jax.Array) -> jax.Array:
        return functools.reduce(with_bit, [highest >> i for i in range(bits)], below)

    def one_by_one(below: jax.Array) -> jax.Array:
        def with_next_bit(i: jax.Array, below: jax.Array) -> jax.Array:
            return with_bit(below, lax.shift_right_logical(highest, i.astype(index_dtype)))

        return lax.fori_loop(0, bits, with_next_bit, below)

    is_long_search = not is_known or not isinstance(values.size, int) or values.size * bits > n
    # By the barrier they are computed once, not with each step.
    sorted_keys = lax.optimization_barrier(keys_of(x)) if is_long_search else None
    keys = keys_of(values)
    none_below = lax.full_like(keys[0], 0, index_dtype)  # sharded as the values are
    return lax.platform_dependent(none_below, cpu=one_by_one, default=at_once)


def _at(x: jax.Array, positions: jax.Array) -> jax.Array:
    """Return elements of x (n,) at positions that are in it, of which an index would ask whether they are."""
    dimensions = lax.GatherDimensionNumbers((), (0,), (0,))
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    return lax.gather(x, positions[..., None], dimensions, (1,), mode=mode)


def _less(left: Sequence[jax.Array], right: Sequence[jax.Array]) -> jax.Array:
    """Tell where the first keys that differ are less on the left."""
    is_less = left[-1] < right[-1]
    for left_key, right_key in zip(reversed(left[:-1]), reversed(right[:-1]), strict=True):
        is_less = (left_key < right_key) | ((left_key == right_key) & is_less)
    return is_less
