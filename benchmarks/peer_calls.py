"""Calls of the namespace on large arrays, as it, CuPy, NumPy and PyTorch write them (bench_namespace.py)."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

try:
    import torch
except ImportError:
    torch = None

__all__ = ["Call", "Data", "all_calls"]


class Call(NamedTuple):
    """A function of the namespace, on arrays that are put on the device before."""

    name: str
    arrays: tuple[np.ndarray, ...]
    ours: Callable[..., Any]  # of the namespace and the arrays
    peers: Callable[..., Any] | None = None  # the same in NumPy and CuPy; None: as ours
    torchs: Callable[..., Any] | None = None  # of the arrays alone; None: PyTorch has no such function


class Data:
    """Random arrays of `n` numbers in all, tables of `rows` rows, and matrices of `side` rows."""

    def __init__(self, n: int, rows: int, side: int, batch: int):
        rng = np.random.default_rng(0)
        self.n = n
        self.side = side
        self.x = rng.random(n, dtype=np.float32)
        self.y = rng.random(n, dtype=np.float32)
        self.table = rng.random((rows, n // rows), dtype=np.float32)
        self.integers = rng.integers(0, 1 << 30, n, dtype=np.int32)
        self.few = rng.integers(0, 1000, n, dtype=np.int32)  # few different ones
        self.mask = rng.random(n) < 0.5
        self.ordered = np.sort(self.x)
        self.quarter = rng.random(n // 4, dtype=np.float32)
        self.permutation = rng.permutation(n).astype(np.int32)
        self.columns = (self.permutation % (n // rows)).reshape(rows, -1)
        self.points = rng.random((n // 4, 3), dtype=np.float32)
        self.point_ids = self.permutation[: n // 4] % (n // 4)
        self.complexes = (self.x[: n // 4] + 1j * self.y[: n // 4]).astype(np.complex64)
        self.matrix = rng.random((side, side), dtype=np.float32)
        self.definite = self.matrix @ self.matrix.T + side * np.eye(side, dtype=np.float32)
        self.batch = rng.random((batch, 16, 16), dtype=np.float32)
        self.definite_batch = self.batch @ self.batch.mT + 16 * np.eye(16, dtype=np.float32)


def all_calls(data: Data) -> Iterator[Call]:
    """Yield the calls by the standard's chapters."""
    yield from sorting_calls(data)
    yield from searching_calls(data)
    yield from set_calls(data)
    yield from cumulative_calls(data)
    yield from reducing_calls(data)
    yield from elementwise_calls(data)
    yield from moving_calls(data)
    yield from creating_calls(data)
    yield from product_calls(data)
    yield from decomposing_calls(data)
    yield from fourier_calls(data)


def sorting_calls(data: Data) -> Iterator[Call]:
    for label, array in (("float32", data.x), ("int32", data.integers)):
        yield Call(
            f"sort, {label}", (array,), lambda xp, x: xp.sort(x), torchs=lambda x: torch.sort(x).values
        )
    for label, axis in (("rows", 1), ("columns", 0)):
        yield Call(
            f"sort, {label}",
            (data.table,),
            lambda xp, x, axis=axis: xp.sort(x, axis=axis),
            torchs=lambda x, axis=axis: torch.sort(x, dim=axis).values,
        )
    yield Call("argsort", (data.x,), lambda xp, x: xp.argsort(x), torchs=lambda x: torch.argsort(x))
    yield Call(
        "argsort, descending",
        (data.x,),
        lambda xp, x: xp.argsort(x, descending=True),
        lambda xp, x: xp.argsort(-x),
        lambda x: torch.argsort(x, descending=True),
    )


def searching_calls(data: Data) -> Iterator[Call]:
    for label, values in (("", data.quarter), (", in order", np.sort(data.quarter))):
        yield Call(
            f"searchsorted{label}",
            (data.ordered, values),
            lambda xp, x, values: xp.searchsorted(x, values),
            torchs=lambda x, values: torch.searchsorted(x, values),
        )
    yield Call("nonzero", (data.mask,), lambda xp, x: xp.nonzero(x)[0], torchs=lambda x: torch.nonzero(x))
    yield Call("x[mask]", (data.x, data.mask), lambda xp, x, mask: x[mask], torchs=lambda x, mask: x[mask])
    yield Call(
        "count_nonzero",
        (data.mask,),
        lambda xp, x: xp.count_nonzero(x),
        torchs=lambda x: torch.count_nonzero(x),
    )
    yield Call(
        "where",
        (data.mask, data.x, data.y),
        lambda xp, mask, x, y: xp.where(mask, x, y),
        torchs=lambda mask, x, y: torch.where(mask, x, y),
    )


