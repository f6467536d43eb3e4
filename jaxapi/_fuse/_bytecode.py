"""Augmented assignments to a parameter whose value nobody reads, found in a function's bytecode.

``x += y`` changes the caller's array in NumPy and CuPy. A jax array cannot change: the statement
binds the local name ``x`` to a new array, which is lost unless something reads ``x`` afterwards.
CPython 3.11 to 3.14 compile it to ``LOAD_FAST x``, the right-hand side, ``BINARY_OP +=``,
``STORE_FAST x``, with some pairs of neighbouring loads and stores joined into one instruction.
"""

import dis
import inspect
from typing import NamedTuple

__all__ = ["LostAssignment", "lost_assignments", "refuse_lost_assignments"]

_ENDS_A_PATH = frozenset(["RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"])
_ALWAYS_JUMPS = frozenset(["JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"])
_ACCESSES = frozenset(["LOAD", "STORE", "DELETE"])
_READS_ALL_NAMES = frozenset(["locals", "vars", "eval", "exec", "dir"])


class LostAssignment(NamedTuple):
    """An augmented assignment whose value is never read."""

    parameter: str
    operator: str
    line: int


class _Access(NamedTuple):
    """One load or store of a local name; joined instructions make two of these."""

    kind: str  # "load", "store", or "other" for every instruction that touches no local
    name: str | None
    instruction: int
    start: tuple | None  # line and column; None for the second half of a joined instruction


class _Augmented(NamedTuple):
    name: str
    operator: str
    line: int
    load: int  # the access that reads the old value, -1 where it was not found
    store: int  # the access that binds the new one


def lost_assignments(func) -> tuple[LostAssignment, ...]:
    """Augmented assignments to parameters of ``func`` after which no path reads the parameter.

    Seen are the function's own parameters held in fast locals. Aliases, helper functions, parameters
    captured by inner functions, and functions with exception handlers or ``with`` blocks are not judged.
    """
    code = getattr(func, "__code__", None)
    if code is None or code.co_exceptiontable or not _READS_ALL_NAMES.isdisjoint(code.co_names):
        return ()
    instructions = list(dis.get_instructions(code))
    if not all(map(_is_understood, instructions)):
        return ()
    accesses, first_access = _list_accesses(instructions)
    parameters = set(inspect.getargs(code).args)
    augmented = [a for a in _find_augmented(instructions, accesses, first_access) if a.name in parameters]
    if not augmented:
        return ()
    followers = _list_followers(instructions, accesses, first_access)
    reached = {a.store: _loads_reached(a, accesses, followers) for a in augmented}
    own_load = {a.load: a.store for a in augmented if a.load >= 0}

    read = set()  # stores whose value is read, directly or by an augmented assignment that is itself read
    growing = True
    while growing:
        more = {
            store
            for store, loads in reached.items()
            if store not in read
            and any(own_load.get(load) is None or own_load[load] in read for load in loads)
        }
        read |= more
        growing = bool(more)
    return tuple(LostAssignment(a.name, a.operator, a.line) for a in augmented if a.store not in read)


def refuse_lost_assignments(name: str, func, lost: tuple[LostAssignment, ...], args, kwargs) -> None:
    """Raise TypeError if one of the parameters in ``lost`` holds an array (a Python number may be lost)."""
    if not lost:
        return
    values = inspect.signature(func).bind(*args, **kwargs).arguments
    for parameter, operator, line in lost:
        value = values.get(parameter)
        if getattr(value, "ndim", 0) > 0 or (
            hasattr(value, "dtype") and not getattr(value, "weak_type", False)
        ):
            raise TypeError(
                f"fused function {name!r} loses the result of `{parameter} {operator} ...` on line {line} "
                f"of {func.__code__.co_filename}: jax arrays are immutable, so the caller's array does not "
                f"change, and the new value is never read. Return it: `return {parameter}`"
            )


def _kinds(opname) -> list[str]:
    """List the loads and stores of locals that an instruction makes, from its name."""
    if "_FAST" not in opname:
        return []
    return ["load" if part == "LOAD" else "store" for part in opname.split("_") if part in _ACCESSES]


def _names(ins) -> tuple:
    return ins.argval if isinstance(ins.argval, tuple) else (ins.argval,)


def _is_understood(ins) -> bool:
    """Whether the instruction is as in CPython 3.11 to 3.14; later ones may differ."""
    kinds = _kinds(ins.opname)
    return not kinds or (
        len(kinds) == len(_names(ins)) and all(isinstance(name, str) for name in _names(ins))
    )


def _list_accesses(instructions):
    """Every instruction as one or two accesses, and where each instruction's first access is."""
    accesses, first_access = [], {}
    for number, ins in enumerate(instructions):
        first_access[ins.offset] = len(accesses)
        positions = ins.positions
        start = (positions.lineno, positions.col_offset) if positions and positions.lineno else None
        kinds, names = _kinds(ins.opname), _names(ins)
        if not kinds:
            accesses.append(_Access("other", None, number, start))
            continue
        for half, (kind, name) in enumerate(zip(kinds, names, strict=True)):
            accesses.append(_Access(kind, name, number, start if half == 0 else None))
    return accesses, first_access


def _find_augmented(instructions, accesses, first_access):
    for number, ins in enumerate(instructions[:-1]):
        if ins.opname != "BINARY_OP" or not ins.argrepr.endswith("="):
            continue
        store = first_access[instructions[number + 1].offset]
        if accesses[store].kind != "store":
            continue  # x[i] += y and x.a += y: jax and Python speak for themselves there
        name = accesses[store].name
        before = range(first_access[ins.offset] - 1, -1, -1)
        loads = [i for i in before if accesses[i].kind == "load" and accesses[i].name == name]
        start = accesses[store].start
        same_place = [i for i in loads if start is not None and accesses[i].start == start]
        joined = [i for i in loads if accesses[i].start is None]
        load = (same_place or joined or [-1])[0]
        yield _Augmented(name, ins.argrepr, ins.positions.lineno or 0, load, store)


def _list_followers(instructions, accesses, first_access):
    """For each access, the accesses that may come next."""
    followers = []
    for i, access in enumerate(accesses):
        ins = instructions[access.instruction]
        ends = i + 1 == len(accesses) or accesses[i + 1].instruction != access.instruction
        if not ends:
            followers.append([i + 1])
            continue
        following = []
        if ins.opname not in _ENDS_A_PATH and ins.opname not in _ALWAYS_JUMPS:
            following.append(i + 1)
        if ins.opcode in dis.hasjrel or ins.opcode in dis.hasjabs:
            following.append(first_access[ins.argval])
        followers.append([j for j in following if j < len(accesses)])
    return followers


def _loads_reached(augmented, accesses, followers):
    """Find the loads of the name that some path from the store reaches before the next store."""
    found, seen, waiting = set(), set(), list(followers[augmented.store])
    while waiting:
        i = waiting.pop()
        if i in seen:
            continue
        seen.add(i)
        if accesses[i].name == augmented.name:
            if accesses[i].kind == "load":
                found.add(i)
            else:
                continue
        waiting.extend(followers[i])
    return found
