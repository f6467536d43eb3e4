"""What is read of arrays with room, and of views of them, is no program of its own length."""

import numpy as np
import pytest
from compilations import no_compilation

import jaxapi.numpy
from jaxapi.mutable import _host_way

VIEWS = [
    lambda x: x,
    lambda x: x.T,
    lambda x: x[5:],
    lambda x: x[:-3, 1],
    lambda x: x[:, ::-1],
    lambda x: x[::-2],
    lambda x: x[3],
    lambda x: x[4:][::2].T,
    lambda x: x.reshape(-1)[7:],
]


@pytest.fixture(autouse=True)
def way():
    """Run each test JAX's way alone."""
    before = _host_way.is_on()
    _host_way.set_on(False)
    yield
    _host_way.set_on(before)


def test_reading():
    for count in (70, 69, 68):
        host = np.random.default_rng(count).normal(size=(count, 3)).astype("float32")
        x = jaxapi.numpy.asarray(host)
        with no_compilation():
            for view in VIEWS:
                np.testing.assert_array_equal(np.asarray(view(x)), view(host))
