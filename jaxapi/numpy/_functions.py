"""The functions that jaxapi or jax.numpy has: NumPy's names and signatures by a table."""

import functools
import operator
import re

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._dtypes import default_dtype, promoted_dtype, resolve_dtype, x64_for
from .._core._errors import check_broadcast, numpy_error
from .._core._exact import transposable
from .._core._programs import any_traced, compiled, is_traced
from .._core._zeros import with_sign_of_zero
from .._interop import scalar_like
from ..linalg._matrices import full_precision
from ..mutable import _host_way as host_way
from ..mutable._array import (
    NUMPY,
    Array,
    any_may_have_room,
    copied,
    from_numpy,
    layout_of,
    line_of_elements,
    may_have_room,
    unwrap,
    wrap,
    wrap_rows,
)
from ..mutable._batches import Pending, is_recording, takes_pending
from ..mutable._by_numpy import computed_by_numpy
from ..mutable._capacity._functions import of_elements as of_each_element
from ..mutable._capacity._rows import Rows
from ..mutable._elementwise import CHOICE, CLIP, ELEMENTWISE, chosen
from ..mutable._faces import in_numpys_dtypes
from ..mutable._numpy_arguments import NotOnHost, narrow, to_numpy
from ..mutable._promotion import narrowed, result_dtype, together
from ..mutable._sharing import array_of_dlpack
from . import _creation, _views
from ._counting import COUNTING
from ._huge_integers import with_huge_integers
from ._repairs import REPAIRS
from ._table import OF_JAX, OF_JAXAPI, OURS
from ._ufuncs import UFUNCS
from ._wrap import (
    as_ours,
    as_type,
    cast,
    check_holder_of_positions,
    current_of,
    into,
    made,
    on_rows_first,
    ours,
    value_of,
    with_numpys_signature,
)

__all__ = ["FUNCTIONS", "GRIDS"]

# Functions that need more than another signature.


def clip(a, a_min=np._NoValue, a_max=np._NoValue, out=None, *, min=np._NoValue, max=np._NoValue, **options):
    """Return the elements between two bounds."""
    has_older_names = a_min is not np._NoValue or a_max is not np._NoValue
    has_newer_names = min is not np._NoValue or max is not np._NoValue
    if has_older_names and (a_min is np._NoValue or a_max is np._NoValue):
        missing = "a_min" if a_min is np._NoValue else "a_max"
        raise TypeError(f"clip() needs {missing!r}, too: give None for no bound, or `min` and `max` by name")
    if has_older_names and has_newer_names:
        raise ValueError("`min` and `max` are other names of `a_min` and `a_max`: give one of both")
    lower, upper = (a_min, a_max) if has_older_names else (min, max)
    if out is None and not options and is_recording():
        line = line_of_elements(CLIP, (a, lower, upper), NUMPY)
        if line is not None:
            return line
    clipped = as_ours(a)
    for bound, name in (lower, "maximum"), (upper, "minimum"):
        if type(bound) is int and _is_no_bound(bound, clipped.dtype, name):
            continue
        if _is_given(bound):
            clipped = UFUNCS[name].by_jax(clipped, bound, **options)
    if not _is_given(lower) and not _is_given(upper):
        clipped = UFUNCS["positive"].by_jax(clipped)
    if clipped is a:
        clipped = copied(a)
    return into(out, clipped, options.get("casting", "same_kind"), broadcasts=True)


def _is_given(bound) -> bool:
    return bound is not None and bound is not np._NoValue


def _is_no_bound(bound: int, dtype: np.dtype, name: str) -> bool:
    """Whether an int is at or beyond the limit of an integer dtype on its side, as NumPy leaves it out."""
    if dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return bound <= limits.min if name == "maximum" else bound >= limits.max


def einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    """Return Einstein's sums, with NumPy's two ways to write axes; where only their order changes, a view."""
    if out is None and len(operands) == 2 and isinstance(operands[0], str):
        x = as_ours(operands[1])
        labels, labels_of_result = _labels_of(operands[0])
        are_distinct = len(set(labels)) == len(labels)
        has_same_labels = sorted(labels) == sorted(labels_of_result)
        is_transpose = are_distinct and has_same_labels and len(labels) == x.ndim
        if labels.isalpha() and is_transpose:
            axes = tuple(labels.index(label) for label in labels_of_result)
            return x._transposed(axes)
    return _einsum(*operands, out=out, optimize=optimize, dtype=dtype, order=order, casting=casting)


