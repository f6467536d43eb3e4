"""What to write for names and arguments that are not here: of NumPy, CuPy, JAX, PyTorch, SciPy and others.

All hints of the package. Errors say them (`_missing.py`), whole names, and of the face that was asked.
"""

# ruff: noqa: SIM905

__all__ = ["ARGUMENTS", "ASSIGNED", "ATTRIBUTES", "EXPLAINED", "HOMES", "OF_POINTS", "RENAMED"]


def _by_name(advice: dict[str, str]) -> dict[str, str]:
    """Return the advice for each name of a table whose keys are several names."""
    return {name: text for names, text in advice.items() for name in names.split()}


# Names of NumPy and CuPy, and those that have the same meaning here.
_SAME_MEANING = """
absolute:abs alltrue:all amax:max amin:min arccos:acos arccosh:acosh arcsin:asin arcsinh:asinh
arctan:atan arctan2:atan2 arctanh:atanh around:round array:asarray asanyarray:asarray
ascontiguousarray:asarray asfarray:asarray bitwise_not:bitwise_invert bool_:bool byte:int8
cdouble:complex128 concatenate:concat conjugate:conj cross:linalg.cross csingle:complex64
cumprod:cumulative_prod cumsum:cumulative_sum diagonal:linalg.diagonal double:float64 fabs:abs fix:trunc
in1d:isin inner:vecdot int_:int64 intc:int32 intp:int64 invert:bitwise_invert
left_shift:bitwise_left_shift longlong:int64 mod:remainder outer:linalg.outer power:pow product:prod
right_shift:bitwise_right_shift rint:round round_:round short:int16 single:float32 sometrue:any
trace:linalg.trace true_divide:divide ubyte:uint8 uint:uint64 uintc:uint32 uintp:uint64 ulonglong:uint64
ushort:uint16 vdot:vecdot
"""
RENAMED = {
    "jaxapi": dict(pair.split(":") for pair in _SAME_MEANING.split()),
    "jaxapi.linalg": {"multi_dot": "matmul"},
    "jaxapi.fft": {},
}
# Others, where a name does not say it all.
EXPLAINED = {
    "jaxapi": {
        "ElementwiseKernel": "compile a Python function with jaxapi.fuse",
        "LinAlgError": "use numpy.linalg.LinAlgError, which jaxapi.linalg raises",
        "RawKernel": "compile a Python function with jaxapi.fuse, or write it with jax.experimental.pallas",
        "ReductionKernel": "compile a Python function with jaxapi.fuse",
        "asnumpy": "use numpy.asarray",
        "copy": "use jaxapi.asarray with copy=True",
        "copyto": "arrays are immutable: use jaxapi.where, x.at[...].set(...) or jaxapi.mutable",
        "cuda": "JAX places arrays itself: use jax.devices and jax.device_put",
        "divmod": "use jaxapi.floor_divide and jaxapi.remainder",
        "dot": "use jaxapi.matmul, jaxapi.vecdot or jaxapi.tensordot",
        "flatten": "use jaxapi.reshape(x, (-1,))",
        **dict.fromkeys(["complex", "float", "int"], "use Python's own, without the module"),
        "errstate": "JAX does not warn: numbers become inf or nan",
        "frombuffer": "use jaxapi.asarray of numpy.frombuffer",
        "fromiter": "use jaxapi.asarray of a list",
        "get_array_module": "use array_api_compat.array_namespace, or pass the namespace as an argument",
        "grad": "use jax.grad",
        "hstack": "use jaxapi.concat with axis=1",
        "jit": "use jax.jit or jaxapi.fuse",
        "lax": "use jax.lax",
        "load": "use jaxapi.asarray of numpy.load",
        "matrix": "use 2-D arrays with jaxapi.matmul",
        "ndarray": "arrays are jax.Array",
        "put": "arrays are immutable: use x.at[...].set(...) or jaxapi.mutable",
        "putmask": "arrays are immutable: use jaxapi.where, or jaxapi.mutable",
        "random": "use jax.random, whose arrays are the same",
        "ravel": "use jaxapi.reshape(x, (-1,))",
        "save": "use numpy.save, which takes these arrays",
        "seterr": "JAX does not warn: numbers become inf or nan",
        "swapaxes": "use jaxapi.permute_dims",
        "testing": "use numpy.testing, which takes these arrays",
        "transpose": "use jaxapi.permute_dims or jaxapi.matrix_transpose",
        "unique": "use jaxapi.unique_values, unique_counts, unique_inverse or unique_all",
        "vectorize": "use jax.vmap",
        "vmap": "use jax.vmap",
        "vstack": "use jaxapi.concat with axis=0",
    },
    "jaxapi.linalg": {
        "LinAlgError": "use numpy.linalg.LinAlgError, which jaxapi.linalg raises",
        "norm": "use jaxapi.linalg.vector_norm or jaxapi.linalg.matrix_norm",
    },
    "jaxapi.fft": {},
}
# Where arrays can be assigned to, modules' names and arrays' attributes.
ASSIGNED = {
    "copyto": "assign: x[...] = y",
    "fill": "assign: x[...] = value",
    "ndarray": "arrays are jaxapi.mutable.Array",
    "put": "assign: x[indices] = values",
    "putmask": "assign: x[mask] = values",
}
# Of `jaxapi.numpy`: what cannot be, or is elsewhere.
_OF_NUMPY = {
    "ElementwiseKernel ReductionKernel": "compile a Python function with jaxapi.numpy.fuse",
    "RawKernel": "compile a Python function with jaxapi.numpy.fuse, or use jax.experimental.pallas",
    "asmatrix matrix": "arrays are of one class: use 2-D arrays and x @ y",
    "bmat": "arrays are of one class: use block",
    **dict.fromkeys(
        ["busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday"],
        "JAX has no dates: use NumPy, and pass numbers",
    ),
    "char": "JAX has no arrays of text: use numpy.char",
    "complex256": "JAX has no such dtype: use complex128",
    "core": "it is private in NumPy",
    "ctypeslib": "arrays lie on a device: pass numpy.asarray(x) to C",
    "emath": "convert first, as in sqrt(x.astype(complex)): dtypes cannot follow from values",
    "f2py": "it is a tool of NumPy's: use numpy.f2py",
    "flatiter": "x.flat gives one; no class is needed",
    "float128": "JAX has no such dtype: use float64",
    "frompyfunc": "use vectorize, or a function of arrays",
    "fromregex": "use asarray of numpy.fromregex",
    "get_include": "it is a tool of NumPy's: use numpy.get_include",
    "info": "use help",
    "get_default_memory_pool get_default_pinned_memory_pool": "JAX looks after memory: leave the line out",
    # what NumPy 2 has no longer
    "Inf Infinity PINF infty": "use inf",
    "NINF": "use -inf",
    "NaN": "use nan",
    "PZERO NZERO": "use 0.0 or -0.0",
    "alltrue": "use all",
    "asfarray": "use asarray(x, dtype=float)",
    "asscalar": "use x.item()",
    "complex_ cfloat": "use complex128",
    "cumproduct": "use cumprod",
    "find_common_type": "use result_type",
    "float int complex object str": "use Python's own, without the module",
    "float_": "use float64",
    "msort": "use sort(x, axis=0)",
    "product": "use prod",
    "round_": "use round",
    "sometrue": "use any",
    "string_ unicode_": "JAX has no arrays of text: use numpy.strings",
    "in1d": "use isin",
    "isnat": "JAX has no dates",
    "memmap": "arrays lie on a device: use asarray of numpy.memmap",
    "nditer nested_iters": "loops over elements run a program each: write whole arrays' operations, or fuse",
    "rec recarray record": "JAX has no structured dtypes: pass fields one by one",
    "row_stack": "use vstack",
    "strings": "JAX has no arrays of text: use numpy.strings",
    "test": "it runs NumPy's own tests",
    "trapz": "use trapezoid",
    "RawModule": "compile a Python function with jaxapi.numpy.fuse, or use jax.experimental.pallas",
    "cat": "use concatenate",
    "clamp": "use clip",
    "clear_memo memoize": "use functools.cache",
    "from_numpy tensor": "use asarray",
    "RandomState": "use jaxapi.numpy.random.RandomState, or jaxapi.numpy.random.default_rng",
    "interpolate spatial": "import it from jaxapi.mutable, whose arrays are the same",
    "jit vmap": "use jax.jit, jax.vmap or jaxapi.numpy.fuse",
    "masked_fill": "assign: x[mask] = value",
    "ndimage signal special stats": "use jax.scipy, whose functions take jax.numpy.asarray(x)",
    "rsqrt": "use 1 / sqrt(x)",
    "scatter_add": "use add.at(x, indices, values)",
    "scipy": "use jax.scipy, whose functions take jax.numpy.asarray(x)",
    "sparse": "use jax.experimental.sparse, or scipy.sparse of numpy.asarray(x)",
    "stride_tricks": "use jaxapi.numpy.lib.stride_tricks",
}

