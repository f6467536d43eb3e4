"""Exactness, accuracy and time of logspace against its peers: python benchmarks/bench_logspace.py."""

import decimal
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from timing import median_us, new_data_us

import jaxapi as xp

try:
    import cupy
except ImportError:
    cupy = None

DIGITS = decimal.Context(prec=50, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


@partial(jax.jit, static_argnums=2)
def traced(stop, base, num):
    return xp.logspace(0, stop, num, base=base, dtype="int64")


def count_exact(most):
    """How many of the powers ``base**s <= most``, base 2 to 16, come out exact, of how many."""
    libraries = {
        "jaxapi": lambda s, base: xp.logspace(0, s, s + 1, base=base, dtype="int64"),
        "jaxapi, traced integers": lambda s, base: traced(s, base, s + 1),
        "jaxapi, traced floats": lambda s, base: traced(float(s), float(base), s + 1),
        "NumPy": lambda s, base: np.logspace(0, s, s + 1, base=base, dtype="int64"),
        "jax.numpy, x64": lambda s, base: jnp.logspace(0, s, s + 1, base=base, dtype="int64"),
    }
    if cupy:
        libraries["CuPy"] = lambda s, base: cupy.logspace(0, s, s + 1, base=base, dtype="int64").get()
    for name, logspace in libraries.items():
        exact = total = 0
        with jax.enable_x64(name.startswith("jax.numpy")):
            for base in range(2, 17):
                s = 0
                while base**s <= most:
                    powers = np.asarray(logspace(s, base)).tolist()
                    exact += sum(power == base**i for i, power in enumerate(powers))
                    total += s + 1
                    s += 1
        print(f"  {name:26} {exact:5} of {total} exact", flush=True)


def worst_ulp(logspace, dtype, num, cases):
    """Largest error in ulp, and as a share of ``2 + abs(exponent) * abs(log(base))`` ulp."""
    largest = float(jnp.finfo(dtype).max)
    worst, share = 0.0, 0.0
    for start, stop, base in cases:
        args = [np.asarray(x).astype(dtype) for x in (start, stop, base)]
        powers = np.asarray(logspace(*args))
        if powers.dtype.kind == "c":
            wide = [x.astype(np.clongdouble) for x in args]
            exponents = wide[0] + np.arange(num) * (wide[1] - wide[0]) / (num - 1)
            true = np.power(wide[2], exponents)
            ulp = 2.0 ** np.floor(np.log2(np.abs(true).astype(float))) * float(jnp.finfo(dtype).eps)
            errors = (np.abs(powers - true) / ulp).astype(float)
            allowed = 2 + np.abs(exponents * np.log(wide[2])).astype(float)
            worst, share = max(worst, errors.max()), max(share, (errors / allowed).max())
            continue
        first, last = Fraction(float(args[0])), Fraction(float(args[1]))
        log = DIGITS.ln(decimal.Decimal(float(args[2])))
        for i, power in enumerate(powers.astype(float)):
            e = first + i * (last - first) / (num - 1)
            e = DIGITS.divide(decimal.Decimal(e.numerator), decimal.Decimal(e.denominator))
            true = DIGITS.exp(DIGITS.multiply(e, log))
            if not float(jnp.finfo(dtype).tiny) <= true <= largest:
                continue
            ulp = decimal.Decimal(2.0 ** (np.frexp(float(true))[1] - 1) * float(jnp.finfo(dtype).eps))
            error = float(abs(decimal.Decimal(power) - true) / ulp)
            worst, share = max(worst, error), max(share, error / (2 + abs(float(e * log))))
    return worst, share


def accuracy():
    """Traced powers against 50 digits (complex: against longer mantissas), and jax.numpy's jitted."""
    rng = np.random.default_rng(0)
    num = 201
    for name in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128"):
        dtype = jnp.dtype(name)
        reach = 0.9 * float(np.log10(float(jnp.finfo(dtype).max)))
        cases = []
        for scale in (0.3, 3.0, reach) * 4:
            start, stop = rng.uniform(-scale, scale, 2)
            cases += [(start, stop, 10.0), (-scale, scale, 10.0), (start, stop, 2.7), (start, -start, 0.3)]
        if dtype.kind == "c":
            cases = [(a + 2j * rng.normal(), b + rng.normal() * 1j, c) for a, b, c in cases]
            cases += [(a, b, c + 0.7j) for a, b, c in cases]
        traced_base = jax.jit(lambda a, b, base: xp.logspace(a, b, num, base=base))
        line = f"  {name:10}" + _worst(traced_base, dtype, num, cases)
        line += _worst(jax.jit(lambda a, b, base: jnp.logspace(a, b, num, base=base)), dtype, num, cases)
        if name == "complex128":
            constant_base = jax.jit(lambda a, b, base: xp.logspace(a, b, num, base=base), static_argnums=2)
            function = partial(_with_constant_base, constant_base)
            line += "   jaxapi, constant base:" + _worst(function, dtype, num, cases)
        print(line, flush=True)


def _with_constant_base(function, start, stop, base):
    return function(start, stop, base.item())


def _worst(function, dtype, num, cases):
    with jax.enable_x64(True):
        ulp, share = worst_ulp(function, dtype, num, cases)
    return f" {ulp:12.3f} {share:10.3f}"


def times():
    """Microseconds of an eager call."""
    cases = {
        "logspace(0, 3, 50)": ((0, 3, 50), {}),
        "logspace(0, 9, 10, dtype=int32)": ((0, 9, 10), {"dtype": "int32"}),
        "logspace(0, 3, 50, dtype=int32)": ((0, 3, 50), {"dtype": "int32"}),
    }
    spaces = {"linspace(0, 1, 50)": (0, 1, 50), "linspace(0, 1, 10**7)": (0, 1, 10**7)}
    ranges = {"arange(50)": (50,), "arange(0, 1, 0.02)": (0, 1, 0.02)}
    rows = [(k, "logspace", a, kw) for k, (a, kw) in cases.items()]
    rows += [(k, "linspace", a, {}) for k, a in spaces.items()]
    rows += [(k, "arange", a, {}) for k, a in ranges.items()]
    libraries = {"jaxapi": xp, "jax.numpy": jnp, "NumPy": np} | ({"CuPy": cupy} if cupy else {})
    print(f"  {'':34}" + "".join(f"{name:>12}" for name in libraries))
    for label, name, args, kwargs in rows:
        line = f"  {label:34}"
        for library in libraries.values():
            function = getattr(library, name)
            call = partial(function, *args, **kwargs)
            line += f"{median_us(call, calls=5 if '7' in label else 100):12.1f}"
        print(line, flush=True)
        if name != "arange" and "7" not in label:
            for words, make in new_arguments(args).items():
                line = f"  {'  ' + words:34}"
                for library in libraries.values():
                    function = partial(getattr(library, name), **kwargs)
                    few = {"calls": 1, "rounds": 3} if "num" in words else {"calls": 50}
                    line += f"{new_data_us(function, make, **few):12.1f}"
                print(line, flush=True)


def new_arguments(args):
    """Return what makes other ends at each call, and what another number of values."""
    start, stop, num = args
    rng, nums = np.random.default_rng(0), iter(range(num + 1, 10**9))
    return {
        "other ends at each call": lambda: (start, stop - float(rng.random()), num),
        "another num at each call": lambda: (start, stop, next(nums)),
    }


def main():
    print(f"jax {jax.__version__} on {jax.devices()[0]}, NumPy {np.__version__}", end=", ")
    print(f"CuPy {getattr(cupy, '__version__', '-')}")
    for most in (52, 62):
        print(f"powers of 2 to 16 up to 2**{most}, as logspace(0, s, s + 1, base=b, dtype=int64) for every s")
        count_exact(2**most)
    print("traced, worst error in ulp and as a share of 2 + |exponent| ln(base) ulp: jaxapi, then jax.numpy")
    accuracy()
    print("one eager call, us")
    times()


if __name__ == "__main__":
    main()
