"""Elements read one after the other: some come from one read of many, and none is out of date."""

import jax
import numpy as np
import pytest

import jaxapi.mutable as xp
from jaxapi.mutable import _elements

pytestmark = pytest.mark.parametrize("size", ["small", "large"], indirect=True)


@pytest.mark.parametrize("n", [1, 2, 32, 33, 100])
def test_loops(n):
    host = np.arange(n, dtype=np.float32) ** 2
    x = xp.asarray(host)
    assert [float(x[i]) for i in range(n)] == host.tolist()
    assert [float(x[i]) for i in range(-n, 0)] == host.tolist()
    assert [float(x[i]) for i in reversed(range(n))] == host.tolist()[::-1]


def test_rows_and_views():
    host = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    x = xp.asarray(host)
    assert [[float(x[i, j]) for j in range(4)] for i in range(3)] == host.tolist()
    assert [[float(x[i, j]) for i in range(3)] for j in range(4)] == host.T.tolist()
    assert [[float(row[j]) for j in range(3)] for row in x.T[::-1]] == host.T[::-1].tolist()


def test_writes_between_reads():
    x = xp.zeros(50)
    for i in range(49):
        x[i + 1] = x[i] + 1
    np.testing.assert_array_equal(x, np.arange(50))
    first = x[0]
    for i in range(50):
        element = x[i]
        element += 100  # an element is a copy
    np.testing.assert_array_equal(x, np.arange(50))
    assert float(first) == 0


def test_one_program_reads_many(monkeypatch):
    taken = []
    take = _elements.take
    monkeypatch.setattr(_elements, "take", lambda *args: taken.append(1) or take(*args))
    x = xp.arange(64)
    assert [int(np.asarray(x[i])) for i in range(64)] == list(range(64))
    assert len(taken) == 3


def test_in_programs():
    x = xp.asarray([1.0, 2.0, 3.0])

    @jax.jit
    def of_an_argument(y):
        return y[0] + 10 * y[1] + 100 * y[2]

    @jax.jit
    def of_a_constant():
        return x[0] + 10 * x[1] + 100 * x[2]

    for _ in range(2):
        assert float(of_an_argument(x)) == float(of_a_constant()) == 321
        assert [float(x[i]) for i in range(3)] == [1, 2, 3]
