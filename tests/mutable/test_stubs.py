"""The type stubs are what the generator writes now."""

import importlib.util
import pathlib

import jax
import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "docs" / "make_stubs.py"


@pytest.mark.skipif(jax.__version_info__ < (0, 12), reason="older versions of JAX have other parameters")
def test_stubs_are_up_to_date():
    spec = importlib.util.spec_from_file_location("make_stubs", SCRIPT)
    make_stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_stubs)
    for name, text in make_stubs.stubs().items():
        assert (make_stubs.FOLDER / name).read_text() == text, "run python docs/make_stubs.py"
