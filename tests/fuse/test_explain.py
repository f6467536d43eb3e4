"""`explain`: kernels, bytes and operations of known programs, against `jax.jit`'s own cost analysis."""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi import fuse
from jaxapi._fuse._explain import count_kernels

X = np.ones((1024, 512), np.float32)

PROGRAMS = {
    "map": (lambda x, y: 1 + 0.5 * x * y, (X, X), 3 * X.nbytes),
    "where": (
        lambda mask, x: xp.where(mask[:, xp.newaxis], xp.inf, x),
        (np.ones(1024, bool), X),
        1024 + 2 * X.nbytes,
    ),
    "quotients and roots": (lambda x, y: xp.sqrt(x / (1 + y)) / (2 + x), (X, X), 3 * X.nbytes),
    "map and reduce": (lambda x, y: xp.sum(xp.exp(x * x + y * y)), (X, X), 2 * X.nbytes + 4),
}


# Without its emitters of fusions XLA reduces apart from the map.
HAS_EMITTERS = "--xla_cpu_use_fusion_emitters=false" not in os.environ.get("XLA_FLAGS", "")


@pytest.mark.parametrize(
    ("function", "args", "least"),
    [program for name, program in PROGRAMS.items() if HAS_EMITTERS or name != "map and reduce"],
)
def test_one_pass_over_memory(function, args, least):
    explanation = fuse(function, kernel_name="kern").explain(*args)
    assert explanation.name == "kern"
    assert 1 <= explanation.kernels <= 2
    assert least <= explanation.bytes_accessed <= 1.1 * least


@pytest.mark.parametrize(
    ("function", "args"),
    [(function, args) for name, (function, args, _) in PROGRAMS.items() if name != "quotients and roots"]
    + [(lambda x: jax.lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) @ c, x), (X[:8, :8],))],
)
def test_costs_are_those_of_jit(function, args):
    explanation = fuse(function).explain(*args)
    costs = jax.jit(function).lower(*args).compile().cost_analysis()
    assert explanation.flops == costs.get("flops", 0)
    assert explanation.bytes_accessed == costs["bytes accessed"]


def test_kernels_of_loops_branches_and_sorts_count_once():
    """A product in a loop, a sort with its comparison, a reduction in either branch."""
    x = X[:8, :8]
    one_product = fuse(lambda x: x @ x).explain(x)
    looped = fuse(lambda x: jax.lax.fori_loop(0, 5, lambda i, c: c @ c, x)).explain(x)
    assert one_product.kernels == 1
    assert one_product.kernels < looped.kernels <= one_product.kernels + 6  # counter, condition, copies
    assert fuse(lambda x: jax.lax.sort(x)).explain(x).kernels <= 2
    branches = fuse(lambda x: jax.lax.cond(x[0, 0] > 0, jnp.max, jnp.min, x)).explain(x)
    assert 2 <= branches.kernels <= 6  # a GPU's compiler may compute the condition together with a branch


# As XLA writes modules for GPUs, in which command buffers are called and copies start and end apart.
MODULE = """HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

%fused_computation (param_0: f32[4]) -> f32[4] {
  %param_0 = f32[4]{0} parameter(0)
  ROOT %sin.1 = f32[4]{0} sine(%param_0), metadata={op_name="jit(f)/sin (a = b)"}
}

%less (a: f32[], b: f32[]) -> pred[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %lt = pred[] compare(%a, %b), direction=LT
}

%body.1 (arg: (s32[], f32[4])) -> (s32[], f32[4]) {
  %arg = (s32[], f32[4]{0:T(128)}, /*index=2*/f32[]) parameter(0)
  %gte = f32[4]{0} get-tuple-element(%arg), index=1
  %wrapped_sine = f32[4]{0} fusion(%gte), kind=kLoop, calls=%fused_computation
  %start = ((f32[4]{0}), f32[4]{0}, u32[]) copy-start(%wrapped_sine)
  %done = f32[4]{0} copy-done(%start)
  ROOT %tuple.3 = (s32[], f32[4]{0}) tuple(%gte, %done)
}

%cond.1 (arg.1: (s32[], f32[4])) -> pred[] {
  %arg.1 = (s32[], f32[4]{0}) parameter(0)
  ROOT %compare = pred[] fusion(%arg.1), kind=kLoop, calls=%fused_computation
}

%command_buffer (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %gemm = (f32[4]{0}, s8[64]{0}) custom-call(%p), custom_call_target="gemm", called_computations={%less}
}

ENTRY %main.9 (x.1: f32[4]) -> f32[4] {
  %x.1 = f32[4]{0} parameter(0), metadata={op_name="x"}
  %call = f32[4]{0} call(%x.1), to_apply=%command_buffer
  %copy.1 = f32[4]{0} copy(%call)
  %tuple = (s32[], f32[4]{0}) tuple(%copy.1, %copy.1)
  %while.5 = (s32[], f32[4]{0}) while(%tuple), condition=%cond.1, body=%body.1
  ROOT %out = f32[4]{0} get-tuple-element(%while.5), index=1
}
"""


def test_a_module_of_a_gpu():
    """The custom call, the two copies and the two fusions."""
    assert count_kernels(MODULE) == 5


def test_table():
    lines = str(fuse(lambda x: xp.sum(x), kernel_name="total").explain(X)).splitlines()
    assert lines[0] == "total"
    assert [line.split()[0] for line in lines[1:]] == ["kernels", "bytes", "floating-point"]
    assert "2.1 MB" in lines[2]


def test_counts_are_of_these_arguments_and_calls_do_not_matter():
    f = fuse(lambda x, g, k=2: g(x) * k)
    before = f.explain(X, xp.sin, k=3)
    f(X, xp.sin, k=3)
    assert f.explain(X, xp.sin, k=3) == before
    assert f.explain(X[:1], xp.sin).bytes_accessed < before.bytes_accessed


def test_wide_inputs_stay_wide(x64):
    assert fuse(lambda x: x + 1).explain(X.astype(np.float64)).bytes_accessed == 4 * X.nbytes


def test_of_a_method_and_errors_are_translated():
    class Scale:
        def __init__(self):
            self.by = 2.0

        @fuse
        def of(self, x):
            return x * self.by

    moved = Scale().of.explain(X).bytes_accessed
    assert 2 * X.nbytes < moved <= 2 * X.nbytes + 8
    with pytest.raises(TypeError, match="Python scalar"):
        fuse(lambda x: x if x > 0 else -x).explain(X)
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        fuse(lambda x, n: x + n).explain(X.astype(np.int8), 300)


def test_partial_has_a_name():
    assert fuse(functools.partial(xp.sum, axis=0)).explain(X).name == "partial"
