"""The object of a fused method, as a pytree.

Array, float and complex attributes are inputs of the compiled program, so a changed one is seen;
ints, bools, strings and other hashable attributes steer the compilation, so a changed one compiles again.
"""

import functools

import jax
import numpy as np

__all__ = ["MethodObject", "attributes", "belongs_to_method", "refuse_assigned_attributes"]

_TRACED = (jax.Array, np.ndarray, np.generic, float, complex)


@jax.tree_util.register_pytree_node_class
class MethodObject:
    """Wraps the object for the way in; what comes out of the pytree is a copy of the object itself."""

    def __init__(self, wrapped):
        self.wrapped = wrapped

    def tree_flatten(self):
        """Split the attributes into traced leaves and a hashable description of the rest."""
        leaves, treedef = jax.tree.flatten(attributes(self.wrapped))
        traced = [leaf for leaf in leaves if _is_traced(leaf)]
        fixed = tuple((i, type(leaf), leaf) for i, leaf in enumerate(leaves) if not _is_traced(leaf))
        return traced, (type(self.wrapped), treedef, fixed)

    @staticmethod
    def tree_unflatten(description, traced):
        """Make the copy that the method sees while it is traced."""
        kind, treedef, fixed = description
        leaves = list(traced)
        for position, _, value in fixed:
            leaves.insert(position, value)
        copy = object.__new__(kind)
        for name, value in jax.tree.unflatten(treedef, leaves).items():
            object.__setattr__(copy, name, value)
        return copy


def _is_traced(leaf) -> bool:
    return isinstance(leaf, _TRACED) or (hasattr(leaf, "__dlpack__") and not callable(leaf))


def attributes(wrapped) -> dict:
    state = object.__getstate__(wrapped)
    in_dict, in_slots = state if isinstance(state, tuple) else (state, None)
    return {**(in_dict or {}), **(in_slots or {})}


def belongs_to_method(func, value) -> bool:
    """Whether ``func`` was defined in the body of a class of ``value``, which is no pytree itself."""
    owner = getattr(func, "__qualname__", "").rpartition(".")[0]
    if not owner or not jax.tree_util.all_leaves([value]):
        return False
    return any(
        kind.__qualname__ == owner and kind.__module__ == func.__module__ for kind in type(value).__mro__
    )


def refuse_assigned_attributes(name: str, before: dict, copy) -> None:
    """Raise if the method bound an attribute of its (copied) object: the object would not see it."""
    for attribute, value in attributes(copy).items():
        if attribute in before and before[attribute] is value:
            continue
        if isinstance(getattr(type(copy), attribute, None), functools.cached_property):
            continue
        raise TypeError(
            f"fused method {name!r} assigned self.{attribute}, which the object would never see: return the "
            "new value and assign it outside"
        )
