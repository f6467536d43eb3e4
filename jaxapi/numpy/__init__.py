"""jaxapi.numpy: NumPy's interface on JAX, with arrays that can be assigned to.

A NumPy or CuPy program runs on it by its import line, ``import jaxapi.numpy as np``. Arrays are of
`ndarray`, a `jaxapi.mutable.Array`. Dtypes follow JAX's mode: with ``JAX_ENABLE_X64=1`` they are NumPy's.
"""

import numpy as _numpy

from . import _creation, _functions, _inplace, _names, _ufuncs, _views, fft, linalg, random
from ._array import fuse, ndarray
from ._names import UNAVAILABLE as _UNAVAILABLE
from ._ufuncs import ufunc

_found = {name: getattr(_numpy, name) for name in _names.AS_THEY_ARE.split()}
_found |= {name: _names.host_function(name) for name in _names.ON_HOST}
_found |= _functions.FUNCTIONS | _functions.GRIDS | _ufuncs.UFUNCS
for _module in (_creation, _views, _inplace):
    _found |= {name: getattr(_module, name) for name in _module.__all__}
globals().update(_found)
_found |= {"fft": fft, "fuse": fuse, "linalg": linalg, "ndarray": ndarray, "random": random, "ufunc": ufunc}
__all__ = sorted(_found)


def __dir__() -> list[str]:
    """Only the public names."""
    return __all__


def __getattr__(name: str):
    """Say why a name of NumPy's or CuPy's cannot be, and what to write."""
    advice = _UNAVAILABLE.get(name)
    text = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(f"{text}: {advice}" if advice else text)
