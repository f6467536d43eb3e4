"""Numbers that calls repeat: kept on the device, where programs for GPUs read them."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import no_compilation

import jaxapi as xp
from jaxapi._core import _programs
from jaxapi._core._constants import Operands
from jaxapi._core._dtypes import x64_as
from jaxapi._interop import as_argument
from jaxapi._interop._host_memory import aligned_empty

X = np.asarray([-1.5, -0.0, 0.0, 2.0], np.float32)
NAN_OF_OTHER_SIGN = np.copysign(np.nan, -1.0).item()


@pytest.fixture
def compiled(monkeypatch):
    """Compile as for a GPU, with options that every XLA knows."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(_programs, "_FASTER", {})
    return _programs.compiled


def second(x, y):
    return x, jnp.broadcast_to(y, x.shape)


@pytest.mark.parametrize("x64", [False, True])
def test_repeated_numbers_are_the_numbers(compiled, x64):
    """In turn, so that one that is taken for another shows; bits, dtypes and weak types are those of jit."""
    numbers = [0.0, -0.0, np.nan, NAN_OF_OTHER_SIGN, np.inf, 0.1, 0, 1, 1.0, True, False, 1 + 0j, 0j]
    numbers += [complex(-0.0, 0.0), complex(0.0, -0.0), np.float32(0.1), np.int8(1), np.asarray([1, -0.0])]
    numbers += [np.float32(1), np.asarray(1, np.int16), np.asarray([[1.0], [-0.0]], np.float16)]
    program = compiled(lambda x, y: (x, y))
    with x64_as(x64):
        for _ in range(4):
            for number in numbers:
                _, result = program(X, number)
                sent = jax.jit(lambda y: y)(number)
                assert np.asarray(result).tobytes() == np.asarray(sent).tobytes(), number
                assert (result.dtype, result.weak_type) == (sent.dtype, sent.weak_type), number
                if x64 or not isinstance(number, np.ndarray):
                    exact = np.asarray(number).astype(result.dtype)
                    assert np.asarray(result).tobytes() == exact.tobytes(), number


def test_masked_arrays_are_refused_as_by_jit(compiled):
    """Also the second time, when the same elements without a mask are kept."""
    program = compiled(jnp.add)
    masked = np.ma.masked_array(X, [True, False, False, False])
    for _ in range(2):
        program(X, masked.data)
        with pytest.raises(ValueError, match="masked arrays are not supported"):
            program(X, masked)


def test_numbers_are_kept_from_their_second_use_on(compiled):
    x = jnp.asarray(X)
    program = compiled(jnp.clip)
    for low, high in [(-0.5, 0.75), (-0.25, 1.25)]:
        for _ in range(2):
            program(x, low, high)
        with jax.transfer_guard_host_to_device("disallow_explicit"):
            result = program(x, low, max=high)
        np.testing.assert_array_equal(result, np.clip(X, low, high))
    with jax.transfer_guard_host_to_device("disallow"), pytest.raises(Exception, match="host-to-device"):
        program(x, -0.125, 1.75)


def test_results_are_not_what_is_kept(compiled):
    """Whoever has a result may delete or donate it, and write to memory that he gave."""
    program = compiled(lambda y: y)
    memory = aligned_empty((8,), np.dtype(np.float32))  # such as JAX may share
    for i in range(8):
        memory[:] = i % 2
        program(3.5).delete()
        given = program(memory)
        np.testing.assert_array_equal(given, memory)
        given.delete()
    memory[:] = 5
    for i in range(2):
        np.testing.assert_array_equal(program(np.full(8, i, np.float32)), i)
    with jax.disable_jit():
        result = program(3.5)
    assert isinstance(result, float), "not what is kept"
    assert program(3.5) == 3.5
    consuming = compiled(lambda y, x: x + y, donate_argnums=0)
    for _ in range(4):
        assert consuming(0.5, np.float32(1)) == 1.5


def test_what_shapes_a_program_stays_a_number(compiled):
    def repeated(x, count, *, axis, scale=1):
        assert type(count) is int
        assert type(axis) is int
        return jnp.repeat(x, count, axis) * scale

    program = compiled(repeated, static_argnums=1, static_argnames="axis")
    for _ in range(4):
        np.testing.assert_array_equal(program(X, 2, axis=0, scale=3), np.repeat(X, 2) * 3)


def test_transformations_see_numbers(compiled):
    program = compiled(jnp.multiply)
    for _ in range(3):
        assert program(jnp.asarray(2.0), 4.0) == 8
        assert jax.grad(lambda x: program(x, 4.0))(2.0) == 4
        np.testing.assert_array_equal(jax.vmap(lambda x: program(x, 4.0))(X), X * 4)
        assert jax.jit(lambda x: program(x, 4.0))(2.0) == 8
        with jax.disable_jit():
            assert program(jnp.asarray(2.0), 4.0) == 8


def test_numbers_that_no_dtype_holds_raise(compiled):
    program = compiled(jnp.add)
    for _ in range(3):
        with pytest.raises(OverflowError):
            program(jnp.asarray(X), 2**70)


