"""What jaxapi takes of JAX that JAX does not promise to keep; a test that fails says what replaces it.

The table in docs/kdtree-design.md has the same names.
"""

import pathlib
import re
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi
from jaxapi._core import _errors, _exact, _internals, _programs
from jaxapi._fuse import _integers
from jaxapi.mutable import _batches
from jaxapi.mutable._capacity import _interpreter
from jaxapi.mutable._capacity._dimensions import Bounds, Refused, UnknownCounts
from jaxapi.spatial._engines._cuda import _launch

PAGE_FILE = pathlib.Path(__file__).parents[1] / "docs" / "kdtree-design.md"
PAGE = PAGE_FILE.read_text(encoding="utf-8").partition("## Beyond JAX's")[2]
PACKAGE = pathlib.Path(jaxapi.__file__).parent  # the imported one: an sdist runs its tests on a wheel
SOURCES = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


class Internal(NamedTuple):
    """A name beyond JAX's public interface, what shows that it works, and what replaces it."""

    name: str
    works: Callable[[], bool]
    files: tuple[str, ...]
    replacement: str


def runs_ptx():
    if jax.default_backend() != "gpu":
        pytest.skip("XLA has this target on a GPU only")
    return _launch.runs(_launch.XLAS_TARGET)


def calls_back():
    from jax.experimental.buffer_callback import buffer_callback

    def double(_, out, x):
        np.asarray(out)[...] = 2 * np.asarray(x)

    call = buffer_callback(double, jax.ShapeDtypeStruct((3,), np.float32), vmap_method="expand_dims")
    with jax.default_device(jax.devices("cpu")[0]):
        return jax.jit(call)(jnp.arange(3, dtype=np.float32)).tolist() == [0, 2, 4]


def answers_of_all_ways(function):
    """Return what a function says inside of `jax.jit`, `jax.vmap` and `jax.grad`."""
    answers = []

    def asking(x):
        answers.append(function(x))
        return x

    jax.jit(asking)(1.0)
    jax.vmap(asking)(jnp.ones(2))
    jax.grad(asking)(1.0)
    return answers


def tells_traces():
    from jax.extend.core import find_top_trace

    outside = find_top_trace(())
    return all(answers_of_all_ways(lambda x: find_top_trace(()) is not outside))


def computes_at_once():
    def sees_a_value(_):
        with jax.core.eval_context():
            return float(jnp.ones(()) + 1) == 2

    return all(answers_of_all_ways(sees_a_value))


def tells_tracers():
    traced = answers_of_all_ways(lambda x: isinstance(x, jax.core.Tracer))
    return all(traced) and not isinstance(jnp.ones(()), jax.core.Tracer)


def tells_what_varies():
    return jax.typeof(jnp.ones(2)).manual_axis_type.varying == frozenset()


def tells_addresses():
    x = jax.device_put(np.arange(4.0, dtype=np.float32), jax.devices("cpu")[0])
    return x.unsafe_buffer_pointer() == np.asarray(x).ctypes.data


def shows_programs():
    def program(n, x):
        return jax.lax.while_loop(lambda state: state[0] < 3, lambda state: (state[0] + n, x + n), (n, x))

    traced = jax.jit(program).trace(5, jnp.zeros((), np.int8))
    promotion, other = _integers.integer_promotions(traced, 2)
    return np.dtype(np.int8) in promotion.dtypes and other is None


def runs_programs_with_other_quotients():
    x = jnp.ones(41, np.float32)
    plain = jax.make_jaxpr(lambda x: jnp.mean(x) - 1)(x)
    changed = jax.make_jaxpr(_exact.exact(lambda x: jnp.mean(x) - 1))(x)
    is_sealed = "custom_vmap_call" in str(changed) and "custom_vmap_call" not in str(plain)
    return is_sealed and _exact.exact(lambda x: jnp.mean(x) - 1)(x) == 0


def makes_weak_types():
    x = jax.jit(lambda x: _internals.as_weak(x) + jnp.ones((), np.float16))(jnp.ones(3, np.float32))
    return x.dtype == np.float16


def keeps_rows_in_order():
    def turned(x):
        return _internals.in_order_of_rows(x.T) + 1

    x = jnp.arange(6.0).reshape(2, 3)
    is_named = "layout_constraint" in str(jax.make_jaxpr(turned)(x))
    return is_named and np.array_equal(jax.jit(turned)(x), np.asarray(x).T + 1)


