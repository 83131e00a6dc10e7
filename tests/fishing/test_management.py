"""Starts, quotas, correlated noise and assessments, which managers of fisheries know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym import registry
from harvestgym.cli.new import write_copy
from harvestgym.core.config import locate_tuned
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import constant_policy
from harvestgym.core.rollout import rollout
from harvestgym.core.tuning.rule_family import TunedRule
from harvestgym.evaluate.record import record_episode
from harvestgym.fishing import FishingEnv
from harvestgym.fishing.analysis.dynamic_programming import best_return, find_obstacle
from harvestgym.fishing.control import quota
from harvestgym.fishing.family import from_yaml, make, name_numbers, policies


def reset_start(env: Any, **given: Any) -> float:
    return float(env.reset(**given)[1]["biomass"])


def test_a_start_is_given_fixed_or_drawn_from_the_seed() -> None:
    env = FishingEnv(s0=(0.2, 0.9))
    drawn = [reset_start(env, seed=seed) for seed in range(8)]
    assert len(set(drawn)) == 8 and all(0.2 <= start <= 0.9 for start in drawn)
    assert reset_start(env, seed=3) == drawn[3] and reset_start(env) != drawn[3]
    assert reset_start(env, options={"start": 0.5}) == 0.5
    assert reset_start(env, seed=3) == drawn[3], "a given start is of one episode"


def test_a_start_is_given_to_any_fishery_and_checked() -> None:
    env: Any = gymnasium.make("fishing/logistic-v0", disable_env_checker=True)
    assert reset_start(env, seed=0, options={"start": 0.3}) == pytest.approx(0.3)
    for wrong in (-1, "a", np.nan, [0.1, 0.5], [0.1, 0.5, 0.6], [0.1, [0.5]], None):
        with pytest.raises(ConfigError, match="reset option 'start': expected"):
            env.reset(options={"start": wrong, "params": env.unwrapped.params})
    with pytest.raises(ConfigError, match="reset option: expected a known name, got 'strat'; try 'start'"):
        env.reset(options={"strat": 0.3})
    assert reset_start(env, seed=0) == 0.75
    envs: Any = harvestgym.make_vec("fishing/logistic-v0", 2)
    np.testing.assert_allclose(envs.reset(seed=0, options={"start": 0.3})[1]["biomass"], 0.3)


def test_the_value_of_a_range_is_the_mean_of_its_starts() -> None:
    worth = [best_return(make("logistic-v0", start=start)) for start in (0.5, 0.7, (0.5, 0.7))]
    assert worth[2] == pytest.approx((worth[0] + worth[1]) / 2, rel=1e-3)  # type: ignore[operator]


def test_the_quota_that_was_asked_for_is_in_info() -> None:
    """It exceeds the catch where fish are few, and has no quota error."""
    env = FishingEnv(quota_error=make("logistic-survey-v0").params.quota_error)
    env.reset(seed=0)
    assert env.step(np.float32([-0.8]))[4]["quota"] == pytest.approx(0.2)
    info = env.step(np.float32([1.0]))[4]
    assert info["quota"] == 2.0 and info["catch"] < 1
    rate = make("logistic-v0", control="rate", sigma=0.0)
    shown = rate.step(jax.random.key(0), rate.reset(jax.random.key(0))[0], np.float32([0.0]))[1]
    assert float(shown.info["quota"]) == pytest.approx(0.375)


CLOSED = constant_policy(jnp.float32([-1.0]))


@pytest.mark.parametrize("correlation", [0.6, -0.4])
def test_growth_noise_is_correlated_as_asked_and_has_the_same_spread(correlation: float) -> None:
    """The logarithm of x' / f(x - h) has standard deviation sigma and the lag-1 correlation of the argument."""
    env = make("logistic-v0", correlation=correlation, sigma=0.2, Tmax=40)
    biomass = np.asarray(rollout(env, CLOSED, jax.random.key(1), 400, 40).info["biomass"], np.float64)
    left = biomass[:-1]
    noise = np.log(biomass[1:] / (left + 0.3 * left * (1 - left)))
    assert noise.std() == pytest.approx(0.2, rel=0.05) and noise.mean() == pytest.approx(-0.02, abs=0.01)
    assert np.corrcoef(noise[:-1].ravel(), noise[1:].ravel())[0, 1] == pytest.approx(correlation, abs=0.03)


def test_no_correlation_is_the_noise_without_it_bit_for_bit() -> None:
    """The noise is the draw itself, independent of last year's."""
    env = make("logistic-v0")
    state, _ = env.reset(jax.random.key(0))
    replace = harvestgym.core.pytree.replace
    for last in (0.0, -5.0, 5.0):
        after = env.transition(
            jax.random.key(1), replace(state, shock=jnp.float32([last])), jnp.float32([-1]), env.params
        )
        draw = env.params.noise.draw(jax.random.uniform(jax.random.key(1), (1,), jnp.float32))
        assert after.shock == draw
        assert after.stock == env.params.noise(draw, env.params.law(state.stock), state.stock)


