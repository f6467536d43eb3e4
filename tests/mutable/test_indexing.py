"""Reading and writing by index: what NumPy does with the same keys."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi.mutable as xp
from jaxapi.mutable import _indexing

of_both_sizes = pytest.mark.parametrize("size", ["small", "large"], indirect=True)

SHAPE = (4, 3, 2)
HOST = np.arange(24, dtype=np.float32).reshape(SHAPE)
MASK = HOST[..., 0] % 4 == 2  # (4, 3)
ROWS = np.asarray([True, False, True, True])

BASIC = [
    0, -1, np.int64(2), ..., None, (), slice(None), slice(1, 3), slice(-2, None), slice(3, 1),
    slice(None, None, 2), slice(None, None, -1), slice(3, 0, -2), slice(10, -10, -3), slice(1, None, 2),
    slice(2, None, 4), slice(1, None, 5), (slice(1, None, -1), slice(1, -1, 2), slice(1, None, -2)),
    (1, 2, 1), (slice(1, None), 0), (..., -1), (None, 1, ..., None, 0),
    (slice(None, None, -2), slice(1, 3), slice(None, None, -1)), (slice(0, 0), 1),
]  # fmt: skip
ARRAYS = [
    [0, 2], [], np.asarray([[0, -1], [2, 1]]), ([0, 1], [2, 0]), ([0, 1], slice(None, None, -1), 1),
    (1, slice(None), [1, 0]), (slice(1, 3), [0, 2], None), (..., [1, 0]), np.uint8([1, 3]),
    ([0, 1], slice(2, None, -1)), (slice(-9, -9, -2), [0, 2]),
]  # fmt: skip
MASKS = [
    HOST > 7, HOST > 100, MASK, ROWS, (slice(None), np.asarray([True, False, True])),
    (..., np.asarray([False, True])), (ROWS, slice(None), 1), (ROWS, 1), (1, np.asarray([True, False, True])),
    (MASK, 1), (MASK, [0, 0, 1, 1, 0, 1]), (None, MASK, slice(1)), (0, HOST[1] % 3 == 0),
    (..., HOST[1] % 3 == 0), (MASK, np.asarray([False, True])), (MASK, 0), (ROWS, slice(0, 2)),
    np.asarray(True), False, np.zeros((4, 0), bool),
    (True, ROWS), (slice(None), 1, False), (..., True), (True, [[1]], slice(0, 1)),
]  # fmt: skip
KEYS = BASIC + ARRAYS + MASKS
identify = str


def ours(key):
    """The key with our arrays in the place of NumPy's."""
    if isinstance(key, tuple):
        return tuple(map(ours, key))
    return xp.asarray(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", KEYS, ids=identify)
def test_read(key):
    expected = HOST[key]
    for k in (key, ours(key)):
        found = xp.asarray(HOST)[k]
        assert type(found) is xp.Array
        assert found.dtype == HOST.dtype
        np.testing.assert_array_equal(found, expected, strict=isinstance(expected, np.ndarray))


@of_both_sizes
@pytest.mark.parametrize("key", KEYS, ids=identify)
def test_write_a_number(key):
    expected = HOST.copy()
    expected[key] = -5
    x = xp.asarray(HOST)
    x[ours(key)] = -5
    np.testing.assert_array_equal(x, expected, strict=True)


@of_both_sizes
@pytest.mark.parametrize("key", KEYS, ids=identify)
def test_write_an_array(key):
    expected = HOST.copy()
    new = 100.0 + np.arange(HOST[key].size).reshape(HOST[key].shape)
    expected[key] = new
    x = xp.asarray(HOST)
    x[ours(key)] = xp.asarray(new)
    np.testing.assert_array_equal(x, expected, strict=True)


@of_both_sizes
@pytest.mark.parametrize("key", BASIC + MASKS[2:6], ids=identify)
def test_write_a_row(key):
    expected = HOST.copy()
    selected = HOST[key]
    if not selected.ndim:
        pytest.skip("one element")
    new = np.arange(selected.shape[-1], dtype=np.int32)
    new = new.reshape((1,) * (selected.ndim + 1) + new.shape)  # NumPy drops axes of length 1 in front
    expected[key] = new
    x = xp.asarray(HOST)
    x[key] = new
    np.testing.assert_array_equal(x, expected, strict=True)


@pytest.mark.parametrize("key", [*BASIC[:8], *ARRAYS[:5], *MASKS[:6], MASKS[-2]], ids=identify)
def test_write_under_jit(key):
    """Masks, too, and whatever the number of True."""

    @jax.jit
    def write(x, key, new):
        x[key] = new
        return x

    expected = HOST.copy()
    expected[key] = new = 100.0 + np.arange(HOST[key].size).reshape(HOST[key].shape)
    static = not any(isinstance(k, np.ndarray) for k in (key if isinstance(key, tuple) else (key,)))
    if static or (isinstance(key, tuple) and len(key) == 2):
        result = jax.jit(lambda x, new: x.__setitem__(key, new) or x)(xp.asarray(HOST), new)
    else:
        result = write(xp.asarray(HOST), ours(key), new)
    np.testing.assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize(
    "key", [4, -5, (0, 3), (..., 2), (0, 0, 0, 0), [4], [-5, 0], (slice(None), [3]), (..., ...)]
)
def test_out_of_bounds(key):
    x = xp.asarray(HOST)
    with pytest.raises(IndexError):
        HOST[key]
    with pytest.raises(IndexError):
        x[key]
    with pytest.raises(IndexError):
        x[key] = 1
    np.testing.assert_array_equal(x, HOST)


@pytest.mark.parametrize(
    "key", [1.0, "a", np.asarray([0.5]), HOST[:3] > 0, np.ones((4, 4), bool), slice(0.5, 2)]
)
def test_no_index(key):
    with pytest.raises((IndexError, TypeError)) as numpys:
        HOST[key]
    with pytest.raises(numpys.type):
        xp.asarray(HOST)[key]
    with pytest.raises(numpys.type):
        xp.asarray(HOST)[key] = 1


@of_both_sizes
def test_slices_with_steps():
    """Some end early, some are read with all of their axis."""
    host = np.arange(9, dtype=np.float32)
    x = xp.asarray(host)
    for first in 0, 1, 2, 3:
        for stop in 6, 7, 8, 9:
            key = slice(first, stop, first + 1)
            np.testing.assert_array_equal(x[key], host[key])
            x[key] = -1 - host[key]
            host[key] = -1 - host[key]
            np.testing.assert_array_equal(x, host)
    for key in (slice(None, None, -2), slice(7, 0, -3), slice(5, None, -3), slice(8, 2, -3), slice(8, 9, 2)):
        np.testing.assert_array_equal(x[key], host[key])


@pytest.mark.parametrize(
    ("key", "new"),
    [
        (0, np.ones(4)),
        (0, np.ones((0, 3, 2))),
        (slice(2), np.ones((3, 3, 2))),
        (HOST > 7, np.ones(3)),
        ([0, 1], np.ones((3, 3, 2))),
    ],
)
def test_values_that_do_not_fit(key, new):
    with pytest.raises(ValueError, match=r"broadcast|assign"):
        HOST.copy()[key] = new
    x = xp.asarray(HOST)
    with pytest.raises(ValueError, match=r"broadcast|assign"):
        x[key] = new
    np.testing.assert_array_equal(x, HOST)


@of_both_sizes
@pytest.mark.parametrize("key", [0, [0, 1], HOST[:, 0, 0] > 5])
def test_dtypes(key):
    x = xp.asarray(HOST.astype(np.int16))
    for new in (1j, np.complex64(1), xp.asarray(1j), np.ones(2, complex)):
        with pytest.raises(TypeError, match="complex"):
            x[key] = new
    with pytest.raises(OverflowError):
        x[key] = 2**15
    expected = HOST.astype(np.int16)
    for new in (np.float32(1.7), True, 2.5, np.int64(3)):
        expected[key] = new
        x[key] = new
        np.testing.assert_array_equal(x, expected, strict=True)


@of_both_sizes
def test_64_bits(x64):
    x = xp.zeros(3, dtype=xp.int64)
    x[0] = 2**40 + 1
    x[[1]] = np.asarray([2**41 + 1])
    x[xp.asarray([False, False, True])] = 2**42 + 1
    assert [int(n) for n in x] == [2**40 + 1, 2**41 + 1, 2**42 + 1]
    y = xp.zeros(2, dtype=xp.float64)
    y[::2] = 0.1
    y[1:] = xp.asarray([1e300], dtype=xp.float64)
    np.testing.assert_array_equal(y, np.asarray([0.1, 1e300]), strict=True)


@of_both_sizes
def test_one_program_for_all_positions(caplog):
    """A new position compiles nothing."""
    x = xp.zeros(37)
    part = x[4:9]

    def write(i):
        x[i : i + 5] = 2
        assert float(x[i]) == 2
        assert x[i : i + 5].shape == (5,)
        x[i] = 2
        x[i : i + 5] = part
        x[:5] = part

    for i in range(3):  # by copies, in place, and together
        write(i)
    with jax.log_compiles():
        for i in range(5, 9):
            write(i)
    assert "Compiling" not in caplog.text


def test_an_ellipsis_of_no_axes_between_arrays_is_refused(way):
    if way == "numpys":
        key = (slice(None), [0, 1], ..., [0, 1])
        np.testing.assert_array_equal(xp.asarray(HOST)[key], HOST[key])
        return
    with pytest.raises(IndexError, match="leave it out"):
        xp.asarray(HOST)[:, [0, 1], ..., [0, 1]]


@of_both_sizes
def test_masks_of_any_count():
    """Random masks and values, NumPy's result."""
    random = np.random.default_rng(0)
    for _ in range(5):
        mask = random.random((5, 4)) < 0.5
        host = random.random((5, 4, 3)).astype(np.float32)
        x, new = xp.asarray(host), random.random((mask.sum(), 3)).astype(np.float32)
        np.testing.assert_array_equal(x[xp.asarray(mask)], host[mask])
        x[xp.asarray(mask)] = new
        host[mask] = new
        np.testing.assert_array_equal(x, host)


@pytest.mark.daily
@pytest.mark.parametrize("has_small_grid", [True, False])
def test_the_last_value_of_a_repeated_position_remains(monkeypatch, has_small_grid):
    """In whatever order a device writes."""
    monkeypatch.setattr(_indexing, "_has_small_grid", lambda sizes, count: has_small_grid)

    def on_a_gpu(*operands, cpu, default):
        return default(*operands)

    monkeypatch.setattr(_indexing.lax, "platform_dependent", on_a_gpu)
    rng = np.random.default_rng(6)
    for dtype in (np.int32, np.int64, np.uint32):
        for shapes in [((7,),), ((4, 1), (5,)), ((3, 2), (2,), ())]:
            sizes = [3, 4, 2][: len(shapes)]
            least = 0 if dtype == np.uint32 else -1
            pairs = zip(sizes, shapes, strict=True)
            indices = [rng.integers(least * n, n, shape).astype(dtype) for n, shape in pairs]
            new = rng.normal(size=np.broadcast_shapes(*shapes)).astype(np.float32)
            wanted = np.zeros(sizes, np.float32)
            wanted[tuple(indices)] = new
            first = np.asarray(_indexing._without_overwritten(list(map(jnp.asarray, indices)), sizes))
            is_written = first < sizes[0]
            positions = np.broadcast_arrays(first, *indices[1:])
            found = np.zeros(sizes, np.float32)
            order = rng.permutation(np.count_nonzero(is_written))
            found[tuple([x[is_written][order] for x in positions])] = new[is_written][order]
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.daily
@of_both_sizes
def test_positions_that_come_twice():
    """Of one axis and of several, beside slices, of parts, and in augmented assignments."""
    rng = np.random.default_rng(7)
    host = rng.normal(size=(5, 6, 4)).astype(np.float32)
    rows, columns = rng.integers(-5, 5, 9), rng.integers(0, 6, 9)
    keys = [
        rows,
        (rows, columns),
        (slice(None), columns),
        (slice(1, None, 2), 2, columns % 4),
        (..., columns % 3),
    ]
    keys += [(rows[:, None], columns), (host[:, 0, 0] > 0, 3)]
    for key in keys:
        x, y = xp.asarray(host), host.copy()
        new = rng.normal(size=y[key].shape).astype(np.float32)
        x[key], y[key] = new, new
        np.testing.assert_array_equal(x, y)
        x[key] += new
        y[key] += new
        np.testing.assert_array_equal(x, y)
        x[::-1][key], y[::-1][key] = new, new
        np.testing.assert_array_equal(x, y)


def test_masks_of_arrays_that_the_host_does_not_have(monkeypatch):
    """Of large ones the device finds the places."""
    monkeypatch.setattr(_indexing, "_SMALL", -1)
    monkeypatch.setattr(_indexing, "_is_on_host", lambda x: False)
    random = np.random.default_rng(5)
    host = random.random((4, 5, 3)).astype(np.float32)
    x = xp.asarray(host)
    for mask in (random.random((4, 5)) < 0.5, np.zeros((4, 5), bool), np.ones((4, 5), bool)):
        np.testing.assert_array_equal(x[xp.asarray(mask)], host[mask])
    mask = np.array([[True, False, True]] * 5)
    np.testing.assert_array_equal(x[:, xp.asarray(mask)], host[:, mask])


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the CPU plays several devices")
def test_masks_select_on_the_arrays_device(monkeypatch):
    host, there = np.arange(5, dtype=np.float32), jax.devices()[1]
    for of_the_host in True, False:
        monkeypatch.setattr(_indexing, "_is_on_host", lambda x, in_host_memory=of_the_host: in_host_memory)
        x = xp.asarray(host, device=there)
        found = x[xp.asarray(host > 2, device=there)]
        np.testing.assert_array_equal(found, [3, 4])
        assert found.device == there


def test_mask_reads_name_the_remedy_under_jit():
    with pytest.raises(IndexError, match=r"where\(mask, x, other\)"):
        jax.jit(lambda x: x[x > 0])(xp.ones(3))


def test_index_arrays_that_do_not_broadcast():
    x = xp.asarray(HOST)
    with pytest.raises(IndexError, match=r"could not be broadcast together with shapes \(2,\) \(3,\)"):
        x[[0, 1], [0, 1, 2]]
    with pytest.raises(IndexError, match=r"could not be broadcast together with shapes \(2,\) \(3,\)"):
        x[[0, 1], [0, 1, 2]] = 0
    np.testing.assert_array_equal(x, HOST)


@of_both_sizes
def test_keys_that_are_equal_to_others_of_another_kind():
    """True is no 1, nor is 1.0, whatever was selected before."""
    x = xp.asarray(HOST)
    for key in (1, (1,), slice(1, None), (slice(1, None), 1)):
        np.testing.assert_array_equal(x[key], HOST[key])
        x[key] = HOST[key]
    for key in (True, (True,), (slice(1, None), True), slice(True, None), slice(np.int64(1), None)):
        np.testing.assert_array_equal(x[key], HOST[key], strict=True)
        x[key] = HOST[key]
    for key in (1.0, (1.0,), slice(1.0, None), (slice(1, None), 1.0)):
        with pytest.raises((IndexError, TypeError)):
            x[key]
        with pytest.raises((IndexError, TypeError)):
            x[key] = 1
    np.testing.assert_array_equal(x, HOST)
