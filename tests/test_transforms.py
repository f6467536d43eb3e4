"""Every function of ours: eager, jit and vmap agree, and derivatives are finite. One table says how."""

import inspect
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp

X = jnp.array([[0.2, 0.7, 0.4], [0.9, 0.1, 0.6]], "float32")
Y = X[::-1] + 1
Z = jax.lax.complex(X, Y)
I32 = jnp.array([[3, 1, 2], [6, 5, 4]], "int32")
SQUARE = jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]], "float32")

DIFFERENTIABLE = ["cholesky", "det", "eigh", "eigvals", "eigvalsh", "inv", "matrix_norm", "pinv"]
DIFFERENTIABLE += ["slogdet", "svdvals"]


class Case(NamedTuple):
    """Arrays that are traced and batched, a function of them, and whether it has a derivative."""

    arrays: tuple
    function: object
    derivative: bool = False


def call(name, *args, **options):
    """Return the function of the namespace with further arguments bound."""
    function = getattr(xp.linalg, name.split(".")[1]) if "." in name else getattr(xp, name)
    return lambda *arrays: function(*arrays, *args, **options)


CASES = {
    # Creation: what is traced are values, what shapes the program is bound.
    "arange": Case((), call("arange", 2, 9, 3)),
    "asarray": Case((X,), call("asarray", dtype=xp.float32), True),
    "empty_like": Case((X,), lambda x: xp.empty_like(x) * 0),
    "eye": Case((), call("eye", 3, k=1)),
    "full": Case((X[0, 0],), lambda value: xp.full((2,), value), True),
    "full_like": Case((X,), lambda x: xp.full_like(x, 3.0)),
    "linspace": Case((X[0, 0], Y[0, 0]), lambda start, stop: xp.linspace(start, stop, 5), True),
    "logspace": Case((X[0, 0], Y[0, 0]), lambda start, stop: xp.logspace(start, stop, 5), True),
    "meshgrid": Case((X[0], Y[0]), call("meshgrid"), True),
    "ones": Case((), call("ones", 3)),
    "ones_like": Case((X,), call("ones_like")),
    "zeros": Case((), call("zeros", 3)),
    "zeros_like": Case((X,), call("zeros_like")),
    # Data types.
    "astype": Case((X,), call("astype", xp.float32), True),
    # Element-wise.
    "clip": Case((X, X + 0.1, Y), call("clip"), True),
    "floor_divide": Case((X, Y), call("floor_divide"), True),
    "pow": Case((X, Y), call("pow"), True),
    "remainder": Case((X, Y), call("remainder"), True),
    "sign": Case((X,), call("sign"), True),
    **{
        name: Case((X + 1 if name == "acosh" else X,), call(name), True)
        for name in xp._elementwise._exponential.__all__ + xp._elementwise._trigonometric.__all__
    },
    **{
        f"{name}, complex": Case((Z,), call(name), True)
        for name in ["sign", *xp._elementwise._exponential.__all__, *xp._elementwise._trigonometric.__all__]
    },
    # The other chapters.
    "broadcast_arrays": Case((X, Y[:1]), call("broadcast_arrays"), True),
    "expand_dims": Case((X,), call("expand_dims", (0, -1)), True),
    "permute_dims": Case((X,), call("permute_dims", (1, 0)), True),
    "argmax": Case((X,), call("argmax", axis=1)),
    "argmin": Case((X,), call("argmin", axis=1)),
    "repeat": Case((X,), call("repeat", 2, axis=1), True),
    "where": Case((X > 0.5, X, Y), call("where")),
    "searchsorted": Case((jnp.sort(X[0]), Y), call("searchsorted")),
    "isin": Case((I32, I32[0]), call("isin")),
    "cumulative_prod": Case((X,), call("cumulative_prod", axis=1, include_initial=True), True),
    "max": Case((X,), call("max", axis=0), True),
    "min": Case((X,), call("min", keepdims=True), True),
    "all": Case((Z,), call("all", axis=1)),
    "any": Case((Z,), call("any", axis=1)),
    "fft.fftfreq": Case((X[0, 0],), lambda d: xp.fft.fftfreq(4, d), True),
    "fft.rfftfreq": Case((X[0, 0],), lambda d: xp.fft.rfftfreq(4, d), True),
    "fft.ihfft": Case((X,), lambda x: xp.fft.ihfft(x), True),
    # Linear algebra.
    "matmul": Case((X, SQUARE), call("matmul"), True),
    "matrix_transpose": Case((X,), call("matrix_transpose"), True),
    "tensordot": Case((X, SQUARE), call("tensordot", axes=1), True),
    "vecdot": Case((X, Y), call("vecdot"), True),
    **{f"linalg.{name}": Case((SQUARE,), call(f"linalg.{name}"), True) for name in DIFFERENTIABLE},
    "linalg.eig": Case((SQUARE,), call("linalg.eig")),
    "linalg.matrix_rank": Case((SQUARE,), call("linalg.matrix_rank")),
    "linalg.qr": Case((SQUARE,), call("linalg.qr"), True),
    "linalg.svd": Case((SQUARE,), call("linalg.svd", full_matrices=False), True),
    "linalg.matrix_power": Case((SQUARE,), call("linalg.matrix_power", 3), True),
    "linalg.solve": Case((SQUARE, SQUARE[0]), call("linalg.solve"), True),
    "linalg.cross": Case((X, Y), call("linalg.cross"), True),
    "linalg.outer": Case((X[0], Y[0]), call("linalg.outer"), True),
    "linalg.vector_norm": Case((X,), call("linalg.vector_norm", axis=1, ord=3), True),
}
# Not functions of arrays alone: tested elsewhere, or with values that are not defined.
EXEMPT = {"__array_namespace_info__", "can_cast", "empty", "finfo", "from_dlpack", "fuse", "result_type"}


