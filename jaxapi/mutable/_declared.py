"""What a type checker sees of the methods that _operators.py and add_methods make."""

from typing import TYPE_CHECKING, Any, Self

__all__ = ["Declared"]

if TYPE_CHECKING:

    class Declared:
        """Types alone: the class has these methods by assignment."""

        def _of_one(self) -> Self: ...
        def _of_two(self, other: Any, /) -> Self: ...
        def _of_division(self, other: Any, /) -> tuple[Self, Self]: ...
        def _compared(self, other: Any, /) -> Self: ...
        def _reduced(self, axis: Any = None, *, out: Self | None = None, **kwargs: Any) -> Self: ...

        __abs__ = __invert__ = __neg__ = __pos__ = _of_one
        __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = _of_two
        __mul__ = __rmul__ = __imul__ = __truediv__ = __rtruediv__ = __itruediv__ = _of_two
        __floordiv__ = __rfloordiv__ = __ifloordiv__ = __mod__ = __rmod__ = __imod__ = _of_two
        __divmod__ = __rdivmod__ = _of_division
        __pow__ = __rpow__ = __ipow__ = __matmul__ = __rmatmul__ = __imatmul__ = _of_two
        __and__ = __rand__ = __iand__ = __or__ = __ror__ = __ior__ = __xor__ = __rxor__ = __ixor__ = _of_two
        __lshift__ = __rlshift__ = __ilshift__ = __rshift__ = __rrshift__ = __irshift__ = _of_two
        __lt__ = __le__ = __gt__ = __ge__ = _compared
        __eq__ = __ne__ = _compared  # type: ignore[assignment]

        def _changed(self, *args: Any, **kwargs: Any) -> None: ...
        def _made(self, *args: Any, **kwargs: Any) -> Self: ...

        fill = partition = put = sort = set = _changed
        argpartition = argsort = astype = choose = clip = compress = conj = conjugate = copy = cumprod = _made
        cumsum = diagonal = dot = flatten = ptp = ravel = repeat = reshape = round = searchsorted = _made
        squeeze = swapaxes = take = trace = transpose = view = _made
        nonzero: Any
        get: Any
        item: Any
        tolist: Any

        def tobytes(self, order: Any = "C") -> bytes: ...

        imag: Any
        real: Any
        flat: Any
        flags: Any
        strides: Any
        base: Any
        data: memoryview
        all = any = argmax = argmin = max = mean = min = prod = std = sum = var = _reduced

else:
    Declared = object