def set_calls(data: Data) -> Iterator[Call]:
    for label, array in (("few", data.few), ("many", data.integers)):
        yield Call(
            f"unique_values, {label}",
            (array,),
            lambda xp, x: xp.unique_values(x),
            lambda xp, x: xp.unique(x),
            lambda x: torch.unique(x),
        )
    yield Call(
        "unique_inverse",
        (data.few,),
        lambda xp, x: xp.unique_inverse(x).inverse_indices,
        lambda xp, x: xp.unique(x, return_inverse=True)[1],
        lambda x: torch.unique(x, return_inverse=True)[1],
    )
    yield Call(
        "unique_counts",
        (data.few,),
        lambda xp, x: xp.unique_counts(x).counts,
        lambda xp, x: xp.unique(x, return_counts=True)[1],
        lambda x: torch.unique(x, return_counts=True)[1],
    )
    yield Call(
        "isin, 500 values",
        (data.few, data.few[:500]),
        lambda xp, x, values: xp.isin(x, values),
        torchs=lambda x, values: torch.isin(x, values),
    )


def cumulative_calls(data: Data) -> Iterator[Call]:
    yield Call(
        "cumulative_sum, float32",
        (data.x,),
        lambda xp, x: xp.cumulative_sum(x),
        lambda xp, x: xp.cumsum(x),
        lambda x: torch.cumsum(x, 0),
    )
    yield Call(
        "cumulative_sum, int32",
        (data.few,),
        lambda xp, x: xp.cumulative_sum(x),
        lambda xp, x: xp.cumsum(x, dtype="int32"),
        lambda x: torch.cumsum(x, 0, dtype=torch.int32),
    )
    for label, axis in (("rows", 1), ("columns", 0)):
        yield Call(
            f"cumulative_sum, {label}",
            (data.table,),
            lambda xp, x, axis=axis: xp.cumulative_sum(x, axis=axis),
            lambda xp, x, axis=axis: xp.cumsum(x, axis=axis),
            lambda x, axis=axis: torch.cumsum(x, axis),
        )
    yield Call(
        "cumulative_prod",
        (data.x,),
        lambda xp, x: xp.cumulative_prod(x),
        lambda xp, x: xp.cumprod(x),
        lambda x: torch.cumprod(x, 0),
    )
    yield Call("diff", (data.x,), lambda xp, x: xp.diff(x), torchs=lambda x: torch.diff(x))


def reducing_calls(data: Data) -> Iterator[Call]:
    for name, array in (
        ("sum", data.x),
        ("prod", data.x),
        ("std", data.x),
        ("max", data.x),
        ("argmax", data.x),
        ("any", data.mask),
    ):
        yield Call(
            name,
            (array,),
            lambda xp, x, name=name: getattr(xp, name)(x),
            torchs=lambda x, name=name: getattr(torch, name)(x),
        )
    for name, label, axis in (
        ("sum", "rows", 1),
        ("sum", "columns", 0),
        ("mean", "columns", 0),
        ("var", "rows", 1),
        ("argmin", "rows", 1),
        ("argmax", "columns", 0),
    ):
        yield Call(
            f"{name}, {label}",
            (data.table,),
            lambda xp, x, name=name, axis=axis: getattr(xp, name)(x, axis=axis),
            torchs=lambda x, name=name, axis=axis: getattr(torch, name)(x, axis),
        )
    yield Call("sum of points", (data.points,), lambda xp, x: xp.sum(x, axis=1), torchs=lambda x: x.sum(1))


