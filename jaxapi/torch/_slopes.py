"""The derivatives of distances that a search found: PyTorch's own, of the rows that are neighbors."""

from typing import Any

import torch

__all__ = ["with_slopes"]


def with_slopes(
    distances: torch.Tensor, displacements: torch.Tensor, p: float, is_neighbor: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the distances as they are, with the derivatives of the lengths of displacements (..., m).

    At distance 0 and where there is no neighbor they are 0, to all orders.
    """
    if not (torch.is_grad_enabled() and displacements.requires_grad):
        return distances
    is_apart = (distances > 0) & (distances < torch.inf)
    if is_neighbor is not None:
        is_apart &= is_neighbor
    # Not of the displacements themselves: the second derivative of a length is not finite at 0.
    apart = torch.where(is_apart[..., None], displacements, 1)
    lengths = torch.linalg.vector_norm(apart, ord=p, dim=-1)
    slopes = torch.where(is_apart, lengths - lengths.detach(), 0)
    return distances + slopes.to(distances.dtype)


def nearest_image(displacements: torch.Tensor, boxsize: Any) -> torch.Tensor:
    """Return displacements in a periodic box to the nearest image; 0 is the length of an open axis."""
    is_periodic = (boxsize > 0) & (boxsize < torch.inf)
    length = torch.where(is_periodic, boxsize, 1)
    images = torch.round(displacements.detach() / length) * is_periodic
    return displacements - images * length