def test_keeping_a_number_compiles_nothing(compiled):
    x = jax.device_put(X, jax.devices()[-1])
    program = compiled(lambda x, y: x.astype(complex) + y.astype(complex).sum())
    for number in (0.5, 3, True, 2j, np.float32(0.5), np.asarray([1.0, 2.0], np.float16)):
        program(x, number)
        with no_compilation():
            for _ in range(3):
                np.testing.assert_array_equal(program(x, number), X + np.sum(number))


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the CPU plays several devices")
def test_numbers_lie_where_the_program_computes(compiled):
    """On the device that an array is bound to, bound to none themselves; meshes and shards get numbers."""
    first, other = jax.devices()[:2]
    mesh = jax.sharding.Mesh(np.array([first, other]), ("i",))
    sharded = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    program = compiled(jnp.add)
    for _ in range(4):
        for place in (first, other, sharded):
            x = jax.device_put(X, place)
            result = program(x, 0.5)
            np.testing.assert_array_equal(result, X + np.float32(0.5))
            assert result.sharding.is_equivalent_to(x.sharding, 1)
        with jax.set_mesh(mesh):
            np.testing.assert_array_equal(program(jax.device_put(X, sharded), 0.5), X + np.float32(0.5))
        with jax.default_device(other):
            assert program(jnp.asarray(X), 0.5).devices() == {other}
        assert not program(jnp.asarray(X), 0.5).committed
        assert program(jnp.asarray(X), 0.5).devices() == {first}
    operands = Operands(jnp.add)
    for place in (other, sharded):
        (x, y), _ = operands.on_device((jax.device_put(X, place), 0.5), {})
        is_array = isinstance(y, jax.Array)
        assert is_array == (place is other)
        assert not is_array or (y.devices() == {other} and not y.committed)


def test_64_bits_of_numbers():
    """Of those beside an array of 64 bits with x64 mode off, NumPy's among them."""
    x = np.asarray([0.25, -0.0])
    with x64_as(False):
        for _ in range(3):
            for number in (0.1, -0.0, 3, np.nan):
                result = xp.copysign(xp.add(xp.asarray(x), number), number)
                assert result.dtype == np.float64
                assert np.asarray(result).tobytes() == np.copysign(x + number, number).tobytes()
            assert xp.add(xp.asarray(x, dtype="float32"), np.float32(2)).dtype == np.float32
            assert xp.add(xp.asarray([2**40], dtype="int64"), 2**41).tolist() == [2**40 + 2**41]
            with pytest.raises(OverflowError):
                xp.add(xp.asarray([1], dtype="int64"), 2**64)


@pytest.mark.parametrize("x64", [False, True])
def test_lists_and_numbers_are_arguments_of_programs(x64):
    """Sent with the program, not before it; in JAX's default dtypes, and no int is cut."""
    values = [[1, 2], (1.0, -0.0), [True, False], [[1j], [2]], 3, 2.5, np.float32(2.5), np.int8(3)]
    with x64_as(x64):
        for value in values:
            argument = as_argument(value)
            assert type(argument) is np.ndarray
            assert argument.tolist() == np.asarray(value).tolist()
            assert argument.dtype == xp.asarray(value).dtype
            np.testing.assert_array_equal(xp.isin(xp.asarray(value), value), np.isin(value, value))
        with pytest.raises(OverflowError):
            xp.isin(xp.asarray([1]), [2**64])
        with jax.disable_jit():
            assert xp.isin(xp.asarray([1, 2]), [2, 3]).tolist() == [False, True]


CALLS = """
import jax, numpy as np
import jaxapi as xp
from jaxapi._core import _programs

jax.default_backend = lambda: "gpu"
_programs._FASTER.clear()
x, table = xp.arange(16, dtype="float32"), xp.ones((4, 4), dtype="float32")
mask = table > 0
calls = {
    "clip": lambda: xp.clip(x, 0.0, 1.0),
    "add": lambda: xp.add(x, 2),
    "where": lambda: xp.where(mask, table, 0.0),
    "full": lambda: xp.full((4,), 2.0),
    "eye": lambda: xp.eye(5),
    "linspace": lambda: xp.linspace(0, 1, 16),
    "tril": lambda: xp.tril(table),
    "roll": lambda: xp.roll(x, 3),
    "diff": lambda: xp.diff(x),
    "std": lambda: xp.std(x),
    "any": lambda: xp.any(mask),
    "argmax": lambda: xp.argmax(x),
    "cumulative_sum": lambda: xp.cumulative_sum(x),
    "isin": lambda: xp.isin(x, [1.0, 2.0]),
    "searchsorted": lambda: xp.searchsorted(x, x),
    "float64": lambda: xp.add(xp.ones(3, dtype="float64"), 0.1),
}
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **__: compiled.append(event) if event.endswith("backend_compile_duration") else None
)
for name, call in calls.items():
    compiled.clear()
    call()
    call()
    with jax.transfer_guard_host_to_device("disallow_explicit"):
        call()
    print(name, len(compiled))
"""


@pytest.mark.thorough
def test_eager_calls_are_one_program_and_send_nothing():
    """As on a GPU, from the third call on; in a process of its own, where nothing is compiled yet."""
    environment = os.environ | {"JAX_ENABLE_X64": "0", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", CALLS], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    programs = dict(line.split() for line in done.stdout.splitlines())
    assert programs.pop("float64") == "2", "with the one that makes the array"
    assert set(programs.values()) == {"1"}, programs
