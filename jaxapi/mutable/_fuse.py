"""`fuse` for functions that change their arguments."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, Unpack, overload

import jax
import numpy as np

from .._core._dtypes import x64_mode
from .._fuse._fuse import fused
from .._fuse._fusion import Fusion as _Fusion
from .._fuse._fusion import Options
from .._fuse._inputs import signature_of
from .._fuse._objects import belongs_to_method, fields_of
from .._fuse._static import Static
from ._array import MUTABLE, Array, unwrap, view_of, wrap
from ._capacity._fused import arguments_with_room, program_of_rows, write_content
from ._capacity._programs import Program, array_of
from ._host_way import is_by_jax
from ._storage import duplicate

__all__ = ["Fusion", "fuse"]

P = ParamSpec("P")
R = TypeVar("R")

_KINDS = "_kinds"  # a keyword argument: which arguments are parts of one array, and which NumPy's scalars


class Fusion(_Fusion[P, R]):
    """A function compiled by `fuse`: call it like the function.

    As what `jaxapi.fuse` makes, with ``explain``, ``lower`` and ``clear_cache``, methods and pickle; what is
    compiled returns the result and the new values of the arguments that the function changes.

    Attributes
    ----------
    func : callable
        The function as it was written, also ``__wrapped__``.
    name : str
        The name of the compiled module.
    """

    _module = MUTABLE  # the namespace of arrays inside, and of what is returned

    def __init__(self, func: Callable[P, R], name: str | None = None, **options: Unpack[Options]):
        super().__init__(func, name, **options)
        self._programs_of_rows: dict[Any, Program | None] = {}  # by the signatures of calls

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function, and change the arguments that it changes."""
        if self._takes_plain_arguments and is_by_jax():
            made = self._call_on_rows(args, kwargs)
            if made is not NotImplemented:
                return made
        return self._call_exactly(args, kwargs)

    def _call_exactly(self, args, kwargs):
        given, named, arrays = _outside(self.func, args, kwargs, self._donated)
        call: Any = super().__call__  # which returns what _call_func does
        before = [(x, x._shared) for group in arrays.values() for x in group if isinstance(x, Array)]
        result, written = call(*given, **named)
        if written and _is_shared(written, arrays):
            return self.func(*args, **kwargs)  # statement by statement, as what one writes another reads
        for array, was_shared in before:  # jit shares no memory
            array._shared = was_shared
        if written:
            _hand_over(written, arrays, self.name)
        return jax.tree.map(lambda value: wrap(value, self._module, not value.ndim), result)

    def _call_on_rows(self, args, kwargs):
        """Return what the function makes of arrays with room; NotImplemented where it needs exact ones."""
        arguments = arguments_with_room(args, kwargs)
        if arguments is None:
            return NotImplemented
        given, named, _ = _outside(self.func, *arguments.in_order())
        numbers = tuple(arguments.numbers.items())
        signature = (x64_mode(), numbers, *map(signature_of, arguments.values.values()), *named)
        if signature not in self._programs_of_rows:
            self._programs_of_rows[signature] = program_of_rows(self._jit, self.name, given, named, arguments)
        program = self._programs_of_rows[signature]
        if program is None:
            return NotImplemented
        contents = program(arguments.counts, jax.tree.leaves((given, named)))
        result, written = program.structure.unflatten(contents)  # what _call_func returns
        for place, content in written.items():
            argument, _ = place.rsplit(" ", 1)
            target = arguments.arrays.get(argument)
            if target is None:
                _refuse_to_change(argument, self.name)
            write_content(target, content)
        return jax.tree.map(self._wrap_content, result)

    def _wrap_content(self, content):
        return array_of(content, self._module, is_scalar=not getattr(content, "ndim", 1))

    def clear_cache(self) -> None:
        """Forget every compiled version, as cupy.fuse's ``clear_cache``."""
        super().clear_cache()
        self._programs_of_rows.clear()

    def explain(self, /, *args, **kwargs):
        """Tell what XLA makes of the function for these arguments, as `jaxapi.fuse` does."""
        args, kwargs, _ = _outside(self.func, args, kwargs)
        return super().explain(*args, **kwargs)

    def lower(self, /, *args, **kwargs):
        """Lower the function for these arguments, as ``jax.jit(f).lower`` does.

        The compiled form takes and returns values and changes nothing: it returns the pair of the result and
        a dict of the new values of the arguments that the function changes.
        """
        args, kwargs, _ = _outside(self.func, args, kwargs)
        return super().lower(*args, **kwargs)

    def _call_func(self, *args, **kwargs):
        args, kwargs, arrays = _inside(self.func, args, kwargs, self._module)
        before = [(f"{place} {i}", x, x._value) for place, xs in arrays.items() for i, x in enumerate(xs)]
        result = jax.tree.map(unwrap, self._call_translating(args, kwargs), is_leaf=_is_array)
        written = {place: x._value for place, x, old in before if x._value is not old}
        for _, x, old in before:
            x._value = old  # else a method is refused whose object has changed
        return result, written


