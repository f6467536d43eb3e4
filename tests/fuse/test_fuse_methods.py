"""Fused methods: of instances and classes, properties, pytrees, inside of transformations."""

import pickle
import types
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import numpy as np
import pytest
from comparisons import assert_fused

from jaxapi import fuse

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Model:
    """Has every kind of attribute."""

    def __init__(self):
        self.weights = X
        self.scale = 2.0
        self.repeats = 1
        self.mode = "plain"
        self.options = {"shift": 0.5}

    @fuse
    def predict(self, x):
        for _ in range(self.repeats):
            x = x + self.weights * self.scale
        return x + self.options["shift"] if self.mode == "plain" else x


class Pair(NamedTuple):
    """A pytree with a method."""

    x: jax.Array
    y: jax.Array

    @fuse
    def total(self):
        return self.x + self.y


class TestMethods:
    def test_an_object_that_is_a_pytree(self):
        assert_fused(Pair(X, X).total(), 2 * X)

    def test_attributes_are_seen_when_they_change(self):
        model = Model()
        assert_fused(model.predict(X), X + 2 * X + 0.5)
        model.scale, model.weights = 3.0, X + 1
        assert_fused(model.predict(X), X + 3 * (X + 1) + 0.5)
        model.repeats = 2
        assert_fused(model.predict(X), X + 6 * (X + 1) + 0.5)
        model.options["shift"] = 1.5
        assert_fused(model.predict(X), X + 6 * (X + 1) + 1.5)
        model.mode = "other"
        assert_fused(model.predict(x=X), X + 6 * (X + 1))
        assert_fused(Model.predict(model, X), X + 6 * (X + 1))

    def test_bound_repr_and_name(self):
        bound = Model().predict
        assert bound.__name__ == "predict"
        assert repr(bound).startswith("<bound Fusion 'predict' of ")


def test_pickle():
    model = Model()
    model.scale = 3.0
    restored = pickle.loads(pickle.dumps(model.predict))
    assert_fused(restored(X), model.predict(X))


def test_inside_transformations_changes_are_seen():
    model = Model()
    for model.scale in (1.0, 3.0):
        expected = X + X * model.scale + 0.5
        assert_fused(jax.jit(model.predict)(X), expected)
        assert_fused(fuse(model.predict)(X), expected)
        assert_fused(
            jax.vmap(model.predict, axis_size=2, in_axes=None)(X[:1]),
            np.stack([(X[:1] + X * model.scale + 0.5)] * 2),
        )
        assert_fused(jax.grad(lambda x: model.predict(x).sum())(X), np.ones_like(X))


def test_methods_call_methods():
    class Base:
        table = np.float32([1.0, 2.0, 3.0])

        @property
        def twice(self):
            return 2 * self.scale

        @fuse
        def of(self, x):
            return x * self.table * self.twice

    class Derived(Base):
        @fuse
        def of(self, x):
            return super().of(x) + self.of_part(x)

        @fuse
        def of_part(self, x):
            return x * self.part[0]

    derived = Derived()
    derived.scale, derived.part = 2.0, [1.0]
    assert_fused(derived.of(X), X * Base.table * 4 + X)
    derived.part[0] = 2.0
    assert_fused(derived.of(X), X * Base.table * 4 + X * 2)
    derived.part = types.SimpleNamespace(value=1.0)
    with pytest.raises(TypeError, match=r"uses self\.part, a SimpleNamespace whose changes"):
        derived.of(X)


def test_first_calls_from_many_threads():
    for _ in range(5):

        class Fresh:
            def __init__(self, scale):
                self.scale = scale

            def of(self, x):
                return x * self.scale

        Fresh.fused = fuse(Fresh.of)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda i, kind=Fresh: float(kind(i + 0.5).fused(1.0)), range(8)))
        assert found == [i + 0.5 for i in range(8)]
