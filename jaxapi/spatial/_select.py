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

    `engine` is the user's choice. For uniform points in 17 dimensions and more SciPy takes 20 times as long
    as every distance by matrix products, for points near a surface of three dimensions a sixth of the time;
    in 12 dimensions it takes 2 times as long and an 18th. So the product, where there are so many `distances`
    that SciPy may take longer than compiling.
    """
    if layout is not None:
        return Mesh
    if engine is not None:
        return Host if engine == "scipy" else Device
    on_host = _engines.only_the_cpu() if traced or is_traced(data) else _engines.engine_name(data) == "scipy"
    by_product = data.shape[-1] >= FLAT_FROM and distances >= MANY_DISTANCES
    return Host if on_host and not by_product else Device
