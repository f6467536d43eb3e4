"""Quotients, reciprocals, roots, floors and remainders of real numbers are NumPy's to the last bit.

The oracle is NumPy, statement by statement. XLA on a CPU makes numbers below the normal range 0, so that only
normal ones are compared there.
"""

import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi as xp
import jaxapi.mutable
import jaxapi.numpy
from jaxapi.mutable import _host_way

FLOATS = ["float16", "float32", "float64"]
NUMBER = 49.0  # whose reciprocal is not exact
SIZE = 2**14
IS_ON_CPU = jax.default_backend() == "cpu"


@pytest.fixture(autouse=True)
def by_jax():
    """Have JAX compute, as it does on a GPU, where NumPy would."""
    before = _host_way.is_on()
    _host_way.set_on(False)
    yield
    _host_way.set_on(before)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def random_bits(rng, dtype):
    return np.frombuffer(rng.bytes(SIZE * np.dtype(dtype).itemsize), dtype)


def near_ties(rng, dtype):
    """Return pairs whose quotients are nearly half-way between two numbers."""
    bits = np.finfo(dtype).nmant + 1
    quotients = (2 * rng.integers(2 ** (bits - 1), 2**bits, SIZE) + 1).astype(np.longdouble)
    divisors = rng.uniform(0.5, 2, SIZE).astype(dtype)
    return np.ldexp(quotients * divisors, -bits).astype(dtype), divisors


def ties_below_the_normal_range(rng, dtype):
    odd = 2 * rng.integers(1, 2 ** (np.finfo(dtype).nmant - 2), SIZE) + 1
    factor = rng.choice([3, 5, 7], SIZE)
    least = float(np.finfo(dtype).smallest_subnormal)
    return (odd * factor).astype(dtype) * np.asarray(least, dtype), (2 * factor).astype(dtype)


def nearly_whole(rng, dtype):
    """Return pairs whose quotients are whole numbers, or next to one."""
    divisors = rng.choice([-1, 1], SIZE) * rng.uniform(0.1, 10, SIZE)
    divisors = divisors.astype(dtype)
    return (rng.integers(1, 2000, SIZE).astype(dtype) * divisors).astype(dtype), divisors


def all_pairs(dtype):
    rng = np.random.default_rng(0)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 3, 49, -7], dtype)
    pairs = [
        (random_bits(rng, dtype), random_bits(rng, dtype)),
        near_ties(rng, dtype),
        ties_below_the_normal_range(rng, dtype),
        nearly_whole(rng, dtype),
        (np.repeat(special, len(special)), np.tile(special, len(special))),
    ]
    x, y = zip(*pairs, strict=True)
    return np.concatenate(x), np.concatenate(y)


def is_normal(x):
    return (x == 0) | ~(abs(x) < np.finfo(x.dtype).tiny)


def check(name, made, expected, *on_the_way):
    """Compare what is made with NumPy's numbers, signs of zeros included."""
    made = np.asarray(made)
    assert made.dtype == expected.dtype, name
    same = (made == expected) & (np.signbit(made) == np.signbit(expected))
    same |= np.isnan(made) & np.isnan(expected)
    if IS_ON_CPU:
        for numbers in (expected, *on_the_way):
            same |= ~is_normal(numbers)
    wrong = np.flatnonzero(~same)
    numbers = [np.broadcast_to(x, same.shape)[wrong[:3]] for x in on_the_way]
    text = f"{name}: {len(wrong)} of {same.size} are wrong, as {made[wrong[:3]]} for {expected[wrong[:3]]}"
    assert not len(wrong), f"{text}, of {numbers}"


def in_place(change):
    def changed(x, y):
        return change(+x, y)  # of a new array

    return changed


OPERATIONS = {"/": np.divide, "//": np.floor_divide, "%": np.remainder}
PYTHONS = {"/": operator.truediv, "//": operator.floordiv, "%": operator.mod}
IN_PLACE = {
    "/=": in_place(operator.itruediv),
    "//=": in_place(operator.ifloordiv),
    "%=": in_place(operator.imod),
}


def routes_of_two(module):
    """Return functions of two operands by their names, each with that of NumPy's operation."""
    routes = {}
    for sign, numpys in OPERATIONS.items():
        routes[numpys.__name__] = (getattr(module, numpys.__name__), sign)
    if module is not xp:
        routes |= {sign: (function, sign) for sign, function in PYTHONS.items()}
        routes |= {sign: (function, sign[:-1]) for sign, function in IN_PLACE.items()}
    return routes