def _einstein_sums(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    if len(operands) < 2:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand")
    has_subscripts = isinstance(operands[0], str)
    if has_subscripts:
        arrays = operands[1:]
    else:  # an array, its axes, an array, its axes, and perhaps those of the result
        pair_count = len(operands) // 2
        arrays = operands[: 2 * pair_count : 2]
    given = [as_ours(x) for x in arrays]
    if has_subscripts and len(given) == 1:
        labels, labels_of_result = _labels_of(operands[0])
        is_summed = {*labels} - {"."} != {*labels_of_result} - {"."}
        if not is_summed:  # then NumPy leaves the dtype alone
            dtype = given[0].dtype
    wanted = result_dtype(*[x._value for x in given]) if dtype is None else resolve_dtype(dtype)
    if dtype is not None and not all(np.can_cast(x.dtype, wanted, casting) for x in given):
        raise TypeError(f"cannot cast the operands to {wanted}: rule {casting!r}")
    with x64_for(wanted):
        values = [as_type(x, wanted)._value for x in given]
        if has_subscripts:
            arguments = [operands[0], *values]
        else:
            arguments = []
            for value, axes in zip(values, operands[1::2], strict=True):
                arguments += [value, [i if i is Ellipsis else operator.index(i) for i in axes]]
            if len(operands) % 2:
                arguments.append(operands[-1])
        try:
            result = jnp.einsum(*arguments, precision=jax.lax.Precision.HIGHEST)
        except (KeyError, TypeError) as error:
            raise ValueError(str(error)) from None
        result = ours(result.astype(wanted), *given)
    return into(out, result)


_VIEWS = frozenset(["einsum", "expand_dims"])  # which are copies in the standard
_einsum = on_rows_first("einsum", _einstein_sums)


def _labels_of(subscripts: str) -> tuple[str, str]:
    """Return the labels of one operand's axes and of the result's, which are sorted where it has none."""
    labels, arrow, labels_of_result = subscripts.replace(" ", "").partition("->")
    if not arrow:
        labels_of_result = "".join(sorted(label for label in labels if labels.count(label) == 1))
    return labels, labels_of_result


def _check_products(name, shapes, core):
    """Refuse operands with too few axes, and those of `matvec` and `vecmat` whose axes do not match.

    `matmul` and `vecdot`, which are jaxapi's, check the latter themselves.
    """
    for i, (shape, axes) in enumerate(zip(shapes, core, strict=False), 1):
        wanted = len(axes) - (name == "matmul")
        if len(shape) < wanted:
            raise ValueError(
                f"{name}: x{i} does not have enough dimensions: it has {len(shape)}, and at least {wanted} "
                f"are wanted; got shapes {shapes[0]} and {shapes[1]}"
            )
    if name not in ("matvec", "vecmat"):
        return
    shape1, shape2 = shapes
    size1 = shape1[-1]
    size2 = shape2[-len(core[1])]
    if size1 != size2:
        axis2 = "last axis" if name == "matvec" else "last axis but one"
        raise ValueError(
            f"{name}: the last axis of x1 has size {size1} and the {axis2} of x2 has size {size2}, which "
            f"must be equal: got shapes {shape1} and {shape2}"
        )
    axes_of_both = [shape[: len(shape) - len(axes)] for shape, axes in zip(shapes, core, strict=False)]
    check_broadcast(f"{name}, all axes but those multiplied", *axes_of_both)


def _of_products(name, *core):
    """Make a product over last axes, whose places ``axes=`` or ``axis=`` may give."""
    product = getattr(jaxapi, name, None) or full_precision(getattr(jnp, name))

    def function(
        x1, x2, /, out=None, *, axes=None, axis=None, dtype=None, casting="same_kind", order="K", subok=True
    ):
        given = [as_ours(x1), as_ours(x2)]
        if axis is not None:
            axes = [(axis,)] * 2 + [()]
        if axes is not None:
            axes = [tuple(each) if np.ndim(each) else (each,) for each in axes]
            given = [
                _views.moveaxis(x, each, range(-len(each), 0)) for x, each in zip(given, axes, strict=False)
            ]
        values = together([x._value if dtype is None else as_type(x, dtype)._value for x in given])
        _check_products(name, [x.shape for x in values], core)
        try:
            with x64_for(*(x.dtype for x in values)):
                result = product(*values)
        except TypeError as error:
            raise ValueError(str(error)) from None
        result = ours(result)
        if axes is not None and len(axes) > 2 and axes[2]:
            result = _views.moveaxis(result, range(-len(axes[2]), 0), axes[2])
        return into(out, result, casting, broadcasts=True)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return the product, as `numpy.{name}` does; ``axes=`` are the places of the last axes."
    )
    return function


