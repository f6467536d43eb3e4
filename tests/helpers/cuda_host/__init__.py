"""The CUDA engine without a GPU: its kernels compiled by a host compiler, called by XLA's callbacks.

The compiler is the system's g++, or that of the wheel ziglang.
"""

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import jax
import numpy as np

from jaxapi.spatial._engines._cuda import _compile

HEADER = Path(__file__).parent / "host.h"
DTYPES = {"int": "i4", "unsigned": "i4", "long long": "i8", "float": "f4", "double": "f8"}  # of numbers
ONE_AT_A_TIME = threading.Lock()  # the lanes of a kernel are static, and several devices have threads


@contextlib.contextmanager
def x64_in_all_threads():
    """Turn x64 on, also in the threads that XLA calls back in: there `jax.enable_x64` changes nothing."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


def kept(parts: str, suffix: str) -> Path:
    """Return where the next run finds what was compiled of these parts: nox names the folder."""
    folder = Path(os.environ.get("JAXAPI_TESTS_CACHE") or Path(tempfile.gettempdir()) / "jaxapi-tests")
    (folder / "kernels").mkdir(parents=True, exist_ok=True)
    return folder / "kernels" / (hashlib.sha256(parts.encode()).hexdigest()[:32] + suffix)


@functools.cache
def compiler() -> list[str] | None:
    """Return the command of a C++ compiler, `None` without one."""
    if shutil.which("g++"):
        return ["g++"]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "c++"]
    return None


@functools.cache
def library(kernel):
    """Compile a kernel; return its function ``run(pointers, blocks, threads)``."""
    folder, name = _compile.FOLDER, kernel.name
    text = f'#include "{HEADER}"\n#include "{folder / name}.cu"\n'
    text += 'extern "C" int run(void** arguments, long long blocks, int threads)'
    text += f" {{ return host::run({name}, arguments, blocks, threads); }}\n"
    options = [
        "-std=c++17", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-U_FORTIFY_SOURCE", "-w", "-fPIC",
        "-shared",
    ]  # fmt: skip
    options += [f"-I{folder}", *(f"-D{key}={value}" for key, value in kernel.macros)]
    parts = repr([text, options, compiler(), HEADER.read_bytes(), _compile.sources()])
    built = kept(parts, ".so")
    if not built.exists():
        with tempfile.TemporaryDirectory() as place:
            source, made = Path(place) / "kernel.cpp", Path(place) / "kernel.so"
            source.write_text(text)
            subprocess.run([*compiler(), *options, str(source), "-o", str(made)], check=True)
            fresh = built.with_suffix(f".{os.getpid()}")
            shutil.copy(made, fresh)
            os.replace(fresh, built)
    return ctypes.CDLL(str(built)).run


def aligned(array: np.ndarray) -> np.ndarray:
    """Return a copy that begins where vectors may."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def garbage(dtype):
    """Return what memory may hold that nobody has written."""
    return np.nan if np.issubdtype(dtype, np.floating) else 77


@functools.cache
def parameters(kernel):
    """Return the parameters (const, type, name) of a kernel's source, as a preprocessor leaves it."""
    options = ["-E", "-P", "-xc++", '-DKERNEL(threads, blocks)=extern "C" void']
    options += [f"-I{_compile.FOLDER}", *(f"-D{key}={value}" for key, value in kernel.macros)]
    command = [*compiler(), *options, str(_compile.FOLDER / f"{kernel.name}.cu")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    types = dict(re.findall(r"using (\w+) = ([^;]+);", text))
    (declared,) = re.findall(rf'extern "C" void\s+{kernel.name}\(([^)]*)\)', text)
    found = [re.fullmatch(r"\s*(const )?([\w ]+)\*\s*(\w*)\s*", each) for each in declared.split(",")]
    return [(each[1] is not None, types.get(each[2], each[2]), each[3]) for each in found]


def check_operands(kernel, inputs, outputs):
    """Raise if arrays are not those that the source names, in its order, and of its dtypes.

    An array that is changed in place is among the inputs, where the source leaves it without a name.
    """
    declared = parameters(kernel)
    names = [name for is_input, _, name in declared]
    handed = [("" if name in outputs else name) for name in inputs] + [*outputs]
    is_input = [True] * len(inputs) + [False] * len(outputs)
    if names != handed or is_input != [const for const, _, _ in declared]:
        raise AssertionError(f"{kernel.name} takes {names}, not {handed}")
    arrays = [*inputs.values(), *outputs.values()]
    for name, array, (_, c_type, _) in zip([*inputs, *outputs], arrays, declared, strict=True):
        dtype = np.dtype(array.dtype)
        expected = DTYPES.get(c_type)
        if expected and (dtype.kind == "f", dtype.itemsize) != (expected[0] == "f", int(expected[1])):
            raise AssertionError(f"{kernel.name} takes {name} as {c_type}, not as {dtype}")


def custom_call(kernel, blocks, threads, inputs, outputs, items):
    """Do on the host what `_launch.custom_call` lets XLA do on a GPU; outputs begin as garbage."""
    check_operands(kernel, inputs, outputs)
    run = library(kernel)
    in_place = {list(outputs).index(name): i for i, name in enumerate(inputs) if name in outputs}
    inputs, outputs = tuple(inputs.values()), tuple(outputs.values())
    dtypes = [each.dtype for each in inputs]

    def call(*inputs):
        if [each.dtype for each in inputs] != dtypes:  # of a search given up, when its test had ended
            raise AssertionError("x64 was turned off while a kernel waited")
        inputs = [aligned(np.asarray(each)) for each in inputs]
        results = [aligned(np.full(each.shape, garbage(each.dtype), each.dtype)) for each in outputs]
        for output, i in in_place.items():
            results[output] = inputs[i]
        addresses = np.array([each.ctypes.data for each in (*inputs, *results)])
        strides = np.zeros(len(addresses), int) if items is None else np.array(items.strides)
        for item in range(1 if items is None else items.size):
            pointers = (ctypes.c_void_p * len(addresses))(*map(int, addresses + item * strides))
            with ONE_AT_A_TIME:
                failed = run(pointers, ctypes.c_longlong(blocks), ctypes.c_int(threads))
            if failed:
                raise AssertionError(f"the lanes of {kernel} did not do the same together")
        return tuple(results)

    return list(jax.pure_callback(call, outputs, *inputs, vmap_method="sequential"))
