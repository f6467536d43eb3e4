"""What fused methods read of their class: changes there are seen, too."""

import functools
import types

import jax.numpy as jnp
import numpy as np
import pytest
from test_fuse import X, same

from jaxapi import fuse


class Simulation:
    """Has every kind of class attribute."""

    rate = 0.1
    options = {"rate": 0.1}  # noqa: RUF012 (one that changes is the point)
    table = np.float32([1.0, 2.0, 3.0])
    shared = types.SimpleNamespace(dt=0.1)

    @fuse
    def of_class(self, x):
        return x * self.rate

    @fuse
    def of_type(self, x):
        return x * type(self).rate

    @fuse
    def of_options(self, x):
        return x * self.options["rate"]

    @fuse
    def of_table(self, x):
        return x * self.table

    @fuse
    def of_shared(self, x):
        return x * self.shared.dt


class TestClassAttributes:
    @pytest.fixture(autouse=True)
    def restore(self, monkeypatch):
        self.set = functools.partial(monkeypatch.setattr, Simulation)

    @pytest.mark.parametrize("read", ["of_class", "of_type"])
    def test_numbers(self, read):
        simulation = Simulation()
        same(getattr(simulation, read)(X), X * np.float32(0.1))
        for rate in (0.9, 1, 0.0):
            self.set("rate", rate)
            same(getattr(simulation, read)(X), X * np.float32(rate))
        self.set("rate", -0.0)
        assert np.signbit(getattr(simulation, read)(X + 1)).all()

    def test_an_attribute_of_the_object_comes_first(self):
        simulation = Simulation()
        simulation.rate = 3.0
        same(simulation.of_class(X), X * 3)
        same(simulation.of_type(X), X * np.float32(0.1))
        simulation.table = X[0]
        same(simulation.of_table(X), X * X[0])

    def test_containers_arrays_and_objects(self, monkeypatch):
        simulation = Simulation()
        same(simulation.of_options(X), X * np.float32(0.1))
        monkeypatch.setitem(Simulation.options, "rate", 0.9)
        same(simulation.of_options(X), X * np.float32(0.9))
        same(simulation.of_table(X), X * Simulation.table)
        self.set("table", 2 * Simulation.table)
        same(simulation.of_table(X), X * Simulation.table)
        Simulation.table[1] = 5
        same(simulation.of_table(X), X * Simulation.table)
        self.set("table", jnp.float32([1, 2, 3]))
        same(simulation.of_table(X), X * np.float32([1, 2, 3]))
        self.set("table", Simulation.table.at[1].set(7))
        same(simulation.of_table(X), X * np.float32([1, 7, 3]))
        same(simulation.of_shared(X), X * np.float32(0.1))
        monkeypatch.setattr(Simulation.shared, "dt", 0.9)
        same(simulation.of_shared(X), X * np.float32(0.9))

    def test_with_slots(self):
        class WithSlots:
            __slots__ = ("scale",)
            factor = 2.0

            @fuse
            def of(self, x):
                return x * self.factor * self.scale

        instance = WithSlots()
        instance.scale = 3.0
        same(instance.of(X), 6 * X)
        WithSlots.factor = 4.0
        same(instance.of(X), 12 * X)
        WithSlots.options = {"a": 2.0}
        same(instance.of(X), 12 * X)
        WithSlots.unknown = (x for x in ())
        same(instance.of(X), 12 * X)
        WithSlots.local = type("Local", (), {})()
        with pytest.raises(
            TypeError, match=r"uses WithSlots\.local, a Local whose changes would not be seen"
        ):
            instance.of(X)

    def test_what_a_method_assigns_to_its_class(self):
        class Counting:
            calls = 0
            log: list = []  # noqa: RUF012 (one that changes is the point)

            @fuse
            def bind(self, x):
                type(self).calls += 1
                return x

            @fuse
            def append(self, x):
                self.log.append(3)
                return x

            @classmethod
            @fuse
            def of_class(cls, x):
                cls.calls += 1
                return x

        for call, name in (
            (Counting().bind, "calls"),
            (Counting.of_class, "calls"),
            (Counting().append, "log"),
        ):
            with pytest.raises(TypeError, match=rf"assigned Counting\.{name}, which the object would never"):
                call(X)


def test_a_subclass_has_the_last_word():
    class Base:
        weights = np.ones(3, np.float32)
        shift = 1.0

        @fuse
        def apply(self, x):
            return x * self.weights + self.shift

    class Derived(Base):
        weights = np.full(3, 5, np.float32)

    for x in Base(), Derived(), Base():
        np.testing.assert_array_equal(x.apply(np.ones(3, np.float32)), x.weights + 1)


def test_an_object_of_a_class_of_the_same_name_is_no_self():
    class Model:
        def apply(self, x):
            return x

    other = type("Model", (), {"__qualname__": Model.__qualname__, "__module__": "elsewhere"})()
    f = fuse(Model.apply)
    np.testing.assert_array_equal(f(Model(), np.ones(3)), np.ones(3))
    with pytest.raises(TypeError, match="fuse takes arrays"):
        f(other, np.ones(3))


class TestClassMethods:
    class Model:
        """Has data of its class alone."""

        rate = 0.5
        table = np.float32([1.0, 2.0, 3.0])

        @classmethod
        @fuse
        def of_class(cls, x):
            return x * cls.rate * cls.table

        def plain(self, x):
            return x * self.rate

    def test_new_values_are_seen(self):
        class Derived(self.Model):
            pass

        for owner in (Derived, Derived(), self.Model):
            same(owner.of_class(X), X * 0.5 * self.Model.table)
        Derived.rate = 3.0
        same(Derived.of_class(X), X * 3 * self.Model.table)
        same(Derived().of_class(X), X * 3 * self.Model.table)
        same(self.Model.of_class(X), X * 0.5 * self.Model.table)
        same(fuse(Derived.of_class)(X), X * 3 * self.Model.table)
        Derived.table = 2 * self.Model.table
        same(Derived.of_class(X), X * 3 * Derived.table)
