"""Programs of arrays with room: one for all numbers of rows that count in buffers.

A function is traced once, for numbers of rows that are not known (`_dimensions`), and what was traced is
evaluated on the buffers (`_interpreter`). What decides by the numbers, and what the interpreter has no rule
for, is refused: the exact arrays are computed with. `_calls` has such programs of statements, `_fused` of
functions that are fused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._dtypes import x64_for
from ..._core._programs import compiled
from .._array import wrap, wrap_rows
from .._batches import Pending, of_rows, recorded
from ._dimensions import Bounds, Dimension, Refused, UnknownCounts
from ._interpreter import evaluate, mentions_dimension
from ._rows import Rows, is_exact, number_of, rows_in, with_rows
from ._slices import first

__all__ = ["Columns", "Inputs", "Program", "array_of"]

# Of a result; else rows that do not count would add up, as in a loop of `append`.
_MOST_ROWS_FOR_EACH = 2
_INT32 = jax.ShapeDtypeStruct((), np.int32)


class Columns:
    """Rows whose transpose is meant: the columns of a matrix."""

    __slots__ = ("rows",)

    def __init__(self, rows: Rows):
        """Say whose transpose it is."""
        self.rows = rows


def array_of(content: Any, module: str, is_scalar: bool) -> Any:
    """Return an array of what a program returns, which may be NumPy's scalar if it is a value."""
    if isinstance(content, Rows):
        return wrap_rows(content, module)
    if isinstance(content, Columns):
        return wrap_rows(content.rows, module).T
    return wrap(content, module, is_scalar)


class Inputs(NamedTuple):
    """What a program is compiled for."""

    bounds: tuple[Bounds, ...]  # of each number of rows
    values: Sequence[Any]  # on buffers, or their shapes and dtypes
    dtypes: Sequence[np.dtype]  # that it computes in


class Program:
    """A function of values, of which some are buffers, compiled once for all numbers of rows in these."""

    def __init__(self, name: str, inputs: Inputs, trace: Callable[[list[Dimension]], jax.stages.Traced]):
        """Trace the function for numbers of rows that are not known, which may be refused."""
        self._dtypes = inputs.dtypes
        with x64_for(*self._dtypes):
            counts = UnknownCounts(inputs.bounds)
            traced = trace(counts.dimensions())
            if counts.was_asked:
                raise Refused("a decision")
            results, self.structure = jax.tree.flatten(traced.out_info)
            self._results = [_rows_of_shape(x.shape) for x in results]
            program = compiled(self._on_buffers(traced.jaxpr, inputs.bounds, name))
            self._program = program
            self._compiled = recorded(program)
            on_buffers = program.jitted().trace(*[_INT32] * len(inputs.bounds), *inputs.values)
        if mentions_dimension(on_buffers.jaxpr):
            raise Refused("a dimension that stays unknown")

    def for_line(self) -> Any:
        """Return what is compiled; None where it returns one of its values, which others have."""
        return None if self._returns_argument else self._program

    def _on_buffers(self, program: Any, bounds: Sequence[Bounds], name: str) -> Callable[..., list[Any]]:
        """Return what computes of numbers of rows, and values on buffers, what the function returns."""
        capacities = [each.capacity for each in bounds]

        def run(*counts_and_values):
            counts = counts_and_values[: len(bounds)]
            values = counts_and_values[len(bounds) :]
            made = evaluate(program, values, capacities, counts)
            results = zip(self._results, made, strict=True)
            contents = [value if result is None else result.on_buffer(value) for result, value in results]
            are_passed_on = [any(x is given for given in counts_and_values) for x in contents]
            self._returns_argument = True in are_passed_on
            # XLA copies what is behind a barrier; JAX would return the very array that it was given.
            results_and_copies = zip(contents, are_passed_on, strict=True)
            return [lax.optimization_barrier(x) if is_given else x for x, is_given in results_and_copies]

        run.__name__ = run.__qualname__ = name
        return run

    def __call__(self, counts: Sequence[int], values: Sequence[Any]) -> list[Any]:
        """Return the leaves of what the function returns: rows, columns and values.

        ``structure`` says what they are leaves of. They share no memory with the values.
        """
        with x64_for(*self._dtypes):
            return self.contents(counts, self._compiled(*map(number_of, counts), *values))

    def contents(self, counts: Sequence[int], made: Sequence[Any]) -> list[Any]:
        """Return the same of what the program made."""
        if counts and Pending in map(type, made):
            for value in made:
                of_rows(value)
        results = zip(self._results, made, strict=True)
        return [value if result is None else result.content(value, counts) for result, value in results]


class _ResultOfRows(NamedTuple):
    """A result with rows along one of its axes."""

    axis: int
    dimension: Dimension  # how many rows count

    def on_buffer(self, value: Any) -> Any:
        """Return the rows as the first axis, in one of the few numbers of rows that buffers have."""
        value = jnp.matrix_transpose(value) if self.axis else value
        return with_rows(value, rows_in(len(value)))

    def content(self, value: Any, counts: Sequence[int]) -> Any:
        """Return what is made of it outside of the program."""
        count = self.dimension.of(counts)
        if len(value) > _MOST_ROWS_FOR_EACH * count and not is_exact(count):
            value = first(value, rows_in(count))
        rows = Rows(value, count)
        return Columns(rows) if self.axis else rows


def _rows_of_shape(shape: tuple[Any, ...]) -> _ResultOfRows | None:
    """Return where a result has rows: along the first axis, or the second one of a matrix, or nowhere."""
    axes = [i for i, each in enumerate(shape) if isinstance(each, Dimension)]
    if not axes:
        return None
    if axes == [0] or (axes == [1] and len(shape) == 2):
        return _ResultOfRows(axes[0], shape[axes[0]])
    raise Refused("rows along another axis")
