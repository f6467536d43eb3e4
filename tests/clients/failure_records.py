"""A pytest plugin: write what became of each test, and where a failing one stood, as a line of JSON.

The file is that of `RECORDS` in the environment; tests that it already has are left out, so that a run goes
on where another one stopped. A test that takes longer than `SECONDS_PER_TEST` fails.
"""

import ast
import functools
import inspect
import itertools
import json
import os
import pathlib
import re
import signal
import textwrap

import pytest

RECORDS = pathlib.Path(os.environ["RECORDS"])
SECONDS_PER_TEST = int(os.environ.get("SECONDS_PER_TEST", "60"))


class TooSlow(BaseException):
    """Nothing that a test catches."""


def write(record):
    with RECORDS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def recorded():
    """Return the tests that the file has. One that began and has no end took the process with it."""
    if not RECORDS.exists():
        return set()
    lines = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]
    ended = {line["test"] for line in lines if "outcome" in line}
    began = {line["test"] for line in lines if "outcome" not in line}
    for test in sorted(began - ended):
        write({"test": test, "outcome": "failed", "type": "ProcessDied", "message": "the process died"})
    return began | ended


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    known = recorded()
    left_out = [item for item in items if name_of(item) in known]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if name_of(item) not in known]


def name_of(item):
    """Return the file's last two folders and the test: the same name on every machine."""
    test = item.nodeid.partition("::")[2]
    return "/".join(pathlib.PurePath(item.path).parts[-3:]) + "::" + test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    write({"test": name_of(item)})

    def stop(*_):
        raise TooSlow(f"took longer than {SECONDS_PER_TEST} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS_PER_TEST)
    try:
        return (yield)
    finally:
        signal.alarm(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" or report.outcome != "passed":
        outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        record = {"test": name_of(item), "outcome": outcome, "seconds": round(call.duration, 2)}
        if outcome == "failed" and call.excinfo is not None:
            signal.alarm(0)
            record |= failure(item, call.excinfo)
        write(record)
    return report


def failure(item, excinfo):
    """Return the exception, the frames, and the statement of the test file that failed with its names."""
    test_file = str(item.path)
    entries = list(itertools.dropwhile(lambda entry: str(entry.path) != test_file, excinfo.traceback))
    frames = [(str(entry.path), entry.lineno + 1, entry.name) for entry in entries]
    in_test = [entry for entry in entries if str(entry.path) == test_file]
    record = {
        "type": excinfo.type.__name__,
        "bases": [base.__name__ for base in excinfo.type.__mro__],
        "message": str(excinfo.value)[:1500],
        "cause": describe(excinfo.value.__cause__ or excinfo.value.__context__),
        "frames": [list(frame) for frame in frames[-12:]],
        "source": source_of(item.function),
        "parameters": parameters(item),
    }
    if in_test:
        entry = in_test[-1]
        record["statement"] = statement(test_file, entry.lineno + 1)
        record["names"] = small_values(entry.frame.f_locals)
    return record


def describe(error):
    return "" if error is None else f"{type(error).__name__}: {str(error)[:500]}"


def source_of(function):
    try:
        return textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):
        return ""


def parameters(item):
    call = getattr(item, "callspec", None)
    return small_values(call.params) if call else {}


def small_values(names):
    """Return the texts of those values that are short."""
    texts = {}
    for name, value in names.items():
        try:
            text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
        except Exception as error:
            text = f"repr raised {type(error).__name__}"
        if name != "self" and len(text) < 400:
            texts[name] = text
    return texts


@functools.cache
def statements(path):
    """Return the simple statements of a file, and the heads of the others, with their lines."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    lines = text.splitlines()
    spans = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno
            spans.append((node.lineno, max(last, node.lineno)))
    return lines, spans


def statement(path, line):
    """Return the text of the innermost statement at a line."""
    lines, spans = statements(path)
    around = [span for span in spans if span[0] <= line <= span[1]]
    first, last = min(around, key=lambda span: span[1] - span[0], default=(line, line))
    return textwrap.dedent("\n".join(lines[first - 1 : last]))
