"""Programs of JAX, gone through: evaluated with rules for some of their equations, and what is in these."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ._internals import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun, program_in

__all__ = ["evaluated", "opened", "programs_in"]


def opened(program: Any) -> Any:
    """Return a program, closed or not, without its constants: the variables and the equations."""
    return getattr(program, "jaxpr", program)


def programs_in(equation: Any) -> Iterator[Any]:
    """Yield the programs that an equation calls, chooses from or repeats, opened."""
    for parameter in equation.params.values():
        for item in parameter if isinstance(parameter, (tuple, list)) else (parameter,):
            program = program_in(item)
            if program is not None:
                yield opened(program)


def evaluated(
    program: Any,
    arguments: Sequence[Any],
    has_rule: Callable[[Any], bool],
    results_of: Callable[[Any, list[Any]], Sequence[Any]],
) -> list[Any]:
    """Return what a program, closed or not, computes.

    An equation that has a rule computes ``results_of(equation, operands)``.
    """
    jaxpr = opened(program)
    constants = program.consts if isinstance(program, ClosedJaxpr) else ()
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *arguments), strict=True))

    def value_of(variable: Any) -> Any:
        return variable.val if isinstance(variable, Literal) else values[variable]

    for follows_rule, equations in itertools.groupby(jaxpr.eqns, has_rule):
        if not follows_rule:
            values.update(_as_they_are(jaxpr, list(equations), values))
            continue
        for equation in equations:
            results = results_of(equation, [value_of(variable) for variable in equation.invars])
            values.update(zip(equation.outvars, results, strict=True))
    return [value_of(variable) for variable in jaxpr.outvars]


def _as_they_are(jaxpr: Jaxpr, equations: list[Any], values: dict[Any, Any]) -> dict[Any, Any]:
    """Return the values of what equations without a rule compute; they are a program of their own."""
    results = [variable for equation in equations for variable in equation.outvars]
    operands = {
        variable: None
        for equation in equations
        for variable in equation.invars
        if not isinstance(variable, Literal)
    }
    inputs = [variable for variable in operands if variable in values]
    alone = jaxpr.replace(
        constvars=[],
        invars=inputs,
        outvars=results,
        eqns=equations,
        effects=frozenset().union(*(equation.effects for equation in equations)),
    )
    return dict(zip(results, jaxpr_as_fun(ClosedJaxpr(alone, []))(*(values[x] for x in inputs)), strict=True))
