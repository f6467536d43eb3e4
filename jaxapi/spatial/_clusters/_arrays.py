"""What a hierarchy is computed with: NumPy on the host, jax.numpy in programs."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._structure._sorting import lexsorted

__all__ = ["OnDevice", "OnHost"]


class OnHost:
    """NumPy."""

    xp = np
    index = np.intp
    lexsorted = staticmethod(lambda *keys: np.lexsort(keys))

    @staticmethod
    def ascending(x):
        """Return integers that are ordered like numbers."""
        return x

    @staticmethod
    def put(into, index, values, how="set"):
        """Write values to places of an array; those behind its end are left out."""
        into, there = into.copy(), index < len(into)
        index, values = index[there], np.broadcast_to(values, there.shape)[there]
        if how == "set":
            into[index] = values
        else:
            (np.minimum if how == "min" else np.add).at(into, index, values)
        return into

    @staticmethod
    def repeat(more, step, state):
        """Take steps while there is more to do."""
        while more(state):
            state = step(state)
        return state

    @staticmethod
    def sums(x):
        """Return 0 and the running sums."""
        return np.cumsum(np.append(0, x))

    @staticmethod
    def following(flags):
        """Return the first place from each on where a flag is set; their number where there is none."""
        places = np.where(flags, np.arange(len(flags)), len(flags))
        return np.minimum.accumulate(places[::-1])[::-1]


class OnDevice:
    """The same by jax.numpy, traceable; integers have 32 bits, and sums of more wrap around."""

    xp = jnp
    index = jnp.int32
    lexsorted = staticmethod(lexsorted)
    repeat = staticmethod(lax.while_loop)

    @staticmethod
    def ascending(x):
        x = x.astype(np.float64)
        bits = lax.bitcast_convert_type(jnp.where(x == 0, 0.0, x), np.int64)  # both zeros are equal
        return bits ^ jnp.where(bits < 0, np.iinfo(np.int64).max, 0)

    @staticmethod
    def put(into, index, values, how="set"):
        return getattr(into.at[index], how)(jnp.asarray(values, into.dtype), mode="drop")

    @staticmethod
    def sums(x):
        return jnp.pad(jnp.cumsum(x, dtype=jnp.int32), (1, 0))

    @staticmethod
    def following(flags):
        places = jnp.where(flags, jnp.arange(len(flags), dtype=jnp.int32), len(flags))
        return lax.cummin(places, reverse=True)
