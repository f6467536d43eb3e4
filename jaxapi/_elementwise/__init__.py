"""Element-wise functions (chapter "Element-wise functions" of the standard).

`_complex` has the rules of those with complex special cases of their own.
"""

from . import _arithmetic, _special
from ._arithmetic import *
from ._special import *

__all__ = sorted(_arithmetic.__all__ + _special.__all__)
