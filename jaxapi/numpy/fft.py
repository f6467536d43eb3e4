"""NumPy's `numpy.fft`, of our arrays."""

import jax.numpy as jnp
import numpy as np

from ._wrap import with_numpys_signature as _signed

_NAMES = """
fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq
rfftn
"""
for _name in _NAMES.split():
    globals()[_name] = _signed(_name, getattr(np.fft, _name), getattr(jnp.fft, _name), __name__)
__all__ = _NAMES.split()


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
