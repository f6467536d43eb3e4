"""Clusters and their sizes."""

from collections import Counter

import numpy as np

from jaxapi.spatial import KDTree, single_linkage

rng = np.random.default_rng(0)
points = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 8.0])
tree = KDTree(points)
labels = tree.dbscan(1.0, 5).labels
sizes = Counter(int(label) for label in labels)
print(sizes.most_common(1)[0][0])
print(tree.hdbscan(5).labels.max(), tree.connected_components(2.0).labels.max())
tree_of_edges = tree.minimum_spanning_tree()
print(single_linkage(tree_of_edges.rows, tree_of_edges.distances)[:3])