_TREE = "jaxapi.spatial.KDTree(points)"
_ALONE = "use scipy.{} on numpy.asarray(x), outside of jax.jit: it is SciPy's alone"
_INSTEAD = "use jaxapi.interpolate.RBFInterpolator or NearestNDInterpolator: there is no triangulation"
_MEMORY = "JAX looks after memory: leave the line out, or set XLA_PYTHON_CLIENT_MEM_FRACTION"
_TIME = "time it with time.perf_counter and jax.block_until_ready(x), or use jax.profiler.trace"
# Names of SciPy, scikit-learn, JAX MD, ASE and PyTorch Geometric, of points and what is between them.
OF_POINTS = _by_name(
    {
        "AgglomerativeClustering linkage fcluster fclusterdata": (
            f"use {_TREE}.connected_components(r), or jaxapi.spatial.single_linkage"
        ),
        "BallTree": "use jaxapi.spatial.KDTree, or jaxapi.spatial.distance.nearest for other metrics",
        "DBSCAN dbscan": f"use {_TREE}.dbscan(eps, min_samples)",
        "HDBSCAN hdbscan OPTICS": f"use {_TREE}.hdbscan(min_cluster_size)",
        "KNeighborsClassifier KNeighborsRegressor": f"use {_TREE}.query(x, k), whose rows are of the labels",
        "KernelDensity rbf_kernel": "use jaxapi.spatial.distance.kernel_sum(f, x, points)",
        "NearestNeighbors": f"use {_TREE}.query(x, k), or .query_radius(x, r)",
        "neighbor_list neighbour_list primitive_neighbor_list": (
            "use jaxapi.spatial.KDTree(points, cell=cell).radius_graph(r), or for points that move "
            "jaxapi.spatial.NeighborList(points, r, skin, cell=cell)"
        ),
        "RadiusNeighborsClassifier RadiusNeighborsRegressor": (
            f"use {_TREE}.query_radius(x, r), whose rows are of the labels"
        ),
        "ball_query ball_point radius radius_search radius_neighbors": f"use {_TREE}.query_radius(x, r)",
        "cKDTree cKDTreeNode": "use jaxapi.spatial.KDTree",
        "cluster": f"use {_TREE}.dbscan(eps, min_samples), .hdbscan() or .connected_components(r)",
        "cellpar_to_cell": "pass the six numbers themselves: jaxapi.spatial.KDTree(points, cell=cellpar)",
        "connected_components": f"use {_TREE}.connected_components(r)",
        "euclidean_distances": "use jaxapi.spatial.distance.cdist(x, y)",
        "haversine haversine_distances": "use jaxapi.spatial.great_circle_distance",
        "kneighbors_graph knn_graph": f"use {_TREE}.knn_graph(k)",
        "knn knn_search nearest_neighbors kneighbors": f"use {_TREE}.query(x, k)",
        "knn_interpolate": "use jaxapi.interpolate.RBFInterpolator(points, values, neighbors=k)",
        "manhattan_distances": "use jaxapi.spatial.distance.cdist(x, y, 'cityblock')",
        "minimum_spanning_tree": f"use {_TREE}.minimum_spanning_tree()",
        "pairwise_distances": "use jaxapi.spatial.distance.cdist(x, y, metric), or pdist(x, metric)",
        "pairwise_distances_argmin pairwise_distances_argmin_min vq": (
            "use jaxapi.spatial.distance.nearest(x, y, 1, metric)"
        ),
        "periodic periodic_general": "use jaxapi.spatial.KDTree(points, boxsize=lengths), or cell=vectors",
        "radius_graph radius_neighbors_graph": f"use {_TREE}.radius_graph(r)",
        "segment_sum scatter": "use jax.ops.segment_sum",
        # interpolation
        "CloughTocher2DInterpolator LinearNDInterpolator griddata": _INSTEAD,
        "Rbf": "use jaxapi.interpolate.RBFInterpolator",
        "RegularGridInterpolator interpn": "use jax.scipy.interpolate.RegularGridInterpolator",
        "interp1d": "use jax.numpy.interp",
        # SciPy's alone
        **{
            name: _ALONE.format(f"spatial.{name}")
            for name in ["ConvexHull", "Delaunay", "HalfspaceIntersection", "SphericalVoronoi", "Voronoi"]
        },
        "geometric_slerp procrustes": _ALONE.format("spatial"),
        "Rotation Slerp transform": "use jax.scipy.spatial.transform",
        "dendrogram": "use scipy.cluster.hierarchy.dendrogram of numpy.asarray(single_linkage(...))",
        **{
            name: _ALONE.format(f"interpolate.{name}")
            for name in [
                "Akima1DInterpolator",
                "BSpline",
                "CubicSpline",
                "PchipInterpolator",
                "UnivariateSpline",
                "make_interp_spline",
                "splev",
                "splrep",
            ]
        },
    }
)
# In which module a name of points is, for one who asks another.
HOMES = {
    "jaxapi.spatial": """
KDTree NeighborList chord_length distance great_circle_distance pad_rows sample_farthest_points
single_linkage unit_vectors
""".split(),
    "jaxapi.spatial.distance": """
is_valid_dm is_valid_y num_obs_dm num_obs_y squareform NearestRows cdist directed_hausdorff
distance_matrix kernel_sum nearest pdist braycurtis canberra chebyshev cityblock correlation cosine dice
euclidean hamming hellinger inner_product jaccard jensenshannon kl_divergence mahalanobis minkowski
minkowski_distance rogerstanimoto russellrao seuclidean sokalsneath sqeuclidean yule
""".split(),
    "jaxapi.interpolate": """
NearestNDInterpolator RBFInterpolator
""".split(),
}
EXPLAINED |= {
    "jaxapi.spatial": {},
    "jaxapi.spatial.distance": {},
    "jaxapi.interpolate": {},
    "jaxapi.numpy": _by_name(_OF_NUMPY),
    "jaxapi.numpy.cuda": _by_name(
        {
            "Event get_elapsed_time": f"JAX runs one program after another: {_TIME}",
            "ExternalStream get_current_stream": "there is one stream: use jaxapi.numpy.cuda.Stream.null",
            "Graph": "JAX records programs itself: compile a function with jaxapi.numpy.fuse",
            "MemoryPointer UnownedMemory": "use jaxapi.numpy.from_dlpack(x)",
            "ManagedMemory MemoryAsyncPool MemoryPool PinnedMemoryPool alloc alloc_pinned_memory": _MEMORY,
            "memory memory_allocated set_allocator set_pinned_memory_allocator": _MEMORY,
            "current_device get_device_id": "use jax.devices, and jax.default_device",
            "device driver nccl": "JAX looks after devices: use jax.devices and jax.device_put",
            "device_count": "use jaxapi.numpy.cuda.runtime.getDeviceCount()",
            "is_available": "use jax.default_backend() == 'gpu'",
            "nvtx profile profiler": "use jax.profiler.trace and jax.profiler.TraceAnnotation",
            "stream": "use jaxapi.numpy.cuda.Stream",
            "synchronize": "use jaxapi.numpy.cuda.runtime.deviceSynchronize()",
        }
    ),
}
# Attributes of objects.
ATTRIBUTES = {
    "Array": _by_name(
        {
            "at": "assign: x[...] = y",
            "block_until_ready": "use jax.block_until_ready(x)",
            "clone detach": "use x.copy(), or jax.lax.stop_gradient",
            "cpu cuda to": "use x.to_device(device), with one of jax.devices()",
            "is_cuda": "use x.device",
            "numpy": "use numpy.asarray(x)",
        }
    ),
    "KDTree": _by_name(
        {
            "box pbc": "use boxsize, cell and periodic",
            "edges neighbor_list neighbor_graph radius_neighbors_graph": "use .radius_graph(r)",
            "fit partial_fit": "pass the points to KDTree itself",
            "fit_predict labels_": "use .dbscan(eps, min_samples), .hdbscan() or .connected_components(r)",
            "get_arrays points": "use .data",
            "kernel_density": "use jaxapi.spatial.distance.kernel_sum(f, x, points)",
            "kneighbors_graph": "use .knn_graph(k)",
            "knn nearest query_knn": "use .query(x, k)",
            "leaf_size": "use .leafsize",
            "n_features_in_": "use .m",
            "n_samples_fit_": "use .n",
            "query_ball query_ball_points radius_neighbors radius": "use .query_radius(x, r)",
            "mst": "use .minimum_spanning_tree()",
            "predict": "use .query(x, k), whose rows are of the labels",
            "remove_ids add_points insert update": "a tree does not change: build one of the new points",
            "single_linkage": "use jaxapi.spatial.single_linkage of .minimum_spanning_tree()",
            "two_point_correlation": "use .count_neighbors(other, r)",
        }
    ),
}

