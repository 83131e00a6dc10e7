"""The samplers against SciPy: by enumerating the uniforms where that is possible, by chi-squared elsewhere.

`jax.random.uniform` gives multiples of 2^-23. Feeding each of them once to a sampler yields its distribution
itself, without sampling error: any deviation above the stated bound is found with certainty.
"""

import zlib
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from harvestgym.core.random import (
    bernoulli,
    binomial,
    key_for,
    keys_for,
    multinomial,
    normal,
    threefry_words,
    uniform_int,
    uniforms,
)
from tests.long_form import ALL, THOROUGH

GRID = 2**23
SMALLEST, LARGEST = 0.0, 1 - 2.0**-23


@cache
def every_uniform() -> jax.Array:
    return jnp.arange(GRID, dtype=jnp.float32) / GRID


draw_all = partial(jax.jit, static_argnames="n_max", compiler_options=THOROUGH)(binomial)


def enumerated(n_max: int, n: int, p: float) -> np.ndarray:
    """Return the distribution of `binomial` itself: the share of all uniforms that give 0, ..., n_max."""
    return np.bincount(np.asarray(draw_all(every_uniform(), n, p, n_max=n_max)), minlength=n_max + 1) / GRID


def detectable_shift(draws: int, cells: int, alpha: float, power: float) -> float:
    """Return the shift of a mean, in standard deviations, that a chi-squared test finds with probability `power`.

    A small shift by s deviations moves the cells by s times their score: noncentrality draws * s^2.
    """
    threshold, s = stats.chi2.isf(alpha, cells - 1), np.geomspace(1e-4, 1, 2000)
    return s[np.argmax(stats.ncx2.sf(threshold, cells - 1, draws * s**2) >= power)]


def chi_squared(counts: np.ndarray, mass: np.ndarray, least: float = 8.0) -> tuple[float, int]:
    """P-value and number of cells, those expecting fewer than `least` draws being merged into one."""
    expected = mass * counts.sum()
    rare = expected < least
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    assert counts[~keep].sum() == 0
    return stats.chisquare(counts[keep], expected[keep]).pvalue, int(keep.sum())


def test_the_enumerated_uniforms_are_those_of_jax():
    u = np.asarray(jax.random.uniform(jax.random.key(0), (10_000,)), np.float64) * GRID
    np.testing.assert_array_equal(u, np.round(u))
    assert (u % 2).any() and float(every_uniform()[-1]) == LARGEST


# Keys


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey])
def test_a_key_depends_on_its_own_name_only(make):
    key, data = make(3), lambda k: jax.random.key_data(k) if jnp.issubdtype(k.dtype, jax.dtypes.prng_key) else k
    few, more = keys_for(key, ["soil", "plant"]), keys_for(key, ["weeds", "soil", "bees", "plant"])
    assert few.shape == (2, *key.shape) and few.dtype == key.dtype
    np.testing.assert_array_equal(data(few), data(more)[np.array([1, 3])])
    np.testing.assert_array_equal(data(few[1]), data(key_for(key, "plant")))
    assert len(np.unique(data(more), axis=0)) == 4


def test_a_name_is_hashed_by_crc32_and_by_nothing_else():
    """0xCBF43926 is the published check value of CRC-32, that of the digits 1 to 9."""
    key = jax.random.key(0)
    expected = jax.random.key_data(jax.random.fold_in(key, np.uint32(0xCBF43926)))
    np.testing.assert_array_equal(jax.random.key_data(key_for(key, "123456789")), expected)


@pytest.mark.parametrize("names", [["soil", "plant", "soil"], ["plumless", "buckeroo"]])
def test_names_that_would_share_a_key_are_refused(names):
    with pytest.raises(ValueError, match=f"'{names[0]}' and '{names[-1]}'"):
        keys_for(jax.random.key(0), names)


def test_keys_batch_and_trace_once():
    traced = []

    @jax.jit
    def make(key):
        traced.append(1)
        return keys_for(key, ["soil", "plant"])

    make(jax.random.key(0)), make(jax.random.key(1))
    assert len(traced) == 1
    keys = jax.random.split(jax.random.key(0), 3)
    loop = jnp.stack([jax.random.key_data(keys_for(k, ["a", "b"])) for k in keys])
    np.testing.assert_array_equal(jax.random.key_data(jax.vmap(lambda k: keys_for(k, ["a", "b"]))(keys)), loop)


