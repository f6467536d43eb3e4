"""Run the examples and write a page for each: what it is, its picture, what it prints, the program."""

import ast
import os
import pathlib
import shutil
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
# Every example, in the order of the gallery, with the title of its page.
TITLES = {
    "point_normals": "Normals of a point cloud",
    "terrain": "Terrain and slopes from lidar points",
    "icp": "Registration of scans of changing size (ICP)",
    "dbscan": "Clusters of airports (DBSCAN)",
    "haloes": "Haloes of a snapshot (friends of friends)",
    "colours": "The colours of a photo (HDBSCAN)",
    "crossmatch": "Cross-match of two catalogues",
    "crossmatch_devices": "Cross-match over many devices",
    "argon_dynamics": "Molecular dynamics in a periodic box",
    "argon_nve": "Molecular dynamics at constant energy, in a triclinic cell",
    "argon_stress": "Pressure and stress in a sheared cell",
    "radius_graph": "Forces of a crystal, by a radius graph",
    "molecules": "Molecules of differing sizes in one program",
    "force_matching": "A potential fitted to forces",
    "knn_regression": "Regression that learns its metric",
    "numpy_programs": "Nine NumPy programs by their import line",
    "cupy_port": "A CuPy program, line by line",
    "cupy_in_place": "CuPy programs that update in place",
    "hillshade": "Fused hillshade",
    "cupy_to_pytorch": "CuPy to PyTorch without a copy",
}


def main(folder):
    """Write the pages into `folder`; run an example again where it is newer than what it printed."""
    folder.mkdir(exist_ok=True)
    missing = {path.stem for path in EXAMPLES.glob("*.py")} ^ set(TITLES)
    if missing:
        raise ValueError(f"examples without a title, or titles without an example: {sorted(missing)}")
    for name in TITLES:
        source, printed = EXAMPLES / f"{name}.py", folder / f"{name}.txt"
        if not printed.exists() or printed.stat().st_mtime < source.stat().st_mtime:
            printed.write_text(run(source, folder), encoding="utf-8")
        (folder / f"{name}.md").write_text(page(name, source, printed), encoding="utf-8")
    shutil.copy(folder / "point_normals.png", folder.parent / "pictures" / "normals.png")
    (folder / "index.md").write_text(index(), encoding="utf-8")


def draws(source):
    """Tell whether an example takes the path of a picture."""
    return "[picture.png]" in source.read_text(encoding="utf-8")


def run(source, folder):
    """Run an example, and return what it prints."""
    print(f"running examples/{source.name}", file=sys.stderr, flush=True)
    command = [sys.executable, source, *([f"{source.stem}.png"] if draws(source) else [])]
    environment = os.environ | {"PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{source.name} failed:\n{done.stderr}")
    return done.stdout


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
            *(picture(name) if draws(source) else []),
            f"`python examples/{name}.py{' picture.png' if draws(source) else ''}` prints,",
            "on the machine that built this page:",
            "",
            f"```text\n{printed.read_text(encoding='utf-8').rstrip()}\n```",
            "",
            f"```{{literalinclude}} ../../examples/{name}.py\n:language: python\n:lines: {first_line}-\n```",
            "",
        ]
    )


def picture(name):
    return [f"```{{image}} {name}.png", f":alt: {TITLES[name]}", "```", ""]


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
        if draws(EXAMPLES / f"{name}.py"):
            lines += [f":img-top: {name}.png", ":class-img-top: thumbnail"]
        lines += [":::", ""]
    lines += ["::::", "", "```{toctree}", ":hidden:", "", *TITLES, "```", ""]
    return "\n".join(lines)
