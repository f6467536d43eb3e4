"""What XLA made of a fused function: kernels, bytes, operations, read from the compiled module."""

import math
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax

__all__ = ["Explanation", "Kernel", "explain_traced", "kernels_of"]

# What takes no kernel of its own: names for buffers, and the control flow whose parts are counted.
_FREE = frozenset(
    """
    add-dependency after-all bitcast call conditional constant domain get-tuple-element opt-barrier parameter
    partition-id replica-id tuple while
    """.split()  # noqa: SIM905 (a table that one can read)
)
_MODULE = re.compile(r"HloModule ([^\s,]+)")
_HEADER = re.compile(r"^(ENTRY )?%?([\w.\-<>]+) \(.*\{$")
_CALLED = re.compile(r"(?:to_apply|body|condition|true_computation|false_computation)=%?([\w.\-<>]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_UNITS = ["", "k", "M", "G", "T", "P"]


class Kernel(NamedTuple):
    """One instruction of the compiled module that runs as a kernel of its own."""

    kind: str  # fusion, custom-call, sort, dot, copy, ...
    name: str
    in_loop: bool  # whether it runs once for every iteration of a loop


class Explanation(NamedTuple):
    """What XLA made of a fused function for one call's arguments; ``print`` shows it as a table.

    On several devices every figure is of one device. What the installed JAX does not tell, or tells in
    another form, is None.

    Attributes
    ----------
    name : str
        The fused function's name.
    module : str
        The name of the compiled module, as a profile shows it.
    device : str
        The kind of device compiled for.
    devices : int
        How many of these the program runs on together.
    kernels : int
        How many kernels are launched: fusions, custom calls, sorts, matrix products, copies, exchanges
        between devices and the like of the entry computation and of the loops and branches it calls, each
        counted once. On the CPU, where nothing is launched, the count of the same instructions.
    instructions : tuple of Kernel
        These instructions: ``kind``, ``name``, and ``in_loop`` where it runs once an iteration.
    bytes_accessed : int
        Bytes that XLA's cost analysis expects to be read and written.
    bytes_least : int
        Bytes of the inputs in use and of the outputs: less is not possible.
    flops : int
        Floating-point operations by XLA's cost analysis, which counts a loop's body once.
    compile_seconds : float
        Time XLA took to compile, without tracing and lowering (little where the persistent cache had it).
    """

    name: str
    module: str | None
    device: str | None
    devices: int | None
    kernels: int | None
    instructions: tuple[Kernel, ...]
    bytes_accessed: int | None
    bytes_least: int | None
    flops: int | None
    compile_seconds: float

    def __str__(self) -> str:
        unit = "fusions and other instructions" if self.device == "cpu" else "kernels"
        ratio = ""
        if self.bytes_least and self.bytes_accessed is not None:
            ratio = f" ({self.bytes_accessed / self.bytes_least:.2f} of the least possible)"
        rows = [
            (unit, "unknown" if self.kernels is None else f"{self.kernels}"),
            *(("", f"{k.kind} {k.name}{' (in a loop)' if k.in_loop else ''}") for k in self.instructions),
            ("bytes moved", f"{_with_unit(self.bytes_accessed, 'B')}{ratio}"),
            ("inputs + outputs", _with_unit(self.bytes_least, "B")),
            ("floating-point operations", _with_unit(self.flops)),
            ("compile time", f"{1e3 * self.compile_seconds:.1f} ms"),
        ]
        width = max(len(label) for label, _ in rows)
        place = f"each of {self.devices} x {self.device}" if (self.devices or 1) > 1 else self.device
        lines = [f"{self.name} on {place}", *(f"  {label:<{width}}  {value}" for label, value in rows)]
        return "\n".join(lines)


def _with_unit(number: float | None, unit: str = "") -> str:
    if number is None:
        return "unknown"
    power = min(max(0, (len(str(int(number))) - 1) // 3), len(_UNITS) - 1)
    return f"{number / 1000**power:.3g} {_UNITS[power]}{unit}".rstrip()


def explain_traced(name: str, traced: Any) -> Explanation:
    """Compile a traced function and read off what came out."""
    lowered = traced.lower()
    start = time.perf_counter()
    compiled = lowered.compile()
    seconds = time.perf_counter() - start
    instructions = _read(lambda: tuple(kernels_of(compiled.as_text())))
    devices = _read(lambda: _devices_of(compiled))
    return Explanation(
        name=name,
        module=_read(lambda: _MODULE.findall(compiled.as_text())[0]),
        device=_read(lambda: min(device.device_kind for device in devices)),
        devices=_read(lambda: len(devices)),
        kernels=_read(lambda: len(instructions)),
        instructions=instructions or (),
        bytes_accessed=_read(lambda: int(compiled.cost_analysis()["bytes accessed"])),
        bytes_least=_read(lambda: _least_bytes(traced.jaxpr.jaxpr, compiled)),
        flops=_read(lambda: int(compiled.cost_analysis().get("flops", 0))),
        compile_seconds=seconds,
    )


def _read(what: Callable[[], Any]) -> Any:
    """Return what JAX tells, or None: texts and fields of its internals may change with any version."""
    try:
        return what()
    except Exception:
        return None


def _devices_of(compiled):
    shardings = jax.tree.leaves((compiled.input_shardings, compiled.output_shardings))
    return shardings[0].device_set if shardings else jax.devices()[:1]


def _least_bytes(jaxpr, compiled) -> int:
    """Bytes of the inputs and outputs, each one device's part; unused inputs have no sharding."""
    ends = [*jaxpr.invars, *jaxpr.outvars]
    shardings = jax.tree.leaves(
        (compiled.input_shardings, compiled.output_shardings), is_leaf=lambda sharding: sharding is None
    )
    return sum(
        math.prod(sharding.shard_shape(v.aval.shape)) * v.aval.dtype.itemsize
        for v, sharding in zip(ends, shardings, strict=True)
        if sharding is not None
    )


def kernels_of(module: str) -> Iterator[Kernel]:
    """Kernels in the text of an optimised HLO module, entry computation first."""
    computations, entry = _split_computations(module)
    if entry not in computations:
        raise ValueError("this is no text of an HLO module")
    waiting, seen = [(entry, False)], set()
    while waiting:
        name, in_loop = waiting.pop(0)
        if name in seen or name not in computations:
            continue
        seen.add(name)
        for instruction, opcode, line in computations[name]:
            if opcode in ("while", "call", "conditional"):
                branches = _BRANCHES.search(line)
                called = _CALLED.findall(line) + (branches[1].split(",") if branches else [])
                waiting += [(c.strip().lstrip("%"), in_loop or opcode == "while") for c in called]
            elif opcode not in _FREE and not opcode.endswith(("-done", "-update")):
                yield Kernel(opcode.removesuffix("-start"), instruction, in_loop)


def _split_computations(module: str):
    """Each computation's (name, opcode, line) instructions by its name, and the entry's name."""
    computations: dict[str, list] = {}
    entry, current = "", None
    for line in module.splitlines():
        header = _HEADER.match(line)
        if header:
            current = computations[header[2]] = []
            entry = header[2] if header[1] else entry
        elif line.startswith("}"):
            current = None
        elif current is not None and " = " in line:
            left, right = line.strip().split(" = ", 1)
            opcode = _after_type(right).split("(", 1)[0].strip()
            current.append((left.removeprefix("ROOT ").lstrip("%"), opcode, line))
    return computations, entry


def _after_type(text: str) -> str:
    """Drop the leading result type: a word, or a tuple in balanced parentheses."""
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == " " and depth == 0:
            return text[i + 1 :]
    return text
