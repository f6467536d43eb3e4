"""Class the failures of NumPy's and CuPy's own tests by cause, and write the tables of the documentation.

    python tests/clients/failure_causes.py FOLDER [--docs] [--list CAUSE]

FOLDER has the records of `run_suites.py`. A failure's cause is read from its evidence: the statement of the
test that failed, the values that this statement names, the parameters of the test, and the exception; and
for CUDA the whole test. The first rule that matches decides; what none matches is ours. A test function
passes if all its cases do, and has the cause of its worst case: one that is ours counts as ours.
"""

import argparse
import collections
import json
import pathlib
import re
from typing import NamedTuple

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
# Dtypes that JAX has not, and how memory lies: XLA's matter.
UNREACHABLE = ("object", "text", "structured", "date", "longdouble", "layout")
RAISED_NOT = re.compile(r"did not raise|not raised|DID NOT RAISE")


class Rule(NamedTuple):
    """A cause, and what the evidence says if it is this one."""

    cause: str
    statement: str = ""
    values: str = ""
    message: str = ""
    source: str = ""


RULES = [
    Rule(
        "object",
        r"\bobject\b|object_|dtype=['\"]O|['\"]O['\"]|Decimal|Fraction|frompyfunc",
        r"dtype\('O'\)|dtype=object|<class 'object'>|object_|^'\|?O'$|Decimal|Fraction",
        r"\bobject(?: dtype| arrays?\b)|dtype\('O'\)|dtype object|dtype=object|Decimal|Fraction",
    ),
    Rule(
        "date",
        r"datetime|timedelta|[mM]8|NaT\b",
        r"datetime64|timedelta64|[mM]8\[|NaT\b|^'[mM]'$",
        r"datetime64|timedelta64|NaT\b",
    ),
    Rule(
        "structured",
        r"dtype=\[\(|dtype\(\[|void\b|recarray|\brec\.|rational|['\"]V\d|['\"][a-z]\d?,|\(3,\)f|subarray",
        r"\[\('|dtype\(\[|void|rational|^'\|?V\d*'$|dtype=\[|\(\d,\)\)",
        r"\[\('\w*', '|void|structured|rational",
    ),
    Rule(
        "longdouble",
        r"longdouble|float128|complex256|['\"]g['\"]|['\"]G['\"]|longcomplex",
        r"longdouble|float128|complex256|^'[gG]'$",
        r"longdouble|float128|complex256",
    ),
    Rule(
        "text",
        r"\bstr_|bytes_|StringDType|\.char\b|['\"][|<>]?[SU]\d*['\"]|dtype=str\b|astype\(str\)|chararray"
        r"|array\(\[?b?['\"]",
        r"dtype\('[<>|]?[SU]\d*'\)|str_|bytes_|^'[|<>]?[SU]\d*'$|dtype='[<>|]?[SU]|StringDType|<class 'str'>",
        r"dtype\('[<>|]?[SU]\d|'<U\d|StringDType|\|S\d|of strings|dtype='<U|dtypes? str",
    ),
    Rule(
        "layout",
        r"order=|strides|\.flags\b|fortran|contiguous|as_strided|\.base\b|\.ctypes|\.data\b|aligned|memory"
        r"|['\"]>|newbyteorder|byteswap|__array_interface__|__array_struct__",
        r"^'[FAK]'$|dtype\('>|^'>[a-z]\d*'$|F_CONTIGUOUS",
        r"C_CONTIGUOUS|F_CONTIGUOUS|strides|not contiguous",
    ),
    Rule("references", r"getrefcount|gc\.|weakref|tracemalloc|thread|HAS_REFCOUNT|sys\.getsizeof"),
    Rule(
        "subclasses",
        r"(?i)matrix\b|\bma\.|masked|subok|__array_|sub_?class|my_?(?:nd)?array|sub_?array|foo\b|\bmemmap",
        r"(?i)matrix\(|<missing \w*mat|masked_array|my_?array|sub_?class",
        r"'(?:\w*mat|\w*matrix|ma|memmap)'|masked|__array_function__|sub-?class",
    ),
    Rule(
        "private",
        r"\b_core\.|ncu_tests|\._\w+\(|nditer|_multiarray_tests|np\.lib\._",
        r"built-in function array_indexing",
        r"attribute '_",
    ),
    Rule("warnings", "", "", r"DID NOT WARN|not warn|Warning not|WARN"),
    Rule("error text", "", "", r"Regex pattern did not match|does not match|Pattern .* not found"),
]
CUPY_RULES = [
    Rule(
        "CUDA",
        r"\bcuda\b|device|stream|memptr|__cuda_|MemoryPointer|mempool|pinned|Event|cutensor|accelerator|nccl"
        r"|ElementwiseKernel|allow_synchronize",
        "",
        r"\bcuda\b|'(?:memptr|device|cuda)'|cupy\._core|cupy_backends|ElementwiseKernel",
        r"CudaArrayInterface|__cuda_array_interface__",
    ),
    Rule("views", r"einsum", "", "", r"b = xp\.einsum"),
    Rule("warnings", r"warns", "", r"DID NOT WARN|Warning"),
    # what is fused returns arrays of this module, also of NumPy's arrays, which the tests compare with
    Rule("fuse", "", "", "", r"fusion_utils"),
]
# CuPy's errors for what it does not take, and NumPy does.
REFUSALS = Rule("refusals", "", "", RAISED_NOT.pattern)
RELATIVE = re.compile(r"Max relative difference[^:]*: ([\d.e+-]+|nan|inf)")
ABSOLUTE = re.compile(r"Max absolute difference[^:]*: ([\d.e+-]+|nan|inf)")


