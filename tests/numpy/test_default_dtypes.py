"""NumPy's dtypes, whatever JAX's x64 mode: programs beside NumPy's, on the host and JAX's way."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxapi
import jaxapi.mutable
import jaxapi.numpy as ours

# Each program makes ``r``: a number, an array, or a tuple of them.
PROGRAMS = """
r = np.arange(100000).sum()
r = np.array([1700000000]) * 1000
r = np.full((2000, 2000), 1000).sum()
r = np.ones(3, np.int32) * np.ones(3, np.float32)
r = np.array([1, 2, 3]), np.array([1.0, 2]), np.array([1, 2j]), np.array([True])
r = np.zeros(3), np.ones((2, 2)), np.eye(3), np.identity(2), np.full(3, 7), np.full(3, 0.5), np.tri(3)
r = np.arange(5), np.arange(0.0, 1.0, 0.25), np.linspace(0, 1, 5), np.logspace(0, 2, 3), np.geomspace(1, 8, 4)
r = np.int64(3) * np.arange(3, dtype=np.int8), np.arange(3) ** 2, np.arange(1, 4) ** -1.0, 2 ** np.arange(40)
r = np.cumsum(np.full(9, 2**30, np.int32)), np.cumprod(np.full(9, 9, np.int8))
r = np.arange(9, dtype=np.int8).sum(), np.full(40, 100, np.uint8).sum(), np.full(3, True).sum()
r = np.prod(np.arange(1, 20)), np.full(9, 99, np.int16).prod(), np.add.reduce(np.full(9, 99, np.int8))
r = np.dot(np.arange(60000), np.arange(60000)), np.arange(60000) @ np.arange(60000)
r = np.inner(np.arange(3), np.arange(3)), np.outer(np.arange(3), 2.5), np.vdot(np.arange(3), np.arange(3))
r = np.mean(np.arange(5)), np.std(np.arange(5)), np.var([1, 2]), np.median([3, 1]), np.average([1, 2, 4])
r = np.mean(np.ones(3, np.float32)), np.ones(3, np.float32).std(), np.ones(3, np.float16).sum()
r = np.histogram(np.arange(10) % 3, bins=3)
r = np.histogram([0.1, 0.4, 0.4], weights=[1, 2, 3], bins=2)
r = np.bincount(np.array([1, 1, 3])), np.bincount([0, 1], weights=[1, 2])
r = np.unique(np.array([3, 1, 3]), return_inverse=True, return_counts=True, return_index=True)
r = np.where(np.arange(3) > 1, 1, 2), np.where([True, False], 1.5, 2), np.where(np.arange(3) > 1)
r = np.arange(3).astype(float), np.arange(3.0).astype(int), np.arange(3).astype(complex), np.arange(3).astype("f4")
r = np.power(3, np.arange(30)), np.floor_divide(np.arange(5), 2), np.mod(np.arange(5), 3), np.arange(4) // 2
r = np.divmod(np.arange(7), 3), np.arange(7) / 2, np.true_divide(np.arange(3, dtype=np.int16), 2)
r = np.argsort(np.array([3, 1, 2])), np.argmax([1, 5, 2]), np.searchsorted(np.arange(9), [3, 4]), np.nonzero([0, 3])
r = np.einsum("ij,jk->ik", np.ones((2, 2)), np.ones((2, 2))), np.einsum("i,i", np.full(3, 2**20), np.full(3, 2**20))
r = np.tensordot(np.ones((2, 3)), np.ones((3, 2)), 1), np.matmul(np.full((2, 2), 2**20), np.full((2, 2), 2**20))
r = np.polyfit([0, 1, 2, 3], [1, 3, 5, 7], 1), np.polyval([1, 2], 3), np.roots([1, -3, 2])
r = np.interp([0.5, 1.5], [0, 1, 2], [0, 10, 20]), np.cov(np.arange(6).reshape(2, 3)), np.corrcoef([1, 2, 4], [1, 3, 2])
r = np.percentile(np.arange(11), 30), np.quantile([1, 2, 4], [0.25, 0.5]), np.trapezoid([1, 2, 3])
x = np.arange(5); x[1] += 2**40; x[2:4] *= 3; r = x
x = np.arange(5); x[x > 2] -= 2**33; r = x, x[x > 0], x[[0, 1]], x[-1], x[::2] + 1
x = np.zeros(3); x += np.arange(3); x /= 3; r = x, x[1] + 1, x[1] * np.float32(3)
x = np.zeros(3, np.float32); x += 1 / 3; r = x, x * 2.5, x + 1, x + np.float64(1), np.sqrt(x)
x = np.zeros(4, int); np.add.at(x, [0, 0, 2], 2**31); r = x
r = np.add.accumulate(np.full(5, 2**30)), np.multiply.outer(np.arange(3), 2**33), np.multiply.reduce(np.arange(1, 21))
r = np.add.reduceat(np.full(6, 2**30), [0, 2, 4]), np.maximum.reduce(np.array([2**40, 1])), np.subtract.outer([1, 2], [3])
r = np.sin(np.arange(3)), np.sqrt(2), np.exp(np.int32(1)), np.log(np.arange(1, 3, dtype=np.int8)), np.hypot(3, 4)
r = np.arange(3, dtype=np.uint32) + np.arange(3, dtype=np.int32), np.arange(3, dtype=np.uint64) + np.arange(3)
r = np.arange(3, dtype=np.int16) + np.ones(3, np.float16), np.ones(2, np.complex64) * np.ones(2, np.float64)
r = np.fft.fft(np.arange(4)), np.fft.rfft(np.ones(4)), np.fft.ifft([1, 2]), np.fft.fftfreq(4), np.fft.irfft([1, 2, 1])
r = np.fft.fft(np.ones(4, np.float32)), np.fft.fft2(np.eye(2)), np.fft.fftshift(np.arange(4))
r = np.linalg.inv(np.array([[2, 0], [0, 4]])), np.linalg.det([[1, 2], [3, 4]]), np.linalg.norm([3, 4])
r = np.linalg.solve(np.array([[2.0, 1], [1, 3]]), [1, 2]), np.linalg.eigvalsh(np.eye(2) * 3), np.linalg.svdvals(np.eye(2))
r = np.concatenate([np.arange(2), np.arange(2.0)]), np.stack([np.arange(2, dtype=np.int32), np.arange(2)]), np.r_[1:3, 5]
r = np.clip(np.arange(5), 1, 3), np.clip(np.arange(5), 0.5, 3), np.round(2.567, 1), np.abs(np.arange(-2, 2)), np.sign(-2)
r = np.gradient(np.arange(5) ** 2), np.diff(np.array([1, 2**40])), np.ediff1d([1, 5]), np.convolve([1, 2], [1, 1])
r = np.meshgrid(np.arange(2), [0.5]), np.mgrid[0:2, 0:2], np.indices((2, 2)), np.mgrid[0:1:3j]
r = np.tril_indices(2), np.unravel_index([1, 3], (2, 2)), np.ravel_multi_index(([1], [1]), (2, 2)), np.flatnonzero([0, 1])
r = np.digitize([0.5, 1.5], [0, 1, 2]), np.count_nonzero([0, 1, 2]), np.argpartition(np.array([3, 1, 2]), 1)[0]
r = np.nansum([1, np.nan]), np.nanmean(np.array([1, np.nan], np.float32)), np.nancumsum(np.arange(3, dtype=np.int8))
r = np.trace(np.full((2, 2), 100, np.int8)), np.kron([1, 2], [1, 2]), np.cross([1, 0, 0], [0, 1, 0]), np.vander([1, 2])
r = np.bitwise_and(np.arange(4), 1), np.left_shift(1, np.arange(40)), np.invert(np.arange(2)), np.gcd(12, np.arange(1, 4))
r = np.array([2**40, 1]) // 7, np.array([2**62]) % 1000, -np.array([2**40]), abs(np.array([-(2**40)]))
r = np.array([2**63], np.uint64) + 1, np.array([2**40]).max(), np.sort(np.array([2**40, 3])), np.array([2**40]) > 2**39
r = np.isclose(np.float64(1) + 1e-12, 1, rtol=1e-13, atol=0), np.ones(1) + 1e-12 == 1, np.float32(1) + np.ones(1)
r = np.asarray(range(3)), np.asarray([np.float32(1), 2]), np.array([np.int8(1)]), np.array(5), np.array(2.5), np.array((1, 2.5))
r = np.zeros_like(np.arange(3)), np.ones_like(np.ones(2, np.float32)), np.full_like(np.arange(3.0), 1), np.empty(0), np.empty(0, int)
r = np.hanning(4), np.kaiser(4, 1), np.i0(1.0), np.sinc([0.5, 1]), np.unwrap([0, 7.0]), np.heaviside([1, -1], 0.5)
r = np.vectorize(lambda x: x * 2)(np.arange(3)), np.apply_along_axis(lambda v: v.sum(), 0, np.ones((2, 2), np.int8))
r = np.piecewise(np.arange(4.0), [np.arange(4) > 1], [2, 1]), np.select([np.arange(3) > 1], [np.arange(3)], 9)
r = np.fromfunction(lambda i, j: i + j, (2, 2)), np.fromiter([1, 2], int), np.frombuffer(b"12345678", np.uint8)
r = np.take(np.arange(5), [1, 2]), np.repeat([1, 2], 2), np.tile(np.arange(2), 2), np.roll(np.arange(3), 1), np.pad([1, 2], 1)
r = np.float_power(np.float32(2), 2), np.ldexp(1.5, 3), np.frexp(6.0), np.modf(2.5), np.nextafter(1.0, 2)
r = np.ndarray((2,)).dtype == np.float64, np.asarray(np.ones(2), dtype=float), np.asarray([1.5], dtype=int), np.ones(2, complex)
r = np.lexsort(([1, 2], [2, 1])), np.isin([1, 2], [2]), np.intersect1d([1, 2], [2]), np.packbits([1, 0]), np.max([1, 2])
r = np.arange(6).reshape(2, 3).sum(0), np.arange(6).reshape(2, 3).mean(1), np.arange(6).T.cumsum(), np.arange(3).dot([1, 2, 3])
r = np.arange(4).var(ddof=1), np.arange(4).prod(), np.arange(4).ptp() if 0 else np.ptp(np.arange(4)), np.arange(4).argmin()
r = divmod(np.arange(3), 2), 1 - np.arange(3), 1 / np.arange(1, 3), 2.5 ** np.arange(3), [1, 2] + np.arange(2), 7 // np.arange(1, 3)
r = np.linalg.lstsq(np.array([[1, 0], [0, 1], [1, 1]]), [1, 2, 3.0])[0], np.linalg.matrix_power(np.array([[2, 1], [0, 2]]), 33)
r = np.array([0.1, 0.2], "float32").sum(dtype=float), np.arange(3).sum(dtype="int8"), np.mean(np.arange(3), dtype=np.float32)
""".strip().splitlines()  # noqa: E501 (a program is a line)

PROGRAMS = list(map(str.strip, PROGRAMS))


def leaves(made):
    return [np.asarray(x) for x in jax.tree.leaves(made, is_leaf=lambda x: isinstance(x, ours.ndarray))]


def run(module, program):
    names = {"np": module}
    exec(program, names)
    return leaves(names["r"])


def check(made, expected):
    for mine, numpys in zip(leaves(made), leaves(expected), strict=True):
        assert mine.dtype == numpys.dtype
        np.testing.assert_allclose(mine, numpys, 1e-6 if numpys.dtype.itemsize < 8 else 1e-12, 1e-12)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_as_numpys(program, x64):
    with jax.enable_x64(x64):
        check(run(ours, program), run(np, program))


# Functions of ``n``, small integers, and ``x``, floats, in JAX's transformations.
TRACED = """
(n * np.int64(2**40)).sum(), np.cumsum(n), np.prod(n + 20), n @ n, np.arange(3), np.zeros(2), np.mean(n), n / 2, np.argsort(x)
np.sin(n), np.sqrt(2), x + 1, x * np.float32(2), np.float32(2) * n, x.astype(np.float32) * n.astype(np.int32)
np.where(n > 1, n, 0), np.where(n > 1, 1, x), np.argmax(x), np.nanargmin(x), np.searchsorted(x, 0.3), np.unravel_index(2, (2, 2))
np.select([n > 1, n > 0], [n, 7], 0.5), np.frexp(x), np.ldexp(x, n), np.ldexp(1e-300, [1200, -9]), np.i0(x * 9), np.nextafter(x, 2)
np.fft.fft(x), np.fft.rfft(n), np.linalg.norm(x), np.linalg.solve(np.eye(3) * 3, x), np.linalg.eigvalsh(np.eye(3)), np.interp(x, n, x)
np.histogram(x, bins=2, range=(0, 1)), np.percentile(n, 30), np.median(x), np.var(n), np.cov(n), np.convolve(n, n), np.polyval(n, x)
np.add.accumulate(n), np.add.reduce(n), np.multiply.outer(n, n), np.einsum("i,j", n, x), np.stack([n, x]), np.concatenate([n, x])
np.clip(n, 0.5, 2), np.power(3, n), n**2, n // 2, np.remainder(n, 2.5), np.round(x, 2), np.bitwise_xor(n, 3), np.gcd(n, 4), -n, abs(n)
np.sort(x), np.diff(n), np.gradient(x), np.trapezoid(n), np.repeat(n, 2), np.take(x, n % 3), x[n % 3], x[1:] + n[:2], x[0] + n[1]
np.linspace(0, 1, 4), np.full(2, 7), np.full(2, 0.5), np.ones_like(n), np.eye(2), np.tril(np.ones((2, 2))), np.hanning(4), np.kaiser(3, 2)
""".strip().splitlines()  # noqa: E501 (a function is a line)
N = np.array([1, 2, 3], np.int8)
X = np.array([0.5, 0.25, 0.125])


def evaluate(module, text, n, x):
    return eval(text, {"np": module, "n": n, "x": x})


@pytest.mark.daily
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("text", TRACED)
def test_transformed_functions_as_numpys(text, x64):
    def function(n, x):
        return evaluate(ours, text, n, x)

    expected = evaluate(np, text, N, X)
    with jax.enable_x64(x64):
        n, x = ours.asarray(N), ours.asarray(X)
        check(jax.jit(function)(n, x), expected)
        check(
            [part[1] for part in jax.tree.leaves(unwrapped(jax.vmap(function, (None, 0))(n, pair(x))))],
            expected,
        )


def unwrapped(made):
    """Return the values of arrays in a pytree."""
    return jax.tree.map(np.asarray, made, is_leaf=lambda x: isinstance(x, ours.ndarray))


def pair(x):
    return ours.stack([x, x])


@pytest.mark.parametrize("x64", [False, True])
def test_fused_functions_as_numpys(x64):
    def of_integers(np, n):
        total = np.cumsum(n) * 2**33 + np.arange(3)
        return total, total.sum(), np.mean(n), np.sqrt(n) + 1, n * np.float32(2), np.argmax(n), np.zeros(2)

    def writes(np, x, n):
        x[1:] += n[1:] / 3
        x[0] = np.prod(n + 2**20)

    with jax.enable_x64(x64):
        fused = ours.fuse(lambda n: of_integers(ours, n))
        check(fused(ours.asarray(N)), of_integers(np, N))
        host = X.copy()
        x = ours.asarray(X)
        writes(np, host, N.astype(int))
        ours.fuse(lambda x, n: writes(ours, x, n))(x, ours.asarray(N.astype(int)))
        check(x, host)


@pytest.mark.daily
@pytest.mark.parametrize("x64", [False, True])
def test_derivatives_as_of_float64(x64):
    """Beside finite differences of NumPy's function, of which float32 leaves half of the digits."""

    def loss(np, x):
        y = np.sort(np.concatenate([x * np.arange(1, 6, 2), [0.3]]))
        return (
            (np.sin(y) * np.cumsum(y) / np.sqrt(1 + y**2)).sum()
            + np.linalg.norm(x)
            + np.interp(0.3, x[::-1], x).sum()
        )

    step = 1e-6 * np.eye(3)
    expected = [(loss(np, X + h) - loss(np, X - h)) / 2e-6 for h in step]

    def value(x):
        return loss(ours, x)._value

    with jax.enable_x64(x64):
        x = ours.asarray(X)
        total, pull_back = jax.vjp(value, x)
        gradients = [
            gradient(x) for gradient in (ours.grad(value), jax.grad(value), jax.jit(jax.grad(value)))
        ]
        for gradient in [*gradients, pull_back(jnp.ones_like(total))]:
            (made,) = leaves(gradient)
            assert made.dtype == np.float64
            np.testing.assert_allclose(made, expected, 1e-8)
        along = jax.jvp(value, (x,), (ours.ones(3),))[1]
        assert along.dtype == np.float64
        np.testing.assert_allclose(along, sum(expected), 1e-8)
        check(ours.grad(lambda t: t * np.pi)(1.0), np.float64(np.pi))
        check(
            ours.value_and_grad(lambda t: ours.sum(t**3))(x.astype("float32")),
            (np.float32(0.142578125), np.float32(3 * X**2)),
        )


