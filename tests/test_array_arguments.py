"""Every function takes what `asarray` takes and keeps its dtype: one table of the whole namespace."""

import inspect
import operator
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp

UNARY = (
    "abs acos acosh asin asinh atan atanh ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log"
)
UNARY += (
    " log10 log1p log2 negative positive real reciprocal round sign signbit sin sinh sqrt square tan tanh"
)
UNARY += " trunc logical_not bitwise_invert"
BINARY = "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp"
BINARY += (
    " logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract"
)
BITWISE = "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor"

# Float64 with differences that float32 loses, integers beyond int32.
X = 0.5 + np.array([3, 1, 2]) * 2.0**-40
ABOVE_1 = X + 1
IDS = np.array([2**40 + 2, 2**40 + 1, 7])
BITS = np.array([3, 1, 2])
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]]) + 2.0**-40
Z = X + 1j * X[::-1]

# The arrays given, further arguments: (arrays, arguments, keyword arguments); several for some names.
CALLS = {
    **{name: ((ABOVE_1 if name == "acosh" else X,),) for name in UNARY.split()},
    **dict.fromkeys(BINARY.split(), ((X, X[::-1]),)),
    **dict.fromkeys(BITWISE.split(), ((IDS, BITS),)),
    "bitwise_invert": ((IDS,),),
    "imag": ((Z,),),
    "clip": ((X, X[::-1], ABOVE_1),),
    "astype": ((X,), ("float64",)),
    "empty_like": ((X,),),
    "zeros_like": ((X,),),
    "ones_like": ((X,),),
    "full_like": ((X,), (2,)),
    "meshgrid": ((X, IDS),),
    "tril": ((SQUARE,),),
    "triu": ((SQUARE,), (), {"k": 1}),
    "broadcast_arrays": ((X, SQUARE),),
    "broadcast_to": ((X,), ((2, 3),)),
    "expand_dims": ((X,), (), {"axis": 0}),
    "flip": ((X,), (), {"axis": 0}),
    "moveaxis": ((SQUARE,), (0, 1)),
    "permute_dims": ((SQUARE,), ((1, 0),)),
    "repeat": ((IDS,), (2,)),
    "reshape": ((SQUARE,), ([1, 9],)),
    "roll": ((IDS,), (1,)),
    "squeeze": ((X[None],), (0,)),
    "tile": ((IDS,), ((2,),)),
    "unstack": ((SQUARE,),),
    "take": ((IDS, np.array([1, 0])),),
    "take_along_axis": ((IDS, np.array([1, 0])),),
    "argmax": ((IDS,),),
    "argmin": ((IDS,),),
    "count_nonzero": ((IDS - IDS[0],),),
    "nonzero": ((IDS - IDS[0],),),
    "searchsorted": ((np.sort(IDS), IDS),),
    "top_k": ((IDS,), (2,)),
    "where": ((IDS[1] < IDS, X, SQUARE),),
    "isin": ((IDS, IDS[:1]),),
    "unique_all": ((IDS,),),
    "unique_counts": ((IDS,),),
    "unique_inverse": ((IDS,),),
    "unique_values": ((IDS,),),
    "argsort": ((IDS,),),
    "sort": ((IDS,), (), {"descending": True}),
    "cumulative_prod": ((X,),),
    "cumulative_sum": ((IDS,),),
    "max": ((IDS,),),
    "mean": ((X,),),
    "min": ((IDS,),),
    "prod": ((X,),),
    "std": ((X,), (), {"correction": 1}),
    "sum": ((IDS,), (), {"axis": [0]}),
    "var": ((X,),),
    "all": ((X,),),
    "any": ((X,),),
    "diff": ((IDS,),),
    "matmul": ((SQUARE, X),),
    "matrix_transpose": ((SQUARE,),),
    "tensordot": ((X, X), (), {"axes": 1}),
    "vecdot": ((X, X),),
    **{
        f"linalg.{name}": ((SQUARE,),)
        for name in ("cholesky", "det", "inv", "diagonal", "trace", "qr", "slogdet")
    },
    **{f"linalg.{name}": ((SQUARE,),) for name in ("eigh", "eigvalsh", "eig", "eigvals", "svd", "svdvals")},
    **{f"linalg.{name}": ((SQUARE,),) for name in ("matrix_norm", "vector_norm", "matrix_rank", "pinv")},
    "linalg.matrix_power": ((SQUARE,), (3,)),
    "linalg.solve": ((SQUARE, X),),
    "linalg.cross": ((X, X[::-1]),),
    "linalg.outer": ((X, X),),
    **{f"linalg.{name}": None for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")},
    **{f"fft.{name}": ((X,),) for name in ("fft", "fftn", "fftshift", "ifft", "ifftn", "ifftshift", "ihfft")},
    **{f"fft.{name}": ((Z,),) for name in ("hfft", "irfft", "irfftn")},
    **{f"fft.{name}": ((X,),) for name in ("rfft", "rfftn")},
}
CALLS = {name: call for name, call in CALLS.items() if call}

# Those with no array among their arguments, or with tests of their own for what they convert.
OTHERS = {"asarray", "from_dlpack", "arange", "linspace", "logspace", "empty", "eye", "full", "ones", "zeros"}
OTHERS |= {"concat", "stack", "broadcast_shapes", "can_cast", "finfo", "isdtype", "result_type", "fuse"}
OTHERS |= {"linalg.matmul", "linalg.matrix_transpose", "linalg.tensordot", "linalg.vecdot", "fft.fftfreq"}
OTHERS |= {"fft.rfftfreq", "__array_namespace_info__"}


def functions():
    """Yield the public functions with their dotted names."""
    for prefix, module in (("", xp), ("linalg.", xp.linalg), ("fft.", xp.fft)):
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type) and value is not xp.spatial:
                yield prefix + name, value


