"""Names for the types in public signatures."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import jax
from jax.typing import ArrayLike as JaxArrayLike
from jax.typing import DTypeLike

__all__ = ["Array", "ArrayLike", "DTypeLike", "Device"]


class SupportsDLPack(Protocol):
    """Arrays of NumPy, CuPy, PyTorch and other libraries."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...


Array = jax.Array
ArrayLike: TypeAlias = JaxArrayLike | Sequence[Any] | SupportsDLPack
Device = jax.Device | jax.sharding.Sharding | Any
