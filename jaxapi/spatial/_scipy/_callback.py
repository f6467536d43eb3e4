"""Functions of NumPy arrays inside of transformations: XLA calls them back, once for a batch of vmap.

The path of a call reads from `called_back` down. Arrays are divided into known and traced ones. JAX is told
the shapes of the results (`_Callback.in_program`), and where the program runs it hands over the values of the
traced arrays (`of_buffers` or `of_packed`). Together with the known ones they are a `Batch`, with which the
function is called in a thread of our own (`of_arrays`).
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import WIDE, x64_for
from ..._core._internals import buffer_callback
from ..._core._programs import any_traced, is_traced
from .._engines._choice import only_the_cpu
from .._tree._slopes import without_slope
from .._tree._varying import varying_like
from ._threads import in_own_thread, start_threads

__all__ = ["Batch", "Result", "called_back", "computed", "in_a_program"]


class Result(NamedTuple):
    """The shape and dtype of what a function returns for one item of a batch."""

    shape: tuple[int, ...]
    dtype: np.dtype


class Batch(NamedTuple):
    """The inputs of a function for all items of a batch: a pytree of NumPy arrays.

    The arrays have as many axes in front as `shape`, each of the batch's size, or 1 where all items share
    them. Outside of `jax.vmap` there is one item, and `shape` is empty.
    """

    shape: tuple[int, ...]
    inputs: Any

    def are_shared(self, inputs) -> bool:
        """Tell whether all items have the same arrays."""
        axes = len(self.shape)
        return all(size == 1 for array in jax.tree.leaves(inputs) for size in array.shape[:axes])

    def items(self) -> Iterator[Any]:
        """Yield the inputs of each item."""
        for index in np.ndindex(*self.shape):
            yield jax.tree.map(partial(self._item, index=index), self.inputs)

    def in_line(self) -> Any:
        """Return the inputs with one axis in front, as long as all items together or 1."""
        return jax.tree.map(self._line, self.inputs)

    def _item(self, array, index):
        sizes = array.shape[: len(self.shape)]
        return array[tuple(i if size > 1 else 0 for i, size in zip(index, sizes, strict=True))]

    def _line(self, array):
        axes = len(self.shape)
        shape = array.shape[axes:]
        if not self.are_shared(array):
            array = np.broadcast_to(array, self.shape + shape)
        return array.reshape(math.prod(array.shape[:axes]), *shape)


def in_a_program() -> bool:
    """Tell whether JAX is tracing a program: then constants are a part of it."""
    return is_traced(lax.full((), 0, np.int32))


def computed(function: Callable, results: list[Result], *arguments) -> list:
    """Return what a function of NumPy arrays, or None, returns of these; traced ones are handed over."""
    if not any_traced(*arguments):
        arrays = [None if each is None else np.asarray(each) for each in arguments]
        found = function(*arrays)
        return [np.asarray(each, result.dtype) for each, result in zip(found, results, strict=True)]

    def of_batch(batch: Batch):
        of_items = [function(*item) for item in batch.items()]
        return [np.stack(each) for each in zip(*of_items, strict=True)]

    return called_back(of_batch, results, arguments)


def called_back(function: Callable[[Batch], list], results: list[Result], inputs) -> list:
    """Return what a function of a batch returns when the values of its inputs are known, a pytree of arrays.

    The function's results have the axes of the batch in front. Nothing has derivatives. What is known already
    is not handed to XLA.
    """
    arrays, structure = jax.tree.flatten(inputs)
    traced = []
    known: list[np.ndarray | None] = []
    for array in arrays:
        if is_traced(array):
            traced.append(without_slope(array))
            known.append(None)
        else:
            known.append(np.array(array))
    callback = _Callback(function, results, traced, known, structure)
    start_threads()
    if not traced:
        return callback.at_once()
    return varying_like(callback.in_program(traced), traced)


class _Callback:
    """A function of a batch as JAX calls it: with the traced arrays alone."""

    def __init__(
        self, function: Callable[[Batch], list], results: list[Result], traced: list, known: list, structure
    ):
        self.function = function
        self.results = results
        self.known = known  # None in the place of each traced array
        self.structure = structure  # of the inputs, whose leaves these arrays are
        self.traced = [(each.ndim, np.dtype(each.dtype)) for each in traced]

    def in_program(self, traced: list) -> list:
        """Return the results, which a program computes by calling back; with the axes of a batch in front.

        Where `jax.vmap` alone runs step by step, JAX would compile a program for each call of this function.
        """
        if not in_a_program():
            return self._step_by_step(traced)
        batch_shape = self._batch_shape(traced)
        if only_the_cpu():
            # In a tenth of the time of `jax.pure_callback`, which copies.
            shapes = [jax.ShapeDtypeStruct(batch_shape + each.shape, each.dtype) for each in self.results]
            return buffer_callback(self.of_buffers, shapes, vmap_method="expand_dims")(*traced)
        shapes = [self.packed_shape(batch_shape, each) for each in self.results]
        packed = [_packed(each) for each in traced]
        found = jax.pure_callback(self.of_packed, shapes, *packed, vmap_method="expand_dims")
        return [_unpacked(each, result.dtype) for each, result in zip(found, self.results, strict=True)]

    @staticmethod
    def packed_shape(batch_shape: tuple[int, ...], result: Result) -> jax.ShapeDtypeStruct:
        """Return the shape and dtype of a packed result."""
        shape = batch_shape + result.shape
        if result.dtype in WIDE:
            return jax.ShapeDtypeStruct((*shape, 2), np.uint32)
        return jax.ShapeDtypeStruct(shape, result.dtype)

    def _step_by_step(self, traced: list) -> list:
        """Return the results under `jax.vmap` alone, whose rule is handed the arrays of all items."""

        @jax.custom_batching.custom_vmap
        def of_traced(*arrays):
            return self._in_step(arrays)

        @of_traced.def_vmap
        def of_batch(_, is_batched, *arrays):
            in_front = [
                array if has_axis else array[None] for array, has_axis in zip(arrays, is_batched, strict=True)
            ]
            results = self._in_step(in_front)
            return results, [True] * len(results)

        return of_traced(*traced)

    def _in_step(self, arrays) -> list:
        """Return the results of one step; arrays that turned out to be known need no program."""
        return self.in_program(list(arrays)) if any_traced(*arrays) else self.at_once(*arrays)

    def at_once(self, *known) -> list[jax.Array]:
        """Return the results of arrays that turned out to be known."""
        with x64_for(*(result.dtype for result in self.results)):
            return [jax.device_put(each) for each in self.of_arrays(*map(np.asarray, known))]

    def of_buffers(self, _, outputs, *inputs) -> None:
        """Write the results of XLA's own memory into other memory of XLA's."""
        found = self.of_arrays(*map(np.asarray, inputs))
        for output, result in zip(outputs, found, strict=True):
            np.asarray(output)[...] = result

    def of_packed(self, *packed):
        """Return the packed results of packed arrays."""
        arrays = [_unpacked(np.asarray(x), dtype) for x, (_, dtype) in zip(packed, self.traced, strict=True)]
        return [_packed(each) for each in self.of_arrays(*arrays)]

    def of_arrays(self, *traced: np.ndarray) -> list[np.ndarray]:
        """Return the results, with the axes of a batch in front."""
        batch_shape = self._batch_shape(traced)
        of_items = iter(traced)
        arrays = [
            next(of_items) if each is None else each.reshape((1,) * len(batch_shape) + each.shape)
            for each in self.known
        ]
        batch = Batch(batch_shape, jax.tree.unflatten(self.structure, arrays))
        found = in_own_thread(lambda: self.function(batch))
        return [
            np.asarray(each, result.dtype).reshape(batch_shape + result.shape)
            for each, result in zip(found, self.results, strict=True)
        ]

    def _batch_shape(self, traced) -> tuple[int, ...]:
        """Return the axes of the batch, which the traced arrays have in front."""
        sizes = [each.shape[: each.ndim - ndim] for each, (ndim, _) in zip(traced, self.traced, strict=True)]
        return np.broadcast_shapes(*sizes)


def _packed(x):
    """Return an array of 64 bits, which `jax.pure_callback` narrows, as pairs of 32; others as they are."""
    if x.dtype not in WIDE:
        return x
    if isinstance(x, np.ndarray):
        return np.ascontiguousarray(x).reshape(*x.shape, 1).view(np.uint32)
    return lax.bitcast_convert_type(x, jnp.uint32)


def _unpacked(x, dtype):
    """Return what was packed in its dtype."""
    if dtype not in WIDE:
        return x
    if isinstance(x, np.ndarray):
        return np.ascontiguousarray(x).view(dtype)[..., 0]
    return lax.bitcast_convert_type(x, dtype)
