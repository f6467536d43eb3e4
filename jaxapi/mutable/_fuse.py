"""`fuse` for functions that change their arguments."""

import contextlib
import functools
import inspect

import jax
import numpy as np

import jaxapi

from ._array import Array, unwrap, wrap

__all__ = ["Fusion", "fuse"]

_ALIASES = "_aliases"  # a keyword argument that tells which arguments are one array


class Fusion:
    """A function compiled by `fuse`: call it like the function.

    Attributes
    ----------
    func : callable
        The function as it was written, also ``__wrapped__``.
    name : str
        The name of the compiled module.
    """

    def __init__(self, func, kernel_name=None, **options):
        functools.update_wrapper(self, func)
        self.func = func
        self._options = (kernel_name, options)
        self._fusion = jaxapi.fuse(_body(func), kernel_name, **options)
        self.name = self._fusion.name

    def __call__(self, /, *args, **kwargs):
        """Run the compiled function, and change the arguments that it changes."""
        given, aliases = _arrays_given(args, kwargs), _aliases(args, kwargs)
        if aliases:  # a string is static: other aliases are another program
            kwargs[_ALIASES] = " ".join(f"{place}={first}" for place, first in aliases.items())
            given = {place: group for place, group in given.items() if place not in aliases}
        before = [
            (array, array._shared) for arrays in given.values() for array in arrays if type(array) is Array
        ]
        result, written = self._fusion(*map(_outside, args), **{k: _outside(x) for k, x in kwargs.items()})
        for array, was_shared in before:  # jit shares no memory
            array._shared = was_shared
        if written:
            _hand_over(written, given, self.name)
        return jax.tree.map(wrap, result)

    def explain(self, /, *args, **kwargs):
        """Tell what XLA makes of the function for these arguments, as `jaxapi.fuse` does."""
        return self._fusion.explain(*map(_outside, args), **{k: _outside(x) for k, x in kwargs.items()})

    def clear_cache(self) -> None:
        """Forget every compiled version."""
        self._fusion.clear_cache()

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<Fusion {self.name!r}>"


def _body(func):
    """Return what jaxapi compiles: from values to the result's values and those of changed arguments."""

    @functools.wraps(func)
    def body(*args, **kwargs):
        aliases = dict(pair.split("=") for pair in kwargs.pop(_ALIASES, "").split())
        inside = {str(place): _inside(x) for place, x in [*enumerate(args), *kwargs.items()]}
        inside |= {place: inside[first] for place, first in aliases.items()}
        args, kwargs = [inside[str(i)] for i in range(len(args))], {name: inside[name] for name in kwargs}
        arrays = _arrays_given(args, kwargs)
        before = {place: [array._value for array in group] for place, group in arrays.items()}
        result = func(*args, **kwargs)
        written = {
            f"{place} {i}": array._value
            for place, group in arrays.items()
            for i, array in enumerate(group)
            if place not in aliases and array._value is not before[place][i]
        }
        return jax.tree.map(unwrap, result, is_leaf=_is_array), written

    del body.__wrapped__
    with contextlib.suppress(TypeError, ValueError):  # a builtin may have none
        body.__signature__ = inspect.signature(func)  # which static_argnames are positions follows from it
    return body


def _outside(x):
    """Return what jaxapi's fusion is given; arrays in containers stay what they are."""
    return x._value if type(x) is Array else x


def _inside(x):
    """Return what the function sees of an argument: arrays can be assigned to, numbers stay numbers."""
    return wrap(x) if isinstance(x, jax.Array) and not x.weak_type else x


def _is_array(x) -> bool:
    return type(x) is Array


def _arrays_given(args, kwargs) -> dict[str, list]:
    """Return the arrays among the arguments, and in their containers, by the argument's place."""
    found = {}
    for place, x in [*enumerate(args), *kwargs.items()]:
        if type(x) is Array or isinstance(x, np.ndarray):
            found[str(place)] = [x]
        elif isinstance(x, (tuple, list, dict)):
            found[str(place)] = [leaf for leaf in jax.tree.leaves(x, is_leaf=_is_array) if _is_array(leaf)]
    return found


def _aliases(args, kwargs) -> dict[str, str]:
    """Return the places of arrays that were passed before, and where that was."""
    first: dict[int, str] = {}
    arrays = [(str(place), x) for place, x in [*enumerate(args), *kwargs.items()] if type(x) is Array]
    return {place: at for place, x in arrays if (at := first.setdefault(id(x), place)) != place}


def _hand_over(written, given, name) -> None:
    """Change the caller's arguments."""
    arrays = [id(array) for group in given.values() for array in group]
    for place, value in written.items():
        argument, i = place.rsplit(" ", 1)
        group = given.get(argument)
        if not group:
            raise TypeError(
                f"fused function {name!r} changes its argument {argument}, which cannot be changed: pass a "
                "jaxapi.mutable.Array"
            )
        target = group[int(i)]
        if arrays.count(id(target)) > 1:
            raise ValueError(
                f"fused function {name!r} changes an array in its argument {argument} that was passed "
                "twice: pass a copy"
            )
        if type(target) is Array:
            target._rewrite(lambda old, new, donate: new, value)
        else:
            np.copyto(target, value)


def fuse(func=None, /, kernel_name=None, **options):
    """Compile a function into few kernels, as cupy.fuse does: `jaxapi.fuse`, and arguments may be changed.

    ``x += y`` and ``x[key] = y`` on an argument change the caller's array, as in CuPy.

    Parameters
    ----------
    func : callable
        The function to compile. A call takes what a function of `jaxapi.fuse` takes; arrays are
        `jaxapi.mutable.Array` inside.
    kernel_name : str, optional
        Name of the compiled module.
    **options
        As for `jaxapi.fuse`.

    Returns
    -------
    Fusion
        Called like ``func``; has ``func``, ``name``, ``explain(*args)`` and ``clear_cache()``. A function
        that returns nothing returns None.

    Raises
    ------
    TypeError
        If an argument that is changed is a `jax.Array`, which cannot be; and whatever `jaxapi.fuse` raises.
    ValueError
        If an array in a container is changed and was passed twice.

    References
    ----------
    .. [1] cupy.fuse, https://docs.cupy.dev/en/stable/reference/generated/cupy.fuse.html

    Examples
    --------
    >>> import jaxapi.mutable as xp
    >>> @xp.fuse
    ... def add_scaled(y, a, x):
    ...     y += a * x
    >>> y = xp.ones(3)
    >>> add_scaled(y, 2.0, xp.ones(3))
    >>> print(y)
    [3. 3. 3.]
    """
    if isinstance(func, str):
        func, kernel_name = None, func
    if func is None:
        return lambda f: Fusion(f, kernel_name, **options)
    if not callable(func):
        raise TypeError(f"fuse takes a function, got {type(func).__name__}")
    return Fusion(func, kernel_name, **options)
