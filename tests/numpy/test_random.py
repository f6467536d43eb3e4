"""Random numbers: each distribution against SciPy's, the state, and what happens in a trace."""

import copy
import pickle

import jax
import numpy as np
import pytest
from scipy import stats

import jaxapi.numpy as ours
from jaxapi.mutable import _host_way as host_way
from jaxapi.numpy import _samplers

CONTINUOUS = {
    "beta": ((2.0, 3.0), stats.beta(2, 3)),
    "chisquare": ((3.0,), stats.chi2(3)),
    "exponential": ((2.0,), stats.expon(scale=2)),
    "f": ((4.0, 9.0), stats.f(4, 9)),
    "gamma": ((0.7, 2.0), stats.gamma(0.7, scale=2)),
    "gumbel": ((1.0, 2.0), stats.gumbel_r(1, 2)),
    "laplace": ((1.0, 2.0), stats.laplace(1, 2)),
    "logistic": ((1.0, 2.0), stats.logistic(1, 2)),
    "lognormal": ((0.5, 0.7), stats.lognorm(0.7, scale=np.exp(0.5))),
    "noncentral_chisquare": ((3.0, 2.0), stats.ncx2(3, 2)),
    "noncentral_f": ((4.0, 9.0, 2.0), stats.ncf(4, 9, 2)),
    "normal": ((1.0, 2.0), stats.norm(1, 2)),
    "pareto": ((3.0,), stats.lomax(3)),
    "power": ((3.0,), stats.powerlaw(3)),
    "random": ((), stats.uniform()),
    "rayleigh": ((2.0,), stats.rayleigh(scale=2)),
    "standard_cauchy": ((), stats.cauchy()),
    "standard_exponential": ((), stats.expon()),
    "standard_gamma": ((2.0,), stats.gamma(2)),
    "standard_normal": ((), stats.norm()),
    "standard_t": ((5.0,), stats.t(5)),
    "triangular": ((1.0, 2.0, 4.0), stats.triang(1 / 3, 1, 3)),
    "uniform": ((1.0, 3.0), stats.uniform(1, 2)),
    "vonmises": ((0.5, 2.0), stats.vonmises(2, loc=0.5)),
    "wald": ((2.0, 3.0), stats.invgauss(2 / 3, scale=3)),
    "weibull": ((1.5,), stats.weibull_min(1.5)),
}
DISCRETE = {
    "binomial": ((12, 0.3), stats.binom(12, 0.3)),
    "geometric": ((0.3,), stats.geom(0.3)),
    "hypergeometric": ((15, 20, 9), stats.hypergeom(35, 15, 9)),
    "logseries": ((0.6,), stats.logser(0.6)),
    "negative_binomial": ((5, 0.4), stats.nbinom(5, 0.4)),
    "poisson": ((3.5,), stats.poisson(3.5)),
    "zipf": ((2.5,), stats.zipf(2.5)),
    "integers": ((2, 9), stats.randint(2, 9)),
}
COUNT = 3000
NAN = float("nan")


@pytest.mark.daily
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name, way):
    parameters, expected = CONTINUOUS[name]
    drawn = getattr(ours.random.default_rng(11), name)(*parameters, size=COUNT)
    assert stats.kstest(np.asarray(drawn, dtype=float), expected.cdf).pvalue > 1e-3
    again = getattr(ours.random.RandomState(11), name)(*parameters, size=COUNT)
    assert stats.kstest(np.asarray(again, dtype=float), expected.cdf).pvalue > 1e-3
    older = np.random.RandomState(11)
    for made, generator in ((drawn, np.random.default_rng(11)), (again, older)):
        is_numpys = way == "numpys" or name in _samplers.ON_HOST_ALONE
        if is_numpys and hasattr(generator, name):
            expected = getattr(generator, name)(*parameters, size=COUNT)
            np.testing.assert_allclose(np.asarray(made), expected, rtol=1e-6)


