"""The list of changes without effect names what stands in the code."""

import fnmatch
import pathlib
import re

import pytest
from equivalent_mutants import EQUIVALENT, is_equivalent

import jaxapi

PACKAGE = pathlib.Path(jaxapi.__file__).parent


@pytest.fixture(scope="module")
def lines():
    """Return the lines of each file, without white space."""
    return {
        path.relative_to(PACKAGE.parent).as_posix(): re.sub(r"[^\S\n]", "", path.read_text()).splitlines()
        for path in PACKAGE.rglob("*.py")
    }


def test_entries_are_of_use(lines):
    for files, old, new, reason in EQUIVALENT:
        old = re.sub(r"\s", "", old)
        assert any(old in line for file in fnmatch.filter(lines, files) for line in lines[file]), (files, old)
        assert new != old
        assert reason


def test_only_the_entries_are_equivalent():
    path = "jaxapi/_reading.py"
    assert is_equivalent(path, "_FEW = 8  # numbers", "_FEW = 7  # numbers")
    assert is_equivalent(path, "if zip(a, b, strict=True):", "if zip(a, b, strict=False):")
    assert not is_equivalent("jaxapi/_x64.py", "_FEW = 8  # numbers", "_FEW = 7  # numbers")
    assert not is_equivalent(path, "if zip(a, b, strict=True) < 1:", "if zip(a, b, strict=True) <= 1:")
