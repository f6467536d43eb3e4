"""What stands about the project itself: its addresses, and what a release must have."""

import os
import pathlib
import re
import tomllib

import pytest

import jaxapi

ROOT = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IS_RELEASE = bool(os.environ.get("JAXAPI_RELEASE"))


def unfinished(urls):
    """Return the addresses in which the owner of the repository is not filled in."""
    return [url for url in urls.values() if "OWNER" in url]


def test_a_placeholder_is_noticed():
    assert unfinished({"Repository": "https://github.com/OWNER/jaxapi"}) == [
        "https://github.com/OWNER/jaxapi"
    ]
    assert unfinished({"Repository": "https://github.com/somebody/jaxapi"}) == []


def test_addresses_are_of_one_repository():
    urls = PROJECT["urls"]
    assert {"Repository", "Documentation", "Issues", "Changelog"} <= set(urls)
    assert urls["Issues"].startswith(urls["Repository"] + "/")
    assert urls["Changelog"].startswith(urls["Repository"] + "/")


@pytest.mark.skipif(not IS_RELEASE, reason="where a release is built, JAXAPI_RELEASE=1")
def test_a_release_has_its_addresses():
    assert not unfinished(PROJECT["urls"]), "fill in OWNER under [project.urls] of pyproject.toml"


@pytest.mark.skipif(not (ROOT / ".github").exists(), reason="not in a checkout")
def test_releases_are_tested_as_such():
    """Before anything is built."""
    steps = (ROOT / ".github" / "workflows" / "publish.yml").read_text(encoding="utf-8")
    test, build = steps.index("nox -s tests -- tests/test_project.py"), steps.index("nox -s build")
    assert test < steps.index('JAXAPI_RELEASE: "1"') < build


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "README.md", "SECURITY.md"])
def test_links_of_the_root_pages_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (ROOT / link).exists(), link


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {jaxapi.__version__}\n" in citation
