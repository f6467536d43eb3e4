"""Interpolation of scattered data."""

from typing import Any

import jax
import torch

from .. import interpolate
from ._autograd import differentiable
from ._tensors import as_array_or_number, check_tensor

__all__ = ["RBFInterpolator"]


class RBFInterpolator:
    """Interpolate scattered data by radial basis functions: `jaxapi.interpolate.RBFInterpolator` of tensors.

    Parameters
    ----------
    y : Tensor, shape (npoints, ndims)
        Places of the data.
    d : Tensor, shape (npoints, ...)
        Values there.
    **kwargs
        `neighbors`, `smoothing`, `kernel`, `epsilon` and `degree`, as SciPy has them.

    Notes
    -----
    Values have derivatives, of any order, with respect to the places where they are asked for, and to `y` and
    `d` where these require grad: the weights are then solved for in each call.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> places = torch.tensor([[0.0], [1.0], [2.0]])
    >>> interpolator = jaxapi.torch.RBFInterpolator(places, 2 * places[:, 0], kernel="linear")
    >>> interpolator(torch.tensor([[0.5]])).round(decimals=3)
    tensor([1.])
    """

    def __init__(self, y: torch.Tensor, d: torch.Tensor, **kwargs: Any):
        self.y = check_tensor(y, "y")
        self.d = check_tensor(d, "d")
        self._options = {name: as_array_or_number(value) for name, value in kwargs.items()}
        self._of_data = self._interpolator(as_array_or_number(y), as_array_or_number(d))

    def _interpolator(self, y: jax.Array, d: jax.Array) -> interpolate.RBFInterpolator:
        return interpolate.RBFInterpolator(y, d, **self._options)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return the values at some places.

        Parameters
        ----------
        x : Tensor, shape (npts, ndims)
            Places, on the device of the data.

        Returns
        -------
        Tensor, shape (npts, ...)
            The values.
        """
        check_tensor(x, "x")
        if torch.is_grad_enabled() and (self.y.requires_grad or self.d.requires_grad):

            def values_of_all(y: jax.Array, d: jax.Array, x: jax.Array) -> tuple[jax.Array]:
                return (self._interpolator(y, d)(x),)

            return differentiable(values_of_all, self.y, self.d, x)[0]

        def values(x: jax.Array) -> tuple[jax.Array]:
            return (self._of_data(x),)

        return differentiable(values, x)[0]