COMPLEX = (
    "np.abs(z)",
    "np.angle(z)",
    "np.real(z) * np.imag(z)",
    "np.diag(x, 1)",
    "np.fft.fft(x)",
    "np.fft.ifft(z, 5)",
    "np.fft.irfft(z)",
    "np.fft.rfft2(x * np.ones((2, 1)), axes=(1, 0))",
    "np.linalg.norm(z)",
    "np.linalg.norm(z, 3)",
    "np.nanprod(x)",
    "np.pad(z, 2)",
    "np.sign(z)",
    "np.std(z)",
    "np.var(z, ddof=1)",
    "np.nan_to_num(z)",
    "np.linspace(z, 1, 4)",
    "np.interp(0.7, np.arange(3), z)",
    "z.astype(complex).imag",
    "spread(np, z)",
)


def spread(np, z):
    """Write to every other element."""
    y = np.zeros(5, z.dtype)
    y[::2] = z
    y.real[1:2] = 3
    return y * np.arange(1, 6)


TRANSFORMED = {
    "at once": jax.jacrev,
    "reverse": lambda function: jax.jit(jax.jacrev(function)),
    "forward": lambda function: jax.jit(jax.jacfwd(function)),
}


@pytest.mark.thorough
@pytest.mark.daily("jaxs-reverse", "jaxs-forward")
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("of", TRANSFORMED)
def test_jaxs_own_gradients_of_complex_numbers(of, x64):
    """Of the parts, `fft` and padding, whose transposes in JAX have zeros of 32 bits with x64 mode off."""

    def losses(np, x):
        z = x + 1j * (x[::-1] + 1) ** 2
        return [
            np.real(weighted(np, eval(text, {"np": np, "spread": spread, "x": x, "z": z})))
            for text in COMPLEX
        ]

    def weighted(np, made):
        return (made * (np.arange(1, 1 + made.size) * (1 - 2j)).reshape(made.shape)).sum()

    at = X + 0.02
    steps = 1e-6 * np.eye(3)
    expected = np.transpose([np.subtract(losses(np, at + h), losses(np, at - h)) / 2e-6 for h in steps])
    with jax.enable_x64(x64):
        of_ours = lambda x: jnp.stack([each._value for each in losses(ours, ours.asarray(x))])  # noqa: E731
        slopes = TRANSFORMED[of](of_ours)(jaxapi.asarray(at))
        assert slopes.dtype == np.float64
        np.testing.assert_allclose(slopes, expected, 1e-7, 1e-7)


