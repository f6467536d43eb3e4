"""Element-wise functions (chapter "Element-wise functions" of the standard).

`_complex` has the rules of those with complex special cases of their own.
"""

from . import _arithmetic, _exponential, _trigonometric
from ._arithmetic import *
from ._exponential import *
from ._trigonometric import *

__all__ = sorted(_arithmetic.__all__ + _exponential.__all__ + _trigonometric.__all__)
