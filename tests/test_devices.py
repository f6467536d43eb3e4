"""`device=` and arrays on two devices."""

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

import jaxapi as xp


def raises(error, function, *names):
    with pytest.raises(error) as caught:
        function()
    for name in names:
        assert name in str(caught.value), (name, str(caught.value))


@pytest.mark.thorough
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the CPU plays several devices")
def test_two_devices():
    first, second = jax.devices()[:2]
    sharded = NamedSharding(Mesh(np.array([first, second]), ("i",)), PartitionSpec("i"))
    assert set(xp.__array_namespace_info__().devices()) >= {first, second}
    host = np.arange(64.0)

    for device in [None, first, second, SingleDeviceSharding(second), sharded]:
        for made in (
            xp.zeros(4, device=device),
            xp.ones((4, 2), dtype="float64", device=device),
            xp.full(4, 7, device=device),
            xp.empty(4, device=device),
            xp.eye(4, device=device),
            xp.asarray([1, 2], device=device),
            xp.asarray(host, device=device),
            xp.asarray(xp.asarray(host), device=device),
            xp.arange(4, device=device),
            xp.linspace(0, 1, 4, device=device),
            xp.linspace(xp.asarray(0.0), 1, 4, device=device),
            xp.logspace(0, 1, 4, device=device),
            xp.logspace(0, 1, 4, dtype="int32", device=device),
            xp.logspace(xp.asarray(0.0), 1, 4, device=device),
            xp.fft.fftfreq(4, device=device),
            xp.fft.rfftfreq(6, device=device),
            xp.astype(xp.ones(4), "float64", device=device),
        ):
            expected = device
            if not isinstance(device, jax.sharding.Sharding):
                expected = SingleDeviceSharding(first if device is None else device)  # None is JAX's default
            assert made.sharding.is_equivalent_to(expected, made.ndim), (made.sharding, device)
            for like in (xp.zeros_like(made), xp.full_like(made, 3), xp.empty_like(made), xp.ones_like(made)):
                assert like.sharding.is_equivalent_to(made.sharding, made.ndim)
        assert xp.asarray(host, device=device).dtype == np.float64
    np.testing.assert_array_equal(xp.asarray(host, device=sharded), host)

    # Results stay where their inputs are; a move is a copy.
    there = xp.asarray(host, device=second)
    assert xp.asarray(there).device == xp.from_dlpack(there).device == second
    assert xp.asarray(there, copy=True).device == second
    assert xp.asarray(there, dtype="float32").device == second
    assert xp.from_dlpack(there, device=first).device == xp.asarray(there, device=first).device == first
    raises(BufferError, lambda: xp.from_dlpack(there, device=first, copy=False), str(first), str(second))
    raises(ValueError, lambda: xp.asarray(there, device=first, copy=False), str(first), str(second))
    assert xp.from_dlpack(there, device=second, copy=False).device == second
    assert xp.from_dlpack(host, device=second).device == second

    # Arrays on two devices do not mix, and the error names both.
    here = xp.asarray(host, device=first)
    for mixed in (
        lambda: xp.add(here, there),
        lambda: xp.stack([here, there]),
        lambda: xp.asarray([here, there]),
        lambda: xp.vecdot(here, there),
        lambda: xp.where(here > 1, here, there),
    ):
        raises(ValueError, mixed, "device ids [0]", "device ids [1]")
    raises(ValueError, lambda: xp.logspace(here, there), str(first), str(second))
    for dtype in ("float64", "int64"):
        assert xp.logspace(there[:3], 2, 4, dtype=dtype).device == second
    assert xp.logspace(xp.asarray([1, 2], device=sharded), 3, 4, dtype="int32").shape == (4, 2)
    spread = xp.asarray([1.0, 2.0], device=sharded)
    assert xp.logspace(spread, 3, 4, device=second).devices() == {second}


@pytest.mark.parametrize(
    "make",
    [
        lambda x, device: xp.logspace(x, 2, 4, device=device),
        lambda x, device: xp.linspace(x, 2, 4, device=device),
        lambda x, device: xp.fft.fftfreq(4, x, device=device),
        lambda x, device: xp.full(4, x, device=device),
    ],
)
def test_device_inside_of_jit(make):
    device = jax.devices()[-1]
    assert jax.jit(lambda x: make(x, device))(np.float32(1)).devices() == {device}
