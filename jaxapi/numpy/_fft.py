"""NumPy's `numpy.fft`, of our arrays."""

import jax.numpy as jnp
import numpy as np

from ._wrap import in_numpys_way as _in_numpys_way
from ._wrap import with_numpys_signature as _signed

_NAMES = """
fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq
rfftn
"""
for _name in _NAMES.split():
    _numpys = getattr(np.fft, _name)
    _function = _signed(_name, _numpys, getattr(jnp.fft, _name), "jaxapi.numpy.fft")
    globals()[_name] = _in_numpys_way(_name, _numpys, _function)
__all__ = _NAMES.split()
