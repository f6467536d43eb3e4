"""Programs of functions that are traced with a `Dimension`, evaluated on buffers of which some rows count.

An axis along which a shape has a `Dimension` begins with what counts; what lies behind is arbitrary.
Operations of each element are done as they are. Those that mix elements along such an axis have a rule here,
which fills what does not count first, or moves what does. What has no rule is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core._internals import ClosedJaxpr, program_in
from ..._core._jaxprs import evaluated, opened
from ..._core._quotients import quotient
from ._dimensions import Dimension, Refused, at

__all__ = ["evaluate", "mentions_dimension"]

# Each result is made of the elements at its place, or of those at one place of the other axes.
_APART = frozenset(
    [
        "abs",
        "acos",
        "acosh",
        "add",
        "add_any",
        "and",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "bessel_i0e",
        "bessel_i1e",
        "bitcast_convert_type",
        "broadcast_in_dim",
        "cbrt",
        "ceil",
        "clamp",
        "clz",
        "complex",
        "conj",
        "copy",
        "copy_p",
        "cos",
        "cosh",
        "digamma",
        "eq",
        "erf",
        "erf_inv",
        "erfc",
        "exp",
        "exp2",
        "expand_dims",
        "expm1",
        "floor",
        "ge",
        "gt",
        "igamma",
        "igamma_grad_a",
        "igammac",
        "imag",
        "integer_pow",
        "iota",
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
        "polynomial",
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
        "squeeze",
        "stack",
        "stop_gradient",
        "sub",
        "tan",
        "tanh",
        "transpose",
        "xor",
        "zeta",
    ]
)
_INT32_MAX = np.iinfo(np.int32).max
_PROGRAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call", "_prim")  # of a call, by the names of its parameter


def evaluate(
    program: ClosedJaxpr, arguments: Sequence[Any], capacities: Sequence[int], counts: Sequence[Any]
) -> list[Any]:
    """Return what a program computes of buffers with so many rows each, of which numbers count."""
    return _Evaluation(capacities, counts).of(program, arguments)


def mentions_dimension(value: Any) -> bool:
    """Whether a parameter, or a program in it, has a dimension that is not known."""
    if isinstance(value, Dimension):
        return True
    if isinstance(value, (tuple, list)):
        return any(map(mentions_dimension, value))
    program = program_in(value)
    if program is None:
        return False
    jaxpr = opened(program)
    variables = (*jaxpr.invars, *jaxpr.outvars)
    return any(map(_is_of_rows, jaxpr.eqns)) or any(map(_has_rows, variables))


def _has_rows(variable: Any) -> bool:
    return any(isinstance(each, Dimension) for each in getattr(variable.aval, "shape", ()))


def _is_of_rows(equation: Any) -> bool:
    """Whether an equation has to do with dimensions that are not known."""
    variables = (*equation.invars, *equation.outvars)
    return any(map(_has_rows, variables)) or mentions_dimension(tuple(equation.params.values()))


def _check_shape(variable: Any) -> None:
    """Refuse axes of which buffers have less than what counts, and those whose positions are no int32."""
    for each in getattr(variable.aval, "shape", ()):
        if isinstance(each, Dimension) and (not each.grows or each.most > _INT32_MAX):
            raise Refused("a dimension")


_TAKING_NUMBERS = frozenset(["convert_element_type", "jit", "pjit"])


def _has_rule(equation: Any) -> bool:
    """Whether an equation is evaluated here: also one that takes a number, which may be a dimension."""
    name = equation.primitive.name
    is_of_number = name in _TAKING_NUMBERS and any(map(_is_integer, equation.invars))
    return is_of_number or (name == "div" and _is_complex(equation)) or _is_of_rows(equation)


def _is_integer(variable: Any) -> bool:
    return not variable.aval.shape and jnp.issubdtype(variable.aval.dtype, jnp.integer)


def _is_complex(equation: Any) -> bool:
    return jnp.issubdtype(equation.outvars[0].aval.dtype, jnp.complexfloating)


def _axes_of_rows(variable: Any) -> list[int]:
    return [i for i, each in enumerate(variable.aval.shape) if isinstance(each, Dimension)]


class _Evaluation:
    """An evaluation on buffers with so many rows each, of which numbers count."""

    def __init__(self, capacities: Sequence[int], counts: Sequence[Any]):
        """Say how many rows there are, and how many of them count, which are of int32."""
        self.capacities = capacities
        self.counts = counts
        self._dimensions: list[tuple[Any, Dimension]] = []  # numbers in the program, and what they are

    def of(self, program: Any, arguments: Sequence[Any]) -> list[Any]:
        """Return what a program computes."""
        if opened(program).effects:
            raise Refused("effects")
        return evaluated(program, arguments, _has_rule, self._results)

    def _results(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        for variable in (*equation.invars, *equation.outvars):
            _check_shape(variable)
        name = equation.primitive.name
        rule = _RULES.get(name)
        if rule is not None:
            return rule(self, equation, operands)
        if name in _APART:
            return self._bound(equation, operands)
        raise Refused(name)

    # What rules are made of

    def _dimension_that_is(self, value: Any) -> Dimension | None:
        """Return the dimension that a number in the program is; None if it is none."""
        return next((dimension for number, dimension in self._dimensions if number is value), None)

    def _bound(self, equation: Any, operands: Sequence[Any], **changed: Any) -> Sequence[Any]:
        """Return what an equation computes of these operands."""
        params = {name: self._at(value) for name, value in equation.params.items()} | changed
        params |= dict.fromkeys({"sharding", "out_sharding"} & params.keys())
        made = equation.primitive.bind(*operands, **params)
        return made if equation.primitive.multiple_results else [made]

    def _at(self, parameter: Any) -> Any:
        """Return a parameter with the dimensions of buffers."""
        if type(parameter) is tuple:
            return tuple([at(x, self.capacities) for x in parameter])
        return at(parameter, self.capacities)

    def _number(self, dimension: Any) -> Any:
        """Return how many elements count along an axis, as an int32."""
        return at(dimension, self.counts)

    def _place(self, variable: Any, shape: tuple[int, ...]) -> jax.Array:
        """Return the place that each element has among those that count, in the order of rows."""
        place = jnp.zeros(shape, np.int32)
        for axis, dimension in enumerate(variable.aval.shape):
            place = place * self._number(dimension) + lax.broadcasted_iota(np.int32, shape, axis)
        return place

    def _counts(self, variable: Any, axis: int) -> jax.Array:
        """Return where elements count along an axis, which the axes of a value have."""
        shape = self._at(variable.aval.shape)
        return lax.broadcasted_iota(np.int32, shape, axis) < self._number(variable.aval.shape[axis])

    def _filled(self, value: Any, variable: Any, axes: Sequence[int], filler: Any) -> Any:
        """Return a value with a filler where elements do not count along some of the axes."""
        for axis in axes:
            if isinstance(variable.aval.shape[axis], Dimension):
                value = jnp.where(self._counts(variable, axis), value, jnp.asarray(filler, value.dtype))
        return value


def _is_along(equation: Any, parameter: str) -> bool:
    """Whether the first operand has rows along the axis in a parameter."""
    return equation.params[parameter] in _axes_of_rows(equation.invars[0])


# Programs in programs


def _called(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    program = next(program_in(equation.params[name]) for name in _PROGRAMS if name in equation.params)
    if program is None:
        raise Refused("a call of what is no program")
    return self.of(program, operands)


def _chosen(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    def way(branch: Any) -> Callable[..., Any]:
        return lambda *values: self.of(branch, values)

    return lax.switch(operands[0], [way(branch) for branch in equation.params["branches"]], *operands[1:])


def _while(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    params = equation.params
    of_condition = params["cond_nconsts"]
    of_body = of_condition + params["body_nconsts"]

    def goes_on(carried: Any) -> Any:
        return self.of(params["cond_jaxpr"], [*operands[:of_condition], *carried])[0]

    def body(carried: Any) -> Any:
        return self.of(params["body_jaxpr"], [*operands[of_condition:of_body], *carried])

    return lax.while_loop(goes_on, body, operands[of_body:])


def _scanned(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Loop over all rows if it is over rows; those that do not count change nothing that is carried."""
    params = equation.params
    length = params["length"]
    const_count, carry_count = _counts_of_scan(params)
    of_inputs = const_count + carry_count
    is_over_rows = isinstance(length, Dimension)
    steps = jnp.arange(self._at(length), dtype=np.int32)

    def body(carried: Any, number_and_inputs: Any) -> Any:
        number, inputs = number_and_inputs
        made = self.of(params["jaxpr"], [*operands[:const_count], *carried, *inputs])
        new = made[:carry_count]
        if is_over_rows:
            counts = number < self._number(length)
            new = [jnp.where(counts, each, old) for each, old in zip(new, carried, strict=True)]
        return new, made[carry_count:]

    options = {name: params[name] for name in ("reverse", "unroll")}
    carried, results = lax.scan(
        body, operands[const_count:of_inputs], (steps, operands[of_inputs:]), **options
    )
    return [*carried, *results]