FUNCTIONS = {name: f for name, f in functions() if not isinstance(f, np.dtype) and hasattr(f, "__name__")}
FUNCTIONS = {name: f for name, f in FUNCTIONS.items() if not hasattr(f, "dtype")}


def parts(name):
    arrays, *rest = CALLS[name]
    args, kwargs = (*rest, (), {})[:2] if len(rest) < 2 else rest
    return arrays, args, kwargs or {}


def leaves(x):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(x)]


def test_the_table_is_complete():
    assert set(FUNCTIONS) == set(CALLS) | OTHERS


@pytest.mark.parametrize("name", CALLS)
def test_numpy_arrays_and_lists_keep_their_dtype(name):
    """With x64 off NumPy's have what JAX's have with it on; lists there, too."""
    arrays, args, kwargs = parts(name)
    with jax.enable_x64(False):
        out = leaves(FUNCTIONS[name](*arrays, *args, **kwargs))
    with jax.enable_x64(True):
        expected = leaves(FUNCTIONS[name](*map(jnp.asarray, arrays), *args, **kwargs))
        of_lists = leaves(FUNCTIONS[name](*(x.tolist() for x in arrays), *args, **kwargs))
    for one, other in zip(of_lists, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    for one, other in zip(out, expected, strict=True):
        if other.dtype.kind in "fc":
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-15)
        else:  # indices and counts have JAX's default integer dtype
            assert one.dtype == other.dtype or (one.dtype == np.int32 and np.abs(other).max() < 10)
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", CALLS)
def test_text_is_refused(name):
    arrays, args, kwargs = parts(name)
    with pytest.raises(TypeError):
        FUNCTIONS[name]("text", *arrays[1:], *args, **kwargs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_their_names(name):
    function = FUNCTIONS[name]
    assert function.__name__ == name.split(".")[-1]
    assert function.__module__.startswith("jaxapi") or name not in CALLS
    assert function.__doc__
    assert inspect.signature(function)
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("name", ["flip", "add", "concat", "linalg.trace", "fft.fftshift"])
def test_wrapped_is_the_function_of_jax(name):
    function = jnp
    for part in name.split("."):
        function = getattr(function, part)
    assert FUNCTIONS[name].__wrapped__ is function
    first = next(iter(inspect.signature(FUNCTIONS[name]).parameters.values()))
    assert first.kind is inspect.Parameter.POSITIONAL_ONLY


@pytest.mark.parametrize("name", ["concat", "stack"])
def test_sequences(name, x64):
    function, reference = FUNCTIONS[name], getattr(np, name)
    out = function([IDS, IDS.tolist()[2:] * 3], axis=0)
    assert out.dtype == np.int64
    np.testing.assert_array_equal(np.asarray(out), reference([IDS, IDS[2:].repeat(3)], axis=0))
    with pytest.raises(TypeError):
        function(["a", "b"])
    mixed = function((xp.asarray([2**31], dtype=xp.uint32), xp.asarray([-1], dtype=xp.int32)))
    assert mixed.dtype == np.int64
    assert mixed.ravel().tolist() == [2**31, -1]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("multiply", 0.1), ("add", 2**40), ("subtract", 1e-12), ("pow", 1.0000001), ("atan2", 1e300),
        ("maximum", 1 + 1e-12), ("less", 0.5 + 2.0**-39), ("remainder", 1e-9), ("floor_divide", 1e-9),
    ],
)  # fmt: skip
@pytest.mark.parametrize("transformed", [False, True])
def test_a_number_keeps_its_precision_next_to_float64(name, number, transformed):
    with jax.enable_x64(False):
        function = FUNCTIONS[name]
        call = jax.jit(lambda x: function(x, number)) if transformed else lambda x: function(x, number)
        out = np.asarray(call(xp.asarray(X)))
    np.testing.assert_allclose(out, getattr(np, name)(X, number), rtol=1e-15)


