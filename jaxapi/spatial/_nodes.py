"""The nodes of a tree as Python objects, for looking at."""

from functools import cached_property, total_ordering

import numpy as np

__all__ = ["InnerNode", "LeafNode", "Node", "Structure", "node_of"]


@total_ordering
class Node:
    """A node of the tree; nodes are ordered by identity, as SciPy's are."""

    def __init__(self, structure=None, number: int = 1):
        self._structure = structure
        self._number = number

    @property
    def _node(self):
        """The node itself, where SciPy has a second object."""
        return self

    @cached_property
    def idx(self) -> np.ndarray:
        """The rows of the data in the node's leaves."""
        tree = self._structure
        leaves = tree.lower.shape[1] // 2
        below = leaves.bit_length() - self._number.bit_length()  # levels of nodes below this one
        size = (tree.points.shape[1] // leaves) << below
        start = ((self._number << below) - leaves) * size >> below
        rows = tree.rows[start : start + size]
        return rows[rows < tree.n]

    @property
    def indices(self) -> np.ndarray:
        """The same rows; SciPy's other name for them."""
        return self.idx

    @property
    def children(self) -> int:
        """How many points the node has."""
        return len(self.idx)

    @property
    def data_points(self) -> np.ndarray:
        """The points, (children, m), in the order of `idx`."""
        return self._structure.data[self.idx]

    @property
    def level(self) -> int:
        """How many splits lie above the node."""
        return self._number.bit_length() - 1

    def __lt__(self, other):
        return id(self) < id(other)

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


class LeafNode(Node):
    """A node without children."""

    split_dim = -1
    split = 0.0
    lesser = greater = less = None


class InnerNode(Node):
    """A node that is split in two along one axis."""

    @cached_property
    def split_dim(self) -> int:
        """The axis along which the children lie farthest apart."""
        return self._sides[0]

    @cached_property
    def split(self) -> float:
        """The least coordinate of `greater` along that axis, inf where it has no points."""
        axis, _, greater = self._sides
        return float(self._structure.lower[axis, greater] / self._structure.scale)

    @cached_property
    def less(self) -> Node:
        """The child with the smaller coordinates."""
        return node_of(self._structure, self._sides[1])

    @cached_property
    def greater(self) -> Node:
        """The child with the greater coordinates."""
        return node_of(self._structure, self._sides[2])

    @property
    def lesser(self) -> Node:
        """SciPy's other name for `less`."""
        return self.less

    @cached_property
    def _sides(self) -> tuple[int, int, int]:
        """The axis, the child that lies lower along it, and the other: in either order in the tree."""
        first = 2 * self._number
        second = first + 1
        upwards = self._apart(first, second)
        downwards = self._apart(second, first)
        if downwards.max() > upwards.max():
            return int(downwards.argmax()), second, first
        return int(upwards.argmax()), first, second

    def _apart(self, less: int, greater: int):
        """Return the gap between the boxes of two nodes along each axis; negative where they overlap."""
        tree = self._structure
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(tree.lower[:, greater] - tree.upper[:, less], nan=-np.inf)


class Structure:
    """The tree's arrays on the host, with the points by row."""

    def __init__(self, tree, data):
        self.points, self.rows, self.lower, self.upper, self.scale, self.n = map(np.asarray, tree)
        self.data = np.asarray(data)


def node_of(structure: Structure, number: int) -> Node:
    """Return a node by its number in heap order."""
    leaves = structure.lower.shape[1] // 2
    return (InnerNode if number < leaves else LeafNode)(structure, number)
