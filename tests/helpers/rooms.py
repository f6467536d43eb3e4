"""Arrays with room whose rows that do not count hold what does harm: NaN, extremes and True."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxapi.numpy
from jaxapi import mutable
from jaxapi._core._programs import compiled
from jaxapi.mutable import _batches
from jaxapi.mutable._batches import continued
from jaxapi.mutable._capacity import _rows

__all__ = ["AT_ONCE", "NAMESPACES", "has_room", "poison_rooms"]

AT_ONCE = pytest.mark.skipif(
    _batches._is_on, reason="positions and draws that wait in a batch compile for each length"
)

NAMESPACES = pytest.mark.parametrize("xp", [mutable, jaxapi.numpy], ids=["mutable", "numpy"])


def has_room(x) -> bool:
    """Whether an array is computed with by the rows of a buffer."""
    rows = x._rows()
    return rows is not None and len(rows.value) > len(x)


def poison_rooms(monkeypatch, exact_up_to):
    """Let every buffer that a function returns hold what does harm behind the rows that count.

    Arrays of so few rows have none.
    """
    made = _rows.Rows.__init__

    def init(self, value, count):
        if len(value) > count:
            with jax.enable_x64(True):  # else a program narrows 64 bits
                value = _with_harm(value, np.int32(count), _harm(value.dtype, count))
        made(self, value, count)

    monkeypatch.setattr(_rows.Rows, "__init__", init)
    monkeypatch.setattr(_rows, "EXACT_UP_TO", exact_up_to)


@continued
@compiled
def _with_harm(value, count, harm):
    """Return a buffer with a value in the rows that do not count, by one program for every count."""
    counts = lax.broadcasted_iota(np.int32, value.shape, 0) < count
    return jnp.where(counts, value, harm)


def _harm(dtype, count):
    """Return a value that changes results where it is read, and another one for other counts."""
    if dtype.kind in "fc":
        return jnp.asarray(np.nan if count % 3 else np.inf, dtype)
    if dtype.kind == "V":
        return jnp.zeros((), dtype)
    if dtype.kind == "b":
        return jnp.asarray(True)
    limits = np.iinfo(dtype)
    return jnp.asarray(limits.max if count % 2 else limits.min, dtype)
