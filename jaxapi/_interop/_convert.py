"""Anything array-like to a `jax.Array` that keeps its dtype, 64-bit included.

Host memory goes to JAX's default device and is copied, unless ``copy=False``; the memory of an
accelerator stays there and is shared where it can be, unless ``copy=True``.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core._devices import cpu_device, is_cpu, is_on
from .._core._dtypes import (
    check_dtype,
    converted,
    is_kept,
    promoted_dtype,
    refuse_complex,
    x64_mode,
    x64_on,
)
from .._core._programs import ARRAY_TYPES, is_jax_array, is_traced, is_tracer_class
from .._core._typing import Array
from ._dlpack import (
    copy_cuda_interface,
    copy_dlpack,
    is_on_host,
    numpy_view,
    share_cuda_interface,
    share_dlpack,
)
from ._host_memory import SMALL, copy_host, share_host
from ._numbers import PYTHON_NUMBERS, leaf_types, numbers_to_numpy, refuse_masked, scalar_like

__all__ = ["ARRAY_TYPES", "as_argument", "as_array", "as_numpys_array", "as_operand", "as_operands"]
__all__ += ["import_array", "import_dlpack", "is_passed_on", "place"]


def as_array(x, copy: bool | None = None) -> Array:
    """Convert anything array-like; arrays keep their dtype, Python numbers take JAX's defaults.

    Pass ``copy=True`` to keep the result for later: a GPU's memory, shared otherwise, may be written to.
    """
    if isinstance(x, jax.Array):
        return x
    try:
        return import_array(x, copy=copy)
    except BufferError as error:
        raise ValueError(str(error)) from None


def as_numpys_array(sequence) -> Array:
    """Convert a list or a tuple; with x64 mode on, ints from 2**63 on have the dtype that NumPy has for them.

    Others are not converted: integers beyond 64 bits are Python objects to NumPy.
    """
    try:
        return as_array(sequence)
    except OverflowError:
        if not x64_mode() or any(is_tracer_class(cls) for cls in leaf_types(sequence)):
            raise
    host = np.asarray(sequence)
    if host.dtype.kind == "O":
        raise TypeError(
            "integers beyond 64 bits are Python objects to NumPy: pass floats, as float(x), or smaller ones"
        )
    return as_array(host)


def as_argument(x) -> Any:
    """Return what a compiled function takes for an array: a `jax.Array` as it is, else `as_array` of it.

    A small array of NumPy's is copied, and stays one: as an argument of a program it takes a tenth of the
    time that `jax.device_put` takes. So does a number, as an array without axes, and a short list of numbers.
    """
    if type(x) is np.ndarray and is_passed_on(x):
        return x.copy()
    if isinstance(x, np.generic) and is_passed_on(x):
        return np.array(x)
    is_plain = isinstance(x, (list, tuple, int, float, complex))
    if is_plain and (types := leaf_types([x])) <= PYTHON_NUMBERS:
        host = numbers_to_numpy(x, types, None)
        return host if is_passed_on(host) else copy_host(host)
    return as_array(x)


def is_passed_on(host: np.ndarray | np.generic) -> bool:
    """Whether a copy of host memory is an argument of compiled functions: a small one, of JAX's dtypes."""
    return host.nbytes <= SMALL and is_kept(host.dtype) and not jax.config.jax_disable_jit


def as_operand(x) -> Any:
    """Return what a compiled function takes: an array or a Python number as it is, else `as_argument`."""
    if type(x) in ARRAY_TYPES or type(x) in PYTHON_NUMBERS or is_jax_array(x):
        return x
    return as_argument(x)


def as_operands(x1, x2):
    """Return two operands, a Python number among them with the precision of the other, an array."""
    x1 = as_operand(x1)
    x2 = as_operand(x2)
    return scalar_like(x1, x2), scalar_like(x2, x1)


