"""Spatial data structures, with SciPy's interface, for arrays that can be assigned to."""

import functools as _functools
import inspect as _inspect
import typing as _typing

import jax as _jax

import jaxapi.spatial as _plain

from ..._missing import hints_at_attributes as _hints_at_attributes
from ..._missing import says_what_to_write as _says_what_to_write
from .._array import unwrap as _unwrap
from .._wrap import wrap_namespace as _wrap_namespace
from .._wrap import wrap_result as _wrap_result
from . import distance as distance

__all__ = list(_plain.__all__)

_wrap_namespace(
    _plain,
    [name for name in __all__ if name not in ("KDTree", "NeighborList", "distance")],
    globals(),
    __name__,
)


@_hints_at_attributes
@_jax.tree_util.register_pytree_node_class
class KDTree:
    """Find the nearest of n points in m dimensions: results can be assigned to.

    Parameters, methods and attributes are those of `jaxapi.spatial.KDTree`. The tree keeps the points as they
    are now: a later write to ``data`` does not reach it.

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> distance, row = xp.spatial.KDTree([[0.0, 0.0], [3.0, 4.0]]).query([3.0, 3.0])
    >>> row
    jaxapi.mutable.Array(1, dtype=int32)
    """

    @_functools.wraps(_plain.KDTree.__init__)  # type: ignore[misc]
    def __init__(self, data, *args, **kwargs):
        self._tree = _plain.KDTree(_unwrap(data), *map(_unwrap, args), **kwargs)

    def tree_flatten(self):
        """Return jaxapi's tree."""
        return (self._tree,), None

    def __repr__(self):
        """Return jaxapi's, of this module's class."""
        return f"jaxapi.mutable.spatial.{self._tree!r}"

    @classmethod
    def tree_unflatten(cls, aux, children):
        """Put a tree together again."""
        tree = object.__new__(cls)
        (tree._tree,) = children
        return tree


@_jax.tree_util.register_pytree_node_class
class NeighborList:
    """Keep the neighbors of points that move: edges and vectors can be assigned to.

    Parameters, methods and attributes are those of `jaxapi.spatial.NeighborList`. The list keeps the points
    as they are now: a later write to ``positions`` does not reach it.

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> neighbors = xp.spatial.NeighborList([[0.0], [1.0], [3.0]], 1.5, 0.5)
    >>> neighbors.update([[0.0], [1.0], [2.1]]).edges().count
    jaxapi.mutable.Array(4, dtype=int32)
    """

    @_functools.wraps(_plain.NeighborList.__init__)  # type: ignore[misc]
    def __init__(self, positions, *args, **kwargs):
        kwargs = {name: _unwrap(x) for name, x in kwargs.items()}
        self._list = _plain.NeighborList(_unwrap(positions), *map(_unwrap, args), **kwargs)

    def tree_flatten(self):
        """Return jaxapi's list."""
        return (self._list,), None

    def __repr__(self):
        """Return jaxapi's, of this module's class."""
        return f"jaxapi.mutable.spatial.{self._list!r}"

    @classmethod
    def tree_unflatten(cls, aux, children):
        """Put a list together again."""
        neighbors = object.__new__(cls)
        (neighbors._list,) = children
        return neighbors


def _inner(x):
    return x._tree if isinstance(x, KDTree) else _unwrap(x)


def _outer(x):
    return NeighborList.tree_unflatten(None, (x,)) if isinstance(x, _plain.NeighborList) else _wrap_result(x)


def _wrap_method(method, attribute):
    @_functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        kwargs = {name: _inner(x) for name, x in kwargs.items()}
        return _outer(method(getattr(self, attribute), *map(_inner, args), **kwargs))

    return wrapped


def _wrap_property(name, attribute, doc):
    return property(lambda self: _wrap_result(getattr(getattr(self, attribute), name)), doc=doc)


def _wrap_members(cls, plain, attribute):
    """Give a class the public methods and properties of jaxapi's, which is in an attribute of its objects."""
    for name, member in _inspect.getmembers(plain):
        if name.startswith(("tree_flatten", "tree_unflatten", "_")):
            continue
        if _inspect.isfunction(member):
            setattr(cls, name, _wrap_method(member, attribute))
        elif _inspect.isclass(member):
            setattr(cls, name, member)
        else:
            setattr(cls, name, _wrap_property(name, attribute, member.__doc__))


_wrap_members(KDTree, _plain.KDTree, "_tree")
_wrap_members(NeighborList, _plain.NeighborList, "_list")


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


if not _typing.TYPE_CHECKING:  # for a type checker unknown names stay errors
    __getattr__ = _says_what_to_write(__name__)