def _outside(func, args, kwargs, donated=((), ())) -> tuple[tuple, dict, dict[str, list]]:
    """Return the arguments as jaxapi's fusion takes them, and the arrays that the function may change.

    Arrays that are parts of one array are passed as that one, at the first of their places. Of those that
    are donated, what others hold is copied.
    """
    arguments = _by_place(args, kwargs)
    donated = {str(place) for places in donated for place in places}
    arrays = _arrays_in(func, arguments)
    places: dict[int, list[str]] = {}
    for place, x in arguments.items():
        view = x._view if isinstance(x, Array) else None
        if isinstance(x, Array) and (not view or (view.part is not None and view.owner is x._owner)):
            places.setdefault(id(x._owner), []).append(place)
    views = []
    for first, *others in places.values():
        if not others:
            continue
        owner = arguments[first]._owner
        for place in (first, *others):
            x = arguments[place]
            views.append((place, first, x._view.part if x._view else None))
            arguments[place] = None
            del arrays[place]
        arguments[first] = owner
        arrays[first] = [owner]
    parted = {first for _, first, _ in views}
    for place, x in arguments.items():
        if place in donated:
            arguments[place] = duplicate(x._value) if place in parted else _spent(x)
        elif isinstance(x, Array):
            arguments[place] = x._value
    scalars = tuple(place for place, x in arguments.items() if isinstance(x, np.generic))
    args, kwargs = _in_order(arguments, len(args))
    if views or scalars:
        kwargs[_KINDS] = Static((tuple(views), scalars))  # other overlaps are another program
    return args, kwargs, arrays


def _inside(func, args, kwargs, module) -> tuple[tuple, dict, dict[str, list]]:
    """Return what the function sees of its arguments, and the arrays in them: `_outside`'s other end."""
    views, scalars = kwargs.pop(_KINDS, ((), ()))
    # arrays can be assigned to, numbers stay numbers
    arguments = {
        place: wrap(x, module) if isinstance(x, jax.Array) and not x.weak_type and place not in scalars else x
        for place, x in _by_place(args, kwargs).items()
    }
    owners = {first: arguments[first] for _, first, _ in views}
    for place, first, selection in views:
        owner = owners[first]
        arguments[place] = owner if selection is None else view_of(owner, selection)
    apart = {place: x for place, x in arguments.items() if place not in {view[0] for view in views}}
    return *_in_order(arguments, len(args)), _arrays_in(func, {**apart, **owners})


def _by_place(args, kwargs) -> dict:
    return {str(place): x for place, x in [*enumerate(args), *kwargs.items()]}


def _in_order(arguments, count) -> tuple[tuple, dict]:
    args = tuple(arguments[str(i)] for i in range(count))
    return args, {name: x for i, (name, x) in enumerate(arguments.items()) if i >= count}


def _arrays_in(func, arguments) -> dict[str, list]:
    """Return the arrays among the arguments, in their containers and in a method's object, by place."""
    found = {}
    for place, x in arguments.items():
        if isinstance(x, (Array, np.ndarray)):
            found[place] = [x]
        elif isinstance(x, (tuple, list, dict)):
            found[place] = _arrays(x)
        elif place == "0" and belongs_to_method(func, x):
            found |= {f"{place}.{name}": _arrays(attribute) for name, attribute in fields_of(x).items()}
    return found


def _spent(tree):
    """Return an argument, or a container of them, for who may delete what nobody else holds."""
    if isinstance(tree, Array):
        return tree._spent()
    return jax.tree.map(lambda x: wrap(x._spent(), x._module) if _is_array(x) else x, tree, is_leaf=_is_array)


def _arrays(tree) -> list:
    return [leaf for leaf in jax.tree.leaves(tree, is_leaf=_is_array) if _is_array(leaf)]


def _is_array(x) -> bool:
    return isinstance(x, Array)


def _is_shared(written, arrays) -> bool:
    """Whether memory of the host that is to change is that of another argument, too."""
    hosts = {
        f"{name} {i}": x._host for name, group in arrays.items() for i, x in enumerate(group) if _is_array(x)
    }
    hosts = {place: host for place, host in hosts.items() if host is not None}
    return any(
        place != other and host is not hosts[other] and np.shares_memory(host, hosts[other])
        for place, host in hosts.items()
        if place in written
        for other in hosts
    )


def _hand_over(written, arrays, name) -> None:
    """Change the caller's arguments."""
    owners = [id(x._owner if isinstance(x, Array) else x) for group in arrays.values() for x in group]
    for place, value in written.items():
        argument, i = place.rsplit(" ", 1)
        group = arrays.get(argument)
        if not group:
            _refuse_to_change(argument, name)
        target = group[int(i)]
        if not isinstance(target, Array):
            np.copyto(target, value)
            continue
        if owners.count(id(target._owner)) > 1:
            raise ValueError(
                f"fused function {name!r} changes an array in its argument {argument} that was passed "
                "twice: pass a copy"
            )
        target._rewrite(lambda old, new, donate: new, value)


def _refuse_to_change(argument, name) -> None:
    raise TypeError(
        f"fused function {name!r} changes its argument {argument}, which cannot be changed: pass a "
        "jaxapi.mutable.Array"
    )


@overload
def fuse(func: Callable[P, R], /, kernel_name: str | None = None, **options: Any) -> Fusion[P, R]: ...


@overload
def fuse(
    func: str | None = None, /, kernel_name: str | None = None, **options: Any
) -> Callable[[Callable[P, R]], Fusion[P, R]]: ...


def fuse(func: Any = None, /, kernel_name: str | None = None, **options: Any) -> Any:
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
        Called like ``func``; has ``func``, ``name``, ``explain(*args)``, ``lower(*args)`` and
        ``clear_cache()``. A function that returns nothing returns None.

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
    return fused(Fusion, func, kernel_name, options)
