"""Write the type stubs of `jaxapi.mutable` and `jaxapi.numpy`, whose functions are made by importing them.

    python docs/make_stubs.py [--check]

With `--check` it says whether the stubs are up to date.
"""

import inspect
import pathlib
import re
import sys
import textwrap

import jax.numpy as jnp
import numpy as np

import jaxapi
import jaxapi.mutable
import jaxapi.numpy

FOLDER = pathlib.Path(jaxapi.__file__).parent
NOTE = "# Written by docs/make_stubs.py.\n\n"
IMPORTS = """import builtins
from typing import Any

from jaxapi._core._typing import ArrayLike as _PlainArrayLike
"""
ALIAS = "\n_ArrayLike = Array | _PlainArrayLike\n\n"
ONE = r"(int|bool|str|float|None|tuple\[int, \.\.\.\])"
PLAIN = re.compile(rf"{ONE}( \| {ONE})*")
RESULT = re.compile(r"Array|bool|int|float|tuple\[Array(, Array)*\]|tuple\[Array, \.\.\.\]")


def text_of(annotation) -> str:
    if annotation is inspect.Signature.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"(jaxlib\._jax|jaxapi\.mutable\._array|jax)\.Array", "Array", text)


def parameter_type(annotation) -> str:
    text = text_of(annotation)
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
    return re.sub(r"\bbool\b", "builtins.bool", text)


def definition(name, function, indent="", out=False, returns=None) -> str:
    """Return a function's stub: jaxapi's parameters, and ``out=`` where it returns an array."""
    signature = inspect.signature(function)
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


def together(statements: list[str]) -> str:
    """Write each signature once: names that share one are assigned to the first of them."""
    firsts: dict[str, str] = {}
    others: dict[str, list[str]] = {}
    imports: dict[str, list[str]] = {}
    for statement in statements:
        if found := re.fullmatch(r"from (\S+) import (\S+) as \S+\n", statement):
            imports.setdefault(found[1], []).append(f"{found[2]} as {found[2]}")
        elif found := re.fullmatch(r"( *)(?:def )?(\w+)([(:].*)\n", statement):
            first = firsts.setdefault(found[1] + found[3], found[2])
            if first != found[2]:
                others.setdefault(first, []).append(found[2])
    text = ""
    for home, names in imports.items():
        text += f"from {home} import "
        text += f"(\n{wrapped(', '.join(names))}\n)\n" if len(names) > 1 else f"{names[0]}\n"
    for statement in statements:
        found = re.fullmatch(r"( *)(?:def )?(\w+)([(:].*)\n", statement)
        if found is None:
            text += "" if statement.startswith("from ") else statement
        elif firsts[found[1] + found[3]] == found[2]:
            text += statement
            same = wrapped(" = ".join(others.get(found[2], [])), 90 - len(found[1]), "")
            text += "".join(
                f"{found[1]}{line.removesuffix(' =')} = {found[2]}\n" for line in same.splitlines()
            )
    return text


def wrapped(text: str, width: int = 106, indent: str = "    ") -> str:
    """Break a list of names into lines; what is joined by ``as`` stays so."""
    joined = text.replace(" as ", "@as@").replace(" =", "@=")
    lines = textwrap.wrap(joined, width, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines).replace("@", " ")


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
    return together(made)


def class_of(kind, base=object) -> str:
    """Return the stub of a class, without what it inherits of one that has a stub, too."""
    text = f"class {kind.__name__}{f'({base.__name__})' if base is not object else ''}:"
    made, properties = [], ""
    for name, member in [("__init__", kind.__init__), *inspect.getmembers(kind)]:
        if getattr(base, name, None) is member or (name.startswith(("_", "tree_")) and name != "__init__"):
            continue
        if inspect.isfunction(member):
            stub = definition(name, member, "    ")
            stub = stub.replace("-> Any", "-> None") if name == "__init__" else stub
            made += [stub] if stub not in made else []
        elif getter := getattr(member, "fget", None):
            result = result_type(inspect.signature(getter).return_annotation)
            properties += f"    @property\n    def {name}(self) -> {result}: ...\n"
        else:
            properties += f"    {name}: Any\n"
    body = together(made) + properties
    return f"{text}\n{body}" if body else f"{text} ...\n"


