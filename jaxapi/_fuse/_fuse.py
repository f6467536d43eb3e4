"""`fuse`: cupy.fuse's forms on `jax.jit`."""

import functools
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack, overload

from ._fusion import Fusion

__all__ = ["fuse", "fused"]

P = ParamSpec("P")
R = TypeVar("R")


class Options(TypedDict, total=False):
    """What `fuse` takes by keyword alone."""

    pad: bool
    static_argnums: int | Iterable[int] | None
    static_argnames: str | Iterable[str] | None
    donate_argnums: int | Iterable[int] | None
    donate_argnames: str | Iterable[str] | None


@overload
def fuse(
    func: Callable[P, R], /, kernel_name: str | None = None, **options: Unpack[Options]
) -> Fusion[P, R]: ...
@overload
def fuse(
    func: str | None = None, /, kernel_name: str | None = None, **options: Unpack[Options]
) -> Callable[[Callable[P, R]], Fusion[P, R]]: ...


def fuse(
    func: Any = None,
    /,
    kernel_name: str | None = None,
    *,
    pad: bool = False,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
):
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
        - strings, dtypes, enums and callables, which are static: another one compiles again. A lambda written
          in the call is another one each time; a `functools.partial` is its function, arrays (inputs) and
          other arguments (static).
    kernel_name : str, optional
        Name of the compiled module, ``jit_<name>`` in a profile; by default the function's name.
    pad : bool, default False
        For many lengths: pad arrays of 64 to 2**20 rows on the host to the next power of two, so that all
        lengths of an octave share one program. Only for functions that treat each row (the first axis)
        alone: element-wise ones, reductions over other axes, `linalg` of stacks of matrices, look-ups in each
        row or of each row in a table. This is proved on a trace with a symbolic length, and anything else is
        a TypeError. Such calls wait for their result.
    static_argnums, static_argnames : int or str, or several, optional
        Arguments that the program is compiled for, as in `jax.jit`: flags, axes, shapes, loop counts. They
        must be hashable, are told apart by value, type and sign of zero, and another one compiles again.
        Where one of the two is given the other follows from the signature.
    donate_argnums, donate_argnames : int or str, or several, optional
        Arguments whose buffers the results may use, as in `jax.jit`: the caller's `jax.Array` is deleted.
        Memory of NumPy, CuPy and PyTorch is copied first.

    Returns
    -------
    Fusion
        Called like ``func``; has ``func``, ``name``, ``explain(*args)`` (what XLA made of it),
        ``lower(*args)`` and ``trace(*args)`` (as of ``jax.jit(func)``), and ``clear_cache()``. Results are
        jax arrays in the containers in which ``func`` returned them.

    Raises
    ------
    TypeError
        If the function branches on a traced value, returns nothing, assigns to a subscript or to ``self``,
        passes ``out=``, or calls a NumPy function on a traced array. The message names the line and the
        remedy. If it is a generator or coroutine function.
    ValueError
        If shapes do not broadcast; both are named. `numpy.exceptions.AxisError` if an axis is out of bounds.
    OverflowError
        If a Python int argument does not fit the integer dtype of an array that it is combined with,
        as in NumPy. The compiled function is kept. A larger int that is combined with floating-point
        arrays alone is passed as a float.

    Notes
    -----
    Works inside `jax.jit`, `jax.vmap`, `jax.grad` and other fused functions, and from many threads.

    Some mistakes show in no trace, and are not found: a literal that does not fit wraps (``x + 300`` for
    int8), as does a Python int after arithmetic (``x + 2 * n``); an int that the function converts itself
    counts as combined with that dtype; a static index out of range is clamped; the caller's array does not
    change by ``x += y``, which is lost where another one is returned. Inside another JAX transformation with
    x64 off, Python floats combined with float64 there are rounded to float32 first.

    In a method, ``self`` is read at each call: a registered pytree by its leaves, another object by its own
    fields. Arrays, floats and complex numbers there, also in containers, are inputs; what is hashable by
    value, functions and objects of libraries are static, as is what its classes hold. The use of anything
    else (a set, an object of another class) is a TypeError. So are bound methods and callable objects read.

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
    options = {"pad": pad, "static_argnums": static_argnums, "static_argnames": static_argnames}
    options |= {"donate_argnums": donate_argnums, "donate_argnames": donate_argnames}
    return fused(Fusion, func, kernel_name, options)


def fused(kind, func, kernel_name, options):
    """Return a fusion of a class, or what makes one of a function."""
    if isinstance(func, str):
        func, kernel_name = None, func
    if func is not None and not callable(func):
        given = type(func).__name__
        remedy = f": put @{given} above @fuse" if isinstance(func, (classmethod, property)) else ""
        raise TypeError(f"fuse takes a function, got {given}{remedy}")
    make = functools.partial(kind, name=kernel_name, **options)
    return make if func is None else make(func)
