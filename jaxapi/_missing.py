"""Errors for names and arguments that are not here, which say what to write: the hints are in `_hints.py`."""

import functools
import re
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np

from ._hints import ARGUMENTS, ASSIGNED, ATTRIBUTES, EXPLAINED, HOMES, OF_POINTS, RENAMED

__all__ = ["hints_at_arguments", "hints_at_attributes", "missing", "missing_attribute", "says_what_to_write"]

Class = TypeVar("Class", bound=type)


def missing(module: str, name: str) -> AttributeError:
    """Return the error for a name that ``module`` does not have, with what to write instead."""
    if module.startswith("jaxapi.numpy"):
        return _error(f"module {module!r}", name, _numpy_advice(module, name))
    if "mutable" in module:
        return _error(f"module {module!r}", name, _mutable_advice(module.replace(".mutable", ""), name))
    return _error(f"module {module!r}", name, _advice(module, name))


def says_what_to_write(module: str):
    """Return a module's ``__getattr__``: it says what to write for a name of NumPy, CuPy or JAX."""

    def __getattr__(name: str):
        raise missing(module, name)

    return __getattr__


def missing_attribute(name: str, functions: Collection[str]) -> AttributeError:
    """Return the error for an attribute that `jaxapi.mutable.Array` does not have, perhaps a function."""
    advice = ATTRIBUTES["Array"].get(name)
    if advice is None and name not in OF_POINTS:
        advice = f"use jaxapi.mutable.{name}(x)" if name in functions else _mutable_advice("jaxapi", name)
    return _error("'Array' object", name, advice)


def _error(what: str, name: str, advice: str | None) -> AttributeError:
    text = f"{what} has no attribute {name!r}"
    return AttributeError(f"{text}: {advice}" if advice and not name.startswith("_") else text)


def _mutable_advice(module: str, name: str) -> str | None:
    advice = ASSIGNED.get(name) or _advice(module, name)
    if advice is None or name in ASSIGNED:
        return advice
    of_jax = re.search(r"use jax\.numpy\.([\w.]+), whose arrays are the same$", advice)
    if of_jax:
        return f"it is not in the Array API standard: use jaxapi.numpy.{of_jax[1]}, whose arrays are the same"
    return _of_mutable(advice.replace("whose arrays are the same", "which returns a jax.Array"))


def _numpy_advice(module: str, name: str) -> str | None:
    advice = EXPLAINED[module].get(name)
    if advice is not None or module != "jaxapi.numpy":
        return advice
    advice = _advice_for_points(name)
    return advice and _of_mutable(advice)


def _of_mutable(advice: str) -> str:
    return re.sub(r"\bjaxapi\b", "jaxapi.mutable", advice)


def _advice(module: str, name: str) -> str | None:
    explained = EXPLAINED[module].get(name)
    if explained:
        return explained
    if module not in RENAMED:  # SciPy's modules
        return _advice_for_points(name)
    renamed = RENAMED[module].get(name)
    if renamed:
        return f"use {module}.{renamed}"
    path = module.removeprefix("jaxapi").removeprefix(".")
    jax_module = getattr(jnp, path) if path else jnp
    numpy_module = getattr(np, path) if path else np
    if hasattr(jax_module, name):
        jax_name = f"jax.numpy.{path}.{name}" if path else f"jax.numpy.{name}"
        return f"it is not in the Array API standard: use {jax_name}, whose arrays are the same"
    if path and hasattr(jnp, name):
        return f"use jax.numpy.{name}, whose arrays are the same"
    if hasattr(numpy_module, name):
        return "it is NumPy's alone: use it on numpy.asarray(x), outside of jax.jit"
    return None if path else _advice_for_points(name)


def _advice_for_points(name: str) -> str | None:
    """Return the advice for a name of SciPy's, scikit-learn's and others, or where the name is."""
    for module, names in HOMES.items():
        if name in names:
            return f"use {module}.{name}"
    return OF_POINTS.get(name)


# --- attributes and arguments -----------------------------------------------------------------------------


def hints_at_attributes(cls: Class) -> Class:
    """Let objects of a class say what to write for attributes that they do not have."""
    hints = ATTRIBUTES[cls.__name__]

    def __getattr__(self, name: str):
        raise _error(f"{cls.__name__!r} object", name, hints.get(name))

    cls.__getattr__ = __getattr__  # type: ignore[attr-defined]
    return cls


def hints_at_arguments(cls: Class) -> Class:
    """Let the methods of a class say what to write for keyword arguments that they do not take."""
    for method, hints in ARGUMENTS[cls.__name__].items():
        setattr(cls, method, _hinting(getattr(cls, method), hints))
    return cls


def _hinting(function: Callable[..., Any], hints: dict[str, str]) -> Callable[..., Any]:
    """Return the function; a keyword argument of the table is a TypeError that says what to write."""
    names = frozenset(hints)

    @functools.wraps(function)
    def hinting(*args, **kwargs):
        if not names.isdisjoint(kwargs):
            name = next(name for name in kwargs if name in names)
            what = function.__qualname__
            raise TypeError(f"{what}() got an unexpected keyword argument {name!r}: {hints[name]}")
        return function(*args, **kwargs)

    return hinting
