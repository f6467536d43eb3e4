"""Every Python block of the site's pages runs, and gives the output that it shows."""

import doctest
import pathlib
import re

import jax
import pytest

import jaxapi as xp
import jaxapi.mutable
import jaxapi.numpy

ROOT = pathlib.Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.thorough(
    "clustering", "distance", "distributed", "dtypes", "forces", "jax-md", "interpolate", "kdtree", "periodic"
)
@pytest.mark.daily("changing-sizes", "start")
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_python_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page.stem == "pytorch":
        pytest.importorskip("torch")
    text = page.read_text(encoding="utf-8")
    names = {"__name__": page.stem}
    with jax.enable_x64(False):
        for block in BLOCK.finditer(text):
            line = text[: block.start()].count("\n") + 1
            if ">>> " in block[1]:
                run_examples(block[1], names, page, line)
            else:
                exec(compile("\n" * line + block[1], page, "exec"), names)


def run_examples(code, names, page, line):
    test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), line)
    test.globs = names
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.append, clear_globs=False)
    assert runner.failures == 0, "".join(report)


def test_reference_has_every_public_name(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import make_api

    make_api.main(tmp_path / "api")
    pages = "".join(page.read_text(encoding="utf-8") for page in (tmp_path / "api").glob("*.rst"))
    entries = set(re.findall(r"^\.\. (?:autofunction|autoclass|py:\w+):: ([\w.]+)", pages, re.MULTILINE))
    modules = {"jaxapi": xp, "jaxapi.linalg": xp.linalg, "jaxapi.fft": xp.fft, "jaxapi.spatial": xp.spatial}
    modules["jaxapi.interpolate"] = xp.interpolate
    expected = {f"{name}.{short}" for name, module in modules.items() for short in module.__all__}
    expected |= {f"jaxapi.mutable.{name}" for name in jaxapi.mutable.__all__ if not hasattr(xp, name)}
    expected -= {"jaxapi.mutable.lib"}
    expected |= {"jaxapi.mutable.lib.stride_tricks.sliding_window_view"}
    parts = {"": jaxapi.numpy, ".linalg": jaxapi.numpy.linalg, ".fft": jaxapi.numpy.fft}
    parts[".random"] = jaxapi.numpy.random
    expected |= {
        f"jaxapi.numpy{part}.{name}"
        for part, module in parts.items()
        for name, value in vars(module).items()
        if name in module.__all__ and getattr(value, "__module__", "") == "jaxapi.numpy"
    }
    expected -= {*modules, "jaxapi.numpy", "jaxapi.__version__", "jaxapi.__array_api_version__"}
    assert expected <= entries


def test_every_example_has_a_picture(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import make_gallery

    for name in make_gallery.TITLES:
        assert make_gallery.draws(make_gallery.EXAMPLES / f"{name}.py"), name


def test_the_reference_says_what_is_a_module(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import make_api

    assert make_api.summary("jaxapi.spatial.distance", xp.spatial.distance) == "the module :doc:`distance`"
    assert make_api.summary("jaxapi.float32", xp.float32) == "the dtype ``float32``"


def test_no_table_of_times_has_a_column_of_dashes():
    """Half of a column at most."""
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for block in re.findall(r"<!-- times: \w+ -->\n(.*?)<!-- end -->", page, re.DOTALL):
        _, _, *rows = [line.strip("| ").split(" | ") for line in block.splitlines()]
        for column in zip(*rows, strict=False):
            assert column.count("-") * 2 <= len(column)
