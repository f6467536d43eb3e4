"""A pytest plugin: CuPy's tests of its NumPy interface on `jaxapi.numpy`, from a checkout in CUPY_CHECKOUT.

The tests import `cupy`. That name is given to a module whose names are those of `jaxapi.numpy` and nothing
else; only what is no interface of NumPy's is made here: CUDA, and the modules of CuPy's own that the tests
import. CuPy's helpers for tests are the checkout's, as they are.
"""

import contextlib
import functools
import importlib
import importlib.util
import os
import pathlib
import sys
import types

import numpy as np

face = importlib.import_module(os.environ.get("CUPY_IS", "jaxapi.numpy"))
CHECKOUT = pathlib.Path(os.environ["CUPY_CHECKOUT"])


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


cupy = module("cupy", __path__=[])
cupy.__getattr__ = lambda name: getattr(face, name)
sys.modules["cupy.exceptions"] = np.exceptions
for name in ("linalg", "fft", "random"):
    part = module(f"cupy.{name}", __path__=[])
    part.__getattr__ = functools.partial(getattr, getattr(face, name))
    setattr(cupy, name, part)
runtime = types.SimpleNamespace(
    is_hip=False, getDeviceCount=lambda: 1, runtimeGetVersion=lambda: 12000, CUDARuntimeError=RuntimeError
)
driver = types.SimpleNamespace(get_build_version=lambda: 12000)
cuda = module("cupy.cuda", runtime=runtime, driver=driver, __path__=[], Device=Device)
cuda.cub = cuda.cutensor = module("cupy.cuda.cutensor", available=False)
sys.modules["cupy.cuda.runtime"], sys.modules["cupy.cuda.driver"] = runtime, driver
cuda.device = types.SimpleNamespace(get_compute_capability=lambda: "90")
cupy.cuda = cuda
backends = module("cupy_backends", __path__=[])
backends.cuda = module("cupy_backends.cuda", stream=None, __path__=[])
module("cupy_backends.cuda.api", runtime=runtime, driver=driver)
cupy._util = module("cupy._util", PerformanceWarning=UserWarning, ENABLE_SLICE_COPY=False)
indexing = cupy._indexing = module("cupy._indexing", __path__=[])
indexing.generate = module("cupy._indexing.generate", AxisConcatenator=None)
cupy.cublas = module("cupy.cublas", get_batched_gesv_limit=int, set_batched_gesv_limit=lambda limit: None)
core = cupy._core = module("cupy._core", __path__=[])
core._accelerator = module("cupy._core._accelerator", ACCELERATOR_CUTENSOR=0, ACCELERATOR_CUB=1)
for name in ("routine", "reduction"):
    for holder in (core, core._accelerator):
        setattr(holder, f"get_{name}_accelerators", lambda: [])
        setattr(holder, f"set_{name}_accelerators", lambda chosen: None)
core._cub_reduction = module("cupy._core._cub_reduction", _CUB_REDUCE_SIZE_THRESHOLD=0)
compute_types = ("DEFAULT", "FP16", "FP32", "FP64", "BF16", "TF32", "PEDANTIC")
core._routines_linalg = module(
    "cupy._core._routines_linalg", **{f"COMPUTE_TYPE_{name}": i for i, name in enumerate(compute_types)}
)
core.internal = module("cupy._core.internal", prod=lambda xs: int(np.prod(xs)))
cupy.get_array_module = lambda *xs: cupy if face.get_array_module(*xs) is face else np
module(
    "cupy.linalg._util",
    stacked_identity=lambda shape, n, dtype: face.broadcast_to(face.eye(n, dtype=dtype), (*shape, n, n)),
)
core.ndarray, core.array = face.ndarray, face.array
cupy.random._generator = types.SimpleNamespace(_random_states={})
cupy.random.reset_states = lambda: setattr(cupy.random._generator, "_random_states", {})
core.get_compute_type = core.set_compute_type = lambda *args: 0
cusolver = types.SimpleNamespace(check_availability=lambda name: True)
sparse = module("cupyx.scipy.sparse", issparse=lambda x: False)

module(
    "cupyx",
    __path__=[],
    errstate=lambda **kwargs: contextlib.nullcontext(),
    scipy=module("cupyx.scipy", __path__=[], sparse=sparse),
    cusolver=cusolver,
)
cupy.testing = from_checkout("cupy.testing")
sys.path.insert(0, str(CHECKOUT / "tests"))
