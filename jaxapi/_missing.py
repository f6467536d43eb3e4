"""What to write for a name of NumPy, CuPy or JAX that the namespace does not have."""

import re
from collections.abc import Collection

import jax.numpy as jnp
import numpy as np

__all__ = ["missing", "missing_attribute", "says_what_to_write"]

# Names of NumPy and CuPy, and those that have the same meaning here.
_SAME = """
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
_RENAMED = {
    "jaxapi": dict(pair.split(":") for pair in _SAME.split()),
    "jaxapi.linalg": {"multi_dot": "matmul"},
    "jaxapi.fft": {},
}
# Others, where a name does not say it all.
_EXPLAINED = {
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
    "jaxapi.spatial": {
        "AgglomerativeClustering": "use KDTree(points).connected_components(r), or single_linkage",
        "BallTree": "use KDTree, or distance.nearest for other metrics",
        "DBSCAN": "use KDTree(points).dbscan(eps, min_samples)",
        "HDBSCAN": "use KDTree(points).hdbscan(min_cluster_size)",
        "KNeighborsClassifier": "use KDTree(points).query(x, k), whose rows are of the labels",
        "NearestNeighbors": "use KDTree(points).query(x, k), or .query_radius(x, r)",
        "cKDTree": "use KDTree",
        "distance_matrix": "use distance.cdist(x, y, 'minkowski', p=p)",
        "dbscan": "use KDTree(points).dbscan(eps, min_samples)",
        "hdbscan": "use KDTree(points).hdbscan(min_cluster_size)",
        "knn_graph": "use KDTree(points).knn_graph(k)",
        "minkowski_distance": "use distance.minkowski",
        "neighbor_list": "use KDTree(points, boxsize=lengths).query_radius(points, r, max_neighbors=m)",
        "radius_graph": "use KDTree(points).radius_graph(r)",
    },
    "jaxapi.spatial.distance": {
        "euclidean_distances": "use cdist(x, y)",
        "haversine": "use jaxapi.spatial.great_circle_distance",
        "haversine_distances": "use jaxapi.spatial.great_circle_distance",
        "manhattan_distances": "use cdist(x, y, 'cityblock')",
        "pairwise_distances": "use cdist(x, y, metric), or pdist(x, metric)",
    },
}
# Where arrays can be assigned to, modules' names and arrays' attributes.
_ASSIGNED = {
    "copyto": "assign: x[...] = y",
    "fill": "assign: x[...] = value",
    "ndarray": "arrays are jaxapi.mutable.Array",
    "put": "assign: x[indices] = values",
    "putmask": "assign: x[mask] = values",
}


def missing(module: str, name: str) -> AttributeError:
    """Return the error for a name that ``module`` does not have, with what to write instead."""
    if "mutable" in module:
        return _error(f"module {module!r}", name, _mutable_advice(module.replace(".mutable", ""), name))
    return _error(f"module {module!r}", name, _advice(module, name))


def says_what_to_write(module: str):
    """Return a module's ``__getattr__``: it says what to write for a name of NumPy, CuPy or JAX."""

    def __getattr__(name: str):
        raise missing(module, name)

    return __getattr__


def missing_attribute(name: str, functions: Collection[str]) -> AttributeError:
    """Return the error for an attribute that `jaxapi.mutable.Array` does not have, perhaps a function."""
    advice = f"use jaxapi.mutable.{name}(x)" if name in functions else _mutable_advice("jaxapi", name)
    return _error("'Array' object", name, advice)


def _error(what: str, name: str, advice: str | None) -> AttributeError:
    text = f"{what} has no attribute {name!r}"
    return AttributeError(f"{text}: {advice}" if advice and not name.startswith("_") else text)


def _mutable_advice(module: str, name: str) -> str | None:
    advice = _ASSIGNED.get(name) or _advice(module, name)
    if advice is None or name in _ASSIGNED:
        return advice
    of_jax = re.search(r"use jax\.numpy\.([\w.]+), whose arrays are the same$", advice)
    if of_jax:
        return f"it is not in the Array API standard: use jaxapi.numpy.{of_jax[1]}, whose arrays are the same"
    advice = advice.replace("whose arrays are the same", "which returns a jax.Array")
    return re.sub(r"\bjaxapi\b", "jaxapi.mutable", advice)


def _advice(module: str, name: str) -> str | None:
    explained = _EXPLAINED[module].get(name)
    if explained or module not in _RENAMED:  # SciPy's modules
        return explained
    renamed = _RENAMED[module].get(name)
    if renamed:
        return f"use {module}.{renamed}"
    path = module.removeprefix("jaxapi").removeprefix(".")
    jax_module = getattr(jnp, path) if path else jnp
    numpy_module = getattr(np, path) if path else np
    if hasattr(jax_module, name):
        jax_name = f"jax.numpy.{path}.{name}" if path else f"jax.numpy.{name}"
        return f"it is not in the Array API standard: use {jax_name}, whose arrays are the same"
    if path and hasattr(jnp, name):
        return f"use jax.numpy.{name}, whose arrays are the same"
    if hasattr(numpy_module, name):
        return "it is NumPy's alone: use it on numpy.asarray(x), outside of jax.jit"
    return None
