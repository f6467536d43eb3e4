"""What NumPy computes on the CPU is what JAX's programs compute, and where NumPy stays out of the way."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_same
from small_arrays import INTS

import jaxapi as xp
from jaxapi._interop import _by_numpy

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="NumPy computes on the CPU")

SHAPE = (6, 20)
SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 0.0, -0.0, 1.5, 2.5]
COUNTS = np.arange(6) % 4

CALLS = {
    "all": [{}, {"keepdims": True}, {"axis": 1}],
    "any": [{}, {"keepdims": True}, {"axis": (0, 1)}],
    "argmax": [{}, {"axis": 0}, {"axis": -1, "keepdims": True}],
    "argmin": [{}, {"axis": 1}],
    "argsort": [{}, {"axis": 0}, {"descending": True}, {"axis": 0, "descending": True, "stable": True}],
    "count_nonzero": [{}, {"keepdims": True}, {"axis": 0}],
    "cumulative_sum": [{"axis": 0}, {"axis": -1}, {"axis": 1, "include_initial": True}],
    "max": [{}, {"keepdims": True}, {"axis": 1}],
    "min": [{}, {"axis": (0, 1)}],
    "nonzero": [{}],
    "repeat": [{"repeats": COUNTS, "axis": 0}, {"repeats": np.arange(120) % 3}],
    "roll": [{"shift": 7}, {"shift": -127}, {"shift": 2, "axis": 1}],
    "sort": [{}, {"axis": 0}, {"descending": True}],
    "unique_counts": [{}],
    "unique_values": [{}],
}


@pytest.fixture
def asked(monkeypatch):
    """Ask NumPy for arrays of any size, and note the names that it has an answer to."""
    answered = set()
    monkeypatch.setattr(_by_numpy, "_is_large", lambda name, x: getattr(x, "ndim", 0) > 0)
    by_numpy = _by_numpy.placed_on_device_of

    def noted(x, result):
        answered.add(True)
        return by_numpy(x, result)

    monkeypatch.setattr(_by_numpy, "placed_on_device_of", noted)
    return answered


def inputs_of(dtype):
    rng = np.random.default_rng(5)
    if np.dtype(dtype).kind == "f":
        with np.errstate(over="ignore"):
            some = rng.choice(np.asarray(SPECIAL, dtype), SHAPE)
            yield np.where(rng.random(SHAPE) < 0.4, some, rng.normal(size=SHAPE).astype(dtype))
            yield rng.choice(np.asarray([0.0, -0.0, 1], dtype), SHAPE)
            yield rng.normal(size=SHAPE).astype(dtype)
    elif dtype == "bool":
        yield rng.random(SHAPE) < 0.5
        yield np.zeros(SHAPE, bool)
    else:
        limits = np.iinfo(dtype)
        yield rng.integers(limits.min, limits.max, SHAPE, dtype, endpoint=True)
        yield rng.integers(0, 4, SHAPE, dtype)


def call(name, x, options):
    options = dict(options)
    arguments = [options.pop(key) for key in ("repeats", "shift") if key in options]
    found = getattr(xp, name)(x, *arguments, **options)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.thorough
@pytest.mark.daily("x64-uint64")
@pytest.mark.parametrize("dtype", ["bool", *INTS, "float32", "float64"])
def test_results_are_those_of_jaxs_programs(dtype, x64, asked):
    """Values, dtypes, the order of ties and of zeros, NaN; of the fast way and of the one without it."""
    for host in inputs_of(dtype):
        x = xp.asarray(host)
        for name, all_options in CALLS.items():
            for options in all_options:
                found = call(name, x, options)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(_by_numpy, "_is_large", lambda name, x: False)
                    expected = call(name, x, options)
                assert_same(found, expected, signs=True)


@pytest.mark.parametrize("name", sorted(_by_numpy._TABLE))
def test_numpy_is_asked(name, asked):
    is_of_bools = name in ("count_nonzero", "nonzero", "any", "all")
    host = np.arange(1, 121, dtype=np.int32 if name == "cumulative_sum" else np.float32)
    x = xp.asarray(host > 5 if is_of_bools else host)
    options = {"repeats": np.arange(120) % 3} if name == "repeat" else CALLS[name][0]
    call(name, x, {key: value for key, value in options.items() if key != "axis"})
    assert asked
    assert set(CALLS) == set(_by_numpy._TABLE)


def test_results_have_their_own_memory(asked):
    x = xp.asarray(np.arange(40.0, dtype=np.float32)[::-1].copy())
    before = np.asarray(x).copy()
    for name in ("sort", "roll", "unique_values"):
        call(name, x, CALLS[name][0])
    np.testing.assert_array_equal(x, before)


def test_where_jax_computes(asked):
    """In transformations, on arrays that are spread or of other dtypes, and where JAX looks for NaN."""
    x = jnp.arange(8.0)
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()), ("i",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    np.testing.assert_array_equal(jax.jit(xp.sort)(x), x)
    np.testing.assert_array_equal(jax.vmap(xp.sort)(x[None])[0], x)
    np.testing.assert_array_equal(jax.grad(lambda x: xp.sort(x)[-1])(x), [0] * 7 + [1])
    if jax.device_count() > 1:
        assert xp.sort(jax.device_put(x, spread)).tolist() == x.tolist()
    xp.sort(x.astype("bfloat16"))
    xp.max(x.astype("float16"))
    xp.sort(x + 1j)
    with jax.debug_nans(True):
        xp.sort(x)
    with jax.default_device(jax.devices()[-1]):
        assert xp.sort(x).devices() == {jax.devices()[-1]}
    assert not asked


@pytest.mark.parametrize("name", ["argmax", "argsort", "cumulative_sum", "max", "sort"])
def test_programs_exported_for_all_lengths(name):
    (n,) = jax.export.symbolic_shape("n")
    shape = jax.ShapeDtypeStruct((n, 3), np.float32)
    exported = jax.export.export(jax.jit(lambda x: getattr(xp, name)(x, axis=1)))(shape)
    x = np.asarray([[2, 0, 1], [7, 7, 5]], np.float32)
    expected = getattr(np, name.replace("cumulative_sum", "cumsum"))(x, axis=1)
    np.testing.assert_array_equal(exported.call(x), expected)


def test_results_lie_where_jaxs_do(asked):
    for device in (None, *jax.devices()[:2]):
        x = jax.device_put(np.asarray([3, 1, 2], np.float32), device)
        found = xp.sort(x)
        assert found.devices() == jnp.sort(x).devices()
        assert found.committed == jnp.sort(x).committed
    assert asked


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("sort", {"axis": 3}, ValueError),
        ("argsort", {"axis": -4}, ValueError),
        ("argmax", {"axis": 2}, ValueError),
        ("argmax", {"axis": 1.5}, TypeError),
        ("max", {"axis": 5}, ValueError),
        ("any", {"axis": 2}, ValueError),
        ("cumulative_sum", {}, ValueError),
        ("repeat", {"repeats": [-1, 2, 0, 0, 0, 1], "axis": 0}, ValueError),
    ],
)
def test_errors_are_jaxs(name, options, error, asked):
    x = xp.asarray(np.ones(SHAPE, np.float32))
    with pytest.raises(error):
        call(name, x, options)
    assert not asked


def test_what_is_left_to_jax(asked):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    x = jnp.asarray([2, 5, 3])
    assert xp.argmax(jax.device_put(x, sharding)) == 1
    assert xp.argsort(jnp.asarray([2, 1], jnp.float8_e5m2)).tolist() == [1, 0]
    assert xp.sort(jnp.full(3, 1.0)).weak_type
    assert not asked