matmul = _of_products("matmul", "mn", "np", "mp")
matvec = _of_products("matvec", "mn", "n", "m")
vecdot = _of_products("vecdot", "n", "n", "")
vecmat = _of_products("vecmat", "n", "nm", "m")


_nan_to_num = compiled(transposable(jnp.nan_to_num), static_argnames="copy")


def _linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    """Begin with 0 where the start is -0 and the stop not below it: NumPy adds the start to ``0 * step``."""
    start = _as_added_to_zero(start, stop)
    return jaxapi.linspace(start, stop, num, endpoint, retstep, dtype, axis)


def _as_added_to_zero(start, stop):
    if any(jnp.iscomplexobj(x) for x in (start, stop)):
        return _as_added_to_complex_zero(start, stop)
    is_number = isinstance(start, float)
    if not is_number and not jnp.issubdtype(getattr(start, "dtype", int), np.floating):
        return start
    if isinstance(start, jax.Array):
        return _as_added_to_zero_by_jax(start, stop)
    if isinstance(stop, jax.Array):
        may_be_negative_zero = np.any(np.signbit(start))
        if not may_be_negative_zero:
            return start
        dtype = promoted_dtype(start, stop) if is_number else start.dtype
        return _as_added_to_zero_by_jax(jnp.asarray(start, dtype), stop)
    is_below = np.less(stop, start)
    added = np.where(np.equal(start, 0) & ~is_below, 0.0, start)
    if is_number and not added.ndim:
        return float(added)
    return added.astype(start.dtype)


def _as_added_to_zero_by_jax(start, stop):
    start, is_below = jnp.broadcast_arrays(start, stop < start)
    return with_sign_of_zero(start, jnp.signbit(start) & is_below)


def _as_added_to_complex_zero(start, stop):
    """Return what begins as zero times the step does, of which NumPy multiplies each part with each."""
    xp = jnp if any(isinstance(x, jax.Array) for x in (start, stop)) else np
    start = xp.asarray(start, promoted_dtype(start, stop))
    step = jax.lax.stop_gradient(stop - start) if xp is jnp else stop - start
    is_left, is_below = xp.signbit(step.real), xp.signbit(step.imag)
    real = xp.where(is_left & ~is_below, -0.0, 0.0).astype(step.real.dtype)
    imag = xp.where(is_left & is_below, -0.0, 0.0).astype(step.real.dtype)
    if xp is jnp:
        return start + jax.lax.complex(real, imag)
    zero = np.empty(step.shape, step.dtype)
    zero.real = real
    zero.imag = imag
    return start + zero


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """Return an array with NaN and infinities replaced; ``copy=False`` writes to it."""
    given = as_ours(x)
    value = given._value
    if value.dtype.kind not in "fc":
        return given if not copy else ours(value, given)
    if any(isinstance(x, complex) for x in (nan, posinf, neginf)):
        raise TypeError("nan, posinf and neginf are real: of complex numbers each part is replaced")
    new = _nan_to_num(value, nan=value_of(nan), posinf=value_of(posinf), neginf=value_of(neginf))
    if new.shape != value.shape:
        raise ValueError(f"replacements of shape {new.shape} do not fit an array of shape {value.shape}")
    return ours(new, given) if copy else into(given, ours(new))


class broadcast:
    """The shape that arrays broadcast to, as `numpy.broadcast`; iterated over, tuples of elements."""

    def __init__(self, *arrays):
        """Take arrays that broadcast."""
        self._arrays = list(map(as_ours, arrays))
        self.shape = np.broadcast_shapes(*[x.shape for x in self._arrays])
        self.ndim = self.nd = len(self.shape)
        self.size = int(np.prod(self.shape, dtype=int))
        self.numiter = len(arrays)

    @property
    def values(self):
        """The arrays in that shape, as CuPy gives them."""
        return list(FUNCTIONS["broadcast_arrays"](*self._arrays))

    def __iter__(self):
        return zip(*[_views.ravel(x) for x in self.values], strict=True)


