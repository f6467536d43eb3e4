"""Creation functions (chapter "Creation functions" of the standard).

The evenly spaced numbers are in `_spaced`.
"""

from .._spaced import arange, linspace
from ._conversion import asarray, from_dlpack
from ._filled import empty, empty_like, eye, full, full_like, ones, ones_like, zeros, zeros_like
from ._matrices import meshgrid, tril, triu

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like"]
__all__ += ["linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]
