"""The shapes that operands have together."""

import jax.numpy as jnp

__all__ = ["check_broadcast"]


def check_broadcast(name: str, *shapes: tuple[int, ...]) -> None:
    """Raise NumPy's ValueError where shapes do not broadcast: most of JAX's functions raise TypeError."""
    try:
        jnp.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(map(str, shapes))
        raise ValueError(f"{name}: operands could not be broadcast together with shapes {listed}") from None