def test_numbers_with_narrow_arrays(x64):
    x = xp.asarray([1, 2], dtype=xp.int8)
    assert xp.add(x, 100).dtype == np.int8
    with pytest.raises(OverflowError):
        xp.add(x, 300)
    with pytest.raises(OverflowError):
        xp.where(xp.asarray([True, False]), x, 300)
    assert xp.add(xp.asarray([1], dtype=xp.uint32), 2**32 - 2).tolist() == [2**32 - 1]
    wide = xp.add(xp.asarray([1.0], dtype=xp.float32), 2**40)
    assert wide.dtype == np.float32
    assert wide.tolist() == [2.0**40]


def test_signed_and_unsigned_promote_as_the_standard_says(x64):
    unsigned, signed = xp.asarray([2**32 - 1], dtype=xp.uint32), xp.asarray([-1], dtype=xp.int32)
    assert xp.add(unsigned, signed).dtype == np.int64
    assert xp.add(unsigned, signed).tolist() == [2**32 - 2]
    assert xp.equal(unsigned, signed).tolist() == [False]
    assert xp.maximum(unsigned, signed).tolist() == [2**32 - 1]
    assert xp.searchsorted(unsigned, signed).tolist() == [0]


def test_keyword_arrays(x64):
    """`where`, `initial`, `prepend` and the like are arrays, other lists are axes and shapes."""
    np.testing.assert_array_equal(xp.diff(IDS, prepend=IDS[:1]), np.diff(IDS, prepend=IDS[:1]))
    assert xp.sum(IDS, where=[True, False, False]).tolist() == IDS[0]
    assert xp.sum(SQUARE, axis=[0, 1]).dtype == np.float64
    np.testing.assert_array_equal(xp.sum(SQUARE, axis=np.int64(0)), SQUARE.sum(axis=0))
    np.testing.assert_array_equal(xp.take(IDS, indices=[1]), IDS[[1]])
    np.testing.assert_array_equal(xp.repeat(IDS, [1, 0, 2]), np.repeat(IDS, [1, 0, 2]))


