"""A pytest plugin: CuPy's fusion tests on `jaxapi.mutable`, from a checkout of CuPy in CUPY_CHECKOUT.

The tests import `cupy`. That name is given to a module of jaxapi's functions under CuPy's names and of CuPy's
own helpers for tests, which are Python files of the checkout.
"""

import contextlib
import functools
import importlib.util
import os
import pathlib
import sys
import types

import jax
import numpy as np

import jaxapi.mutable as xp

CHECKOUT = pathlib.Path(os.environ["CUPY_CHECKOUT"])
NAMES = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "concatenate": "concat",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "mod": "remainder",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "true_divide": "divide",
}


def fuse(*args, **kwargs):
    """`jaxapi.mutable.fuse`; with NumPy arrays alone CuPy runs the function as it is, and so does this."""
    if args:
        return fuse()(args[0])

    def decorate(function):
        fused = xp.fuse(function, **kwargs)

        @functools.wraps(function)
        def call(*args, **kwargs):
            leaves = jax.tree.leaves((args, kwargs), is_leaf=lambda x: type(x) is xp.Array)
            return (fused if any(type(x) is xp.Array for x in leaves) else function)(*args, **kwargs)

        call.clear_cache = fused.clear_cache
        return call

    return decorate


def attribute(name):
    """Return a function of jaxapi's, or NumPy's for NumPy's arrays, as CuPy's `sum` and `where` do."""
    ours = ours_for(name)
    if not callable(ours) or not hasattr(np, name) or isinstance(ours, type) or hasattr(ours, "dtype"):
        return ours

    def call(*args, **kwargs):
        host = any(type(x) is np.ndarray for x in args) and not any(type(x) is xp.Array for x in args)
        return (getattr(np, name) if host else ours)(*args, **kwargs)

    return call


def ours_for(name):
    if hasattr(xp, NAMES.get(name, name)):
        return getattr(xp, NAMES.get(name, name))
    if hasattr(jax.numpy, name):  # functions of NumPy's beyond the standard
        from jaxapi.mutable._wrap import wrap_function

        return wrap_function(getattr(jax.numpy, name), name, __name__)
    raise AttributeError(name)


def array(x, dtype=None, copy=True, order=None):
    """Leave the order in memory to XLA."""
    return xp.asarray(x, dtype=dtype, copy=copy)


def asarray(x, dtype=None, order=None):
    return xp.asarray(x, dtype=dtype)


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


def from_checkout(name):
    folder = CHECKOUT / name.replace(".", "/")
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


class Device(contextlib.nullcontext):
    """One device is all there is."""

    def use(self):
        pass


runtime = types.SimpleNamespace(
    is_hip=False, deviceGetAttribute=lambda *args: 1, cudaDevAttrCooperativeLaunch=0, getDeviceCount=lambda: 1
)
cupy = module("cupy", __getattr__=attribute, __path__=[], ndarray=xp.Array, asnumpy=np.asarray)
cupy.array, cupy.asarray, cupy.fuse, cupy.ufunc = array, asarray, fuse, np.ufunc
cupy.get_array_module = lambda *xs: cupy if any(type(x) is xp.Array for x in xs) else np
cupy.exceptions = module("cupy.exceptions", AxisError=np.exceptions.AxisError)
cupy.cuda = module("cupy.cuda", runtime=runtime, __path__=[], Device=Device)
cupy.cuda.device = types.SimpleNamespace(get_compute_capability=lambda: "90")
cupy._core = module("cupy._core", __path__=[])
cupy._core.internal = module("cupy._core.internal", prod=lambda xs: int(np.prod(xs)))
cupy._core._fusion_trace = module("cupy._core._fusion_trace", TraceImpl=object)  # its calls are counted
sparse = module("cupyx.scipy.sparse", issparse=lambda x: False)
module("cupyx", __path__=[], scipy=module("cupyx.scipy", __path__=[], sparse=sparse))
cupy.testing = from_checkout("cupy.testing")
sys.path.insert(0, str(CHECKOUT / "tests"))
