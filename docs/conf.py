"""The site's settings: `nox -s docs` builds it from the pages here and what the make_*.py write."""

import os
import pathlib
import re
import sys
import tomllib

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import make_api  # noqa: E402
import make_gallery  # noqa: E402
import make_performance  # noqa: E402
import make_pictures  # noqa: E402
from docutils import nodes  # noqa: E402

import jaxapi  # noqa: E402

project = "jaxapi"
author = "the jaxapi authors"
copyright = "the jaxapi authors, BSD-3-Clause"
version = release = jaxapi.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_data"]
urls = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
myst_enable_extensions = ["colon_fence", "substitution"]
myst_substitutions = {"version": release, "repository": f"[Repository]({urls['Repository']})"}
myst_heading_anchors = 3
default_role = "py:obj"  # docstrings quote names by single backticks, as numpydoc has it

autodoc_typehints = "none"  # numpydoc's sections say the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
add_module_names = False
python_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"jaxapi {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_sidebars = {"index": [], "start": [], "performance": []}
html_theme_options = {
    "logo": {"text": "jaxapi"},
    "navbar_align": "left",
    "navigation_with_keys": False,
    "icon_links": [
        {"name": "Repository", "url": urls["Repository"], "icon": "fa-brands fa-github"},
    ],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def add_american_words(app, doctree):
    """Let the search find a page by the American spelling of its words, too."""
    spelled = {"neighbour": "neighbor, neighbors", "colour": "color, colors", "haloes": "halos"}
    text = doctree.astext()
    words = ", ".join(american for british, american in spelled.items() if british in text)
    doctree.append(nodes.meta("", name="keywords", content=words))


def break_names(app, pagename, templatename, context, doctree):
    """Let long names in code break at their parts: behind a dot, an underscore, a bracket or a comma."""
    if context.get("body"):
        context["body"] = CODE.sub(
            lambda match: match[1] + PARTS.sub(r"\g<0><wbr>", match[2]), context["body"]
        )


CODE = re.compile(r'(<span class="pre">)([^<]{16,})(?=</span>)')
PARTS = re.compile(r"[._(,=](?=\w)")


def setup(app):
    """Write the pages and pictures that are made: the reference, the gallery, the figures."""
    app.connect("doctree-read", add_american_words)
    app.connect("html-page-context", break_names)
    make_api.main(HERE / "api")
    make_pictures.main(HERE / "pictures")
    make_performance.charts(HERE / "pictures")
    make_gallery.main(HERE / "gallery")
