"""What `fuse` refuses, with NumPy's exception types, the user's line and the remedy."""

import linecache
import re
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi import fuse

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def branch(x):
    if x > 0:
        return x
    return -x


def assign(x):
    x[0] = 1
    return x


def assign_augmented(x):
    x[...] += 1
    return x


CASES = {
    "if": (branch, TypeError, "Python scalar.*where"),
    "and": (lambda x: (x > 0) and x, TypeError, "Python scalar.*where"),
    "float": (lambda x: float(x.sum()), TypeError, "Python scalar"),
    "range": (lambda x: range(x.sum().astype(int)), TypeError, "Python scalar"),
    "axis": (lambda x: xp.sum(x, axis=x[0, 0].astype(int)), TypeError, "Python scalar.*partial"),
    "shape": (lambda x: xp.zeros(x[0, 0].astype(int)), TypeError, "Python scalar.*partial"),
    "shapes": (lambda x: x + xp.ones(4), ValueError, r"broadcast together with shapes \(2,3\) \(4,\)"),
    "same rank": (lambda x: x + xp.ones((2, 4)), ValueError, r"broadcast together.* \(2,3\) \(2,4\)"),
    "where": (lambda x: xp.where(x > 0, x, xp.ones(4)), ValueError, r"broadcast.*\(2,3\) \(4,\)"),
    "matmul": (lambda x: x @ x, ValueError, r"\(3,\) and \(2,\)"),
    "reshape": (lambda x: xp.reshape(x, (4,)), ValueError, "cannot reshape"),
    "sum axis": (
        lambda x: xp.sum(x, axis=5),
        np.exceptions.AxisError,
        "axis 5 is out of bounds.*dimension 2",
    ),
    "axes": (lambda x: x.sum(axis=(0, -3)), np.exceptions.AxisError, "axis -3 is out of bounds"),
    "subscript": (assign, TypeError, r"immutable.*x\.at\[i\]\.set\(y\)"),
    "augmented subscript": (assign_augmented, TypeError, r"immutable.*x\.at\[i\]\.set\(y\)"),
    "ufunc out": (lambda x: xp.add(x, x, out=x), TypeError, "immutable.*out=.*return"),
    "function out": (lambda x: xp.sqrt(x, out=x), TypeError, "immutable.*out=.*return"),
    "method out": (lambda x: x.sum(out=x), TypeError, "immutable.*out=.*return"),
    "numpy ufunc": (lambda x: np.sqrt(x), TypeError, r"NumPy.*jaxapi\.sqrt"),
    "numpy ufunc of two": (lambda x: np.add(1, x), TypeError, "NumPy.*jaxapi's function of the same name"),
    "int": (lambda x: int(x), TypeError, "Python scalar"),
    "index": (lambda x: X[x[0, 0].astype(int)], TypeError, "Python scalar|NumPy"),
    "reshape to a traced length": (
        lambda x: xp.reshape(x, (x[0, 0].astype(int),)),
        TypeError,
        "Python scalar",
    ),
    "not": (lambda x: not x, TypeError, "Python scalar.*where"),
    "nonzero": (xp.nonzero, TypeError, "the shape of nonzero's result depends on values.*outside.*size="),
    "nonzero method": (lambda x: x.nonzero(), TypeError, "the shape of nonzero's result depends on values"),
    "unique": (lambda x: xp.unique_values(x), TypeError, "shape of unique_values's result depends on values"),
    "repeat": (
        lambda x: xp.repeat(x, x[0].astype(int), axis=1),
        TypeError,
        "shape of repeat's result depends",
    ),
    "mask": (lambda x: x[x > 0], IndexError, "mask.*where"),
    "slice": (lambda x: x[: x[0, 0].astype(int)], IndexError, "bounds of a slice.*static_argnames"),
    "too many indices": (lambda x: x[0, 0, 0], IndexError, "[Tt]oo many indices"),
    "nothing returned": (lambda x: None, TypeError, "no array.*immutable.*return the new value"),
    "text returned": (lambda x: "text", TypeError, "returned str"),
    "none operand": (lambda x: x + None, TypeError, "unsupported operand"),
}


@pytest.mark.parametrize(("function", "kind", "message"), CASES.values(), ids=CASES)
def test_error(function, kind, message):
    with pytest.raises(kind, match=re.compile(message, re.DOTALL)) as caught:
        fuse(function)(X)
    assert issubclass(caught.type, kind)


