"""jaxapi.mutable: jaxapi's namespace with arrays that can be assigned to.

The same names as `jaxapi`; arrays are of class `Array`, and ``x.__array_namespace__()`` is this module.
"""

import importlib as _importlib
import typing as _typing

import jaxapi as _plain

from .._missing import missing as _missing_name
from . import fft, lib, linalg
from ._array import Array
from ._at import add_at as _add_at
from ._batches import deferred
from ._fuse import fuse
from ._grad import grad, value_and_grad
from ._padding import pad
from ._sharing import arange, asarray, astype, empty, from_dlpack, reshape
from ._wrap import wrap_namespace as _wrap_namespace

__all__ = [
    "Array",
    "arange",
    "asarray",
    "astype",
    "deferred",
    "empty",
    "fft",
    "from_dlpack",
    "fuse",
    "grad",
    "interpolate",
    "lib",
    "linalg",
    "pad",
    "reshape",
    "spatial",
    "value_and_grad",
]

_wrapped = [name for name in _plain.__all__ if name not in (*__all__, "numpy")]
_wrap_namespace(_plain, _wrapped, globals(), __name__)
__all__ += _wrapped
_add_at(globals())


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


if _typing.TYPE_CHECKING:
    from . import interpolate as interpolate
    from . import spatial as spatial
else:  # for a type checker unknown names stay errors

    def __getattr__(name: str):
        """Load a module where it is used; say what to write for names that are not here."""
        if name in ("interpolate", "spatial"):
            return _importlib.import_module(f".{name}", __name__)
        raise _missing_name(__name__, name)
