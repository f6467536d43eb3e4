"""Views: arrays that are a part of another array, as ``x[1:]``, ``x.T`` and ``reshape(x, -1)`` are in NumPy.

A view knows whose part it is, and reads that whenever it is used.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core import _parts
from .._core._programs import compiled
from ._batches import Pending, concrete, is_recording, line_of, recorded, takes_pending
from ._capacity._rows import Rows
from ._capacity._slices import reshaped_rows, selected_rows, source_of_part
from ._selection import Part, Selection, Source, one_program_suffices, put, take

__all__ = ["View"]


class View:
    """Which part of its owner an array is."""

    __slots__ = ("component", "is_selection", "owner", "part", "reshaped")

    def __init__(
        self,
        owner,
        part: Selection | None,
        reshaped: tuple | None = None,
        component: str | None = None,
    ):
        """Make the view of a part of ``owner``, or of all of it, perhaps in another shape.

        ``component`` is ``"real"`` or ``"imag"`` for a part of each complex number.
        An owner that is a view itself is a view of all of another array, perhaps in another shape.
        """
        self.owner = owner
        self.part = part
        self.reshaped = reshaped
        self.component = component
        # Whether it is what is selected of its owner, as it is there.
        self.is_selection = part is not None and reshaped is None and component is None

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its owner."""
        return self.part is None and self.reshaped is None and self.component is None

    @property
    def has_rows_as_columns(self) -> bool:
        """Whether it is a matrix whose columns are rows of its owner, as ``owner.T`` and ``v[None]`` are."""
        part = self.part
        return part is not None and self.is_selection and len(part.axes) == 2 and part.axes[1] == 0

    @property
    def shape(self) -> tuple[int, ...]:
        if self.reshaped is not None:
            return self.reshaped
        return self.owner.shape if self.part is None else self.part.shape

    @property
    def dtype(self) -> np.dtype:
        dtype = self.owner.dtype
        return dtype if self.component is None else np.finfo(dtype).dtype

    def value(self) -> jax.Array:
        """Return the part as it is now."""
        return concrete(self.current())

    def current(self) -> Any:
        """Return the same, which is pending if the owner is."""
        buffer = self.owner._buffer
        if buffer is not None and self.part is not None and not self.part.is_all(buffer.shape):
            value = take(buffer.memory, self.part)
            return value if self.reshaped is None else _in_shape(value, self.reshaped)
        if self.component is not None:
            return _component_of(self.owner._current, self.component)
        rows = None if self.part is not None else self.owner._rows()
        if rows is not None and self.reshaped is not None and rows.shape != self.reshaped:
            reshaped = reshaped_rows(rows, self.reshaped)
            if reshaped is not None:
                return reshaped.exact()  # of its own memory
        value = self.owner._current
        if self.part is not None:
            value = take(value, self.part)
        return value if self.reshaped is None else _in_shape(value, self.reshaped)

    def operand(self) -> Any:
        """Return the part, or what the program that computes with it reads, which is a program less.

        Either may be pending.
        """
        part = self.part
        if part is None or not self.is_selection:
            return self.current()
        buffer = self.owner._buffer
        value = self.owner._current if buffer is None else buffer.memory
        if part.in_array(value.shape).is_all:
            return value
        return Part(value, part) if one_program_suffices(value) else self.current()

    def source(self) -> Source | None:
        """Return what a line reads; None where the part is none of the elements of its owner as they are."""
        part = self.part
        held = self.owner._held() if part is not None and self.is_selection else None
        return None if held is None or part is None else source_of_part(held.value, held.rows, part)

    def may_have_rows(self) -> bool:
        """Whether `rows` may be some, as far as the part and its owner say."""
        if self.component is not None:
            return False
        part = self.part
        owner = self.owner
        if owner._buffer is not None:
            return True
        if part is None:
            return owner._view is not None and owner._view.may_have_rows()
        return self.is_selection and part.in_array(owner._kept.shape).is_of_rows_alone

    def rows(self) -> Rows | None:
        """Return the part as rows of a buffer where that is possible; None where it is read exactly."""
        if self.component is not None:
            return None
        owner = self.owner
        part = self.part
        if part is None:
            rows = owner._rows_if_possible()
            if rows is None or self.reshaped is None or rows.shape == self.reshaped:
                return rows
            return reshaped_rows(rows, self.reshaped)
        if self.reshaped is not None or owner._host is not None or not part.has_many_rows:
            return None
        rows = owner._rows_if_possible()
        if rows is None and owner._view is not None:
            return None
        return selected_rows(owner._current if rows is None else rows, part)

    def rows_that_are_columns(self) -> Rows | None:
        """Return the rows of a buffer that are the columns; None where it is read exactly."""
        part = self.part
        rows = self.owner._rows_if_possible() if self.has_rows_as_columns else None
        if rows is None or part is None:
            return None
        transposed = Selection(part.ranges, part.axes[::-1])
        return selected_rows(rows, transposed) if transposed.has_many_rows else None

    def write(self, new: jax.Array) -> None:
        """Put another part in its place."""
        if self.component is not None:
            self.owner._replace(_with_real if self.component == "real" else _with_imag, new)
        elif self.part is not None:
            self.owner._replace_part(put, self.part, new)
        else:
            self.owner._replace(_replaced, new)

    def layout(self, owners: np.ndarray) -> np.ndarray:
        """Return the strides that NumPy's array would have, from those of the owner."""
        if self.part is None:
            return owners if self.reshaped is None else owners.reshape(self.reshaped, copy=False)
        keys = tuple(
            i if isinstance(i, int) else slice(i.start, i.stop if i.stop >= 0 else None, i.step)
            for i in self.part.ranges
        )
        part = owners[(*keys, ...)]  # a view, also of one element
        kept = [axis for axis in self.part.axes if axis is not None]
        order = sorted(kept)
        part = part.transpose([order.index(axis) for axis in kept])
        axes = [None if axis is None else slice(None) for axis in self.part.axes]
        return part[(*axes, ...)]

    def selects(self, owner, selection: Selection) -> bool:
        """Whether it is this part, as what the last step of ``x[key] += y`` writes is."""
        return self.owner is owner and self.reshaped is None and self.part == selection


def _in_shape(value: Any, shape: tuple) -> Any:
    if is_recording():
        return _reshaped_line(value, shape)
    return jnp.reshape(concrete(value), shape)


def _component_of(value: Any, name: str) -> Any:
    if is_recording():
        return _component_lines[name](value)
    return vars(_parts)[name](concrete(value))


_reshaped_line = line_of(compiled(lambda value, shape: value.reshape(shape), static_argnums=1))
_component_lines = {name: line_of(compiled(getattr(_parts, name))) for name in ("real", "imag")}


@takes_pending
def _with_real(value: Any, new: Any, made: None) -> Any:
    return _complex_of(new, _component_of(value, "imag"))


@takes_pending
def _with_imag(value: Any, new: Any, made: None) -> Any:
    return _complex_of(_component_of(value, "real"), new)


def _complex_of(real: Any, imag: Any) -> Any:
    is_pending = Pending in (type(real), type(imag))
    return _complex_line(real, imag) if is_pending else lax.complex(real, imag)


_complex_line = recorded(compiled(lax.complex))


@takes_pending
def _replaced(value: Any, new: Any, made: None) -> Any:
    return _in_shape(new, value.shape)
