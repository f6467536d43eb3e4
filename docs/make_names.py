"""Write the table of NumPy's names and what each is in `jaxapi.numpy`.

    python docs/make_names.py [--check]

With `--check` it says whether the table is up to date.
"""

import pathlib
import sys

import numpy as np

import jaxapi.numpy as ours
from jaxapi.numpy import _table as table

PAGE = pathlib.Path(__file__).parent / "numpy-names.md"
PARTS = {"numpy": (np, ours), "numpy.linalg": (np.linalg, ours.linalg), "numpy.fft": (np.fft, ours.fft)}
PARTS["numpy.random"] = (np.random, ours.random)
HEAD = """# NumPy's names in `jaxapi.numpy`

Written by `docs/make_names.py` from the table in `jaxapi/numpy/_table.py`. On the CPU, outside of JAX's
transformations, each is NumPy's own. Elsewhere: *jaxapi*, *jax.numpy*: their function with NumPy's signature;
*NumPy's code*: NumPy's Python code, which runs on these arrays; *ours*, and why; *ufunc*: an object with
`reduce`, `accumulate`, `reduceat`, `outer` and `at`; *NumPy's*: NumPy's own object, of dtypes, constants
and text; *host*: takes copies in host memory.
"""


def state(name, numpys, module):
    """Return the state of a name."""
    if name not in module.__all__:
        try:
            getattr(module, name)
        except AttributeError as error:
            return "no: " + str(error).partition(": ")[2]
    found = getattr(module, name)
    if isinstance(found, ours.ufunc):
        return "ufunc"
    if found is getattr(numpys, name):
        return "NumPy's"
    if module is not ours:
        return "here"
    groups = {"host": table.ON_HOST, "NumPy's code": table.NUMPYS_CODE, "jaxapi": table.OF_JAXAPI}
    groups |= {"jax.numpy": table.OF_JAX} | {f"ours: {reason}": names for reason, names in table.OURS.items()}
    return next(group for group, names in groups.items() if name in names)


def page() -> str:
    """Return the page."""
    text = HEAD
    for part, (numpys, module) in PARTS.items():
        names = [n for n in getattr(numpys, "__all__", dir(numpys)) if not n.startswith("_")]
        states: dict[str, list] = {}
        for name in sorted(names):
            states.setdefault(state(name, numpys, module), []).append(f"`{name}`")
        text += f"\n## `{part}`\n\n| state | names |\n| --- | --- |\n"
        for each in sorted(states, key=lambda s: (s.startswith("no"), s)):
            text += f"| {each} | {' '.join(states[each])} |\n"
    return text


def main():
    """Write the page, or check it."""
    made = page()
    if "--check" in sys.argv:
        same = PAGE.exists() and PAGE.read_text() == made
        sys.exit(0 if same else "not up to date: run python docs/make_names.py")
    PAGE.write_text(made)


if __name__ == "__main__":
    main()