def program_of_many_primitives(x, matrix):
    """Has equations of most kinds that have rules of their own."""
    places = jnp.argsort(x)
    x = x.at[places].add(1).at[places].multiply(2).at[places].max(0).at[places].min(9).at[places].set(x)
    x = jax.lax.while_loop(lambda x: x[0] < 0, lambda x: x + 1, x)
    x, sums = jax.lax.scan(lambda x, y: (x + y, y), x, jnp.cumsum(matrix, axis=0))
    x = jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x)
    x = jax.checkpoint(jnp.tanh)(x)
    x = jax.nn.relu(x)  # with a derivative rule
    x = jnp.copy(jnp.pad(x, (0, 1))[:-1])[:, None][:, 0]
    decomposed = [jnp.linalg.qr(matrix), jnp.linalg.svd(matrix), jnp.linalg.eigh(matrix)]
    solved = jnp.linalg.solve(matrix, x), jnp.linalg.cholesky(matrix)
    found = jnp.argmax(x), jnp.max(x), jnp.sum(x), jnp.prod(x), jnp.any(x > 0), jax.lax.cummax(x)
    return decomposed, solved, found, sums, jnp.fft.fft(x), jnp.where(x > 0, x**-2, x / 3), x @ matrix


def knows_primitives():
    """By their names: JAX renames one now and then."""
    names = set()

    def collect(program):
        for equation in getattr(program, "jaxpr", program).eqns:
            names.add(equation.primitive.name)
            for parameter in jax.tree.leaves(list(equation.params.values())):
                inner = _internals.program_in(parameter)
                if inner is not None:
                    collect(inner)

    collect(jax.make_jaxpr(program_of_many_primitives)(jnp.ones(3), jnp.eye(3)))
    unknown = names - _interpreter._APART - _interpreter._RULES.keys()
    assert not unknown, f"no rule for {unknown}"
    return not {"div", "integer_pow"} - names


def takes_unknown_lengths():
    def of_program(function):
        counts = UnknownCounts([Bounds(17, 20)])
        traced = jax.jit(function).trace(jax.ShapeDtypeStruct(counts.dimensions(), np.float32))
        (made,) = _interpreter.evaluate(traced.jaxpr, [jnp.arange(20.0)], [20], [np.int32(18)])
        return np.asarray(made).tolist()

    is_counted = of_program(lambda x: jnp.sum(x) / x.shape[0]) == 8.5
    is_reversed = of_program(lambda x: x[::-1] + jnp.max(x))[:18] == list(range(34, 16, -1))
    with pytest.raises(Refused):
        of_program(lambda x: x if x.shape[0] == 18 else -x)
    return is_counted and is_reversed


def has_the_setting():
    return jax.config.jax_explicit_x64_dtypes.name in ("ALLOW", "WARN", "ERROR")


def takes_options():
    if jax.default_backend() != "gpu":
        pytest.skip("XLA takes these options on a GPU only")
    program = jax.jit(lambda x: x + 1, compiler_options=_programs._FASTER)
    return float(program(1.0)) == 2


def says_what_is_wrong():
    calls = (
        lambda: jnp.ones((2, 3)) + jnp.ones(4),
        lambda: jnp.concatenate([jnp.ones((2, 3)), jnp.ones(3)]),
        lambda: jnp.reshape(jnp.ones((2, 3)), (4,)),
    )
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as raised:
            call()
        if not isinstance(raised.value, ValueError) and _errors.numpy_error(raised.value) is None:
            return False
    return True


def finds_programs_with_rules():
    """With the settings by which JAX is to trace functions with derivative rules, where it has them."""
    settings = [name for name in ("jax_custom_jvp3", "jax_custom_vjp3") if name in jax.config.values]
    before = {name: jax.config.values[name] for name in settings}
    of_jvp = jax.custom_jvp(jnp.dot)
    of_jvp.defjvp(lambda x, slopes: (jnp.dot(*x), slopes[0]))
    of_vjp = jax.custom_vjp(jnp.dot)
    of_vjp.defvjp(lambda x, y: (jnp.dot(x, y), None), lambda _, slope: (slope, slope))
    try:
        for name in settings:
            jax.config.update(name, True)
        programs = [jax.make_jaxpr(lambda x, f=f: f(x, x))(jnp.ones((2, 2))) for f in (of_jvp, of_vjp)]
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
    return all(map(_batches._has_products, programs))


