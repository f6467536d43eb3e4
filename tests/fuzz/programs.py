"""Random programs on arrays that are assigned to, statement by statement, beside NumPy's.

A statement is a function of the namespace and of the list of arrays, which it changes, or adds a view or a
copy to. `Flat` runs the same statements as a plain functional program of jax.numpy, for derivatives.
"""

import operator

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st
from jax import lax

import jaxapi.mutable as xp

__all__ = ["TRANSFORMS", "Flat", "check", "check_traced", "final", "random_program", "run", "start"]

SHAPES = [(6,), (4, 6), (2, 3, 4)]
SLICES = [slice(None), slice(1, None), slice(None, -1), slice(None, None, -1), slice(None, None, 2)]
IN_PLACE = {"+=": operator.iadd, "-=": operator.isub}
NUMBERS = [2.0, -1.0, 0.5, 3.0]
MOST = 8  # arrays
LENGTH = 25  # statements of a program


def start(rng):
    """Return the arrays that a program starts with: small integers, whose sums are exact."""
    return [rng.integers(-9, 10, shape).astype(np.float64) for shape in SHAPES]


def random_program(rng, arrays, length=LENGTH):
    """Return statements that fit arrays of these shapes, each with its text."""
    arrays = [x.copy() for x in arrays]
    program = []
    while len(program) < length:
        text, statement = random_statement(rng, arrays)
        statement(np, arrays)
        program.append((text, statement))
    return program


def run(program, namespace, arrays):
    """Run a program; return its arrays."""
    arrays = list(arrays)
    for _, statement in program:
        statement(namespace, arrays)
    return arrays


def random_key(rng, shape):
    """Draw ints, slices, ``...`` and new axes; at least one element, and never an element's copy."""
    keys = []
    for n in shape[: rng.integers(0, len(shape) + 1)]:
        keys.append(int(rng.integers(-n, n)) if rng.random() < 0.3 else SLICES[rng.integers(len(SLICES))])
    keys = [
        k if isinstance(k, int) or range(n)[k] else slice(None) for k, n in zip(keys, shape, strict=False)
    ]
    if rng.random() < 0.15:
        keys.insert(int(rng.integers(len(keys) + 1)), None)
    return (*keys, ...)


