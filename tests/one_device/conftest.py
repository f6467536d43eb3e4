"""Tests for a process with one device: XLA's pool of threads has as many threads as the machine has cores."""

import faulthandler

import jax
import pytest

LONGEST = 120.0  # seconds that a test may take


@pytest.fixture(autouse=True)
def one_device():
    """Leave tests out where a CPU plays several devices; end the process where a test hangs."""
    if jax.device_count() > 1:
        pytest.skip("needs a process with one device")
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