@pytest.mark.daily
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    parameters, expected = DISCRETE[name]
    drawn = np.asarray(getattr(ours.random.default_rng(7), name)(*parameters, size=COUNT))
    assert drawn.dtype.kind == "i"
    places = np.arange(15)
    seen = np.append([(drawn == k).sum() for k in places], (drawn > 14).sum())
    wanted = COUNT * np.append(expected.pmf(places), expected.sf(14))
    often = wanted > 5
    seen, wanted = (np.append(x[often], x[~often].sum()) for x in (seen, wanted))
    kept = wanted > 1e-9
    assert seen[~kept].sum() == 0
    assert stats.chisquare(seen[kept], wanted[kept] * COUNT / wanted[kept].sum()).pvalue > 1e-3


LARGE = {
    "hypergeometric": ((400, 700, 300), stats.hypergeom(1100, 400, 300)),
    "hypergeometric of most": ((700, 400, 1000), stats.hypergeom(1100, 700, 1000)),
    "hypergeometric of all but few": ((50, 40, 85), stats.hypergeom(90, 50, 85)),
    "binomial": ((10**6, 0.3), stats.binom(10**6, 0.3)),
    "binomial of few": ((10**6, 1e-6), stats.binom(10**6, 1e-6)),
    "binomial of nearly all": ((10**9, 0.999), stats.binom(10**9, 0.999)),
    "poisson": ((3e7,), stats.norm(3e7, np.sqrt(3e7))),
    "poisson of some": ((12.0,), stats.poisson(12)),
    "poisson of thousands": ((9_000.0,), stats.poisson(9_000)),
    "poisson of a million": ((1e6,), stats.poisson(1e6)),
    "geometric, nearly always 1": ((0.999,), stats.geom(0.999)),
    "gamma": ((1e6, 2.0), stats.gamma(1e6, scale=2)),
    "beta": ((1e4, 2e4), stats.beta(1e4, 2e4)),
    "beta at the ends": ((0.1, 0.2), stats.beta(0.1, 0.2)),
    "chisquare": ((1e5,), stats.chi2(1e5)),
    "chisquare of few": ((0.15,), stats.chi2(0.15)),
    "f": ((0.5, 1e6), stats.f(0.5, 1e6)),
    "standard_t": ((0.1,), stats.t(0.1)),
    "weibull": ((0.05,), stats.weibull_min(0.05)),
    "triangular": ((0.0, 0.0, 1.0), stats.triang(0, 0, 1)),
    "wald": ((1e8, 1.0), stats.invgauss(1e8, scale=1)),
    "vonmises": ((0.5, 1e7), stats.norm(0.5, 1e7**-0.5)),
    "geometric": ((1e-3,), stats.geom(1e-3)),
    "logseries": ((0.999,), stats.logser(0.999)),
    "zipf": ((1.2,), stats.zipf(1.2)),
}


@pytest.mark.daily
@pytest.mark.parametrize("name", LARGE)
def test_large_parameters(name):
    parameters, expected = LARGE[name]
    with jax.enable_x64(True):
        drawn = getattr(ours.random.default_rng(5), name.split()[0].strip(","))(*parameters, size=COUNT)
    drawn = np.asarray(drawn).astype(float)
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        place = expected.ppf(share)
        wanted = expected.cdf(place)
        spread = np.sqrt(wanted * (1 - wanted) / COUNT)
        assert abs((drawn <= place).mean() - wanted) < 4 * spread


