"""The CPU: SciPy's tree, called at once for concrete arrays and by callbacks inside of transformations.

`_trees` holds points as SciPy wants them; `_by_ckdtree` and `_cluster` (with `_spanning`) are functions of
NumPy arrays; `_groups` and `_reach` are what these share, and `_threads` runs them on several cores;
`_callback` hands arrays of JAX's programs to them; `_host` is what a `KDTree` asks.
"""
