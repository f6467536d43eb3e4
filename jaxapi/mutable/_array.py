"""The class: a `jax.Array` that can be replaced."""

import math
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from .._core._programs import is_traced
from .._interop import as_array
from ._conversion import Conversion
from ._declared import Declared
from ._indexing import element_of, is_symbolic, read, selection_of, write
from ._keys import parts_of
from ._methods import Methods
from ._selection import Selection, put, take
from ._storage import Storage, duplicate
from ._views import View

__all__ = ["Array", "copied", "register", "reshaped", "shared", "unwrap", "view_of", "wrap"]

_VERSIONS = frozenset([None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"])


class Array(Storage, Conversion, Methods, Declared):
    """An array that can be assigned to, of any dtype, shape and device of JAX.

    It holds a `jax.Array` and replaces it when it is written to: ``x[key] = value`` and ``x += y`` change
    ``x`` for everyone who holds ``x``, as in NumPy. ``x[1:]``, ``x[0]`` of a matrix, ``x.T``, ``x.mT`` and
    ``reshape(x, shape)`` are views where NumPy's are: what is written to them is written to ``x``. Unlike
    NumPy's, the results of other functions, such as ``permute_dims(x, axes)``, are copies ([1]_).

    Arrays are made by the functions of `jaxapi.mutable`; the class is for ``isinstance``. Called, it takes a
    shape and makes an array of zeros, as `numpy.ndarray` makes one of anything.

    Attributes
    ----------
    dtype, shape, ndim, size : as of `jax.Array`
    device : Device or Sharding
        None under a transformation.
    T, mT : Array
        Transposed views.

    Raises
    ------
    IndexError
        If an int is out of bounds, as in NumPy. Integer arrays are checked where they lie in host memory;
        those on a GPU follow JAX: reading clamps them, writing drops them.
    TypeError
        If a complex value is written to a real array, or an operator in place (``x += y``) had to change
        the dtype to another kind.
    ValueError
        If shapes do not broadcast.

    Notes
    -----
    A write reuses the memory of the array (donation) unless it may be held elsewhere, and each write is
    atomic: another thread sees all of it or nothing. What others got before stays as it was:
    ``jnp.asarray(x)``, DLPack.

    A pytree: arrays pass through `jax.jit`, `jax.vmap`, `jax.lax.scan` and so on, and may be written to
    inside. There functions see values: what a function under `jax.jit` writes to its argument is not seen
    by its caller (`jaxapi.mutable.fuse` hands it over). Writing to an array from outside raises under
    `jax.jit` and `jax.lax`; what `jax.vmap` or `jax.grad` alone traces JAX refuses where it is used later.
    For the derivatives of a loss that is an array see `jaxapi.mutable.grad`.

    References
    ----------
    .. [1] Array API standard 2025.12, "Copy-view behavior and mutability".

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> x = xp.zeros(4, dtype=xp.float32)
    >>> x[1:3] = 2
    >>> x[x == 0] -= 1
    >>> x
    jaxapi.mutable.Array([-1.,  2.,  2., -1.], dtype=float32)
    """

    __slots__ = ()
    __array_priority__ = 1000  # NumPy's arrays leave operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __new__(cls, shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
        """Make an array of a shape, as `numpy.ndarray`: of a buffer, or of zeros."""
        from ..numpy._creation import of_shape

        return wrap(of_shape(shape, dtype, buffer, offset, strides, order)._value, cls)

    # Attributes

    @property
    def dtype(self) -> np.dtype:
        """The data type of the elements."""
        return self._owner._typed.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def device(self) -> Any:
        """Where the array lies: a `jax.Device`, a Sharding if on several, None if traced."""
        value = self._owner._value
        return None if is_traced(value) else value.device

    @property
    def T(self) -> Self:
        """The view with the axes in reverse order."""
        return self._transposed(tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Self:
        """The view with the last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError(f"mT takes at least two axes, got an array of {self.ndim}: use T or reshape")
        *rest, last, least = range(self.ndim)
        return self._transposed((*rest, least, last))

    def _transposed(self, axes: tuple[int, ...]) -> Any:
        if is_symbolic(self.shape):
            return wrap(jnp.transpose(self._value, axes), type(self))
        return self._part(Selection.transposed(self.shape, axes))

    def _is_contiguous(self) -> bool:
        """Whether NumPy's array would be."""
        return not self._view or _layout(self).flags.c_contiguous

    def _part(self, selection: Selection) -> Any:
        if 0 in selection.shape:  # perhaps along a new axis, of which the owner knows nothing
            return wrap(take(self._value, selection), type(self))
        return view_of(*self._place(selection))

    # To other types

    def to_device(self, device: Any, /, *, stream: None = None) -> Any:
        """Copy to another device; the array itself if it lies there."""
        if device == self.device and stream is None:
            return self
        return shared(self._handed_out().to_device(device, stream=stream), type(self))

    def __array_namespace__(self, /, *, api_version: str | None = None) -> types.ModuleType:
        """Return `jaxapi.mutable`."""
        if api_version not in _VERSIONS:
            raise ValueError(
                f"jaxapi.mutable follows the array API standard up to 2025.12, not {api_version!r}"
            )
        return sys.modules[__package__]

    def __jax_array__(self) -> jax.Array:
        """Return the value as it is now, for the functions of jax.numpy; others of JAX do not call it."""
        return self._handed_out()

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        equal = self == value
        return bool(equal._value.any()) if isinstance(equal, Array) else equal  # None equals no element

    def __reduce__(self):
        return _unpickled, (np.asarray(self._value), type(self))

    def __copy__(self) -> Self:
        return copied(self)

    def __deepcopy__(self, memo: dict) -> Self:
        return copied(self)

    # Indexing

    def __getitem__(self, key: Any, /) -> Self:
        keys, place = _parsed(key, self.shape)
        if place is not None:  # a copy, as NumPy's scalars are
            owner, place = self._place_of_element(place)
            if (host := owner._seen_by_host()) is not None:
                return _held_by_host(np.array(host[tuple(place)]), type(self))
            return _wrap_apart(take(owner._value, Selection(tuple(place), ())), owner)
        selection = selection_of(self.shape, keys)
        return wrap(read(self._value, keys), type(self)) if selection is None else self._part(selection)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        keys, place = _parsed(key, self.shape)
        if place is not None:
            owner, place = self._place_of_element(place)
            if not owner._write_by_host(place, value):
                owner._rewrite(put, Selection(tuple(place), ()), unwrap(value))
            return
        selection = selection_of(self.shape, keys)
        if selection is None or 0 in selection.shape:
            self._rewrite(write, keys, unwrap(value))
            return
        owner, selection = self._place(selection)
        if not isinstance(value, Array) or not value._view or not value._view.is_part(owner, selection):
            owner._rewrite(put, selection, unwrap(value))


_new = object.__new__


def wrap(value: Any, kind: type[Array] = Array) -> Any:
    """Make an array of a value whose memory nobody else has, unless by reference to the same object."""
    array = _new(kind)
    array._value = value
    array._host = None
    array._shared = False
    array._view = None
    array._lock = threading.RLock()
    return array


def view_of(owner: Array, part: Selection | None, shape: tuple | None = None, kind=None) -> Any:
    """Return a part of an array as a view, or all of it, perhaps in another shape."""
    array = _new(kind or type(owner))
    array._view, array._host, array._shared = View(owner, part, shape), None, False
    return array


def _held_by_host(host: np.ndarray, kind: type[Array]) -> Any:
    array = _new(kind)
    array._view, array._host, array._shared = None, host, False
    array._lock = threading.RLock()
    return array


def reshaped(array: Array, shape: tuple[int, ...]) -> Array | None:
    """Return the view in another shape; None where NumPy would have to copy."""
    if array._view:
        try:
            _layout(array).reshape(shape, copy=False)
        except ValueError:
            return None
    return view_of(array, None, shape)


def _layout(array: Array) -> np.ndarray:
    """Return an array with the strides that NumPy's would have; its elements are nowhere and not read."""
    if array._view:
        return array._view.layout(_layout(array._view.owner))
    strides = [math.prod(array.shape[axis + 1 :]) for axis in range(array.ndim)]
    return np.lib.stride_tricks.as_strided(np.empty(1, np.int8), array.shape, strides)


def shared(value: Any, kind: type[Array] = Array) -> Any:
    """Make an array of a value whose memory others may have."""
    array = wrap(value, kind)
    array._shared = True
    return array


def copied(source: Array) -> Any:
    """Return a copy."""
    return _wrap_apart(source._value, source._owner)


def _wrap_apart(value: jax.Array, owner: Array) -> Any:
    """Make an array of what was read of another one, which may be all of that."""
    return wrap(duplicate(value) if value is owner._value else value, type(owner))


def unwrap(x):
    """Return the value of an array; lists and tuples are looked through."""
    if isinstance(x, Array):
        return x._value
    kind = type(x)
    if kind is list:
        return [unwrap(part) for part in x]
    if kind is tuple:
        return tuple(unwrap(part) for part in x)
    return x


def _unpickled(host, kind=Array):
    return wrap(as_array(host), kind)


_PLAIN_PARTS = frozenset([int, slice, type(None), type(...)])


def _parsed(key, shape: tuple) -> tuple[tuple, list[int] | None]:
    """Return the parts of a key, and the position if they are ints alone."""
    keys = key if type(key) is tuple else (key,)
    place = element_of(shape, keys)
    if place is None and not _PLAIN_PARTS.issuperset(map(type, keys)):
        keys = parts_of(_plain_key(key))
        place = element_of(shape, keys)  # of NumPy's ints
    return keys, place


def _plain_key(key):
    if isinstance(key, Array):
        return key._value
    kind = type(key)
    if kind is tuple:
        return tuple(map(_plain_key, key))
    return unwrap(key) if kind is list else key


# A pytree


def _child(array):
    view = array._view
    is_nested = view and view.part is None and view.reshaped is None
    return view.owner if is_nested else array._handed_out()  # jax.device_put shares memory unseen


def register(kind: type[Array]) -> None:
    """Make a class of arrays a pytree."""

    def unflatten(_, children):
        (child,) = children
        # `jax.jacfwd` and its like return the arguments' pytrees as leaves of the result's. Such an array
        # stays a pytree in a pytree, as JAX expects when it takes it apart again: a view of all of it.
        return view_of(child, None) if isinstance(child, Array) else shared(child, kind)

    jax.tree_util.register_pytree_with_keys(
        kind,
        lambda array: (((jax.tree_util.GetAttrKey("value"), _child(array)),), None),
        unflatten,
        lambda array: ((_child(array),), None),
    )


register(Array)
