"""NumPy's `numpy.testing`, which looks at copies of our arrays in the host's memory."""

import inspect as _inspect

import numpy as _np

from ._wrap import host_function as _host_function

__all__ = [name for name in _np.testing.__all__ if name != "overrides"]

for _name in __all__:
    _found = getattr(_np.testing, _name)
    _is_plain = _inspect.isclass(_found) or not callable(_found)
    globals()[_name] = _found if _is_plain else _host_function(_name, _np.testing)


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
