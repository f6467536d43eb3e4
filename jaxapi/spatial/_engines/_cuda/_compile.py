"""CUDA C++ to PTX, by NVRTC, once for each set of constants: in memory, and in a folder on disk.

`cuda.bindings.nvrtc` finds the library where jax[cuda12] and jax[cuda13] put it, and needs no driver, so
that kernels compile on machines without a GPU, too.
"""

import functools
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "OPTIONS",
    "Operands",
    "built",
    "compiled",
    "defines",
    "entry",
    "entry_name",
    "log",
    "nvrtc",
    "sources",
]

FOLDER = Path(__file__).parent / "kernels"
OPTIONS = ("--std=c++17", "--fmad=false")

# The PTX version that each architecture needs. NVRTC writes its own version, which a driver of the same
# major version may be too old for, although the kernels use nothing that is new.
OLDEST_PTX = {"75": "6.3", "80": "7.0", "86": "7.1", "87": "7.4", "89": "7.8", "90": "7.8"}
OLDEST_PTX |= {"100": "8.6", "103": "8.8", "120": "8.7", "121": "8.8"}

# What NVRTC writes that older versions do not know, and that says nothing but which bytes of a load are used.
HINTS = r'(?m)^\s*\.pragma "used_bytes_mask [^"]*";\n'


@functools.cache
def nvrtc():
    """Return the binding of NVRTC; ImportError where it or the library is missing."""
    from cuda.bindings import nvrtc

    try:
        nvrtc.nvrtcVersion()
    except Exception as failure:  # whatever a loader raises
        raise ImportError(f"NVRTC cannot be loaded: {failure}") from failure
    return nvrtc


@functools.cache
def sources() -> dict[str, bytes]:
    """Return the text of all sources by file name."""
    return {path.name: path.read_bytes() for path in sorted(FOLDER.glob("*.cu*"))}


class Operands(NamedTuple):
    """How many arrays a kernel takes."""

    inputs: int
    outputs: int


def entry_name(kernel: str) -> str:
    """Return the name of the function that does for each item of a batch what the kernel does."""
    return f"{kernel}_of_items"


def entry(kernel: str, operands: Operands) -> str:
    """Return the source of that function, which stands behind ``kernel``.cu with the macro ITEMS.

    Each block works for one item. Its arguments are of a type that becomes whichever pointer the kernel takes
    (`Array` in warp.cuh), so that no signature has to be known here. After the inputs come the bytes from
    item to item in each of the arrays, and how many items there are.
    """
    inputs = [f"input{i}" for i in range(operands.inputs)]
    outputs = [f"output{i}" for i in range(operands.outputs)]
    pointers_in = [f"char* {array}" for array in inputs]
    pointers_out = [f"char* {array}" for array in outputs]
    parameters = ", ".join([*pointers_in, "const long long* numbers", *pointers_out])
    arrays = [*inputs, *outputs]
    of_item = ", ".join(f"Array{{{array} + item * numbers[{i}]}}" for i, array in enumerate(arrays))
    return f"""
extern "C" __global__ void __launch_bounds__(MOST_THREADS, LEAST_BLOCKS) {entry_name(kernel)}({parameters}) {{
  const long long item = (long long)blockIdx.z * gridDim.y + blockIdx.y;
  if (item < numbers[{len(arrays)}]) {kernel}({of_item});
}}
"""


@functools.cache
def compiled(
    kernel: str,
    architecture: str,
    macros: tuple[tuple[str, str], ...],
    operands: Operands | None = None,
) -> str:
    """Return the PTX of ``kernel``.cu for an architecture such as '90', with these macros.

    With `operands` it is that of `entry`, which does for each item of a batch what the kernel does.
    """
    behind = ""
    if operands is not None:
        macros = (*macros, ("ITEMS", "1"))
        behind = entry(kernel, operands)
    options = [*OPTIONS, f"--gpu-architecture=compute_{architecture}", *defines(macros)]
    cached = cache_folder() / f"{_digest(kernel, options, behind)}.ptx"
    try:
        return cached.read_text()
    except OSError:
        ptx = _with_version(_ptx(kernel, options, behind), architecture)
        _keep(cached, ptx)
        return ptx


def cache_folder() -> Path:
    """Return where PTX is kept: next to JAX's compiled programs, or where programs keep such things."""
    folder = os.environ.get("JAX_COMPILATION_CACHE_DIR", "")
    if folder and "://" not in folder:
        return Path(folder) / "jaxapi"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxapi"


def _digest(kernel, options, behind: str) -> str:
    """Return a name for what the PTX depends on."""
    parts = [kernel, *options, nvrtc().nvrtcVersion(), OLDEST_PTX, HINTS, sources(), behind]
    return f"{kernel}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}"


def _keep(path: Path, text: str) -> None:
    """Write a file at once or not at all; without a place for it the next process compiles again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(text)
        os.replace(file.name, path)
    except OSError:
        pass


def defines(macros) -> list[str]:
    """Return the options that define macros."""
    return [f"-D{name}={value}" for name, value in macros]


def built(kernel: str, options: list[str], behind: str = ""):
    """Return NVRTC's program for ``kernel``.cu and what stands behind it, compiled.

    RuntimeError with the compiler's words if it does not compile.
    """
    headers = {name: text for name, text in sources().items() if name.endswith(".cuh")}
    names = [name.encode() for name in headers]
    file = f"{kernel}.cu"
    text = sources()[file] + behind.encode()
    program = _checked(
        nvrtc().nvrtcCreateProgram(text, file.encode(), len(names), list(headers.values()), names)
    )
    error, *_ = nvrtc().nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    if int(error):
        message = f"NVRTC does not compile {file} with {options}:\n{log(program)}"
        nvrtc().nvrtcDestroyProgram(program)
        raise RuntimeError(message)
    return program


def log(program) -> str:
    """Return what the compiler says."""
    text = b" " * _checked(nvrtc().nvrtcGetProgramLogSize(program))
    _checked(nvrtc().nvrtcGetProgramLog(program, text))
    return text.rstrip(b"\0").decode()


def _ptx(kernel: str, options: list[str], behind: str) -> str:
    program = built(kernel, options, behind)
    text = b" " * _checked(nvrtc().nvrtcGetPTXSize(program))
    _checked(nvrtc().nvrtcGetPTX(program, text))
    nvrtc().nvrtcDestroyProgram(program)
    return text.rstrip(b"\0").decode()


def _checked(answer):
    """Return the value of an answer (error, value)."""
    error, *value = answer
    if int(error):
        raise RuntimeError(f"NVRTC fails: {error}")
    return value[0] if value else None


def _with_version(ptx: str, architecture: str) -> str:
    """Ask for no newer PTX than the architecture needs."""
    oldest = OLDEST_PTX.get(architecture)
    if oldest is None:
        return ptx
    return re.sub(r"(?m)^\.version .*$", f".version {oldest}", re.sub(HINTS, "", ptx), count=1)
