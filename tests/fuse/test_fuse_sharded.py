"""`fuse` with arrays that are spread over several devices, in a process with eight simulated ones."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxapi as xp
from jaxapi import fuse

DEVICES = 8
EXCHANGES = {"all-gather", "all-reduce", "all-to-all", "collective-permute", "reduce-scatter"}

if jax.device_count() < DEVICES:

    @pytest.mark.skipif(jax.default_backend() != "cpu", reason="needs simulated devices")
    def test_in_a_process_with_eight_devices():
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
            env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        assert " passed" in run.stdout

else:
    X = np.arange(64 * 6, dtype=np.float32).reshape(64, 6)

    @pytest.fixture
    def mesh():
        return jax.make_mesh((DEVICES,), ("rows",), devices=jax.devices()[:DEVICES])

    @pytest.fixture
    def rows(mesh):
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("rows"))

    @pytest.fixture
    def everywhere(mesh):
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

    class Scale:
        def __init__(self, by):
            self.by = by

        @fuse
        def of(self, x):
            return x * self.by

    def exchanges(function, *args):
        program = function.lower(*args).compile().as_text()
        return {name for name in EXCHANGES if f" {name}(" in program or f" {name}-start(" in program}

    def test_quotients_and_roots_keep_the_sharding_and_exchange_nothing(rows):
        f = fuse(lambda x: xp.sqrt(x / 49) / (1 + x) ** 2)
        x = jax.device_put(X, rows)
        assert f(x).sharding.is_equivalent_to(rows, 2)
        assert not exchanges(f, x)
        explicit = jax.make_mesh((DEVICES,), ("rows",), axis_types=(jax.sharding.AxisType.Explicit,))
        x = jax.device_put(X, jax.sharding.NamedSharding(explicit, rows.spec))
        assert jax.typeof(f(x)) == jax.typeof(x)

    def test_compiled_functions_inside_keep_the_sharding_that_they_ask_for():
        auto = jax.make_mesh((DEVICES,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
        rows = jax.sharding.NamedSharding(auto, jax.sharding.PartitionSpec("rows"))
        everywhere = jax.sharding.NamedSharding(auto, jax.sharding.PartitionSpec())
        x = jax.device_put(X, rows)
        gathered = jax.jit(lambda x: x / 49, out_shardings=everywhere)
        result = fuse(lambda x: gathered(x))(x)
        assert result.sharding.is_equivalent_to(everywhere, 2)
        np.testing.assert_array_equal(result, X / np.float32(49))
        taken = jax.jit(lambda x: x / 49, in_shardings=everywhere)
        assert exchanges(fuse(lambda x: taken(x)), x) == {"all-gather"}

    def test_element_wise_functions_keep_the_sharding_and_exchange_nothing(rows, everywhere):
        x, w = jax.device_put(X, rows), jax.device_put(X[0], everywhere)
        f = fuse(lambda x, w, a: xp.where(x > a, x * w, -x))
        calls = [
            (f, (x, w, 3.0)),
            (f, (x, X[0], 3)),
            (fuse(lambda x, w, g: g(x) * w), (x, w, xp.sin)),
            (Scale(w).of, (x,)),
        ]
        for function, args in calls:
            result = function(*args)
            assert result.sharding.is_equivalent_to(rows, 2)
            assert {shard.data.shape for shard in result.addressable_shards} == {(8, 6)}
            assert exchanges(function, *args) == set()
        np.testing.assert_array_equal(f(x, w, 3.0), np.where(X > 3, X * X[0], -X))

    def test_reductions_exchange_results_and_not_arrays(rows):
        x = jax.device_put(X, rows)
        f = fuse(lambda x: (xp.sum(x, axis=1), xp.sum(x, axis=0)))
        by_row, total = f(x)
        assert by_row.sharding.is_equivalent_to(rows, 1)
        assert total.sharding.is_fully_replicated
        np.testing.assert_array_equal(by_row, X.sum(1))
        np.testing.assert_array_equal(total, X.sum(0))
        assert exchanges(f, x) == {"all-reduce"}

    def test_explain_counts_one_device(rows, everywhere):
        x, w = jax.device_put(X, rows), jax.device_put(X[0], everywhere)
        least = 2 * X.nbytes // DEVICES + w.nbytes
        moved = fuse(lambda x, unused, w: x * w).explain(x, X, w).bytes_accessed
        assert least <= moved <= 1.1 * least

    def test_donation_and_wide_arrays(rows):
        x = xp.asarray(X.astype(np.float64) / 3)
        x = jax.device_put(x, rows)
        result = fuse(lambda x: x * 0.1, donate_argnums=0)(x)
        assert x.is_deleted()
        assert result.sharding.is_equivalent_to(rows, 2)
        np.testing.assert_array_equal(np.asarray(result), X.astype(np.float64) / 3 * 0.1)

    def test_arrays_on_different_devices_are_refused():
        x, y = (jax.device_put(X, device) for device in jax.devices()[:2])
        with pytest.raises(ValueError, match="incompatible devices"):
            fuse(lambda x, y: x + y)(x, y)
