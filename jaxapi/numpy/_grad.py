"""`grad` and `value_and_grad` of functions of this module's arrays."""

from typing import TYPE_CHECKING

import jax

from ..mutable._array import NUMPY
from ..mutable._faces import in_numpys_dtypes
from ..mutable._grad import inside, outside

__all__ = ["grad", "value_and_grad"]

if TYPE_CHECKING:
    from ..mutable._grad import grad, value_and_grad
else:

    def grad(fun, argnums=0, has_aux=False, **options):
        """Differentiate a function that returns a scalar: `jaxapi.mutable.grad`, in NumPy's dtypes."""
        differentiated = jax.grad(inside(fun, has_aux), argnums, has_aux, **options)
        return in_numpys_dtypes(outside(differentiated, NUMPY))

    def value_and_grad(fun, argnums=0, has_aux=False, **options):
        """Return the loss with its derivatives: `jaxapi.mutable.value_and_grad`, in NumPy's dtypes."""
        differentiated = jax.value_and_grad(inside(fun, has_aux), argnums, has_aux, **options)
        return in_numpys_dtypes(outside(differentiated, NUMPY))
