"""Write the type stubs of `jaxapi.mutable` and `jaxapi.numpy`, whose functions are made by importing them.

    python make_stubs.py

They are those of the newest JAX and NumPy, whose signatures they have.
"""

import inspect
import pathlib
import re
import types
import typing

import jax.numpy as jnp
import numpy as np

import jaxapi
import jaxapi.mutable
import jaxapi.numpy

FOLDER = pathlib.Path(__file__).parent / "jaxapi"
NOTE = "# Written by make_stubs.py.\n\n"
IMPORTS = """import builtins
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy
from scipy import sparse

from jaxapi._core._typing import ArrayLike as _PlainArrayLike
"""
ALIAS = "\n_ArrayLike = Array | _PlainArrayLike\n\n"
ONE = r"(int|bool|str|float|None|tuple\[int, \.\.\.\])"
PLAIN = re.compile(rf"{ONE}( \| {ONE})*")
RESULT = re.compile(
    r"Array|None|bool|bytes|int|float|tuple\[Array(, Array)*\]|tuple\[Array, \.\.\.\]"
    r"|Generator|list\[Generator\]"
    r"|numpy\.ndarray|dict\[tuple\[int, int\], float\]|sparse\.\w+\[numpy\.float64\]"
)
# Of the ufuncs, whose class is written in Python, those that return one array.
FUNCTION = """class _Function(_ufunc):
    def __call__(self, *args: _ArrayLike | None, **kwargs: Any) -> Array: ...

"""


def text_of(annotation) -> str:
    if annotation is inspect.Signature.empty:
        return ""
    if annotation is types.NoneType:
        return "None"
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return " | ".join(map(text_of, typing.get_args(annotation)))
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    in_stub = {"np.": "numpy.", "scipy.sparse.": "sparse."}
    in_stub |= dict.fromkeys(("collections.abc.", "typing.", "jaxapi.numpy._random."), "")
    for name, shorter in in_stub.items():
        text = re.sub(rf"\b{re.escape(name)}", shorter, text)
    return re.sub(r"\b(\w+\.)+Array\b", "Array", text)  # JAX's is in another module in each release


def parameter_type(annotation) -> str:
    text = text_of(annotation)
    if text.startswith("Literal["):
        return text
    if "Callable" in text:
        return "Any"
    if "Array" in text or "SupportsDLPack" in text:
        return "_ArrayLike | None" if "None" in text else "_ArrayLike"
    return plainly(text) if PLAIN.fullmatch(text) else "Any"


def result_type(annotation) -> str:
    text = text_of(annotation)
    return plainly(text) if RESULT.fullmatch(text) else "Any"


def plainly(text) -> str:
    """Name the builtin: `bool` is a dtype of the namespace."""
    return re.sub(r"(?<!builtins\.)\b(bool|bytes)\b", r"builtins.\1", text)


def signature_of(function) -> inspect.Signature:
    """Return a function's signature; for one of NumPy's, written in C, that has none any arguments."""
    try:
        return inspect.signature(function)
    except ValueError:
        return inspect.signature(lambda *args, **kwargs: None)


def definition(name, function, indent="", out=False, returns=None) -> str:
    """Return a function's stub: jaxapi's parameters, and ``out=`` where it returns an array."""
    signature = signature_of(function)
    result = result_type(signature.return_annotation if returns is None else returns)
    parts, kinds = [], [p.kind for p in signature.parameters.values()]
    for i, p in enumerate(signature.parameters.values()):
        if p.kind is p.KEYWORD_ONLY and "*" not in parts and p.VAR_POSITIONAL not in kinds:
            parts.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else " = ..."
        kind = "Array | None" if p.name == "out" else parameter_type(p.annotation)
        parts.append("self" if p.name == "self" else f"{star}{p.name}: {kind}{default}")
        if p.kind is p.POSITIONAL_ONLY and kinds[i + 1 : i + 2] != [p.POSITIONAL_ONLY]:
            parts.append("/")
    if out and result == "Array" and "out" not in signature.parameters:
        last = len(parts) - (inspect.Parameter.VAR_KEYWORD in kinds)
        more = [] if "*" in parts or inspect.Parameter.VAR_POSITIONAL in kinds else ["*"]
        parts[last:last] = [*more, "out: Array | None = ..."]
    return f"{indent}def {name}({', '.join(parts)}) -> {result}: ...\n"


def namespace(module, names) -> str:
    made = []
    for name in names:
        value = getattr(module, name)
        if isinstance(value, (str, float)) or value is None:
            made.append(f"{name}: {type(value).__name__ if value is not None else 'None'}\n")
        elif inspect.isclass(value) or hasattr(value, "dtype"):
            home = module.__name__.replace("jaxapi.mutable", "jaxapi", 1)
            made.append(f"from {home} import {name} as {name}\n")
        else:
            made.append(definition(name, value, out=True))
    return "".join(made)


