"""Exponentials, logarithms and the square root, trigonometric and hyperbolic functions.

Real arrays go to `jax.numpy`; the standard's rules for complex ones are in `_complex`.
"""

from .._core._docs import Completion, sharing
from .._core._typing import Array, ArrayLike
from .._interop import as_operand
from . import _complex

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log1p"]
__all__ += ["log2", "log10", "sin", "sinh", "sqrt", "tan", "tanh"]


def _element_wise(nan: str = "", slope: str = "") -> Completion:
    """Complete a docstring: where real results are NaN, and where derivatives are not `jax.numpy`'s."""
    return sharing(
        """
        Parameters
        ----------
        x : array_like, any shape
            Floating or complex; integers count as JAX's default floating dtype.

        Returns
        -------
        Array
            Same shape and dtype. A real NaN gives NaN{nan}.

        Notes
        -----
        Element-wise and the same under `jax.jit` and `jax.vmap`; the derivative is `jax.numpy`'s{slope}.

        References
        ----------
        .. [1] Array API standard 2025.12, element-wise functions, ``{name}``: special cases.
        """,
        nan=nan,
        slope=slope,
    )


@_element_wise(nan=", as does a real ``|x| > 1``", slope=", infinite at ±1")
def acos(x: ArrayLike, /) -> Array:
    """Inverse cosine, in radians.

    Unlike `jax.numpy.acos`, ``±0 + nan j`` gives ``pi/2 + nan j``, a NaN with a large finite part gives
    NaN, and on the cuts (real axis beyond ±1) the sign of a zero imaginary part tells the side [1]_.

    Examples
    --------
    >>> print(acos(complex(1, -0.0)))
    0j
    """
    return _complex.acos(as_operand(x))


@_element_wise(nan=", as does a real ``x < 1``", slope=", infinite at 1")
def acosh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic cosine.

    Unlike `jax.numpy.acosh`, ``0 + nan j`` gives ``nan + pi/2 j``, a NaN with a large finite part gives
    NaN, and on the cut (real axis below 1) the sign of a zero imaginary part tells the side [1]_.

    Examples
    --------
    >>> print(acosh(complex(1, -0.0)))
    -0j
    """
    return _complex.acosh(as_operand(x))


@_element_wise(nan=", as does a real ``|x| > 1``", slope=", infinite at ±1")
def asin(x: ArrayLike, /) -> Array:
    """Inverse sine, in radians.

    Unlike `jax.numpy.asin`, complex special cases are those of ``asinh(x*1j) / 1j``: ``0 + nan j`` gives ``0
    + nan j`` [1]_.

    Examples
    --------
    >>> print(asin(complex(0, float("nan"))))
    nanj
    """
    return _complex.asin(as_operand(x))


@_element_wise()
def asinh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic sine.

    Unlike `jax.numpy.asinh`, complex values are odd in both parts down to the sign of a zero, ``nan + 0j``
    gives ``nan + 0j``, and a NaN with a large finite part gives NaN [1]_.

    Examples
    --------
    >>> print(asinh(complex(float("nan"), 0)))
    (nan+0j)
    """
    return _complex.asinh(as_operand(x))


@_element_wise(slope=", infinite at ±1j")
def atan(x: ArrayLike, /) -> Array:
    """Inverse tangent, in radians.

    Unlike `jax.numpy.atan`, complex special cases are those of ``atanh(x*1j) / 1j``: a NaN is not turned into
    ``pi/2``, and zeros keep their signs [1]_.

    Examples
    --------
    >>> print(atan(complex(-0.0, 0)))
    (-0+0j)
    """
    return _complex.atan(as_operand(x))


