"""The same statements run with NumPy and with this module: values, dtypes, shapes and errors are the same."""

import json
import math

import jax
import numpy as np
import pytest

import jaxapi.numpy as ours

# Each line sets y; x is a vector of five floats, m a matrix of integers.
SCALARS = """
t = np.zeros(3).sum(); y = []; [y.append(t := t + k) for k in range(3)]
y = []; t = np.zeros(3).sum()\\nfor k in range(3):\\n  t += k\\n  y.append(t)
best = s = np.arange(3.).sum(); s *= 2; y = [best, s]
first = x[0]; y = first; first += 5; y = [y, first, x[0]]
y = np.linalg.norm(x); z = y; y -= 1; y = [z, y]
y = z = np.dot(x, x); y += 1; y = [y, z]
y = z = x.argmax(); y += 1; y = [y, z, np.argmax(x)]
y = np.count_nonzero(x > 2); y -= 1
n = m[0, 1]; n /= 2; y = n
k = x.max(); k += np.ones(2); y = k
k = x[1]; k *= m; y = k
y = {x[0]: 1, x[1]: 2}[x[1]]
y = len({m[0, 0], m[0, 0], m[0, 1]})
y = [round(x.sum()), round(float(x.sum()), 1), math.floor(x[1]), math.ceil(x[1]), math.trunc(x[2])]
y = round(x.sum(), 1)
y = [10, 20, 30, 40][m[0, 1]]
y = list(range(m[1, 0]))
y = f"{x[1]:.3f} {m[0, 1]:03d} {x.mean():8.2e}"
y = '%d %.2f' % (m[0, 1], x[1])
z = np.array(5.); w = z; z += 1; y = w
z = np.zeros(()); z[...] = 4; y = z
z = x[...]; z += 1; y = x
z = x[0, ...]; y = z.shape
y = x[0].dtype; y = str(y)
x[0][...] = 1
x[0][0] = 1
y = hash(x[1]) == hash(float(x[1]))
hash(x)
hash(np.array(5))
y = sum(x)
y = max(x)
y = sorted(x[::-1])[0]
y = bool(x[0] < x[1]) and (not x[0] > x[1])
y = isinstance(x[0] < x[1], (bool, np.bool_)) or True
y = x.sum() == 11
y = np.sum(x) / m.sum()
y = m.sum() // 2
y = m.sum() ** 2
y = -x.min()
y = abs(x.min())
y = divmod(m.sum(), 4)
y = x.std() < x.var()
y = [float(v) for v in x]
y = int(x.sum())
y = complex(x[1])
y = m.sum() + 0.5
y = m.sum() & 3
y = x.mean().shape
y = np.float64(2) * x
y = x[1] * x
y = np.sqrt(x.sum())
y = np.maximum(x.sum(), 3)
y = x.sum().astype(np.int32)
y = x[1].item()
y = np.mean([x.sum(), x.max()])
y = [1, 2, 3][:m[0, 1]]
"""
ARRAY_LIKES = """
y = np.sqrt(range(5))
y = list(map(np.sin, [1., 2.]))
y = list(map(np.sin, [1., None, 2.]))
y = np.mean(range(4))
y = np.mean((1, 2, 3))
y = np.dot([1, 2], (3, 4))
y = np.dot(range(3), [1, 2, 3])
y = np.cumsum(range(4))
y = np.cumsum([1, 2, 3], dtype=float)
y = np.interp(2.5, [1, 2, 3], [3, 2, 0])
y = np.interp([0, 1, 1.5], range(3), (3., 2., 0.))
y = np.bincount([0, 1, 1, 3])
y = np.bincount(range(3), weights=[1, 2, 3])
y = np.histogram([1, 2, 1], bins=[0, 1, 2, 3])[0]
y = np.histogram(range(10), bins=3)
y = np.convolve([1, 2, 3], [0, 1, 0.5])
y = np.convolve(range(3), range(2))
y = np.meshgrid(range(3), [1, 2])
y = np.linalg.norm([3, 4])
y = np.linalg.norm(range(3))
y = np.cross([1, 2, 3], [4, 5, 6])
y = np.cross(range(3), (4, 5, 6))
y = np.lexsort(([1, 5, 1], [9, 4, 0]))
y = np.lexsort((range(3), [2, 2, 1]))
y = np.allclose([1e10, 1e-7], [1.00001e10, 1e-8])
y = np.allclose(range(3), [0, 1, 2])
y = x[range(3)]
y = m[[0, 1], range(2)]
y = m[range(2), range(2)]
x[range(2)] = [7, 8]; y = x
y = np.array(range(4)) + range(4)
y = x + list(range(5))
y = x * range(5)
y = range(5) * x
y = np.concatenate([range(2), [5.]])
y = np.stack([(1, 2), range(2)])
y = np.where([True, False], range(2), [5, 6])
y = np.add(range(3), 1)
y = np.linalg.solve([[3, 1], [1, 2]], [9, 8])
y = np.linalg.det(((1, 2), (3, 4)))
y = np.median(range(4))
y = np.percentile(range(11), [25, 50])
y = np.argsort((3, 1, 2))
y = np.sort(range(3, 0, -1))
y = np.unique((3, 1, 3))
y = np.isin(range(3), (1, 5))
y = np.repeat(range(2), range(1, 3))
y = np.tile(range(2), 2)
y = np.diff(range(0, 9, 3))
y = np.outer(range(2), range(3))
y = np.clip(range(5), 1, 3)
y = np.clip(range(5), [0, 1, 2, 3, 4], 3)
y = np.polyval((1, 2, 3), 2)
y = np.polyval([1, 2, 3], range(3))
y = np.trapezoid(range(4))
y = np.gradient(range(0, 9, 2))
y = np.searchsorted(range(5), 2.5)
y = np.digitize([0.5, 1.5], range(3))
y = np.take(range(5), (1, 3))
y = np.reshape(range(6), (2, 3))
y = np.fft.fft(range(4))
y = np.max(range(4), initial=9)
y = np.array([x, x[::-1]])
y = np.array([x[0], 1])
y = np.array([[x[0], x[1]], [1, 2]])
y = np.vstack([x, range(5)])
y = np.average(range(4), weights=range(4))
y = np.einsum('i,i', range(3), [1, 2, 3])
y = np.full(3, x[1])
y = np.full(2, [1, 2])
y = np.linspace(x[0], x[4], 3)
y = np.arange(m[0, 1], m[1, 1])
y = np.zeros(m[0, 1])
y = np.zeros((m[0, 1], 2)).shape
y = np.eye(m[0, 1])
y = x.reshape(m[0, 0] + 1, -1).shape
y = np.sum([x, x])
y = np.any([False, True])
y = np.nanmean([1, np.nan, 3])
y = np.kron(range(2), [1, 1])
"""
WRONG = """
y = np.block([[m, m], [m, m]])
y = np.block([x, 1, [2, 3]])
y = np.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 3))]])
y = np.quantile(np.array([15, 20, 35, 40, 50], np.float32), 0.4, method='inverted_cdf')
y = np.quantile(np.array([15, 20, 35, 40, 50.]), [0.2, 0.4, 0.6], method='inverted_cdf')
y = np.quantile(np.arange(10, dtype=np.float32), 0.3, method='closest_observation')
y = np.quantile(np.arange(5, dtype=np.float32), [0.2, 0.4, 0.8], method='averaged_inverted_cdf')
y = np.piecewise(x, [x < 2, x >= 2], [lambda v: -v, lambda v: v.sum()])
y = np.piecewise(x, [x < 2], [lambda v: v * 0 + v.size, 7])
y = np.piecewise(m, [m > 2], [lambda v: v // 2])
y = np.arange(np.int8(0), 1.0, 0.25)
y = np.arange(np.float32(0), 2)
y = np.arange(np.int16(4))
y = x == None
y = x != None
y = m == 'a'
y = np.unique(np.array([[np.nan, 1], [np.nan, 1], [2, 1]]), axis=0)
y = np.unique(np.array([2, np.nan, 1, np.nan]))
y = np.array([np.float32(1), 2])
y = np.array([np.int8(1), 2.5])
y = np.array([np.float32(1), np.int8(2)])
y = np.roots([1, -3, 2])
y = np.roots([1, 0, 1])
y = np.roots([0, 0, 2, -8])
y = np.polydiv([1, 5, 6], [1, 2])
y = np.polydiv([1., 0, 0, 3], [2., 1])
y = np.polydiv([1, 2], [1, 2, 3])
y = np.nanargmin([np.nan, np.nan])
y = np.nanargmax(np.array([[1, np.nan], [np.nan, np.nan]]), axis=1)
y = np.nanargmin([np.nan, 2, 1])
y = np.insert(x, 7, 1)
y = np.insert(x, [1, 9], 1)
y = np.insert(m, 1, 5, axis=1)
y = np.insert(x, [0, 2], [8, 9])
y = np.cov(x, aweights=[-1, 1, 1, 1, 1])
y = np.cov(x, fweights=[-1, 1, 1, 1, 1])
y = np.cov(m, aweights=[1, 2])
y = np.shares_memory(x, x[1:])
y = np.shares_memory(x[:2], x[2:])
y = np.may_share_memory(x, x.copy())
y = np.shares_memory(x, np.array(x))
y = np.can_cast(m.dtype, np.float32)
y = np.can_cast(x[0].dtype, 'f4')
y = str(np.min_scalar_type(m[0, 0]))
y = np.polyfit([0, 1, 2, 3], [1, 3, 5, 7], 1).round(6)
y = np.polyfit(np.arange(4), np.arange(4) ** 2, 2).round(6)
y = np.angle(1j)
y = np.angle([1, 1j, -1], deg=True)
y = np.array([2**63])
y = np.array([2**63 - 1])
y = np.array([-1, 2**63])
np.testing.assert_equal(x, x)
np.testing.assert_allclose(x, x + 1e-12)
np.testing.assert_array_equal(m, m.copy())
y = np.vectorize(lambda v: v if v > 2 else -v)(x)
y = np.vectorize(math.sqrt)(x)
y = np.vectorize(lambda a, b: max(a, b))(m, 2)
y = np.vectorize(lambda v: 'abc'[v] == 'b')(np.arange(3))
y = np.apply_along_axis(lambda r: sorted(r, reverse=True), 1, m)
y = np.apply_along_axis(lambda r: r[0] if r[0] > 1 else r[-1], 0, m)
y = np.apply_along_axis(np.sort, 1, m)
y = np.apply_along_axis(lambda r: r.sum(), 1, m)
y = np.apply_over_axes(np.sum, m, [0, 1])
y = np.lib.stride_tricks.sliding_window_view(x, 3)
y = np.lib.stride_tricks.sliding_window_view(m, (2, 2)).shape
y = np.typing.ArrayLike is not None
y = isinstance(x, np.ndarray)
x.flags.writeable = False; x[0] = 1
x.setflags(write=False); x[0] = 1
y = x.flags.writeable
class Sub(np.ndarray.__base__): pass
y = np.linalg.multi_dot([m, m, m])
y = np.select([x < 2, x < 4], [x, x * 2], default=-1)
y = np.choose([0, 1], [[1, 2], [3, 4]])
y = np.trim_zeros(np.array([0, 1, 0, 2, 0]))
y = np.fromfunction(lambda i, j: i * 2 + j, (2, 3))
y = np.indices((2, 2))
y = np.ndenumerate(m).__next__()
y = [i for i in np.ndindex(2, 2)]
y = np.round([2.675, 1.25], 2)
y = np.round(m, -1)
y = x.round(1)
y = np.nan_to_num([np.inf, np.nan, 1])
y = np.histogram2d([1, 2, 3], [1, 2, 2], bins=2)[0]
y = np.ptp(x)
y = np.average(m, axis=0, weights=[1, 3], returned=True)
y = np.divide([1., 2.], [2., 4.], out=np.zeros(2), where=[True, False])
y = np.sum(m, axis=1, keepdims=True)
y = np.sum(m, where=m > 1)
y = np.cumprod(m, axis=0)
y = np.ediff1d(x, to_begin=0)
y = np.tri(3, 2, -1)
y = np.vander([1, 2, 3], 2)
y = np.rollaxis(np.ones((2, 3, 4)), 2).shape
y = np.rot90(m, -1)
y = np.array_split(x, 3)
y = np.split(x, 2)
y = np.pad(x, (1, 2), 'reflect')
y = np.pad(m, 1, constant_values=7)
y = np.einsum('ij->ji', m)
y = np.linalg.eigh(np.eye(2))[0]
y = np.linalg.inv(np.zeros((2, 2))) if False else 0
y = np.linalg.matrix_rank(m)
y = np.ones((2, 3)) @ np.ones(2)
y = x[7]
y = x['a']
y = m[0, 0, 0]
x[:2] = [1, 2, 3]
y = np.concatenate([x, m])
y = np.zeros(3) + np.zeros(4)
y = np.reshape(x, (2, 2))
y = x.reshape(-1, -1)
y = np.arange(3)[np.array([True, False])]
y = np.ones(3)[1.5]
m += 0.5
m /= 2
y = np.int8([100]) + np.int8([100])
y = np.array([1, 2], np.uint8) - np.uint8(3)
y = np.array([3], np.int32) / np.array([2], np.int32)
y = np.array([1, 2, 3], np.int16) * 2.5
y = np.arange(3, dtype=np.float32) * np.float64(2)
y = np.arange(3, dtype=np.float32) + np.arange(3, dtype=np.int32)
y = np.array([True, False]) + 1
y = ~np.array([True, False])
y = -np.array([True])
y = np.array([5, -5]) // 2
y = np.array([5, -5]) % 3
y = np.array([2, 3]) ** np.array([2, 0])
y = np.array([2]) ** -1
y = np.array([1, 2, 3])[::-1].copy()
y = x[[True, False, True, False, True]]
x[x > 2] = 0; y = x
x[[0, 0, 1]] += 1; y = x
np.add.at(x, [0, 0, 1], 1); y = x
m[:, 0] = m[:, 1]; y = m
m[0], m[1] = m[1].copy(), m[0].copy(); y = m
y = m.T.flatten()
y = m.tolist()
y = x.tobytes() == np.array(x).tobytes()
y = m.astype(float)
y = m.astype('f4')
y = np.zeros_like(m, dtype=float)
y = np.full_like(m, 2.7)
y = np.ones_like(x, shape=(2, 2))
y = np.empty((0, 3)).sum(axis=0)
y = np.max([])
y = np.mean(m, axis=(0, 1))
y = np.std(m, axis=1, ddof=1)
y = np.argmin(m, axis=1)
y = np.nonzero(m > 1)
y = np.argwhere(m > 1)
y = np.flatnonzero(m > 1)
y = np.searchsorted([1, 2, 3], [2, 2.5], side='right')
y = np.triu(m), np.tril(m)
y = np.diag([1, 2]), np.diag(m)
y = np.roll(m, 1, axis=1)
y = np.flip(m)
y = np.isclose(x, x + 1e-9)
y = np.logical_and(x > 1, x < 3)
y = np.r_[x, 1, 2:4]
y = np.c_[x, x]
y = np.mgrid[0:2, 0:2]
y = np.s_[1:3]
y = np.ix_([0, 1], [1])
y = x[None, :].shape, x[:, np.newaxis].shape
y = m[..., 0]
y = np.load.__name__
y = np.exp(1j * np.pi).real
y = np.real([1 + 2j]), np.imag([1 + 2j])
z = np.zeros(3, complex); z[0] = 1.5; z[1] = 2; z[2:] = [3j]; y = z
z = np.zeros(3, complex); z[:] = x[:3]; z[z.real > 1] = 7; y = z
z = np.zeros(2, complex); z.real = 3; z.imag[0] = 1; y = z
y = np.linalg.lstsq(np.array([[1., 1], [1, 2], [1, 3]]), np.array([1., 2, 2]), rcond=None)[0]
"""


