"""Anything array-like to a `jax.Array` that keeps its dtype."""

from ._convert import as_array, import_array, import_dlpack, place

__all__ = ["as_array", "import_array", "import_dlpack", "place"]
