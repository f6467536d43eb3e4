"""Mistakes in shapes and axes raise NumPy's exceptions, whatever JAX raises."""

import functools
import inspect

import jax
import numpy as np
import pytest

import jaxapi as xp
import jaxapi.numpy as np_
from jaxapi import mutable, numpy
from jaxapi._core._errors import numpy_error

X = np.arange(6.0).reshape(2, 3)
MASKED = np.ma.masked_array([1.0, 2.0], [False, True])

# What functions with an axis take before it, if that is not one array.
ARGUMENTS = {
    "concat": ((X, X),), "linalg.cross": (X, X), "linalg.vecdot": (X, X), "linspace": (0, X, 3),
    "logspace": (0, X, 3), "repeat": (X, 2), "roll": (X, 1), "stack": ((X, X),), "take": (X, [0]),
    "take_along_axis": (X, [[0]]), "top_k": (X, 1), "vecdot": (X, X),
}  # fmt: skip

DO_NOT_FIT = {
    "broadcast_arrays": (X, [1, 2]), "broadcast_to": (X, (4, 3)), "concat": ((X, X[0]),), "flip": (X, (0, 0)),
    "moveaxis": (X, (0, 0), (0, 1)), "reshape": (X, (4,)), "stack": ((X, X[0]),), "where": (X > 1, X, [1, 2]),
}  # fmt: skip


def functions_with_an_axis():
    for prefix, module in (("", xp), ("linalg.", xp.linalg), ("fft.", xp.fft)):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) and "axis" in inspect.signature(function).parameters:
                yield pytest.param(function, ARGUMENTS.get(prefix + name, (X,)), id=prefix + name)


@pytest.mark.parametrize(("function", "arguments"), list(functions_with_an_axis()))
def test_an_axis_out_of_bounds(function, arguments):
    """The first that are, and others."""
    longer = function.__name__ in ("expand_dims", "linspace", "logspace", "stack")  # than their arguments
    for axis in (2 + longer, -3 - longer, 4, -5):
        with pytest.raises(np.exceptions.AxisError, match=f"axis {axis} is out of bounds for array of dim"):
            function(*arguments, axis=axis)


@pytest.mark.parametrize(("name", "arguments"), list(DO_NOT_FIT.items()))
def test_shapes_that_do_not_fit(name, arguments):
    numpys = getattr(np, name)
    with pytest.raises(ValueError, match=r"shape|axis|dimension"):
        numpys(*arguments)
    function = getattr(xp, name)
    with pytest.raises(ValueError, match=r"shape|axis|dimension|permutation|broadcast"):
        function(*arguments)
    with pytest.raises(ValueError, match=r"shape|axis|dimension|permutation|broadcast"):
        jax.eval_shape(lambda: function(*arguments))


def test_concat_of_lengths_that_differ():
    with pytest.raises(ValueError, match="along dimension 0"):
        xp.concat((X, X[:, :2]))


@pytest.mark.parametrize("function", [xp.concat, xp.stack])
def test_a_sequence_is_needed(function):
    with pytest.raises(TypeError, match=f"{function.__name__} takes a sequence of arrays"):
        function(5.0)


def test_exceptions_that_stay():
    assert numpy_error(ValueError("no text that is known")) is None
    assert numpy_error(TypeError("axis 5 is out of bounds for array of dimension 2")) is None
    assert numpy_error(np.exceptions.AxisError("axis 5 is out of bounds for array of dimension 2")) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: xp.asarray([MASKED, MASKED]), lambda: xp.asarray([1.0, np.ma.masked]), lambda: xp.sum(MASKED),
        lambda: xp.linspace(0, MASKED, 3), lambda: xp.linspace([MASKED, MASKED], 0, 3),
        lambda: xp.logspace(MASKED, 1, 3), lambda: xp.logspace(0, 1, 3, base=MASKED),
        lambda: xp.where(MASKED > 1, 1.0, 2.0),
    ],
)  # fmt: skip
def test_masks_are_not_lost(call):
    with pytest.raises(TypeError, match="mask would be lost"):
        call()


def test_arguments_that_no_program_can_be_compiled_for():
    for call in (
        lambda: xp.repeat(X, 2, axis=[0]),
        lambda: xp.linalg.cross(X, X, axis=[0]),
        lambda: xp.fft.ihfft(X, axis=[0]),
        lambda: xp.expand_dims(X, axis=([0],)),
        lambda: xp.zeros({1, 2}),
    ):
        with pytest.raises(TypeError, match="integer"):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda axis: xp.sum(X, axis=axis),
        lambda axis: xp.max(X, axis=axis),
        lambda axis: xp.cumulative_sum(X, axis=axis),
        lambda axis: xp.argmin(X, axis=axis),
        lambda axis: xp.concat([X, X], axis=axis),
        lambda axis: xp.linalg.vector_norm(X, axis=axis),
        lambda axis: jax.vmap(lambda x: xp.sum(x, axis=axis), axis_name="x")(X),  # no axis of a mesh
    ],
)
@pytest.mark.parametrize("axis", ["x", 1.5])
def test_an_axis_that_is_none(call, axis):
    with pytest.raises(TypeError, match=rf"axis must be an integer.* got {axis!r}"):
        call(axis)


