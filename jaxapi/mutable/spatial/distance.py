"""SciPy's distances, for arrays that can be assigned to."""

import jaxapi.spatial.distance as _plain

from .._wrap import wrap_namespace as _wrap_namespace

__all__ = list(_plain.__all__)

_wrap_namespace(_plain, __all__, globals(), __name__)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
