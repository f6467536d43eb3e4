"""Functions of arrays with room: how each one is tried on buffers first."""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

from .._array import Array, contents_of, rows_of, wrap_rows
from .._host_way import is_by_jax
from ._calls import call_on_rows
from ._elementwise import computed
from ._matrices import MATRICES
from ._selecting import MAKING_ROOM, TAKES
from ._transposes import computed_of_transposes, rows_of_transpose

__all__ = ["may_wait", "of_elements", "way_by_implementation", "way_on_rows"]

_IMPLEMENTATIONS = TAKES | MATRICES
_ALSO_BY_KEYWORD = frozenset(["axis", "bins", "q"])  # none has a default
# Functions whose programs depend on shapes and options alone: none of them looks at values.
_OF_SHAPES = """
all allclose amax amin angle any append argmax argmin argpartition argsort around array_equal array_equiv
average broadcast_arrays broadcast_to choose column_stack concat concatenate convolve corrcoef correlate
count_nonzero cov cross cumprod cumsum cumulative_prod cumulative_sum diag diagonal diff digitize dot dstack
ediff1d einsum expand_dims fft fft2 fftn fftshift flip gradient hfft histogram2d histogramdd hstack i0 ifft
ifft2 ifftn ifftshift ihfft inner interp irfft irfft2 irfftn isclose isneginf isposinf kron lexsort matmul
matvec max mean median meshgrid min moveaxis multi_dot nan_to_num nanargmax nanargmin nancumprod nancumsum
nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar norm ones_like outer
packbits pad partition percentile permute_dims polyval prod ptp quantile ravel_multi_index repeat rfft rfft2
rfftn roll round select sinc sliding_window_view sort sort_complex squeeze stack std sum take
take_along_axis tensordot tile trace trapezoid tril triu unpackbits unravel_index unwrap vander var vdot
vecdot vecmat vector_norm vstack zeros_like
"""
# The same of functions that make arrays of lengths.
_OF_LENGTHS = "eye identity indices tri"
_OF_MATRICES = """
cholesky cond det diagonal eig eigh eigvals eigvalsh inv matrix_norm matrix_power matrix_rank pinv qr slogdet
solve svd svdvals trace
"""


# Those whose programs depend on more around them, or that check values: they are no lines of a batch.
_AT_ONCE = """
allclose array_equal array_equiv average broadcast_arrays choose convolve corrcoef correlate cov cross
digitize einsum histogram2d histogramdd interp kron multi_dot nanargmax nanargmin nanpercentile nanquantile
norm packbits percentile polyval quantile ravel_multi_index repeat sliding_window_view take take_along_axis
trapezoid unravel_index vander vector_norm
"""


def may_wait(name: str) -> bool:
    """Whether a call of a function may be a line of a batch."""
    return name in [*_OF_SHAPES.split(), *_OF_LENGTHS.split()] and name not in _AT_ONCE.split()


def of_elements(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], module: str) -> Any:
    """Return what a function of each element makes of arrays with room; None where it needs exact ones."""
    if kwargs or not is_by_jax():
        return None
    views = [x for x in args if type(x) is Array and x._view is not None]
    has_transpose = views and any(rows_of(x) is None and rows_of_transpose(x) is not None for x in views)
    made = computed_of_transposes(function, args, module) if has_transpose else None
    contents = contents_of(args) if made is None else None
    if contents is None:
        return made
    made = computed(function, contents)
    if isinstance(made, tuple):
        return tuple([wrap_rows(rows, module) for rows in made])
    return None if made is None else wrap_rows(made, module)


def way_on_rows(
    function: Callable[..., Any],
    name: str,
    module: str,
    implementation: Callable[..., Any] | None = None,
) -> Callable[[tuple, dict[str, Any]], Any] | None:
    """Return what tries a function of arrays on their buffers first, and returns None for exact ones.

    ``implementation`` does so for some arguments, where a namespace has one.
    It is asked where one of the arguments `may_have_room`; for those of `MAKING_ROOM` for every array.
    """
    attempts: list[Callable[..., Any]] = []
    if name in MAKING_ROOM:
        attempts.append(_selecting_way(MAKING_ROOM[name], module))
    implementation = implementation or _IMPLEMENTATIONS.get(name)
    if implementation is not None:
        attempts.append(way_by_implementation(implementation, function, module))
    if _depends_on_shapes(function, name):
        attempts.append(functools.partial(call_on_rows, function, module, waits=may_wait(name)))
    if not attempts:
        return None
    return attempts[0] if len(attempts) == 1 else functools.partial(_first_result, attempts)


def _depends_on_shapes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has one program for all values; `jaxapi.numpy` has others by names of `linalg`."""
    is_of_matrices = name in _OF_MATRICES.split() and function.__module__.endswith("linalg")
    return is_of_matrices or name in [*_OF_SHAPES.split(), *_OF_LENGTHS.split()]


def _first_result(attempts: list[Callable[..., Any]], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return the first result of several attempts that is not None."""
    for attempt in attempts:
        result = attempt(args, kwargs)
        if result is not None:
            return result
    return None


def _selecting_way(function: Callable[..., Any], module: str) -> Callable[[tuple, dict[str, Any]], Any]:
    names = frozenset(inspect.signature(function).parameters) - {"module"}

    def way(args, kwargs):
        if not isinstance(args[0], Array) or not names.issuperset(kwargs) or len(args) > len(names):
            return None
        return function(*args, module=module, **kwargs) if is_by_jax() else None

    return way


def way_by_implementation(
    implementation: Callable[..., Any], function: Callable[..., Any], module: str
) -> Callable[[tuple, dict[str, Any]], Any]:
    """Return what tries a product, a decomposition or the like: no buffer is made of exact arrays alone.

    ``implementation`` does so, of the arguments of ``function``, whose order is both's. It may ask for
    ``function`` itself, too.
    """
    parameters = inspect.signature(implementation).parameters
    if "function" in parameters:
        implementation = functools.partial(implementation, function=function)
    names = frozenset([name for name, p in parameters.items() if p.default is not p.empty])
    names |= _ALSO_BY_KEYWORD.intersection(parameters)
    most = min(_most_positional(implementation), _most_positional(function))

    def way(args, kwargs):
        if not names.issuperset(kwargs) or len(args) > most or not is_by_jax():
            return None
        return implementation(*args, module=module, **kwargs)

    return way


def _most_positional(function: Callable[..., Any]) -> float:
    """Return how many arguments a function takes by their place."""
    kinds = [p.kind for p in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return math.inf
    return len([kind for kind in kinds if kind is not inspect.Parameter.KEYWORD_ONLY])
