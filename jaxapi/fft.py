"""The standard's extension `fft`: `jax.numpy.fft`'s transforms, and its frequencies."""

import typing as _typing

from . import _fourier
from ._fourier import *
from ._missing import says_what_to_write as _says_what_to_write

__all__ = _fourier.__all__


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


if not _typing.TYPE_CHECKING:  # for a type checker unknown names stay errors
    __getattr__ = _says_what_to_write(__name__)
