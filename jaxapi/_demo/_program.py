"""``python -m jaxapi``: what runs here, five comparisons with NumPy and SciPy, every airport's neighbors."""

import argparse
import importlib.metadata
import json
import platform
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
from scipy.spatial import KDTree as SciPyKDTree

from .. import __array_api_version__, __version__
from .._core._dtypes import explicit_64_bits, x64_mode
from ..spatial import KDTree
from ._airports import PAIR_KM, Airports, Neighbors, compare, load, neighbors, to_km
from ._comparison import comparisons

MISSING = (
    "airportsdata is not installed: pip install 'jaxapi[demo]' (or: pip install airportsdata) runs part 3"
)


def main(argv: list[str] | None = None) -> int:
    """Run the three parts; return 0 if nothing differs from NumPy and SciPy, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m jaxapi", description=__doc__)
    parser.add_argument("--plot", metavar="MAP.PNG", type=Path, help="draw the airports' isolation on a map")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    options = parser.parse_args(argv)
    say = _nothing if options.json else print

    report: dict[str, Any] = {"environment": environment(say), "comparisons": run_comparisons(say)}
    ok = all(comparison["ok"] for comparison in report["comparisons"])
    try:
        airports = load()
    except ModuleNotFoundError:
        progress(MISSING)
        report |= {"airports": None, "message": MISSING}
        if options.plot:
            parser.error(f"--plot needs the airports: {MISSING}")
    else:
        report |= run_airports(airports, options.plot, say)
        ok = ok and report["differences"] == 0
    report["ok"] = ok
    say("\nAll the same as NumPy and SciPy." if ok else "\nSOMETHING DIFFERS, see above.")
    if options.json:
        print(json.dumps(report, indent=2))
    return 0 if ok else 1


def _nothing(*_args) -> None:
    """Say nothing: with --json standard output is the JSON alone."""


def progress(line: str) -> None:
    """Show what takes a while, on standard error."""
    print(f"... {line}", file=sys.stderr, flush=True)


def environment(say) -> dict:
    """Report part 1: versions, devices, 64-bit mode, the engine of each device."""
    versions = {"python": platform.python_version(), "jaxapi": __version__}
    versions |= {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "numpy", "scipy")}
    say("1. What runs here")
    say("   " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    x64 = x64_mode()
    explicit = explicit_64_bits()
    say(
        f"   Array API {__array_api_version__}; x64 mode {'on' if x64 else 'off'}, explicit 64-bit dtypes "
        f"{'kept' if explicit else 'narrowed'}"
    )
    devices = jax.devices() + [device for device in jax.devices("cpu") if device not in jax.devices()]
    engines = []
    points = np.zeros((1, 3), np.float32)
    for device in devices:
        engine = KDTree(jax.device_put(points, device)).engine
        engines.append({"device": str(device), "kind": device.device_kind, "engine": engine})
        say(f"   {device} ({device.device_kind}): KD-tree engine '{engine}'")
    if all(device.platform == "cpu" for device in devices):
        say("   no GPU that JAX can use; for NVIDIA's: pip install 'jaxapi[cuda13]', or [cuda12]")
    return {"versions": versions, "x64": x64, "explicit_x64_dtypes": explicit, "devices": engines}


def run_comparisons(say) -> list[dict]:
    """Report part 2: for each comparison what the reference gives and what jaxapi gives."""
    say("\n2. Compared with NumPy and SciPy")
    results = []
    progress("compiling the functions to compare")
    for number, (name, cases) in enumerate(comparisons(), 1):
        ok = all(case.ok for case in cases)
        results.append({"name": name, "ok": ok, "cases": [case._asdict() for case in cases]})
        say(f"   {number}. {name}: {'ok' if ok else 'NOT OK'}")
        for case in cases:
            say(f"      {case.given}")
            say(f"         {case.reference:>15}: {case.expected}")
            say(f"         {'jaxapi':>15}: {case.got}   {'ok' if case.ok else 'NOT OK'}")
    return results


def run_airports(airports: Airports, plot: Path | None, say) -> dict:
    """Report part 3: the nearest neighbors of every airport, compared with SciPy's."""
    n = len(airports.points)
    say(f"\n3. {n} airports (airportsdata {airports.version}), float64 points on the unit sphere")
    progress("compiling the KD-tree's functions")
    ours = neighbors(KDTree, airports.points)
    scipys = neighbors(SciPyKDTree, airports.points)
    differences, largest = compare(ours, scipys)
    km = to_km(ours.distances)
    isolated = np.argsort(-km[:, 0], kind="stable")[:10]
    say("   the ten most isolated airports, and their nearest other:")
    for row in isolated:
        name = airports.names[row]
        nearest_name = airports.names[ours.rows[row, 0]]
        say(f"   {km[row, 0]:8.1f} km  {name}  ->  {nearest_name}")
    say(f"   three nearest others: median {np.median(km, axis=0).round(1).tolist()} km")
    say(f"   pairs within {PAIR_KM:g} km: jaxapi {ours.pairs}, SciPy {scipys.pairs}")
    say(f"   differences from SciPy: {differences}; largest relative difference of a distance {largest:.1e}")
    say(
        f"   build, query and count: jaxapi {1e3 * ours.seconds:.1f} ms "
        f"(first call {1e3 * ours.first_seconds:.1f}), SciPy {1e3 * scipys.seconds:.1f} ms"
    )
    if plot:
        draw(airports, km[:, 0], plot)
        say(f"   map: {plot}")
    return {
        "airports": n,
        "airportsdata": airports.version,
        "isolated": [
            {
                "airport": airports.names[row],
                "nearest": airports.names[ours.rows[row, 0]],
                "km": [float(value) for value in km[row]],
            }
            for row in isolated
        ],
        "pairs_km": PAIR_KM,
        "pairs": ours.pairs,
        "pairs_scipy": scipys.pairs,
        "differences": differences,
        "largest_relative_difference": largest,
        "times": _times(ours, scipys),
    }


def _times(ours: Neighbors, scipys: Neighbors) -> dict:
    return {
        "unit": "s",
        "jaxapi": ours.seconds,
        "jaxapi_first": ours.first_seconds,
        "scipy": scipys.seconds,
    }


def draw(airports: Airports, km: np.ndarray, path: Path) -> None:
    """Draw the airports, coloured by the distance to the nearest other one."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise SystemExit("--plot needs matplotlib: pip install 'jaxapi[demo]'") from error
    matplotlib.use("agg")
    from matplotlib import pyplot
    from matplotlib.colors import LogNorm

    figure, axes = pyplot.subplots(figsize=(12, 6), layout="constrained")
    order = np.argsort(km)
    dots = axes.scatter(
        airports.longitude[order],
        airports.latitude[order],
        c=np.maximum(km[order], 1),
        s=3,
        norm=LogNorm(1, 1000),
        cmap="viridis",
    )
    axes.set(xlim=(-180, 180), ylim=(-90, 90), aspect="equal", xlabel="longitude (°)", ylabel="latitude (°)")
    axes.set_title(f"{len(km)} airports by the distance to the nearest other one")
    figure.colorbar(dots, label="km to the nearest other airport", extend="both", shrink=0.8)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
