"""Which dtypes a `jax.Array` can have, and which one Python's numbers get."""

from typing import Any, overload

import jax.numpy as jnp
import numpy as np

from ._typing import DTypeLike
from ._x64 import NARROWED, WIDE, x64_mode, x64_on

__all__ = [
    "check_dtype",
    "default_dtype",
    "native_dtype",
    "promoted_dtype",
    "refuse_complex",
    "resolve_dtype",
]

_NAMES = (
    *("bool", "int2", "int4", "int8", "int16", "int32", "int64"),
    *("uint2", "uint4", "uint8", "uint16", "uint32", "uint64"),
    *("bfloat16", "float16", "float32", "float64", "complex64", "complex128"),
    *("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
_SUPPORTED = frozenset(np.dtype(getattr(jnp, name)) for name in _NAMES if hasattr(jnp, name))

_DEFAULTS = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}

# By NumPy's dtype kind.
_REMEDIES = {
    "M": "convert dates to numbers first, as in (x - x[0]) / numpy.timedelta64(1, 's')",
    "m": "convert durations to numbers first, as in x / numpy.timedelta64(1, 's')",
    "O": "convert it to one numeric dtype first, as in x.astype(float)",
    "S": "read the numbers out of bytes with numpy.frombuffer(x, dtype)",
    "U": "convert text to numbers first, as in x.astype(float)",
    "T": "convert text to numbers first, as in x.astype(float)",
    "V": "pass the fields of a structured array one by one",
    "f": "convert it first, as in x.astype(float)",
    "c": "convert it first, as in x.astype(complex)",
}


def native_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype in this machine's byte order."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def check_dtype(dtype: np.dtype) -> None:
    """Raise TypeError, with the remedy, where JAX has no such dtype."""
    if dtype not in _SUPPORTED and native_dtype(dtype) not in _SUPPORTED:
        remedy = _REMEDIES.get(dtype.kind, "convert it first")
        raise TypeError(f"JAX has no arrays of dtype {dtype}: {remedy}")


def refuse_complex(source: np.dtype, target: np.dtype) -> None:
    """Raise TypeError where a cast would drop imaginary parts; as bool a number is whether it is not 0."""
    if not jnp.issubdtype(source, jnp.complexfloating) or target == np.bool:
        return
    if not jnp.issubdtype(target, jnp.complexfloating):
        raise TypeError(f"complex numbers do not become {target}: take real(x) or imag(x) first")


def default_dtype(kind: type) -> np.dtype:
    """Return the dtype that JAX gives a Python number of this type now (x64 mode on or off)."""
    wide = np.dtype(_DEFAULTS[kind])
    return wide if x64_mode() else NARROWED.get(wide, wide)


@overload
def resolve_dtype(dtype: None) -> None: ...
@overload
def resolve_dtype(dtype: DTypeLike) -> np.dtype: ...


def resolve_dtype(dtype):
    """Return ``dtype=`` as a NumPy dtype that JAX has; ``int``, ``float`` and the like are JAX's defaults."""
    if dtype is None:
        return None
    if any(dtype is kind for kind in (bool, int, float, complex)):  # numpy.dtype("int64") == int
        return default_dtype(dtype)
    dtype = native_dtype(np.dtype(dtype))
    check_dtype(dtype)
    return dtype


def promoted_dtype(*values) -> np.dtype:
    """Return the dtype that arrays, dtypes and Python numbers promote to, 64-bit ones with x64 off too."""
    weak = [x for x in values if _is_weak(x)]
    strong = [x for x in values if not _is_weak(x)]
    dtypes: set[Any] = {x if isinstance(x, np.dtype) else getattr(x, "dtype", None) for x in strong}
    if not weak and len(dtypes) == 1 and dtypes <= _SUPPORTED:
        return dtypes.pop()
    if x64_mode():
        return jnp.result_type(*values)
    if not strong:
        return jnp.result_type(*weak)
    with x64_on():
        promoted = jnp.result_type(*strong)
        if promoted in WIDE:
            return jnp.result_type(promoted, *weak)
    return jnp.result_type(promoted, *weak) if weak else promoted


def _is_weak(x) -> bool:
    if isinstance(x, int | float | complex):
        return not isinstance(x, np.generic)  # numpy.float64 is a float, and has a dtype
    return getattr(x, "weak_type", False)