# Parameters at the edge of what NumPy takes, and what is drawn, if that is one number.
EDGES = [
    ("beta", (1e-8, 1e-8), None),
    ("beta", (NAN, 1), NAN),
    ("binomial", (0, 0.5), 0),
    ("binomial", (10, 0), 0),
    ("binomial", (10, 1), 10),
    ("chisquare", (1e-300,), None),
    ("exponential", (0,), 0),
    ("f", (1e-8, 1e-8), None),
    ("gamma", (0, 1), 0),
    ("gamma", (1, 0), 0),
    ("gamma", (NAN, 1), NAN),
    ("geometric", (1,), 1),
    ("geometric", (1e-300,), None),
    ("hypergeometric", (0, 0, 0), 0),
    ("hypergeometric", (10, 0, 5), 5),
    ("hypergeometric", (10, 10, 20), 10),
    ("hypergeometric", (10**8, 10**8, 10**8), None),
    ("logseries", (0,), 1),
    ("negative_binomial", (1, 1), 0),
    ("noncentral_chisquare", (1, 1e8), None),
    ("normal", (NAN, 1), NAN),
    ("pareto", (1e-8,), None),
    ("poisson", (0,), 0),
    ("standard_t", (1e-8,), None),
    ("triangular", (0, 1, 1), None),
    ("uniform", (2, 2), 2),
    ("vonmises", (0, 0), None),
    ("vonmises", (0, 1e300), 0),
    ("vonmises", (0, NAN), NAN),
    ("wald", (1e10, 1), None),
    ("weibull", (0,), 0),
    ("zipf", (1 + 1e-6,), None),
    ("zipf", (1e10,), 1),
    ("dirichlet", ([0, 1],), [0, 1]),
    ("multinomial", (0, [0.5, 0.5]), [0, 0]),
    ("multinomial", (9, [0, 1.0]), [0, 9]),
]
REFUSED = [
    ("binomial", (-1, 0.5)),
    ("binomial", (1, 1.1)),
    ("binomial", (1, NAN)),
    ("binomial", ([1, 2], [0.5, -1])),
    ("chisquare", (0,)),
    ("dirichlet", ([-1, 1],)),
    ("exponential", (-1,)),
    ("gamma", (np.float64(-1), 1)),
    ("geometric", (0,)),
    ("hypergeometric", (10, 10, 21)),
    ("hypergeometric", (10**9, 1, 1)),
    ("logseries", (1,)),
    ("multinomial", (-1, [1.0])),
    ("multinomial", (5, [0.8, 0.8, 0.1])),
    ("multivariate_hypergeometric", ([5, 5], 11)),
    ("negative_binomial", (0, 0.5)),
    ("negative_binomial", (1e20, 0.5)),
    ("poisson", (-1,)),
    ("poisson", (1e30,)),
    ("poisson", (NAN,)),
    ("triangular", (0, 2, 1)),
    ("triangular", (1, 1, 1)),
    ("uniform", (1, 0)),
    ("vonmises", (0, -1)),
    ("wald", (0, 1)),
    ("zipf", (1,)),
]


@pytest.mark.daily
@pytest.mark.parametrize("case", EDGES, ids=lambda case: f"{case[0]}{case[1]}")
def test_edges_of_parameters(case):
    name, parameters, only = case
    with jax.enable_x64(True):
        for size in (3, 0) if only is None else (3,):
            made = np.asarray(getattr(ours.random.default_rng(0), name)(*parameters, size=size))
            expected = getattr(np.random.default_rng(0), name)(*parameters, size=size)
            assert made.shape == expected.shape
            assert made.dtype == expected.dtype
            assert not (np.isnan(made).any() and not np.isnan(expected).any())
            if only is not None:
                np.testing.assert_allclose(made, np.broadcast_to(only, made.shape), atol=1e-100)


@pytest.mark.daily
def test_numbers_beyond_float32_are_drawn_from():
    with jax.enable_x64(False):
        rng = ours.random.default_rng(0)
        for made in (rng.beta(1e-300, 1, 3), rng.chisquare(1e-300, 3), rng.beta(1, 1e300, 3)):
            assert np.abs(np.asarray(made)).max() < 1e-6


@pytest.mark.thorough
@pytest.mark.daily("jaxs")
def test_numbers_of_gammas_in_jit_with_x64_mode_off():
    """They have the digits of float64, and the distribution."""
    names = ["beta", "chisquare", "f", "gamma", "standard_gamma", "standard_t"]

    @jax.jit
    def draw(key):
        rng = ours.random.default_rng(key)
        drawn = [getattr(rng, name)(*CONTINUOUS[name][0], size=COUNT) for name in names]
        drawn.append(rng.dirichlet([0.5, 1, 2], COUNT)[:, 0])
        edges = rng.gamma(ours.array([0, NAN, np.inf, -1, 1e300]))
        return ours.stack(drawn)._value, edges._value

    with jax.enable_x64(False):
        drawn, edges = map(np.asarray, draw(jax.random.key(3)))
    assert drawn.dtype == edges.dtype == np.float64
    expected = [CONTINUOUS[name][1] for name in names] + [stats.beta(0.5, 3)]
    for of_one, distribution in zip(drawn, expected, strict=True):
        assert stats.kstest(of_one, distribution.cdf).pvalue > 1e-3
        assert (of_one != of_one.astype(np.float32)).mean() > 0.99
    np.testing.assert_allclose(edges, [0, NAN, np.inf, NAN, 1e300])


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0]}{case[1]}")
def test_parameters_that_numpy_refuses(case):
    name, parameters = case
    for module in (np, ours):
        with pytest.raises(ValueError, match=r"."), jax.enable_x64(True):
            getattr(module.random.default_rng(0), name)(*parameters, size=2)


