"""What a hierarchy is computed with: NumPy on the host, jax.numpy in programs, by the same functions."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._order import float_keys
from .._tree._powers_of_two import converted
from .._tree._sorting import lexsorted

__all__ = ["Arrays", "OnDevice", "OnHost"]


class OnHost:
    """NumPy."""

    xp: Any = np
    index: Any = np.intp

    @staticmethod
    def lexsorted(*keys):
        """Return the order by the last key, then the one before it, and so on."""
        return np.lexsort(keys)

    @staticmethod
    def ascending(x):
        """Return integers, or numbers, that are ordered like real numbers."""
        return x

    @staticmethod
    def put(array, index, values):
        """Return an array with values at these places; values behind its end are left out."""
        array, index, values = _inside(array, index, values)
        array[index] = values
        return array

    @staticmethod
    def put_least(array, index, values):
        """Return an array with the least of what is at a place and the values for it."""
        array, index, values = _inside(array, index, values)
        np.minimum.at(array, index, values)
        return array

    @staticmethod
    def add(array, index, values):
        """Return an array with the sum of what is at a place and the values for it."""
        array, index, values = _inside(array, index, values)
        np.add.at(array, index, values)
        return array

    @staticmethod
    def repeat(has_more, step, state):
        """Take steps from a state while there is more to do."""
        while has_more(state):
            state = step(state)
        return state

    @staticmethod
    def sums(x):
        """Return 0 and the running sums."""
        return np.cumsum(np.append(0, x))

    @staticmethod
    def following(mask):
        """Return the first place from each on that is in the mask; their number where there is none."""
        places = np.where(mask, np.arange(len(mask)), len(mask))
        return np.minimum.accumulate(places[::-1])[::-1]


def _inside(array, index, values):
    """Return a copy of an array, and what of the values is for a place of it."""
    is_inside = index < len(array)
    return array.copy(), index[is_inside], np.broadcast_to(values, is_inside.shape)[is_inside]


class OnDevice:
    """jax.numpy, traceable; integers have 32 bits, and sums of more wrap around."""

    xp: Any = jnp
    index: Any = jnp.int32
    lexsorted = staticmethod(lexsorted)
    repeat = staticmethod(lax.while_loop)

    @staticmethod
    def ascending(x):
        """Return integers that are ordered like real numbers."""
        return float_keys(converted(x, np.float64))

    @staticmethod
    def put(array, index, values):
        """Return an array with values at these places; values behind its end are left out."""
        return array.at[index].set(jnp.asarray(values, array.dtype), mode="drop")

    @staticmethod
    def put_least(array, index, values):
        """Return an array with the least of what is at a place and the values for it."""
        return array.at[index].min(jnp.asarray(values, array.dtype), mode="drop")

    @staticmethod
    def add(array, index, values):
        """Return an array with the sum of what is at a place and the values for it."""
        return array.at[index].add(jnp.asarray(values, array.dtype), mode="drop")

    @staticmethod
    def sums(x):
        """Return 0 and the running sums."""
        return jnp.pad(jnp.cumsum(x, dtype=jnp.int32), (1, 0))

    @staticmethod
    def following(mask):
        """Return the first place from each on that is in the mask; their number where there is none."""
        places = jnp.where(mask, jnp.arange(len(mask), dtype=jnp.int32), len(mask))
        return lax.cummin(places, reverse=True)


Arrays = type[OnHost] | type[OnDevice]
