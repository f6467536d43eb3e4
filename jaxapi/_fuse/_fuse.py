"""`fuse`: cupy.fuse's forms on `jax.jit`."""

import functools
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from ._fusion import Fusion, Options

__all__ = ["fuse", "fused"]

P = ParamSpec("P")
R = TypeVar("R")


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
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
) -> Any:
    """Compile a function into few kernels, as cupy.fuse does, with `jax.jit` underneath.

    ``@fuse``, ``@fuse()``, ``@fuse("name")``, ``@fuse(kernel_name="name")`` and ``fuse(function)`` work
    on functions, lambdas, `functools.partial` objects and methods. The first call with new shapes, dtypes
    or static arguments compiles, further ones run what was compiled. Unlike cupy.fuse, arrays are
    immutable, keyword arguments work, and with only NumPy arguments the function still runs on JAX and
    returns jax arrays.

    Parameters
    ----------
    func : callable
        The function to compile, written with jaxapi's functions and operators on arrays of any shape.

        Arrays and numbers are traced, everything else is static and compared by value. A method's object is
        a pytree, or its fields follow the same rule, and what cannot be compared is refused by name.

        - Traced, so that a new value does not compile again: arrays of JAX, NumPy, CuPy, PyTorch and others,
          whose dtypes are kept, 64-bit ones also with x64 off (a call with any 64-bit argument runs in 64-bit
          mode as a whole); Python bool, int, float and complex, which are weakly typed by JAX's promotion
          rules (``1 + mu * dt * phi`` stays float32), as literals are, while NumPy scalars and 0-d arrays
          keep their dtype; a list or nested list of numbers, which becomes an array; and the leaves of other
          containers (tuples, dicts, lists of arrays, registered pytrees).
        - Static, so that another value compiles again: strings, dtypes, enums, frozen dataclasses and what
          else is hashable by value; functions and classes. A lambda written in the call is another one each
          time. Of a `functools.partial` the arrays are traced and the rest is static.
        - In the fields of a method's object bools and ints are static, for they are flags, lengths and loop
          counts; so are objects of NumPy, JAX and the standard library (a logger, a device).
    kernel_name : str, optional
        Name of the compiled module, ``jit_<name>`` in a profile; by default the function's name.
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
        Called like ``func``; has ``func``, ``name``, ``explain(*args)`` (its kernels, bytes and operations),
        ``lower(*args)`` and ``trace(*args)`` (as of ``jax.jit(func)``), and ``clear_cache()``. Results are
        jax arrays in the containers in which ``func`` returned them.

    Raises
    ------
    TypeError
        If the function branches on a traced value, returns nothing, assigns to a subscript or to ``self``,
        passes ``out=``, or calls a NumPy function on a traced array. The message names the line and the
        remedy. If a field of a method's object cannot be compared: a set, an object of another class. If
        ``func`` is a generator or coroutine function.
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

    Quotients, square roots and negative integer powers of real arrays are rounded as IEEE 754 says, statement
    by statement, as cupy.fuse has them; `jax.jit` divides by approximation. Inside of `jax.lax.cond`,
    ``scan``, ``while_loop``, `jax.shard_map` and `jax.checkpoint`, and of functions with a derivative rule of
    their own, they stay JAX's, and so do derivatives.

    In a method, ``self`` is read at each call, and so is the object of a bound method, or one that is called;
    the function sees a copy of it. What a class holds is a value from the surroundings, as a global variable
    is: a constant of the program.

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
    options: Options = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
    }
    return fused(Fusion, func, kernel_name, options)


def fused(fusion_class: type, func: Any, kernel_name: str | None, options: Any) -> Any:
    """Return a fusion of a class, or what makes one of a function."""
    if isinstance(func, str):
        kernel_name = func
        func = None
    if func is not None and not callable(func):
        given = type(func).__name__
        remedy = f": put @{given} above @fuse" if isinstance(func, (classmethod, property)) else ""
        raise TypeError(f"fuse takes a function, got {given}{remedy}")
    make = functools.partial(fusion_class, name=kernel_name, **options)
    return make if func is None else make(func)
