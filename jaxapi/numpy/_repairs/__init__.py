"""Functions of jax.numpy that lack arguments of NumPy's, or have other dtypes, repaired: of values of JAX.

Their parameters are NumPy's; what is annotated as an array comes as a `jax.Array`.
"""

from . import _arrays, _mathematics, _padding, _polynomials, _statistics

__all__ = ["REPAIRS"]

_PARTS = _arrays, _mathematics, _padding, _polynomials, _statistics
REPAIRS = {name: getattr(part, name) for part in _PARTS for name in part.__all__}