def import_array(x, dtype: np.dtype | None = None, device=None, copy: bool | None = None) -> Array:
    """Convert what is not a `jax.Array` yet; ``copy=False`` shares memory or raises BufferError."""
    if isinstance(x, (np.ndarray, np.generic)):
        return _from_host(_plain_numpy(x), dtype, device, copy)
    if isinstance(x, (list, tuple)):
        return _from_sequence(x, dtype, device, copy)
    if isinstance(x, (int, float, complex)):
        return _from_numbers(x, leaf_types([x]), dtype, device, copy)
    if hasattr(x, "__jax_array__"):
        return place(x.__jax_array__(), dtype, device, copy)
    if hasattr(x, "__dlpack_device__"):
        if is_on_host(x) and copy is not False:
            return _from_host(numpy_view(x), dtype, device, copy)
        return _converted(_share_or_copy(x, copy), dtype, device, copy)
    if hasattr(x, "__cuda_array_interface__"):
        array = _share_or_copy(x, copy, share_cuda_interface, copy_cuda_interface)
        return _converted(array, dtype, device, copy)
    if hasattr(x, "__array__") or hasattr(x, "__array_interface__"):
        return _from_host(_plain_numpy(np.asarray(x)), dtype, device, copy)
    return _from_plain_python(x, dtype, device, copy)


def import_dlpack(x, device=None, copy: bool | None = None) -> Array:
    """Convert an object with ``__dlpack__``; host memory stays on the CPU, and is shared."""
    if not isinstance(x, np.ndarray):
        return _converted(_share_or_copy(x, copy), None, device, copy)
    try:
        host = _plain_numpy(x)
        check_dtype(host.dtype)
    except TypeError as error:
        raise BufferError(str(error)) from None
    device = cpu_device() if device is None else device
    if copy:
        return copy_host(host, device=device)
    try:
        return _share_host_on(host, device)
    except BufferError:
        if copy is False:
            raise
        return copy_host(host, device=device)


def place(array: Array, dtype: np.dtype | None, device, copy: bool | None) -> Array:
    """Cast and move a `jax.Array` where its dtype and device are not the wanted ones."""
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise BufferError(f"memory of dtype {array.dtype} cannot be shared as {dtype}: pass copy=None")
        refuse_complex(array.dtype, dtype)
        with x64_on():
            array = converted(array, dtype)
        copy = None
    if device is not None:
        if is_traced(array):
            return jax.device_put(array, device)
        if not is_on(array, device):
            if copy is False:
                raise BufferError(f"memory on {array.device} cannot be shared with {device}: pass copy=None")
            copy = None
        array = jax.device_put(array, device)
    if copy:
        with x64_on():
            array = jnp.array(array, copy=True)
    return array


def _converted(array: Array, dtype, device, copy: bool | None) -> Array:
    """Cast and move what was just imported; the owner may write to memory that we only share."""
    placed = place(array, dtype, device, None if copy else copy)
    if placed is not array:
        jax.block_until_ready(placed)
    return placed


def _from_host(host: np.ndarray, dtype, device, copy: bool | None) -> Array:
    check_dtype(host.dtype)
    if copy is not False:
        if dtype is not None:
            refuse_complex(host.dtype, dtype)
        return copy_host(host, dtype, device)
    if dtype is not None and host.dtype != dtype:
        raise BufferError(f"memory of dtype {host.dtype} cannot be shared as {dtype}: pass copy=None")
    return _share_host_on(host, device)


def _share_host_on(host: np.ndarray, device) -> Array:
    if not is_cpu(device):
        raise BufferError(
            "host memory cannot be shared with another device: pass copy=None or device=jax.devices('cpu')[0]"
        )
    return share_host(host, device)


def _share_or_copy(producer, copy: bool | None, share=share_dlpack, copy_of=copy_dlpack) -> Array:
    """Return the data of another library's array on the device where it lies."""
    if copy:
        return copy_of(producer)
    try:
        return share(producer)
    except BufferError:
        if copy is False:
            raise
        return copy_of(producer)


def _from_numbers(numbers, types: set[type], dtype, device, copy: bool | None) -> Array:
    if copy is False:
        raise BufferError("Python numbers have no memory that could be shared: pass copy=None")
    return copy_host(numbers_to_numpy(numbers, types, dtype), device=device)