INTERNALS = [
    Internal(
        "__gpu$xla.gpu.ptx",
        runs_ptx,
        ("spatial/_engines/_cuda/_launch.py",),
        "the handler of jax.ffi in launcher.cpp",
    ),
    Internal(
        "jax.experimental.buffer_callback",
        calls_back,
        ("_core/_internals.py", "spatial/_scipy/_callback.py"),
        "jax.pure_callback, by of_packed in the second file",
    ),
    Internal(
        "jax.extend.core.find_top_trace",
        tells_traces,
        ("_core/_internals.py",),
        "jax.extend.core.get_opaque_trace_state",
    ),
    Internal(
        "jax.core.eval_context",
        computes_at_once,
        ("_core/_internals.py",),
        "jax.ensure_compile_time_eval",
    ),
    Internal(
        "jax.core.Tracer",
        tells_tracers,
        ("_core/_internals.py",),
        "a jax.Array of another class than type(jnp.zeros(()))",
    ),
    Internal(
        "manual_axis_type",
        tells_what_varies,
        ("spatial/_tree/_varying.py", "spatial/_mesh/_axes.py"),
        "the attribute of jax.typeof(x) that lists the axes now; it was vma once",
    ),
    Internal(
        "unsafe_buffer_pointer",
        tells_addresses,
        ("_interop/_dlpack.py", "_interop/_host_memory.py", "spatial/_engines/_cuda/_inputs.py"),
        "the pointer in x.__dlpack__(), or in numpy.asarray(x) on the CPU",
    ),
    Internal(
        "jaxpr.eqns",
        shows_programs,
        ("_fuse/_integers.py",),
        "the new form of a traced program; without it integers are not checked",
    ),
    Internal(
        "jax_custom_jvp3",
        finds_programs_with_rules,
        ("_core/_internals.py",),
        "the attribute of the equation's parameter that has the program now",
    ),
    Internal(
        "jaxpr_as_fun",
        runs_programs_with_other_quotients,
        ("_core/_internals.py", "_core/_exact.py"),
        "primitives bound one by one; without it quotients in compiled programs are XLA's",
    ),
    Internal(
        "convert_element_type_p",
        makes_weak_types,
        ("_core/_internals.py",),
        "its new parameters; a Python number that the result depends on makes it weak, too",
    ),
    Internal(
        "with_layout_constraint",
        keeps_rows_in_order,
        ("_core/_internals.py",),
        "its new name; without it lines of a batch may have other bits than alone",
    ),
    Internal(
        "the names of primitives",
        knows_primitives,
        ("mutable/_capacity/_interpreter.py", "_core/_exact.py"),
        "the new name beside the old one, in the tables at the end of these files",
    ),
    Internal(
        "dimension_as_value",
        takes_unknown_lengths,
        ("mutable/_capacity/_dimensions.py",),
        "the new names of primitives; without them fused functions compile for each length",
    ),
    Internal(
        "jax_explicit_x64_dtypes",
        has_the_setting,
        ("_core/_dtypes.py",),
        "nothing: JAX's own treatment of 64-bit dtypes counts then",
    ),
    Internal(
        "_FASTER",
        takes_options,
        ("_core/_programs.py",),
        "the options' new names; without them programs compile longer",
    ),
    Internal(
        "the words of JAX's errors",
        says_what_is_wrong,
        ("_core/_errors.py", "_fuse/_errors.py"),
        "the new words, in these files",
    ),
]


@pytest.mark.parametrize("internal", INTERNALS, ids=lambda internal: internal.name)
def test_it_works_on_this_jax(internal):
    try:
        works = internal.works()
    except Exception as error:
        works, reason = False, f": {type(error).__name__}: {error}"
    else:
        reason = ""
    used_in = ", ".join(f"jaxapi/{name}" for name in internal.files)
    assert works, (
        f"JAX {jax.__version__} broke {internal.name}{reason}\n"
        f"it is used in {used_in}; what replaces it: {internal.replacement}"
    )


@pytest.mark.parametrize("internal", INTERNALS, ids=lambda internal: internal.name)
def test_the_page_lists_it(internal):
    rows = [row for row in PAGE.splitlines() if row.startswith("|") and internal.name in row]
    assert len(rows) == 1
    for name in internal.files:
        assert f"`{name}`" in rows[0]
        assert PACKAGE / name in SOURCES


MODULES = {
    "jax.core",  # of which eval_context is asked for by its name
    "jax.experimental.buffer_callback",
    "jax.experimental.layout",  # behind each line of a batch
    "jax.extend.core",
}


@pytest.mark.thorough
def test_nothing_else_is_used():
    """Of JAX's modules that are private or experimental, and of `jax.core`: of one module of ours."""
    pattern = r"\b(?:jax\._src|jax\.(?:extend|interpreters|experimental|core)\b|jaxlib\.)[\w.]*"
    used: dict[str, set[str]] = {}
    for path, source in SOURCES.items():
        for line in source.splitlines():
            code = re.sub(r"#.*|\"[^\"]*\"|`[^`]*`", "", line)
            file = path.relative_to(PACKAGE).as_posix()
            for name in re.findall(pattern, code):
                used.setdefault(file, set()).add(name)
    assert used == {"_core/_internals.py": MODULES}
