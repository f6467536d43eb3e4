"""RBFInterpolator: SciPy's interface."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._core._dtypes import x64_for
from .._core._programs import any_traced, eagerly, in_a_trace, is_traced
from .._core._typing import Array, ArrayLike
from .._interop import aligned_empty, memory_of, placed_on_device_of, placed_on_device_of_one
from .._missing import hints_at_arguments
from ..spatial import KDTree
from ..spatial._arrays import in_shape
from ..spatial._tree_arguments import real_number
from ._basis import KERNELS, MIN_DEGREES, SCALE_INVARIANT, Basis, KernelName
from ._devices import layout_of, on_devices_of
from ._host import (
    are_many_places,
    evaluate_locally_on_host,
    evaluate_on_host,
    in_memory,
    solve_on_host,
)
from ._interpolator_arguments import (
    as_columns,
    as_dtype,
    as_numbers,
    as_places,
    from_columns,
    restored,
    row_count,
    stored,
    wider,
)
from ._systems import (
    Coefficients,
    Data,
    coefficients_of,
    evaluate,
    evaluate_locally,
    polynomial_domain,
    rank_tolerance,
)

__all__ = ["RBFInterpolator"]


@hints_at_arguments
@jax.tree_util.register_pytree_node_class
class RBFInterpolator:
    """Interpolate scattered data in N >= 1 dimensions by radial basis functions.

    `scipy.interpolate.RBFInterpolator` for any array and device: NumPy, CuPy, PyTorch and jax arrays and
    lists go in, jax arrays come out, and everything works under `jax.jit`, `jax.vmap` and `jax.grad`.

    Parameters
    ----------
    y : array_like, shape (npoints, ndims)
        Coordinates of the data points, real and finite. float64 stays float64 (also with x64 off), other
        floats are taken as float32, integers and lists as float64.
    d : array_like, shape (npoints, ...)
        Values at `y`, real or complex.
    neighbors : int, optional
        How many of the nearest data points make the value at a place; by default all do, through one system
        of equations. Static under jit.
    smoothing : float or array_like, shape (npoints,), default 0
        How far the interpolant may keep away from the values: through all of them with 0, a least-squares
        polynomial for large numbers. Not negative, in the unit of the kernel.
    kernel : str, default 'thin_plate_spline'
        With ``r`` a distance times `epsilon`:

        - 'linear'               : ``-r``
        - 'thin_plate_spline'    : ``r**2 * log(r)``
        - 'cubic'                : ``r**3``
        - 'quintic'              : ``-r**5``
        - 'multiquadric'         : ``-sqrt(1 + r**2)``
        - 'inverse_multiquadric' : ``1/sqrt(1 + r**2)``
        - 'inverse_quadratic'    : ``1/(1 + r**2)``
        - 'gaussian'             : ``exp(-r**2)``
    epsilon : float, optional
        The inverse of the length over which the kernel falls off, in the inverse unit of `y`. 1 for the first
        four kernels, where it acts as a factor of the smoothing; the others need it.
    degree : int, optional
        Degree of the polynomial that is added, -1 for none. By default, and at least, 0 for 'linear' and
        'multiquadric', 1 for 'thin_plate_spline' and 'cubic', 2 for 'quintic'; by default 0 for the others.
        Static under jit.
    n : int, optional
        How many of the rows count, the first ones; by default all. It may be traced: then one program serves
        data of many sizes. What the other rows hold does not matter.

    Raises
    ------
    ValueError
        If `y` is not 2-D, `d` or `smoothing` are of another length, `kernel` is unknown, `epsilon` is
        missing, `degree` is below -1, there are fewer points than monomials, or with `neighbors` a point is
        not finite.
    TypeError
        If `y` is complex.
    numpy.linalg.LinAlgError
        If the system of equations is singular: points that coincide without smoothing, or lie on a line or
        plane. With `neighbors` the call raises it.

    Warns
    -----
    UserWarning
        If `degree` is below the least for the kernel, and not -1.

    Notes
    -----
    Differences to SciPy:

    - float32 data are interpolated in float32, which needs few points or `neighbors`: systems of thousands of
      points are near singular for it. Results have the common dtype of `y`, `d` and the places.
    - With `neighbors` each place solves its own system on a GPU and under transformations. On the CPU, where
      NumPy computes outside of them, places that share neighbors have one, as in SciPy, and all cores solve.
    - An interpolator is a pytree, an argument or a result of jit, vmap and scan. There a singular system
      gives nan, as it cannot raise.
    - Places that are sharded over devices are evaluated there, with all data on each.

    Derivatives flow to the places, `y`, `d`, `smoothing` and `epsilon`, to second order. Which points are
    neighbors has none: with `neighbors` the interpolant jumps where they change. At a data point the
    derivatives are those of the interpolant where it has them; the slope of 'linear' is 0 there, and so are
    its second derivatives and those of 'thin_plate_spline'.

    References
    ----------
    .. [1] Fasshauer, G., 2007. Meshfree Approximation Methods with Matlab. World Scientific.

    Examples
    --------
    >>> import jax
    >>> from jaxapi.interpolate import RBFInterpolator
    >>> stations = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> temperature = RBFInterpolator(stations, [10.0, 12.0, 11.0, 13.0])
    >>> temperature([[0.5, 0.5], [0.25, 1.0]]).round(6).tolist()
    [11.5, 11.5]
    >>> slope = jax.grad(lambda x: temperature(x[None])[0])
    >>> slope(jax.numpy.array([0.3, 0.4])).round(4).tolist()
    [2.0, 1.0]
    """

    _points: Any  # (npoints, ndims); None where they are in the tree
    _values: Array  # (npoints, columns), real
    _smoothing: Array  # (npoints,)
    _epsilon: Array  # ()
    _count: Any  # how many rows count, where `n` was given
    _tree: Any  # a KDTree where a place has neighbors of its own
    _coefficients: Any  # where all data make one system
    _basis: Basis
    _neighbors: Any  # how many, or None
    _shape: tuple[int, ...]  # of a value
    _is_complex: bool

    def __init__(
        self,
        y: ArrayLike,
        d: ArrayLike,
        neighbors: float | None = None,
        smoothing: ArrayLike = 0.0,
        kernel: KernelName = "thin_plate_spline",
        epsilon: ArrayLike | None = None,
        degree: int | None = None,
        *,
        n: int | Array | None = None,
    ):
        points = as_places(y, "y")
        if points.ndim != 2:
            raise ValueError("`y` must be a 2-dimensional array.")
        rows, dimensions = points.shape
        values = as_numbers(d)
        if values.shape[:1] != (rows,):
            raise ValueError(f"Expected the first axis of `d` to have length {rows}.")
        self._shape = values.shape[1:]
        self._is_complex = jnp.issubdtype(values.dtype, jnp.complexfloating)
        self._values = as_columns(values)
        self._count = row_count(n, rows)
        dtype = wider(points.dtype, self._values.dtype)
        self._smoothing = _smoothing_of(smoothing, rows, dtype)
        kernel_name = kernel.lower() if isinstance(kernel, str) else None
        if kernel_name not in KERNELS:
            raise ValueError(f"`kernel` must be one of {set(KERNELS)}, got {kernel!r}.")
        self._epsilon = _epsilon_of(epsilon, kernel_name, dtype)
        self._basis = Basis(kernel_name, _degree_of(degree, kernel_name), dimensions)
        # A traced count cannot be compared: there a system of too few points gives nan.
        point_count = rows if self._count is None or is_traced(self._count) else int(self._count)
        self._neighbors = None if neighbors is None else _neighbor_count(neighbors, rows)
        points_in_system = point_count if neighbors is None else min(self._neighbors, point_count)
        if self._basis.monomial_count > points_in_system:
            raise ValueError(
                f"At least {self._basis.monomial_count} data points are required when `degree` is "
                f"{self._basis.degree} and the number of dimensions is {dimensions}."
            )
        self._points = None
        self._tree = None
        self._coefficients = None
        if neighbors is None:
            self._points = points
            self._coefficients = self._solved()
        else:
            self._tree = KDTree(points, n=self._count)

    def __call__(self, x: ArrayLike) -> Array:
        """Evaluate the interpolant.

        Parameters
        ----------
        x : array_like, shape (npts, ndims)
            Places, in the units of `y`. Lists are of the dtype of the data.

        Returns
        -------
        Array, shape (npts, ...)
            Values, of the shape that those of `d` have, in the common dtype of `y`, `d` and `x`.

        Raises
        ------
        ValueError
            If `x` is not 2-D or has another number of columns than `y`; with `neighbors` if `x` is not
            finite.
        numpy.linalg.LinAlgError
            If the neighbors of a place make a singular system.

        Notes
        -----
        Under a transformation the values at such places are nan.

        Examples
        --------
        >>> from jaxapi.interpolate import RBFInterpolator
        >>> f = RBFInterpolator([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0], neighbors=2)
        >>> f([[0.5], [1.5]]).round(6).tolist()
        [0.5, 2.5]
        """
        x = as_places(x, "x", like=self._dtype)
        if x.ndim != 2:
            raise ValueError("`x` must be a 2-dimensional array.")
        if x.shape[1] != self._basis.dimensions:
            raise ValueError(f"Expected the second axis of `x` to have length {self._basis.dimensions}.")
        layout = layout_of(x)
        if layout is not None:
            return on_devices_of(self, x, layout)
        dtype = wider(self._dtype, x.dtype)
        columns = self._evaluated(x, dtype) if self._tree is None else self._evaluated_locally(x, dtype)
        values = from_columns(columns, self._shape, self._is_complex)
        if isinstance(values, np.ndarray):
            with eagerly():
                return placed_on_device_of_one((x, self.y, self._values), values)
        return values

    @property
    def y(self) -> Array:
        """Coordinates of the data points, (npoints, ndims)."""
        return self._points if self._tree is None else self._tree.data

    @property
    def d(self) -> Array:
        """Values as real columns, (npoints, columns): a complex value makes two, side by side."""
        return self._values

    @property
    def d_shape(self) -> tuple[int, ...]:
        """Shape of a value."""
        return self._shape

    @property
    def d_dtype(self) -> np.dtype:
        """The dtype of values."""
        if not self._is_complex:
            return self._values.dtype
        return np.dtype(np.complex128 if self._values.dtype == np.float64 else np.complex64)

    @property
    def neighbors(self) -> int | None:
        """How many neighbors make the value at a place; None for all data."""
        return self._neighbors

    @property
    def smoothing(self) -> Array:
        """The smoothing at each data point, (npoints,)."""
        return self._smoothing

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        return self._basis.kernel

    @property
    def epsilon(self) -> Array:
        """The factor of distances."""
        return self._epsilon

    @property
    def powers(self) -> np.ndarray:
        """Exponents of the monomials, (monomials, ndims)."""
        return self._basis.powers

    @property
    def n(self) -> int | Array:
        """Number of data points; a traced one where the argument `n` was."""
        if self._count is None:
            return len(self._values)
        return self._count if is_traced(self._count) else int(self._count)

    @property
    def _dtype(self) -> np.dtype:
        return wider(self.y.dtype, self._values.dtype)

    def _data(self) -> Data:
        mask = None
        if isinstance(self._count, int | np.integer):
            mask = np.arange(len(self._values)) < self._count
        elif self._count is not None:
            mask = jnp.arange(len(self._values), dtype=np.int32) < self._count
        return Data(self.y, self._values, self._smoothing, mask)

    def _traced(self) -> bool:
        return any_traced(self.y, self._values, self._smoothing, self._epsilon, self._count)

    def _solved(self) -> Coefficients:
        """Return the coefficients of all data; raise where they are known not to exist."""
        data = self._data()
        on_host = in_memory(data, self._epsilon)
        if on_host is None:
            coefficients, singular = coefficients_of(
                data, self._epsilon, basis=self._basis, dtype=self._dtype
            )
        else:
            coefficients, singular = solve_on_host(*on_host, basis=self._basis, dtype=self._dtype)
            coefficients = placed_on_device_of_one((self.y, self._values), coefficients)
        if not is_traced(singular) and singular:
            raise _singular(self._basis, data)
        return coefficients

    def _evaluated(self, x: Array, dtype: np.dtype) -> Array | np.ndarray:
        """Return columns of values, by the coefficients of all data; NumPy's if they are on the host."""
        arrays = self._data(), self._epsilon, self._coefficients, x
        on_host = in_memory(*arrays)
        if on_host is None:
            return evaluate(*arrays, basis=self._basis, dtype=dtype)
        return evaluate_on_host(*on_host, basis=self._basis, dtype=dtype)

    def _evaluated_locally(self, x: Array, dtype: np.dtype) -> Array | np.ndarray:
        """Return columns of values, each place's by the system of its neighbors."""
        tree = self._tree
        queries = x
        if any_traced(x) or self._traced():  # the choice of neighbors has no derivative
            tree, queries = lax.stop_gradient((tree, x))
        columns = list(range(1, self._neighbors + 1))  # a list keeps the axis of one neighbor, too
        _, rows = tree.query(queries, k=columns)
        data = self._data()
        arrays = data, self._epsilon, rows, x
        on_host = None
        if not in_a_trace() or are_many_places(self._basis, rows):  # in a program those of few are part of it
            with eagerly():
                on_host = in_memory(*arrays)
        if on_host is None:
            values, singular = evaluate_locally(*arrays, basis=self._basis, dtype=dtype)
        else:
            values, singular = evaluate_locally_on_host(*on_host, basis=self._basis, dtype=dtype)
        if not is_traced(singular) and np.any(singular):
            first_place = np.argmax(singular)
            raise _singular(self._basis, data.rows(jnp, rows[first_place]))
        return values

    # --- pytree and pickle ----------------------------------------------------------------------------------

    def tree_flatten(self):
        """Return the arrays, and everything else as Python values."""
        count = np.int32(self._count) if type(self._count) is int else self._count
        arrays = self._points, self._values, self._smoothing, self._epsilon, count
        static = self._basis, self._neighbors, self._shape, self._is_complex
        return (*arrays, self._tree, self._coefficients), static

    @classmethod
    def tree_unflatten(cls, static, children):
        """Put an interpolator together again; its values may be anything, so nothing is checked."""
        self = object.__new__(cls)
        self._basis, self._neighbors, self._shape, self._is_complex = static
        *arrays, self._tree, self._coefficients = children
        self._points, self._values, self._smoothing, self._epsilon, self._count = arrays
        return self

    def __getstate__(self):
        """Return what a pickle keeps."""
        return stored(self.__dict__)

    def __setstate__(self, state):
        """Take a pickled state."""
        self.__dict__.update(restored(state))


