"""Creation functions against NumPy: values, dtypes, one compiled call, no compilation for a new value."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_same
from compilations import no_compilation

import jaxapi as xp

DTYPES = [
    *("bool", "int8", "int32", "int64", "uint8", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


def assert_new(found, expected):
    assert not found.weak_type
    assert_same(found, expected)


# every shape in two dtypes, and one in the others, for every pair compiles programs
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_and_dtypes(dtype, x64):
    several = dtype in ("int64", "float32")
    for shape in ((), 3, (2, 3), (0, 2)) if several else ((2, 3),):
        assert_new(xp.zeros(shape, dtype=dtype), np.zeros(shape, dtype))
        assert_new(xp.ones(shape, dtype=dtype), np.ones(shape, dtype))
        assert_new(xp.full(shape, 7, dtype=dtype), np.full(shape, 7, dtype))
        assert xp.empty(shape, dtype=dtype).dtype == dtype
    x = xp.ones((2, 3), dtype=dtype)
    assert_new(xp.zeros_like(x), np.zeros((2, 3), dtype))
    assert_new(xp.ones_like(x), np.ones((2, 3), dtype))
    assert_new(xp.full_like(x, 7), np.full((2, 3), 7, dtype))
    assert xp.empty_like(x).dtype == dtype
    assert_new(xp.zeros_like(x, dtype="int64"), np.zeros((2, 3), "int64"))
    for rows, columns, k in [
        (2, 3, 1),
        (2, 3, -1),
        (2, 3, 10**30),
        (2, 3, -(10**30)),
        *([(3, None, 0), (3, 2, -1), (0, 2, 0)] if several else []),
    ]:
        diagonal = max(-5, min(k, 5))
        assert_new(xp.eye(rows, columns, k=k, dtype=dtype), np.eye(rows, columns, k=diagonal, dtype=dtype))


def test_defaults_follow_jax(x64):
    floating = jnp.zeros(1).dtype
    assert {xp.zeros(1).dtype, xp.ones(1).dtype, xp.empty(1).dtype, xp.eye(1).dtype} == {floating}
    for value in (True, 3, 2.5, 1j):
        assert xp.full(2, value).dtype == jnp.full(2, value).dtype
    assert xp.zeros(1, dtype=float).dtype == floating


def test_fill_values_keep_every_digit(x64):
    assert_new(xp.full(2, 2**53 + 1, dtype=xp.int64), np.full(2, 2**53 + 1))
    assert_new(xp.full(2, 2**64 - 1, dtype=xp.uint64), np.full(2, 2**64 - 1, "uint64"))
    assert_new(xp.full(2, 0.1, dtype=xp.float64), np.full(2, 0.1))
    assert_new(xp.full(2, 16777217j, dtype=xp.complex128), np.full(2, 16777217j))
    assert_new(xp.full(2, np.float64(0.1)), np.full(2, 0.1))
    assert_new(xp.full((2, 2), [1.0, 2], dtype="float64"), np.array([[1.0, 2]] * 2))


def test_arrays_in_place_of_lengths():
    for length in (np.array(3), xp.asarray(3), np.int8(3)):
        assert xp.zeros(length).shape == (3,)
    assert xp.ones(np.array([2, 3])).shape == (2, 3)
    with pytest.raises(TypeError, match=r"shape .* must be a Python number, not traced"):
        jax.jit(xp.zeros)(3)


def test_values_that_do_not_fit_raise():
    with pytest.raises(OverflowError, match="int8"):
        xp.full(2, 300, dtype=xp.int8)
    with pytest.raises(OverflowError, match="uint64"):
        xp.full_like(xp.zeros(2, dtype=xp.uint64), -1)
    with jax.enable_x64(False), pytest.raises(OverflowError, match="int64"):
        xp.full(2, 2**40)
    with pytest.raises(TypeError, match="complex"):
        xp.full(2, 1j, dtype=xp.float32)
    with pytest.raises(TypeError, match="complex"):
        xp.full(2, xp.asarray(1j), dtype=xp.float32)
    with pytest.raises(ValueError, match="NaN"):
        xp.full(2, float("nan"), dtype=xp.int32)


def test_bad_arguments():
    for shape in (2.5, (2, 2.5), "ab", None):
        with pytest.raises(TypeError, match="shape"):
            xp.zeros(shape)
    with pytest.raises(ValueError, match="negative"):
        xp.ones((2, -1))
    with pytest.raises(ValueError, match="negative"):
        xp.eye(-1)
    with pytest.raises(TypeError, match="integer"):
        xp.eye(2, k=0.5)
    with pytest.raises(TypeError, match=r"jax\.Device"):
        xp.zeros(2, device="cpu")
    with pytest.raises(TypeError, match="datetime64"):
        xp.zeros(2, dtype="M8[s]")


def test_one_compiled_call():
    x = jnp.ones((2, 3))
    for call in (
        lambda: xp.zeros((2, 3)),
        lambda: xp.ones((2, 3)),
        lambda: xp.full((2, 3), 2.5),
        lambda: xp.eye(2, 3),
        lambda: xp.zeros_like(x),
        lambda: xp.full_like(x, 2.5),
    ):
        assert [equation.primitive.name for equation in jax.make_jaxpr(call)().eqns] == ["jit"]


def test_a_new_value_does_not_compile():
    xp.full((3, 5), 1.5), xp.eye(5, 3)
    with no_compilation():
        made = [(xp.full((3, 5), 2.5 + i), xp.eye(5, 3, k=i)) for i in range(5)]
    for i, (full, eye) in enumerate(made):
        assert full[0, 0] == 2.5 + i
        assert eye[0, 2] == (i == 2)


def test_an_array_like_one_that_may_move_may_move():
    """JAX moves arrays that were put nowhere to the device of the other operands."""
    there = jax.devices()[-1]
    for like in (xp.zeros_like, xp.ones_like, xp.empty_like, lambda x: xp.full_like(x, 2)):
        assert not like(xp.ones(3)).committed
        moved = like(jax.device_put(np.ones(3), there))
        assert moved.committed
        assert (like(xp.ones(3)) + moved).device == there


def test_transformations(x64):
    np.testing.assert_array_equal(jax.jit(lambda v: xp.full(3, v, dtype="float64"))(1.5), np.full(3, 1.5))
    assert jax.jit(lambda: xp.full(3, 0.1, dtype="float64"))()[0] == xp.asarray(0.1, dtype="float64")
    np.testing.assert_array_equal(
        jax.vmap(lambda v: xp.full((2,), v))(np.arange(3)), [[0, 0], [1, 1], [2, 2]]
    )
    np.testing.assert_array_equal(jax.vmap(xp.ones_like)(np.arange(3)), [1, 1, 1])
    assert jax.grad(lambda v: xp.full((2, 3), v).sum())(2.0) == 6
    assert jax.jit(lambda x: xp.zeros_like(x, dtype="complex128"))(jnp.ones(2)).dtype == np.complex128
    assert jax.jit(lambda: xp.eye(2, dtype="int64", device=jax.devices()[0]))().dtype == np.int64


def test_rest_of_the_chapter(x64):
    host = np.arange(12.0).reshape(3, 4)
    x = xp.asarray(host)
    for k in (-1, 0, 2):
        assert_new(xp.tril(x, k=k), np.tril(host, k))
        assert_new(xp.triu(x, k=k), np.triu(host, k))
    for indexing in ("xy", "ij"):
        got = xp.meshgrid(x[0], xp.asarray(host[:, 0]), indexing=indexing)
        for ours, theirs in zip(got, np.meshgrid(host[0], host[:, 0], indexing=indexing), strict=True):
            assert_new(ours, theirs)
