"""The main job: its parts against SciPy and NumPy, its exit code, its JSON and its plot."""

import json
import runpy
import sys

import numpy as np
import pytest
from scipy.spatial import KDTree as SciPyKDTree

import jaxapi
from jaxapi._demo import _airports, _comparison, _program


def exit_code(monkeypatch, *options):
    """Run ``python -m jaxapi``."""
    monkeypatch.setattr(sys, "argv", ["jaxapi", *options])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("jaxapi", run_name="__main__")
    return ended.value.code


@pytest.fixture(scope="module")
def airports():
    pytest.importorskip("airportsdata")
    return _airports.load()


def test_places_on_the_sphere(airports):
    """By the haversine formula, between each airport and the next one."""
    latitude, longitude = np.radians(airports.latitude), np.radians(airports.longitude)
    half_angles = np.sin(np.diff(latitude) / 2) ** 2
    half_angles += np.cos(latitude[1:]) * np.cos(latitude[:-1]) * np.sin(np.diff(longitude) / 2) ** 2
    expected = 2 * 6371.0088 * np.arcsin(np.sqrt(half_angles))
    chords = np.linalg.norm(np.diff(airports.points, axis=0), axis=1)
    np.testing.assert_allclose(_airports.to_km(chords), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.thorough
def test_json(capsys, tmp_path, monkeypatch):
    pytest.importorskip("airportsdata")
    pytest.importorskip("matplotlib")
    path = tmp_path / "map.png"
    assert exit_code(monkeypatch, "--json", "--plot", str(path)) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    assert report["airports"] > 28_000
    assert len(report["comparisons"]) == 6
    assert all(comparison["ok"] for comparison in report["comparisons"])
    assert report["differences"] == 0
    assert report["pairs"] == report["pairs_scipy"] > 0
    assert report["searched_by"] == "scipy"
    assert report["brute_force"] == {"airports": 1000, "differences": 0}
    assert report["transforms"]["ok"] is True
    others = [other for each in report["comparisons"] for case in each["cases"] for other in case["others"]]
    assert {other["name"] for other in others} == {"by jnp.asarray", "jax.jit", "jax.numpy", "numpy"}
    assert not any(other["ok"] for other in others)  # with x64 mode off, and NumPy's and JAX's of today
    assert path.read_bytes().startswith(b"\x89PNG")


def test_text_without_airportsdata(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "airportsdata", None)
    assert exit_code(monkeypatch) == 0
    captured = capsys.readouterr()
    assert "pip install airportsdata" in captured.err
    assert "2. Compared with NumPy and SciPy" in captured.out
    assert "NOT OK" not in captured.out


def test_exit_code_tells_a_difference(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "airportsdata", None)
    monkeypatch.setattr(jaxapi, "vecdot", lambda x1, x2, axis=-1: 2 * np.vecdot(x1, x2, axis=axis))
    assert exit_code(monkeypatch) == 1
    assert "vecdot broadcasts, on any axis: NOT OK" in capsys.readouterr().out


def test_compare_sees_differences(airports):
    scipys = _airports.neighbors(SciPyKDTree, airports.points)
    assert _airports.compare(scipys, scipys) == (0, 0.0)
    off = scipys._replace(distances=scipys.distances * (1 + 1e-8))
    assert _airports.compare(off, scipys)[0] == np.count_nonzero(scipys.distances)
    assert _airports.compare(scipys._replace(pairs=0), scipys)[0] == 1
    rows = scipys.rows.copy()
    rows[7, 2] = -1
    moved = scipys._replace(rows=rows, distances=scipys.distances * (1 + 1e-12))
    assert _airports.compare(moved, scipys)[0] == 1


def test_brute_force_sees_differences(airports):
    scipys = _airports.neighbors(SciPyKDTree, airports.points)
    assert _airports.compare_with_brute_force(scipys, airports.points, 50) == 0
    shifted = scipys._replace(rows=np.roll(scipys.rows, 1, axis=0))
    assert _airports.compare_with_brute_force(shifted, airports.points, 50) > 45
    off = scipys._replace(distances=scipys.distances * (1 + 1e-8))
    assert _airports.compare_with_brute_force(off, airports.points, 50) > 45


@pytest.mark.thorough
def test_clusters_of_airports(airports, capsys):
    cluster = pytest.importorskip("sklearn.cluster")
    report = _program.run_airports(airports, None, print)
    radius = _program.CLUSTER_KM / _airports.EARTH_RADIUS_KM
    expected = cluster.DBSCAN(eps=radius, min_samples=_program.CLUSTER_SIZE).fit(airports.points).labels_
    assert report["clusters"] == expected.max() + 1 > 100
    assert "searched by SciPy's tree" in capsys.readouterr().out


def test_what_a_library_raises_is_what_it_gives():
    other = _comparison._other("other", lambda: np.ones(2) @ np.ones(3), 1.0, 0)
    assert other == ("other", "ValueError", False)
    assert _comparison._other("other", lambda: np.float64(1), np.float64(1), 0).ok


def test_the_same_values_of_another_dtype_or_shape_differ():
    x = np.array([1.0, np.nan, 2.0])
    assert _comparison._same(x, x * (1 + 1e-9), 1e-6)
    for other in (x.astype("float32"), x[None], x * (1 + 1e-5), x[::-1]):
        assert not _comparison._same(x, other, 1e-6)


def test_neighbours_leave_out_the_own_row():
    points = np.array([[0.0, 0, 1]] * 6 + [[0, 1.0, 0], [1.0, 0, 0]])
    found = _airports.neighbors(SciPyKDTree, points)
    assert np.all(found.rows != np.arange(8)[:, None])
    assert np.all(found.distances[:6] == 0)
    assert found.pairs == 15


def test_great_circle():
    # a quarter of the meridian, and a whole turn's half
    assert _airports.to_km(np.sqrt(2)) == pytest.approx(6371.0088 * np.pi / 2)
    assert _airports.to_km(2.0) == pytest.approx(6371.0088 * np.pi)
