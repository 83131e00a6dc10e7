"""Noise: means, medians and spreads by quadrature and by sampling, distributions by tests of stated power."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from harvestgym.core.errors import ConfigError
from harvestgym.fishing.analysis.bellman import quadrature
from harvestgym.fishing.family import make
from harvestgym.fishing.growth import Logistic
from harvestgym.fishing.noise import Additive, Lognormal, MedianLognormal, Noise, Proportional, Uniform
from harvestgym.fishing.parameter_drift import Drift, Spread
from harvestgym.fishing.spec import NOISES

SIGMA = 0.2
DRAWS = 20_000
ERRORS = 5
"""Standard errors allowed: a right noise fails once in two million seeds, and seeds are fixed."""

WIDTH: Any = SIGMA

RANDOM: dict[str, Any] = {
    "lognormal": Lognormal(sigma=WIDTH), "median-lognormal": MedianLognormal(sigma=WIDTH),
    "proportional": Proportional(sigma=WIDTH), "additive": Additive(sigma=WIDTH), "uniform": Uniform(sigma=WIDTH),
}  # fmt: skip

EXPECTED = {
    "lognormal": (1.0, np.sqrt(np.exp(SIGMA**2) - 1)),
    "median-lognormal": (np.exp(SIGMA**2 / 2), np.exp(SIGMA**2 / 2) * np.sqrt(np.exp(SIGMA**2) - 1)),
    "proportional": (1.0, SIGMA),
    "additive": (1.0, SIGMA),
    "uniform": (1.0, SIGMA / np.sqrt(3)),
}
"""Mean and standard deviation of a disturbed stock of 1."""


def sample(noise: Noise, value: float = 1.0, seed: int = 0) -> np.ndarray:
    """Disturb a stock by many independent draws, as a fishery does."""
    z = noise.draw(jax.random.uniform(jax.random.key(seed), (DRAWS,)))
    return np.asarray(noise(z, jnp.full(DRAWS, value), jnp.full(DRAWS, value)), np.float64)


@pytest.mark.parametrize("name", RANDOM)
def test_sampled_moments_are_the_closed_ones(name: str) -> None:
    """Mean and spread lie within five standard errors of their closed forms."""
    values, (mean, sd) = sample(RANDOM[name]), EXPECTED[name]
    assert values.mean() == pytest.approx(mean, abs=ERRORS * sd / np.sqrt(DRAWS))
    kurtosis = ((values - values.mean()) ** 4).mean() / values.var() ** 2
    assert values.std() == pytest.approx(sd, rel=ERRORS * np.sqrt((kurtosis - 1) / (4 * DRAWS)))


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("nodes", [16, 32])
def test_quadrature_gives_the_same_moments(name: str, nodes: int) -> None:
    """Dynamic programming integrates over the distribution that simulations draw from."""
    z, weight = quadrature(RANDOM[name], nodes)
    values, (mean, sd) = RANDOM[name](z, jnp.ones(nodes), jnp.ones(nodes)), EXPECTED[name]
    assert float(weight.sum()) == pytest.approx(1.0, abs=1e-6)
    assert float(weight @ values) == pytest.approx(mean, abs=1e-5)
    assert float(jnp.sqrt(weight @ (values - mean) ** 2)) == pytest.approx(sd, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "distribution"),
    [
        ("lognormal", stats.lognorm(SIGMA, scale=np.exp(-(SIGMA**2) / 2))),
        ("median-lognormal", stats.lognorm(SIGMA)),
        ("proportional", stats.norm(1.0, SIGMA)),
        ("uniform", stats.uniform(1 - SIGMA, 2 * SIGMA)),
    ],
)
def test_distribution_is_the_named_one(name: str, distribution: Any) -> None:
    """Kolmogorov-Smirnov over 20 000 draws, which would notice a shift of a fiftieth of a standard deviation."""
    values = sample(RANDOM[name], seed=1)
    assert stats.kstest(values, distribution.cdf).pvalue > 1e-3
    assert stats.kstest(values + distribution.std() / 20, distribution.cdf).pvalue < 1e-3


def test_median_noise_grows_and_mean_noise_does_not() -> None:
    """The two lognormals differ by exp(sigma^2 / 2), which is growth in disguise."""
    mean, median = sample(RANDOM["lognormal"]), sample(RANDOM["median-lognormal"])
    np.testing.assert_allclose(median / mean, np.exp(SIGMA**2 / 2), rtol=1e-5)
    assert np.median(median) == pytest.approx(1.0, abs=ERRORS * 1.2533 * SIGMA / np.sqrt(DRAWS))


@pytest.mark.parametrize("name", ["lognormal", "median-lognormal", "uniform", "proportional"])
def test_multiplicative_noise_scales_with_the_stock(name: str) -> None:
    np.testing.assert_allclose(sample(RANDOM[name], 3.0), 3 * sample(RANDOM[name]), rtol=1e-5)


@pytest.mark.parametrize("name", RANDOM)
def test_no_noise_revives_a_stock_or_makes_it_negative(name: str) -> None:
    wide = type(RANDOM[name])(sigma=1.0)
    assert (sample(wide) >= 0).all() and (sample(wide, 0.0) == 0).all()


def test_uniform_noise_is_bounded() -> None:
    values = sample(RANDOM["uniform"])
    assert values.min() >= 1 - SIGMA - 1e-6 and values.max() <= 1 + SIGMA + 1e-6


def test_only_no_noise_needs_no_draw() -> None:
    assert {name: kind().random for name, kind in NOISES.items()} == {name: name != "none" for name in NOISES}


@pytest.mark.parametrize("name", RANDOM)
def test_noise_without_spread_is_none(name: str) -> None:
    np.testing.assert_allclose(sample(type(RANDOM[name])(sigma=0.0), 0.7), 0.7, rtol=1e-6)


# -- noise in a fishery ------------------------------------------------------------------------------------


def one_year(env: Any, action: float = -1.0, count: int = DRAWS) -> tuple[Any, Any]:
    """States and Timesteps of independent first years."""
    state, _ = env.reset(jax.random.key(0), env.params)
    keys = jax.random.split(jax.random.key(1), count)
    step = jax.jit(jax.vmap(lambda key: env.step(key, state, jnp.array([action]), env.params)))
    return jax.device_get(step(keys))


def test_survey_error_is_not_in_the_stock() -> None:
    """Surveys scatter around a stock that is the same in every environment, with the spread given."""
    env = make("logistic-v0", sigma=0.0, survey_error={"kind": "lognormal", "sigma": 0.1})
    after, seen = one_year(env)
    survey = np.asarray(env.units.survey(seen.obs))[:, 0] / after.stock[:, 0]
    assert np.ptp(after.stock) == 0
    assert survey.mean() == pytest.approx(1.0, abs=ERRORS * 0.1 / np.sqrt(DRAWS))
    assert np.log(survey).std() == pytest.approx(0.1, rel=ERRORS / np.sqrt(2 * DRAWS))


def test_quota_error_is_in_the_catch_and_the_stock() -> None:
    """The catch scatters around the quota; what is caught is missing from the stock that grows."""
    env = make("logistic-v0", sigma=0.0, quota_error={"kind": "lognormal", "sigma": 0.1})
    after, seen = one_year(env, action=-0.9)
    catch = after.catch[:, 0].astype(np.float64)
    assert catch.mean() == pytest.approx(0.1, abs=ERRORS * 0.01 / np.sqrt(DRAWS))
    left = 0.75 - catch
    np.testing.assert_allclose(after.stock[:, 0], left + 0.3 * left * (1 - left), rtol=1e-5)
    np.testing.assert_array_equal(seen.reward, after.catch[:, 0])


def test_growth_survey_and_quota_errors_are_independent() -> None:
    """No two of the three draws of a year are correlated, to five standard errors."""
    wide = {"kind": "lognormal", "sigma": 0.1}
    env = make("logistic-v0", sigma=0.1, survey_error=wide, quota_error=wide)
    after, seen = one_year(env, action=-0.9)
    catch = after.catch[:, 0].astype(np.float64)
    left = 0.75 - catch
    growth = np.log(after.stock[:, 0] / (left + 0.3 * left * (1 - left)))
    survey = np.log(np.asarray(env.units.survey(seen.obs))[:, 0] / after.stock[:, 0])
    correlations = np.corrcoef([growth, survey, np.log(catch)])
    assert np.abs(correlations - np.eye(3)).max() < ERRORS / np.sqrt(DRAWS)


def test_the_recruits_alone_are_noisy_in_the_age_structured_stock() -> None:
    after, _ = one_year(make("walleye-v0"), count=100)
    assert np.ptp(after.stock[:, :-1], axis=0).max() == 0 and np.ptp(after.stock[:, -1]) > 0


# -- changes of a law --------------------------------------------------------------------------------------


def test_drift_moves_to_its_limit_both_ways() -> None:
    drift = Drift(names=("r", "K"), rate=np.asarray([-0.05, 0.1]), limit=np.asarray([0.1, 1.25]))
    law: Any = drift(Logistic(), jnp.arange(6))
    np.testing.assert_allclose(law.r, [0.25, 0.2, 0.15, 0.1, 0.1, 0.1], rtol=1e-5)
    np.testing.assert_allclose(law.K, [1.1, 1.2, 1.25, 1.25, 1.25, 1.25], rtol=1e-6)


def test_spread_draws_lognormals_of_mean_one() -> None:
    spread = Spread(names=("r", "K"), sigma=np.asarray([0.3, 0.1]))
    laws: Any = jax.vmap(lambda key: spread(key, Logistic())["law"])(jax.random.split(jax.random.key(2), DRAWS))
    for values, mean, sigma in ((laws.r, 0.3, 0.3), (laws.K, 1.0, 0.1)):
        logs = np.log(np.asarray(values, np.float64) / mean)
        assert logs.mean() == pytest.approx(-(sigma**2) / 2, abs=ERRORS * sigma / np.sqrt(DRAWS))
        assert logs.std() == pytest.approx(sigma, rel=ERRORS / np.sqrt(2 * DRAWS))
    assert abs(np.corrcoef(laws.r, laws.K)[0, 1]) < ERRORS / np.sqrt(DRAWS)


def test_mistakes_in_noises_and_changes_name_their_path() -> None:
    for path, entry in {
        "noise: expected a known noise, got 'lognormel'; try 'lognormal'": {"noise": {"kind": "lognormel"}},
        "survey_error: .*\n.*sigma": {"survey_error": {"kind": "uniform", "sigma": 2.0}},
        "drift: expected a known parameter, got 'q'": {"drift": {"q": {"rate": 0.1, "limit": 1.0}}},
        "vary: expected a known parameter, got 'q'": {"vary": {"q": 0.1}},
        "vary: expected a law of kind 'one-of'": {"vary": "law"},
    }.items():
        with pytest.raises(ConfigError, match=path):
            make("logistic-v0", **entry)
