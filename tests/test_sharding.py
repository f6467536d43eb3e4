"""Arrays sharded over 8 simulated devices: results stay sharded, and nothing is gathered that need not be."""

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import jaxapi as xp


@pytest.mark.thorough
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the CPU plays several devices")
def test_sharded_arrays_stay_sharded():
    assert len(jax.devices()) == 8
    sharding = NamedSharding(Mesh(np.array(jax.devices()), ("i",)), PartitionSpec("i"))
    rng = np.random.default_rng(0)
    host = rng.random((16, 4), np.float32)
    stack = rng.random((8, 3, 3)).astype("float32") + 4 * np.eye(3, dtype="float32")
    x, ends, matrices = (jax.device_put(a, sharding) for a in (host, host[:, 0], stack))

    calls = {
        "sin": (xp.sin, x), "add": (lambda x: xp.add(x, x), x), "clip": (lambda x: xp.clip(x, 0.1, 0.5), x),
        "floor_divide": (lambda x: xp.floor_divide(x, 0.1), x), "sign": (xp.sign, x), "sinh": (xp.sinh, x),
        "where": (lambda x: xp.where(x > 0.5, x, 0), x), "sum": (lambda x: xp.sum(x, axis=1), x),
        "max": (lambda x: xp.max(x, axis=1), x), "argmax": (lambda x: xp.argmax(x, axis=1), x),
        "sort": (lambda x: xp.sort(x, axis=1), x),
        "cumulative_prod": (lambda x: xp.cumulative_prod(x, axis=1), x),
        "isin": (lambda x: xp.isin(x, host[0]), x), "concat": (lambda x: xp.concat((x, x), axis=1), x),
        "reshape": (lambda x: xp.reshape(x, (16, 2, 2)), x), "repeat": (lambda x: xp.repeat(x, 2, axis=1), x),
        "matmul": (lambda x: xp.matmul(x, host[:4]), x), "vecdot": (lambda x: xp.vecdot(x, x), x),
        "linspace": (lambda x: xp.linspace(x, x + 1, 5, axis=1), ends),
        "logspace": (lambda x: xp.logspace(x, x + 1, 5, axis=1), ends),
        "logspace, integers": (lambda x: xp.logspace(x, x + 1, 5, base=2, axis=1, dtype="int32"), ends),
        "inv": (xp.linalg.inv, matrices), "qr": (lambda x: xp.linalg.qr(x).R, matrices),
        "fft": (lambda x: xp.fft.fft(x, axis=1), x),
    }  # fmt: skip
    if jax.__version_info__ < (0, 12):
        del calls["fft"]  # XLA gathers the whole array there, see docs/sharding.md
    for name, (function, argument) in calls.items():
        eager, compiled = function(argument), jax.jit(function).lower(argument).compile()
        here = function(xp.asarray(np.asarray(argument)))
        for out in (eager, compiled(argument)):
            assert tuple(out.sharding.spec)[:1] == ("i",), (name, out.sharding)
            assert {shard.data.shape[0] for shard in out.addressable_shards} == {argument.shape[0] // 8}, name
            # logspace of arrays on one device is truncated exactly, elsewhere a float64 power is
            np.testing.assert_allclose(out, here, rtol=1e-5, atol=1e-5, err_msg=name)
        for operation in ("all-gather", "all-to-all", "all-reduce", "collective-permute"):
            assert operation not in compiled.as_text(), (name, operation)


ALONG_ROWS = {
    "sort": (lambda x: xp.sort(x, axis=0), lambda x: np.sort(x, axis=0)),
    "roll": (lambda x: xp.roll(x, 1, axis=0), lambda x: np.roll(x, 1, axis=0)),
    "cumulative_sum": (lambda x: xp.cumulative_sum(x, axis=0), lambda x: np.cumsum(x, axis=0)),
    "inv": (lambda x: xp.linalg.inv(x + 4 * xp.eye(3)), lambda x: np.linalg.inv(x + 4 * np.eye(3))),
}


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the CPU plays several devices")
@pytest.mark.parametrize("name", ALONG_ROWS)
def test_meshes_of_explicit_axes(name):
    """What docs/sharding.md says of them: element by element as they are, along a sharded axis by `Auto`."""
    function, numpys = ALONG_ROWS[name]
    x = np.random.default_rng(0).random((8, 3, 3), np.float32)
    rows = PartitionSpec("rows")
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Explicit,))
    auto_mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Auto,))
    explicit = jax.device_put(x, NamedSharding(mesh, rows))
    np.testing.assert_array_equal(xp.abs(explicit - 1), np.abs(x - 1))
    np.testing.assert_array_equal(xp.sort(explicit, axis=1), np.sort(x, axis=1))

    def moved(x):
        return function(jax.device_put(x, NamedSharding(auto_mesh, rows)))

    expected = numpys(x)
    for made in (moved(explicit), jax.jit(moved)(explicit)):
        np.testing.assert_allclose(made, expected, rtol=1e-5)
    with jax.set_mesh(mesh):
        made = jax.sharding.auto_axes(lambda x: function(x), out_sharding=rows)(explicit)
    np.testing.assert_allclose(made, expected, rtol=1e-5)
    assert made.sharding.is_equivalent_to(explicit.sharding, x.ndim)
