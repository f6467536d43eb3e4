"""Write the reference: one page a chapter of the standard, every public name with its docstring."""

import inspect
import re
import shutil

import jax.numpy as jnp
from make_conformance import CHAPTERS, names

import jaxapi as xp
import jaxapi.mutable
import jaxapi.numpy
from jaxapi.numpy import _table
from jaxapi.spatial import _results
from jaxapi.spatial._clusters import _results as _clusters

INTRODUCTION = """
Reference
=========

Every public name, by the chapters of the `Array API standard
<https://data-apis.org/array-api/2025.12/>`__, from its docstring. An entry that ends in "As in JAX" is a
function of ``jax.numpy`` that already does what the standard says; :doc:`../conformance` says why each of
the others differs from ``jax.numpy``'s.

"""
RESULTS = [
    value
    for module in (_results, _clusters)
    for value in map(vars(module).get, module.__all__)
    if inspect.isclass(value)
]
# Pages of what the standard does not have: title, introduction, names.
OURS = {
    "logspace": (
        "logspace",
        "Powers at evenly spaced exponents. The guide is :doc:`../logspace`.",
        ["jaxapi.logspace"],
    ),
    "fuse": (
        "fuse",
        "Functions compiled into few kernels. The guide is :doc:`../fuse`.",
        ["jaxapi.fuse"],
    ),
    "spatial": (
        "spatial: the KD-tree",
        "Neighbour searches and clusters. The guides are :doc:`../kdtree` and :doc:`../clustering`.",
        [f"jaxapi.spatial.{name}" for name in xp.spatial.__all__]
        + [f"{result.__module__}.{result.__name__}" for result in RESULTS],
    ),
    "distance": (
        "spatial.distance",
        "Distances of vectors and of all pairs of rows. The guide is :doc:`../distance`.",
        [f"jaxapi.spatial.distance.{name}" for name in xp.spatial.distance.__all__],
    ),
    "interpolate": (
        "interpolate",
        "Functions of scattered data. The guide is :doc:`../interpolate`.",
        [f"jaxapi.interpolate.{name}" for name in xp.interpolate.__all__],
    ),
    "mutable": (
        "mutable: arrays that can be assigned to",
        "The functions are those of jaxapi and return arrays of this class. The guide is :doc:`../mutable`.",
        [
            f"jaxapi.mutable.{name}"
            for name in jaxapi.mutable.__all__
            if not hasattr(xp, name) and name != "lib"
        ]
        + ["jaxapi.mutable.lib.stride_tricks.sliding_window_view"],
    ),
}
NUMPYS = """
numpy: NumPy's interface
========================

NumPy's functions, with NumPy's arguments by place and name; what they say about arguments and results is in
NumPy's reference. The guide is :doc:`../numpy`, which tells what differs, and a table says where each name
:doc:`comes from <../numpy-names>`. Dtypes, constants and functions of text are NumPy's own.

"""
NUMPYS_MODULES = {
    "": "the main namespace",
    "linalg": "linear algebra",
    "fft": "Fourier transforms",
    "random": "random numbers",
}
CONSTANTS = {
    "e": "Euler's number, 2.718281828459045",
    "inf": "positive infinity",
    "nan": "not a number",
    "newaxis": "``None``, an alias for indexing",
    "pi": "the ratio of a circle's circumference to its diameter, 3.141592653589793",
}
# The pages that are not chapters of the standard, in groups.
GROUPS = {
    "Extensions of the standard": ["linalg", "fft"],
    "Points": ["spatial", "distance", "interpolate"],
    "Functions of arrays": ["fuse", "logspace"],
    "Arrays that can be assigned to": ["mutable", "numpy"],
}
EXTENSIONS = {"linalg": "linear algebra", "fft": "Fourier transforms"}
ROLE = re.compile(r":[\w:]+:`~?\.?([^`<]+?)(?: <[^`]*>)?`")


def main(folder):
    """Write the pages into `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    pages = {}
    for title, module, files in CHAPTERS:
        name = title.removeprefix("Extension ")
        heading = f"{name}: {EXTENSIONS[name]}" if name in EXTENSIONS else title
        found = {f"{module.__name__}.{short}": getattr(module, short) for short in names(module, files)}
        pages[name.lower().replace(" ", "-")] = page(heading, "", found)
    for name, (heading, introduction, found) in OURS.items():
        pages[name] = page(heading, introduction, {full: at(full) for full in found})
    pages["numpy"] = numpys_page()
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
    (folder / "index.rst").write_text(INTRODUCTION.lstrip() + contents(pages), encoding="utf-8")


def contents(pages):
    """Return the lists of pages, in groups."""
    others = [name for names in GROUPS.values() for name in names]
    groups = {"The standard's chapters": [name for name in pages if name not in others], **GROUPS}
    lists = []
    for caption, members in groups.items():
        lines = [".. toctree::", f"   :caption: {caption}", "   :maxdepth: 1", ""]
        lists.append("\n".join([*lines, *(f"   {name}" for name in members)]) + "\n\n")
    return "".join(lists)


def at(full):
    value = xp
    for name in full.split(".")[1:]:
        value = getattr(value, name)
    return value


def page(heading, introduction, found):
    """Return a page: a table of the names, then each name's entry."""
    lines = [heading, "=" * len(heading), "", introduction, "", ".. list-table::", "   :widths: 1 3", ""]
    for full, value in found.items():
        lines += [f"   * - :py:obj:`~{full}`", f"     - {summary(full, value)}"]
    return "\n".join([*lines, "", *(entry(full, value) for full, value in found.items())])


