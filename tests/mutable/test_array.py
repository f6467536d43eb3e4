"""The class: operators, aliases, conversions, and who holds the memory."""

import copy
import operator
import pickle
import sys
import threading

import array_api_compat
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi.mutable as xp
import jaxapi.numpy
from jaxapi.mutable import _in_place
from jaxapi.mutable._batches import is_recording

of_both_sizes = pytest.mark.parametrize("size", ["small", "large"], indirect=True)

ARITHMETIC = "add sub mul truediv floordiv mod pow".split()  # noqa: SIM905
BITWISE = "and_ or_ xor lshift rshift".split()  # noqa: SIM905
CPU = jax.devices("cpu")[0]  # NumPy takes no arrays of a GPU by DLPack
COMPARISONS = "eq ne lt le gt ge".split()  # noqa: SIM905


def on_cpu(x):
    return x.device.platform == "cpu"


def address(x):
    return x._value.unsafe_buffer_pointer()  # jnp.asarray(x) would hand it out


@pytest.mark.parametrize("name", ARITHMETIC + BITWISE + COMPARISONS)
def test_operators(name):
    kind = np.int32 if name in BITWISE else np.float32
    a, b = np.asarray([7, 5, 1], kind), np.asarray([2, 1, 3], kind)
    apply = getattr(operator, name)
    number = kind(3).item()
    for left, right in [(a, b), (a, number), (number, a), (a, kind(2)), (kind(2), a)]:
        expected = apply(left, right)
        for x, y in [
            (ours(left), ours(right)),
            (ours(left), right),
            (left, ours(right)),
            (ours(left), theirs(right)),
        ]:
            if type(x) is not xp.Array and type(y) is not xp.Array:
                continue
            found = apply(x, y)
            assert type(found) is xp.Array
            np.testing.assert_allclose(found, expected, rtol=1e-6, strict=True)


def ours(x):
    return xp.asarray(x) if isinstance(x, np.ndarray) else x


def theirs(x):
    return jnp.asarray(x) if isinstance(x, np.ndarray) else x


@of_both_sizes
@pytest.mark.parametrize("name", ARITHMETIC + BITWISE)
def test_operators_in_place(name):
    kind = np.int32 if name in BITWISE else np.float32
    expected, b = np.asarray([7, 5, 1], kind), np.asarray([2, 1, 3], kind)
    apply = getattr(operator, "i" + name.rstrip("_"))
    x = alias = xp.asarray(expected)
    for other in (b, kind(2).item()):
        for y in (ours(other), theirs(other)):
            expected = apply(expected, other)
            x = apply(x, y)
            assert x is alias
            np.testing.assert_allclose(x, expected, rtol=1e-5, strict=True)
    expected += 2 - expected  # a division by zero is another test's
    x[...] = expected
    x = apply(x, x)
    assert x is alias
    np.testing.assert_allclose(x, apply(expected, expected.copy()), rtol=1e-5)


@of_both_sizes
def test_matmul():
    a, b = np.arange(6.0, dtype=np.float32).reshape(2, 3), np.eye(3, dtype=np.float32)[::-1]
    x, y = xp.asarray(a), xp.asarray(b)
    np.testing.assert_array_equal(x @ y, a @ b)
    np.testing.assert_array_equal(a @ y, a @ b)
    x @= y
    np.testing.assert_array_equal(x, a @ b)


def test_arrays_without_axes_are_written_to():
    """The standard has no scalars: sums and elements can be written to, and nothing else changes."""
    x = xp.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    for key in ((), ..., np.asarray(True), xp.asarray(True)):
        total, element = xp.sum(x), x[1, 2]
        total_before = xp.asarray(total, copy=True)
        total[key] = -1
        element[key] = xp.nan
        assert float(total) == -1
        assert np.isnan(float(element))
        assert float(total_before) == 15
    total[np.asarray(False)] = 7
    assert float(total) == -1
    old = total
    total += 1
    assert (float(old), float(total)) == (-1, 0)
    np.testing.assert_array_equal(x, np.arange(6).reshape(2, 3))
    zero, other = xp.sum(xp.zeros(3)), xp.sum(xp.zeros(3))  # equal values, and perhaps one value of JAX
    zero[...] = 1
    assert float(other) == 0


