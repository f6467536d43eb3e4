"""Sorted lists of neighbours: two to one, and longer ones."""

import jax.numpy as jnp

__all__ = ["filled", "lowest"]


def lowest(first, second, missing):
    """Return the lowest of both lists for each query, in order; as many as the first has.

    A list is a pair of distances and rows, both (q, k), in the order of (distance, row). It ends with those
    that are `missing`, a pair of numbers that no other is above.
    """
    k = first[0].shape[1]
    size = 1 << (max(k, second[0].shape[1]) - 1).bit_length()
    first, second = (filled(each, missing, size) for each in (first, second))
    # The lower of either list's i-th from the one end and from the other are the lowest of all, and rise no
    # more than once after they have fallen (Batcher): half-way exchanges bring them into order.
    found = _lower(first, tuple(each[:, ::-1] for each in second))
    stride = size // 2
    while stride:
        pairs = [each.reshape(each.shape[0], -1, 2, stride) for each in found]
        halves = tuple(each[:, :, 0] for each in pairs), tuple(each[:, :, 1] for each in pairs)
        both = zip(_lower(*halves), _lower(*halves, other=True), strict=True)
        found = tuple(jnp.stack(each, axis=2).reshape(-1, size) for each in both)
        stride //= 2
    return tuple(each[:, :k] for each in found)


def _lower(a, b, other: bool = False):
    """Return the lower of two numbers each, or the other one."""
    before = (a[0] < b[0]) | ((a[0] == b[0]) & (a[1] <= b[1]))
    return tuple(jnp.where(before ^ other, x, y) for x, y in zip(a, b, strict=True))


def filled(pair, missing, size: int):
    """Return lists of a given length, those that are too short with `missing` at the end."""
    extra = (0, 0), (0, size - pair[0].shape[1])
    return tuple(jnp.pad(each, extra, constant_values=last) for each, last in zip(pair, missing, strict=True))