def values_in(record):
    """Return the texts of the values that the failing statement names, and of the test's parameters."""
    words = set(re.findall(r"\w+", record.get("statement", "")))
    named = [text for name, text in record.get("names", {}).items() if name in words]
    return named + list(record.get("parameters", {}).values())


def cause_of(record, rules):
    """Return the cause of a failure."""
    if record["type"] in ("TooSlow", "ProcessDied"):
        return "time"
    values = values_in(record)
    for rule in rules:
        if rule.statement and re.search(rule.statement, record.get("statement", "")):
            return rule.cause
        if rule.values and any(re.search(rule.values, value) for value in values):
            return rule.cause
        if rule.source and re.search(rule.source, record.get("source", "")):
            return rule.cause
        if rule.message and re.search(rule.message, f"{record['message']}\n{record.get('cause', '')}"):
            return rule.cause
    if is_rounding(record):
        return "rounding"
    return "ours"


def is_rounding(record):
    """Say whether arrays differ by no more than single precision rounds, or half where that is tested."""
    half = any(re.search(r"float16|'e'", value) for value in values_in(record))
    allowed = 1e-2 if half else 1e-6
    for pattern in (RELATIVE, ABSOLUTE):
        difference = pattern.search(record["message"])
        if difference and float(difference[1]) < allowed:
            return True
    return "ULP" in record["message"] or "not almost equal up to" in record["message"]


def effect_of(record):
    """Say what a user sees: a wrong value, no error where NumPy raises one, or an error."""
    if RAISED_NOT.search(record["message"]):
        return "no error"
    return "silent" if record["type"] in ("AssertionError", "Failed") else "raises"


def read(path):
    """Return the last record of each test of a file."""
    records = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "outcome" in record:
            records[record["test"]] = record
    return records


def function_name(test):
    return test.partition("[")[0]


def classed(suite, records):
    """Return the failures of a suite with their causes."""
    rules = [*CUPY_RULES, *RULES, REFUSALS] if suite.startswith("cupy") else RULES
    return [
        {
            "suite": suite,
            "test": record["test"],
            "cause": cause_of(record, rules),
            "effect": effect_of(record),
            "statement": " ".join(record.get("statement", "").split())[:200],
            "error": f"{record['type']}: {' '.join(record['message'].split())[:200]}",
        }
        for record in records.values()
        if record["outcome"] == "failed"
    ]


