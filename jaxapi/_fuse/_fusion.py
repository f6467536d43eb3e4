"""A fused function: what is called, and what `jax.jit` traces."""

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypedDict, TypeVar, Unpack, overload

import jax
import numpy as np

from .._core._dtypes import x64_mode, x64_on
from .._core._exact import exact_statements
from .._core._programs import ARRAY_TYPES
from ._call_arguments import FUNCTION, Call, prepare_call
from ._errors import translate
from ._explain import Explanation, explain_compiled
from ._inputs import IS_WIDE, NUMPY_TYPES, signature_of
from ._integers import fit_integer, fits_any_dtype, integer_promotions
from ._objects import Flattened, check_not_assigned, restore
from ._static import ArgumentNames, Static, argument_names

__all__ = ["Fusion", "Options"]

P = ParamSpec("P")
R = TypeVar("R")
Instance = TypeVar("Instance")
Arguments = ParamSpec("Arguments")

_NOT_COMPILED = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
_NUMBERS = frozenset([bool, float, complex, type(None)])
_MOST_SIGNATURES = 1000  # whose promotions of Python ints are kept


class Options(TypedDict, total=False):
    """What `fuse` takes by keyword alone."""

    static_argnums: int | Iterable[int] | None
    static_argnames: str | Iterable[str] | None
    donate_argnums: int | Iterable[int] | None
    donate_argnames: str | Iterable[str] | None