def where(condition, x=None, y=None, /):
    """Return the elements of one array or another; with a condition alone where it is True."""
    if x is None and y is not None:
        raise TypeError("an array of numbers does not hold None: pass a number, as numpy.nan")
    if y is None and x is not None:
        raise ValueError("either both or neither of x and y should be given")
    if x is None:
        return FUNCTIONS["nonzero"](condition)
    if is_recording():
        line = line_of_elements(CHOICE, (condition, x, y), NUMPY, makes_scalars=False)
        if line is not None:
            return line
    if any(map(may_have_room, (condition, x, y))):
        chosen_rows = of_each_element(_chosen, (condition, x, y), {}, NUMPY)
        if chosen_rows is not None:
            return chosen_rows
    return made(_chosen(*map(current_of, (condition, x, y))))


@takes_pending
def _chosen(condition, x, y):
    if getattr(condition, "dtype", np.dtype(bool)) != np.bool:
        condition = ELEMENTWISE["not_equal"](condition, 0, may_wait=True)
    if _PYTHON_NUMBERS.issuperset(map(type, (x, y))):
        # That of their classes, which no number is too large for, and no weak one, as two numbers would have.
        dtype = np.result_type(type(x), type(y))
        x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    x, y = together((x, y))
    if Pending not in map(type, (condition, x, y)):
        return jaxapi.where(condition, x, y)
    return chosen(condition, scalar_like(x, y), scalar_like(y, x))


# The classes of numbers that have no dtype. Not `isinstance`: a scalar such as `numpy.float64`, which is a
# float, has one.
_PYTHON_NUMBERS = frozenset([bool, int, float, complex])


# A mask's IndexError is ours
_UNTRACEABLE = (jax.errors.JAXTypeError, IndexError, TypeError, ValueError, AttributeError)


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """Return a function of each slice along an axis: traced once for all, or called for one after another.

    What JAX cannot trace, such as an ``if`` on values, `sorted` or `math.sqrt`, gets slices in the host's
    memory, as NumPy's function has it.
    """
    arr = as_ours(arr)

    def function(x):
        return as_ours(func1d(wrap(x, NUMPY), *args, **kwargs))._value  # one array, of a list or tuple too

    try:
        rows = arr._rows() if operator.index(axis) % max(arr.ndim, 1) else None
        if rows is not None:  # each slice is of one row
            return wrap_rows(Rows(jnp.apply_along_axis(function, axis, rows.value), rows.count), NUMPY)
        return ours(jnp.apply_along_axis(function, axis, arr._value))
    except _UNTRACEABLE:
        if is_traced(arr._value):
            raise
        return _creation.asarray(np.apply_along_axis(func1d, axis, np.asarray(arr), *args, **kwargs))


def _plain(result):
    return jax.tree.map(unwrap, result, is_leaf=lambda x: isinstance(x, Array))


def apply_over_axes(func, a, axes):
    """Return a function of an array over several axes, one after another."""
    a = as_ours(a)
    for axis in np.lib.array_utils.normalize_axis_tuple(axes, a.ndim):
        result = as_ours(func(a, axis))
        a = _views.expand_dims(result, axis) if result.ndim == a.ndim - 1 else result
        if result.ndim not in (a.ndim, a.ndim - 1):
            raise ValueError("function is not returning an array of the correct shape")
    return a


def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    """Return what a function gives for the arrays of all positions."""
    return function(*FUNCTIONS["indices"](shape, dtype=dtype), **kwargs)


