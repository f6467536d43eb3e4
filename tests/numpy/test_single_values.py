"""One value of each function where its rule is easily missed, beside NumPy's: at an end, a tie, a sign.

Each line sets y. It runs as it stands, and what it is given as x, under jit.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meshes import mesh_of, spread

import jaxapi.numpy as ours
from tests.numpy.test_statements import check_same

X = np.array([0.0, 1.0, 2.5, 7.0, 8.0, 3.0])

LINES = """
np.gradient(x, edge_order=2)
np.gradient(x, 0.5, edge_order=2)
np.gradient(x, [0, 1, 3, 4, 8, 9.5])
np.gradient(x, [0, 1, 3, 4, 8, 9.5], edge_order=2)
np.interp([-1.0, 0.0, 0.5, 1.0, 2.0], [0.0, 1.0], x[3:5], left=-1.0, right=-2.0)
np.interp([0.0, 0.5, 1.0], [0.0, 1.0], [x[0], np.inf])
np.unwrap((x * 5).astype(int), period=10)
np.unwrap(np.array([0, 5, 0, -5, 10]), period=10)
np.unwrap(np.array([0, 5, 0, -5, 10]), period=10.0)
np.unwrap(np.array([0, 3, 5, 2, -1, -3]), period=5)
np.unwrap(np.array([0, 100, -100, 127, -128], dtype=np.int8), period=10)
np.unwrap(np.array([0, 30000, -30000, 5], dtype=np.int16), period=7, discont=3)
np.unwrap(np.array([0, 7, 2, 9], dtype=np.int16), period=np.int64(5))
np.unwrap(np.array([0, 200, 10, 255], dtype=np.uint8), period=np.int16(12))
np.unwrap(x, period=7)
np.interp(x, [0.0, 1.0, 2.0], [0.0, 4.0, 1.0], period=x[3])
np.geomspace(1, 1000, 2)
np.geomspace(7, 10, 3)
np.ediff1d(x, to_begin=9, to_end=[1, 2])
np.quantile(np.arange(4.0) + x[0], [0.125, 0.375, 0.625, 0.875], method="closest_observation")
np.quantile(x / 3, [0.1, 0.25, 0.55, 0.63, 0.87, 0.99])
np.correlate(np.arange(4), np.arange(1, 8), mode="same")
np.correlate(np.arange(7), np.arange(1, 5), mode="same")
np.correlate(np.arange(3), np.arange(1, 8), mode="same")
np.digitize([0.0, 1.0, 2.0, 2.5, 3.0, 4.0] + x[0], [3.0, 2.0, 1.0])
np.digitize([0.0, 1.0, 2.0, 2.5, 3.0, 4.0] + x[0], [3.0, 2.0, 1.0], right=True)
np.digitize([0.0, 1.0, 2.0, 2.5, 3.0, 4.0] + x[0], [1.0, 2.0, 3.0], right=True)
np.pad(np.array([-7, 4]), 3, mode="linear_ramp", end_values=-2)
np.pad(x, 1, "mean", stat_length=(1, 2))
np.pad(x, (2, 1), "minimum", stat_length=(2, 3))
np.pad(x, 1, "maximum", stat_length=2)
np.array_equal(np.array([2**64 - 1], dtype=np.uint64), np.array([-1]))
np.array_equal(np.array([2**63], dtype=np.uint64), np.array([-(2**63)]))
np.einsum("ii", np.outer(x, x))
np.einsum("ii->i", np.outer(x, x))
np.einsum("ij,ij", np.outer(x, x), np.outer(x, x + 1))
[np.shares_memory(*pair) for pair in ((np.ones(3), np.ones(3)), (x, x[1:]), (x[::2], x[1::2]))]
[np.rot90(np.outer(x, x[::-1])[:2], k) for k in (-1, 0, 1, 2, 3, 5)]
np.maximum(x[1], complex(np.nan, 0))
np.minimum(complex(np.nan, 0), x[1])
np.fmax(x[1], complex(np.nan, 0))
np.maximum(x[1] + 0j, np.array([complex(-9, np.nan), complex(np.nan, -9), 9j]))
np.minimum(x[1] + 0j, np.array([complex(9, np.nan), complex(np.nan, 9), -9j]))
np.maximum(np.array([complex(-9, np.nan), complex(np.nan, -9), 9j]), x[1] + 0j)
np.minimum(np.array([complex(9, np.nan), complex(np.nan, 9), -9j]), x[1] + 0j)
x[::2][1:]
x[1:][::2][1:]
x[::-1][1:4][::2]
np.array([-128, 0, 127], dtype=np.int8) == -128
np.array([-128, 0, 127], dtype=np.int8) >= 127
np.array([0, 255], dtype=np.uint8) == 255
np.array([0, 255], dtype=np.uint8) < 256
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_values(line, monkeypatch):
    code = compile(line, "<line>", "eval")
    expected = eval(code, {"np": np, "x": X})
    with jax.enable_x64(True):
        check_same(eval(code, {"np": ours, "x": ours.asarray(X)}), expected)
        traced = jax.jit(lambda x: eval(code, {"np": ours, "x": x}))(ours.asarray(X))
    check_same(traced, expected)


