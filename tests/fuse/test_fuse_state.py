"""What fused methods hold in fields: changes are seen, or refused."""

import collections
import enum
import functools
import logging
import threading
import types
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparisons import assert_fused

import jaxapi as xp
from jaxapi import fuse

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Plain:
    """An object of the attributes given."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Mutable:
    dt: float = 0.1


@dataclass(frozen=True)
class Frozen:
    dt: Any = 0.1


@functools.partial(jax.tree_util.register_dataclass, data_fields=["dt"], meta_fields=["power"])
@dataclass
class Registered:
    dt: Any = 0.1
    power: int = 1


class Pair(NamedTuple):
    dt: Any
    mode: Any


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
    def weigh(self, x):
        return x * self.physics

    @fuse
    def mix(self, x):
        return x * self.physics[Color.RED] + self.physics[Color.BLUE][0]

    @fuse
    def call(self, x):
        f = self.physics[0] if isinstance(self.physics, list) else self.physics
        return f(x)

    @fuse
    def append(self, x):
        self.physics.append(x)
        return x

    @fuse
    def put(self, x):
        self.physics["a"][0] = x
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
    def delete(self, x):
        del self.physics
        return x

    @fuse
    def count(self, x):
        return x * len(self.physics)

    @fuse
    def ignore(self, x):
        return x + 1


class TestFields:
    @pytest.mark.parametrize(
        "values",
        [
            [0.5, 2.0, -0.0], [1j, 2 - 1j], [3, 4, True, 4.0], [np.float32(3), np.float64(4)],
            [X, X + 1, X[0]], [jnp.asarray(X), jnp.asarray(X) + 1, X.astype(np.int8)],
        ],
        ids=["float", "complex", "by type", "NumPy's scalars", "NumPy", "JAX"],
    )  # fmt: skip
    def test_changed_values_are_those_of_an_argument(self, values):
        """As if the value was handed to `fuse` itself."""
        simulation = Simulation()
        for value in [*values, *values]:
            simulation.physics = value
            found, expected = simulation.weigh(X + 1), fuse(lambda x, y: x * y)(X + 1, value)
            assert_fused(found, expected)
            np.testing.assert_array_equal(np.signbit(found.real), np.signbit(expected.real))

    def test_arrays_changed_in_place(self):
        simulation = Simulation(X.copy())
        assert_fused(simulation.weigh(X), X * X)
        simulation.physics[0] = 7
        assert_fused(simulation.weigh(X), X * simulation.physics)

    @pytest.mark.parametrize(
        "kind", [Frozen, Registered, lambda dt: Registered(dt, 2), lambda dt: Pair(dt, "a")]
    )
    def test_frozen_objects_and_pytrees(self, kind):
        for dt in (0.1, 0.9, 3, -0.0, 0.0, True):
            found = Simulation(kind(dt)).step(X + 1)
            np.testing.assert_array_equal(np.signbit(found), np.full(X.shape, np.signbit(dt)))
            assert_fused(found, (X + 1) * np.float32(dt))

    def test_a_changed_pytree(self):
        simulation = Simulation(Registered(0.1))
        assert_fused(simulation.step(X), X * np.float32(0.1))
        simulation.physics.dt = 0.9
        assert_fused(simulation.step(X), X * np.float32(0.9))
        simulation.physics.dt = X
        assert_fused(simulation.step(X), X * X)

    def test_containers_with_any_keys(self):
        held = {Color.RED: 2.0, Color.BLUE: [1.0, "text"], 3: None}
        simulation = Simulation(held)
        assert_fused(simulation.mix(X), 2 * X + 1)
        held[Color.RED] = X
        held[Color.BLUE][0] = 4
        assert_fused(simulation.mix(X), X * X + 4)
        held[Color.BLUE] = (X, None)
        assert_fused(simulation.mix(X), X * X + X)

    def test_callables(self):
        simulation = Simulation()
        for by in (2.0, 3.0, X):
            simulation.physics = functools.partial(lambda x, dt: x * dt, dt=by)
            assert_fused(simulation.call(X), X * by)
        for function, oracle in (
            (xp.sin, np.sin),
            (jnp.cos, np.cos),
            (fuse(lambda x: x + 1), lambda x: x + 1),
        ):
            simulation.physics = function
            assert_fused(simulation.call(X), oracle(X))

    def test_a_changed_float_does_not_compile_again(self):
        traces = []

        class Counted:
            @fuse
            def of(self, x):
                traces.append(x)
                return x * self.parts[0]["dt"]

        counted = Counted()
        counted.parts = [{"dt": 0.0}]
        for dt in (1.0, 2.0, 3.0):
            counted.parts[0]["dt"] = dt
            assert_fused(counted.of(X), X * dt)
        assert len(traces) == 1

    def test_the_object_of_a_method_is_read_whatever_its_hash(self):
        own = Own(dt=2.0)
        assert_fused(own.scaled(X), 2 * X)
        own.dt = 3
        assert_fused(own.scaled(X), 3 * X)

    def test_a_cached_property_may_be_kept(self):
        class Cached:
            scale = 2.0

            @functools.cached_property
            def twice(self):
                return 2 * self.scale

            @fuse
            def of(self, x):
                return x * self.twice

        assert_fused(Cached().of(X), 4 * X)

    def test_wide_fields_keep_their_digits(self, x64):
        third = np.float64(1) / 3
        for value in (np.array([third]), third, {Color.RED: np.array([third]), Color.BLUE: [0.0]}):
            simulation = Simulation(value)
            method = simulation.mix if isinstance(value, dict) else simulation.weigh
            assert float(method(np.float32([1]))[0]) == third


class TestRefused:
    @pytest.mark.parametrize(
        ("method", "physics", "path"),
        [
            ("assign_new", None, "other"), ("append", [1.0], "physics"), ("put", {"a": [X]}, "physics"),
            ("assign_method", None, "physics"), ("assign_method", (1, 2), "physics"),
            ("delete", X, "physics"),
        ],
    )  # fmt: skip
    def test_assignments(self, method, physics, path):
        simulation = Simulation(physics)
        before = dict(vars(simulation))
        with pytest.raises(
            TypeError, match=rf"assigned self\.{path}, which the object would never see: return"
        ):
            getattr(simulation, method)(X)
        assert vars(simulation) == before

    @pytest.mark.parametrize(
        "unknown",
        [
            {1, 2}, collections.deque([1, 2]), bytearray(2), Plain(dt=1.0), Mutable(), Frozen(X),
            [Plain(), 1.0], types.SimpleNamespace(), Simulation().count, Simulation(1).__init__,
        ],
        ids=lambda x: type(x).__name__,
    )  # fmt: skip
    def test_what_cannot_be_compared(self, unknown):
        """By its name, whether the method uses it or not."""
        simulation = Simulation(unknown)
        for method in (simulation.ignore, simulation.count):
            with pytest.raises(
                TypeError, match=r"uses self\.physics, a .* whose changes would not be seen: make it an array"
            ):
                method(X)
        simulation.physics = (1, 2)
        assert_fused(simulation.ignore(X), X + 1)
        assert_fused(simulation.count(X), 2 * X)

    def test_an_object_that_cannot_be_copied(self):
        class Keys(dict):
            @fuse
            def of(self, x):
                return x

        with pytest.raises(TypeError, match=r"cannot copy its Keys.*register the class as a pytree"):
            Keys(a=1).of(X)


class TestOfTheClass:
    """What a class holds is a constant of the program, as for `jax.jit`."""

    class Model:
        rate = 0.5
        table = np.float32([1.0, 2.0, 3.0])

        @fuse
        def of_object(self, x):
            return x * self.rate * self.table

        @classmethod
        @fuse
        def of_class(cls, x):
            return x * cls.rate * cls.table

    class Derived(Model):
        rate = 3.0

    def test_a_subclass_has_the_last_word(self):
        for owner in (self.Model, self.Derived, self.Model):
            for call in (owner().of_object, owner().of_class, owner.of_class, fuse(owner.of_class)):
                assert_fused(call(X), X * np.float32(owner.rate) * owner.table)

    def test_a_field_comes_first(self):
        model = self.Model()
        assert_fused(model.of_object(X), X * 0.5 * model.table)
        model.rate = 4.0
        assert_fused(model.of_object(X), X * 4 * model.table)
        assert_fused(self.Model().of_object(X), X * 0.5 * model.table)

    def test_changes_of_a_class_are_not_read(self):
        class Model(self.Model):
            pass

        model = Model()
        expected = jax.jit(lambda x: x * 0.5 * Model.table)(X)
        assert_fused(model.of_object(X), np.asarray(expected))
        Model.rate = 2.0
        assert_fused(model.of_object(X), np.asarray(expected))
        Model.of_object.clear_cache()
        assert_fused(model.of_object(X), X * 2 * Model.table)

    def test_with_slots(self):
        class WithSlots:
            __slots__ = ("scale", "unset")
            factor = 2.0

            @fuse
            def of(self, x):
                return x * self.factor * self.scale

        model = WithSlots()
        for model.scale in (3.0, 5.0):
            assert_fused(model.of(X), x := 2 * X * np.float32(model.scale))
        assert x.shape == X.shape

    def test_an_object_of_a_class_of_the_same_name_is_no_self(self):
        class Model:
            def apply(self, x):
                return x

        other = type("Model", (), {"__qualname__": Model.__qualname__, "__module__": "elsewhere"})()
        f = fuse(Model.apply)
        np.testing.assert_array_equal(f(Model(), np.ones(3)), np.ones(3))
        with pytest.raises(TypeError, match=r"fuse takes arrays.*got Model as argument 0"):
            f(other, np.ones(3))


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
