"""Augmented assignments to a parameter that nothing reads afterwards.

``x += y`` changes the caller's array in NumPy and CuPy. A jax array cannot change: the statement binds
the local name ``x`` to a new array, which is lost unless something reads ``x`` later.
"""

import ast
import inspect
from typing import Any, NamedTuple

__all__ = ["lost_assignments", "refuse_lost_assignments"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_READ_EVERY_NAME = frozenset(["locals", "vars", "eval", "exec", "dir"])


class LostAssignment(NamedTuple):
    """An augmented assignment to a parameter, with no reading of it further down."""

    parameter: str
    source: str  # the statement, as it is written
    line: int


def lost_assignments(func: Any) -> list[LostAssignment]:
    """Find them in the source of ``func``; none where there is no source.

    A reading counts if it stands further down, in a loop around the assignment, or in an inner function.
    """
    code: Any = getattr(func, "__code__", None)
    definition = _definition(code)
    if code is None or definition is None or not _READ_EVERY_NAME.isdisjoint(code.co_names):
        return []
    parameters = set(inspect.getargs(code).args)
    first_line = code.co_firstlineno - 2  # of the source, which starts with a line of ours
    return [
        LostAssignment(node.target.id, ast.unparse(node), first_line + node.lineno)
        for node, loops in _augmented_assignments(definition)
        if node.target.id in parameters and not _is_read(definition, node, loops)
    ]


def refuse_lost_assignments(name: str, func: Any, lost: list[LostAssignment], args, kwargs) -> None:
    """Raise TypeError if one of the parameters in ``lost`` holds an array (a Python number may be lost)."""
    if not lost:
        return
    values = inspect.signature(func).bind(*args, **kwargs).arguments
    for parameter, source, line in lost:
        value = values.get(parameter)
        if getattr(value, "ndim", 0) > 0 or (
            hasattr(value, "dtype") and not getattr(value, "weak_type", False)
        ):
            raise TypeError(
                f"fused function {name!r} loses the result of `{source}` on line {line} of "
                f"{func.__code__.co_filename}: jax arrays are immutable, so the caller's array does not "
                f"change, and the new value is never read. Return it: `return {parameter}`"
            )


def _definition(code):
    """Parse the function's own ``def``; None for a lambda or without source."""
    try:
        source = inspect.getsource(code)
        (definition,) = ast.parse("if True:\n" + source if source[:1].isspace() else "\n" + source).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    (definition,) = definition.body if isinstance(definition, ast.If) else (definition,)
    return definition if getattr(definition, "name", None) == code.co_name else None


def _augmented_assignments(node, loops=()):
    """Those of a function's own body to a plain name, each with the loops around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name):
            yield child, loops
        elif isinstance(child, (ast.For, ast.While)):
            yield from _augmented_assignments(child, (*loops, child))
        elif not isinstance(child, _SCOPES):
            yield from _augmented_assignments(child, loops)


def _is_read(definition, assignment, loops) -> bool:
    name, end = assignment.target.id, (assignment.end_lineno, assignment.end_col_offset)
    around = {id(node) for loop in loops for node in ast.walk(loop)}
    inner = {
        id(node)
        for scope in ast.walk(definition)
        if isinstance(scope, _SCOPES) and scope is not definition
        for node in ast.walk(scope)
    }
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and ((node.lineno, node.col_offset) >= end or id(node) in around or id(node) in inner)
        for node in ast.walk(definition)
    )
