"""``add.at`` and its like: writing with positions that come again."""

from typing import Any

from ._array import Array, may_have_room, written
from ._batches import takes_pending
from ._capacity._writing import accumulate_rows
from ._indexing import accumulate

__all__ = ["AT", "add_at"]

# NumPy's functions whose ``at`` there is, and what JAX calls such a write.
AT = {"add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max", "minimum": "min"}


def add_at(namespace: dict[str, Any]) -> None:
    """Give functions of two operands their ``at``."""
    for name, how in AT.items():
        namespace[name].at = _at(name, how)


def _at(name: str, how: str):
    @takes_pending
    def write(value, key, new, made):
        return accumulate(value, key, new, made, how)

    def at(a, indices, b):
        if not isinstance(a, Array):
            raise TypeError(f"{name}.at writes to a jaxapi.mutable.Array, got {type(a).__name__}")
        if not (may_have_room(indices) and accumulate_rows(a, indices, b, how)):
            a._rewrite(write, written(indices), written(b))

    at.__doc__ = f"Do ``a[indices] = {name}(a[indices], b)``, once for each index that comes again."
    return at
