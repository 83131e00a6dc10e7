"""The fishery as an environment: bounds, seeds, restarts, faults of the paper's listing, overriding, the commons."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from pettingzoo.test import parallel_api_test

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import random_policy
from harvestgym.core.rollout import rollout
from harvestgym.fishing import FishingEnv
from harvestgym.fishing.family import from_yaml, make
from harvestgym.fishing.shared_stock import share_stock
from harvestgym.gym.pettingzoo_env import ParallelEnv
from tests.long_form import long

HALF = np.array([-0.75], np.float32)
"""A quota of K/4."""

LITTLE = np.array([-0.95], np.float32)


@pytest.mark.filterwarnings("ignore:.*Not able to test alternative render modes")
def test_gymnasium_accepts_it() -> None:
    """Gymnasium's own checker has no complaint."""
    gymnasium_check(FishingEnv(sigma=0.1))
    gymnasium_check(gymnasium.make("fishing/logistic-levels-v0", render_mode="svg").unwrapped)


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("logistic-v0", "harvest first"),
        pytest.param("logistic-v0", "growth first", marks=long),
        pytest.param("may-v0", "harvest first", marks=long),
        pytest.param("patches-v0", "growth first", marks=long),
        pytest.param("three-species-v0", "harvest first", marks=long),
        pytest.param("walleye-v0", "growth first", marks=long),
    ],
)
def test_bounds_at_great_noise(name: str, order: str) -> None:
    """At sigma = 1 stocks are finite and not negative, no catch exceeds the stock, observations in their space."""
    wide = {"kind": "lognormal", "sigma": 1.0}
    env = make(name, sigma=1.0, survey_error=wide, quota_error=wide, order=order)
    path = rollout(env, random_policy(env), jax.random.key(1), 64, 60)
    space = env.observation_space
    assert isinstance(space, gymnasium.spaces.Box)
    assert np.all(path.next_obs >= space.low) and np.all(path.next_obs <= space.high)
    assert np.all(np.isfinite(path.reward)) and np.all(path.reward >= 0)
    assert np.all(path.info["biomass"] >= 0) and np.all(np.isfinite(path.info["biomass"]))
    assert np.all(path.info["rate"] <= 1 + 1e-6)
    if name == "logistic-v0":
        assert path.terminated.any()


def test_conservation_of_biomass() -> None:
    """Escapement plus catch equals the stock, for both orders."""
    env = make("logistic-v0", sigma=0.0)
    for x, a in [(0.75, 0.2), (0.3, 0.5)]:
        state = harvestgym.core.pytree.replace(env.reset(jax.random.key(0), env.params)[0], stock=jnp.array([x]))
        action = env.units.action(jnp.array([a]))
        after = env.transition(jax.random.key(0), state, action, env.params)
        left = x - min(a, x)
        assert float(after.stock[0]) == pytest.approx(left + 0.3 * left * (1 - left), abs=1e-6)
        late = make("logistic-v0", sigma=0.0, order="growth first")
        after = late.transition(jax.random.key(0), state, action, late.params)
        grown = x + 0.3 * x * (1 - x)
        assert float(after.stock[0]) == pytest.approx(grown - min(a, grown), abs=1e-6)
        assert float(after.catch[0]) == pytest.approx(min(a, grown), abs=1e-6)


def test_text_rendering() -> None:
    """The year, the stock and the catch as text."""
    env = FishingEnv(render_mode="ansi")
    env.reset(seed=0)
    env.step(HALF)
    text = env.render()
    assert text.startswith("Year 1 of 100") and "caught: 0.25" in text and "0.57 K" in text


def test_same_seed_same_episode() -> None:
    """A seed fixes an episode, another gives another."""

    def episode(seed: int) -> list[float]:
        env = FishingEnv(sigma=0.2)
        env.reset(seed=seed)
        return [env.step(LITTLE)[0].item() for _ in range(5)]

    assert episode(3) == episode(3)
    assert episode(3) != episode(4)