def stubs() -> dict[str, str]:
    """Return each stub's name and text."""
    special = ("Array", "fft", "fuse", "grad", "linalg", "spatial", "value_and_grad")
    names = [name for name in jaxapi.mutable.__all__ if name not in special]
    main = (
        NOTE
        + IMPORTS
        + (
            "\nfrom . import fft as fft\nfrom . import linalg as linalg\nfrom . import spatial as spatial\n"
            "from ._array import Array as Array\nfrom ._fuse import fuse as fuse\n"
            "from ._grad import grad as grad\nfrom ._grad import value_and_grad as value_and_grad\n"
        )
    )
    found = {"mutable/__init__.pyi": main + ALIAS + namespace(jaxapi.mutable, names)}
    for part in ("fft", "linalg"):
        module = getattr(jaxapi.mutable, part)
        found[f"mutable/{part}.pyi"] = head(".") + namespace(module, module.__all__)
    spatial = jaxapi.mutable.spatial
    functions = [name for name in spatial.__all__ if name != "KDTree"]
    tree = class_of(jaxapi.spatial.KDTree) + "\n" + namespace(spatial, functions)
    found["mutable/spatial/__init__.pyi"] = head("..", "from . import distance as distance\n") + tree
    found["mutable/spatial/distance.pyi"] = head("..") + namespace(spatial.distance, spatial.distance.__all__)
    parts = {"__init__": (jaxapi.numpy, np, jnp), "random": (jaxapi.numpy.random, np.random, None)}
    for part in ("fft", "linalg"):
        parts[part] = tuple(getattr(module, part) for module in (jaxapi.numpy, np, jnp))
    return found | {f"numpy/{part}.pyi": numpy_part(*modules) for part, modules in parts.items()}


def numpy_part(module, numpys, jax_numpy) -> str:
    """Return the stub of a module of `jaxapi.numpy`: NumPy's signatures; arrays where jax.numpy says so."""
    start = NOTE + "import builtins\nfrom typing import Any\n\nfrom ._array import ndarray as Array\n"
    classes, names, made = "", [], []
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.ismodule(value) and value is not getattr(numpys, name, None):
            start += f"from . import {name} as {name}\n"
        elif value is getattr(numpys, name, None):
            names.append(f"from {numpys.__name__} import {name} as {name}\n")
        elif value is jaxapi.numpy.ndarray:
            classes += "ndarray = Array\n"
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            classes += class_of(
                value, next((c for c in value.__mro__[1:] if c.__module__ == module.__name__), object)
            )
        elif inspect.isclass(value) or name == "fuse":
            names.append(f"from {value.__module__} import {name} as {name}\n")
        elif callable(value) and not isinstance(value, jaxapi.numpy.ufunc):
            like = getattr(jax_numpy, name, None)
            returns = inspect.signature(like).return_annotation if callable(like) else None
            made.append(definition(name, value, returns=returns))
        else:
            made.append(f"{name}: {'_ufunc' if isinstance(value, jaxapi.numpy.ufunc) else 'Any'}\n")
    if "_ufunc\n" in "".join(made):
        start += "from jaxapi.numpy._ufuncs import ufunc as _ufunc\n"
    return start + together(names) + "\n" + classes + together(made)


def head(dots: str, more: str = "") -> str:
    """Return the first lines of a module so many folders below."""
    return f"{NOTE}{IMPORTS}\n{more}from {dots}_array import Array\n{ALIAS}"


def main():
    old = [name for name, text in stubs().items() if not _same(FOLDER / name, text)]
    if "--check" in sys.argv:
        sys.exit(f"not up to date: {', '.join(old)}; run python docs/make_stubs.py" if old else 0)
    for name in old:
        (FOLDER / name).write_text(stubs()[name])


def _same(path, text):
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    main()
