"""Every function in every way of calling it: eager against NumPy, the others against eager.

Under `jax.jit`, `jax.vmap`, `jax.shard_map` with its checks, on meshes of both kinds, and with JAX's strict
settings. All functions of one way are one program, so that a way takes seconds.
"""

import inspect
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec

import jaxapi as xp

X = np.array([[0.2, 0.7, 0.4], [0.9, 0.1, 0.6]], "float32")
Y = X[::-1] + 1
Z = (X + 1j * Y).astype("complex64")
I32 = np.array([[3, 1, 2], [6, 5, 4]], "int32")
FLAGS = X > 0.5
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]], "float32")
COMPLEX = (SQUARE * (1 + 0.1j)).astype("complex64")


class Case(NamedTuple):
    """Arrays, all of which may be traced and batched, and a function of the namespace and them."""

    arrays: tuple
    function: object
    numpy: bool = True  # whether NumPy has it, with these results


def call(name, *args, numpy=True, **options):
    """Return a case of a function with further arguments bound."""
    arrays = tuple(a for a in args if isinstance(a, np.ndarray | np.generic))
    others = args[len(arrays) :]

    def function(namespace, *arrays):
        return operator.attrgetter(name.partition(",")[0])(namespace)(*arrays, *others, **options)

    return Case(arrays, function, numpy)


def on_list(name, **options):
    return lambda namespace, *arrays: getattr(namespace, name)(list(arrays), **options)


def names(text):
    return text.split()


UNARY = "abs asin asinh atan atanh acos cos cosh exp expm1 log log10 log1p log2 negative positive"
UNARY += " reciprocal sign sin sinh sqrt square tan tanh"
ROUNDING = "ceil floor round trunc isfinite isinf isnan signbit"
BINARY = "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal"
BINARY += " logaddexp maximum minimum multiply nextafter not_equal pow remainder subtract"
REDUCTIONS = "all any argmax argmin count_nonzero max mean min prod std sum var"
LIKE = "empty_like full_like ones_like zeros_like"
MATRICES = "cholesky det eigh eigvals eigvalsh inv matrix_norm matrix_rank pinv qr slogdet svdvals trace"