def piecewise(x, condlist, funclist, *args, **kw):
    """Return functions of the elements where a condition holds, or values; a last one for the rest.

    Under a transformation, where the number of these elements is unknown, functions get all elements.
    """
    x = as_ours(x)
    listed = isinstance(condlist, (list, tuple)) and as_ours(condlist[0]).ndim
    if not listed and as_ours(condlist).ndim <= x.ndim:
        condlist = [condlist]
    conditions = [as_type(as_ours(condition), np.dtype(bool)) for condition in condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    if len(funclist) > len(conditions):
        conditions.append(~functools.reduce(operator.or_, conditions))
    filled = _creation.zeros_like(x)
    knows_count = not any_traced(x._owner._memory, *[c._owner._memory for c in conditions])
    for condition, function in zip(conditions, funclist, strict=True):
        if type(function) in _PYTHON_NUMBERS:
            filled[condition] = np.asarray(function, x.dtype)  # OverflowError where that does not hold it
        elif not callable(function):
            filled[condition] = as_type(as_ours(function), x.dtype)
        elif not knows_count:
            filled = where(condition, as_type(as_ours(function(x, *args, **kw)), x.dtype), filled)
        elif (chosen := x[condition]).size:
            filled[condition] = as_type(as_ours(function(chosen, *args, **kw)), x.dtype)
    return filled


def block(arrays):
    """Return an array of nested lists of blocks, which are joined along the last axes."""
    depth = _depth_of(arrays)
    leaves = jax.tree.leaves(arrays, is_leaf=lambda x: not isinstance(x, list))
    ndim = max(depth, *(as_ours(x).ndim for x in leaves))

    def joined(part, level):
        if isinstance(part, list):
            return FUNCTIONS["concatenate"]([joined(x, level + 1) for x in part], axis=ndim - depth + level)
        part = as_ours(part)
        return part[(None,) * (ndim - part.ndim) + (...,)]

    return copied(joined(arrays, 0))


def _depth_of(arrays) -> int:
    """Return how deep lists are nested, which is the same everywhere."""
    if isinstance(arrays, tuple):
        raise TypeError("block takes lists of arrays, got a tuple: only lists are nested")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("block takes lists that are not empty")
    depths = set(map(_depth_of, arrays))
    if len(depths) > 1:
        raise ValueError("lists of blocks are nested to different depths")
    return depths.pop() + 1


def nanargmax(a, axis=None, out=None, *, keepdims=False):
    """Return the positions of the largest elements that are not NaN; ValueError where all are, eagerly."""
    return _into_positions(out, _NANARG["max"](a, axis, keepdims=keepdims))


def nanargmin(a, axis=None, out=None, *, keepdims=False):
    """Return the positions of the smallest elements that are not NaN; ValueError where all are, eagerly."""
    return _into_positions(out, _NANARG["min"](a, axis, keepdims=keepdims))


def _into_positions(out, positions):
    if out is not None:
        check_holder_of_positions(out)
    if not is_traced(positions._value) and bool((positions._value < 0).any()):
        raise ValueError("All-NaN slice encountered")
    return into(out, positions, "unsafe")


def _unless_traced(name, in_programs):
    """Return a function of few numbers that NumPy computes in the host's memory unless it is traced."""
    numpys = getattr(np, name)
    traced = with_numpys_signature(name, numpys, in_programs, "jaxapi.numpy")

    @functools.wraps(traced)
    def function(*args, **kwargs):
        values = [
            x._owner._memory if isinstance(x, Array) else value_of(x) for x in (*args, *kwargs.values())
        ]
        if any_traced(*values):
            return traced(*args, **kwargs)
        given = [_on_host(x) for x in args]
        options = {key: _on_host(x) for key, x in kwargs.items()}
        found = numpys(*given, **options)
        operands = [*given, *options.values()]
        return jax.tree.map(lambda x: _narrowed(x, operands), found)

    return function


def _narrowed(x, operands):
    return _creation.asarray(narrow(x, operands)) if hasattr(x, "dtype") else x


def _on_host(x):
    x = np.asarray(x) if isinstance(x, Array) else unwrap(x)
    return np.asarray(x) if isinstance(x, jax.Array) else x


def _polyfit_of_floats(x, y, deg, rcond=None, full=False, w=None, cov=False):
    x, y = (a if jnp.issubdtype(a.dtype, jnp.inexact) else a.astype(float) for a in map(jnp.asarray, (x, y)))
    return jnp.polyfit(x, y, deg, rcond, full, w, cov)


polydiv = _unless_traced("polydiv", jnp.polydiv)
polyfit = _unless_traced("polyfit", _polyfit_of_floats)
roots = _unless_traced("roots", jnp.roots)


def mask_indices(n, mask_func, k=0):
    """Return the positions in a square matrix where a function such as `triu` leaves ones."""
    return FUNCTIONS["nonzero"](mask_func(_creation.ones((n, n), int), k) != 0)


def real_if_close(a, tol=100):
    """Return the real parts if all imaginary parts are nearly 0."""
    a = as_ours(a)
    if a.dtype.kind != "c":
        return a
    tol = np.finfo(a.dtype).eps * tol if tol > 1 else tol
    return a.real if bool(abs(a._value.imag).max(initial=0) < tol) else a


@in_numpys_dtypes
def top_k(a, k, /, *, axis=-1, mode="largest", sorted=True):
    """Return the k largest or smallest elements along an axis, and where they are: `jaxapi.top_k`.

    As NumPy 2.6 has it, but JAX computes on the CPU, too, and of equal elements the lowest index is first.
    ``sorted=False`` lets NumPy leave the order open; here it changes nothing.
    """
    return ours(jaxapi.top_k(value_of(a), unwrap(k), axis=unwrap(axis), mode=mode))


def fix(x, out=None):
    """Return the whole parts."""
    return UFUNCS["trunc"].by_jax(x, out=out)


def astype(x, dtype, /, *, copy=True, device=None):
    """Return the array in another dtype."""
    cast = as_ours(x).astype(dtype, copy=copy)
    return cast if device is None else cast.to_device(device)


def isscalar(element):
    """Return whether NumPy's would be a scalar, or what is one."""
    return element._is_scalar if isinstance(element, Array) else np.isscalar(element)


def shares_memory(a, b, max_work=None):
    """Return whether what is written to one array may be seen in the other."""
    if not isinstance(a, Array) and not isinstance(b, Array):
        return np.shares_memory(a, b, max_work)
    a = as_ours(a)
    b = as_ours(b)
    if a._owner is not b._owner:
        return False
    memory = np.empty(a._owner.size, np.int8)
    return np.shares_memory(layout_of(a, memory), layout_of(b, memory))


may_share_memory = shares_memory


def from_dlpack(x, /, *, device=None, copy=None):
    """Return an array of what another library has: `jaxapi.from_dlpack`."""
    return array_of_dlpack(NUMPY, x, device, copy)


def isfortran(a):
    """Return whether NumPy's array would be in Fortran's order and not in C's."""
    return bool(a.flags.fnc)


def ndenumerate(arr):
    """Return pairs of each position and its element, as `numpy.ndenumerate` gives."""
    arr = as_ours(arr)
    return ((place, arr[place]) for place in np.ndindex(arr.shape))


def vectorize(pyfunc=None, otypes=None, doc=None, excluded=None, cache=False, signature=None):
    """Return a function of arrays made of one of numbers.

    On the CPU it is called for one element after another, as NumPy's. Elsewhere it is traced once for all of
    them; what JAX cannot trace, such as an ``if`` on values, gets elements in the host's memory.
    """
    if pyfunc is None:
        return functools.partial(
            vectorize, otypes=otypes, doc=doc, excluded=excluded, cache=cache, signature=signature
        )
    numpys = np.vectorize(pyfunc, otypes, doc, excluded, cache, signature)
    excluded = frozenset(excluded or ())
    makes_objects = "O" in (numpys.otypes or "")

    @functools.wraps(pyfunc)
    def of_arrays(*args, **kwargs):
        if host_way.is_eager():
            try:
                if makes_objects:
                    operands = [to_numpy(x) for x in args]
                    options = {name: to_numpy(x) for name, x in kwargs.items()}
                    return from_numpy(numpys(*operands, **options), NUMPY, [object])
                return computed_by_numpy(numpys, args, kwargs)
            except NotOnHost:
                pass
        return by_jax(*args, **kwargs)

    @in_numpys_dtypes
    def by_jax(*args, **kwargs):
        places = [place for place in range(len(args)) if place not in excluded]
        names = [name for name in kwargs if name not in excluded]
        given = [args[place] for place in places] + [kwargs[name] for name in names]
        if not given and signature is None:
            return pyfunc(*args, **kwargs)  # what it returns, as NumPy
        if otypes is None and _calls_nothing(given, signature):
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")

        def of_scalars(*elements):
            elements = [wrap(x, NUMPY) for x in elements]
            by_place = dict(zip(places, elements, strict=False))
            by_name = dict(zip(names, elements[len(places) :], strict=True))
            arguments = [by_place.get(place, x) for place, x in enumerate(args)]
            return _plain(pyfunc(*arguments, **kwargs | by_name))

        by_vmap = jnp.vectorize(of_scalars, signature=signature)
        try:
            computed = None
            if signature is None and not excluded and any_may_have_room(args):
                computed = of_each_element(by_vmap, args, kwargs, NUMPY)
            if computed is None:
                values = [value_of(x) for x in given]
                computed = made(by_vmap(*values), *args)
            if otypes is None:
                return computed
            if isinstance(computed, tuple):
                return tuple(map(as_type, computed, numpys.otypes))
            return as_type(computed, numpys.otypes)
        except _UNTRACEABLE:
            if any_traced(*map(value_of, given)):
                raise
            options = {name: _on_host(x) for name, x in kwargs.items()}
            return _creation.asarray(numpys(*map(_on_host, args), **options))

    return of_arrays


def _calls_nothing(given, signature) -> bool:
    """Whether one of the arrays has no element, or none that a signature's function takes."""
    shapes = [np.shape(x) for x in given]
    if signature is not None:
        axes_of_elements = re.findall(r"\(([^)]*)\)", signature.split("->")[0])
        counts = [len(axes.split(",")) if axes.strip() else 0 for axes in axes_of_elements]
        shapes = [shape[: len(shape) - count] for shape, count in zip(shapes, counts, strict=False)]
    return any(0 in shape for shape in shapes)


def iterable(y):
    """Return whether it can be iterated over."""
    return np.iterable(y) and not (isinstance(y, Array) and not y.ndim)


class Grid:
    """What is indexed to make arrays, as `numpy.mgrid` and `numpy.r_`."""

    def __init__(self, name):
        """Stand for one of NumPy's, of slices of numbers, or of jax.numpy's, which takes arrays."""
        self.__name__ = name
        self._of_arrays = name in ("c_", "r_")
        self._numpys = getattr(np, name)
        self._grid = getattr(jnp, name) if self._of_arrays else self._numpys

    def __getitem__(self, key):
        if host_way.is_default():
            try:
                given = to_numpy(key)
                return from_numpy(self._numpys[given], NUMPY, given if isinstance(given, tuple) else (given,))
            except NotOnHost:
                pass
        return self._by_jax(key)

    @in_numpys_dtypes
    def _by_jax(self, key):
        if not self._of_arrays:
            grid = self._grid[key]
            parts = [
                _creation.asarray(x, narrowed(x.dtype)) for x in (grid if isinstance(grid, tuple) else [grid])
            ]
            return tuple(parts) if isinstance(grid, tuple) else parts[0]
        given = key if isinstance(key, tuple) else (key,)
        if any_may_have_room(given) and all(isinstance(x, Array) and 0 < x.ndim <= 2 for x in given):
            return FUNCTIONS["column_stack" if self.__name__ == "c_" else "concatenate"](list(given))
        parts = _in_one_dtype([value_of(_range_of(x)) for x in given])
        try:
            grid = self._grid[tuple(parts) if isinstance(key, tuple) else parts[0]]
        except TypeError as error:
            raise numpy_error(error) or error from None
        return ours(grid, *given)


def _range_of(part):
    """Return the numbers that a slice of Python's numbers stands for, anything else as it is."""
    if not isinstance(part, slice):
        return part
    bounds = (part.start, part.stop, part.step)
    are_numbers = all(isinstance(n, (int, float, complex, type(None))) for n in bounds)
    return _creation.asarray(np.r_[part]) if are_numbers else part


def _in_one_dtype(parts):
    """Return what is joined with all arrays in NumPy's dtype, to which numbers are weak."""
    typed = [x for x in parts if hasattr(x, "dtype") or type(x) in (bool, int, float, complex)]
    if not any(hasattr(x, "dtype") for x in typed):
        return parts
    operands = [np.dtype(bool) if type(x) is bool else x for x in typed]  # a bool is not weak
    dtype = result_dtype(*operands)
    if dtype.kind in "iu":
        parts = [np.asarray(x, dtype) if type(x) is int else x for x in parts]  # which raises beyond it
    return [cast(x, dtype) if hasattr(x, "dtype") else x for x in parts]


GRIDS = {name: Grid(name) for name in ("c_", "mgrid", "ogrid", "r_")}


def _of_values(name, function):
    return with_numpys_signature(name, getattr(np, name), function, "jaxapi.numpy")


def _nanarg(extreme):
    """Return ``nanargmax`` or ``nanargmin``, of complex numbers, too; -1 where all are NaN."""
    position_of = REPAIRS[f"arg{extreme}"]
    never_first = -np.inf if extreme == "max" else np.inf

    def function(a, axis=None, keepdims=False):
        a = jnp.asarray(a)
        if a.dtype.kind in "biu":
            return position_of(a, axis, keepdims)
        missing = jnp.isnan(a)
        positions = position_of(jnp.where(missing, never_first, a), axis, keepdims)
        return jnp.where(missing.all(axis, keepdims=keepdims), -1, positions)

    name = f"nanarg{extreme}"
    return with_numpys_signature(name, getattr(np, name), function, "jaxapi.numpy")


@functools.wraps(jnp.nanprod)
def _nanprod(a, *args, **kwargs):
    a = jnp.asarray(a)
    return jaxapi.prod(jnp.where(jnp.isnan(a), 1, a), *args, **kwargs)


@functools.wraps(jnp.nansum)
def _nansum(a, *args, **kwargs):
    a = jnp.asarray(a)
    return jaxapi.sum(jnp.where(jnp.isnan(a), 0, a), *args, **kwargs)


def _nan_extreme(name, lowest):
    """Return ``nanmax`` or ``nanmin``, which pass over an ``initial`` that is NaN, as over elements."""
    fold = getattr(jnp, name)

    @functools.partial(compiled, static_argnames=("axis", "keepdims"))
    def from_initial(a, initial, axis, keepdims, where):
        is_missing = jnp.isnan(initial)
        options = {"axis": axis, "keepdims": keepdims, "where": where}
        extreme = fold(a, initial=jnp.where(is_missing, lowest, initial), **options)
        has_number = jnp.any(~jnp.isnan(a), **options)
        return jnp.where(is_missing & ~has_number, jnp.asarray(jnp.nan, a.dtype), extreme)

    @functools.wraps(fold)
    def function(a, axis=None, out=None, keepdims=False, initial=None, where=None):
        a = jnp.asarray(a)
        if initial is None or a.dtype.kind != "f":
            return fold(a, axis, keepdims=keepdims, initial=initial, where=where)
        return from_initial(a, jnp.asarray(initial, a.dtype), axis, keepdims, where)

    return _of_values(name, function)


@functools.wraps(jnp.outer)
def _outer(a, b):
    """Multiply arrays: a number is one of NumPy's default dtype, and gives way to no other."""
    a, b = [np.asarray(x) if type(x) in _PYTHON_NUMBERS else x for x in (a, b)]
    return jnp.outer(*together([a, b]))


@functools.wraps(jnp.intersect1d)
def _intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    arrays = [np.asarray(x) if type(x) in _PYTHON_NUMBERS else x for x in (ar1, ar2)]
    ar1, ar2 = together(arrays)
    if not return_indices:
        return jnp.intersect1d(ar1, ar2, assume_unique)
    common, *positions = jnp.intersect1d(ar1, ar2, assume_unique, return_indices=True)
    return (common, *[x.astype(default_dtype(int)) for x in positions])


_NANARG = {extreme: _nanarg(extreme) for extreme in ("max", "min")}


FUNCTIONS = {name: _of_values(name, getattr(jaxapi, name)) for name in OF_JAXAPI}
FUNCTIONS |= {name: _of_values(name, getattr(jnp, name)) for name in OF_JAX}
FUNCTIONS |= {
    name: _of_values(name, compiled(transposable(getattr(jnp, name)), static_argnames="k"))
    for name in ("diag", "diagflat")
}
FUNCTIONS["nanprod"] = _of_values("nanprod", _nanprod)
FUNCTIONS["nansum"] = _of_values("nansum", _nansum)
FUNCTIONS["nanmax"] = _nan_extreme("nanmax", -np.inf)
FUNCTIONS["nanmin"] = _nan_extreme("nanmin", np.inf)
FUNCTIONS["outer"] = _of_values("outer", _outer)
FUNCTIONS["intersect1d"] = _of_values("intersect1d", _intersect1d)
FUNCTIONS["linspace"] = _of_values("linspace", _linspace)
FUNCTIONS |= {name: _of_values(name, function) for name, function in REPAIRS.items()}
_here = globals().keys() - REPAIRS.keys()
_ours_here = [name for names in OURS.values() for name in names if name in _here]
FUNCTIONS |= {name: globals()[name] for name in _ours_here}
FUNCTIONS |= {
    name: with_huge_integers(name, on_rows_first(name, function, COUNTING.get(name)))
    for name, function in FUNCTIONS.items()
    if name not in _VIEWS
}
