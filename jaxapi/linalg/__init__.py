"""The standard's extension `linalg`."""

import typing as _typing

from .._missing import says_what_to_write as _says_what_to_write
from ._decompositions import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from ._diagonals import diagonal, trace
from ._products import matmul, matrix_transpose, tensordot, vecdot
from ._solvers import det, inv, matrix_norm, matrix_power, matrix_rank, pinv, slogdet, solve
from ._vectors import cross, outer, vector_norm

__all__ = ["cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul"]
__all__ += ["matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr"]
__all__ += ["slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm"]


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


if not _typing.TYPE_CHECKING:  # for a type checker unknown names stay errors
    __getattr__ = _says_what_to_write(__name__)