def test_faults_of_the_listing() -> None:
    """The catch is at most the stock and is the reward; Tmax steps exactly; the clock truncates; float32 arrays."""
    env = FishingEnv(scale="natural", order="growth first")
    obs, _ = env.reset(seed=0)
    assert obs.shape == (1,) and obs.dtype == np.float32 and env.observation_space.contains(obs)
    obs, reward, terminated, truncated, _ = env.step(np.array([2.0], np.float32))
    assert reward == pytest.approx(0.80625) and obs[0] == 0.0 and terminated and not truncated
    env = FishingEnv(Tmax=7)
    env.reset(seed=0)
    flags = [env.step(np.array([-1.0], np.float32))[2:4] for _ in range(7)]
    assert flags == [(False, False)] * 6 + [(False, True)]


@pytest.mark.parametrize("value", [np.nan, 1.5, -2.0])
def test_impossible_actions_are_refused(value: float) -> None:
    """NaN and actions out of range raise, and change nothing."""
    env = FishingEnv()
    env.reset(seed=0)
    with pytest.raises(ConfigError):
        env.step(np.array([value], np.float32))
    obs, reward, *_ = env.step(HALF)
    assert reward == pytest.approx(0.25) and obs[0] == pytest.approx(-0.425)


def test_nan_inside_compiled_code_catches_nothing() -> None:
    """NaN, where no error can be raised, asks for no catch."""
    env = make("logistic-v0")
    state, _ = env.reset(jax.random.key(0), env.params)
    _, seen = env.step(jax.random.key(1), state, jnp.array([jnp.nan]), env.params)
    assert float(seen.reward) == 0.0 and np.isfinite(float(seen.obs[0]))


def test_drift_restarts() -> None:
    """The drifted rate is that of the year: it falls, stops at its limit, and is back after a reset."""
    env = make("drifting-v0")
    state, _ = env.reset(jax.random.key(0), env.params)
    replace = harvestgym.core.pytree.replace

    def rate(year: int) -> float:
        return float(env.law(replace(state, year=jnp.int32(year)), env.params).r)  # type: ignore[attr-defined]

    assert [rate(y) for y in (0, 10, 200)] == pytest.approx([0.793, 0.723, 0.1])


def test_random_parameters_are_of_the_episode() -> None:
    """r and K are drawn at each reset, positive, mean as given, and stay for the episode; so does the scale."""
    env = make("logistic-random-v0")
    states, _ = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 4000))
    r, K = np.asarray(states.law.r), np.asarray(states.law.K)
    assert r.min() > 0 and K.min() > 0
    # Five standard errors: 0.3 * 0.31 / sqrt(4000) and 0.1 / sqrt(4000).
    assert abs(r.mean() - 0.3) < 5 * 0.093 / 63 and abs(K.mean() - 1) < 5 * 0.1 / 63
    state = jax.tree.map(lambda v: v[0], states)
    after, seen = jax.jit(env.step)(jax.random.key(1), state, jnp.array([-1.0]), env.params)
    assert float(after.law.r) == float(state.law.r)  # type: ignore[union-attr]
    assert float(env.units.survey(seen.obs)[0]) == pytest.approx(float(after.stock[0]), abs=1e-6)


def test_any_law_is_drawn() -> None:
    """All five laws of model uncertainty occur, about equally often, each with an unfished stock of 1."""
    env = make("any-law-v0")
    states, _ = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 2000))
    counts = np.bincount(np.asarray(states.law.which), minlength=5)
    assert counts.min() > 400 - 5 * 18
    for law in env.params.law.laws:  # type: ignore[attr-defined]
        assert float(law.capacity) == pytest.approx(1.0, abs=2e-3)


def test_noise_is_not_growth() -> None:
    """Lognormal noise has mean one: after a year from 0.75 the mean stock is f(0.75), to five standard errors."""
    env = make("logistic-v0", sigma=0.5)
    state, _ = env.reset(jax.random.key(0), env.params)
    keys = jax.random.split(jax.random.key(1), 40_000)
    after = jax.jit(jax.vmap(lambda k: env.transition(k, state, jnp.array([-1.0]), env.params).stock[0]))(keys)
    grown = 0.75 + 0.3 * 0.75 * 0.25
    assert abs(float(after.mean()) - grown) < 5 * 0.533 * grown / 200


