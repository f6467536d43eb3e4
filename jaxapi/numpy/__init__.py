"""jaxapi.numpy: NumPy's interface, with arrays on the CPU or a GPU that can be assigned to.

A NumPy or CuPy program runs on it by its import line, ``import jaxapi.numpy as np``. On the CPU, outside of
JAX's transformations, NumPy computes; elsewhere JAX does. Arrays are of `ndarray`, which is
`jaxapi.mutable.Array`. Dtypes are NumPy's, whatever JAX's x64 mode. Where each name comes from says the table
in ``_table.py``.
"""

import numpy as _numpy

from .. import mutable as _mutable
from .._missing import missing as _missing_name
from ..mutable._array import Array as ndarray
from ..mutable._batches import deferred
from ..mutable._by_numpy import in_numpys_way as _in_numpys_way
from . import (
    _creation,
    _functions,
    _inplace,
    _table,
    _ufuncs,
    _views,
    cuda,
    fft,
    lib,
    linalg,
    random,
    testing,
)
from ._fuse import fuse
from ._grad import grad, value_and_grad
from ._info import __array_namespace_info__ as __array_namespace_info__
from ._ufuncs import ufunc
from ._wrap import host_function as _host_function


def _sorted_unique_values(x):
    """As JAX's way; NumPy's own has no order from 2.3 on, and libraries such as scikit-learn rely on one."""
    return _numpy.unique(x, equal_nan=False)


# In the place of NumPy's functions.
_ON_HOST = {
    "full": _creation.full_by_numpy,
    "full_like": _creation.full_like_by_numpy,
    "put": _inplace.put_by_numpy,
    "putmask": _inplace.putmask_by_numpy,
    "unique_values": _sorted_unique_values,
}


def _numpys_way(name, function):
    if name in _table.DECIDES_ITSELF:
        return function
    numpys = _ON_HOST.get(name) or getattr(_numpy, name)
    return _in_numpys_way(numpys, function, name in _table.MAKES_ARRAYS)


_functions_by_name = dict(_functions.FUNCTIONS)
for _module in (_creation, _views, _inplace):
    _functions_by_name |= {name: getattr(_module, name) for name in _module.__all__}
_found = {name: getattr(_numpy, name) for name in _table.NUMPYS_OBJECTS}
_found |= {name: _host_function(name) for name in _table.ON_HOST}
_found |= {name: _numpys_way(name, function) for name, function in _functions_by_name.items()}
_found |= _functions.GRIDS | _ufuncs.UFUNCS
globals().update(_found)
_found |= {"cuda": cuda, "fft": fft, "lib": lib, "linalg": linalg, "random": random, "testing": testing}
_found |= {"deferred": deferred, "fuse": fuse, "grad": grad, "ndarray": ndarray, "ufunc": ufunc}
_found |= {"value_and_grad": value_and_grad}
__all__ = sorted(_found)
# What libraries ask the namespace of an array for; NumPy's has both, not in its __all__.
__array_api_version__ = _mutable.__array_api_version__


def __dir__() -> list[str]:
    """Only the public names."""
    return __all__


def __getattr__(name: str):
    """Say why a name of NumPy's or CuPy's cannot be, and what to write."""
    raise _missing_name(__name__, name)
