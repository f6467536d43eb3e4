"""Windows over an array, as of `numpy.lib.stride_tricks`."""

from typing import Any

from ..._core._typing import ArrayLike
from .._array import Array
from .._sharing import asarray

__all__ = ["sliding_window_view"]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


def sliding_window_view(
    x: ArrayLike,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Array:
    """Return windows that slide over an array: a function of `jaxapi.numpy`, not of the standard.

    Parameters
    ----------
    x : array_like
        The array.
    window_shape : int or tuple of int
        The length of a window along each axis.
    axis : int or tuple of int, optional
        Along which axes windows slide; by default along all.
    subok, writeable : bool
        NumPy's; a writeable result writes to `x` on the CPU alone.

    Returns
    -------
    Array
        The windows, in new axes at the end.

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> xp.lib.stride_tricks.sliding_window_view(xp.arange(4), 2).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    from ...numpy.lib.stride_tricks import sliding_window_view as numpys  # loaded where it is used

    return asarray(numpys(x, window_shape, axis, subok=subok, writeable=writeable))
