"""Clusters of points."""

from typing import Any, Literal, NamedTuple

import torch

from .. import spatial
from ._tensors import as_array_or_number, as_indices, as_shared_array, as_tensor, check_tensor

__all__ = ["DensityClusters", "StableClusters", "dbscan", "hdbscan"]


class DensityClusters(NamedTuple):
    """Clusters by `dbscan`.

    Attributes
    ----------
    core : Tensor, shape (n,), bool
        Which points have enough neighbors.
    labels : Tensor, shape (n,), int64
        The cluster of each point, numbered by its lowest core; -1 for noise.
    """

    core: torch.Tensor
    labels: torch.Tensor


class StableClusters(NamedTuple):
    """Clusters by `hdbscan`.

    Attributes
    ----------
    labels : Tensor, shape (n,), int64
        The cluster of each point, -1 for noise.
    probabilities : Tensor, shape (n,)
        How firmly it belongs to it, from 0 to 1; 0 for noise.
    """

    labels: torch.Tensor
    probabilities: torch.Tensor


def dbscan(
    x: torch.Tensor, eps: float, min_samples: int = 5, *, p: float = 2.0, sample_weight: Any = None
) -> DensityClusters:
    """Find clusters of dense points and what borders on them, with scikit-learn's labels.

    Parameters
    ----------
    x : Tensor, shape (n, m)
        The points.
    eps : float
        Largest distance of neighbors, inclusive.
    min_samples : int, default 5
        How many neighbors make a core, the point itself counted; with weights, their sum.
    p : float, default 2
        Minkowski's p.
    sample_weight : Tensor, shape (n,), optional
        What each point counts.

    Returns
    -------
    DensityClusters
        ``core`` (n,), bool, and ``labels`` (n,), int64, -1 for noise.

    See Also
    --------
    jaxapi.spatial.KDTree.dbscan : says the rest.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> jaxapi.torch.dbscan(torch.tensor([[0.0], [0.1], [5.0]]), eps=0.2, min_samples=2).labels
    tensor([ 0,  0, -1])
    """
    tree = spatial.KDTree(as_shared_array(check_tensor(x, "x")))
    found = tree.dbscan(eps, min_samples, p=p, sample_weight=as_array_or_number(sample_weight))
    return DensityClusters(as_tensor(found.core), as_indices(found.labels))


def hdbscan(
    x: torch.Tensor,
    min_cluster_size: int = 5,
    *,
    min_samples: int | None = None,
    cluster_selection_method: Literal["eom", "leaf"] = "eom",
    cluster_selection_epsilon: float = 0.0,
    allow_single_cluster: bool = False,
    alpha: float = 1.0,
    p: float = 2.0,
) -> StableClusters:
    """Find clusters of all densities, with scikit-learn's labels and probabilities.

    Parameters
    ----------
    x : Tensor, shape (n, m)
        The points.
    min_cluster_size, min_samples, cluster_selection_method, cluster_selection_epsilon, allow_single_cluster
        As `sklearn.cluster.HDBSCAN` has them.
    alpha : float, default 1
        What distances are divided by.
    p : float, default 2
        Minkowski's p.

    Returns
    -------
    StableClusters
        ``labels`` (n,), int64, -1 for noise, and ``probabilities`` (n,).

    See Also
    --------
    jaxapi.spatial.KDTree.hdbscan : says the rest.

    Examples
    --------
    >>> import torch
    >>> import jaxapi.torch
    >>> x = torch.tensor([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> jaxapi.torch.hdbscan(x, min_cluster_size=2).labels
    tensor([0, 0, 0, 1, 1, 1])
    """
    found = spatial.KDTree(as_shared_array(check_tensor(x, "x"))).hdbscan(
        min_cluster_size,
        min_samples=min_samples,
        cluster_selection_method=cluster_selection_method,
        cluster_selection_epsilon=cluster_selection_epsilon,
        allow_single_cluster=allow_single_cluster,
        alpha=alpha,
        p=p,
    )
    return StableClusters(as_indices(found.labels), as_tensor(found.probabilities))
