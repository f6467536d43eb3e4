"""Searches in pure `jax.lax`, for every platform and transformation."""