def class_of(kind, base=object) -> str:
    """Return the stub of a class, without what it inherits of one that has a stub, too."""
    text = f"class {kind.__name__}{f'({base.__name__})' if base is not object else ''}:"
    made, properties = [], ""
    for name, member in [("__init__", kind.__init__), *inspect.getmembers(kind)]:
        hidden = name.startswith(("_", "tree_")) and name not in ("__init__", "__call__")
        if hidden or getattr(base, name, None) is member:
            continue
        if inspect.isfunction(member) and len(overloads_of(member)) > 1:
            for each in overloads_of(member):
                made += ["    @overload\n", definition(name, each, "    ")]
        elif inspect.isfunction(member):
            stub = definition(name, member, "    ")
            stub = stub.replace("-> Any", "-> None") if name == "__init__" else stub
            made += [stub] if stub not in made else []
        elif getter := getattr(member, "fget", None):
            result = result_type(inspect.signature(getter).return_annotation)
            properties += f"    @property\n    def {name}(self) -> {result}: ...\n"
        else:
            properties += f"    {name}: Any\n"
    body = "".join(made) + properties
    return f"{text}\n{body}" if body else f"{text} ...\n"


def overloads_of(function) -> list:
    """Return the overloads of a method that differ in what the stub says that they return."""
    overloads = typing.get_overloads(function)
    results = {result_type(inspect.signature(each).return_annotation) for each in overloads}
    return list(overloads) if len(results) > 1 else []


def stubs() -> dict[str, str]:
    """Return each stub's name and text."""
    modules = ("fft", "interpolate", "lib", "linalg", "spatial")
    special = ("Array", "deferred", "fuse", "grad", "pad", "value_and_grad", *modules)
    names = [name for name in jaxapi.mutable.__all__ if name not in special]
    main = (
        NOTE
        + IMPORTS
        + (
            "\nfrom . import fft as fft\nfrom . import interpolate as interpolate\n"
            "from . import lib as lib\nfrom . import linalg as linalg\nfrom . import spatial as spatial\n"
            "from ._array import Array as Array\nfrom ._batches import deferred as deferred\n"
            "from ._fuse import fuse as fuse\n"
            "from ._grad import grad as grad\nfrom ._grad import value_and_grad as value_and_grad\n"
            "from ._padding import pad as pad\n"
        )
    )
    found = {"mutable/__init__.pyi": main + ALIAS + namespace(jaxapi.mutable, names)}
    for part in ("fft", "linalg"):
        module = getattr(jaxapi.mutable, part)
        found[f"mutable/{part}.pyi"] = head(".") + namespace(module, module.__all__)
    spatial = jaxapi.mutable.spatial
    functions = [name for name in spatial.__all__ if name not in ("KDTree", "NeighborList", "distance")]
    classes = [class_of(jaxapi.spatial.KDTree), class_of(jaxapi.spatial.NeighborList)]
    body = "\n".join([*classes, namespace(spatial, functions)])
    found["mutable/spatial/__init__.pyi"] = head("..", "from . import distance as distance\n") + body
    classes = [class_of(getattr(jaxapi.interpolate, name)) for name in jaxapi.interpolate.__all__]
    found["mutable/interpolate/__init__.pyi"] = head("..") + "\n".join(classes)
    found["mutable/spatial/distance.pyi"] = head("..") + namespace(spatial.distance, spatial.distance.__all__)
    parts = {"__init__": (jaxapi.numpy, np, jnp), "random": (jaxapi.numpy.random, np.random, None)}
    for part in ("fft", "linalg"):
        parts[part] = tuple(getattr(module, part) for module in (jaxapi.numpy, np, jnp))
    return found | {f"numpy/{part}.pyi": numpy_part(*modules) for part, modules in parts.items()}


def numpy_part(module, numpys, jax_numpy) -> str:
    """Return the stub of a module of `jaxapi.numpy`: NumPy's signatures; arrays where jax.numpy says so."""
    start = NOTE + "import builtins\nfrom typing import Any\n\nfrom ..mutable._array import Array as Array\n"
    classes, names, made = "", [], []
    private = module.__name__.replace("numpy.", "numpy._")  # where what it shows is written
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.ismodule(value) and value is not getattr(numpys, name, None):
            start += f"from . import {name} as {name}\n"
        elif value is getattr(numpys, name, None):
            names.append(f"from {numpys.__name__} import {name} as {name}\n")
        elif value is jaxapi.numpy.ndarray:
            classes += "ndarray = Array\n"
        elif inspect.isclass(value) and value.__module__ == private:
            classes += class_of(
                value, next((c for c in value.__mro__[1:] if c.__module__ == private), object)
            )
        elif inspect.isclass(value) or name == "fuse":
            names.append(f"from {value.__module__} import {name} as {name}\n")
        elif callable(value) and not isinstance(value, jaxapi.numpy.ufunc):
            like = getattr(jax_numpy, name, None)
            returns = signature_of(like).return_annotation if callable(like) else None
            made.append(definition(name, value, returns=returns))
        else:
            made.append(f"{name}: {constant_type(value)}\n")
    if "_ufunc\n" in "".join(made):
        start += "from jaxapi._core._typing import ArrayLike as _ArrayLike\n"
        start += "from jaxapi.numpy._ufuncs import ufunc as _ufunc\n"
        classes = FUNCTION + classes
    return start + "".join(names) + "\n" + classes + "".join(made)


def constant_type(value) -> str:
    if not isinstance(value, jaxapi.numpy.ufunc):
        return "Any"
    return "_Function" if value.nout == 1 else "_ufunc"


def head(dots: str, more: str = "") -> str:
    """Return the first lines of a module so many folders below."""
    return f"{NOTE}{IMPORTS}\n{more}from {dots}_array import Array\n{ALIAS}"


def main():
    for name, text in stubs().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
