"""Statements that wait: the bits of each alone, NumPy's values, and errors, threads, interrupts."""

import operator
import subprocess
import sys
import threading
import warnings
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import no_compilation

import jaxapi.numpy
from jaxapi import mutable
from jaxapi.mutable import _batch_programs, _batches, _host_way, _indexing


@pytest.fixture
def way(monkeypatch):
    before = _host_way.is_on()
    _host_way.set_on(False)
    monkeypatch.setattr(_batches, "_is_on", True)  # in the threads of a test, too
    _batches.run_all()  # what other tests left, by which a batch would end elsewhere
    _batches._asked_at_once.clear()
    monkeypatch.setattr(_batches, "_lent", weakref.WeakValueDictionary())  # numbers that others were given
    yield "jaxs"
    _host_way.set_on(before)


several_devices = pytest.mark.skipif(len(jax.devices()) < 2, reason="one device")


def is_pending(x) -> bool:
    return x._pending is not None and not x._pending.is_there


class Program:
    """A random program of statements on some arrays, the same for each module that it is given."""

    UNARY = ("exp", "sqrt", "sin", "tanh", "negative", "absolute", "log1p", "square", "floor")
    BINARY = ("add", "subtract", "multiply", "divide", "maximum", "arctan2", "greater")
    FOLDS = ("sum", "mean", "max", "std", "cumsum")

    def __init__(self, seed, shape=(24, 17)):
        self.seed = seed
        self.shape = shape

    def run(self, np, after=lambda: None, dtype="float32"):
        """Return the arrays that it leaves; ``after`` is called behind each statement."""
        draw = numpy_generator(self.seed)
        values = numpy_generator(1)
        arrays = [np.asarray(values.standard_normal(self.shape).astype(dtype)) for _ in range(3)]
        for _ in range(12):
            self.statement(np, draw, arrays)
            after()
        return arrays

    def statement(self, np, draw, arrays):
        first, second, target = draw.integers(len(arrays), size=3)
        x, y = arrays[first], arrays[second]
        kind = draw.integers(12)
        if kind == 0:
            arrays[target] = getattr(np, draw.choice(self.UNARY))(np.abs(x)) + y
        elif kind == 1:
            arrays[target] = getattr(np, draw.choice(self.BINARY))(x, y) * np.float32(0.5)
        elif kind == 2:
            fold = draw.choice(self.FOLDS)
            arrays[target] = x - getattr(np, fold)(y, axis=0)
        elif kind == 3:
            lower, upper = sorted(draw.integers(1, 15, size=2))
            x[lower : upper + 1, 1:] = y[lower : upper + 1, :-1] * 1.5
        elif kind == 4:
            x[1:] -= y[:-1]
        elif kind == 5:
            x[:, draw.integers(3)] = float(draw.integers(4))
        elif kind == 6:
            x += y / 3
        elif kind == 7:
            arrays[target] = x.copy()
            x[draw.integers(5), ...] = 2
        elif kind == 8:
            arrays[target] = np.where(x > y, x, y)
            arrays[target] -= x.T[:1].T
        elif kind == 9:
            near = x < draw.integers(3)
            x[near] = getattr(np, draw.choice(self.UNARY))(np.abs(x[near])) * 2 + y[near]
        elif kind == 10:
            near = abs(y) < 1
            kept = y[near]
            y[:2] = 0.25
            x[near] *= 0.5
            arrays[target][near] = kept
        else:
            arrays[target] = x + np.tanh(x @ y.T) @ y / 16


