"""Random programs on arrays of ever other lengths, which have room on a device, beside NumPy's.

Values are small integers in every dtype, so that sums are exact and ties are many.
"""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

import jaxapi.mutable
import jaxapi.numpy

__all__ = ["check"]

LENGTH = 20  # statements of a program
MOST = 8  # arrays
DTYPES = ["float32", "int32", "float16", "int8", "complex64", "bool"]
REDUCTIONS = [
    "sum",
    "max",
    "min",
    "any",
    "all",
    "argmax",
    "argmin",
    "count_nonzero",
    "mean",
    "var",
    "std",
    "prod",
]
ORDERLESS = frozenset("cb")  # kinds of which the standard orders no elements


def check(report, draw):
    """Run one program, and compare all arrays with NumPy's after each statement."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    namespace = [jaxapi.mutable, jaxapi.numpy][rng.integers(2)]
    report.add("mutable.lengths", namespace.__name__, LENGTH, Program(rng, namespace).differences())


class Program:
    """The arrays of a program, ours and NumPy's, and what was given away of them."""

    def __init__(self, rng, namespace):
        """Begin with a vector and a table."""
        self.rng = rng
        self.xp = namespace
        self.texts = []
        self.given_away = []
        self.hosts = [self.drawn(()), self.drawn((3,))]
        self.arrays = [namespace.asarray(x) for x in self.hosts]

    def drawn(self, columns):
        """Draw an array of any length."""
        rows = int(self.rng.integers(1, 200))
        return self.rng.integers(-5, 6, (rows, *columns)).astype(DTYPES[self.rng.integers(len(DTYPES))])

    def differences(self):
        """Return what differs first, with the program up to there."""
        for _ in range(LENGTH):
            try:
                found = self.step()
            except Exception as error:
                found = f"{type(error).__name__} {str(error)[:200]}"
            found = found or self.difference_of_arrays()
            if found:
                return [("values", f"{found} in {'; '.join(self.texts)}")]
        for array, host in self.given_away:
            if not np.array_equal(np.asarray(array), host):
                return [("given away", f"{np.asarray(array)} for {host} in {'; '.join(self.texts)}")]
        return []

    def difference_of_arrays(self):
        """Compare every array with NumPy's."""
        for i, (x, host) in enumerate(zip(self.arrays, self.hosts, strict=True)):
            if difference := different(x, host):
                return f"x{i}: {difference}"
        return None

    def step(self):
        """Draw a statement and run it; return how its result differs if it is none of the arrays."""
        i, j = map(int, self.rng.integers(len(self.arrays), size=2))
        statements = (
            self.select,
            self.slice,
            self.take,
            self.compute,
            self.combine,
            self.order,
            self.find,
            self.reduce,
            self.reduce,
            self.write,
            self.write,
            self.write,
            self.give_away,
            self.begin,
        )
        return statements[self.rng.integers(len(statements))](i, j)

    def keep(self, text, array, host):
        """Keep a result among the arrays."""
        self.texts.append(text)
        if len(self.arrays) < MOST:
            self.arrays.append(array)
            self.hosts.append(host)
        else:
            place = int(self.rng.integers(MOST))
            self.arrays[place] = array
            self.hosts[place] = host

    def begin(self, i, j):
        host = self.drawn([(), (3,)][self.rng.integers(2)])
        self.keep(f"array{host.shape} of {host.dtype}", self.xp.asarray(host), host.copy())

    def mask_of(self, i):
        """Return a mask of an array's rows, ours and NumPy's."""
        x, host = self.arrays[i], self.hosts[i]
        if host.ndim == 2:
            x, host = x[:, 0], host[:, 0]
        if host.dtype.kind in ORDERLESS:
            return x == 0, host == 0
        return x > 1, host > 1

    def key(self, size):
        """Draw a slice."""
        bound = [
            None if self.rng.random() < 0.3 else int(self.rng.integers(-size - 1, size + 2)) for _ in "ab"
        ]
        return slice(*bound, [None, None, 1, 2, -1, -3][self.rng.integers(6)])

    def select(self, i, j):
        mask, host_mask = self.mask_of(i)
        self.keep(f"x{i}[mask]", self.arrays[i][mask], self.hosts[i][host_mask])

    def slice(self, i, j):
        key = self.key(len(self.hosts[i]))
        self.keep(f"x{i}[{key}]", self.arrays[i][key], self.hosts[i][key])

    def take(self, i, j):
        size = len(self.hosts[i])
        if size:
            places = self.rng.integers(-size, size, int(self.rng.integers(1, 150)))
            self.keep(
                f"x{i}[{len(places)} places]", self.arrays[i][self.xp.asarray(places)], self.hosts[i][places]
            )

    def compute(self, i, j):
        x, host = self.arrays[i], self.hosts[i]
        kind = host.dtype.kind
        one = host.dtype.type(1)
        functions = {
            "x == 1": lambda xp, x: x == one,
            "x + x": lambda xp, x: x + x if kind == "b" else (x + x) * one,
            "copy": lambda xp, x: xp.asarray(x, copy=True),
            "where": lambda xp, x: xp.where(x == one, x, xp.zeros_like(x)),
            "int32": lambda xp, x: (x.real if kind == "c" else x).astype("int32"),
            "diff": lambda xp, x: xp.diff(x, axis=0) if kind != "b" else x,
            "transpose": lambda xp, x: (x.T == x.T).T,
            "x[:, None]": lambda xp, x: x[:, None] if x.ndim == 1 else x[:, -1],
        }
        name = list(functions)[self.rng.integers(len(functions))]
        if name == "x + x" and np.abs(host).max(initial=0) > 60:
            return
        self.keep(f"{name} of x{i}", functions[name](self.xp, x), functions[name](np, host))

    def combine(self, i, j):
        """Compute with two arrays of equal shapes, or see that others are refused."""
        x, y, host, other = self.arrays[i], self.arrays[j], self.hosts[i], self.hosts[j]
        if host.shape == other.shape and host.dtype == other.dtype:
            self.keep(f"x{i} == x{j}", x == y, host == other)
        elif host.ndim == other.ndim and 1 not in (*host.shape, *other.shape) and host.shape != other.shape:
            self.texts.append(f"x{i} == x{j}")
            try:
                self.xp.equal(x, y)
            except (TypeError, ValueError):
                return None
            return f"shapes {host.shape} and {other.shape} are taken"
        return None

    def order(self, i, j):
        x, host = self.arrays[i], self.hosts[i]
        if host.dtype.kind in ORDERLESS or not host.size:
            return
        axis = int(self.rng.integers(host.ndim))
        name = ["sort", "argsort", "cumsum"][self.rng.integers(3)]
        if name == "cumsum":
            sums = self.xp.cumulative_sum(x, axis=axis, dtype="int32") % 7
            self.keep(f"cumsum(x{i}, {axis}) % 7", sums, np.cumsum(host, axis, dtype="int32") % 7)
        elif name == "sort":
            self.keep(f"sort(x{i}, {axis})", self.xp.sort(x, axis=axis), np.sort(host, axis))
        else:
            places = self.xp.argsort(x, axis=axis, stable=True) % 7
            self.keep(f"argsort(x{i}, {axis}) % 7", places, np.argsort(host, axis, kind="stable") % 7)

    def find(self, i, j):
        x, host = self.arrays[i], self.hosts[i]
        if not host.size:
            return
        choice = self.rng.integers(4)
        if choice == 0:
            places = self.xp.nonzero(x)[0] % 7
            self.keep(f"nonzero(x{i})[0] % 7", places, np.nonzero(host)[0] % 7)
        elif choice == 1:
            counted = self.xp.unique_counts(x)
            values, counts = np.unique(host, return_counts=True)
            self.keep(f"unique_counts(x{i}).counts % 7", counted.counts % 7, counts % 7)
            self.keep(f"unique_counts(x{i}).values", counted.values, values)
        elif choice == 2 and len(host) < 300:
            times = self.rng.integers(0, 3, len(host))
            repeated = self.xp.repeat(x, self.xp.asarray(times), axis=0)
            self.keep(f"repeat(x{i}, times, 0)", repeated, np.repeat(host, times, 0))
        elif host.ndim == 1 and host.dtype.kind not in ORDERLESS:
            looked_up = self.rng.integers(-6, 7, int(self.rng.integers(1, 150))).astype(host.dtype)
            found = self.xp.searchsorted(self.xp.sort(x), self.xp.asarray(looked_up)) % 7
            self.keep(f"searchsorted(x{i}) % 7", found, np.searchsorted(np.sort(host), looked_up) % 7)

    def reduce(self, i, j):
        """Compare what an array is reduced to."""
        x, host = self.arrays[i], self.hosts[i]
        name = REDUCTIONS[self.rng.integers(len(REDUCTIONS))]
        is_an_order = name in ("max", "min", "argmax", "argmin")
        if not host.size or (is_an_order and host.dtype.kind in ORDERLESS):
            return None
        if name in ("mean", "var", "std") and host.dtype.kind not in "f":
            return None
        if name == "prod":
            x, host = x == 1, host == 1
        axis = [None, 0, -1][self.rng.integers(3)]
        self.texts.append(f"{name}(x{i}, axis={axis})")
        if name in ("mean", "var", "std"):
            host = host.astype(float)  # NumPy adds squares of float16 up in float16
        found, expected = getattr(self.xp, name)(x, axis=axis), getattr(np, name)(host, axis=axis)
        if np.shape(expected) != found.shape:
            return f"shape {found.shape}, not {np.shape(expected)}"
        tolerance = 2e-3 if self.hosts[i].dtype == np.float16 else 1e-5
        if not np.allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance):
            return f"{np.asarray(found)}, not {expected}"
        return None

    def write(self, i, j):
        x, host = self.arrays[i], self.hosts[i]
        key = self.key(len(host))
        number = int(self.rng.integers(2))
        choice = self.rng.integers(7)
        mask, host_mask = self.mask_of(i)
        for array, selected, own_mask in ((x, self.arrays[j], mask), (host, self.hosts[j], host_mask)):
            if choice == 0:
                array[key] = number
            elif choice == 1:
                array[own_mask] = number
            elif choice == 2:
                array[own_mask] = array[own_mask]
            elif choice == 3 and self.hosts[j].dtype == host.dtype and len(host) <= len(self.hosts[j]):
                if self.hosts[j].ndim == host.ndim and self.hosts[j].shape[1:] == host.shape[1:]:
                    array[: len(host) // 2] = selected[len(host) - len(host) // 2 : len(host)]
            elif choice == 4 and len(host):
                array[-1] = number
            elif choice == 5 and host.dtype != bool:
                array[key] *= number
            elif choice == 6 and host.ndim == 2:
                array[:, -1] = own_mask
        text = (f"x{i}[{key}] = {number}", f"x{i}[mask] = {number}", f"x{i}[mask] = x{i}[mask]")
        text += (
            f"x{i} = half of x{j}",
            f"x{i}[-1] = {number}",
            f"x{i}[{key}] *= {number}",
            f"x{i}[:, -1] = mask",
        )
        self.texts.append(text[choice])

    def give_away(self, i, j):
        """Hold the exact array, which later writes must leave as it is."""
        self.texts.append(f"asarray(x{i})")
        self.given_away.append((jnp.asarray(self.arrays[i]), self.hosts[i].copy()))
        self.given_away.append((jax.jit(jnp.copy)(jnp.asarray(self.arrays[j])), self.hosts[j].copy()))


def different(x, host):
    """Say how an array differs from NumPy's; positions may have another width."""
    if x.shape != host.shape:
        return f"shape {x.shape}, not {host.shape}"
    if x.dtype != host.dtype and not {x.dtype.kind, host.dtype.kind} <= set("iu"):
        return f"dtype {x.dtype}, not {host.dtype}"
    values = np.asarray(x)
    return None if np.array_equal(values, host) else f"{values.tolist()}, not {host.tolist()}"
