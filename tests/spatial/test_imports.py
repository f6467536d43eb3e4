"""Rooms of `jaxapi.spatial` import those below them alone, in the picture of docs/kdtree-design.md.

A room is a module of the package, or a package in it; of `_engines` each module is one.
"""

import ast
import graphlib
from pathlib import Path

import pytest

import jaxapi.spatial

PACKAGE = Path(jaxapi.spatial.__file__).parent  # the imported one: an sdist runs its tests on a wheel
PAGE = Path(__file__).resolve().parents[2] / "docs" / "kdtree-design.md"


def name_of(path: Path) -> tuple[str, ...]:
    """Return the parts of a module's name in the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


MODULES = {name_of(path): path for path in PACKAGE.rglob("*.py")}


def imports(name: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Return the modules of the package that a module imports, also in functions and for types alone."""
    path = MODULES[name]
    package = ("jaxapi", "spatial", *name)
    if path.name != "__init__.py":
        package = package[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        start = package[: len(package) + 1 - node.level] if node.level else ()
        module = start + tuple(node.module.split(".") if node.module else ())
        for imported in node.names:
            full = (*module, imported.name)
            target = full[2:] if full[2:] in MODULES else module[2:]
            if module[:2] == ("jaxapi", "spatial") and target in MODULES:
                found.add(target)
    return found


def room_of(name: tuple[str, ...]) -> str:
    """Return the room that a module is in."""
    return ".".join(name[:2] if name[:1] == ("_engines",) else name[:1])


def floors() -> list[list[str]]:
    """Return the rooms on each floor of the picture, the highest first."""
    picture = PAGE.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    lines = [line.partition("  ")[2].split() for line in picture.splitlines()]
    return [line for line in lines if line]


def test_picture_has_every_room():
    drawn = sorted(room for floor in floors() for room in floor)
    rooms = sorted({room_of(name) for name in MODULES} - {"", "_engines"})
    assert drawn == rooms


def test_rooms_import_those_below():
    floor_of = {room: number for number, floor in enumerate(floors()) for room in floor}
    upwards = []
    for name in MODULES:
        room = room_of(name)
        for imported in imports(name):
            target = room_of(imported)
            is_inside = target == room or room in ("", "_engines") or target in ("", "_engines")
            if not is_inside and floor_of[target] <= floor_of[room]:
                upwards.append(f"{'.'.join(name)} imports {'.'.join(imported)}")
    assert not upwards


def test_modules_import_in_no_circle():
    order = graphlib.TopologicalSorter({name: imports(name) for name in MODULES})
    try:
        order.prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"modules import in a circle: {error.args[1]}")


def test_imports_are_found():
    """The other tests would say nothing of imports that are not seen."""
    assert ("_engines", "_protocol") in imports(("_search",))
    assert ("_tree", "_tree") in imports(("_engines", "_lax", "_walk"))
    assert ("_scipy", "_by_ckdtree") in imports(("_scipy", "_host"))
    assert ("_engines", "_cuda") in imports(("_engines", "_choice"))
