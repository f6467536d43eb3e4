"""Count who imports whom in jaxapi, now and at earlier commits, and draw it.

    python docs/make_import_graph.py [COMMIT ...] [--plot imports.svg]

Prints files, lines, imports of one file by another and cycles among them; then the same for the parts: a part
is a folder, or a file of a folder that holds others. The plot shows each part above those that it imports.
"""

import argparse
import ast
import collections
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]


def sources(commit=None):
    """Return the package's text by module name, of the working tree or of a commit."""
    if commit is None:
        files = {str(path.relative_to(ROOT)): path.read_text() for path in ROOT.glob("jaxapi/**/*.py")}
    else:
        listed = git("ls-tree", "-r", "--name-only", commit, "jaxapi").split()
        files = {name: git("show", f"{commit}:{name}") for name in listed if name.endswith(".py")}
    return {name.removesuffix(".py").replace("/", "."): text for name, text in files.items()}


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def imports(modules):
    """Return the set of (importer, imported) modules; a package is its ``__init__``."""
    found = set()
    for module, text in modules.items():
        package = module.split(".")[:-1]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                above = package[: len(package) + 1 - node.level] if node.level else []
                base = ".".join([*above, *filter(None, [node.module])])
                targets = [f"{base}.{alias.name}" for alias in node.names]
                targets = [target if known(modules, target) else base for target in targets]
            elif isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            else:
                continue
            found |= {(module, known(modules, target)) for target in targets if known(modules, target)}
    return {(importer, imported) for importer, imported in found if importer != imported}


def known(modules, name):
    """Return the module of this name, if it is one of ours."""
    return next((each for each in (name, f"{name}.__init__") if each in modules), None)


def parts(modules):
    """Return the part of each module: its folder; the module itself where its folder holds others."""
    folders = {module.rpartition(".")[0] for module in modules}
    halls = {folder.rpartition(".")[0] for folder in folders}
    found = {}
    for module in modules:
        folder, _, name = module.rpartition(".")
        found[module] = module if folder in halls and name != "__init__" else folder
    return found


def cycles(arrows):
    """Return the groups that import one another, by Tarjan's algorithm."""
    follow = collections.defaultdict(list)
    for importer, imported in sorted(arrows):
        follow[importer].append(imported)
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for following in follow[node]:
            if following not in number:
                visit(following)
            if following in stack:
                low[node] = min(low[node], low[following])
        if low[node] == number[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(follow):
        if node not in number:
            visit(node)
    return found


def layers(arrows):
    """Return how far above the ground each part is: one more than the highest of what it imports."""
    groups = {node: tuple(group) for group in cycles(arrows) for node in group}
    nodes = {node for arrow in arrows for node in arrow}

    def height(node, above=()):
        group = groups.get(node, (node,))
        below = {b for a, b in arrows if a in group and b not in group and b not in above}
        return 1 + max((height(b, (*above, *group)) for b in below), default=-1)

    return {node: height(node) for node in nodes}


def describe(name, modules):
    """Print the figures of one version; return the arrows between its parts."""
    files, lines, arrows = len(modules), sum(text.count("\n") for text in modules.values()), imports(modules)
    part = parts(modules)
    between = {(part[a], part[b]) for a, b in arrows if part[a] != part[b]}
    tall = 1 + max(layers(between).values())
    print(f"{name}: {files} files, {lines} lines, {len(arrows)} imports, {len(cycles(arrows))} cycles;")
    count = len(set(part.values()))
    print(f"  {count} parts on {tall} layers, {len(between)} imports, {len(cycles(between))} cycles")
    for group in [*cycles(arrows), *cycles(between)]:
        print("  cycle:", ", ".join(group))
    return between


def plot(between, path):
    """Draw each part above what it imports."""
    import matplotlib.pyplot as plt

    height = layers(between)
    rows = collections.defaultdict(list)
    for node in sorted(height):
        rows[height[node]].append(node)
    place = {
        n: ((i + 1) / (len(row) + 1), h + 0.25 * (i % 2))
        for h, row in rows.items()
        for i, n in enumerate(row)
    }
    figure, axes = plt.subplots(figsize=(13, 1 + 1.1 * len(rows)))
    for importer, imported in between:
        axes.annotate("", place[imported], place[importer], arrowprops={"arrowstyle": "->", "color": "0.75"})
    for node, (x, y) in place.items():
        label = node.removeprefix("jaxapi.") or node
        axes.text(
            x, y, label, ha="center", va="center", fontsize=8, bbox={"fc": "white", "ec": "0.4", "pad": 2}
        )
    axes.set(xlim=(0, 1), ylim=(-0.5, len(rows)))
    axes.axis("off")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def now():
    """Return the imports between the parts of the working tree."""
    modules = sources()
    part = parts(modules)
    return {(part[a], part[b]) for a, b in imports(modules) if part[a] != part[b]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*")
    parser.add_argument("--plot")
    options = parser.parse_args()
    for commit in options.commits:
        describe(commit, sources(commit))
    between = describe("now", sources())
    if options.plot:
        plot(between, options.plot)


if __name__ == "__main__":
    main()
