"""Python's integers beyond 64 bits, beyond a dtype, and floats as positions: NumPy's value or exception."""

import jax
import numpy
import pytest

import jaxapi.numpy as xp

B = 2**70
CASES = """
n.asarray(2**64 - 1)
n.asarray([2**64 - 1])
n.isin(f, [B, 1])
n.isin(i, [B, 1])
n.isin(n.array([2.0**70]), [B, B + 1])
n.isin(n.array([2.0**70]), [B + 1])
n.isin(n.array([2**64 - 1], 'uint64'), [2**64])
n.isclose(f, B)
n.isclose(i, -B)
n.isclose(n.array([2.0**70]), B)
n.searchsorted(f, [B, -B, 1])
n.searchsorted(i, [B, -B, 2])
n.searchsorted(n.array([2**64 - 1], 'uint64'), 2**64)
f.searchsorted(B)
n.interp([B, -B], [0.0, 1.0], [2.0, 3.0])
n.interp([0.5, 2], [0.0, 1.0], [2.0, 3.0], right=B)
n.pad(f, 1, constant_values=(B, 1))
n.pad(i, 1, constant_values=B)
n.pad(f, 1, mode='linear_ramp', end_values=B)
n.nan_to_num(n.array([n.nan, 1.0]), nan=B)
n.average(i, weights=[B, B, B])
n.polyval([B, 1], f)
n.array_equal(f, [1, 2, B])
n.choose(i - 1, [f, B, f])
n.unwrap(f, period=B)
n.sum(f, initial=B)
n.select([c], [300], n.uint8(0))
n.select([c], [3], n.uint8(0))
n.select([c], [300], n.int8(0))
n.select([c], [u], 300)
n.select([c], [u], -1)
n.select([c], [u], 1.5)
n.select([c], [B], 0.0)
n.select([c], [f], B)
n.select([c, ~c], [u, u], True)
n.clip(u, 0, 300)
n.clip(i, -B, B)
n.less(u, 300)
n.equal(i, B)
n.full_like(u, 300)
n.full_like(i, B)
n.histogram(f, bins=2, range=(0, B))
n.take(f, [1.7, 0])
n.take(f, n.array([1.0]))
n.trim_zeros(f, 'x')
n.trim_zeros(f, 'Bf')
n.trapezoid(m, axis=(0, 1))
n.unwrap(m, axis=5)
n.unwrap(c)
n.cross([1, 2, 3, 4], [1, 2, 3])
n.vectorize(lambda x: x.sum(), signature='(n)->()')(n.zeros((0, 3)))
n.vectorize(lambda x: x.sum(), signature='(n)->()')(n.zeros((2, 0)))
i + [2**63, 1, 2]
u - [2**63, 1, 2]
n.array([2**63, 1, 2], 'uint64') // [2**63, 1, 2]
n.array([2**63, 1, 2], 'uint64') - [2**63, 2**63, 2**63]
[2**63, 1, 2] * f
f.astype('float32') + (2**63, 1, 2)
i == [2**63, 1, 2]
n.array([2**63, 1, 2], 'uint64') >= [2**63, 2**63, 2**63]
n.add([2**63, 1], [1, 2])
n.maximum([2**63], [1])
n.sqrt([2**63, 1])
n.concatenate([i, [2**63]])
n.append(i, [2**63])
n.stack([[2**63, 1], [1, 2]])
n.sum([2**63, 1])
n.sum([2**63, 2**63])
n.mean([2**63, 2**63 + 1])
n.sort([2**63, 1])
n.sort([2**63 + 1, 2**63])
n.unique([2**63, 1, 2**63])
n.isin([2**63, 1], [2**63])
n.isin(i, [2**63])
n.where([True, False], [2**63, 1], 0)
n.searchsorted(i, [2**63])
n.clip(i, 0, [2**63, 2, 1])
n.dot([2**63, 1], [1, 1])
n.linalg.norm([2**63, 1])
n.histogram([2**63, 1], 2)
n.isin(f, 2**63)
n.isin(2**63, n.array([1, 2**63], 'uint64'))
n.isin(n.array([2**64 - 1], 'uint64'), 2**64 - 1)
n.isin(n.array([2**64 - 1], 'uint64'), [2**64, 2.0])
n.isclose(i, 2**63)
n.isclose(n.array([2.0**63]), 2**63)
n.array_equal(2**63, n.array(2**63, 'uint64'))
n.array_equiv([2.0**63, 2.0**63], 2**63)
n.searchsorted(f, 2**63)
n.searchsorted(n.array([1, 2**64 - 1], 'uint64'), [2**64, 0.5])
n.digitize(2**63, f)
n.digitize(i - 2, n.array([1, 2], 'uint64'))
n.histogram(-1, n.array([1, 2, 3], 'uint64'))
n.digitize(-1, n.array([1, 2], 'uint64'))
n.digitize(300, u)
n.dot(2**63, i)
n.dot(2**63, u)
n.inner(f.astype('float32'), 2**63)
n.kron(i, 2**63)
n.outer(2**63, f)
n.average(2**64 - 1)
n.setdiff1d(2**63, i)
n.setxor1d(u, 2**63)
n.correlate(i, [2**63])
n.convolve(2**63, u)
n.stack([2**63, 1])
n.hstack([2**63, 1.5])
n.vstack([2**63, 2j])
n.nan_to_num(2**63)
n.clip(2**63)
n.delete(2**63, 1)
n.sort(2**63)
n.unravel_index(B, (4, 4))
changed(i, [2**63, 1, 2])
changed(f, [B, 1, 2])
changed(f, [2**63, 1, 2])
changed(n.zeros(3, complex), [B, 1, 2j])
changed(c, [B, 0, 0.5])
"""