def has_standards_floor(module, sign, x, y):
    """Say where an array of the standard has another floor than NumPy's: that of the quotient itself."""
    if sign != "//" or module is jaxapi.numpy:
        return np.zeros(np.broadcast_shapes(x.shape, y.shape), bool)
    return ~np.isfinite(x) | ~np.isfinite(y)


def check_operation(name, module, sign, made, x, y):
    expected = OPERATIONS[sign](x, y)
    counted = ~has_standards_floor(module, sign, x, y)
    on_the_way = [x, y] if sign == "/" else [x, y, np.fmod(x, y)]
    on_the_way = [np.broadcast_to(part, counted.shape)[counted] for part in on_the_way]
    check(name, np.asarray(made)[counted], expected[counted], *on_the_way)


MODULES = [xp, jaxapi.mutable, jaxapi.numpy]


def with_x64_on_and_off(test):
    """Run a test of a dtype with x64 mode off, and on for the dtypes whose programs that changes."""

    def run(dtype, x64):
        with jax.enable_x64(x64):
            test(dtype)

    run.__doc__ = test.__doc__
    cases = [(dtype, x64) for x64 in (False, True) for dtype in FLOATS[x64:]]
    return pytest.mark.parametrize(("dtype", "x64"), cases)(run)


@pytest.mark.thorough
@with_x64_on_and_off
def test_each_operation(dtype):
    """By arrays, by an array of one number and by Python's number."""
    x, y = all_pairs(dtype)
    number = np.asarray(NUMBER, dtype)
    for module in MODULES:
        a, b, one = (module.asarray(xp.asarray(part)) for part in (x, y, number))
        for name, (function, sign) in routes_of_two(module).items():
            label = f"{module.__name__} {name}"
            check_operation(label, module, sign, function(a, b), x, y)
            check_operation(f"{label}, of one number", module, sign, function(a, one), x, number)
            check_operation(f"{label}, Python's", module, sign, function(a, NUMBER), x, number)
            if not name.endswith("="):
                check_operation(f"{label}, of a number by", module, sign, function(NUMBER, a), number, x)
        check(f"{module.__name__} reciprocal", module.reciprocal(a), np.reciprocal(x), x)
        check(f"{module.__name__} sqrt", module.sqrt(a), np.sqrt(x), x)


@pytest.mark.thorough
@pytest.mark.daily("float32-True")
@with_x64_on_and_off
def test_each_operation_in_a_program(dtype):
    """All of them in one program, which knows numbers, and that some are whole."""
    x, y = all_pairs(dtype)
    number = np.asarray(NUMBER, dtype)
    constant = xp.asarray(number)
    whole = np.random.default_rng(0).integers(1, 1000, x.shape).astype("int16")

    @jax.jit
    def program(x, y, whole):
        made = {}
        floats = whole.astype(dtype)
        for module in MODULES:
            a, b, c, known, whole_numbers = map(module.asarray, (x, y, constant, floats, whole))
            key = module.__name__
            for name, (function, _) in routes_of_two(module).items():
                made[key, name, "arrays"] = function(a, b)
                made[key, name, "number"] = function(a, NUMBER)
                made[key, name, "constant"] = function(a, c)
                made[key, name, "whole"] = function(known, NUMBER)
            made[key, "reciprocal"] = module.reciprocal(a)
            made[key, "sqrt"] = module.sqrt(a)
            made[key, "integers"] = module.divide(whole_numbers, 7)
        return {name: getattr(part, "_value", part) for name, part in made.items()}

    made = {name: np.asarray(part) for name, part in program(*map(xp.asarray, (x, y, whole))).items()}
    for module in MODULES:
        key = module.__name__
        for name, (_, sign) in routes_of_two(module).items():
            check_operation((key, name), module, sign, made[key, name, "arrays"], x, y)
            for kind in ("number", "constant"):
                check_operation((key, name, kind), module, sign, made[key, name, kind], x, number)
            check_operation((key, name), module, sign, made[key, name, "whole"], whole.astype(dtype), number)
        check((key, "reciprocal"), made[key, "reciprocal"], np.reciprocal(x), x)
        check((key, "sqrt"), made[key, "sqrt"], np.sqrt(x), x)
        integers = made[key, "integers"]
        check((key, "integers"), integers, whole.astype(integers.dtype) / integers.dtype.type(7))


