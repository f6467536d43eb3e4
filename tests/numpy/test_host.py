"""Arrays in the host's memory: what JAX is given does not change, and what NumPy is given is the memory."""

import operator
import pickle
import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi
import jaxapi.mutable as xp
import jaxapi.numpy as ours
from jaxapi.mutable import _host_way

pytestmark = pytest.mark.skipif(jax.devices()[0].platform != "cpu", reason="the host is JAX's device")
ON_HOST = pytest.mark.parametrize("way", ["numpys"], indirect=True)
SIZES = [0, 1, 7, 16, 64, 1000, 4096, 100_000]
GIVEN = {
    "jnp.asarray": jnp.asarray,
    "jax.device_put": lambda x: jax.device_put(x)._value,
    "jax.jit": lambda x: jax.jit(lambda x: x)(x)._value,
    "jnp.reshape": lambda x: jnp.reshape(jnp.asarray(x), -1),
    "jax.tree.leaves": lambda x: jax.tree.leaves(x)[0],
    "jaxapi.asarray": jaxapi.asarray,
    "jaxapi.from_dlpack": jaxapi.from_dlpack,
    "jax.dlpack": jax.dlpack.from_dlpack,
    "jaxapi.reshape": lambda x: jaxapi.reshape(x, (-1,)),
    "vmap": lambda x: jax.vmap(lambda x: x)(x)._value,
    "closure": lambda x: jax.jit(lambda: x + 0)()._value,
    "closure itself": lambda x: jax.jit(lambda: jnp.asarray(x))(),
    "mutable": lambda x: xp.positive(xp.asarray(x))._value,
    "mutable's reshape": lambda x: xp.reshape(x, (-1,), copy=True)._value,
}


def aligned(size, dtype):
    """Return zeros in memory that JAX could use as it is."""
    room = np.zeros(size * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size * np.dtype(dtype).itemsize].view(dtype)


@pytest.mark.daily
@ON_HOST
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_what_jax_is_given_does_not_change(given, way):
    for dtype in ("float32", "int8"):
        for size in SIZES:
            x = ours.zeros(size, dtype)
            x._host = aligned(size, dtype)
            for array in (x, x[1:], x[::2], ours.ravel(x)):
                held = given(array)
                before = np.array(held)
                x += 1
                x[:] = 5
                array[...] = 7
                np.testing.assert_array_equal(np.asarray(held), before)


@ON_HOST
def test_what_jax_returns_is_not_written(way):
    value = jnp.arange(4096.0)
    for x in (ours.asarray(value), jax.jit(lambda x: x)(xp.asarray(value)), xp.asarray(value)):
        y = x[1:]
        y += 1
        x[0] = 9
        np.testing.assert_array_equal(np.asarray(value), np.arange(4096.0))
        assert float(x[1]) == 2


@ON_HOST
def test_numpy_gets_the_memory_itself(way):
    x = ours.zeros(5)
    host = np.asarray(x)
    host[1] = 3
    x[2] = 4
    assert x.tolist() == host.tolist() == [0, 3, 4, 0, 0]
    assert np.asarray(x[1:]).base is host
    assert not np.shares_memory(np.asarray(x.copy()), host)
    assert memoryview(np.asarray(x)).nbytes == x.nbytes


@ON_HOST
def test_memory_of_others_is_copied(way):
    host = np.zeros(1000, np.float32)
    for x in (ours.asarray(host), ours.array(host), xp.asarray(host), ours.asanyarray(host)):
        x += 1
    assert not host.any()


