"""First and second derivatives of every function that has them, against finite differences in float64.

A case is a function of real numbers, few of them, near a point where it is smooth; complex functions are
taken by the real and imaginary parts of operands and results.
"""

import functools
import math
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxapi as xp
from jaxapi.spatial import distance

__all__ = ["CASES", "audit"]

STEP = 1e-5


class Case(NamedTuple):
    """A function of an array of real numbers, and where to look."""

    function: object
    point: object
    second: bool = True  # whether JAX has its second derivatives


POINT = np.array([[0.2, 0.7, 0.45], [0.9, 0.15, 0.6]])
SQUARE = np.array([[4.0, 1.0, 0.5], [1.3, 3.0, 0.2], [0.45, 0.25, 5.0]])
WEIGHTS = np.random.default_rng(0).uniform(0.5, 1.5, 1000)


def names(text):
    return text.split()


def parts(tree):
    """Return all numbers of the results, real and imaginary parts one after the other, weighted."""
    leaves = [jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)]
    leaves = [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    leaves = [part for x in leaves for part in ((x.real, x.imag) if jnp.iscomplexobj(x) else (x,))]
    return jnp.concatenate(leaves).astype("float64")


def one(name, *options, point=POINT, **named):
    """Return a case of a function of one array."""
    return Case(lambda x: attribute(name)(x, *options, **named), point)


def two(name, first=POINT, second=POINT[::-1] + 1.1, **named):
    """Return a case of a function of two arrays."""
    first, second = map(np.asarray, (first, second))

    def function(x):
        return attribute(name)(
            x[: first.size].reshape(first.shape), x[first.size :].reshape(second.shape), **named
        )

    return Case(function, np.concatenate([first.ravel(), second.ravel()]))


def with_complex(name, *options, first=POINT[0], second=POINT[1] + 0.3, **named):
    """Return a case of a function of one complex array."""
    first, second = np.asarray(first), np.asarray(second)
    return Case(
        lambda x: attribute(name)(jax.lax.complex(x[0], x[1]), *options, **named), np.stack([first, second])
    )


def attribute(name):
    return operator.attrgetter(name.partition(",")[0])(xp)


def symmetric(name):
    """Return a case of a function of the symmetric part: the derivative knows no other."""
    return Case(lambda x: attribute(name)((x + x.mT) / 2), SQUARE)


def up_to_signs(function):
    """Return the columns' outer products, which no choice of sign changes."""
    return lambda x: [jnp.einsum("ik,jk->kij", v, v.conj()) for v in function(x)]


def distances(name, option=None, point=(), **fixed):
    """Return a case of a metric: of two vectors, the first rows of the point, and its option, the others."""
    rows = np.asarray(point or VECTORS)

    def function(x):
        given = {} if option is None else {option: x[2:] if option == "VI" else x[2]}
        matrix = distance.cdist(x[:1], x[1:2], name, **given, **fixed)
        return getattr(distance, name)(x[0], x[1], **given, **fixed), matrix

    options = {None: np.empty((0, 3)), "VI": SQUARE}.get(option, WEIGHTS[None, :3])
    return Case(function, np.concatenate([rows, options]))


def with_zero(case, place):
    """Return the case at a point with 0 at one place."""
    point = case.point.copy()
    point[place] = 0
    return case._replace(point=point)


VECTORS = np.array([[0.2, 0.7, 0.45], [0.9, 0.15, 0.6]])
WITH_WEIGHTS = "braycurtis canberra chebyshev cityblock correlation cosine dice euclidean hamming"
WITH_WEIGHTS += " sqeuclidean"
ELEMENTWISE = "abs cos cosh exp expm1 log log10 log1p log2 negative positive reciprocal sign sin sinh"
ELEMENTWISE += " sqrt square tan tanh real conj acos asin asinh atan atanh"
STEPS = "ceil floor round trunc sign"  # whose derivative is 0
REDUCED = "sum prod mean std var max min cumulative_sum cumulative_prod sort"
RNG = np.random.default_rng(1)
# Of rank n - 1, by first, middle and last columns that are zero or equal, and by no column alone.
SINGULAR = [
    RNG.uniform(-1, 1, (n, n)) * (np.arange(n) != zero) for n, zero in [(2, 0), (3, 0), (4, 0), (4, 2)]
]
SINGULAR += [RNG.uniform(-1, 1, (n, n))[:, [0, 0, *range(2, n)]] for n in (3, 4, 5)]
SINGULAR += [RNG.uniform(-1, 1, (n, n - 1)) @ RNG.uniform(-1, 1, (n - 1, n)) for n in (3, 4)]
DET = one("linalg.det", point=SQUARE)
COMPLEX_SQUARE = SQUARE + 1j * RNG.uniform(-1, 1, (3, 3))

CASES = {
    **{name: one(name) for name in names(f"{ELEMENTWISE} {STEPS}")},
    "acosh": one("acosh", point=POINT + 1),
    **{
        f"{name},complex": with_complex(name)
        for name in names(f"{ELEMENTWISE} acosh imag sum prod mean std var cumulative_sum cumulative_prod")
    },
    **{f"{name},negative": one(name, point=-POINT) for name in names("abs sinh cosh tanh asinh expm1")},
    **{f"{name},large": one(name, point=POINT[0] + 25) for name in names("sinh cosh tanh asinh log1p")},
    **{name: two(name) for name in names("add atan2 copysign divide hypot logaddexp maximum minimum")},
    **{name: two(name) for name in names("multiply pow subtract remainder floor_divide nextafter")},
    "remainder,negative": two("remainder", -POINT * 5, POINT[::-1] + 0.5),
    **{
        f"{name},complex": Case(
            lambda x, name=name: attribute(name)(
                jax.lax.complex(x[0], x[1]), jax.lax.complex(x[1] + 0.5, x[0])
            ),
            POINT,
        )
        for name in names("add subtract multiply divide pow vecdot")
    },
    "pow,numbers": Case(lambda x: [xp.pow(x, 3), xp.pow(x, -2), xp.pow(2.0, x), xp.pow(x, 0.5)], POINT),
    "pow,zero": Case(lambda x: [xp.pow(x, 2.0), xp.pow(x, 3), xp.pow(x, 1.0)], np.zeros(2)),
    "clip": one("clip", 0.3, 0.65),
    "clip,limits": Case(lambda x: xp.clip(x[0], x[1] - 0.3, x[1]), POINT),
    "where": Case(lambda x: xp.where(x[0] > 0.5, x[0] ** 2, xp.exp(x[1])), POINT),
    **{name: one(name) for name in names(REDUCED)},
    **{f"{name},axis": one(name, axis=0) for name in names(REDUCED) if "cumulative" not in name},
    "cumulative_sum": one("cumulative_sum", axis=1),
    "cumulative_prod": one("cumulative_prod", axis=1, include_initial=True),
    "prod,zeros": one("prod", axis=1, point=POINT * [[1, 0, 1], [0, 0, 1]]),
    "cumulative_prod,zeros": one("cumulative_prod", axis=1, point=POINT * [[1, 0, 1], [0, 0, 1]]),
    "sum,where": Case(lambda x: xp.sum(x**2, where=np.asarray(POINT > 0.5), initial=2.0), POINT),
    "max,where": Case(lambda x: xp.max(x**2, where=np.asarray(POINT > 0.5), initial=0.1), POINT),
    "var,correction": one("var", axis=1, correction=1),
    "diff": Case(lambda x: xp.diff(x**2, n=2, prepend=0.0), POINT),
    **{
        name: one(name, *options)
        for name, options in {
            "broadcast_to": ((3, 2, 3),), "expand_dims": ((0, -1),), "flip": (), "moveaxis": (0, 1),
            "permute_dims": ((1, 0),), "repeat": (2,), "reshape": ((3, 2),), "roll": (1,), "tile": ((2, 2),),
            "unstack": (), "tril": (), "triu": (), "matrix_transpose": (), "take": (np.array([1, 0, 1]),),
            "asarray": (), "linalg.diagonal": (), "linalg.trace": (),
        }.items()
    },
    "astype": one("astype", "float64"),
    "repeat,each": Case(lambda x: xp.repeat(x, np.array([2, 1]), axis=0) ** 2, POINT),
    "take_along_axis": one("take_along_axis", np.array([[2, 0, 0], [1, 1, 2]])),
    "broadcast_arrays": Case(lambda x: xp.broadcast_arrays(x, x[:1] ** 2), POINT),
    "concat": Case(lambda x: xp.concat((x, x[:1] ** 2)), POINT),
    "stack": Case(lambda x: xp.stack((x, x**2), axis=1), POINT),
    "squeeze": Case(lambda x: xp.squeeze(x[None] ** 2, axis=0), POINT),
    "meshgrid": Case(lambda x: xp.meshgrid(x[0], x[1] ** 2), POINT),
    "full": Case(lambda x: xp.full((2,), x[0, 0] ** 2), POINT),
    "full_like": Case(lambda x: xp.full_like(x, x[0, 0] ** 2), POINT),
    "linspace": Case(lambda x: xp.linspace(x[0] ** 2, x[1], 5, retstep=True), POINT),
    "linspace,open": Case(lambda x: xp.linspace(x[0] ** 2, 1.5, 4, endpoint=False, axis=-1), POINT),
    "linspace,complex": Case(lambda x: xp.linspace(jax.lax.complex(x[0], x[1]) ** 2, 1.5, 4), POINT),
    "logspace": Case(lambda x: xp.logspace(x[0], x[1], 5, base=x[0] + 1), POINT),
    "logspace,open": Case(lambda x: xp.logspace(x[0], 2, 3, endpoint=False), POINT),
    "logspace,complex": Case(
        lambda x: xp.logspace(jax.lax.complex(x[0], x[1]), 1 + 2j, 4, base=x[1] + 2j), POINT
    ),
    "logspace,fixed_base": Case(
        lambda x: xp.logspace(jax.lax.complex(x[0], x[1]), 1 + 2j, 4, base=1 + 2j), POINT
    ),
    # products
    "matmul": two("matmul", POINT, SQUARE),
    "tensordot": two("tensordot", POINT, SQUARE, axes=1),
    "vecdot": two("vecdot"),
    "vecdot,broadcast": two("vecdot", POINT, POINT[:1], axis=-1),
    "linalg.cross": two("linalg.cross"),
    "linalg.outer": two("linalg.outer", POINT[0], POINT[1]),
    # norms
    **{
        f"linalg.vector_norm,{p}": one("linalg.vector_norm", ord=p)
        for p in (1, 2, 3, 0.5, math.inf, -math.inf)
    },
    **{
        f"linalg.matrix_norm,{p}": one("linalg.matrix_norm", ord=p)
        for p in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)
    },
    "linalg.vector_norm,complex": with_complex("linalg.vector_norm"),
    # decompositions and systems
    **{
        name: one(name, point=SQUARE)
        for name in names("linalg.slogdet linalg.inv linalg.svdvals linalg.pinv linalg.qr")
    },
    "linalg.det": DET,
    "linalg.qr,tall": one("linalg.qr", point=POINT.T),
    "linalg.pinv,wide": one("linalg.pinv", point=POINT),
    "linalg.pinv,tall": one("linalg.pinv", point=POINT.T),
    "linalg.svdvals,wide": one("linalg.svdvals", point=POINT),
    "linalg.svd": Case(
        lambda x: up_to_signs(lambda x: [xp.linalg.svd(x).U, xp.linalg.svd(x).Vh.mT])(x), SQUARE
    ),
    "linalg.svd,reduced": Case(
        lambda x: up_to_signs(lambda x: [xp.linalg.svd(x, full_matrices=False).U])(x), POINT.T
    ),
    **{f"linalg.det,singular {i}": DET._replace(point=x) for i, x in enumerate(SINGULAR)},
    "linalg.matrix_power": one("linalg.matrix_power", 3, point=SQUARE),
    "linalg.matrix_power,inverse": one("linalg.matrix_power", -2, point=SQUARE),
    "linalg.solve": two("linalg.solve", SQUARE, SQUARE[0]),
    "linalg.solve,matrix": two("linalg.solve", SQUARE, POINT.T),
    "linalg.cholesky": symmetric("linalg.cholesky"),
    "linalg.eigvalsh": symmetric("linalg.eigvalsh"),
    "linalg.eigh": Case(up_to_signs(lambda x: [xp.linalg.eigh((x + x.mT) / 2).eigenvectors]), SQUARE),
    "linalg.eigvals": one("linalg.eigvals", point=SQUARE)._replace(second=False),
    **{
        f"{name},complex": with_complex(name, first=COMPLEX_SQUARE.real, second=COMPLEX_SQUARE.imag)
        for name in names("linalg.det linalg.inv linalg.slogdet linalg.svdvals linalg.pinv linalg.qr")
    },
    # transforms
    **{f"fft.{name}": one(f"fft.{name}") for name in names("rfft rfftn ihfft fftshift ifftshift fft ifft")},
    **{f"fft.{name},complex": with_complex(f"fft.{name}") for name in names("fft ifft irfft hfft")},
    **{
        f"fft.{name},complex": with_complex(f"fft.{name}", first=POINT, second=POINT[::-1])
        for name in names("fftn ifftn irfftn")
    },
    "fft.fft,n": one("fft.fft", n=5),
    "fft.fftfreq": Case(lambda x: xp.fft.fftfreq(4, x[0], dtype="float64"), np.array([0.7])),
    "fft.rfftfreq": Case(lambda x: xp.fft.rfftfreq(4, x[0], dtype="float64"), np.array([0.7])),
    # distances, also where weights or probabilities are 0, and at corners. minkowski has no weight of 0 here:
    # the difference needs a negative one, of which there is no root; test_distance_edges.py has that case.
    **{f"distance.{name}": distances(name, "w") for name in names(WITH_WEIGHTS)},
    **{
        f"distance.{name},zero weight": with_zero(distances(name, "w"), (2, 1))
        for name in names("braycurtis canberra cityblock correlation cosine euclidean hamming sqeuclidean")
    },
    **{
        f"distance.{name},zero": distances(name, "w", point=2 * [[0.2, 0.7, 0.45]])._replace(second=False)
        for name in names("chebyshev cityblock euclidean")
    },
    **{  # quotients, of numbers so large that the two sides of the corner differ by less than is allowed
        f"distance.{name},zero": distances(name, "w", point=2 * [[2e2, 7e2, 4.5e2]])._replace(second=False)
        for name in names("braycurtis canberra")
    },
    **{f"distance.{name}": distances(name) for name in names("hellinger jensenshannon kl_divergence")},
    "distance.inner_product": distances("inner_product"),
    "distance.minkowski": distances("minkowski", "w", p=3.5),
    "distance.minkowski,zero": distances("minkowski", "w", point=2 * [[0.2, 0.7, 0.45]], p=3.5)._replace(
        second=False
    ),
    "distance.mahalanobis": distances("mahalanobis", "VI"),
    "distance.seuclidean": distances("seuclidean", "V"),
}  # fmt: skip


