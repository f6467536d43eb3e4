"""The discrete Fourier transforms of the standard's extension `fft`."""

import functools

import jax  # noqa: F401  (JAX's example of fftn, which runs here, names it)
import jax.numpy as jnp
from numpy.lib.array_utils import normalize_axis_index

from ._core._docs import of_standard
from ._core._errors import whole_number
from ._core._exact import transposable
from ._core._programs import compiled
from ._core._typing import Array, ArrayLike
from ._frequencies import fftfreq, rfftfreq
from ._interop import as_array
from ._interop._arguments import takes_array

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