def test_an_assessment_sets_the_quota_of_several_years_within_the_constraint() -> None:
    env = FishingEnv(assessment_interval=3, catch_constraint=0.25, levels=101)
    env.reset(seed=0)
    asked = (10, 50, 50, 50, 0, 0, 0, 12)
    found = [env.step(action)[4]["quota"] for action in asked]
    np.testing.assert_allclose(found, [0.1, 0.1, 0.1, 0.125, 0.125, 0.125, 0.09375, 0.09375], rtol=1e-6)


def test_after_no_quota_any_quota_is_allowed() -> None:
    env = FishingEnv(catch_constraint=0.1, levels=101)
    env.reset(seed=0)
    np.testing.assert_allclose([env.step(action)[4]["quota"] for action in (0, 20, 30)], [0, 0.2, 0.22], rtol=1e-6)


@pytest.mark.parametrize("given", [{"correlation": 0.5}, {"assessment_interval": 3}, {"catch_constraint": 0.15}])
def test_dynamic_programming_refuses_what_it_does_not_know(given: dict[str, Any]) -> None:
    env = make("logistic-v0", **given)
    assert find_obstacle(env, env.params) is not None


@pytest.mark.parametrize("name", ["K", "r", "sigma", "init_state", "s0", "Tmax", "levels", "fish_population"])
def test_an_assignment_that_would_be_ignored_is_refused(name: str) -> None:
    made: Any = gymnasium.make("fishing/logistic-v0", disable_env_checker=True).unwrapped
    for env in (FishingEnv(), made):
        with pytest.raises(ConfigError, match=f"{name}: expected no assignment, .* try "):
            setattr(env, name, 0.3)
        assert not hasattr(env, name)
        env.render_mode = env.render_mode


def test_the_default_start_follows_the_capacity(tmp_path: Path) -> None:
    """A fishery starts at 0.75 K, unless its start is given; a base's start counts for the base's K only."""
    (mine := tmp_path / "mine.yaml").write_text("law: {kind: fox, K: 120}\n")
    (child := tmp_path / "child.yaml").write_text("extends: fishing/logistic-v0\nlaw: {K: 120}\n")
    for env in (make("logistic-v0", K=120), from_yaml(mine), from_yaml(child), FishingEnv(K=120).model):
        assert env.params.start == 90
    for env in (make("logistic-v0", s0=60, K=120), make("logistic-v0", start=60, K=120), from_yaml(mine, start=60)):
        assert env.params.start == 60
    assert make("myers-v0", A=2.1).params.start == 1.5 and make("may-v0").params.start == 0.75
    for start in (0.75, 250):
        with pytest.warns(UserWarning, match="start: expected a stock from 24 .0.2 K. to 240 .2 K., got"):
            make("logistic-v0", K=120, start=start)


def test_an_expert_belongs_to_its_law(tmp_path: Path) -> None:
    """Keywords that change a number drop the expert of their base; so does an edited copy, with a warning."""
    path = write_copy(tmp_path / "mine.yaml", "fishery", "fishing/logistic-survey-v0")
    text = path.read_text()
    assert "start: 0.75" in text and from_yaml(path).expert is not None
    assert from_yaml(path, K=120).expert is None and from_yaml(path, Tmax=50).expert is None
    path.write_text(text.replace("# harvestgym", "# mine").replace("r: 0.3\n", "r: 0.30\n"))
    assert from_yaml(path).expert is not None, "the same numbers, written otherwise"
    for old, new in {"r: 0.3\n": "r: 0.9\n", "Tmax: 100": "Tmax: 30", "sigma: 0.2": "sigma: 0.4"}.items():
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.warns(UserWarning, match="expert: expected the numbers for which it was tuned.*`harvestgym tune"):
            rules = policies(env := from_yaml(path))
        assert env.expert is None and rules["expert"] is rules["dfo"]


@pytest.mark.parametrize("id", registry.ids("fishing"))
def test_a_copy_has_the_expert_of_its_id(id: str, tmp_path: Path) -> None:
    copied: Any = from_yaml(write_copy(tmp_path / "mine.yaml", "fishery", id)).expert
    own: Any = registry.make(id)
    assert (copied.rule, copied.numbers) == (own.expert.rule, own.expert.numbers)


def test_a_rule_that_was_tuned_for_a_file_records_its_numbers(tmp_path: Path) -> None:
    """A change of the file is noticed, but not one of the stocks, because the rule is made for any stock."""
    path = write_copy(tmp_path / "mine.yaml", "fishery", "fishing/us-stocks-v0")
    tuned = TunedRule(rule="dfo", made={**name_numbers(make("logistic-v0"), path)})
    tuned.write(locate_tuned(path))
    assert from_yaml(path).expert == from_yaml(path, stocks="train").expert == tuned
    path.write_text(path.read_text() + "price: 0.9\n")
    with pytest.warns(UserWarning, match="mine > expert: expected the numbers"):
        assert from_yaml(path).expert is None


def test_a_recorded_year_has_its_catch_and_the_stock_after_its_growth() -> None:
    """As docs/fishing.md says: after the shift, the law takes the stock of a row, less its catch, to the next row."""
    env = make("logistic-v0", noise={"kind": "none"}, Tmax=10)
    record = record_episode("fishing/logistic-v0", env, quota(env, 0.05), 0)
    start, catch = record["biomass"][:-1], record["catch"][1:, 0]
    np.testing.assert_allclose(env.params.law(jnp.asarray(start - catch)), record["biomass"][1:], rtol=1e-5)
