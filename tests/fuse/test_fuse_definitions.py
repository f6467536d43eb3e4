"""Functions defined in every way that Python knows: fused they give what plain `jax.jit` gives."""

import abc
import dataclasses
import enum
import functools
import operator
import re
from typing import Generic, NamedTuple, TypeVar

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_fused
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxapi as xp
from jaxapi import fuse

X = np.arange(6, dtype=np.float32).reshape(2, 3)

Y = X + 2


def plain(x, y):
    return x * y + 1


def with_default(x, y, a=2.0, *, b=3.0):
    return x * a + y * b


def positional_only(x, y, /, a=1):
    return x - a * y


def any_number(*args, **kwargs):
    return sum(args) * kwargs.get("scale", 1.0)


def nested(x, y):
    def inner(z):
        return z * y

    return inner(inner(x))


def make_closure(offset):
    def closure(x, y):
        return x + y * offset

    return closure


def count_up():
    total = 0.0

    def add(x, y):
        nonlocal total
        total = 1.5
        return x * total + y

    return add


def augmented(x, y):
    x += y
    for _ in range(2):
        y *= x
    return x, y


def lost(x, y):
    z = x
    x += y
    return z * y


@jax.custom_jvp
def with_rule(x, y):
    return x * y


with_rule.defjvps(lambda dx, ans, x, y: dx * y, None)


