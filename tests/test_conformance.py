"""The lists of known failures, and the table of differences, are in order."""

import pathlib

import pytest

import jaxapi as xp

ROOT = pathlib.Path(__file__).parent.parent
LISTS = sorted((ROOT / "tests" / "conformance").glob("*.txt"))
OPERATORS = ("__floordiv__", "__ifloordiv__", "__mod__", "__imod__")
IMMUTABLE = ("test_setitem", "test_setitem_masking", "test_asarray_arrays")


def ids(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]


def test_every_condition_has_a_list():
    expected = ["skips", "xfails-all", "xfails-cuda", "xfails-jax-0.10", "xfails-x64-off"]
    assert [path.stem for path in LISTS] == expected


def test_no_id_is_listed_twice():
    every = [line for path in LISTS for line in ids(path)]
    assert len(set(every)) == len(every)
    assert all(line.startswith("array_api_tests/test_") for line in every)


def test_what_no_function_can_repair():
    listed = ids(ROOT / "tests" / "conformance" / "xfails-all.txt")
    assert len(listed) <= 26
    for line in listed:
        name = line.split("::")[1]
        assert name in (*IMMUTABLE, "test_dunder_dlpack") or any(f"[{op}(" in name for op in OPERATORS)
    skipped = ids(ROOT / "tests" / "conformance" / "skips.txt")
    assert skipped == [f"array_api_tests/test_linalg.py::{name}" for name in ("test_outer", "test_cross")]


@pytest.mark.parametrize("module", [xp, xp.linalg, xp.fft])
def test_the_table_names_everything(module):
    page = (ROOT / "docs" / "differences.csv").read_text(encoding="utf-8")
    exempt = {"fuse", "interpolate", "logspace", "numpy", "spatial", "linalg", "fft"}
    exempt |= {"__version__", "__array_api_version__"}
    missing = [name for name in module.__all__ if f"`{name}`" not in page and name not in exempt]
    assert not missing
