"""`explain`: what it reads from the compiled module, checked on hand-written modules and known programs."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi import fuse
from jaxapi._fuse._explain import explain_traced, kernels_of

MODULE = """HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

%fused_computation (param_0: f32[4]) -> f32[4] {
  %param_0 = f32[4]{0} parameter(0)
  ROOT %sin.1 = f32[4]{0} sine(%param_0), metadata={op_name="jit(f)/sin (a = b)"}
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
  ROOT %gemm = (f32[4]{0}, s8[64]{0}) custom-call(%p), custom_call_target="__cublas$gemm"
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


def test_counts_entry_calls_and_loop_bodies_but_not_the_inside_of_fusions():
    found = {(k.kind, k.name, k.in_loop) for k in kernels_of(MODULE)}
    assert found == {
        ("custom-call", "gemm", False),
        ("copy", "copy.1", False),
        ("fusion", "wrapped_sine", True),
        ("copy", "start", True),
        ("fusion", "compare", True),
    }


X = np.ones((1024, 512), np.float32)


@pytest.mark.parametrize(
    ("function", "args", "least"),
    [
        (lambda x, y: 1 + 0.5 * x * y, (X, X), 3 * X.nbytes),
        (lambda m, p: xp.where(m[:, xp.newaxis], xp.inf, p), (np.ones(1024, bool), X), 1024 + 2 * X.nbytes),
        (lambda x, y: xp.sum(xp.sqrt(x * x + y * y)), (X, X), 2 * X.nbytes + 4),
    ],
    ids=["map", "where", "map-reduce"],
)
def test_one_pass_over_memory(function, args, least):
    explanation = fuse(function, kernel_name="kern").explain(*args)
    assert explanation.name == "kern"
    assert explanation.module == "jit_kern"
    assert explanation.device == jax.devices()[0].device_kind
    assert 1 <= explanation.kernels <= 2
    assert explanation.kernels == len(explanation.instructions)
    assert explanation.bytes_least == least
    assert least <= explanation.bytes_accessed <= 1.1 * least
    assert explanation.flops > 0
    assert explanation.compile_seconds > 0


def test_unused_inputs_are_not_moved():
    explanation = fuse(lambda x, unused: x + 1).explain(X, X)
    assert explanation.bytes_least == 2 * X.nbytes


def test_table():
    text = str(fuse(lambda x: xp.sum(x), kernel_name="total").explain(X))
    assert text.startswith(f"total on {jax.devices()[0].device_kind}\n")
    for label in ("bytes moved", "inputs + outputs", "floating-point operations", "compile time"):
        assert f"\n  {label} " in text
    assert "2.1 MB" in text


def test_loop_is_seen():
    explanation = fuse(lambda x: jax.lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) @ c, x)).explain(
        np.ones((8, 8), "f4")
    )
    assert any(k.in_loop for k in explanation.instructions)


def test_counts_are_of_these_arguments_and_calls_do_not_matter():
    f = fuse(lambda x, g, k=2: g(x) * k)
    before = f.explain(X, xp.sin, k=3)
    f(X, xp.sin, k=3)
    after = f.explain(X, xp.sin, k=3)
    assert before[:-1] == after[:-1]
    assert f.explain(X[:1], xp.sin).bytes_least < before.bytes_least


def test_wide_inputs_stay_wide(x64):
    assert fuse(lambda x: x + 1).explain(X.astype(np.float64)).bytes_least == 4 * X.nbytes


def test_of_a_method_and_errors_are_translated():
    class Scale:
        def __init__(self):
            self.by = 2.0

        @fuse
        def of(self, x):
            return x * self.by

    scalar = np.dtype(float).itemsize if jax.config.jax_enable_x64 else 4
    assert Scale().of.explain(X).bytes_least == 2 * X.nbytes + scalar
    with pytest.raises(TypeError, match="Python scalar"):
        fuse(lambda x: x if x > 0 else -x).explain(X)
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        fuse(lambda x, n: x + n).explain(X.astype(np.int8), 300)


def test_partial_has_a_name():
    assert fuse(functools.partial(xp.sum, axis=0)).explain(X).name == "partial"


class Future:
    """Stands for what a JAX of the future returns: each attribute as given, calls return it or raise it."""

    def __init__(self, **answers):
        self._answers = answers

    def __getattr__(self, name):
        answer = self._answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer


def raises(*args, **kwargs):
    raise NotImplementedError("not in this JAX")


SILENT = {"as_text": raises, "cost_analysis": raises, "input_shardings": KeyError("gone")}
OTHER = {
    "as_text": lambda: "module @main { func.func ... }",
    "cost_analysis": lambda: [{"bytes": 3}],
    "input_shardings": (),
    "output_shardings": (),
}


@pytest.mark.parametrize(
    "answers", [SILENT, OTHER, {**OTHER, "as_text": lambda: None, "cost_analysis": dict}]
)
def test_another_jax_leaves_fields_unknown(answers):
    compiled = Future(**answers)
    traced = Future(lower=lambda: Future(compile=lambda: compiled), jaxpr=AttributeError("gone"))
    explanation = explain_traced("kern", traced)
    assert explanation.name == "kern"
    assert explanation.module is explanation.kernels is None
    assert explanation.bytes_accessed is explanation.bytes_least is None
    assert explanation.instructions == ()
    text = str(explanation)
    assert "bytes moved " in text
    assert text.count("unknown") >= 3


def test_an_error_of_the_compiler_is_not_hidden():
    def refuse():
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        explain_traced("kern", Future(lower=lambda: Future(compile=refuse)))
