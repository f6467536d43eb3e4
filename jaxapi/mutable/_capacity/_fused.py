"""Fused functions of each row on buffers: what lies behind the rows that count stays there.

Whether a function treats each row apart is read off the program that JAX traces for a number of rows that is
not known. A function that uses this number, or mixes rows, needs the exact arrays.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import export
from jax.extend.core import ClosedJaxpr, Jaxpr

from ..._core._dtypes import x64_for
from ..._core._lengths import has_own_length
from ..._fuse._inputs import PYTHON_NUMBERS
from ..._fuse._integers import fits_any_dtype
from .._array import Array, rows_or_value, wrap_rows
from .._storage import duplicate
from ._rows import Rows, with_rows

__all__ = ["Arguments", "arguments_with_room", "as_rows", "have_rows", "write_content"]

_CALLS = frozenset(
    [
        "cond",
        "custom_jvp_call",
        "custom_linear_solve",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "custom_vmap_call",
        "jit",
        "pjit",
    ]
)
_OF_ELEMENTS = frozenset(
    [
        "abs",
        "acos",
        "acosh",
        "add",
        "and",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "bessel_i0e",
        "bessel_i1e",
        "cbrt",
        "ceil",
        "clamp",
        "clz",
        "complex",
        "conj",
        "convert_element_type",
        "copy",
        "copy_p",
        "cos",
        "cosh",
        "digamma",
        "div",
        "eq",
        "erf",
        "erf_inv",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "ge",
        "gt",
        "igamma",
        "igammac",
        "imag",
        "integer_pow",
        "is_finite",
        "le",
        "lgamma",
        "log",
        "log1p",
        "logistic",
        "lt",
        "max",
        "min",
        "mul",
        "ne",
        "neg",
        "nextafter",
        "not",
        "optimization_barrier",
        "or",
        "polygamma",
        "population_count",
        "pow",
        "real",
        "reduce_precision",
        "regularized_incomplete_beta",
        "rem",
        "round",
        "rsqrt",
        "select_n",
        "shift_left",
        "shift_right_arithmetic",
        "shift_right_logical",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "square",
        "sub",
        "tan",
        "tanh",
        "xor",
        "zeta",
    ]
)
# These leave rows in their places where operands and results have them on the first axis.
_OF_SHAPES = frozenset(["broadcast_in_dim", "dynamic_slice", "iota", "reshape", "slice", "transpose"])
# The parameter that says along which axes elements are mixed.
_ALONG = {
    "argmax": "axes",
    "argmin": "axes",
    "concatenate": "dimension",
    "cumprod": "axis",
    "cumsum": "axis",
    "reduce_and": "axes",
    "reduce_max": "axes",
    "reduce_min": "axes",
    "reduce_or": "axes",
    "reduce_prod": "axes",
    "reduce_sum": "axes",
    "rev": "dimensions",
    "sort": "dimension",
}


class Arguments(NamedTuple):
    """The arguments of a call by their places, which are positions and names."""

    arrays: dict[str, Array]  # as they were given
    values: dict[Any, Any]  # numbers and values, of which some have rows
    of_rows: frozenset[Any]  # the places of these
    number: int  # of rows that count

    def in_order(self) -> tuple[tuple, dict[str, Any]]:
        """Return the values as a call takes them."""
        args = tuple([x for place, x in self.values.items() if type(place) is int])
        return args, {place: x for place, x in self.values.items() if type(place) is str}


def arguments_with_room(args: tuple, kwargs: dict[str, Any]) -> Arguments | None:
    """Return arguments on buffers of one length; None where none has room, or they do not fit row by row."""
    arrays = {}
    contents = {}
    for place, x in [*enumerate(args), *kwargs.items()]:
        if isinstance(x, Array):
            arrays[str(place)] = x
            contents[place] = rows_or_value(x)
        elif isinstance(x, (jax.Array, np.generic)) or _is_number(x):
            contents[place] = x
        else:
            return None
    all_rows = [x for x in contents.values() if isinstance(x, Rows)]
    are_apart = len({id(x._owner) for x in arrays.values()}) == len(arrays)
    if not all_rows or not are_apart or len({x.count for x in all_rows}) > 1:
        return None
    if not has_own_length(*[x.value if isinstance(x, Rows) else x for x in contents.values()]):
        return None
    count = all_rows[0].count
    length = max(len(x.value) for x in all_rows)
    values = {}
    of_rows = []
    for place, x in contents.items():
        if isinstance(x, Rows):
            values[place] = with_rows(x.value, length)
            of_rows.append(place)
        elif getattr(x, "ndim", 0) and len(x) == count:
            values[place] = with_rows(x, length)
            of_rows.append(place)
        else:
            values[place] = x
    return Arguments(arrays, values, frozenset(of_rows), count)


def _is_number(x: Any) -> bool:
    return type(x) in PYTHON_NUMBERS and (type(x) is not int or fits_any_dtype(x))


def have_rows(program: Any, given: tuple, named: dict[str, Any], arguments: Arguments) -> list[bool] | None:
    """Return which results of a program of `jax.jit` have rows; None if it does not treat each row apart."""
    (n,) = export.symbolic_shape("n", constraints=["n >= 2"])  # a single row has no room

    def for_any_number(place, x):
        return jax.ShapeDtypeStruct((n, *x.shape[1:]), x.dtype) if place in arguments.of_rows else x

    given = tuple([for_any_number(place, x) for place, x in enumerate(given)])
    named = {name: for_any_number(name, x) for name, x in named.items()}
    dtypes = [x.dtype for x in arguments.values.values() if hasattr(x, "dtype")]
    try:
        with x64_for(*dtypes):
            traced = program.trace(*given, **named)
    except Exception:  # of the function, which raises it for exact arrays, too
        return None
    results = jax.tree.leaves(traced.out_info)
    if not all(_has_rows_first_or_none(x.shape, n) for x in results):
        return None
    return [_has(x.shape, n) for x in results] if _keeps_rows_apart(traced.jaxpr.jaxpr, n) else None


def _has(shape: tuple, n: Any) -> bool:
    return bool(shape) and type(shape[0]) is not int and shape[0] == n


def _has_rows_first_or_none(shape: tuple, n: Any) -> bool:
    """Whether the number of rows is the length of the first axis alone, or of none."""
    known = shape[1:] if _has(shape, n) else shape
    return all(type(length) is int for length in known)


def _keeps_rows_apart(program: Jaxpr, n: Any) -> bool:
    return not program.effects and all(_is_of_each_row(equation, n) for equation in program.eqns)


def _is_of_each_row(equation: Any, n: Any) -> bool:
    """Whether no row of an equation's results comes from another row, or from the number of rows."""
    name = equation.primitive.name
    params = equation.params
    shapes = [x.aval.shape for x in (*equation.invars, *equation.outvars)]
    if not all(_has_rows_first_or_none(shape, n) for shape in shapes):
        return False
    if name == "dim_as_value":
        return False
    if name in _OF_ELEMENTS:
        return True
    if name in _CALLS or not any(_has(shape, n) for shape in shapes):  # loops may ask for the number, too
        return all(_keeps_rows_apart(program, n) for program in _programs_in(tuple(params.values())))
    if not all(_has(x.aval.shape, n) for x in equation.outvars):
        return False
    if name in _OF_SHAPES:
        return True
    if name in _ALONG:
        axes = params[_ALONG[name]]
        return 0 not in np.atleast_1d(axes)  # an axis may be an integer of NumPy's
    if name == "gather":
        return _takes_whole_columns(equation, n)
    return name == "scatter" and _writes_whole_columns(equation, n)


