"""`fuse`: cupy.fuse's forms on `jax.jit`."""

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

import jax
import numpy as np

from .._x64 import has_64_bits
from ._arguments import IS_WIDE, prepare_call, signature_of
from ._errors import translate
from ._explain import Explanation, explain_traced
from ._integers import fit_integer, is_weak_integer, meetings_of_integers
from ._lost_assignments import lost_assignments, refuse_lost_assignments
from ._methods import attributes, refuse_assigned_attributes
from ._padding import Padding, cut, padded_leaves

__all__ = ["BoundFusion", "Fusion", "fuse"]

P = ParamSpec("P")
R = TypeVar("R")

_NUMBERS = frozenset([bool, float, complex, type(None)])
_NUMBERS_AND_ARRAYS = set(_NUMBERS)  # and the concrete classes of jax.Array that came by
_HAS_DTYPE = {np.ndarray}  # and those classes, and NumPy's scalar types that came by


def _has_dtype(value) -> bool:
    """Whether `jax.jit` reads it as it is; the answer is kept by type, since asking takes 0.1 us."""
    if isinstance(value, jax.Array):
        _NUMBERS_AND_ARRAYS.add(type(value))
    elif not isinstance(value, np.generic) or type(value) is np.ulonglong:
        return False
    _HAS_DTYPE.add(type(value))
    return True


class _NeedsX64(Exception):
    """A 64-bit input met a trace that would round the numbers beside it to 32 bits."""


