"""Whether all numbers of an array are finite, found out so that a search need not wait for it."""

import jax
import jax.numpy as jnp
import numpy as np

from ..._core._programs import compiled
from ._arrays import NOT_FINITE

__all__ = ["all_finite", "check_finite", "on_its_way"]


def all_finite(x, engine):
    """Return whether all of an array, on the host or a device, are finite: what `bool` waits for.

    An engine that can does not wait for the device's queue.
    """
    if isinstance(x, jax.Array):
        if not jnp.issubdtype(x.dtype, jnp.floating):
            return True
        if {device.platform for device in x.devices()} != {"cpu"}:
            answer = engine.all_finite(x) if hasattr(engine, "all_finite") else None
            return _all_finite(x) if answer is None else answer
    return bool(np.isfinite(np.asarray(x)).all())


def on_its_way(answer):
    """Begin to copy a compiled answer to the host, after a search has begun: asking takes long enough."""
    if isinstance(answer, jax.Array):
        answer.copy_to_host_async()
    return answer


def check_finite(answer) -> None:
    """Raise where an answer is that not all are finite, after a search has begun."""
    if not (answer is True or on_its_way(answer)):
        raise ValueError(NOT_FINITE)


@compiled
def _all_finite(x):
    return jnp.isfinite(x).all()