def elementwise_calls(data: Data) -> Iterator[Call]:
    for name in ("sin", "exp", "tanh", "isnan"):
        yield Call(
            name,
            (data.x,),
            lambda xp, x, name=name: getattr(xp, name)(x),
            torchs=lambda x, name=name: getattr(torch, name)(x),
        )
    for name in ("add", "multiply", "remainder", "greater"):
        yield Call(
            name,
            (data.x, data.y),
            lambda xp, x, y, name=name: getattr(xp, name)(x, y),
            torchs=lambda x, y, name=name: getattr(torch, name)(x, y),
        )
    yield Call(
        "pow",
        (data.x, data.y),
        lambda xp, x, y: xp.pow(x, y),
        lambda xp, x, y: xp.power(x, y),
        lambda x, y: x**y,
    )
    yield Call(
        "atan2",
        (data.x, data.y),
        lambda xp, x, y: xp.atan2(x, y),
        lambda xp, x, y: xp.arctan2(x, y),
        lambda x, y: torch.atan2(x, y),
    )
    yield Call(
        "floor_divide, int32",
        (data.integers, data.few + 1),
        lambda xp, x, y: xp.floor_divide(x, y),
        torchs=lambda x, y: x // y,
    )
    yield Call("clip", (data.x,), lambda xp, x: xp.clip(x, 0.2, 0.8), torchs=lambda x: x.clamp(0.2, 0.8))
    yield Call(
        "astype, int32",
        (data.x,),
        lambda xp, x: xp.astype(x, xp.int32),
        lambda xp, x: x.astype("int32"),
        lambda x: x.int(),
    )