def random_chain(rng):
    """Return a function of a namespace and three arrays: three operations, a sum or a product between.

    A product is never added, which compilers contract.
    """
    steps = []
    for i in range(3):
        operation = rng.choice(["divide", "divided", "by a number", "reciprocal", "sqrt", "root of sum"])
        steps.append((operation, rng.integers(3)))
        if i < 2:
            steps.append((rng.choice(["add", "multiply", "square", "nothing"]), rng.integers(3)))

    def chain(np, *arrays):
        x = arrays[0]
        for name, i in steps:
            other = arrays[i]
            if name == "divide":
                x = np.divide(x, other)
            elif name == "divided":
                x = np.divide(other, x)
            elif name == "by a number":
                x = np.divide(x, other.dtype.type(NUMBER))
            elif name == "reciprocal":
                x = np.reciprocal(x)
            elif name == "sqrt":
                x = np.sqrt(x)
            elif name == "root of sum":
                x = np.sqrt(np.reciprocal(x))
            elif name == "add":
                x = np.add(x, other)
            elif name == "multiply":
                x = np.multiply(x, other)
            elif name == "square":
                x = np.multiply(x, x)
        return x

    return chain, [name for name, _ in steps]


@pytest.mark.thorough
@pytest.mark.daily("float32")
@pytest.mark.parametrize("dtype", FLOATS)
def test_chains_in_one_program(dtype):
    rng = np.random.default_rng(1)
    operands = rng.uniform(0.5, 2, (3, SIZE)).astype(dtype)
    chains = [random_chain(rng) for _ in range(30)]
    with jax.enable_x64(dtype == "float64"):
        program = jax.jit(lambda *operands: [chain(xp, *operands) for chain, _ in chains])
        made = program(*map(xp.asarray, operands))
    for part, (chain, names) in zip(made, chains, strict=True):
        check(names, part, chain(np, *operands))


def test_multiples_by_their_divisors(x64):
    """By arrays, by one number, and by numbers that a program knows."""
    x = np.arange(1, 2000, dtype=np.float32)
    divisors = np.arange(2, 300, dtype=np.float32)
    multiples = x * divisors[:, None]
    np.testing.assert_array_equal(xp.floor(xp.divide(multiples, divisors[:, None])), np.tile(x, (298, 1)))
    known = [3, 41, 47, 55, 61, 83, 97, 197, 299]
    program = jax.jit(lambda rows: [xp.floor(xp.divide(rows[k - 2], k)) for k in known])
    np.testing.assert_array_equal(program(jnp.asarray(multiples)), np.tile(x, (len(known), 1)))
    for k, row in zip(divisors, multiples, strict=True):
        assert (np.asarray(xp.divide(row, k)) == x).all(), k
    for name in ("floor_divide", "remainder"):
        made = getattr(xp, name)(multiples, divisors[:, None])
        np.testing.assert_array_equal(made, getattr(np, name)(multiples, divisors[:, None]))


@pytest.mark.thorough
@pytest.mark.daily("float32")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_statistics_of_equal_numbers(dtype):
    """The mean of equal numbers is that number, and nothing varies, where the sum is exact."""
    size = 49
    numbers = np.arange(1, 200).astype(dtype)
    rows = np.repeat(numbers[:, None], size, axis=1)
    jaxs = xp.asarray(rows)
    array = jaxapi.numpy.asarray(jaxs)
    np_ = jaxapi.numpy
    means = {
        "mean": xp.mean(jaxs, axis=1),
        "mean, where": xp.mean(jaxs, axis=1, where=np.arange(size) < size - 2),
        "mean in a program": jax.jit(lambda x: xp.mean(x, axis=1))(jaxs),
        "mean, mutable": jaxapi.mutable.mean(jaxapi.mutable.asarray(jaxs), axis=1),
        "mean, numpy": np_.mean(array, axis=1),
        "method": array.mean(1),
        "average": np_.average(array, axis=1),
        "average with weights": np_.average(array, axis=1, weights=np.full(size, 3, dtype)),
        "nanmean": np_.nanmean(array, axis=1),
    }
    for name, made in means.items():
        check(name, made, numbers)
    variations = {
        "var": xp.var(jaxs, axis=1),
        "std": xp.std(jaxs, axis=1, correction=1),
        "var, numpy": np_.var(array, axis=1),
        "std, numpy": np_.std(array, axis=1, ddof=1),
        "nanvar": np_.nanvar(array, axis=1),
        "nanstd": np_.nanstd(array, axis=1),
        "cov": np_.cov(array)[0],
    }
    for name, made in variations.items():
        assert (np.asarray(made) == 0).all(), name


