"""Exponentials, logarithms and the square root, with the standard's complex special cases.

Real arrays go to `jax.numpy`; the rules for complex ones are in `_complex`.
"""

from .._core._typing import Array, ArrayLike
from .._interop import as_operand
from . import _complex

__all__ = ["exp", "expm1", "log", "log1p", "log2", "log10", "sqrt"]


def exp(x: ArrayLike, /) -> Array:
    """Exponential.

    Unlike `jax.numpy.exp`, a complex infinity with an infinite or NaN imaginary part follows the standard:
    ``-inf + nan j`` gives 0, ``inf + nan j`` gives ``inf + nan j`` [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``exp``: special cases.

    Examples
    --------
    >>> print(exp(complex(float("-inf"), float("nan"))))
    0j
    """
    return _complex.exp(as_operand(x))


def expm1(x: ArrayLike, /) -> Array:
    """Exponential less one, exact near zero.

    Unlike `jax.numpy.expm1`, a complex infinity with an infinite or NaN imaginary part follows the
    standard: ``-inf + nan j`` gives -1, ``inf + nan j`` gives ``inf + nan j`` [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``expm1``: special cases.

    Examples
    --------
    >>> print(expm1(complex(float("-inf"), float("nan"))))
    (-1+0j)
    """
    return _complex.expm1(as_operand(x))


def log(x: ArrayLike, /) -> Array:
    """Natural logarithm.

    Unlike `jax.numpy.log`, a complex infinity with a NaN has an infinite logarithm: ``inf + nan j`` gives
    ``inf + nan j`` [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real ``x < 0``.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s, infinite at 0.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``log``: special cases.

    Examples
    --------
    >>> print(log(complex(float("inf"), float("nan"))))
    (inf+nanj)
    """
    return _complex.log(as_operand(x))


def log1p(x: ArrayLike, /) -> Array:
    """Natural logarithm of ``1 + x``, exact near zero.

    Unlike `jax.numpy.log1p`, a complex infinity with a NaN has an infinite logarithm, and next to -1 a small
    imaginary part does not underflow [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real ``x < -1``.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s, infinite at -1.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``log1p``: special cases.

    Examples
    --------
    >>> print(log1p(complex(float("nan"), float("inf"))))
    (inf+nanj)
    """
    return _complex.log1p(as_operand(x))


def log2(x: ArrayLike, /) -> Array:
    """Logarithm to base 2.

    Unlike `jax.numpy.log2`, complex special cases are those of ``log(x) / log(2)``: ``inf + nan j`` gives
    ``inf + nan j`` [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real ``x < 0``.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s, infinite at 0.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``log2``: special cases.

    Examples
    --------
    >>> print(log2(complex(float("inf"), float("nan"))))
    (inf+nanj)
    """
    return _complex.log2(as_operand(x))


def log10(x: ArrayLike, /) -> Array:
    """Logarithm to base 10.

    Unlike `jax.numpy.log10`, float64 arrays work with x64 off too, and complex special cases are those of
    ``log(x) / log(10)`` [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real ``x < 0``.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s, infinite at 0.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``log10``: special cases.

    Examples
    --------
    >>> print(log10(complex(float("inf"), float("nan"))))
    (inf+nanj)
    """
    return _complex.log10(as_operand(x))


def sqrt(x: ArrayLike, /) -> Array:
    """Square root.

    Unlike `jax.numpy.sqrt`, a complex infinity with a NaN follows the standard (an infinite imaginary part
    gives ``inf ± inf j`` whatever the real part), and on the cut (real axis below 0) the sign of a zero
    imaginary part tells the side [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real ``x < 0``.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s, infinite at 0.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``sqrt``: special cases.

    Examples
    --------
    >>> print(sqrt(complex(-1, -0.0)))
    -1j
    """
    return _complex.sqrt(as_operand(x))
