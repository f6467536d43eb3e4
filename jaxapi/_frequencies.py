"""The frequencies of discrete Fourier transforms."""

import functools

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._core._devices import check_device, put
from ._core._docs import Completion, sharing
from ._core._dtypes import default_dtype, resolve_dtype, x64_for
from ._core._errors import whole_number
from ._core._programs import compiled
from ._core._quotients import quotient
from ._core._typing import Array, ArrayLike, Device, DTypeLike
from ._interop import as_operand

__all__ = ["fftfreq", "rfftfreq"]


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
