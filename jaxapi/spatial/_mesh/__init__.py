"""A tree over points that are spread over the devices of a mesh.

The points are first dealt out so that each device holds those of one box (`_partition`, `_exchange`,
`_forest`); each device then has an ordinary tree over them. A query visits the devices whose boxes it can
reach, the nearest first, one a round (`_rounds`); what it does there and keeps from there are small functions
(`_closest`, `_within`). The points themselves are first searched for where they are (`_own`), and what is
found goes back to their rows piece by piece (`_by_row`), in messages that are on their way meanwhile
(`_delivery`). All these run inside of `jax.shard_map`, which `_programs` and `_edges` put around them.
`_mesh` is what KDTree calls; `_placement` brings queries to the mesh and results home.
"""
