"""The README: its quick start does what its comments say, and the tables of times are made of the data."""

import pathlib
import re

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[1]
README = ROOT / "README.md"


@pytest.mark.thorough
def test_quick_start():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    names = {}
    exec(code, names)
    xp = names["xp"]
    assert names["labels"].shape == (100_000,)
    assert names["distances"].dtype == np.float64
    assert names["distances"].shape == (1, 3)
    assert names["step"](xp.ones(3, dtype=xp.float32), 2, 0.5).dtype == xp.float32
    assert xp.vecdot(xp.ones(100), xp.ones((100, 20)), axis=0).shape == (20,)
    assert int(xp.logspace(0, 39, 40, base=3, dtype=xp.int64)[-1]) == 4052555153018976267


def test_the_first_page_includes_what_is_here():
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    marks = re.findall(r":(?:start-after|end-before): (.*)", page)
    assert len(marks) == 4
    assert all(mark in README.read_text(encoding="utf-8") for mark in marks)


def test_tables_of_times_are_made_of_the_data(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import make_performance

    for page in make_performance.PAGES:
        text = page.read_text(encoding="utf-8")
        assert "<!-- times: " in text
        assert make_performance.written(text) == text
