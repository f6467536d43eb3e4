"""The dtypes of arrays: 64 bits that are kept, the dtypes that there are, and what operands promote to.

What explicitly has 64 bits keeps them, whatever JAX's x64 mode. JAX's setting for explicit requests is
``jax_explicit_x64_dtypes``; its default warns and truncates. Importing jaxapi sets it to ``'allow'``,
process-wide, unless the user chose otherwise or x64 mode is on already. Some of JAX's operations then still
fail on 64-bit arrays or compute with 32 bits; the functions that repair them open a 64-bit context of their
own, by `x64_for`.

JAX leaves the standard's table of promotions where x64 mode is off: uint32 with int32 gives int32, and uint64
with int64 float32.
"""

import contextlib
import functools
import os
import threading
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np

from ._traces import in_a_trace
from ._typing import Array, ArrayLike, DTypeLike

__all__ = ["NARROWED", "WIDE", "allow_explicit_dtypes", "as_factors", "as_indices", "as_inexact"]
__all__ += ["check_dtype", "converted", "default_dtype", "explicit_64_bits", "has_64_bits", "is_kept"]
__all__ += ["is_numpys", "is_registered"]
__all__ += ["is_lowered_narrow", "lacks_64_bits", "native_dtype"]
__all__ += [
    "promoted",
    "promoted_dtype",
    "refuse_complex",
    "resolve_dtype",
    "with_operands_promoted",
    "x64_as",
]
__all__ += ["x64_for", "x64_inside", "x64_mode", "x64_on"]

NARROWED = {
    dtype: np.dtype(narrow)
    for wide, narrow in (
        ("int64", "int32"),
        ("uint64", "uint32"),
        ("float64", "float32"),
        ("complex128", "complex64"),
    )
    for dtype in (np.dtype(wide), np.dtype(wide).newbyteorder())  # which are not equal
}
WIDE = frozenset(NARROWED)

_FIRST_OF_OTHERS = 256  # the number of the first dtype that another library registers with NumPy
_AS_IT_IS = contextlib.nullcontext()
_config = jax.config


def allow_explicit_dtypes() -> None:
    """Let explicit 64-bit dtypes through with x64 off; leave a choice of the user's alone."""
    if "JAX_EXPLICIT_X64_DTYPES" in os.environ or x64_mode():
        return
    if hasattr(jax.config, "jax_explicit_x64_dtypes"):
        jax.config.update("jax_explicit_x64_dtypes", "allow")


def x64_mode() -> bool:
    """Whether JAX's x64 mode is on, which makes 64 bits the default."""
    return _config.jax_enable_x64


def explicit_64_bits() -> bool:
    """Whether arrays of 64-bit dtypes can be made, with x64 on or by an explicit dtype."""
    if x64_mode():
        return True
    choice = getattr(jax.config, "jax_explicit_x64_dtypes", None)
    return _can_make_float64() if choice is None else choice.name == "ALLOW"


@functools.cache
def _can_make_float64() -> bool:
    """Try, with x64 off: a JAX without the setting has one behaviour."""
    with warnings.catch_warnings(), x64_as(False):
        warnings.simplefilter("ignore")
        return jax.eval_shape(lambda: jnp.zeros((), "float64")).dtype == np.float64


def has_64_bits(x: Any) -> bool:
    """Whether ``x``, traced or not, is an array of a 64-bit dtype."""
    return getattr(x, "dtype", None) in WIDE


def lacks_64_bits(x: Any) -> bool:
    """Whether x64 mode is off and the array ``x`` 64 bits wide: JAX then lacks some operations."""
    return x.dtype in WIDE and not x64_mode()


def is_numpys(dtype: np.dtype) -> bool:
    """Whether a dtype is one of NumPy's numbers, in the machine's byte order.

    ``dtype.isbuiltin`` is 0 for a copy of such a dtype, as what was unpickled has; and JAX, which keeps
    dtypes by their values, gives copies to arrays that have nothing to do with it.
    """
    return dtype.kind in "biufc" and dtype.isnative and dtype.num < _FIRST_OF_OTHERS


def is_registered(dtype: np.dtype) -> bool:
    """Whether a dtype is one of NumPy's numbers or, as bfloat16, one that was registered with it."""
    return is_numpys(dtype) or dtype.isbuiltin == 2


def x64_as(on: bool) -> AbstractContextManager[Any]:
    """Return a context in which x64 mode is on or off, whatever it is outside."""
    return jax.enable_x64(on)


def x64_on() -> AbstractContextManager[Any]:
    """Return a context in which nothing loses its 64 bits."""
    return jax.enable_x64(True)


class _Thread(threading.local):
    is_inside = False  # of `x64_inside`, with x64 mode off around it


_thread = _Thread()


class X64Inside:
    """x64 mode, with this mode off around it."""

    __slots__ = ("_mode", "_was_inside")

    def __enter__(self) -> None:
        self._was_inside = _thread.is_inside
        self._mode = jax.enable_x64(True)
        self._mode.__enter__()
        _thread.is_inside = True

    def __exit__(self, *error: Any) -> None:
        _thread.is_inside = self._was_inside
        self._mode.__exit__(*error)


def x64_inside() -> AbstractContextManager[Any]:
    """Return a context in which x64 mode is on, also while a transformation around it has it off."""
    return _AS_IT_IS if _config.jax_enable_x64 else X64Inside()


def is_lowered_narrow() -> bool:
    """Whether what is traced now is lowered, and transposed, where x64 mode is off, around `x64_inside`.

    Some of JAX's operations choose the bits of their constants there: those of 64 bits raise, or lose half of
    them.
    """
    return _thread.is_inside and in_a_trace()