def wrapper(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return 2 * function(*args, **kwargs)

    return wrapped


def wrapper_without_wraps(function):
    def wrapped(*args):
        return 3 * function(*args)

    return wrapped


def annotated(x: jax.Array, y: "jax.Array") -> "no such type":  # noqa: F722
    return x - y


def power(x, y, n=3):
    return x if n == 0 else power(x * y, y, n - 1)


def expressions(x, y):
    (total := x + y)
    rows = [row * 2 for row in x]
    match rows:
        case [first, *_]:
            total = total + first
    try:
        total = total / (1 if x.ndim else 0)
    finally:
        total = total + 1
    with jax.named_scope("scope"):
        return {"total": total, "rows": tuple(rows), "none": None}


def from_exec(source, name="f"):
    names = {"jnp": jnp}
    exec(source, names)
    return names[name]


# fmt: off
if True: on_one_line = lambda x, y: x * y; z = 1  # noqa: E701, E702, E731
# fmt: on
IN_A_DICT = {"a": lambda x, y: x + y, "b": lambda x, y: x - y}
IN_A_TUPLE = (
    lambda x, y: x, lambda x, y: (
        y
        * x
    ),
)  # fmt: skip


class Callable:
    def __init__(self, by=2.0):
        self.by = by

    def __call__(self, x, y):
        return x * self.by + y


@dataclasses.dataclass
class CallableDataclass:
    by: object = 2.0

    def __call__(self, x, y):
        return x * self.by + y


@dataclasses.dataclass(frozen=True)
class FrozenCallable:
    by: float = 2.0

    def __call__(self, x, y):
        return x * self.by + y


class CallablePair(NamedTuple):
    by: float = 2.0
    other: float = 1.0

    def __call__(self, x, y):
        return x * self.by + y


class Functions:
    def method(self, x, y):
        return x * y

    @staticmethod
    def static(x, y):
        return x / y

    @classmethod
    def of_class(cls, x, y):
        return x + y * len(cls.__name__)

    in_class = staticmethod(lambda x, y: x * 3 + y)


FUNCTIONS = {
    "def": plain, "defaults": with_default, "positional only": positional_only, "any number": any_number,
    "nested": nested, "closure": make_closure(2.5), "closure over an array": make_closure(X),
    "nonlocal": count_up(), "augmented": augmented, "lost": lost, "wraps": wrapper(plain),
    "without wraps": wrapper_without_wraps(plain), "annotated": annotated, "recursive": power,
    "expressions": expressions, "exec": from_exec("def f(x, y):\n    x += y\n    return x * 2"),
    "eval": eval("lambda x, y: x - 2 * y"),
    "a lambda from exec in a line": from_exec("if True: f = lambda x, y: jnp.sin(x); g = 1"),
    "a lambda in a line": on_one_line, "a lambda in a dict": IN_A_DICT["b"],
    "a lambda in a tuple": IN_A_TUPLE[1], "a lambda as a default": (lambda f=lambda x, y: x * y: f)(),
    "a lambda of a lambda": (lambda: lambda x, y: y - x)(),
    "a lambda in a comprehension": [lambda x, y, i=i: x * i + y for i in range(3)][2],
    "partial": functools.partial(with_default, a=0.5),
    "partial of an array": functools.partial(lambda w, x, y: x * w + y, X),
    "partial of a partial": functools.partial(functools.partial(with_default, b=1.0), a=3),
    "partial of a bound method": functools.partial(Functions().method),
    "jax.tree_util.Partial": jax.tree_util.Partial(with_default, a=0.5), "bound method": Functions().method,
    "static method": Functions.static, "static method of an instance": Functions().static,
    "a staticmethod object": vars(Functions)["static"], "class method": Functions.of_class,
    "a lambda in a class": Functions.in_class, "callable object": Callable(),
    "its __call__": Callable().__call__, "callable dataclass": CallableDataclass(),
    "frozen callable": FrozenCallable(), "callable named tuple": CallablePair(), "builtin": operator.mul,
    "operator": operator.methodcaller("__add__", 3.0), "of jaxapi": xp.add, "of jax.numpy": jnp.hypot,
    "jitted": jax.jit(plain), "fused": fuse(plain), "vmapped": jax.vmap(plain),
    "gradient": lambda x, y: jax.grad(lambda x: jnp.sum(plain(x, y) ** 2))(x),
    "single dispatch": functools.singledispatch(plain), "checkpoint": jax.checkpoint(plain),
    "custom_jvp": with_rule,
}  # fmt: skip
ONE_ARGUMENT = {"operator"}
LOWERED = {
    "def",
    "defaults",
    "partial of an array",
    "bound method",
    "static method",
    "callable object",
    "jitted",
}


def alike(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert_fused(a, np.asarray(b))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_plain_jit(name):
    function = FUNCTIONS[name]
    args = (jnp.asarray(X), jnp.asarray(Y))[: 1 if name in ONE_ARGUMENT else 2]
    try:
        expected = jax.jit(function)(*args)
    except TypeError:  # jax.jit takes no staticmethod objects
        expected = jax.jit(lambda *args: function(*args))(*args)
    fused = fuse(function)
    for _ in range(2):
        alike(fused(*args), expected)
    alike(fused(X, *args[1:]), expected)
    if name in LOWERED:
        alike(fused.lower(*args).compile()(*args), expected)


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (with_default, (X,), {"y": Y}), (with_default, (X, Y), {"b": 7}),
        (with_default, (X, Y, 4.0), {"b": X}), (with_default, (), {"b": 1.0, "y": X, "x": Y}),
        (positional_only, (X, Y), {"a": 2}), (positional_only, (X, Y, 3.0), {}),
        (any_number, (X, Y, X, 2.0), {}), (any_number, (X,), {"scale": Y}),
        (any_number, (X,), {"scale": 3.0, "self": Y}),
    ],
)  # fmt: skip
def test_ways_to_call(function, args, kwargs):
    alike(fuse(function)(*args, **kwargs), jax.jit(function)(*args, **kwargs))


class Every:
    """A class with fused members of every kind."""

    __hash__ = None
    rate = 2.0

    def __init__(self, scale):
        self.scale = scale

    @fuse
    def method(self, x):
        return x * self.scale * self.rate

    @fuse()
    def with_brackets(self, x, /, *, y=1.0):
        return x * self.scale + y

    @fuse("a name")
    def named(self, x):
        return x - self.scale

    @functools.partial(fuse, static_argnames="n")
    def with_static(self, x, n):
        for _ in range(n):
            x = x + self.scale
        return x

    @fuse
    @staticmethod
    def fused_static(x, y):
        return x + y

    @staticmethod
    @fuse
    def static_fused(x, y):
        return x - y

    @classmethod
    @fuse
    def of_class(cls, x):
        return x * cls.rate

    @property
    @fuse
    def prop(self):
        return xp.sin(self.scale)

    @functools.cached_property
    @fuse
    def kept(self):
        return xp.cos(self.scale)

    @fuse
    @wrapper
    def wrapped(self, x):
        return x * self.scale

    @wrapper
    @fuse
    def wrapped_outside(self, x):
        return x * self.scale

    @fuse
    @wrapper_without_wraps
    def renamed(self, x):
        return x * self.scale

    @fuse
    def __call__(self, x):
        return x + self.scale

    @fuse
    def __matmul__(self, x):
        return (x * self.scale) @ x.T

    @fuse
    def __getitem__(self, i):
        return xp.ones(3) * self.scale * i

    of_lambda = fuse(lambda self, x: x / self.scale)
    half = functools.partialmethod(with_static, n=2)


