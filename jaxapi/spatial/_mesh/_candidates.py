"""Lists of the nearest neighbors that queries have so far."""

from typing import NamedTuple

import jax.numpy as jnp

from ..._core._typing import Array
from .._tree._powers_of_two import scaled, unit_of_small
from .._tree._sorting import in_order_of_bits

__all__ = ["Candidates"]


class Candidates(NamedTuple):
    """The k nearest that each query knows of, in the order of (distance, row).

    Where there are fewer, the last ones are missing: at distance inf, with the number of all points as row.
    """

    distances: Array  # (q, k), or power distances
    rows: Array  # (q, k) of all points

    @staticmethod
    def none(shape: tuple[int, int], n: int, dtype, rows_dtype) -> "Candidates":
        """Return lists (q, k) in which all are missing."""
        return Candidates(jnp.full(shape, jnp.inf, dtype), jnp.full(shape, n, rows_dtype))

    def filled(self, k: int, n: int) -> "Candidates":
        """Return lists of `k`, of which those behind the present ones are missing."""
        extra = (0, 0), (0, k - self.rows.shape[1])
        return Candidates(
            jnp.pad(self.distances, extra, constant_values=jnp.inf),
            jnp.pad(self.rows, extra, constant_values=n),
        )

    def is_closed_to(self, lowest_row: Array) -> Array:
        """Tell which lists (b, q) no row from the lowest one (b, 1) on can enter.

        They are full of lower ones at distance 0.
        """
        last = self.distances[:, -1]
        return (scaled(last, unit_of_small(last.dtype)) == 0) & (self.rows[:, -1] <= lowest_row)

    def merge(self, other: "Candidates", n: int) -> "Candidates":
        """Return the nearest of both, as many as these lists have.

        This is Batcher's bitonic merge. The second list is reversed, and each of its entries is compared with
        the one at the same place in the first: the nearer ones of these pairs are the nearest of all. They
        come in ascending order, then in descending order. Entries half of the length apart are compared and
        exchanged, then those a quarter apart, and so on: then all are in ascending order.
        """
        k = self.rows.shape[1]
        size = 1 << (max(k, other.rows.shape[1]) - 1).bit_length()
        second = other.filled(size, n)
        second = Candidates(second.distances[:, ::-1], second.rows[:, ::-1])
        merged, _ = _in_order(self.filled(size, n), second)
        stride = size // 2
        while stride:
            halves = [array.reshape(-1, size // (2 * stride), 2, stride) for array in merged]
            first = Candidates(*(half[:, :, 0] for half in halves))
            second = Candidates(*(half[:, :, 1] for half in halves))
            lower, higher = _in_order(first, second)
            pairs = zip(lower, higher, strict=True)
            merged = Candidates(*(jnp.stack(pair, axis=2).reshape(-1, size) for pair in pairs))
            stride //= 2
        return Candidates(merged.distances[:, :k], merged.rows[:, :k])


def _in_order(first: Candidates, second: Candidates) -> tuple[Candidates, Candidates]:
    """Return the lower of two neighbors each, and the higher."""
    distances = in_order_of_bits(first.distances)
    other_distances = in_order_of_bits(second.distances)
    nearer = distances < other_distances
    as_near = distances == other_distances
    is_first = nearer | (as_near & (first.rows <= second.rows))
    lower = (jnp.where(is_first, a, b) for a, b in zip(first, second, strict=True))
    higher = (jnp.where(is_first, b, a) for a, b in zip(first, second, strict=True))
    return Candidates(*lower), Candidates(*higher)