def numpy_generator(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_have_the_bits_of_each_statement_alone(seed, dtype):
    program = Program(seed)
    with np.errstate(all="ignore"):
        wanted = program.run(np, dtype=dtype)
    alone = program.run(jaxapi.numpy, after=_batches.run_all, dtype=dtype)
    for _ in range(3):  # line by line, compiled as one, and that again
        together = program.run(jaxapi.numpy, dtype=dtype)
        for one, other, host in zip(alone, together, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
            np.testing.assert_allclose(np.asarray(other), host, rtol=1e-3, atol=1e-3)


def where_numbers(np, x, y):
    return np.where(np.where(x > 0, 1, -1) == 1, x, 0.25)


def ufuncs_with_out(np, x, y):
    out = np.zeros(x.shape)
    np.subtract(x[1:], y[:-1], out=out[1:])
    np.exp(y, out=y)
    np.add(x, y, where=x > 0, out=out)
    return out * y


def powers(np, x, y):
    x **= 3
    return x**2 + abs(y) ** 0.5 + abs(y) ** 1.7 + y**-2 + 2.0**x


def writes_where(np, x, y):
    x[x > 0.5] = 0.5
    x[1:][y[1:, 0] < 0] = y[0]
    x.T[x.T < -1] = np.nan
    return np.where(np.isnan(x), -1, x)


def copies(np, x, y):
    kept = x.copy()
    np.copyto(x, y)
    np.copyto(y, kept, where=kept > 0)
    kept += 1
    return x - kept * y


def makers(np, x, y):
    zeros, ones, same = np.zeros(x.shape), np.ones_like(x), np.full(x.shape, 0.1)
    zeros[0] = np.arange(x.shape[1])
    return zeros + ones * same + np.full(x.shape, x[1, 2]) + np.sqrt(0.3)


def views(np, x, y):
    x += y
    x.reshape(-1)[2:9] *= 2
    z = x + 1j * y
    z.real = y
    z.imag[1:] = 3
    return z.imag + z.real + (x * 2).reshape(-1).reshape(x.shape)


def buffers_and_exact_arrays(np, x, y):
    total = np.zeros(40)
    total += np.arange(40) * 0.5
    rows = np.zeros((3, 40))
    rows[1] = np.arange(40) + total
    return rows - np.cumsum(total)


def parts_of_many_rows(np, x, y):
    v = np.arange(40) * x[0, 0]
    w = np.arange(40) * 0.5 + y[1, 1]
    v[1:-1] = w[2:]
    v[:30] = v[10:]
    v[3:] += v[:-3]
    v[::-1][:20] = 4
    v[5::2] = 1.5
    w[1::2] *= v[20:]
    w[-2:2:-1] = v[4:]
    np.subtract(w[1:], v[:-1], out=w[:-1])
    made = np.sqrt(abs(v[1:] - v[:-1])) * w[::-1][1:] + w[:0:-1] * v[39] + np.where(w[1:] > 0, v[:-1], 2)
    return made[:8] * v[32:] + made[31:] + w[:8] + x


def parts_of_rows_of_tables(np, x, y):
    table = np.zeros((40, 8)) + x[0]
    other = np.arange(40).reshape(40, 1) * y[0]
    table[1:-1] = other[2:]
    table[2:, 1] = 7
    table[:, 1:] = table[:, :-1]
    table[:, 3] = other[:, 0]
    table[20:] = y[1]
    table[:, ::2] += other[:, 1::2]
    table[3] = other[4]
    made = table[1:, 1:] * other[:-1, :-1] + x[1, 1:]
    return made[:5] + made[34:] + table[::8, :7] + x[:, 1:]


def changed_parts(np, x, y):
    rows = np.zeros((40, 8)) + x[0]
    others = np.arange(40).reshape(40, 1) * y[0]
    x[1:-1] += y[1:-1]
    x[:, 1::2] -= y[:, :1]
    x[0] *= x[1]
    x[::-1] += x
    x[...] *= 0.5
    x[1, 2:5] /= 2 + y[1, 2] ** 2
    y.T[2:] -= 1.5
    y[2:][1:] += y[0, 0]
    y[1:, None] *= x[:-1, None]
    rows[1:-1] += others[2:]
    rows[:-2] -= y[0]
    rows[3:] *= rows[:-3] > 0
    rows[:, 1:3] += others[:, 4:6]
    rows[5:5] += 3
    rows[::2] **= 2
    return x + y + rows[:5] - rows[35:]


def elements_and_copies_of_parts(np, x, y):
    row = y[1:, ::2].copy()
    first = x[0, 1]
    last = x.T[1:][-1, np.int64(0)]
    x[0, 1] = y[-1, -1]
    x[1:][0, 3] -= first
    row[0] += last
    numbers = np.arange(40) * 0.5
    kept = numbers[3:].copy()
    numbers[4] = 9
    kept[-1] = numbers[4] + kept[1]
    return x * first + row[0, 1] - last + x[0, 1] * kept[:8] + kept[29:]


def makers_of_numbers(np, x, y):
    made = np.full(40, 3.5) + np.full(40, 2) * np.ones(40, dtype=np.int8)
    grid = np.indices((5, 8)) * 0.5 + np.full((5, 8), 0.25, dtype=np.float32)
    return grid[0] * x + np.eye(5, 8, 1) - np.tri(5, 8) + np.full_like(y, 4) * made[3] + np.identity(8)[:5]


def positions(np, x, y):
    places = np.searchsorted(np.cumsum(abs(x[0])), abs(y[0]) * 2)
    return places + np.argmax(x, axis=0) + np.fft.fftshift(y[0])


def selected(np, x, y):
    near = abs(x) < 1
    count = np.zeros(x.shape, dtype=int)
    count[near] += 1
    x[near] = x[near] ** 2 + y[near] * 3
    kept = -x[near]
    x[0] = 7
    y[near] *= 0.5
    y[near] = kept + np.sqrt(abs(x[near])) * count.max()
    return x + y + count


def products(np, x, y):
    return np.outer(x[0], y[1]) + (x @ y.T).dot(x)[:1] + np.vdot(x, y)


WAITING = [
    selected,
    where_numbers,
    ufuncs_with_out,
    powers,
    writes_where,
    copies,
    makers,
    views,
    buffers_and_exact_arrays,
    parts_of_many_rows,
    parts_of_rows_of_tables,
    changed_parts,
    elements_and_copies_of_parts,
    makers_of_numbers,
    positions,
]


def value_that_is_there(pending):
    """Stand for `Pending.value`, which runs a batch."""
    assert pending.batch is None
    return pending._value


@pytest.mark.parametrize("statements", WAITING, ids=lambda statements: statements.__name__)
def test_statements_that_wait(statements, monkeypatch):
    """They ask for no value, and have the bits of lines that run one by one."""
    values = [numpy_generator(seed).standard_normal((5, 8)) for seed in (1, 2)]
    with np.errstate(all="ignore"):
        wanted = statements(np, *[value.copy() for value in values])
    made = []
    for _ in range(3):  # line by line, compiled as one, and that again
        arrays = [jaxapi.numpy.asarray(value) for value in values]
        with monkeypatch.context() as patched:
            patched.setattr(_batches.Pending, "value", value_that_is_there)
            result = statements(jaxapi.numpy, *[array * 1 for array in arrays])
        assert is_pending(result)
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        made.append(np.asarray(result))
        np.testing.assert_allclose(made[-1], wanted, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(made[1], made[0])
    np.testing.assert_array_equal(made[2], made[0])


def reversed_rest(np, x, y):
    return x[x > 0][::-1] * 2


def sorted_rest(np, x, y):
    return np.sort(x[x > 0])[:3]


def length_and_sum(np, x, y):
    above = x[x > y]
    return np.asarray([len(above), above.size, above.sum(), float(above[0])])


def written_elements(np, x, y):
    near = x > 0
    above = x[near]
    above[0] = 9.0
    view = above[1:]
    above += 1
    x[near] = above
    return np.concatenate([x.ravel(), view, above])


def several_masks(np, x, y):
    near = x > 0
    above = x[near] + 1
    near[0] = ~near[0]
    x[near] = 3.0
    y[~near] = y[~near] * above.mean()
    return x * y


def selected_of_selected(np, x, y):
    above = x[x > 0]
    above[above < 0.5] *= -1
    return above + np.arange(above.size)


def part_of_a_row(np, x, y):
    x[1][x[1] > 0] = 5.0
    columns = x.T
    columns[columns < 0] = columns[columns < 0] * 2
    return x + y[y > -9].reshape(y.shape)


def integers_and_numbers(np, x, y):
    whole = (x * 8).astype(np.int32)
    near = whole > 2
    whole[near] += 2
    whole[near] = whole[near] % 5
    x[near] = whole[near]
    return x + whole


ASKED = [
    reversed_rest,
    sorted_rest,
    length_and_sum,
    written_elements,
    several_masks,
    selected_of_selected,
    part_of_a_row,
    integers_and_numbers,
]


@pytest.mark.parametrize("shape", [(5, 8), (40,), (24, 3)])  # of which the last two may have room
@pytest.mark.parametrize("statements", ASKED, ids=lambda statements: statements.__name__)
def test_what_a_mask_selects_is_read_where_it_is_asked_for(statements, shape):
    if len(shape) == 1 and statements is part_of_a_row:
        return
    values = [numpy_generator(seed).standard_normal(shape) for seed in (1, 2)]
    wanted = statements(np, *[value.copy() for value in values])
    for _ in range(3):  # line by line, compiled as one, and that again
        arrays = [jaxapi.numpy.asarray(value) * 1 for value in values]
        made = statements(jaxapi.numpy, *arrays)
        assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(np.asarray(made), wanted, rtol=1e-14)


def test_what_a_mask_selects_is_refused_as_the_statement():
    x = jaxapi.numpy.ones((3, 4)) * 2
    near = x > 0
    with pytest.raises(TypeError, match=r"[cC]annot cast|complex"):
        x[near] += 1j
    with pytest.raises(TypeError, match=r"complex"):
        x[near] = x[near] * 1j
    with pytest.raises(IndexError, match="boolean index did not match"):
        x[:2][near]
    small = jaxapi.numpy.ones((3, 4), dtype=np.uint8)
    with pytest.raises(OverflowError, match="out of bounds"):
        small[near] += 300
    np.testing.assert_array_equal(np.asarray(x), np.full((3, 4), 2.0))
    np.testing.assert_array_equal(np.asarray(small), np.ones((3, 4)))


def selected_elements():
    x = jaxapi.numpy.asarray([-1.0, 2.0, 3.0, -4.0, 5.0]) + 0
    mask = x > 0
    return x, mask, x[mask]


@pytest.mark.parametrize(
    "reads",
    [
        lambda chosen: jax.jit(lambda a: chosen + a)(2.0),
        lambda chosen: jax.jit(lambda a: a * len(chosen))(2.0),
        lambda chosen: jax.lax.scan(lambda c, _: (c * len(chosen), 0), 1.0, length=2),
    ],
)
def test_what_a_mask_selects_holds_nothing_of_a_trace(reads):
    _, _, chosen = selected_elements()
    reads(chosen)
    np.testing.assert_array_equal(np.asarray(chosen), [2, 3, 5])


@pytest.mark.parametrize("which", [0, 1])
def test_what_a_mask_selects_stays_when_others_delete_what_they_got(which):
    arrays = selected_elements()
    jnp.asarray(arrays[which]).delete()
    np.testing.assert_array_equal(np.asarray(arrays[2]), [2, 3, 5])
    x = jaxapi.numpy.asarray([-1.0, 2.0, 3.0]) + 0
    lent = jnp.asarray(x)
    chosen = x[x > 0]
    lent.delete()
    np.testing.assert_array_equal(np.asarray(chosen), [2, 3])


def test_a_part_of_a_read_only_array_is_not_written_to_itself():
    x = jaxapi.numpy.ones((3, 4)) * 2
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[0:3] = x[0:3]


def test_calls_differ_by_what_is_named():
    x = jaxapi.numpy.ones((8, 8)) * 2
    for _ in range(3):
        jaxapi.numpy.sum(x, axis=0)
    with pytest.raises(TypeError):
        jaxapi.numpy.sum(x, "axis", 0)


def test_an_integer_beyond_64_bits_is_added_to_floats():
    for dtype in (np.float32, np.float64):
        x = jaxapi.numpy.ones(5, dtype=dtype) * 2
        x += 2**70
        x[1:3] -= 2**70
        wanted = np.full(5, 2, dtype) + 2**70
        wanted[1:3] -= 2**70
        np.testing.assert_array_equal(np.asarray(x), wanted)


def test_products_of_matrices_start_at_once():
    x = jaxapi.numpy.ones((24, 24)) * 2
    assert is_pending(x)
    product = x @ x
    assert not is_pending(product)
    assert not is_pending(x)
    np.testing.assert_array_equal(np.asarray(product), np.full((24, 24), 96))
    values = numpy_generator(2).standard_normal((2, 6, 5))
    for _ in range(3):
        made = products(jaxapi.numpy, *[jaxapi.numpy.asarray(value) * 1 for value in values])
        np.testing.assert_allclose(np.asarray(made), products(np, *values), rtol=1e-6)


def test_two_numbers_have_the_dtype_of_numpys():
    x = np.arange(3.0, dtype=np.float32)
    condition = jaxapi.numpy.asarray(x) > 1
    for one, other in ((1, -1), (1.0, 2), (True, 2)):
        made = jaxapi.numpy.where(condition, one, other) * jaxapi.numpy.asarray(x)
        wanted = np.where(x > 1, one, other) * x
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(made), wanted)


def accumulated(np, x, y):
    places = np.argsort(x) % 4
    sums = np.zeros(5)
    np.add.at(sums, places, y)
    np.maximum.at(sums, places[:3], 2.0)
    table = y * 2
    table[places[::5]] = -1.0
    return sums[places] + table[-1 - places]


def test_casts_of_no_axes_are_arrays_and_scalars_as_numpys():
    for xp in (np, jaxapi.numpy):
        array = xp.asarray(2.0)
        made = [array.astype(int), xp.astype(array, int), xp.array(xp.asarray([2])[0], dtype=float)]
        for cast in made:
            cast[()] = 7
            kept = cast
            kept += 1
            assert float(cast) == 8
        scalar = (xp.asarray([2.0]) * 1)[0].astype(int)
        with pytest.raises(TypeError, match="item assignment"):
            scalar[()] = 7
        assert hash(scalar) == hash(2)


def test_positions_of_a_device_wait(monkeypatch):
    """As on a GPU, where nothing asks whether they are within bounds."""
    monkeypatch.setattr(_indexing, "_is_on_host", lambda x: isinstance(x, (np.ndarray, np.generic)))
    values = [numpy_generator(seed).standard_normal(20) for seed in (1, 2)]
    for _ in range(3):
        with monkeypatch.context() as patched:
            patched.setattr(_batches.Pending, "value", value_that_is_there)
            result = accumulated(jaxapi.numpy, *[jaxapi.numpy.asarray(value) * 1 for value in values])
        np.testing.assert_allclose(np.asarray(result), accumulated(np, *values), rtol=1e-14)


def numbers_that_are_full(np):
    return [
        np.full(3, True),
        np.full(30, 200, dtype=np.uint8),
        np.full((2, 20), 3, dtype=complex),
        np.full(20, 1.7, dtype=int),
        np.full(3, np.nan, dtype=np.float16),
        np.full((), 4),
        np.full((0, 3), 4.0),
        np.full(20, 1e300, dtype=np.float32),
        np.full(17, -0.0),
        np.full_like(np.arange(20), 2.5),
    ]


def test_full_has_numpys_values_and_errors():
    with np.errstate(over="ignore"):
        wanted = numbers_that_are_full(np)
        made = numbers_that_are_full(jaxapi.numpy)
    for array, host in zip(made, wanted, strict=True):
        assert (array.dtype, array.shape) == (host.dtype, host.shape)
        np.testing.assert_array_equal(np.asarray(array), host)
        np.testing.assert_array_equal(np.signbit(np.asarray(array).real), np.signbit(host.real))
    for shape, number, dtype in [(3, 300, np.uint8), (20, -1, np.uint16), (-1, 2.0, None)]:
        for xp in (np, jaxapi.numpy):
            with pytest.raises((OverflowError, ValueError)):
                xp.full(shape, number, dtype)


def test_parts_of_many_rows_are_refused_as_numpys():
    for np_or_ours in (np, jaxapi.numpy):
        x = np_or_ours.arange(40.0) * 2
        with pytest.raises(ValueError, match="broadcast"):
            x[1:] = x[:-2]
        with pytest.raises(ValueError, match="broadcast"):
            x[1:] - x[:-2]
        np.testing.assert_array_equal(np.asarray(x), np.arange(40.0) * 2)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="positions are checked in the host's memory")
@pytest.mark.parametrize("count", [7, 21])  # of which the second one has room
def test_positions_are_checked_by_the_statement(count):
    x = jaxapi.numpy.asarray(np.arange(float(count))) * 1
    beyond = jaxapi.numpy.arange(count) + 1
    with pytest.raises(IndexError, match=f"index {count} is out of bounds"):
        x[beyond]
    with pytest.raises(IndexError, match=f"index {count} is out of bounds"):
        x[beyond] = 1
    with pytest.raises(IndexError, match=f"index {count} is out of bounds"):
        jaxapi.numpy.add.at(x, beyond, 1.0)
    np.testing.assert_array_equal(np.asarray(x), np.arange(float(count)))


def test_errors_are_those_of_the_statement():
    x = jaxapi.numpy.ones((3, 4)) * 2
    with pytest.raises(ValueError, match="broadcast"):
        jaxapi.numpy.where(x > 0, x, jaxapi.numpy.ones(3))
    with pytest.raises(IndexError, match="boolean index did not match"):
        x[jaxapi.numpy.ones((4, 3)) > 0] = 1
    with pytest.raises(ValueError, match=r"out has shape|broadcast"):
        jaxapi.numpy.add(x, x, out=jaxapi.numpy.zeros((2, 4)))
    with pytest.raises(TypeError, match=r"[cC]annot cast"):
        jaxapi.numpy.add(x, x, out=jaxapi.numpy.zeros((3, 4), int))
    with pytest.raises(ValueError, match="negative integer power"):
        jaxapi.numpy.arange(3) ** -1
    with pytest.raises(ValueError, match="negative"):
        jaxapi.numpy.zeros(-1)
    np.testing.assert_array_equal(np.asarray(x), np.full((3, 4), 2))


@pytest.mark.parametrize("waits", [True, False])
def test_numbers_that_no_argument_of_a_program_is(waits):
    huge = 2**63
    with jaxapi.numpy.deferred(waits):
        flags = jaxapi.numpy.asarray([True, False]) ^ False
        with pytest.raises(OverflowError):
            jaxapi.numpy.where(flags, flags, huge)
        x = jaxapi.numpy.asarray([1, 0], dtype="uint64") * 1
        x += huge
        x[1:] -= huge - 1
        x[x > 3] *= 2
        with pytest.raises(OverflowError):
            x += 2 * huge
    np.testing.assert_array_equal(np.asarray(x), np.asarray([2, 1], "uint64"))


@pytest.mark.parametrize("waits", [True, False])
def test_integers_of_the_other_byte_order(waits):
    host = np.arange(1, 4).astype(np.dtype("int32").newbyteorder())
    with jaxapi.numpy.deferred(waits):
        x = jaxapi.numpy.ones(3, dtype="float32") * np.float32(0.5)
        made = [x + host, host - x, x**host, x // host]
        x *= host
    wanted = [0.5 + host, host - 0.5, 0.5**host, 0.5 // host]
    for one, other in zip(made, wanted, strict=True):
        assert one.dtype == np.float64
        np.testing.assert_array_equal(np.asarray(one), other)
    np.testing.assert_array_equal(np.asarray(x), np.float32(0.5) * host)


def test_random_numbers_are_those_of_the_key():
    for _ in range(3):
        _batches._asked_at_once.clear()  # so that the statements wait each time
        generator = jaxapi.numpy.random.default_rng(5)
        drawn = [generator.random(6), generator.normal(1.0, 2.0, 6) * 1]
        assert all(map(is_pending, drawn))
        raw = np.random.PCG64(5)
        with jax.enable_x64(True):
            for each, draw in zip(drawn, (jax.random.uniform, jax.random.normal), strict=True):
                first, second = raw.random_raw(2).astype(np.uint32)
                key = jax.random.fold_in(jax.random.key(first), second)
                wanted = draw(key, (6,), np.float64)
                if draw is jax.random.normal:
                    wanted = wanted * 2.0 + 1.0
                np.testing.assert_array_equal(np.asarray(each), wanted)


@several_devices
def test_what_is_made_of_nothing_lies_on_the_default_device():
    first, second = jax.devices()[:2]
    with jax.default_device(second):
        x = jaxapi.numpy.zeros(3)
        x[1] = 2
    y = jaxapi.numpy.ones(3)
    assert (x.device, y.device) == (second, first)
    np.testing.assert_array_equal(np.asarray(x), [0, 2, 0])
    assert x._value.devices() == {second}
    assert y._value.devices() == {first}


def heat(np, size, steps, factor):
    u = np.ones((size, size))
    u[3:7, 3:7] = 2
    for _ in range(steps):
        un = u.copy()
        u[1:-1, 1:-1] = un[1:-1, 1:-1] + factor * (un[2:, 1:-1] + un[:-2, 1:-1] - 2 * un[1:-1, 1:-1])
        u[1:-1, 1:-1] += factor * (un[1:-1, 2:] + un[1:-1, :-2] - 2 * un[1:-1, 1:-1])
        u[0, :] = u[-1, :] = 1
    return u


@pytest.mark.parametrize("size", [16, 21])  # of which the second one has room
def test_loops(size):
    for _ in range(3):
        np.testing.assert_allclose(
            np.asarray(heat(jaxapi.numpy, size, 8, 0.1)), heat(np, size, 8, 0.1), rtol=1e-12
        )
    with no_compilation():
        for factor in (0.2, 0.3):
            heat(jaxapi.numpy, size, 8, factor).tolist()


def test_what_waits_runs_once_and_together(monkeypatch):
    runs = []
    finish = _batch_programs.Run.finish
    monkeypatch.setattr(_batch_programs.Run, "finish", lambda run: (runs.append(run), finish(run)))
    x = mutable.asarray(np.arange(5.0))
    y = x + 1
    z = y * 2
    z[1] = 7
    assert is_pending(z)
    assert not runs
    np.testing.assert_array_equal(np.asarray(z), [2, 7, 6, 8, 10])
    np.testing.assert_array_equal(np.asarray(y), [1, 2, 3, 4, 5])
    assert len(runs) == 1


CHANGED = {  # of a matrix with room or without; and lines that read an operand first
    "number": (lambda x, y: operator.iadd(x[1:-1], 2), 1),
    "row": (lambda x, y: operator.isub(x[1:-1], y[0]), 1),
    "rows": (lambda x, y: operator.imul(x[1:-1], y[2:]), 1),
    "column": (lambda x, y: operator.itruediv(x[:, 1], y[:, 2]), 1),
    "block": (lambda x, y: operator.iadd(x[1:3, 2:4], y[1:3, :1]), 1),
    "all": (lambda x, y: operator.iadd(x[...], y), 1),
    "own rows": (lambda x, y: operator.iadd(x[1:], x[:-1]), 2),
}


@pytest.mark.parametrize("size", [5, 40])
@pytest.mark.parametrize("change", CHANGED)
def test_a_part_is_changed_by_one_line(way, change, size):
    statement, line_count = CHANGED[change]
    values = [numpy_generator(seed).standard_normal((size, 6)) + 3 for seed in (1, 2)]
    x, y = [jaxapi.numpy.asarray(value) for value in values]
    statement(x, y)
    assert len(_batches._local.batch._lines) == line_count
    statement(*values)
    np.testing.assert_allclose(np.asarray(x), values[0], rtol=1e-14)


REFUSED = {
    "quotient of integers": (TypeError, lambda np, x: operator.itruediv(x[1:], 2)),
    "float to integers": (TypeError, lambda np, x: operator.iadd(x[1:], 1.5)),
    "rows that are too few": (ValueError, lambda np, x: operator.iadd(x[1:], np.ones((2, 3), int))),
    "rows to a row": (ValueError, lambda np, x: operator.iadd(x[0], np.ones((3, 3), int))),
    "a large integer": (OverflowError, lambda np, x: operator.iadd(x[0], 2**70)),
}


@pytest.mark.parametrize("change", REFUSED)
def test_a_change_of_a_part_is_refused_as_numpys(way, change):
    error, statement = REFUSED[change]
    for module in (np, jaxapi.numpy):
        x = module.asarray(np.arange(12).reshape(4, 3))
        with pytest.raises(error):
            statement(module, x)
        np.testing.assert_array_equal(np.asarray(x), np.arange(12).reshape(4, 3))


@pytest.mark.parametrize("size", [5, 40])
def test_an_element_waits_and_is_a_scalar(way, size):
    values = np.arange(size * 3.0).reshape(size, 3)
    x = jaxapi.numpy.asarray(values)
    elements = [x[1, 2], x[-1, np.int64(0)], x[2:][0, 1], x[1:].T[2, 1]]
    assert all(map(is_pending, elements))
    elements.append(mutable.asarray(x)[1:][0, 0])
    assert [x.__array_namespace__() for x in elements] == [jaxapi.numpy] * 4 + [mutable]
    x[...] = 0
    wanted = [values[1, 2], values[-1, 0], values[2, 1], values[2, 2], values[1, 0]]
    assert [float(element) for element in elements] == wanted
    with pytest.raises(TypeError, match="scalar"):
        elements[0][...] = 1
    assert not x[0, 0, ...].shape
    x[0, 0, ...][...] = 5  # a view, unlike x[0, 0]
    assert float(x[0, 0]) == 5
    with pytest.raises(IndexError, match="out of bounds"):
        x[0, 3]


AUDITED = """
import sys
import numpy as np
import jaxapi.numpy
from jaxapi.mutable import _batches, _host_way

_host_way.set_on(False)
events = []
sys.addaudithook(lambda event, args: events.append(event))
x = jaxapi.numpy.asarray(np.arange(40.0))
for _ in range(4):
    for _ in range(20):
        before = len(events)
        y = x[1:] + 2 * x[:-1]
        y[1:-1] = y[2:]
        few = len(events) - before
    _batches.run_all()
assert few <= 3 * 2 + 2, events[-few:]  # three lines, of each the frame and its code
"""


@pytest.mark.thorough
def test_audit_hooks_hear_little_of_a_line():
    """A hook, as filelock has one, takes as long as the rest of a line if it is called for each `id`."""
    done = subprocess.run([sys.executable, "-c", AUDITED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_statement_whose_value_is_asked_for_at_once_runs_at_once():
    x = jaxapi.numpy.asarray(np.arange(3.0))
    waited = []
    for _ in range(6):
        y = x * 2
        z = y + 1
        waited.append((is_pending(y), is_pending(z)))
        assert z.tolist() == [1, 3, 5]
    assert waited[0] == (True, True)
    assert waited[-1] == (False, False)


WRITES = {
    "row of rows": lambda x: x.__setitem__(slice(1, -1), x[2:]),
    "number where": lambda x: x.__setitem__(x > 3, 0),
    "element": lambda x: x.__setitem__(3, 1.5),
    "number to rows": lambda x: x.__setitem__(slice(2, 19), 1.5),
    "sum with a part": lambda x: operator.iadd(x[1:-1], x[2:]),
}


@pytest.mark.parametrize("size", [7, 41])  # of which the second one has room
@pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))
def test_a_write_to_what_was_handed_out_runs_by_the_program_of_its_line(way, write, size):
    x = mutable.asarray(np.arange(float(size)))
    expected = np.arange(float(size))
    write(x)
    write(expected)
    handed_out = np.asarray(x)
    np.testing.assert_array_equal(handed_out, expected)
    with no_compilation():
        for _ in range(4):  # some wait, and some run at once
            write(x)
            before = expected.copy()
            write(expected)
            np.testing.assert_array_equal(handed_out, before)
            handed_out = np.asarray(x)
            np.testing.assert_array_equal(handed_out, expected)


@pytest.mark.parametrize("is_asked", [False, True])
def test_modes_in_which_statements_run(is_asked):
    """They are those in which a statement that waits runs, also where it runs at once."""
    x = mutable.asarray(np.arange(3), dtype="float32")
    rows = mutable.asarray(np.ones((2, 3)), dtype="float32")

    def statement(factor):
        return rows * factor + x

    for _ in range(6 if is_asked else 0):
        assert np.asarray(statement(2.5)).shape == (2, 3)
    with jax.transfer_guard("disallow"), jax.transfer_guard_device_to_host("allow"):
        np.testing.assert_array_equal(np.asarray(statement(3.5)), [[3.5, 4.5, 5.5]] * 2)
    with jax.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(np.asarray(statement(4.5)), [[4.5, 5.5, 6.5]] * 2)
    with jax.debug_infs(True), jax.disable_jit():
        assert np.asarray(statement(5.5)).tolist() == [[5.5, 6.5, 7.5]] * 2
    with pytest.warns(RuntimeWarning, match="overflow"):
        np.asarray(statement(1e300))


OVERFLOWS = {
    "x * number": lambda x: x * 1e300,
    "part = number": lambda x: x.__setitem__(slice(1, None), 1e300),
    "element = number": lambda x: x.__setitem__(0, 1e300),
    "where = number": lambda x: x.__setitem__(x > 0, 1e300),
    "full": lambda x: jaxapi.numpy.full(3, 1e300, dtype=x.dtype),
    "x += number": lambda x: operator.iadd(x, 1e300),
    "part -= number": lambda x: operator.isub(x[1:], 1e300),
    "x ** number": lambda x: x**1e300,
    "x **= number": lambda x: operator.ipow(x, 1e300),
    "power": lambda x: jaxapi.numpy.power(x, 1e300),
    "put": lambda x: jaxapi.numpy.put(x, [0], 1e300),
    "x.put": lambda x: x.put([0], 1e300),
    "putmask": lambda x: jaxapi.numpy.putmask(x, x > 0, 1e300),
}


@pytest.mark.parametrize("statement", OVERFLOWS.values(), ids=list(OVERFLOWS))
def test_a_number_that_overflows_warns_at_its_statement(way, statement):
    x = jaxapi.numpy.asarray(np.arange(3), dtype="float32")
    with pytest.warns(RuntimeWarning, match="overflow encountered in cast") as caught:
        statement(x)
    assert [warning.filename for warning in caught] == [__file__]
    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        statement(x)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        statement(x)


def test_an_overflow_is_said_once_for_each_statement(way):
    x = jaxapi.numpy.asarray(np.arange(3), dtype="float32")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(150):  # some begin a batch, and some run at once
            y = x * 1e300
        for _ in range(10):
            np.asarray(x * 1e300)
    assert np.isinf(np.asarray(y)[1:]).all()
    assert [warning.filename for warning in caught] == [__file__] * 160


def test_a_write_to_what_was_handed_out_lets_others_wait(way):
    x = mutable.asarray(np.arange(41.0))
    assert x._value.shape == (41,)
    y = x + 1
    part = x[x > 2]
    x[2:9] = 5
    assert is_pending(y._buffer)
    assert part._masked is not None
    np.testing.assert_array_equal(np.asarray(y), np.arange(41.0) + 1)
    np.testing.assert_array_equal(np.asarray(part), np.arange(3.0, 41))
    assert np.asarray(x)[:10].tolist() == [0, 1, 5, 5, 5, 5, 5, 5, 5, 9]


@pytest.mark.parametrize("size", [5, 100_000])  # of which the second one is written to in place
def test_a_write_that_runs_at_once_seldom_waits(way, size):
    x = mutable.zeros(size)
    waited = []
    for _ in range(130):
        x[3] = 1
        waited.append(is_pending(x))
        assert np.asarray(x)[3] == 1
    assert sum(waited[10:]) <= 3


@pytest.mark.parametrize("waits", [False, True])
def test_full_of_more_than_int64_holds(way, waits):
    with jaxapi.numpy.deferred(waits):
        made = jaxapi.numpy.full(3, 2**63)
        assert made.dtype == np.uint64
        assert made.tolist() == [2**63] * 3


def test_a_loop_waits_whose_last_values_are_asked_for():
    x = jaxapi.numpy.asarray(np.arange(3.0))
    for _ in range(6):
        y = x
        for _ in range(50):  # more than a batch, and two rounds more
            y = y + 1
            assert is_pending(y)
        assert y.tolist() == [50, 51, 52]


@pytest.mark.parametrize("xp", [mutable, jaxapi.numpy], ids=["mutable", "numpy"])
def test_what_asks_for_a_value(xp):
    def make():
        _batches._asked_at_once.clear()  # so that the statement waits each time
        x = xp.asarray(np.arange(4.0)) + 1
        assert is_pending(x)
        return x

    assert float(make()[1]) == 2
    assert int(make()[2]) == 3
    assert bool((make() == 1)[0])
    assert make().tolist() == [1, 2, 3, 4]
    assert str(make()) == str(np.arange(4) + 1.0)
    assert jnp.asarray(make()).tolist() == [1, 2, 3, 4]
    assert jnp.from_dlpack(make()).tolist() == [1, 2, 3, 4]
    assert jax.jit(lambda x: x * 2)(make()).tolist() == [2, 4, 6, 8]
    assert list(jax.tree.leaves(make())[0]) == [1, 2, 3, 4]
    x = make()
    assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((4,), np.dtype(np.float64), 1, 4, 4)
    assert is_pending(x)


def test_a_value_is_asked_for_under_a_trace():
    x = jaxapi.numpy.asarray(np.arange(4.0)) + 1
    made = jax.jit(lambda y: y + jnp.asarray(x))(jnp.ones(4))
    np.testing.assert_array_equal(made, [2, 3, 4, 5])
    np.testing.assert_array_equal(np.asarray(x), [1, 2, 3, 4])


def test_views_see_what_is_written_later():
    x = jaxapi.numpy.zeros((4, 3))
    view = x[1:]
    column = view[:, 1]
    x += 1
    column *= 5
    view[0] -= 2
    wanted = np.zeros((4, 3))
    part = wanted[1:]
    wanted += 1
    part[:, 1] *= 5
    part[0] -= 2
    np.testing.assert_array_equal(np.asarray(x), wanted)
    np.testing.assert_array_equal(np.asarray(column), wanted[1:, 1])


def test_a_copy_is_apart():
    x = jaxapi.numpy.asarray(np.arange(4.0)) + 0
    y = x.copy()
    x[0] = 9
    y[1] = 8
    np.testing.assert_array_equal(np.asarray(x), [9, 1, 2, 3])
    np.testing.assert_array_equal(np.asarray(y), [0, 8, 2, 3])


def test_a_copy_of_a_part_waits(way):
    values = np.arange(12.0).reshape(4, 3)
    x = jaxapi.numpy.asarray(values)
    y = x[1:, ::2].copy()
    assert is_pending(y)
    x[1] = 0
    np.testing.assert_array_equal(np.asarray(y), values[1:, ::2])


def test_who_deletes_an_array_has_no_influence_on_what_waits():
    x = jaxapi.numpy.asarray(np.arange(4.0)) * 2
    x.tolist()
    y = x + 1
    lent = jnp.asarray(x)
    lent.delete()
    np.testing.assert_array_equal(np.asarray(y), [1, 3, 5, 7])
    of_others = jnp.arange(4.0)
    z = y + of_others
    of_others.delete()
    np.testing.assert_array_equal(np.asarray(z), [1, 4, 7, 10])
    host = np.arange(4.0)
    z = y + host
    host[:] = 100
    np.testing.assert_array_equal(np.asarray(z), [1, 4, 7, 10])


def test_errors_are_raised_by_the_statement():
    x = jaxapi.numpy.asarray(np.arange(4.0)) + 1
    with pytest.raises(ValueError, match="broadcast"):
        x + jaxapi.numpy.ones(3)
    with pytest.raises(ValueError, match="broadcast"):
        x[:2] = jaxapi.numpy.ones(3)
    with pytest.raises(IndexError, match="out of bounds"):
        x[4] = 1
    np.testing.assert_array_equal(np.asarray(x), [1, 2, 3, 4])


def failing_line(monkeypatch, name, error):
    """Let the lines of a function raise, as where a device has no memory left."""
    call = _batches.LineProgram.__call__

    def fails(self, operands):
        function = self._options[0][1] if self._options else None
        if name in getattr(function, "__name__", ""):
            raise error
        return call(self, operands)

    monkeypatch.setattr(_batches.LineProgram, "__call__", fails)


def test_what_does_not_depend_on_a_failure_has_a_value(monkeypatch):
    for _ in range(2):
        x = jaxapi.numpy.asarray(np.arange(4.0)) + 1
        y = jaxapi.numpy.tanh(x)
        z = y + 1
        after = x * 2
        with monkeypatch.context() as patched:
            failing_line(patched, "tanh", RuntimeError("RESOURCE_EXHAUSTED"))
            np.testing.assert_array_equal(np.asarray(after), [2, 4, 6, 8])
        for failed in (y, z, z):
            with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
                np.asarray(failed)
        np.testing.assert_array_equal(np.asarray(x), [1, 2, 3, 4])


def test_an_interrupted_batch_runs_when_it_is_asked_again(monkeypatch):
    x = jaxapi.numpy.asarray(np.arange(4.0)) + 1
    y = x * 2
    x[0] = 5
    with monkeypatch.context() as patched:
        failing_line(patched, "", KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            np.asarray(y)
    np.testing.assert_array_equal(np.asarray(y), [2, 4, 6, 8])
    np.testing.assert_array_equal(np.asarray(x), [5, 2, 3, 4])


def test_threads_share_arrays():
    wanted = np.arange(6.0)
    shared = jaxapi.numpy.asarray(wanted) + 0
    results = {}

    def work(number):
        x = shared * number
        for _ in range(20):
            x = x + shared
            x[1:] -= shared[:-1]
        results[number] = np.asarray(x)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        x = wanted * number
        for _ in range(20):
            x = x + wanted
            x[1:] -= wanted[:-1]
        np.testing.assert_array_equal(results[number], x)


def test_threads_that_add_to_one_part():
    x = jaxapi.numpy.zeros((4, 30))
    rounds = 60

    def work():
        for _ in range(rounds):
            x[1:3, 2:9] += 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    wanted = np.zeros((4, 30))
    wanted[1:3, 2:9] = 4 * rounds
    np.testing.assert_array_equal(np.asarray(x), wanted)


def test_threads_that_need_what_waits_in_each_other():
    """None holds a lock while it waits for another batch."""
    rounds = 30
    together = threading.Barrier(2, timeout=60)
    made = [[None] * rounds, [None] * rounds]
    results = [[], []]

    def work(own, other):
        for number in range(rounds):
            made[own][number] = jaxapi.numpy.asarray(np.arange(4.0)) * (own + 1)
            together.wait()
            results[own].append(made[own][number] + made[other][number])
            together.wait()

    threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in ((0, 1), (1, 0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [len(found) for found in results] == [rounds, rounds]
    for found in results[0] + results[1]:
        np.testing.assert_array_equal(np.asarray(found), np.arange(4.0) * 3)


def test_nothing_is_kept_for_a_call_that_is_no_line(monkeypatch):
    monkeypatch.setattr(_batches, "LARGE", 100)
    x = jaxapi.numpy.asarray(np.arange(100.0))
    memory = weakref.ref(x._value)
    x = x + 1  # at once
    assert memory() is None
    np.testing.assert_array_equal(np.asarray(x), np.arange(100.0) + 1)


def test_who_asks_while_the_batch_runs_is_told(monkeypatch):
    """As a finalizer or a signal's handler may; other statements of theirs have values."""
    x = jaxapi.numpy.ones(5) + 1
    y = x * 2
    finish = _batches.Run.finish
    asked = []

    def finish_and_ask(run):
        if not asked:
            asked.append(True)
            with pytest.raises(RuntimeError, match="while that batch runs"):
                np.asarray(x)
            z = jaxapi.numpy.ones(3) * 7
            np.testing.assert_array_equal(np.asarray(z + 1), [8, 8, 8])
        finish(run)

    monkeypatch.setattr(_batches.Run, "finish", finish_and_ask)
    np.testing.assert_array_equal(np.asarray(y), [4] * 5)
    np.testing.assert_array_equal(np.asarray(x), [2] * 5)
    assert asked


def test_draws_lie_on_the_default_device():
    rng = jaxapi.numpy.random.default_rng(3)
    device = jax.devices()[-1]
    drawn = rng.random(5)
    assert drawn.device == jax.devices()[0]
    there = jaxapi.numpy.asarray(jax.device_put(np.ones(5), device)) * 2
    assert rng.random(5).device == jax.devices()[0]
    assert there.device == device


def test_a_finalizer_records_while_a_line_is_recorded(monkeypatch):
    made = []
    is_finalizing = []

    class Finalized:
        def __del__(self):
            is_finalizing.append(True)
            made.append(jaxapi.numpy.asarray(np.arange(3.0)) + 10)
            is_finalizing.pop()

    made_of = _batches._Batch._made

    def made_with_finalizers(self, *args):
        if not is_finalizing:
            Finalized()
        return made_of(self, *args)

    monkeypatch.setattr(_batches._Batch, "_made", made_with_finalizers)
    x = jaxapi.numpy.asarray(np.arange(3.0))
    for _ in range(4):
        x = x * 2
        x[0] = 1
    np.testing.assert_array_equal(np.asarray(x), [1, 16, 32])
    assert len(made) >= 5
    for each in made:
        np.testing.assert_array_equal(np.asarray(each), [10, 11, 12])


def test_modes_of_jax_that_change():
    x = mutable.asarray(np.arange(3), dtype="int32") + 1
    with jax.enable_x64(True):
        y = mutable.asarray(np.arange(3.0), dtype="float64") + 1
        assert y.dtype == np.float64
    z = x + 2**20
    assert (x.dtype, z.dtype) == (np.int32, np.int32)
    np.testing.assert_array_equal(np.asarray(y), [1, 2, 3])
    np.testing.assert_array_equal(np.asarray(z), np.arange(3) + 1 + 2**20)
    before = x / 0
    with jax.debug_nans(True):
        np.testing.assert_array_equal(np.asarray(before), [np.inf] * 3)
        with pytest.raises(FloatingPointError):
            (x - 1) / 0 * 0
    shifted = mutable.asarray(np.arange(3), dtype="int32") + 123457
    with jax.transfer_guard("disallow"), jax.transfer_guard_device_to_host("allow"):
        np.testing.assert_array_equal(np.asarray(shifted), np.arange(3) + 123457)
    rows = mutable.asarray(np.ones((2, 3))) * 2 + y
    with jax.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(np.asarray(rows), np.arange(1, 4) + np.full((2, 3), 2.0))


@several_devices
def test_devices_and_sharded_arrays():
    first, second = jax.devices()[:2]
    x = mutable.asarray(jax.device_put(np.arange(4.0), first)) + 1
    y = mutable.asarray(jax.device_put(np.arange(4.0), second)) + 2
    assert (x.device, y.device) == (first, second)
    np.testing.assert_array_equal(np.asarray(x), np.arange(4.0) + 1)
    np.testing.assert_array_equal(np.asarray(y), np.arange(4.0) + 2)
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()[:2]), "i")
    spread = jax.device_put(np.arange(4.0), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i")))
    z = mutable.asarray(spread) * 2
    assert len(z._value.sharding.device_set) == 2
    np.testing.assert_array_equal(np.asarray(z), np.arange(4.0) * 2)


def test_a_masked_array_is_refused_and_spoils_nothing_that_waits(way):
    """Its list has None for what is masked: as numbers of a batch it ended every later statement."""
    xp = jaxapi.numpy
    few = np.ma.masked_array([0.0, 1.0, 2.0], [True, True, False])
    waiting = xp.ones(3) + xp.arange(3)
    for function in (xp.isclose, xp.add, xp.where, xp.maximum):
        with pytest.raises((TypeError, ValueError), match=r"masked? "):
            function(few, xp.ones(3), *([0] if function is xp.where else []))
        with pytest.raises((TypeError, ValueError), match=r"masked? "):
            function(xp.ones(3), few, *([0] if function is xp.where else []))
    assert (waiting + xp.ones(3)).tolist() == [2, 3, 4]


def test_what_a_subclass_gives_as_its_list_is_not_asked_for(way):
    class Named(np.ndarray):
        def tolist(self):
            return ["a", "b", "c"]

    few = np.ma.masked_array([0.0, 1.0, 2.0], False).data.view(Named)
    assert (jaxapi.numpy.ones(3) + jaxapi.numpy.maximum(few, 1)).tolist() == [2, 2, 3]
