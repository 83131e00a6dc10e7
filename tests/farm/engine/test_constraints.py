"""Limits on tallies: their cost in `info`, in every interface, and the farm with a limit on nitrate."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.core.policy import constant_policy
from harvestgym.core.rollout import Trajectory, rollout
from harvestgym.evaluate.run import evaluate_together
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.family import policies
from harvestgym.farm.learn.map_farm import MapFarm
from harvestgym.farm.shared_water import SharedWater
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv
from tests.farm.one_field import LILLE, make_farm
from tests.long_form import long

LIMITS = {"nitrate": {"tally": "leached_N#g", "limit": 2.0}, "water": {"tally": "water#L", "limit": 50.0}}
DAYS, NITRATE = 12, "farm/corn-nitrate-1x1-v0"


def farm(constraints: dict[str, Any], mode: str = "po", **rules: Any) -> FarmModel:
    """Return a rainy plot of sand that can be watered."""
    scoring = {"stage": 0, "yield": 0, "constraints": constraints}
    entities = [["Weather", "rainy"], ["Soil", "sand"]]
    return make_farm(entities, place=LILLE, scoring=scoring, rules={"horizon#day": DAYS, **rules}, mode=mode)


def find_watering(env: FarmModel) -> int:
    return next(i for i, order in enumerate(env.actions.list_orders()) if order)


@cache
def season(limited: bool) -> Trajectory:
    """Return a season with a watering every day, from `reset(seed=5)`."""
    env = farm(LIMITS if limited else {})
    return rollout(env, constant_policy(find_watering(env)), jax.random.key(5)[None], 1, DAYS)


def test_costs_of_an_episode_are_its_tallies_divided_by_their_limits() -> None:
    info = season(True).info
    total = {name: np.asarray(info[f"total/{limit['tally']}"])[-1, 0] for name, limit in LIMITS.items()}
    assert min(total.values()) > 0
    for name, limit in LIMITS.items():
        assert float(info[f"cost_{name}"].sum()) == pytest.approx(total[name] / limit["limit"], rel=1e-5)
    np.testing.assert_allclose(info["cost"], info["cost_nitrate"] + info["cost_water"], rtol=1e-6)


def test_a_farm_without_constraints_has_no_cost_and_the_same_reward() -> None:
    assert not [name for name in season(False).info if name.startswith("cost")]
    np.testing.assert_array_equal(season(False).reward, season(True).reward)


@long
def test_costs_are_the_same_in_every_interface() -> None:
    env, functional = farm(LIMITS), np.asarray(season(True).info["cost"])[:, 0]
    order, single, batch = find_watering(env), GymEnv(env), VecEnv(env, 2)
    assert single.reset(seed=5)[1]["cost"] == 0 and not batch.reset(seed=[5, 6])[1]["cost"].any()
    alone = [single.step(order)[-1]["cost"] for _ in range(DAYS)]
    together = [batch.step(np.full(2, order))[-1]["cost"][0] for _ in range(DAYS)]
    np.testing.assert_allclose(alone, functional, rtol=1e-5)
    np.testing.assert_allclose(together, functional, rtol=1e-5)
    assert functional.min() > 0


def costs_of_steps(env: Any, action: Any, steps: int) -> list[float]:
    """Return the cost of each step with the same action."""
    state, costs = env.reset(jax.random.key(0))[0], []
    for _ in range(steps):
        state, shown = jax.jit(env.step)(jax.random.key(1), state, action)
        costs.append(float(shown.info["cost"]))
    return costs


@long
def test_a_step_in_which_no_time_passes_costs_nothing() -> None:
    """It is the half-day for observing in mode ao, and the first of two orders in the map interface."""
    asks = farm(LIMITS, mode="ao")
    nothing = np.zeros(len(asks.offered.items), np.int32)
    looked, acted, *again = costs_of_steps(asks, asks.make_action(nothing, find_watering(asks)), 4)
    assert looked == again[0] == 0 and min(acted, again[1]) > 0
    two = MapFarm(farm(LIMITS, max_action_schedule_size=2))
    first, second, *again = costs_of_steps(two, two.table.interventions[0], 4)
    assert first == again[0] == 0 and min(second, again[1]) > 0


def test_each_farm_that_shares_water_has_its_own_cost() -> None:
    env = harvestgym.make(NITRATE)
    shown = jax.eval_shape(lambda key: SharedWater((env, env), 100.0).reset(key)[1], jax.random.key(0))
    assert shown.info["own"]["cost_nitrate"].shape == (2,)


@long
def test_a_small_dose_keeps_to_the_limit_on_nitrate_and_a_large_one_earns_more() -> None:
    env = harvestgym.make(NITRATE)
    rules = {name: policies(harvestgym.make(NITRATE, doses=name))["expert"] for name in ("split", "one")}
    found = evaluate_together(NITRATE, rules, 64, env=env, split="train")
    cost = {name: one.columns["cost_nitrate"] for name, one in found.items()}
    assert cost["split"].mean() < 1 < cost["one"].mean()
    assert (cost["split"] <= 1).mean() > 0.6 and (cost["one"] <= 1).mean() < 0.4
    assert found["split"].returns.mean() < found["one"].returns.mean()