Every.assigned = fuse(lambda self, x: x * self.scale + 9)


class Inherited(Every):
    rate = 5.0

    @fuse
    def method(self, x):
        return super().method(x) + 1


T = TypeVar("T")


class Abstract(Every, abc.ABC, Generic[T]):
    __slots__ = ("unset",)

    @abc.abstractmethod
    def needed(self): ...


class Concrete(Abstract[int]):
    def needed(self):
        return 1


MEMBERS = {
    "method": lambda s: s.method(X), "by keyword": lambda s: s.method(x=X),
    "unbound": lambda s: type(s).method(s, X), "with brackets": lambda s: s.with_brackets(X, y=2.0),
    "named": lambda s: s.named(X), "static argument": lambda s: s.with_static(X, 3),
    "static keyword": lambda s: s.with_static(X, n=2), "fused static": lambda s: s.fused_static(X, Y),
    "fused static of the class": lambda s: type(s).fused_static(X, Y),
    "static fused": lambda s: s.static_fused(X, Y), "class": lambda s: s.of_class(X),
    "class of the class": lambda s: type(s).of_class(X), "property": lambda s: s.prop,
    "wrapped": lambda s: s.wrapped(X), "wrapped outside": lambda s: s.wrapped_outside(X),
    "renamed": lambda s: s.renamed(X), "call": lambda s: s(X), "matmul": lambda s: s @ X,
    "getitem": lambda s: s[2.0], "lambda": lambda s: s.of_lambda(X), "assigned": lambda s: s.assigned(X),
    "partialmethod": lambda s: s.half(X), "fuse of the bound": lambda s: fuse(s.method)(X),
    "partial": lambda s: functools.partial(s.method, x=X)(),
    "mapped": lambda s: jnp.stack(list(map(s.method, X))),
}  # fmt: skip


def unfused(member, instance):
    """Run ``member`` with `fuse` doing nothing."""
    with jax.disable_jit():
        return jax.tree.map(np.asarray, member(instance))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, Inherited) for name in MEMBERS),
        *((name, Concrete) for name in ("method", "class", "property")),
    ],
)
def test_members(name, kind):
    """Changed fields are seen: as without `jit` at all."""
    instance = kind(2.0)
    for scale in (2.0, Y[0], 3.0):
        instance.scale = scale
        alike(MEMBERS[name](instance), unfused(MEMBERS[name], instance))


def test_a_kept_fusion_sees_new_values():
    instance, function = Every(2.0), Callable(2.0)
    kept = [fuse(instance.method), fuse(functools.partial(instance.method))]
    other = CallableDataclass()
    kept += [fuse(function), fuse(function.__call__), fuse(functools.partial(function)), fuse(other)]
    apply = fuse(lambda f, x, y: f(x, y))
    for by in (2.0, 5.0, Y[0]):
        instance.scale = function.by = other.by = by
        for f in (function, function.__call__, other, other.__call__, functools.partial(other)):
            assert_fused(apply(f, X, Y), X * by + Y)
        for f in kept[:2]:
            assert_fused(f(X), X * by * 2)
        for f in kept[2:]:
            assert_fused(f(X, Y), X * by + Y)


def test_static_and_donated_arguments_of_a_bound_method():
    class Model:
        def __init__(self):
            self.scale = 2.0

        def of(self, x, n):
            return x * n * self.scale

    model = Model()
    f = fuse(model.of, static_argnums=1, donate_argnums=0)
    for model.scale in (2.0, 3.0):
        x = jnp.asarray(X)
        assert_fused(f(x, 3), X * 3 * np.float32(model.scale))
        assert x.is_deleted()


