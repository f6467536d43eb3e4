"""SciPy's distances, for arrays that can be assigned to."""

import typing as _typing

import jaxapi.spatial.distance as _plain

from ..._missing import says_what_to_write as _says_what_to_write
from .._wrap import wrap_namespace as _wrap_namespace

__all__ = list(_plain.__all__)

_wrap_namespace(_plain, __all__, globals(), __name__)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


if not _typing.TYPE_CHECKING:  # for a type checker unknown names stay errors
    __getattr__ = _says_what_to_write(__name__)
