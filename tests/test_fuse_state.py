"""What fused methods hold in attributes, however nested: changes are seen, or refused."""

import collections
import enum
import functools
import logging
import threading
import types
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_fuse import X, same

from jaxapi import fuse


class Plain:
    """An object of the attributes given."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@dataclass
class Mutable:
    dt: float = 0.1


@dataclass(frozen=True)
class Frozen:
    dt: float = 0.1


@dataclass(frozen=True)
class FrozenArray:
    dt: Any = field(default_factory=lambda: np.float32(0.1))


class Slotted:
    __slots__ = ("dt",)

    def __init__(self, dt):
        self.dt = dt


class Callable(Plain):
    def __call__(self, x):
        return x * self.dt


class Own(Plain):
    """Equal to everything of its class, and hashable."""

    def __eq__(self, other):
        return isinstance(other, Own)

    def __hash__(self):
        return 0

    @fuse
    def scaled(self, x):
        return x * self.dt


class Simulation:
    """Uses, or tries to change, what it holds."""

    def __init__(self, physics=None):
        self.physics = physics

    @fuse
    def step(self, x):
        return x * self.physics.dt

    @fuse
    def steps(self, x):
        for part in self.physics:
            x = x * part.dt
        return x

    @fuse
    def call(self, x):
        return self.physics(x)

    @fuse
    def assign_nested(self, x):
        self.physics.dt = x
        return x

    @fuse
    def append(self, x):
        self.physics.append(x)
        return x

    @fuse
    def assign_new(self, x):
        self.other = x
        return x

    @fuse
    def assign_method(self, x):
        self.physics = self.count
        return x

    @fuse
    def assign_again(self, x):
        self.physics.b = self.physics.a
        return x

    @fuse
    def assign_unknown(self, x):
        self.physics = [x]
        return x

    @fuse
    def count(self, x):
        return x * len(self.physics)

    @fuse
    def ignore(self, x):
        return x + 1


class TestNestedState:
    @pytest.mark.parametrize(
        "physics",
        [
            Plain(dt=0.1), Mutable(), Slotted(0.1), types.SimpleNamespace(dt=0.1),
            Plain(dt=np.float32(0.1)), Plain(dt=jnp.float32(0.1)), Plain(dt=1),
        ],
        ids=["object", "dataclass", "slots", "namespace", "numpy", "array", "int"],
    )  # fmt: skip
    def test_a_changed_attribute_is_seen(self, physics):
        simulation = Simulation(physics)
        same(simulation.step(X), X * np.float32(physics.dt))
        physics.dt = 0.9
        same(simulation.step(X), X * np.float32(0.9))
        simulation.physics = Plain(dt=0.5)
        same(simulation.step(X), X * np.float32(0.5))

    @pytest.mark.parametrize("kind", [Frozen, FrozenArray])
    def test_another_frozen_object_is_seen(self, kind):
        simulation = Simulation(kind())
        same(simulation.step(X), X * np.float32(0.1))
        simulation.physics = kind(0.9)
        same(simulation.step(X), X * np.float32(0.9))

    def test_objects_in_containers(self):
        parts = [Plain(dt=0.5), Mutable(0.5)]
        simulation = Simulation(parts)
        same(simulation.steps(X), X / 4)
        parts[1].dt = 2.0
        same(simulation.steps(X), X)
        parts.append(Plain(dt=4.0))
        same(simulation.steps(X), 4 * X)
        simulation.physics = {"a": Plain(dt=3.0)}.values()
        simulation.physics = tuple(simulation.physics)
        same(simulation.steps(X), 3 * X)

    def test_callables_with_state(self):
        for make in (
            lambda owner: Callable(dt=owner),
            lambda owner: Plain(layer=Callable(dt=owner)).layer.__call__,
            lambda owner: functools.partial(lambda dt, x: x * dt, owner),
            lambda owner: functools.partial(lambda x, dt: x * dt, dt=owner),
        ):
            simulation = Simulation(make(2.0))
            same(simulation.call(X), 2 * X)
            simulation.physics = make(3.0)
            same(simulation.call(X), 3 * X)
        layer = Callable(dt=2.0)
        simulation = Simulation(layer.__call__)
        same(simulation.call(X), 2 * X)
        layer.dt = 5.0
        same(simulation.call(X), 5 * X)
        inner = Simulation(Plain(dt=2.0))
        simulation = Simulation(inner.step)
        same(simulation.call(X), 2 * X)
        inner.physics.dt = 7.0
        same(simulation.call(X), 7 * X)

    def test_a_changed_nested_float_does_not_compile_again(self):
        traces = []

        class Counted:
            @fuse
            def of(self, x):
                traces.append(x)
                return x * self.parts[0].dt

        counted = Counted()
        counted.parts = [Plain(dt=0.0)]
        for dt in (1.0, 2.0, 3.0):
            counted.parts[0].dt = dt
            same(counted.of(X), X * dt)
        assert len(traces) == 1

    def test_cycles_and_shared_objects(self):
        class Node:
            @fuse
            def of(self, x):
                assert self.child.parent is self
                assert self.child is self.other[0]
                return x * self.child.parent.dt

        node = Node()
        node.dt, node.child = 2.0, Plain(parent=node)
        node.other = [node.child]
        same(node.of(X), 2 * X)
        node.dt = 3.0
        same(node.of(X), 3 * X)
        # another object where one was shared is another program
        node.other = [Plain(parent=node)]
        with pytest.raises(AssertionError):
            node.of(X)

    def test_the_object_of_a_method_is_followed_whatever_its_hash(self):
        own = Own(dt=2.0)
        same(own.scaled(X), 2 * X)
        own.dt = 3
        same(own.scaled(X), 3 * X)

    def test_signs_of_zero_and_types_of_equal_numbers(self):
        class Equal:
            @fuse
            def of(self, x):
                return x * self.factor

        equal = Equal()
        for factor in (1, True, 1.0, 1 + 0j):
            equal.factor = factor
            assert (
                equal.of(X.astype(np.int8)).dtype == fuse(lambda x, f=factor: x * f)(X.astype(np.int8)).dtype
            )


class TestRefused:
    @pytest.mark.parametrize(
        ("method", "physics", "path"),
        [
            ("assign_nested", Plain(dt=1.0), r"self\.physics\.dt"),
            ("assign_new", None, r"self\.other"),
            ("append", [1.0], r"self\.physics"),
            ("assign_method", None, r"self\.physics"),
            ("assign_again", Plain(a=Plain(), b=Plain()), r"self\.physics\.b"),
            ("assign_unknown", {1, 2}, r"self\.physics"),
        ],
    )
    def test_assignments(self, method, physics, path):
        simulation = Simulation(physics)
        before = dict(vars(simulation))
        with pytest.raises(TypeError, match=rf"assigned {path}, which the object would never see: return"):
            getattr(simulation, method)(X)
        assert vars(simulation) == before

    @pytest.mark.parametrize("unknown", [{1, 2}, collections.deque([1, 2]), bytearray(2)])
    def test_what_cannot_be_followed_where_it_is_used(self, unknown):
        simulation = Simulation(unknown)
        same(simulation.ignore(X), X + 1)
        with pytest.raises(
            TypeError, match=r"uses self\.physics, a .* whose changes would not be seen: use a"
        ):
            simulation.count(X)
        simulation.physics = (1, 2)
        same(simulation.count(X), 2 * X)

    def test_assigning_a_cached_property_is_fine(self):
        class Cached:
            scale = 2.0

            @functools.cached_property
            def twice(self):
                return 2 * self.scale

            @fuse
            def of(self, x):
                return x * self.twice

        same(Cached().of(X), 4 * X)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def test_constants_stay_the_objects_that_they_are():
    log, lock = logging.getLogger("test"), threading.Lock()

    class Holder:
        def __init__(self):
            self.parts = (log, lock, Color.RED, np, Mutable, jnp.sin, "text", None, jax.devices()[0])

        @fuse
        def of(self, x):
            seen.append(self.parts)
            return x

    seen = []
    holder = Holder()
    holder.of(X)
    holder.of(X)
    (parts,) = seen
    assert all(a is b for a, b in zip(parts, holder.parts, strict=True))
