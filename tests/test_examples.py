"""The examples run, and what they find is what other libraries find, or what was put into the data."""

import importlib.util
import pathlib
import sys

import jax
import numpy as np
import pytest
from compilations import no_compilation

pytest.importorskip("matplotlib")
EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
NEED_MORE = sorted(path.stem for path in EXAMPLES.glob("*.py") if "[demo]" in path.read_text())


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.thorough
def test_hillshade(tmp_path, capsys):
    shaded, expected, blended = load("hillshade").main(tmp_path / "picture.png")
    np.testing.assert_allclose(shaded, expected, atol=2e-5)  # matplotlib's own
    assert 0 <= float(blended.min()) < float(blended.max()) <= 1
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    assert "hillshade" in capsys.readouterr().out


@pytest.mark.thorough
def test_point_normals(capsys):
    normals, angles = load("point_normals").main()
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-5)
    assert np.median(angles) < 5
    assert "138632 points" in capsys.readouterr().out


@pytest.mark.thorough
def test_terrain(tmp_path, capsys):
    errors, steepness, expected = load("terrain").main(tmp_path / "picture.png", returns=15_000, step=8)
    assert np.median(abs(errors)) < 8  # metres, of 840 of relief
    assert abs(np.median(steepness) / np.median(expected) - 1) < 0.25  # 100 metres between returns and more
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    assert "15000 returns" in capsys.readouterr().out


@pytest.mark.thorough
def test_cupy_to_pytorch(capsys):
    example = load("cupy_to_pytorch")
    denoised, taken, stretched, received, found = example.main()
    assert example.address(stretched) == example.address(received)
    if example.on_gpu():
        assert example.address(denoised) == example.address(taken)
    else:
        from scipy.ndimage import median_filter

        host = median_filter(example.load_slice(), 3)
        low = host[host < host.mean()].mean()
        expected = ((host - low) / (host.mean() + 3 * host.std() - low)).clip(0, 1) ** 0.7
        np.testing.assert_allclose(stretched, expected, atol=1e-5)
        np.testing.assert_allclose(np.asarray(found), np.hypot(*np.gradient(expected)), atol=1e-5)
    assert "jaxapi" in capsys.readouterr().out


@pytest.mark.thorough
def test_radius_graph(capsys):
    contacts, energy, expected, error = load("radius_graph").main(cells=4)
    assert (contacts == 12).all()
    np.testing.assert_allclose(energy, expected, rtol=1e-5)  # all pairs
    assert error < 1e-4
    assert "at rest -8.30 epsilon" in capsys.readouterr().out


@pytest.mark.daily
def test_icp():
    example = load("icp")
    results = example.main(lengths=(2500,), rounds=25)
    with no_compilation():  # of another length
        results += example.main(lengths=(2300,), rounds=25)
    for before, after in results:
        assert np.median(before) > 1000
        assert np.median(after) < 30  # metres, of scans whose points lie 550 metres apart