def run(module, text, x64=True):
    with jax.enable_x64(x64), np.errstate(all="ignore"):
        scope = {"np": module, "math": math, "json": json}
        scope["x"] = module.array([0.0, 1.25, 2.5, 3.25, 4.0])
        scope["m"] = module.array([[1, 2], [3, 4]])
        try:
            exec(text.replace("\\n", "\n"), scope)
        except Exception as error:
            return error
        return scope.get("y")


def check_same(made, expected):
    if isinstance(expected, Exception):
        common = (IndexError, TypeError, ValueError, OverflowError)
        kinds = [kind for kind in common if isinstance(expected, kind)]
        assert isinstance(made, Exception), made
        assert isinstance(made, tuple(kinds) or type(expected)), repr(made)
        return
    if isinstance(made, Exception):
        raise made
    if isinstance(expected, (list, tuple)):
        assert len(made) == len(expected)
        for part, wanted in zip(made, expected, strict=True):
            check_same(part, wanted)
        return
    if isinstance(expected, (np.ndarray, np.generic)):
        assert made.dtype == expected.dtype
        assert made.shape == expected.shape
        np.testing.assert_allclose(np.asarray(made), expected, rtol=1e-6, atol=1e-12)
        return
    assert made == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", (SCALARS + ARRAY_LIKES + WRONG).strip().splitlines())
def test_statement(text):
    check_same(run(ours, text), run(np, text))
