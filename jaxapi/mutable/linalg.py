"""The standard's extension `linalg`, for arrays that can be assigned to."""

from typing import TYPE_CHECKING

import jaxapi.linalg as _plain

from .._missing import missing as _missing
from ._wrap import wrap_namespace as _wrap_namespace

__all__ = list(_plain.__all__)

_wrap_namespace(_plain, __all__, globals(), __name__)


if not TYPE_CHECKING:  # for a type checker unknown names stay errors

    def __getattr__(name: str):
        """Say what to write instead of a name of NumPy, CuPy or JAX that is not here."""
        raise _missing(__name__, name)