def random_statement(rng, arrays):
    """Draw a statement for these arrays: its text, and what it does."""
    i, j = map(int, rng.integers(len(arrays), size=2))
    x, y = arrays[i], arrays[j]
    key, other = random_key(rng, x.shape), random_key(rng, y.shape)
    number = NUMBERS[rng.integers(len(NUMBERS))]
    name = ["+=", "-="][rng.integers(2)]
    apply = IN_PLACE[name]
    fits = fitting(x[key].shape, y[other].shape)
    choice = rng.integers(14)
    if choice < 3 and len(arrays) < MOST:
        return random_part(rng, i, x, key)
    if choice == 3 and x.ndim:
        rows = rng.permutation(len(x))[: max(len(x) // 2, 1)]
        return f"x{i}[{rows.tolist()}] = {number}", lambda xp, a: operator.setitem(a[i], rows, number)
    if choice == 4:
        return f"x{i}[x{i} > {number}] = {number / 2}", lambda xp, a: operator.setitem(
            a[i], a[i] > number, number / 2
        )
    if choice == 5:
        kind = ["sum", "max", "min"][rng.integers(3)]
        return f"x{i}[{key}] = {kind}(x{j}) / 2", lambda xp, a: operator.setitem(
            a[i], key, getattr(xp, kind)(a[j]) * 0.5
        )
    if choice == 6 and x.ndim:
        return f"x{i}.sort(0)", lambda xp, a: a[i].sort(0)
    if choice == 7 and x.ndim:
        rows = rng.integers(-len(x), len(x), 4)
        return f"add.at(x{i}, {rows.tolist()}, {number})", lambda xp, a: xp.add.at(a[i], rows, number)
    if choice == 8 and x.ndim:

        def loop(xp, a):
            for k, part in enumerate(a[i]):
                a[i][-1 - k, ...] = part * 0.5 + a[i][k]

        return f"for k, part in enumerate(x{i}): x{i}[-1 - k] = part / 2 + x{i}[k]", loop
    if choice == 9 and x.shape == y.shape:
        return f"add(x{i}, x{j}, out=x{i})", lambda xp, a: xp.add(a[i], a[j], out=a[i])
    if choice < 12 and fits:
        if rng.random() < 0.5:
            return f"x{i}[{key}] = x{j}[{other}]", lambda xp, a: operator.setitem(a[i], key, a[j][other])

        def write(xp, a):
            a[i][key] = apply(a[i][key], a[j][other])

        return f"x{i}[{key}] {name} x{j}[{other}]", write
    if choice == 12:
        return f"x{i} *= {number}", lambda xp, a: operator.imul(a[i], number)
    return f"x{i}[{key}] = {number}", lambda xp, a: operator.setitem(a[i], key, number)


def random_part(rng, i, x, key):
    """Draw a view or a copy of an array, which the statement adds to the arrays."""
    shapes = [(-1,), (2, -1)] if x.size % 2 == 0 else [(-1,)]
    shape = shapes[rng.integers(len(shapes))]
    first, second = (int(rng.integers(x.ndim)) if x.ndim else 0 for _ in range(2))
    parts = {
        f"x{i}[{key}]": lambda x: x[key],
        f"x{i}.T": lambda x: x.T,
        f"x{i}.reshape{shape}": lambda x: x.reshape(shape),
        f"x{i}.ravel()": lambda x: x.ravel(),
        f"x{i}.copy()": lambda x: x.copy(),
    }
    if x.ndim:  # NumPy's x + 1 is no array otherwise, and has the strides of x
        parts[f"(x{i} + 1).copy()"] = lambda x: (x + 1.0).copy()
        parts[f"x{i}.swapaxes({first}, {second})"] = lambda x: x.swapaxes(first, second)
    text = list(parts)[rng.integers(len(parts))]
    return text, lambda xp, a: a.append(parts[text](a[i]))


def fitting(into, shape):
    """Say whether an array broadcasts to another one's shape."""
    try:
        return np.broadcast_shapes(into, shape) == into
    except ValueError:
        return False


def final(arrays):
    """Return what programs end with as values that JAX's transformations return."""
    return [jnp.asarray(x) for x in arrays]


def twice(arrays):
    """Stack each array on itself."""
    return jax.tree.map(lambda x: jnp.stack([x] * 2), arrays)


def second(arrays):
    return [x[1] for x in arrays]


TRANSFORMS = {
    "jit": jax.jit,
    "scan": lambda f: (
        lambda *arrays: [x[1] for x in lax.scan(lambda c, each: (c, f(*each)), 0, twice(arrays))[1]]
    ),
    "map": lambda f: lambda *arrays: second(lax.map(lambda each: f(*each), twice(arrays))),
    "cond": lambda f: lambda *arrays: lax.cond(arrays[0]._value[0] > -99, f, f, *arrays),
    "checkpoint": jax.checkpoint,
    "vmap": lambda f: lambda *arrays: second(jax.vmap(f)(*twice(arrays))),
}


def check(report, draw):
    """Run one program, and compare all arrays with NumPy's after each statement."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    hosts = start(rng)
    with jax.enable_x64(True):
        found = differences(random_program(rng, hosts), hosts)
    report.add("mutable.program", "eager", LENGTH, found)


def differences(program, hosts):
    """Return what differs first, with the program up to there."""
    arrays, hosts = [xp.asarray(x) for x in hosts], [x.copy() for x in hosts]
    for k, (_, statement) in enumerate(program):
        statement(np, hosts)
        texts = "; ".join(text for text, _ in program[: k + 1])
        try:
            statement(xp, arrays)
        except Exception as error:
            return [(type(error).__name__, f"{str(error)[:200]} in {texts}")]
        for i, (x, host) in enumerate(zip(arrays, hosts, strict=True)):
            x = np.asarray(x)
            if x.shape != host.shape or not np.allclose(x, host, rtol=1e-9, atol=1e-9 * np.abs(host).max()):
                return [("values", f"x{i} is {x.tolist()}, not {host.tolist()}, in {texts}")]
    return []


def check_traced(report, draw):
    """Run one program under each transformation, and its derivatives beside those of plain jax.numpy."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    with jax.enable_x64(True):
        hosts = [x + rng.random(x.shape) for x in start(rng)]  # without ties
        program = random_program(rng, hosts, 8)
        found = traced_differences(program, hosts, rng)
    report.add("mutable.program under transformations", "", 8 * (len(TRANSFORMS) + 3), found)


def traced_differences(program, hosts, rng):
    """Return what differs from NumPy's arrays, and from the derivatives of the functional program."""
    texts = "; ".join(text for text, _ in program)
    expected = run(program, np, [x.copy() for x in hosts])
    weights = [rng.random(x.shape) for x in expected]
    found = []

    def compare(name, ours, theirs):
        for i, (x, host) in enumerate(zip(ours, theirs, strict=True)):
            x, host = np.asarray(x), np.asarray(host)
            if x.shape != host.shape or not np.allclose(x, host, rtol=1e-9, atol=1e-9 * np.abs(host).max()):
                found.append((name, f"x{i} is {x.tolist()}, not {host.tolist()}, in {texts}"))

    def ours(*arrays):
        return final(run(program, xp, arrays))

    def loss(*arrays):
        ends = run(program, xp, arrays)
        return sum((xp.sum(x * w) for x, w in zip(ends, weights, strict=True)), xp.asarray(0.0))

    def plain(*values):
        ends = run(program, Flat, [Flat.of(x) for x in values])
        return sum(jnp.sum(x.value() * w) for x, w in zip(ends, weights, strict=True))

    def arrays():
        return [xp.asarray(x) for x in hosts]

    for name, transform in TRANSFORMS.items():
        compare(name, transform(ours)(*arrays()), expected)
    slopes = jax.grad(plain, (0, 1, 2))(*map(jnp.asarray, hosts))
    compare("grad", xp.grad(loss, (0, 1, 2))(*arrays()), slopes)
    compare("grad in jit", jax.jit(xp.grad(loss, (0, 1, 2)))(*arrays()), slopes)
    compare("grad of checkpoint", xp.grad(jax.checkpoint(loss), (0, 1, 2))(*arrays()), slopes)
    return found


class Flat:
    """NumPy's arrays as a functional program: flat memory, and for each view the places of its elements."""

    def __init__(self, memory, places):
        self.memory, self.places = memory, places  # a list of one value, and an array of NumPy's

    @classmethod
    def of(cls, value):
        return cls([jnp.ravel(value)], np.arange(value.size).reshape(value.shape))

    def value(self):
        return self.memory[0][self.places]

    def copy(self):
        return Flat.of(self.value())

    def write(self, value):
        self.memory[0] = self.memory[0].at[self.places].set(jnp.broadcast_to(value, self.places.shape))
        return self

    def __getitem__(self, key):
        places = self.places[key]
        is_view = isinstance(places, np.ndarray)
        return Flat(self.memory, places) if is_view else Flat.of(self.memory[0][places])

    def __setitem__(self, key, value):
        value = value.value() if isinstance(value, Flat) else value
        if isinstance(key, jax.Array):
            self.write(jnp.where(key, value, self.value()))
        else:
            Flat(self.memory, np.asarray(self.places[key])).write(value)

    def __iter__(self):
        return (self[k] for k in range(len(self.places)))

    def __iadd__(self, other):
        return self.write(self.value() + plain_value(other))

    def __isub__(self, other):
        return self.write(self.value() - plain_value(other))

    def __imul__(self, other):
        return self.write(self.value() * plain_value(other))

    def __add__(self, other):
        return Flat.of(self.value() + plain_value(other))

    def __mul__(self, other):
        return Flat.of(self.value() * plain_value(other))

    def __gt__(self, other):
        return self.value() > other

    @property
    def T(self):
        return Flat(self.memory, self.places.T)

    def swapaxes(self, first, second):
        return Flat(self.memory, self.places.swapaxes(first, second))

    def reshape(self, shape):
        try:
            return Flat(self.memory, self.places.reshape(shape, copy=False))
        except ValueError:
            return Flat.of(self.value().reshape(shape))

    def ravel(self):
        flat = self.reshape((-1,))
        steps = np.diff(flat.places)
        return flat if (steps == 1).all() else flat.copy()

    def sort(self, axis):
        self.write(jnp.sort(self.value(), axis))

    @staticmethod
    def sum(x):
        return Flat.of(jnp.sum(x.value()))

    @staticmethod
    def max(x):
        return Flat.of(jnp.max(x.value()))

    @staticmethod
    def min(x):
        return Flat.of(jnp.min(x.value()))

    class add:
        """The function, and its ``at``."""

        def __new__(cls, x, y, out):
            return out.write(x.value() + y.value())

        @staticmethod
        def at(x, rows, number):
            x.write(x.value().at[rows].add(number))


def plain_value(x):
    return x.value() if isinstance(x, Flat) else x
