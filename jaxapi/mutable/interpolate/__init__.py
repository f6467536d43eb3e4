"""Interpolation of scattered data, with SciPy's interface, for arrays that can be assigned to."""

import functools as _functools
import inspect as _inspect
import typing as _typing

import jax as _jax

import jaxapi.interpolate as _plain

from ..._missing import says_what_to_write as _says_what_to_write
from .. import spatial as _spatial
from .._array import unwrap as _unwrap
from .._wrap import wrap_result as _wrap_result

__all__ = list(_plain.__all__)


class _Interpolator:
    """What both classes do: hold jaxapi's interpolator, unwrap its arguments, wrap its results."""

    _of: type
    _interpolator: _typing.Any

    def __init__(self, *args, **kwargs):
        kwargs = {name: _unwrap(x) for name, x in kwargs.items()}
        self._interpolator = self._of(*map(_unwrap, args), **kwargs)

    def __call__(self, *args, **options):
        options = {name: _unwrap(x) for name, x in options.items()}
        return _wrap_result(self._interpolator(*map(_unwrap, args), **options))

    def tree_flatten(self):
        """Return jaxapi's interpolator."""
        return (self._interpolator,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        """Put an interpolator together again."""
        interpolator = object.__new__(cls)
        (interpolator._interpolator,) = children
        return interpolator


@_jax.tree_util.register_pytree_node_class
class RBFInterpolator(_Interpolator):
    """Interpolate scattered data by radial basis functions: results can be assigned to.

    Parameters, call and attributes are those of `jaxapi.interpolate.RBFInterpolator`. The interpolator keeps
    the data as they are now: a later write to them does not reach it.

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> line = xp.interpolate.RBFInterpolator([[0.0], [1.0]], [0.0, 3.0], kernel="linear")
    >>> line([[0.5]])
    jaxapi.mutable.Array([1.5], dtype=float64)
    """

    _of = _plain.RBFInterpolator
    __init__ = _functools.wraps(_of.__init__)(_Interpolator.__init__)


@_jax.tree_util.register_pytree_node_class
class NearestNDInterpolator(_Interpolator):
    """Interpolate scattered data by the value of the nearest point: results can be assigned to.

    Parameters, call and attributes are those of `jaxapi.interpolate.NearestNDInterpolator`. The interpolator
    keeps the data as they are now: a later write to them does not reach it.

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> xp.interpolate.NearestNDInterpolator([[0, 0], [3, 4]], [1.0, 2.0])([[1, 1]])
    jaxapi.mutable.Array([1.], dtype=float64)
    """

    _of = _plain.NearestNDInterpolator
    __init__ = _functools.wraps(_of.__init__)(_Interpolator.__init__)

    @property
    def tree(self):
        """The tree of the points, in the unit cube where they are rescaled."""
        return _spatial.KDTree.tree_unflatten(None, (self._interpolator.tree,))


def _wrap_property(name, doc):
    return property(lambda self: _wrap_result(getattr(self._interpolator, name)), doc=doc)


for _class in (RBFInterpolator, NearestNDInterpolator):
    for _name, _member in _inspect.getmembers(_class._of):
        if isinstance(_member, property) and not _name.startswith("_") and not hasattr(_class, _name):
            setattr(_class, _name, _wrap_property(_name, _member.__doc__))


def __dir__() -> list[str]:
    """Only the public names."""
    return sorted(__all__)


if not _typing.TYPE_CHECKING:  # for a type checker unknown names stay errors
    __getattr__ = _says_what_to_write(__name__)