WRITES = """
np.put(x, [99, -99], [1.0, 2.0], mode="clip")
np.put(x, [6, 13, -7], [1.0, 2.0, 3.0], mode="wrap")
x[::2][1:] = 5.0
x[1:][::-1][:2] = [8.0, 9.0]
x[1:] -= x[:-1]
x[:-1] += x[1:]
z.imag = x
z.real = x; z.imag[1:] = 4.0
""".strip().splitlines()


@pytest.mark.parametrize("line", WRITES)
def test_writes(line):
    code = compile(line, "<line>", "exec")

    def written(module, x):
        z = x + 1j
        exec(code, {"np": module, "x": x, "z": z})
        return x, z

    expected = written(np, X.copy())
    with jax.enable_x64(True):
        check_same(written(ours, ours.array(X)), expected)
        traced = jax.jit(lambda x: written(ours, ours.array(x)))(X)
    check_same(traced, expected)


def test_loops_read_before_they_write():
    """In a program a part is read whole before it is written, also where both overlap."""

    def step(x, _):
        x = ours.array(x)
        x[1:] -= x[:-1]
        x[:-1] += x[1:]
        return x, None

    x = X.copy()
    for _ in range(3):
        x[1:] -= x[:-1]
        x[:-1] += x[1:]
    with jax.enable_x64(True):
        found, _ = jax.lax.scan(step, ours.asarray(X), None, 3)
        np.testing.assert_array_equal(np.asarray(found), x)

    rows = np.arange(24.0).reshape(3, 8) ** 2
    found = jax.jit(lambda x: jax.lax.map(lambda row: step(row, None)[0], x))(rows.astype(np.float32))
    rows[:, 1:] -= rows[:, :-1].copy()
    rows[:, :-1] += rows[:, 1:].copy()
    np.testing.assert_array_equal(np.asarray(found), rows)


REFUSED = {
    "np.where(x > 1, x)": ValueError,
    "np.add.reduceat(x, [0, 6])": IndexError,
    "np.add.reduceat(x, [-7])": IndexError,
}


@pytest.mark.parametrize("line", REFUSED)
def test_refused(line):
    for module in (np, ours):
        with pytest.raises(REFUSED[line]):
            eval(line, {"np": module, "x": module.asarray(X)})


def test_either_both_alternatives_or_neither():
    with pytest.raises(ValueError, match="both or neither"):
        jax.jit(lambda x: ours.where(x > 1, x))(X)
    with pytest.raises(TypeError, match="does not hold None"):  # of which NumPy makes an array of objects
        jax.jit(lambda x: ours.where(x > 1, None, x))(X)


@pytest.mark.daily
def test_parts_with_gaps_of_an_array_on_several_devices():
    expected = np.arange(16, dtype=np.float32)
    x = ours.asarray(spread(mesh_of(4), expected))
    for array, numbers in ((x, ours.arange(5, dtype=np.float32)), (expected, np.arange(5))):
        array[1::3] = numbers
        array[::2] = 7
        array[14::-5] = -1
    np.testing.assert_array_equal(np.asarray(x), expected)


def test_integers_that_do_not_fit():
    x = ours.zeros(3, dtype=np.int8)
    with pytest.raises(OverflowError):
        x[:1] = [300]
    with pytest.raises(OverflowError):
        jax.jit(lambda x: x.__setitem__(slice(1), [300]))(x)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_least_squares_of_any_unit(scale):
    matrix = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]]) * scale
    for a in (matrix, matrix[:2], matrix.T, np.outer(matrix[:, 0], [1.0, 2.0])):
        b = np.arange(1.0, len(a) + 1)
        expected = np.linalg.lstsq(a, b)
        with jax.enable_x64(True):
            found = ours.linalg.lstsq(ours.asarray(a), ours.asarray(b))
        assert int(found[2]) == expected[2]
        assert found[1].shape == expected[1].shape
        np.testing.assert_allclose(np.asarray(found[0]), expected[0], rtol=1e-9, atol=1e-12 / scale)
        np.testing.assert_allclose(np.asarray(found[3]), expected[3], rtol=1e-9, atol=1e-12 * scale)