class Fusion(Generic[P, R]):
    """A function compiled by `fuse`: call it like the function.

    Attributes
    ----------
    func : callable
        The function as it was written, also ``__wrapped__``.
    name : str
        The name of the compiled module, which a profile shows as ``jit_<name>``.
    """

    def __init__(self, func: Callable[P, R], name: str | None = None, pad: bool = False):
        functools.update_wrapper(self, func)
        self.func = func
        self.name = name or getattr(func, "__name__", type(func).__name__)
        self._jits = self._new_jits()
        self._jit = self._jits[0]
        self._inner_jit = jax.jit(_named(self.name, self._run_checked))
        self._met: dict = {}  # signature of a call -> what its Python ints meet
        self._fitting = (-(2**31), 2**31 - 1)  # Python ints between these fit every program so far
        self._lock = threading.Lock()
        self._padding = Padding() if pad else None
        self._plain = _NUMBERS_AND_ARRAYS  # types to pass on unseen; numbers only once 64-bit met x64 off

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function, compiling it first for new shapes, dtypes or static arguments."""
        try:
            if self._padding:
                return self._call_padded(args, kwargs)
            plain, wide = self._plain, False
            low, high = fitting = self._fitting
            for value in (*args, *kwargs.values()) if kwargs else args:
                kind = type(value)
                if kind in plain or (kind is int and low <= value <= high):
                    continue
                if kind not in _HAS_DTYPE and not _has_dtype(value):
                    return self._call_anything(args, kwargs)
                is_wide = IS_WIDE.get(value.dtype)
                if is_wide is None:
                    return self._call_anything(args, kwargs)
                wide = wide or is_wide
            if wide and not jax.config.jax_enable_x64:
                with jax.enable_x64(True):
                    result = self._jit(*args, **kwargs)
            else:
                result = self._jit(*args, **kwargs) if kwargs else self._jit(*args)
            if self._fitting is fitting or self._all_fit(args, kwargs):  # else traced meanwhile: look again
                return result
            return self._call_anything(args, kwargs)
        except _NeedsX64:
            self._plain = _NUMBERS
            return self(*args, **kwargs)

    def _all_fit(self, args, kwargs):
        low, high = self._fitting
        return all(type(x) is not int or low <= x <= high for x in (*args, *kwargs.values()))

    def _call_anything(self, args, kwargs):
        """Call with anything: convert what needs it, set the static apart, check each Python int."""
        return self._call_prepared(prepare_call(self.func, args, kwargs))

    def _call_prepared(self, call):
        with jax.enable_x64(call.x64):
            compiled, args, kwargs = self._place(call, self._fit(call), self._jits)
            return compiled(*args, **kwargs)

    def _call_padded(self, args, kwargs):
        """Call with the rows of the arrays padded to the next power of two, where that pays."""
        call = prepare_call(self.func, args, kwargs)
        lengths = self._padding.lengths(call)
        if not lengths:
            return self._call_prepared(call)
        with jax.enable_x64(call.x64):
            trace = functools.partial(self._trace, call)
            rows, padded, result_rows = self._padding.plan(self.name, call, lengths, trace)
            leaves = padded_leaves(call.leaves, padded, rows)
            return cut(self._call_prepared(call._replace(leaves=leaves)), result_rows, rows)

    def _trace(self, call, leaves):
        """Trace anew, with what stands for the call's traced inputs."""
        compiled, args, kwargs = self._place(call, leaves, self._new_jits())
        return compiled.trace(*args, **kwargs)

    def _new_jits(self):
        """Make the functions to compile: for traced inputs alone, and with something static beside them."""
        plain, steered = _named(self.name, self._run), _named(self.name, self._run_steered)
        return jax.jit(plain), jax.jit(steered, static_argnums=0)

    def _place(self, call, leaves, jits):
        """Choose the compiled function, and say what to call it with."""
        plain, steered = jits
        if call.steered:
            return steered, (call._replace(leaves=None), leaves), {}
        return plain, *call.merge(leaves)

    def _fit(self, call):
        """Return the traced inputs, with every Python int checked against what it meets."""
        met = self._meetings(call)
        return [fit_integer(x, m) if type(x) is int else x for x, m in zip(call.leaves, met, strict=True)]

    def _meetings(self, call):
        """For each leaf that is a Python int what it meets, else None; traced once for a signature."""
        if int not in map(type, call.leaves):
            return [None] * len(call.leaves)
        signature = (call.x64, call.treedef, call.static, *map(signature_of, call.leaves))
        met = self._met.get(signature)
        if met is None:
            compiled, args, kwargs = self._place(
                call, [0 if type(x) is int else x for x in call.leaves], self._jits
            )
            met = self._met[signature] = meetings_of_integers(compiled.trace(*args, **kwargs))
        return met

    # What JAX traces

    def _run(self, *args, **kwargs):
        leaves = jax.tree.leaves((args, kwargs))
        if not jax.config.jax_enable_x64 and any(map(has_64_bits, leaves)):
            raise _NeedsX64
        if any(map(is_weak_integer, leaves)):
            self._narrow_fitting(meetings_of_integers(self._inner_jit.trace(*args, **kwargs)))
            return self._inner_jit(*args, **kwargs)
        return self._run_checked(*args, **kwargs)

    def _narrow_fitting(self, met):
        """Remember which ints fit every program; this comes before any thread can call the new one."""
        with self._lock:
            low, high = self._fitting
            self._fitting = max(low, *(m.low for m in met if m)), min(high, *(m.high for m in met if m))

    def _run_checked(self, *args, **kwargs):
        refuse_lost_assignments(self.name, self.func, self._lost_assignments, args, kwargs)
        try:
            result = self.func(*args, **kwargs)
        except Exception as error:
            answer = translate(error, self.name)
            if answer is None:
                raise
            raise answer from error
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

    def _run_steered(self, call, leaves):
        args, kwargs = call.merge(leaves)
        if not call.has_object:
            return self._run_checked(*args, **kwargs)
        before = attributes(args[0])
        result = self._run_checked(*args, **kwargs)
        refuse_assigned_attributes(self.name, before, args[0])
        return result

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
        >>> told = norm.explain(xp.ones(1000), xp.ones(1000))
        >>> told.name, told.bytes_least
        ('norm', 8004)
        """
        call = prepare_call(self.func, args, kwargs)
        with jax.enable_x64(call.x64):
            return explain_traced(self.name, self._trace(call, self._fit(call)))

    def clear_cache(self) -> None:
        """Forget every compiled version, as cupy.fuse's ``clear_cache``."""
        for compiled in (*self._jits, self._inner_jit):
            compiled.clear_cache()
        self._met.clear()
        if self._padding:
            self._padding.clear()

    def __get__(self, instance, owner=None):
        return self if instance is None else BoundFusion(self, instance)

    def __reduce__(self):
        found = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        return (
            self.__qualname__
            if found is self
            else (Fusion, (self.func, self.name, self._padding is not None))
        )

    def __repr__(self) -> str:
        return f"<Fusion {self.name!r}>"