def changed(x, new):
    x[:] = new
    return x


def outcome(statement, n):
    names = {
        "changed": changed,
        "n": n,
        "B": B,
        "f": n.array([1.0, 2.0, 3.0]),
        "i": n.array([1, 2, 3]),
        "u": n.array([1, 2, 3], dtype="uint8"),
        "c": n.array([True, False, True]),
        "m": n.array([[1.0, 2.0], [3.0, 5.0]]),
    }
    try:
        found = eval(statement, names)
    except Exception as error:
        return type(error)
    return [numpy.asarray(x) for x in found] if isinstance(found, tuple) else numpy.asarray(found)


def _are_same(found, expected) -> bool:
    if isinstance(expected, list):
        return all(map(_are_same, found, expected))
    return found.dtype == expected.dtype and numpy.array_equal(found, expected)


@pytest.mark.parametrize("x64", [False, True])
def test_numpys_values_and_exceptions(x64):
    wrong = []
    with jax.enable_x64(x64):
        for statement in CASES.strip().splitlines():
            expected = outcome(statement, numpy)
            found = outcome(statement, xp)
            if isinstance(expected, type):
                is_right = isinstance(found, type) and issubclass(found, expected)
            else:
                is_right = not isinstance(found, type) and _are_same(found, expected)
            if not is_right:
                wrong.append((statement, expected, found))
    assert not wrong


def test_lists_of_integers_beyond_64_bits():
    """They are Python objects to NumPy, and refused."""
    for function in (lambda x: x * [B], lambda x: xp.add(x, [B]), lambda x: xp.concatenate([x, [B]])):
        with pytest.raises(TypeError, match="Python objects"):
            function(xp.array([1.0]))


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", ["isin", "isclose", "searchsorted"])
def test_in_jit(x64, name):
    f = numpy.array([1.0, 2.0, 2.0**70])
    with jax.enable_x64(x64):
        found = jax.jit(lambda f: getattr(xp, name)(f, B))(xp.asarray(f))
        assert numpy.array_equal(found, getattr(numpy, name)(f, B))


def test_put_at_floats():
    for positions in [1.7, 0], 1.0, [], [True, False]:
        x = xp.array([1.0, 2.0, 3.0])
        expected = numpy.array([1.0, 2.0, 3.0])
        xp.put(x, positions, 9.0)
        numpy.put(expected, positions, 9.0)
        assert x.tolist() == expected.tolist()
    with pytest.raises(TypeError, match="safe"):
        xp.put(xp.zeros(3), xp.array([1.0]), 9.0)