# Keyword arguments: of which function, which they are elsewhere, and what to write here.
_MINKOWSKI = "distances are Minkowski's: pass p=, or use jaxapi.spatial.distance for other metrics"
_OUT = "leave it out: it changes no result"
_P_OF_SEARCH = (
    "distances are Minkowski's, of the p= of each search; jaxapi.spatial.distance has other metrics"
)
_RADIUS = {"cutoff cut_off r_cut radius": "use r="}
_PERIODIC = "use cell= and periodic= for every image, boxsize= for the nearest one"
_CLOUDS = "clouds are the tree's: pass batch= to jaxapi.spatial.KDTree"
_FLOW = "edges go from a neighbor, the sender, to the point, the receiver: swap them for the other flow"
_CLUSTERS = {
    "metric": _MINKOWSKI,
    "algorithm leaf_size n_jobs workers": _OUT,
}
_OF_METHODS = {
    "__init__": {
        "algorithm": "use engine=",
        "box box_size boxlen lattice pbc period": _PERIODIC,
        "device": "put the points there: jax.device_put(points, device)",
        "dtype": "convert the points: distances have their dtype",
        "k n_neighbors r radius": "pass it to the search: query(x, k) or query_radius(x, r)",
        "leaf_size": "use leafsize=",
        "metric metric_params": _P_OF_SEARCH,
        "p": "pass it to each search",
        "n_jobs workers": "pass workers= to query",
    },
    "query": {
        "X points queries": "use x=",
        "batch_x": "use batch=",
        "cutoff r radius max_distance": (
            "use distance_upper_bound=, or query_radius(x, r) for all points within it"
        ),
        "dualtree breadth_first": _OUT,
        "loop include_self": "use kneighbors(k), which leaves each point itself out",
        "metric": _MINKOWSKI,
        "n_jobs num_workers": "use workers=",
        "n_neighbors num_neighbors": "use k=",
        "return_distance": "leave it out: distances and rows are returned",
        "sort_results": "leave it out: the nearest come first",
    },
    "kneighbors": {
        "X x": "use query(x, k)",
        "loop include_self": "use query(points, k), where each point is its own neighbor",
        "metric": _MINKOWSKI,
        "n_jobs num_workers": "use workers=",
        "n_neighbors": "use k=",
        "return_distance": "leave it out: distances and rows are returned",
    },
    "query_radius": {
        **_RADIUS,
        "X points queries": "use x=",
        "batch_x": "use batch=",
        "count_only": "use query_ball_point(x, r, return_length=True)",
        "max_num_neighbors": "use max_neighbors=",
        "metric": _MINKOWSKI,
        "n_jobs num_workers workers": _OUT,
        "sort_results": "use sort=True",
    },
    "query_ball_point": {
        **_RADIUS,
        "count_only": "use return_length=True",
        "max_neighbors": "use query_radius",
        "metric": _MINKOWSKI,
        "n_jobs num_workers": "use workers=",
        "return_distance": "use query_radius",
        "sort_results": "use return_sorted=True",
    },
    "query_ball_tree": {**_RADIUS, "metric": _MINKOWSKI, "tree": "use other="},
    "sparse_distance_matrix": {
        "cutoff r radius": "use max_distance=",
        "metric": _MINKOWSKI,
        "tree": "use other=",
    },
    "query_pairs": {**_RADIUS, "metric": _MINKOWSKI, "return_distance": "use output_type='ndarray'"},
    "radius_graph": {
        **_RADIUS,
        "batch": _CLOUDS,
        "flow": _FLOW,
        "num_workers": _OUT,
        "include_self self_interaction": "use loop=",
        "max_num_neighbors max_neighbors": "use max_edges=, the number of all edges",
        "metric": _MINKOWSKI,
        "return_shifts": "leave it out: the graph of a tree with a cell has shifts",
    },
    "knn_graph": {
        "batch": _CLOUDS,
        "cosine": "pass points of length 1 to jaxapi.spatial.KDTree",
        "flow": _FLOW,
        "num_workers": _OUT,
        "include_self": "use loop=",
        "metric": _MINKOWSKI,
        "n_neighbors": "use k=",
    },
    "count_neighbors": {**_RADIUS, "bins edges": "use r= and cumulative=False"},
    "connected_components": {"cutoff eps linking_length radius": "use r=", "metric": _MINKOWSKI},
    "minimum_spanning_tree": {"metric": _MINKOWSKI, "min_points": "use min_samples="},
    "dbscan": {
        **_CLUSTERS,
        "cutoff r radius": "use eps=",
        "minPts min_cluster_size min_points": "use min_samples=",
        "weights": "use sample_weight=",
    },
    "hdbscan": {
        **_CLUSTERS,
        "eps": "use cluster_selection_epsilon=",
        "minPts min_points": "use min_samples=",
        "core_dist_n_jobs gen_min_span_tree": _OUT,
    },
}
_OF_RBF = {
    "length_scale sigma": "use epsilon=, its inverse",
    "function": "use kernel=",
    "k n_neighbors": "use neighbors=",
    "points": "use y=",
    "smooth": "use smoothing=",
    "values": "use d=",
}
_OF_NEAREST = {
    "points": "use x=",
    "values": "use y=",
    "boxsize cell workers": "use tree_options=",
}
ARGUMENTS = {
    "NearestNDInterpolator": {"__init__": _by_name(_OF_NEAREST)},
    "KDTree": {method: _by_name(advice) for method, advice in _OF_METHODS.items()},
    "RBFInterpolator": {"__init__": _by_name(_OF_RBF)},
}
