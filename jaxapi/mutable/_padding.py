"""`pad`, which the standard does not have, and libraries ask of a namespace: xarray, to roll a window."""

from typing import Any

from .._core._typing import ArrayLike
from ._array import Array
from ._sharing import asarray

__all__ = ["pad"]


def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """Pad an array, as `numpy.pad` does: a function of `jaxapi.numpy`, not of the standard.

    Parameters
    ----------
    array : array_like
        What to pad; the dtype is that of `asarray`.
    pad_width : int, pair of ints, sequence or dict
        How many elements to add before and after, along each axis.
    mode : str or callable, default 'constant'
        NumPy's: ``'constant'``, ``'edge'``, ``'reflect'``, ``'wrap'`` and so on.
    **kwargs
        NumPy's arguments of the mode, such as ``constant_values``.

    Returns
    -------
    Array
        The padded array.

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> xp.pad(xp.asarray([1.0, 2.0]), (1, 0))
    jaxapi.mutable.Array([0., 1., 2.], dtype=float32)
    """
    from ..numpy import pad as numpys_pad  # loaded where it is used

    return asarray(numpys_pad(asarray(array), pad_width, mode, **kwargs))
