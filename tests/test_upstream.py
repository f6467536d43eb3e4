"""Faults of others that jaxapi mends: the programs of docs/upstream.md still show them, or a cure can go."""

import os
import pathlib
import re
import subprocess
import sys

import jax
import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "upstream.md").read_text(encoding="utf-8")
PROGRAMS = sorted((DOCS / "upstream").glob("*.py"))
SECTION = re.compile(r"^## .*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
VERSION = r"\d+(?:\.\d+){2,3}"


def section_of(program):
    name = f"{{literalinclude}} upstream/{program.name}\n"
    (section,) = [section for section in SECTION.findall(PAGE) if name in section]
    return section


def entry(section, name):
    return re.search(rf"^- \*\*{name}\*\*: (.*(?:\n  .*)*)", section, re.MULTILINE)[1]


def printed_by(program):
    """Run it as a user would, with XLA's own options."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    environment["JAX_PLATFORMS"] = "cpu"
    command = [sys.executable, "-W", "ignore", program]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return run.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.stem for program in PROGRAMS])
def test_the_fault_is_still_there(program):
    """With a JAX that nobody has looked at the test is skipped, and says what the program printed."""
    if program.stem.startswith("gpu_"):
        pytest.skip("it shows on a GPU only")
    if program.stem == "known_by_name":
        pytest.importorskip("array_api_extra", minversion="0.11")
    section = section_of(program)
    shown = re.search(r"^```text\n(.*?)^```", section, re.DOTALL | re.MULTILINE)[1]
    seen, _, not_seen = entry(section, "Versions").partition("; not with ")
    if jax.__version__ in re.findall(VERSION, not_seen):
        pytest.skip(f"JAX {jax.__version__} does not have this fault")
    printed = printed_by(program)
    advice = f"{entry(section, 'Our cure')}\nIt can go when {entry(section, 'It can go when')}"
    if jax.__version__ not in re.findall(VERSION, seen):
        state = "still shows it" if printed == shown else f"prints\n{printed}\nand our cure is {advice}"
        pytest.skip(f"docs/upstream.md does not have JAX {jax.__version__}, which {state}")
    assert printed == shown, f"it is no longer as the page says; look whether our cure can go: {advice}"


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.stem for program in PROGRAMS])
def test_the_page_has_a_report(program):
    section = section_of(program)
    cure = entry(section, "Our cure")
    assert entry(section, "To")
    assert entry(section, "It can go when")
    for name in re.findall(r"`([\w/-]+\.py)`", cure):
        package = DOCS.parent / "jaxapi"
        assert any((folder / name).exists() for folder in (DOCS.parent, package))


def test_every_section_has_its_program():
    named = re.findall(r"\{literalinclude\} upstream/(\S+)", PAGE)
    assert sorted(named) == [program.name for program in PROGRAMS]