def moving_calls(data: Data) -> Iterator[Call]:
    yield Call(
        "take, random",
        (data.x, data.permutation),
        lambda xp, x, ids: xp.take(x, ids),
        torchs=lambda x, ids: torch.take(x, ids.long()),
    )
    yield Call(
        "take, points",
        (data.points, data.point_ids),
        lambda xp, x, ids: xp.take(x, ids, axis=0),
        torchs=lambda x, ids: x[ids.long()],
    )
    yield Call(
        "take_along_axis",
        (data.table, data.columns),
        lambda xp, x, ids: xp.take_along_axis(x, ids, axis=1),
        torchs=lambda x, ids: torch.gather(x, 1, ids.long()),
    )
    yield Call(
        "repeat, 3",
        (data.quarter,),
        lambda xp, x: xp.repeat(x, 3),
        torchs=lambda x: x.repeat_interleave(3),
    )
    yield Call(
        "repeat, by an array",
        (data.quarter, data.few[: data.n // 4] % 4),
        lambda xp, x, counts: xp.repeat(x, counts),
        numpys_repeat,
        lambda x, counts: x.repeat_interleave(counts.long()),
    )
    yield Call(
        "concat",
        (data.x, data.y),
        lambda xp, x, y: xp.concat([x, y]),
        lambda xp, x, y: xp.concatenate([x, y]),
        lambda x, y: torch.cat([x, y]),
    )
    yield Call(
        "stack, last",
        (data.x, data.y),
        lambda xp, x, y: xp.stack([x, y], axis=-1),
        torchs=lambda x, y: torch.stack([x, y], -1),
    )
    yield Call(
        "matrix_transpose, copied",
        (data.table,),
        lambda xp, x: xp.asarray(xp.matrix_transpose(x), copy=True),
        lambda xp, x: xp.ascontiguousarray(x.T),
        lambda x: x.T.contiguous(),
    )
    yield Call("roll", (data.x,), lambda xp, x: xp.roll(x, 1000), torchs=lambda x: torch.roll(x, 1000))
    yield Call(
        "flip",
        (data.x,),
        lambda xp, x: xp.flip(x),
        lambda xp, x: xp.ascontiguousarray(xp.flip(x)),
        lambda x: torch.flip(x, (0,)),
    )
    yield Call("tile", (data.quarter,), lambda xp, x: xp.tile(x, (3,)), torchs=lambda x: x.tile(3))
    yield Call("tril", (data.matrix,), lambda xp, x: xp.tril(x), torchs=lambda x: torch.tril(x))


def numpys_repeat(xp, x, counts):
    """Repeat by NumPy; CuPy takes lists of numbers alone, which are too many here."""
    if xp is not np:
        raise NotImplementedError
    return np.repeat(x, counts)


def creating_calls(data: Data) -> Iterator[Call]:
    n = data.n
    rows, columns = data.table.shape
    yield Call("arange", (), lambda xp: xp.arange(n, dtype=xp.float32))
    yield Call("linspace", (), lambda xp: xp.linspace(0, 1, n))
    yield Call("zeros", (), lambda xp: xp.zeros(n))
    yield Call("eye", (), lambda xp: xp.eye(data.side))
    yield Call(
        "meshgrid",
        (data.x[:rows], data.y[:columns]),
        lambda xp, x, y: xp.meshgrid(x, y)[0],
        lambda xp, x, y: xp.ascontiguousarray(xp.meshgrid(x, y)[0]),
    )


def product_calls(data: Data) -> Iterator[Call]:
    rows, columns = data.table.shape
    for label, x, y in (
        ("", data.matrix, data.definite),
        (", many of 16 x 16", data.batch, data.definite_batch),
    ):
        yield Call(f"matmul{label}", (x, y), lambda xp, x, y: xp.matmul(x, y), torchs=lambda x, y: x @ y)
    yield Call(
        "vecdot",
        (data.points, data.points),
        lambda xp, x, y: xp.vecdot(x, y),
        lambda xp, x, y: xp.sum(x * y, axis=-1),
        lambda x, y: torch.linalg.vecdot(x, y),
    )
    yield Call(
        "tensordot",
        (data.matrix, data.definite),
        lambda xp, x, y: xp.tensordot(x, y, axes=1),
        torchs=lambda x, y: torch.tensordot(x, y, 1),
    )
    yield Call(
        "outer",
        (data.x[:rows], data.y[:columns]),
        lambda xp, x, y: xp.linalg.outer(x, y),
        lambda xp, x, y: xp.outer(x, y),
        lambda x, y: torch.outer(x, y),
    )
    yield Call(
        "cross",
        (data.points, data.points[::-1].copy()),
        lambda xp, x, y: xp.linalg.cross(x, y),
        lambda xp, x, y: xp.cross(x, y),
        lambda x, y: torch.linalg.cross(x, y),
    )
    yield Call(
        "vector_norm, points",
        (data.points,),
        lambda xp, x: xp.linalg.vector_norm(x, axis=1),
        lambda xp, x: xp.linalg.norm(x, axis=1),
        lambda x: torch.linalg.vector_norm(x, dim=1),
    )


def decomposing_calls(data: Data) -> Iterator[Call]:
    tall = data.matrix[:, : data.side // 2].copy()
    for label, definite, other in (
        ("", data.definite, data.matrix),
        (", many of 16 x 16", data.definite_batch, data.batch),
    ):
        for name in ("cholesky", "inv", "det"):
            yield Call(
                f"{name}{label}",
                (definite,),
                lambda xp, x, name=name: getattr(xp.linalg, name)(x),
                torchs=lambda x, name=name: getattr(torch.linalg, name)(x),
            )
        yield Call(
            f"solve{label}",
            (definite, other),
            lambda xp, x, y: xp.linalg.solve(x, y),
            torchs=lambda x, y: torch.linalg.solve(x, y),
        )
        yield Call(
            f"eigh{label}",
            (definite,),
            lambda xp, x: xp.linalg.eigh(x)[0],
            torchs=lambda x: torch.linalg.eigh(x)[0],
        )
    yield Call("qr", (data.matrix,), lambda xp, x: xp.linalg.qr(x)[0], torchs=lambda x: torch.linalg.qr(x)[0])
    for label, x in ((", twice as tall", tall), (", many of 16 x 16", data.batch)):
        yield Call(
            f"svd{label}",
            (x,),
            lambda xp, x: xp.linalg.svd(x, full_matrices=False)[1],
            torchs=lambda x: torch.linalg.svd(x, full_matrices=False)[1],
        )


def fourier_calls(data: Data) -> Iterator[Call]:
    prime = 1_000_003 if len(data.complexes) > 1_000_003 else 100_003
    for label, x in (("", data.complexes), (", of a prime length", data.complexes[:prime])):
        yield Call(f"fft{label}", (x,), lambda xp, x: xp.fft.fft(x), torchs=lambda x: torch.fft.fft(x))
    yield Call("rfft", (data.x,), lambda xp, x: xp.fft.rfft(x), torchs=lambda x: torch.fft.rfft(x))
    yield Call(
        "fftn",
        (data.table.astype(np.complex64),),
        lambda xp, x: xp.fft.fftn(x),
        torchs=lambda x: torch.fft.fftn(x),
    )