def numpys_page():
    """Return the page of `jaxapi.numpy`: for each module a table of its functions, then their signatures."""
    lines = [NUMPYS.strip()]
    for part, title in NUMPYS_MODULES.items():
        module = getattr(jaxapi.numpy, part) if part else jaxapi.numpy
        heading = f"jaxapi.numpy.{part}: {title}" if part else f"jaxapi.numpy: {title}"
        lines += ["", heading, "-" * len(heading), "", ".. list-table::", "   :widths: 1 3", ""]
        found = {f"{module.__name__}.{name}": getattr(module, name) for name in numpys_functions(module)}
        lines += [
            f"   * - :py:obj:`~{full}`\n     - {numpys_summary(value)}" for full, value in found.items()
        ]
        lines += ["", *(numpys_entry(full, value) for full, value in found.items())]
    return "\n".join(lines) + "\n"


def numpys_functions(module):
    """Return the names of a module's functions that are ours."""
    return [
        name
        for name in module.__all__
        if callable(getattr(module, name))
        and not inspect.isclass(getattr(module, name))
        and name not in _table.NUMPYS_OBJECTS
    ]


def numpys_entry(full, value):
    """Return the entry of a function: its signature, and what it does in a sentence."""
    try:
        signature = inspect.signature(value).replace(return_annotation=inspect.Signature.empty)
        parameters = re.sub(r"<[^<>]*>", "...", str(signature))
    except (TypeError, ValueError):
        parameters = "(...)"
    return f".. py:function:: {full}{parameters}\n\n   {numpys_summary(value)}.\n"


def numpys_summary(value):
    """Return the first sentence of the docstring; after "As numpy.sin" what NumPy says of that."""
    paragraphs = (inspect.getdoc(value) or "").split("\n\n")
    is_reference = paragraphs[0].startswith("As `numpy.") and len(paragraphs) > 1
    first = " ".join(paragraphs[is_reference].split())
    first = re.sub(r"`+([^`]+)`+", r"``\1``", ROLE.sub(r"`\1`", first)).replace("*", r"\*")
    return re.split(r"(?<=[a-z`)])\. ", first)[0].rstrip(".")


def entry(full, value):
    """Return a name's entry: its docstring, or for a function of jax.numpy what it does in a sentence."""
    if value in RESULTS:
        members = ", ".join(name for name, kind in vars(value).items() if isinstance(kind, property))
        return f".. autoclass:: {full}\n   :members: {members}\n"
    if inspect.isclass(value) and is_ours(value):
        text = f".. autoclass:: {full}\n   :members:\n   :inherited-members:\n   :exclude-members: {HIDDEN}\n"
        return text + "   :special-members: __call__\n" * ("__call__" in vars(value))
    if is_ours(value):
        return f".. autofunction:: {full}\n"
    if not is_function(value):
        return f".. py:data:: {full}\n\n   {summary(full, value)}.\n"
    try:
        parameters = re.sub(r"<[^<>]*>", "...", str(inspect.signature(value)))
    except (TypeError, ValueError):
        parameters = "(...)"
    name = full.removeprefix("jaxapi.")
    text = f"{summary(full, value)}. As in JAX, of anything array-like: ``jax.numpy.{name}``."
    return f".. py:function:: {full}{parameters}\n\n   {text}\n"


HIDDEN = "tree_flatten, tree_unflatten"


def is_ours(value):
    """Whether the name is jaxapi's; a function of `jax.numpy` that only converts its arrays first is not."""
    return getattr(value, "__module__", "").startswith("jaxapi") and not hasattr(value, "__wrapped__")


def is_function(value):
    return callable(value) and not isinstance(value, type(jnp.float32))


def summary(full, value):
    """Return the first sentence of the docstring; of an alias, that of its original."""
    name = full.split(".")[-1]
    if inspect.ismodule(value):
        return f"the module :doc:`{name}`"
    if not is_function(value):
        return CONSTANTS.get(name) or f"the dtype ``{name}``"
    text = inspect.getdoc(value) or "limits of an integer dtype"
    alias = re.match(r"Alias of :func:`jax\.numpy\.(\w+)`", text)
    text = inspect.getdoc(getattr(jnp, alias[1])) if alias else text
    paragraphs = text.split("\n\n")
    first = paragraphs[text.startswith(f"{name}(")]  # NumPy's begin with the signature
    text = ROLE.sub(r"`\1`", " ".join(first.split()))
    return re.split(r"(?<=[a-z`)])\. ", text)[0].rstrip(".")
