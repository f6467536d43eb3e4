"""Many lengths: pad the first axis to a few lengths, for functions that treat each row alone.

`jax.jit` compiles for every new shape. With ``fuse(pad=True)`` arrays of up to 2**20 rows are padded on the
host to the next power of two, so that all lengths of an octave share one program, and the rows of the
padding are cut off again. That is right only if no row of a result depends on another row or on their number:
the function is traced once with a symbolic length, and every operation of the traced program is checked.
"""

from typing import Any

import jax
import jax.export
import numpy as np

from .._core._dtypes import x64_mode
from .._core._programs import is_traced
from ._arguments import signature_of

__all__ = ["Padding", "cut", "lengths", "padded_leaves"]

_MOST_ROWS = 2**20  # above, moving the data costs more than what is won
_MOST_BYTES = 2**24
_FEWEST_ROWS = 64  # below there are few lengths, and other axes that happen to be as long

_ELEMENTWISE = frozenset(
    """
    abs acos acosh add and asin asinh atan atan2 atanh bessel_i0e bessel_i1e bitcast_convert_type
    cbrt ceil clamp clz complex conj convert_element_type copy copy_p cos cosh digamma div eq erf
    erf_inv erfc exp exp2 expm1 floor ge gt igamma igammac imag integer_pow is_finite le lgamma log
    log1p logistic lt max min mul ne neg nextafter not or population_count pow real reduce_precision
    regularized_incomplete_beta rem round rsqrt select_n shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor
    """.split()  # noqa: SIM905 (a table that one can read)
)
# These treat each row alone wherever the rows are the first axis of what they take and of what they give.
_PROVED_BY_SHAPE = frozenset(
    """
    argmax argmin broadcast_in_dim concatenate dot_general iota reduce reduce_and reduce_max reduce_min
    reduce_or reduce_prod reduce_sum slice squeeze transpose
    """.split()  # noqa: SIM905
)
# These treat each matrix of a stack alone.
_OF_MATRICES = frozenset(
    "cholesky eig eigh geqrf householder_product lu qr schur svd triangular_solve".split()  # noqa: SIM905
)
_CALLS = frozenset(
    ["jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "checkpoint", "remat"]
)


class _Refusal(TypeError):
    def __init__(self, name, reason):
        super().__init__(
            f"fused function {name!r} cannot be padded: {reason}. pad=True is for functions that treat each "
            "row (the first axis) alone, such as element-wise ones; leave it out here"
        )


class Padding:
    """What one fused function knows about padding: its proofs."""

    def __init__(self):
        self._proofs: dict = {}

    def plan(self, name, leaves, treedef, trace):
        """Return the length, which leaves to pad from it, and which results have its rows.

        None where no length is to be padded. Raises TypeError where rows are combined whatever the length.
        """
        refusal = None
        for rows in lengths(leaves):
            padded = tuple(getattr(leaf, "ndim", 0) > 0 and leaf.shape[0] == rows for leaf in leaves)
            key = (x64_mode(), treedef, padded, *map(_signature_without_rows, leaves, padded))
            try:
                if key not in self._proofs:
                    self._proofs[key] = _prove(name, leaves, padded, trace)
                return rows, padded, self._proofs[key]
            except _Refusal as error:
                refusal = refusal or error
        if refusal:
            raise TypeError(str(refusal)) from refusal
        return None

    def clear(self):
        """Forget everything."""
        self._proofs.clear()


def lengths(leaves) -> list[int]:
    """Return the lengths from which arrays may be padded, the longest first; none if that would not pay."""
    arrays = [leaf for leaf in leaves if getattr(leaf, "ndim", 0) > 0]
    if not all(map(_can_be_moved, arrays)) or sum(leaf.nbytes for leaf in arrays) > _MOST_BYTES:
        return []
    found = {leaf.shape[0] for leaf in arrays if _FEWEST_ROWS <= leaf.shape[0] <= _MOST_ROWS}
    return sorted(found, reverse=True)


def padded_leaves(leaves, padded, rows) -> list:
    """Leaves with zeros below, up to the next power of two."""
    length = 1 << (rows - 1).bit_length()
    return [_pad(leaf, length) if pad else leaf for leaf, pad in zip(leaves, padded, strict=True)]


def cut(result, has_rows, rows):
    """Cut the rows of the padding off a result, each array on its own device."""
    leaves, treedef = jax.tree.flatten(result)
    short = [
        jax.device_put(np.asarray(leaf)[:rows], leaf.sharding) if cut_it else leaf
        for leaf, cut_it in zip(leaves, has_rows, strict=True)
    ]
    return jax.tree.unflatten(treedef, short)


def _pad(leaf, length):
    host = np.zeros((length, *leaf.shape[1:]), leaf.dtype)
    host[: leaf.shape[0]] = leaf
    return jax.device_put(host, leaf.sharding) if isinstance(leaf, jax.Array) else host


def _can_be_moved(leaf) -> bool:
    if is_traced(leaf) or not isinstance(leaf.dtype, np.dtype):
        return False
    return not isinstance(leaf, jax.Array) or len(leaf.devices()) == 1


def _signature_without_rows(leaf, padded):
    signature = signature_of(leaf)
    return (signature[0][1:], *signature[1:]) if padded else signature


def _prove(name, leaves, padded, trace) -> list[bool]:
    (length,) = jax.export.symbolic_shape("n", constraints=[f"n >= {_FEWEST_ROWS}"])
    specs = [
        jax.ShapeDtypeStruct((length, *leaf.shape[1:]), leaf.dtype) if pad else leaf
        for leaf, pad in zip(leaves, padded, strict=True)
    ]
    try:
        traced = trace(specs)
    except Exception as error:
        trace(leaves)  # the user's own mistake speaks for itself
        raise _Refusal(name, "its course depends on the number of rows") from error
    try:
        return rows_of_results(name, traced.jaxpr.jaxpr, list(padded), length)
    except _Refusal:
        raise
    except Exception as error:  # another JAX, which writes its programs in another form
        raise _Refusal(name, "this version of JAX does not show how it treats rows") from error


def rows_of_results(name: str, jaxpr: Any, has_rows: list[bool], length: Any) -> list[bool]:
    """Follow the rows through a jaxpr traced with a symbolic length: which results have them.

    Raises TypeError at the first operation that could combine two rows, or that counts the rows.
    """
    from jax.extend.core import Literal  # which loads Pallas

    rows = dict(zip(jaxpr.invars, has_rows, strict=True)) | dict.fromkeys(jaxpr.constvars, False)
    for equation in jaxpr.eqns:
        given = [not isinstance(v, Literal) and rows[v] for v in equation.invars]
        primitive = equation.primitive.name
        symbolic = [not _is_constant(v.aval.shape) for v in equation.outvars]
        if primitive == "dim_as_value":
            out: list = [None]  # the number of rows: not to be used
        elif primitive == "optimization_barrier":
            out = given
        elif inner := list(_inner(primitive, equation.params, given)):
            out = [rows_of_results(name, getattr(j, "jaxpr", j), each, length) for j, each in inner][-1]
        else:
            kept = not (any(given) or any(symbolic)) or _keeps_rows(primitive, equation, given, length)
            if None in given:
                raise _Refusal(name, "it uses the number of rows")
            if not kept or _holds_program(primitive, equation.params):
                raise _Refusal(name, f"{primitive} works across rows")
            out = symbolic
        rows.update(zip(equation.outvars, out, strict=True))
    results = [not isinstance(v, Literal) and rows[v] for v in jaxpr.outvars]
    if None in results:
        raise _Refusal(name, "it returns the number of rows")
    return results


def _holds_program(primitive, params) -> bool:
    """Whether an operation runs a jaxpr, other than one of two numbers."""
    of_numbers = primitive == "reduce" or primitive.startswith("scatter")
    return not of_numbers and any("jaxpr" in key or key == "branches" for key in params)


def _inner(primitive, params, given):
    """Yield the jaxprs that make an operation's results, with which of their inputs have rows."""
    if primitive in _CALLS:
        yield params.get("jaxpr") or params.get("call_jaxpr"), given
    elif primitive == "cond" and given[0] is False:
        yield from [(branch, given[1:]) for branch in params["branches"]]
    elif primitive == "custom_linear_solve":
        of_matvec, of_vecmat, of_solve, of_transposed = params["const_lengths"]
        consts = given[of_matvec + of_vecmat :]
        yield params["jaxprs"].solve, consts[:of_solve] + consts[of_solve + of_transposed :]


def _is_constant(shape) -> bool:
    return all(isinstance(size, int) for size in shape)


def _keeps_rows(primitive, equation, given, length) -> bool:
    """Whether the result has the rows on its first axis alone, each made from the same row of the inputs."""
    params = equation.params
    for v in equation.outvars:
        shape = v.aval.shape
        if not shape or (shape[0] is not length and shape[0] != length) or not _is_constant(shape[1:]):
            return False
    if primitive in _ELEMENTWISE or primitive in _PROVED_BY_SHAPE:
        return True
    ndim = len(equation.invars[0].aval.shape)
    if primitive in _OF_MATRICES:
        return given[0] and ndim > 2
    if primitive == "lu_pivots_to_permutation":
        return ndim > 1
    if primitive == "fft":
        return ndim > len(params["fft_lengths"])
    if primitive == "top_k":
        return ndim > 1 and params.get("axis", -1) % ndim > 0
    if primitive == "tile":
        return params["reps"][0] == 1
    if primitive == "reshape":
        return given[0] and params["dimensions"] is None
    if primitive in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "split", "stack"):
        return params["axis"] != 0
    if primitive == "sort":
        return params["dimension"] != 0
    if primitive == "rev":
        return 0 not in params["dimensions"]
    if primitive == "dynamic_slice":
        return given[0] and not any(given[1:])
    if primitive == "dynamic_update_slice":
        return given[0] and not any(given[2:])
    if primitive == "gather":
        return _gathers_by_row(params["dimension_numbers"], given)
    if primitive.startswith("scatter"):
        return _scatters_by_row(params["dimension_numbers"], given)
    return False


def _gathers_by_row(numbers, given) -> bool:
    """Whether each row reads of the same row, or has its places in an array without rows."""
    if given == [True, False]:
        touched = (*numbers.start_index_map, *numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
        return 0 not in touched and 0 in numbers.offset_dims
    pairs = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    return 0 not in numbers.offset_dims and (given == [False, True] or (0, 0) in pairs)


def _scatters_by_row(numbers, given) -> bool:
    """Whether each row is written to by the same row of the updates."""
    if given == [True, False, True]:
        touched = (*numbers.scatter_dims_to_operand_dims, *numbers.inserted_window_dims)
        return 0 not in (*touched, *numbers.operand_batching_dims) and 0 in numbers.update_window_dims
    pairs = zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    return all(given) and 0 not in numbers.update_window_dims and (0, 0) in pairs
