# Written by docs/make_stubs.py.

import builtins
from typing import Any

from ._array import ndarray as Array

def fft(a: Any, n: Any = ..., axis: Any = ..., norm: Any = ..., out: Array | None = ...) -> Array: ...
hfft = ifft = ihfft = irfft = rfft = fft
def fft2(a: Any, s: Any = ..., axes: Any = ..., norm: Any = ..., out: Array | None = ...) -> Array: ...
fftn = ifft2 = ifftn = irfft2 = irfftn = rfft2 = rfftn = fft2
def fftfreq(n: Any, d: Any = ..., device: Any = ...) -> Array: ...
rfftfreq = fftfreq
def fftshift(x: Any, axes: Any = ...) -> Array: ...
ifftshift = fftshift
