"""Ctrl-C in a search raises KeyboardInterrupt, and what runs on reads nothing that is freed."""

import signal
import subprocess
import sys

import jax
import pytest

pytestmark = [
    pytest.mark.skipif(jax.default_backend() != "cpu", reason="SciPy serves the CPU"),
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts"),
]

PROGRAM = """
import signal
import numpy as np
from jaxapi.spatial import KDTree

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
points = np.random.default_rng(0).normal(size=(60_000, 3))
searches = {
    "spanning tree": lambda: KDTree(points).minimum_spanning_tree(min_samples=5),
    "hdbscan": lambda: KDTree(points).hdbscan(10),
    "dbscan": lambda: KDTree(points).dbscan(0.3, 40),
    "components": lambda: KDTree(points).connected_components(0.3),
    "query": lambda: KDTree(points).query(points, 20, workers=-1),
    "ties": lambda: KDTree(points.round(1)).query(points, 20, workers=2),
    "lists": lambda: KDTree(points).query_ball_point(points, 0.3, workers=-1),
    "csr": lambda: KDTree(points).query_radius(points, 0.3),
    "nearest within": lambda: KDTree(points).query_radius(points, 0.3, max_neighbors=30),
}
interrupted = 0
for turn in range(TURNS):
    for name, search in searches.items():
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05 * (1 + turn % 5))
            search()
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
assert interrupted > TURNS * len(searches) / 2, interrupted
distances, rows = KDTree(points).query(points[:50], 1)
assert rows.tolist() == list(range(50))
"""


@pytest.mark.thorough
def test_interrupts():
    program = PROGRAM.replace("TURNS", "6")
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr[-2000:]
