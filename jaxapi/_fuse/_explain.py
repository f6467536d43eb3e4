"""What XLA made of a fused function: its kernels, and what its cost analysis tells."""

import re
from typing import Any, NamedTuple

import jax

__all__ = ["Explanation", "count_kernels", "explain_compiled"]

# What takes no kernel of its own: names for buffers, and control flow, whose parts are counted.
_WITHOUT_KERNEL = frozenset(
    (
        *("add-dependency", "after-all", "bitcast", "call", "conditional", "constant", "domain"),
        *("get-tuple-element", "opt-barrier", "parameter", "partition-id", "replica-id", "tuple", "while"),
    )
)
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-<>]+) \(.*\{$")
_PARTS_OF_KERNEL = re.compile(
    r"(?:calls|to_apply|select|scatter|called_computations)=(\{[^}]*\}|%?[\w.\-<>]+)"
)
_UNITS = ("", "k", "M", "G", "T", "P")


class Explanation(NamedTuple):
    """What XLA made of a fused function for one call's arguments; ``print`` shows it as a table.

    On several devices every figure is of one device. What the installed JAX does not tell is None.

    Attributes
    ----------
    name : str
        The fused function's name.
    kernels : int
        How many kernels are launched: fusions, custom calls, sorts, matrix products, copies, exchanges
        between devices and the like. Those in loops and branches count once each. On the CPU, where nothing
        is launched, the count of the same instructions.
    bytes_accessed : int
        Bytes that XLA's cost analysis expects to be read and written.
    flops : int
        Floating-point operations by XLA's cost analysis, which counts a loop's body once.
    """

    name: str
    kernels: int | None
    bytes_accessed: int | None
    flops: int | None

    def __str__(self) -> str:
        rows = [
            ("kernels", _with_unit(self.kernels)),
            ("bytes moved", _with_unit(self.bytes_accessed, "B")),
            ("floating-point operations", _with_unit(self.flops)),
        ]
        width = max(len(label) for label, _ in rows)
        lines = [f"  {label:<{width}}  {value}" for label, value in rows]
        return "\n".join([self.name, *lines])


def _with_unit(number: float | None, unit: str = "") -> str:
    if number is None:
        return "unknown"
    thousands = (len(str(int(number))) - 1) // 3
    power = min(thousands, len(_UNITS) - 1)
    return f"{number / 1000**power:.3g} {_UNITS[power]}{unit}".rstrip()


def explain_compiled(name: str, compiled: jax.stages.Compiled) -> Explanation:
    """Read off what came out of the compiler."""
    module = compiled.as_text()
    kernels = None if module is None else count_kernels(module)
    costs: Any = compiled.cost_analysis()
    if not costs:
        return Explanation(name, kernels, bytes_accessed=None, flops=None)
    return Explanation(name, kernels, int(costs["bytes accessed"]), int(costs.get("flops", 0)))


def count_kernels(module: str) -> int:
    """Count the instructions of an optimised HLO module, given as text, that are a kernel each.

    The computations that a fusion, a sort or a reduction names are parts of its kernel.
    """
    computations: dict[str, list[str]] = {}
    parts_of_kernels: set[str] = set()
    current: list[str] = []
    for line in module.splitlines():
        header = _COMPUTATION.match(line)
        if header:
            current = computations[header[1]] = []
        elif " = " in line:
            opcode = _opcode(line)
            current.append(opcode)
            if opcode != "call":
                for names in _PARTS_OF_KERNEL.findall(line):
                    parts_of_kernels.update(re.findall(r"[\w.\-<>]+", names))
    return sum(
        _has_kernel(opcode)
        for computation, opcodes in computations.items()
        if computation not in parts_of_kernels
        for opcode in opcodes
    )


def _has_kernel(opcode: str) -> bool:
    """Whether an instruction is a kernel; of one that starts and ends apart the start counts."""
    return opcode not in _WITHOUT_KERNEL and not opcode.endswith(("-done", "-update"))


def _opcode(line: str) -> str:
    """Return the operation of a line ``%name = type operation(operands), attributes``."""
    _, after_name = line.split(" = ", 1)
    depth = 0  # of parentheses, in which the types of tuples stand
    for position, character in enumerate(after_name):
        depth += (character == "(") - (character == ")")
        if character == " " and depth == 0:
            return after_name[position + 1 :].partition("(")[0].strip()
    return after_name
