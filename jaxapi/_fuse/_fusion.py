"""A fused function: what is called, and what `jax.jit` traces."""

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Set
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import jax
import numpy as np

from .._x64 import has_64_bits, x64_as, x64_mode, x64_on
from ._arguments import IS_WIDE, Call, call_opened, prepare_call, signature_of
from ._errors import translate
from ._explain import Explanation, explain_traced
from ._integers import fit_integer, integer_promotions, is_weak_integer
from ._lost_assignments import lost_assignments, refuse_lost_assignments
from ._padding import Padding, cut, padded_leaves
from ._static import Static, argument_names

__all__ = ["Fusion"]

P = ParamSpec("P")
R = TypeVar("R")
Instance = TypeVar("Instance")
Arguments = ParamSpec("Arguments")

_NUMBERS: Set[Any] = frozenset([bool, float, complex, type(None)])
_NUMBERS_AND_ARRAYS: set[Any] = set(_NUMBERS)  # and the concrete classes of jax.Array that were seen
_HAS_DTYPE = {np.ndarray}  # and those classes, and NumPy's scalar types that were seen


def _has_dtype(value) -> bool:
    """Whether `jax.jit` reads it as it is; the answer is kept by type, since finding it takes 0.1 us."""
    if isinstance(value, jax.Array):
        _NUMBERS_AND_ARRAYS.add(type(value))
    elif not isinstance(value, np.generic) or type(value) is np.ulonglong:
        return False
    _HAS_DTYPE.add(type(value))
    return True