def leaves(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def assert_close(out, expected):
    for one, other in zip(leaves(out), leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def is_wrapped(function):
    return hasattr(function, "__wrapped__")  # a function of jax.numpy, converting its arrays


def own_functions():
    for prefix, module in (("", xp), ("linalg.", xp.linalg), ("fft.", xp.fft)):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) and "jaxapi" in function.__module__ and not is_wrapped(function):
                yield prefix + name


def test_the_table_is_complete():
    listed = {name.split(",")[0] for name in CASES} | EXEMPT
    shared = {f"linalg.{name}" for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")}
    assert set(own_functions()) - shared == listed


@pytest.mark.parametrize("name", CASES)
def test_jit(name):
    arrays, function, _ = CASES[name]
    assert_close(jax.jit(function)(*arrays), function(*arrays))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.arrays])
def test_vmap(name):
    arrays, function, _ = CASES[name]
    batched = [
        jnp.stack([x, x[..., ::-1] if x.ndim == 1 and "searchsorted" not in name else x]) for x in arrays
    ]
    out = leaves(jax.vmap(function)(*batched))
    for i in range(2):
        assert_close([part[i] for part in out], function(*(x[i] for x in batched)))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.derivative])
def test_derivative_is_finite(name):
    arrays, function, _ = CASES[name]

    def total(*arrays):
        return sum(jnp.sum(jnp.abs(part)) for part in jax.tree.leaves(function(*arrays)))

    both = jax.jit(jax.value_and_grad(total, argnums=tuple(range(len(arrays)))))  # one program for all
    _, slopes = both(*arrays)
    assert all(np.isfinite(slope).all() for slope in leaves(slopes))
    if jnp.iscomplexobj(arrays[0]) or name.startswith("linalg.") or name in ("floor_divide", "remainder"):
        return
    # Along a direction, against a difference quotient.
    step = 1e-3
    ahead, behind = (both(*(x + s * step for x in arrays))[0] for s in (0.5, -0.5))
    slope = sum(np.sum(s) for s in leaves(slopes))
    np.testing.assert_allclose(slope, (ahead - behind) / step, rtol=2e-2, atol=2e-2)
