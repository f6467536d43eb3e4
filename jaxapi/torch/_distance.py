"""Distances of all pairs of rows."""

from typing import Any

import jax
import torch

from ..spatial import distance
from ._autograd import differentiable
from ._tensors import as_array_or_number, check_tensor

__all__ = ["cdist"]


def cdist(XA: torch.Tensor, XB: torch.Tensor, metric: Any = "euclidean", **kwargs: Any) -> torch.Tensor:
    """Return the distance of every row of one tensor from every row of another.

    Parameters
    ----------
    XA, XB : Tensor, shape (..., na, m) and (..., nb, m)
        Points, on one device.
    metric : str, default "euclidean"
        One of SciPy's.
    **kwargs
        What `jaxapi.spatial.distance.cdist` takes, as `p` and `w`.

    Returns
    -------
    Tensor, shape (..., na, nb)
        Differentiable in `XA` and `XB`, to any order.

    See Also
    --------
    jaxapi.spatial.distance.cdist : says how the metrics are computed.

    Notes
    -----
    `torch.cdist` takes p in the place of a metric, and computes Euclidean distances of more than 25 rows by a
    product of matrices, which loses digits of small ones: here near rows are as exact as far ones.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> jaxapi.torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    check_tensor(XA, "XA")
    check_tensor(XB, "XB")
    options = {name: as_array_or_number(value) for name, value in kwargs.items()}

    def distances(xa: jax.Array, xb: jax.Array) -> tuple[jax.Array]:
        return (distance.cdist(xa, xb, metric, **options),)

    return differentiable(distances, XA, XB)[0]
