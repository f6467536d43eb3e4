"""Anything array-like to a `jax.Array` that keeps its dtype."""

from ._convert import ARRAY_TYPES, as_array, as_operand, as_operands, import_array, import_dlpack, place
from ._numbers import scalar_like

__all__ = ["ARRAY_TYPES", "as_array", "as_operand", "as_operands", "import_array", "import_dlpack", "place"]
__all__ += ["scalar_like"]