@of_both_sizes
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_squares_and_roots_are_rounded_once(dtype):
    """Of whole arrays and of parts, as NumPy's are for numbers as exponents."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(8, 9)).astype(dtype)
    if a.dtype.kind == "c":  # of whole numbers, which every order of additions gives exactly
        a = (rng.integers(-9, 9, (8, 9)) + 1j * rng.integers(-9, 9, (8, 9))).astype(dtype)
    square = a * a
    x = xp.asarray(a)
    for exponent in (2, 2.0, a.dtype.type(2)):
        np.testing.assert_array_equal(x**exponent, square)
        np.testing.assert_array_equal(x[1:, ::-1] ** exponent, square[1:, ::-1])
    if a.dtype.kind == "f":
        np.testing.assert_array_equal(abs(x)[1:] ** 0.5, np.sqrt(abs(a))[1:])
        minus_infinity = xp.asarray(np.full((4, 5), -np.inf, dtype))
        with np.errstate(invalid="ignore"):  # of which NumPy warns
            assert np.isnan(np.asarray(minus_infinity[1:] ** 0.5)).all()
    x **= 2
    np.testing.assert_array_equal(x, square)
    y = xp.asarray(a)
    y[2:] **= 2
    np.testing.assert_array_equal(y[2:], square[2:])


def test_unary():
    a = np.asarray([-1, 2], np.int16)
    for apply in (operator.neg, operator.pos, operator.abs, operator.invert):
        np.testing.assert_array_equal(apply(xp.asarray(a)), apply(a), strict=True)


@of_both_sizes
def test_in_place_keeps_dtype_and_shape():
    x = xp.asarray([1, 2], dtype=xp.int32)
    with pytest.raises(TypeError, match=r"(float32.*int32 in place|Cannot cast ufunc)"):
        x += 0.5
    with pytest.raises(TypeError, match=r"(in place|Cannot cast ufunc)"):
        x /= 2
    with pytest.raises(ValueError, match="non-broadcastable"):
        x += xp.ones((2, 2), dtype=xp.int32)
    with pytest.raises(ValueError, match="broadcast"):
        x += xp.ones(3, dtype=xp.int32)
    with pytest.raises(OverflowError):
        x += 2**31
    assert np.asarray(x).tolist() == [1, 2]
    y = xp.ones(2, dtype=xp.float32)
    y += xp.ones(2, dtype=xp.float64)
    assert y.dtype == xp.float32


def test_an_int_that_does_not_fit():
    with pytest.raises(OverflowError, match="out of bounds"):
        xp.ones(2, dtype=xp.uint8) + 300


@of_both_sizes
def test_numbers_keep_their_digits(x64):
    x = xp.ones(1, dtype=xp.float64)
    x += 0.1
    assert float(x[0]) == 1.1
    assert float((x * 1e300)[0]) == 1.1 * 1e300
    assert int((xp.ones(1, dtype=xp.int64) + 2**40)[0]) == 2**40 + 1


def test_pythons_types_are_the_defaults(x64):
    x = xp.ones(2, dtype=xp.float64)
    expected = np.float64 if x64 else np.float32
    assert xp.asarray(x, dtype=float).dtype == xp.astype(x, float).dtype == expected
    assert xp.asarray(x, dtype=xp.float64) is x
    with pytest.raises(TypeError, match="dtype"):
        xp.astype(x, None)


@of_both_sizes
def test_aliases_and_copies():
    x = xp.zeros(3)
    for alias in (
        x,
        xp.asarray(x),
        xp.astype(x, x.dtype, copy=False),
        xp.from_dlpack(x),
        x.to_device(x.device),
        xp.reshape(x, (3,)),
    ):
        alias[0] += 1
    assert float(x[0]) == 6
    copies = [xp.asarray(x, copy=True), xp.astype(x, x.dtype), copy.copy(x), copy.deepcopy(x), +x]
    copies += [xp.reshape(x, (3,), copy=True), pickle.loads(pickle.dumps(x))]
    for y in copies:
        y[0] = -1
    assert float(x[0]) == 6
    x[0] = 7
    assert [float(y[0]) for y in copies] == [-1] * len(copies)


@of_both_sizes
def test_a_function_changes_its_argument():
    def clear(x):
        x[x < 0] = 0
        x += 1

    x = xp.asarray([-1.0, 2.0])
    clear(x)
    assert np.asarray(x).tolist() == [1, 3]


@pytest.mark.parametrize("way", ["jaxs"], indirect=True)
@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="needs the GIL")
def test_writes_reuse_memory():
    x, one = xp.zeros(100_000), xp.ones(100_000)

    def write():
        x[1] = 2
        x[5:100] = 3
        x[::-2] = 4
        x[[3, 4]] = 5
        x[x > 4] = 6
        x.__iadd__(1)
        x.__imul__(one)
        return address(x)

    addresses = [write() for _ in range(4)]
    first = 2 if is_recording() else 0  # a batch's programs are given copies in their first calls
    assert len(set(addresses[first:])) == 1


@of_both_sizes
@pytest.mark.parametrize(
    "hold",
    [
        jnp.asarray, copy.copy, lambda x: np.from_dlpack(x) if on_cpu(x) else jax.dlpack.from_dlpack(x),
        jax.device_put,
        lambda x: jax.device_put(jnp.asarray(x), jax.devices()[0]),
        lambda x: xp.asarray(x, device=jax.devices()[0], copy=True), lambda x: jax.jit(lambda x: x)(x),
        lambda x: xp.reshape(x, (1000,), copy=True), lambda x: xp.broadcast_arrays(x, x)[0],
        lambda x: jnp.asarray(x).addressable_data(0),
        lambda x: xp.from_dlpack((np if on_cpu(x) else jax.dlpack).from_dlpack(x)),
    ],
)  # fmt: skip
def test_writes_leave_what_others_hold(hold):
    x = xp.zeros(1000)
    x[0] = 1  # from here on the memory is its own
    held = hold(x)
    for write in range(3):
        x[0] = 5 + write
        x += 1
    np.testing.assert_array_equal(held, np.eye(1, 1000)[0])
    if type(held) is xp.Array:
        held[1] = 9
        held += 1
        assert float(x[1]) == 3


@of_both_sizes
def test_memory_of_numpy_is_not_written():
    host = np.zeros(1024, np.float32)
    for x in (xp.asarray(host), xp.from_dlpack(host)):
        for _ in range(3):
            x[0] += 1
        assert float(x[0]) == 3
    assert not host.any()


def test_conversions():
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]], device=CPU)
    host = np.asarray(x)
    host[0] = 0
    assert float(x[0, 0]) == 1
    assert not np.asarray(x, copy=False).flags.writeable
    assert not np.from_dlpack(x).flags.writeable
    assert np.asarray(x, dtype=np.int8).dtype == np.int8
    np.testing.assert_allclose(jnp.sin(x), np.sin(np.asarray(x)), rtol=1e-6)
    assert [bool(xp.asarray(1)), int(xp.asarray(2)), float(xp.asarray(3.0)), complex(xp.asarray(4j))] == [
        1,
        2,
        3,
        4j,
    ]
    assert [10, 20][xp.asarray(1)] == 20
    assert len(x) == 2
    assert [np.asarray(row).tolist() for row in x] == [[1, 2], [3, 4]]
    assert 4 in x
    assert 5 not in x
    assert None not in x
    assert "four" not in x
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert xp.Array((2, 1)).tolist() == [[0], [0]]
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        x.foo  # noqa: B018
    with pytest.raises(AttributeError, match=r"use jaxapi\.mutable\.sqrt\(x\)"):
        x.sqrt  # noqa: B018
    assert xp.asarray([[x[0, 0], 5], [6, 7]]).shape == (2, 2)


def test_old_dlpack_gets_a_copy():
    x = xp.ones(3, device=CPU)

    class Old:
        def __dlpack__(self, **kwargs):
            return x.__dlpack__(max_version=(0, 0))

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    np.testing.assert_array_equal(np.from_dlpack(Old()), np.ones(3))


def test_pickle_keeps_64_bits():
    x = xp.asarray([2**40], dtype=xp.int64)
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.dtype == xp.int64
        assert int(y[0]) == 2**40


def test_repr():
    assert repr(xp.asarray([1.0, 2.0])) == "jaxapi.mutable.Array([1., 2.], dtype=float32)"
    first, second = repr(xp.eye(2)).splitlines()
    assert first.index("[1.") == second.index("[0.")
    assert str(xp.asarray([1, 2])) == "[1 2]"
    assert f"{xp.asarray(1.5):.3f}" == "1.500"
    shown = []
    jax.jit(lambda x: shown.append(repr(x)) or x)(xp.ones(2))
    assert shown[0].startswith("jaxapi.mutable.Array(")


def test_attributes():
    x = xp.zeros((2, 3), dtype=xp.int16)
    assert (x.shape, x.ndim, x.size, x.nbytes, x.itemsize) == ((2, 3), 2, 6, 12, 2)
    assert x.T.shape == x.mT.shape == (3, 2)
    assert x.device == jax.devices()[0]
    assert array_api_compat.array_namespace(x) is xp
    assert x.__array_namespace__(api_version="2025.12") is xp
    with pytest.raises(ValueError, match="2030"):
        x.__array_namespace__(api_version="2030.12")


@of_both_sizes
@pytest.mark.parametrize("way", ["jaxs"], indirect=True)  # threads that share NumPy's memory need a lock
def test_writes_are_atomic(way):
    """Two threads add; none of their additions is lost, and a third sees whole arrays only."""
    x = xp.zeros(1000)
    x += 0
    mixed = []

    def add():
        for _ in range(100):
            x.__iadd__(1)

    def look():
        for _ in range(100):
            host = np.asarray(x)
            mixed.extend(host[host != host[0]])

    threads = [threading.Thread(target=f) for f in (add, add, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not mixed
    np.testing.assert_array_equal(x, np.full(1000, 200))


@of_both_sizes
def test_a_failed_write_changes_nothing():
    x = xp.ones(3)
    x[0] = 2
    with pytest.raises(ValueError, match="broadcast"):
        x[:2] = [1, 2, 3]
    x += 1
    assert np.asarray(x).tolist() == [3, 2, 2]


def test_small_arrays_share_the_operators_programs(monkeypatch, caplog):
    monkeypatch.setattr(_in_place, "_SMALL", 2**16)
    x, y = xp.ones(37), xp.full(37, 2.0)
    expected = np.asarray(x + y)
    with jax.log_compiles():
        x += y
    assert "Compiling" not in caplog.text
    np.testing.assert_array_equal(x, expected)


@of_both_sizes
def test_lists_are_operands():
    host = np.asarray([[3, 1], [2, 5]], np.int32)
    x, pair = xp.asarray(host), [1, 2]
    np.testing.assert_array_equal(x + pair, host + pair)
    np.testing.assert_array_equal(pair - x, pair - host)
    np.testing.assert_array_equal(x == [3, 5], host == [3, 5])
    np.testing.assert_array_equal(x @ ((1, 2), (3, 4)), host @ [[1, 2], [3, 4]])
    x *= [2, 3]
    np.testing.assert_array_equal(x, host * [2, 3])
    with pytest.raises(ValueError, match="broadcast"):
        x - [1, 2, 3]


@pytest.mark.parametrize("x", [np.array([7.5, -7.5, 2.0]), np.array([7, -7, 2])], ids=["floats", "ints"])
@pytest.mark.parametrize("y", [2, -2, 2.5])
def test_divmod_is_numpys(x, y):
    for actual, expected in zip(
        divmod(xp.asarray(x), y) + divmod(y, xp.asarray(x)), divmod(x, y) + divmod(y, x), strict=True
    ):
        assert isinstance(actual, xp.Array)
        np.testing.assert_array_equal(actual, expected)


def test_arrays_without_axes_have_views():
    total = xp.sum(xp.asarray([1.0, 2.0]))
    assert total.flags.writeable
    view = xp.reshape(total, (1,))
    view[0] = 5
    assert float(total) == 5


MODULES = pytest.mark.parametrize("module", [xp, jaxapi.numpy], ids=["mutable", "numpy"])


@MODULES
def test_elements_are_scalars(module):
    """They are hashed; in `jaxapi.numpy` they are not written to, as NumPy's."""
    x = module.asarray(np.asarray([1.5, 2.5], np.float32))
    element = x[1]
    assert hash(element) == hash(2.5)
    if module is jaxapi.numpy:
        with pytest.raises(TypeError):
            element[...] = 3
    with pytest.raises(TypeError):
        hash(x)
    assert hash(x.max()) == hash(np.float32(2.5))
    total = x[0]
    total += 1
    assert x.tolist() == [1.5, 2.5]
    assert float(total) == 2.5


