"""SciPy's own tests of both classes, in a process of their own; see `interpolate_suite`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest

HELPERS = Path(__file__).parents[1] / "helpers"


@pytest.mark.thorough
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="SciPy's tests are for float64 on the CPU")
def test_scipys_own_tests():
    pytest_command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-q", "--tb=short"]
    plugins = ["-p", "interpolate_suite", "-p", "no:cacheprovider"]
    suites = [f"scipy.interpolate.tests.test_{name}" for name in ("rbfinterp", "ndgriddata")]
    path = os.pathsep.join([str(HELPERS), str(HELPERS.parents[1]), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [*pytest_command, *plugins, "--pyargs", *suites],
        env={**os.environ, "PYTHONPATH": path, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-5000:]
    passed, failed = (int(re.search(rf"(\d+) {word}", run.stdout)[1]) for word in ("passed", "xfailed"))
    assert passed >= 200, run.stdout[-5000:]
    assert failed == 3, run.stdout[-5000:]