@pytest.mark.thorough
def test_statistics_as_numpys():
    """One division after an exact sum is NumPy's to the last bit."""
    x = np.random.default_rng(0).integers(-50, 50, (5, 49)).astype(np.float32)
    cases = [
        lambda np, x: np.mean(x, 1),
        lambda np, x: np.average(x, 1, weights=np.arange(49, dtype="float32")),
        lambda np, x: np.round(x[0] * np.float32(1.2345), 2),
        lambda np, x: np.round(x[0] * np.float32(123.45), -1),
        lambda np, x: np.gradient(x[0], np.float32(3)),
        lambda np, x: np.histogram(x, density=True)[0],
        lambda np, x: np.pad(np.arange(3), 7, "linear_ramp", end_values=70),
        lambda np, x: np.linspace(np.float32(0), x[0, 0], 50, retstep=True)[1],
    ]
    with jax.enable_x64(True):
        for i, case in enumerate(cases):
            made = np.asarray(case(jaxapi.numpy, jaxapi.numpy.asarray(x)))
            np.testing.assert_array_equal(made, case(np, x), f"case {i}")


@pytest.mark.thorough
def test_methods_of_ufuncs():
    """`at`, `outer`, `reduce`, ``out=`` and ``where=``, which call the function of each element."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2, 2000).astype(np.float32)
    divisors = np.array([3, 7, 49], np.float32)
    places = np.arange(0, 2000, 3)

    def at(np, x, divisors, places):
        x = +x
        np.divide.at(x, places, np.float32(NUMBER))
        return x

    def out(np, x, divisors, places):
        made = np.empty_like(x)
        np.divide(x, np.float32(NUMBER), out=made)
        return np.sqrt(made, out=made)

    def view(np, x, divisors, places):
        x = +x
        x[3:1000:2] /= NUMBER
        return x

    cases = [
        at,
        out,
        view,
        lambda np, x, *_: np.reciprocal(np.sqrt(x)),
        lambda np, x, divisors, *_: np.divide.outer(x, divisors),
        lambda np, x, *_: np.divide.reduce(x.reshape(4, 500)),
        lambda np, x, *_: np.divide.accumulate(x.reshape(4, 500)),
        lambda np, x, *_: np.divide(x, np.float32(NUMBER), where=x > 1, out=+x),
    ]
    operands = [x, divisors, places]
    for i, case in enumerate(cases):
        made = case(jaxapi.numpy, *map(jaxapi.numpy.asarray, operands))
        check(i, np.ravel(np.asarray(made)), np.ravel(case(np, *operands)))


POINTS = [
    (3.0, 2.0),
    (-3.0, 7.0),
    (0.0, 3.0),
    (3.0, 0.0),
    (0.0, 0.0),
    (np.inf, 3.0),
    (3.0, np.inf),
    (1e30, 1e-10),
]


@pytest.mark.parametrize("name", ["divide", "sqrt", "reciprocal"])
def test_derivatives(name):
    """First and second ones, forward and reverse, are those of `jax.numpy`, and no NaN comes in."""
    x, y = jnp.asarray(POINTS).T
    operands = (x, y) if name == "divide" else (x,)
    argnums = tuple(range(len(operands)))
    made, expected = (
        np.asarray(jax.tree.leaves(derivatives(getattr(module, name), argnums)(*operands)))
        for module in (xp, jnp)
    )
    known = ~np.isnan(expected)
    np.testing.assert_allclose(made[known], expected[known], rtol=1e-6)


def derivatives(function, argnums):
    """Return a program of the first and second derivatives at each point."""
    ways = jax.jacfwd, jax.jacrev
    first = [derive(function, argnums) for derive in ways]
    second = [derive(slope, argnums) for derive, slope in zip(ways, reversed(first), strict=True)]
    return jax.jit(lambda *operands: [jax.vmap(f)(*operands) for f in (*first, *second)])


def test_batches_of_one_number():
    """Under `jax.vmap` a number that all share is no number that XLA may multiply by."""
    x = np.random.default_rng(0).uniform(0.5, 2, (50, 100)).astype(np.float32)
    number = np.float32(NUMBER)
    over_rows = jax.jit(jax.vmap(xp.divide, in_axes=(0, None)))
    check("shared divisor", over_rows(x, number), x / number, x)
    one_each = np.full(50, number)
    check("equal divisors", jax.jit(jax.vmap(xp.divide))(x, one_each), x / number, x)
    check("known", jax.jit(jax.vmap(lambda row: xp.divide(row, NUMBER)))(x), x / number, x)


def test_numbers_stay_weak():
    """What a program made of Python's numbers takes the dtype of the array that it meets."""
    x = jnp.ones(3, jnp.float16)
    for function in (lambda t: xp.divide(t, 3.0), xp.sqrt, xp.reciprocal):
        assert jax.jit(lambda x, t, function=function: x * function(t))(x, 2.0).dtype == np.float16


