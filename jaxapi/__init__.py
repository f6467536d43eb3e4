"""jaxapi: an Array API 2025.12 namespace over jax.numpy, with `fuse` and a KD-tree on the GPU.

Arrays are plain `jax.Array`. Names whose `jax.numpy` function is right are `jax.numpy`'s own; the
rest are repaired here. Assembled from the chapters of the standard; each chapter lists its names.
"""

import importlib as _importlib
import typing as _typing

from . import (
    _constants,
    _creation,
    _dtypes,
    _elementwise,
    _indexing,
    _info,
    _manipulation,
    _searching,
    _set,
    _sorting,
    _statistical,
    _utility,
    fft,
    linalg,
)
from ._constants import *
from ._core._dtypes import allow_explicit_dtypes as _allow_explicit_dtypes
from ._core._waiting import keep_threads_for_batches as _keep_threads_for_batches
from ._creation import *
from ._dtypes import *
from ._elementwise._arithmetic import *  # one by one, as type checkers follow no sums of lists
from ._elementwise._special import *
from ._fuse import fuse
from ._indexing import *
from ._info import *
from ._manipulation import *
from ._missing import missing as _missing_name
from ._searching import *
from ._set import *
from ._sorting import *
from ._spaced import logspace
from ._statistical import *
from ._utility import *
from ._version import __version__
from .linalg import matmul, matrix_transpose, tensordot, vecdot

__array_api_version__ = "2025.12"

__all__ = ["__array_api_version__", "__version__", "fft", "fuse", "interpolate", "linalg", "logspace"]
__all__ += ["spatial"]
__all__ += ["matmul", "matrix_transpose", "tensordot", "vecdot"]
__all__ += _constants.__all__ + _creation.__all__ + _dtypes.__all__ + _elementwise.__all__
__all__ += _indexing.__all__ + _info.__all__ + _manipulation.__all__ + _searching.__all__
__all__ += _set.__all__ + _sorting.__all__ + _statistical.__all__ + _utility.__all__

_allow_explicit_dtypes()
_keep_threads_for_batches()


def __dir__() -> list[str]:
    """Return the public names; a star import brings all but `numpy`, which stays the user's NumPy."""
    return sorted([*__all__, "numpy"])


if _typing.TYPE_CHECKING:
    from . import interpolate as interpolate
    from . import numpy as numpy
    from . import spatial as spatial
else:  # for a type checker unknown names stay errors

    def __getattr__(name: str):
        """Load a module where it is used; say what to write for names that are not here."""
        if name in ("interpolate", "numpy", "spatial"):
            return _importlib.import_module(f".{name}", __name__)
        raise _missing_name(__name__, name)
