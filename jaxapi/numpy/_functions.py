"""The functions that jaxapi or jax.numpy has: NumPy's names and signatures by a table."""

import inspect
import operator

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi

from .._core._dtypes import resolve_dtype, x64_for
from .._core._errors import numpy_error
from .._missing import _RENAMED
from ..mutable._array import Array, copied, unwrap, wrap
from . import _creation, _views
from ._array import ndarray
from ._repairs import REPAIRS
from ._ufuncs import UFUNCS
from ._wrap import (
    IGNORED,
    as_ours,
    as_type,
    into,
    narrowed,
    ours,
    result_dtype,
    signature_of,
    together,
    value_of,
    with_numpys_signature,
)

__all__ = ["FUNCTIONS", "GRIDS"]

_NAMES = """
all allclose amax amin angle any append argmax argmin argpartition argsort argwhere around array_equal
array_equiv average bartlett bincount blackman block broadcast_arrays broadcast_shapes broadcast_to choose
column_stack compress concat concatenate convolve corrcoef correlate count_nonzero cov cross cumprod cumsum
cumulative_prod cumulative_sum delete diag diag_indices diag_indices_from diagflat diagonal diff digitize
dot dstack ediff1d extract eye flatnonzero geomspace gradient hamming hanning histogram histogram2d
histogram_bin_edges histogramdd hstack i0 identity indices inner insert interp intersect1d isclose iscomplex
isin isneginf isposinf isreal ix_ kaiser kron lexsort linspace logspace max mean median meshgrid min
nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile
nanstd nansum nanvar nonzero outer packbits pad partition percentile poly polyadd polyder polydiv polyfit
polyint polymul polysub polyval prod ptp quantile ravel_multi_index repeat resize roll roots round
searchsorted select setdiff1d setxor1d sinc sort sort_complex stack std sum take take_along_axis tensordot
tile trace trapezoid tri tril tril_indices tril_indices_from trim_zeros triu triu_indices triu_indices_from
union1d unique unique_all unique_counts unique_inverse unique_values unpackbits unravel_index unwrap vander
var vdot vstack
"""


def best(name: str):
    """Return jaxapi's function if it takes all that NumPy's does, else jax.numpy's."""
    if name in REPAIRS:
        return REPAIRS[name]
    found = getattr(jaxapi, _RENAMED["jaxapi"].get(name, name), None)
    if found is not None and name not in ("fix", "inner", "vdot", "outer", "round"):
        taken = inspect.signature(found).parameters
        wanted = signature_of(name, getattr(np, name)).parameters
        if all(n in taken or n in IGNORED or n == "out" for n in wanted):
            return found
    return getattr(jnp, name)


# Functions that need more than another signature.


def clip(a, a_min=np._NoValue, a_max=np._NoValue, out=None, *, min=np._NoValue, max=np._NoValue, **options):
    """Return the elements between two bounds."""
    old, new = (a_min, a_max), (min, max)
    if any(x is not np._NoValue for x in old) and any(x is not np._NoValue for x in new):
        raise ValueError("`min` and `max` are other names of `a_min` and `a_max`: give one of both")
    made = as_ours(a)
    for bound, *others, name in (a_min, min, "maximum"), (a_max, max, "minimum"):
        bound = others[0] if bound is np._NoValue else bound
        if bound is not None and bound is not np._NoValue:
            made = UFUNCS[name](made, bound, **options)
    return into(out, copied(made) if made is a else made)


def einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    """Return Einstein's sums, with NumPy's two ways to write axes; where only their order changes, a view."""
    if len(operands) < 2:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand")
    first = 1 if isinstance(operands[0], str) else 0
    given = [as_ours(x) for x in operands[first :: 2 - first][: None if first else len(operands) // 2]]
    if first and len(given) == 1:
        read, arrow, to = operands[0].replace(" ", "").partition("->")
        to = to if arrow else "".join(sorted(c for c in read if read.count(c) == 1))
        if {*read} - {"."} == {*to} - {"."}:  # nothing is summed, and then NumPy leaves the dtype alone
            dtype = given[0].dtype
            if out is None and read.isalpha() and len(read) == len(to) == given[0].ndim:
                return given[0]._transposed(tuple(map(read.index, to)))
    wanted = result_dtype(*[x._value for x in given]) if dtype is None else resolve_dtype(dtype)
    if dtype is not None and not all(np.can_cast(x.dtype, wanted, casting) for x in given):
        raise TypeError(f"cannot cast the operands to {wanted}: rule {casting!r}")
    with x64_for(wanted):
        values = [as_type(x, wanted)._value for x in given]
        if not first:  # an array, its axes, an array, its axes, and perhaps those of the result
            axes = [[i if i is Ellipsis else operator.index(i) for i in each] for each in operands[1::2]]
            last = [operands[-1]] if len(operands) % 2 else []
            values = [x for pair in zip(values, axes, strict=True) for x in pair] + last
        try:
            result = jnp.einsum(*operands[:first], *values, precision=jax.lax.Precision.HIGHEST)
        except (KeyError, TypeError) as error:
            raise ValueError(str(error)) from None
        result = ours(result.astype(wanted), *given)
    return into(out, result)


def _of_products(name, *core):
    """Make a product over last axes, whose places ``axes=`` or ``axis=`` may give."""
    product = getattr(jaxapi, name, None) or getattr(jnp, name)

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
        if any(x.ndim < len(n) - (name == "matmul") for x, n in zip(values, core, strict=False)):
            raise ValueError(f"{name}: an operand does not have enough dimensions")
        try:
            with x64_for(*(x.dtype for x in values)):
                result = product(*values)
        except TypeError as error:
            raise ValueError(str(error)) from None
        result = ours(result)
        if axes is not None and len(axes) > 2 and axes[2]:
            result = _views.moveaxis(result, range(-len(axes[2]), 0), axes[2])
        return into(out, result, casting)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return the product, as `numpy.{name}` does; ``axes=`` are the places of the last axes."
    )
    return function


matmul = _of_products("matmul", "mn", "np", "mp")
matvec = _of_products("matvec", "mn", "n", "m")
vecdot = _of_products("vecdot", "n", "n", "")
vecmat = _of_products("vecmat", "n", "nm", "m")


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """Return an array with NaN and infinities replaced; ``copy=False`` writes to it."""
    given = as_ours(x)
    value = given._value
    if value.dtype.kind not in "fc":
        return given if not copy else ours(value, given)
    new = jnp.nan_to_num(value, nan=value_of(nan), posinf=value_of(posinf), neginf=value_of(neginf))
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
        self.size, self.numiter = int(np.prod(self.shape, dtype=int)), len(arrays)

    @property
    def values(self):
        """The arrays in that shape, as CuPy gives them."""
        return list(FUNCTIONS["broadcast_arrays"](*self._arrays))

    def __iter__(self):
        return zip(*[_views.ravel(x) for x in self.values], strict=True)


def where(condition, x=None, y=None, /):
    """Return the elements of one array or another; with a condition alone where it is True."""
    if (x is None) != (y is None):
        raise ValueError("either both or neither of x and y should be given")
    if x is None:
        return FUNCTIONS["nonzero"](condition)
    condition = value_of(condition)
    if getattr(condition, "dtype", np.dtype(bool)) != np.bool:
        condition = condition != 0
    return ours(jaxapi.where(condition, *together((value_of(x), value_of(y)))))


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """Return a function of each slice along an axis, which is traced once for all of them."""

    def function(x):
        return _plain(func1d(wrap(x, ndarray), *args, **kwargs))

    return ours(jnp.apply_along_axis(function, axis, as_ours(arr)._value))


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
    """Return functions or values, each where its condition holds; a last one for the rest."""
    x = as_ours(x)
    listed = isinstance(condlist, (list, tuple)) and np.ndim(unwrap(condlist[0]))
    conditions = [as_ours(c) for c in (condlist if listed or as_ours(condlist).ndim > x.ndim else [condlist])]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    results = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    made = _creation.zeros_like(x) if len(funclist) == len(conditions) else None
    made = as_type(_creation.full(x.shape, as_ours(results.pop())), x.dtype) if made is None else made
    for condition, result in zip(conditions, results, strict=True):
        made = where(condition, as_type(as_ours(result), x.dtype), made)
    return made


def mask_indices(n, mask_func, k=0):
    """Return the positions in a square matrix where a function such as `triu` leaves ones."""
    return FUNCTIONS["nonzero"](mask_func(_creation.ones((n, n), int), k) != 0)


def real_if_close(a, tol=100):
    """Return the real parts if all imaginary parts are nearly 0."""
    a = as_ours(a)
    if a.dtype.kind != "c":
        return a
    tol = np.finfo(a.dtype).eps * tol if tol > 1 else tol
    return ours(a._value.real) if bool(abs(a._value.imag).max(initial=0) < tol) else a


def fix(x, out=None):
    """Return the whole parts."""
    return UFUNCS["trunc"](x, out=out)


def astype(x, dtype, /, *, copy=True, device=None):
    """Return the array in another dtype."""
    return as_ours(x).astype(dtype, copy=copy)


def from_dlpack(x, /, *, device=None, copy=None):
    """Return an array of what another library has: `jaxapi.from_dlpack`."""
    return ours(jaxapi.from_dlpack(unwrap(x), device=device, copy=copy))


def isfortran(a):
    """Return whether NumPy's array would be in Fortran's order and not in C's."""
    return bool(a.flags.fnc)


def ndenumerate(arr):
    """Return pairs of each position and its element, as `numpy.ndenumerate` gives."""
    arr = as_ours(arr)
    return ((place, arr[place]) for place in np.ndindex(arr.shape))


def vectorize(pyfunc, otypes=None, doc=None, excluded=None, cache=False, signature=None):
    """Return a function of arrays made of one of numbers, which is traced: no ``if`` on a value in it."""

    def function(*args):
        return _plain(pyfunc(*[wrap(x, ndarray) for x in args]))

    traced = jnp.vectorize(function, excluded=excluded or (), signature=signature)

    def of_arrays(*args):
        made = ours(traced(*map(value_of, args)), *args)
        return made if otypes is None else as_type(made, otypes[0])

    return of_arrays


def iterable(y):
    """Return whether it can be iterated over."""
    return np.iterable(y) and not (isinstance(y, Array) and not y.ndim)


class Grid:
    """What is indexed to make arrays, as `numpy.mgrid` and `numpy.r_`."""

    def __init__(self, name):
        """Stand for one of NumPy's, of slices of numbers, or of jax.numpy's, which takes arrays."""
        self.__name__, self._of_arrays = name, name in ("c_", "r_")
        self._grid = getattr(jnp if self._of_arrays else np, name)

    def __getitem__(self, key):
        if not self._of_arrays:
            made = self._grid[key]
            parts = [
                _creation.asarray(x, narrowed(x.dtype)) for x in (made if isinstance(made, tuple) else [made])
            ]
            return tuple(parts) if isinstance(made, tuple) else parts[0]
        given = key if isinstance(key, tuple) else (key,)
        try:
            made = self._grid[tuple(map(value_of, given)) if isinstance(key, tuple) else value_of(key)]
        except TypeError as error:
            raise numpy_error(error) or error from None
        return ours(made, *given)


GRIDS = {name: Grid(name) for name in ("c_", "mgrid", "ogrid", "r_")}
_OWN = """
apply_along_axis apply_over_axes astype broadcast clip einsum fix from_dlpack fromfunction isfortran iterable
mask_indices matmul matvec nan_to_num ndenumerate piecewise real_if_close vecdot vecmat vectorize where
"""
FUNCTIONS = {}
for _name in _NAMES.split():
    _numpys = getattr(np, _name)
    FUNCTIONS[_name] = with_numpys_signature(_name, _numpys, best(_name), "jaxapi.numpy")
FUNCTIONS |= {name: globals()[name] for name in _OWN.split()}
