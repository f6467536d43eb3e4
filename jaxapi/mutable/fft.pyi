# Written by docs/make_stubs.py.

import builtins
from typing import Any

from jaxapi._core._typing import ArrayLike as _PlainArrayLike

from ._array import Array

_ArrayLike = Array | _PlainArrayLike

def fft(a: _ArrayLike, /, n: int | None = ..., axis: int = ..., norm: str | None = ..., *, out: Array | None = ...) -> Array: ...
hfft = ifft = irfft = rfft = fft
def fftfreq(n: int, /, d: _ArrayLike = ..., *, dtype: Any = ..., device: Any = ..., out: Array | None = ...) -> Array: ...
rfftfreq = fftfreq
def fftn(a: _ArrayLike, /, s: Any = ..., axes: Any = ..., norm: str | None = ..., *, out: Array | None = ...) -> Array: ...
ifftn = irfftn = rfftn = fftn
def fftshift(x: _ArrayLike, /, axes: Any = ..., *, out: Array | None = ...) -> Array: ...
ifftshift = fftshift
def ihfft(x: _ArrayLike, /, *, n: int | None = ..., axis: int = ..., norm: str = ..., out: Array | None = ...) -> Array: ...