class Fusion(Generic[P, R]):
    """A function compiled by `fuse`: call it like the function.

    Attributes
    ----------
    func : callable
        The function as it was written, also ``__wrapped__``.
    name : str
        The name of the compiled module, which a profile shows as ``jit_<name>``.
    """

    __qualname__: str  # of the function

    def __init__(
        self,
        func: Callable[P, R],
        name: str | None = None,
        **options: Unpack[Options],
    ):
        if any(is_of(func) for is_of in _NOT_COMPILED):
            raise TypeError(
                "fuse takes a function that returns arrays, got a generator or coroutine function"
            )
        if not isinstance(name, str | None):
            raise TypeError(f"kernel_name must be a string, got {type(name).__name__}")
        functools.update_wrapper(self, func)
        self.func = func
        self.name = name or str(getattr(func, "__name__", type(func).__name__))
        self._static = argument_names(
            func, "static", options.pop("static_argnums", None), options.pop("static_argnames", None)
        )
        self._donated = argument_names(
            func, "donate", options.pop("donate_argnums", None), options.pop("donate_argnames", None)
        )
        if options:
            raise TypeError(f"fuse() got an unexpected keyword argument {min(options)!r}")
        _check_not_both(self._static, self._donated)
        # whether arrays and numbers can be handed to `jax.jit` as they are
        self._takes_plain_arguments = (
            isinstance(func, types.FunctionType) and not any(self._static) and not any(self._donated)
        )
        self._jit: Any = self._new_jit(exact_statements(self._run))
        self._promotions: dict[Any, Any] = {}  # signature of a call -> how its Python ints are promoted

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function, compiling it first for new shapes, dtypes or static arguments."""
        if not self._takes_plain_arguments:
            return self._call(self._prepare(args, kwargs))
        is_wide = False
        all_ints_fit = True
        value: Any
        for value in (*args, *kwargs.values()) if kwargs else args:
            cls = type(value)
            if cls in _NUMBERS:
                continue
            if cls is int:
                all_ints_fit = all_ints_fit and fits_any_dtype(value)
                continue
            value_is_wide = IS_WIDE.get(value.dtype) if cls in ARRAY_TYPES or cls in NUMPY_TYPES else None
            if value_is_wide is None:
                return self._call(self._prepare(args, kwargs))
            is_wide = is_wide or value_is_wide
        if not all_ints_fit:
            return self._call(Call(args, kwargs, [*args, *kwargs.values()], is_wide))
        if is_wide and not x64_mode():
            with x64_on():
                return self._jit(*args, **kwargs)
        if kwargs:
            return self._jit(*args, **kwargs)
        return self._jit(*args)

    def _prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return prepare_call(self.func, args, kwargs, self._static, self._donated)

    def _call(self, call: Call) -> Any:
        if call.is_wide and not x64_mode():
            with x64_on():
                return self._call_compiled(call)
        return self._call_compiled(call)

    def _call_compiled(self, call: Call) -> Any:
        args, kwargs = self._fitted(call)
        return self._jit(*args, **kwargs)

    def _new_jit(self, body: Callable[..., Any], donated: Any = None) -> Any:
        """Return ``body`` under `jax.jit`, with the function's name."""

        @functools.wraps(body)
        def named(*args: Any, **kwargs: Any) -> Any:
            return body(*args, **kwargs)

        named.__name__ = named.__qualname__ = self.name
        positions, names = donated or self._donated
        return jax.jit(named, donate_argnums=sorted(positions), donate_argnames=sorted(names))

    def _fitted(self, call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments, with every Python int checked against the dtypes it is promoted to."""
        if int not in map(type, call.inputs):
            return call.args, call.kwargs
        if all(fits_any_dtype(value) for value in call.inputs if type(value) is int):
            return call.args, call.kwargs
        leaves, treedef = jax.tree.flatten((call.args, call.kwargs))
        signature = (x64_mode(), treedef, *map(signature_of, leaves))
        promotions = self._promotions.get(signature)
        if promotions is None:
            args, kwargs = jax.tree.unflatten(treedef, [0 if type(x) is int else x for x in leaves])
            promotions = integer_promotions(self._jit.trace(*args, **kwargs), len(leaves))
            if len(self._promotions) >= _MOST_SIGNATURES:
                self._promotions.clear()
            self._promotions[signature] = promotions
        return jax.tree.unflatten(treedef, map(fit_integer, leaves, promotions))

    # What JAX traces

    def _run(self, /, *args: Any, **kwargs: Any) -> Any:
        copies: list[Any] = []
        args, kwargs = restore((args, kwargs), copies)
        result = self._call_func(*args, **kwargs)
        check_not_assigned(self.name, copies)
        if result is None:
            raise TypeError(
                f"fused function {self.name!r} returned no array: jax arrays are immutable, so it cannot "
                "have changed its arguments; return the new value"
            )
        for leaf in jax.tree.leaves(result):
            if not isinstance(leaf, (jax.Array, np.ndarray, np.generic, int, float, complex)):
                raise TypeError(
                    f"fused function {self.name!r} returned {type(leaf).__name__}: return arrays, numbers, "
                    "None, or tuples, lists, dicts and other pytrees of these"
                )
        return result

    def _call_func(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function with arrays of its kind: `mutable` gives it those that can be assigned to."""
        return self._call_translating(args, kwargs)

    def _call_translating(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function; what it raises over tracers is said in its author's terms."""
        func = kwargs.pop(FUNCTION, self.func)
        try:
            return func(*args, **kwargs)
        except Exception as error:
            answer = translate(error, self.name)
            if answer is None:
                raise
            raise answer from error

    # What else one does with a function

    def explain(self, /, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Tell what XLA makes of the function for these arguments; it is compiled and not run.

        Returns
        -------
        Explanation
            The kernels, and the bytes moved and operations of ``compiled.cost_analysis()``, as fields and,
            printed, as a table.

        Examples
        --------
        >>> import jaxapi as xp
        >>> norm = xp.fuse(lambda x, y: xp.sum(xp.sqrt(x * x + y * y)), kernel_name="norm")
        >>> explanation = norm.explain(xp.ones(1000), xp.ones(1000))
        >>> explanation.kernels < 4  # where `jax.numpy` would run one for each operation
        True
        """
        call = self._prepare(args, kwargs)
        with _x64(call):
            all_args, all_kwargs = self._fitted(call)
            return explain_compiled(self.name, self._jit.lower(*all_args, **all_kwargs).compile())

    def lower(self, /, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Lowered:
        """Lower the function for these arguments, as ``jax.jit(f).lower`` does.

        Arguments may be `jax.ShapeDtypeStruct`. As in JAX the compiled form takes arrays of exactly these
        shapes and dtypes, and no static arguments; nothing is converted or checked there.

        Returns
        -------
        jax.stages.Lowered
            With ``as_text()``, ``compile()`` and ``cost_analysis()``.

        Examples
        --------
        >>> import jax, jaxapi as xp
        >>> double = xp.fuse(lambda x, axis: 2 * xp.sum(x, axis=axis), static_argnames="axis")
        >>> compiled = double.lower(jax.ShapeDtypeStruct((2, 3), xp.float32), 0).compile()
        >>> print(compiled(xp.ones((2, 3), dtype=xp.float32)))
        [4. 4. 4.]
        """
        with _x64(self._prepare(args, kwargs)):
            return self.trace(*args, **kwargs).lower()

    def trace(self, /, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Traced:
        """Trace the function for these arguments, as ``jax.jit(f).trace`` does; `jax.export` calls it.

        Arguments are those of `lower`. The compiled form takes no static arguments and no object of a method:
        it is made for the values that these have now.

        Returns
        -------
        jax.stages.Traced
            With ``jaxpr`` and ``lower()``.

        Examples
        --------
        >>> import jax, jaxapi as xp
        >>> double = xp.fuse(lambda x: 2 * x)
        >>> exported = jax.export.export(double)(jax.ShapeDtypeStruct((3,), xp.float32))
        >>> print(exported.call(xp.ones(3, dtype=xp.float32)))
        [2. 2. 2.]
        """
        call = self._prepare(args, kwargs)
        with _x64(call):
            all_args, all_kwargs = self._fitted(call)
            # The compiled form takes the other arguments; those without leaves, and objects, are bound.
            positions = [i for i, arg in enumerate(all_args) if not _is_bound(arg)]
            kwargs_taken = {name: arg for name, arg in all_kwargs.items() if not _is_bound(arg)}
            kwargs_bound = {name: arg for name, arg in all_kwargs.items() if _is_bound(arg)}

            def body(*args: Any, **kwargs: Any) -> Any:
                every_arg = list(all_args)
                for position, arg in zip(positions, args, strict=True):
                    every_arg[position] = arg
                return self._jit(*every_arg, **kwargs_bound, **kwargs)

            donated = [positions.index(i) for i in self._donated.positions if i in positions]
            jitted = self._new_jit(body, (donated, self._donated.names))
            args_taken = [all_args[i] for i in positions]
            return jitted.trace(*args_taken, **kwargs_taken)

    def clear_cache(self) -> None:
        """Forget every compiled version, as cupy.fuse's ``clear_cache``."""
        self._jit.clear_cache()
        self._promotions.clear()

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(
        self: "Fusion[Concatenate[Instance, Arguments], R]", instance: Instance, owner: Any = None
    ) -> "BoundFusion[Arguments, R]": ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        binds = hasattr(type(self.func), "__get__")
        if instance is None or not binds or isinstance(self.func, (staticmethod, types.MethodType)):
            return self  # as Python's own rules are
        return BoundFusion(self, instance)

    def __reduce__(self) -> Any:
        of_that_name: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            of_that_name = getattr(of_that_name, part, None)
        if of_that_name is self:
            return self.__qualname__
        options: Options = {
            "static_argnums": tuple(self._static.positions),
            "static_argnames": tuple(self._static.names),
            "donate_argnums": tuple(self._donated.positions),
            "donate_argnames": tuple(self._donated.names),
        }
        return functools.partial(type(self), **options), (self.func, self.name)

    def __repr__(self) -> str:
        return f"<Fusion {self.name!r}>"


class BoundFusion(Generic[P, R]):
    """A fused method together with its object.

    The object is read at each call, as `fuse` says. Assigning ``self.attribute`` inside the method is a
    TypeError.
    """

    __slots__ = ("__func__", "__self__", "__weakref__")

    def __init__(self, fusion: Fusion[Any, Any], instance: Any):
        self.__func__ = fusion
        self.__self__ = instance

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__func__, name)  # as a method of Python has its function's attributes

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled method."""
        return self.__func__(self.__self__, *args, **kwargs)

    def explain(self, /, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Tell what XLA makes of the method for this object and these arguments."""
        return self.__func__.explain(self.__self__, *args, **kwargs)

    def lower(self, /, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Lowered:
        """Lower the method for this object and these arguments; the compiled form takes no object."""
        return self.__func__.lower(self.__self__, *args, **kwargs)

    def trace(self, /, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Traced:
        """Trace the method for this object and these arguments; the compiled form takes no object."""
        return self.__func__.trace(self.__self__, *args, **kwargs)

    def __reduce__(self) -> Any:
        return BoundFusion, (self.__func__, self.__self__)

    def __repr__(self) -> str:
        return f"<bound Fusion {self.__func__.name!r} of {self.__self__!r}>"


def _is_bound(arg: Any) -> bool:
    return isinstance(arg, (Static, Flattened))


def _check_not_both(static: ArgumentNames, donated: ArgumentNames) -> None:
    both = sorted(map(str, (static.positions & donated.positions) | (static.names & donated.names)))
    if both:
        raise ValueError(f"arguments {', '.join(both)} cannot be both static and donated")


def _x64(call: Call) -> AbstractContextManager[Any]:
    """Return a context in which the 64 bits of a call's inputs live."""
    return x64_on() if call.is_wide and not x64_mode() else contextlib.nullcontext()