@ON_HOST
def test_views_are_numpys(way):
    x = ours.arange(24).reshape(2, 3, 4)
    host = np.arange(24).reshape(2, 3, 4)
    for key in [0, (..., 1), (slice(None), slice(None, None, 2)), None]:
        view, numpys = x[key], host[key]
        view[...] = -1
        numpys[...] = -1
        np.testing.assert_array_equal(np.asarray(x), host)
        assert view.base is not None
        assert view.strides == tuple(n * x.itemsize // host.itemsize for n in numpys.strides)


def test_writes_from_a_trace_to_arrays_outside_raise():
    x = ours.zeros(3)
    for function in (
        lambda v: x.__setitem__(0, v),
        lambda v: x.__iadd__(v),
        lambda v: x.__setitem__(0, 1.0),
        lambda v: x[1:].__iadd__(1),
        lambda v: ours.add(x, 1, out=x),
        lambda v: ours.add.at(x, 0, v),
    ):
        with pytest.raises(ValueError, match="outside"):
            jax.jit(lambda v, function=function: (function(v), v)[1])(1.0)
        assert x.tolist() == [0, 0, 0]


def test_functions_of_arrays_from_outside_are_traced():
    weights = ours.arange(3.0)

    @jax.jit
    def f(v):
        y = weights * 2
        y[0] = v
        z = ours.zeros(2)
        z[1] = v
        rows = weights[[0, 2]]
        rows += v
        return y, z, rows, ours.concatenate([weights, weights])

    y, z, rows, both = f(5.0)
    assert (y.tolist(), z.tolist(), rows.tolist()) == ([5, 2, 4], [0, 5], [5, 7])
    assert both.tolist() == [0, 1, 2] * 2
    assert weights.tolist() == [0, 1, 2]


def test_scalars_in_a_trace():
    @jax.jit
    def f(x):
        total = best = x.sum()
        total += 1
        seen = []
        for k in range(3):
            total += k
            seen.append(total)
        first = x[0]
        first *= 10
        return best, seen, first, x

    best, seen, first, x = f(ours.arange(3.0))
    assert (float(best), [float(v) for v in seen], float(first), x.tolist()) == (3, [4, 5, 7], 0, [0, 1, 2])
    with pytest.raises(TypeError, match="scalar"):
        jax.jit(lambda x: x.sum().__setitem__(..., 1))(ours.arange(3.0))


def test_pickle_and_namespace():
    for module in (ours, xp):
        x = module.asarray([1.0, 2.0])
        x[0] = 5
        again = pickle.loads(pickle.dumps(x))
        again[1] = 7
        assert (x.tolist(), again.tolist()) == ([5, 2], [5, 7])
        assert again.__array_namespace__() is sys.modules[module.__name__]


def test_grad_of_host_arrays():
    x = ours.arange(3.0)

    def loss(x):
        x[0] = -2
        return ours.sum(x**2) + x.max()

    np.testing.assert_allclose(np.asarray(ours.grad(loss)(x)), [0, 2, 5])
    assert x.tolist() == [0, 1, 2]
    np.testing.assert_allclose(np.asarray(jax.vmap(lambda r: r * r.sum())(x[None])), [[0, 3, 6]])


def test_the_environment_chooses(way):
    assert _host_way.is_on() == (way == "numpys")
    x = ours.zeros(2)
    x += 1
    assert (x._host is None) == (way == "jaxs")


@ON_HOST
def test_memory_has_the_order_that_is_asked_for(way):
    rows = np.arange(6.0).reshape(2, 3)
    x = ours.asarray(rows)
    assert ours.copy(x, order="F").flags.f_contiguous
    assert ours.asfortranarray(x).flags.f_contiguous
    assert ours.ascontiguousarray(x.T).flags.c_contiguous
    assert ours.require(x, None, "F").flags.f_contiguous
    assert ours.require(x, None, "C") is x
    assert ours.ndarray((2, 3), np.int8, order="F").strides == (1, 2)
    for order in "CFAK":
        np.testing.assert_array_equal(ours.copy(x.T, order), rows.T)


ACCIDENTS = [
    lambda np, x: np.where(x > 1, None, x),
    lambda np, x: np.where(x > 1, Fraction(1, 2), x),
    lambda np, x: np.array([None, 1]),
    lambda np, x: np.asarray([Decimal(1)]),
    lambda np, x: np.full(3, None),
    lambda np, x: np.choose([0, 1, 0], [x, [None] * 3]),
    lambda np, x: np.select([x > 1], [x], Fraction(1, 2)),
    lambda np, x: np.concatenate([x, [None]]),
    lambda np, x: x + Fraction(1, 2),
    lambda np, x: np.maximum(x, Fraction(1, 2)),
]


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_objects_beside_numbers_are_refused(accident, way):
    """NumPy makes an array of objects; where such a dtype is asked for, it stays in the host's memory."""
    assert accident(np, np.arange(3.0)).dtype == object
    with pytest.raises(TypeError):
        accident(ours, ours.arange(3.0))


@ON_HOST
def test_objects_that_are_asked_for(way):
    with pytest.raises(TypeError, match="integers beyond 64 bits"):
        ours.array([2**70])
    with pytest.raises(TypeError, match=r"does not hold None.*numpy.nan"):
        ours.array([1, None])
    made = ours.array([1, None], dtype=object)
    assert made.dtype == made[1:].dtype == ours.concatenate([made, made]).dtype == object
    assert ours.asarray(np.array([None])).dtype == object
    for dtype in (object, np.object_, "O", np.dtype(object)):
        assert ours.arange(3).astype(dtype=dtype).dtype == ours.arange(3).astype(dtype).dtype == object
        np.testing.assert_array_equal(ours.gcd(ours.arange(3, dtype=dtype), 2), [2, 1, 2])
        assert ours.vectorize(lambda x: [x], otypes=[dtype])(ours.arange(3)).dtype == object
        assert ours.fromiter([None, 2], dtype=dtype).tolist() == [None, 2]
    for signature in ("OO->O", (None, None, object)):
        added = ours.add(ours.arange(2), 2**70, signature=signature)
        assert added.tolist() == [2**70, 2**70 + 1]
    assert ours.add.outer([1, 2], [3], signature="OO->O").dtype == object
    assert ours.loadtxt(["1 2"], dtype=object).tolist() == ["1", "2"]


OVERFLOWS = {
    "x * number": lambda np, x: x * 1e300,
    "number - x": lambda np, x: 1e300 - x,
    "x < number": lambda np, x: x < -1e300,
    "x ** number": lambda np, x: x**1e300,
    "x += number": lambda np, x: operator.iadd(x, 1e300),
    "part -= number": lambda np, x: operator.isub(x[1:], 1e300),
    "element = number": lambda np, x: operator.setitem(x, 0, 1e300),
    "part = number": lambda np, x: operator.setitem(x, slice(1, None), -1e300),
    "where = number": lambda np, x: operator.setitem(x, x > 0, 1e300),
    "x.fill": lambda np, x: x.fill(1e300),
    "x.put": lambda np, x: x.put([0], 1e300),
    "put": lambda np, x: np.put(x, [0], 1e300),
    "putmask": lambda np, x: np.putmask(x, x > 0, 1e300),
    "full": lambda np, x: np.full(3, 1e300, dtype=x.dtype),
    "full_like": lambda np, x: np.full_like(x, 1e300),
    "power": lambda np, x: np.power(x, 1e300),
    "maximum": lambda np, x: np.maximum(1e300, x),
    "it fits": lambda np, x: x * 3e4,
    "infinity": lambda np, x: operator.setitem(x, 0, np.inf),
}


@ON_HOST
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "float64"])
@pytest.mark.parametrize("statement", OVERFLOWS.values(), ids=list(OVERFLOWS))
def test_a_number_that_overflows_warns_at_its_statement(statement, dtype, way):
    """NumPy warns of the statement that calls it, which is to be the user's."""
    results = []
    for module in (ours, np):
        x = module.asarray(np.arange(3), dtype=dtype)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = statement(module, x)
        casts = [warning for warning in caught if "in cast" in str(warning.message)]
        said = {str(warning.message) for warning in casts}
        results.append((np.asarray(x), None if made is None else np.asarray(made), said))
        if module is ours:  # those of NumPy in Python, as `put`, warn of a statement of theirs
            assert {warning.filename for warning in casts} <= {__file__}
    for made, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(made, expected)
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        statement(ours, ours.asarray(np.arange(3), dtype=dtype))
