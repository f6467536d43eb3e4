"""Near points of PyTorch's tensors: the KD-tree, graphs, clusters, distances and interpolation.

Tensors go in and come out, on the device where they are. They are read without a copy; on a GPU results are
copied into PyTorch's memory. Derivatives are those of `torch.autograd`, of any order. This module alone needs
PyTorch, and nothing else imports it.
"""

from ._clusters import DensityClusters, StableClusters, dbscan, hdbscan
from ._distance import cdist
from ._graphs import fps, knn, knn_graph, nearest, radius, radius_graph
from ._interpolate import RBFInterpolator
from ._kdtree import KDTree, NeighborGraph, Neighbors

__all__ = [
    "DensityClusters",
    "KDTree",
    "NeighborGraph",
    "Neighbors",
    "RBFInterpolator",
    "StableClusters",
    "cdist",
    "dbscan",
    "fps",
    "hdbscan",
    "knn",
    "knn_graph",
    "nearest",
    "radius",
    "radius_graph",
]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)