class Doubled(FishingEnv):
    """Every part overridden, visibly."""

    def initial(self, key: Any, params: Any) -> Any:
        return harvestgym.core.pytree.replace(super().initial(key, params), stock=jnp.array([0.5]))

    def observation(self, key: Any, state: Any, action: Any, params: Any) -> Any:
        seen = super().observation(key, state, action, params)
        return seen if action is None else jnp.where(action > 0, 0.0, seen)

    def reward(self, key: Any, state: Any, action: Any, after: Any, params: Any) -> Any:
        return 2 * super().reward(key, state, action, after, params)

    def terminal(self, state: Any, params: Any) -> Any:
        return state.stock[0] < 0.4


def test_overriding_by_inheritance() -> None:
    """A subclass changes the start, what is seen (by the action too), what is paid and when it ends."""
    env = Doubled()
    obs, _ = env.reset(seed=0)
    assert obs[0] == pytest.approx(-0.5)
    obs, reward, terminated, *_ = env.step(HALF)
    assert reward == pytest.approx(0.5) and terminated
    env.reset(seed=0)
    assert env.step(np.array([0.5], np.float32))[0][0] == 0.0


def test_units_are_inverse() -> None:
    """Converting an action to a catch and back gives the action, in every scale."""
    for over in ({}, {"scale": "natural"}, {"levels": 11}, {"control": "rate"}, {"control": "rate", "levels": 5}):
        units = make("logistic-v0", **over).units
        for wanted in (0.0, 0.5, 1.0):
            action = units.action(jnp.array([wanted]))
            assert float(units.wanted(action)[0]) == pytest.approx(wanted, abs=1e-6)
            read = np.asarray(action).item() if units.levels else np.asarray(action)
            assert units.action_space.contains(read)


def test_mistakes_in_files_and_options(tmp_path: Any) -> None:
    """Wrong names are answered with the nearest right one."""
    with pytest.raises(ConfigError, match="logistic-v0"):
        make("logistik-v0")
    with pytest.raises(ConfigError, match="try 'order'"):
        make("logistic-v0", ordre="growth first")
    with pytest.raises(ConfigError, match="try 'ricker'"):
        make("logistic-v0", law={"kind": "rickr"})
    with pytest.raises(ConfigError, match="try 'r'|valid"):
        make("logistic-v0", drift={"rr": {"rate": 0.1, "limit": 1.0}})
    with pytest.raises(ConfigError, match="expected law .may'"):
        make("driver-v0", noise={"kind": "none"}, law={"kind": "logistic"})
    with pytest.raises(ConfigError, match="K: expected a number from 1e-06 to 1e.09, got 0"):
        FishingEnv(K=0)
    file = tmp_path / "mine.yaml"
    file.write_text("law: {kind: fox, r: 0.4, K: 2.0}\nTmax: 5\n")
    env = from_yaml(file, sigma=0.1)
    assert int(env.params.horizon) == 5 and env.units.bound == 4.0


def test_commons() -> None:
    """PettingZoo's own test; greedy fleets share what is there, and ruin it."""
    env = ParallelEnv(share_stock(make("logistic-v0", sigma=0.0, Tmax=30), 3))
    parallel_api_test(env, num_cycles=40)
    env.reset(seed=0)
    greedy = {"fleet_0": 1.0, "fleet_1": 1.0, "fleet_2": 0.0}
    actions = {agent: np.array([value], np.float32) for agent, value in greedy.items()}
    _, rewards, ended, _, _ = env.step(actions)
    assert sum(rewards.values()) == pytest.approx(0.75, abs=1e-6)
    assert rewards["fleet_0"] == pytest.approx(0.3, abs=1e-6) and all(ended.values()) and not env.agents
    env.reset(seed=0)
    with pytest.raises(ConfigError):
        env.step(actions | {"fleet_1": np.array([np.nan], np.float32)})
