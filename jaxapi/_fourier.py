"""The discrete Fourier transforms of the standard's extension `fft`, and their frequencies."""

import functools

import jax  # noqa: F401  (JAX's example of fftn, which runs here, names it)
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.array_utils import normalize_axis_index

from ._core._devices import check_device, put
from ._core._docs import Completion, of_standard, sharing
from ._core._dtypes import default_dtype, resolve_dtype, x64_for
from ._core._errors import whole_number
from ._core._exact import transposable
from ._core._programs import compiled
from ._core._quotients import quotient
from ._core._typing import Array, ArrayLike, Device, DTypeLike
from ._interop import as_array, as_operand
from ._interop._array_arguments import takes_array

__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft"]
__all__ += ["irfftn", "rfft", "rfftfreq", "rfftn"]


def _of_numbers(transform):
    """Return a transform of integers and bool, too, in the default floating dtype: JAX's is float32.

    Numbers of 16 bits are transformed in float32, as NumPy has it.
    """

    @functools.wraps(transform)
    def of_numbers(a, *args, **kwargs):
        a = jnp.asarray(a)
        if not jnp.issubdtype(a.dtype, jnp.inexact):
            a = a.astype(float)
        elif a.dtype.itemsize == 2:
            a = a.astype(jnp.float32)
        return transform(a, *args, **kwargs)

    return of_numbers


fft = takes_array(_of_numbers(transposable(jnp.fft.fft)))
fftn = takes_array(_of_numbers(transposable(jnp.fft.fftn)))
fftshift = takes_array(jnp.fft.fftshift)
ifft = takes_array(_of_numbers(transposable(jnp.fft.ifft)))
ifftn = takes_array(_of_numbers(transposable(jnp.fft.ifftn)))
ifftshift = takes_array(jnp.fft.ifftshift)
irfft = takes_array(_of_numbers(transposable(jnp.fft.irfft)))
irfftn = takes_array(_of_numbers(transposable(jnp.fft.irfftn)))
rfft = takes_array(_of_numbers(transposable(jnp.fft.rfft)))
rfftn = takes_array(_of_numbers(transposable(jnp.fft.rfftn)))


@_of_numbers
@functools.wraps(jnp.fft.hfft)
def _hfft(x, n=None, axis=-1, norm=None):
    normalize_axis_index(axis, jnp.ndim(x))  # JAX raises IndexError
    return transposable(jnp.fft.hfft)(x, n, axis, norm)


hfft = takes_array(_hfft)


@of_standard("Fourier transform extension")
def ihfft(x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Inverse of `hfft`: the first half of a real signal's Hermitian spectrum.

    Unlike `jax.numpy.fft.ihfft`, float64 keeps its precision with x64 mode off too ([1]_).

    Parameters
    ----------
    x : array_like, floating
    n : int, optional
        Length taken of the signal, which is cut or padded with zeros at its end. Default: all of it.
    axis : int
        The axis of the signal.
    norm : {'backward', 'ortho', 'forward'}
        Divide by n, by its square root, or not at all.

    Returns
    -------
    Array
        Complex, with ``n // 2 + 1`` elements along the axis. NaN anywhere in a signal makes all of it NaN.

    Raises
    ------
    ValueError
        If ``n`` is less than 1 or the signal empty, it is complex, or ``norm`` is another one.
    numpy.exceptions.AxisError
        If ``x`` has no such axis (a ``ValueError`` and an ``IndexError``).

    Examples
    --------
    >>> print(abs(ihfft(jnp.ones(4))))
    [1. 0. 0.]
    """
    return _ihfft(as_array(x), n, whole_number(axis, "axis"), norm)


@functools.partial(compiled, static_argnums=(1, 2, 3), inline=True)
def _ihfft(x, n, axis, norm):
    if not x.shape[normalize_axis_index(axis, x.ndim)]:
        raise ValueError(f"ihfft: the signal is empty along axis {axis} of shape {x.shape}")
    return _of_numbers(transposable(jnp.fft.ihfft))(x, n=n, axis=axis, norm=norm)


# Frequencies


def _of_transform(length: str, cycles: str) -> Completion:
    """Complete a docstring by what is returned."""
    return sharing(
        """
        Unlike `jax.numpy.fft.{name}`, those of dtype float64 are computed in it with x64 mode off too, and a
        length below 1, a dtype that is not floating and a device that is none are refused ([1]_).

        Parameters
        ----------
        n : int
            Length of the signal.
        d : float
            Distance of its samples; may be traced. 0 gives infinities and NaN.
        dtype : dtype, optional
            A floating one; JAX's default if omitted.
        device : Device or Sharding, optional
            Where the result is put.

        Returns
        -------
        Array, shape ({length},)
            ``[{cycles}] / (n * d)``.

        Raises
        ------
        ValueError
            If ``n`` is less than 1 or ``dtype`` is not floating.
        TypeError
            If ``n`` is not an integer, ``d`` is complex, or ``dtype`` or ``device`` is not one.

        Notes
        -----
        Under `jax.jit` all but ``d`` are static. Differentiable in ``d``.

        References
        ----------
        .. [1] Array API standard 2025.12, Fourier transform extension, ``{name}``.
        """,
        length=length,
        cycles=cycles,
    )


@_of_transform("n", "0, 1, ..., (n - 1) // 2, -(n // 2), ..., -1")
def fftfreq(
    n: int, /, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Array:
    """Frequencies of the elements of `fft`, in cycles per unit of ``d``.

    Examples
    --------
    >>> print(fftfreq(4, d=0.5))
    [ 0.   0.5 -1.  -0.5]
    """
    return _frequencies(_length(n), d, dtype, device, one_sided=False)


@_of_transform("n // 2 + 1", "0, 1, ..., n // 2")
def rfftfreq(
    n: int, /, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Array:
    """Frequencies of the elements of `rfft`, in cycles per unit of ``d``.

    Examples
    --------
    >>> print(rfftfreq(4, d=0.5))
    [0.  0.5 1. ]
    """
    return _frequencies(_length(n), d, dtype, device, one_sided=True)


def _length(n) -> int:
    n = whole_number(n, "n")
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    return n


def _frequencies(n: int, d, dtype: DTypeLike | None, device, one_sided: bool) -> Array:
    check_device(device)
    dtype = default_dtype(float) if dtype is None else resolve_dtype(dtype)
    if not jnp.issubdtype(dtype, jnp.floating):
        raise ValueError(f"dtype must be a floating one, as float32, got {dtype}")
    d = as_operand(d)
    if isinstance(d, complex) or jnp.iscomplexobj(d):
        raise TypeError(f"d must be real, got {d!r}")
    working = jnp.promote_types(dtype, np.float32)  # n is beyond float16
    if isinstance(d, (int, float)):
        d = np.asarray(d, working)
    with x64_for(working, d.dtype):
        frequencies = _computed(d, n, working, dtype, one_sided)
    return put(frequencies, device)


@functools.partial(compiled, static_argnums=(1, 2, 3, 4))
def _computed(d, n: int, working, dtype, one_sided: bool) -> Array:
    cycles = lax.iota(np.int32, n // 2 + 1 if one_sided else n)
    if not one_sided:
        cycles = jnp.where(cycles > (n - 1) // 2, cycles - n, cycles)
    span = jnp.broadcast_to(n * d.astype(working), cycles.shape)
    return quotient(cycles.astype(working), span).astype(dtype)
