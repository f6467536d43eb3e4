"""What searches a tree: one choice, in one place."""

from typing import Any

from .._core._programs import is_traced
from ._device import _engines
from ._device._device import Device
from ._host._host import Host
from ._mesh._mesh import Mesh
from ._structure._tree import FLAT_FROM

__all__ = ["select_engine"]

MANY_DISTANCES = 1 << 24


def select_engine(
    data, layout=None, *, engine: str | None = None, traced: bool = False, distances: int = 0
) -> Any:
    """Return the `Searcher` of the points `data`, a class; `traced`: something the search depends on is.

    `engine` is the user's choice. In many dimensions SciPy takes far longer for uniform points than
    every distance by matrix products, and less for points near a surface of few dimensions. So the product,
    from `FLAT_FROM` dimensions on and where there are so many `distances` that compiling it pays.
    """
    if layout is not None:
        return Mesh
    if engine is not None:
        return Host if engine == "scipy" else Device
    on_host = _engines.only_the_cpu() if traced or is_traced(data) else _engines.engine_name(data) == "scipy"
    by_product = data.shape[-1] >= FLAT_FROM and distances >= MANY_DISTANCES
    return Host if on_host and not by_product else Device