CASES = {
    # creation: what is traced are values, what shapes the program is bound
    "arange": call("arange", 2, 9, 3),
    "asarray": call("asarray", X),
    "eye": call("eye", 3, k=1),
    "full": call("full", np.float32(3), numpy=False)._replace(
        function=lambda namespace, x: namespace.full((2,), x)
    ),
    "full_like": call("full_like", X, 3.0),
    "linspace": call("linspace", X[0, 0], Y[0, 0], 5),
    "logspace": call("logspace", X[0, 0], Y[0, 0], 5),
    "logspace,integers": Case(
        (I32[0],), lambda namespace, x: namespace.logspace(0, x, 4, base=2, dtype="int32")
    ),
    "meshgrid": call("meshgrid", X[0], Y[0]),
    "ones": call("ones", 3),
    "ones_like": call("ones_like", X),
    "tril": call("tril", X),
    "triu": call("triu", X),
    "zeros": call("zeros", 3),
    "zeros_like": call("zeros_like", X),
    "empty_like": Case((X,), lambda namespace, x: namespace.empty_like(x) * 0),
    "astype": call("astype", X, "int32"),
    # element by element
    **{name: call(name, X) for name in names(f"{UNARY} {ROUNDING}")},
    **{f"{name},complex": call(name, Z) for name in names(f"{UNARY} conj imag real")},
    "acosh": call("acosh", X + 1),
    "acosh,complex": call("acosh", Z),
    "conj": call("conj", X),
    "imag": call("imag", X),
    "real": call("real", X),
    **{name: call(name, X, Y) for name in names(BINARY)},
    **{
        f"{name},ints": call(name, I32, I32 - 3)
        for name in names("add equal floor_divide less pow remainder")
    },
    "pow,ints": call("pow", I32, abs(I32)),
    "floor_divide,ints": call("floor_divide", I32, I32),
    "remainder,ints": call("remainder", I32, I32),
    **{name: call(name, I32, I32[::-1].copy()) for name in names("bitwise_and bitwise_or bitwise_xor")},
    **{name: call(name, I32, I32 % 3) for name in names("bitwise_left_shift bitwise_right_shift")},
    "bitwise_invert": call("bitwise_invert", I32),
    **{name: call(name, FLAGS, X < 0.3) for name in names("logical_and logical_or logical_xor")},
    "logical_not": call("logical_not", FLAGS),
    "clip": call("clip", X, X + 0.1, Y),
    "clip,numbers": call("clip", X, 0.3, 0.5),
    "multiply,number": call("multiply", X, 0.1),
    "where": call("where", FLAGS, X, Y),
    "where,number": call("where", FLAGS, X, 1.5),
    # reductions and what goes along an axis
    **{name: call(name, X) for name in names(REDUCTIONS)},
    **{f"{name},axis": call(name, X, axis=0) for name in names(REDUCTIONS)},
    **{f"{name},keepdims": call(name, X, axis=1, keepdims=True) for name in names(REDUCTIONS)},
    **{f"{name},complex": call(name, Z, axis=1) for name in names("all any mean prod std sum var")},
    "sum,where": Case((X, FLAGS), lambda namespace, x, w: namespace.sum(x, axis=1, where=w, initial=2)),
    "max,where": Case((X, FLAGS), lambda namespace, x, w: namespace.max(x, axis=1, where=w, initial=0)),
    "argsort": call("argsort", X),
    "sort": call("sort", X, axis=0),
    "cumulative_sum": call("cumulative_sum", X, axis=1),
    "cumulative_prod": call("cumulative_prod", X, axis=1, include_initial=True),
    "diff": call("diff", X, n=2),
    "diff,prepend": Case((X, Y), lambda namespace, x, y: namespace.diff(x, prepend=y, axis=0)),
    "searchsorted": call("searchsorted", np.sort(X[0]), Y - 0.5),
    "top_k": call("top_k", X, 2, numpy=False),
    "isin": call("isin", I32, I32[0]),
    "isin,many": Case((I32,), lambda namespace, x: namespace.isin(x, np.arange(4, 80, dtype="int32"))),
    "take": call("take", X, I32 % 2, axis=0),
    "take_along_axis": call("take_along_axis", X, I32 % 2, axis=0),
    # shapes
    "broadcast_arrays": call("broadcast_arrays", X, Y[:1]),
    "broadcast_to": call("broadcast_to", X, (2, 2, 3)),
    "concat": Case((X, Y), on_list("concat", axis=1)),
    "expand_dims": call("expand_dims", X, (0, -1)),
    "flip": call("flip", X),
    "moveaxis": call("moveaxis", X, 0, 1),
    "permute_dims": call("permute_dims", X, (1, 0)),
    "repeat": call("repeat", X, 2, axis=1),
    "repeat,each": call("repeat", X, [2, 1, 0], axis=1),
    "reshape": call("reshape", X, (3, 2)),
    "roll": call("roll", X, 1, axis=0),
    "squeeze": Case((X,), lambda namespace, x: namespace.squeeze(x[None], axis=0)),
    "stack": Case((X, Y), on_list("stack", axis=1)),
    "tile": call("tile", X, (2, 1)),
    "unstack": call("unstack", X),
    # products and linear algebra
    "matmul": call("matmul", X, SQUARE),
    "matrix_transpose": call("matrix_transpose", X),
    "tensordot": call("tensordot", X, SQUARE, axes=1),
    "vecdot": call("vecdot", X, Y),
    "vecdot,broadcast": call("vecdot", X, Y[0]),
    **{f"linalg.{name}": call(f"linalg.{name}", SQUARE) for name in names(MATRICES)},
    **{
        f"linalg.{name},complex": call(f"linalg.{name}", SQUARE * (1 + 0.1j))
        for name in names("det inv pinv qr")
    },
    **{
        f"linalg.{name},stack": call(f"linalg.{name}", np.stack([SQUARE, 2 * SQUARE]).astype(dtype))
        for name, dtype in [(name, "float32") for name in names(MATRICES)] + [("det", "complex64")]
    },
    "linalg.qr,complex stack": call(
        "linalg.qr", np.stack([SQUARE, SQUARE * 1j]).astype("complex64"), numpy=False
    ),
    "linalg.det,four": call("linalg.det", np.kron(np.eye(2, dtype="float32"), SQUARE[:2, :2])),
    "logspace,complex": call("logspace", Z, 1.0 + 2.0j, 3, base=2.0),
    "linspace,complex": call("linspace", Z, X, 3, axis=-1),
    "linalg.eig": Case((SQUARE,), lambda namespace, x: namespace.linalg.eig(x).eigenvalues.real),
    "linalg.eigvals": Case((SQUARE,), lambda namespace, x: namespace.linalg.eigvals(x).real),
    "linalg.diagonal": call("linalg.diagonal", SQUARE),
    **{
        f"linalg.eigh{name}": Case((x,), lambda namespace, x: abs(namespace.linalg.eigh(x).eigenvectors))
        for name, x in [("", SQUARE), (",stack", np.stack([SQUARE, 2 * SQUARE]))]  # of any sign
    },
    "linalg.svd": Case((SQUARE,), lambda namespace, x: abs(namespace.linalg.svd(x).U)),
    "linalg.qr": Case((SQUARE,), lambda namespace, x: abs(namespace.linalg.qr(x).R)),
    "linalg.qr,complete": Case(
        (X.T.copy(),), lambda namespace, x: abs(namespace.linalg.qr(x, mode="complete").Q)
    ),
    "linalg.matrix_power": call("linalg.matrix_power", SQUARE, 3),
    "linalg.matrix_power,inverse": call("linalg.matrix_power", SQUARE, -2),
    "linalg.pinv,rtol": call("linalg.pinv", X, rtol=0.1),
    "linalg.matrix_rank,rtol": Case((X,), lambda namespace, x: namespace.linalg.matrix_rank(x, rtol=0.1)),
    **{
        f"linalg.matrix_norm,{p}": call("linalg.matrix_norm", X, ord=p)
        for p in ("nuc", 1, -1, 2, -2, np.inf, -np.inf)
    },
    "linalg.solve": call("linalg.solve", SQUARE, X.T.copy()),
    "linalg.solve,vector": call("linalg.solve", SQUARE, SQUARE[0]),
    "linalg.cross": call("linalg.cross", X, Y),
    "linalg.outer": call("linalg.outer", X[0], Y[0]),
    "linalg.vector_norm": call("linalg.vector_norm", X, axis=1, ord=3),
    "linalg.vector_norm,2": call("linalg.vector_norm", X),
    # transforms
    **{
        f"fft.{name}": call(f"fft.{name}", Z) for name in names("fft fftn fftshift hfft ifft ifftn ifftshift")
    },
    **{f"fft.{name}": call(f"fft.{name}", X) for name in names("ihfft rfft rfftn")},
    "fft.irfft": call("fft.irfft", Z),
    "fft.irfftn": call("fft.irfftn", Z),
    "fft.fftfreq": Case((X[0, 0],), lambda namespace, d: namespace.fft.fftfreq(4, d)),
    "fft.rfftfreq": Case((X[0, 0],), lambda namespace, d: namespace.fft.rfftfreq(4, d)),
}
# No functions of arrays, or the sizes of their results are known by values; or aliases of those above.
EXEMPT = {"__array_namespace_info__", "broadcast_shapes", "can_cast", "empty", "finfo", "from_dlpack", "fuse"}
EXEMPT |= {"isdtype", "nonzero", "result_type", "unique_all", "unique_counts", "unique_inverse"}
EXEMPT |= {
    "unique_values",
    *(f"linalg.{name}" for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")),
}


@pytest.mark.thorough
def test_the_table_is_complete():
    listed = {name.split(",")[0] for name in CASES} | EXEMPT
    for prefix, module in (("", xp), ("linalg.", xp.linalg), ("fft.", xp.fft)):
        functions = {prefix + name for name in module.__all__ if inspect.isfunction(getattr(module, name))}
        assert functions <= listed


def arguments(case):
    return tuple(map(jnp.asarray, case.arrays))


@pytest.fixture(scope="module")
def eager():
    """Return every function's results called as it is; no NaN turns up on the way."""
    with jax.debug_nans(True):
        return {name: case.function(xp, *arguments(case)) for name, case in CASES.items()}


def leaves(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def check_close(out, expected, name):
    for one, other in zip(leaves(out), leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=3e-5, atol=3e-5, err_msg=name)


def compiled_together(call_of, arrays, *, run=jax.jit):
    """Run `call_of` of every case in one program, and say which cannot be traced."""
    errors = {}

    def everything(arrays):
        results = {}
        for name in arrays:
            try:
                results[name] = call_of(CASES[name])(*arrays[name])
            except Exception as error:
                errors[name] = f"{type(error).__name__}: {str(error)[:200]}"
        return results

    results = run(everything)(arrays)
    assert not errors
    return results


@pytest.mark.thorough
def test_numpy(eager):
    for name, case in CASES.items():
        if case.numpy:
            with np.errstate(all="ignore"):
                check_close(eager[name], case.function(np, *case.arrays), name)


@pytest.mark.thorough
def test_jit(eager):
    arrays = {name: arguments(case) for name, case in CASES.items()}
    found = compiled_together(lambda case: lambda *arrays: case.function(xp, *arrays), arrays)
    for name, result in found.items():
        check_close(result, eager[name], name)
        assert [x.dtype for x in leaves(result)] == [x.dtype for x in leaves(eager[name])], name


def batched(x):
    return jnp.stack([x, x])


@pytest.mark.thorough
def test_vmap(eager):
    arrays = {name: tuple(map(batched, arguments(case))) for name, case in CASES.items() if case.arrays}
    found = compiled_together(lambda case: jax.vmap(lambda *arrays: case.function(xp, *arrays)), arrays)
    for name, result in found.items():
        check_close(jax.tree.map(lambda x: x[1], result), eager[name], name)


NO_DERIVATIVE = ["linalg.eig", "nextafter"]  # of eigenvectors on any JAX, of the next number on JAX 0.10


def on_two_devices(kind=AxisType.Auto):
    return jax.make_mesh((2,), ("i",), axis_types=(kind,), devices=jax.devices("cpu")[:2])  # to trace for


def sharded(function):
    """Return the function on the shards of its arguments, with the checks of what varies over the mesh."""
    spec = PartitionSpec("i")
    return jax.shard_map(function, mesh=on_two_devices(), in_specs=(spec,), out_specs=spec)


def traced(function):
    return lambda arrays: jax.eval_shape(function, arrays)


@pytest.mark.thorough
def test_shard_map():
    arrays = {name: tuple(map(batched, arguments(case))) for name, case in CASES.items() if case.arrays}

    def call_of(case):
        return lambda *a: jax.tree.map(lambda x: x[None], case.function(xp, *(x[0] for x in a)))

    compiled_together(call_of, arrays, run=lambda function: traced(sharded(function)))


@pytest.mark.thorough
def test_shard_map_of_vmap_and_of_derivatives():
    arrays = {name: tuple(map(batched, arguments(case))) for name, case in CASES.items() if case.arrays}
    for name in NO_DERIVATIVE:
        arrays.pop(name)

    def call_of(case):
        def function(*a):
            if all(jnp.issubdtype(x.dtype, jnp.inexact) for x in a):
                return jax.linearize(lambda *a: case.function(xp, *a), *a)[1](*a)
            return case.function(xp, *a)

        return jax.vmap(function)

    compiled_together(call_of, arrays, run=lambda function: traced(sharded(function)))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_under_a_mesh(eager, kind):
    arrays = {name: arguments(case) for name, case in CASES.items()}
    with jax.set_mesh(on_two_devices(kind)):
        found = compiled_together(lambda case: lambda *a: case.function(xp, *a), arrays, run=traced)
    assert jax.tree.map(jnp.shape, found) == jax.tree.map(jnp.shape, eager)


@pytest.mark.thorough
@pytest.mark.daily("setting0-False")
@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("setting", [{"numpy_rank_promotion": "raise"}, {"numpy_dtype_promotion": "strict"}])
def test_strict_settings(setting, derivative):
    ((name, value),) = setting.items()
    arrays = {
        name: arguments(case)
        for name, case in CASES.items()
        if not name.endswith(("broadcast", "number", "numbers", *NO_DERIVATIVE))
    }

    def call_of(case):
        def function(*a):
            if derivative and a and all(jnp.issubdtype(x.dtype, jnp.inexact) for x in a):
                return jax.linearize(lambda *a: case.function(xp, *a), *a)[1](*a)
            return case.function(xp, *a)

        return function

    with getattr(jax, name)(value):
        compiled_together(call_of, arrays, run=traced)