def _counts_of_scan(params: dict[str, Any]) -> tuple[int, int]:
    """Return how many operands of a scan are constants, and how many are carried; by two versions of JAX."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = params["ft_in"].unpack()
    return len(consts), len(carry)


def _solved(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Return what the solver of `lax.custom_linear_solve` computes."""
    numbers = equation.params["const_lengths"]
    before = numbers.matvec + (numbers.vecmat or 0)
    count = before + numbers.solve + (numbers.transpose_solve or 0)
    solve = equation.params["jaxprs"].solve
    return self.of(solve, [*operands[before : before + numbers.solve], *operands[count:]])


def _number_of_rows(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    dimension = equation.params["dimension"]
    dtype = equation.outvars[0].aval.dtype
    number = dimension.of([jnp.asarray(count).astype(dtype) for count in self.counts])
    self._dimensions.append((number, dimension))
    return [number]


def _converted(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Refuse a dimension in a dtype that may not hold it, as a Python int is."""
    dtype = equation.params["new_dtype"]
    made = self._bound(equation, operands)
    dimension = self._dimension_that_is(operands[0])
    if dimension is None:
        return made
    if jnp.issubdtype(dtype, jnp.integer):
        limits = jnp.iinfo(dtype)
        if dimension.least < limits.min or dimension.most > limits.max:
            raise Refused("a number that does not fit")
    self._dimensions.append((made[0], dimension))
    return made


def _divided(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Divide complex numbers by a dimension as by a real constant: 0 times an infinite part is NaN."""
    x, y = operands
    if not _is_complex(equation) or self._dimension_that_is(y) is None:
        return self._bound(equation, operands)
    real = lax.real(x)
    imag = lax.imag(x)
    divisor = jnp.broadcast_to(lax.real(y), real.shape)
    return [lax.complex(quotient(real + imag * 0, divisor), quotient(imag - real * 0, divisor))]


# Elements that are mixed


def _zero(dtype: np.dtype) -> Any:
    return 0


def _one(dtype: np.dtype) -> Any:
    return 1


def _all_bits(dtype: np.dtype) -> Any:
    return True if jnp.issubdtype(dtype, jnp.bool) else ~np.zeros((), dtype)


def _lowest(dtype: np.dtype) -> Any:
    if jnp.issubdtype(dtype, jnp.bool):
        return False
    return -np.inf if jnp.issubdtype(dtype, jnp.floating) else np.iinfo(dtype).min


def _highest(dtype: np.dtype) -> Any:
    if jnp.issubdtype(dtype, jnp.bool):
        return True
    return np.inf if jnp.issubdtype(dtype, jnp.floating) else np.iinfo(dtype).max


def _last(dtype: np.dtype) -> Any:
    """Return what nothing is sorted behind."""
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return complex(np.nan, np.nan)
    return np.nan if jnp.issubdtype(dtype, jnp.floating) else _highest(dtype)


def _folded(filler: Callable[[np.dtype], Any]) -> Callable[..., Sequence[Any]]:
    """Return the rule of a fold, which a filler does not change."""

    def rule(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
        value = operands[0]
        filled = self._filled(value, equation.invars[0], equation.params["axes"], filler(value.dtype))
        return self._bound(equation, [filled])

    return rule


def _folded_by_program(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Fold by a program, of whose operands the second half changes nothing, as JAX asks for."""
    half = len(operands) // 2
    axes = equation.params["dimensions"]
    triples = zip(operands[:half], equation.invars[:half], operands[half:], strict=True)
    filled = [self._filled(value, variable, axes, start) for value, variable, start in triples]
    return self._bound(equation, [*filled, *operands[half:]])


def _accumulated(filler: Callable[[np.dtype], Any]) -> Callable[..., Sequence[Any]]:
    """Return the rule of a fold of each element and those before it, or behind it."""

    def rule(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
        value = operands[0]
        if equation.params["reverse"]:
            axes = [equation.params["axis"]]
            value = self._filled(value, equation.invars[0], axes, filler(value.dtype))
        return self._bound(equation, [value])

    return rule


def _sorted(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Sort what does not count behind everything else."""
    if not _is_along(equation, "dimension"):
        return self._bound(equation, operands)
    axis = equation.params["dimension"]
    keys = equation.params["num_keys"]
    if keys == 1:  # of equal ones the first comes first
        key = self._filled(operands[0], equation.invars[0], [axis], _last(operands[0].dtype))
        return self._bound(equation, [key, *operands[1:]], is_stable=True)
    does_not_count = ~self._counts(equation.invars[0], axis)
    made = lax.sort((does_not_count, *operands), dimension=axis, num_keys=keys + 1, is_stable=True)
    return made[1:]


def _multiplied(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Sum products of 0 and 0 where rows do not count."""
    axes, _ = equation.params["dimension_numbers"]
    filled = [self._filled(*each, 0) for each in zip(operands, equation.invars, axes, strict=True)]
    return self._bound(equation, filled)


def _convolved(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Slide a known array along rows; what does not count is 0, as padding is."""
    params = equation.params
    axes = _axes_of_rows(equation.invars[0])
    batch, feature, *spatial = params["dimension_numbers"].lhs_spec
    is_grouped = params["batch_group_count"] > 1 and batch in axes
    if (
        feature in axes
        or is_grouped
        or _has_rows(equation.invars[1])
        or mentions_dimension(params["padding"])
    ):
        raise Refused("conv_general_dilated")
    value, kernel = operands
    return self._bound(equation, [self._filled(value, equation.invars[0], spatial, 0), kernel])


def _greatest(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Take the greatest elements, of equal ones the first: what does not count is behind."""
    axes = [equation.params["axis"]]
    lowest = _lowest(operands[0].dtype)
    return self._bound(equation, [self._filled(operands[0], equation.invars[0], axes, lowest)])


def _transformed(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Transform along axes that are known."""
    first = len(equation.invars[0].aval.shape) - len(equation.params["fft_lengths"])
    if any(i >= first for i in _axes_of_rows(equation.invars[0])):
        raise Refused("fft")
    return self._bound(equation, operands)


# Elements that move


def _split(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    if _is_along(equation, "axis"):
        raise Refused(equation.primitive.name)
    return self._bound(equation, operands)


def _tiled(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Repeat what counts."""
    (value,) = operands
    variable = equation.invars[0]
    reps = list(equation.params["reps"])
    for axis in _axes_of_rows(variable):
        if reps[axis] != 1:
            places = jnp.arange(value.shape[axis] * reps[axis], dtype=np.int32)
            places = places % self._number(variable.aval.shape[axis])
            value = jnp.take(value, places, axis=axis, mode="clip")
            reps[axis] = 1
    return self._bound(equation, [value], reps=tuple(reps))


def _reshaped(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Keep what counts in front where axes are put together, or taken apart, behind the same ones.

    Else each element is read at the place that it has among those that count.
    """
    if equation.params["dimensions"] is not None:
        raise Refused("reshape")
    (before,) = equation.invars
    (after,) = equation.outvars
    if _begin_alike(before, after):
        return self._bound(equation, operands)
    (value,) = operands
    shape = self._at(after.aval.shape)
    if max(math.prod(shape), value.size) > _INT32_MAX:
        raise Refused("reshape")
    place = self._place(after, shape)
    positions = []
    for axis in reversed(range(value.ndim)):
        length = self._number(before.aval.shape[axis])
        positions.append(place % length)
        place = place // length
    return [value.at[tuple(reversed(positions))].get(mode="clip")]


def _begin_alike(before: Any, after: Any) -> bool:
    """Whether the elements in front of the rows of two shapes are as many."""
    axes = [_axes_of_rows(x) for x in (before, after)]
    if [len(each) for each in axes] != [1, 1]:
        return False
    in_front = [x.aval.shape[: each[0]] for x, each in zip((before, after), axes, strict=True)]
    return math.prod(in_front[0]) == math.prod(in_front[1])


def _reversed(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    (value,) = operands
    variable = equation.invars[0]
    others = []
    for axis in equation.params["dimensions"]:
        dimension = variable.aval.shape[axis]
        if not isinstance(dimension, Dimension):
            others.append(axis)
            continue
        positions = self._number(dimension) - 1 - jnp.arange(value.shape[axis], dtype=np.int32)
        value = jnp.take(value, positions, axis=axis, mode="clip")
    return [lax.rev(value, others)]


def _sliced(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    starts = equation.params["start_indices"]
    strides = equation.params["strides"]
    (value,) = operands
    for axis, start in enumerate(starts):
        if isinstance(start, Dimension):
            if not start.grows or (strides is not None and strides[axis] != 1):
                raise Refused("slice")
            size = self._at(equation.params["limit_indices"][axis]) - self._at(start)
            value = lax.dynamic_slice_in_dim(value, self._number(start), size, axis)
    limits = self._at(equation.params["limit_indices"])
    new_starts = [0 if isinstance(start, Dimension) else start for start in starts]
    new_limits = [
        value.shape[i] if isinstance(start, Dimension) else limits[i] for i, start in enumerate(starts)
    ]
    return [lax.slice(value, new_starts, new_limits, strides)]


def _padded(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Let what does not count be padding."""
    value, padding = operands
    variable = equation.invars[0]
    config = equation.params["padding_config"]
    if any(isinstance(before, Dimension) for before, _, _ in config):
        raise Refused("pad")
    filled = self._filled(value, variable, _axes_of_rows(variable), padding)
    return self._bound(equation, [filled, padding], padding_config=tuple(map(self._at, config)))


def _concatenated(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Write one value after another, each over what does not count of the one before it."""
    axis = equation.params["dimension"]
    dimensions = [x.aval.shape[axis] for x in equation.invars]
    if not any(isinstance(each, Dimension) for each in dimensions[:-1]):
        return self._bound(equation, operands)
    if any(isinstance(each, Dimension) and not each.grows for each in dimensions):
        raise Refused("concatenate")
    shape = self._at(equation.outvars[0].aval.shape)
    made = jnp.zeros(shape, operands[0].dtype)
    start: Any = np.int32(0)
    for value, dimension in zip(operands, dimensions, strict=True):
        made = lax.dynamic_update_slice_in_dim(made, value, start, axis)
        start = start + np.int32(0) + self._number(dimension)
    return [made]


def _as_positions(positions: Any) -> Any:
    """Return positions in a dtype that holds negative ones."""
    if positions.dtype.itemsize < 4:
        return positions.astype(np.int32)
    if positions.dtype.kind != "i":
        raise Refused("unsigned positions")
    return positions


def _within(mode: Any, position: Any, last: Any) -> Any:
    """Return positions up to the last one; those that are not stay without, or are moved as JAX does."""
    last = jnp.asarray(last).astype(position.dtype)
    if mode == lax.GatherScatterMode.CLIP:
        return jnp.clip(position, 0, last)
    if mode == lax.GatherScatterMode.FILL_OR_DROP:
        return jnp.where((position < 0) | (position > last), -1, position)
    raise Refused("a mode of positions")


def _mode_of(equation: Any, unless_within: Any) -> Any:
    """Return what is done with positions that are not within; XLA's way if a program promises none."""
    mode = equation.params["mode"]
    return unless_within if mode == lax.GatherScatterMode.PROMISE_IN_BOUNDS else mode


def _check_slice(dimension: Any, size: Any, is_moved: bool) -> None:
    """Refuse slices that do not fit into what counts if they fit into the buffer."""
    if not isinstance(size, Dimension):
        return
    rest = dimension - size
    is_within = rest.grows if isinstance(rest, Dimension) else isinstance(dimension, Dimension)
    if not is_within or (not is_moved and rest != 0):
        raise Refused("a slice")


def _gathered(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    value, positions = operands
    shape = equation.invars[0].aval.shape
    sizes = equation.params["slice_sizes"]
    columns = equation.params["dimension_numbers"].start_index_map
    mode = _mode_of(equation, lax.GatherScatterMode.CLIP)
    for axis, size in enumerate(sizes):
        _check_slice(shape[axis], size, is_moved=axis in columns)
    if any(isinstance(shape[axis], Dimension) for axis in columns):
        positions = _as_positions(positions)
        of_columns = [
            _within(mode, positions[..., i], self._number(shape[axis] - sizes[axis]))
            if isinstance(shape[axis], Dimension)
            else positions[..., i]
            for i, axis in enumerate(columns)
        ]
        positions = jnp.stack(of_columns, -1)
    return self._bound(equation, [value, positions], indices_are_sorted=False)


def _scattered(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    value, positions, new = operands
    shape = equation.invars[0].aval.shape
    numbers = equation.params["dimension_numbers"]
    mode = _mode_of(equation, lax.GatherScatterMode.FILL_OR_DROP)
    columns = numbers.scatter_dims_to_operand_dims
    sizes = _sizes_of_windows(equation)
    for axis, size in sizes.items():
        is_whole = isinstance(shape[axis], Dimension) and axis not in columns and size == shape[axis]
        if isinstance(size, Dimension) and not is_whole:
            raise Refused("scatter")
    axes = [i for i in _axes_of_rows(equation.invars[1]) if i not in numbers.scatter_indices_batching_dims]
    if axes or any(isinstance(shape[axis], Dimension) for axis in columns):
        positions = _as_positions(positions)
        of_columns = [
            _within(mode, positions[..., i], self._number(shape[axis] - sizes[axis]))
            for i, axis in enumerate(columns)
        ]
        if of_columns:
            positions = jnp.stack(of_columns, -1)
        elif axes:
            raise Refused("scatter")
        positions = self._filled(positions, equation.invars[1], axes, -1)
        mode = lax.GatherScatterMode.FILL_OR_DROP
    changed = {"indices_are_sorted": False, "unique_indices": False, "mode": mode}
    return self._bound(equation, [value, positions, new], **changed)


def _sizes_of_windows(equation: Any) -> dict[int, Any]:
    """Return how much of each axis of its operand a scatter writes for each position."""
    numbers = equation.params["dimension_numbers"]
    shape_of_new = equation.invars[2].aval.shape
    batching = numbers.operand_batching_dims
    axes = [
        i
        for i in range(len(equation.invars[0].aval.shape))
        if i not in numbers.inserted_window_dims and i not in batching
    ]
    sizes = {i: shape_of_new[j] for i, j in zip(axes, numbers.update_window_dims, strict=True)}
    return dict.fromkeys(numbers.inserted_window_dims, 1) | sizes


def _slice_taken(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Take a slice that starts at positions which JAX moves into what counts."""
    value, *starts = operands
    shape = equation.invars[0].aval.shape
    sizes = equation.params["slice_sizes"]
    moved = _starts_within(self, starts, shape, sizes)
    return self._bound(equation, [value, *moved])


def _slice_written(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    value, new, *starts = operands
    shape = equation.invars[0].aval.shape
    sizes = equation.invars[1].aval.shape
    for size, dimension in zip(sizes, shape, strict=True):
        _check_slice(dimension, size, is_moved=False)
    moved = _starts_within(self, starts, shape, sizes)
    return self._bound(equation, [value, new, *moved])


def _starts_within(self: _Evaluation, starts: Sequence[Any], shape: Any, sizes: Any) -> list[Any]:
    moved = []
    for start, dimension, size in zip(starts, shape, sizes, strict=True):
        _check_slice(dimension, size, is_moved=True)
        if isinstance(dimension, Dimension):
            start = jnp.asarray(start)
            if start.dtype not in (np.int32, np.int64):
                raise Refused("small or unsigned positions")
            most = self._number(dimension - size)
            start = jnp.clip(start, 0, jnp.asarray(most).astype(start.dtype))
        moved.append(start)
    return moved


# Matrices


def _decomposed(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Decompose, or solve with, each matrix of a stack; those that do not count are the identity."""
    axes = [_axes_of_rows(x) for x in equation.invars]
    ndim = len(equation.invars[0].aval.shape)
    if any(i >= ndim - 2 for each in axes for i in each):
        raise Refused(equation.primitive.name)
    value = operands[0]
    identity = jnp.eye(value.shape[-2], value.shape[-1], dtype=value.dtype)
    for axis in axes[0]:
        value = jnp.where(self._counts(equation.invars[0], axis), value, identity)
    return self._bound(equation, [value, *operands[1:]])


def _solved_by_triangle(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Solve for right-hand sides apart from each other, of one matrix, or of a stack of them."""
    ndim = len(equation.invars[0].aval.shape)
    axis_of_sides = ndim - 1 if equation.params["left_side"] else ndim - 2
    are_sides = _axes_of_rows(equation.invars[1]) == [axis_of_sides]
    if are_sides and not _axes_of_rows(equation.invars[0]):
        return self._bound(equation, operands)
    return _decomposed(self, equation, operands)


def _singular_values(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Decompose each matrix of a stack, or one with rows of 0, which change no singular value."""
    params = equation.params
    if not params["compute_uv"]:
        return _factored(self, equation, operands)
    rows, columns = equation.invars[0].aval.shape[-2:]
    is_tall = isinstance(rows, Dimension) and not isinstance(columns, Dimension) and rows.least >= columns
    if len(equation.invars[0].aval.shape) > 2 or not is_tall or params["full_matrices"]:
        return _decomposed(self, equation, operands)
    # The vectors to a singular value 0 might lie in rows of 0: those of the small factor cannot.
    q, r = lax.linalg.qr(self._filled(operands[0], equation.invars[0], [0], 0), full_matrices=False)
    values, u, vh = self._bound(equation, [r])
    return [values, jnp.matmul(q, u, precision=lax.Precision.HIGHEST), vh]


def _factored(self: _Evaluation, equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Decompose matrices with rows of 0, which change no factor; each of a stack apart."""
    variable = equation.invars[0]
    ndim = len(variable.aval.shape)
    if ndim - 1 in _axes_of_rows(variable):
        raise Refused(equation.primitive.name)
    value = self._filled(operands[0], variable, [*range(ndim - 1)], 0)
    return self._bound(equation, [value, *operands[1:]])


_RULES: dict[str, Callable[[_Evaluation, Any, list[Any]], Sequence[Any]]] = {
    "convert_element_type": _converted,
    "div": _divided,
    "dimension": _number_of_rows,
    # programs
    "call_hi_primitive": _called,
    "checkpoint": _called,
    "closed_call": _called,
    "cond": _chosen,
    "custom_jvp_call": _called,
    "custom_linear_solve": _solved,
    "custom_vjp_call": _called,
    "custom_vjp_call_jaxpr": _called,
    "custom_vmap_call": _called,
    "jit": _called,
    "pjit": _called,
    "remat2": _called,
    "scan": _scanned,
    "while": _while,
    # elements that are mixed
    "argmax": _folded(_lowest),
    "argmin": _folded(_highest),
    "cumlogsumexp": _accumulated(_lowest),
    "conv_general_dilated": _convolved,
    "cummax": _accumulated(_lowest),
    "cummin": _accumulated(_highest),
    "cumprod": _accumulated(_one),
    "cumsum": _accumulated(_zero),
    "dot_general": _multiplied,
    "fft": _transformed,
    "reduce": _folded_by_program,
    "reduce_and": _folded(_all_bits),
    "reduce_max": _folded(_lowest),
    "reduce_min": _folded(_highest),
    "reduce_or": _folded(_zero),
    "reduce_prod": _folded(_one),
    "reduce_sum": _folded(_zero),
    "reduce_xor": _folded(_zero),
    "sort": _sorted,
    "top_k": _greatest,
    # elements that move
    "concatenate": _concatenated,
    "dynamic_slice": _slice_taken,
    "dynamic_update_slice": _slice_written,
    "gather": _gathered,
    "pad": _padded,
    "reshape": _reshaped,
    "rev": _reversed,
    "scatter": _scattered,
    "scatter-add": _scattered,
    "scatter-max": _scattered,
    "scatter-min": _scattered,
    "scatter-mul": _scattered,
    "slice": _sliced,
    "split": _split,
    "tile": _tiled,
    "unstack": _split,
    # matrices
    "cholesky": _decomposed,
    "eig": _decomposed,
    "eigh": _decomposed,
    "geqrf": _factored,
    "householder_product": _factored,
    "lu": _decomposed,
    "qr": _factored,
    "svd": _singular_values,
    "triangular_solve": _solved_by_triangle,
}
