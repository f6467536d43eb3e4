"""vecdot, matmul, tensordot and matrix_transpose against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxapi as xp
from jaxapi._core import _programs
from jaxapi._core._programs import eagerly

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]
DTYPES = ["bool", *INTEGERS, *FLOATS]
SOME_DTYPES = ["bool", "uint64", "float16", "complex64"]  # one of each kind
VECDOT_SHAPES = [
    ((3,), (3,), -1), ((100,), (100, 20), 0), ((4, 5), (4, 4, 5), 0), ((4, 5), (7, 4, 5), -2),
    ((5, 1, 3), (1, 7, 3), -1), ((2, 1, 4, 3), (5, 4, 3), -2), ((0,), (4, 0), -1), ((2, 0, 3), (3,), -1),
    ((1, 1, 3), (1, 3), -1),
]  # fmt: skip
MATMUL_SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((2, 0), (0, 3))]
TENSORDOT_AXES = [
    ((2, 3, 4), (3, 4, 5), 2), ((3,), (4,), 0), ((2, 3, 4), (4, 2), ((2, 0), (0, 1))),
    ((2, 3, 4), (5, 3), ([1], [-1])), ((2, 3), (3, 2), (0, 1)), ((2, 0), (0, 3), 1),
]  # fmt: skip


def values(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) * 5
    if dtype == "bool":
        return x > 2
    if dtype.startswith("complex"):
        x = x + 1j * rng.normal(size=shape)
    return (np.abs(x) if dtype.startswith("uint") else x).astype(dtype)


def assert_product(got, want, terms=1):
    got = np.asarray(got)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if want.dtype.kind in "fc":
        tolerance = 100 * float(jnp.finfo(want.dtype).eps)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * 25 * terms)
    else:
        np.testing.assert_array_equal(got, want)


def assert_same_error(function, numpys, *args, **kwargs):
    with pytest.raises(Exception) as expected:  # noqa: PT011
        numpys(*args, **kwargs)
    with pytest.raises(expected.type):
        function(*args, **kwargs)


# every dtype with one shape, and every shape with some dtypes, for every pair compiles a program
@pytest.mark.parametrize(
    ("dtype", "shape1", "shape2", "axis"),
    [(dtype, *VECDOT_SHAPES[5]) for dtype in DTYPES]
    + [(dtype, *case) for dtype in SOME_DTYPES for case in VECDOT_SHAPES[:5]],
)
def test_vecdot(dtype, shape1, shape2, axis):
    x1, x2 = values(shape1, dtype, 1), values(shape2, dtype, 2)
    assert_product(xp.vecdot(x1, x2, axis=axis), np.vecdot(x1, x2, axis=axis), shape1[axis])


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
@pytest.mark.parametrize(("shape1", "shape2", "axis"), VECDOT_SHAPES[6:])
def test_vecdot_of_empty_and_single_axes(dtype, shape1, shape2, axis):
    x1, x2 = values(shape1, dtype, 1), values(shape2, dtype, 2)
    assert_product(xp.linalg.vecdot(x1, x2, axis=axis), np.vecdot(x1, x2, axis=axis))


@given(data=st.data())
def test_vecdot_of_any_shape(data):
    rest = data.draw(st.lists(st.sampled_from([1, 2, 3]), max_size=3))
    operands = []
    for seed in (1, 2):
        own = rest[data.draw(st.integers(0, len(rest))) :]
        own = [size if data.draw(st.booleans()) else 1 for size in own]
        operands.append((own, seed))
    axis = data.draw(st.integers(-1 - min(len(own) for own, _ in operands), -1))
    x1, x2 = (
        values([*own[: len(own) + 1 + axis], 4, *own[len(own) + 1 + axis :]], "int16", seed)
        for own, seed in operands
    )
    assert_product(xp.vecdot(x1, x2, axis=axis), np.vecdot(x1, x2, axis=axis))


@pytest.mark.parametrize(
    ("dtype", "shape1", "shape2"),
    [(dtype, *MATMUL_SHAPES[3]) for dtype in DTYPES]
    + [(dtype, *case) for dtype in SOME_DTYPES for case in MATMUL_SHAPES[:3]],
)
def test_matmul(dtype, shape1, shape2):
    x1, x2 = values(shape1, dtype, 1), values(shape2, dtype, 2)
    assert_product(xp.matmul(x1, x2), np.matmul(x1, x2), shape1[-1])


@pytest.mark.parametrize(
    ("dtype", "shape1", "shape2", "axes"),
    [(dtype, *TENSORDOT_AXES[2]) for dtype in DTYPES]
    + [(dtype, *case) for dtype in SOME_DTYPES for case in TENSORDOT_AXES if case != TENSORDOT_AXES[2]],
)
def test_tensordot(dtype, shape1, shape2, axes):
    x1, x2 = values(shape1, dtype, 1), values(shape2, dtype, 2)
    want = np.tensordot(x1, x2, axes)
    if dtype == "bool":  # NumPy's tensordot of bool is an OR of ANDs too, through dot
        assert want.dtype == bool
    assert_product(xp.tensordot(x1, x2, axes=axes), want, 12)


def test_matmul_of_empty_axes():
    for shape1, shape2 in MATMUL_SHAPES[4:]:
        np.testing.assert_array_equal(xp.matmul(np.ones(shape1), np.ones(shape2)), np.zeros((2, 3)))


def test_matrix_transpose():
    x = values((2, 3, 4), "float32", 1)
    np.testing.assert_array_equal(xp.matrix_transpose(x), np.matrix_transpose(x))
    assert xp.linalg.matrix_transpose([[1, 2, 3]]).shape == (3, 1)
    with pytest.raises(ValueError, match="at least 2-dimensional"):
        xp.matrix_transpose([1, 2])


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_half_precision_is_summed_in_float32(dtype):
    x = np.full(4096, 1 / 8).astype(dtype)  # added up in the dtype, this stops growing early
    for got in (xp.vecdot(x, x), xp.matmul(x, x), xp.tensordot(x, x, axes=1)):
        assert got.dtype == dtype
        assert float(got) == 64


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
@pytest.mark.parametrize("name", ["vecdot", "matmul", "tensordot"])
def test_half_precision_asks_for_sums_in_float32(name, dtype):
    """Which XLA makes on a CPU in any case."""
    options = {"axes": 1} if name == "tensordot" else {}
    x = jnp.ones((4, 4), dtype)
    text = jax.jit(lambda x: getattr(xp, name)(x, x, **options)).lower(x).as_text()
    (product,) = [line for line in text.splitlines() if "dot_general" in line]
    assert product.rstrip().endswith("xf32>")


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "complex128"])
def test_64_bit_operands_stay_64_bit(dtype, x64):
    rng = np.random.default_rng(0)
    x, y = (xp.asarray((rng.random((3, 3)) * 2.0**40).astype(dtype)) for _ in range(2))
    calls = [
        (xp.matmul, np.matmul),
        (xp.tensordot, np.tensordot),
        (xp.vecdot, np.vecdot),
        (xp.linalg.cross, np.linalg.cross),
        (lambda x, y: xp.linalg.outer(x[0], y[0]), lambda x, y: np.linalg.outer(x[0], y[0])),
    ]
    if dtype != "complex128":
        near = np.asarray(x) + np.eye(3, dtype=dtype)  # no difference to float32
        calls.append((lambda x, y: xp.isin(x, xp.asarray(near)), lambda x, y: np.isin(x, near)))
    if dtype == "float64":
        calls.append((lambda x, y: xp.fft.ihfft(x), lambda x, y: np.fft.ihfft(x)))
    for ours, numpys in calls:
        expected = numpys(np.asarray(x), np.asarray(y))
        largest = abs(expected).max()
        for out in (ours(x, y), jax.jit(ours)(x, y)):
            assert out.dtype == expected.dtype
            np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-14, atol=1e-14 * largest)


def test_promotion(x64):
    assert xp.vecdot(np.int64([1]), np.uint64([1])).dtype == np.float64
    assert xp.vecdot(np.int8([1]), np.int16([1])).dtype == np.int16
    assert xp.vecdot(np.float16([1]), np.float32([1])).dtype == np.float32
    assert xp.vecdot(np.float32([1]), np.complex64([1])).dtype == np.complex64
    assert xp.vecdot([1, 2], [3.0, 4.0]).dtype == (np.float64 if x64 else np.float32)
    assert xp.vecdot([1, 2], [3.0, 4.0]).item() == 11


def test_vecdot_conjugates_the_first():
    assert xp.vecdot([1j], [1j]).item() == 1
    assert xp.vecdot([1j], [1.0]).item() == -1j


@pytest.mark.parametrize(
    ("shape1", "shape2", "axis"),
    [
        ((2,), (3,), -1), ((1,), (3,), -1), ((), (3,), -1), ((3,), (), -1), ((2, 3), (3, 3), -1),
        ((3,), (3,), 1), ((3,), (3,), -2), ((3,), (2, 3), -2), ((3,), (3,), None), ((3,), (3,), (0,)),
        ((3,), (3,), 1.0),
    ],
)  # fmt: skip
def test_vecdot_raises_numpys_types(shape1, shape2, axis):
    assert_same_error(xp.vecdot, np.vecdot, np.ones(shape1), np.ones(shape2), axis=axis)


def test_error_texts():
    with pytest.raises(ValueError, match="x1 has size 2 and that of x2 has size 3"):
        xp.vecdot([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="could not be broadcast together"):
        xp.vecdot(np.ones((2, 3)), np.ones((4, 3)))
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds for array of dimension 1"):
        xp.vecdot([1], [1], axis=2)
    with pytest.raises(ValueError, match="x1 has size 3 and the last axis but one of x2 has size 4"):
        xp.matmul(np.ones((2, 3)), np.ones((4, 2)))


@pytest.mark.parametrize(
    ("shape1", "shape2"), [((), (3,)), ((3,), ()), ((2, 3), (2, 3)), ((3,), (4,)), ((2, 3, 3), (4, 3, 3))]
)
def test_matmul_raises_numpys_types(shape1, shape2):
    assert_same_error(xp.matmul, np.matmul, np.ones(shape1), np.ones(shape2))


@pytest.mark.parametrize(
    ("axes", "error"),
    [
        (1, ValueError), (3, np.exceptions.AxisError), (-1, ValueError), (((0, 1), (0,)), ValueError),
        (((0,), (5,)), np.exceptions.AxisError), (((0, 0), (0, 0)), ValueError), ((1.5, 1), TypeError),
        (1.5, TypeError), ((0,), ValueError),
    ],
)  # fmt: skip
def test_tensordot_errors(axes, error):
    with pytest.raises(error, match=r"axes|axis|sizes|integer"):
        xp.tensordot(np.ones((2, 3)), np.ones((2, 3)), axes=axes)


def test_tensordot_takes_arrays_of_axes():
    x1, x2 = values((2, 3, 4), "float32", 1), values((4, 2), "float32", 2)
    axes = np.array([[2, 0], [0, 1]])
    for each in (axes, tuple(axes), (axes[0, :1], 0), np.int64(1)):
        assert_product(xp.tensordot(x1, x2, axes=each), np.tensordot(x1, x2, each), 8)


PRODUCTS = [
    (xp.vecdot, (8, 4), (8, 4)),
    (xp.matmul, (8, 4), (4, 8)),
    (lambda x1, x2: xp.tensordot(x1, x2, axes=1), (8, 4), (4, 8)),
]


@pytest.mark.parametrize(("product", "shape1", "shape2"), PRODUCTS)
def test_full_precision_unless_the_user_chose(product, shape1, shape2):
    x1, x2 = np.ones(shape1, np.float32), np.ones(shape2, np.float32)
    text = jax.jit(product).lower(x1, x2).as_text()
    assert "precision = [HIGHEST, HIGHEST]" in text
    with jax.default_matmul_precision("tensorfloat32"):
        text = jax.jit(product).lower(x1, x2).as_text()
    assert "HIGHEST" not in text


def test_vecdot_does_not_store_the_broadcast():
    x1, x2 = jnp.ones(128), jnp.ones((4096, 128))
    memory = jax.jit(xp.vecdot).lower(x1, x2).compile().memory_analysis()
    assert memory.temp_size_in_bytes < x2.nbytes / 4
    # Large enough that the 32 MiB of workspace that a GPU's matrix product may ask for do not count.
    x1, x2 = jnp.ones((1024, 1, 64)), jnp.ones((1, 1024, 64))
    memory = jax.jit(xp.vecdot).lower(x1, x2).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 1024 * 1024 * 64


def test_transforms():
    x1, x2 = values((5, 3), "float32", 1), values((5, 3), "float32", 2)
    np.testing.assert_allclose(jax.vmap(xp.vecdot)(x1, x2), np.vecdot(x1, x2), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(xp.vecdot)(x1, x2), np.vecdot(x1, x2), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(lambda x: xp.vecdot(x, x2).sum())(x1), x2, rtol=1e-6)
    got = jax.grad(lambda x: xp.matmul(x, x2.T).sum())(x1)
    np.testing.assert_allclose(got, np.ones((5, 5)) @ x2, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(lambda x: xp.tensordot(x, x2))(x1), x2, rtol=1e-6)
    got = jax.grad(lambda x: xp.matrix_transpose(x)[1, 0])(x1)
    np.testing.assert_array_equal(got, np.eye(5, 3, k=1) * (np.arange(5) == 0)[:, None])


def test_on_a_gpu_a_product_alone_is_compiled_otherwise(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    x = jnp.asarray([[1.0, 2.0], [3.0, 4.0]])

    def square(x):
        return x @ x

    product = _programs.compiled(square)
    expected = np.asarray([[7, 10], [15, 22]])
    stack = jnp.stack([x, x])

    @jax.jit
    def with_a_constant(y):
        with eagerly():
            constant = product(x)
        return y + constant

    np.testing.assert_array_equal(product(x), expected)
    np.testing.assert_array_equal(jax.jit(product)(x), expected)
    np.testing.assert_array_equal(jax.vmap(product)(stack)[1], expected)
    np.testing.assert_array_equal(jax.lax.map(product, stack)[1], expected)
    np.testing.assert_array_equal(jax.jit(lambda y: y + product(x))(x), expected + x)
    np.testing.assert_array_equal(with_a_constant(x), expected + x)
    gradient = jax.grad(lambda x: product(x).sum())(x)
    np.testing.assert_array_equal(gradient, jax.grad(lambda x: (x @ x).sum())(x))
    given = []
    jit = jax.jit

    def recorded(function, **options):
        given.append(options.get("compiler_options"))
        return jit(function, **options)

    monkeypatch.setattr(jax, "jit", recorded)
    _programs.compiled(square)(x)
    assert given == [None, _programs._FASTER]
    for other in "cpu", "tpu":
        given.clear()
        monkeypatch.setattr(jax, "default_backend", lambda other=other: other)
        _programs.compiled(square)(x)
        assert given == [None]


def test_without_the_options_of_a_compiler_that_has_others(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(_programs, "_FASTER", {"xla_no_such_option": True})
    double = _programs.compiled(lambda x, times=2: x * times, static_argnames="times")
    x = jnp.asarray([1.0, 2.0])
    np.testing.assert_array_equal(double(x), 2 * x)
    np.testing.assert_array_equal(double(x, times=3), 3 * x)
    with pytest.raises(TypeError):
        double(x, "a")


def test_a_vmapped_product_that_is_summed_up_in_jit():
    """JAX 0.10.2 gave 266342400 for the last row of 16,385."""
    rows = np.zeros((16_385, 3))
    rows[:, 0] = np.arange(16_385)
    matrix = np.eye(3)

    def squared_length(row):
        return xp.sum(xp.matmul(matrix, row) ** 2)

    with jax.enable_x64(True):
        lengths = jax.jit(jax.vmap(squared_length))(jnp.asarray(rows))
    np.testing.assert_array_equal(lengths, rows[:, 0] ** 2)
