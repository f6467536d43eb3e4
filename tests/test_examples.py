"""The examples run, and what they find is what other libraries find."""

import importlib.util
import pathlib

import numpy as np
import pytest

pytest.importorskip("matplotlib")
EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hillshade(tmp_path, capsys):
    shaded, expected, blended = load("hillshade").main(tmp_path / "picture.png")
    np.testing.assert_allclose(shaded, expected, atol=2e-5)  # matplotlib's own
    assert 0 <= float(blended.min()) < float(blended.max()) <= 1
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    assert "hillshade" in capsys.readouterr().out


def test_point_normals(capsys):
    normals, angles = load("point_normals").main()
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-5)
    assert np.median(angles) < 5
    assert "138632 points" in capsys.readouterr().out


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


def test_radius_graph(capsys):
    contacts, energy, expected, error = load("radius_graph").main("4")
    assert (contacts == 12).all()
    np.testing.assert_allclose(energy, expected, rtol=1e-5)  # all pairs
    assert error < 1e-4
    assert "at rest -8.30 epsilon" in capsys.readouterr().out