def x64_for(*dtypes: np.dtype) -> AbstractContextManager[Any]:
    """Return a context in which arrays of these dtypes keep their bits: x64 mode, if one is 64 bits wide.

    It may be opened in the middle of a compiled function, around operations that JAX lowers by their
    operands' dtypes alone (its `argmax`, which makes constants of its own, is none of these).
    """
    return _AS_IT_IS if WIDE.isdisjoint(dtypes) or x64_mode() else x64_on()


_NAMES = (
    *("bool", "int2", "int4", "int8", "int16", "int32", "int64"),
    *("uint2", "uint4", "uint8", "uint16", "uint32", "uint64"),
    *("bfloat16", "float16", "float32", "float64", "complex64", "complex128"),
    *("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
_SUPPORTED = frozenset(np.dtype(getattr(jnp, name)) for name in _NAMES if hasattr(jnp, name))

_DEFAULTS = {
    bool: np.dtype("bool"),
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}

_OF_TEXT = (
    "convert text to numbers first, as in numpy.asarray(text, float); numpy.asarray(x).astype(str) is text"
)
# By NumPy's dtype kind.
_REMEDIES = {
    "M": "convert dates to numbers first, as in (x - x[0]) / numpy.timedelta64(1, 's')",
    "m": "convert durations to numbers first, as in x / numpy.timedelta64(1, 's')",
    "O": "convert it to one numeric dtype first, as in x.astype(float)",
    "S": "read the numbers out of bytes with numpy.frombuffer(x, dtype)",
    "U": _OF_TEXT,
    "T": _OF_TEXT,
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


def is_kept(dtype: np.dtype) -> bool:
    """Whether JAX has this dtype, and a program in JAX's mode keeps its bits."""
    return dtype in _SUPPORTED and (dtype not in WIDE or x64_mode())


def refuse_complex(source: np.dtype, target: np.dtype) -> None:
    """Raise TypeError where a cast would drop imaginary parts; as bool a number is whether it is not 0."""
    if not jnp.issubdtype(source, jnp.complexfloating) or target == np.bool:
        return
    if not jnp.issubdtype(target, jnp.complexfloating):
        raise TypeError(f"complex numbers do not become {target}: take real(x) or imag(x) first")


def default_dtype(number_type: type) -> np.dtype:
    """Return the dtype that JAX gives a Python number of this type now (x64 mode on or off)."""
    wide = _DEFAULTS[number_type]
    return wide if x64_mode() else NARROWED.get(wide, wide)


@overload
def resolve_dtype(dtype: None) -> None: ...
@overload
def resolve_dtype(dtype: DTypeLike) -> np.dtype: ...


def resolve_dtype(dtype: DTypeLike | None) -> np.dtype | None:
    """Return ``dtype=`` as a NumPy dtype that JAX has; ``int``, ``float`` and the like are JAX's defaults."""
    if dtype is None:
        return None
    for number_type in (bool, int, float, complex):
        if dtype is number_type:  # numpy.dtype("int64") == int
            return default_dtype(number_type)
    dtype = native_dtype(np.dtype(dtype))
    check_dtype(dtype)
    return dtype


def promoted_dtype(*values: Any) -> np.dtype:
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


def _is_weak(x: Any) -> bool:
    if isinstance(x, int | float | complex):
        return not isinstance(x, np.generic)  # numpy.float64 is a float, and has a dtype
    return getattr(x, "weak_type", False)


def promoted(*arrays: ArrayLike) -> tuple[ArrayLike, ...]:
    """Return the arrays and numbers in the 64-bit dtype that they promote to, where JAX would miss it."""
    if x64_mode() or (dtype := promoted_dtype(*arrays)) not in WIDE:
        return arrays
    with x64_on():
        return tuple(jnp.asarray(x, dtype) for x in as_factors(*arrays))


def converted(x: Array, dtype: np.dtype) -> Array:
    """Return an array in a dtype; truth values become floats by way of integers.

    XLA makes a selection of a product with truth values that it sees converted: where they are False it is 0,
    of NaN, of infinities and of -0, too.
    """
    if x.dtype == np.bool and jnp.issubdtype(dtype, jnp.inexact):
        x = x.astype(np.int8)
    return x.astype(dtype)


def as_factors(*arrays: ArrayLike) -> tuple[ArrayLike, ...]:
    """Return arrays and numbers to multiply: truth values next to floats as integers, as of `converted`."""
    are_truths = [getattr(x, "dtype", None) == np.bool for x in arrays]
    if not any(are_truths) or not any(jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in arrays):
        return arrays
    return tuple(
        jnp.asarray(x, np.int8) if is_truth else x for x, is_truth in zip(arrays, are_truths, strict=True)
    )


def with_operands_promoted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Trace a function of two arrays with both in the dtype that they promote to, which it keeps."""

    @functools.wraps(function)
    def traced(x1: Array, x2: Array, *options: Any) -> Any:
        dtype = promoted_dtype(x1, x2)
        with x64_for(dtype):
            return function(converted(x1, dtype), converted(x2, dtype), *options)

    return traced


def as_indices(x: ArrayLike) -> ArrayLike:
    """Return integers of 32 bits at least: JAX adds lengths to indices in the dtype of these, and wraps."""
    dtype = jnp.result_type(x)
    narrow = dtype == np.bool or (jnp.issubdtype(dtype, jnp.integer) and dtype.itemsize < 4)
    return jnp.asarray(x, np.int32) if narrow else x


def as_inexact(x: Array) -> Array:
    """Return integers as floats, of 64 bits where they or the default float have so many."""
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else converted(x, promoted_dtype(x, 0.0))