def test_what_cannot_be_fused():
    async def coroutine(x):
        return x

    def generator(x):
        yield x

    async def both(x):
        yield x

    for function in (coroutine, generator, both):
        with pytest.raises(TypeError, match=r"got a generator or coroutine function"):
            fuse(function)
    with pytest.raises(TypeError, match=r"got classmethod: .*above @fuse"):
        fuse(classmethod(plain))
    with pytest.raises(TypeError, match=r"got property: .*above @fuse"):
        fuse(property(plain))


@pytest.mark.daily
def test_export():
    f = fuse(lambda x, axis: xp.sum(x, axis=axis) * 2, static_argnames="axis")
    exported = jax.export.export(f)(jax.ShapeDtypeStruct((2, 3), np.float32), axis=1)
    pytest.importorskip("flatbuffers")
    restored = jax.export.deserialize(exported.serialize())
    assert_fused(restored.call(X), X.sum(1) * 2)


def test_export_of_any_length_and_of_a_method():
    rows = jax.export.symbolic_shape("rows, 3")
    exported = jax.export.export(fuse(plain))(*[jax.ShapeDtypeStruct(rows, np.float32)] * 2)
    for n in (2, 5):
        x = np.ones((n, 3), np.float32)
        assert_fused(exported.call(x, x), x + 1)
    assert_fused(
        jax.export.export(Every(3.0).method)(jax.ShapeDtypeStruct((2, 3), np.float32)).call(X), X * 6
    )


def test_export_of_wide_arrays(x64):
    pytest.importorskip("flatbuffers")
    x = np.arange(3) / 3
    exported = jax.export.export(fuse(lambda x: x * 0.1))(jax.ShapeDtypeStruct((3,), np.float64))
    with jax.enable_x64(True):
        assert_fused(jax.export.deserialize(exported.serialize()).call(x), x * 0.1)


# Statics: what plain `jax.jit` gives with that value as a constant


@dataclasses.dataclass(frozen=True)
class D:
    value: object


@dataclasses.dataclass(frozen=True)
class E(D):
    other: object = 0


class N(NamedTuple):
    value: object


class Number(enum.IntEnum):
    ONE = 1
    ZERO = 0


EQUAL = [
    [1, 1.0, True, 1 + 0j, np.int8(1), np.int16(1), np.float32(1), np.float64(1), np.bool_(True), Number.ONE],
    [0, 0.0, -0.0, False, complex(0, -0.0), np.float32(0), np.float32(-0.0), np.float64(-0.0), Number.ZERO],
    [float("nan"), np.float32("nan"), np.float64("nan"), -float("nan"), np.float16("nan")],
]
BY_JIT: dict[tuple, jax.Array] = {}  # what plain `jax.jit` gives with a value
WRAPPERS = {
    "itself": (lambda v: v, lambda w: w),
    "tuple": (lambda v: (N(v), "a"), lambda w: w[0].value),
    "frozenset": (lambda v: frozenset([v]), lambda w: next(iter(w))),
    "derived dataclass": (lambda v: E(1, v), lambda w: w.other),
    "dataclass of a tuple": (lambda v: D((D(v),)), lambda w: w.value[0].value),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_statics_that_compare_equal(name):
    wrap, value_in = WRAPPERS[name]
    x = np.array([1, 2], np.int8)

    class Holder:
        @fuse
        def of(self, x):
            return x * value_in(self.held)

    by_argument = fuse(lambda x, w: x * value_in(w), static_argnames="w")
    holder = Holder()

    @settings(max_examples=8, deadline=None)
    @given(st.lists(st.sampled_from([v for values in EQUAL for v in values]), min_size=2, max_size=4))
    def compare(values):
        for value in values:
            known = type(value), repr(value)
            if known not in BY_JIT:
                BY_JIT[known] = jax.jit(lambda x, value=value: x * value)(x)
            expected = BY_JIT[known]
            found = [by_argument(x, wrap(value))]
            if name not in ("itself", "tuple"):  # whose floats in a field are traced
                holder.held = wrap(value)
                found.append(holder.of(x))
            for result in found:
                assert result.dtype == expected.dtype
                assert re.sub("-?nan", "nan", repr(np.asarray(result))) == re.sub(
                    "-?nan", "nan", repr(np.asarray(expected))
                )

    compare()