@pytest.mark.parametrize("name", ["if", "shapes", "sum axis", "subscript", "ufunc out", "mask"])
def test_the_line_is_named(name):
    function, kind, _ = CASES[name]
    with pytest.raises(kind) as caught:
        fuse(function, kernel_name="kern")(X)
    line = int(re.search(r"line (\d+) of ", str(caught.value))[1])
    first = function.__code__.co_firstlineno
    assert first <= line <= first + 1
    assert __file__ in str(caught.value)
    assert "'kern'" in str(caught.value)
    assert linecache.getline(__file__, line).strip() in str(caught.value)


def test_the_line_in_a_helper_is_named_and_once():
    @fuse(kernel_name="outer")
    def outer(x):
        return fuse(branch, kernel_name="inner")(x)

    with pytest.raises(TypeError, match="Python scalar") as caught:
        outer(X)
    assert "if x > 0:" in str(caught.value)
    assert "'inner'" in str(caught.value)


def raises(exception):
    def function(x):
        raise exception

    return function


def assign_to_tuple(x):
    pair = (x, x)
    pair[0] = x
    return x


def truth_of_numpy(x):
    return x if X > 0 else -x


def axis_of_numpy(x):
    return x + np.sum(X, axis=7)


def numpy_shapes(x):
    return x + (X + np.ones(4))


def keyword_out(x):
    def helper(y):
        return y

    return helper(out=3)


CONSTANT = jnp.ones(3)


def truth_of_a_constant(x):
    return x if CONSTANT else -x


@pytest.mark.parametrize(
    "function",
    [
        assign_to_tuple, truth_of_numpy, axis_of_numpy, numpy_shapes, keyword_out, truth_of_a_constant,
        raises(ValueError("mine")), raises(TypeError("a shape of JitTracer(3)")),
        raises(TypeError("item assignment")),
        raises(ValueError("The truth value of an array with more than one element")),
        raises(ValueError("axis 5 is out of bounds for array of dimension 2")),
        raises(NotImplementedError("The 'out' argument")),
    ],
)  # fmt: skip
def test_errors_that_are_not_of_traced_arrays_pass(function):
    try:
        function(X.copy())
    except Exception as error:
        expected = error
    with pytest.raises(type(expected)) as caught:
        fuse(function)(X)
    assert caught.type is type(expected)
    assert str(caught.value) == str(expected)
    if function is not truth_of_a_constant:  # which is JAX's, and has the line noted
        assert not any("fused function" in note for note in getattr(caught.value, "__notes__", ()))


def test_what_jax_says_otherwise_passes_with_the_line():
    with pytest.raises(TypeError) as caught:
        fuse(lambda x: jax.lax.add(x, xp.astype(x, xp.int32)), kernel_name="kern")(X)
    (note,) = [n for n in caught.value.__notes__ if "fused function" in n]
    assert note.startswith("in fused function 'kern', line ")
    assert "jax.lax.add" in note


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("add got incompatible shapes for broadcasting: (2,), (3,).", ValueError),
        ("add has shapes of another make", TypeError),
    ],
)
def test_texts_of_jax_that_change_let_the_error_pass(text, kind):
    def refuse(x, y):
        raise TypeError(text)

    names = {"__name__": "jax.numpy", "TypeError": TypeError}
    of_jax = types.FunctionType(refuse.__code__, names, "add", None, refuse.__closure__)
    with pytest.raises(kind, match="shapes"):
        fuse(lambda x: of_jax(x, x))(X)


def test_unknown_argument():
    with pytest.raises(TypeError, match="got object"):
        fuse(lambda x, y: x)(X, object())
    with pytest.raises(TypeError, match="takes a function, got int"):
        fuse(3)
    with pytest.raises(TypeError, match="kernel_name must be a string, got int"):
        fuse(lambda x: x, kernel_name=3)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.asarray(["a"]), "convert text to numbers"),
        (np.asarray([1, None]), "dtype object"),
        (np.asarray(["2026-11-22"], "M8[D]"), "convert dates to numbers"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "mask would be lost"),
        ([1.0, np.ma.masked], "mask would be lost"),
    ],
)
def test_arrays_that_jax_has_not(x, message):
    for arguments in ((x,), ({"x": x},)):
        with pytest.raises(TypeError, match=message):
            fuse(lambda x: x)(*arguments)