@pytest.mark.parametrize("function", [xp.linspace, xp.logspace])
def test_a_number_of_samples_that_is_none(function):
    for num in (2.5, "2"):
        with pytest.raises(TypeError, match=f"num, the number of samples, must be an integer, got {num!r}"):
            function(0, 1, num)
    with pytest.raises(ValueError, match=r"num, .* must be non-negative, got -1"):
        function(0, 1, num=-1)


@pytest.mark.parametrize("call", [lambda: xp.isdtype(None, "bool"), lambda: xp.isdtype(xp.float32, None)])
def test_isdtype_refuses_none(call):
    with pytest.raises(TypeError, match="must be a dtype or a kind of dtypes, got None"):
        call()


def test_text_that_is_no_argument():
    for call in (
        lambda: xp.roll(X, "a"),
        lambda: xp.take(X, "a"),
        lambda: xp.std(X, correction="a"),
        lambda: xp.var(X, correction="a"),
        lambda: xp.tile(X, "a"),
        lambda: xp.tile(X, (2, 1.5)),
    ):
        with pytest.raises(TypeError, match=r"not an array of numbers|must be (a number|integers), got"):
            call()
    with pytest.raises(ValueError, match="copy must be True, False or None, got 'never'"):
        xp.asarray(X, copy="never")


SHAPES_THE_PROGRAM = {
    "arange": lambda n: xp.arange(n), "broadcast_to": lambda n: xp.broadcast_to(X, (n, 2, 3)),
    "concat": lambda n: xp.concat((X, X), axis=n), "diff": lambda n: xp.diff(X, n=n),
    "expand_dims": lambda n: xp.expand_dims(X, axis=n), "eye": lambda n: xp.eye(n),
    "eye, k": lambda n: xp.eye(3, k=n), "fft": lambda n: xp.fft.fft(X, n=n),
    "fftfreq": lambda n: xp.fft.fftfreq(n), "flip": lambda n: xp.flip(X, axis=n),
    "full": lambda n: xp.full((n,), 1.0), "ihfft": lambda n: xp.fft.ihfft(X, axis=n),
    "cross": lambda n: xp.linalg.cross(X, X, axis=n), "linspace": lambda n: xp.linspace(0, 1, n),
    "logspace": lambda n: xp.logspace(0, 1, n), "matrix_norm": lambda n: xp.linalg.matrix_norm(X, ord=n),
    "matrix_power": lambda n: xp.linalg.matrix_power(X @ X.T, n), "moveaxis": lambda n: xp.moveaxis(X, n, 0),
    "permute_dims": lambda n: xp.permute_dims(X, (n, 0)), "repeat, axis": lambda n: xp.repeat(X, 2, axis=n),
    "reshape": lambda n: xp.reshape(X, (n, -1)), "roll": lambda n: xp.roll(X, 1, axis=n),
    "std": lambda n: xp.std(X, correction=n), "sum": lambda n: xp.sum(X, axis=n),
    "take": lambda n: xp.take(X, [0], axis=n), "tensordot": lambda n: xp.tensordot(X, X.T, axes=n),
    "tile": lambda n: xp.tile(X, (n,)), "top_k": lambda n: xp.top_k(X, n), "tril": lambda n: xp.tril(X, k=n),
    "vecdot": lambda n: xp.vecdot(X, X, axis=n), "vector_norm": lambda n: xp.linalg.vector_norm(X, ord=n),
    "zeros": lambda n: xp.zeros(n), "zeros, of two": lambda n: xp.zeros((2, n)),
    "numpy.arange": lambda n: np_.arange(n), "numpy.cumsum": lambda n: np_.cumsum(X, n),
    "numpy.diagonal": lambda n: np_.diagonal(X, n), "numpy.eye": lambda n: np_.eye(n),
    "numpy.full": lambda n: np_.full(n, 1.0), "numpy.histogram": lambda n: np_.histogram(X, bins=n),
    "numpy.pad": lambda n: np_.pad(X, n), "numpy.random.random": lambda n: np_.random.random(n),
    "numpy.repeat": lambda n: np_.repeat(X, n), "numpy.reshape": lambda n: np_.reshape(X, (n, -1)),
    "numpy.rot90": lambda n: np_.rot90(X, n), "numpy.split": lambda n: np_.split(X, n),
    "numpy.std": lambda n: np_.std(X, ddof=n), "numpy.swapaxes": lambda n: np_.swapaxes(X, n, 0),
    "numpy.transpose": lambda n: np_.transpose(X, (n, 0)), "numpy.tri": lambda n: np_.tri(n),
    "numpy.vander": lambda n: np_.vander(X[0], n), "numpy.zeros": lambda n: np_.zeros((n, 2)),
}  # fmt: skip