@_element_wise(nan=", as does a real ``|x| > 1``", slope=", infinite at ±1")
def atanh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic tangent.

    Unlike `jax.numpy.atanh`, a complex NaN is not turned into ``pi/2``, values are odd in both parts down to
    the sign of a zero, and next to the poles ±1 nothing underflows [1]_.

    Examples
    --------
    >>> print(atanh(complex(0, float("nan"))))
    nanj
    """
    return _complex.atanh(as_operand(x))


@_element_wise(nan=", as does a real infinity")
def cos(x: ArrayLike, /) -> Array:
    """Cosine of an angle in radians.

    Unlike `jax.numpy.cos`, complex special cases are those of ``cosh(x*1j)`` and the value is exact to
    rounding near the axes [1]_.

    Examples
    --------
    >>> print(cos(complex(0, float("inf"))))
    (inf-0j)
    """
    return _complex.cos(as_operand(x))


@_element_wise()
def cosh(x: ArrayLike, /) -> Array:
    """Hyperbolic cosine.

    Unlike `jax.numpy.cosh`, real values are right to 3 ulp up to the overflow (JAX: 500), complex
    infinities and NaN follow the standard: ``inf + nan j`` gives ``inf + nan j``, ``0 + nan j`` gives
    ``nan + 0j``; ``cosh(-x)`` equals ``cosh(x)`` also in the signs of zeros [1]_.

    Examples
    --------
    >>> print(cosh(complex(float("inf"), float("nan"))))
    (inf+nanj)
    """
    return _complex.cosh(as_operand(x))


@_element_wise()
def exp(x: ArrayLike, /) -> Array:
    """Exponential.

    Unlike `jax.numpy.exp`, a complex infinity with an infinite or NaN imaginary part follows the standard:
    ``-inf + nan j`` gives 0, ``inf + nan j`` gives ``inf + nan j`` [1]_.

    Examples
    --------
    >>> print(exp(complex(float("-inf"), float("nan"))))
    0j
    """
    return _complex.exp(as_operand(x))


@_element_wise()
def expm1(x: ArrayLike, /) -> Array:
    """Exponential less one, exact near zero.

    Unlike `jax.numpy.expm1`, a complex infinity with an infinite or NaN imaginary part follows the
    standard: ``-inf + nan j`` gives -1, ``inf + nan j`` gives ``inf + nan j`` [1]_.

    Examples
    --------
    >>> print(expm1(complex(float("-inf"), float("nan"))))
    (-1+0j)
    """
    return _complex.expm1(as_operand(x))


@_element_wise(nan=", as does a real ``x < 0``", slope=", infinite at 0")
def log(x: ArrayLike, /) -> Array:
    """Natural logarithm.

    Unlike `jax.numpy.log`, a complex infinity with a NaN has an infinite logarithm: ``inf + nan j`` gives
    ``inf + nan j`` [1]_.

    Examples
    --------
    >>> print(log(complex(float("inf"), float("nan"))))
    (inf+nanj)
    """
    return _complex.log(as_operand(x))


@_element_wise(nan=", as does a real ``x < 0``", slope=", infinite at 0")
def log10(x: ArrayLike, /) -> Array:
    """Logarithm to base 10.

    Unlike `jax.numpy.log10`, float64 arrays work with x64 off too, and complex special cases are those of
    ``log(x) / log(10)`` [1]_.

    Examples
    --------
    >>> print(log10(complex(float("inf"), float("nan"))))
    (inf+nanj)
    """
    return _complex.log10(as_operand(x))


@_element_wise(nan=", as does a real ``x < -1``", slope=", infinite at -1")
def log1p(x: ArrayLike, /) -> Array:
    """Natural logarithm of ``1 + x``, exact near zero.

    Unlike `jax.numpy.log1p`, a complex infinity with a NaN has an infinite logarithm, and next to -1 a small
    imaginary part does not underflow [1]_.

    Examples
    --------
    >>> print(log1p(complex(float("nan"), float("inf"))))
    (inf+nanj)
    """
    return _complex.log1p(as_operand(x))


@_element_wise(nan=", as does a real ``x < 0``", slope=", infinite at 0")
def log2(x: ArrayLike, /) -> Array:
    """Logarithm to base 2.

    Unlike `jax.numpy.log2`, complex special cases are those of ``log(x) / log(2)``: ``inf + nan j`` gives
    ``inf + nan j`` [1]_.

    Examples
    --------
    >>> print(log2(complex(float("inf"), float("nan"))))
    (inf+nanj)
    """
    return _complex.log2(as_operand(x))


@_element_wise(nan=", as does a real infinity")
def sin(x: ArrayLike, /) -> Array:
    """Sine of an angle in radians.

    Unlike `jax.numpy.sin`, complex special cases are those of ``sinh(x*1j) / 1j`` and the value is exact to
    rounding near the axes [1]_.

    Examples
    --------
    >>> print(sin(complex(0, float("inf"))))
    infj
    """
    return _complex.sin(as_operand(x))


@_element_wise()
def sinh(x: ArrayLike, /) -> Array:
    """Hyperbolic sine.

    Unlike `jax.numpy.sinh`, real values are right to 3 ulp up to the overflow (JAX: 500), complex values
    near zero keep their precision, infinities and NaN follow the standard, and ``sinh(-x)`` equals
    ``-sinh(x)`` also in the signs of zeros [1]_.

    Examples
    --------
    >>> print(sinh(complex(1e-20, 0)))
    (1e-20+0j)
    """
    return _complex.sinh(as_operand(x))


@_element_wise(nan=", as does a real ``x < 0``", slope=", infinite at 0")
def sqrt(x: ArrayLike, /) -> Array:
    """Square root.

    Unlike `jax.numpy.sqrt`, real roots are rounded as IEEE 754 says, on every device and in every program, a
    complex infinity with a NaN follows the standard (an infinite imaginary part gives ``inf ± inf j``
    whatever the real part), and on the cut (real axis below 0) the sign of a zero imaginary part tells the
    side [1]_.

    Examples
    --------
    >>> print(sqrt(complex(-1, -0.0)))
    -1j
    """
    return _complex.sqrt(as_operand(x))


@_element_wise(nan=", as does a real infinity")
def tan(x: ArrayLike, /) -> Array:
    """Tangent of an angle in radians.

    Unlike `jax.numpy.tan`, complex special cases are those of ``tanh(x*1j) / 1j``: ``nan + 0j`` gives ``nan +
    0j``, and zeros keep their signs [1]_.

    Examples
    --------
    >>> print(tan(complex(0, float("inf"))))
    1j
    """
    return _complex.tan(as_operand(x))


@_element_wise()
def tanh(x: ArrayLike, /) -> Array:
    """Hyperbolic tangent.

    Unlike `jax.numpy.tanh`, ``0 + inf j`` and ``0 + nan j`` give ``0 + nan j``, and at a real infinity the
    imaginary part is a zero of the same sign as the argument's [1]_.

    Examples
    --------
    >>> print(tanh(complex(0, float("inf"))))
    nanj
    """
    return _complex.tanh(as_operand(x))
