"""Change jaxapi in a small way, one way at a time, and tell which of the changes its tests notice.

`nox -s mutants` runs all changes of mutants.toml; `-- --only linalg` those of a room, `-- --list` shows them.
Each is made in a copy of the files, never in these here. The tests without any change run first: they must
pass.
"""

import argparse
import ast
import collections
import concurrent.futures
import contextlib
import os
import pathlib
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from typing import NamedTuple

LIST = pathlib.Path(__file__).with_name("mutants.toml")
ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks", "docs", "examples", "jaxapi", "packaging", "tests")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "_build", ".*")
LEAST_SHARE = 0.9  # of the changes that change an answer, which the tests are to notice
TESTS_FAILED = 1
NO_TESTS = 5
KEYS = {"file", "old", "new", "tests", "changes", "equivalent", "optimized"}


class Mutant(NamedTuple):
    """One change."""

    name: str  # room.name
    file: str  # in the folder jaxapi
    old: str  # which is there once
    new: str
    tests: tuple[str, ...]  # the files that should notice it
    changes: str  # an answer that is another one
    equivalent: str  # the reason why no answer is another one; empty where some are
    optimized: bool  # whether the tests need XLA's optimizations

    @property
    def room(self) -> str:
        return self.name.partition(".")[0]


class Outcome(NamedTuple):
    """What came of a change."""

    verdict: str  # killed, survived or equivalent
    how: str  # the first test that failed, or what else happened
    seconds: float = 0.0


def main() -> int:
    """Run what is asked for; the exit status is 1 where the tests notice too few changes."""
    options = _options()
    mutants = _chosen(_read_list(), options)
    if options.list:
        for mutant in mutants:
            text = f"no other answer: {mutant.equivalent}" if mutant.equivalent else mutant.changes
            print(f"{mutant.name}: {mutant.file}\n    {text}")
        print(f"{len(mutants)} changes")
        return 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, _Runner(options, folder) as runner:
        if not options.without_baseline:
            runner.check_that_tests_pass(mutants)
        outcomes = runner.run(mutants)
    return _report(mutants, outcomes)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="a room, or room.name; again for more"
    )
    parser.add_argument("--part", metavar="I/N", help="the I-th of N parts of the list, such as 1/3")
    parser.add_argument("--list", action="store_true", help="show the changes, and run nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many run at once")
    parser.add_argument("--limit", type=float, default=400, help="seconds of a change, or of a file of tests")
    parser.add_argument(
        "--pytest-args", default="--quick", help="what chooses the tests; by default %(default)s"
    )
    parser.add_argument("--without-baseline", action="store_true", help="do not run tests unchanged first")
    return parser.parse_args()


# --- the list -------------------------------------------------------------------------------------------


def _read_list() -> list[Mutant]:
    """Return all changes; exit where one cannot be made as it is written."""
    rooms = tomllib.loads(LIST.read_text(encoding="utf-8"))
    mutants = []
    problems = []
    for room, entries in rooms.items():
        for name, entry in entries.items():
            mutant = Mutant(
                f"{room}.{name}",
                entry.get("file", ""),
                entry.get("old", ""),
                entry.get("new", ""),
                tuple(entry.get("tests", ())),
                entry.get("changes", ""),
                entry.get("equivalent", ""),
                entry.get("optimized", False),
            )
            problems += [f"{mutant.name}: {text}" for text in _problems(mutant, entry.keys())]
            mutants.append(mutant)
    if problems:
        sys.exit("\n".join([f"{LIST.name} does not fit the files:", *problems]))
    return mutants


def _problems(mutant: Mutant, keys) -> list[str]:
    """Return what is wrong with an entry."""
    problems = [f"unknown key {key!r}" for key in sorted(keys - KEYS)]
    path = ROOT / "jaxapi" / mutant.file
    if not path.is_file():
        return [*problems, f"there is no file jaxapi/{mutant.file}"]
    text = path.read_text(encoding="utf-8")
    count = text.count(mutant.old) if mutant.old else 0
    if count != 1:
        problems.append(f"the old text is {count} times in jaxapi/{mutant.file}, not once")
    elif mutant.old == mutant.new:
        problems.append("the new text is the old one")
    elif path.suffix == ".py":
        try:
            ast.parse(text.replace(mutant.old, mutant.new))
        except SyntaxError as error:
            problems.append(f"the new text is no Python: {error}")
    if bool(mutant.changes) == bool(mutant.equivalent):
        problems.append("it needs either changes= or equivalent=")
    if not mutant.tests and not mutant.equivalent:
        problems.append("it needs tests")
    return problems + [f"there is no file {test}" for test in mutant.tests if not (ROOT / test).is_file()]


def _chosen(mutants: list[Mutant], options: argparse.Namespace) -> list[Mutant]:
    """Return the changes that are asked for."""
    if options.only:
        known = {mutant.name for mutant in mutants} | {mutant.room for mutant in mutants}
        if unknown := sorted(set(options.only) - known):
            sys.exit(f"no changes are named {', '.join(unknown)}: see --list")
        mutants = [m for m in mutants if m.name in options.only or m.room in options.only]
    if options.part:
        number, count = map(int, options.part.split("/"))
        mutants = mutants[number - 1 :: count]
    return mutants


# --- runs -----------------------------------------------------------------------------------------------


