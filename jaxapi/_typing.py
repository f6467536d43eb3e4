"""Names for the types in public signatures."""

from typing import Any

import jax
from jax.typing import ArrayLike, DTypeLike

__all__ = ["Array", "ArrayLike", "DTypeLike", "Device"]

Array = jax.Array
Device = jax.Device | jax.sharding.Sharding | Any
