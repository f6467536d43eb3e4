"""NumPy's `numpy.lib.stride_tricks`: views on the CPU, copies elsewhere."""

import jax.numpy as _jnp
import numpy as _np

from ..._core._programs import is_traced as _is_traced
from ...mutable._by_numpy import in_numpys_way as _in_numpys_way
from .._creation import asarray as _asarray
from .._functions import FUNCTIONS as _FUNCTIONS
from .._wrap import as_ours as _as_ours
from .._wrap import on_rows_first as _on_rows_first
from .._wrap import ours as _ours

__all__ = ["as_strided", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "sliding_window_view"]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


_numpys = _np.lib.stride_tricks
broadcast_shapes = _np.broadcast_shapes
broadcast_arrays = _in_numpys_way(_np.broadcast_arrays, _FUNCTIONS["broadcast_arrays"])
broadcast_to = _in_numpys_way(_np.broadcast_to, _FUNCTIONS["broadcast_to"])


def _sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """Return the windows of a shape that slide over an array, along new last axes."""
    x = _as_ours(x)
    lengths = (window_shape,) if _np.ndim(window_shape) == 0 else tuple(window_shape)
    if axis is None and len(lengths) != x.ndim:
        raise ValueError(f"window_shape has {len(lengths)} lengths for an array of {x.ndim} axes: give axis")
    axes = _np.lib.array_utils.normalize_axis_tuple(
        range(x.ndim) if axis is None else axis, x.ndim, "axis", True
    )
    if len(axes) != len(lengths):
        raise ValueError(f"window_shape has {len(lengths)} lengths, and axis {len(axes)}")
    if min(lengths, default=0) < 0:
        raise ValueError("window_shape cannot contain negative values")
    value = x._value
    for length, along in zip(lengths, axes, strict=True):
        count = value.shape[along] - length + 1
        if count < 1:
            raise ValueError("window_shape is too large")
        xp = _np if isinstance(count, int) else _jnp  # of rows whose number is not known
        places = xp.arange(count)[:, None] + _np.arange(length)
        windows = _jnp.take(value, places, along)
        value = _jnp.moveaxis(windows, along + 1, -1)
    return _ours(value)


def _as_strided(x, shape=None, strides=None, subok=False, writeable=True):
    """Return a copy of what NumPy's view would be; under a transformation memory has no strides."""
    x = _as_ours(x)
    if _is_traced(x._value):
        raise NotImplementedError("as_strided needs memory: use sliding_window_view, or indices")
    return _asarray(_numpys.as_strided(_np.ascontiguousarray(x), shape, strides))


as_strided = _in_numpys_way(_numpys.as_strided, _as_strided)
sliding_window_view = _in_numpys_way(
    _numpys.sliding_window_view,
    _on_rows_first("sliding_window_view", _sliding_window_view),
)