SMOOTH = (
    "np.prod(x)",
    "np.cumprod(x)",
    "np.pad(x, 1)",
    "np.diag(x, 1)",
    "np.fft.fft(x)",
    "np.fft.irfft(x)",
    "np.frexp(x)[0]",
)
SMOOTH += ("np.ldexp(x, 3)", "np.i0(x)", "np.multiply.accumulate(x)", "x + 1j * x**2")


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("text", SMOOTH)
def test_derivatives_where_jax_takes_narrow_zeros(text, x64):
    def loss(np, x):
        return (np.abs(evaluate(np, text, None, x)) ** 2).sum()

    at = X + 0.01
    expected = [(loss(np, at + h) - loss(np, at - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    with jax.enable_x64(x64):
        gradient = ours.grad(lambda x: loss(ours, x))
        for made in (gradient(ours.asarray(at)), jax.jit(gradient)(ours.asarray(at))):
            assert made.dtype == np.float64
            np.testing.assert_allclose(made, expected, 1e-7, 1e-8)


@pytest.mark.parametrize("x64", [False, True])
def test_derivatives_by_jax_of_products_and_padding(x64):
    texts = ["np.prod(x)", "np.cumprod(x)", "np.nancumprod(x)", "np.pad(x, (1, 2), constant_values=3)"]

    def losses(np, x):
        return [(evaluate(np, text, None, x) ** 2).sum() for text in texts]

    at = X + 0.01
    steps = 1e-6 * np.eye(3)
    expected = [np.subtract(losses(np, at + h), losses(np, at - h)) / 2e-6 for h in steps]
    with jax.enable_x64(x64):
        x = ours.asarray(at)
        ours.prod(x), ours.cumprod(x)  # what is compiled of values is not what is differentiated
        slopes = jax.jacrev(lambda x: [each._value for each in losses(ours, x)])(x)
        for made, of_numpy in zip(slopes, np.transpose(expected), strict=True):
            (slope,) = leaves(made)
            assert slope.dtype == np.float64
            np.testing.assert_allclose(slope, of_numpy, 1e-7, 1e-8)


@pytest.mark.parametrize("x64", [False, True])
def test_loops_of_jax(x64):
    with jax.enable_x64(x64):
        x = ours.asarray(X)
        n = ours.asarray([2**40, 1, 2])
        last, each = jax.lax.scan(lambda c, v: (c + v, c * 2), ours.zeros(()), x)
        check((last, each), (X.sum(), 2 * np.cumsum(X) - 2 * X))
        check(
            jax.lax.fori_loop(0, 3, lambda i, c: c + ours.arange(3) * 2**33, n),
            np.array([2**40, 1 + 3 * 2**33, 2 + 6 * 2**33]),
        )
        check(
            jax.lax.while_loop(lambda c: (c < 2**42).all()._value, lambda c: c * 2, n),
            np.array([2**42, 4, 8]),
        )
        check(jax.lax.cond(True, lambda c: c + 1, lambda c: c - 1, n), np.array([2**40 + 1, 2, 3]))
        check(jax.lax.map(ours.sum, pair(n)), np.array([2**40 + 3] * 2))


@pytest.mark.daily
@pytest.mark.parametrize("x64", [False, True])
def test_random_numbers(x64):
    with jax.enable_x64(x64):
        rng = ours.random.default_rng(3)
        state = ours.random.RandomState(3)
        for made in (
            rng.random(3),
            rng.normal(size=3),
            rng.gamma(2.0, size=3),
            state.rand(2),
            state.randn(2),
            state.uniform(size=2),
        ):
            assert made.dtype == np.float64
            assert (np.asarray(made) != np.float32(made)).any()
        for made in (
            rng.integers(9, size=3),
            rng.permutation(3),
            rng.choice(3, 2),
            rng.poisson(3.0, 2),
            state.randint(0, 9, 3),
        ):
            assert made.dtype == np.int64
        assert rng.random(3, dtype=np.float32).dtype == np.float32
        assert 2**32 < rng.integers(2**62, size=9).max() < 2**62


@pytest.mark.thorough
@pytest.mark.daily("jaxs")
@pytest.mark.parametrize("x64", [False, True])
def test_random_numbers_in_jit(x64):
    with jax.enable_x64(x64):
        for name in ("random", "normal", "gamma", "beta", "binomial"):
            parameters = {"gamma": [2.0], "beta": [1.0, 2.0], "binomial": [5, 0.5]}.get(name, [])
            draw = lambda key: getattr(ours.random.default_rng(key), name)(*parameters, size=2)  # noqa: B023, E731
            assert jax.jit(draw)(jax.random.key(0)).dtype == (np.int64 if name == "binomial" else np.float64)


def test_numbers_of_a_seed_on_the_host_are_numpys(way):
    if way == "numpys":
        check(ours.random.default_rng(5).normal(size=3), np.random.default_rng(5).normal(size=3))
        check(ours.random.RandomState(5).randint(0, 2**40, 3), np.random.RandomState(5).randint(0, 2**40, 3))


def test_what_the_namespace_says_of_itself():
    for x64 in (False, True):
        with jax.enable_x64(x64):
            info = ours.__array_namespace_info__()
            assert info.default_dtypes() == np.__array_namespace_info__().default_dtypes()
            assert {"int64", "float64", "complex128"} <= info.dtypes().keys()
            assert (
                ours.zeros(1).__array_namespace__().__array_namespace_info__().default_dtypes()["integral"]
                == np.int64
            )


def test_jax_and_the_other_namespaces_keep_their_dtypes():
    with jax.enable_x64(False):
        for module in (jaxapi, jaxapi.mutable):
            assert module.arange(3).dtype == module.sum(module.arange(3)).dtype == np.int32
            assert module.zeros(2).dtype == module.asarray([0.5]).dtype == np.float32
            assert module.__array_namespace_info__().default_dtypes()["real floating"] == np.float32
        a = jaxapi.mutable.asarray([1, 2])
        for made in (
            a.sum(),
            a.cumsum(),
            a.mean(),
            a.astype(float),
            np.sum(a),
            np.add(a, 1),
            np.add.reduce(a),
            np.add.outer(a, 0.5),
            a / 2,
        ):
            assert made.dtype.itemsize == 4
            assert made.__array_namespace__() is jaxapi.mutable
        a += 2**30
        assert (a + a).tolist() == [-(2**31) + 2, -(2**31) + 4]
        assert jnp.arange(3).dtype == jnp.zeros(1).dtype.str.replace("f", "i")
        assert (ours.arange(2) + a).dtype == np.int64
        assert not jax.config.jax_enable_x64


def test_pickles():
    with jax.enable_x64(False):
        for module in (ours, jaxapi.mutable):
            for x in (
                module.arange(3),
                module.zeros(2),
                module.asarray(2**40 if module is ours else 2, dtype="int64"),
            ):
                again = pickle.loads(pickle.dumps(x))
                assert again.dtype == x.dtype
                assert again.tolist() == x.tolist()
                assert again.__array_namespace__() is module


def test_an_error_leaves_the_mode_as_it_was():
    with jax.enable_x64(False):
        for function in (
            lambda x: ours.sum(x, axis=7),
            lambda x: x + "a",
            lambda x: ours.fuse(lambda y: y + ours.ones(2))(x),
        ):
            with pytest.raises(Exception):  # noqa: B017, PT011 (whatever it is)
                function(ours.zeros(3))
            assert not jax.config.jax_enable_x64


HISTOGRAMS = [
    ("int16", {"bins": 10}),
    ("uint8", {"bins": 3}),
    ("float64", {"bins": 10, "range": (-3, 4.5)}),
    ("float32", {"bins": np.array([-2.0, 0.5, 3.0])}),
    ("int8", {"bins": [-1, 0, 2], "density": True}),
]


@pytest.mark.daily
@pytest.mark.parametrize("x64", [False, True])
def test_histograms_in_jit(x64):
    """Their edges are NumPy's to the last bit: what lies at an edge counts there."""
    random = np.random.default_rng(0)
    cases = [
        (random.integers(0, 9, 60).astype(dtype) - (dtype[0] != "u") * 4, kw) for dtype, kw in HISTOGRAMS
    ]
    cases = [(x.astype(dtype), kw) for (x, kw), (dtype, _) in zip(cases, HISTOGRAMS, strict=True)]
    with jax.enable_x64(x64):
        arrays = [ours.asarray(x) for x, _ in cases]
        made = jax.jit(
            lambda arrays: [ours.histogram(x, **kw) for x, (_, kw) in zip(arrays, cases, strict=True)]
        )
        for (x, kw), of_ours in zip(cases, made(arrays), strict=True):
            for found, expected in zip(of_ours, np.histogram(x, **kw), strict=True):
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(np.asarray(found), expected, 1e-15)