@pytest.mark.parametrize(
    ("name", "x", "options"),
    [
        ("sum", X, {"initial": 1 / 3}), ("sum", X.astype("float32"), {"initial": 1 / 3, "dtype": "float64"}),
        ("sum", IDS, {"initial": 2**40 + 1}), ("prod", X, {"initial": 1 / 3}), ("var", X, {"mean": 1 / 3}),
        ("std", X, {"mean": 1 / 3, "correction": 1}), ("diff", X, {"prepend": 1 / 3, "append": -1e-9}),
        ("diff", IDS, {"append": 2**40}),
    ],
)  # fmt: skip
def test_a_number_among_the_elements_keeps_its_precision(name, x, options, x64):
    reference = {**options, "mean": np.asarray(options["mean"])} if "mean" in options else options
    expected = getattr(np, name)(x, **reference)
    for function in (FUNCTIONS[name], jax.jit(FUNCTIONS[name], static_argnames=tuple(options))):
        out = np.asarray(function(xp.asarray(x), **options))
        assert out.dtype == expected.dtype
        np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_a_number_of_the_elements_that_is_not_named(x64):
    np.testing.assert_array_equal(xp.diff(X, 1, -1, 1 / 3), np.diff(X, 1, -1, 1 / 3))
    assert xp.sum(xp.asarray([1], dtype=xp.int8), initial=300) == 301


@pytest.mark.parametrize("name", ["mean", "sort", "concat", "take"])
def test_unknown_arguments(name):
    with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'keep'"):
        FUNCTIONS[name]([[1.0], [2.0]], keep=np.float32)


def test_unique_elements_of_a_number(x64):
    for name in ("unique_values", "unique_counts", "unique_inverse", "unique_all"):
        for out, expected in zip(leaves(FUNCTIONS[name](3)), leaves(getattr(np, name)(3)), strict=True):
            np.testing.assert_array_equal(out, expected)


def test_too_many_arguments():
    for name in ("ceil", "sort", "concat", "fft.fftshift"):
        with pytest.raises(TypeError, match="positional argument"):
            FUNCTIONS[name]((X, X), *range(9))


def test_arrays_in_place_of_an_axis_or_a_shape():
    """A concrete one is read; a traced one raises JAX's error."""
    for name in ("sum", "max", "min", "all", "any", "argmax", "cumulative_prod", "linalg.vector_norm"):
        for axis in (jnp.asarray(0), np.asarray(0), np.int64(0)):
            expected = FUNCTIONS[name](SQUARE, axis=0)
            np.testing.assert_array_equal(FUNCTIONS[name](SQUARE, axis=axis), expected)
    assert xp.reshape(SQUARE, (jnp.asarray(9),)).shape == (9,)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda x, axis: xp.sum(x, axis=axis))(jnp.ones(3), 0)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda x, n: xp.reshape(x, (n, 1)))(jnp.ones(3), 3)


def test_where_of_a_condition_alone():
    (rows,) = xp.where([False, True])
    assert rows.tolist() == [1]
    with pytest.raises(ValueError, match="both"):
        xp.where([True], 1)


COMPARISONS = {"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le"}
COMPARISONS |= {"greater": "gt", "greater_equal": "ge"}


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("signed", ["int64", "int8"])
def test_signed_and_unsigned_compare_by_value(name, signed, x64):
    """As Python's integers do; as float64 2**53 + 1 is 2**53."""
    numbers = [0, 5, 127, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -1, -128, -(2**53) - 1]
    info = np.iinfo(signed)
    small = [x for x in numbers if info.min <= x <= info.max]
    large = [x for x in numbers if x >= 0]
    compare = getattr(operator, COMPARISONS[name])
    x1, x2 = xp.asarray(small, dtype=jnp.dtype(signed))[:, None], xp.asarray(large, dtype=xp.uint64)

    def both(x1, x2):
        return FUNCTIONS[name](x1, x2), FUNCTIONS[name](x2, x1)

    for function in (both, jax.jit(both)):
        found, turned = function(x1, x2)
        assert found.tolist() == [[compare(a, b) for b in large] for a in small]
        assert turned.tolist() == [[compare(b, a) for b in large] for a in small]


@pytest.mark.parametrize("name", ["add", "less", "floor_divide", "remainder", "clip", "where", "atan2"])
def test_shapes_that_do_not_broadcast(name):
    """NumPy's ValueError, with both shapes; inside of jit, too."""
    x1, x2 = xp.ones(2), xp.ones(3)
    condition = (True,) if name == "where" else ()
    for function in (FUNCTIONS[name], jax.jit(FUNCTIONS[name])):
        with pytest.raises(ValueError, match=r"broadcast.*\(2,\),? \(3,\)"):
            function(*condition, x1, x2)
