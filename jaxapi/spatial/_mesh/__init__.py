"""A tree over points that are spread over the devices of a mesh.

Top down: `_mesh` is what KDTree calls. `_placement` brings queries to the mesh and results back, `_layout`
knows how points lie. `_programs` and `_edges` are compiled functions of whole arrays; they put
`jax.shard_map` around what one device does, which all other files are about.

The points are first dealt out so that each device holds those of one box (`_partition`); each then has an
ordinary tree over them (`_forest`), and knows the boxes of all (`_space`). A query visits the devices whose
boxes it can reach, the nearest first, one a round (`_rounds`). What it asks there, and makes of the answers,
are the searches of `_nearest_on_mesh`, `_within` and `_clusters`. Lines of arrays travel by `_exchange`,
those that belong to rows of the data by `_by_row`. `_moving` is what NeighborList calls.
"""
