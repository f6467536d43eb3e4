"""What a search asks for: everything but the points and the queries."""

import math
from typing import Any, NamedTuple

import jax
import numpy as np

from .._core._dtypes import x64_mode
from .._core._typing import Array
from ._arrays import in_rows
from ._engines._protocol import Engine

__all__ = [
    "PairWeights",
    "Queries",
    "Request",
    "Search",
    "has_bound",
    "index_dtype",
    "result_dtype",
]
__all__ += ["sums_dtype"]

_FLOAT32, _FLOAT64, _INT32, _INT64 = map(np.dtype, (np.float32, np.float64, np.int32, np.int64))


class Search(NamedTuple):
    """What every search asks for. Programs are compiled for its `static_part`, and equal ones share them."""

    p: float
    boxsize: tuple[float, ...] | Array | None  # of the periodic box, 0 on axes that are not periodic
    dtype: np.dtype  # of distances
    index_dtype: np.dtype  # of rows
    engine: Engine  # what searches our own tree; searches by SciPy's tree do not use it
    eps: Any = 0.0  # a hint: the k-th distance may be up to 1 + eps times the true one
    workers: int | None = None  # a hint: threads on the CPU

    def static_part(self, engine: Engine) -> "Search":
        """Return what programs are compiled for; the others are their inputs, or do not change them."""
        return self._replace(boxsize=None, eps=0.0, workers=None, engine=engine)

    def boxsize_array(self) -> np.ndarray | Array | None:
        """Return `boxsize` as an array (m,) of `dtype`: NumPy's, unless it is traced."""
        if self.boxsize is None:
            return None
        if isinstance(self.boxsize, tuple):
            return np.asarray(self.boxsize, self.dtype)
        return self.boxsize.astype(self.dtype)


class Request(NamedTuple):
    """What decides who searches, besides the points: what is asked for, and of how many queries."""

    traced: bool = False  # whether a value is that the search depends on
    search: Search | None = None
    query_count: int = 0
    k: int = 0  # how many of the nearest; 0: those within a radius
    max_neighbors: int = 0  # within a radius


class Queries(NamedTuple):
    """What is searched for: q query points."""

    x: Any  # (q, m)
    shape: tuple[int, ...]  # of the results for each of them, as the user gave the queries: q in all
    ids: Any = None  # (q,) the cloud that each searches, in a tree of clouds

    @classmethod
    def of(cls, x, ids) -> "Queries":
        """Return queries (..., m) in rows."""
        shape = x.shape[:-1]
        if x.ndim != 2:
            x = in_rows(x, (math.prod(shape), *(x.shape[-1:] or (1,))))
        return cls(x, shape, ids)


class PairWeights(NamedTuple):
    """The weights of pairs between two trees: their products; None twice where pairs are counted."""

    self_weights: Any  # (n,), of the points of the tree that is asked
    other_weights: Any  # (n of the other,), of the points of the other tree


def has_bound(bound) -> bool:
    """Tell whether a bound, a Python float or an array, may leave out a neighbor."""
    return not isinstance(bound, float) or bound < math.inf


def result_dtype(data: Array, x) -> np.dtype:
    """Return the dtype of distances: float64 if either is, else float32."""
    return _FLOAT64 if _FLOAT64 in (data.dtype, x.dtype) else _FLOAT32


def sums_dtype(weights: PairWeights, traced: bool) -> np.dtype:
    """Return the dtype of sums over pairs: int64 or float64; where traced, the weights' or JAX's default."""
    self_weights, other_weights = weights
    if self_weights is None:
        return _INT32 if traced and not x64_mode() else _INT64
    is_narrow = traced and self_weights.dtype == other_weights.dtype == np.float32
    return _FLOAT32 if is_narrow else _FLOAT64


def index_dtype(n: int) -> np.dtype:
    """Return the dtype of rows: JAX's default, wider where `n` needs it."""
    return _INT64 if jax.config.jax_enable_x64 or n >= 2**31 else _INT32