def test_transposed():
    """A quotient is linear in the dividend, and so are means."""
    x = np.arange(1, 8, dtype=np.float32)
    (made,) = jax.linear_transpose(lambda x: xp.divide(x, NUMBER), x)(x)
    check("by a number", made, x / np.float32(NUMBER))
    (shares,) = jax.linear_transpose(xp.mean, x)(np.float32(1))
    check("mean", shares, np.full(7, 1 / np.float32(7)))


def test_sharded_operands():
    """A number is divided by where JAX keeps account of shardings, as a part of each device's array."""
    count = len(jax.devices())
    mesh = jax.make_mesh((count,), ("rows",), axis_types=(jax.sharding.AxisType.Explicit,))
    x = np.random.default_rng(0).uniform(0.5, 2, (count, 100)).astype(np.float32)
    with jax.set_mesh(mesh):
        rows = jax.device_put(x, jax.sharding.PartitionSpec("rows"))
        made = jax.jit(lambda x: (xp.divide(x, NUMBER), xp.floor_divide(x, 0.1), xp.sqrt(x)))(rows)
    assert {part.sharding.spec for part in made} == {jax.sharding.PartitionSpec("rows", None)}
    expected = x / np.float32(NUMBER), x // np.float32(0.1), np.sqrt(x)
    for i, (part, numbers) in enumerate(zip(made, expected, strict=True)):
        check(i, part, numbers)


def test_inside_of_other_transformations():
    """Loops, conditions, recomputation, shard_map and debug_nans: what is called there is exact, too."""
    count = len(jax.devices())
    mesh = jax.make_mesh((count,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("rows")
    x = np.random.default_rng(0).uniform(0.5, 2, (count, 60)).astype(np.float32)
    number = np.float32(NUMBER)

    def both(x):
        return xp.divide(xp.sqrt(x), NUMBER)

    def by_steps(x):
        return jax.lax.scan(lambda carry, row: (carry, both(row)), 0.0, x)[1]

    def by_condition(x):
        return jax.lax.cond(x[0, 0] > 0, both, lambda x: x, x)

    programs = {
        "scan": by_steps,
        "cond": by_condition,
        "remat": jax.checkpoint(both),
        "shard_map": jax.shard_map(both, mesh=mesh, in_specs=spec, out_specs=spec),
    }
    made = jax.jit(lambda x: {name: program(x) for name, program in programs.items()})(x)
    for name, numbers in made.items():
        check(name, numbers, np.sqrt(x) / number, x)

    def summed_slope(x):
        slope = jax.grad(lambda x: jnp.sum(jax.checkpoint(both)(x)))(x)
        return jax.lax.pmean(slope, "rows")

    slopes = jax.jit(
        jax.shard_map(summed_slope, mesh=mesh, in_specs=spec, out_specs=jax.sharding.PartitionSpec())
    )
    expected = np.mean(0.5 / np.sqrt(x) / number, axis=0, keepdims=True)
    np.testing.assert_allclose(slopes(x), expected, rtol=1e-5)
    with jax.debug_nans(True):
        check("debug_nans", both(jnp.asarray(x)), np.sqrt(x) / number, x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_norms(dtype):
    """The sum of squares of whole numbers is exact, and its root is NumPy's."""
    x = np.random.default_rng(0).integers(0, 50, (2000, 6)).astype(dtype)
    lengths = np.sqrt(np.sum(x * x, axis=1))
    ours = jaxapi.numpy.asarray(xp.asarray(x))
    made = {
        "vector_norm": xp.linalg.vector_norm(x, axis=1),
        "numpy, vector_norm": jaxapi.numpy.linalg.vector_norm(ours, axis=1),
        "numpy, norm": jaxapi.numpy.linalg.norm(ours, axis=1),
        "matrix_norm": xp.linalg.matrix_norm(x[:, :, None]),
        "numpy, matrix_norm": jaxapi.numpy.linalg.matrix_norm(ours[:, :, None]),
    }
    for name, numbers in made.items():
        check(name, numbers, lengths)
