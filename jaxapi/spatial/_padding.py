"""Rows of any number as arrays of few lengths, for users' programs."""

from collections.abc import Iterable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from .._core._constants import constant_on
from .._core._dtypes import x64_for
from .._core._programs import compiled, eagerly, is_traced
from .._core._typing import Array, ArrayLike
from .._interop import as_array
from ._engines._choice import engine_of
from ._tree._build import padded_size
from ._tree_arguments import whole

__all__ = ["pad_rows"]


def pad_rows(x: ArrayLike, sizes: int | Iterable[int] | None = None) -> tuple[Array, Array]:
    """Fill an array up with rows of 0, to one of few lengths, and tell how many of its rows count.

    For `jax.jit`, which compiles for each shape: a program of ``(padded, count)`` serves all lengths that are
    padded to the same. `KDTree(padded, n=count)` is then a tree of the rows that count.

    Parameters
    ----------
    x : array_like, shape (n, ...)
        Rows of any dtype, which is kept.
    sizes : int or iterable of int, optional
        The length, or lengths to choose from. By default powers of two from 1024 to 131,072, above four for
        each doubling.

    Returns
    -------
    padded : Array, shape (size, ...)
        The rows, and 0 from n on; on the device of `x`.
    count : Array, shape (), int32
        The number of rows, n.

    Raises
    ------
    ValueError
        If `x` has no axis, or more rows than the largest of the `sizes`.

    Notes
    -----
    On the CPU and on NVIDIA GPUs no program is compiled for n. Under `jit` it is a part of the shape, and
    known. Derivatives flow to `x`.

    Examples
    --------
    >>> import jax
    >>> import jaxapi as xp
    >>> @jax.jit
    ... def nearest_other(points, n):
    ...     return xp.spatial.KDTree(points, n=n).kneighbors(1)[0][:, 0]
    >>> points, n = xp.spatial.pad_rows([[0.0], [1.0], [3.0]], sizes=[4, 8])
    >>> points.shape, int(n), nearest_other(points, n).tolist()
    ((4, 1), 3, [1.0, 1.0, 2.0, inf])
    """
    x = as_array(x)
    if x.ndim == 0:
        raise ValueError("x must have rows, got an array without axes")
    rows = x.shape[0]
    size = padded_size(rows) if sizes is None else _least_size(sizes, rows)
    if is_traced(x) or len(x.sharding.device_set) > 1:
        padded = jnp.pad(x, ((0, size - rows), *((0, 0),) * (x.ndim - 1)))
    else:
        with eagerly(), x64_for(x.dtype):
            engine = engine_of(x)
            count = constant_on(rows, np.dtype(np.int32), x.sharding)
            padded = engine.as_input(x, size, x.sharding)
            if not isinstance(padded, jax.Array):
                padded = _read(padded, count, engine=engine)
    return padded, jax.device_put(np.int32(rows))


def _least_size(sizes, rows: int) -> int:
    """Return the least of the sizes that all rows fit into."""
    given = sizes
    if isinstance(sizes, str) or not isinstance(sizes, Iterable) or getattr(sizes, "ndim", 1) == 0:
        given = (sizes,)
    lengths = [whole(size, "sizes, a length or several,") for size in given]
    large_enough = [length for length in lengths if length >= rows]
    if not large_enough:
        raise ValueError(
            f"x has {rows} rows, more than the largest of the sizes, {lengths}: pass a larger one"
        )
    return min(large_enough)


@partial(compiled, static_argnames="engine")
def _read(padded, count, *, engine):
    return engine.read_input(padded, count, dtype=padded.dtype, fill=0)