@pytest.mark.parametrize("call", list(SHAPES_THE_PROGRAM.values()), ids=list(SHAPES_THE_PROGRAM))
def test_a_traced_argument_that_shapes_the_program(call):
    with pytest.raises(TypeError, match=r"shapes? the program, so .* static_argnames of jax\.jit") as raised:
        jax.eval_shape(call, 1)
    assert "racer" not in str(raised.value)


def test_where_a_traced_argument_comes_from():
    def of_user(length):
        return xp.zeros(length)

    with pytest.raises(TypeError, match=r"of_user at .*test_errors\.py.*the argument length"):
        jax.jit(of_user)(3)


VALUES_SHAPE_THE_RESULT = {
    "nonzero": xp.nonzero, "repeat": lambda n: xp.repeat(X[0], n), "unique_all": xp.unique_all,
    "unique_counts": xp.unique_counts, "unique_inverse": xp.unique_inverse, "unique_values": xp.unique_values,
    "numpy.argwhere": lambda n: np_.argwhere(n), "numpy.bincount": lambda n: np_.bincount(n),
    "numpy.flatnonzero": lambda n: np_.flatnonzero(n), "numpy.nonzero": lambda n: np_.nonzero(n),
    "numpy.union1d": lambda n: np_.union1d(n, n), "numpy.unique": lambda n: np_.unique(n),
}  # fmt: skip


@pytest.mark.parametrize("name", list(VALUES_SHAPE_THE_RESULT))
def test_values_that_shape_the_result(name):
    function = VALUES_SHAPE_THE_RESULT[name]
    short = name.removeprefix("numpy.")
    text = rf"the shape of {short}'s result depends on values, .* jax\.numpy\.{short} with its length given"
    with pytest.raises(TypeError, match=text) as raised:
        jax.eval_shape(function, np.asarray([1, 0, 2], np.int32))
    assert "racer" not in str(raised.value)


@pytest.mark.parametrize("name", ["argmax", "argmin", "argsort", "sort", "cumulative_sum"])
def test_several_axes_for_one(name):
    for namespace in (xp, mutable, numpy):
        x = namespace.asarray(np.ones((2, 3)))
        if name == "cumulative_sum" and namespace is numpy:
            continue  # which is NumPy's ValueError
        with pytest.raises(TypeError, match="one integer is wanted, got several"):
            getattr(namespace, name)(x, axis=(0, 1))
    for x in (mutable.ones((2, 3)), numpy.ones((2, 3))):
        with pytest.raises(TypeError, match="one integer is wanted, got several"):
            x.argmax(axis=(0, 1))


@pytest.mark.parametrize("namespace", [mutable, numpy], ids=["mutable", "numpy"])
def test_jaxs_grad_of_functions_that_return_arrays(namespace):
    """The error names our own `grad`; in programs these arrays are pytrees."""
    for differentiate in (jax.grad, jax.value_and_grad):
        for x in (namespace.ones(3), np.ones(3, np.float32)):
            with pytest.raises(ValueError, match=rf"{namespace.__name__}\.grad"):
                differentiate(lambda x: namespace.sum(namespace.asarray(x) ** 2))(x)
    assert namespace.grad(lambda x: namespace.sum(x**2))(namespace.ones(3)).tolist() == [2, 2, 2]
    assert jax.jit(lambda x: x + 1)(namespace.ones(3)).tolist() == [2, 2, 2]


def test_functions_of_numpy_that_look_at_values_in_programs():
    x = np.array([1.0, 0.0, 2.0])
    mistakes = {
        "strip_zeros=False": lambda x: numpy.roots(numpy.asarray(x)),
        "mode='clip'": lambda x: numpy.choose(numpy.asarray(x).astype(int), [x, x, x]),
        "slice by known positions": lambda x: numpy.trim_zeros(numpy.asarray(x)),
    }
    for text, function in mistakes.items():
        with pytest.raises(jax.errors.ConcretizationTypeError, match=text):
            jax.jit(function)(x)

    def placed(numpy, x, values):
        x = numpy.asarray(x).copy()
        numpy.place(x, x > 0.5, values)
        return x

    for values in ([5.0], [5.0, 6.0, 7.0], [7.0, 8.0]):
        program = jax.jit(functools.partial(placed, numpy, values=values))
        np.testing.assert_array_equal(program(x), placed(np, x, values))