@pytest.mark.thorough
def test_loops_end_for_parameters_that_are_not_looked_at():
    for name, parameters in (("beta", [0, NAN]), ("binomial", [3, 1.5]), ("gamma", [-1]), ("poisson", [NAN])):

        def draw(key, *parameters, name=name):
            return getattr(ours.random.default_rng(key), name)(*parameters, size=2)

        drawn = np.asarray(jax.jit(draw)(jax.random.key(0), *map(float, parameters)))
        assert np.isnan(drawn).all() if drawn.dtype.kind == "f" else (drawn == -1).all()


def test_every_distribution_is_tested():
    names = _samplers.SAMPLERS.keys() | _samplers.ON_HOST_ALONE.keys()
    assert names <= CONTINUOUS.keys() | DISCRETE.keys()


@pytest.mark.daily
def test_vectors():
    rng = ours.random.default_rng(1)
    drawn = np.asarray(rng.multivariate_normal([1, 2], [[2, 0.5], [0.5, 1]], 4000))
    np.testing.assert_allclose(drawn.mean(0), [1, 2], atol=0.1)
    np.testing.assert_allclose(np.cov(drawn.T), [[2, 0.5], [0.5, 1]], atol=0.15)
    parts = np.asarray(rng.dirichlet([1.0, 2.0, 3.0], 2000))
    np.testing.assert_allclose(parts.mean(0), [1 / 6, 1 / 3, 1 / 2], atol=0.02)
    counts = np.asarray(rng.multinomial(10, [0.2, 0.3, 0.5], 1000))
    assert (counts.sum(1) == 10).all()
    np.testing.assert_allclose(counts.mean(0), [2, 3, 5], atol=0.2)
    colours = np.asarray(rng.multivariate_hypergeometric([5, 7, 8], 6, 1000))
    assert (colours.sum(1) == 6).all()
    np.testing.assert_allclose(colours.mean(0), [1.5, 2.1, 2.4], atol=0.15)


@pytest.mark.daily
def test_order_and_choice():
    rng = ours.random.default_rng(2)
    x = ours.arange(50)
    view = x[10:]
    rng.shuffle(view)
    assert x[:10].tolist() == list(range(10))
    assert sorted(x.tolist()) == list(range(50)) != x.tolist()
    assert sorted(rng.permutation(9).tolist()) == list(range(9))
    assert len(set(rng.choice(20, 20, replace=False).tolist())) == 20
    picked = np.asarray(rng.choice(ours.array([5.0, 7.0]), 2000, p=[0.9, 0.1]))
    assert abs((picked == 5).mean() - 0.9) < 0.03
    rows = rng.permuted(ours.arange(12).reshape(3, 4), axis=1)
    assert np.sort(np.asarray(rows), 1).tolist() == np.arange(12).reshape(3, 4).tolist()
    wide = np.asarray(rng.integers(-(2**63), 2**63 - 1, 500, dtype=np.int64, endpoint=True))
    assert wide.min() < -(2**62) < 2**62 < wide.max()


