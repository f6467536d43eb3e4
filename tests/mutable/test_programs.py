"""Random programs, statement by statement as NumPy runs them; `nox -s fuzz` runs many more."""

import jax
import numpy as np
import pytest
from fuzz import programs


@pytest.mark.parametrize("seed", range(3))
def test_eager(seed):
    rng = np.random.default_rng(seed)
    hosts = programs.start(rng)
    with jax.enable_x64(True):
        assert not programs.differences(programs.random_program(rng, hosts), hosts)


@pytest.mark.thorough
def test_under_transformations_and_derivatives():
    rng = np.random.default_rng(1)
    hosts = [x + rng.random(x.shape) for x in programs.start(rng)]
    with jax.enable_x64(True):
        assert not programs.traced_differences(programs.random_program(rng, hosts, 3), hosts, rng)


@pytest.mark.daily
def test_the_functional_program_is_numpys():
    """What derivatives are compared with."""
    for seed in range(20, 22):
        rng = np.random.default_rng(seed)
        hosts = programs.start(rng)
        program = programs.random_program(rng, hosts, 10)
        with jax.enable_x64(True):
            flat = programs.run(program, programs.Flat, [programs.Flat.of(x) for x in hosts])
            for x, host in zip(flat, programs.run(program, np, [x.copy() for x in hosts]), strict=True):
                np.testing.assert_allclose(x.value(), host, rtol=1e-12)
