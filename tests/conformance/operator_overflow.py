"""A pytest plugin for the official suite with x64 off: ``pytest -p operator_overflow``.

Lines of the suite hand operators of ``jax.Array`` Python ints. With x64 off such an operator raises
OverflowError for an int beyond int32, also next to a 64-bit array, so tests fail by the values drawn, and no
function of jaxapi is in between. Such a failure is reported as an expected one, with the suite's line; a test
in which anything else failed too stays failed.
"""

import linecache
import pathlib
import traceback

import jax
import pytest

REASON = "the suite's own use of an array operator with a Python int beyond int32"
SUITE = "array_api_tests"
OPERATORS = "jax/_src/numpy/array_methods.py"


def leaves(error):
    """Return the exceptions that a group holds, however nested, or the one itself."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in leaves(part)]
    return [error]


def excuse(error):
    """Say in which lines of the suite an operator had a large int, or None where anything else failed too."""
    frames = [frame_of_overflow(leaf) for leaf in leaves(error)]
    return None if None in frames else "\n".join(dict.fromkeys(frames))


def frame_of_overflow(error):
    """Return the suite's line that handed an operator an int beyond int32, or None for any other error."""
    if not isinstance(error, OverflowError):
        return None
    frames = list(traceback.walk_tb(error.__traceback__))
    inside = [i for i, (frame, _) in enumerate(frames) if is_suite(frame)]
    if not inside:
        return None
    suite, line = frames[inside[-1]]
    # the suite writes some operators as eval(expr) and exec(expr)
    after = (frame for frame, _ in frames[inside[-1] + 1 :] if frame.f_code.co_filename != "<string>")
    called = next(after, None)
    if called is None or not is_operator(called):
        return None
    operand = called.f_locals.get("other")
    if not isinstance(operand, int) or -(2**31) <= operand < 2**31:
        return None
    path = suite.f_code.co_filename
    text = linecache.getline(path, line).strip()
    return f"{pathlib.Path(path).name}:{line}: {text}  # {called.f_code.co_name}({operand}): {error!r}"


def is_suite(frame):
    return pathlib.PurePath(frame.f_code.co_filename).parent.name == SUITE


def is_operator(frame):
    path = pathlib.PurePath(frame.f_code.co_filename).as_posix()
    return path.endswith(OPERATORS) and frame.f_code.co_name.startswith("_operator_")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    """Report a test as an expected failure if it failed in nothing but the suite's own operators."""
    report = yield
    if call.when == "call" and report.outcome == "failed" and call.excinfo and not jax.config.jax_enable_x64:
        lines = excuse(call.excinfo.value)
        if lines:
            report.outcome = "skipped"
            report.wasxfail = f"{REASON}\n{lines}"
    return report


def pytest_terminal_summary(terminalreporter):
    """List what was excused, and where."""
    excused = [r for r in terminalreporter.stats.get("xfailed", []) if r.wasxfail.startswith(REASON)]
    if excused:
        terminalreporter.section(f"{len(excused)} excused: {REASON}")
    for report in excused:
        terminalreporter.line(report.nodeid)
        for line in report.wasxfail.splitlines()[1:]:
            terminalreporter.line(f"    {line}")
