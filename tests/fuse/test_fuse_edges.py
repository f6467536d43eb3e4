"""`fuse` where its rules for static arguments, modes and objects are easily missed."""

import enum

import jax
import numpy as np
import pytest
from comparisons import assert_fused

import jaxapi as xp
from jaxapi import fuse

ONE = np.ones(1, np.float32)


def test_static_argnums_from_the_end():
    """Also the first argument, counted so."""
    assert_fused(fuse(lambda x, y: x * y, static_argnums=-1)(ONE, 3.0), ONE * 3)
    assert_fused(fuse(lambda x, y: x * y, static_argnums=-2)(3.0, ONE), ONE * 3)
    with pytest.raises(ValueError, match="static_argnums"):
        fuse(lambda x, y: x * y, static_argnums=-3)(ONE, ONE)


def test_static_zeros_of_both_signs():
    function = fuse(lambda x, s: x * s, static_argnames="s")
    for zero in (0.0, -0.0, 0.0):
        assert np.signbit(function(ONE, s=zero)) == np.signbit(zero)


def test_static_flags_without_a_name():
    class Flag(enum.Flag, boundary=enum.KEEP):
        A = 1

    function = fuse(lambda x, s: x * s.value, static_argnames="s")
    for number in (4, 8, 1, 0):
        assert_fused(function(ONE, s=Flag(number)), ONE * number)


@pytest.mark.parametrize("modes", [(True, False), (False, True)])
def test_a_number_is_checked_in_each_mode(modes):
    """What fits with x64 on does not without, whichever comes first."""
    function = fuse(lambda x, i: (x, i + 1))
    x = np.ones(1, np.int32)
    for x64 in modes:
        with jax.enable_x64(x64):
            if x64:
                assert int(function(x, 2**40)[1]) == 2**40 + 1
            else:
                with pytest.raises(OverflowError):
                    function(x, 2**40)


def test_fields_in_slots_and_in_a_dict():
    class Base:
        __slots__ = ("factor",)

    class Model(Base):
        def __init__(self, factor):
            self.factor = factor
            self.x = xp.asarray(ONE)

        @fuse
        def product(self):
            return self.x * self.factor

    assert_fused(Model(2.0).product(), ONE * 2)
    assert_fused(Model(3.0).product(), ONE * 3)