def _smoothing_of(smoothing, rows: int, dtype) -> Array:
    """Return the smoothing at each data point."""
    array = as_dtype(as_places(smoothing, "smoothing"), dtype)
    if array.ndim == 0:
        host = None if is_traced(array) else memory_of(array)
        if host is not None:
            repeated = aligned_empty((rows,), host.dtype)
            repeated[:] = host
            return placed_on_device_of(array, repeated)
        with x64_for(dtype):
            return jnp.broadcast_to(array, (rows,))
    if array.shape != (rows,):
        raise ValueError(f"Expected `smoothing` to be a scalar or have shape ({rows},).")
    return array


def _epsilon_of(epsilon, kernel: str, dtype) -> Array:
    """Return the factor of distances, an array without axes."""
    if epsilon is None:
        if kernel not in SCALE_INVARIANT:
            raise ValueError(f"`epsilon` must be specified if `kernel` is not one of {SCALE_INVARIANT}.")
        epsilon = 1.0
    array = as_dtype(as_places(epsilon, "epsilon"), dtype)
    if array.size != 1:
        raise TypeError(f"`epsilon` must be a number, got an array of shape {array.shape}")
    return in_shape(array, ())


def _neighbor_count(neighbors: float, rows: int) -> int:
    """Return how many neighbors an interpolant has, at most all rows; as in SciPy a float is cut off."""
    number = real_number(neighbors, "`neighbors`")
    if not number >= 1:
        raise ValueError(f"`neighbors` must be at least 1, got {number:g}: leave it out for all points.")
    return int(min(number, rows))


