"""What the clusterings of KDTree return."""

from typing import NamedTuple

from ..._core._typing import Array

__all__ = ["Components", "DensityClusters", "SpanningTree", "StableClusters"]


class Components(NamedTuple):
    """Connected components.

    Attributes
    ----------
    count : Array, shape ()
        How many there are.
    labels : Array, shape (n,)
        The component of each point; they are numbered by their lowest row.
    """

    count: Array  # type: ignore[assignment]
    labels: Array


class DensityClusters(NamedTuple):
    """Clusters by `KDTree.dbscan`.

    Attributes
    ----------
    core : Array, shape (n,), bool
        Which points have enough neighbors.
    labels : Array, shape (n,)
        The cluster of each point, numbered by its lowest core; -1 for noise.
    """

    core: Array
    labels: Array


class SpanningTree(NamedTuple):
    """A minimum spanning tree.

    Attributes
    ----------
    rows : Array, shape (n - 1, 2)
        The two ends of each edge, the lower row first.
    distances : Array, shape (n - 1,)
        The lengths, ascending; of equal ones the lowest rows come first.
    """

    rows: Array
    distances: Array


class StableClusters(NamedTuple):
    """Clusters by `KDTree.hdbscan`.

    Attributes
    ----------
    labels : Array, shape (n,)
        The cluster of each point, -1 for noise.
    probabilities : Array, shape (n,)
        How firmly it belongs to it, from 0 to 1; 0 for noise.
    """

    labels: Array
    probabilities: Array
