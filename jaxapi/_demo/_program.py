"""``python -m jaxapi``: what runs here, what others get wrong, every airport's neighbors, a gradient."""

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

import jaxapi as xp

from .. import __array_api_version__, __version__
from .._core._dtypes import explicit_64_bits, x64_mode
from ..spatial import KDTree
from ..spatial._engines._launcher import registered
from ._airports import (
    EARTH_RADIUS_KM,
    PAIR_KM,
    SAMPLE,
    Airports,
    Neighbors,
    compare,
    compare_with_brute_force,
    load,
    neighbors,
    to_km,
)
from ._comparison import Case, comparisons

MISSING = (
    "airportsdata is not installed: pip install 'jaxapi[demo]' (or: pip install airportsdata) runs part 3"
)
MISSING_HANDLER = "XLA's own call, which may go; a release's wheel, or nox -s launcher, brings our handler"
CLUSTER_KM, CLUSTER_SIZE = 40.0, 10
TRANSFORMED = 500  # airports
SEARCHED_BY = {
    "scipy": "SciPy's tree, which jaxapi calls on the CPU",
    "cuda": "jaxapi's kernels on the GPU",
    "brute": "jaxapi's brute force",
}


def main(argv: list[str] | None = None) -> int:
    """Run the four parts; return 0 if all is as NumPy, SciPy and brute force have it, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m jaxapi", description=__doc__)
    parser.add_argument("--plot", metavar="MAP.PNG", type=Path, help="draw the airports and their clusters")
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
        ok = ok and report["differences"] == 0 and report["brute_force"]["differences"] == 0
        report["transforms"] = run_transforms(airports.points, say)
        ok = ok and report["transforms"]["ok"]
    report["ok"] = ok
    say("\nAll as NumPy, SciPy and brute force have it." if ok else "\nSOMETHING DIFFERS, see above.")
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
    if any(engine["engine"] == "cuda" for engine in engines):
        say(f"   kernels start by {'our compiled handler' if registered() else MISSING_HANDLER}")
    if all(device.platform == "cpu" for device in devices):
        say("   no GPU that JAX can use; for NVIDIA's: pip install 'jaxapi[cuda13]', or [cuda12]")
    return {"versions": versions, "x64": x64, "explicit_x64_dtypes": explicit, "devices": engines}


def run_comparisons(say) -> list[dict]:
    """Report part 2: for each comparison what the reference gives and what jaxapi gives."""
    say("\n2. Compared with NumPy and SciPy, beside what JAX gives")
    results = []
    progress("compiling the functions to compare")
    for number, (name, cases) in enumerate(comparisons(), 1):
        ok = all(case.ok for case in cases)
        results.append({"name": name, "ok": ok, "cases": [_as_dict(case) for case in cases]})
        say(f"   {number}. {name}: {'ok' if ok else 'NOT OK'}")
        for case in cases:
            say(f"      {case.given}")
            say(f"         {case.reference:>15}: {case.expected}")
            say(f"         {'jaxapi':>15}: {case.got}   {'ok' if case.ok else 'NOT OK'}")
            for other in case.others:
                say(f"         {other.name:>15}: {other.got}   {'the same' if other.ok else 'differs'}")
    return results


def _as_dict(case: Case) -> dict:
    return case._asdict() | {"others": [other._asdict() for other in case.others]}


def run_airports(airports: Airports, plot: Path | None, say) -> dict:
    """Report part 3: the nearest neighbors of every airport, compared with SciPy's and with brute force."""
    n = len(airports.points)
    say(f"\n3. {n} airports (airportsdata {airports.version}), float64 points on the unit sphere")
    engine = KDTree(airports.points).engine
    progress("searching")
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
    searched_by = SEARCHED_BY.get(engine, "pure jax.lax")
    say(f"   searched by {searched_by}")
    is_scipys = engine == "scipy"
    what = "differences from SciPy called alone" if is_scipys else "differences from SciPy"
    say(f"   {what}: {differences}; largest relative difference of a distance {largest:.1e}")
    brute_force = compare_with_brute_force(ours, airports.points)
    say(f"   differences from brute force, of {SAMPLE} airports: {brute_force}")
    say(
        f"   build, query and count: jaxapi {1e3 * ours.seconds:.1f} ms "
        f"(first call {1e3 * ours.first_seconds:.1f}), SciPy {1e3 * scipys.seconds:.1f} ms"
    )
    clusters = KDTree(airports.points).dbscan(CLUSTER_KM / EARTH_RADIUS_KM, min_samples=CLUSTER_SIZE)
    labels = np.asarray(clusters.labels)
    say(f"   {labels.max() + 1} clusters of airports (DBSCAN: {CLUSTER_SIZE} within {CLUSTER_KM:g} km)")
    if plot:
        draw(airports, km[:, 0], labels, plot)
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
        "searched_by": engine,
        "differences": differences,
        "brute_force": {"airports": SAMPLE, "differences": brute_force},
        "clusters": int(labels.max()) + 1,
        "largest_relative_difference": largest,
        "times": _times(ours, scipys),
    }


