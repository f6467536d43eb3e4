"""The structure over a device's points, in programs that serve many sizes."""

import jax
import numpy as np

from ..._tracing import eagerly, is_traced
from ..._typing import Array
from ..._x64 import x64_for
from .._structure import _build
from .._structure._tree import Tree
from ._arrays import padded

__all__ = ["structure"]


def structure(data) -> tuple[Tree, Array | bool]:
    """Build the structure over concrete or traced points (n, m), and tell whether all are finite."""
    n = np.int32(data.shape[0])
    if is_traced(data):  # is compiled for its own size anyway
        return build(jax.lax.stop_gradient(data), n), True
    with eagerly(), x64_for(data.dtype):
        points, finite = padded(data)
        tree = build(points, n)
        finite.copy_to_host_async()
        return tree, finite


build = jax.jit(_build.build)