@MODULES
def test_dtypes_of_conversions(module):
    x = module.asarray(np.asarray([1.5, -2.5, 300], np.float32))
    for array in (x, x[1:], x[::-1], x.reshape(3, 1)):
        for dtype in ("float64", "int16", "complex64", None):
            made = array.__array__() if dtype is None else array.__array__(np.dtype(dtype))
            assert type(made) is np.ndarray
            expected = np.asarray(np.asarray(array), dtype)
            np.testing.assert_array_equal(made, expected, strict=True)


REFLECTED = {
    "radd": "+", "rsub": "-", "rmul": "*", "rtruediv": "/", "rfloordiv": "//", "rmod": "%", "rpow": "**",
    "rmatmul": "@", "rlshift": "<<", "rrshift": ">>", "rand": "&", "ror": "|", "rxor": "^", "rdivmod": "",
}  # fmt: skip


@MODULES
@pytest.mark.parametrize("name", REFLECTED)
def test_reflected_operators(module, name):
    """The other operand is on the left."""
    kind = np.int32 if REFLECTED[name] in ("<<", ">>", "&", "|", "^") else np.float32
    host = np.asarray([[1, 2], [3, 5]], kind)
    left = np.asarray([[7, 1], [4, 2]], kind)
    x = module.asarray(host)
    method = f"__{name}__"
    for other in (left, jnp.asarray(left)):
        found = getattr(x, method)(other)
        expected = getattr(host, method)(left)
        for part, of_numpy in zip(
            *[p if name == "rdivmod" else (p,) for p in (found, expected)], strict=True
        ):
            np.testing.assert_allclose(np.asarray(part), of_numpy, rtol=1e-6)