def table_row(suite, records):
    """Count the cases and the functions of a suite that passed, and the functions that failed by cause."""
    ran = {test for test, record in records.items() if record["outcome"] in ("passed", "failed")}
    failures = classed(suite, records)
    causes = collections.defaultdict(set)
    for failure in failures:
        causes[function_name(failure["test"])].add(failure["cause"])
    functions = {function_name(test) for test in ran}
    by_cause = collections.Counter(worst(found) for found in causes.values())
    reachable = len(functions) - sum(by_cause[cause] for cause in UNREACHABLE)
    passed = len(functions) - len(causes)
    return {
        "suite": suite,
        "cases": len(ran),
        "cases_passed": len(ran) - len(failures),
        "functions": len(functions),
        "functions_passed": passed,
        "reachable": reachable,
        "causes": dict(by_cause.most_common()),
    }


def worst(causes):
    """Return the cause that counts for a function: first ours, last what JAX has not."""
    order = ["ours", "time", "rounding", "warnings", "error text", "views", "fuse", "refusals", "CUDA"]
    order += ["private", "subclasses", "references", *UNREACHABLE]
    return min(causes, key=order.index)


def markdown(rows):
    """Return the table of suites."""
    lines = ["| tests | functions passed | of those within reach | cases passed | the other functions |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for row in rows:
        name = row["suite"].partition(".")[2]
        passed = f"{row['functions_passed']:,}"
        cases = f"{row['cases_passed']:,} of {row['cases']:,}"
        others = ", ".join(f"{cause} {count}" for cause, count in row["causes"].items())
        of_all, of_reachable = f"of {row['functions']:,}", f"of {row['reachable']:,}"
        lines.append(f"| {name} | {passed} {of_all} | {passed} {of_reachable} | {cases} | {others} |")
    return "\n".join(lines)


def failure_table(failures):
    """Return the table of the functions that fail, by cause."""
    functions = {}
    for failure in failures:
        functions.setdefault(function_name(failure["test"]), []).append(failure)
    rows = []
    for name, found in functions.items():
        cause = worst({failure["cause"] for failure in found})
        first = next(failure for failure in found if failure["cause"] == cause)
        file, _, test = name.partition("::")
        text = first["statement"].replace("|", "\\|").replace("`", "'")[:90]
        rows.append((cause, pathlib.PurePath(file).stem, test.replace("::", "."), first["effect"], text))
    lines = ["| cause | file | test | effect | statement |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {cause} | {file} | {test} | {effect} | `{text}` |"
        for cause, file, test, effect, text in sorted(rows)
    ]
    return "\n".join(lines)


def total(rows, name):
    counts = collections.Counter()
    for row in rows:
        counts.update(row["causes"])
    keys = ("cases", "cases_passed", "functions", "functions_passed", "reachable")
    return {
        "suite": f"{name}.all",
        **{key: sum(row[key] for row in rows) for key in keys},
        "causes": dict(counts.most_common()),
    }


def write_docs(rows, failures):
    """Write the tables of the documentation."""
    for name in ("numpy", "cupy"):
        of_name = [row for row in rows if row["suite"].startswith(f"{name}.")]
        if of_name:
            text = markdown([*of_name, total(of_name, name)])
            (DOCS / "_data" / f"{name}-suites.md").write_text(text + "\n", encoding="utf-8")
            suites = {row["suite"] for row in of_name}
            text = failure_table([failure for failure in failures if failure["suite"] in suites])
            (DOCS / "_data" / f"{name}-suites-failures.md").write_text(text + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/_data")
    parser.add_argument("--list", metavar="CAUSE", help="print the failures of a cause")
    options = parser.parse_args()
    suites = {path.stem: read(path) for path in sorted(options.folder.glob("*.jsonl"))}
    rows = [table_row(suite, records) for suite, records in suites.items()]
    failures = [failure for suite, records in suites.items() for failure in classed(suite, records)]
    for name in ("numpy", "cupy"):
        of_name = [row for row in rows if row["suite"].startswith(f"{name}.")]
        if of_name:
            print(f"\n{name}\n{markdown([*of_name, total(of_name, name)])}")
    for failure in failures:
        if failure["cause"] == options.list:
            print("\n".join(("", failure["test"], f"  {failure['statement']}", f"  {failure['error']}")))
    if options.docs:
        write_docs(rows, failures)


if __name__ == "__main__":
    main()