class _NeedsX64(Exception):
    """A 64-bit input came to a trace that would round the numbers combined with it to 32 bits."""


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
        *,
        pad: bool = False,
        static_argnums: int | Iterable[int] | None = None,
        static_argnames: str | Iterable[str] | None = None,
        donate_argnums: int | Iterable[int] | None = None,
        donate_argnames: str | Iterable[str] | None = None,
    ):
        if not isinstance(name, str | None):
            raise TypeError(f"kernel_name must be a string, got {type(name).__name__}")
        functools.update_wrapper(self, func)
        self.func = func
        self.name = name or str(getattr(func, "__name__", type(func).__name__))
        self._static = argument_names(func, "static", static_argnums, static_argnames)
        self._donated = argument_names(func, "donate", donate_argnums, donate_argnames)
        _check_options(pad, self._static, self._donated)
        self._padding = Padding() if pad else None
        self._is_plain = not (pad or any(self._static) or any(self._donated))
        self._jit: Any = self._new_jit(self._run)
        self._inner_jit: Any = jax.jit(_named(self.name, self._run_checked))
        self._promotions: dict = {}  # signature of a call -> how its Python ints are promoted
        self._fitting = (-(2**31), 2**31 - 1)  # Python ints between these fit every program so far
        self._lock = threading.Lock()
        # Types to pass on unseen; numbers only once 64-bit arrays came with x64 off.
        self._seen: Set[Any] = _NUMBERS_AND_ARRAYS

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function, compiling it first for new shapes, dtypes or static arguments."""
        if not self._is_plain:
            return self._call_anything(args, kwargs)
        try:
            seen, wide = self._seen, False
            low, high = fitting = self._fitting
            value: Any
            for value in (*args, *kwargs.values()) if kwargs else args:
                kind = type(value)
                if kind in seen or (kind is int and low <= value <= high):
                    continue
                if kind not in _HAS_DTYPE and not _has_dtype(value):
                    return self._call_anything(args, kwargs)
                is_wide = IS_WIDE.get(value.dtype)
                if is_wide is None:
                    return self._call_anything(args, kwargs)
                wide = wide or is_wide
            if wide and not x64_mode():
                with x64_on():
                    result = self._jit(*args, **kwargs)
            else:
                result = self._jit(*args, **kwargs) if kwargs else self._jit(*args)
            if self._fitting is fitting or self._all_fit(args, kwargs):  # else traced meanwhile: look again
                return result
            return self._call_anything(args, kwargs)
        except _NeedsX64:
            self._seen = _NUMBERS
            return Fusion.__call__(self, *args, **kwargs)

    def _all_fit(self, args, kwargs):
        low, high = self._fitting
        return all(type(x) is not int or low <= x <= high for x in (*args, *kwargs.values()))

    def _call_anything(self, args, kwargs):
        """Call with anything: convert what needs it, set the static apart, check each Python int."""
        call = self._prepare(args, kwargs)
        if self._padding:
            return self._call_padded(call, self._padding)
        return self._call_prepared(call)

    def _prepare(self, args, kwargs) -> Call:
        return prepare_call(self.func, args, kwargs, self._static, self._donated)

    def _call_prepared(self, call):
        with x64_as(call.x64):
            args, kwargs = call.arguments(self._fit(call))
            return self._jit(*args, **kwargs)

    def _call_padded(self, call, padding: Padding):
        """Call with the rows of the arrays padded to the next power of two, where that pays."""
        lengths = padding.lengths(call)
        if not lengths:
            return self._call_prepared(call)
        with x64_as(call.x64):
            trace = functools.partial(self._trace, call)
            rows, padded, result_rows = padding.plan(self.name, call, lengths, trace)
            leaves = padded_leaves(call.leaves, padded, rows)
            return cut(self._call_prepared(call.replace(leaves)), result_rows, rows)

    def _trace(self, call, leaves):
        """Trace anew, with what stands for the call's traced inputs."""
        args, kwargs = call.arguments(leaves)
        return self._new_jit(self._run).trace(*args, **kwargs)

    def _new_jit(self, body):
        positions, names = self._donated
        return jax.jit(
            _named(self.name, body),
            donate_argnums=sorted(positions) or None,
            donate_argnames=sorted(names) or None,
        )

    def _fit(self, call):
        """Return the traced inputs, with every Python int checked against the dtypes it is promoted to."""
        if int not in map(type, call.leaves):
            return call.leaves
        promotions = self._integer_promotions(call)
        return [
            fit_integer(leaf, promotion) if type(leaf) is int and promotion else leaf
            for leaf, promotion in zip(call.leaves, promotions, strict=True)
        ]

    def _integer_promotions(self, call):
        """For each leaf that is a Python int its promotion, else None; traced once for a signature."""
        signature = (call.x64, call.treedef, *map(signature_of, call.leaves))
        promotions = self._promotions.get(signature)
        if promotions is None:
            args, kwargs = call.arguments([0 if type(x) is int else x for x in call.leaves])
            promotions = integer_promotions(self._jit.trace(*args, **kwargs), len(call.leaves))
            self._promotions[signature] = promotions
        return promotions

    # What JAX traces

    def _run(self, *args, **kwargs):
        leaves = jax.tree.leaves((args, kwargs))
        if not x64_mode() and any(map(has_64_bits, leaves)):
            raise _NeedsX64
        if any(map(is_weak_integer, leaves)):
            self._narrow_fitting(integer_promotions(self._inner_jit.trace(*args, **kwargs), len(leaves)))
            return self._inner_jit(*args, **kwargs)
        return self._run_checked(*args, **kwargs)

    def _narrow_fitting(self, promotions):
        """Remember which ints fit every program; this comes before any thread can call the new one."""
        promotions = [p for p in promotions if p]
        with self._lock:
            low, high = self._fitting
            self._fitting = max(low, *(p.low for p in promotions)), min(high, *(p.high for p in promotions))

    def _run_checked(self, *args, **kwargs):
        result = call_opened(self.name, self._call_func, args, kwargs)
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

    def _call_func(self, *args, **kwargs):
        refuse_lost_assignments(self.name, self.func, self._lost_assignments, args, kwargs)
        return self._call_translating(args, kwargs)

    def _call_translating(self, args, kwargs):
        """Call the function; what it raises over tracers is said in its author's terms."""
        try:
            return self.func(*args, **kwargs)
        except Exception as error:
            answer = translate(error, self.name)
            if answer is None:
                raise
            raise answer from error

    @functools.cached_property
    def _lost_assignments(self):
        return lost_assignments(self.func)

    # What else one does with a function

    def explain(self, /, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Tell what XLA makes of the function for these arguments; it is compiled anew and not run.

        Returns
        -------
        Explanation
            Kernels, bytes moved and the least possible, operations and compile time, as fields and, printed,
            as a table.

        Examples
        --------
        >>> import jaxapi as xp
        >>> norm = xp.fuse(lambda x, y: xp.sum(xp.sqrt(x * x + y * y)), kernel_name="norm")
        >>> explanation = norm.explain(xp.ones(1000), xp.ones(1000))
        >>> explanation.name, explanation.bytes_least
        ('norm', 8004)
        """
        call = self._prepare(args, kwargs)
        with x64_as(call.x64):
            return explain_traced(self.name, self._trace(call, self._fit(call)))

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
        call = self._prepare(args, kwargs)
        with x64_as(call.x64):
            all_args, all_kwargs = call.arguments(self._fit(call))
            taken = [i for i, arg in enumerate(all_args) if not isinstance(arg, Static)]
            static = {name: arg for name, arg in all_kwargs.items() if isinstance(arg, Static)}

            def body(*args, **kwargs):
                given = dict(zip(taken, args, strict=True))
                return self._run(*(given.get(i, arg) for i, arg in enumerate(all_args)), **static, **kwargs)

            donated = [taken.index(i) for i in self._donated.positions if i in taken]
            lowering = jax.jit(
                _named(self.name, body),
                donate_argnums=donated or None,
                donate_argnames=sorted(self._donated.names) or None,
            )
            taken_kwargs = {name: arg for name, arg in all_kwargs.items() if name not in static}
            return lowering.lower(*(all_args[i] for i in taken), **taken_kwargs)

    def clear_cache(self) -> None:
        """Forget every compiled version, as cupy.fuse's ``clear_cache``."""
        self._jit.clear_cache()
        self._inner_jit.clear_cache()
        self._promotions.clear()
        if self._padding:
            self._padding.clear()

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(
        self: "Fusion[Concatenate[Instance, Arguments], R]", instance: Instance, owner: Any = None
    ) -> "BoundFusion[Arguments, R]": ...

    def __get__(self, instance, owner=None):
        return self if instance is None else BoundFusion(self, instance)

    def __reduce__(self):
        found = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__
        options: dict[str, Any] = {
            "pad": self._padding is not None,
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

    The object is followed through its attributes, those of its class, nested objects and containers. Arrays,
    floats and complex numbers there are inputs of the compiled function: a changed value is seen and does not
    compile again. Anything else that changes is seen and compiles again. Assigning ``self.attribute`` inside
    the method is a TypeError.
    """

    __slots__ = ("__dict__", "__func__", "__self__", "__weakref__")

    def __init__(self, fusion: Fusion, instance: Any):
        functools.update_wrapper(self, fusion)
        self.__func__ = fusion
        self.__self__ = instance

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled method."""
        return self.__func__(self.__self__, *args, **kwargs)

    def explain(self, /, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Tell what XLA makes of the method for this object and these arguments."""
        return self.__func__.explain(self.__self__, *args, **kwargs)

    def lower(self, /, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Lowered:
        """Lower the method for this object and these arguments; the compiled form takes no object."""
        return self.__func__.lower(self.__self__, *args, **kwargs)

    def __reduce__(self):
        return BoundFusion, (self.__func__, self.__self__)

    def __repr__(self) -> str:
        return f"<bound Fusion {self.__func__.name!r} of {self.__self__!r}>"


def _check_options(pad, static, donated):
    both = sorted(map(str, (static.positions & donated.positions) | (static.names & donated.names)))
    if both:
        raise ValueError(f"arguments {', '.join(both)} cannot be both static and donated")
    if pad and any(donated):
        raise ValueError("pad=True copies arrays, so nothing can be donated: leave one of the two out")


def _named(name, body):
    @functools.wraps(body)
    def named(*args, **kwargs):
        return body(*args, **kwargs)

    named.__name__ = named.__qualname__ = name
    return named