def test_derivatives_are_arrays_of_the_results_namespace():
    x = xp.asarray(np.asarray([1.0, 2.0], np.float32))
    slopes = jax.jacfwd(lambda x: jaxapi.numpy.asarray(x) * 2)(x)
    assert slopes.__array_namespace__() is jaxapi.numpy
    other = jaxapi.numpy.asarray(np.asarray([1.0, 2.0], np.float32))
    assert jax.jacfwd(lambda x: xp.asarray(x) * 2)(other).__array_namespace__() is xp


@pytest.mark.skipif(jax.device_count() < 2, reason="one device")
def test_devices_of_other_libraries_arrays():
    device = jax.devices()[1]
    host = np.arange(3, dtype=np.float32)
    for given in (host, jnp.asarray(host), xp.asarray(host)):
        made = xp.from_dlpack(given, device=device)
        assert made.device == device
        np.testing.assert_array_equal(np.asarray(made), host)


@MODULES
@pytest.mark.parametrize("kind", [list, tuple])
def test_elements_in_lists_of_options(module, kind):
    """Lengths, axes and bounds may be elements of arrays, also in lists."""
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = module.asarray(host)
    n = module.asarray(np.asarray([0, 1, 2, 3, 4, 6]))
    np.testing.assert_array_equal(np.asarray(module.reshape(x, kind([n[2], n[5]]))), host.reshape(2, 6))
    np.testing.assert_array_equal(np.asarray(module.zeros(kind([n[2], n[3]]))), np.zeros((2, 3)))
    np.testing.assert_array_equal(np.asarray(module.sum(x, axis=tuple(kind([n[0], n[1]])))), host.sum())
    np.testing.assert_array_equal(
        np.asarray(module.broadcast_to(x, kind([n[2], n[3], n[4]]))), np.broadcast_to(host, (2, 3, 4))
    )
    joined = module.concat(kind([x, x]))
    np.testing.assert_array_equal(np.asarray(joined), np.concatenate([host, host]))
    if module is jaxapi.numpy:
        padded = module.pad(x, kind([kind([n[1], n[0]]), kind([n[0], n[2]])]))
        np.testing.assert_array_equal(np.asarray(padded), np.pad(host, ((1, 0), (0, 2))))
        made = module.asarray(kind([x[0, 1], n[3], 2.5]))
        np.testing.assert_array_equal(np.asarray(made), [1, 3, 2.5])