def run_transforms(points: np.ndarray, say) -> dict:
    """Report part 4: a search in `jax.jit`, and its gradient beside a finite difference."""
    say("\n4. In jax.jit and jax.grad")
    progress("compiling a search and its gradient")
    points = points[:TRANSFORMED]

    def spread(points):
        return xp.sum(KDTree(points).kneighbors(1)[0])

    with jax.enable_x64(True):
        total = float(jax.jit(spread)(points))
        slope = np.asarray(jax.jit(jax.grad(spread))(points))
    expected = float(SciPyKDTree(points).query(points, k=2)[0][:, 1].sum())
    direction = np.random.default_rng(0).normal(size=points.shape)
    along = float((slope * direction).sum())
    difference = finite_difference(points, direction)
    what = f"distances to the nearest of {TRANSFORMED} airports"
    say(f"   jit: sum of the {what} {total:.6f}, SciPy {expected:.6f}")
    say(f"   grad: slope along a random direction {along:.6f}, by SciPy's differences {difference:.6f}")
    ok = bool(np.isclose(total, expected, rtol=1e-9) and np.isclose(along, difference, rtol=1e-4))
    return {"total": total, "scipy": expected, "slope": along, "finite_difference": difference, "ok": ok}


def finite_difference(points: np.ndarray, direction: np.ndarray, step: float = 1e-9) -> float:
    """Return the slope along a direction by differences of SciPy's distances to the same neighbors."""
    nearest = SciPyKDTree(points).query(points, k=2)[1][:, 1]

    def total(x: np.ndarray) -> float:
        return float(np.linalg.norm(x - x[nearest], axis=1).sum())

    return (total(points + step * direction) - total(points - step * direction)) / (2 * step)


def _times(ours: Neighbors, scipys: Neighbors) -> dict:
    return {
        "unit": "s",
        "jaxapi": ours.seconds,
        "jaxapi_first": ours.first_seconds,
        "scipy": scipys.seconds,
    }


def draw(airports: Airports, km: np.ndarray, labels: np.ndarray, path: Path) -> None:
    """Draw the airports: by the distance to the nearest other one, and by their clusters."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise SystemExit("--plot needs matplotlib: pip install 'jaxapi[demo]'") from error
    matplotlib.use("agg")
    from matplotlib import pyplot
    from matplotlib.colors import LogNorm

    figure, (distances, clusters) = pyplot.subplots(2, 1, figsize=(12, 12), layout="constrained")
    order = np.argsort(km)
    dots = distances.scatter(
        airports.longitude[order],
        airports.latitude[order],
        c=np.maximum(km[order], 1),
        s=3,
        norm=LogNorm(1, 1000),
        cmap="viridis",
    )
    distances.set_title(f"{len(km)} airports by the distance to the nearest other one")
    figure.colorbar(dots, ax=distances, label="km to the nearest other airport", extend="both", shrink=0.8)
    is_noise = labels < 0
    clusters.scatter(airports.longitude[is_noise], airports.latitude[is_noise], c="#c8ccd0", s=1)
    colours = np.random.default_rng(1).permutation(labels.max() + 1)[labels[~is_noise]]
    places = airports.longitude[~is_noise], airports.latitude[~is_noise]
    clusters.scatter(*places, c=colours, s=4, cmap="turbo")
    clusters.set_title(f"their {labels.max() + 1} clusters")
    for axes in (distances, clusters):
        axes.set(
            xlim=(-180, 180), ylim=(-90, 90), aspect="equal", xlabel="longitude (°)", ylabel="latitude (°)"
        )
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
