"""SciPy's tree, loaded where it is used first.

It is the same from then on, whatever is called so in `scipy.spatial` later: our tree may stand there in its
place.
"""

import functools
from typing import Any

import scipy

__all__ = ["ckdtree"]


@functools.cache
def ckdtree() -> Any:
    """Return `scipy.spatial.cKDTree`."""
    return scipy.spatial.cKDTree
