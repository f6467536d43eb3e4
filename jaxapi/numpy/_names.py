"""The names that are NumPy's own, and those that cannot be, with what to write."""

import functools

import numpy as np

__all__ = ["AS_THEY_ARE", "ON_HOST", "UNAVAILABLE", "host_function"]

# Dtypes, constants, and functions of dtypes and text.
AS_THEY_ARE = """
bool bool_ byte cdouble clongdouble complex64 complex128 complexfloating character csingle double dtype
dtypes finfo flexible float16 float32 float64 floating generic half iinfo inexact int8 int16 int32 int64
int_ integer intc intp long longdouble longlong number short signedinteger single str_ bytes_ object_ void
datetime64 timedelta64 ubyte uint uint8 uint16 uint32 uint64 uintc uintp ulong ulonglong unsignedinteger
ushort ScalarType e euler_gamma inf nan newaxis pi True_ False_ little_endian sctypeDict typecodes
exceptions testing base_repr binary_repr broadcast_shapes can_cast errstate format_float_positional
format_float_scientific get_printoptions geterr index_exp s_ isdtype isscalar issubdtype min_scalar_type
mintypecode ndindex poly1d printoptions promote_types set_printoptions seterr seterrcall geterrcall
setbufsize getbufsize typename show_config show_runtime __version__
"""
# Functions that get copies in host memory, and give no arrays.
_ON_HOST = """
array2string array_repr array_str common_type einsum_path may_share_memory result_type save savetxt savez
savez_compressed shares_memory
"""
ON_HOST = _ON_HOST.split()
_ADVICE = {
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
    "cuda": "JAX places arrays itself: use jax.devices and jax.device_put",
    "emath": "convert first, as in sqrt(x.astype(complex)): dtypes cannot follow from values",
    "f2py": "it is a tool of NumPy's: use numpy.f2py",
    "flatiter": "x.flat gives one; no class is needed",
    "float128": "JAX has no such dtype: use float64",
    "frompyfunc": "use vectorize, or a function of arrays",
    "fromregex": "use asarray of numpy.fromregex",
    "get_include": "it is a tool of NumPy's: use numpy.get_include",
    "info": "use help",
    "get_default_memory_pool get_default_pinned_memory_pool": "JAX looks after memory: leave the line out",
    "in1d": "use isin",
    "isnat": "JAX has no dates",
    "lib": "use numpy.lib",
    "ma": "use a mask of its own: where(mask, x, 0), or nan and nanmean and its like",
    "memmap": "arrays lie on a device: use asarray of numpy.memmap",
    "nditer nested_iters": "loops over elements run a program each: write whole arrays' operations, or fuse",
    "polynomial": "use polyval, polyfit and its like, or numpy.polynomial on the host",
    "rec recarray record": "JAX has no structured dtypes: pass fields one by one",
    "row_stack": "use vstack",
    "strings": "JAX has no arrays of text: use numpy.strings",
    "test": "it runs NumPy's own tests",
    "trapz": "use trapezoid",
    "typing": "use numpy.typing",
}
UNAVAILABLE = {name: advice for names, advice in _ADVICE.items() for name in names.split()}


def host_function(name: str):
    """Return NumPy's function, which gets copies in host memory."""
    from ._protocols import _on_host

    function = getattr(np, name)

    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*_on_host(args), **_on_host(kwargs))

    call.__module__, call.__doc__ = "jaxapi.numpy", f"As `numpy.{name}`, of copies in host memory."
    return call
