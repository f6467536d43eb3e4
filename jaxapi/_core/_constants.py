"""Numbers and positions that statements repeat, kept where JAX's programs read them.

Sent anew with each statement they take as long as the rest of it on a GPU: programs take twice the time.
"""

import functools
import inspect
import struct
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ._dtypes import WIDE, x64_for, x64_mode
from ._traces import eagerly, is_jax_array

__all__ = ["Operands", "constant", "constant_on", "may_be_kept", "positions", "repeated"]

_MANY = 4096  # of each
_SMALL = 64  # bytes of an array of NumPy's

_PYTHON = frozenset([bool, int, float, complex])
_DOUBLE = struct.Struct("d")


def constant(number: complex, dtype: np.dtype) -> jax.Array:
    """Return a Python number as an array without axes on JAX's default device."""
    kind: Any = type(number)
    bits = number if kind is int else _bits(number)
    kept = _kept(kind, bits, dtype, jax.config.jax_default_device)
    if kept.array is None:
        with np.errstate(over="ignore"):  # of which the caller warns, each time
            host = np.asarray(number, dtype)
        with eagerly(), x64_for(dtype):
            kept.array = jax.device_put(host)
    return kept.array


def positions(starts: tuple[int, ...]) -> jax.Array:
    """Return positions below 2**31 as a vector on JAX's default device."""
    return _positions(starts, jax.config.jax_default_device)


def may_be_kept() -> bool:
    """Whether numbers of a call outside of transformations may be kept: programs run, and not on a mesh."""
    return not jax.config.jax_disable_jit and jax.sharding.get_abstract_mesh().empty


@functools.lru_cache(_MANY)
def constant_on(value: float | tuple[float, ...], dtype: np.dtype, sharding: Any) -> jax.Array:
    """Return a number, or a vector of a few, on the devices of a sharding, kept there.

    To send three of them takes the host of a short search as long as all the rest: a loop of calls of 1,000
    queries would take half as long again.
    """
    return jax.device_put(np.asarray(value, dtype), sharding)


class Operands:
    """The arguments of a function that are operands of its program, which `jax.jit` compiled.

    A number among them becomes an array on the device that computes, from its second use on: loops use most
    of their numbers once. No result of a program shares its memory, so nobody else gets hold of it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        static_argnums: int | tuple[int, ...] = (),
        static_argnames: str | tuple[str, ...] | list[str] = (),
        donate_argnums: int | tuple[int, ...] = (),
        **_: Any,
    ):
        """Take what `jax.jit` is given."""
        names = list(inspect.signature(function).parameters)
        static = {static_argnames} if isinstance(static_argnames, str) else {*static_argnames}
        positions: set[int] = set()
        for numbers in (static_argnums, donate_argnums):
            positions |= {numbers} if isinstance(numbers, int) else {*numbers}
        static |= {name for i, name in enumerate(names) if i in positions}
        self._others = frozenset(static)
        self._other_positions = frozenset(positions | {names.index(name) for name in static})

    def on_device(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """Return the arguments of a call outside of transformations, with numbers as arrays."""
        positions = [i for i, x in enumerate(args) if i not in self._other_positions and _is_number(x)]
        names = [name for name, x in kwargs.items() if name not in self._others and _is_number(x)]
        if (not positions and not names) or not _has_one_device(args):
            return args, kwargs
        device = _device_of(args)
        all_args = list(args)
        for i in positions:
            all_args[i] = repeated(args[i], device)
        return tuple(all_args), kwargs | {name: repeated(kwargs[name], device) for name in names}


def _is_number(x: Any) -> bool:
    """Whether a value is one that `jax.jit` sends to the device, and small: none that it makes narrower."""
    if type(x) in _PYTHON:
        return True
    if type(x) is not np.ndarray and not isinstance(x, np.generic):
        return False  # of a subclass JAX tells whether it takes it: not of masked arrays
    return x.nbytes <= _SMALL and x.dtype.isnative and (x.dtype not in WIDE or x64_mode())


def _has_one_device(args: tuple[Any, ...]) -> bool:
    """Whether a program computes with arrays of one device."""
    if not may_be_kept():
        return False
    shardings = [x.sharding for x in args if is_jax_array(x)]
    return all(isinstance(sharding, jax.sharding.SingleDeviceSharding) for sharding in shardings)


def _device_of(args: tuple[Any, ...]) -> Any:
    """Return the device that arrays are bound to, else JAX's default one."""
    for x in args:
        if is_jax_array(x) and x.committed:
            (device,) = x.sharding.device_set
            return device
    return jax.config.jax_default_device


def repeated(value: Any, device: Any) -> Any:
    """Return a number, or its array if it was used before: of its dtype, weak for Python's, bound nowhere."""
    kind: Any = type(value)
    is_pythons = kind in _PYTHON
    if is_pythons:
        kept = _kept(kind, _bits(value), x64_mode(), device)
    else:
        kept = _kept(value.shape, value.tobytes(), value.dtype, device)
    if kept.array is not None:
        return kept.array
    if not kept.was_used:
        kept.was_used = True
        return value
    try:
        with jax.default_device(device):
            # Compiles nothing, unlike jnp.array; of NumPy's memory, which may change, it is given a copy.
            kept.array = jax.device_put(value if is_pythons else np.array(value))
    except OverflowError:  # of which the program says more
        return value
    return kept.array


class _Kept:
    """What is known of a value: its array, once there is one."""

    __slots__ = ("array", "was_used")

    def __init__(self) -> None:
        self.array: Any = None
        self.was_used = False


@functools.lru_cache(_MANY)
def _kept(kind: Any, bits: Any, dtype: Any, device: Any) -> _Kept:
    return _Kept()


def _bits(number: complex) -> Any:
    """Return what tells a number from others of its class: -0.0 from 0.0, and one NaN from another."""
    if type(number) is float:
        return _DOUBLE.pack(number)
    if type(number) is complex:
        return _DOUBLE.pack(number.real), _DOUBLE.pack(number.imag)
    return number


@functools.lru_cache(_MANY)
def _positions(starts: tuple[int, ...], device: Any) -> jax.Array:
    with eagerly():
        return jax.device_put(np.asarray(starts, np.int32))
