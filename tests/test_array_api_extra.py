"""The functions of array_api_extra with ``xp=jaxapi``, eager and in `jax.jit`, beside NumPy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi

xpx = pytest.importorskip("array_api_extra", minversion="0.11")
# Names that the standard has now are deprecated in array-api-extra, and still there.
pytestmark = pytest.mark.filterwarnings("ignore:.*exists in the standard:DeprecationWarning")

FLOATS = np.array([[1.5, -2.0, 0.25], [3.0, np.nan, -1.0]], np.float32)
SORTED = np.array([1.0, 2, 2, 5], np.float32)
INTEGERS = np.array([4, 1, 3, 1, 0], np.int32)
COMPLEX = np.array([1 + 1j, -2, 0.5j], np.complex64)

# A call of the function's name, arrays that are traced in jit, and options.
CASES = {
    "angle": ([COMPLEX], {"deg": True}),
    "argpartition": ([SORTED[::-1].copy(), 0], {}),
    "atleast_nd": ([SORTED], {"ndim": 3}),
    "cov": ([FLOATS[:, :1].repeat(2, 1) * [1, 2]], {}),
    "create_diagonal": ([SORTED], {"offset": 1}),
    "deg2rad": ([SORTED], {}),
    "expand_dims": ([FLOATS], {"axis": (0, -1)}),
    "isclose": ([FLOATS, FLOATS + np.float32(1e-7)], {"equal_nan": True}),
    "isin": ([INTEGERS, np.array([1, 4], np.int32)], {"invert": True}),
    "kron": ([SORTED, FLOATS], {}),
    "nan_to_num": ([FLOATS], {"fill_value": 7.0}),
    "nanmax": ([FLOATS], {"axis": 0}),
    "nanmean": ([FLOATS], {"axis": 1}),
    "nanmin": ([FLOATS], {}),
    "nansum": ([FLOATS], {"axis": 0}),
    "nunique": ([INTEGERS], {}),
    "one_hot": ([INTEGERS, 5], {}),
    "pad": ([FLOATS, ((1, 0), (2, 1))], {"constant_values": 3}),
    "partition": ([SORTED[::-1].copy(), 1], {}),
    "rad2deg": ([SORTED], {}),
    "searchsorted": ([SORTED, np.array([0.0, 2, 9], np.float32)], {"side": "right"}),
    "setdiff1d": ([INTEGERS, np.array([1, 9], np.int32)], {}),
    "sinc": ([SORTED], {}),
    "union1d": ([INTEGERS, np.array([1, 9], np.int32)], {}),
    "unravel_index": ([INTEGERS, (3, 4)], {}),
}
SHAPES_FOLLOW_FROM_VALUES = {"setdiff1d", "union1d"}
# It asks whether the namespace's name is jax.numpy, and else looks at values, which a trace has not.
KNOW_JAX_BY_NAME = {"nanmax", "nanmin"}
OF_NO_ARRAYS = {
    "diag_indices": lambda xp: xpx.diag_indices(3, ndim=2, xp=xp),
    "tril_indices": lambda xp: xpx.tril_indices(3, offset=1, m=4, xp=xp),
    "triu_indices": lambda xp: xpx.triu_indices(3, offset=-1, xp=xp),
}
TESTED_APART = {"apply_where", "at", "broadcast_shapes", "default_dtype", "lazy_apply", "testing"}


def check(made, expected):
    for part, wanted in zip(jax.tree.leaves(made), jax.tree.leaves(expected), strict=True):
        assert isinstance(part, jax.Array)
        np.testing.assert_allclose(np.asarray(part), wanted, rtol=1e-5, atol=1e-6)
        assert part.dtype.kind == np.asarray(wanted).dtype.kind


def is_array(x):
    return isinstance(x, np.ndarray)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("is_traced", [False, True], ids=["eager", "jit"])
def test_function(name, is_traced):
    given, options = CASES[name]
    function = getattr(xpx, name)
    expected = function(*given, **options, xp=np)
    if name in ("argpartition", "partition"):  # of which one element is in its place
        expected = np.sort(given[0])[given[1]]

    def call(arrays, xp=jaxapi):
        rest = iter(arrays)
        made = function(*[next(rest) if is_array(x) else x for x in given], **options, xp=xp)
        if name == "argpartition":
            return arrays[0][made[given[1]]]
        return made[given[1]] if name == "partition" else made

    arrays = [jnp.asarray(x) for x in given if is_array(x)]
    if not is_traced:
        check(call(arrays), expected)
    elif name in KNOW_JAX_BY_NAME:
        check(jax.jit(functools.partial(call, xp=None))(arrays), expected)
    elif name in SHAPES_FOLLOW_FROM_VALUES:
        with pytest.raises(jax.errors.JAXTypeError):
            jax.jit(call)(arrays)
    else:
        check(jax.jit(call)(arrays), expected)


@pytest.mark.parametrize("name", OF_NO_ARRAYS)
def test_function_of_numbers(name):
    expected = OF_NO_ARRAYS[name](np)
    check(OF_NO_ARRAYS[name](jaxapi), expected)
    check(jax.jit(lambda: OF_NO_ARRAYS[name](jnp))(), expected)


def test_every_function_is_tested():
    names = {name for name in xpx.__all__ if not name.startswith("_")}
    assert names == CASES.keys() | OF_NO_ARRAYS.keys() | TESTED_APART


def test_shapes_and_dtypes(x64):
    assert xpx.broadcast_shapes((2, 1), (3,)) == (2, 3)
    for kind in ("real floating", "complex floating", "integral", "indexing"):
        names = jaxapi.__array_namespace_info__().default_dtypes()
        assert xpx.default_dtype(jaxapi, kind) == names[kind]


@pytest.mark.parametrize("is_traced", [False, True], ids=["eager", "jit"])
def test_apply_where(is_traced):
    x = jnp.asarray(SORTED)
    run = jax.jit if is_traced else lambda function: function
    filled = run(lambda x: xpx.apply_where(x > 1.5, x, lambda x: 1 / x, fill_value=-1.0, xp=jaxapi))(x)
    chosen = run(lambda x: xpx.apply_where(x > 1.5, x, lambda x: x * 2, lambda x: -x, xp=jaxapi))(x)
    check(
        [filled, chosen],
        [np.where(SORTED > 1.5, 1 / SORTED, -1), np.where(SORTED > 1.5, SORTED * 2, -SORTED)],
    )


@pytest.mark.parametrize("is_traced", [False, True], ids=["eager", "jit"])
def test_at(is_traced):
    x = jnp.asarray(SORTED)
    run = jax.jit if is_traced else lambda function: function
    for name in ("set", "add", "subtract", "multiply", "divide", "power", "min", "max"):
        for key in (1, slice(1, None), SORTED > 1.5):
            made = run(lambda x, name=name, key=key: getattr(xpx.at(x, key), name)(3.0, xp=jaxapi))(x)
            check(made, getattr(xpx.at(SORTED.copy(), key), name)(3.0, copy=True, xp=np))


def test_lazy_apply():
    x = jnp.asarray(SORTED)

    def cumulated(a):
        return np.cumsum(np.asarray(a))

    apply = functools.partial(xpx.lazy_apply, cumulated, dtype=jnp.float32, as_numpy=True)
    check(apply(x, xp=jaxapi), np.cumsum(SORTED))
    check(jax.jit(apply)(x), np.cumsum(SORTED))  # which knows JAX by name, too