@pytest.mark.thorough
def test_argon_nve(tmp_path):
    """The energy stays while a tenth of it is exchanged; the forces are the slopes of the energy."""
    example = load("argon_nve")
    total, kinetic, neighbors = example.main(tmp_path / "picture.png", cells=4, steps=400)
    assert np.ptp(kinetic) > 0.5
    assert np.ptp(total[20:]) < 1e-3
    assert abs(np.mean(total[-50:]) - np.mean(total[20:70])) < 1e-4
    assert 10 < int(neighbors.rebuilds) < 100
    with jax.enable_x64(True):
        positions = np.asarray(neighbors.positions, float)
        neighbors = example.xp.spatial.NeighborList(
            positions, example.CUTOFF, example.SKIN, cell=neighbors.cell
        )
        slopes = jax.grad(lambda x: example.forces_of(neighbors.update(x))[1])(positions)
        np.testing.assert_allclose(example.forces_of(neighbors)[0], -slopes, rtol=1e-9, atol=1e-9)
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.thorough
def test_argon_stress(tmp_path):
    pressures, stress, by_differences = load("argon_stress").main(tmp_path / "picture.png")
    assert pressures[0] > 0 > pressures[-1]
    np.testing.assert_allclose(stress, by_differences, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(stress, stress.T, atol=1e-9)
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.thorough
def test_force_matching():
    fitted = load("force_matching").main()
    np.testing.assert_allclose(fitted, [0.0104, 3.40], rtol=0.02)  # what was put into the data


def test_molecules(tmp_path):
    np.testing.assert_allclose(load("molecules").main(tmp_path / "picture.png"), [0.0104, 3.40], rtol=1e-3)
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_crossmatch():
    completeness, purity = load("crossmatch").main(stars=5000)
    assert completeness > 0.999  # an error of 1 second of arc is 4.7 standard deviations
    assert purity > 0.99


@pytest.mark.thorough
def test_dbscan():
    pytest.importorskip("airportsdata")
    from sklearn.cluster import DBSCAN

    points, core, labels = load("dbscan").main()
    chord = 2 * np.sin(30.0 / (2 * 6371.0088))
    expected = DBSCAN(eps=chord, min_samples=12).fit(points)
    np.testing.assert_array_equal(np.flatnonzero(core), expected.core_sample_indices_)
    np.testing.assert_array_equal(labels, expected.labels_)


def test_haloes():
    masses, found = load("haloes").main(particles=20_000)
    large = masses >= 100
    assert abs((found >= 100).sum() - large.sum()) <= 0.15 * large.sum()
    assert abs(found.max() - masses.max()) < 0.1 * masses.max()


def test_colours():
    shares, palette = load("colours").main(pixels=3000)
    assert 2 <= len(palette) <= 20
    assert 0.1 < shares.sum() <= 1


@pytest.mark.thorough
def test_argon_dynamics():
    example = load("argon_dynamics")
    energies, (positions, _), edge = example.main(cells=4, lists=5)
    assert np.ptp(energies) < 0.02  # of the 4 an atom that is exchanged
    moved = np.asarray(positions, dtype=float) + np.random.default_rng(0).normal(0, 0.05, positions.shape)
    tree = example.xp.spatial.KDTree(moved % edge, boxsize=edge)
    rows = tree.query_radius(moved % edge, example.CUTOFF, max_neighbors=example.PLACES).indices
    forces, energy = example.forces_of(example.xp.asarray(moved), rows, edge)
    apart = moved[:, None] - moved
    apart -= edge * np.round(apart / edge)
    squared = (apart**2).sum(axis=-1)
    near = (squared > 0) & (squared < example.CUTOFF**2)
    sixth = np.where(near, squared, np.inf) ** -3.0
    push = 24 * (2 * sixth**2 - sixth) / np.where(near, squared, 1)
    np.testing.assert_allclose(forces, (push[..., None] * apart).sum(axis=1), atol=1e-3)
    expected = (4 * (sixth**2 - sixth) - example.SHIFT * near).sum() / 2
    np.testing.assert_allclose(energy, expected, rtol=1e-4)


@pytest.mark.thorough
def test_knn_regression():
    before, after, scales = load("knn_regression").main(n=200, k=8, steps=25)
    assert after < 0.8 * before
    assert scales[:5].min() > scales[5:].max()  # the features that do nothing count least


def test_cupy_in_place():
    wave, centres, moved = load("cupy_in_place").main()
    assert wave < 1e-5
    assert centres < 1e-4
    assert moved == 0


@pytest.mark.thorough
def test_cupy_port():
    differences = load("cupy_port").main(size=32, steps=100)
    assert max(differences) < 1e-4


def test_numpy_programs(tmp_path):
    differences = load("numpy_programs").main(tmp_path / "picture.png")
    assert len(differences) == 9
    for name, (largest, allowed) in differences.items():
        assert largest <= allowed, name
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", NEED_MORE)
def test_says_what_to_install(name, monkeypatch):
    for module in ("airportsdata", "matplotlib.cbook", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit, match=r"pip install '\.\[demo\]'"):
        load(name)


@pytest.mark.thorough
def test_crossmatch_devices(capsys):
    devices = len(jax.devices())
    right, wrong, none, missing = load("crossmatch_devices").main(stars=250)
    assert (right, wrong, none) == (250 * devices - missing, 0, missing)
    assert f"{250 * devices} stars on {devices} devices" in capsys.readouterr().out