@pytest.mark.daily
def test_what_is_chosen_and_put_in_order():
    """Along the axis that is asked for, with each element as often as it may come."""
    table = np.arange(12).reshape(3, 4)
    rng = ours.random.default_rng(4)
    x = ours.asarray(table)
    columns = np.asarray(rng.choice(x, 9, axis=1))
    assert set(map(tuple, columns.T.tolist())) <= set(map(tuple, table.T.tolist()))
    assert len(set(columns[0].tolist())) > 1
    rows = np.asarray(rng.choice(x, 3, replace=False))
    assert sorted(rows.tolist()) == table.tolist()
    for axis in (0, 1):
        mixed = np.asarray(rng.permutation(x, axis=axis))
        assert sorted(np.moveaxis(mixed, axis, 0).tolist()) == np.moveaxis(table, axis, 0).tolist()
    wide = ours.asarray(np.arange(40).reshape(2, 20))
    one_order = np.asarray(rng.permutation(wide, axis=1))
    assert (np.diff(one_order, axis=0) == 20).all()
    orders = np.asarray(rng.permuted(wide, axis=1))
    assert not (np.diff(orders, axis=0) == 20).all()
    assert np.sort(orders, axis=1).tolist() == np.arange(40).reshape(2, 20).tolist()
    columns = np.asarray(rng.permuted(wide.T, axis=0))
    assert np.sort(columns, axis=0).tolist() == np.arange(40).reshape(2, 20).T.tolist()
    assert sorted(np.asarray(rng.permuted(wide)).ravel().tolist()) == list(range(40))
    rng.shuffle(wide, axis=1)
    assert (np.diff(np.asarray(wide), axis=0) == 20).all()
    assert sorted(np.asarray(wide)[0].tolist()) == list(range(20)) != np.asarray(wide)[0].tolist()
    of_numpy, of_python = np.arange(30), list(range(30))
    for each in (of_numpy, of_python):
        rng.shuffle(each)
        assert sorted(each) == list(range(30)) != list(each)
    for low, high, dtype in ((0, 2, bool), (250, 256, "uint8"), (-128, -125, "int8"), (5, 8, None)):
        drawn = np.asarray(rng.integers(low, high, 200, dtype=dtype))
        assert set(drawn.tolist()) == set(range(low, high))
    several = np.asarray(rng.integers([0, 5, -3], [2, 6, 0], (200, 3)))
    assert [set(column.tolist()) for column in several.T] == [{0, 1}, {5}, {-3, -2, -1}]


def test_generators_of_a_key():
    """Their state is the key, which goes on with each draw."""
    rng = ours.random.default_rng(jax.random.key(4))
    state = rng.bit_generator.state
    assert jax.random.key_data(state).tolist() == jax.random.key_data(jax.random.key(4)).tolist()
    first = rng.random(3).tolist()
    assert rng.random(3).tolist() != first
    rng.bit_generator.state = state
    assert rng.random(3).tolist() == first
    with pytest.raises(TypeError, match="key"):
        rng.bit_generator.state = np.random.default_rng(0).bit_generator.state
    children = rng.spawn(2)
    assert children[0].random(3).tolist() != children[1].random(3).tolist()
    older = ours.random.RandomState(3)
    older.set_state(jax.random.key(4))
    assert older.random(3).tolist() == first
    saved = older.get_state()
    second = older.random(3).tolist()
    older.set_state(np.random.RandomState(5).get_state())
    assert older.get_state()[1].tolist() == np.random.RandomState(5).get_state()[1].tolist()
    older.set_state(saved)
    assert older.random(3).tolist() == second


def test_float_bounds_of_integers_are_cut(way):
    for low, high in ((0.5, 3.4), (-0.5, 3), (-1.5, 3), ([0.5] * 300, [3.4] * 300)):
        found = ours.random.default_rng(0).integers(low, high, 300)
        expected = np.random.default_rng(0).integers(low, high, 300)
        np.testing.assert_array_equal(np.unique(np.asarray(found)), np.unique(expected))


def test_state():
    ours.random.seed(3)
    first = ours.random.rand(3).tolist()
    state = ours.random.get_state()
    assert state[0] == "MT19937"  # the older form, a tuple
    second = ours.random.randn(2, 2).tolist()
    ours.random.set_state(state)
    assert ours.random.randn(2, 2).tolist() == second
    ours.random.seed(3)
    assert ours.random.random_sample(3).tolist() == first
    assert ours.random.randint(5, size=(2, 3)).shape == (2, 3)
    one, two = ours.random.default_rng(0).spawn(2)
    assert one.random(3).tolist() != two.random(3).tolist()
    assert ours.random.Generator(ours.random.PCG64([1, 2])).random() < 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_go_on_alike(copied):
    makers = (
        lambda: ours.random.default_rng(4),
        lambda: ours.random.RandomState(4),
        lambda: ours.random.default_rng(jax.random.key(4)),
        lambda: ours.random.Generator(ours.random.SFC64(4)),
    )
    for make in makers:
        rng = make()
        rng.standard_normal(3)  # of the older generator, which keeps one for later
        other = copied(rng)
        assert rng.normal(size=5).tolist() == other.normal(size=5).tolist() != make().normal(size=5).tolist()
        assert rng.integers(9, size=5).tolist() == other.integers(9, size=5).tolist()


