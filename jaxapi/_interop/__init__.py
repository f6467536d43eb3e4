"""Anything array-like to a `jax.Array` that keeps its dtype."""

from ._by_numpy import (
    all_in_memory,
    may_stay_numpys,
    memory_of,
    placed_on_device_of,
    placed_on_device_of_one,
    with_numpy,
)
from ._convert import (
    ARRAY_TYPES,
    as_argument,
    as_array,
    as_numpys_array,
    as_operand,
    as_operands,
    import_array,
    import_dlpack,
    is_passed_on,
    place,
)
from ._host_memory import aligned_empty
from ._numbers import scalar_like

__all__ = [
    "ARRAY_TYPES",
    "aligned_empty",
    "all_in_memory",
    "as_argument",
    "as_array",
    "as_numpys_array",
    "as_operand",
    "as_operands",
]
__all__ += [
    "import_array",
    "import_dlpack",
    "is_passed_on",
    "may_stay_numpys",
    "memory_of",
    "place",
]
__all__ += ["placed_on_device_of", "placed_on_device_of_one", "scalar_like", "with_numpy"]
