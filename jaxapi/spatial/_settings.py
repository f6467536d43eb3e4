"""The settings of a search: everything but its points."""

from typing import Any, NamedTuple

import jax
import numpy as np

from .._core._dtypes import x64_mode
from .._core._typing import Array

__all__ = ["Columns", "SearchSettings", "index_dtype", "result_dtype", "sums_dtype"]

_FLOAT32, _FLOAT64, _INT32, _INT64 = map(np.dtype, (np.float32, np.float64, np.int32, np.int64))


class SearchSettings(NamedTuple):
    """What every search asks for."""

    p: float
    lengths: tuple[float, ...] | Array | None  # of the periodic box, 0 on axes that are not periodic
    dtype: np.dtype  # of distances
    index_dtype: np.dtype  # of rows
    eps: Any = 0.0  # a hint: the k-th distance may be up to 1 + eps times the true one
    workers: int | None = None  # a hint: threads on the CPU

    def box(self) -> np.ndarray | None:
        """Return the lengths of the periodic box as an array, None without one."""
        return None if self.lengths is None else np.asarray(self.lengths, self.dtype)


class Columns(NamedTuple):
    """Which neighbours a search for the nearest asks for."""

    k: int  # the last of them
    chosen: tuple[int, ...] | None  # those asked for one by one; None: all of the k

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the answer for one query."""
        if self.chosen is None:
            return () if self.k == 1 else (self.k,)
        return (len(self.chosen),)

    def among(self, n: int) -> tuple[int, ...] | None:
        """Return which of the ``min(k, n)`` neighbours make the answer, -1 for a missing one; None: all."""
        if self.chosen is None and self.k <= n:
            return None
        columns = range(1, self.k + 1) if self.chosen is None else self.chosen
        return tuple(column - 1 if column <= n else -1 for column in columns)


def result_dtype(data: Array, x) -> np.dtype:
    """Return the dtype of distances: float64 if either is, else float32."""
    return _FLOAT64 if _FLOAT64 in (data.dtype, x.dtype) else _FLOAT32


def sums_dtype(own, others, traced: bool) -> np.dtype:
    """Return the dtype of sums over pairs: int64 or float64; where traced, the weights' or JAX's default."""
    if own is None:
        return _INT32 if traced and not x64_mode() else _INT64
    narrow = traced and own.dtype == others.dtype == np.float32
    return _FLOAT32 if narrow else _FLOAT64


def index_dtype(n: int) -> np.dtype:
    """Return the dtype of rows: JAX's default, wider where `n` needs it."""
    return _INT64 if jax.config.jax_enable_x64 or n >= 2**31 else _INT32
