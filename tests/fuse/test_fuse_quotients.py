"""Quotients and roots of fused functions are rounded as IEEE 754 says, whatever stands around them.

NumPy computes the same, statement by statement.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
from jaxapi import fuse, mutable

DTYPES = [np.float16, np.float32, np.float64]
SIZE = 4096

# A step takes a number and an operand, which is another array, one element or a literal, and a namespace.
ROUNDED = {
    "divide": lambda x, y, xp: x / y,
    "divide by": lambda x, y, xp: y / x,
    "reciprocal": lambda x, y, xp: 1 / x,
    "reciprocal function": lambda x, y, xp: xp.reciprocal(x),
    "square root": lambda x, y, xp: xp.sqrt(x),
    "reciprocal of root": lambda x, y, xp: 1 / xp.sqrt(x),
    "inverse square": lambda x, y, xp: 1 / (x * x) if xp is np else x**-2,
}
BETWEEN = {
    "nothing": lambda x, y, xp: x,
    "sum": lambda x, y, xp: x + y,  # never of a product, which compilers contract
    "product": lambda x, y, xp: x * y,
}


def random_chains(count, seed):
    """Draw chains: each has three rounded steps, and before the second and the third something between."""
    rng = np.random.default_rng(seed)
    chains = []
    for _ in range(count):
        names = []
        for position in range(3):
            if position:
                names.append(rng.choice([*BETWEEN]))
            names.append(rng.choice([*ROUNDED]))
        chains.append([(str(name), rng.choice(["array", "element", "literal"])) for name in names])
    return chains


def run_chain(chain, x, operands, namespace):
    steps = {**ROUNDED, **BETWEEN}
    for name, operand in chain:
        x = steps[name](x, operands[operand], namespace)
    return x


CHAINS = random_chains(30, seed=60)


@pytest.mark.thorough
@pytest.mark.daily("float64")
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_chains_in_one_program(dtype):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 2, (2, SIZE)).astype(dtype)
    element = dtype(1.4)

    @fuse
    def program(x, y, element):
        operands = {"array": y, "element": element, "literal": 0.7}
        return [run_chain(chain, x, operands, xp) for chain in CHAINS]

    operands = {"array": y, "element": element, "literal": 0.7}
    for chain, actual in zip(CHAINS, program(x, y, element), strict=True):
        expected = run_chain(chain, x, operands, np)
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected, err_msg=str(chain))


@pytest.mark.parametrize("dtype", DTYPES)
def test_known_rewrites_of_compilers(dtype):
    """Quotients that become products, roots that vanish, and numbers that are known at compile time."""
    rng = np.random.default_rng(1)
    a, b, c = rng.uniform(0.5, 2, (3, SIZE)).astype(dtype)
    table = rng.uniform(0.5, 2, SIZE).astype(dtype)

    def of(xp):
        def function(a, b, c, whole):
            reciprocal = 1 / a
            root = xp.sqrt(a)
            return [
                a / b / c,
                a / (b / c),
                1 / reciprocal,
                root * root,
                1 / xp.sqrt(a),
                a / 49,
                table / 3,
                a / table,
                a / b[0],
                a / whole,
                (a / 49) / (b / 41),
                xp.sqrt(a / b) / xp.sqrt(b / a),
            ]

        return function

    whole = dtype(41)
    fused = fuse(of(xp))(a, b, c, whole)
    by_numpy = of(np)(a, b, c, whole)
    for i, (actual, expected) in enumerate(zip(fused, by_numpy, strict=True)):
        np.testing.assert_array_equal(actual, expected, err_msg=f"number {i}")


def test_special_values():
    """Of quotients that are no subnormal numbers, which XLA makes 0 on a CPU."""
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e37, 2e-38], np.float32)
    x, y = (part.ravel() for part in np.meshgrid(values, values))

    def function(x, y, xp):
        return [x / y, xp.sqrt(x), 1 / x, 1 / xp.sqrt(x)]

    with np.errstate(all="ignore"):
        expected = function(x, y, np)
    for actual, wanted in zip(fuse(lambda x, y: function(x, y, xp))(x, y), expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)
        is_number = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(actual)[is_number], np.signbit(wanted)[is_number])


@pytest.mark.parametrize("dtype", DTYPES)
def test_means_of_equal_numbers(dtype):
    """Also by functions that JAX compiles by itself."""
    lengths = [41, 49, 47, 55]
    means = fuse(lambda arrays: [(jnp.mean(x), xp.var(x), x / xp.sum(x)) for x in arrays])
    for n, (mean, variance, part) in zip(lengths, means([np.ones(n, dtype) for n in lengths]), strict=True):
        assert mean == 1
        assert variance == 0
        np.testing.assert_array_equal(part, dtype(1) / np.full(n, n, dtype))


def test_weak_types_and_shapes_of_results(x64):
    """They are those of `jax.jit`."""

    def function(x, s):
        half = x.astype(jnp.float16)
        root = jnp.sqrt(s)
        return [
            s / 3,
            root,
            s**-2,
            jax.lax.rsqrt(s),
            x / s,
            half * (s / 3),
            half * root,
            s,
            5,
            1 / 3,
            {"a": 1 / s},
        ]

    x = np.ones(3, np.float32)
    plain = jax.eval_shape(jax.jit(function), x, 2.5)
    fused = jax.eval_shape(fuse(function), x, 2.5)
    assert jax.tree.structure(fused) == jax.tree.structure(plain)
    for actual, expected in zip(jax.tree.leaves(fused), jax.tree.leaves(plain), strict=True):
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        assert actual.weak_type == expected.weak_type


def test_float64_inside_of_a_float32_function():
    """With x64 off, too."""
    x = np.random.default_rng(2).uniform(0.5, 2, SIZE).astype(np.float32)
    wide = fuse(lambda x: xp.sqrt(xp.astype(x, xp.float64) / 49))(x)
    np.testing.assert_array_equal(wide, np.sqrt(x.astype(np.float64) / 49))
    assert wide.dtype == np.float64


class TestTransformations:
    x = np.random.default_rng(3).uniform(0.5, 2, 5)

    @staticmethod
    def function(x, s):
        """Has quotients and roots in all places; and what has derivative rules of its own, and a loop."""
        x = x / s + xp.sqrt(x) / (1 + x**-2) + jax.lax.rsqrt(x * s)
        x = jax.lax.fori_loop(0, 2, lambda i, y: y / (1 + y), x)
        return jax.nn.silu(x) @ jax.nn.softmax(x / s) / jnp.linalg.norm(x)

    @pytest.mark.thorough
    def test_derivatives_are_those_of_the_plain_function(self):
        transformed = [
            lambda f: jax.grad(f, (0, 1)),
            lambda f: jax.jacfwd(f, (0, 1)),
            lambda f: jax.hessian(f, (0, 1)),
            lambda f: jax.vmap(jax.value_and_grad(f, 1), (None, 0)),
        ]
        arguments = [(self.x, 2.0), (self.x, 2.0), (self.x, 2.0), (self.x, np.array([2.0, 3.0]))]
        with jax.enable_x64(True):
            for transform, given in zip(transformed, arguments, strict=True):
                actual = transform(fuse(self.function))(*given)
                expected = transform(self.function)(*given)
                for one, other in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)

    def test_vmap_of_one_number(self):
        x = np.random.default_rng(4).uniform(0.5, 2, SIZE).astype(np.float32)
        f = fuse(lambda x, d: xp.sqrt(x / d))
        for batched, given in (((0, None), (x, 49.0)), ((None, 0), (np.float32(3), x))):
            expected = np.sqrt(given[0] / np.asarray(given[1], np.float32))
            np.testing.assert_array_equal(jax.vmap(f, batched)(*given), expected)
        inside = fuse(lambda x: jax.vmap(lambda x, d: x / d, (0, None))(x, 49.0))
        np.testing.assert_array_equal(inside(x), x / np.float32(49))

    def test_fused_in_fused_in_jit(self):
        x = np.random.default_rng(5).uniform(0.5, 2, SIZE).astype(np.float32)
        inner = fuse(lambda x: 1 / xp.sqrt(x))
        outer = jax.jit(fuse(lambda x: inner(x) / inner(x + 1)))
        expected = (1 / np.sqrt(x)) / (1 / np.sqrt(x + 1))
        np.testing.assert_array_equal(outer(x), expected)

    def test_methods(self):
        class Mean:
            def __init__(self, count):
                self.count = np.float32(count)

            @fuse
            def of(self, x):
                return x / self.count

        x = np.random.default_rng(6).uniform(0.5, 2, SIZE).astype(np.float32)
        np.testing.assert_array_equal(Mean(49).of(x), x / np.float32(49))

    def test_arguments_that_change(self):
        @mutable.fuse
        def normalize(x, total):
            x /= total
            x[0] = 1 / x[0]

        values = np.random.default_rng(7).uniform(0.5, 2, SIZE).astype(np.float32)
        x = mutable.asarray(values)
        normalize(x, np.float32(49))
        expected = values / np.float32(49)
        expected[0] = 1 / expected[0]
        np.testing.assert_array_equal(np.asarray(x), expected)

    def test_export_with_a_symbolic_length(self):
        (n,) = jax.export.symbolic_shape("n")
        exported = jax.export.export(fuse(lambda x: x / 49 / xp.mean(x)))(
            jax.ShapeDtypeStruct((n,), np.float32)
        )
        x = np.full(41, 3, np.float32)
        np.testing.assert_array_equal(exported.call(x), x / np.float32(49) / np.float32(3))


def test_loops_and_conditions_compute_as_jax_does():
    x = np.random.default_rng(8).uniform(0.5, 2, 8).astype(np.float32)

    def function(x):
        x = jax.lax.cond(x[0] > 0, lambda x: x / 49, lambda x: x, x)
        x = jax.lax.while_loop(lambda x: x[0] > 1e-3, lambda x: x / 7, x)
        return jax.lax.scan(lambda carry, y: (carry / y, jnp.sqrt(y)), x[0], x)

    for actual, expected in zip(fuse(function)(x), jax.jit(function)(x), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("module", [xp, mutable])
def test_integers_divided_by_zero(module, dtype):
    """They are 0, and the least integer divided by -1 wraps, as in NumPy."""
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.min, limits.max, 7, 0, 5], dtype)
    y = np.array([limits.min and -1, 0, 0, 0, 0, 2], dtype)

    def divided(x, y):
        return x // y, x % y, *divmod(x, y), x // 0, x % 0, 7 // y, 7 % y, *divmod(x, 0)

    with np.errstate(all="ignore"), jax.enable_x64(True):
        expected = divided(x, y)
        made = fuse(divided) if module is xp else mutable.fuse(divided)
        for found, of_numpy in zip(made(module.asarray(x), module.asarray(y)), expected, strict=True):
            assert found.dtype == of_numpy.dtype
            np.testing.assert_array_equal(np.asarray(found), of_numpy)