def _from_sequence(sequence, dtype, device, copy: bool | None) -> Array:
    types = leaf_types(sequence)
    if types <= PYTHON_NUMBERS:
        return _from_numbers(sequence, types, dtype, device, copy)
    refuse_masked(types)
    if copy is False:
        raise BufferError("a sequence has no memory that could be shared: pass copy=None")
    if any(_is_foreign_array_type(cls) for cls in types):
        return place(_stack(sequence, dtype), None, device, None)
    array_types = types - PYTHON_NUMBERS
    has_numbers = array_types < types
    if has_numbers and all(issubclass(cls, (np.ndarray, np.generic)) for cls in array_types):
        return _from_mixed(sequence, dtype, device)
    try:
        host = np.asarray(sequence)
    except ValueError as error:
        raise ValueError(f"nested sequences must be rectangular: {error}") from None
    if host.dtype.kind == "f" and all(issubclass(cls, (int, np.integer, np.bool)) for cls in types):
        raise OverflowError("no integer dtype holds all these integers: make them floats first")
    return _from_host(host, dtype, device, None)


def _from_mixed(sequence, dtype, device) -> Array:
    """Convert Python numbers among NumPy's numbers and arrays, whose dtypes decide (NEP 50)."""
    leaves = list(_leaves(sequence))
    for leaf in leaves:
        if hasattr(leaf, "dtype"):
            check_dtype(leaf.dtype)
    promoted = promoted_dtype(*(getattr(leaf, "dtype", leaf) for leaf in leaves))
    if dtype is not None:
        refuse_complex(promoted, dtype)
    try:
        host = np.asarray(sequence, dtype=promoted if dtype is None else dtype)
    except OverflowError as error:
        raise OverflowError(f"{error}; make them floats first, or pass a dtype that holds them all") from None
    except ValueError as error:
        raise ValueError(f"nested sequences must be rectangular: {error}") from None
    return copy_host(host, device=device)


def _is_foreign_array_type(cls: type) -> bool:
    """Whether NumPy should not convert the elements of this type: JAX's arrays, an accelerator's."""
    if issubclass(cls, (np.ndarray, np.generic)):
        return False
    return is_tracer_class(cls) or any(
        hasattr(cls, name) for name in ("__jax_array__", "__dlpack__", "__cuda_array_interface__")
    )


def _stack(sequence, dtype: np.dtype | None) -> Array:
    """Stack nested sequences with arrays in them, Python numbers among them cast to the arrays' dtype."""
    if dtype is None:
        dtype = promoted_dtype(*map(_number_or_array, _leaves(sequence)))
    return jnp.stack([_cast_part(part, dtype) for part in sequence])


def _cast_part(part, dtype: np.dtype) -> Array:
    if isinstance(part, jax.Array):
        return place(part, dtype, None, None)
    return import_array(part, dtype)  # not by way of JAX's default dtype, which loses precision


def _number_or_array(leaf):
    return leaf if isinstance(leaf, (int, float, complex)) else as_array(leaf)


def _leaves(sequence):
    for part in sequence:
        yield from _leaves(part) if isinstance(part, (list, tuple)) else (part,)


def _from_plain_python(x, dtype, device, copy: bool | None) -> Array:
    """Convert a buffer, or a sequence that is neither list nor tuple."""
    if isinstance(x, str):
        raise TypeError(
            f"str is not an array of numbers, got {x[:20]!r}: convert text first, as by float(text)"
        )
    if isinstance(x, bytes):
        raise TypeError("bytes is not an array of numbers: read numbers out of bytes with numpy.frombuffer")
    try:
        buffer = memoryview(x)
    except TypeError:
        if isinstance(x, Sequence):
            return _from_sequence(list(x), dtype, device, copy)
        raise TypeError(
            f"{type(x).__name__} is not array-like: pass an array, a buffer, or numbers in lists or tuples"
        ) from None
    return _from_host(np.asarray(buffer), dtype, device, copy)


def _plain_numpy(x) -> np.ndarray:
    refuse_masked([type(x)])
    return np.asarray(x)