def _takes_whole_columns(equation: Any, n: Any) -> bool:
    """Whether a gather takes the same part of every row, as ``x[:, 0]`` does."""
    _, positions = [x.aval.shape for x in equation.invars]
    numbers = equation.params["dimension_numbers"]
    is_of_all_rows = equation.params["slice_sizes"][0] == n and 0 not in numbers.start_index_map
    return is_of_all_rows and not _has(positions, n)


def _writes_whole_columns(equation: Any, n: Any) -> bool:
    """Whether a scatter writes rows to the same part of every row, as ``x[:, 0] = y`` does."""
    _, positions, new = [x.aval.shape for x in equation.invars]
    numbers = equation.params["dimension_numbers"]
    is_of_all_rows = numbers.update_window_dims[:1] == (0,) and 0 not in numbers.inserted_window_dims
    is_of_all_rows = is_of_all_rows and 0 not in numbers.scatter_dims_to_operand_dims
    return is_of_all_rows and _has(new, n) and not _has(positions, n)


def _programs_in(value: Any) -> Iterator[Jaxpr]:
    """Yield the programs among the parameters of an equation."""
    if isinstance(value, ClosedJaxpr):
        yield value.jaxpr
    elif isinstance(value, Jaxpr):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _programs_in(part)


def as_rows(made: Any, of_rows: list[bool], arguments: Arguments) -> Any:
    """Return a pytree of results in which those that have rows say so, and share no memory with arguments."""
    leaves, structure = jax.tree.flatten(made)
    contents = []
    for value, has_rows in zip(leaves, of_rows, strict=True):
        if any(value is given for given in arguments.values.values()):
            value = duplicate(value)
        contents.append(Rows(value, arguments.number) if has_rows else value)
    return jax.tree.unflatten(structure, contents)


def write_content(array: Array, content: Any) -> None:
    """Replace the value of an array by another one, or by rows."""
    array._check_writeable()
    if not isinstance(content, Rows):
        array._replace(_other_value, content)
    elif array._has_room() and len(array._value_with_room) == len(content.value):
        array._replace_rows(_other_value, content.value)
    else:
        array[...] = wrap_rows(content, array._module)


def _other_value(old, new, made):
    return new
