"""Trigonometric and hyperbolic functions, with the standard's complex special cases.

Real arrays go to `jax.numpy`; the rules for complex ones are in `_complex`.
"""

from .._core._typing import Array, ArrayLike
from .._interop import as_operand
from . import _complex

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh"]


def acos(x: ArrayLike, /) -> Array:
    """Inverse cosine, in radians.

    Unlike `jax.numpy.acos`, ``±0 + nan j`` gives ``pi/2 + nan j``, a NaN with a large finite part gives
    NaN, and on the cuts (real axis beyond ±1) the sign of a zero imaginary part tells the side [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real ``|x| > 1``.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s, infinite at ±1.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``acos``: special cases.

    Examples
    --------
    >>> print(acos(complex(1, -0.0)))
    0j
    """
    return _complex.acos(as_operand(x))


def acosh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic cosine.

    Unlike `jax.numpy.acosh`, ``0 + nan j`` gives ``nan + pi/2 j``, a NaN with a large finite part gives
    NaN, and on the cut (real axis below 1) the sign of a zero imaginary part tells the side [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real ``x < 1``.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s, infinite at 1.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``acosh``: special cases.

    Examples
    --------
    >>> print(acosh(complex(1, -0.0)))
    -0j
    """
    return _complex.acosh(as_operand(x))


def asin(x: ArrayLike, /) -> Array:
    """Inverse sine, in radians.

    Unlike `jax.numpy.asin`, complex special cases are those of ``asinh(x*1j) / 1j``: ``0 + nan j`` gives ``0
    + nan j`` [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real ``|x| > 1``.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s, infinite at ±1.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``asin``: special cases.

    Examples
    --------
    >>> print(asin(complex(0, float("nan"))))
    nanj
    """
    return _complex.asin(as_operand(x))


def asinh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic sine.

    Unlike `jax.numpy.asinh`, complex values are odd in both parts down to the sign of a zero, ``nan + 0j``
    gives ``nan + 0j``, and a NaN with a large finite part gives NaN [1]_.

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
    .. [1] Array API standard 2025.12, element-wise functions, ``asinh``: special cases.

    Examples
    --------
    >>> print(asinh(complex(float("nan"), 0)))
    (nan+0j)
    """
    return _complex.asinh(as_operand(x))


def atan(x: ArrayLike, /) -> Array:
    """Inverse tangent, in radians.

    Unlike `jax.numpy.atan`, complex special cases are those of ``atanh(x*1j) / 1j``: a NaN is not turned into
    ``pi/2``, and zeros keep their signs [1]_.

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
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s, infinite at
    ±1j.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``atan``: special cases.

    Examples
    --------
    >>> print(atan(complex(-0.0, 0)))
    (-0+0j)
    """
    return _complex.atan(as_operand(x))


def atanh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic tangent.

    Unlike `jax.numpy.atanh`, a complex NaN is not turned into ``pi/2``, values are odd in both parts down to
    the sign of a zero, and next to the poles ±1 nothing underflows [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real ``|x| > 1``.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s, infinite at ±1.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``atanh``: special cases.

    Examples
    --------
    >>> print(atanh(complex(0, float("nan"))))
    nanj
    """
    return _complex.atanh(as_operand(x))


def cos(x: ArrayLike, /) -> Array:
    """Cosine of an angle in radians.

    Unlike `jax.numpy.cos`, complex special cases are those of ``cosh(x*1j)`` and the value is exact to
    rounding near the axes [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real infinity.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``cos``: special cases.

    Examples
    --------
    >>> print(cos(complex(0, float("inf"))))
    (inf-0j)
    """
    return _complex.cos(as_operand(x))


def cosh(x: ArrayLike, /) -> Array:
    """Hyperbolic cosine.

    Unlike `jax.numpy.cosh`, real values are right to 3 ulp up to the overflow (JAX: 500), complex
    infinities and NaN follow the standard: ``inf + nan j`` gives ``inf + nan j``, ``0 + nan j`` gives
    ``nan + 0j``; ``cosh(-x)`` equals ``cosh(x)`` also in the signs of zeros [1]_.

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
    .. [1] Array API standard 2025.12, element-wise functions, ``cosh``: special cases.

    Examples
    --------
    >>> print(cosh(complex(float("inf"), float("nan"))))
    (inf+nanj)
    """
    return _complex.cosh(as_operand(x))


def sin(x: ArrayLike, /) -> Array:
    """Sine of an angle in radians.

    Unlike `jax.numpy.sin`, complex special cases are those of ``sinh(x*1j) / 1j`` and the value is exact to
    rounding near the axes [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real infinity.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``sin``: special cases.

    Examples
    --------
    >>> print(sin(complex(0, float("inf"))))
    infj
    """
    return _complex.sin(as_operand(x))


def sinh(x: ArrayLike, /) -> Array:
    """Hyperbolic sine.

    Unlike `jax.numpy.sinh`, real values are right to 3 ulp up to the overflow (JAX: 500), complex values
    near zero keep their precision, infinities and NaN follow the standard, and ``sinh(-x)`` equals
    ``-sinh(x)`` also in the signs of zeros [1]_.

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
    .. [1] Array API standard 2025.12, element-wise functions, ``sinh``: special cases.

    Examples
    --------
    >>> print(sinh(complex(1e-20, 0)))
    (1e-20+0j)
    """
    return _complex.sinh(as_operand(x))


def tan(x: ArrayLike, /) -> Array:
    """Tangent of an angle in radians.

    Unlike `jax.numpy.tan`, complex special cases are those of ``tanh(x*1j) / 1j``: ``nan + 0j`` gives ``nan +
    0j``, and zeros keep their signs [1]_.

    Parameters
    ----------
    x : array_like, any shape
        Floating or complex; integers count as JAX's default floating dtype.

    Returns
    -------
    Array
        Same shape and dtype. A real NaN gives NaN, as does a real infinity.

    Notes
    -----
    Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s.

    References
    ----------
    .. [1] Array API standard 2025.12, element-wise functions, ``tan``: special cases.

    Examples
    --------
    >>> print(tan(complex(0, float("inf"))))
    1j
    """
    return _complex.tan(as_operand(x))


def tanh(x: ArrayLike, /) -> Array:
    """Hyperbolic tangent.

    Unlike `jax.numpy.tanh`, ``0 + inf j`` and ``0 + nan j`` give ``0 + nan j``, and at a real infinity the
    imaginary part is a zero of the same sign as the argument's [1]_.

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
    .. [1] Array API standard 2025.12, element-wise functions, ``tanh``: special cases.

    Examples
    --------
    >>> print(tanh(complex(0, float("inf"))))
    nanj
    """
    return _complex.tanh(as_operand(x))
