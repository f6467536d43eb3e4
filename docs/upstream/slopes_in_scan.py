"""Second derivatives of `jax.lax.scan` lose the `custom_jvp` of functions in its body."""

import jax
import jax.numpy as jnp
import numpy as np


def by_numpy(function):
    return lambda x: jax.pure_callback(function, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@jax.custom_jvp
def sin(x):
    return by_numpy(np.sin)(x)


@jax.custom_jvp
def cos(x):
    return by_numpy(np.cos)(x)


sin.defjvp(lambda x, dx: (sin(*x), cos(*x) * dx[0]))
cos.defjvp(lambda x, dx: (cos(*x), -sin(*x) * dx[0]))


def sum_of_sines(x):
    return jax.lax.scan(lambda total, x: (total + sin(x), None), 0.0, x)[0]


try:
    made = round(jax.jacfwd(jax.grad(sum_of_sines))(jnp.ones(1)).item(), 6)
except ValueError as error:
    made = error
print("made:", made)
print("expected:", round((-jnp.sin(1.0)).item(), 6))