class _Runner:
    """Copies of the files, one for each job, and the tests that run in them."""

    def __init__(self, options: argparse.Namespace, folder: str):
        self._pytest_args = shlex.split(options.pytest_args)
        self._limit = options.limit
        self._jobs = max(options.jobs, 1)
        self._copies: queue.Queue[pathlib.Path] = queue.Queue()
        self._processes: set[subprocess.Popen] = set()
        for number in range(self._jobs):
            self._copies.put(_copy_of_files(pathlib.Path(folder, str(number))))

    def __enter__(self) -> "_Runner":
        return self

    def __exit__(self, *_) -> None:
        for process in tuple(self._processes):
            _end(process)

    def check_that_tests_pass(self, mutants: list[Mutant]) -> None:
        """Exit where a file of tests fails, or has none, without any change."""
        changing = [mutant for mutant in mutants if not mutant.equivalent]
        runs = dict.fromkeys((test, mutant.optimized) for mutant in changing for test in mutant.tests)
        print(f"{len(runs)} files of tests without changes", flush=True)

        def outcome_of(run) -> Outcome:
            test, is_optimized = run
            return self._tested([test], is_optimized)

        wrong = []
        for (test, _), outcome in self._in_jobs(outcome_of, runs):
            if outcome.verdict != "survived":
                wrong.append(f"{test}: {outcome.how}")
        if wrong:
            sys.exit("\n".join(["these tests fail without any change:", *wrong]))

    def run(self, mutants: list[Mutant]) -> dict[Mutant, Outcome]:
        """Return what comes of each change."""
        print(f"{len(mutants)} changes, {self._jobs} at a time", flush=True)
        outcomes = {}
        for mutant, outcome in self._in_jobs(self._outcome, mutants):
            outcomes[mutant] = outcome
            print(f"{outcome.verdict:10} {outcome.seconds:4.0f} s  {mutant.name}  {outcome.how}", flush=True)
        return outcomes

    def _in_jobs(self, function, inputs):
        """Yield each input with its result, as they come."""
        with concurrent.futures.ThreadPoolExecutor(self._jobs) as pool:
            futures = {pool.submit(function, each): each for each in inputs}
            try:
                for future in concurrent.futures.as_completed(futures):
                    yield futures[future], future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.__exit__()
                raise

    def _outcome(self, mutant: Mutant) -> Outcome:
        if mutant.equivalent:
            return Outcome("equivalent", mutant.equivalent)
        return self._tested(mutant.tests, mutant.optimized, mutant)

    def _tested(self, tests, is_optimized: bool, mutant: Mutant | None = None) -> Outcome:
        """Return what the tests say of a change, or of none, made in a copy that nobody else uses."""
        copy = self._copies.get()
        try:
            if mutant is None:
                return self._run_pytest(copy, tests, is_optimized)
            path = copy / "jaxapi" / mutant.file
            text = path.read_text(encoding="utf-8")
            try:
                path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
                return self._run_pytest(copy, tests, is_optimized)
            finally:
                path.write_text(text, encoding="utf-8")
        finally:
            self._copies.put(copy)

    def _run_pytest(self, copy: pathlib.Path, tests, is_optimized: bool) -> Outcome:
        environment = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(copy),  # also of processes that tests start
            "JAXAPI_TESTS_UNOPTIMIZED": "" if is_optimized else "1",
        }
        settings = ("-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider")
        command = (sys.executable, "-m", "pytest", *settings, *self._pytest_args, *tests)
        start = time.monotonic()
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            process = subprocess.Popen(
                command,
                cwd=copy,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._processes.add(process)
            try:
                status = process.wait(self._limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                _end(process)
                self._processes.discard(process)
            output.seek(0)
            text = output.read()
        return _outcome_of(status, text, time.monotonic() - start)


def _outcome_of(status: int | None, text: str, seconds: float) -> Outcome:
    """Return what an exit status of pytest's, or None after the time limit, and its output say."""
    if status is None:
        return Outcome("killed", "hangs: it took longer than the limit", seconds)
    if status == 0:
        return Outcome("survived", "", seconds)
    failure = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
    if failure:
        return Outcome("killed", failure[1], seconds)
    if status < 0:
        return Outcome("killed", f"the process died of signal {-status}", seconds)
    reason = "no tests are chosen" if status == NO_TESTS else text[-2000:]
    if status == TESTS_FAILED:
        return Outcome("killed", reason, seconds)
    sys.exit(f"pytest ended with status {status}: {reason}")


def _end(process: subprocess.Popen) -> None:
    """End a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _copy_of_files(folder: pathlib.Path) -> pathlib.Path:
    """Copy what tests read into a folder, and return it."""
    folder.mkdir()
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=LEFT_OUT)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy2(path, folder)
    return folder


# --- the report -----------------------------------------------------------------------------------------


def _report(mutants: list[Mutant], outcomes: dict[Mutant, Outcome]) -> int:
    """Print how many changes the tests noticed, room by room, and which they did not."""
    by_room: dict[str, collections.Counter] = {}
    for mutant in mutants:
        by_room.setdefault(mutant.room, collections.Counter())[outcomes[mutant].verdict] += 1
    total = sum(by_room.values(), collections.Counter())
    print(f"\n{'':14} killed survived equivalent  share")
    for room, counts in (*by_room.items(), ("all", total)):
        numbers = f"{counts['killed']:6} {counts['survived']:8} {counts['equivalent']:10}"
        print(f"{room:14} {numbers} {_share(counts):6.0%}")
    survivors = [mutant for mutant in mutants if outcomes[mutant].verdict == "survived"]
    if survivors:
        print("\nsurvived:")
    for mutant in survivors:
        print(f"  {mutant.name} ({mutant.file}): {mutant.changes}")
    hanging = [mutant.name for mutant in mutants if outcomes[mutant].how.startswith("hangs")]
    if hanging:
        print(f"\nhang: {', '.join(hanging)}")
    return 0 if _share(total) >= LEAST_SHARE else 1


def _share(counts: collections.Counter) -> float:
    """Return the share that is noticed of the changes that change an answer."""
    changing = counts["killed"] + counts["survived"]
    return counts["killed"] / changing if changing else 1.0


if __name__ == "__main__":
    sys.exit(main())
