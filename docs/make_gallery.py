"""Run the examples and write a page for each: what it is, its picture, what it prints, the program."""

import ast
import contextlib
import importlib.util
import io
import pathlib
import shutil
import sys

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
# Every example, in the order of the gallery, with the title of its page.
TITLES = {
    "point_normals": "Normals of a point cloud",
    "icp": "Registration of two scans (ICP)",
    "dbscan": "Clusters of airports (DBSCAN)",
    "crossmatch": "Cross-match of two catalogues",
    "argon_dynamics": "Molecular dynamics in a periodic box",
    "radius_graph": "Forces of a crystal, by a radius graph",
    "knn_regression": "Regression that learns its metric",
    "cupy_port": "A CuPy program, line by line",
    "hillshade": "Fused hillshade",
    "cupy_to_pytorch": "CuPy to PyTorch without a copy",
}


def main(folder):
    """Write the pages into `folder`; run an example again where it is newer than its picture."""
    folder.mkdir(exist_ok=True)
    missing = {path.stem for path in EXAMPLES.glob("*.py")} ^ set(TITLES)
    if missing:
        raise ValueError(f"examples without a title, or titles without an example: {sorted(missing)}")
    for name in TITLES:
        printed, picture = folder / f"{name}.txt", folder / f"{name}.png"
        source = EXAMPLES / f"{name}.py"
        if not picture.exists() or picture.stat().st_mtime < source.stat().st_mtime:
            printed.write_text(run(name, source, picture), encoding="utf-8")
        (folder / f"{name}.md").write_text(page(name, source, printed), encoding="utf-8")
    shutil.copy(folder / "point_normals.png", folder.parent / "pictures" / "normals.png")
    (folder / "index.md").write_text(index(), encoding="utf-8")


def run(name, source, picture):
    """Run an example's main with its picture's path, and return what it prints."""
    print(f"running examples/{name}.py", file=sys.stderr, flush=True)
    spec = importlib.util.spec_from_file_location(name, source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        module.main(str(picture))
    return said.getvalue().replace(str(picture), "picture.png")


def page(name, source, printed):
    """Return the page: the docstring but for its first line and the command, the picture, the rest."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    title, *paragraphs = ast.get_docstring(tree).split("\n\n")
    first_line = tree.body[0].end_lineno + 2
    text = [p for p in paragraphs if not p.startswith("    python ")]
    return "\n".join(
        [
            f"# {TITLES[name]}",
            "",
            title,
            "",
            *joined(text),
            "",
            f"```{{image}} {name}.png\n:alt: {TITLES[name]}\n```",
            "",
            f"`python examples/{name}.py picture.png` prints, on the machine that built this page:",
            "",
            f"```text\n{printed.read_text(encoding='utf-8').rstrip()}\n```",
            "",
            f"```{{literalinclude}} ../../examples/{name}.py\n:language: python\n:lines: {first_line}-\n```",
            "",
        ]
    )


def joined(paragraphs):
    """Return the paragraphs with empty lines between, without the words that lead to the command."""
    for paragraph in paragraphs:
        yield paragraph.removesuffix(" Run").removesuffix("\nRun")
        yield ""


def index():
    """Return the gallery: a card for each example."""
    lines = ["# Examples", "", "Whole programs in `examples/`, on real or simulated data. They need", ""]
    lines += ["```sh", 'pip install ".[demo]"', "```", "", "::::{grid} 1 2 3 3", ":gutter: 3", ""]
    for name, title in TITLES.items():
        lines += [f":::{{grid-item-card}} {title}", f":link: {name}", ":link-type: doc"]
        lines += [f":img-top: {name}.png", ":class-img-top: thumbnail", ":::", ""]
    lines += ["::::", "", "```{toctree}", ":hidden:", "", *TITLES, "```", ""]
    return "\n".join(lines)
