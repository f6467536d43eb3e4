"""Six things in which CuPy or JAX differ from NumPy and SciPy, and jaxapi does not: computed here."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree as SciPyKDTree

import jaxapi as xp

__all__ = ["Case", "comparisons"]


class Other(NamedTuple):
    """What another library gives here."""

    name: str
    got: str
    ok: bool


class Case(NamedTuple):
    """One input, what the reference gives, what jaxapi gives, and what others do."""

    given: str
    reference: str
    expected: object
    got: object
    ok: bool
    others: tuple[Other, ...] = ()


def comparisons() -> Iterator[tuple[str, list[Case]]]:
    """Yield the name of each comparison and its cases, as they are computed."""
    yield "a KD-tree takes NumPy arrays and lists", list(_kdtree_inputs())
    yield "fused kernels take Python scalars (NEP 50)", list(_fused_scalars())
    yield "vecdot broadcasts, on any axis", list(_vecdot())
    yield "logspace with an integer dtype is exact", list(_logspace())
    yield "fused kernels take inf, nan, where and newaxis", list(_fused_constants())
    yield "quotients in fused kernels are rounded as IEEE 754 says", list(_fused_quotients())


def _same(expected, got, rtol: float) -> bool:
    """Tell whether ``got`` has the dtype, the shape and, to ``rtol``, the values of ``expected``."""
    expected = np.asarray(expected)
    got = np.asarray(got)
    if expected.dtype != got.dtype or expected.shape != got.shape:
        return False
    return np.allclose(expected, got, rtol=rtol, atol=0, equal_nan=True)


def _brief(value) -> str:
    array = np.asarray(value)
    if array.size == 1:
        return f"{array.dtype} {array.item():.6g}" if array.dtype.kind in "fc" else f"{array.dtype} {array}"
    return f"{array.dtype} {array.shape}, sum {array[np.isfinite(array)].sum():.6g}"


def _case(given: str, reference: str, expected, got, rtol: float, others: tuple[Other, ...] = ()) -> Case:
    return Case(given, reference, _brief(expected), _brief(got), _same(expected, got, rtol), others)


def _other(name: str, compute: Callable[[], object], expected, rtol: float) -> Other:
    """Return what another library gives, or what it raises."""
    try:
        got = compute()
    except Exception as error:
        return Other(name, type(error).__name__, False)
    return Other(name, _brief(got), _same(expected, got, rtol))


def _kdtree_inputs() -> Iterator[Case]:
    points = np.random.default_rng(0).random((1000, 3))
    x = [[0.5, 0.5, 0.5], [0.1, 0.2, 0.3]]
    expected, expected_rows = SciPyKDTree(points).query(x, k=3)
    for given, data in (
        ("KDTree(float64 NumPy array).query(list, k=3)", points),
        ("KDTree(list).query(list, k=3)", points.tolist()),
    ):
        distances, rows = xp.spatial.KDTree(data).query(x, k=3)
        # a list has no dtype: it takes JAX's default, single precision unless x64 is on
        exact = distances.dtype == np.float64
        if data is points:
            ok = _same(expected, distances, 1e-12)
            by_jax = _other("by jnp.asarray", lambda: _distances_by_jax(points, x), expected, 1e-12)
            others: tuple[Other, ...] = (by_jax,)
        else:
            ok = np.allclose(expected, distances, rtol=1e-12 if exact else 1e-5)
            others = ()
        ok = ok and np.array_equal(expected_rows, rows)
        yield Case(given, "scipy", _brief(expected), _brief(distances), bool(ok), others)


def _distances_by_jax(points: np.ndarray, x: list) -> jax.Array:
    """Return the three nearest distances as one would write them with `jax.numpy`."""
    differences = jnp.asarray(x)[:, None] - jnp.asarray(points)
    return jnp.sort(jnp.sqrt(jnp.sum(differences**2, axis=-1)))[:, :3]


def _fused_scalars() -> Iterator[Case]:
    phi = np.linspace(0, 1, 1000, dtype=np.float32)

    def step(phi, mu, dt):
        return 1 + mu * dt * phi

    fused = xp.fuse(step)
    for mu, dt in ((2, 3), (0.25, 1.0), (1 + 2j, 0.5)):
        given = f"fuse(1 + mu*dt*phi), mu={mu}, dt={dt}, phi float32"
        yield _case(given, "numpy", step(phi, mu, dt), fused(phi, mu, dt), 1e-6)
    phi = phi.astype(np.float64)
    expected = step(phi, 2, 3)
    by_jax = _other("jax.jit", lambda: jax.jit(step)(phi, 2, 3), expected, 1e-12)
    given = "fuse(1 + mu*dt*phi), mu=2, dt=3, phi float64"
    yield _case(given, "numpy", expected, fused(phi, 2, 3), 1e-12, (by_jax,))


def _vecdot() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x1 = rng.random(100)
    x2 = rng.random((100, 20))
    yield _case(
        "vecdot((100,), (100, 20), axis=0)",
        "numpy",
        np.vecdot(x1, x2, axis=0),  # type: ignore[call-overload]  # which NumPy's types lack
        xp.vecdot(x1, x2, axis=0),
        1e-12,
    )
    lists: Any = [1.5, 2.5], [3.0, 4.0]
    expected = np.vecdot(*lists)
    by_jax = _other("jax.numpy", lambda: jnp.vecdot(*lists), expected, 1e-6)
    got = xp.vecdot(*lists)
    ok = bool(np.allclose(expected, got))  # a list has no dtype: it takes JAX's default
    yield Case("vecdot([1.5, 2.5], [3.0, 4.0])", "numpy", _brief(expected), _brief(got), ok, (by_jax,))


def _logspace() -> Iterator[Case]:
    yield _case(
        "logspace(1, 2, num=1, base=3, dtype=int64)",
        "numpy",
        np.logspace(1, 2, num=1, base=3, dtype=np.int64),
        xp.logspace(1, 2, num=1, base=3, dtype=np.int64),
        0,
    )
    exact_powers = [3**i for i in range(40)]
    found = {
        "jaxapi": xp.logspace(0, 39, 40, base=3, dtype=np.int64),
        "numpy": np.logspace(0, 39, 40, base=3, dtype=np.int64),
        "jax.numpy": jnp.logspace(0, 39, 40, base=3, dtype=jnp.int64),
    }
    right = {name: sum(map(int.__eq__, exact_powers, np.asarray(x).tolist())) for name, x in found.items()}
    ok = right.pop("jaxapi") == 40
    others = tuple(Other(name, f"{count} of 40 right", count == 40) for name, count in right.items())
    got = "40 of 40 right" if ok else "not all right"
    yield Case(
        "logspace(0, 39, 40, base=3, dtype=int64)", "Python integers", "3**0 to 3**39", got, ok, others
    )
    total = exact = 0
    for base in range(2, 17):
        largest = 0
        while base ** (largest + 1) <= 2**62:
            largest += 1
        for stop in range(largest + 1):
            powers = xp.logspace(0, stop, stop + 1, base=base, dtype=np.int64)
            total += stop + 1
            exact += sum(p == base**i for i, p in enumerate(np.asarray(powers).tolist()))
    given = "logspace(0, s, s + 1, base=b, dtype=int64), b = 2..16, b**s <= 2**62"
    yield Case(given, "Python integers", f"{total} exact powers", f"{exact} exact powers", exact == total)


def _fused_constants() -> Iterator[Case]:
    points = np.arange(12, dtype=np.float32).reshape(4, 3)
    mask = np.array([True, False, False, True])
    for name, constant in (("inf", xp.inf), ("-inf", -xp.inf), ("nan", xp.nan)):
        fused = xp.fuse(lambda mask, points, c=constant: xp.where(mask[:, xp.newaxis], c, points))
        yield _case(
            f"fuse(where(mask[:, newaxis], {name}, points))",
            "numpy",
            np.where(mask[:, np.newaxis], constant, points),
            fused(mask, points),
            0,
        )


def _fused_quotients() -> Iterator[Case]:
    x = np.random.default_rng(1).random(100_000).astype(np.float32) + np.float32(0.1)
    expected = x / np.float32(3)
    programs = {"jaxapi": xp.fuse(_third), "jax.jit": jax.jit(_third)}
    wrong = {
        name: int(np.count_nonzero(np.asarray(program(x)) != expected)) for name, program in programs.items()
    }
    by_jax = Other("jax.jit", f"{wrong['jax.jit']:,} rounded otherwise", not wrong["jax.jit"])
    got = f"{wrong['jaxapi']:,} rounded otherwise"
    given = "fuse(x / 3), x float32, 100,000 numbers"
    yield Case(given, "numpy", "0 rounded otherwise", got, not wrong["jaxapi"], (by_jax,))


def _third(x):
    return x / np.float32(3)
