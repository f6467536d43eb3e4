"""Cities within a distance of each other on the Earth."""

import numpy as np

from jaxapi.spatial import KDTree, chord_length, great_circle_distance, unit_vectors

cities = np.radians([[52.5, 13.4], [48.9, 2.4], [51.5, -0.1]])
tree = KDTree(unit_vectors(cities))
distances, rows = tree.query(unit_vectors([0.9, 0.1]), k=2)
angles = great_circle_distance(distances)
print(float(angles[0]) * 6371.0, tree.query_pairs(chord_length(0.1)))
