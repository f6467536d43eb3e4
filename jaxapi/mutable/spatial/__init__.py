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

_wrap_namespace(_plain, [name for name in __all__ if name not in ("KDTree", "distance")], globals(), __name__)


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


def _inner(x):
    return x._tree if isinstance(x, KDTree) else _unwrap(x)


def _wrap_method(method):
    @_functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        kwargs = {name: _inner(x) for name, x in kwargs.items()}
        return _wrap_result(method(self._tree, *map(_inner, args), **kwargs))

    return wrapped


def _wrap_property(name, doc):
    return property(lambda self: _wrap_result(getattr(self._tree, name)), doc=doc)


for _name, _member in _inspect.getmembers(_plain.KDTree):
    if _name in ("tree_flatten", "tree_unflatten") or _name.startswith("_"):
        continue
    if _inspect.isfunction(_member):
        setattr(KDTree, _name, _wrap_method(_member))
    elif _inspect.isclass(_member):
        setattr(KDTree, _name, _member)
    else:
        setattr(KDTree, _name, _wrap_property(_name, _member.__doc__))


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


if not _typing.TYPE_CHECKING:  # for a type checker unknown names stay errors
    __getattr__ = _says_what_to_write(__name__)