def test_eigenvalues_read_one_triangle():
    """What is not a number in the other triangle is never looked at."""
    matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    for name, place in (("L", (0, 1)), ("U", (1, 0))):
        spoiled = matrix.copy()
        spoiled[place] = np.nan
        with jax.enable_x64(True):
            values = jax.jit(lambda x, name=name: ours.linalg.eigh(ours.asarray(x), name)[0])(spoiled)
        np.testing.assert_allclose(np.asarray(values), np.linalg.eigh(spoiled, name)[0], rtol=1e-12)


def test_random_integers_up_to_the_end():
    generator = ours.random.Generator(jax.random.key(0))
    np.testing.assert_array_equal(np.asarray(generator.integers(0, 0, size=5, endpoint=True)), np.zeros(5))
    drawn = np.asarray(generator.integers(3, 5, size=200, endpoint=True))
    assert set(drawn.tolist()) == {3, 4, 5}
    drawn = np.asarray(generator.integers(3, 5, size=200))
    assert set(drawn.tolist()) == {3, 4}


def test_derivatives_are_arrays_of_their_namespace():
    """That of the first array, also by arguments that are JAX's."""
    x, y = ours.asarray([1.0, 2.0]), jax.numpy.asarray([3.0, 4.0])
    value, derivatives = ours.value_and_grad(lambda x, y: (x**2 * y).sum(), argnums=(0, 1))(x, y)
    for found, expected in zip((value, *derivatives), (19.0, [6.0, 16.0], [1.0, 4.0]), strict=True):
        assert found.__array_namespace__() is ours
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_ends_of_geometric_sequences_are_as_given():
    with jax.enable_x64(True):
        for num in (2, 3, 7):
            for start, stop in ((1.0, 1000.0), (3.0, 7.0), (0.3, 13.1), (5.7, 0.11)):
                found = np.asarray(ours.geomspace(ours.asarray(start), ours.asarray(stop), num))
                assert (found[0], found[-1]) == (start, stop)


def test_quantiles_have_numpys_bits():
    """Above the middle of two elements they are counted from the upper one."""
    x = np.sort(np.random.default_rng(3).normal(size=11))
    places = np.linspace(0, 1, 57)
    with jax.enable_x64(True):
        found = ours.quantile(ours.asarray(x), ours.asarray(places))
    np.testing.assert_array_equal(np.asarray(found), np.quantile(x, places))


def test_quantiles_in_a_program_have_numpys_bits():
    x = np.random.default_rng(3).normal(size=101)
    places = np.linspace(0, 1, 400)
    methods = ("linear", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased")

    @jax.jit
    def quantiles(x, places):
        return [ours.quantile(x, places, method=method) for method in methods]

    with jax.enable_x64(True):
        found = quantiles(jnp.asarray(x), jnp.asarray(places))
    for method, values in zip(methods, found, strict=True):
        np.testing.assert_array_equal(np.asarray(values), np.quantile(x, places, method=method), method)


WITHOUT_AXES = """
np.block(z)
np.broadcast_arrays(z, 1)[0]
np.cov(v)
np.diff(z, n=0)
np.i0(z)
np.isin(z, v)
np.pad(z, 0)
np.roll(z, 1)
np.select([z > 0], [z], 1.0)
np.tensordot(v, v, 1)
np.tile(z, ())
np.trim_zeros(z)
np.unique(z, return_inverse=True)[1]
np.vectorize(lambda x: x + 1)(z)
np.vectorize(lambda x, y: (x * y).sum(), signature="(i),(i)->()")(v, v)
np.where(z > 0, z, 2)
np.where(True, 1.5, z)
np.where(True, 1, 2)
np.squeeze(v[:1])
np.around(n)
n.round()
np.nan_to_num(n)
np.nan_to_num(z)
np.dot(v, v)
np.sum(v)
np.clip(z, 0, 1)
np.add(z, 1)
np.real(v[0])
"""


@pytest.mark.parametrize("line", WITHOUT_AXES.strip().split("\n"))
def test_what_is_written_to_without_axes(line):
    """NumPy's arrays without axes are written to, and its scalars are not."""

    def is_array(np):
        names = {"np": np, "z": np.asarray(0.5), "n": np.asarray(3), "v": np.asarray([0.5, 2.0])}
        made = eval(line, names)
        assert made.shape == ()
        try:
            made[...] = 1
        except TypeError:
            return False
        return made == 1

    assert is_array(ours) == is_array(np)
