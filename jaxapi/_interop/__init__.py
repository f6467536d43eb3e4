"""Anything array-like to a `jax.Array` that keeps its dtype."""

from ._convert import as_array, import_array, import_dlpack, place
from ._numbers import scalar_like

__all__ = ["as_array", "import_array", "import_dlpack", "place", "scalar_like"]