class BoundFusion:
    """A fused method together with its object.

    Array, float and complex attributes of the object are inputs of the compiled function: a changed value
    is seen and does not compile again. A changed int, bool or string attribute is seen and compiles again.
    Other attributes count as constants by their ``==`` and hash. Assigning ``self.attribute`` inside the
    method is a TypeError.
    """

    def __init__(self, fusion: Fusion, instance: Any):
        functools.update_wrapper(self, fusion)
        self.__func__ = fusion
        self.__self__ = instance

    def __call__(self, /, *args, **kwargs):
        """Run the compiled method."""
        return self.__func__(self.__self__, *args, **kwargs)

    def explain(self, /, *args, **kwargs) -> Explanation:
        """Tell what XLA makes of the method for this object and these arguments."""
        return self.__func__.explain(self.__self__, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<bound Fusion {self.__func__.name!r} of {self.__self__!r}>"


def _named(name, body):
    @functools.wraps(body)
    def named(*args, **kwargs):
        return body(*args, **kwargs)

    named.__name__ = named.__qualname__ = name
    return named


@overload
def fuse(func: Callable[P, R], /, kernel_name: str | None = None, *, pad: bool = False) -> Fusion[P, R]: ...
@overload
def fuse(
    kernel_name: str | None = None, *, pad: bool = False
) -> Callable[[Callable[P, R]], Fusion[P, R]]: ...


def fuse(func: Any = None, /, kernel_name: str | None = None, *, pad: bool = False):
    """Compile a function into few kernels, as cupy.fuse does, with `jax.jit` underneath.

    ``@fuse``, ``@fuse()``, ``@fuse("name")``, ``@fuse(kernel_name="name")`` and ``fuse(function)`` work
    on functions, lambdas, `functools.partial` objects and methods. The first call with new shapes, dtypes
    or static arguments compiles, further ones run what was compiled. Unlike cupy.fuse, arrays are
    immutable, keyword arguments work, and with only NumPy arguments the function still runs on JAX and
    returns jax arrays.

    Parameters
    ----------
    func : callable
        The function to compile, written with jaxapi's functions and operators on arrays of any shape. A call
        takes

        - arrays of JAX, NumPy, CuPy, PyTorch and others; their dtypes are kept, 64-bit ones also with x64
          off: a call with any 64-bit argument runs in 64-bit mode as a whole;
        - Python bool, int, float and complex, which are inputs too: a new value does not compile again.
          They are weakly typed by JAX's promotion rules (``1 + mu * dt * phi`` stays float32), as
          literals are; NumPy scalars and 0-d arrays keep their dtype;
        - a list or nested list of numbers, which becomes an array;
        - None, and other containers (tuples, dicts, lists of arrays, registered pytrees) of all these;
        - callables, strings and dtypes, which are static: another one compiles again. A lambda written in the
          call is another one each time.
    kernel_name : str, optional
        Name of the compiled module, ``jit_<name>`` in a profile; by default the function's name.
    pad : bool, default False
        For many lengths: pad arrays of 64 to 2**20 rows on the host to the next power of two, so that all
        lengths of an octave share one program; a length that comes 32 times gets its own. Only for
        functions that treat each row (the first axis) alone: element-wise ones, reductions over other
        axes. This is proved on a trace with a symbolic length, and anything else is a TypeError. Such
        calls wait for their result.

    Returns
    -------
    Fusion
        Called like ``func``; has ``func``, ``name``, ``explain(*args)`` (what XLA made of it) and
        ``clear_cache()``. Results are jax arrays in the containers in which ``func`` returned them.

    Raises
    ------
    TypeError
        If the function branches on a traced value, returns nothing, assigns to a subscript, passes ``out=``,
        calls a NumPy function on a traced array, or loses the result of an augmented assignment to a
        parameter (``x += y`` and no ``x`` further down; ``x += y; return x`` is right). The message names
        the line and the remedy.
    ValueError
        If shapes do not broadcast; both are named. `numpy.exceptions.AxisError` if an axis is out of bounds.
    OverflowError
        If a Python int argument does not fit the integer dtype of an array that it meets in the function,
        as in NumPy. The compiled function is kept. A larger int that meets floating-point arrays alone is
        passed as a float.

    Notes
    -----
    Works inside `jax.jit`, `jax.vmap`, `jax.grad` and other fused functions, and from many threads.

    Some mistakes show in no trace, and are not found: a literal that does not fit wraps (``x + 300`` for
    int8), as does a Python int after arithmetic (``x + 2 * n``); an int that the function converts itself
    counts as meeting that dtype; a static index out of range is clamped; an augmented assignment to an
    alias of a parameter, in a helper, or in a function without source (typed into ``python -c`` or made by
    ``exec``) is not seen. Inside another JAX transformation with x64 off, Python floats that meet float64
    there are rounded to float32 first.

    In a method, array, float and complex attributes of ``self`` are inputs and changed ints, bools and
    strings compile again; other attributes count as constants by their ``==`` and hash.

    References
    ----------
    .. [1] cupy.fuse, https://docs.cupy.dev/en/stable/reference/generated/cupy.fuse.html
    .. [2] NEP 50, https://numpy.org/neps/nep-0050-scalar-promotion.html

    Examples
    --------
    >>> import jaxapi as xp
    >>> @xp.fuse
    ... def scaled_sum(x, y, a):
    ...     return a * x + y
    >>> x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    >>> print(scaled_sum(x, x, 2.0))
    [3. 6.]
    >>> scaled_sum
    <Fusion 'scaled_sum'>
    >>> fill = xp.fuse(lambda mask, points: xp.where(mask[:, xp.newaxis], xp.inf, points))
    >>> print(fill([True, False], [[1.0, 2.0], [3.0, 4.0]]))
    [[inf inf]
     [ 3.  4.]]
    """
    if isinstance(func, str):
        func, kernel_name = None, func
    if func is None:
        return lambda f: Fusion(f, kernel_name, pad)
    if not callable(func):
        raise TypeError(f"fuse takes a function, got {type(func).__name__}")
    return Fusion(func, kernel_name, pad)