def _degree_of(degree: int | None, kernel: str) -> int:
    """Return the degree of the polynomial; warn where it is too low for the kernel."""
    least = MIN_DEGREES.get(kernel, -1)
    if degree is None:
        return max(least, 0)
    degree = int(real_number(degree, "`degree`"))
    if degree < -1:
        raise ValueError("`degree` must be at least -1.")
    if -1 < degree < least:
        warnings.warn(
            f"`degree` should not be below {least} except -1 when `kernel` is '{kernel}'.The interpolant may "
            "not be uniquely solvable, and the smoothing parameter may have an unintuitive effect.",
            UserWarning,
            stacklevel=4,  # where an interpolator was asked for
        )
    return degree


def _singular(basis: Basis, data: Data) -> np.linalg.LinAlgError:
    """Return the error for a singular system, with its cause where that is the polynomial."""
    count = basis.monomial_count
    if count:
        with x64_for(data.points.dtype):
            shift, scale = polynomial_domain(jnp, data)
            monomials = np.asarray(basis.monomials(jnp, (data.points - shift) / scale))
        if data.mask is not None:
            monomials = monomials[np.asarray(data.mask)]
        rank = np.linalg.matrix_rank(monomials, rtol=rank_tolerance(monomials))
        if rank < count:
            return np.linalg.LinAlgError(
                "Singular matrix. The matrix of monomials evaluated at the data point coordinates does not "
                f"have full column rank ({rank}/{count})."
            )
    return np.linalg.LinAlgError("Singular matrix.")
