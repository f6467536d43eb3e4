"""Searches of all images by an engine of our own tree: pure and traceable.

The tree holds the points of one cell. A query reaches it from several places: its own, and those that it is
moved to by shifts of the lattice, as many as the values ask for. Everything inside is in float64, whatever
the points are in: queries that are moved by whole cells lose nothing then. Each function here runs with x64
mode on: `in_float64` sees to it. Derivatives are not taken here.

From below: `_images` are the points and their tree. `_places` are the places that queries
search from, and loops over them. `_image_search` measures and merges what they find. On these rest searches
for queries (`_within`, `_nearest_images`) and for pairs of two clouds (`_two_point`). `_slots` are the points
as queries, on which `_edges` and `_clusters` rest. `_clouds` is what these two do without a cell.
"""

from ._clusters import components, dbscan
from ._edges import all_edges, edges
from ._nearest_images import nearest, nearest_of_points
from ._two_point import two_point
from ._within import counts, fixed

__all__ = [
    "all_edges",
    "components",
    "counts",
    "dbscan",
    "edges",
    "fixed",
    "nearest",
    "nearest_of_points",
    "two_point",
]