def test_the_state_is_numpys():
    rng = ours.random.default_rng(8)
    state = rng.bit_generator.state
    assert state == np.random.default_rng(8).bit_generator.state
    first = rng.random(3).tolist()
    assert rng.bit_generator.state != state
    rng.bit_generator.state = state
    assert rng.random(3).tolist() == first
    with pytest.raises(TypeError, match="NumPy's state"):
        rng.bit_generator.state = jax.random.key(0)


def test_integers_of_a_large_range_come_evenly():
    drawn = np.asarray(ours.random.default_rng(0).integers(0, 3 * 2**62, 9000, dtype="uint64"))
    shares = np.bincount((drawn // np.uint64(2**62)).astype(int)) / 9000
    np.testing.assert_allclose(shares, 1 / 3, atol=0.025)


@pytest.mark.skipif(jax.device_count() < 2, reason="one device")
def test_parameters_on_another_device():
    means = ours.asarray(jax.device_put(np.ones(3, np.float32), jax.devices()[1]))
    drawn = ours.random.default_rng(0).normal(means, 0.0, dtype=np.float16)
    assert drawn.dtype == np.float16
    assert drawn.tolist() == [1, 1, 1]
    assert ours.random.default_rng(0).zipf(means + 1, size=3).tolist()[0] >= 1


def test_choice_takes_nothing_of_probability_0():
    rng = ours.random.default_rng(0)
    p = [0.5, 0, 0.5, 0]
    assert sorted(rng.choice(4, 2, replace=False, p=p).tolist()) == [0, 2]
    with pytest.raises(ValueError, match=r"(?i)fewer non-zero entries"):
        rng.choice(4, 3, replace=False, p=p)


def test_in_a_trace():
    rng = ours.random.default_rng(0)
    with pytest.raises(RuntimeError, match="default_rng\\(key\\)"):
        jax.jit(lambda x: x + rng.random())(1.0)

    @jax.jit
    def draw(key):
        return ours.random.default_rng(key).normal(size=3)

    expected = ours.random.default_rng(jax.random.key(4)).normal(size=3)
    np.testing.assert_allclose(np.asarray(draw(jax.random.key(4))), np.asarray(expected), rtol=1e-6)


CALLS = ["zipf(2.0)", "vonmises(0, 1)", "wald(1, 1)", "multivariate_hypergeometric([3, 4], 2)"]
CALLS += ["integers(0, 3 * 2**62, dtype='uint64')"]


@pytest.mark.parametrize("call", CALLS)
def test_what_jax_does_not_draw_is_refused_of_a_key(call):
    def draw(key):
        return eval(f"rng.{call}", {"rng": ours.random.default_rng(key)})

    for function in (draw, jax.jit(draw)):
        with pytest.raises(NotImplementedError, match=r"jax\.random has no .*make the generator of a seed"):
            function(jax.random.key(0))
    rng = ours.random.default_rng(0)
    with pytest.raises(RuntimeError, match="default_rng"):
        jax.jit(lambda x: x + eval(f"rng.{call}", {"rng": rng}))(1.0)


@pytest.mark.parametrize(
    "call", ["normal(scale=-1)", "binomial(3, 1.5)", "gamma(-1)", "integers(3, 2)", "choice(0, 2)"]
)
def test_parameters_out_of_range(call):
    with pytest.raises(ValueError, match=r"."):
        eval(f"rng.{call}", {"rng": ours.random.default_rng(0)})


# Arguments of any kind: what NumPy refuses by which exception, or the shape and dtype of what it draws.
ARGUMENTS = """
beta(1, inf, size=3)
beta(None, 1)
normal(size=1.5)
normal(size=(2.0,))
normal(size='a')
normal(size=True)
normal(size=(2, None))
normal(0, 1, [2, 3])
poisson(size=np.int64(3))
random(1.5)
random((2,), out=np.zeros(3))
random((3,), out=np.zeros(3))
random(None, out=np.zeros(3))
random(3, dtype='int8')
standard_normal(2, out=np.zeros(3))
standard_normal(out=np.zeros((2, 3)))
standard_normal(3, dtype='int8')
binomial(inf, 0.5)
binomial(None, 0.5)
integers(5, dtype=float)
integers(nan)
integers(inf)
integers('a')
integers(1.5)
integers([1, 5], [[3], [9]])
choice(1.5)
choice(2.0)
choice(2, p=0.5)
choice([1.5, 2.5], size=(2, 2))
permutation(1.5)
permutation(None)
permutation('a')
permutation(True)
permutation(3)
permuted(3)
shuffle(np.asarray(3))
shuffle([1, 2], axis=1)
bytes(1.5).__len__()
multinomial(3, [])
multinomial(3, 0.5)
dirichlet([nan, 1])
dirichlet([0, 1])
dirichlet(1)
multivariate_normal([0, 0], [[1, 2], [2, 1]], check_valid='raise')
multivariate_normal([0, 0], [[1, 0], [0, 1]], check_valid='raise')
multivariate_normal([0, 0], [[1, 0], [0, 1]], check_valid='bad')
choice(4, 3, p=[0.5, 0.5])
choice(4, 3, p=[0.5, 0.4, 0.2, 0.2])
choice(3, 2, p=[-0.5, 1, 0.5])
choice(3, 4, replace=False)
choice(3, 3, replace=False)
choice(3, (2, 2), False)
choice(0, 0)
choice([], 1)
choice([], 0)
choice(np.zeros((3, 2)), 2, axis=1)
choice(np.zeros((3, 2)), 4, replace=False)
choice(np.zeros((3, 2)), 2, replace=False, axis=1)
choice(np.zeros((3, 2)), 3, replace=False, axis=1)
choice(np.zeros((3, 2)), 4, p=[0.5, 0.5], axis=1)
choice(np.asarray([1, 2], 'int8'))
choice(3)
permutation(np.zeros((3, 2)), axis=1)
permutation(np.zeros((3, 2)), axis=2)
permutation(0)
permuted([[1, 2], [3, 4]])
permuted([[1, 2], [3, 4]], axis=1)
permuted([[1, 2], [3, 4]], axis=2)
shuffle(5)
shuffle((1, 2))
shuffle([1, 2])
bytes(0).__len__()
bytes(5).__len__()
multinomial(-1, [1.0])
multinomial(3, [0.5, 0.6, 0.1])
multinomial(3, [0.5, 0.5, 0.1])
multinomial(3, [0.5, -0.1, 0.6])
multinomial(3, [1.5, 0.1])
multinomial(3, [nan, 1])
multinomial(3, [[0.5, 0.5], [0.1, 0.9]])
multinomial([3, 4], [[0.5, 0.5], [0.1, 0.9]])
multinomial(3, [0.5, 0.5], 2)
dirichlet([1, 2], size=3)
dirichlet([-1, 1])
dirichlet([0, 0])
multivariate_normal(0, 1)
multivariate_normal([0, 0], [[1]])
multivariate_normal([[0, 0]], [[1, 0], [0, 1]])
multivariate_normal([0, 0], [[1, 0], [0, 1]], 2)
multivariate_normal([0, 0], [[1, 0], [0, 1]], (2, 1))
multivariate_normal([0, 0], [[1, 0.5], [0, 1]], check_valid='raise')
multivariate_normal([0, 0], [[1, 0], [0, -0.1]], check_valid='raise')
multivariate_normal([0, 0], [[1, 0], [0, -0.1]], check_valid='raise', tol=1)
multivariate_hypergeometric([3, 4], 2, size=3)
integers(5, 5)
integers(5, 4)
integers(5, size=2, endpoint=True)
integers(0, 1, 0)
integers(0, 256, dtype='uint8')
integers(0, 257, dtype='uint8')
integers(0, 255, dtype='uint8', endpoint=True)
integers(-1, 5, dtype='uint8')
integers(-128, 128, (2, 2), 'int8')
integers(-129, 128, (2, 2), 'int8')
integers(0, 2, dtype=bool)
integers(0, 3, dtype=bool)
integers(-(2**63), 2**63)
integers(0, 2**64, dtype='uint64')
integers([], size=(3, 0))
integers([1, 2], 5, size=(3, 2))
integers([1, 2], 5, size=3)
random(0)
random((2, 0))
random(-1)
random((2, -1))
random(2, dtype='float32')
random(())
standard_exponential(2, dtype='float32')
standard_gamma([1, 2], dtype='float32')
standard_gamma([1, 2], 3, out=np.zeros(2))
normal([0, 1], 1, (3, 2))
normal([0, 1], 1, (2, 3))
normal([0, 1], [1, -1])
normal([0, nan], 1)
poisson([1, 2], (2, 2))
poisson([1, -2], (2, 2))
zipf(2, 3)
zipf([2, 3])
triangular(0, 1, 2, size=2)
hypergeometric([3, 4], 2, 3)
"""
OLDER = """
random_integers(3)
random_integers(2, 4, 5)
random_integers(4, 2)
random_integers(3, size=2)
rand()
rand(2, 3)
randn()
randn(2, 3)
randint(3)
randint(3, 5, 4)
randint(0, 300, dtype='int8')
random_sample()
random_sample((2, 1))
choice(3, 2)
permutation(4)
get_state(False)['bit_generator'].__len__()
get_state()[0].__len__()
seed(3)
set_state(rng.get_state())
uniform(size=2)
"""
KINDS = (IndexError, NotImplementedError, TypeError, OverflowError, ValueError)


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", ARGUMENTS.strip().splitlines())
def test_arguments_of_any_kind(call):
    check_call(call, lambda random: random.default_rng(0))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "call",
    [
        "multinomial([1, 2], [0.5, 0.5], size=(3, 2))",
        "multinomial(3, [0.5, 0.5], (2, 1))",
        "dirichlet([1, 2], (2, 3))",
        "standard_gamma(1, out=np.zeros(2))",
    ],
)
def test_arguments_of_other_shapes(call):
    check_call(call, lambda random: random.default_rng(0))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", OLDER.strip().splitlines())
def test_arguments_of_the_older_generator(call):
    check_call(call, lambda random: random.RandomState(0))


def check_call(call, generator_of):
    """Compare a method's shape and dtype, or error, with NumPy's."""
    results = []
    for module in (ours, np):
        names = {"rng": generator_of(module.random), "np": module, "nan": NAN, "inf": np.inf}
        with jax.enable_x64(True):
            try:
                results.append(eval(f"rng.{call}", names))
            except Exception as error:
                results.append(error)
    made, expected = results
    if isinstance(expected, Exception):
        assert isinstance(made, tuple(kind for kind in KINDS if isinstance(expected, kind))), made
        return
    assert not isinstance(made, Exception), made
    if expected is None:
        assert made is None
        return
    assert np.shape(made) == np.shape(expected)
    assert np.asarray(made).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(np.isnan(np.asarray(made)), np.isnan(expected))


@pytest.mark.parametrize("is_on_host", [False, True])
def test_permuted_into_an_array(is_on_host, x64):
    before = host_way.is_on()
    host_way.set_on(is_on_host)
    try:
        rows = np.arange(12).reshape(3, 4)
        for target in (ours.zeros((3, 4), int), None):
            x = ours.asarray(rows)
            out = x if target is None else target
            found = ours.random.default_rng(3).permuted(x, axis=1, out=out)
            assert found is out
            np.testing.assert_array_equal(np.sort(np.asarray(out), axis=1), rows)
            if is_on_host:
                numpys = np.random.default_rng(3).permuted(rows, axis=1)
                np.testing.assert_array_equal(np.asarray(out), numpys)
        with pytest.raises(ValueError, match=r"shape|broadcast"):
            ours.random.default_rng(3).permuted(ours.asarray(rows), out=ours.zeros((4, 3), int))
    finally:
        host_way.set_on(before)


@pytest.mark.parametrize("is_on_host", [False, True])
def test_tomaxint(is_on_host, x64):
    before = host_way.is_on()
    host_way.set_on(is_on_host)
    try:
        found = ours.random.RandomState(3).tomaxint((500,))
        largest = np.iinfo(found.dtype).max
        assert found.dtype == ours.zeros(1, int).dtype
        values = np.asarray(found)
        assert values.min() >= 0
        assert values.min() < largest // 50
        assert values.max() > largest - largest // 50
        assert int(ours.random.RandomState(3).tomaxint()) >= 0
        if is_on_host and x64:
            np.testing.assert_array_equal(values, np.random.RandomState(3).tomaxint((500,)))
    finally:
        host_way.set_on(before)