def test_keys_and_words_are_those_of_jax_bit_by_bit():
    """The unrolled generator against JAX's own: `fold_in`, and `bits` in the layout that is JAX's default."""
    for seed in (0, 7, 2**32 - 1):
        key = jax.random.key(seed)
        folded = jax.vmap(jax.random.fold_in, (None, 0))(key, np.array([zlib.crc32(b"soil"), zlib.crc32(b"plant")]))
        np.testing.assert_array_equal(*map(jax.random.key_data, (keys_for(key, ["soil", "plant"]), folded)))
        high, low = threefry_words(key, np.zeros(1000, np.uint32), np.arange(1000, dtype=np.uint32))
        with jax.threefry_partitionable(True):
            np.testing.assert_array_equal(high ^ low, jax.random.bits(key, (1000,)))


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_uniforms_of_a_name_do_not_depend_on_the_others(impl):
    key = jax.random.key(5, impl=impl)
    few, more = uniforms(key, {"soil": 3, "plant": 40}), uniforms(key, {"weeds": 7, "plant": 40, "none": 0, "soil": 3})
    assert {name: u.shape for name, u in more.items()} == {"weeds": (7,), "plant": (40,), "none": (0,), "soil": (3,)}
    for name, u in few.items():
        np.testing.assert_array_equal(u, more[name])
    assert len(np.unique(np.concatenate([*more.values()]))) == 50
    assert uniforms(key, {}) == {}
    with pytest.raises(ValueError, match="'plumless' and 'buckeroo'"):
        uniforms(key, {"plumless": 1, "buckeroo": 1})


