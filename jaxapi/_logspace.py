"""`logspace`: numpy.logspace, exact for integers."""

from jax.numpy import logspace

__all__ = ["logspace"]
