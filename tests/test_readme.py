"""The README: its quick start does what its comments say, and the site's first page has its times."""

import pathlib
import re

import numpy as np

ROOT = pathlib.Path(__file__).parents[1]
README = ROOT / "README.md"


def test_quick_start():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    names = {}
    exec(code, names)
    xp = names["xp"]
    assert names["distances"].dtype == np.float64
    assert names["distances"].shape == (1, 3)
    assert names["step"](xp.ones(3, dtype=xp.float32), 2, 0.5).dtype == xp.float32
    assert xp.vecdot(xp.ones(100), xp.ones((100, 20)), axis=0).shape == (20,)
    assert int(xp.logspace(0, 39, 40, base=3, dtype=xp.int64)[-1]) == 4052555153018976267


def test_the_first_page_has_the_same_times():
    rows = re.findall(r"^\|.*\|$", README.read_text(), flags=re.MULTILINE)
    assert len(rows) > 3
    assert rows == re.findall(r"^\|.*\|$", (ROOT / "docs" / "index.md").read_text(), flags=re.MULTILINE)
