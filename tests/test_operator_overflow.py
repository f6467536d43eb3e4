"""The plugin for the official suite excuses the suite's own operators with large ints, and nothing else."""

import os
import pathlib

import jax
import pytest

pytest_plugins = ["pytester"]
FOLDER = pathlib.Path(__file__).parent / "conformance"
HELPERS = """
import jax.numpy as jnp
import pytest
import jaxapi as xp
from hypothesis import given, strategies as st

x = jnp.asarray([5], dtype=jnp.int32)
LARGE = 2**31


def error(function):
    with pytest.raises(Exception) as caught:
        function()
    return caught.value
"""
OTHER = """
def _operator_floordiv(self, other):
    return self // other

source = "def _operator_add(self, other): raise self"
exec(compile(source, "jax/_src/numpy/array_methods.py", "exec"))
"""
EXCUSED = {
    "operator": "x // LARGE",
    "reflected": "LARGE - x",
    "comparison": "assert (x > -(2**63)).all()",
    "wide": "jnp.asarray([5], dtype=jnp.int64) & LARGE",
    "unsigned": "jnp.asarray([5], dtype=jnp.uint32) == LARGE",
    "in place": "y = x; y += LARGE",
    "eval": "eval('x // s', {'x': x, 's': LARGE})",
    "exec": "exec('x //= s', {'x': x, 's': LARGE})",
    "helper": "(lambda: x % LARGE)()",
    "as if JAX's": "other._operator_add(OverflowError(), 2**31)",
    "group": "raise ExceptionGroup('', [error(lambda: x + LARGE), error(lambda: x > LARGE)])",
    "nested": "raise ExceptionGroup('', [ExceptionGroup('', [error(lambda: x + LARGE)])])",
    "hypothesis": "given(st.booleans())(lambda b: x // LARGE if b else x > LARGE)()",
}
FAILED = {
    "assertion": "assert x // 2 == LARGE % 5 + 9",
    "another error": "x // 'a'",
    "jaxapi": "xp.floor_divide(x, LARGE)",
    "jaxapi, no operator": "xp.asarray(LARGE, dtype=xp.int32)",
    "jax.numpy": "jnp.add(x, LARGE)",
    "method": "x.clip(LARGE)",
    "method like an operator": "LARGE in x",
    "operator elsewhere": "other._operator_floordiv(x, LARGE)",
    "small int": "other._operator_add(OverflowError(), 2**31 - 1)",
    "another error of a large int": "other._operator_add(TypeError(), LARGE)",
    "own error": "raise OverflowError(LARGE)",
    "group": "raise ExceptionGroup('', [error(lambda: x + LARGE), AssertionError()])",
    "nested": "raise ExceptionGroup('', [ExceptionGroup('', [error(lambda: x + LARGE)]), ValueError()])",
    "group with jaxapi's": "f = xp.remainder\n"
    "    raise ExceptionGroup('', [error(lambda: x % LARGE), error(lambda: f(x, LARGE))])",
    "hypothesis": "given(st.booleans())(lambda b: x // LARGE if b else 1 / 0)()",
    "raised from it": "try: x + LARGE\n    except OverflowError as e: raise ValueError() from e",
}


@pytest.fixture
def suite(pytester):
    """Return a function that writes tests with these bodies into a package of the suite's name."""
    pytester.makeini("[pytest]")  # not what a folder above the temporary one configures
    pytester.syspathinsert(FOLDER)
    package = pytester.mkpydir("array_api_tests")
    pytester.makepyfile(other=OTHER)

    def write(*bodies, module="test_fake.py", head="import other"):
        tests = (f"def test_{number}():\n    {body}\n" for number, body in enumerate(bodies))
        (package / module).write_text("\n\n".join([f"{HELPERS}\n{head}", *tests]), encoding="utf-8")

    return write


def run(pytester, *args):
    return pytester.runpytest_inprocess("-p", "operator_overflow", "-p", "no:cacheprovider", *args)


@pytest.fixture(autouse=True)
def only_our_plugins(monkeypatch):
    """Leave out whatever else is installed here."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_the_suites_own_operators_are_excused(pytester, suite):
    suite(*EXCUSED.values())
    with jax.enable_x64(False):
        result = run(pytester)
    result.assert_outcomes(xfailed=len(EXCUSED))
    lines = [f"array_api_tests/test_fake.py::test_{number}" for number in range(len(EXCUSED))]
    result.stdout.fnmatch_lines([f"*{len(EXCUSED)} excused: the suite's own use*"])
    result.stdout.fnmatch_lines_random(lines)


def test_everything_else_stays_a_failure(pytester, suite):
    suite(*FAILED.values())
    with jax.enable_x64(False):
        result = run(pytester)
    result.assert_outcomes(failed=len(FAILED))
    result.stdout.no_fnmatch_line("* excused: *")


def test_another_folder_is_not_the_suite(pytester, suite):
    suite("x // LARGE")
    pytester.path.joinpath("array_api_tests").rename(pytester.path / "other_tests")
    with jax.enable_x64(False):
        run(pytester).assert_outcomes(failed=1)


def test_nothing_is_excused_with_x64_on(pytester, suite):
    suite("x // 2**64")
    with jax.enable_x64(True):
        run(pytester).assert_outcomes(failed=1)
    with jax.enable_x64(False):
        run(pytester).assert_outcomes(xfailed=1)


def test_only_the_call_is_excused(pytester, suite):
    suite("pass", head="@pytest.fixture(autouse=True)\ndef setup():\n    x // LARGE")
    with jax.enable_x64(False):
        run(pytester).assert_outcomes(errors=1)


def test_a_listed_failure_is_not_counted_as_excused(pytester, suite):
    suite("x // LARGE", head="pytestmark = pytest.mark.xfail(strict=True, reason='listed')")
    with jax.enable_x64(False):
        result = run(pytester)
    result.assert_outcomes(xfailed=1)
    result.stdout.no_fnmatch_line("* excused: *")


@pytest.mark.thorough
def test_the_report_names_line_and_error_through_xdist(pytester, suite, monkeypatch):
    suite("half()", head="def half():\n    return x // LARGE")
    suite("assert False", module="test_false.py")
    paths = [str(FOLDER), str(FOLDER.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("JAX_ENABLE_X64", "0")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    result = pytester.runpytest_subprocess("-p", "operator_overflow", "-p", "xdist", "-n", "1")
    result.assert_outcomes(xfailed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*1 excused: *",
            "array_api_tests/test_fake.py::test_0",
            "*test_fake.py:17: return x // LARGE  # _operator_floordiv(2147483648): OverflowError(*",
        ]
    )
