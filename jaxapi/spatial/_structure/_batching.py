"""What `jax.vmap` makes of a search: one search of all queries."""

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["one_search_of_all"]


def one_search_of_all(search):
    """Let vmap over the queries of ``search(shared, x, number)`` make one search of them all.

    `x` are queries (q, m) and `number` one for each or one for all, results begin with axis q. A batch of
    what they share, such as trees, is searched one after another: walking several in lockstep waits for the
    slowest.
    """

    @jax.custom_batching.custom_vmap
    def run(shared, x, number):
        return search(shared, x, number)

    @run.def_vmap
    def rule(size, batched, shared, x, number):
        def all_of(values, marks):
            return jax.tree.map(lambda a, b: a if b else jnp.broadcast_to(a, (size, *a.shape)), values, marks)

        if any(jax.tree.leaves(batched[0])):
            found = lax.map(lambda one: run(*one), all_of((shared, x, number), tuple(batched)))
        else:
            x = all_of(x, batched[1])
            q = x.shape[1]
            if batched[2] or number.ndim:
                number = number.reshape(size if batched[2] else 1, -1)
                number = jnp.broadcast_to(number, (size, q)).reshape(-1)
            found = run(shared, x.reshape(-1, x.shape[-1]), number)
            found = jax.tree.map(lambda a: a.reshape(size, q, *a.shape[1:]), found)
        return found, jax.tree.map(lambda _: True, found)

    return run