def test_uniforms_are_uniform_and_independent_of_each_other():
    """200 000 pairs in a 16 x 16 grid, chi-squared at 1e-6: cells that are wrong by 3.5 % (root mean square) are
    found with probability 0.99."""
    keys = jax.random.split(jax.random.key(11), 200_000)
    pairs = jax.vmap(lambda key: jnp.concatenate([*uniforms(key, {"a": 1, "b": 1}).values()]))(keys)
    u = np.asarray(pairs, np.float64) * GRID
    np.testing.assert_array_equal(u, np.round(u))
    assert u.min() >= 0 and u.max() < GRID
    cells = np.bincount((u[:, 0] // (GRID / 16) * 16 + u[:, 1] // (GRID / 16)).astype(int), minlength=256)
    assert stats.chisquare(cells).pvalue > 1e-6


# Small samplers


@pytest.mark.parametrize("p", [0.0, 1e-7, 0.1, 0.987, 1.0])
def test_bernoulli_is_exact_to_the_spacing_of_the_uniforms(p):
    """Enumeration: a probability wrong by 2^-23 is found with certainty."""
    share = int(jnp.sum(bernoulli(every_uniform(), p))) / GRID
    assert np.float32(p) <= share < np.float32(p) + 1 / GRID


@pytest.mark.parametrize(("low", "high"), [(4, 4), (-3, 3), (0, 999)])
def test_uniform_int_is_unbiased_to_the_spacing_of_the_uniforms(low, high):
    """Enumeration: an integer favoured by more than 2^-23 is found with certainty."""
    drawn = uniform_int(every_uniform(), low, high)
    counts = np.bincount(np.asarray(drawn) - low)
    assert drawn.dtype == jnp.int32 and counts.size == high - low + 1
    assert np.abs(counts - GRID / counts.size).max() <= 1


def test_uniform_int_never_passes_its_bounds():
    sizes = np.unique(np.r_[1:2000, np.random.default_rng(0).integers(1, 2**24, 20_000), 2**24])
    largest = uniform_int(np.nextafter(np.float32(1), np.float32(0)), 7, jnp.asarray(sizes + 6))
    assert (np.asarray(largest) <= sizes + 6).all()
    assert (np.asarray(uniform_int(SMALLEST, 7, jnp.asarray(sizes + 6))) == 7).all()


def test_normal_is_the_quantile_and_finite_at_the_ends():
    u = np.asarray(every_uniform()[1::64])
    np.testing.assert_allclose(normal(u), special.ndtri(u.astype(float)), rtol=1e-6, atol=1e-6)
    ends = np.asarray(normal(jnp.array([0.0, 1 - 2.0**-24])))
    assert ends[0] == pytest.approx(-5.2947, abs=1e-4) and ends[1] == -ends[0]


# Binomial

LAW = [
    *[(1000, 1000, 0.00299), (64, 64, 0.37), (20, 20, 0.5), (11, 11, 0.2724)],
]
LONG_LAW = [
    *[(1000, 1000, p) for p in (1e-8, 0.00301, 0.05, 0.4999, 0.5, 0.999)],
    *[(1000, 777, 0.2), (1000, 31, 0.3), (1000, 7, 0.5), (1000, 2, 0.9)],
]
"""Further cases of the long form, as eight million draws take seconds for a large `n_max`."""


@pytest.mark.parametrize(("n_max", "n", "p"), [*LAW, *(LONG_LAW if ALL else [])])
def test_binomial_is_the_binomial(n_max, n, p):
    """Enumeration: a total variation of 1e-5 is found with certainty, and so is a tail off by 1e-6."""
    mass = enumerated(n_max, n, p)
    wanted = stats.binom(n, float(np.float32(p)))
    k = np.arange(n_max + 1)
    assert np.abs(mass - wanted.pmf(k)).sum() / 2 < 1e-5
    assert np.abs(mass - wanted.pmf(k)).max() < 1e-6
    assert mass @ k == pytest.approx(wanted.mean(), abs=1e-5 * (1 + wanted.std()))
    assert mass @ (k - wanted.mean()) ** 2 == pytest.approx(wanted.var(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("n_max", "p", "seed"), [(20, 0.3, 0), (1000, 0.5, 2), (1000, 0.999, 3)])
def test_binomial_with_drawn_uniforms_passes_chi_squared(n_max, p, seed):
    """With 2^19 draws and a false alarm of 1e-4, a mean shifted by 0.015 deviations is found with power 0.95."""
    draws = 2**19
    u = jax.random.uniform(jax.random.key(seed), (draws,))
    counts = np.bincount(np.asarray(binomial(u, n_max, p, n_max=n_max)), minlength=n_max + 1)
    pvalue, cells = chi_squared(counts, stats.binom(n_max, float(np.float32(p))).pmf(np.arange(n_max + 1)))
    assert detectable_shift(draws, cells, alpha=1e-4, power=0.95) < 0.015
    assert pvalue > 1e-4


def test_binomial_at_its_edges():
    u, n, p = jnp.array([[SMALLEST], [0.3], [LARGEST]]), jnp.arange(1001), jnp.linspace(0, 1, 1001)
    assert (binomial(u, n, jnp.zeros(1001), n_max=1000) == 0).all()
    assert (binomial(u, n, jnp.ones(1001), n_max=1000) == n).all()
    assert (binomial(u, jnp.zeros(1001, jnp.int32), p, n_max=1000) == 0).all()
    assert int(binomial(0.5, 0, 0.5, n_max=0)) == 0


def test_binomial_stays_between_zero_and_n():
    """Extreme and random u and p, subnormal ones included, for every n up to n_max."""
    rng, n = np.random.default_rng(5), np.arange(1001)
    u = np.r_[SMALLEST, 2.0**-23, 1e-45, LARGEST, rng.random(20)].astype(np.float32)
    p = np.r_[1e-45, 1e-38, 1e-20, 2.0**-24, 0.5, 1 - 2.0**-24, rng.random(10)].astype(np.float32)
    counts = binomial(u[:, None, None], n[:, None], p, n_max=1000)
    assert counts.dtype == jnp.int32 and counts.shape == (u.size, n.size, p.size)
    assert (counts >= 0).all() and (counts <= n[:, None]).all()


def test_binomial_keeps_rare_events_at_their_rate():
    """p = 1e-5 over n = 1000: P(X > 0) must be 1 - (1-p)^n to 2e-7, which 1 - exp(n log(1 - p)) misses."""
    p = float(np.float32(1e-5))
    mass = enumerated(1000, 1000, 1e-5)
    assert 1 - mass[0] == pytest.approx(-np.expm1(1000 * np.log1p(-p)), abs=2e-7)


def test_binomial_under_vmap_equals_a_loop():
    """Two batched axes, one of them missing from each argument, against single draws."""
    rng = np.random.default_rng(2)
    u, n, p = rng.random((5, 4, 3), np.float32), rng.integers(0, 101, (5, 3)), rng.random((4, 1), np.float32)

    def draw(u, n, p):
        return binomial(u, n, p, n_max=100)

    batched = jax.jit(jax.vmap(jax.vmap(draw, in_axes=(0, None, 0)), in_axes=(0, 0, None)))(u, n, p)
    loop = [[[draw(u[i, j, k], n[i, k], p[j, 0]) for k in range(3)] for j in range(4)] for i in range(5)]
    np.testing.assert_array_equal(batched, np.array(loop))


def test_binomial_is_traced_once_and_is_transparent_to_gradients():
    traced = []

    @jax.jit
    def yield_of(u, n, p):
        traced.append(1)
        return jnp.sum(p * binomial(u, n, p, n_max=50))

    u, n = jnp.linspace(0, 0.99, 6), jnp.arange(6) * 10
    for p in (0.0, 0.2, 0.9, 1.0):
        yield_of(u, n, p), yield_of(u[::-1], n // 2, p)
    assert len(traced) == 1
    assert float(jax.grad(yield_of, argnums=2)(u, n, 0.2)) == float(binomial(u, n, 0.2, n_max=50).sum())


# Multinomial


def test_multinomial_conserves_and_gives_nothing_to_zero_weights():
    rng = np.random.default_rng(7)
    n, p = rng.integers(0, 1001, (300, 4)), rng.random((300, 4, 9)) * (rng.random((300, 4, 9)) < 0.6)
    counts = np.asarray(multinomial(rng.random((300, 4, 8)), n, p, n_max=1000))
    assert counts.dtype == np.int32 and (counts >= 0).all()
    np.testing.assert_array_equal(counts.sum(-1), n)
    alive = p.sum(-1) > 0
    assert (counts[alive] * (p[alive] == 0) == 0).all()
    assert (counts[~alive][:, -1] == n[~alive]).all()


def test_multinomial_of_two_is_the_binomial_and_of_one_is_everything():
    u, n = jnp.linspace(0, 0.999, 64), jnp.arange(64)
    pair = multinomial(u[:, None], n, jnp.array([3.0, 1.0]), n_max=64)
    np.testing.assert_array_equal(pair[:, 0], binomial(u, n, 0.75, n_max=64))
    np.testing.assert_array_equal(multinomial(jnp.zeros((64, 0)), n, jnp.ones(1), n_max=64)[:, 0], n)


def test_multinomial_has_the_joint_distribution():
    """With 2^19 draws over 21 outcomes, a shift of 0.011 deviations of any score is found with power 0.95."""
    n, weights, draws = 5, np.array([2.0, 5.0, 3.0]), 2**19
    counts = np.asarray(multinomial(jax.random.uniform(jax.random.key(11), (draws, 2)), n, weights, n_max=n))
    outcomes, times = np.unique(counts, axis=0, return_counts=True)
    mass = stats.multinomial(n, weights / weights.sum()).pmf(outcomes)
    assert len(outcomes) == 21 and mass.sum() == pytest.approx(1)
    pvalue, cells = chi_squared(times, mass)
    assert detectable_shift(draws, cells, alpha=1e-4, power=0.95) < 0.011
    assert pvalue > 1e-4


def test_multinomial_scatters_large_counts_with_binomial_margins():
    """Nine neighbours, n = 1000, 2^16 draws: a margin shifted by 0.04 deviations is found with power 0.95."""
    weights, draws = np.arange(1.0, 10.0), 2**16
    counts = np.asarray(multinomial(jax.random.uniform(jax.random.key(4), (draws, 8)), 1000, weights, n_max=1000))
    for share, margin in zip(weights / weights.sum(), counts.T, strict=True):
        mass = stats.binom(1000, share).pmf(np.arange(1001))
        pvalue, cells = chi_squared(np.bincount(margin, minlength=1001), mass)
        assert detectable_shift(draws, cells, alpha=1e-4, power=0.95) < 0.04
        assert pvalue > 1e-4


def test_multinomial_under_vmap_equals_a_loop():
    rng = np.random.default_rng(3)
    u, n, p = rng.random((6, 3, 4), np.float32), rng.integers(0, 201, (6, 3)), rng.random(5, np.float32)
    batched = jax.vmap(lambda u, n: multinomial(u, n, p, n_max=200))(u, n)
    loop = [[multinomial(u[i, j], n[i, j], p, n_max=200) for j in range(3)] for i in range(6)]
    np.testing.assert_array_equal(batched, np.array(loop))