def audit(case, point=None):
    """Return how derivatives differ from the difference quotients: (which, largest difference) each.

    They are those of all results' numbers, added up by weights that cannot cancel a wrong one.
    """
    point = np.asarray(case.point if point is None else point, "float64")
    found_at = program(case.function, case.second)
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, found_at(point))
        ahead, behind = ([found_at(each) for each in side] for side in shifted(point))
    differences = []
    for name, value in found.items():
        if name == "value":
            continue
        differentiated = "slopes in reverse" if "over" in name else "value"
        quotients = [
            (np.asarray(after[differentiated]) - np.asarray(before[differentiated])) / (2 * STEP)
            for after, before in zip(ahead, behind, strict=True)
        ]
        expected = np.reshape(np.stack(quotients), value.shape)
        difference, size = np.max(np.abs(value - expected)), max(1, np.max(np.abs(expected)))
        if not difference < 3e-6 * size:
            differences.append((name, float(difference)))
    return differences


def shifted(point):
    """Return the points next to one, ahead and behind in each direction."""
    steps = STEP * np.eye(point.size).reshape(-1, *point.shape)
    return point + steps, point - steps


@functools.cache
def program(function, second):
    """Return the compiled function that finds the value, its slopes and second derivatives in every way.

    The slopes come with the second derivatives that are taken of them: so they are compiled once.
    """

    def total(x):
        out = parts(function(x))
        return (out * jnp.asarray(WEIGHTS[: out.size])).sum()

    def reverse(x):
        value, slopes = jax.value_and_grad(total)(x)
        return slopes, (value, slopes)

    def forward(x):
        slopes = jax.jacfwd(total)(x)
        return slopes, slopes

    def everything(x):
        if not second:
            value, slopes = jax.value_and_grad(total)(x)
            return {"value": value, "slopes in reverse": slopes, "slopes forward": jax.jacfwd(total)(x)}
        forward_over_reverse, (value, in_reverse) = jax.jacfwd(reverse, has_aux=True)(x)
        reverse_over_forward, in_forward = jax.jacrev(forward, has_aux=True)(x)
        return {
            "value": value,
            "slopes in reverse": in_reverse,
            "slopes forward": in_forward,
            "forward over reverse": forward_over_reverse,
            "reverse over forward": reverse_over_forward,
        }

    return jax.jit(everything)
